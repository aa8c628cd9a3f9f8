//! Typed property values, in four forms: an exact form that reads back as the same value, a
//! canonical text for fingerprints, a plain form for models, and a short line for people.
//!
//! This module does not know which property has which type, or which other notations are accepted
//! for a type.

mod brief;
mod fields;
mod number;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use rbx_types::{
    Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence, Faces, Font, MaterialColors,
    NumberRange, NumberSequence, PhysicalProperties, Ray, Rect, Region3, Region3int16, UDim, UDim2,
    UniqueId, Vector2, Vector2int16, Vector3, Vector3int16,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::command::Target;

pub use number::{canonical_json, f32_number, f64_number};

/// A property value of a known type: every type of `rbx_types::Variant` that an instance's property
/// can hold. Leaves use the types of `rbx_types`. References are stored as targets and enum items
/// by name, not as numbers.
///
/// A colour missing from `MaterialColors` is the material's default; the exact form prints all of
/// them.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants carry the names of Roblox's own types")]
pub enum Value {
    Axes(Axes),
    Binary(Vec<u8>),
    Bool(bool),
    BrickColor(BrickColor),
    CFrame(CFrame),
    Color3(Color3),
    Color3uint8(Color3uint8),
    ColorSequence(ColorSequence),
    Content(Content),
    ContentId(String),
    EnumItem(EnumItem),
    Faces(Faces),
    Float32(f32),
    Float64(f64),
    Font(Font),
    Int32(i32),
    Int64(i64),
    MaterialColors(Box<MaterialColors>),
    NetAssetRef(Vec<u8>),
    NumberRange(NumberRange),
    NumberSequence(NumberSequence),
    OptionalCFrame(Option<CFrame>),
    PhysicalProperties(PhysicalProperties),
    Ray(Ray),
    Rect(Rect),
    /// A reference to an instance of the same place. None if it points nowhere.
    Ref(Option<Target>),
    Region3(Region3),
    Region3int16(Region3int16),
    SecurityCapabilities(u64),
    SharedString(Vec<u8>),
    String(String),
    Tags(Vec<String>),
    UDim(UDim),
    UDim2(UDim2),
    UniqueId(UniqueId),
    Vector2(Vector2),
    Vector2int16(Vector2int16),
    Vector3(Vector3),
    Vector3int16(Vector3int16),
    /// All attributes of an instance.
    Attributes(BTreeMap<String, Value>),
}

/// The value of a content property: nothing, an asset's address, or an object of the place.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// No content.
    None,
    /// An address, such as `rbxassetid://1818`.
    Uri(String),
    /// An object in the place. None if the reference points nowhere.
    Object(Option<Target>),
}

/// An item of an enum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumItem {
    /// The enum, such as `Material`.
    pub enum_type: String,
    /// The item, by name or number.
    pub item: EnumName,
}

/// The name or number of an enum item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EnumName {
    /// The item's name, such as `Neon`.
    Name(String),
    /// The item's number, if reflection has no name for it.
    Number(u32),
}

/// The type names allowed in `__t`, in alphabetical order. `Bool` and `String` are missing because
/// they have no wrapped form.
pub const TYPE_NAMES: [&str; 38] = [
    "Attributes",
    "Axes",
    "Binary",
    "BrickColor",
    "CFrame",
    "Color3",
    "Color3uint8",
    "ColorSequence",
    "Content",
    "ContentId",
    "EnumItem",
    "Faces",
    "Float32",
    "Float64",
    "Font",
    "Int32",
    "Int64",
    "MaterialColors",
    "NetAssetRef",
    "NumberRange",
    "NumberSequence",
    "OptionalCFrame",
    "PhysicalProperties",
    "Ray",
    "Rect",
    "Ref",
    "Region3",
    "Region3int16",
    "SecurityCapabilities",
    "SharedString",
    "Tags",
    "UDim",
    "UDim2",
    "UniqueId",
    "Vector2",
    "Vector2int16",
    "Vector3",
    "Vector3int16",
];

impl Value {
    /// Returns the type's name, as written in `__t` and in messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Attributes(_) => "Attributes",
            Self::Axes(_) => "Axes",
            Self::Binary(_) => "Binary",
            Self::Bool(_) => "Bool",
            Self::BrickColor(_) => "BrickColor",
            Self::CFrame(_) => "CFrame",
            Self::Color3(_) => "Color3",
            Self::Color3uint8(_) => "Color3uint8",
            Self::ColorSequence(_) => "ColorSequence",
            Self::Content(_) => "Content",
            Self::ContentId(_) => "ContentId",
            Self::EnumItem(_) => "EnumItem",
            Self::Faces(_) => "Faces",
            Self::Float32(_) => "Float32",
            Self::Float64(_) => "Float64",
            Self::Font(_) => "Font",
            Self::Int32(_) => "Int32",
            Self::Int64(_) => "Int64",
            Self::MaterialColors(_) => "MaterialColors",
            Self::NetAssetRef(_) => "NetAssetRef",
            Self::NumberRange(_) => "NumberRange",
            Self::NumberSequence(_) => "NumberSequence",
            Self::OptionalCFrame(_) => "OptionalCFrame",
            Self::PhysicalProperties(_) => "PhysicalProperties",
            Self::Ray(_) => "Ray",
            Self::Rect(_) => "Rect",
            Self::Ref(_) => "Ref",
            Self::Region3(_) => "Region3",
            Self::Region3int16(_) => "Region3int16",
            Self::SecurityCapabilities(_) => "SecurityCapabilities",
            Self::SharedString(_) => "SharedString",
            Self::String(_) => "String",
            Self::Tags(_) => "Tags",
            Self::UDim(_) => "UDim",
            Self::UDim2(_) => "UDim2",
            Self::UniqueId(_) => "UniqueId",
            Self::Vector2(_) => "Vector2",
            Self::Vector2int16(_) => "Vector2int16",
            Self::Vector3(_) => "Vector3",
            Self::Vector3int16(_) => "Vector3int16",
        }
    }
}

/// The reason a JSON value is not the exact form of any [`Value`]: one sentence that names the type
/// and the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ValueError(String);

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::String(text) => serializer.serialize_str(text),
            typed => typed.to_json().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = serde_json::Value::deserialize(deserializer)?;
        Self::from_json(json).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Value")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let type_name = generator.subschema_for::<ValueType>();
        json_schema!({
            "description": "A property value. Booleans, strings and 64-bit floats stand for themselves;\n\
                every other type is an object that names its type in `__t`, such as\n\
                {\"__t\":\"Vector3\",\"x\":0,\"y\":1,\"z\":0}.",
            "anyOf": [
                { "description": "A flag.", "type": "boolean" },
                { "description": "A 64-bit float.", "type": "number" },
                { "description": "A JSON string.", "type": "string" },
                {
                    "description": "Any other type.",
                    "type": "object",
                    "properties": { "__t": type_name },
                    "required": ["__t"],
                    "additionalProperties": true,
                },
            ],
        })
    }
}

/// The schema of `__t`. A [`Value`] carries the name itself and does not use this type.
struct ValueType;

impl JsonSchema for ValueType {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ValueType")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The types that a value names in `__t`.",
            "type": "string",
            "enum": TYPE_NAMES.as_slice(),
        })
    }
}
