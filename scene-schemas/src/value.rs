//! Typed property values and their JSON forms.

use std::collections::BTreeMap;

use rbx_types::{
    Axes, BrickColor, CFrame, Color3, Color3uint8, ColorSequence, Faces, Font, MaterialColors,
    NumberRange, NumberSequence, PhysicalProperties, Ray, Rect, Region3, Region3int16, UDim, UDim2,
    UniqueId, Vector2, Vector2int16, Vector3, Vector3int16,
};

use crate::command::Target;

/// A property value of a known type: every type of `rbx_types::Variant` that an instance's property
/// can hold. Leaves are the field's own types; references and enum items are named, not numbered.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the variants carry the names of Roblox's own types"
)]
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
    /// A reference to an instance of the same place; none where it points nowhere.
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

/// A content property: nothing, an asset's address, or an object of the place.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing.
    None,
    /// An address, such as `rbxassetid://1818`.
    Uri(String),
    /// An object that lives in the place.
    Object(Option<Target>),
}

/// An item of an enum.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumItem {
    /// The enum, such as `Material`.
    pub enum_type: String,
    /// The item.
    pub item: EnumName,
}

/// How an enum's item is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EnumName {
    /// By name, such as `Neon`.
    Name(String),
    /// By number, where reflection knows no name for it.
    Number(u32),
}

// The JSON forms.
impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}
impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("not yet"))
    }
}
impl schemars::JsonSchema for Value {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({})
    }
}
impl Value {
    pub fn canonical(&self) -> String {
        String::new()
    }
    pub fn type_name(&self) -> &'static str {
        ""
    }
}
