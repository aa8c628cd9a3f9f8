//! Cells and values: which type stores which kind of value, and how a cell refers to parts of its
//! file.
//!
//! Decoding and encoding a cell need not give the same bytes (files store an envelope for colour
//! keypoints, values have none), so only changed cells are converted.

use rbx_types::{
    Attributes, Axes, BinaryString, BrickColor, CFrame, Color3, Color3uint8, ColorSequence,
    ColorSequenceKeypoint, Content, ContentId, Enum, Faces, Font, MaterialColors, NetAssetRef,
    NumberRange, NumberSequence, NumberSequenceKeypoint, PhysicalProperties, Ray, Rect, Ref,
    SecurityCapabilities, SharedString, Tags, UDim, UDim2, UniqueId, Variant, VariantType, Vector2,
    Vector3, Vector3int16,
};

use super::layout::ty;

pub(super) use super::cell_read::read_cell;
pub(super) use super::cell_write::write_cell;

/// Resolves the numbers in cells to instances and shared strings of the file.
pub(super) trait ReadLinks {
    /// Returns the instance with a referent; a null reference if the file has none.
    fn instance_of(&self, referent: i32) -> Ref;
    /// Returns the shared string at an index.
    fn shared_string(&self, index: u32) -> Option<&SharedString>;
}

/// Provides the numbers by which cells refer to instances and shared strings.
pub(super) trait WriteLinks {
    /// Returns the referent of an instance; -1 if it is not in the file.
    fn referent_of(&self, to: Ref) -> i32;
    /// Returns the index of a shared string, and adds it to the table if needed.
    fn shared_index(&mut self, shared: &SharedString) -> u32;
}

/// Returns the type that stores a kind of value; None if no type can.
pub(super) fn type_of(kind: VariantType) -> Option<u8> {
    Some(match kind {
        VariantType::String
        | VariantType::BinaryString
        | VariantType::ContentId
        | VariantType::Tags
        | VariantType::Attributes
        | VariantType::MaterialColors => ty::STRING,
        VariantType::Bool => ty::BOOL,
        VariantType::Int32 => ty::INT32,
        VariantType::Float32 => ty::FLOAT32,
        VariantType::Float64 => ty::FLOAT64,
        VariantType::UDim => ty::UDIM,
        VariantType::UDim2 => ty::UDIM2,
        VariantType::Ray => ty::RAY,
        VariantType::Faces => ty::FACES,
        VariantType::Axes => ty::AXES,
        VariantType::BrickColor => ty::BRICK_COLOR,
        VariantType::Color3 => ty::COLOR3,
        VariantType::Vector2 => ty::VECTOR2,
        VariantType::Vector3 => ty::VECTOR3,
        VariantType::CFrame => ty::CFRAME,
        VariantType::Enum | VariantType::EnumItem => ty::ENUM,
        VariantType::Ref => ty::REF,
        VariantType::Vector3int16 => ty::VECTOR3_INT16,
        VariantType::NumberSequence => ty::NUMBER_SEQUENCE,
        VariantType::ColorSequence => ty::COLOR_SEQUENCE,
        VariantType::NumberRange => ty::NUMBER_RANGE,
        VariantType::Rect => ty::RECT,
        VariantType::PhysicalProperties => ty::PHYSICAL,
        VariantType::Color3uint8 => ty::COLOR3_UINT8,
        VariantType::Int64 => ty::INT64,
        VariantType::SharedString | VariantType::NetAssetRef => ty::SHARED_STRING,
        VariantType::OptionalCFrame => ty::OPTIONAL_CFRAME,
        VariantType::UniqueId => ty::UNIQUE_ID,
        VariantType::Font => ty::FONT,
        VariantType::SecurityCapabilities => ty::CAPABILITIES,
        VariantType::Content => ty::CONTENT,
        _ => return None,
    })
}

/// Returns the kind of value that a type stores if nothing else is known about it.
pub(super) fn kind_of(ty: u8) -> Option<VariantType> {
    Some(match ty {
        ty::STRING => VariantType::BinaryString,
        ty::BOOL => VariantType::Bool,
        ty::INT32 => VariantType::Int32,
        ty::FLOAT32 => VariantType::Float32,
        ty::FLOAT64 => VariantType::Float64,
        ty::UDIM => VariantType::UDim,
        ty::UDIM2 => VariantType::UDim2,
        ty::RAY => VariantType::Ray,
        ty::FACES => VariantType::Faces,
        ty::AXES => VariantType::Axes,
        ty::BRICK_COLOR => VariantType::BrickColor,
        ty::COLOR3 => VariantType::Color3,
        ty::VECTOR2 => VariantType::Vector2,
        ty::VECTOR3 => VariantType::Vector3,
        ty::CFRAME => VariantType::CFrame,
        ty::ENUM => VariantType::Enum,
        ty::REF => VariantType::Ref,
        ty::VECTOR3_INT16 => VariantType::Vector3int16,
        ty::NUMBER_SEQUENCE => VariantType::NumberSequence,
        ty::COLOR_SEQUENCE => VariantType::ColorSequence,
        ty::NUMBER_RANGE => VariantType::NumberRange,
        ty::RECT => VariantType::Rect,
        ty::PHYSICAL => VariantType::PhysicalProperties,
        ty::COLOR3_UINT8 => VariantType::Color3uint8,
        ty::INT64 => VariantType::Int64,
        ty::SHARED_STRING => VariantType::SharedString,
        ty::OPTIONAL_CFRAME => VariantType::OptionalCFrame,
        ty::UNIQUE_ID => VariantType::UniqueId,
        ty::FONT => VariantType::Font,
        ty::CAPABILITIES => VariantType::SecurityCapabilities,
        ty::CONTENT => VariantType::Content,
        _ => return None,
    })
}

/// Returns the value that a file stores for an instance that lacks a property without a known
/// default. The values are those that rbx_binary stores.
pub(super) fn blank_value(kind: VariantType) -> Option<Variant> {
    let (zero, zero2) = (Vector3::new(0.0, 0.0, 0.0), Vector2::new(0.0, 0.0));
    let (udim, black) = (UDim::new(0.0, 0), Color3::new(0.0, 0.0, 0.0));
    Some(match kind {
        VariantType::String => String::new().into(),
        VariantType::BinaryString => BinaryString::new().into(),
        VariantType::ContentId => ContentId::new().into(),
        VariantType::Tags => Tags::new().into(),
        VariantType::Attributes => Attributes::new().into(),
        VariantType::MaterialColors => MaterialColors::new().into(),
        VariantType::Bool => false.into(),
        VariantType::Int32 => 0_i32.into(),
        VariantType::Int64 => 0_i64.into(),
        VariantType::Float32 => 0.0_f32.into(),
        VariantType::Float64 => 0.0_f64.into(),
        VariantType::UDim => udim.into(),
        VariantType::UDim2 => UDim2::new(udim, udim).into(),
        VariantType::Ray => Ray::new(zero, zero).into(),
        VariantType::Faces => Faces::empty().into(),
        VariantType::Axes => Axes::empty().into(),
        VariantType::BrickColor => BrickColor::MediumStoneGrey.into(),
        VariantType::Color3 => black.into(),
        VariantType::Color3uint8 => Color3uint8::new(0, 0, 0).into(),
        VariantType::Vector2 => zero2.into(),
        VariantType::Vector3 => zero.into(),
        VariantType::Vector3int16 => Vector3int16::new(0, 0, 0).into(),
        VariantType::CFrame => CFrame::identity().into(),
        VariantType::OptionalCFrame => Variant::OptionalCFrame(None),
        VariantType::Enum => Enum::from_u32(u32::MAX).into(),
        VariantType::Ref => Ref::none().into(),
        VariantType::NumberSequence => {
            let keypoint = NumberSequenceKeypoint::new(0.0, 0.0, 0.0);
            NumberSequence { keypoints: vec![keypoint, keypoint] }.into()
        }
        VariantType::ColorSequence => {
            let keypoint = ColorSequenceKeypoint::new(0.0, black);
            ColorSequence { keypoints: vec![keypoint, keypoint] }.into()
        }
        VariantType::NumberRange => NumberRange::new(0.0, 0.0).into(),
        VariantType::Rect => Rect::new(zero2, zero2).into(),
        VariantType::PhysicalProperties => PhysicalProperties::Default.into(),
        VariantType::SharedString => SharedString::new(Vec::new()).into(),
        VariantType::NetAssetRef => NetAssetRef::new(Vec::new()).into(),
        VariantType::UniqueId => UniqueId::nil().into(),
        VariantType::Font => Font::default().into(),
        VariantType::SecurityCapabilities => SecurityCapabilities::from_bits(0).into(),
        VariantType::Content => Content::none().into(),
        _ => return None,
    })
}
