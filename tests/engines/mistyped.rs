//! Files that store a property in another type than reflection says, as files of older versions of
//! Studio do. They can be read, converted and edited. A value that cannot be in the same column is
//! refused.

use rbx_binary::Serializer;
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_reflection::ReflectionDatabase;
use rbx_types::{CFrame, Color3, Enum, Matrix3, Ref, UDim2, Variant, Vector3};
use scene_schemas::Value;
use vector_place::diff::diff_scenes;
use vector_place::{FileFormat, Node, Scene};

use super::files::properties;

const STORED: &str = "MaterialVariantSerialized";

/// A binary file that stores properties under exactly these names and in these types.
fn binary(items: Vec<InstanceBuilder>) -> Vec<u8> {
    let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_children(items));
    let (mut bytes, empty) = (Vec::new(), ReflectionDatabase::new());
    let serializer = Serializer::new().reflection_database(&empty);
    serializer.serialize(&mut bytes, &dom, dom.root().children()).unwrap();
    bytes
}

fn part(name: &str, stored: impl Into<Variant>) -> InstanceBuilder {
    InstanceBuilder::new("Part").with_name(name).with_property(STORED, stored)
}

fn child(scene: &Scene, name: &str) -> Node {
    scene.find_child(scene.root(), name).unwrap()
}

fn again(scene: &mut Scene) -> Scene {
    Scene::decode(&scene.encode().unwrap()).unwrap()
}

#[test]
fn reference_stored_for_a_string_converts_both_ways() {
    let xml = "<roblox version=\"4\"><Item class=\"Part\" referent=\"A\"><Properties>\
               <string name=\"Name\">P</string><Ref name=\"MaterialVariantSerialized\">null</Ref>\
               </Properties></Item></roblox>";
    let scene = Scene::decode(xml.as_bytes()).unwrap();
    let binary = scene.convert_to(FileFormat::Binary).unwrap();
    assert_eq!(diff_scenes(&scene, &binary), []);
    let mut back = binary.convert_to(FileFormat::Xml).unwrap();
    assert_eq!(diff_scenes(&scene, &back), []);
    let text = String::from_utf8(back.encode().unwrap()).unwrap();
    assert!(text.contains("<Ref name=\"MaterialVariantSerialized\">null</Ref>"), "{text}");
}

#[test]
fn instances_can_be_added_and_removed_beside_null_references() {
    let file = binary(vec![part("A", Ref::none()), part("B", Ref::none())]);
    let mut scene = Scene::decode(&file).unwrap();
    let root = scene.root();
    scene.create(root, "Part", "New");
    scene.copy(child(&scene, "A"), root, "Copy");
    let removed = scene.encode_subtree(child(&scene, "B")).unwrap();
    assert!(Scene::decode(&removed).is_ok());
    scene.delete(child(&scene, "B"));
    let after = again(&mut scene);
    let names: Vec<&str> = after.children(after.root()).map(|it| after.name(it)).collect();
    assert_eq!(names, ["A", "New", "Copy"]);
    // The empty value of the column's own type.
    for name in names {
        let stored = after.stored_value(child(&after, name), "MaterialVariant");
        assert_eq!(stored, Some(Value::Ref(None)), "{name}");
    }
    // A text can replace the references of the column if all of them are empty.
    let mut scene = after;
    let value = Value::String("Moss".to_owned());
    scene.set_property(child(&scene, "New"), "MaterialVariant", Some(&value)).unwrap();
    let after = again(&mut scene);
    assert_eq!(after.stored_value(child(&after, "New"), "MaterialVariant"), Some(value));
    let other = after.stored_value(child(&after, "A"), "MaterialVariant");
    assert_eq!(other, Some(Value::String(String::new())));
}

#[test]
fn value_unlike_its_column_type_is_refused_when_set() {
    let target = part("A", Ref::none());
    let to = target.referent();
    let file = binary(vec![target, part("B", to)]);
    let mut scene = Scene::decode(&file).unwrap();
    let value = Value::String("Moss".to_owned());
    let refusal =
        scene.set_property(child(&scene, "A"), "MaterialVariant", Some(&value)).unwrap_err();
    for what in ["MaterialVariant", "Part", "older version of Studio"] {
        assert!(refusal.0.contains(what), "{}", refusal.0);
    }
    assert_eq!(scene.encode().unwrap(), file, "nothing was changed");
    scene.create(scene.root(), "Part", "New");
    let after = again(&mut scene);
    let stored = |name: &str| after.stored_value(child(&after, name), "MaterialVariant");
    assert_eq!(stored("New"), Some(Value::Ref(None)));
    assert_eq!(stored("B"), Some(Value::Ref(Some(after.target(child(&after, "A"))))));
}

/// Every property of some classes, stored in types other than its own.
#[test]
fn classes_with_mistyped_properties_can_be_edited() {
    let zero = Vector3::new(0.0, 0.0, 0.0);
    let kinds: [Variant; 11] = [
        Ref::none().into(),
        String::new().into(),
        "text".to_owned().into(),
        5_i32.into(),
        true.into(),
        0.5_f32.into(),
        Vector3::new(1.0, 2.0, 3.0).into(),
        Color3::new(1.0, 0.0, 0.0).into(),
        CFrame::new(zero, Matrix3::identity()).into(),
        Enum::from_u32(3).into(),
        UDim2::new(rbx_types::UDim::new(0.5, 1), rbx_types::UDim::new(0.0, 2)).into(),
    ];
    for class in ["Part", "Humanoid", "TextLabel", "Sound", "Decal"] {
        for property in properties(class) {
            for value in &kinds {
                let item = |name: &str| {
                    let item = InstanceBuilder::new(class).with_name(name);
                    item.with_property(property.name, value.clone())
                };
                let file = binary(vec![item("A"), item("B")]);
                let what = format!("{class}.{}: {value:?}", property.name);
                edit_beside(&file, class, property.name)
                    .unwrap_or_else(|why| panic!("{what}: {why}"));
            }
        }
    }
}

fn edit_beside(file: &[u8], class: &str, property: &str) -> Result<(), String> {
    let mut scene = Scene::decode(file).unwrap();
    let root = scene.root();
    scene.create(root, class, "New");
    scene.copy(child(&scene, "A"), root, "Copy");
    scene.encode_subtree(child(&scene, "B")).map_err(|why| format!("removed: {why}"))?;
    scene.delete(child(&scene, "B"));
    let bytes = scene.encode().map_err(|why| why.to_string())?;
    let after = Scene::decode(&bytes).unwrap();
    let names: Vec<&str> = after.children(after.root()).map(|it| after.name(it)).collect();
    let before = Scene::decode(file).unwrap();
    let value = |scene: &Scene, name: &str| scene.stored_value(child(scene, name), property);
    let values = [value(&before, "A"), value(&after, "A"), value(&after, "Copy")];
    if names != ["A", "New", "Copy"] || values.iter().any(|it| *it != values[0]) {
        return Err(format!("{names:?} with {values:?}"));
    }
    for format in [FileFormat::Binary, FileFormat::Xml] {
        after.convert_to(format).map_err(|why| format!("{format:?}: {why}"))?;
    }
    Ok(())
}

#[test]
fn strings_of_unknown_properties_survive_conversion() {
    let xml = "<roblox version=\"4\"><Item class=\"Folder\" referent=\"A\"><Properties>\
               <string name=\"Name\">F</string><string name=\"summary\">Größe &lt;1&gt;</string>\
               <string name=\"empty\"></string>\
               <BinaryString name=\"bytes\">/wAB</BinaryString></Properties></Item></roblox>";
    let scene = Scene::decode(xml.as_bytes()).unwrap();
    let mut back =
        scene.convert_to(FileFormat::Binary).unwrap().convert_to(FileFormat::Xml).unwrap();
    let text = String::from_utf8(back.encode().unwrap()).unwrap();
    for element in [
        "<string name=\"summary\">Größe &lt;1&gt;</string>",
        "<string name=\"empty\"></string>",
        "<BinaryString name=\"bytes\">",
    ] {
        assert!(text.contains(element), "{element} is not in {text}");
    }
    assert_eq!(diff_scenes(&scene, &back), []);
}
