//! Random edits of a scene: every edit can be rolled back, paths resolve to their instances, and
//! files keep sibling order.

use random_draws::{RandomDraws, check_seeds};
use rbx_types::{CFrame, Color3, Matrix3, UniqueId, Vector3};

use super::diff::diff_scenes;
use super::*;

const NAMES: [&str; 5] = ["A", "B", "C", "My Part", ""];
const CLASSES: [&str; 4] = ["Folder", "Part", "Model", "Script"];

fn some(scene: &Scene, draws: &mut RandomDraws) -> Option<Node> {
    let all: Vec<Node> = scene.descendants(scene.root()).collect();
    (!all.is_empty()).then(|| all[draws.below(all.len())])
}

fn parent(scene: &Scene, draws: &mut RandomDraws) -> Node {
    if draws.below(4) == 0 {
        return scene.root();
    }
    some(scene, draws).unwrap_or(scene.root())
}

fn edit(scene: &mut Scene, draws: &mut RandomDraws) {
    let name = NAMES[draws.below(NAMES.len())];
    let below = parent(scene, draws);
    let index = (draws.below(2) == 0).then(|| draws.below(6) as u32);
    let Some(node) = some(scene, draws) else {
        scene.create(below, "Folder", name);
        return;
    };
    match draws.below(10) {
        0..=2 => {
            scene.create(below, CLASSES[draws.below(CLASSES.len())], name);
        }
        3 => scene.delete(node),
        4 => scene.rename(node, name),
        5 | 6 => drop(scene.move_to(node, below, index)),
        7 => set(scene, node, draws),
        8 if scene.subtree(node).count() < 20 => {
            scene.copy(node, below, name);
        }
        8 => scene.set_source(node, name.to_owned()),
        _ => {
            let bytes = scene.encode_subtree(node).unwrap();
            if draws.below(2) == 0 {
                scene.delete(node);
            }
            if scene.is_live(below) {
                scene.restore_subtree(DetachedSubtree::decode(&bytes).unwrap(), below, index);
            }
        }
    }
}

fn set(scene: &mut Scene, node: Node, draws: &mut RandomDraws) {
    let target = scene.target(some(scene, draws).unwrap_or(node));
    let number = draws.below(3) as f32;
    let (property, value) = match draws.below(5) {
        0 => ("Transparency", Value::Float32(number)),
        1 => ("@Speed", Value::Float32(number)),
        2 => ("Tags", Value::Tags(vec![number.to_string()])),
        3 => ("Points", Value::Ref(Some(target))),
        _ => ("Name", Value::String("Set".to_owned())),
    };
    let value = (draws.below(4) > 0 || property == "Name").then_some(value);
    scene.set_property(node, property, value.as_ref()).unwrap();
}

/// Creates a scene with unique ids after some edits that can no longer be rolled back.
fn start(draws: &mut RandomDraws) -> Scene {
    let mut scene = Scene::empty(FileFormat::Binary);
    // Sometimes exceed the length of a short sibling list.
    for _ in 0..draws.below(2) * 40 {
        scene.create(scene.root(), "Part", "A");
    }
    for _ in 0..40 {
        edit(&mut scene, draws);
    }
    let all: Vec<Node> = scene.descendants(scene.root()).collect();
    for (n, node) in all.into_iter().enumerate() {
        if n % 2 == 0 {
            let id = UniqueId::new(n as u32 + 1, 1, 1);
            scene.set_property(node, "UniqueId", Some(&Value::UniqueId(id))).unwrap();
        }
    }
    scene.forget_history();
    Scene::decode(&scene.encode().unwrap()).unwrap()
}

/// Returns every instance with its path and id.
fn picture(scene: &Scene) -> Vec<(Node, String, InstanceId)> {
    scene
        .subtree(scene.root())
        .map(|node| (node, scene.path(node).to_string(), scene.id(node)))
        .collect()
}

#[track_caller]
fn paths_lead_back(scene: &Scene) {
    for node in scene.subtree(scene.root()) {
        let path = scene.path(node);
        assert_eq!(scene.resolve(&path), Ok(node), "{path}");
        assert_eq!(scene.locate(&scene.target(node)), Ok(node), "{path}");
    }
}

/// Asserts that the reference index matches a scan of all instances.
#[track_caller]
fn references_are_known(scene: &mut Scene, root: Node) {
    let all: Vec<Node> = scene.descendants(scene.root()).collect();
    let mut looked = Vec::new();
    for holder in all.into_iter().filter(|holder| !scene.is_within(*holder, root)) {
        if let Some(Variant::Ref(to)) = scene.variant_of(holder.0, ustr("Points")).as_deref()
            && let Some(to) = node_of(*to).map(Node)
            && scene.is_within(to, root)
        {
            looked.push((holder, "Points".to_owned(), to));
        }
    }
    let mut known = scene.references_into(root);
    let order = |it: &(Node, String, Node)| format!("{it:?}");
    known.sort_by_key(order);
    looked.sort_by_key(order);
    assert_eq!(known, looked);
}

#[test]
fn any_edits_can_be_rolled_back() {
    check_seeds(0..200, |draws| {
        let mut scene = start(draws);
        let bytes = scene.encode().unwrap();
        let original = Scene::decode(&bytes).unwrap();
        let before = picture(&scene);
        let mark = scene.journal_mark();
        for step in 0..draws.below(40) {
            edit(&mut scene, draws);
            paths_lead_back(&scene);
            let somewhere = parent(&scene, draws);
            references_are_known(&mut scene, somewhere);
            if step % 7 == 0 {
                // Encoding in between must not interfere with rollback.
                scene.encode().unwrap();
            }
        }
        let edited = picture(&scene);
        let halfway = scene.journal_mark();
        edit(&mut scene, draws);
        scene.rollback(halfway);
        assert_eq!(picture(&scene), edited);
        scene.rollback(mark);
        assert_eq!(picture(&scene), before);
        assert_eq!(diff_scenes(&original, &scene), []);
        assert_eq!(scene.encode().unwrap(), bytes);
        paths_lead_back(&scene);
        for _ in 0..10 {
            edit(&mut scene, draws);
        }
        let after = picture(&scene);
        scene.forget_history();
        assert_eq!(picture(&scene), after);
        paths_lead_back(&scene);
    });
}

#[test]
fn one_state_is_always_the_same_file() {
    check_seeds(0..60, |draws| {
        let mut scene = start(draws);
        let (mut files, mut marks) = (FxHashMap::default(), Vec::new());
        for _ in 0..40 {
            match draws.below(8) {
                0 | 1 => marks.push((scene.journal_mark(), scene.state())),
                2 => {
                    if let Some((mark, state)) = marks.pop() {
                        scene.rollback(mark);
                        assert_eq!(scene.state(), state);
                    }
                }
                3 if draws.below(4) == 0 => {
                    let before = scene.state();
                    scene.rebuild_file().unwrap();
                    scene.forget_history();
                    marks.clear();
                    assert_eq!(scene.state(), before);
                }
                _ => edit(&mut scene, draws),
            }
            let file = scene.encode().unwrap();
            let known = files.entry(scene.state()).or_insert_with(|| file.clone());
            assert!(*known == file, "two files have the state {:?}", scene.state());
        }
        assert!(files.len() > 1);
    });
}

#[test]
fn files_keep_sibling_order() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        check_seeds(0..100, |draws| {
            let mut scene = start(draws).convert_to(format).unwrap();
            for _ in 0..30 {
                edit(&mut scene, draws);
            }
            let paths = |scene: &Scene| -> Vec<String> {
                scene
                    .descendants(scene.root())
                    .map(|node| format!("{} {}", scene.class(node), scene.path(node)))
                    .collect()
            };
            let before = paths(&scene);
            let read = Scene::decode(&scene.encode().unwrap()).unwrap();
            assert_eq!(paths(&scene), before);
            assert_eq!(paths(&read), before);
            assert_eq!(diff_scenes(&scene, &read), []);
        });
    }
}

#[test]
fn restored_subtree_equals_the_deleted_one() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let folder = scene.create(scene.root(), "Folder", "F");
    let part = scene.create(folder, "Part", "P");
    let id = Value::UniqueId(UniqueId::new(7, 1, 1));
    scene.set_property(part, "UniqueId", Some(&id)).unwrap();
    let file = scene.encode().unwrap();
    let mut original = Scene::decode(&file).unwrap();
    let mut scene = Scene::decode(&file).unwrap();
    let folder = scene.resolve(&"game.F".parse().unwrap()).unwrap();
    let bytes = scene.encode_subtree(folder).unwrap();
    let mark = scene.journal_mark();
    // A copy next to the original cannot keep its unique id.
    let twin = scene.restore_subtree(DetachedSubtree::decode(&bytes).unwrap(), scene.root(), None);
    let ids = |scene: &Scene, node| -> Vec<_> {
        scene.subtree(node).map(|node| scene.stored_value(node, "UniqueId")).collect()
    };
    assert_eq!(ids(&scene, twin), [None, None]);
    scene.rollback(mark);
    scene.delete(folder);
    scene.restore_subtree(DetachedSubtree::decode(&bytes).unwrap(), scene.root(), None);
    let inner = scene.journal_mark();
    assert_eq!(diff_scenes(&original, &scene), []);
    // Encode with a different sibling order in between.
    let other = scene.create(scene.root(), "Folder", "Other");
    scene.move_to(other, scene.root(), Some(0)).unwrap();
    scene.encode().unwrap();
    scene.rollback(inner);
    assert_eq!(scene.encode().unwrap(), original.encode().unwrap());
    scene.rollback(mark);
    assert_eq!(diff_scenes(&original, &scene), []);
    assert_eq!(scene.encode().unwrap(), original.encode().unwrap());
}

#[test]
fn thousands_of_siblings_can_be_edited_and_rolled_back() {
    // With quadratic work in the index, this would take minutes.
    let mut scene = Scene::empty(FileFormat::Binary);
    let nodes: Vec<_> =
        (0..10_000).map(|n| scene.create(scene.root(), "Part", &format!("P{n}"))).collect();
    let before = picture(&scene);
    let mark = scene.journal_mark();
    for node in &nodes {
        scene.rename(*node, "Wall");
    }
    let walls = picture(&scene);
    let renamed = scene.journal_mark();
    for node in &nodes {
        scene.delete(*node);
    }
    scene.rollback(renamed);
    assert_eq!(picture(&scene), walls);
    for node in nodes.iter().rev() {
        scene.rename(*node, "Fence");
    }
    scene.rollback(renamed);
    assert_eq!(picture(&scene), walls);
    scene.rollback(mark);
    assert_eq!(picture(&scene), before);
}

#[test]
fn missing_unique_ids_are_not_invented() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let parts = [1, 2, 3].map(|n| scene.create(scene.root(), "Part", &format!("P{n}")));
    let id = Value::UniqueId(UniqueId::new(7, 1, 1));
    scene.set_property(parts[0], "UniqueId", Some(&id)).unwrap();
    // The other two have no id. A binary file stores a nil id for each, which must not count as a
    // collision.
    let file = scene.encode().unwrap();
    let [mut one, mut two] = [(); 2].map(|()| Scene::decode(&file).unwrap());
    assert_eq!(diff_scenes(&one, &two), []);
    assert_eq!(diff_scenes(&scene, &one), []);
    assert_eq!(one.encode().unwrap(), file);
    assert_eq!(two.encode().unwrap(), file);
}

#[test]
fn unreadable_attributes_are_not_overwritten() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let mut scene = Scene::empty(format);
        let part = scene.create(scene.root(), "Part", "P");
        let odd = Variant::BinaryString(b"\x01\0\0\0\x01\0\0\0A\xee".to_vec().into());
        scene.store_value(part, ustr("Attributes"), Some(odd));
        let bytes = scene.encode().unwrap();
        let mut scene = Scene::decode(&bytes).unwrap();
        let part = scene.resolve(&"game.P".parse().unwrap()).unwrap();
        let refusal = scene.set_property(part, "@B", Some(&Value::Bool(true))).unwrap_err();
        assert!(refusal.0.contains("stored in a way that is not understood"), "{}", refusal.0);
        assert_eq!(scene.encode().unwrap(), bytes);
    }
}

#[test]
fn attributes_of_unknown_classes_are_kept_together() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let mut scene = Scene::empty(format);
        scene.create(scene.root(), "FromTheFuture", "F");
        for name in ["@A", "@B"] {
            let node = scene.resolve(&"game.F".parse().unwrap()).unwrap();
            scene.set_property(node, name, Some(&Value::Bool(true))).unwrap();
            scene = Scene::decode(&scene.encode().unwrap()).unwrap();
        }
        let node = scene.resolve(&"game.F".parse().unwrap()).unwrap();
        assert_eq!(scene.attribute_names(node), ["A", "B"]);
    }
}

#[test]
fn unstorable_values_are_refused_when_set() {
    let mut scene = Scene::empty(FileFormat::Xml);
    let holder = scene.create(scene.root(), "ObjectValue", "O");
    let game = Value::Ref(Some(scene.target(scene.root())));
    assert!(
        scene.set_property(holder, "Value", Some(&game)).unwrap_err().0.contains("`game` itself")
    );
    let blank = Value::String("\r\n".to_owned());
    assert!(scene.set_property(holder, "Name", Some(&blank)).unwrap_err().0.contains("whitespace"));
}

#[test]
fn instance_count_follows_every_change_of_the_tree() {
    let mut scene = Scene::empty(FileFormat::Binary);
    assert_eq!(scene.instance_count(), 0);
    let folder = scene.create(scene.root(), "Folder", "A");
    scene.create(folder, "Folder", "B");
    assert_eq!(scene.instance_count(), 2);
    let mark = scene.journal_mark();
    scene.delete(folder);
    assert_eq!(scene.instance_count(), 0);
    scene.rollback(mark);
    assert_eq!(scene.instance_count(), 2);
}

/// Sets a property of many types, from few values.
fn set_any(scene: &mut Scene, node: Node, draws: &mut RandomDraws) {
    let number = draws.below(3) as f32;
    let target = scene.target(some(scene, draws).unwrap_or(node));
    let (property, value) = match draws.below(8) {
        0 => ("Size", Value::Vector3(Vector3::new(number, 1.0, number))),
        1 => ("CFrame", Value::CFrame(CFrame::new(Vector3::new(0.0, number, 0.0), turned(draws)))),
        2 => ("Anchored", Value::Bool(number > 0.0)),
        3 => ("Color", Value::Color3(Color3::new(number / 2.0, 0.0, 1.0))),
        4 => ("SharedFuture", Value::SharedString(vec![number as u8])),
        5 => ("FromTheFuture", Value::String(number.to_string())),
        6 => ("PrimaryPart", Value::Ref(Some(target))),
        _ => return set(scene, node, draws),
    };
    // Some classes have no such property, or another type for it.
    let _ = scene.set_property(node, property, Some(&value));
}

fn turned(draws: &mut RandomDraws) -> Matrix3 {
    let row = |at: usize| [0.0, 1.0, -1.0, 0.5][at];
    let mut vector = || Vector3::new(row(draws.below(4)), row(draws.below(4)), row(draws.below(4)));
    Matrix3::new(vector(), vector(), vector())
}

/// Stores a value again, so that the scene is no longer compared by the columns of its file.
fn store_again(scene: &mut Scene) {
    let node = scene.children(scene.root()).next().unwrap_or(scene.root());
    let key = ustr("Transparency");
    let value = scene.variant_of(node.0, key).map(Cow::into_owned);
    scene.store_value(node, key, value);
}

#[test]
fn columns_of_different_types_are_compared_by_value() {
    let with = |value: Value| {
        let mut scene = Scene::empty(FileFormat::Binary);
        for _ in 0..3 {
            let part = scene.create(scene.root(), "Part", "P");
            scene.set_property(part, "FromTheFuture", Some(&value)).unwrap();
        }
        Scene::decode(&scene.encode().unwrap()).unwrap()
    };
    let [text, number, same] =
        [Value::String("1".to_owned()), Value::Int32(1), Value::Int64(1)].map(with);
    assert_eq!(diff_scenes(&text, &number).len(), 3);
    assert_eq!(diff_scenes(&number, &same), []);
}

#[test]
fn columns_of_files_differ_where_single_values_do() {
    check_seeds(0..400, |draws| {
        let mut scene = start(draws);
        for _ in 0..draws.below(40) {
            if let Some(node) = some(&scene, draws) {
                set_any(&mut scene, node, draws);
            }
        }
        let mut earlier = Scene::decode(&scene.encode().unwrap()).unwrap();
        let mut scene = Scene::decode(&scene.encode().unwrap()).unwrap();
        for _ in 0..draws.below(20) {
            match some(&scene, draws) {
                Some(node) if draws.below(3) > 0 => set_any(&mut scene, node, draws),
                _ => edit(&mut scene, draws),
            }
        }
        // A file of its own has its rows and its shared strings in another order.
        let mut later = match draws.below(2) {
            0 => Scene::decode(&scene.encode().unwrap()).unwrap(),
            _ => scene.convert_to(FileFormat::Binary).unwrap(),
        };
        let by_column = [diff_scenes(&earlier, &later), diff_scenes(&later, &earlier)];
        store_again(&mut earlier);
        store_again(&mut later);
        let by_value = [diff_scenes(&earlier, &later), diff_scenes(&later, &earlier)];
        assert_eq!(by_column, by_value);
    });
}
