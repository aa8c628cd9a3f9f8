//! Conflicts in both directions, with both sides, and what depends on a proposal that is left out.

use scene_schemas::{Command, Fingerprint};

use super::bench::{check, merge, merge_planned, place, plan};

const WALL: &str = "game.Workspace.Wall";
const DOOR: &str = "game.Workspace.House.Door";

/// Checks that two proposals conflict, and that in the other order they do too.
#[track_caller]
fn check_both(one: &str, other: &str, expected: [&str; 2]) {
    for (edits, expected) in [([one, other], expected[0]), ([other, one], expected[1])] {
        check(&[&[edits[0]], &[edits[1]]], &["a0 taken", expected]);
    }
}

#[test]
fn different_values_of_a_property_conflict() {
    let [half, quarter] = ["0.5", "0.25"].map(|value| {
        [
            format!("set Workspace.Wall Transparency {value}"),
            format!("sets Transparency of {WALL} to {value}"),
        ]
    });
    check_both(
        &half[0],
        &quarter[0],
        [
            &format!("property at {WALL}: a0 {} | b0 {}", half[1], quarter[1]),
            &format!("property at {WALL}: a0 {} | b0 {}", quarter[1], half[1]),
        ],
    );
    check(
        &[&["set Workspace.Wall @n 1"], &["set Workspace.Wall @n 2; set Workspace.Wall @m 1"]],
        &[
            "a0 taken",
            &format!("property at {WALL}: a0 sets @n of {WALL} to 1 | b0 sets @n of {WALL} to 2"),
        ],
    );
}

#[test]
fn properties_that_hold_the_same_value_conflict() {
    check_both(
        "set Workspace.Wall Color 1,0,0",
        "set Workspace.Wall BrickColor #Really_red",
        [
            "property at game.Workspace.Wall: a0 sets Color of game.Workspace.Wall to #ff0000 | \
         b0 sets BrickColor of game.Workspace.Wall to Really red",
            "property at game.Workspace.Wall: a0 sets BrickColor of game.Workspace.Wall to Really red | \
         b0 sets Color of game.Workspace.Wall to #ff0000",
        ],
    );
    // What both properties left is not what one of them sets.
    check(
        &[
            &["set Workspace.Wall BrickColor #Really_red; set Workspace.Wall Color 1,0,0"],
            &["set Workspace.Wall Color 1,0,0"],
        ],
        &[
            "a0 taken",
            "property at game.Workspace.Wall: a0 sets Color of game.Workspace.Wall to #ff0000 | \
             b0 sets Color of game.Workspace.Wall to #ff0000",
        ],
    );
}

#[test]
fn equal_ids_of_new_instances_are_not_equal_values() {
    let point = |name: &str| {
        format!(
            "create Workspace.Trees Part {name}; set Workspace.Pointer Value &Workspace.Trees.{name}"
        )
    };
    let of =
        |name: &str| format!("sets Value of game.Workspace.Pointer to game.Workspace.Trees.{name}");
    check(
        &[&[&point("Oak")], &[&point("Elm")]],
        &[
            "a0 taken",
            &format!("property at game.Workspace.Pointer: a0 {} | b0 {}", of("Oak"), of("Elm")),
        ],
    );
}

#[test]
fn all_conflicts_of_a_proposal_are_named() {
    let outcome = merge(&[
        &["set Workspace.Wall Transparency 0.5", "delete Workspace.Gate"],
        &["remember two zwei"],
        &["set Workspace.Wall Transparency 0.25; create Workspace Part New; \
           set Workspace.New Anchored true; set Workspace.Gate Anchored true; remember two deux"],
    ]);
    let found: Vec<&str> =
        outcome.lines.iter().filter_map(|line| line.split_once(" at ")).map(|it| it.0).collect();
    assert_eq!(found, ["property", "write_in_deleted", "memory"]);
    assert!(outcome.node("Workspace.New").is_none());
}

#[test]
fn overlapping_hunks_of_a_script_conflict() {
    let [three, four] = ["3", "4"].map(|n| format!("edit ServerStorage.Main a_=_1 a_=_{n}"));
    let side = "edits the text of game.ServerStorage.Main";
    let expected = format!("script at game.ServerStorage.Main: a0 {side} | b0 {side}");
    check_both(&three, &four, [&expected, &expected]);
    let outcome = merge(&[&[&three], &[&four]]);
    assert!(outcome.json.contains(
        r#""passages":[{"line":1,"base":"local a = 1\n","theirs":"local a = 3\n","ours":"local a = 4\n"}]"#
    ));
    // The side is the overlay with the hunk that overlaps, not the last that edited the text.
    let print = "edit ServerStorage.Main print(a,_b) print(b)";
    check(
        &[&[&three], &[print], &[&four]],
        &[
            "a0 taken",
            "b0 taken, merged with a0",
            &format!("script at game.ServerStorage.Main: a0 {side} | c0 {side}"),
        ],
    );
}

#[test]
fn hunk_cannot_be_replaced_after_it_was_made_too() {
    let [three, four] = ["1 a_=_3", "3 a_=_4"].map(|n| format!("edit ServerStorage.Main a_=_{n}"));
    let side = "edits the text of game.ServerStorage.Main";
    check(
        &[&[&three], &[&three, &four]],
        &[
            "a0 taken",
            "b0 taken, all done, text by a0",
            &format!("script at game.ServerStorage.Main: a0 {side} | b1 {side}"),
        ],
    );
}

#[test]
fn overlapping_hunks_of_the_memory_conflict() {
    let expected = "memory at game: a0 edits the project's memory | b0 edits the project's memory";
    check_both("remember two zwei", "remember two deux", [expected; 2]);
}

#[test]
fn two_children_with_one_new_name_conflict() {
    let ways = [
        ["create Workspace.Trees Part Oak", "creates the Part Oak in game.Workspace.Trees"],
        [
            "clone Workspace.Gate Workspace.Trees Oak",
            "copies game.Workspace.Gate as Oak into game.Workspace.Trees",
        ],
        [
            "rename Workspace.Wall Oak; move Workspace.Oak Workspace.Trees",
            "moves game.Workspace.Oak into game.Workspace.Trees",
        ],
        [
            "move Workspace.Gate Workspace.Trees; rename Workspace.Trees.Gate Oak",
            "renames game.Workspace.Trees.Gate to Oak",
        ],
    ];
    for (at, one) in ways.iter().enumerate() {
        for other in ways.iter().skip(at + 1).chain((at == 0).then_some(one)) {
            let line = |[one, other]: [&str; 2]| {
                format!("name at game.Workspace.Trees: a0 {one} | b0 {other}")
            };
            check_both(one[0], other[0], [&line([one[1], other[1]]), &line([other[1], one[1]])]);
        }
    }
}

#[test]
fn name_of_a_third_instance_is_compared_where_it_is_now() {
    check(
        &[
            &["create Workspace.Trees Part Oak"],
            &["move Workspace.Wall Workspace.Trees"],
            &["rename Workspace.Wall Oak"],
        ],
        &[
            "a0 taken",
            "b0 taken",
            "name at game.Workspace.Trees: a0 creates the Part Oak in game.Workspace.Trees | \
             c0 renames game.Workspace.Wall to Oak",
        ],
    );
}

#[test]
fn write_at_or_below_a_deleted_subtree_conflicts() {
    let knob = "game.Workspace.House.Door.Knob";
    let house = "deletes game.Workspace.House with everything below it, 3 instances";
    let writes = [
        [
            "set Workspace.House.Door Anchored true",
            DOOR,
            DOOR,
            "sets Anchored of game.Workspace.House.Door to true",
        ],
        [
            "rename Workspace.House.Door Gate",
            "game.Workspace.House.Gate",
            DOOR,
            "renames game.Workspace.House.Door to Gate",
        ],
        [
            "create Workspace.House.Door Part Lock",
            DOOR,
            DOOR,
            "creates the Part Lock in game.Workspace.House.Door",
        ],
        [
            "move Workspace.Wall Workspace.House.Door",
            DOOR,
            DOOR,
            "moves game.Workspace.Wall into game.Workspace.House.Door",
        ],
        [
            "move Workspace.House.Door.Knob Workspace",
            DOOR,
            knob,
            "moves game.Workspace.House.Door.Knob into game.Workspace",
        ],
        [
            "clone Workspace.Wall Workspace.House.Door Lock",
            DOOR,
            DOOR,
            "copies game.Workspace.Wall as Lock into game.Workspace.House.Door",
        ],
    ];
    for [write, changed, gone, words] in writes {
        check_both(
            write,
            "delete Workspace.House",
            [
                &format!("delete_of_written at {changed}: a0 {words} | b0 {house}"),
                &format!("write_in_deleted at {gone}: a0 {house} | b0 {words}"),
            ],
        );
    }
    // A copy only reads, so that the other order has no conflict.
    let copy = "clone Workspace.House.Door Workspace Second";
    check(&[&[copy], &["delete Workspace.House"]], &["a0 taken", "b0 taken"]);
    check(
        &[&["delete Workspace.House"], &[copy]],
        &[
            "a0 taken",
            &format!(
                "write_in_deleted at {DOOR}: a0 {house} | b0 copies {DOOR} as Second into game.Workspace"
            ),
        ],
    );
    let [edit, delete] = ["edit ServerStorage.Main a_=_1 a_=_3", "delete ServerStorage.Main"];
    let (edits, deletes) =
        ("edits the text of game.ServerStorage.Main", "deletes game.ServerStorage.Main");
    check_both(
        edit,
        delete,
        [
            &format!("delete_of_written at game.ServerStorage.Main: a0 {edits} | b0 {deletes}"),
            &format!("write_in_deleted at game.ServerStorage.Main: a0 {deletes} | b0 {edits}"),
        ],
    );
}

#[test]
fn moves_in_a_circle_conflict() {
    let moves =
        |from: &str, to: &str| format!("moves game.Workspace.{from} into game.Workspace.{to}");
    let (door, trees) = (moves("House", "Trees"), moves("Trees", "House.Door"));
    check_both(
        "move Workspace.House Workspace.Trees",
        "move Workspace.Trees Workspace.House.Door",
        [
            &format!("cycle at game.Workspace.Trees: a0 {door} | b0 {trees}"),
            &format!("cycle at game.Workspace.House: a0 {trees} | b0 {door}"),
        ],
    );
}

#[test]
fn one_instance_moved_to_two_parents_conflicts() {
    let moves = |to: &str| format!("moves {WALL} into game.Workspace.{to}");
    check_both(
        "move Workspace.Wall Workspace.House",
        "move Workspace.Wall Workspace.Trees",
        [
            &format!(
                "parent at game.Workspace.House.Wall: a0 {} | b0 {}",
                moves("House"),
                moves("Trees")
            ),
            &format!(
                "parent at game.Workspace.Trees.Wall: a0 {} | b0 {}",
                moves("Trees"),
                moves("House")
            ),
        ],
    );
}

#[test]
fn reference_to_a_deleted_instance_conflicts() {
    let set = "sets Value of game.Workspace.Pointer to game.Workspace.House.Door";
    let house = "deletes game.Workspace.House with everything below it, 3 instances";
    check_both(
        "set Workspace.Pointer Value &Workspace.House.Door",
        "delete Workspace.House",
        [
            &format!("delete_of_referred at {DOOR}: a0 {set} | b0 {house}"),
            &format!("reference_to_deleted at {DOOR}: a0 {house} | b0 {set}"),
        ],
    );
    // A reference that is gone again is none.
    check(
        &[
            &[
                "set Workspace.Pointer Value &Workspace.House.Door",
                "set Workspace.Pointer Value &Workspace.Wall",
            ],
            &["delete Workspace.House"],
        ],
        &["a0 taken", "a1 taken", "b0 taken"],
    );
}

#[test]
fn copy_of_a_subtree_with_other_instances_conflicts() {
    let copy = "clone Workspace.House Workspace Second";
    let copies = "copies game.Workspace.House as Second into game.Workspace";
    let changes = [
        [
            "create Workspace.House Part Roof",
            "House",
            "creates the Part Roof in game.Workspace.House",
        ],
        [
            "delete Workspace.House.Door.Knob",
            "House.Door",
            "deletes game.Workspace.House.Door.Knob",
        ],
        // As many instances, but others.
        [
            "delete Workspace.House.Door.Knob; create Workspace.House Part Roof",
            "House",
            "creates the Part Roof in game.Workspace.House",
        ],
        [
            "move Workspace.House.Door.Knob Workspace.House",
            "House",
            "moves game.Workspace.House.Door.Knob into game.Workspace.House",
        ],
    ];
    for [change, at, words] in changes {
        let at = format!("copy_of_restructured at game.Workspace.{at}");
        check(&[&[change], &[copy]], &["a0 taken", &format!("{at}: a0 {words} | b0 {copies}")]);
        check(&[&[copy], &[change]], &["a0 taken", "b0 taken"]);
    }
}

#[test]
fn name_and_parent_of_different_overlays_clash_with_any_child() {
    let moves = "moves game.Workspace.Wall into game.Workspace.House";
    let rename = "rename Workspace.Wall Door";
    check_both(
        "move Workspace.Wall Workspace.House",
        rename,
        [
            &format!("name at game.Workspace.House: a0 {moves} | b0 renames {WALL} to Door"),
            &format!("name at game.Workspace.House: a0 renames {WALL} to Door | b0 {moves}"),
        ],
    );
    // The other child is of the overlay that renames.
    for (at, edits) in [
        ["create Workspace.Trees Part Oak", "rename Workspace.Wall Oak"],
        ["rename Workspace.Wall Oak", "create Workspace.Trees Part Oak"],
    ]
    .iter()
    .enumerate()
    {
        let outcome = merge(&[&["move Workspace.Wall Workspace.Trees"], edits]);
        assert_eq!(outcome.lines[..2], ["a0 taken", "b0 taken"], "{edits:?}");
        let side =
            ["renames game.Workspace.Wall to Oak", "creates the Part Oak in game.Workspace.Trees"]
                [at];
        assert_eq!(
            outcome.lines[2],
            format!(
                "name at game.Workspace.Trees: a0 moves {WALL} into game.Workspace.Trees | b1 {side}"
            )
        );
    }
}

#[test]
fn proposal_that_does_not_fit_its_base_is_refused_without_an_earlier_side() {
    let mut scene = place();
    let mut planned =
        plan(&mut scene, &[&["set Workspace.Wall Anchored true"], &["delete Workspace.Gate"]]);
    let Command::Set { expect, .. } = &mut planned[0][0].commands[0] else {
        panic!("it is a change of properties")
    };
    *expect = Some(Fingerprint::hash_bytes(b"another base"));
    let outcome = merge_planned(scene, &planned);
    assert_eq!(
        outcome.lines,
        [
            "b0 taken",
            "refused at game.Workspace.Wall: nothing | a0 sets Anchored of game.Workspace.Wall to true",
        ]
    );
}

#[test]
fn proposals_that_depend_on_one_that_is_left_out_are_left_out() {
    let mut scene = place();
    let mut planned = plan(
        &mut scene,
        &[
            &["create Workspace Part New"],
            &[
                "create Workspace Folder New; create Workspace.New Part Inner",
                "set Workspace.New.Inner Anchored true",
                "set Workspace.Wall Anchored true",
                "rename Workspace.Gate Entry",
                "read #New",
            ],
        ],
    );
    planned[1][3].after = vec![scene_schemas::entry::Seq(2_101)];
    // A proposal without commands reads only.
    let outcome = merge_planned(scene, &planned);
    assert_eq!(
        outcome.lines,
        [
            "a0 taken",
            "b2 taken",
            "name at game.Workspace: a0 creates the Part New in game.Workspace | \
         b0 creates the Folder New in game.Workspace",
            "b1 without b0: CreatedInstance",
            "b3 without b1: After",
            "b4 without b0: Footprint",
            "b0 reads of a0: game.Workspace.New",
            "b1 reads of a0: game.Workspace.New",
            "b4 reads of a0: matches of #New",
        ]
    );
    assert!(outcome.node("Workspace.New").is_some());
}

#[test]
fn proposal_that_is_left_out_leaves_nothing_behind() {
    let outcome = check(
        &[
            &["set Workspace.Wall Transparency 0.5"],
            &["create Workspace.Trees Part Oak; edit ServerStorage.Main a_=_1 a_=_3; \
               delete Workspace.Gate; set Workspace.Wall Transparency 0.25"],
            &["create Workspace.Trees Part Oak; set Workspace.Gate Anchored true"],
        ],
        &[
            "a0 taken",
            "c0 taken",
            &format!(
                "property at {WALL}: a0 sets Transparency of {WALL} to 0.5 | \
                 b0 sets Transparency of {WALL} to 0.25"
            ),
        ],
    );
    assert!(outcome.text("ServerStorage.Main").starts_with("local a = 1\n"));
}
