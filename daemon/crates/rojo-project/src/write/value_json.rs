//! Writing of values to project files: in the short form if the type of the property is
//! unambiguous, in full otherwise.
//!
//! Every written value is parsed again by the rules of the reader, and refused if the result
//! differs.

use rbx_reflection::DataType;
use rbx_types::{ContentType, Variant};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Number, Value as Json, json};
use vector_place::{reflection, stored_form};

use crate::value;

/// Returns a property value as JSON for project files.
///
/// # Errors
/// Fails if JSON cannot hold the value.
pub(super) fn property_json(class: &str, name: &str, variant: &Variant) -> Result<Json, Refusal> {
    if let Variant::Ref(_) = variant {
        return refuse!(
            "`{name}` refers to another instance, which this file can hold by the attributes \
             `Rojo_Id` and `Rojo_Target_{name}` alone; write them by hand."
        );
    }
    let wanted = stored_form(class, name, variant.clone());
    let is_read_back = |json: &Json| {
        value::parse_property(class, name, json)
            .is_ok_and(|read| stored_form(class, name, read) == wanted)
    };
    let full = || serde_json::to_value(variant).ok();
    let forms = [implicit_json(class, name, variant), full()];
    match forms.into_iter().flatten().find(is_read_back) {
        Some(json) => Ok(json),
        None => refuse!("The value of `{name}` cannot be written in a JSON file."),
    }
}

/// Returns an attribute value as JSON for project files.
///
/// # Errors
/// Fails if JSON cannot hold the value.
pub(super) fn attribute_json(name: &str, variant: &Variant) -> Result<Json, Refusal> {
    let text = match variant {
        Variant::BinaryString(bytes) => std::str::from_utf8(bytes.as_ref()).ok(),
        Variant::String(text) => Some(text.as_str()),
        _ => None,
    };
    let short = match (variant, text) {
        (_, Some(text)) => return Ok(text.into()),
        (Variant::Bool(value), _) => Some(Json::Bool(*value)),
        (Variant::Float64(value), _) => double_json(*value),
        _ => None,
    };
    let is_read_back =
        |json: &Json| value::parse_attribute(name, json).is_ok_and(|read| read == *variant);
    match [short, serde_json::to_value(variant).ok()].into_iter().flatten().find(is_read_back) {
        Some(json) => Ok(json),
        None => refuse!("The value of the attribute `{name}` cannot be written in a JSON file."),
    }
}

fn implicit_json(class: &str, name: &str, variant: &Variant) -> Option<Json> {
    Some(match variant {
        Variant::Bool(value) => json!(value),
        Variant::String(value) => json!(value),
        Variant::Float32(value) => float_json(*value)?,
        Variant::Float64(value) => double_json(*value)?,
        Variant::Int32(value) => json!(value),
        Variant::Int64(value) => json!(value),
        Variant::Enum(item) => {
            let Some(DataType::Enum(enum_name)) = reflection::declared_type(class, name) else {
                return None;
            };
            json!(reflection::enum_name(enum_name, item.to_u32())?)
        }
        Variant::Vector2(it) => numbers_json(&[it.x, it.y])?,
        Variant::Vector3(it) => numbers_json(&[it.x, it.y, it.z])?,
        Variant::Color3(it) => numbers_json(&[it.r, it.g, it.b])?,
        Variant::CFrame(it) => {
            let (at, rotation) = (it.position, it.orientation);
            let rows = [at, rotation.x, rotation.y, rotation.z];
            numbers_json(&rows.map(|row| [row.x, row.y, row.z]).concat())?
        }
        Variant::Tags(tags) => Json::Array(tags.iter().map(Json::from).collect()),
        Variant::Content(content) => match content.value() {
            ContentType::Uri(uri) => json!(uri),
            ContentType::None => json!(""),
            _ => return None,
        },
        Variant::ContentId(id) => json!(id.as_str()),
        _ => return None,
    })
}

/// Writes as few digits as identify the number among the values of its type.
fn float_json(value: f32) -> Option<Json> {
    if value.fract() == 0.0 && value.abs() < 1e9 && value.to_bits() != (-0.0_f32).to_bits() {
        return Some(json!(value as i64));
    }
    let shortest: f64 = value.to_string().parse().ok()?;
    Number::from_f64(shortest).map(Json::Number)
}

fn double_json(value: f64) -> Option<Json> {
    // Integers below this limit are exact.
    if value.fract() == 0.0 && value.abs() < 9e15 && value.to_bits() != (-0.0_f64).to_bits() {
        return Some(json!(value as i64));
    }
    Number::from_f64(value).map(Json::Number)
}

fn numbers_json(values: &[f32]) -> Option<Json> {
    values.iter().map(|value| float_json(*value)).collect::<Option<Vec<Json>>>().map(Json::Array)
}

#[cfg(test)]
mod tests {
    use rbx_types::{BrickColor, Color3, Enum, UDim, UDim2, Vector3};

    use super::*;

    fn check(class: &str, name: &str, variant: impl Into<Variant>, expected: &str) {
        let json = property_json(class, name, &variant.into()).unwrap();
        assert_eq!(json.to_string(), expected, "{class}.{name}");
    }

    #[test]
    fn values_are_written_in_the_shortest_readable_form() {
        check("Part", "Anchored", true, "true");
        check("Part", "Transparency", 0.1_f32, "0.1");
        check("Part", "Size", Vector3::new(4.0, 0.5, 2.0), "[4,0.5,2]");
        check("PointLight", "Color", Color3::new(1.0, 0.0, 0.25), "[1,0,0.25]");
        check("Part", "Material", Enum::from_u32(288), r#""Neon""#);
        check(
            "Frame",
            "Size",
            UDim2::new(UDim::new(1.0, 0), UDim::new(0.0, 5)),
            r#"{"UDim2":[[1.0,0],[0.0,5]]}"#,
        );
        check("BrickColorValue", "Value", BrickColor::White, r#"{"BrickColor":1}"#);
    }

    #[test]
    fn values_without_a_json_form_are_refused() {
        assert!(property_json("Part", "Transparency", &f32::NAN.into()).is_err());
        assert!(property_json("ObjectValue", "Value", &rbx_types::Ref::none().into()).is_err());
    }

    #[test]
    fn attributes_of_unambiguous_type_use_the_short_form() {
        assert_eq!(attribute_json("A", &5.0_f64.into()).unwrap().to_string(), "5");
        assert_eq!(attribute_json("A", &"x".into()).unwrap().to_string(), r#""x""#);
        let full = attribute_json("A", &Vector3::new(1.0, 2.0, 3.0).into()).unwrap().to_string();
        assert_eq!(full, r#"{"Vector3":[1.0,2.0,3.0]}"#);
    }
}
