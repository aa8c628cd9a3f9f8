//! Tests that the forms of every type match each other.
//!
//! The samples cover every variant but `MaterialColors`, which has its own test.

use rbx_types::{
    ColorSequenceKeypoint, CustomPhysicalProperties, FontStyle, FontWeight, Matrix3,
    NumberSequenceKeypoint, TerrainMaterials,
};
use serde_json::json;

use super::*;
use crate::command::{Command, InstanceId};

fn wall() -> Target {
    Target { id: InstanceId("ref:7".to_owned()), path: "game.Workspace.Wall[2]".parse().unwrap() }
}

fn item(item: EnumName) -> Value {
    Value::EnumItem(EnumItem { enum_type: "Material".to_owned(), item })
}

fn frame() -> CFrame {
    CFrame::new(
        Vector3::new(0.1, -0.0, f32::INFINITY),
        Matrix3::new(
            Vector3::new(1.0, 2.0, 3.0),
            Vector3::new(4.0, 5.0, 6.0),
            Vector3::new(7.0, 8.0, 9.5),
        ),
    )
}

/// Every variant but `MaterialColors` at least once, with its exact form and its display line.
fn samples() -> Vec<(Value, &'static str, &'static str)> {
    let mut all = scalars();
    all.extend(shapes());
    all.extend(looks());
    all.extend(names_and_bytes());
    all
}

// One case per line.
#[rustfmt::skip]
fn scalars() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (Value::Bool(true), "true", "true"),
        (Value::String("a\n\"b\"".to_owned()), r#""a\n\"b\"""#, "\"a\u{23ce}\"b\"\""),
        (Value::Float64(1.0), "1", "1"),
        (Value::Float64(-0.0), "-0.0", "-0.0"),
        (Value::Float64(5e-324), "5e-324", "5e-324"),
        (Value::Float64(f64::MAX), "1.7976931348623157e308", "1.7976931348623157e+308"),
        (Value::Float64(f64::NEG_INFINITY), r#"{"__t":"Float64","value":"-inf"}"#, "-inf"),
        (Value::Float64(f64::NAN), r#"{"__t":"Float64","value":"nan"}"#, "nan"),
        (Value::Float32(0.1), r#"{"__t":"Float32","value":0.1}"#, "0.1"),
        (Value::Float32(-0.0), r#"{"__t":"Float32","value":-0.0}"#, "-0.0"),
        (Value::Float32(f32::from_bits(1)), r#"{"__t":"Float32","value":1e-45}"#, "1e-45"),
        (Value::Float32(f32::INFINITY), r#"{"__t":"Float32","value":"inf"}"#, "inf"),
        (Value::Int32(i32::MIN), r#"{"__t":"Int32","value":-2147483648}"#, "-2147483648"),
        (Value::Int64(9_007_199_254_740_993), r#"{"__t":"Int64","value":"9007199254740993"}"#, "9007199254740993"),
        (Value::Int64(i64::MIN), r#"{"__t":"Int64","value":"-9223372036854775808"}"#, "-9223372036854775808"),
        (Value::SecurityCapabilities(u64::MAX), r#"{"__t":"SecurityCapabilities","value":"18446744073709551615"}"#, "capabilities 0xffffffffffffffff"),
        (Value::UniqueId(UniqueId::new(1, u32::MAX, i64::MIN)), r#"{"__t":"UniqueId","index":1,"random":"-9223372036854775808","time":4294967295}"#, "8000000000000000ffffffff00000001"),
    ]
}

// One case per line.
#[rustfmt::skip]
fn shapes() -> Vec<(Value, &'static str, &'static str)> {
    let udim = UDim::new(0.5, -10);
    vec![
        (Value::Vector2(Vector2::new(1.5, f32::NEG_INFINITY)), r#"{"__t":"Vector2","x":1.5,"y":"-inf"}"#, "1.5, -inf"),
        (Value::Vector2int16(Vector2int16::new(i16::MIN, i16::MAX)), r#"{"__t":"Vector2int16","x":-32768,"y":32767}"#, "-32768, 32767"),
        (Value::Vector3(Vector3::new(0.0, 1.0, f32::MAX)), r#"{"__t":"Vector3","x":0,"y":1,"z":3.4028235e38}"#, "0, 1, 3.4028235e+38"),
        (Value::Vector3int16(Vector3int16::new(1, 2, 3)), r#"{"__t":"Vector3int16","x":1,"y":2,"z":3}"#, "1, 2, 3"),
        (Value::CFrame(frame()), r#"{"__t":"CFrame","orientation":[1,2,3,4,5,6,7,8,9.5],"position":[0.1,-0.0,"inf"]}"#, "0.1, -0.0, inf, rotated"),
        (Value::OptionalCFrame(Some(CFrame::identity())), r#"{"__t":"OptionalCFrame","orientation":[1,0,0,0,1,0,0,0,1],"position":[0,0,0]}"#, "0, 0, 0"),
        (Value::OptionalCFrame(None), r#"{"__t":"OptionalCFrame","value":null}"#, "nothing"),
        (Value::UDim(udim), r#"{"__t":"UDim","offset":-10,"scale":0.5}"#, "0.5, -10"),
        (Value::UDim2(UDim2::new(udim, UDim::new(1.0, i32::MAX))), r#"{"__t":"UDim2","x":{"offset":-10,"scale":0.5},"y":{"offset":2147483647,"scale":1}}"#, "{0.5, -10}, {1, 2147483647}"),
        (Value::Rect(Rect::new(Vector2::new(0.0, 1.0), Vector2::new(2.0, 3.5))), r#"{"__t":"Rect","max":[2,3.5],"min":[0,1]}"#, "0, 1 to 2, 3.5"),
        (Value::Ray(Ray::new(Vector3::new(0.0, 1.0, 2.0), Vector3::new(0.0, 0.0, -1.0))), r#"{"__t":"Ray","direction":[0,0,-1],"origin":[0,1,2]}"#, "from 0, 1, 2 along 0, 0, -1"),
        (Value::Region3(Region3::new(Vector3::new(0.0, 0.0, 0.0), Vector3::new(1.0, 2.0, 3.0))), r#"{"__t":"Region3","max":[1,2,3],"min":[0,0,0]}"#, "0, 0, 0 to 1, 2, 3"),
        (Value::Region3int16(Region3int16::new(Vector3int16::new(-1, 0, 0), Vector3int16::new(1, 2, 3))), r#"{"__t":"Region3int16","max":[1,2,3],"min":[-1,0,0]}"#, "-1, 0, 0 to 1, 2, 3"),
        (Value::NumberRange(NumberRange::new(0.2, 5.0)), r#"{"__t":"NumberRange","max":5,"min":0.2}"#, "0.2 to 5"),
        (Value::NumberSequence(NumberSequence {keypoints: vec![NumberSequenceKeypoint::new(0.0, 1.0, 0.0), NumberSequenceKeypoint::new(1.0, 0.25, 0.1)] }), r#"{"__t":"NumberSequence","keypoints":[{"envelope":0,"time":0,"value":1},{"envelope":0.1,"time":1,"value":0.25}]}"#, "1 to 0.25"),
    ]
}

// One case per line.
#[rustfmt::skip]
fn looks() -> Vec<(Value, &'static str, &'static str)> {
    let orange = Color3::new(1.0, 0.5, 0.0);
    let mut italic = Font::new(
        "rbxasset://fonts/families/Arial.json",
        FontWeight::Bold,
        FontStyle::Italic,
    );
    italic.cached_face_id = Some("rbxasset://fonts/Arial.ttf".to_owned());
    let custom = CustomPhysicalProperties::new(0.7, 0.3, 0.5, 1.0, 2.0, 3.0);
    vec![
        (Value::Color3(orange), r#"{"__t":"Color3","b":0,"g":0.5,"r":1}"#, "#ff8000"),
        (Value::Color3(Color3::new(2.0, 0.0, -1.0)), r#"{"__t":"Color3","b":-1,"g":0,"r":2}"#, "2, 0, -1"),
        (Value::Color3uint8(Color3uint8::new(0, 128, 255)), r#"{"__t":"Color3uint8","b":255,"g":128,"r":0}"#, "#0080ff"),
        (Value::ColorSequence(ColorSequence {keypoints: vec![ColorSequenceKeypoint::new(0.0, orange), ColorSequenceKeypoint::new(1.0, orange)] }), r#"{"__t":"ColorSequence","keypoints":[{"color":[1,0.5,0],"time":0},{"color":[1,0.5,0],"time":1}]}"#, "#ff8000"),
        (Value::BrickColor(BrickColor::BrightRed), r#"{"__t":"BrickColor","name":"Bright red"}"#, "Bright red"),
        (Value::Font(italic), r#"{"__t":"Font","cachedFaceId":"rbxasset://fonts/Arial.ttf","family":"rbxasset://fonts/families/Arial.json","style":"Italic","weight":700}"#, "Arial Bold Italic"),
        (Value::Font(Font::default()), r#"{"__t":"Font","family":"rbxasset://fonts/families/SourceSansPro.json","style":"Normal","weight":400}"#, "SourceSansPro"),
        (Value::Faces(Faces::all()), r#"{"__t":"Faces","faces":["Right","Top","Back","Left","Bottom","Front"]}"#, "Right, Top, Back, Left, Bottom, Front"),
        (Value::Faces(Faces::empty()), r#"{"__t":"Faces","faces":[]}"#, "none"),
        (Value::Axes(Axes::X), r#"{"__t":"Axes","axes":["X"]}"#, "X"),
        (Value::PhysicalProperties(PhysicalProperties::Default), r#"{"__t":"PhysicalProperties","custom":false}"#, "default"),
        (Value::PhysicalProperties(PhysicalProperties::Custom(custom)), r#"{"__t":"PhysicalProperties","acousticAbsorption":3,"density":0.7,"elasticity":0.5,"elasticityWeight":2,"friction":0.3,"frictionWeight":1}"#, "density 0.7, friction 0.3, elasticity 0.5"),
    ]
}

// One case per line.
#[rustfmt::skip]
fn names_and_bytes() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (item(EnumName::Name("Neon".to_owned())), r#"{"__t":"EnumItem","enum":"Material","name":"Neon"}"#, "Neon"),
        (item(EnumName::Number(4_294_967_295)), r#"{"__t":"EnumItem","enum":"Material","value":4294967295}"#, "Material 4294967295"),
        (Value::Content(Content::None), r#"{"__t":"Content"}"#, "nothing"),
        (Value::Content(Content::Uri("rbxassetid://1".to_owned())), r#"{"__t":"Content","uri":"rbxassetid://1"}"#, "rbxassetid://1"),
        (Value::Content(Content::Object(None)), r#"{"__t":"Content","object":null}"#, "nothing"),
        (Value::Content(Content::Object(Some(wall()))), r#"{"__t":"Content","object":{"id":"ref:7","path":"game.Workspace.Wall[2]"}}"#, "game.Workspace.Wall[2]"),
        (Value::ContentId("rbxassetid://1".to_owned()), r#"{"__t":"ContentId","value":"rbxassetid://1"}"#, "rbxassetid://1"),
        (Value::Ref(None), r#"{"__t":"Ref","target":null}"#, "nothing"),
        (Value::Ref(Some(wall())), r#"{"__t":"Ref","target":{"id":"ref:7","path":"game.Workspace.Wall[2]"}}"#, "game.Workspace.Wall[2]"),
        (Value::Tags(vec!["Lamp".to_owned(), "Hot".to_owned()]), r#"{"__t":"Tags","value":["Lamp","Hot"]}"#, "Lamp, Hot"),
        (Value::Attributes(BTreeMap::from([("a".to_owned(), Value::Bool(false)), ("b".to_owned(), Value::Axes(Axes::Z))])), r#"{"__t":"Attributes","value":{"a":false,"b":{"__t":"Axes","axes":["Z"]}}}"#, "2 attributes"),
        (Value::Binary(vec![0]), r#"{"__t":"Binary","base64":"AA=="}"#, "1 byte"),
        (Value::SharedString(vec![255; 12]), r#"{"__t":"SharedString","base64":"////////////////"}"#, "12 bytes"),
        (Value::NetAssetRef(Vec::new()), r#"{"__t":"NetAssetRef","base64":""}"#, "0 bytes"),
    ]
}

/// `NaN` is unequal to itself, so values are compared by their canonical text.
#[track_caller]
fn check(value: &Value, json: &str) {
    let printed = serde_json::to_value(value).unwrap();
    let expected: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(printed, expected);
    let read: Value = serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap();
    assert_eq!(read.to_json(), value.to_json());
    assert_eq!(read.to_canonical(), value.to_canonical());
    assert_eq!(Value::from_json(expected).unwrap().to_json(), value.to_json());
}

#[test]
fn every_type_round_trips() {
    for (value, json, line) in samples() {
        check(&value, json);
        assert_eq!(value.to_brief(), line);
        assert!(!value.to_brief().contains('\n'));
    }
}

#[test]
fn samples_cover_every_type_name() {
    let mut seen: Vec<&str> = samples()
        .iter()
        .map(|(value, ..)| value.type_name())
        .filter(|name| !matches!(*name, "Bool" | "String"))
        .chain(["MaterialColors"])
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, TYPE_NAMES);
}

#[test]
fn all_brick_colors_round_trip() {
    let colors: Vec<_> = (0..=u16::MAX).filter_map(BrickColor::from_number).collect();
    assert!(colors.len() > 200);
    for color in colors {
        let value = Value::BrickColor(color);
        assert_eq!(Value::from_json(value.to_json()).unwrap(), value);
    }
    // The second of the two colours named Lilac.
    let json = json!({ "__t": "BrickColor", "number": 321 });
    assert_eq!(Value::from_json(json.clone()).unwrap().to_json(), json);
}

#[test]
fn material_colors_name_all_materials() {
    let mut colors = MaterialColors::new();
    colors.set_color(TerrainMaterials::Mud, Color3uint8::new(1, 2, 3));
    let value = Value::MaterialColors(Box::new(colors));
    let json = value.to_json();
    assert_eq!(json["colors"].as_object().unwrap().len(), 21);
    assert_eq!(json["colors"]["Mud"], json!([1, 2, 3]));
    let read = Value::from_json(json.clone()).unwrap();
    assert_eq!(read.to_json(), json);
    let short = json!({ "__t": "MaterialColors", "colors": { "Mud": [1, 2, 3] } });
    assert_eq!(Value::from_json(short).unwrap(), read);
}

#[test]
fn equal_values_read_back_equal() {
    for (value, ..) in samples() {
        if value == value.clone() {
            assert_eq!(Value::from_json(value.to_json()).unwrap(), value);
        }
    }
}

#[test]
fn canonical_text_has_sorted_keys_and_no_ids() {
    let check = |value: Value, text: &str| assert_eq!(value.to_canonical(), text);
    check(
        Value::Vector3(Vector3::new(0.1, -0.0, f32::NAN)),
        r#"{"__t":"Vector3","x":0.1,"y":-0.0,"z":"nan"}"#,
    );
    check(Value::Ref(Some(wall())), r#"{"__t":"Ref","target":{"path":"game.Workspace.Wall[2]"}}"#);
    check(
        Value::Content(Content::Object(Some(wall()))),
        r#"{"__t":"Content","object":{"path":"game.Workspace.Wall[2]"}}"#,
    );
    check(
        Value::Attributes(BTreeMap::from([
            ("b".to_owned(), Value::Float64(1e21)),
            ("B".to_owned(), Value::Ref(Some(wall()))),
        ])),
        r#"{"__t":"Attributes","value":{"B":{"__t":"Ref","target":{"path":"game.Workspace.Wall[2]"}},"b":1e+21}}"#,
    );
    check(
        Value::PhysicalProperties(PhysicalProperties::Default),
        r#"{"__t":"PhysicalProperties","custom":false}"#,
    );
}

#[test]
fn plain_form_omits_types_implied_by_the_property() {
    let check = |value: Value, json: serde_json::Value| assert_eq!(value.to_plain(), json);
    check(Value::Float32(0.1), json!(0.1));
    check(Value::Float32(3.0), json!(3));
    check(Value::Float32(f32::NAN), json!({ "__t": "Float32", "value": "nan" }));
    check(Value::Float64(0.5), json!(0.5));
    check(Value::Int32(-1), json!(-1));
    check(Value::Int64(1 << 53), json!(9_007_199_254_740_992_i64));
    check(Value::Int64((1 << 53) + 1), json!("9007199254740993"));
    check(Value::ContentId("rbxassetid://1".to_owned()), json!("rbxassetid://1"));
    check(Value::Tags(vec!["Lamp".to_owned()]), json!(["Lamp"]));
    check(
        item(EnumName::Name("Neon".to_owned())),
        json!({ "__t": "EnumItem", "enum": "Material", "name": "Neon" }),
    );
    check(Value::Vector2(Vector2::new(1.0, 2.0)), json!({ "__t": "Vector2", "x": 1, "y": 2 }));
}

#[test]
fn long_texts_are_truncated_for_display() {
    let line = Value::String("é".repeat(61)).to_brief();
    assert_eq!(line, format!("\"{}…\"", "é".repeat(60)));
}

#[track_caller]
fn refuse(json: &str, said: &str) {
    let error = serde_json::from_str::<Value>(json).unwrap_err().to_string();
    assert!(error.starts_with(said), "{error}");
}

#[test]
fn invalid_values_are_refused_with_an_explanation() {
    refuse(
        "null",
        "a value must be true or false, a number, a string, or an object with `__t`, got null",
    );
    refuse("[0,1,0]", "a value must be true or false");
    refuse("{}", "an object must name its type in `__t`");
    refuse(r#"{"__t":3}"#, "`__t` must be the name of a type, got 3");
    refuse(r#"{"__t":"Vec3"}"#, "there is no type \"Vec3\"; the types are Attributes, Axes");
    refuse(r#"{"__t":"Bool","value":true}"#, "a Bool must be written as true or false");
    refuse(r#"{"__t":"String","value":""}"#, "a String must be written as a JSON string");
    refuse(r#"{"__t":"Vector3","x":0,"y":1}"#, "a Vector3 needs the field `z`");
    refuse(r#"{"__t":"Vector2","x":0,"y":1,"z":2}"#, "a Vector2 has no field `z`");
    refuse(
        r#"{"__t":"Vector2","x":0,"y":null}"#,
        "the field `y` of a Vector2 must be a number, \"inf\", \"-inf\" or \"nan\", got null",
    );
}

#[test]
fn wrong_fields_are_named_with_the_expected_form() {
    refuse(
        r#"{"__t":"Float32","value":1e39}"#,
        "the field `value` of a Float32 must be a number that fits into 32 bits, got 1e",
    );
    refuse(
        r#"{"__t":"Float64","value":1}"#,
        "the field `value` of a Float64 must be \"inf\", \"-inf\" or \"nan\" (a finite one",
    );
    refuse(
        r#"{"__t":"Int32","value":2147483648}"#,
        "the field `value` of an Int32 must be a whole number from -2147483648 to 2147483647, got",
    );
    refuse(
        r#"{"__t":"Int64","value":1}"#,
        "the field `value` of an Int64 must be a whole number of 64 bits, written as a string",
    );
    refuse(r#"{"__t":"Int64","value":"01"}"#, "the field `value` of an Int64");
    refuse(
        r#"{"__t":"NumberSequence","keypoints":[{"time":0,"value":0,"envelope":0},{"time":"x"}]}"#,
        "the field `keypoints[1].time` of a NumberSequence must be a number",
    );
    refuse(
        r#"{"__t":"UDim2","x":{"scale":0,"offset":0},"y":{"scale":0}}"#,
        "a UDim2 needs the field `y.offset`",
    );
    refuse(
        r#"{"__t":"CFrame","position":[0,0],"orientation":[]}"#,
        "the field `position` of a CFrame must be a list of 3 numbers, got [0,0]",
    );
    refuse(
        r#"{"__t":"BrickColor","name":"Red"}"#,
        "the field `name` of a BrickColor must be the name of a BrickColor",
    );
    refuse(
        r#"{"__t":"Faces","faces":["Up"]}"#,
        "the field `faces[0]` of a Faces must be one of Right, Top, Back, Left, Bottom, Front",
    );
    refuse(r#"{"__t":"Content","uri":"a","object":null}"#, "a Content has no field `object`");
    refuse(
        r#"{"__t":"Ref","target":{"id":"ref:1","path":"Workspace"}}"#,
        "the field `target` of a Ref must be null, or an instance's `id` and `path` (",
    );
    refuse(r#"{"__t":"Binary","base64":"*"}"#, "the field `base64` of a Binary must be bytes");
    refuse(
        r#"{"__t":"Attributes","value":{"a":{"__t":"UDim","scale":0}}}"#,
        "in the attribute `a`: a UDim needs the field `offset`",
    );
}

#[test]
fn values_round_trip_inside_a_command() {
    let mut props = BTreeMap::new();
    for (index, (value, ..)) in samples().into_iter().enumerate() {
        props.insert(format!("p{index}"), Some(value));
    }
    props.insert("gone".to_owned(), None);
    let command = Command::Set { target: wall(), props, expect: None };
    let text = serde_json::to_string(&command).unwrap();
    let read: Command = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
