//! Proposals that do not touch each other, compared with what performing them in either order gives.

use std::cell::Cell;

use random_draws::{RandomDraws, check_seeds};
use scene_schemas::proposal::PlanRead;

use super::*;
use crate::proposal::{Footprint, try_command};

const NAMES: [&str; 3] = ["A", "B", "Wall"];
const CLASSES: [&str; 5] = ["Part", "Model", "Folder", "Script", "ObjectValue"];
const SELECTORS: [&str; 9] = [
    "Part",
    "#A",
    "Model > Part",
    ".Hot",
    "[$n = 1]",
    "[Transparency = 0.5]",
    "Model:has(Part)",
    "Script, Folder",
    "[BrickColor = \"Bright red\"]",
];

/// A tree of instances with few names, so that siblings share them.
fn random_place(draws: &mut RandomDraws) -> Vec<u8> {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    let mut nodes = vec![scene.create(game, "Workspace", "Workspace")];
    nodes.push(scene.create(game, "ServerStorage", "ServerStorage"));
    for _ in 0..3 + draws.below(9) {
        let parent = draws.pick(&nodes);
        let class = draws.pick(&CLASSES);
        let node = scene.create(parent, class, draws.pick(&NAMES));
        if class == "Script" {
            scene.set_source(node, "local a = 1\nlocal b = 2\nprint(a)\n".to_owned());
        }
        if class == "ObjectValue" {
            let to = scene.target(draws.pick(&nodes));
            scene.set_property(node, "Value", Some(&Value::Ref(Some(to)))).unwrap();
        }
        nodes.push(node);
    }
    scene.encode().unwrap()
}

fn read(bytes: &[u8]) -> PlanningScene {
    Scene::decode(bytes).unwrap().into()
}

fn random_props(draws: &mut RandomDraws, with_name: bool) -> Json {
    let mut all = vec![
        json!({ "Transparency": draws.pick(&[0.0, 0.5]) }),
        json!({ "Color": draws.pick(&["#ff0000", "#c4281c"]) }),
        json!({ "BrickColor": "Bright red" }),
        json!({ "Position": [draws.below(2), 0, 0] }),
        json!({ "@n": draws.below(2) }),
        json!({ "Tags": draws.pick(&[vec!["Hot"], vec![]]) }),
    ];
    if with_name {
        all.push(json!({ "Name": draws.pick(&NAMES) }));
    }
    draws.pick(&all)
}

/// A call whose arguments mostly fit the scene.
fn random_call(draws: &mut RandomDraws, scene: &PlanningScene) -> (&'static str, Json) {
    let all: Vec<String> =
        scene.descendants(scene.root()).map(|node| scene.path(node).to_string()).collect();
    let mut path = || draws.pick(&all);
    let (one, other) = (path(), path());
    let selector = draws.pick(&SELECTORS);
    match draws.below(11) {
        0 => {
            let props = random_props(draws, true);
            (
                "create_instance",
                json!({ "parentPath": one, "className": draws.pick(&CLASSES), "props": props }),
            )
        }
        1 => ("delete_instance", json!({ "path": one })),
        2 => ("delete_instance", json!({ "selector": selector })),
        3 => ("move_instance", json!({ "path": one, "parentPath": other })),
        4 => ("move_instance", json!({ "selector": selector, "parentPath": other })),
        5 => ("rename_instance", json!({ "path": one, "newName": draws.pick(&NAMES) })),
        6 => ("clone_instance", json!({ "path": one, "parentPath": other })),
        7 => ("set_properties", json!({ "path": one, "props": random_props(draws, false) })),
        8 => {
            ("set_properties", json!({ "selector": selector, "props": random_props(draws, false) }))
        }
        9 => {
            let search = draws.pick(&["a", "b = 2", "nothing"]);
            let edit = json!({ "search": search, "replace": "c", "all": true });
            ("replace_text", json!({ "selector": "LuaSourceContainer", "edits": [edit] }))
        }
        _ => (
            "set_properties",
            json!({ "path": one, "props": { "Value": { "__t": "Ref", "path": other } } }),
        ),
    }
}

fn propose(
    seq: u64,
    scene: &mut PlanningScene,
    (tool, args): &(&str, Json),
) -> Option<Box<Proposal>> {
    let (base, blobs) = (base(), BlobStore::new());
    match plan_call(Seq(seq), tool, args, scene, &base, &blobs, None) {
        Ok(Plan::Propose(proposal, _)) if !proposal.commands.is_empty() => Some(proposal),
        _ => None,
    }
}

fn perform(scene: &mut PlanningScene, seq: u64, proposal: &Proposal) {
    scene.begin_scope(Seq(seq));
    for command in &proposal.commands {
        try_command(scene, command, &BlobStore::new())
            .unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
    }
}

/// The tree without the order of siblings with different names.
fn print_tree(scene: &PlanningScene, node: Node) -> String {
    let value = |name: &str| match scene.value(node, name) {
        // Its id depends on the order.
        Some(Value::Ref(Some(to))) => to.path.to_string(),
        other => format!("{other:?}"),
    };
    let names = scene.stored_names(node).into_iter();
    let values: Vec<String> = names.map(|name| format!("{name}={}", value(name))).collect();
    let mut below: Vec<(String, String)> = scene
        .children(node)
        .map(|child| (scene.name(child).to_owned(), print_tree(scene, child)))
        .collect();
    below.sort_by(|a, b| a.0.cmp(&b.0));
    let text = scene.script_text(node).unwrap_or_default();
    let below: Vec<String> = below.into_iter().map(|(_, tree)| tree).collect();
    format!("{} {} {values:?} {text:?} ({})", scene.class(node), scene.name(node), below.join(", "))
}

#[test]
fn proposals_that_do_not_touch_can_be_performed_in_either_order() {
    let (apart, together) = (Cell::new(0), Cell::new(0));
    check_seeds(0..4_000, |draws| {
        let bytes = random_place(draws);
        let calls = [(); 2].map(|()| random_call(draws, &read(&bytes)));
        let mut scenes = [(); 2].map(|()| read(&bytes));
        let (Some(first), Some(second)) =
            (propose(7, &mut scenes[0], &calls[0]), propose(8, &mut scenes[1], &calls[1]))
        else {
            return;
        };
        let footprints = [&first, &second].map(|it| Footprint::new(it));
        let touches = footprints[0].touches(&footprints[1]);
        assert_eq!(touches, footprints[1].touches(&footprints[0]));
        if touches {
            together.set(together.get() + 1);
            return;
        }
        apart.set(apart.get() + 1);
        let [mut forwards, mut backwards] = scenes;
        let again = propose(8, &mut forwards, &calls[1]).map(|it| it.commands);
        assert_eq!(again.as_ref(), Some(&second.commands), "{calls:?}");
        let again = propose(7, &mut backwards, &calls[0]).map(|it| it.commands);
        assert_eq!(again.as_ref(), Some(&first.commands), "{calls:?}");
        let mut performed = [read(&bytes), read(&bytes)];
        perform(&mut performed[0], 7, &first);
        perform(&mut performed[0], 8, &second);
        perform(&mut performed[1], 8, &second);
        perform(&mut performed[1], 7, &first);
        let printed = performed.each_ref().map(|scene| print_tree(scene, scene.root()));
        assert_eq!(printed[0], printed[1], "{calls:?}");
    });
    assert!(apart.get() > 150 && together.get() > 150, "{} {}", apart.get(), together.get());
}

fn touch(one: (&'static str, Json), other: (&'static str, Json)) -> bool {
    let [one, other] = [(7, one), (8, other)]
        .map(|(seq, call)| Footprint::new(&propose(seq, &mut place(), &call).expect("a proposal")));
    one.touches(&other)
}

#[test]
fn unrelated_work_does_not_touch() {
    let wall = |index: u32| json!(format!("game.Workspace.Wall[{index}]"));
    let set = |path: Json, property: &str| {
        ("set_properties", json!({ "path": path, "props": { property: 0.5 } }))
    };
    let create = |parent: &str, name: &str| {
        let props = json!({ "Name": name });
        ("create_instance", json!({ "parentPath": parent, "className": "Part", "props": props }))
    };
    let text = |name: &str| {
        let path = format!("game.ServerScriptService.{name}");
        ("replace_text", json!({ "path": path, "search": "speed", "replace": "pace", "all": true }))
    };
    assert!(!touch(set(wall(1), "Transparency"), set(wall(2), "Transparency")));
    assert!(!touch(set(wall(1), "Transparency"), set(wall(1), "Reflectance")));
    assert!(!touch(create("game.Workspace", "Roof"), create("game.Workspace", "Floor")));
    assert!(!touch(text("Main"), text("Config")));
    assert!(!touch(text("Main"), ("delete_instance", json!({ "path": "game.Workspace.House" }))));
    assert!(touch(set(wall(1), "Transparency"), set(wall(1), "Transparency")));
    assert!(touch(set(wall(2), "Transparency"), ("delete_instance", json!({ "path": wall(1) }))));
    assert!(touch(create("game.Workspace", "Roof"), create("game.Workspace", "Roof")));
    let inside = create("game.Workspace.House", "Roof");
    assert!(touch(inside, ("delete_instance", json!({ "path": "game.Workspace.House" }))));
    let all = ("set_properties", json!({ "selector": "Part", "props": { "Reflectance": 0.5 } }));
    assert!(touch(all.clone(), create("game.Workspace", "Roof")));
    assert!(!touch(all, set(wall(1), "Transparency")));
}

#[test]
fn what_a_proposal_leaves_as_it_is_is_read() {
    let paths = json!(["game.Workspace.Wall[1]", "game.Workspace.House.Door"]);
    let args = json!({ "paths": paths, "props": { "Anchored": false, "Transparency": 0.5 } });
    let proposal = propose(7, &mut place(), &("set_properties", args)).unwrap();
    let unchanged = PlanRead::Property {
        path: "game.Workspace.Wall[1]".parse().unwrap(),
        property: "Anchored".to_owned(),
    };
    assert!(proposal.reads.contains(&unchanged), "{:?}", proposal.reads);
}
