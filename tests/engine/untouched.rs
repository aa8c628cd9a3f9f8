//! Properties that an edit did not touch: the rbx crates read them as before, in real places and in
//! our own. Every edit can be reverted to the same bytes.

use std::collections::{HashMap, HashSet};

use rbx_dom_weak::WeakDom;
use rbx_types::{Ref, Variant};
use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Node, Scene, reflection};
use vector_tests::cases::cases;

use super::bytes::assert_touched;
use super::{Bench, as_one, place, same};

fn read(bytes: &[u8]) -> WeakDom {
    if bytes.starts_with(b"<roblox!") {
        rbx_binary::from_reader(bytes).unwrap()
    } else {
        let options = rbx_xml::DecodeOptions::new()
            .property_behavior(rbx_xml::DecodePropertyBehavior::ReadUnknown);
        rbx_xml::from_reader(bytes, options).unwrap()
    }
}

/// The instances in tree order, and the index of each.
fn walk(dom: &WeakDom) -> (Vec<Ref>, HashMap<Ref, usize>) {
    let (mut order, mut stack) = (Vec::new(), vec![dom.root_ref()]);
    while let Some(node) = stack.pop() {
        order.push(node);
        stack.extend(dom.get_by_ref(node).unwrap().children().iter().rev());
    }
    let places = order.iter().enumerate().map(|(at, node)| (*node, at)).collect();
    (order, places)
}

/// Asserts that two files of the same tree are equal, except for one property of one instance.
fn hold(left: &[u8], right: &[u8], touched: (usize, &str), what: &str) {
    let (left, right) = (read(left), read(right));
    let ((left_order, left_places), (right_order, right_places)) = (walk(&left), walk(&right));
    assert_eq!(left_order.len(), right_order.len(), "{what}");
    for (at, (a, b)) in left_order.iter().zip(&right_order).enumerate() {
        let (a, b) = (left.get_by_ref(*a).unwrap(), right.get_by_ref(*b).unwrap());
        assert_eq!((a.class, a.children().len()), (b.class, b.children().len()), "{what}");
        if (at, "Name") != touched {
            assert_eq!(a.name, b.name, "{what}");
        }
        let mut names: Vec<_> = a.properties.keys().chain(b.properties.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().filter(|name| (at, name.as_str()) != touched) {
            let (x, y) = (a.properties.get(name), b.properties.get(name));
            let equal = match (x, y) {
                (Some(Variant::Ref(x)), Some(Variant::Ref(y))) => {
                    left_places.get(x) == right_places.get(y)
                }
                (Some(x), Some(y)) => format!("{x:?}") == format!("{y:?}"),
                // If one instance has a property, the binary writer stores it for the whole class.
                (None, Some(one)) | (Some(one), None) => {
                    reflection::default_of(&a.class, name).is_some_and(|it| it == one)
                }
                (None, None) => true,
            };
            assert!(equal, "{what}: {}.{name}: {x:?} and {y:?}", a.name);
        }
    }
}

fn first(scene: &Scene, wanted: impl Fn(Node) -> bool) -> Option<(usize, String)> {
    let found = scene.descendants(scene.root()).enumerate().find(|(_, node)| wanted(*node));
    // The indices of a file include its root.
    found.map(|(at, node)| (at + 1, scene.path(node).to_string()))
}

/// Edits that are possible in any place, each with the one property that it touches.
fn simple_edits(scene: &Scene) -> Vec<(&'static str, Json, (usize, &'static str))> {
    let mut edits = Vec::new();
    let of = |class: &'static str| move |node: Node| reflection::is_a(scene.class(node), class);
    if let Some((at, path)) = first(scene, of("BasePart")) {
        let args = json!({ "path": path, "props": { "Transparency": 0.625 } });
        edits.push(("set", json!([["set_properties", args]]), (at, "Transparency")));
    }
    if let Some((at, path)) = first(scene, of("LuaSourceContainer")) {
        let args = json!({ "path": path, "source": "return 'another text'\n" });
        edits.push(("write", json!([["write_script", args]]), (at, "Source")));
    }
    let is_free = |node: Node| !reflection::is_service(scene.class(node));
    if let Some((at, path)) = first(scene, is_free) {
        let args = json!({ "path": path, "newName": "Another name" });
        edits.push(("rename", json!([["rename_instance", args]]), (at, "Name")));
        let args = json!({ "path": path, "props": { "@Vector": [] , "Tags": ["Touched"] } });
        let mut args = args;
        args["props"].as_object_mut().unwrap().remove("@Vector");
        edits.push(("tag", json!([["set_properties", args]]), (at, "Tags")));
    }
    edits
}

/// Larger edits, to be reverted.
fn deep_edits(scene: &Scene) -> Vec<(&'static str, Json)> {
    let is_free = |node: Node| {
        !reflection::is_service(scene.class(node))
            && scene.class(node) != "Terrain"
            && scene.parent(node) != Some(scene.root())
    };
    let mut edits = Vec::new();
    let big = |node: Node| is_free(node) && scene.children(node).len() > 1;
    for (name, found) in [("leaf", first(scene, is_free)), ("tree", first(scene, big))] {
        let Some((_, path)) = found else { continue };
        let delete = ["delete_instance"].into_iter().map(|tool| json!([[tool, { "path": path }]]));
        edits.extend(delete.map(|calls| (name, calls)));
        let clone = json!({ "path": path, "name": "A copy" });
        edits.push((name, json!([["clone_instance", clone]])));
    }
    // Clone one instance of each class: the revert must recognize their values in the file.
    let mut classes = HashSet::new();
    let clones: Vec<Json> = scene
        .descendants(scene.root())
        .filter(|node| is_free(*node) && reflection::creatable_class(scene.class(*node)).is_ok())
        .filter(|node| classes.insert(scene.class(*node)))
        .map(|node| json!(["clone_instance", { "path": scene.path(node), "name": "A copy" }]))
        .collect();
    if !clones.is_empty() {
        edits.push(("one of each", Json::Array(clones)));
    }
    edits
}

fn check(bytes: &[u8], name: &str) {
    let scene = Scene::decode(bytes).unwrap();
    for (edit, calls, touched) in simple_edits(&scene) {
        let bench = Bench::new();
        let file = bench.file(bytes);
        let applied = bench.edit(&file, as_one(&calls));
        let after = std::fs::read(&file).unwrap();
        hold(bytes, &after, touched, &format!("{name}: {edit}"));
        assert_touched(bytes, &after, touched.1, &format!("{name}: {edit}"));
        bench.revert(&file, applied[0]);
        assert!(std::fs::read(&file).unwrap() == bytes, "{name}: {edit}: other bytes, taken back");
    }
    for (edit, calls) in deep_edits(&scene) {
        let bench = Bench::new();
        let file = bench.file(bytes);
        let applied = bench.edit(&file, as_one(&calls));
        bench.revert(&file, applied[0]);
        let after = Scene::decode(&std::fs::read(&file).unwrap()).unwrap();
        same(&scene, &after, &format!("{name}: {edit} {calls}, taken back"));
        assert!(std::fs::read(&file).unwrap() == bytes, "{name}: {edit} {calls}: other bytes");
    }
}

#[test]
fn edits_of_own_places_leave_other_properties_unchanged() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        check(&place(format), &format!("{format:?}"));
    }
}

#[test]
fn edits_of_real_places_leave_other_properties_unchanged() {
    let Some(cases) = cases() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(cases.join("places")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx")) {
            check(&std::fs::read(&file).unwrap(), &file.file_name().unwrap().to_string_lossy());
            seen += 1;
        }
    }
    assert!(seen > 0, "no places in {}", cases.display());
}
