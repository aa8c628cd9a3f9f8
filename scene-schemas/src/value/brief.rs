//! A value as one short line, for a person who reads a card.
//!
//! The line is for display only: it is never parsed, and it may omit detail.

use rbx_types::{
    CFrame, Color3, Color3uint8, ColorSequence, Font, FontStyle, FontWeight, Matrix3,
    NumberSequence, PhysicalProperties, UDim, Vector2, Vector3, Vector3int16,
};

use super::number::{canonical_json, f32_number, f64_number};
use super::print::{AXES, FACES, set_names};
use super::{Content, EnumItem, EnumName, Value};
use crate::command::Target;

/// Texts are cut after this many characters.
const LONGEST: usize = 60;

impl Value {
    /// Returns one short line for display: `0, 1, 0`, `Neon`, `"text"`, `#ff8800`, `12 bytes`.
    pub fn to_brief(&self) -> String {
        match self {
            Self::Attributes(values) => count_noun(values.len(), "attribute"),
            Self::Axes(axes) => join_items(&set_names(&AXES, |axis| axes.contains(axis))),
            Self::Binary(bytes) | Self::NetAssetRef(bytes) | Self::SharedString(bytes) => {
                count_noun(bytes.len(), "byte")
            }
            Self::Bool(value) => value.to_string(),
            Self::BrickColor(color) => color.to_string(),
            Self::CFrame(frame) | Self::OptionalCFrame(Some(frame)) => frame_line(frame),
            Self::OptionalCFrame(None) | Self::Content(Content::None) => "nothing".to_owned(),
            Self::Color3(color) => color_line(*color),
            Self::Color3uint8(color) => hex_color(*color),
            Self::ColorSequence(sequence) => color_sequence_line(sequence),
            Self::Content(Content::Uri(uri)) | Self::ContentId(uri) => short_uri(uri),
            Self::Content(Content::Object(target)) | Self::Ref(target) => {
                instance_name(target.as_ref())
            }
            Self::EnumItem(item) => enum_line(item),
            Self::Faces(faces) => join_items(&set_names(&FACES, |face| faces.contains(face))),
            Self::Float32(number) => format_single(*number),
            Self::Float64(number) => without_quotes(canonical_json(&f64_number(*number))),
            Self::Font(font) => font_line(font),
            Self::Int32(number) => number.to_string(),
            Self::Int64(number) => number.to_string(),
            Self::MaterialColors(_) => "colours of the terrain's materials".to_owned(),
            Self::NumberRange(range) => {
                format!("{} to {}", format_single(range.min), format_single(range.max))
            }
            Self::NumberSequence(sequence) => number_sequence_line(sequence),
            Self::PhysicalProperties(physical) => physical_line(physical),
            Self::Ray(ray) => format!(
                "from {} along {}",
                format_vector3(ray.origin),
                format_vector3(ray.direction)
            ),
            Self::Rect(rect) => {
                format!("{} to {}", format_vector2(rect.min), format_vector2(rect.max))
            }
            Self::Region3(region) => {
                format!("{} to {}", format_vector3(region.min), format_vector3(region.max))
            }
            Self::Region3int16(region) => {
                format!("{} to {}", format_int16s(region.min), format_int16s(region.max))
            }
            Self::SecurityCapabilities(bits) => format!("capabilities {bits:#x}"),
            Self::String(text) => format!("\"{}\"", cut_line(text)),
            Self::Tags(tags) => join_items(tags),
            Self::UDim(udim) => udim_line(*udim),
            Self::UDim2(v) => format!("{{{}}}, {{{}}}", udim_line(v.x), udim_line(v.y)),
            Self::UniqueId(id) => id.to_string(),
            Self::Vector2(v) => format_vector2(*v),
            Self::Vector2int16(v) => format!("{}, {}", v.x, v.y),
            Self::Vector3(v) => format_vector3(*v),
            Self::Vector3int16(v) => format_int16s(*v),
        }
    }
}

fn format_single(number: f32) -> String {
    without_quotes(canonical_json(&f32_number(number)))
}

fn without_quotes(text: String) -> String {
    text.trim_matches('"').to_owned()
}

fn format_vector2(v: Vector2) -> String {
    format!("{}, {}", format_single(v.x), format_single(v.y))
}

fn format_vector3(v: Vector3) -> String {
    format!("{}, {}, {}", format_single(v.x), format_single(v.y), format_single(v.z))
}

fn format_int16s(v: Vector3int16) -> String {
    format!("{}, {}, {}", v.x, v.y, v.z)
}

fn udim_line(udim: UDim) -> String {
    format!("{}, {}", format_single(udim.scale), udim.offset)
}

fn count_noun(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

fn join_items<T: AsRef<str>>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    cut_line(&items.join(", "))
}

/// Replaces line breaks and control characters, and cuts the text to [`LONGEST`] characters.
fn cut_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(LONGEST)
        .map(|c| match c {
            '\n' => '\u{23ce}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

fn frame_line(frame: &CFrame) -> String {
    let rotated = if frame.orientation == Matrix3::identity() { "" } else { ", rotated" };
    format!("{}{rotated}", format_vector3(frame.position))
}

pub(super) fn hex_color(color: Color3uint8) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

/// A light's colour may be brighter than white, which `#rrggbb` cannot express.
fn color_line(color: Color3) -> String {
    let parts = [color.r, color.g, color.b];
    if parts.iter().all(|part| (0.0..=1.0).contains(part)) {
        hex_color(Color3uint8::from(color))
    } else {
        parts.map(format_single).join(", ")
    }
}

fn color_sequence_line(sequence: &ColorSequence) -> String {
    match sequence.keypoints.as_slice() {
        [first, last] if first.color == last.color => color_line(first.color),
        [first, last] => format!("{} to {}", color_line(first.color), color_line(last.color)),
        points => count_noun(points.len(), "colour"),
    }
}

fn number_sequence_line(sequence: &NumberSequence) -> String {
    match sequence.keypoints.as_slice() {
        [first, last] if first.value == last.value => format_single(first.value),
        [first, last] => format!("{} to {}", format_single(first.value), format_single(last.value)),
        points => count_noun(points.len(), "keypoint"),
    }
}

fn short_uri(uri: &str) -> String {
    if uri.is_empty() { "nothing".to_owned() } else { cut_line(uri) }
}

fn instance_name(target: Option<&Target>) -> String {
    target.map_or_else(|| "nothing".to_owned(), |target| cut_line(&target.path.to_string()))
}

fn enum_line(item: &EnumItem) -> String {
    match &item.item {
        EnumName::Name(name) => cut_line(name),
        EnumName::Number(number) => format!("{} {number}", cut_line(&item.enum_type)),
    }
}

fn font_line(font: &Font) -> String {
    let file = font.family.rsplit('/').next().unwrap_or_default();
    let family = cut_line(file.strip_suffix(".json").unwrap_or(file));
    let weight = match font.weight {
        FontWeight::Regular => String::new(),
        weight => format!(" {weight:?}"),
    };
    let style = match font.style {
        FontStyle::Italic => " Italic",
        _ => "",
    };
    format!("{family}{weight}{style}")
}

fn physical_line(physical: &PhysicalProperties) -> String {
    match physical {
        PhysicalProperties::Default => "default".to_owned(),
        PhysicalProperties::Custom(custom) => format!(
            "density {}, friction {}, elasticity {}",
            format_single(custom.density()),
            format_single(custom.friction()),
            format_single(custom.elasticity())
        ),
    }
}
