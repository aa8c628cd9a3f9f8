//! A value in one short line, for a person who reads a card.
//!
//! It is for the eye alone: nothing reads it back, and it may leave out what a person does not miss.

use rbx_types::{
    CFrame, Color3, Color3uint8, ColorSequence, Font, FontStyle, FontWeight, Matrix3,
    NumberSequence, PhysicalProperties, UDim, Vector2, Vector3, Vector3int16,
};

use super::number::{canonical_json, f32_number, f64_number};
use super::print::{AXES, FACES, names};
use super::{Content, EnumItem, EnumName, Value};
use crate::command::Target;

/// Texts longer than this many characters are cut.
const LONGEST: usize = 60;

impl Value {
    /// One short line for a person: `0, 1, 0`, `Neon`, `"text"`, `#ff8800`, `12 bytes`.
    pub fn brief(&self) -> String {
        match self {
            Self::Attributes(values) => count(values.len(), "attribute"),
            Self::Axes(axes) => listed(&names(&AXES, |axis| axes.contains(axis))),
            Self::Binary(bytes) | Self::NetAssetRef(bytes) | Self::SharedString(bytes) => {
                count(bytes.len(), "byte")
            }
            Self::Bool(value) => value.to_string(),
            Self::BrickColor(color) => color.to_string(),
            Self::CFrame(frame) | Self::OptionalCFrame(Some(frame)) => frame_line(frame),
            Self::OptionalCFrame(None) | Self::Content(Content::None) => "nothing".to_owned(),
            Self::Color3(color) => color_line(*color),
            Self::Color3uint8(color) => hex(*color),
            Self::ColorSequence(sequence) => color_sequence(sequence),
            Self::Content(Content::Uri(uri)) | Self::ContentId(uri) => address(uri),
            Self::Content(Content::Object(target)) | Self::Ref(target) => instance(target.as_ref()),
            Self::EnumItem(item) => enum_line(item),
            Self::Faces(faces) => listed(&names(&FACES, |face| faces.contains(face))),
            Self::Float32(number) => single(*number),
            Self::Float64(number) => unquoted(canonical_json(&f64_number(*number))),
            Self::Font(font) => font_line(font),
            Self::Int32(number) => number.to_string(),
            Self::Int64(number) => number.to_string(),
            Self::MaterialColors(_) => "colours of the terrain's materials".to_owned(),
            Self::NumberRange(range) => format!("{} to {}", single(range.min), single(range.max)),
            Self::NumberSequence(sequence) => number_sequence(sequence),
            Self::PhysicalProperties(physical) => physical_line(physical),
            Self::Ray(ray) => format!("from {} along {}", three(ray.origin), three(ray.direction)),
            Self::Rect(rect) => format!("{} to {}", two(rect.min), two(rect.max)),
            Self::Region3(region) => format!("{} to {}", three(region.min), three(region.max)),
            Self::Region3int16(region) => {
                format!("{} to {}", whole(region.min), whole(region.max))
            }
            Self::SecurityCapabilities(bits) => format!("capabilities {bits:#x}"),
            Self::String(text) => format!("\"{}\"", cut(text)),
            Self::Tags(tags) => listed(tags),
            Self::UDim(udim) => udim_line(*udim),
            Self::UDim2(v) => format!("{{{}}}, {{{}}}", udim_line(v.x), udim_line(v.y)),
            Self::UniqueId(id) => id.to_string(),
            Self::Vector2(v) => two(*v),
            Self::Vector2int16(v) => format!("{}, {}", v.x, v.y),
            Self::Vector3(v) => three(*v),
            Self::Vector3int16(v) => whole(*v),
        }
    }
}

fn single(number: f32) -> String {
    unquoted(canonical_json(&f32_number(number)))
}

fn unquoted(text: String) -> String {
    text.trim_matches('"').to_owned()
}

fn two(v: Vector2) -> String {
    format!("{}, {}", single(v.x), single(v.y))
}

fn three(v: Vector3) -> String {
    format!("{}, {}, {}", single(v.x), single(v.y), single(v.z))
}

fn whole(v: Vector3int16) -> String {
    format!("{}, {}, {}", v.x, v.y, v.z)
}

fn udim_line(udim: UDim) -> String {
    format!("{}, {}", single(udim.scale), udim.offset)
}

fn count(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

fn listed<T: AsRef<str>>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    cut(&items.join(", "))
}

/// On one line, whatever stands in it.
fn cut(text: &str) -> String {
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
    format!("{}{rotated}", three(frame.position))
}

fn hex(color: Color3uint8) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

/// A light's colour may be brighter than white, which no `#rrggbb` says.
fn color_line(color: Color3) -> String {
    let parts = [color.r, color.g, color.b];
    if parts.iter().all(|part| (0.0..=1.0).contains(part)) {
        hex(Color3uint8::from(color))
    } else {
        parts.map(single).join(", ")
    }
}

fn color_sequence(sequence: &ColorSequence) -> String {
    match sequence.keypoints.as_slice() {
        [first, last] if first.color == last.color => color_line(first.color),
        [first, last] => format!("{} to {}", color_line(first.color), color_line(last.color)),
        points => count(points.len(), "colour"),
    }
}

fn number_sequence(sequence: &NumberSequence) -> String {
    match sequence.keypoints.as_slice() {
        [first, last] if first.value == last.value => single(first.value),
        [first, last] => format!("{} to {}", single(first.value), single(last.value)),
        points => count(points.len(), "keypoint"),
    }
}

fn address(uri: &str) -> String {
    if uri.is_empty() { "nothing".to_owned() } else { cut(uri) }
}

fn instance(target: Option<&Target>) -> String {
    target.map_or_else(|| "nothing".to_owned(), |target| cut(&target.path.to_string()))
}

fn enum_line(item: &EnumItem) -> String {
    match &item.item {
        EnumName::Name(name) => cut(name),
        EnumName::Number(number) => format!("{} {number}", cut(&item.enum_type)),
    }
}

fn font_line(font: &Font) -> String {
    let file = font.family.rsplit('/').next().unwrap_or_default();
    let family = cut(file.strip_suffix(".json").unwrap_or(file));
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
            single(custom.density()),
            single(custom.friction()),
            single(custom.elasticity())
        ),
    }
}
