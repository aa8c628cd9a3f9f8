//! The exact, the canonical and the plain form of a value.
//!
//! This module does not know how a form is parsed; the tests of the parent module check that the
//! two match.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rbx_types::{
    Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence, Faces, Font, FontStyle,
    MaterialColors, NumberSequence, PhysicalProperties, TerrainMaterials, UDim, UniqueId, Vector2,
    Vector3, Vector3int16,
};
use serde_json::{Map, Value as Json, json};

use super::brief::hex_color;
use super::number::{canonical_json, f32_number as f32n, f64_number};
use super::{Content, EnumItem, EnumName, Value};
use crate::command::Target;

/// From here on, a double cannot represent every whole number.
const SAFE: i64 = 1 << 53;

pub(super) const AXES: [(&str, Axes); 3] = [("X", Axes::X), ("Y", Axes::Y), ("Z", Axes::Z)];

pub(super) const FACES: [(&str, Faces); 6] = [
    ("Right", Faces::RIGHT),
    ("Top", Faces::TOP),
    ("Back", Faces::BACK),
    ("Left", Faces::LEFT),
    ("Bottom", Faces::BOTTOM),
    ("Front", Faces::FRONT),
];

pub(super) const MATERIALS: [TerrainMaterials; 21] = [
    TerrainMaterials::Grass,
    TerrainMaterials::Slate,
    TerrainMaterials::Concrete,
    TerrainMaterials::Brick,
    TerrainMaterials::Sand,
    TerrainMaterials::WoodPlanks,
    TerrainMaterials::Rock,
    TerrainMaterials::Glacier,
    TerrainMaterials::Snow,
    TerrainMaterials::Sandstone,
    TerrainMaterials::Mud,
    TerrainMaterials::Basalt,
    TerrainMaterials::Ground,
    TerrainMaterials::CrackedLava,
    TerrainMaterials::Asphalt,
    TerrainMaterials::Cobblestone,
    TerrainMaterials::Ice,
    TerrainMaterials::LeafyGrass,
    TerrainMaterials::Salt,
    TerrainMaterials::Limestone,
    TerrainMaterials::Pavement,
];

/// How references name an instance. Ids differ between targets, so they are left out where targets
/// must agree.
#[derive(Clone, Copy)]
enum InstanceNaming {
    IdAndPath,
    PathOnly,
}

impl Value {
    /// Returns the exact form, which reads back as the same value: booleans, strings and finite
    /// 64-bit floats as themselves, all others as `{"__t": type, ...}`.
    pub fn to_json(&self) -> Json {
        exact_json(self, InstanceNaming::IdAndPath)
    }

    /// Returns the text that fingerprints cover: the exact form without white space, with keys
    /// sorted by their bytes, one notation for each number, and instances by path alone.
    pub fn to_canonical(&self) -> String {
        canonical_json(&exact_json(self, InstanceNaming::PathOnly))
    }

    /// Returns the form for a model, where class and property already determine the type: numbers,
    /// asset addresses and lists of tags are plain JSON. Whole numbers that a double would round
    /// are strings. All other values have their exact form.
    pub fn to_plain(&self) -> Json {
        match self {
            Self::Float32(number) if number.is_finite() => f32n(*number),
            Self::Int32(number) => json!(number),
            Self::Int64(number) if (-SAFE..=SAFE).contains(number) => json!(number),
            Self::Int64(number) => json!(number.to_string()),
            Self::ContentId(uri) => json!(uri),
            Self::Tags(tags) => json!(tags),
            other => other.to_json(),
        }
    }
}

impl Value {
    /// Returns the form for a person who changes the value: lists of numbers, hexadecimal colors and
    /// names of enum items where they are exact, otherwise the plain form. Class and property
    /// determine the type, as they do where it is read.
    pub fn to_editable(&self) -> Json {
        match self {
            Self::Vector2(v) => json!([f32n(v.x), f32n(v.y)]),
            Self::Vector3(v) => json!([f32n(v.x), f32n(v.y), f32n(v.z)]),
            Self::Color3(color) if Color3::from(Color3uint8::from(*color)) == *color => {
                json!(hex_color(Color3uint8::from(*color)))
            }
            Self::Color3uint8(color) => json!(hex_color(*color)),
            Self::BrickColor(color) => json!(color.to_string()),
            Self::EnumItem(EnumItem { item: EnumName::Name(name), .. }) => json!(name),
            other => other.to_plain(),
        }
    }
}

fn exact_json(value: &Value, naming: InstanceNaming) -> Json {
    let fields = match value {
        Value::Bool(value) => return json!(value),
        Value::String(text) => return json!(text),
        Value::Float64(number) if number.is_finite() => return f64_number(*number),
        Value::Float64(number) => json!({ "value": f64_number(*number) }),
        Value::Float32(number) => json!({ "value": f32n(*number) }),
        Value::Int32(number) => json!({ "value": number }),
        Value::Int64(number) => json!({ "value": number.to_string() }),
        Value::SecurityCapabilities(bits) => json!({ "value": bits.to_string() }),
        Value::ContentId(uri) => json!({ "value": uri }),
        Value::Tags(tags) => json!({ "value": tags }),
        Value::Binary(bytes) | Value::NetAssetRef(bytes) | Value::SharedString(bytes) => {
            json!({ "base64": STANDARD.encode(bytes) })
        }
        Value::Ref(target) => json!({ "target": reference_json(target.as_ref(), naming) }),
        Value::Content(content) => content_fields(content, naming),
        Value::EnumItem(item) => enum_fields(item),
        Value::Attributes(values) => {
            let values: Map<String, Json> = values
                .iter()
                .map(|(name, value)| (name.clone(), exact_json(value, naming)))
                .collect();
            json!({ "value": values })
        }
        geometry_or_look => plain_data(geometry_or_look),
    };
    let mut typed = Map::new();
    typed.insert("__t".to_owned(), json!(value.type_name()));
    if let Json::Object(fields) = fields {
        typed.extend(fields);
    }
    Json::Object(typed)
}

/// Returns the fields of the types that hold only numbers and names.
fn plain_data(value: &Value) -> Json {
    match value {
        Value::Vector2(v) => json!({ "x": f32n(v.x), "y": f32n(v.y) }),
        Value::Vector2int16(v) => json!({ "x": v.x, "y": v.y }),
        Value::Vector3(v) => json!({ "x": f32n(v.x), "y": f32n(v.y), "z": f32n(v.z) }),
        Value::Vector3int16(v) => json!({ "x": v.x, "y": v.y, "z": v.z }),
        Value::CFrame(frame) | Value::OptionalCFrame(Some(frame)) => frame_fields(frame),
        Value::OptionalCFrame(None) => json!({ "value": null }),
        Value::Color3(c) => json!({ "r": f32n(c.r), "g": f32n(c.g), "b": f32n(c.b) }),
        Value::Color3uint8(c) => json!({ "r": c.r, "g": c.g, "b": c.b }),
        Value::BrickColor(color) => brick_color_json(*color),
        Value::UDim(udim) => udim_fields(*udim),
        Value::UDim2(v) => json!({ "x": udim_fields(v.x), "y": udim_fields(v.y) }),
        Value::Rect(rect) => {
            json!({ "min": vector2_json(rect.min), "max": vector2_json(rect.max) })
        }
        Value::Ray(ray) => {
            json!({ "origin": vector3_json(ray.origin), "direction": vector3_json(ray.direction) })
        }
        Value::Region3(region) => {
            json!({ "min": vector3_json(region.min), "max": vector3_json(region.max) })
        }
        Value::Region3int16(region) => {
            json!({ "min": int16s_json(region.min), "max": int16s_json(region.max) })
        }
        Value::NumberRange(range) => json!({ "min": f32n(range.min), "max": f32n(range.max) }),
        Value::NumberSequence(sequence) => number_keypoints(sequence),
        Value::ColorSequence(sequence) => color_keypoints(sequence),
        Value::Font(font) => font_fields(font),
        Value::Faces(faces) => json!({ "faces": set_names(&FACES, |face| faces.contains(face)) }),
        Value::Axes(axes) => json!({ "axes": set_names(&AXES, |axis| axes.contains(axis)) }),
        Value::PhysicalProperties(physical) => physical_fields(physical),
        Value::UniqueId(id) => unique_id_json(id),
        Value::MaterialColors(colors) => material_colors_json(colors),
        // The caller handles these types.
        Value::Bool(_)
        | Value::String(_)
        | Value::Float32(_)
        | Value::Float64(_)
        | Value::Int32(_)
        | Value::Int64(_)
        | Value::SecurityCapabilities(_)
        | Value::ContentId(_)
        | Value::Tags(_)
        | Value::Binary(_)
        | Value::NetAssetRef(_)
        | Value::SharedString(_)
        | Value::Ref(_)
        | Value::Content(_)
        | Value::EnumItem(_)
        | Value::Attributes(_) => Json::Null,
    }
}

fn reference_json(target: Option<&Target>, naming: InstanceNaming) -> Json {
    match (target, naming) {
        (None, _) => Json::Null,
        (Some(target), InstanceNaming::IdAndPath) => {
            json!({ "id": target.id, "path": target.path.to_string() })
        }
        (Some(target), InstanceNaming::PathOnly) => json!({ "path": target.path.to_string() }),
    }
}

fn content_fields(content: &Content, naming: InstanceNaming) -> Json {
    match content {
        Content::None => json!({}),
        Content::Uri(uri) => json!({ "uri": uri }),
        Content::Object(target) => json!({ "object": reference_json(target.as_ref(), naming) }),
    }
}

fn enum_fields(item: &EnumItem) -> Json {
    match &item.item {
        EnumName::Name(name) => json!({ "enum": item.enum_type, "name": name }),
        EnumName::Number(number) => json!({ "enum": item.enum_type, "value": number }),
    }
}

fn vector2_json(v: Vector2) -> Json {
    json!([f32n(v.x), f32n(v.y)])
}

fn vector3_json(v: Vector3) -> Json {
    json!([f32n(v.x), f32n(v.y), f32n(v.z)])
}

fn int16s_json(v: Vector3int16) -> Json {
    json!([v.x, v.y, v.z])
}

/// The orientation is nine numbers row by row, in the order in which `CFrame:GetComponents` returns
/// them after the position.
fn frame_fields(frame: &CFrame) -> Json {
    let rows = [frame.orientation.x, frame.orientation.y, frame.orientation.z];
    let orientation: Vec<Json> =
        rows.iter().flat_map(|row| [f32n(row.x), f32n(row.y), f32n(row.z)]).collect();
    json!({ "position": vector3_json(frame.position), "orientation": orientation })
}

/// Four names belong to two colours each; the second colour can only be written by its number.
fn brick_color_json(color: BrickColor) -> Json {
    let name = color.to_string();
    if BrickColor::from_name(&name) == Some(color) {
        json!({ "name": name })
    } else {
        json!({ "number": color as u16 })
    }
}

fn udim_fields(udim: UDim) -> Json {
    json!({ "scale": f32n(udim.scale), "offset": udim.offset })
}

fn number_keypoints(sequence: &NumberSequence) -> Json {
    let keypoints: Vec<Json> = sequence
        .keypoints
        .iter()
        .map(|point| {
            json!({
                "time": f32n(point.time),
                "value": f32n(point.value),
                "envelope": f32n(point.envelope),
            })
        })
        .collect();
    json!({ "keypoints": keypoints })
}

fn color_keypoints(sequence: &ColorSequence) -> Json {
    let color = |c: Color3| json!([f32n(c.r), f32n(c.g), f32n(c.b)]);
    let keypoints: Vec<Json> = sequence
        .keypoints
        .iter()
        .map(|point| json!({ "time": f32n(point.time), "color": color(point.color) }))
        .collect();
    json!({ "keypoints": keypoints })
}

fn font_fields(font: &Font) -> Json {
    let style = match font.style {
        FontStyle::Italic => "Italic",
        _ => "Normal",
    };
    let mut fields = json!({
        "family": font.family,
        "weight": font.weight.as_u16(),
        "style": style,
    });
    if let Some(id) = &font.cached_face_id {
        fields["cachedFaceId"] = json!(id);
    }
    fields
}

/// Returns the names of the members of the set, in Roblox's order.
pub(super) fn set_names<T: Copy>(
    all: &[(&'static str, T)],
    is_in: impl Fn(T) -> bool,
) -> Vec<&'static str> {
    all.iter().filter(|(_, one)| is_in(*one)).map(|(name, _)| *name).collect()
}

fn physical_fields(physical: &PhysicalProperties) -> Json {
    match physical {
        PhysicalProperties::Default => json!({ "custom": false }),
        PhysicalProperties::Custom(custom) => json!({
            "density": f32n(custom.density()),
            "friction": f32n(custom.friction()),
            "elasticity": f32n(custom.elasticity()),
            "frictionWeight": f32n(custom.friction_weight()),
            "elasticityWeight": f32n(custom.elasticity_weight()),
            "acousticAbsorption": f32n(custom.acoustic_absorption()),
        }),
    }
}

fn unique_id_json(id: &UniqueId) -> Json {
    json!({ "index": id.index(), "time": id.time(), "random": id.random().to_string() })
}

fn material_colors_json(colors: &MaterialColors) -> Json {
    let colors: Map<String, Json> = MATERIALS
        .iter()
        .map(|material| {
            let color = colors.get_color(*material);
            (format!("{material:?}"), json!([color.r, color.g, color.b]))
        })
        .collect();
    json!({ "colors": colors })
}
