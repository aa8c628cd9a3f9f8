//! Mirrors of an open place: snapshots, updates, and reads of missing facts.

use scene_schemas::InstancePath;
use scene_schemas::value::{EnumItem, EnumName};

use super::*;
use crate::JournalMark;

fn id(text: &str) -> InstanceId {
    InstanceId(format!("studio:{text}"))
}

fn nodes(given: &[(&str, u32, &str, &str)]) -> ScenePart {
    let mut nodes = NodeColumns::default();
    for (name, parent, class, text) in given {
        nodes.ids.push(id(text));
        nodes.parents.push(*parent);
        nodes.names.push((*name).to_owned());
        nodes.class.push(nodes.classes.len() as u32);
        nodes.classes.push((*class).to_owned());
    }
    ScenePart::Nodes { nodes }
}

fn place() -> Scene {
    let mut scene = Scene::empty_studio_place();
    assert!(!scene.is_tree_complete());
    scene.update_mirror(&ScenePart::Begin { total: 4 }).unwrap();
    let first = [("Workspace", 0, "Workspace", "0_1"), ("Part", 1, "Part", "0_2")];
    scene.update_mirror(&nodes(&first)).unwrap();
    scene
        .update_mirror(&nodes(&[("Part", 1, "Part", "0_3"), ("Main", 3, "Script", "0_4")]))
        .unwrap();
    scene.update_mirror(&ScenePart::End {}).unwrap();
    scene
}

fn node(scene: &Scene, path: &str) -> Node {
    scene.resolve(&path.parse::<InstancePath>().unwrap()).unwrap()
}

#[test]
fn snapshot_becomes_a_tree() {
    let scene = place();
    assert!(scene.is_tree_complete() && scene.is_open_in_studio() && scene.is_place());
    assert_eq!((scene.mirrored_count(), scene.len()), (4, 4));
    let main = node(&scene, "game.Workspace.Part[2].Main");
    assert_eq!(scene.id(main), id("0_4"));
    assert_eq!(scene.by_id(&id("0_4")), Some(main));
}

#[test]
fn texts_within_a_snapshot_are_kept() {
    let mut scene = place();
    let sources = |text: &str, is_dirty| ScenePart::Sources {
        scripts: vec![ScriptText { id: id("0_4"), text: text.to_owned(), is_dirty }],
    };
    scene.update_mirror(&sources("print(1)\n", true)).unwrap();
    for is_dirty in [false, true] {
        let given = [("Workspace", 0, "Workspace", "0_1"), ("Main", 1, "Script", "0_4")];
        scene.update_mirror(&ScenePart::Begin { total: 2 }).unwrap();
        scene.update_mirror(&nodes(&given)).unwrap();
        scene.update_mirror(&sources("print(2)\n", is_dirty)).unwrap();
        scene.update_mirror(&ScenePart::End {}).unwrap();
        let main = node(&scene, "game.Workspace.Main");
        assert_eq!(scene.script_text(main).as_deref(), Some("print(2)\n"));
        assert!(scene.take_missing().is_empty());
        assert_eq!(scene.has_draft(main), is_dirty);
    }
}

#[test]
fn missing_facts_are_requested_once() {
    let mut scene = place();
    let part = node(&scene, "game.Workspace.Part[1]");
    scene.fingerprint(part, ["Transparency", "Material", "@Speed"]);
    scene.script_text(node(&scene, "game.Workspace.Part[2].Main"));
    let missing = scene.take_missing();
    assert_eq!(missing.sources, [id("0_4")]);
    let names = ["@", "Material", "Transparency"].map(str::to_owned).to_vec();
    assert_eq!(missing.properties, [PropertyQuery { id: id("0_2"), names }]);
    assert!(scene.take_missing().is_empty());
    let item = EnumName::Name("Neon".to_owned());
    let material = Value::EnumItem(EnumItem { enum_type: "Material".to_owned(), item });
    let values =
        [("Transparency".to_owned(), Value::Float64(0.5)), ("Material".to_owned(), material)];
    let known = KnownProperties { id: id("0_2"), values: values.into(), missing: Vec::new() };
    scene.set_known_properties(&[known], &missing.properties);
    assert_eq!(scene.value(part, "Transparency"), Some(Value::Float32(0.5)));
    assert_eq!(scene.attribute(part, "Speed"), None);
    assert!(scene.take_missing().is_empty());
    let names = vec!["Transparency".to_owned()];
    scene.update_mirror(&ScenePart::Changed { id: id("0_2"), names: names.clone() }).unwrap();
    scene.value(part, "Transparency");
    let properties = vec![PropertyQuery { id: id("0_2"), names }];
    assert_eq!(scene.take_missing(), MissingFacts { properties, ..MissingFacts::default() });
}

#[test]
fn tree_changes_update_the_mirror() {
    let mut scene = place();
    let added = |text: &str, parent: &str, name: &str| ScenePart::Added {
        id: id(text),
        parent: id(parent),
        class: "Model".to_owned(),
        name: name.to_owned(),
    };
    scene.update_mirror(&added("0_9", "0_1", "Tower")).unwrap();
    let moved = |parent: &str| ScenePart::Added {
        id: id("0_3"),
        parent: id(parent),
        class: "Part".to_owned(),
        name: "Wall".to_owned(),
    };
    scene.update_mirror(&moved("0_9")).unwrap();
    let main = node(&scene, "game.Workspace.Tower.Wall.Main");
    scene.update_mirror(&ScenePart::Removed { id: id("0_9") }).unwrap();
    assert!(!scene.is_live(main));
    assert_eq!(scene.mirrored_count(), 2);
    scene.update_mirror(&added("0_9", "0_2", "Tower")).unwrap();
    assert_eq!(scene.path(main).to_string(), "game.Workspace.Part.Tower.Wall.Main");
    scene.update_mirror(&ScenePart::Renamed { id: id("0_9"), name: "Keep".to_owned() }).unwrap();
    assert_eq!(scene.path(main).to_string(), "game.Workspace.Part.Keep.Wall.Main");
    assert_eq!(scene.mirrored_count(), 5);
    assert!(scene.update_mirror(&added("0_2", "0_9", "Loop")).is_err());
}

#[test]
fn updates_are_refused_until_trial_edits_are_rolled_back() {
    let mut scene = place();
    let start: JournalMark = scene.journal_mark();
    let part = node(&scene, "game.Workspace.Part[1]");
    scene.delete(part);
    assert!(scene.update_mirror(&ScenePart::Removed { id: id("0_3") }).is_err());
    scene.rollback(start);
    scene.update_mirror(&ScenePart::Removed { id: id("0_3") }).unwrap();
    assert_eq!(scene.path(part).to_string(), "game.Workspace.Part");
    let workspace = node(&scene, "game.Workspace");
    let mark = scene.journal_mark();
    scene.restore_mirrored(&id("0_3"), workspace).unwrap();
    assert_eq!(scene.path(part).to_string(), "game.Workspace.Part[1]");
    scene.rollback(mark);
    assert_eq!(scene.path(part).to_string(), "game.Workspace.Part");
    assert!(scene.restore_mirrored(&id("0_2"), workspace).is_err());
}

#[test]
fn invalid_updates_are_refused_and_tree_stays_complete() {
    let mut scene = place();
    assert!(scene.update_mirror(&nodes(&[])).is_err());
    assert!(scene.update_mirror(&ScenePart::End {}).is_err());
    let unknown = ScenePart::Renamed { id: id("0_77"), name: "x".to_owned() };
    assert!(scene.update_mirror(&unknown).is_err());
    scene.update_mirror(&ScenePart::Begin { total: u32::MAX }).unwrap();
    assert!(scene.update_mirror(&nodes(&[("A", 3, "Folder", "0_1")])).is_err());
    assert!(scene.update_mirror(&nodes(&[("A", 0, "Folder", "")])).is_err());
    assert!(scene.is_tree_complete(), "the old one stands until the new one is whole");
}

#[test]
fn snapshot_with_fewer_instances_than_announced_is_refused() {
    let begin = ScenePart::Begin { total: 1 };
    let workspace = nodes(&[("Workspace", 0, "Workspace", "0_1")]);
    let end = ScenePart::End {};
    let mut scene = Scene::empty_studio_place();
    // The begin was sent twice, and its second copy arrived late.
    for part in [&begin, &workspace, &begin] {
        scene.update_mirror(part).unwrap();
    }
    let refused = scene.update_mirror(&end).unwrap_err();
    assert_eq!(refused.to_string(), "a snapshot of 1 instances ended after 0 of them");
    assert!(!scene.is_tree_complete());
    for part in [&begin, &workspace, &end] {
        scene.update_mirror(part).unwrap();
    }
    assert_eq!(scene.mirrored_count(), 1);
}
