//! Reads the exact form of a value back, and nothing else.
//!
//! What is wrong is said in a sentence that names the type and the field. The short forms that
//! people write are not known here: whoever knows the property's type translates them first.

use rbx_types::{
    Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence, ColorSequenceKeypoint,
    CustomPhysicalProperties, Faces, Font, FontStyle, FontWeight, MaterialColors, Matrix3,
    NumberRange, NumberSequence, NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Region3,
    Region3int16, UDim, UDim2, UniqueId, Vector2, Vector2int16, Vector3, Vector3int16,
};
use serde_json::{Map, Value as Json};

use super::fields::{
    Fields, Problem, Read, What, array, byte, bytes, float, list, not_finite, shown, single, text,
    whole, whole_text,
};
use super::print::{AXES, FACES, MATERIALS};
use super::{Content, EnumItem, EnumName, TYPE_NAMES, Value, ValueError};
use crate::command::Target;

impl Value {
    /// Reads the exact form, as [`Value::to_json`] writes it.
    ///
    /// # Errors
    ///
    /// A sentence that names the type and the field that is missing, wrong or unknown.
    pub fn from_json(json: Json) -> Result<Self, ValueError> {
        match json {
            Json::Bool(value) => Ok(Self::Bool(value)),
            Json::String(text) => Ok(Self::String(text)),
            Json::Number(_) => float(json)
                .map(Self::Float64)
                .map_err(|problem| ValueError(problem.sentence("Float64"))),
            Json::Object(fields) => typed(fields),
            Json::Null | Json::Array(_) => Err(ValueError(format!(
                "a value is true or false, a number, a text, or an object with `__t`, got {}",
                shown(&json)
            ))),
        }
    }
}

fn typed(mut fields: Map<String, Json>) -> Result<Value, ValueError> {
    let kind = match fields.remove("__t") {
        Some(Json::String(kind)) => kind,
        Some(other) => {
            return Err(ValueError(format!(
                "`__t` must be the name of a type, got {}",
                shown(&other)
            )));
        }
        None => {
            return Err(ValueError(
                "an object must name its type in `__t`, such as \"Vector3\"".to_owned(),
            ));
        }
    };
    if kind == "Attributes" {
        return attributes(fields);
    }
    if !TYPE_NAMES.contains(&kind.as_str()) {
        return Err(ValueError(no_type(&kind)));
    }
    let mut fields = Fields(fields);
    let value = read_fields(&kind, &mut fields);
    value.and_then(|value| fields.end(value)).map_err(|problem| ValueError(problem.sentence(&kind)))
}

fn no_type(kind: &str) -> String {
    match kind {
        "Bool" => "a Bool is written as true or false, without `__t`".to_owned(),
        "String" => "a String is written as a JSON string, without `__t`".to_owned(),
        _ => format!(
            "there is no type {}; the types are {}",
            shown(&Json::from(kind)),
            TYPE_NAMES.join(", ")
        ),
    }
}

/// Read apart from the others, because the problem of an attribute is a sentence of its own.
fn attributes(fields: Map<String, Json>) -> Result<Value, ValueError> {
    let mut fields = Fields(fields);
    let values = fields.take("value", Fields::of);
    let values = values
        .and_then(|values| fields.end(values))
        .map_err(|problem| ValueError(problem.sentence("Attributes")))?;
    let read = |(name, json): (String, Json)| match Value::from_json(json) {
        Ok(value) => Ok((name, value)),
        Err(error) => Err(ValueError(format!("in the attribute `{name}`: {error}"))),
    };
    values.0.into_iter().map(read).collect::<Result<_, _>>().map(Value::Attributes)
}

fn read_fields(kind: &str, f: &mut Fields) -> Read<Value> {
    Ok(match kind {
        "Axes" => Value::Axes(f.take("axes", axes)?),
        "Binary" => Value::Binary(f.take("base64", bytes)?),
        "BrickColor" => Value::BrickColor(brick_color(f)?),
        "CFrame" => Value::CFrame(frame(f)?),
        "Color3" => Value::Color3(color(f)?),
        "Color3uint8" => Value::Color3uint8(Color3uint8::new(
            f.take("r", byte)?,
            f.take("g", byte)?,
            f.take("b", byte)?,
        )),
        "ColorSequence" => Value::ColorSequence(ColorSequence {
            keypoints: f.take("keypoints", |json| list(json, color_keypoint))?,
        }),
        "Content" => Value::Content(content(f)?),
        "ContentId" => Value::ContentId(f.take("value", text)?),
        "EnumItem" => Value::EnumItem(enum_item(f)?),
        "Faces" => Value::Faces(f.take("faces", faces)?),
        "Float32" => Value::Float32(f.take("value", single)?),
        "Float64" => Value::Float64(f.take("value", not_finite)?),
        "Font" => Value::Font(font(f)?),
        "Int32" => Value::Int32(f.take("value", whole::<i32>)?),
        "Int64" => Value::Int64(f.take("value", whole_text::<i64>)?),
        "MaterialColors" => Value::MaterialColors(Box::new(f.take("colors", material_colors)?)),
        "NetAssetRef" => Value::NetAssetRef(f.take("base64", bytes)?),
        "NumberRange" => {
            Value::NumberRange(NumberRange::new(f.take("min", single)?, f.take("max", single)?))
        }
        "NumberSequence" => Value::NumberSequence(NumberSequence {
            keypoints: f.take("keypoints", |json| list(json, number_keypoint))?,
        }),
        "OptionalCFrame" => Value::OptionalCFrame(optional_frame(f)?),
        "PhysicalProperties" => Value::PhysicalProperties(physical(f)?),
        "Ref" => Value::Ref(f.take("target", target)?),
        "SecurityCapabilities" => Value::SecurityCapabilities(f.take("value", whole_text::<u64>)?),
        "SharedString" => Value::SharedString(f.take("base64", bytes)?),
        "Tags" => Value::Tags(f.take("value", |json| list(json, text))?),
        "UniqueId" => Value::UniqueId(UniqueId::new(
            f.take("index", whole::<u32>)?,
            f.take("time", whole::<u32>)?,
            f.take("random", whole_text::<i64>)?,
        )),
        _ => geometry(kind, f)?,
    })
}

/// The types that are made of a few numbers.
fn geometry(kind: &str, f: &mut Fields) -> Read<Value> {
    Ok(match kind {
        "Ray" => Value::Ray(Ray::new(f.take("origin", triple)?, f.take("direction", triple)?)),
        "Rect" => Value::Rect(Rect::new(f.take("min", pair)?, f.take("max", pair)?)),
        "Region3" => Value::Region3(Region3::new(f.take("min", triple)?, f.take("max", triple)?)),
        "Region3int16" => Value::Region3int16(Region3int16::new(
            f.take("min", whole_triple)?,
            f.take("max", whole_triple)?,
        )),
        "UDim" => Value::UDim(udim(f)?),
        "UDim2" => Value::UDim2(UDim2::new(f.take("x", udim_of)?, f.take("y", udim_of)?)),
        "Vector2" => Value::Vector2(Vector2::new(f.take("x", single)?, f.take("y", single)?)),
        "Vector2int16" => Value::Vector2int16(Vector2int16::new(
            f.take("x", whole::<i16>)?,
            f.take("y", whole::<i16>)?,
        )),
        "Vector3" => Value::Vector3(Vector3::new(
            f.take("x", single)?,
            f.take("y", single)?,
            f.take("z", single)?,
        )),
        "Vector3int16" => Value::Vector3int16(Vector3int16::new(
            f.take("x", whole::<i16>)?,
            f.take("y", whole::<i16>)?,
            f.take("z", whole::<i16>)?,
        )),
        // The list of types and these readers have come apart.
        _ => return Err(Problem::at("__t", What::Unknown)),
    })
}

fn pair(json: Json) -> Read<Vector2> {
    array(json, single).map(|[x, y]| Vector2::new(x, y))
}

fn triple(json: Json) -> Read<Vector3> {
    array(json, single).map(|[x, y, z]| Vector3::new(x, y, z))
}

fn whole_triple(json: Json) -> Read<Vector3int16> {
    array(json, whole::<i16>).map(|[x, y, z]| Vector3int16::new(x, y, z))
}

fn frame(f: &mut Fields) -> Read<CFrame> {
    let position = f.take("position", triple)?;
    let n: [f32; 9] = f.take("orientation", |json| array(json, single))?;
    let row = |first: usize| Vector3::new(n[first], n[first + 1], n[first + 2]);
    Ok(CFrame::new(position, Matrix3::new(row(0), row(3), row(6))))
}

fn optional_frame(f: &mut Fields) -> Read<Option<CFrame>> {
    if !f.has("value") {
        return frame(f).map(Some);
    }
    f.take("value", |json| match json {
        Json::Null => Ok(None),
        other => Problem::wrong("null where there is no position", &other),
    })
}

fn color(f: &mut Fields) -> Read<Color3> {
    Ok(Color3::new(f.take("r", single)?, f.take("g", single)?, f.take("b", single)?))
}

fn brick_color(f: &mut Fields) -> Read<BrickColor> {
    if f.has("number") {
        return f.take("number", |json| {
            match json
                .as_u64()
                .and_then(|n| u16::try_from(n).ok())
                .and_then(BrickColor::from_number)
            {
                Some(color) => Ok(color),
                None => Problem::wrong("the number of a BrickColor", &json),
            }
        });
    }
    f.take("name", |json| match json.as_str().and_then(BrickColor::from_name) {
        Some(color) => Ok(color),
        None => Problem::wrong("the name of a BrickColor, such as \"Bright red\"", &json),
    })
}

fn udim(f: &mut Fields) -> Read<UDim> {
    Ok(UDim::new(f.take("scale", single)?, f.take("offset", whole::<i32>)?))
}

fn udim_of(json: Json) -> Read<UDim> {
    let mut fields = Fields::of(json)?;
    let value = udim(&mut fields)?;
    fields.end(value)
}

fn number_keypoint(json: Json) -> Read<NumberSequenceKeypoint> {
    let mut f = Fields::of(json)?;
    let point = NumberSequenceKeypoint::new(
        f.take("time", single)?,
        f.take("value", single)?,
        f.take("envelope", single)?,
    );
    f.end(point)
}

fn color_keypoint(json: Json) -> Read<ColorSequenceKeypoint> {
    let mut f = Fields::of(json)?;
    let time = f.take("time", single)?;
    let [r, g, b] = f.take("color", |json| array(json, single))?;
    f.end(ColorSequenceKeypoint::new(time, Color3::new(r, g, b)))
}

fn target(json: Json) -> Read<Option<Target>> {
    if json.is_null() {
        return Ok(None);
    }
    let shape = "null, or an instance's `id` and `path`";
    match serde_json::from_value::<Target>(json.clone()) {
        Ok(target) => Ok(Some(target)),
        Err(error) => Problem::wrong(format_args!("{shape} ({error})"), &json),
    }
}

fn content(f: &mut Fields) -> Read<Content> {
    if f.has("uri") {
        f.take("uri", text).map(Content::Uri)
    } else if f.has("object") {
        f.take("object", target).map(Content::Object)
    } else {
        Ok(Content::None)
    }
}

fn enum_item(f: &mut Fields) -> Read<EnumItem> {
    let enum_type = f.take("enum", text)?;
    let item = if f.has("value") {
        EnumName::Number(f.take("value", whole::<u32>)?)
    } else {
        EnumName::Name(f.take("name", text)?)
    };
    Ok(EnumItem { enum_type, item })
}

fn font(f: &mut Fields) -> Read<Font> {
    let family = f.take("family", text)?;
    let weight =
        f.take("weight", |json| match whole::<u16>(json.clone()).map(FontWeight::from_u16) {
            Ok(Some(weight)) => Ok(weight),
            _ => Problem::wrong("a whole hundred from 100 to 900", &json),
        })?;
    let style = f.take("style", |json| match json.as_str() {
        Some("Normal") => Ok(FontStyle::Normal),
        Some("Italic") => Ok(FontStyle::Italic),
        _ => Problem::wrong("\"Normal\" or \"Italic\"", &json),
    })?;
    let mut font = Font::new(&family, weight, style);
    if f.has("cachedFaceId") {
        font.cached_face_id = Some(f.take("cachedFaceId", text)?);
    }
    Ok(font)
}

/// The bits of those that are named.
fn bits<T>(json: Json, all: &[(&str, T)], bits: impl Fn(&T) -> u8) -> Read<u8> {
    let one = |json: Json| {
        let name = json.as_str().unwrap_or_default();
        if let Some((_, value)) = all.iter().find(|(known, _)| *known == name) {
            return Ok(bits(value));
        }
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        Problem::wrong(format_args!("one of {}", known.join(", ")), &json)
    };
    Ok(list(json, one)?.into_iter().fold(0, |all, bit| all | bit))
}

fn axes(json: Json) -> Read<Axes> {
    Ok(Axes::from_bits(bits(json, &AXES, |axis| axis.bits())?).unwrap_or(Axes::empty()))
}

fn faces(json: Json) -> Read<Faces> {
    Ok(Faces::from_bits(bits(json, &FACES, |face| face.bits())?).unwrap_or(Faces::empty()))
}

fn physical(f: &mut Fields) -> Read<PhysicalProperties> {
    if f.has("custom") {
        return f.take("custom", |json| match json {
            Json::Bool(false) => Ok(PhysicalProperties::Default),
            other => Problem::wrong("false (the fields say so where they are custom)", &other),
        });
    }
    Ok(PhysicalProperties::Custom(CustomPhysicalProperties::new(
        f.take("density", single)?,
        f.take("friction", single)?,
        f.take("elasticity", single)?,
        f.take("frictionWeight", single)?,
        f.take("elasticityWeight", single)?,
        f.take("acousticAbsorption", single)?,
    )))
}

/// All materials are set afterwards, so that two maps that look alike are equal.
fn material_colors(json: Json) -> Read<MaterialColors> {
    let mut fields = Fields::of(json)?;
    let mut colors = MaterialColors::new();
    for material in MATERIALS {
        let name = format!("{material:?}");
        let color = if fields.has(&name) {
            let [r, g, b] = fields.take(&name, |json| array(json, byte))?;
            Color3uint8::new(r, g, b)
        } else {
            material.default_color()
        };
        colors.set_color(material, color);
    }
    fields.end(colors)
}
