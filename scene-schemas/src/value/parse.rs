//! Parses the exact form of a value.
//!
//! Errors are sentences that name the type and the field. This module does not accept the short
//! forms that people write; code that knows the property's type translates them first.

use rbx_types::{
    Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence, ColorSequenceKeypoint,
    CustomPhysicalProperties, Faces, Font, FontStyle, FontWeight, MaterialColors, Matrix3,
    NumberRange, NumberSequence, NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Region3,
    Region3int16, UDim, UDim2, UniqueId, Vector2, Vector2int16, Vector3, Vector3int16,
};
use serde_json::{Map, Value as Json};

use super::fields::{
    FieldProblem, FieldResult, ObjectFields, ProblemKind, excerpt_json, read_array, read_byte,
    read_bytes, read_double, read_integer, read_integer_text, read_list, read_non_finite,
    read_single, read_text,
};
use super::print::{AXES, FACES, MATERIALS};
use super::{Content, EnumItem, EnumName, TYPE_NAMES, Value, ValueError};
use crate::command::Target;

impl Value {
    /// Parses the exact form, as [`Value::to_json`] writes it.
    ///
    /// # Errors
    ///
    /// Returns a sentence that names the type and the field that is missing, wrong or unknown.
    pub fn from_json(json: Json) -> Result<Self, ValueError> {
        match json {
            Json::Bool(value) => Ok(Self::Bool(value)),
            Json::String(text) => Ok(Self::String(text)),
            Json::Number(_) => read_double(json)
                .map(Self::Float64)
                .map_err(|problem| ValueError(problem.sentence("Float64"))),
            Json::Object(fields) => parse_typed(fields),
            Json::Null | Json::Array(_) => Err(ValueError(format!(
                "a value must be true or false, a number, a string, or an object with `__t`, got {}",
                excerpt_json(&json)
            ))),
        }
    }
}

fn parse_typed(mut fields: Map<String, Json>) -> Result<Value, ValueError> {
    let kind = match fields.remove("__t") {
        Some(Json::String(kind)) => kind,
        Some(other) => {
            return Err(ValueError(format!(
                "`__t` must be the name of a type, got {}",
                excerpt_json(&other)
            )));
        }
        None => {
            return Err(ValueError(
                "an object must name its type in `__t`, such as \"Vector3\"".to_owned(),
            ));
        }
    };
    if kind == "Attributes" {
        return parse_attributes(fields);
    }
    if !TYPE_NAMES.contains(&kind.as_str()) {
        return Err(ValueError(unknown_type_message(&kind)));
    }
    let mut fields = ObjectFields(fields);
    let value = read_fields(&kind, &mut fields);
    value
        .and_then(|value| fields.end_with(value))
        .map_err(|problem| ValueError(problem.sentence(&kind)))
}

fn unknown_type_message(kind: &str) -> String {
    match kind {
        "Bool" => "a Bool must be written as true or false, without `__t`".to_owned(),
        "String" => "a String must be written as a JSON string, without `__t`".to_owned(),
        _ => format!(
            "there is no type {}; the types are {}",
            excerpt_json(&Json::from(kind)),
            TYPE_NAMES.join(", ")
        ),
    }
}

/// Parsed apart from the other types, because the error for an attribute's value is already a
/// complete sentence.
fn parse_attributes(fields: Map<String, Json>) -> Result<Value, ValueError> {
    let mut fields = ObjectFields(fields);
    let values = fields.take_field("value", ObjectFields::from_json);
    let values = values
        .and_then(|values| fields.end_with(values))
        .map_err(|problem| ValueError(problem.sentence("Attributes")))?;
    let read = |(name, json): (String, Json)| match Value::from_json(json) {
        Ok(value) => Ok((name, value)),
        Err(error) => Err(ValueError(format!("in the attribute `{name}`: {error}"))),
    };
    values.0.into_iter().map(read).collect::<Result<_, _>>().map(Value::Attributes)
}

fn read_fields(kind: &str, f: &mut ObjectFields) -> FieldResult<Value> {
    Ok(match kind {
        "Axes" => Value::Axes(f.take_field("axes", parse_axes)?),
        "Binary" => Value::Binary(f.take_field("base64", read_bytes)?),
        "BrickColor" => Value::BrickColor(parse_brick_color(f)?),
        "CFrame" => Value::CFrame(parse_cframe(f)?),
        "Color3" => Value::Color3(parse_color(f)?),
        "Color3uint8" => Value::Color3uint8(Color3uint8::new(
            f.take_field("r", read_byte)?,
            f.take_field("g", read_byte)?,
            f.take_field("b", read_byte)?,
        )),
        "ColorSequence" => Value::ColorSequence(ColorSequence {
            keypoints: f.take_field("keypoints", |json| read_list(json, parse_color_keypoint))?,
        }),
        "Content" => Value::Content(parse_content(f)?),
        "ContentId" => Value::ContentId(f.take_field("value", read_text)?),
        "EnumItem" => Value::EnumItem(parse_enum_item(f)?),
        "Faces" => Value::Faces(f.take_field("faces", parse_faces)?),
        "Float32" => Value::Float32(f.take_field("value", read_single)?),
        "Float64" => Value::Float64(f.take_field("value", read_non_finite)?),
        "Font" => Value::Font(parse_font(f)?),
        "Int32" => Value::Int32(f.take_field("value", read_integer::<i32>)?),
        "Int64" => Value::Int64(f.take_field("value", read_integer_text::<i64>)?),
        "MaterialColors" => {
            Value::MaterialColors(Box::new(f.take_field("colors", parse_material_colors)?))
        }
        "NetAssetRef" => Value::NetAssetRef(f.take_field("base64", read_bytes)?),
        "NumberRange" => Value::NumberRange(NumberRange::new(
            f.take_field("min", read_single)?,
            f.take_field("max", read_single)?,
        )),
        "NumberSequence" => Value::NumberSequence(NumberSequence {
            keypoints: f.take_field("keypoints", |json| read_list(json, parse_number_keypoint))?,
        }),
        "OptionalCFrame" => Value::OptionalCFrame(parse_optional_frame(f)?),
        "PhysicalProperties" => Value::PhysicalProperties(parse_physical(f)?),
        "Ref" => Value::Ref(f.take_field("target", parse_target)?),
        "SecurityCapabilities" => {
            Value::SecurityCapabilities(f.take_field("value", read_integer_text::<u64>)?)
        }
        "SharedString" => Value::SharedString(f.take_field("base64", read_bytes)?),
        "Tags" => Value::Tags(f.take_field("value", |json| read_list(json, read_text))?),
        "UniqueId" => Value::UniqueId(UniqueId::new(
            f.take_field("index", read_integer::<u32>)?,
            f.take_field("time", read_integer::<u32>)?,
            f.take_field("random", read_integer_text::<i64>)?,
        )),
        _ => parse_geometry(kind, f)?,
    })
}

/// Parses the types that consist of a few numbers.
fn parse_geometry(kind: &str, f: &mut ObjectFields) -> FieldResult<Value> {
    Ok(match kind {
        "Ray" => Value::Ray(Ray::new(
            f.take_field("origin", parse_vector3)?,
            f.take_field("direction", parse_vector3)?,
        )),
        "Rect" => Value::Rect(Rect::new(
            f.take_field("min", parse_vector2)?,
            f.take_field("max", parse_vector2)?,
        )),
        "Region3" => Value::Region3(Region3::new(
            f.take_field("min", parse_vector3)?,
            f.take_field("max", parse_vector3)?,
        )),
        "Region3int16" => Value::Region3int16(Region3int16::new(
            f.take_field("min", parse_int16s)?,
            f.take_field("max", parse_int16s)?,
        )),
        "UDim" => Value::UDim(parse_udim(f)?),
        "UDim2" => Value::UDim2(UDim2::new(
            f.take_field("x", parse_udim_object)?,
            f.take_field("y", parse_udim_object)?,
        )),
        "Vector2" => Value::Vector2(Vector2::new(
            f.take_field("x", read_single)?,
            f.take_field("y", read_single)?,
        )),
        "Vector2int16" => Value::Vector2int16(Vector2int16::new(
            f.take_field("x", read_integer::<i16>)?,
            f.take_field("y", read_integer::<i16>)?,
        )),
        "Vector3" => Value::Vector3(Vector3::new(
            f.take_field("x", read_single)?,
            f.take_field("y", read_single)?,
            f.take_field("z", read_single)?,
        )),
        "Vector3int16" => Value::Vector3int16(Vector3int16::new(
            f.take_field("x", read_integer::<i16>)?,
            f.take_field("y", read_integer::<i16>)?,
            f.take_field("z", read_integer::<i16>)?,
        )),
        // `TYPE_NAMES` lists a type that has no reader here.
        _ => return Err(FieldProblem::at_field("__t", ProblemKind::Unknown)),
    })
}

fn parse_vector2(json: Json) -> FieldResult<Vector2> {
    read_array(json, read_single).map(|[x, y]| Vector2::new(x, y))
}

fn parse_vector3(json: Json) -> FieldResult<Vector3> {
    read_array(json, read_single).map(|[x, y, z]| Vector3::new(x, y, z))
}

fn parse_int16s(json: Json) -> FieldResult<Vector3int16> {
    read_array(json, read_integer::<i16>).map(|[x, y, z]| Vector3int16::new(x, y, z))
}

fn parse_cframe(f: &mut ObjectFields) -> FieldResult<CFrame> {
    let position = f.take_field("position", parse_vector3)?;
    let n: [f32; 9] = f.take_field("orientation", |json| read_array(json, read_single))?;
    let row = |first: usize| Vector3::new(n[first], n[first + 1], n[first + 2]);
    Ok(CFrame::new(position, Matrix3::new(row(0), row(3), row(6))))
}

fn parse_optional_frame(f: &mut ObjectFields) -> FieldResult<Option<CFrame>> {
    if !f.has_field("value") {
        return parse_cframe(f).map(Some);
    }
    f.take_field("value", |json| match json {
        Json::Null => Ok(None),
        other => FieldProblem::wrong_type("null where there is no position", &other),
    })
}

fn parse_color(f: &mut ObjectFields) -> FieldResult<Color3> {
    Ok(Color3::new(
        f.take_field("r", read_single)?,
        f.take_field("g", read_single)?,
        f.take_field("b", read_single)?,
    ))
}

fn parse_brick_color(f: &mut ObjectFields) -> FieldResult<BrickColor> {
    if f.has_field("number") {
        return f.take_field("number", |json| {
            match json
                .as_u64()
                .and_then(|n| u16::try_from(n).ok())
                .and_then(BrickColor::from_number)
            {
                Some(color) => Ok(color),
                None => FieldProblem::wrong_type("the number of a BrickColor", &json),
            }
        });
    }
    f.take_field("name", |json| match json.as_str().and_then(BrickColor::from_name) {
        Some(color) => Ok(color),
        None => FieldProblem::wrong_type("the name of a BrickColor, such as \"Bright red\"", &json),
    })
}

fn parse_udim(f: &mut ObjectFields) -> FieldResult<UDim> {
    Ok(UDim::new(f.take_field("scale", read_single)?, f.take_field("offset", read_integer::<i32>)?))
}

fn parse_udim_object(json: Json) -> FieldResult<UDim> {
    let mut fields = ObjectFields::from_json(json)?;
    let value = parse_udim(&mut fields)?;
    fields.end_with(value)
}

fn parse_number_keypoint(json: Json) -> FieldResult<NumberSequenceKeypoint> {
    let mut f = ObjectFields::from_json(json)?;
    let point = NumberSequenceKeypoint::new(
        f.take_field("time", read_single)?,
        f.take_field("value", read_single)?,
        f.take_field("envelope", read_single)?,
    );
    f.end_with(point)
}

fn parse_color_keypoint(json: Json) -> FieldResult<ColorSequenceKeypoint> {
    let mut f = ObjectFields::from_json(json)?;
    let time = f.take_field("time", read_single)?;
    let [r, g, b] = f.take_field("color", |json| read_array(json, read_single))?;
    f.end_with(ColorSequenceKeypoint::new(time, Color3::new(r, g, b)))
}

fn parse_target(json: Json) -> FieldResult<Option<Target>> {
    if json.is_null() {
        return Ok(None);
    }
    let shape = "null, or an instance's `id` and `path`";
    match serde_json::from_value::<Target>(json.clone()) {
        Ok(target) => Ok(Some(target)),
        Err(error) => FieldProblem::wrong_type(format_args!("{shape} ({error})"), &json),
    }
}

fn parse_content(f: &mut ObjectFields) -> FieldResult<Content> {
    if f.has_field("uri") {
        f.take_field("uri", read_text).map(Content::Uri)
    } else if f.has_field("object") {
        f.take_field("object", parse_target).map(Content::Object)
    } else {
        Ok(Content::None)
    }
}

fn parse_enum_item(f: &mut ObjectFields) -> FieldResult<EnumItem> {
    let enum_type = f.take_field("enum", read_text)?;
    let item = if f.has_field("value") {
        EnumName::Number(f.take_field("value", read_integer::<u32>)?)
    } else {
        EnumName::Name(f.take_field("name", read_text)?)
    };
    Ok(EnumItem { enum_type, item })
}

fn parse_font(f: &mut ObjectFields) -> FieldResult<Font> {
    let family = f.take_field("family", read_text)?;
    let weight = f.take_field("weight", |json| {
        match read_integer::<u16>(json.clone()).map(FontWeight::from_u16) {
            Ok(Some(weight)) => Ok(weight),
            _ => FieldProblem::wrong_type("a whole hundred from 100 to 900", &json),
        }
    })?;
    let style = f.take_field("style", |json| match json.as_str() {
        Some("Normal") => Ok(FontStyle::Normal),
        Some("Italic") => Ok(FontStyle::Italic),
        _ => FieldProblem::wrong_type("\"Normal\" or \"Italic\"", &json),
    })?;
    let mut font = Font::new(&family, weight, style);
    if f.has_field("cachedFaceId") {
        font.cached_face_id = Some(f.take_field("cachedFaceId", read_text)?);
    }
    Ok(font)
}

/// Returns the combined bits of the listed names.
fn parse_bits<T>(json: Json, all: &[(&str, T)], bits: impl Fn(&T) -> u8) -> FieldResult<u8> {
    let one = |json: Json| {
        let name = json.as_str().unwrap_or_default();
        if let Some((_, value)) = all.iter().find(|(known, _)| *known == name) {
            return Ok(bits(value));
        }
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        FieldProblem::wrong_type(format_args!("one of {}", known.join(", ")), &json)
    };
    Ok(read_list(json, one)?.into_iter().fold(0, |all, bit| all | bit))
}

fn parse_axes(json: Json) -> FieldResult<Axes> {
    Ok(Axes::from_bits(parse_bits(json, &AXES, |axis| axis.bits())?).unwrap_or(Axes::empty()))
}

fn parse_faces(json: Json) -> FieldResult<Faces> {
    Ok(Faces::from_bits(parse_bits(json, &FACES, |face| face.bits())?).unwrap_or(Faces::empty()))
}

fn parse_physical(f: &mut ObjectFields) -> FieldResult<PhysicalProperties> {
    if f.has_field("custom") {
        return f.take_field("custom", |json| match json {
            Json::Bool(false) => Ok(PhysicalProperties::Default),
            other => {
                FieldProblem::wrong_type("false (the fields say so where they are custom)", &other)
            }
        });
    }
    Ok(PhysicalProperties::Custom(CustomPhysicalProperties::new(
        f.take_field("density", read_single)?,
        f.take_field("friction", read_single)?,
        f.take_field("elasticity", read_single)?,
        f.take_field("frictionWeight", read_single)?,
        f.take_field("elasticityWeight", read_single)?,
        f.take_field("acousticAbsorption", read_single)?,
    )))
}

/// Sets every material, so that two maps with the same colours compare equal.
fn parse_material_colors(json: Json) -> FieldResult<MaterialColors> {
    let mut fields = ObjectFields::from_json(json)?;
    let mut colors = MaterialColors::new();
    for material in MATERIALS {
        let name = format!("{material:?}");
        let color = if fields.has_field(&name) {
            let [r, g, b] = fields.take_field(&name, |json| read_array(json, read_byte))?;
            Color3uint8::new(r, g, b)
        } else {
            material.default_color()
        };
        colors.set_color(material, color);
    }
    fields.end_with(colors)
}
