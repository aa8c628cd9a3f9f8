//! Replanning of proposals: a replanned proposal targets the instances that the first one meant and
//! keeps only the parts that the user chose; otherwise it is withdrawn with a reason.

use std::fs;

use rbx_dom_weak::types::Variant;
use rbx_dom_weak::{Instance, InstanceBuilder, ustr};
use serde_json::{Value as Json, json};
use vector_tests::places;

use super::reviewed::Desk;

/// A place with one part per name; names may repeat.
fn desk(names: &[&str]) -> Desk {
    Desk::with(workspace(names, 0.0))
}

fn workspace(names: &[&str], transparency: f32) -> InstanceBuilder {
    let part = |name: &&str| {
        let part = InstanceBuilder::new("Part").with_name(*name);
        part.with_property("Transparency", transparency)
    };
    InstanceBuilder::new("Workspace").with_children(names.iter().map(part))
}

fn rename(desk: &mut Desk, path: &str, name: &str) -> u64 {
    let path = format!("game.Workspace.{path}");
    desk.propose("rename_instance", json!({ "path": path, "newName": name }))
}

/// Proposes half transparency for the parts that match a selector.
fn fade(desk: &mut Desk, selector: &str) -> u64 {
    let args = json!({ "selector": selector, "props": { "Transparency": 0.5 } });
    desk.propose("set_properties", args)
}

fn reject(desk: &Desk, proposal: u64) {
    desk.human.decide(proposal, &json!({ "say": "reject" })).ok();
}

/// Accepts these parts of a proposal, and returns the proposal that replaces it.
fn take_parts(desk: &Desk, proposal: u64, parts: impl Iterator<Item = Json>) -> u64 {
    let parts: Vec<Json> = parts.collect();
    let taken = desk.human.decide(proposal, &json!({ "say": "take", "parts": parts })).ok();
    taken["proposal"].as_u64().unwrap()
}

fn take(desk: &Desk, proposal: u64, commands: &[u32]) -> u64 {
    let part = |at| json!({ "part": "command", "command": at });
    take_parts(desk, proposal, commands.iter().map(part))
}

fn take_hunks(desk: &Desk, proposal: u64, hunks: &[u32]) -> u64 {
    let part = |at| json!({ "part": "hunk", "script": 0, "hunk": at });
    take_parts(desk, proposal, hunks.iter().map(part))
}

/// Waits for the successor of a replanned proposal, and returns it.
#[track_caller]
fn again(desk: &mut Desk, proposal: u64) -> Json {
    let now = desk.human.until_shown(proposal, |shown| shown["successor"].as_u64());
    desk.human.shown(now)
}

/// Waits until a proposal could not be replanned, and returns the reason.
#[track_caller]
fn refused(desk: &mut Desk, proposal: u64) -> String {
    // The reason lists what was not proposed again after the reason for the withdrawal.
    desk.human.until_shown(proposal, |shown| {
        shown["reason"].as_str().filter(|it| it.contains("not proposed again")).map(|_| ())
    });
    let shown = desk.human.shown(proposal);
    assert_eq!((&shown["status"], &shown["successor"]), (&json!("withdrawn"), &Json::Null));
    let waiting = desk.human.call("GET", "/api/proposals", &Json::Null).ok();
    assert_eq!(waiting["proposals"], json!([]), "nothing waits");
    shown["reason"].as_str().unwrap().to_owned()
}

/// The ids and paths of a proposal's targets.
fn targets(shown: &Json) -> Vec<(&str, &str)> {
    let commands = shown["proposal"]["commands"].as_array().unwrap().iter();
    let targets = commands.map(|it| [&it["target"]["id"], &it["target"]["path"]]);
    targets.map(|[id, path]| (id.as_str().unwrap(), path.as_str().unwrap())).collect()
}

/// The transparencies of the parts in the file, in tree order.
fn transparencies(desk: &Desk) -> Vec<f32> {
    let dom = places::decode(&fs::read(desk.file()).unwrap());
    let parts = dom.descendants().filter(|it| it.class == "Part");
    let of = |part: &Instance| match part.properties.get(&ustr("Transparency")) {
        Some(Variant::Float32(value)) => *value,
        other => panic!("{other:?}"),
    };
    parts.map(of).collect()
}

#[test]
fn replan_does_not_target_another_instance_at_the_path() {
    let mut desk = desk(&["Wall", "Wall", "Wall"]);
    let first = rename(&mut desk, "Wall[1]", "Gate");
    let second = rename(&mut desk, "Wall[1]", "Tower");
    let before = desk.human.shown(second);
    reject(&desk, first);
    let expected = format!(
        "It was based on proposal {first}, and is replanned without it. The new plan was refused: \
         The paths of this proposal now refer to a different instance, so it is not proposed \
         again: game.Workspace.Wall[1] at planning time is now game.Workspace.Wall[2]. Request it \
         again with the current path."
    );
    assert_eq!(refused(&mut desk, second), expected);
    let asked = rename(&mut desk, "Wall[2]", "Tower");
    assert_eq!(targets(&desk.human.shown(asked))[0].0, targets(&before)[0].0);
}

#[test]
fn path_that_became_ambiguous_is_not_replanned() {
    let mut desk = desk(&["Wall", "Wall"]);
    let first = rename(&mut desk, "Wall[1]", "Gate");
    let second = rename(&mut desk, "Wall[1]", "Tower");
    assert_eq!(targets(&desk.human.shown(second))[0].1, "game.Workspace.Wall");
    reject(&desk, first);
    let why = refused(&mut desk, second);
    assert!(why.contains("game.Workspace.Wall at planning time is now"), "{why}");
}

#[test]
fn shifted_paths_are_not_replanned_for_instances_in_common() {
    let mut desk = desk(&["Wall", "Wall", "Wall"]);
    let first = rename(&mut desk, "Wall[1]", "Gate");
    let paths = ["game.Workspace.Wall[1]", "game.Workspace.Wall[2]"];
    let args = json!({ "paths": paths, "props": { "Transparency": 0.5 } });
    let second = desk.propose("set_properties", args);
    reject(&desk, first);
    let why = refused(&mut desk, second);
    assert!(why.contains("[1] at planning time is now game.Workspace.Wall[2]"), "{why}");
}

#[test]
fn replanned_selector_may_match_more_instances() {
    let mut desk = desk(&["Wall", "Wall", "Wall"]);
    let first = rename(&mut desk, "Wall[1]", "Gate");
    let second = fade(&mut desk, "#Wall");
    let before = desk.human.shown(second);
    reject(&desk, first);
    let now = again(&mut desk, second);
    let ids = |shown: &Json| -> Vec<String> {
        targets(shown).iter().map(|(id, _)| (*id).to_owned()).collect()
    };
    assert_eq!(ids(&now)[1..], ids(&before)[..]);
    assert_eq!(now["proposal"]["replaces"], second);
}

#[test]
fn chosen_part_is_chosen_again_under_a_changed_path() {
    let mut desk = desk(&["Wall", "Wall", "Wall"]);
    let first = rename(&mut desk, "Wall[1]", "Gate");
    let whole = fade(&mut desk, "#Wall");
    let chosen = take(&desk, whole, &[1]);
    let before = desk.human.shown(chosen);
    reject(&desk, first);
    let now = again(&mut desk, chosen);
    assert_eq!(targets(&before)[0].1, "game.Workspace.Wall[2]");
    assert_eq!(targets(&now), [(targets(&before)[0].0, "game.Workspace.Wall[3]")]);
    assert_eq!(now["proposal"]["title"], "1 of 3 parts of: Set Transparency of 3 Parts to 0.5");
    let said = |name: &str| now["proposal"][name].clone();
    assert_eq!([said("from"), said("replaces")], [whole, chosen].map(|it| json!(it)));
    assert_eq!(desk.human.shown(whole)["successor"], now["seq"]);
    let seq = now["seq"].as_u64().unwrap();
    desk.human.approve(seq).ok();
    desk.human.until_status(seq, "applied");
    assert_eq!(transparencies(&desk), [0.0, 0.0, 0.5]);
}

#[test]
fn chosen_parts_are_chosen_again_on_a_changed_file() {
    let mut desk = desk(&["Wall", "Floor", "Roof"]);
    let whole = fade(&mut desk, "Part");
    let chosen = take(&desk, whole, &[0, 2]);
    desk.becomes(workspace(&["Door", "Wall", "Roof", "Floor"], 0.25));
    let now = again(&mut desk, chosen);
    let paths: Vec<&str> = targets(&now).iter().map(|(_, path)| *path).collect();
    assert_eq!(paths, ["game.Workspace.Wall", "game.Workspace.Roof"]);
}

#[test]
fn choice_with_a_missing_part_is_not_proposed_again() {
    let mut desk = desk(&["Wall", "Floor", "Roof"]);
    let whole = fade(&mut desk, "Part");
    let chosen = take(&desk, whole, &[0, 2]);
    desk.becomes(workspace(&["Wall", "Floor", "Top"], 0.25));
    let why = refused(&mut desk, chosen);
    assert!(why.contains("A person had accepted a part of this"), "{why}");
    assert!(why.contains("not proposed again: game.Workspace.Roof. Request"), "{why}");
}

#[test]
fn ids_of_an_earlier_file_version_are_ignored() {
    let mut desk = desk(&["Wall", "Floor"]);
    let before = rename(&mut desk, "Wall", "Tower");
    // A door now has the id that the wall had.
    desk.becomes(workspace(&["Door", "Wall", "Floor"], 0.0));
    let now = again(&mut desk, before);
    assert_eq!(targets(&now)[0].1, "game.Workspace.Wall");
}

#[test]
fn chosen_part_of_a_revert_is_replanned_alone() {
    let mut desk = desk(&["Wall", "Wall", "Roof"]);
    let applied = fade(&mut desk, "#Wall");
    desk.human.approve(applied).ok();
    desk.human.until_status(applied, "applied");
    // It is called as those that are reverted.
    let props = json!({ "Name": "Wall" });
    let args = json!({ "className": "Part", "parentPath": "game.Workspace", "props": props });
    let wall = desk.propose("create_instance", args);
    let reverted =
        desk.human.call("POST", &format!("/api/proposals/{applied}/revert"), &json!({})).ok();
    let workflow = format!("/api/workflows/{}", reverted["workflow"]);
    let back = desk.human.until_found(&workflow, |it| it["proposals"][0].as_u64());
    let half = take(&desk, back, &[1]);
    desk.human.approve(wall).ok();
    let now = again(&mut desk, half);
    let title =
        format!("1 of 2 parts of: Revert proposal {applied}: Set Transparency of 2 Parts to 0.5");
    assert_eq!(now["proposal"]["title"], title);
}

#[test]
fn calls_may_target_instances_of_pending_proposals() {
    let mut desk = desk(&["Lamp"]);
    let args = json!({ "path": "game.Workspace.Lamp", "name": "Shelf" });
    let clone = desk.propose("clone_instance", args);
    let first = rename(&mut desk, "Shelf", "Board");
    let after = |desk: &Desk, seq: u64| desk.human.shown(seq)["proposal"]["after"].clone();
    assert_eq!(after(&desk, first), json!([clone]));
    assert_eq!(desk.human.approve(first).status, 409, "what it depends on waits");
    desk.human.approve(clone).ok();
    desk.human.until_status(clone, "applied");
    // The second is still pending, on top of what is in the file now; a third is planned on top of
    // it.
    let third = rename(&mut desk, "Board", "Plank");
    assert_eq!(after(&desk, third), json!([first]));
    desk.human.approve(first).ok();
    desk.human.until_status(first, "applied");
    desk.human.approve(third).ok();
    desk.human.until_status(third, "applied");
    let dom = places::decode(&fs::read(desk.file()).unwrap());
    assert!(dom.descendants().any(|it| it.name == "Plank"));
}

/// A text in which each of these lines is between ten distinct lines, so that the hunks are
/// separate.
fn lines(said: &[&str]) -> String {
    let block = |(at, said): (usize, &&str)| {
        let around = |from: usize| (from..from + 5).map(move |n| format!("-- {at}.{n}\n"));
        around(0).chain([format!("{said}\n")]).chain(around(5)).collect::<String>()
    };
    said.iter().enumerate().map(block).collect()
}

fn scripted(text: &str) -> InstanceBuilder {
    let script = InstanceBuilder::new("Script").with_name("Main");
    let script = script.with_property("Source", text.to_owned());
    InstanceBuilder::new("Workspace").with_child(script)
}

/// Chooses the second of three identical hunks.
fn second_of_three(desk: &mut Desk) -> u64 {
    let main = "game.Workspace.Main";
    let edit = json!({ "path": main, "search": "print(1)", "replace": "print(2)", "all": true });
    let whole = desk.propose("replace_text", edit);
    // In two steps: first the last two hunks, then the first of those.
    let last = take_hunks(desk, whole, &[1, 2]);
    take_hunks(desk, last, &[0])
}

/// Rejects an earlier proposal on the script, applies the replanned choice, and returns the
/// script's text.
#[track_caller]
fn after_another(before: &str, tool: &str, args: Json) -> String {
    let mut desk = Desk::with(scripted(before));
    let first = desk.propose(tool, args);
    let chosen = second_of_three(&mut desk);
    reject(&desk, first);
    let now = again(&mut desk, chosen)["seq"].as_u64().unwrap();
    desk.human.approve(now).ok();
    desk.human.until_status(now, "applied");
    let dom = places::decode(&fs::read(desk.file()).unwrap());
    let script = dom.descendants().find(|it| it.class == "Script").unwrap();
    match &script.properties[&ustr("Source")] {
        Variant::String(text) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn chosen_hunk_among_identical_hunks_is_chosen_again() {
    let [before, after] =
        [["print(1)"; 3], ["print(1)", "print(2)", "print(1)"]].map(|it| lines(&it));
    let below =
        json!({ "path": "game.Workspace.Main", "search": "-- 2.9", "replace": "-- 2.9\n-- new" });
    assert_eq!(after_another(&before, "replace_text", below), after, "by its line");
    let above =
        json!({ "path": "game.Workspace.Main", "search": "-- 0.0", "replace": "-- new\n-- 0.0" });
    assert_eq!(after_another(&before, "replace_text", above), after, "by what is around it");
}

#[test]
fn identical_hunk_elsewhere_is_not_the_chosen_one() {
    let mut desk = Desk::with(scripted(&lines(&["print(1)"; 3])));
    let chosen = second_of_three(&mut desk);
    desk.becomes(scripted(&lines(&["print(1)", "print(3)", "print(3)"])));
    let why = refused(&mut desk, chosen);
    assert!(why.contains("not proposed again: game.Workspace.Main. Request"), "{why}");
}
