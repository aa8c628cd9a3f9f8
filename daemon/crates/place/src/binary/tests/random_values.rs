//! Random values of every kind.

use rbx_types::{
    Attributes, Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, CustomPhysicalProperties, Enum, Faces, Font,
    FontStyle, FontWeight, MaterialColors, Matrix3, NetAssetRef, NumberRange, NumberSequence,
    NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref, SecurityCapabilities, SharedString,
    Tags, TerrainMaterials, UDim, UDim2, UniqueId, Variant, VariantType, Vector2, Vector3,
    Vector3int16,
};

use random_draws::RandomDraws;

/// Every kind of value that a file can store.
pub(super) const KINDS: [VariantType; 37] = [
    VariantType::Axes,
    VariantType::BinaryString,
    VariantType::Bool,
    VariantType::BrickColor,
    VariantType::CFrame,
    VariantType::Color3,
    VariantType::Color3uint8,
    VariantType::ColorSequence,
    VariantType::ContentId,
    VariantType::Enum,
    VariantType::Faces,
    VariantType::Float32,
    VariantType::Float64,
    VariantType::Int32,
    VariantType::Int64,
    VariantType::NumberRange,
    VariantType::NumberSequence,
    VariantType::PhysicalProperties,
    VariantType::Ray,
    VariantType::Rect,
    VariantType::Ref,
    VariantType::SharedString,
    VariantType::String,
    VariantType::UDim,
    VariantType::UDim2,
    VariantType::Vector2,
    VariantType::Vector3,
    VariantType::Vector3int16,
    VariantType::OptionalCFrame,
    VariantType::Tags,
    VariantType::Attributes,
    VariantType::Font,
    VariantType::UniqueId,
    VariantType::MaterialColors,
    VariantType::SecurityCapabilities,
    VariantType::Content,
    VariantType::NetAssetRef,
];

/// Returns any number, sometimes a special one.
fn draw_f32(draws: &mut RandomDraws) -> f32 {
    let special = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE];
    let at = draws.below(20);
    special.get(at).copied().unwrap_or_else(|| f32::from_bits(draws.bits() as u32))
}

fn draw_text(draws: &mut RandomDraws) -> String {
    (0..draws.below(12)).map(|_| ['a', 'Z', ' ', '.', 'é', '字', '🜁'][draws.below(7)]).collect()
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

fn draw_color(draws: &mut RandomDraws) -> Color3 {
    Color3::new(draw_f32(draws), draw_f32(draws), draw_f32(draws))
}

fn draw_cframe(draws: &mut RandomDraws) -> CFrame {
    let basic = Matrix3::from_basic_rotation_id(draws.below(36) as u8);
    let any = Matrix3::new(draw_vector(draws), draw_vector(draws), draw_vector(draws));
    CFrame::new(draw_vector(draws), basic.unwrap_or(any))
}

fn draw_font(draws: &mut RandomDraws) -> Font {
    let weight = FontWeight::from_u16(100 * (1 + draws.below(9) as u16)).unwrap();
    let style = [FontStyle::Normal, FontStyle::Italic][draws.below(2)];
    let mut font = Font::new(&draw_text(draws), weight, style);
    font.cached_face_id = Some(draw_text(draws)).filter(|face| !face.is_empty());
    font
}

fn draw_physical(draws: &mut RandomDraws) -> PhysicalProperties {
    let [density, friction, elasticity, weight, other, any] = [(); 6].map(|()| draw_f32(draws));
    let absorption = match draws.below(3) {
        0 => return PhysicalProperties::Default,
        1 => 1.0,
        _ => any,
    };
    let mut custom =
        CustomPhysicalProperties::new(density, friction, elasticity, weight, other, any);
    custom.set_acoustic_absorption(absorption);
    custom.into()
}

fn draw_attributes(draws: &mut RandomDraws) -> Attributes {
    let mut attributes = Attributes::new();
    for _ in 0..draws.below(4) {
        attributes.insert(format!("k{}", draws.below(9)), draw_f32(draws).into());
        attributes.insert(draw_text(draws) + "t", BinaryString::from(draws.bytes(5)).into());
    }
    attributes
}

fn draw_target(draws: &mut RandomDraws, refs: &[Ref]) -> Ref {
    match draws.below(4) {
        0 => Ref::none(),
        1 => Ref::new(),
        _ => refs[draws.below(refs.len())],
    }
}

fn draw_keypoints<T>(draws: &mut RandomDraws, make: impl Fn(&mut RandomDraws) -> T) -> Vec<T> {
    (0..draws.below(5)).map(|_| make(draws)).collect()
}

/// Returns a random value of a kind. References are to one of `refs`, null, or to an instance
/// that is not in the file.
pub(super) fn draw_value(draws: &mut RandomDraws, kind: VariantType, refs: &[Ref]) -> Variant {
    match kind {
        VariantType::Axes => Axes::from_bits(draws.below(8) as u8).unwrap().into(),
        VariantType::BinaryString => BinaryString::from(draw_bytes_below(draws, 9)).into(),
        VariantType::Bool => (draws.below(2) == 1).into(),
        VariantType::BrickColor => draw_brick_color(draws).into(),
        VariantType::CFrame => draw_cframe(draws).into(),
        VariantType::Color3 => draw_color(draws).into(),
        VariantType::Color3uint8 => draw_color_bytes(draws).into(),
        VariantType::ColorSequence => {
            let make = |draws: &mut RandomDraws| {
                ColorSequenceKeypoint::new(draw_f32(draws), draw_color(draws))
            };
            ColorSequence { keypoints: draw_keypoints(draws, make) }.into()
        }
        VariantType::ContentId => ContentId::from(draw_text(draws)).into(),
        VariantType::Enum => Enum::from_u32(draws.bits() as u32).into(),
        VariantType::Faces => Faces::from_bits(draws.below(64) as u8).unwrap().into(),
        VariantType::Float32 => draw_f32(draws).into(),
        VariantType::Float64 => f64::from_bits(draws.bits()).into(),
        VariantType::Int32 => (draws.bits() as i32).into(),
        VariantType::Int64 => (draws.bits() as i64).into(),
        VariantType::NumberRange => NumberRange::new(draw_f32(draws), draw_f32(draws)).into(),
        VariantType::NumberSequence => {
            let make = |draws: &mut RandomDraws| {
                NumberSequenceKeypoint::new(draw_f32(draws), draw_f32(draws), draw_f32(draws))
            };
            NumberSequence { keypoints: draw_keypoints(draws, make) }.into()
        }
        VariantType::PhysicalProperties => draw_physical(draws).into(),
        VariantType::Ray => Ray::new(draw_vector(draws), draw_vector(draws)).into(),
        VariantType::Rect => Rect::new(draw_vector2(draws), draw_vector2(draws)).into(),
        VariantType::Ref => draw_target(draws, refs).into(),
        VariantType::SharedString => SharedString::new(draw_bytes_below(draws, 3)).into(),
        VariantType::String => draw_text(draws).into(),
        VariantType::UDim => draw_udim(draws).into(),
        VariantType::UDim2 => UDim2::new(draw_udim(draws), draw_udim(draws)).into(),
        VariantType::Vector2 => draw_vector2(draws).into(),
        VariantType::Vector3 => draw_vector(draws).into(),
        VariantType::Vector3int16 => draw_small_vector(draws).into(),
        VariantType::OptionalCFrame => match draws.below(2) {
            0 => Variant::OptionalCFrame(None),
            _ => Some(draw_cframe(draws)).into(),
        },
        VariantType::Tags => {
            Tags::from(vec![draw_text(draws) + "a", draw_text(draws) + "b"]).into()
        }
        VariantType::Attributes => draw_attributes(draws).into(),
        VariantType::Font => draw_font(draws).into(),
        VariantType::UniqueId => draw_unique_id(draws).into(),
        VariantType::MaterialColors => draw_material_colors(draws).into(),
        VariantType::SecurityCapabilities => SecurityCapabilities::from_bits(draws.bits()).into(),
        VariantType::Content => draw_content(draws, refs).into(),
        VariantType::NetAssetRef => NetAssetRef::new(draw_bytes_below(draws, 3)).into(),
        other => panic!("no value of {other:?}"),
    }
}

fn draw_bytes_below(draws: &mut RandomDraws, end: usize) -> Vec<u8> {
    let len = draws.below(end);
    draws.bytes(len)
}

fn draw_brick_color(draws: &mut RandomDraws) -> BrickColor {
    let all: Vec<BrickColor> = (0..1033).filter_map(BrickColor::from_number).collect();
    draws.pick(&all)
}

fn draw_color_bytes(draws: &mut RandomDraws) -> Color3uint8 {
    Color3uint8::new(draws.bits() as u8, draws.bits() as u8, draws.bits() as u8)
}

fn draw_small_vector(draws: &mut RandomDraws) -> Vector3int16 {
    Vector3int16::new(draws.bits() as i16, draws.bits() as i16, draws.bits() as i16)
}

fn draw_unique_id(draws: &mut RandomDraws) -> UniqueId {
    UniqueId::new(draws.bits() as u32, draws.bits() as u32, draws.bits() as i64)
}

fn draw_material_colors(draws: &mut RandomDraws) -> MaterialColors {
    let mut colors = MaterialColors::new();
    colors.set_color(TerrainMaterials::Grass, draw_color_bytes(draws));
    colors
}

fn draw_content(draws: &mut RandomDraws, refs: &[Ref]) -> Content {
    match draws.below(3) {
        0 => Content::none(),
        1 => Content::from_uri(draw_text(draws)),
        _ => Content::from_referent(draw_target(draws, refs)),
    }
}
