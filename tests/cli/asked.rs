//! Prompts on a terminal: the questions of `vector edit`, and the effects of the answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use scene_schemas::entry::{Entry, Record};
use vector_tests::binary::Home;
use vector_tests::person::Person;
use vector_tests::places::Format;

use super::{GRID, ended, many_parts, text, unanchored, with_place};

/// A user at a terminal who runs `vector` with these arguments.
fn person(home: &Home, args: &[&str]) -> Person {
    Person::runs(home.command(args))
}

/// A user at a terminal whose editor is this shell script.
fn edits_with(home: &Home, editor: &str, args: &[&str]) -> Person {
    let file = home.path().join("editor");
    fs::write(&file, format!("#!/bin/sh\n{editor}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(args);
    command.env("EDITOR", file);
    Person::runs(command)
}

#[track_caller]
fn ends(person: Person, code: i32) {
    let (ended, shown) = person.sees_the_end();
    assert_eq!(ended, code, "{shown}");
}

const APPLY: &str = "[q]uit [?]";
/// The question about a warning.
const DESPITE: &str = "Type yes to apply it despite that";

/// Writes a list of calls to a file, because stdin is the user's terminal.
fn calls(home: &Home, lines: &[&str]) -> String {
    let file = home.path().join("calls.jsonl");
    fs::write(&file, lines.join("\n")).unwrap();
    text(&file)
}

fn folder(name: &str) -> String {
    format!(
        r#"{{"tool":"create_instance","args":{{"className":"Folder","parentPath":"game.Workspace","props":{{"Name":"{name}"}}}}}}"#
    )
}

fn tree(home: &Home, place: &str) -> String {
    home.run(&["show", place, "--depth", "9"], "").stdout
}

fn entries(home: &Home) -> Vec<Entry> {
    let log = home.run(&["log", "--json"], "").stdout;
    log.lines().map(|line| serde_json::from_str::<Record>(line).unwrap().entry).collect()
}

#[test]
fn each_proposal_has_its_own_prompt() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let list = calls(&home, &[&folder("Wanted"), &folder("Unwanted")]);
    let args = ["edit", &place, "--ops", &list, "--keep-going"];
    let mut person = person(&home, &args);
    let card = person.answers(APPLY, "y");
    assert!(card.contains("Wanted"), "{card}");
    person.answers(APPLY, "n");
    person.answers("Reason (optional)", "too many folders");
    ends(person, 3);
    let tree = tree(&home, &place);
    assert!(tree.contains("Wanted") && !tree.contains("Unwanted"), "{tree}");
    let why = entries(&home).into_iter().find_map(|entry| match entry {
        Entry::Rejected { reason, .. } => reason,
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("too many folders"));
}

#[test]
fn answer_all_approves_the_remaining_proposals() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let mut person = person(&home, &["edit", &place, "--prompt", GRID]);
    person.answers(APPLY, "a");
    ends(person, 0);
    assert!(tree(&home, &place).contains("Cell_2_2"));
}

#[test]
fn quitting_applies_nothing_more() {
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let mut person = person(&home, &["edit", &text(&file), "--prompt", GRID]);
    person.answers(APPLY, "what?");
    let help = person.answers(APPLY, "q");
    assert!(help.contains("split it"), "{help}");
    ends(person, 3);
    assert!(fs::read(&file).unwrap() == before);
}

#[test]
fn proposal_can_be_split_into_operations() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let list = calls(&home, &[&folder("First"), &folder("Second")]);
    let mut person = person(&home, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "s");
    person.answers("(1 of 2)?", "n");
    person.answers("(2 of 2)?", "y");
    ends(person, 0);
    let tree = tree(&home, &place);
    assert!(!tree.contains("First") && tree.contains("Second"), "{tree}");
    let proposals = entries(&home).into_iter().filter_map(|entry| match entry {
        Entry::Proposed { proposal, .. } => Some(proposal.from),
        _ => None,
    });
    let from: Vec<_> = proposals.collect();
    assert!(matches!(from[..], [None, Some(_)]), "{from:?}");
}

/// A place with a script of thirty lines, and a list of calls that changes its first and last
/// lines.
fn with_script() -> (Home, String, String) {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let source: Vec<String> = (1..=30).map(|n| format!("local v{n} = {n}")).collect();
    let made = serde_json::json!({
        "tool": "create_instance",
        "args": {
            "className": "Script",
            "parentPath": "game.Workspace",
            "props": { "Name": "Lines", "Source": source.join("\n") + "\n" },
        },
    });
    ended(&home.run(&["edit", &place, "--ops", "-", "--yes"], &made.to_string()), 0);
    let edits = r#"{"tool":"replace_text","args":{"path":"game.Workspace.Lines","edits":[{"search":"v1 = 1\n","replace":"v1 = 100\n"},{"search":"v30 = 30","replace":"v30 = 3000"}]}}"#;
    let list = calls(&home, &[edits]);
    (home, place, list)
}

fn source(home: &Home, place: &str) -> String {
    home.run(&["source", place, "game.Workspace.Lines"], "").stdout
}

#[test]
fn script_edit_can_be_split_into_hunks() {
    let (home, place, list) = with_script();
    let mut person = person(&home, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "s");
    person.answers("(1 of 2)?", "n");
    person.answers("(2 of 2)?", "y");
    ends(person, 0);
    let source = source(&home, &place);
    assert!(source.contains("v1 = 1\n") && source.contains("v30 = 3000"), "{source}");
}

#[test]
fn proposed_source_can_be_edited() {
    let (home, place, list) = with_script();
    let editor = r#"sed 's/3000/mine/; s/^local v15.*/local v15 = "by hand"/' "$1" > "$1.new" && mv "$1.new" "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    let card = person.answers(APPLY, "y");
    assert!(card.contains("by hand"), "{card}");
    ends(person, 0);
    let source = source(&home, &place);
    assert!(source.contains("v15 = \"by hand\"") && source.contains("v30 = mine"), "{source}");
}

#[test]
fn edited_source_is_checked_again() {
    let (home, place, list) = with_script();
    let before = source(&home, &place);
    let editor = r#"echo 'local = ' > "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    let refusal = person.answers("Edit it again?", "n");
    assert!(refusal.contains("no longer compile"), "{refusal}");
    person.answers(APPLY, "q");
    ends(person, 3);
    assert_eq!(source(&home, &place), before);
}

#[test]
fn comments_are_written_in_the_editor() {
    let (home, place, list) = with_script();
    let editor = r#"sed 's/^+local v30 .*/&\n>> why not 31?\n>> really/; 1i >> keep the names' "$1" > "$1.new" && mv "$1.new" "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "c");
    ends(person, 3);
    let found = entries(&home);
    let comments = found.iter().find_map(|it| match it {
        Entry::Commented { comments, .. } => Some(comments.clone()),
        _ => None,
    });
    let comments = comments.unwrap_or_else(|| panic!("{found:?}"));
    let about: Vec<String> = comments.iter().map(|it| it.on.describe()).collect();
    assert_eq!(about, ["the whole proposal", "line 30 of game.Workspace.Lines"]);
    assert_eq!(comments[1].text, "why not 31?\nreally");
    assert_eq!(comments[1].on.quote(), "local v30 = 3000");
    // An editor that changes nothing sends nothing.
    let mut person = edits_with(&home, "true", &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "c");
    person.answers(APPLY, "q");
    ends(person, 3);
}

#[test]
fn rules_are_added_and_revoked_at_a_card() {
    let (home, file) = with_place(Format::Rbxl);
    let within = r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game.Workspace.One","props":{"Name":"Within"}}}"#;
    let list = [&folder("One"), within, &folder("Two"), &folder("Three"), &folder("Four")];
    let (place, list) = (text(&file), calls(&home, &list));
    let mut person = person(&home, &["edit", &place, "--ops", &list, "--keep-going"]);
    person.answers(APPLY, "r");
    person.answers("Number (Enter goes back):", "1");
    // The one within it is shown and not asked about.
    let cards = person.answers(APPLY, "r");
    assert!(cards.contains("Folder Within") && cards.contains("Folder Two"), "{cards}");
    let held = person.answers("Number (Enter goes back):", "-1");
    assert!(held.contains("-1  revoke: additions within game.Workspace.One (1 app"), "{held}");
    person.answers(APPLY, "r");
    let held = person.answers("Number (Enter goes back):", "2");
    assert!(!held.contains("revoke"), "{held}");
    ends(person, 0);
    let tree = tree(&home, &place);
    assert!(["Within", "Two", "Three", "Four"].iter().all(|it| tree.contains(it)), "{tree}");
    let rules = entries(&home).into_iter().filter(|it| matches!(it, Entry::RuleAdded { .. }));
    assert_eq!(rules.count(), 2);
}

#[test]
fn chat_offers_what_can_be_mentioned() {
    let (home, file) = with_place(Format::Rbxl);
    fs::write(home.path().join("lamps.md"), "Lamps are yellow.").unwrap();
    fs::write(home.path().join("evil\u{1b}]0;gone\u{7}.md"), "").unwrap();
    let mut command = home.command(&["chat", &text(&file), "--model", "offline"]);
    command.current_dir(home.path());
    let mut person = Person::runs(command);
    person.sees("> ");
    // Tab waits until the place is read.
    person.presses("@\t");
    person.sees("@problems ");
    person.presses("\x15");
    // The suggestions come while the mention is typed, Tab inserts the first, and again the next.
    person.presses("Rename @lam");
    person.sees("@file:lamps.md");
    person.presses("\t");
    person.sees("@file:game.Workspace.Lamp ");
    person.presses("\t");
    person.sees("@file:lamps.md ");
    person.presses("and @prob");
    person.sees("@problems (Tab)");
    person.presses("\t");
    person.sees("@problems ");
    person.presses("\n");
    let answer = person.sees("Write: rename PATH");
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(answer.contains("in `Rename @file:lamps.md and @problems`"), "{answer}");
    person.sees("> ");
    // What would change the terminal is not offered, and what is said to a command is completed too.
    person.presses("/ask about @evil");
    person.presses("\t\x15/ask about @lam");
    let offered = person.sees("@file:lamps.md");
    assert!(!offered.contains("\u{1b}]0;"), "{offered:?}");
    person.presses("\x15");
    // The line before can be called up and edited; commands are completed too.
    person.presses("\x1b[A");
    person.sees("Rename @file:lamps.md and @problems");
    person.presses("\x15/qu\t");
    person.sees("/quit ");
    person.presses("\n");
    ends(person, 0);
}

#[test]
fn marked_warning_is_confirmed_twice() {
    let (home, file) = with_place(Format::Rbxl);
    let call = r#"{"tool":"create_instance","args":{"className":"Script","parentPath":"game.Workspace","props":{"Name":"Loads","Source":"loadstring('return 1')()\n"}}}"#;
    let (place, list) = (text(&file), calls(&home, &[call]));
    let mut person = person(&home, &["edit", &place, "--ops", &list]);
    let card = person.answers(APPLY, "y");
    assert!(card.contains("!!"), "{card}");
    person.answers(DESPITE, "n");
    person.answers(APPLY, "y");
    person.answers(DESPITE, "");
    // The key that led to the question does not answer it, however long it is held.
    for held in ["y", "yyyy"] {
        person.answers(APPLY, "y");
        person.answers(DESPITE, held);
        person.sees("type the whole word");
    }
    assert!(!tree(&home, &place).contains("Loads"));
    person.answers(APPLY, "y");
    person.answers(DESPITE, "yes");
    ends(person, 0);
    assert!(tree(&home, &place).contains("Loads"));
}

#[test]
fn hunk_of_a_renamed_script_can_be_left_out() {
    let (home, place, list) = with_script();
    let edit = fs::read_to_string(&list).unwrap();
    let rename =
        r#"{"tool":"rename_instance","args":{"path":"game.Workspace.Lines","newName":"Other"}}"#;
    let before = source(&home, &place);
    let list = calls(&home, &[&edit, rename]);
    let mut reviewer = person(&home, &["edit", &place, "--ops", &list]);
    reviewer.answers(APPLY, "s");
    reviewer.answers("(1 of 3)?", "y");
    reviewer.answers("(2 of 3)?", "n");
    reviewer.answers("(3 of 3)?", "n");
    ends(reviewer, 0);
    let after = home.run(&["source", &place, "game.Workspace.Other"], "").stdout;
    assert_eq!(after, before);
    // The reverse: accept the new source and leave out the rename.
    let (home, place, list) = with_script();
    let edit = fs::read_to_string(&list).unwrap().replace("Workspace.Lines", "Workspace.Other");
    let list = calls(&home, &[rename, &edit]);
    let mut reviewer = person(&home, &["edit", &place, "--ops", &list]);
    reviewer.answers(APPLY, "s");
    reviewer.answers("(1 of 3)?", "n");
    reviewer.answers("(2 of 3)?", "a");
    ends(reviewer, 0);
    assert!(source(&home, &place).contains("v30 = 3000"));
}

#[test]
fn interrupted_run_is_recorded_as_ended() {
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let mut person = person(&home, &["edit", &text(&file), "--prompt", GRID]);
    person.sees(APPLY);
    person.interrupts();
    ends(person, 3);
    assert!(fs::read(&file).unwrap() == before);
    let log = home.run(&["log"], "").stdout;
    assert!(log.contains("not approved") && !log.contains("not finished"), "{log}");
    assert!(log.contains("withdrawn"), "{log}");
}

#[test]
fn replanned_card_names_the_cause_and_the_difference() {
    let (home, place, list) = with_script();
    let mut first = person(&home, &["edit", &place, "--ops", &list]);
    first.sees(APPLY);
    // Another process changes the file first.
    let other = r#"{"tool":"replace_text","args":{"path":"game.Workspace.Lines","search":"v15 = 15","replace":"v15 = 0"}}"#;
    ended(&home.run(&["edit", &place, "--ops", "-", "--yes"], other), 0);
    first.types("y");
    let again = first.answers(APPLY, "y");
    let again = again.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(again.contains("Another program changed the file"), "{again}");
    assert!(
        again.contains("replaces proposal") && again.contains("the change is the same"),
        "{again}"
    );
    ends(first, 0);
    let source = source(&home, &place);
    assert!(source.contains("v15 = 0") && source.contains("v30 = 3000"), "{source}");
}

#[test]
fn created_script_is_edited_as_its_source() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let made = r#"{"tool":"create_instance","args":{"className":"Script","parentPath":"game.Workspace","props":{"Name":"Lines","Source":"print(1)\n"}}}"#;
    let list = calls(&home, &[made]);
    let editor = r#"grep -q '^print(1)$' "$1" && echo 'print("by hand")' > "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    let card = person.answers(APPLY, "y");
    assert!(card.contains("by hand"), "{card}");
    ends(person, 0);
    assert_eq!(source(&home, &place), "print(\"by hand\")\n");
}

#[test]
fn proposed_values_are_edited_as_lines() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let made = r##"{"tool":"create_instance","args":{"className":"Part","parentPath":"game.Workspace","props":{"Name":"Slab","Size":[4,1,2],"Color":"#ff0000","Material":"Neon"}}}"##;
    let list = calls(&home, &[made]);
    // At first, a line is missing.
    let editor = r#"
        if [ ! -e "$0.once" ]; then touch "$0.once"; sed '/^Material/d' "$1" > "$1.new"
        else sed '1a Material = Grass' "$1" | sed 's/^Size = \[4.*/Size = [8, 1, 2]/' > "$1.new"; fi
        mv "$1.new" "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    let refusal = person.answers("Edit it again?", "n");
    assert!(
        refusal.contains("The line `Material = ` of game.Workspace.Slab is missing"),
        "{refusal}"
    );
    person.answers(APPLY, "e");
    let refusal = person.answers("Edit it again?", "n");
    assert!(refusal.contains("of order") || refusal.contains("too many"), "{refusal}");
    person.answers(APPLY, "q");
    ends(person, 3);

    let editor = r#"sed 's/^Size = .*/Size = [8, 1, 2]/; s/^Material = .*/Material = Grass/' "$1" > "$1.new" && mv "$1.new" "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    person.answers(APPLY, "y");
    ends(person, 0);
    let shown = home.run(&["show", &place, "game.Workspace.Slab", "--props"], "").stdout;
    assert!(shown.contains("8, 1, 2") && shown.contains("Grass"), "{shown}");
}

#[test]
fn edit_asks_for_one_of_several_items() {
    let (home, place, _) = with_script();
    let edit = r#"{"tool":"replace_text","args":{"path":"game.Workspace.Lines","search":"v1 = 1\n","replace":"v1 = 100\n"}}"#;
    let list = calls(&home, &[edit, &folder("Beside")]);
    let editor = r#"sed 's/v1 = 100/v1 = 7/' "$1" > "$1.new" && mv "$1.new" "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    let which = person.answers("Edit which?", "9");
    assert!(
        which.contains("1. game.Workspace.Lines") && which.contains("2. the tool call"),
        "{which}"
    );
    person.answers("Edit which?", "1");
    person.answers(APPLY, "y");
    ends(person, 0);
    assert!(source(&home, &place).starts_with("local v1 = 7\n"));
    assert!(tree(&home, &place).contains("Beside"));
}

#[test]
fn edit_again_prompt_explains_its_keys() {
    let (home, place, list) = with_script();
    let editor = r#"echo 'local = ' > "$1""#;
    let mut person = edits_with(&home, editor, &["edit", &place, "--ops", &list]);
    person.answers(APPLY, "e");
    person.answers("Edit it again?", "x");
    let keys = person.answers("Edit it again?", "n");
    assert!(keys.contains("n discards it"), "{keys}");
    person.answers(APPLY, "q");
    ends(person, 3);
}

#[test]
fn instances_of_a_large_change_are_chosen_one_by_one() {
    let home = Home::new();
    let file = home.path().join("place.rbxl");
    fs::write(&file, many_parts(2_050)).unwrap();
    let place = text(&file);
    let set = r#"{"tool":"set_properties","args":{"selector":"Part","props":{"Anchored":true}}}"#;
    let list = calls(&home, &[set]);
    let mut person = person(&home, &["edit", &place, "--ops", &list]);
    let card = person.answers("[v]iew all of it [?]", "s");
    assert!(card.contains("2050 operations") && card.contains("50 further rows"), "{card}");
    let first = person.answers("Take this (1 of 1)? [y]es [n]o [o]ne by one", "o");
    assert!(first.contains("further instances"), "{first}");
    person.answers("Take this (1 of 2050 instances)?", "n");
    person.answers("Take this (2 of 2050 instances)?", "y");
    let third = person.answers("Take this (3 of 2050 instances)?", "n");
    assert!(third.contains("Part2"), "{third}");
    person.answers("Take this (4 of 2050 instances)?", "a");
    let (code, shown) = person.sees_the_end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("2048 of 2050 parts of: "), "{shown}");
    assert_eq!(unanchored(&file), ["Part0", "Part2"]);
}
