//! Proposals that are taken: disjoint ones, equal writes, merged texts, and commands that follow an
//! instance.

use scene_schemas::{Command, Value};

use super::bench::{check, merge, merge_planned, place, plan};
use crate::proposal::{BlobStore, try_command};

#[test]
fn disjoint_proposals_are_taken_as_they_were_planned() {
    let edits: [&[&str]; 4] = [
        &["set Workspace.Wall Transparency 0.5", "create Workspace.Trees Part Oak"],
        &["rename Workspace.Gate Entry; set Workspace.Entry Anchored true"],
        &["delete Workspace.House.Door.Knob"],
        &["edit ServerStorage.Main local_a local_c; move Workspace.Pointer ServerStorage"],
    ];
    let outcome = merge(&edits);
    assert_eq!(
        outcome.lines,
        ["a0 taken", "a1 taken", "b0 taken", "c0 taken", "d0 taken"],
        "neither conflicts nor stale reads"
    );
    let planned = plan(&mut place(), &edits);
    let planned: Vec<Command> =
        planned.iter().flatten().flat_map(|it| it.commands.iter().cloned()).collect();
    assert_eq!(outcome.commands, planned);
    assert!(outcome.node("Workspace.Entry").is_some());
}

#[test]
fn merged_commands_can_be_performed_again() {
    let edits: [&[&str]; 3] = [
        &[
            "rename Workspace.House Home",
            "delete Workspace.Gate; move Workspace.Wall Workspace.Trees",
        ],
        &["set Workspace.House.Door Transparency 0.5; create Workspace.House Part Roof"],
        &["set Workspace.Wall Anchored true; set Workspace.House.Door.Knob Anchored true"],
    ];
    let mut scene = place();
    let planned = plan(&mut scene, &edits);
    let outcome = merge_planned(place(), &planned);
    for command in &outcome.commands {
        try_command(&mut scene, command, &BlobStore::new()).unwrap();
    }
    let tree: Vec<String> = scene
        .descendants(scene.root())
        .map(|node| format!("{} {}", scene.class(node), scene.path(node)))
        .collect();
    assert_eq!(tree, outcome.tree);
}

#[test]
fn equal_writes_are_made_once() {
    let set = "set Workspace.Wall Transparency 0.5";
    let outcome = check(
        &[
            &[set],
            &[set],
            &["set Workspace.Wall Transparency 0.5; set Workspace.Gate Anchored true"],
        ],
        &["a0 taken", "b0 taken, all done, Transparency by a0", "c0 taken, Transparency by a0"],
    );
    assert_eq!(outcome.commands.len(), 2);
    check(
        &[&["rename Workspace.Wall Fence"], &["rename Workspace.Wall Fence"]],
        &["a0 taken", "b0 taken, all done, Name by a0"],
    );
    check(
        &[&["move Workspace.Wall Workspace.Trees"], &["move Workspace.Wall Workspace.Trees"]],
        &["a0 taken", "b0 taken, all done, move by a0"],
    );
    let point = "set Workspace.Pointer Value &Workspace.Wall";
    check(&[&[point], &[point]], &["a0 taken", "b0 taken, all done, Value by a0"]);
    let edit = "edit ServerStorage.Main local_a_=_1 local_a_=_3";
    check(&[&[edit], &[edit]], &["a0 taken", "b0 taken, all done, text by a0"]);
    check(
        &[&["remember two zwei"], &["remember two zwei"]],
        &["a0 taken", "b0 taken, all done, text by a0"],
    );
}

#[test]
fn equal_move_is_made_again_if_it_changes_the_order() {
    let outcome = check(
        &[
            &["move Workspace.Wall Workspace.Trees; create Workspace.Trees Part Oak"],
            &["move Workspace.Wall Workspace.Trees"],
        ],
        &["a0 taken", "b0 taken"],
    );
    let at = outcome.tree.iter().position(|line| line.ends_with("Trees.Oak")).unwrap();
    assert_eq!(outcome.tree[at + 1], "Part game.Workspace.Trees.Wall");
}

#[test]
fn last_value_of_an_overlay_is_compared() {
    let twice: &[&str] =
        &["set Workspace.Wall Transparency 0.25", "set Workspace.Wall Transparency 0.5"];
    check(
        &[twice, &["set Workspace.Wall Transparency 0.5"]],
        &["a0 taken", "a1 taken", "b0 taken, all done, Transparency by a1"],
    );
}

#[test]
fn equal_properties_of_one_command_are_left_out_of_it() {
    let mut scene = place();
    let edits: [&[&str]; 2] =
        [&["set Workspace.Wall Anchored true"], &["set Workspace.Wall Transparency 0.5"]];
    let mut planned = plan(&mut scene, &edits);
    let wall = scene.resolve(&"game.Workspace.Wall".parse().unwrap()).unwrap();
    let Command::Set { props, expect, .. } = &mut planned[1][0].commands[0] else {
        panic!("it is a change of properties")
    };
    props.insert("Anchored".to_owned(), Some(Value::Bool(true)));
    *expect = Some(scene.fingerprint(wall, ["Anchored", "Transparency"]));
    let outcome = merge_planned(scene, &planned);
    assert_eq!(outcome.lines, ["a0 taken", "b0 taken, Anchored by a0"]);
    let Command::Set { props, .. } = &outcome.commands[1] else { panic!("it sets the rest") };
    assert_eq!(props.keys().collect::<Vec<_>>(), ["Transparency"]);
}

#[test]
fn deletions_include_each_other() {
    let (door, knob) = ("delete Workspace.House.Door", "delete Workspace.House.Door.Knob");
    check(&[&[door], &[door]], &["a0 taken", "b0 taken, all done, deletion by a0"]);
    check(&[&[door], &[knob]], &["a0 taken", "b0 taken, all done, deletion by a0"]);
    let outcome = check(&[&[knob], &["delete Workspace.House"]], &["a0 taken", "b0 taken"]);
    assert!(matches!(outcome.commands[1], Command::Delete { count: 2, .. }));
    assert!(outcome.node("Workspace.House").is_none());
}

#[test]
fn texts_are_merged_by_hunks() {
    let outcome = check(
        &[
            &["edit ServerStorage.Main local_a_=_1 local_a_=_3"],
            &[
                "edit ServerStorage.Main print(a,_b) print(b)",
                "edit ServerStorage.Main print(b) print(b,_b)",
            ],
            &["edit ServerStorage.Main print(a,_b) print(b,_b)"],
        ],
        &[
            "a0 taken",
            "b0 taken, merged with a0",
            "b1 taken, merged with a0",
            "c0 taken, all done, text by b1",
        ],
    );
    assert_eq!(outcome.text("ServerStorage.Main"), "local a = 3\nlocal b = 2\n\n\nprint(b, b)\n");
    let outcome = check(
        &[&["remember one eins"], &["remember three drei"]],
        &["a0 taken", "b0 taken, merged with a0"],
    );
    assert_eq!(outcome.scene.memory(), Some("eins\ntwo\ndrei\n"));
}

/// A command that sets the whole text of a script is from an inverse, not from a tool.
#[test]
fn whole_text_is_compared_with_the_merged_one() {
    let edit = |to: &str| format!("edit ServerStorage.Main local_a_=_1 local_a_=_{to}");
    let (three, four) = (edit("3"), edit("4"));
    let print = "edit ServerStorage.Main print(a,_b) print(b)";
    let edits: [[&[&str]; 2]; 3] =
        [[&[&three], &[&three, print]], [&[&three], &[&three]], [&[&three], &[&four]]];
    // The overlay whose first proposal sets the text, and what comes of the second overlay.
    let cases: [(usize, &[&str]); 3] = [
        (1, &["b0 taken, all done, Source by a0", "b1 taken, merged with a0"]),
        (0, &["b0 taken, all done, text by a0"]),
        (
            1,
            &[
                "property at game.ServerStorage.Main: a0 edits the text of game.ServerStorage.Main | \
               b0 sets Source of game.ServerStorage.Main to \
               \"local a = 4⏎local b = 2⏎⏎⏎print(a, b)⏎\"",
            ],
        ),
    ];
    for (edits, (overlay, expected)) in edits.iter().zip(cases) {
        let mut scene = place();
        let mut planned = plan(&mut scene, edits);
        let Command::EditScript { target, edits, .. } = &planned[overlay][0].commands[0] else {
            panic!("it edits a script")
        };
        let main = scene.locate(target).unwrap();
        let text = scene.script_text(main).unwrap();
        let text = vector_text_edit::apply_edits(&text, edits).unwrap();
        let props = [("Source".to_owned(), Some(Value::String(text)))].into();
        let expect = Some(scene.fingerprint(main, ["Source"]));
        let set = Command::Set { target: target.clone(), props, expect };
        planned[overlay][0].commands = vec![set];
        assert_eq!(merge_planned(scene, &planned).lines[1..], *expected);
    }
}

#[test]
fn several_edits_of_one_text_in_a_proposal_are_merged_one_by_one() {
    let outcome = check(
        &[
            &["edit ServerStorage.Main local_a_=_1 local_a_=_3"],
            &["edit ServerStorage.Main print(a,_b) print(b); \
               edit ServerStorage.Main print(b) print()"],
        ],
        &["a0 taken", "b0 taken, merged with a0, merged with a0"],
    );
    assert_eq!(outcome.text("ServerStorage.Main"), "local a = 3\nlocal b = 2\n\n\nprint()\n");
}

#[test]
fn commands_follow_an_instance_that_was_renamed_or_moved() {
    let moves = ["rename Workspace.House Home", "move Workspace.House Workspace.Trees"];
    let follow = [
        "set Workspace.House PrimaryPart &Workspace.House.Door",
        "set Workspace.Pointer Value &Workspace.House.Door",
        "create Workspace.House Part Roof",
        "clone Workspace.House.Door Workspace Second",
        "move Workspace.Wall Workspace.House",
        "move Workspace.House.Door Workspace",
        "delete Workspace.House.Door",
        "rename Workspace.House.Door.Knob Handle; set Workspace.House.Door.Handle Anchored true",
    ];
    for one in moves {
        for other in follow {
            check(&[&[one], &[other]], &["a0 taken", "b0 taken"]);
            check(&[&[other], &[one]], &["a0 taken", "b0 taken"]);
        }
    }
    let outcome = check(
        &[&["rename Workspace.House Home"], &["move Workspace.House Workspace.Trees"]],
        &["a0 taken", "b0 taken"],
    );
    assert!(outcome.node("Workspace.Trees.Home.Door.Knob").is_some());
}

#[test]
fn expected_value_of_a_reference_follows_its_instance() {
    let outcome = check(
        &[
            &["rename Workspace.Wall Fence"],
            &["set Workspace.Pointer Value &Workspace.Wall", "set Workspace.Pointer Value none"],
        ],
        &["a0 taken", "b0 taken", "b1 taken"],
    );
    assert_eq!(outcome.value("Workspace.Pointer", "Value"), None);
}

#[test]
fn names_that_are_free_again_do_not_clash() {
    check(
        &[
            &["create Workspace Part New", "rename Workspace.New Old"],
            &["create Workspace Part New; move Workspace.New Workspace.Trees"],
            &["create Workspace Part New"],
        ],
        &["a0 taken", "a1 taken", "b0 taken", "c0 taken"],
    );
    check(
        &[&["rename Workspace.Wall Fence"], &["create Workspace Part Wall"]],
        &["a0 taken", "b0 taken"],
    );
}

#[test]
fn several_children_of_one_overlay_may_share_a_name() {
    let twice = "create Workspace Part New; create Workspace Part New";
    check(
        &[&[twice, "create Workspace Part New"], &["create Workspace Part Other"]],
        &["a0 taken", "a1 taken", "b0 taken"],
    );
}

#[test]
fn result_is_the_same_for_the_same_overlays() {
    let edits: [&[&str]; 3] = [
        &["edit ServerStorage.Main local_a local_c", "delete Workspace.House", "remember two zwei"],
        &["create Workspace.House Part Roof", "set Workspace.House.Roof Anchored true"],
        &["edit ServerStorage.Main local_a local_d; clone Workspace.Wall Workspace.Trees Fence"],
    ];
    assert_eq!(merge(&edits).json, merge(&edits).json);
}
