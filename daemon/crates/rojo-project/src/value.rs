//! Values in project, meta and model files: either in full, or in the short form that the type of a
//! property allows.
//!
//! This module accepts exactly what Rojo accepts. A file that Vector understood and Rojo did not
//! would be worse than a diagnostic.

use rbx_reflection::DataType;
use rbx_types::{
    Attributes, CFrame, Color3, Content, ContentId, Enum, Font, MaterialColors, Matrix3, Tags,
    Variant, VariantType, Vector2, Vector3,
};
use serde::Deserialize;
use serde_json::Value as Json;
use vector_place::reflection;

/// Parses the value of a property.
///
/// # Errors
/// Returns the fault as the end of a sentence.
pub(super) fn parse_property(class: &str, name: &str, json: &Json) -> Result<Variant, String> {
    if let Ok(full) = Variant::deserialize(json) {
        return Ok(full);
    }
    let Some(ty) = reflection::declared_type(class, name) else {
        return Err(format!("Rojo does not know the property `{name}` of {class}"));
    };
    let wrong = |what: &str| Err(format!("`{name}` of {class} has to be {what}"));
    match ty {
        DataType::Enum(enum_name) => match json.as_str() {
            Some(item) => match reflection::enum_value(enum_name, item) {
                Ok(number) => Ok(Enum::from_u32(number).into()),
                Err(why) => Err(format!("`{name}` of {class}: {}", why.0.trim_end_matches('.'))),
            },
            None => wrong(&format!("the name of an item of the enum {enum_name}")),
        },
        DataType::Value(ty) => match parse_implicit(*ty, json) {
            Some(value) => Ok(value),
            None if *ty == VariantType::Ref => wrong(&format!(
                "set by an attribute `Rojo_Target_{name}`, whose value is the target's `Rojo_Id`"
            )),
            None => wrong(&format!("a value of the type {ty:?}")),
        },
        _ => wrong("of a type that Rojo knows"),
    }
}

/// Parses the value of an attribute. The short form exists only for booleans, numbers and strings,
/// because an attribute has no declared type.
///
/// # Errors
/// Returns the fault as the end of a sentence.
pub(super) fn parse_attribute(name: &str, json: &Json) -> Result<Variant, String> {
    if let Ok(full) = Variant::deserialize(json) {
        return Ok(full);
    }
    match json {
        Json::Bool(value) => Ok((*value).into()),
        Json::Number(value) => Ok(value.as_f64().unwrap_or_default().into()),
        Json::String(value) => Ok(value.as_str().into()),
        _ => Err(format!("the type of the attribute `{name}` cannot be told; write it in full")),
    }
}

fn parse_implicit(ty: VariantType, json: &Json) -> Option<Variant> {
    let number = || json.as_f64();
    let text = || json.as_str();
    Some(match ty {
        VariantType::Bool => json.as_bool()?.into(),
        VariantType::Float32 => (number()? as f32).into(),
        VariantType::Float64 => number()?.into(),
        VariantType::Int32 => (number()? as i32).into(),
        VariantType::Int64 => (number()? as i64).into(),
        VariantType::String => text()?.into(),
        VariantType::Content => Content::from(text()?).into(),
        VariantType::ContentId => ContentId::from(text()?).into(),
        VariantType::Tags => {
            let texts = json.as_array()?.iter().map(|tag| tag.as_str().map(str::to_owned));
            Tags::from(texts.collect::<Option<Vec<String>>>()?).into()
        }
        VariantType::Vector2 => {
            let [x, y] = parse_numbers(json)?;
            Vector2::new(x, y).into()
        }
        VariantType::Vector3 => to_vector(parse_numbers(json)?).into(),
        VariantType::Color3 => {
            let [r, g, b] = parse_numbers(json)?;
            Color3::new(r, g, b).into()
        }
        VariantType::CFrame => {
            let n: [f32; 12] = parse_numbers(json)?;
            let row = |at: usize| to_vector([n[at], n[at + 1], n[at + 2]]);
            CFrame::new(row(0), Matrix3::new(row(3), row(6), row(9))).into()
        }
        VariantType::Attributes => Attributes::deserialize(json).ok()?.into(),
        VariantType::Font => Font::deserialize(json).ok()?.into(),
        VariantType::MaterialColors => MaterialColors::deserialize(json).ok()?.into(),
        _ => return None,
    })
}

fn to_vector([x, y, z]: [f32; 3]) -> Vector3 {
    Vector3::new(x, y, z)
}

fn parse_numbers<const N: usize>(json: &Json) -> Option<[f32; N]> {
    let numbers = json.as_array()?.iter().map(|it| it.as_f64().map(|number| number as f32));
    numbers.collect::<Option<Vec<_>>>()?.try_into().ok()
}
