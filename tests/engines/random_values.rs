//! Random values of every type, random names and texts, and the same values in the form of edits.

use random_draws::RandomDraws;
use rbx_types::{
    Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, ContentType, CustomPhysicalProperties, Enum, Faces,
    Font, FontStyle, FontWeight, MaterialColors, Matrix3, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, SecurityCapabilities, SharedString,
    Tags, TerrainMaterials, UDim, UDim2, UniqueId, Variant, VariantType, Vector2, Vector3,
    Vector3int16,
};
use scene_schemas::value::{EnumItem, EnumName};
use scene_schemas::{Target, Value};

/// The pieces of random texts, many of which a format could trip over.
const SCRAPS: [&str; 24] = [
    "a",
    "Wall",
    "local x = 1",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    ".",
    "\"",
    "'",
    "&",
    "<",
    ">",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "-- ",
    "[1]",
    "é",
    "日本",
    "🜁",
    "\r",
    "</string>",
];

/// Only a few names, so that some siblings share one.
const NAMES: [&str; 14] = [
    "Part",
    "Part",
    "Wall",
    "Wall",
    "Door",
    "",
    "Größe",
    "日本 語",
    "a.b",
    "say \"no\"",
    "<&>",
    " edge ",
    "two\nlines",
    "]]>",
];

pub(super) fn draw_name(draws: &mut RandomDraws) -> String {
    draws.pick(&NAMES).to_owned()
}

pub(super) fn draw_text(draws: &mut RandomDraws) -> String {
    let scraps = if draws.one_in(20) { 400 } else { 9 };
    let text: String = (0..draws.below(scraps)).map(|_| draws.pick(&SCRAPS)).collect();
    // XML cannot hold a carriage return in a text that is otherwise only white space.
    if text.trim().is_empty() { text.replace('\r', "") } else { text }
}

/// A text of one line.
fn draw_word(draws: &mut RandomDraws) -> String {
    let words = ["", "rbxassetid://1", "rbxassetid://2", "http://x/?a=1&b=<2>", "é \"q\""];
    draws.pick(&words).to_owned()
}

fn draw_bytes(draws: &mut RandomDraws, end: usize) -> Vec<u8> {
    let len = draws.below(end);
    draws.bytes(len)
}

/// Mostly ordinary numbers, sometimes a special one.
fn draw_f32(draws: &mut RandomDraws) -> f32 {
    match draws.below(12) {
        0 => draws.pick(&[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 3e38]),
        1 => f32::from_bits(draws.bits() as u32 & 0x7f7f_ffff),
        2..6 => draws.below(5) as f32,
        _ => (draws.below(20_000) as f32 - 10_000.0) / 100.0,
    }
}

fn draw_f64(draws: &mut RandomDraws) -> f64 {
    if draws.one_in(2) { draw_f32(draws).into() } else { draws.below(1 << 40) as f64 / 1000.0 }
}

fn draw_vector2(draws: &mut RandomDraws) -> Vector2 {
    Vector2::new(draw_f32(draws), draw_f32(draws))
}

fn draw_vector(draws: &mut RandomDraws) -> Vector3 {
    Vector3::new(draw_f32(draws), draw_f32(draws), draw_f32(draws))
}

fn draw_udim(draws: &mut RandomDraws) -> UDim {
    UDim::new(draw_f32(draws), draws.bits() as i32)
}

/// A colour that fits into bytes.
fn draw_colour(draws: &mut RandomDraws) -> Color3 {
    Color3uint8::new(draws.bits() as u8, draws.bits() as u8, draws.bits() as u8).into()
}

/// Rotated by right angles, or by a rotation that is far from any of these.
fn draw_cframe(draws: &mut RandomDraws) -> CFrame {
    let turned = Matrix3::new(
        Vector3::new(0.8, 0.0, 0.6),
        Vector3::new(0.0, 1.0, 0.0),
        Vector3::new(-0.6, 0.0, 0.8),
    );
    let basic = Matrix3::from_basic_rotation_id(draws.below(36) as u8);
    CFrame::new(draw_vector(draws), basic.unwrap_or(turned))
}

fn draw_font(draws: &mut RandomDraws) -> Font {
    let weight = FontWeight::from_u16(100 * (1 + draws.below(9) as u16)).unwrap();
    let style = draws.pick(&[FontStyle::Normal, FontStyle::Italic]);
    let mut font = Font::new(&draw_word(draws), weight, style);
    font.cached_face_id = Some(draw_word(draws)).filter(|face| !face.is_empty());
    font
}

fn draw_physical(draws: &mut RandomDraws) -> PhysicalProperties {
    if draws.one_in(3) {
        return PhysicalProperties::Default;
    }
    let mut next = || draws.below(100) as f32 / 10.0;
    let (density, friction, elasticity) = (next(), next(), next());
    let (weight, other_weight, absorption) = (next(), next(), next());
    CustomPhysicalProperties::new(density, friction, elasticity, weight, other_weight, absorption)
        .into()
}

pub(super) fn draw_brick_colour(draws: &mut RandomDraws) -> BrickColor {
    let all: Vec<BrickColor> = (0..1033).filter_map(BrickColor::from_number).collect();
    draws.pick(&all)
}

/// A unique id with a time stamp long ago.
pub(super) fn draw_unique_id(draws: &mut RandomDraws) -> UniqueId {
    UniqueId::new(draws.bits() as u32, draws.below(1000) as u32, (draws.bits() >> 1) as i64)
}

fn draw_times(draws: &mut RandomDraws) -> Vec<f32> {
    let count = 2 + draws.below(3);
    (0..count).map(|at| at as f32 / (count - 1) as f32).collect()
}

/// A value of a type that attributes can have.
pub(super) fn draw_attribute(draws: &mut RandomDraws) -> Variant {
    let kinds = [
        VariantType::BinaryString,
        VariantType::Bool,
        VariantType::BrickColor,
        VariantType::CFrame,
        VariantType::Color3,
        VariantType::Float32,
        VariantType::Float64,
        VariantType::Font,
        VariantType::NumberRange,
        VariantType::Rect,
        VariantType::UDim2,
        VariantType::Vector3,
    ];
    let kind = draws.pick(&kinds);
    draw_value(draws, kind, &[])
}

/// A value of a type. References are to instances of `refs`, or to none.
pub(super) fn draw_value(draws: &mut RandomDraws, kind: VariantType, refs: &[Ref]) -> Variant {
    match kind {
        VariantType::Attributes => {
            let count = draws.below(3);
            let mut all = rbx_types::Attributes::new();
            for _ in 0..count {
                all.insert(format!("Key{}", draws.below(4)), draw_attribute(draws));
            }
            all.into()
        }
        VariantType::Axes => Axes::from_bits(draws.below(8) as u8).unwrap().into(),
        VariantType::BinaryString => BinaryString::from(draw_bytes(draws, 9)).into(),
        VariantType::Bool => draws.one_in(2).into(),
        VariantType::BrickColor => draw_brick_colour(draws).into(),
        VariantType::CFrame => draw_cframe(draws).into(),
        VariantType::Color3 => draw_colour(draws).into(),
        VariantType::Color3uint8 => Color3uint8::from(draw_colour(draws)).into(),
        VariantType::Content => draw_content(draws, refs).into(),
        VariantType::ContentId => ContentId::from(draw_word(draws)).into(),
        VariantType::Enum => Enum::from_u32(draws.below(30) as u32).into(),
        VariantType::Faces => Faces::from_bits(draws.below(64) as u8).unwrap().into(),
        VariantType::Float32 => draw_f32(draws).into(),
        VariantType::Float64 => draw_f64(draws).into(),
        VariantType::Font => draw_font(draws).into(),
        VariantType::Int32 => (draws.bits() as i32 >> draws.below(32)).into(),
        VariantType::Int64 => (draws.bits() as i64 >> draws.below(64)).into(),
        VariantType::NetAssetRef => NetAssetRef::new(draw_shared(draws)).into(),
        VariantType::PhysicalProperties => draw_physical(draws).into(),
        VariantType::Ref => draw_target(draws, refs).into(),
        VariantType::SharedString => SharedString::new(draw_shared(draws)).into(),
        VariantType::String => draw_text(draws).into(),
        VariantType::Tags => {
            let count = draws.below(3);
            Tags::from((0..count).map(|_| draw_name(draws) + "tag").collect::<Vec<_>>()).into()
        }
        VariantType::UniqueId => draw_unique_id(draws).into(),
        other => draw_numbers(draws, other),
    }
}

fn draw_numbers(draws: &mut RandomDraws, kind: VariantType) -> Variant {
    match kind {
        VariantType::ColorSequence => {
            let times = draw_times(draws);
            let keypoint = |time| ColorSequenceKeypoint::new(time, draw_colour(draws));
            ColorSequence { keypoints: times.into_iter().map(keypoint).collect() }.into()
        }
        VariantType::MaterialColors => {
            let mut colours = MaterialColors::new();
            colours.set_color(TerrainMaterials::Grass, draw_colour(draws).into());
            colours.into()
        }
        VariantType::NumberRange => NumberRange::new(draw_f32(draws), draw_f32(draws)).into(),
        VariantType::NumberSequence => {
            let times = draw_times(draws);
            let keypoint =
                |time| NumberSequenceKeypoint::new(time, draw_f32(draws), draw_f32(draws));
            NumberSequence { keypoints: times.into_iter().map(keypoint).collect() }.into()
        }
        VariantType::OptionalCFrame => match draws.below(2) {
            0 => Variant::OptionalCFrame(None),
            _ => Some(draw_cframe(draws)).into(),
        },
        VariantType::Ray => Ray::new(draw_vector(draws), draw_vector(draws)).into(),
        VariantType::Rect => Rect::new(draw_vector2(draws), draw_vector2(draws)).into(),
        VariantType::SecurityCapabilities => {
            SecurityCapabilities::from_bits(draws.bits() >> 1).into()
        }
        VariantType::UDim => draw_udim(draws).into(),
        VariantType::UDim2 => UDim2::new(draw_udim(draws), draw_udim(draws)).into(),
        VariantType::Vector2 => draw_vector2(draws).into(),
        VariantType::Vector3 => draw_vector(draws).into(),
        VariantType::Vector3int16 => {
            Vector3int16::new(draws.bits() as i16, draws.bits() as i16, draws.bits() as i16).into()
        }
        other => panic!("no value of {other:?}"),
    }
}

fn draw_shared(draws: &mut RandomDraws) -> Vec<u8> {
    if draws.one_in(4) { draw_bytes(draws, 40) } else { vec![draws.below(3) as u8; 40] }
}

fn draw_target(draws: &mut RandomDraws, refs: &[Ref]) -> Ref {
    if refs.is_empty() || draws.one_in(4) { Ref::none() } else { draws.pick(refs) }
}

fn draw_content(draws: &mut RandomDraws, refs: &[Ref]) -> Content {
    match draws.below(4) {
        0 => Content::none(),
        1 if !refs.is_empty() => Content::from_referent(draws.pick(refs)),
        _ => Content::from_uri(draw_word(draws)),
    }
}

/// Whether this module generates values of a type and edits can express them.
pub(super) fn is_known(kind: VariantType) -> bool {
    !matches!(
        kind,
        VariantType::Region3
            | VariantType::Region3int16
            | VariantType::Vector2int16
            | VariantType::EnumItem
            | VariantType::Attributes
            | VariantType::UniqueId
    )
}

/// The value in the form of an edit. This is the inverse of the conversion under test: the engine
/// must store the edit as this value again, as the rbx crates read it from the file.
pub(super) fn as_edit(
    value: &Variant,
    enum_type: &str,
    target: &dyn Fn(Ref) -> Option<Target>,
) -> Value {
    match value {
        Variant::Axes(v) => Value::Axes(*v),
        Variant::BinaryString(v) => Value::Binary(v.clone().into_vec()),
        Variant::Bool(v) => Value::Bool(*v),
        Variant::BrickColor(v) => Value::BrickColor(*v),
        Variant::CFrame(v) => Value::CFrame(*v),
        Variant::Color3(v) => Value::Color3(*v),
        Variant::Color3uint8(v) => Value::Color3uint8(*v),
        Variant::ColorSequence(v) => Value::ColorSequence(v.clone()),
        Variant::Content(v) => Value::Content(match v.value() {
            ContentType::Uri(uri) => scene_schemas::value::Content::Uri(uri.clone()),
            ContentType::Object(to) => scene_schemas::value::Content::Object(target(*to)),
            _ => scene_schemas::value::Content::None,
        }),
        Variant::ContentId(v) => Value::ContentId(v.as_str().to_owned()),
        Variant::Enum(v) => Value::EnumItem(EnumItem {
            enum_type: enum_type.to_owned(),
            item: EnumName::Number(v.to_u32()),
        }),
        Variant::Faces(v) => Value::Faces(*v),
        Variant::Float32(v) => Value::Float32(*v),
        Variant::Float64(v) => Value::Float64(*v),
        Variant::Font(v) => Value::Font(v.clone()),
        Variant::Int32(v) => Value::Int32(*v),
        Variant::Int64(v) => Value::Int64(*v),
        Variant::MaterialColors(v) => Value::MaterialColors(Box::new(v.clone())),
        Variant::NetAssetRef(v) => Value::NetAssetRef(v.data().to_vec()),
        Variant::NumberRange(v) => Value::NumberRange(*v),
        Variant::NumberSequence(v) => Value::NumberSequence(v.clone()),
        Variant::OptionalCFrame(v) => Value::OptionalCFrame(*v),
        Variant::PhysicalProperties(v) => Value::PhysicalProperties(*v),
        Variant::Ray(v) => Value::Ray(*v),
        Variant::Rect(v) => Value::Rect(*v),
        Variant::Ref(v) => Value::Ref(target(*v)),
        Variant::SecurityCapabilities(v) => Value::SecurityCapabilities(v.bits()),
        Variant::SharedString(v) => Value::SharedString(v.data().to_vec()),
        Variant::String(v) => Value::String(v.clone()),
        Variant::Tags(v) => Value::Tags(v.iter().map(str::to_owned).collect()),
        Variant::UDim(v) => Value::UDim(*v),
        Variant::UDim2(v) => Value::UDim2(*v),
        Variant::Vector2(v) => Value::Vector2(*v),
        Variant::Vector3(v) => Value::Vector3(*v),
        Variant::Vector3int16(v) => Value::Vector3int16(*v),
        other => panic!("no edit sets {other:?}"),
    }
}
