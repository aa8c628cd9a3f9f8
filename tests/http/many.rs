//! A change of many instances: one command, whose instances can all be read, left out and reverted.

use std::collections::BTreeMap;
use std::fs;

use rbx_dom_weak::{InstanceBuilder, ustr};
use rbx_types::Variant;
use serde_json::{Value as Json, json};
use vector_tests::places;

use super::reviewed::{Desk, is_well_formed};

const PARTS: usize = 2_300;

/// A workspace with thousands of parts, most of which share their name with others.
fn workspace() -> InstanceBuilder {
    let part = |n: usize| {
        let name = if n.is_multiple_of(10) { format!("Part {n}") } else { "Wall".to_owned() };
        let part = InstanceBuilder::new("Part").with_name(name);
        part.with_property("Transparency", (n % 7) as f32 / 8.0)
    };
    InstanceBuilder::new("Workspace").with_children((0..PARTS).map(part))
}

/// How many parts have each transparency.
fn transparencies(desk: &Desk) -> BTreeMap<String, usize> {
    let dom = places::decode(&fs::read(desk.file()).unwrap());
    let mut counts = BTreeMap::new();
    for part in dom.descendants().filter(|it| it.class == "Part") {
        let Some(Variant::Float32(value)) = part.properties.get(&ustr("Transparency")) else {
            panic!("{part:?}");
        };
        *counts.entry(value.to_string()).or_default() += 1;
    }
    counts
}

fn change(desk: &mut Desk) -> u64 {
    let args = json!({ "selector": "Part", "props": { "Transparency": 1 } });
    desk.propose("set_properties", args)
}

fn apply(desk: &mut Desk, proposal: u64) {
    desk.human.approve(proposal).ok();
    desk.human.until_status(proposal, "applied");
}

/// Leaves out instances of a proposal, by their positions. Returns the new proposal.
fn leave_out(desk: &mut Desk, proposal: u64, except: &[usize]) -> u64 {
    let parts = json!([{ "part": "command", "command": 0, "except": except }]);
    let decided = desk.human.decide(proposal, &json!({ "say": "take", "parts": parts })).ok();
    decided["proposal"].as_u64().unwrap()
}

fn revert(desk: &mut Desk, proposal: u64) -> u64 {
    desk.human.call("POST", &format!("/api/proposals/{proposal}/revert"), &json!({})).ok();
    desk.human.until_found("/api/proposals", |found| found["proposals"][0]["seq"].as_u64())
}

#[test]
fn every_instance_of_a_large_change_can_be_read_left_out_and_reverted() {
    let mut desk = Desk::with(workspace());
    let (original, before) = (fs::read(desk.file()).unwrap(), transparencies(&desk));
    let proposal = change(&mut desk);
    let shown = desk.human.shown(proposal);
    let whole = &shown["proposal"];
    assert_eq!(whole["title"], "Set Transparency of 2300 Parts to 1");
    assert_eq!(whole["commands"].as_array().unwrap().len(), 1);
    assert!(whole.to_string().len() < 700_000, "{}", whole.to_string().len());
    assert_eq!(
        (&whole["preview"]["more_rows"], whole["class"].as_str()),
        (&json!(300), Some("modifying"))
    );

    let part = desk.part(&format!("proposal?of={proposal}"));
    is_well_formed(&part);
    assert!(part.contains("data-parts=\"c0\" data-sizes=\"2300\""), "{}", &part[..800]);
    assert!(part.contains("<b>2300 instances</b>"), "there is a line above them");
    assert_eq!(part.matches("data-within=\"c0\"").count(), 2_000);
    assert!(part.contains("data-act=\"more-rows\" data-command=\"0\" data-from=\"2000\""));
    let more = desk.part(&format!("rows?of={proposal}&command=0&from=2000"));
    assert_eq!(more.matches("data-within=\"c0\"").count(), 300);
    assert!(more.contains("data-part=\"m0.2299\"") && !more.contains("more-rows"), "that is all");

    let rows = |from: usize, count: usize| -> Vec<Json> {
        let path = format!("/api/proposals/{proposal}/rows?command=0&from={from}&count={count}");
        desk.human.call("GET", &path, &Json::Null).ok()["rows"].as_array().unwrap().clone()
    };
    let paths: Vec<String> = [rows(0, 1000), rows(1000, 1000), rows(2000, 5000)]
        .concat()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect();
    let numbered = |n: usize| match n % 10 {
        0 => format!("game.Workspace[\"Part {n}\"]"),
        _ => format!("game.Workspace.Wall[{}]", n - n / 10),
    };
    assert_eq!(paths, (0..PARTS).map(numbered).collect::<Vec<_>>());
    let last = rows(2299, 1);
    assert_eq!(last[0]["change"]["before"]["value"], 0.375);
    assert_eq!(rows(5000, 1), Vec::<Json>::new());

    let chosen = leave_out(&mut desk, proposal, &[0, 1, 2299]);
    let title = desk.human.shown(chosen)["proposal"]["title"].clone();
    assert_eq!(title, "2297 of 2300 parts of: Set Transparency of 2300 Parts to 1");
    apply(&mut desk, chosen);
    let mut left: BTreeMap<String, usize> = BTreeMap::from([("1".to_owned(), PARTS - 3)]);
    for value in ["0", "0.125", "0.375"] {
        left.insert(value.to_owned(), 1);
    }
    assert_eq!(transparencies(&desk), left);
    let back = revert(&mut desk, chosen);
    apply(&mut desk, back);
    assert_eq!(transparencies(&desk), before);
    assert!(fs::read(desk.file()).unwrap() == original, "the bytes are those from before");
}

#[test]
fn card_has_the_first_rows_and_what_it_leaves_out() {
    let mut desk = Desk::with(workspace());
    let proposal = change(&mut desk);
    let card = |lines: &str| {
        let path = format!("/api/proposals/{proposal}/card{lines}");
        desk.human.call("GET", &path, &Json::Null)
    };
    let whole = desk.human.shown(proposal);
    let first = card("?lines=3").ok();
    assert_eq!(first["preview"]["rows"].as_array().unwrap().len(), 3);
    assert_eq!(first["preview"]["rows"][2], whole["proposal"]["preview"]["rows"][2]);
    assert_eq!((&first["more"], &first["parts"]), (&json!(1_997), &json!(1)));
    assert_eq!(first["preview"]["more_rows"], 300);
    for name in ["title", "class", "base", "patch_id", "warnings"] {
        assert_eq!(first[name], whole["proposal"][name], "{name}");
    }
    assert_eq!(card("").ok()["preview"]["rows"].as_array().unwrap().len(), 60);
    assert_eq!(card("?lines=5000").ok()["more"], 0);
    assert_eq!(card("?lines=all").status, 400);
    let missing = desk.human.call("GET", "/api/proposals/99999/card", &Json::Null);
    assert_eq!(missing.status, 404);
}

#[test]
fn parts_are_left_out_and_the_rest_is_kept() {
    let mut desk = Desk::with(workspace());
    let set = |index: usize, value: f64| {
        let path = format!("game.Workspace[\"Part {}\"]", index * 10);
        json!({ "tool": "set_properties", "args": { "paths": [path], "props": { "Transparency": value } } })
    };
    let changes: Vec<Json> = (0..3).map(|index| set(index, 1.0)).collect();
    let proposal = desk.propose("propose_changes", json!({ "title": "Three", "changes": changes }));
    let parts = json!([{ "part": "command", "command": 1 }]);
    let say = json!({ "say": "leave_out", "parts": parts });
    let decided = desk.human.decide(proposal, &say).ok();
    let rest = decided["proposal"].as_u64().unwrap();
    assert_eq!(desk.human.shown(rest)["proposal"]["title"], "2 of 3 parts of: Three");
    let paths: Vec<String> = desk.human.shown(rest)["proposal"]["preview"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["game.Workspace[\"Part 0\"]", "game.Workspace[\"Part 20\"]"]);
    for unknown in [
        json!({ "part": "command", "command": 3 }),
        json!({ "part": "hunk", "script": 0, "hunk": 0 }),
    ] {
        let refused = desk.human.decide(rest, &json!({ "say": "leave_out", "parts": [unknown] }));
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.to_string().contains("does not have"), "{}", refused.body);
    }
    // A part without some instances leaves those in.
    let proposal = change(&mut desk);
    let parts = json!([{ "part": "command", "command": 0, "except": [5, 7, 7, 9_999] }]);
    let say = json!({ "say": "leave_out", "parts": parts });
    let rest = desk.human.decide(proposal, &say).ok()["proposal"].as_u64().unwrap();
    let kept = desk.human.shown(rest);
    assert_eq!(kept["proposal"]["commands"].as_array().unwrap().len(), 2);
    assert_eq!(
        kept["proposal"]["title"],
        "2 of 2298 parts of: Set Transparency of 2298 Parts to 1"
    );
}

#[test]
fn few_instances_of_a_large_change_are_set_one_by_one() {
    let mut desk = Desk::with(workspace());
    let proposal = change(&mut desk);
    let except: Vec<usize> = (0..PARTS).filter(|n| ![7, 2_000, 2_250].contains(n)).collect();
    let chosen = leave_out(&mut desk, proposal, &except);
    let commands = desk.human.shown(chosen)["proposal"]["commands"].clone();
    assert_eq!(commands.as_array().unwrap().len(), 3);
    apply(&mut desk, chosen);
    assert_eq!(transparencies(&desk)["1"], 3);
    let nothing = {
        let proposal = change(&mut desk);
        let except: Vec<usize> = (0..PARTS).collect();
        let parts = json!([{ "part": "command", "command": 0, "except": except }]);
        desk.human.decide(proposal, &json!({ "say": "take", "parts": parts }))
    };
    assert_eq!(nothing.status, 409, "{}", nothing.body);
}

/// Another program changes the file after a large change: what it did not touch is reverted.
#[test]
fn large_change_is_reverted_in_a_file_that_changed_since() {
    let mut desk = Desk::with(workspace());
    let before = transparencies(&desk);
    let proposal = change(&mut desk);
    apply(&mut desk, proposal);
    let mut dom = places::decode(&fs::read(desk.file()).unwrap());
    let workspace = dom.root().children()[0];
    dom.insert(workspace, InstanceBuilder::new("Folder").with_name("New"));
    fs::write(desk.file(), places::encode(&dom, places::Format::Rbxl)).unwrap();
    let back = revert(&mut desk, proposal);
    apply(&mut desk, back);
    assert_eq!(transparencies(&desk), before);
    // With one of several parts of a name gone, nobody knows which part is which.
    let proposal = change(&mut desk);
    apply(&mut desk, proposal);
    let mut dom = places::decode(&fs::read(desk.file()).unwrap());
    let wall = dom.descendants().find(|it| it.name == "Wall").unwrap().referent();
    dom.destroy(wall);
    fs::write(desk.file(), places::encode(&dom, places::Format::Rbxl)).unwrap();
    let run = desk.home.run(&["revert", &proposal.to_string(), "--yes"], "");
    assert!(run.stderr.contains("cannot be reverted"), "{}", run.stderr);
    assert_eq!(transparencies(&desk)["1"], PARTS - 1);
}

/// The preview has no room for the rows of the second command: they can be loaded all the same.
#[test]
fn instances_of_a_second_large_change_can_be_read_and_left_out() {
    let mut desk = Desk::with(workspace());
    let set = |props: Json| json!({ "tool": "set_properties", "args": { "selector": "Part", "props": props } });
    let changes = [set(json!({ "Transparency": 1 })), set(json!({ "Reflectance": 1 }))];
    let both = json!({ "title": "Both", "changes": changes });
    let proposal = desk.propose("propose_changes", both);
    let part = desk.part(&format!("proposal?of={proposal}"));
    is_well_formed(&part);
    assert!(part.contains("data-parts=\"c0 c1\" data-sizes=\"2300 2300\""), "{}", &part[..800]);
    for more in ["data-command=\"0\" data-from=\"2000\"", "data-command=\"1\" data-from=\"0\""] {
        assert_eq!(part.matches(more).count(), 1, "{more}");
    }
    for whole in ["data-part=\"c0\"", "data-part=\"c1\""] {
        assert_eq!(part.matches(whole).count(), 1, "{whole}");
    }
    assert!(!part.contains("which are applied with the rest"));
    let rows = desk.part(&format!("rows?of={proposal}&command=1&from=0"));
    assert_eq!(rows.matches("data-within=\"c1\"").count(), 500);
    assert!(rows.contains("data-command=\"1\" data-from=\"500\""));
    let parts = json!([{ "part": "command", "command": 1, "except": [3] }]);
    let decided = desk.human.decide(proposal, &json!({ "say": "take", "parts": parts })).ok();
    let chosen = decided["proposal"].as_u64().unwrap();
    let title = desk.human.shown(chosen)["proposal"]["title"].clone();
    assert_eq!(title, "2299 of 4600 parts of: Both");
    let before = transparencies(&desk);
    apply(&mut desk, chosen);
    assert_eq!(transparencies(&desk), before);
}
