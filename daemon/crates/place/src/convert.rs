//! Converts between the variants of the rbx crates and this project's values.
//!
//! Values use names where variants use numbers: for enum items, and for the instance that a
//! reference points to. [`super::read`] handles values that a model wrote.

use std::collections::BTreeMap;

use rbx_reflection::DataType;
use rbx_types::{
    Attributes, CFrame, Color3, Color3uint8, ContentType, Matrix3, Ref, SecurityCapabilities,
    SharedString, Tags, Variant, VariantType, Vector3,
};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::value::{Content, EnumItem, EnumName};
use scene_schemas::{Target, Value};

use super::reflection::{self, DerivedProperty, PropertyAccess};
use super::xml;
use super::{FileFormat, Node, Scene, node_of, reference_to};

impl Scene {
    /// Converts a stored variant to a value. Class and property determine what a number or colour
    /// means.
    pub(super) fn to_value(&self, class: &str, property: &str, variant: &Variant) -> Value {
        to_value(class, property, variant, &|to| self.reference_target(to))
    }

    fn reference_target(&self, referent: Ref) -> Option<Target> {
        let node = Node(node_of(referent)?);
        self.is_live(node).then(|| self.target(node))
    }

    /// Converts a value to the variant stored under a property of a class.
    pub(super) fn to_variant(
        &self,
        class: &str,
        property: &str,
        value: &Value,
    ) -> Result<Variant, Refusal> {
        Ok(match value {
            Value::Axes(v) => (*v).into(),
            Value::Binary(v) => Variant::BinaryString(v.clone().into()),
            Value::Bool(v) => (*v).into(),
            Value::BrickColor(v) => (*v).into(),
            Value::CFrame(v) => Self::normalize_frame(*v, class).into(),
            Value::Color3(v) if is_color_in_bytes(class, property) => Color3uint8::from(*v).into(),
            Value::Color3(v) => (*v).into(),
            Value::Color3uint8(v) => (*v).into(),
            Value::ColorSequence(v) => v.clone().into(),
            Value::Content(v) => self.content_variant(v)?,
            Value::ContentId(v) => Variant::ContentId(v.as_str().into()),
            Value::EnumItem(v) => enum_variant(v, class.is_empty())?,
            Value::Faces(v) => (*v).into(),
            Value::Float32(v) => (*v).into(),
            Value::Float64(v) => (*v).into(),
            Value::Font(v) => v.clone().into(),
            Value::Int32(v) => (*v).into(),
            Value::Int64(v) => (*v).into(),
            Value::MaterialColors(v) => v.as_ref().clone().into(),
            Value::NetAssetRef(v) => rbx_types::NetAssetRef::new(v.clone()).into(),
            Value::NumberRange(v) => (*v).into(),
            Value::NumberSequence(v) => v.clone().into(),
            Value::OptionalCFrame(v) => {
                Variant::OptionalCFrame(v.map(|v| Self::normalize_frame(v, class)))
            }
            Value::PhysicalProperties(v) => (*v).into(),
            Value::Ray(v) => (*v).into(),
            Value::Rect(v) => (*v).into(),
            Value::Ref(v) => Variant::Ref(self.target_referent(v.as_ref())?),
            Value::Region3(v) => (*v).into(),
            Value::Region3int16(v) => (*v).into(),
            Value::SecurityCapabilities(v) => SecurityCapabilities::from_bits(*v).into(),
            Value::SharedString(v) => SharedString::new(v.clone()).into(),
            Value::String(v) => {
                self.check_text(v)?;
                v.clone().into()
            }
            Value::Tags(v) => Variant::Tags(to_tags(v)),
            Value::UDim(v) => (*v).into(),
            Value::UDim2(v) => (*v).into(),
            Value::UniqueId(v) => (*v).into(),
            Value::Vector2(v) => (*v).into(),
            Value::Vector2int16(v) => (*v).into(),
            Value::Vector3(v) => (*v).into(),
            Value::Vector3int16(v) => (*v).into(),
            Value::Attributes(v) => Variant::Attributes(self.to_attributes(v)?),
        })
    }

    /// Returns a frame as a file will hold it. Attributes encode axis-aligned rotations as numbers,
    /// so a rotation close to one of them is stored as exactly that one.
    fn normalize_frame(mut frame: CFrame, class: &str) -> CFrame {
        let id = frame.orientation.to_basic_rotation_id().filter(|_| class.is_empty());
        if let Some(exact) = id.and_then(|id| Matrix3::from_basic_rotation_id(id).ok()) {
            frame.orientation = exact;
        }
        frame
    }

    /// Returns a stored value as it will be after writing and rereading the file.
    pub(super) fn round_trip_value(class: &str, value: Value) -> Value {
        match value {
            Value::CFrame(v) => Value::CFrame(Self::normalize_frame(v, class)),
            Value::OptionalCFrame(v) => {
                Value::OptionalCFrame(v.map(|v| Self::normalize_frame(v, class)))
            }
            Value::Attributes(all) => {
                let written = |(key, value)| (key, Self::round_trip_value("", value));
                Value::Attributes(all.into_iter().map(written).collect())
            }
            other => other,
        }
    }

    /// Refuses text that the scene's format cannot hold.
    pub fn check_text(&self, text: &str) -> Result<(), Refusal> {
        match self.format() {
            FileFormat::Binary => Ok(()),
            FileFormat::Xml => xml::check_text(text).map_err(Refusal),
        }
    }

    fn to_attributes(&self, all: &BTreeMap<String, Value>) -> Result<Attributes, Refusal> {
        let mut attributes = Attributes::new();
        for (name, value) in all {
            attributes.insert(name.clone(), self.to_variant("", "", value)?);
        }
        Ok(attributes)
    }

    fn content_variant(&self, content: &Content) -> Result<Variant, Refusal> {
        Ok(Variant::Content(match content {
            Content::None => rbx_types::Content::none(),
            Content::Uri(uri) => rbx_types::Content::from_uri(uri.clone()),
            Content::Object(target) => {
                rbx_types::Content::from_referent(self.target_referent(target.as_ref())?)
            }
        }))
    }

    fn target_referent(&self, target: Option<&scene_schemas::Target>) -> Result<Ref, Refusal> {
        let Some(target) = target else {
            return Ok(Ref::none());
        };
        match self.locate(target)? {
            root if root == self.root() => {
                refuse!("`game` itself cannot be referred to in a file.")
            }
            node => Ok(reference_to(node.0)),
        }
    }

    /// Computes a derived property from the stored one.
    pub(super) fn derive_value(&self, node: Node, derived: DerivedProperty) -> Option<Value> {
        match derived {
            DerivedProperty::Enabled => match self.value(node, "Disabled")? {
                Value::Bool(disabled) => Some(Value::Bool(!disabled)),
                _ => None,
            },
            DerivedProperty::Position => Some(Value::Vector3(self.stored_cframe(node)?.position)),
            DerivedProperty::Orientation => {
                Some(Value::Vector3(orientation_degrees(&self.stored_cframe(node)?)))
            }
        }
    }

    pub(super) fn stored_cframe(&self, node: Node) -> Option<CFrame> {
        match self.value(node, "CFrame")? {
            Value::CFrame(cframe) => Some(cframe),
            _ => None,
        }
    }
}

/// Converts a stored variant to a value. Class and property determine what a number or colour means.
/// `target_of` returns the target of a reference.
pub(super) fn to_value(
    class: &str,
    property: &str,
    variant: &Variant,
    target_of: &dyn Fn(Ref) -> Option<Target>,
) -> Value {
    match variant {
        Variant::Axes(v) => Value::Axes(*v),
        Variant::BinaryString(v) => binary_value(v.as_ref(), class),
        Variant::Bool(v) => Value::Bool(*v),
        Variant::BrickColor(v) => Value::BrickColor(*v),
        Variant::CFrame(v) => Value::CFrame(*v),
        Variant::Color3(v) => Value::Color3(*v),
        Variant::Color3uint8(v) => color_value(*v, class, property),
        Variant::ColorSequence(v) => Value::ColorSequence(v.clone()),
        Variant::ContentId(v) => Value::ContentId(v.as_str().to_owned()),
        Variant::Enum(v) => Value::EnumItem(enum_item(class, property, v.to_u32())),
        Variant::EnumItem(v) => Value::EnumItem(named_item(&v.ty, v.value)),
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
        Variant::Ref(v) => Value::Ref(target_of(*v)),
        Variant::Region3(v) => Value::Region3(*v),
        Variant::Region3int16(v) => Value::Region3int16(*v),
        Variant::SecurityCapabilities(v) => Value::SecurityCapabilities(v.bits()),
        Variant::SharedString(v) => Value::SharedString(v.data().to_vec()),
        Variant::String(v) => Value::String(v.clone()),
        Variant::Tags(v) => Value::Tags(v.iter().map(str::to_owned).collect()),
        Variant::UDim(v) => Value::UDim(*v),
        Variant::UDim2(v) => Value::UDim2(*v),
        Variant::UniqueId(v) => Value::UniqueId(*v),
        Variant::Vector2(v) => Value::Vector2(*v),
        Variant::Vector2int16(v) => Value::Vector2int16(*v),
        Variant::Vector3(v) => Value::Vector3(*v),
        Variant::Vector3int16(v) => Value::Vector3int16(*v),
        Variant::Attributes(v) => Value::Attributes(
            v.iter().map(|(name, v)| (name.clone(), to_value("", "", v, target_of))).collect(),
        ),
        other => rare_to_value(other, target_of),
    }
}

/// Converts variants that need a closer look. A variant added by a later rbx_types is shown as
/// binary data without content: it is kept in the file and cannot be edited.
fn rare_to_value(variant: &Variant, target_of: &dyn Fn(Ref) -> Option<Target>) -> Value {
    let Variant::Content(content) = variant else {
        return Value::Binary(Vec::new());
    };
    Value::Content(match content.value() {
        ContentType::Uri(uri) => Content::Uri(uri.clone()),
        // A reference to a deleted object becomes empty, as it will be in the file.
        ContentType::Object(referent) => {
            target_of(*referent).map_or(Content::None, |target| Content::Object(Some(target)))
        }
        _ => Content::None,
    })
}

/// Returns the rotation of a frame in degrees, like Roblox's `Orientation`: applied in order Y, X,
/// Z.
fn orientation_degrees(cframe: &CFrame) -> Vector3 {
    let m = &cframe.orientation;
    let x = (-m.y.z).clamp(-1.0, 1.0).asin();
    let (y, z) = if m.y.z.abs() < 0.999_999 {
        (m.x.z.atan2(m.z.z), m.y.x.atan2(m.y.y))
    } else {
        // At straight up or down, only the sum of the other two angles is defined.
        ((-m.z.x).atan2(m.x.x), 0.0)
    };
    Vector3::new(x.to_degrees(), y.to_degrees(), z.to_degrees())
}

/// Converts stored bytes to a value. Attributes store strings as bytes, so valid text becomes a
/// string.
fn binary_value(bytes: &[u8], class: &str) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if class.is_empty() => Value::String(text.to_owned()),
        _ => Value::Binary(bytes.to_vec()),
    }
}

/// Whether files store the colour of a property in bytes.
fn is_color_in_bytes(class: &str, property: &str) -> bool {
    matches!(reflection::property_access(class, property), Some(PropertyAccess::Stored(found)) if found.is_color_in_bytes)
}

/// Converts a colour in bytes to the type that the property has for scripts.
fn color_value(bytes: Color3uint8, class: &str, property: &str) -> Value {
    let is_color3 = matches!(
        reflection::property_access(class, property),
        Some(PropertyAccess::Stored(found)) if matches!(found.ty, DataType::Value(VariantType::Color3))
    );
    if is_color3 { Value::Color3(Color3::from(bytes)) } else { Value::Color3uint8(bytes) }
}

fn enum_item(class: &str, property: &str, value: u32) -> EnumItem {
    match reflection::property_access(class, property) {
        Some(PropertyAccess::Stored(found)) => match found.ty {
            DataType::Enum(name) => named_item(name, value),
            _ => named_item("", value),
        },
        _ => named_item("", value),
    }
}

fn named_item(enum_type: &str, value: u32) -> EnumItem {
    let item = reflection::enum_name(enum_type, value)
        .map_or(EnumName::Number(value), |name| EnumName::Name(name.to_owned()));
    EnumItem { enum_type: enum_type.to_owned(), item }
}

fn enum_variant(item: &EnumItem, in_attribute: bool) -> Result<Variant, Refusal> {
    let value = match &item.item {
        EnumName::Name(name) => reflection::enum_value(&item.enum_type, name)?,
        EnumName::Number(number) => *number,
    };
    if !in_attribute {
        return Ok(rbx_types::Enum::from_u32(value).into());
    }
    if item.enum_type.is_empty() {
        return refuse!("An enum item in an attribute needs its enum's name.");
    }
    Ok(rbx_types::EnumItem { ty: item.enum_type.clone(), value }.into())
}

fn to_tags(names: &[String]) -> Tags {
    let mut tags = Tags::new();
    for name in names {
        tags.push(name);
    }
    tags
}
