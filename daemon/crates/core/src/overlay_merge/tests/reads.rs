//! Stale reads: who read what, and who had written it.

use super::bench::merge;

/// Checks the stale reads of two overlays, and that there are none if the reader is the earlier one.
#[track_caller]
fn check(writer: &str, reader: &str, expected: Option<&str>) {
    let reads = |edits: &[&[&str]]| -> Vec<String> {
        let lines = merge(edits).lines;
        lines.into_iter().filter(|line| line.contains(" reads of ")).collect()
    };
    let found = reads(&[&[writer], &[reader]]);
    let expected = expected.map(|it| format!("b0 reads of a0: {it}"));
    assert_eq!(found, Vec::from_iter(expected), "{writer} | {reader}");
}

#[test]
fn instance_is_read_by_what_addresses_it() {
    let rename = "rename Workspace.House Home";
    let door = "set Workspace.House.Door Anchored true";
    check(rename, door, Some("game.Workspace.House"));
    check(door, rename, None);
    check(rename, "set Workspace.Wall Anchored true", None);
    check(rename, "set Workspace.Pointer Value &Workspace.House", Some("game.Workspace.House"));
    check(
        "create Workspace Part Wall",
        "set Workspace.Wall Anchored true",
        Some("game.Workspace.Wall"),
    );
    check("create Workspace Part Fence", "set Workspace.Wall Anchored true", None);
}

#[test]
fn property_and_text_are_read_by_note() {
    check(
        "edit ServerStorage.Main a_=_1 a_=_3",
        "readtext ServerStorage.Main",
        Some("Source of game.ServerStorage.Main"),
    );
    check(
        "rename ServerStorage.Main Start",
        "readtext ServerStorage.Main",
        Some("game.ServerStorage.Main"),
    );
    check("edit ServerStorage.Main a_=_1 a_=_3", "edit ServerStorage.Main print() print()", None);
}

#[test]
fn tree_is_read_by_a_copy_and_a_deletion() {
    let change = "set Workspace.House.Door.Knob Anchored true";
    check(change, "clone Workspace.House Workspace Second", Some("all of game.Workspace.House"));
    check(change, "delete Workspace.House", Some("all of game.Workspace.House"));
    check(change, "delete Workspace.Gate", None);
}

#[test]
fn selector_is_read_with_phantoms() {
    check("create Workspace Part New", "read Part", Some("matches of Part"));
    check("create Workspace Folder New", "read Part", None);
    check("rename Workspace.Wall Fence", "read #Fence", Some("matches of #Fence"));
    check(
        "set Workspace.Wall Anchored true",
        "read [Anchored=true]",
        Some("matches of [Anchored=true]"),
    );
    check("set Workspace.Wall Transparency 0.5", "read [Anchored=true]", None);
}

#[test]
fn whole_place_is_read() {
    check("set Workspace.Wall Anchored true", "readplace", Some("the place"));
}

#[test]
fn each_pair_of_proposals_is_named_once() {
    let lines = merge(&[
        &["rename Workspace.House Home", "create Workspace Part Wall"],
        &["set Workspace.Gate Anchored true"],
        &[
            "set Workspace.Wall Anchored true; set Workspace.Wall Transparency 0.5; \
           set Workspace.House.Door Anchored true",
            "read Part, [Anchored=true]",
        ],
    ])
    .lines;
    assert_eq!(
        lines[5..],
        [
            "c0 reads of a0: game.Workspace.House",
            "c0 reads of a1: game.Workspace.Wall",
            "c1 reads of a1: matches of Part, [Anchored=true]",
            "c1 reads of b0: matches of Part, [Anchored=true]",
        ]
    );
}

#[test]
fn what_is_left_out_writes_nothing() {
    let lines = merge(&[
        &["set Workspace.Wall Transparency 0.5"],
        &["set Workspace.Wall Transparency 0.25; rename Workspace.House Home"],
        &["set Workspace.House.Door Anchored true"],
    ])
    .lines;
    assert!(lines.iter().all(|line| !line.contains(" reads of ")), "{lines:?}");
}
