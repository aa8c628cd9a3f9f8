//! Commands over many instances: as a whole, or as one for each instance that is left.

use scene_schemas::{Command, Value};

use super::bench::{MergeOutcome, check, merge, merge_planned, place, plan};
use crate::proposal::{BlobStore, try_command};

const ALL: &str = "setall Part Transparency 0.5";

/// The paths and values that single commands of the last proposal set.
fn sets(outcome: &MergeOutcome) -> Vec<String> {
    let line = |command: &Command| match command {
        Command::Set { target, props, .. } => props.get("Transparency").map(|value| {
            let value = value.as_ref().map_or("none".to_owned(), Value::to_brief);
            format!("{} {value}", target.path)
        }),
        _ => None,
    };
    outcome.commands.iter().filter_map(line).collect()
}

#[test]
fn command_over_many_stays_whole_if_nothing_touches_it() {
    for other in
        ["set Workspace.Pointer @n 1", "rename Workspace.Trees Wood", "set Workspace.Wall @n 1"]
    {
        let outcome = check(&[&[other], &[ALL]], &["a0 taken", "b0 taken"]);
        assert!(
            matches!(outcome.commands.last(), Some(Command::SetMany { count: 4, .. })),
            "{other}"
        );
        check(&[&[ALL], &[other]], &["a0 taken", "b0 taken"]);
    }
}

#[test]
fn equal_values_of_many_are_set_once() {
    let wall = "set Workspace.Wall Transparency 0.5";
    let outcome = check(&[&[wall], &[ALL]], &["a0 taken", "b0 taken, Transparency by a0"]);
    assert_eq!(
        sets(&outcome)[1..],
        [
            "game.Workspace.House.Door 0.5",
            "game.Workspace.House.Door.Knob 0.5",
            "game.Workspace.Gate 0.5",
        ]
    );
    check(&[&[ALL], &[wall]], &["a0 taken", "b0 taken, all done, Transparency by a0"]);
    let four = ", Transparency by a0".repeat(4);
    check(&[&[ALL], &[ALL]], &["a0 taken", &format!("b0 taken, all done{four}")]);
}

#[test]
fn each_member_can_conflict() {
    let many = "sets Transparency of 4 instances below game.Workspace to 0.5";
    let wall = "sets Transparency of game.Workspace.Wall to 0.25";
    let at = "property at game.Workspace.Wall";
    let set = "set Workspace.Wall Transparency 0.25";
    check(&[&[set], &[ALL]], &["a0 taken", &format!("{at}: a0 {wall} | b0 {many}")]);
    check(&[&[ALL], &[set]], &["a0 taken", &format!("{at}: a0 {many} | b0 {wall}")]);
    let (delete, gone) = ("delete Workspace.Gate", "deletes game.Workspace.Gate");
    check(
        &[&[delete], &[ALL]],
        &["a0 taken", &format!("write_in_deleted at game.Workspace.Gate: a0 {gone} | b0 {many}")],
    );
    check(
        &[&[ALL], &[delete]],
        &["a0 taken", &format!("delete_of_written at game.Workspace.Gate: a0 {many} | b0 {gone}")],
    );
}

#[test]
fn members_are_followed_to_their_new_paths() {
    let outcome = check(&[&["rename Workspace.House Home"], &[ALL]], &["a0 taken", "b0 taken"]);
    assert_eq!(
        sets(&outcome),
        [
            "game.Workspace.Home.Door 0.5",
            "game.Workspace.Home.Door.Knob 0.5",
            "game.Workspace.Wall 0.5",
            "game.Workspace.Gate 0.5",
        ]
    );
}

#[test]
fn restored_values_follow_their_instances() {
    let mut scene = place();
    let edits: [&[&str]; 2] = [&["rename Workspace.House Home"], &[ALL]];
    let mut planned = plan(&mut scene, &edits);
    let command = &mut planned[1][0].commands[0];
    try_command(&mut scene, command, &BlobStore::new()).unwrap();
    let Command::SetMany { restores, .. } = command else { panic!("it sets many") };
    *restores = true;
    let outcome = merge_planned(scene, &planned);
    assert_eq!(outcome.lines, ["a0 taken", "b0 taken"]);
    assert_eq!(sets(&outcome)[0], "game.Workspace.Home.Door none");
    assert_eq!(outcome.value("Workspace.Wall", "Transparency"), None);
}

#[test]
fn members_that_are_not_as_listed_are_refused() {
    let mut scene = place();
    let planned = plan(&mut scene, &[&["rename Workspace.House Home"], &[ALL]]);
    let gate = scene.resolve(&"game.Workspace.Gate".parse().unwrap()).unwrap();
    scene.scene_mut().set_property(gate, "Transparency", Some(&Value::Float32(0.75))).unwrap();
    let outcome = merge_planned(scene, &planned);
    assert_eq!(outcome.lines.len(), 2);
    assert!(
        outcome.lines[1].starts_with("refused at game.Workspace: nothing"),
        "{:?}",
        outcome.lines
    );
}

#[test]
fn values_of_many_are_read_one_by_one() {
    let lines = |reader: &str| merge(&[&[ALL], &[reader]]).lines;
    assert_eq!(
        lines("readproperty Workspace.Wall Transparency")[2..],
        ["b0 reads of a0: Transparency of game.Workspace.Wall"]
    );
    assert_eq!(lines("readproperty Workspace.Pointer Transparency").len(), 2);
    assert_eq!(
        lines("read [Transparency=0.5]")[2..],
        ["b0 reads of a0: matches of [Transparency=0.5]"]
    );
    assert_eq!(
        lines("clone Workspace.House Workspace Second")[2..],
        ["b0 reads of a0: all of game.Workspace.House"]
    );
}
