//! The forms in which models and other tools write values.

use rbx_types::{CFrame, Matrix3, Vector3};
use scene_schemas::Value;
use serde_json::{Value as Json, json};

use super::{PropertyOwner, read_props};
use crate::{FileFormat, Scene};

/// Returns the printed value of a property, or the reason why it is refused.
fn read(class: &str, property: &str, value: &Json) -> String {
    let mut scene = Scene::empty(FileFormat::Xml);
    let root = scene.root();
    let workspace = scene.create(root, "Workspace", "Workspace");
    let node = scene.create(workspace, class, "It");
    let props = json!({ property: value });
    match read_props(&scene, PropertyOwner::Node(node), props.as_object().unwrap()) {
        Ok(read) => {
            let values: Vec<String> = read
                .values()
                .map(|it| it.as_ref().map_or("none".to_owned(), Value::to_brief))
                .collect();
            values.join(", ")
        }
        Err(refusal) => refusal.0,
    }
}

#[track_caller]
fn same(class: &str, property: &str, forms: &[Json]) {
    let first = read(class, property, &forms[0]);
    for form in forms {
        assert_eq!(read(class, property, form), first, "{form}");
    }
    assert!(!first.contains("needed"), "{first}");
}

#[test]
fn typed_enums_cframes_and_references_equal_short_forms() {
    same(
        "Part",
        "Material",
        &[
            json!("Neon"),
            json!("Enum.Material.Neon"),
            json!({ "__t": "EnumItem", "enum": "Material", "name": "Neon" }),
            json!({ "__t": "EnumItem", "enum": "Enum.Material", "name": "Neon" }),
            json!({ "__t": "EnumItem", "enum": "Enum.Material", "name": "Enum.Material.Neon" }),
            json!({ "__t": "EnumItem", "enumType": "Material", "value": 288 }),
            json!({ "__t": "EnumItem", "value": "Neon" }),
        ],
    );
    same(
        "Part",
        "CFrame",
        &[
            json!([1, 5, 2, 1, 0, 0, 0, 1, 0, 0, 0, 1]),
            json!([1, 5, 2]),
            json!({ "__t": "CFrame", "comps": [1, 5, 2, 1, 0, 0, 0, 1, 0, 0, 0, 1] }),
            json!({ "__t": "CFrame", "components": [1, 5, 2] }),
            json!({ "__t": "CFrame", "value": [1, 5, 2] }),
            json!({ "__t": "CFrame", "position": { "x": 1, "y": 5, "z": 2 } }),
            json!({ "__t": "CFrame", "x": 1, "y": 5, "z": 2 }),
        ],
    );
    same(
        "ObjectValue",
        "Value",
        &[
            json!("game.Workspace"),
            json!({ "__t": "Instance", "path": "game.Workspace" }),
            json!({ "__t": "Ref", "path": "game.Workspace" }),
            json!({ "__t": "Ref", "target": { "path": "game.Workspace" } }),
            json!({ "__t": "Instance", "target": "game.Workspace" }),
        ],
    );
    same(
        "ObjectValue",
        "Value",
        &[
            json!(null),
            json!({ "__t": "Instance", "path": null }),
            json!({ "__t": "Ref", "target": null }),
        ],
    );
}

#[test]
fn typed_vectors_and_colours_equal_short_forms() {
    same(
        "Part",
        "Size",
        &[
            json!([1, 2, 3]),
            json!({ "__t": "Vector3", "x": 1, "y": 2, "z": 3 }),
            json!({ "__t": "Vector3", "X": 1, "Y": 2, "Z": 3 }),
            json!({ "__t": "Vector3", "value": [1, 2, 3] }),
        ],
    );
    same(
        "Frame",
        "AnchorPoint",
        &[
            json!([0.5, 1]),
            json!({ "__t": "Vector2", "x": 0.5, "y": 1 }),
            json!({ "__t": "Vector2", "value": [0.5, 1] }),
        ],
    );
    same(
        "Part",
        "Color",
        &[
            json!("#ff0000"),
            json!([255, 0, 0]),
            json!({ "__t": "Color3", "r": 1, "g": 0, "b": 0 }),
            json!({ "__t": "Color3", "value": "#ff0000" }),
            json!({ "__t": "Color3", "hex": "#ff0000" }),
            json!({ "__t": "Color3uint8", "r": 255, "g": 0, "b": 0 }),
        ],
    );
}

#[test]
fn typed_dimensions_numbers_and_texts_equal_short_forms() {
    same(
        "UIPadding",
        "PaddingTop",
        &[
            json!([0.5, 10]),
            json!({ "__t": "UDim", "scale": 0.5, "offset": 10 }),
            json!({ "__t": "UDim", "value": [0.5, 10] }),
        ],
    );
    same(
        "Frame",
        "Size",
        &[
            json!([0.5, 1, 0, 2]),
            json!({ "__t": "UDim2", "x": { "scale": 0.5, "offset": 1 }, "y": [0, 2] }),
            json!({ "__t": "UDim2", "value": [[0.5, 1], [0, 2]] }),
            json!({ "__t": "UDim2", "xScale": 0.5, "xOffset": 1, "yScale": 0, "yOffset": 2 }),
        ],
    );
    same(
        "Part",
        "BrickColor",
        &[
            json!("Bright red"),
            json!({ "__t": "BrickColor", "name": "Bright red" }),
            json!({ "__t": "BrickColor", "number": 21 }),
            json!({ "__t": "BrickColor", "value": 21 }),
        ],
    );
    same(
        "Part",
        "Transparency",
        &[
            json!(0.5),
            json!({ "__t": "number", "value": 0.5 }),
            json!({ "__t": "Float64", "value": 0.5 }),
        ],
    );
    same(
        "Part",
        "Anchored",
        &[
            json!(true),
            json!({ "__t": "Bool", "value": true }),
            json!({ "__t": "boolean", "value": true }),
        ],
    );
    same("TextLabel", "Text", &[json!("5"), json!(5), json!({ "__t": "string", "value": "5" })]);
}

#[test]
fn typed_forms_of_another_type_are_refused() {
    for (class, property, value, said) in [
        (
            "Part",
            "Material",
            json!({ "__t": "EnumItem", "enum": "Enum.Font", "name": "Arial" }),
            "an item of Enum.Material is needed, not of Enum.Font",
        ),
        ("Part", "Size", json!({ "__t": "Vector2", "x": 1, "y": 2 }), "a Vector3 is needed"),
        ("Part", "CFrame", json!({ "__t": "CFrame", "comps": [1, 2] }), "a CFrame is needed"),
        (
            "ObjectValue",
            "Value",
            json!({ "__t": "Instance", "path": "game.Nothing" }),
            "There is no",
        ),
        ("ObjectValue", "Value", json!({ "__t": "Instance" }), "`path`"),
        ("Part", "Anchored", json!({ "__t": "Bool", "value": "yes" }), "true or false"),
    ] {
        let why = read(class, property, &value);
        assert!(why.contains(said), "{property} {value}: {why}");
    }
}

#[test]
fn attributes_accept_the_same_typed_forms() {
    let at = CFrame::new(Vector3::new(1.0, 5.0, 2.0), Matrix3::identity());
    for (value, expected) in [
        (
            json!({ "__t": "CFrame", "comps": [1, 5, 2, 1, 0, 0, 0, 1, 0, 0, 0, 1] }),
            Value::CFrame(at),
        ),
        (
            json!({ "__t": "Vector3", "value": [1, 2, 3] }),
            Value::Vector3(Vector3::new(1.0, 2.0, 3.0)),
        ),
        (json!({ "__t": "number", "value": 3 }), Value::Float64(3.0)),
    ] {
        assert_eq!(read("Part", "@Key", &value), expected.to_brief(), "{value}");
    }
    let item = json!({ "__t": "EnumItem", "enum": "Enum.Material", "name": "Neon" });
    assert!(read("Part", "@Key", &item).contains("Neon"));
    assert!(read("Part", "@Key", &json!({ "__t": "Nothing" })).contains("Nothing"));
}
