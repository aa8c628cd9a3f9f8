//! Tests of what the planner refuses, and that no input makes it panic.

use random_draws::check_seeds;

use super::*;

#[track_caller]
fn refuse(goal: &str, expected: &str) {
    let message = next_message(&prompt(goal, &[]));
    assert!(message.calls.is_empty(), "{goal}");
    let text = message.text.unwrap();
    assert!(text.contains(expected), "{goal}: {text}");
    assert!(text.contains("not a model"), "{text}");
}

#[test]
fn partly_understood_request_is_refused_as_a_whole() {
    refuse("", "I understand grid, farm, create");
    refuse(" ;\n; ", "The request is empty");
    refuse("delete .A; dance", "`dance`");
    refuse("comment game.A: do it then delete Part", "put its text in double quotes");
    refuse("make delete Part", "I do not understand `delete` in `make delete Part`");
    refuse("delete all the red bricks", "understand `bricks` in");
    refuse("delete", "a path or a selector is missing");
    refuse("delete Game.Workspace", "begin with `game`");
    refuse("delete game.Workspace.Part and more", "understand");
    refuse("rename game.Workspace.A to My Wall", "be in double quotes");
    refuse("rename game.Workspace.A to B to C", "occurs twice");
    refuse("rename My Part to Wall", "be in double quotes");
    refuse("rename game.Workspace.A", "`to` is missing");
    refuse("set Anchored on Part", "`PROPERTY = VALUE`");
    refuse("recolour Part to shiny", "it is not a colour");
    refuse("comment game.A hello", "a colon is missing");
    refuse("comment game.A: \"\"", "the comment is empty");
    refuse("comment game.A: \"open", "never closed");
    refuse(&format!("comment game.A: {}", "x".repeat(2_000)), "at most 2000");
    refuse("replace wait with task.wait in all scripts", "in double quotes");
    refuse("replace \"\" with \"a\" in all scripts", "is empty");
    refuse("replace \"a\" with \"b\"", "is expected");
    refuse("move Part to Folder", "is not a path");
    refuse("grid of parts", "rows and columns are missing");
    refuse("grid 3x3 of", "are missing");
    refuse("grid 3x3 of shiny parts", "understand `shiny` in");
    refuse("grid 3x3 of cats", "understand `cats` in");
    refuse("grid 3x3 of red blue parts", "name each once");
    refuse("grid 3x3 of parts that glow", "understand `glow` in");
    refuse("grid 3x3 of parts at 1,2", "three numbers");
    refuse("grid 3x3 of parts at 1,2,nan", "three numbers");
    refuse("grid 3x3 of parts at 0,0,0 at 1,1,1", "given twice");
    refuse("grid 3x3 of parts size 0x1x1", "three numbers from 0.001");
    refuse("grid 3x3 of parts spacing -1", "a spacing is");
    refuse("grid 3x3 of parts in Spawns", "is not a path");
    refuse("grid 51x1 of parts", "to 50x50");
    refuse("grid 0x1 of parts", "from 1x1");
    refuse("grid 99999999999999999999x2 of parts", "to 50x50");
    refuse("a 3x3 grid 3x3", "given twice");
    refuse("farm 41x40", "to 40x40");
    refuse("farm 10x10 of neon parts", "understand `of` in");
    refuse(&"delete .A\n".repeat(21), "at most 20 requests");
}

#[test]
fn strange_input_does_not_panic() {
    let pieces = [
        "grid", "3x3", "×", "of", "Größe", "🌾", "\"", "\\", "[", "]", "(", "to", "then", ";", ",",
        "game", "game.", "set", "=", "on", "#", "1e999", "-", "at", "comment", ":", "\u{0}", "İ",
        "replace", "\"a\"", "with", "in", "all", "farm", "please", "a", "rename", "game.A", "İ=ß",
    ];
    check_seeds(0..5_000, |draws| {
        let mut goal = String::new();
        for _ in 0..draws.below(9) {
            goal.push_str(draws.pick(&pieces));
            goal.push_str(draws.pick(&["", " ", "  ", "\n"]));
        }
        next_message(&prompt(&goal, &[]));
    });
    for piece in pieces {
        next_message(&prompt(&piece.repeat(10_000), &[]));
        next_message(&prompt(&format!("{piece} ").repeat(10_000), &[]));
        next_message(&prompt(&format!("set {}", piece.repeat(10_000)), &[]));
    }
}
