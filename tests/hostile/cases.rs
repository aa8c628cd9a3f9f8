//! Regression cases: files that once did harm.

use std::fmt::Debug;

use rbx_types::Vector3;
use scene_schemas::Value;
use vector_place::diff::diff_scenes;
use vector_place::{DetachedSubtree, Node, Scene};

use super::binary::Chunk;
use super::worst::{file, inst, item, prnt, prop, xml};

fn open(bytes: &[u8]) -> Scene {
    Scene::decode(bytes).unwrap()
}

fn first(scene: &Scene) -> Node {
    scene.children(scene.root()).next().unwrap()
}

/// Asserts that the written file equals the scene, and returns it as read.
#[track_caller]
fn assert_written(scene: &mut Scene) -> Scene {
    let after = scene.encode().unwrap();
    let read = open(&after);
    let none = [];
    assert_eq!(diff_scenes(scene, &read), none, "{}", String::from_utf8_lossy(&after));
    assert_eq!(read.len(), scene.len());
    read
}

#[track_caller]
fn assert_refused<T: Debug, E: ToString>(result: Result<T, E>, why: &str) {
    let said = result.map_err(|error| error.to_string()).unwrap_err();
    assert!(said.contains(why), "{said}");
}

fn parts(numbers: &[i32]) -> Vec<u8> {
    file(&[inst(0, "Part", numbers), prnt(numbers, &vec![-1; numbers.len()])])
}

#[test]
fn extreme_referents_are_handled() {
    let mut bytes = parts(&[i32::MAX, 0, 3]);
    bytes[16..24].fill(0xff);
    let mut scene = open(&bytes);
    let new = [0; 4].map(|_| scene.create(scene.root(), "Folder", "New"));
    assert_written(&mut scene);
    assert_eq!(new.map(|node| scene.written_id(node).0), ["ref:1", "ref:2", "ref:4", "ref:5"]);
    assert!(Scene::decode(&parts(&[-1])).is_err(), "nobody's number");
    for referent in ["4294967295", "2147483647", "RBX000000000000000000000000FFFFFFFF"] {
        let mut scene = open(&xml(&format!("<Item class=\"Part\" referent=\"{referent}\"/>")));
        scene.create(scene.root(), "Folder", "New");
        scene.create(scene.root(), "Folder", "New");
        assert_written(&mut scene);
    }
}

#[test]
fn new_instances_never_take_a_dangling_referent() {
    let numbers = [0, 1];
    let refs = prop(0, "Value", &[&[0x13][..], &super::binary::planes(&[2, 3])].concat());
    let parents = prnt(&[0, 1, 5], &[-1, 4, 0]);
    let mut scene = open(&file(&[inst(0, "ObjectValue", &numbers), refs, parents]));
    scene.create(scene.root(), "Folder", "New");
    let new = scene.create(scene.root(), "Folder", "New");
    assert_written(&mut scene);
    assert_eq!(scene.written_id(new).0, "ref:7");
    let mut scene = open(&xml(
        "<Item class=\"ObjectValue\" referent=\"0\"><Properties><Ref name=\"Value\">1</Ref>\
         <Content name=\"C\"><Ref>2</Ref></Content></Properties></Item>",
    ));
    let new = scene.create(scene.root(), "Folder", "New");
    assert_written(&mut scene);
    assert_eq!(scene.written_id(new).0, "ref:3");
}

#[test]
fn orphaned_instance_keeps_its_referent() {
    let mut scene = open(&file(&[inst(0, "Part", &[0, 1]), prnt(&[1], &[-1])]));
    let new = scene.create(scene.root(), "Folder", "New");
    let removed = DetachedSubtree::decode(&scene.encode_subtree(new).unwrap()).unwrap();
    scene.restore_subtree(removed, scene.root(), None);
    assert_written(&mut scene);
}

#[test]
fn new_class_does_not_take_properties_of_another() {
    let stray = prop(1, "Anchored", &[2, 1, 1, 1]);
    let mut scene = open(&file(&[inst(0, "Part", &[0]), stray, prnt(&[0], &[-1])]));
    scene.create(scene.root(), "Folder", "New");
    assert_written(&mut scene);
}

#[test]
fn class_without_instances_is_kept() {
    let bytes = file(&[inst(0, "Part", &[]), prop(0, "Anchored", &[2]), prnt(&[], &[])]);
    assert_eq!(open(&bytes).encode().unwrap(), bytes);
}

#[test]
fn duplicate_name_columns_are_refused() {
    let name = || prop(0, "Name", &[1, 1, 0, 0, 0, b'a']);
    let bytes = file(&[inst(0, "Part", &[0]), name(), name(), prnt(&[0], &[-1])]);
    assert_refused(Scene::decode(&bytes), "damaged");
}

#[test]
fn damaged_shared_strings_accept_no_additions() {
    let table = |count: u8, behind: &[u8]| {
        let entry = [&[0; 16][..], &[1, 0, 0, 0, b'x']].concat();
        Chunk::new(*b"SSTR", [&[0, 0, 0, 0, count, 0, 0, 0], &entry[..], behind].concat())
    };
    let with = |table: Chunk, index: u8| {
        let values = [0x1c, 0, 0, 0, 0, 0, 0, 0, index];
        let mesh = |id, number| inst(id, "MeshPart", &[number]);
        let column = prop(
            0,
            "PhysicalConfigData",
            &values[..1].iter().chain(&values[5..]).copied().collect::<Vec<_>>(),
        );
        open(&file(&[table, mesh(0, 0), mesh(1, 1), column, prnt(&[0, 1], &[-1, -1])]))
    };
    let set = |scene: &mut Scene| {
        let last = scene.children(scene.root()).last().unwrap();
        let value = Value::SharedString(b"new".to_vec());
        scene.set_property(last, "PhysicalConfigData", Some(&value)).unwrap();
    };
    for (table, index) in [(table(2, b"short"), 0), (table(1, b""), 1)] {
        let mut scene = with(table, index);
        set(&mut scene);
        assert_refused(scene.encode(), "shared strings");
    }
    let mut scene = with(table(1, b"behind"), 0);
    set(&mut scene);
    assert_written(&mut scene);
}

#[test]
fn new_instance_takes_the_type_of_the_existing_column() {
    let colours = prop(0, "Size", &[&[0x0c][..], &[0; 12]].concat());
    let mut scene = open(&file(&[inst(0, "Part", &[0]), colours, prnt(&[0], &[-1])]));
    let new = scene.create(scene.root(), "Part", "New");
    let size = Value::Vector3(Vector3::new(1.0, 2.0, 3.0));
    assert!(scene.set_property(new, "Size", Some(&size)).unwrap_err().0.contains("Size"));
    let read = open(&scene.encode().unwrap());
    for part in read.children(read.root()) {
        assert!(matches!(read.stored_value(part, "Size"), Some(Value::Color3(_))));
    }
}

#[test]
fn attribute_lengths_are_not_trusted() {
    let inner = [&[1, 0, 0, 0, 1, 0, 0, 0, b'a', 0x19][..], &[0xff; 8]].concat();
    let len = (inner.len() as u32).to_le_bytes();
    let values = [&[1][..], &len, &inner].concat();
    let chunks =
        [inst(0, "Part", &[0]), prop(0, "AttributesSerialize", &values), prnt(&[0], &[-1])];
    let scene = open(&file(&chunks));
    assert_eq!(scene.stored_value(first(&scene), "Attributes"), Some(Value::Binary(inner)));
}

#[test]
fn unknown_classes_accept_tags_and_attributes() {
    for bytes in [parts(&[0]), item("")] {
        let mut scene = open(&bytes);
        let new = scene.create(scene.root(), "ClassOfTomorrow", "New");
        scene.set_property(new, "Tags", Some(&Value::Tags(vec!["A".to_owned()]))).unwrap();
        scene.set_property(new, "@Level", Some(&Value::Float64(1.0))).unwrap();
        assert_written(&mut scene);
    }
}

#[test]
fn referents_are_compared_unescaped() {
    let bytes =
        xml("<Item class=\"Part\" referent=\"&#65;\"/><Item class=\"Part\" referent=\"#0\"/>");
    let scene = open(&bytes);
    for node in scene.children(scene.root()) {
        assert_eq!(scene.by_id(&scene.id(node)), Some(node));
    }
}

#[test]
fn references_to_items_without_a_unique_referent_are_refused() {
    let bytes =
        xml("<Item class=\"Part\"/><Item class=\"Part\" referent=\"a\"/><Item class=\"Part\" \
         referent=\"a\"/><Item class=\"ObjectValue\" referent=\"b\"/>");
    for (at, is_refused) in [(0, true), (1, false), (2, true)] {
        let mut scene = open(&bytes);
        let nodes: Vec<_> = scene.children(scene.root()).collect();
        let target = scene.target(nodes[at]);
        scene.set_property(nodes[3], "Value", Some(&Value::Ref(Some(target)))).unwrap();
        if is_refused {
            assert_refused(scene.encode(), "no referent of its own");
        } else {
            assert_written(&mut scene);
        }
    }
    let mut scene = open(&bytes);
    let nodes: Vec<_> = scene.children(scene.root()).collect();
    scene.move_to(nodes[1], scene.root(), None).unwrap();
    assert_refused(scene.encode(), "by the same name");
}

#[test]
fn nameless_item_can_be_renamed_and_rolled_back() {
    let bytes = xml(
        "<Item class=\"Part\"><Properties><bool name=\"Anchored\">true</bool></Properties></Item>",
    );
    let mut scene = open(&bytes);
    let (mark, node) = (scene.journal_mark(), first(&scene));
    scene.copy(node, scene.root(), "Copy");
    assert_written(&mut scene);
    scene.rename(node, "Other");
    assert_written(&mut scene);
    scene.rollback(mark);
    assert_eq!(scene.encode().unwrap(), bytes);
    let bytes = xml("<Item class=\"Part\"/>");
    let mut scene = open(&bytes);
    let mark = scene.journal_mark();
    scene.rename(first(&scene), "Other");
    scene.rollback(mark);
    assert_eq!(scene.encode().unwrap(), bytes);
}

#[test]
fn properties_after_children_are_refused() {
    let bytes = xml("<Item class=\"Part\"><Item class=\"Part\"/><Properties></Properties></Item>");
    assert_refused(Scene::decode(&bytes), "after its children");
}

#[test]
fn duplicate_property_is_removed_entirely() {
    let mut scene =
        open(&item("<bool name=\"Anchored\">true</bool><bool name=\"Anchored\">true</bool>"));
    let node = first(&scene);
    scene.set_property(node, "Anchored", None).unwrap();
    let read = assert_written(&mut scene);
    assert_eq!(read.stored_value(first(&read), "Anchored"), None);
}

#[test]
fn references_to_an_item_called_null_are_refused() {
    let mut scene = open(&xml(
        "<Item class=\"Part\" referent=\"null\"/><Item class=\"ObjectValue\" referent=\"b\"/>",
    ));
    let nodes: Vec<_> = scene.children(scene.root()).collect();
    let target = scene.target(nodes[0]);
    scene.set_property(nodes[1], "Value", Some(&Value::Ref(Some(target)))).unwrap();
    assert_refused(scene.encode(), "no referent of its own");
}
