//! Real differences between two scenes, and apparent ones that must be ignored.

use std::cell::Cell;

use random_draws::{RandomDraws, check_seeds};
use rbx_types::{Color3, ColorSequence, ColorSequenceKeypoint, UniqueId, Vector3};

use super::*;
use crate::{FileFormat, Node};

/// Builds a scene from lines of `Class Name`, indented by depth.
fn build(lines: &str) -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let mut stack = vec![scene.root()];
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let depth = (line.len() - line.trim_start().len()) / 2;
        stack.truncate(depth + 1);
        let (class, name) = line.trim().split_once(' ').unwrap();
        stack.push(scene.create(stack[depth], class, name));
    }
    scene
}

fn at(scene: &Scene, path: &str) -> Node {
    let path = format!("game.{path}").parse().unwrap();
    scene.resolve(&path).unwrap()
}

/// Formats each difference as one line.
fn told(all: &[SceneDifference]) -> Vec<String> {
    all.iter()
        .map(|difference| match difference {
            SceneDifference::Added { path, count, .. } => format!("+{count} {path}"),
            SceneDifference::Removed { path, count, .. } => format!("-{count} {path}"),
            SceneDifference::Moved { from, to, .. } => format!("{from} -> {to}"),
            SceneDifference::Changed { path, properties, .. } => {
                let names: Vec<_> = properties.iter().map(|it| it.name.as_str()).collect();
                format!("{path}: {}", names.join(" "))
            }
            SceneDifference::Script { path, before, after, .. } => {
                format!("{path}: {before:?} {after:?}")
            }
        })
        .collect()
}

const PLACE: &str = "
Workspace Workspace
  Model Tree
    Part Trunk
    Part Leaf
    Part Leaf
    Part Leaf
    Weld Weld
  Script Run
Folder Store
";

#[track_caller]
fn check(edit: impl FnOnce(&mut Scene), expected: &[&str]) {
    let (a, mut b) = (place(), place());
    edit(&mut b);
    assert_eq!(told(&diff_scenes(&a, &b)), expected);
    assert_eq!(diff_scenes(&b, &b), []);
}

/// Builds the place with three leaves that differ, and a weld to the second.
fn place() -> Scene {
    let mut scene = build(PLACE);
    for n in 1..=3_u8 {
        let leaf = at(&scene, &format!("Workspace.Tree.Leaf[{n}]"));
        set(&mut scene, leaf, "Size", Value::Vector3(Vector3::new(n.into(), 1.0, 1.0)));
    }
    let leaf = at(&scene, "Workspace.Tree.Leaf[2]");
    let target = scene.target(leaf);
    let weld = at(&scene, "Workspace.Tree.Weld");
    set(&mut scene, weld, "Part0", Value::Ref(Some(target)));
    scene
}

fn set(scene: &mut Scene, node: Node, property: &str, value: Value) {
    scene.set_property(node, property, Some(&value)).unwrap();
}

fn set_at(scene: &mut Scene, path: &str, property: &str, value: Value) {
    let node = at(scene, path);
    set(scene, node, property, value);
}

fn delete(scene: &mut Scene, path: &str) {
    let node = at(scene, path);
    scene.delete(node);
}

#[test]
fn added_and_removed_instances_are_reported() {
    check(|_| {}, &[]);
    check(
        |b| {
            let store = at(b, "Store");
            let box_ = b.create(store, "Model", "Box");
            b.create(box_, "Part", "Lid");
        },
        &["+2 game.Store.Box"],
    );
    check(|b| delete(b, "Workspace.Tree"), &["-6 game.Workspace.Tree"]);
    // Removing one of three equal names is one difference; the weld still points to the same leaf.
    check(|b| delete(b, "Workspace.Tree.Leaf[1]"), &["-1 game.Workspace.Tree.Leaf[1]"]);
    check(
        |b| {
            let leaf = at(b, "Workspace.Tree.Leaf[3]");
            let tree = at(b, "Workspace.Tree");
            b.move_to(leaf, tree, Some(0)).unwrap();
        },
        &[],
    );
}

#[test]
fn property_and_text_changes_are_reported() {
    check(
        |b| {
            set_at(
                b,
                "Workspace.Tree.Leaf[3]",
                "Size",
                Value::Vector3(Vector3::new(9.0, 1.0, 1.0)),
            );
            set_at(b, "Workspace.Tree.Leaf[3]", "@Ripe", Value::Bool(true));
            set_at(b, "Workspace.Tree.Leaf[3]", "Name", Value::String("Big".to_owned()));
        },
        &["-1 game.Workspace.Tree.Leaf[3]", "+1 game.Workspace.Tree.Big"],
    );
    check(
        |b| {
            set_at(b, "Workspace.Tree.Leaf[3]", "Transparency", Value::Float32(0.5));
            set_at(b, "Workspace.Tree.Leaf[3]", "@Ripe", Value::Bool(true));
        },
        &["game.Workspace.Tree.Leaf[3]: @Ripe Transparency"],
    );
    check(
        |b| set_at(b, "Workspace.Tree", "Name", Value::String("Oak".to_owned())),
        &["game.Workspace.Oak: Name"],
    );
    check(
        |b| {
            let run = at(b, "Workspace.Run");
            b.set_source(run, "print(1)".to_owned());
        },
        &["game.Workspace.Run: \"\" \"print(1)\""],
    );
    check(
        |b| {
            let target = b.target(at(b, "Workspace.Tree.Trunk"));
            set_at(b, "Workspace.Tree.Weld", "Part0", Value::Ref(Some(target)));
        },
        &["game.Workspace.Tree.Weld: Part0"],
    );
    check(
        |b| delete(b, "Workspace.Tree.Leaf[2]"),
        &["-1 game.Workspace.Tree.Leaf[2]", "game.Workspace.Tree.Weld: Part0"],
    );
}

#[test]
fn equivalent_values_are_not_a_difference() {
    let trunk = "Workspace.Tree.Trunk";
    check(|b| set_at(b, trunk, "Transparency", Value::Float32(0.0)), &[]);
    check(|b| set_at(b, trunk, "Transparency", Value::Float32(-0.0)), &[]);
    check(|b| set_at(b, trunk, "Tags", Value::Tags(vec![])), &[]);
    check(|b| set_at(b, trunk, "Future", Value::String(String::new())), &[]);
    check(|b| set_at(b, trunk, "UniqueId", id(3)), &[]);
    let tags = |names: &[&str]| Value::Tags(names.iter().map(|it| (*it).to_owned()).collect());
    same(trunk, "Tags", tags(&["a", "b"]), tags(&["b", "a"]));
    same(trunk, "Reflectance", Value::Float32(f32::NAN), Value::Float32(-f32::NAN));
    same(
        trunk,
        "@C",
        Value::Color3(Color3::new(0.0, 1.0, 0.0)),
        Value::Color3(Color3::new(-0.0, 1.0, 0.0)),
    );
}

#[track_caller]
fn same(path: &str, property: &str, one: Value, other: Value) {
    let (mut a, mut b) = (place(), place());
    set_at(&mut a, path, property, one);
    set_at(&mut b, path, property, other);
    assert_eq!(diff_scenes(&a, &b), []);
}

fn id(n: u32) -> Value {
    Value::UniqueId(UniqueId::new(n, 1, 1))
}

#[test]
fn unique_ids_identify_moved_and_renamed_instances() {
    let (mut a, mut b) = (place(), place());
    for scene in [&mut a, &mut b] {
        set_at(scene, "Workspace.Tree.Trunk", "UniqueId", id(1));
        set_at(scene, "Workspace.Tree", "UniqueId", id(2));
        set_at(scene, "Workspace.Run", "UniqueId", id(3));
    }
    let (trunk, workspace) = (at(&b, "Workspace.Tree.Trunk"), at(&b, "Workspace"));
    let group = b.create(workspace, "Model", "Group");
    b.move_to(trunk, group, None).unwrap();
    set_at(&mut b, "Workspace.Tree", "Name", Value::String("Oak".to_owned()));
    set_at(&mut b, "Workspace.Run", "UniqueId", id(4));
    assert_eq!(
        told(&diff_scenes(&a, &b)),
        [
            "game.Workspace.Oak: Name",
            "game.Workspace.Run: UniqueId",
            "+1 game.Workspace.Group",
            "game.Workspace.Tree.Trunk -> game.Workspace.Group.Trunk",
        ]
    );
    delete(&mut b, "Workspace.Oak");
    assert_eq!(
        told(&diff_scenes(&a, &b)),
        [
            "-5 game.Workspace.Tree",
            "game.Workspace.Run: UniqueId",
            "+1 game.Workspace.Group",
            "game.Workspace.Tree.Trunk -> game.Workspace.Group.Trunk",
        ]
    );
}

#[test]
fn encoded_file_equals_its_scene() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let mut a = place().convert_to(format).unwrap();
        set_at(&mut a, "Workspace.Tree.Leaf[1]", "@Text", Value::String("x".to_owned()));
        set_at(&mut a, "Workspace.Tree.Leaf[1]", "Future", Value::Bool(true));
        let b = Scene::decode(&a.encode().unwrap()).unwrap();
        assert_eq!(diff_scenes(&a, &b), []);
        assert_eq!(diff_scenes(&b, &a), []);
    }
}

#[test]
fn blank_value_of_a_damaged_column_is_not_a_difference() {
    let mut a = place();
    // The column's type cannot hold the default, so a new row has the blank value of that type.
    let damaged = ColorSequence {
        keypoints: vec![ColorSequenceKeypoint::new(0.0, Color3::new(1.0, 0.0, 0.0)); 2],
    };
    let store = at(&a, "Store");
    a.set_known_property(store, "Attributes", damaged.into());
    a.create(a.root(), "Folder", "New");
    let b = Scene::decode(&a.encode().unwrap()).unwrap();
    assert!(b.stored_variant(at(&b, "New"), "Attributes").is_some());
    assert_eq!(diff_scenes(&a, &b), []);
    assert_eq!(diff_scenes(&b, &a), []);
    // What is not blank is a difference.
    assert_eq!(told(&diff_scenes(&place(), &b)), ["game.Store: Attributes", "+1 game.New"]);
}

#[test]
fn deep_trees_do_not_overflow_the_stack() {
    let build = |last: &str| {
        let mut scene = Scene::empty(FileFormat::Binary);
        let mut at = scene.root();
        for _ in 0..20_000 {
            at = scene.create(at, "Folder", "F");
        }
        scene.create(at, "Folder", last);
        scene
    };
    assert_eq!(diff_scenes(&build("A"), &build("A")), []);
    assert_eq!(diff_scenes(&build("A"), &build("B")).len(), 1);
}

#[test]
fn equal_places_with_duplicate_unique_ids_are_equal() {
    let build = || {
        let mut scene = Scene::empty(FileFormat::Binary);
        for name in ["A", "B"] {
            let part = scene.create(scene.root(), "Part", name);
            let id = Value::UniqueId(rbx_types::UniqueId::new(7, 1, 1));
            scene.set_property(part, "UniqueId", Some(&id)).unwrap();
        }
        scene
    };
    assert_eq!(diff_scenes(&build(), &build()), []);
}

/// A place with few classes, names and values, some of whose instances have ids, and a changed copy.
fn random_pair(draws: &mut RandomDraws) -> [Scene; 2] {
    let mut scene = Scene::empty(FileFormat::Binary);
    let mut nodes = vec![scene.root()];
    let id_share = draws.below(4);
    for n in 0..draws.below(14) as u32 {
        let parent = draws.pick(&nodes);
        let class = draws.pick(&["Folder", "Part"]);
        let node = scene.create(parent, class, draws.pick(&["A", "B"]));
        if draws.below(3) < id_share {
            scene.set_property(node, "UniqueId", Some(&id(n + 1))).unwrap();
        }
        set(&mut scene, node, "@X", Value::Float64(draws.below(2) as f64));
        nodes.push(node);
    }
    let before = Scene::decode(&scene.encode().unwrap()).unwrap();
    for n in 0..draws.below(4) as u32 {
        let alive: Vec<Node> = nodes[1..].iter().copied().filter(|it| scene.is_live(*it)).collect();
        if alive.is_empty() {
            break;
        }
        let node = draws.pick(&alive);
        match draws.below(5) {
            0 => scene.delete(node),
            1 => drop(scene.move_to(node, draws.pick(&alive), None)),
            2 => set(&mut scene, node, "Name", Value::String("C".to_owned())),
            3 => set(&mut scene, node, "@X", Value::Float64(f64::from(n))),
            _ => drop(scene.create(node, "Part", draws.pick(&["A", "B"]))),
        }
    }
    [before, Scene::decode(&scene.encode().unwrap()).unwrap()]
}

#[test]
fn differences_are_the_same_whether_scenes_were_hashed_before() {
    let unhashed_pairs = Cell::new(0);
    check_seeds(0..5_000, |draws| {
        let [a, b] = random_pair(draws);
        let sides = PairedSides::new(&a, &b);
        let is_unhashed = !sides.a.is_hashed() && !sides.b.is_hashed();
        unhashed_pairs.set(unhashed_pairs.get() + usize::from(is_unhashed));
        let found = diff_scenes(&a, &b);
        for scene in [&a, &b] {
            scene.hashes.get_or_init(|| SceneHashes::of_scene(scene));
        }
        assert_eq!(found, diff_scenes(&a, &b));
    });
    assert!((500..4_500).contains(&unhashed_pairs.get()), "{}", unhashed_pairs.get());
}
