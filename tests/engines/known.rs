//! Regression cases: edits that once produced another place than they should have.

use rbx_binary::Serializer;
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_reflection::ReflectionDatabase;
use rbx_types::{Content, Enum, UDim, Variant};
use scene_schemas::Value;
use vector_place::diff::diff_scenes;
use vector_place::{DetachedSubtree, FileFormat, Node, Scene, reflection};
use vector_tests::oracle::Tree;

use crate::engine::chunks;

fn nth(scene: &Scene, n: usize) -> Node {
    scene.descendants(scene.root()).nth(n).unwrap()
}

/// Reads a file with the rbx crates. Returns each instance's name and its value of one property.
fn read(bytes: &[u8], property: &str) -> Vec<(String, Option<Variant>)> {
    let tree = Tree::decode(bytes);
    let all = tree.subtree(tree.root()).into_iter().skip(1).map(|at| tree.item(at));
    all.map(|item| (item.name.clone(), item.properties.get(property).cloned())).collect()
}

/// A binary file that stores properties under exactly these names and in these types.
fn binary(items: Vec<InstanceBuilder>) -> Vec<u8> {
    let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_children(items));
    let (mut bytes, empty) = (Vec::new(), ReflectionDatabase::new());
    let serializer = Serializer::new().reflection_database(&empty);
    serializer.serialize(&mut bytes, &dom, dom.root().children()).unwrap();
    bytes
}

const NAMELESS: &str = "<roblox version=\"4\">\n\
    \t<Item class=\"Part\" referent=\"0\">\n\t\t<Properties>\n\t\t\t\
    <bool name=\"Anchored\">true</bool>\n\t\t</Properties>\n\
    \t\t<Item class=\"Folder\" referent=\"1\">\n\t\t\t<Properties />\n\t\t</Item>\n\
    \t\t<Item class=\"Folder\" referent=\"2\"/>\n\
    \t</Item>\n</roblox>\n";

#[test]
fn copy_of_a_nameless_item_has_a_name() {
    let mut scene = Scene::decode(NAMELESS.as_bytes()).unwrap();
    scene.copy(nth(&scene, 0), scene.root(), "Copy");
    let names = read(&scene.encode().unwrap(), "Name").into_iter().map(|(name, _)| name);
    assert_eq!(names.collect::<Vec<_>>(), ["Part", "Folder", "Folder", "Copy", "Folder", "Folder"]);
}

#[test]
fn rollback_leaves_items_without_properties_unchanged() {
    let mut scene = Scene::decode(NAMELESS.as_bytes()).unwrap();
    let start = scene.journal_mark();
    for n in 0..3 {
        let node = nth(&scene, n);
        scene.rename(node, "Other");
        scene.rollback(start);
        scene.set_property(node, "Archivable", None).unwrap();
        assert_eq!(scene.encode().unwrap(), NAMELESS.as_bytes());
    }
}

#[test]
fn removed_value_does_not_return_under_an_older_name() {
    let file = "<roblox version=\"4\"><Item class=\"Part\" referent=\"0\"><Properties>\
        <string name=\"Name\">P</string><int name=\"BrickColor\">21</int>\
        <Color3uint8 name=\"Color3uint8\">4278190080</Color3uint8>\
        </Properties></Item></roblox>";
    let mut scene = Scene::decode(file.as_bytes()).unwrap();
    scene.set_property(nth(&scene, 0), "Color", None).unwrap();
    let found = read(&scene.encode().unwrap(), "Color");
    assert_eq!(found, [("P".to_owned(), None)]);
}

#[test]
fn removed_value_does_not_return_when_subtree_is_restored() {
    let screen = InstanceBuilder::new("ScreenGui")
        .with_property("IgnoreGuiInset", true)
        .with_property("ScreenInsets", Enum::from_u32(0));
    let xml = "<roblox version=\"4\"><Item class=\"ScreenGui\" referent=\"0\"><Properties>\
        <string name=\"Name\">S</string><bool name=\"IgnoreGuiInset\">true</bool>\
        <token name=\"ScreenInsets\">0</token></Properties></Item></roblox>";
    // A binary file may store the default.
    let default = reflection::default_of("ScreenGui", "ScreenInsets");
    for file in [binary(vec![screen]), xml.as_bytes().to_vec()] {
        for is_removed_first in [true, false] {
            let mut scene = Scene::decode(&file).unwrap();
            let node = nth(&scene, 0);
            if is_removed_first {
                scene.set_property(node, "ScreenInsets", None).unwrap();
            }
            let bytes = scene.encode_subtree(node).unwrap();
            scene.delete(node);
            let again =
                scene.restore_subtree(DetachedSubtree::decode(&bytes).unwrap(), scene.root(), None);
            scene.set_property(again, "ScreenInsets", None).unwrap();
            let found = read(&scene.encode().unwrap(), "ScreenInsets");
            let value = found[0].1.as_ref();
            assert!(value.is_none() || value == default, "{is_removed_first}: {value:?}");
        }
    }
}

#[test]
fn new_classes_and_shared_strings_precede_their_references() {
    let mut scene = Scene::decode(&binary(vec![InstanceBuilder::new("ObjectValue")])).unwrap();
    let part = scene.create(scene.root(), "Part", "New");
    let target = scene.target(part);
    scene.set_property(nth(&scene, 0), "Value", Some(&Value::Ref(Some(target)))).unwrap();
    let found = read(&scene.encode().unwrap(), "Value");
    assert!(matches!(found[0].1, Some(Variant::Ref(to)) if to.is_some()), "{found:?}");

    let mut scene = Scene::empty(FileFormat::Binary);
    let part = scene.create(scene.root(), "MeshPart", "Mesh");
    let content = Value::SharedString(vec![7; 20]);
    scene.set_property(part, "PhysicalConfigData", Some(&content)).unwrap();
    let found = read(&scene.encode().unwrap(), "PhysicalConfigData");
    assert!(matches!(&found[0].1, Some(Variant::SharedString(it)) if it.data() == [7; 20]));
}

#[test]
fn content_can_refer_to_an_instance() {
    let part = InstanceBuilder::new("Part");
    let content = Content::from_referent(part.referent());
    let decal = InstanceBuilder::new("Decal").with_property("TextureContent", content);
    let mut scene = Scene::decode(&binary(vec![part, decal])).unwrap();
    let (part, decal) = (nth(&scene, 0), nth(&scene, 1));
    assert_eq!(scene.references_into(part), [(decal, "TextureContent".to_owned(), part)]);
    // Deleting the part clears the stored content, too.
    scene.copy(decal, scene.root(), "Copy");
    scene.delete(part);
    let nothing = Some(Value::Content(scene_schemas::value::Content::None));
    assert_eq!(scene.stored_value(decal, "TextureContent"), nothing);
    let again = Scene::decode(&scene.encode().unwrap()).unwrap();
    assert!(diff_scenes(&scene, &again).is_empty() && diff_scenes(&again, &scene).is_empty());
}

#[test]
fn property_split_into_newer_ones_is_written_once() {
    let radius = |offset: i32| UDim::new(0.0, offset);
    let corner = InstanceBuilder::new("UICorner")
        .with_property("CornerRadius", radius(1))
        .with_property("TopLeftRadius", radius(2))
        .with_property("TopRightRadius", radius(3));
    let mut scene = Scene::decode(&binary(vec![corner])).unwrap();
    scene.create(scene.root(), "UICorner", "New");
    let bytes = scene.encode().unwrap();
    assert!(!chunks(&bytes).contains_key("PROP UICorner.CornerRadius"));
    for (property, offset) in [("TopLeftRadius", 2), ("TopRightRadius", 3), ("BottomLeftRadius", 1)]
    {
        assert_eq!(read(&bytes, property)[0].1, Some(radius(offset).into()), "{property}");
    }
}

#[test]
fn outdated_property_value_without_a_meaning_is_tolerated() {
    let font = |n: u32| InstanceBuilder::new("TextLabel").with_property("Font", Enum::from_u32(n));
    let mut scene = Scene::decode(&binary(vec![font(3), font(u32::MAX)])).unwrap();
    scene.create(scene.root(), "TextLabel", "New");
    let found = read(&scene.encode().unwrap(), "FontFace");
    assert!(matches!(&found[0].1, Some(Variant::Font(it)) if it.family.contains("SourceSans")));
}

#[test]
fn positive_and_negative_zero_are_distinct_values() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let node = scene.create(scene.root(), "NumberValue", "N");
    for (name, number) in [("Value", 0.0), ("Other", -0.0)] {
        scene.set_property(node, name, Some(&Value::Float64(number))).unwrap();
    }
    let found = read(&scene.encode().unwrap(), "Other");
    assert!(matches!(found[0].1, Some(Variant::Float64(it)) if it.is_sign_negative()));
}

#[test]
fn reference_restored_by_rollback_is_found_again() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let [holder, one, other] =
        ["ObjectValue", "Part", "Folder"].map(|class| scene.create(scene.root(), class, class));
    let point = |scene: &mut Scene, to: Node| {
        let target = scene.target(to);
        scene.set_property(holder, "Value", Some(&Value::Ref(Some(target)))).unwrap();
    };
    point(&mut scene, one);
    let mark = scene.journal_mark();
    point(&mut scene, other);
    assert_eq!(scene.references_into(other).len(), 1);
    scene.rollback(mark);
    assert_eq!(scene.references_into(one), [(holder, "Value".to_owned(), one)]);
}

#[test]
fn rollback_returns_a_reused_id_to_its_instance() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let node = scene.create(scene.root(), "Folder", "First");
    scene.encode().unwrap();
    let id = scene.written_id(node);
    let mark = scene.journal_mark();
    let bytes = scene.encode_subtree(node).unwrap();
    scene.delete(node);
    let again = scene.restore_subtree(DetachedSubtree::decode(&bytes).unwrap(), scene.root(), None);
    assert_eq!(scene.written_id(again), id);
    scene.rollback(mark);
    assert_eq!(scene.by_id(&id), Some(node));
    let second = scene.create(scene.root(), "Folder", "Second");
    scene.encode().unwrap();
    assert_ne!(scene.written_id(second), id);
}
