//! Reads property values that a model wrote: tolerant where reflection determines the type,
//! otherwise a refusal with an example.
//!
//! `[0, 1, 0]`, `"Neon"`, `"#ff8800"` and the strict printed forms all become typed values under
//! the names that files store. Non-finite numbers are refused.

mod forms;

use rbx_reflection::DataType;
use rbx_types::{CFrame, Color3uint8, Matrix3, VariantType, Vector2int16, Vector3, Vector3int16};
use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::value::{EnumItem, EnumName};
use scene_schemas::{InstancePath, Value};
use serde_json::Value as Json;

use self::forms::{
    ReadResult, read_bool, read_brick_color, read_cframe, read_color, read_content, read_double,
    read_float, read_font, read_int, read_int16s, read_long, read_number_range, read_rect,
    read_string, read_tags, read_udim, read_udim2, read_vector2, read_vector3, rotation_matrix,
};
use super::reflection::{self, DerivedProperty, MigratedProperty, PropertyAccess};
use super::{Node, Scene};

/// The owner of the properties to read.
#[derive(Debug, Clone, Copy)]
pub enum PropertyOwner<'a> {
    /// An instance of the scene.
    Node(Node),
    /// An instance of this class that is about to be created.
    New(&'a str),
}

impl<'a> PropertyOwner<'a> {
    fn class_name(self, scene: &'a Scene) -> &'a str {
        match self {
            Self::Node(node) => scene.class(node),
            Self::New(class) => class,
        }
    }
}

/// Reads a table of properties that a model wrote.
///
/// # Errors
/// A property does not exist or cannot be set, or a value has the wrong type.
pub fn read_props(
    scene: &Scene,
    owner: PropertyOwner<'_>,
    props: &serde_json::Map<String, Json>,
) -> Result<Props, Refusal> {
    let mut read = Props::new();
    for (name, json) in props {
        read_property(scene, owner, name, json, &mut read)?;
    }
    Ok(read)
}

/// Reads one property and adds the resulting stored properties to `into`.
///
/// # Errors
/// See [`read_props`].
pub fn read_property(
    scene: &Scene,
    owner: PropertyOwner<'_>,
    name: &str,
    json: &Json,
    into: &mut Props,
) -> Result<(), Refusal> {
    let class = owner.class_name(scene);
    if let Some(key) = name.strip_prefix('@') {
        check_attribute_name(key)?;
        let value = match json {
            Json::Null => None,
            json => Some(read_attribute(json).map_err(|why| wrong_value(class, name, &why))?),
        };
        into.insert(name.to_owned(), value);
        return Ok(());
    }
    match reflection::writable_access(class, name)? {
        PropertyAccess::Stored(found) => {
            if json.is_null() && !matches!(found.ty, DataType::Value(VariantType::Ref)) {
                if name == "Name" {
                    return Err(wrong_value(class, name, "a string is needed"));
                }
                into.insert(found.name.to_owned(), None);
                return Ok(());
            }
            let value =
                read_typed(scene, found.ty, json).map_err(|why| wrong_value(class, name, &why))?;
            into.insert(found.name.to_owned(), Some(value));
        }
        PropertyAccess::Migrated(migrated) => {
            let value = migrate_value(scene, class, name, &migrated, json)?;
            for name in migrated.to {
                into.insert((*name).to_owned(), value.clone());
            }
        }
        PropertyAccess::Derived(derived) => {
            let (name, value) = store_derived(scene, owner, name, derived, json, into)?;
            into.insert(name.to_owned(), Some(value));
        }
    }
    Ok(())
}

fn wrong_value(class: &str, name: &str, why: &str) -> Refusal {
    let end = if why.ends_with('?') { "" } else { "." };
    Refusal(format!("`{name}` of {class}: {why}{end}"))
}

fn check_attribute_name(key: &str) -> Result<(), Refusal> {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if key.is_empty() || key.len() > 100 || !plain || key.starts_with("RBX") {
        return refuse!(
            "`@{key}` cannot be an attribute: a name has 1 to 100 letters, digits and `_`, and does \
             not begin with RBX."
        );
    }
    Ok(())
}

fn migrate_value(
    scene: &Scene,
    class: &str,
    name: &str,
    migrated: &MigratedProperty,
    json: &Json,
) -> Result<Option<Value>, Refusal> {
    if json.is_null() {
        return Ok(None);
    }
    let old = read_typed(scene, migrated.ty, json).map_err(|why| wrong_value(class, name, &why))?;
    let old = scene.to_variant(class, name, &old)?;
    let new = migrated.migration.perform(&old).map_err(|_| {
        wrong_value(
            class,
            name,
            &format!("this value has no counterpart; set `{}`", migrated.to[0]),
        )
    })?;
    Ok(Some(scene.to_value(class, migrated.to[0], &new)))
}

/// Converts a derived property to the stored one that holds it.
fn store_derived(
    scene: &Scene,
    owner: PropertyOwner<'_>,
    name: &str,
    derived: DerivedProperty,
    json: &Json,
    so_far: &Props,
) -> Result<(&'static str, Value), Refusal> {
    let class = owner.class_name(scene);
    if derived == DerivedProperty::Enabled {
        let on = read_bool(json).map_err(|why| wrong_value(class, name, &why))?;
        return Ok(("Disabled", Value::Bool(!on)));
    }
    let vector = read_vector3(json).map_err(|why| wrong_value(class, name, &why))?;
    let current = match (so_far.get("CFrame"), owner) {
        (Some(Some(Value::CFrame(cframe))), _) => Some(*cframe),
        (_, PropertyOwner::Node(node)) => scene.stored_cframe(node),
        _ => None,
    };
    let mut cframe =
        current.unwrap_or_else(|| CFrame::new(Vector3::new(0.0, 0.0, 0.0), Matrix3::identity()));
    match derived {
        DerivedProperty::Position => cframe.position = vector,
        _ => cframe.orientation = rotation_matrix(vector),
    }
    Ok(("CFrame", Value::CFrame(cframe)))
}

fn read_typed(scene: &Scene, ty: &DataType<'_>, json: &Json) -> ReadResult<Value> {
    let ty = match ty {
        DataType::Enum(name) => return enum_item(name, json).map(Value::EnumItem),
        DataType::Value(ty) => *ty,
        _ => return Err("its type is not known and cannot be set".to_owned()),
    };
    if ty == VariantType::Ref {
        return read_reference(scene, json);
    }
    if let Some(strict) = read_strict(ty, json) {
        return strict;
    }
    Ok(match ty {
        VariantType::Bool => Value::Bool(read_bool(json)?),
        VariantType::String => Value::String(read_string(json)?),
        VariantType::ContentId => Value::ContentId(read_string(json)?),
        VariantType::Content => Value::Content(read_content(json)?),
        VariantType::Float32 => Value::Float32(read_float(json)?),
        VariantType::Float64 => Value::Float64(read_double(json)?),
        VariantType::Int32 => Value::Int32(read_int(json)?),
        VariantType::Int64 => Value::Int64(read_long(json)?),
        VariantType::Vector3 => Value::Vector3(read_vector3(json)?),
        VariantType::Vector2 => Value::Vector2(read_vector2(json)?),
        VariantType::Vector3int16 => {
            let [x, y, z] = read_int16s(json)?;
            Value::Vector3int16(Vector3int16::new(x, y, z))
        }
        VariantType::Vector2int16 => {
            let [x, y] = read_int16s(json)?;
            Value::Vector2int16(Vector2int16::new(x, y))
        }
        VariantType::CFrame => Value::CFrame(read_cframe(json)?),
        VariantType::OptionalCFrame => Value::OptionalCFrame(Some(read_cframe(json)?)),
        VariantType::Color3 => Value::Color3(read_color(json)?),
        VariantType::Color3uint8 => Value::Color3uint8(Color3uint8::from(read_color(json)?)),
        VariantType::BrickColor => Value::BrickColor(read_brick_color(json)?),
        VariantType::UDim => Value::UDim(read_udim(json)?),
        VariantType::UDim2 => Value::UDim2(read_udim2(json)?),
        VariantType::NumberRange => Value::NumberRange(read_number_range(json)?),
        VariantType::Rect => Value::Rect(read_rect(json)?),
        VariantType::Font => Value::Font(read_font(json)?),
        VariantType::Tags => Value::Tags(read_tags(json)?),
        other => {
            return Err(format!(
                "a {other:?} is needed, in the form that get_properties shows, with \"__t\":\
                 \"{other:?}\""
            ));
        }
    })
}

/// Reads a strict form whose `__t` is the wanted type. None if the tolerant reader should try
/// instead: there is no `__t`, or it names an interchangeable type, such as another number type.
/// Any other `__t` is an error.
fn read_strict(ty: VariantType, json: &Json) -> Option<ReadResult<Value>> {
    let named = json.get("__t")?.as_str().unwrap_or_default();
    let named = match named {
        // Luau's type names.
        "boolean" => "Bool",
        "number" => "Float64",
        "string" => "String",
        named => named,
    };
    let wanted = format!("{ty:?}");
    let alike = ["Color3", "Color3uint8", "CFrame", "OptionalCFrame", "Content", "ContentId"];
    if named != wanted {
        let near = alike.chunks(2).any(|pair| pair.contains(&named) && pair.contains(&&*wanted));
        let is_number = |name: &str| name.starts_with("Float") || name.starts_with("Int");
        if near || (is_number(named) && is_number(&wanted)) {
            return None;
        }
        return Some(Err(format!("a {wanted} is needed, not a {named}")));
    }
    if !is_finite(json) {
        return Some(Err("every number must be finite".to_owned()));
    }
    match serde_json::from_value::<Value>(json.clone()) {
        Ok(Value::Ref(_)) => None,
        Ok(value) => Some(Ok(value)),
        // The tolerant readers know the same fields and report better what is missing.
        Err(error) if can_read_object(ty) => {
            let _ = error;
            None
        }
        Err(error) => Some(Err(error.to_string())),
    }
}

/// Whether the tolerant reader of a type accepts an object with named parts.
fn can_read_object(ty: VariantType) -> bool {
    matches!(
        ty,
        VariantType::Bool
            | VariantType::String
            | VariantType::Float32
            | VariantType::Float64
            | VariantType::Int32
            | VariantType::Int64
            | VariantType::Vector3
            | VariantType::Vector2
            | VariantType::Color3
            | VariantType::Color3uint8
            | VariantType::CFrame
            | VariantType::OptionalCFrame
            | VariantType::UDim
            | VariantType::UDim2
            | VariantType::NumberRange
            | VariantType::Rect
            | VariantType::Font
            | VariantType::BrickColor
    )
}

/// Whether no number in the JSON is written as `inf` or `nan`.
fn is_finite(json: &Json) -> bool {
    match json {
        Json::String(text) => !matches!(text.as_str(), "inf" | "-inf" | "nan"),
        Json::Array(items) => items.iter().all(is_finite),
        Json::Object(map) => map.values().all(is_finite),
        _ => true,
    }
}

/// Reads an attribute: plain JSON, or a strict form.
fn read_attribute(json: &Json) -> ReadResult<Value> {
    match json {
        Json::Bool(v) => Ok(Value::Bool(*v)),
        Json::Number(_) => read_double(json).map(Value::Float64),
        Json::String(v) => Ok(Value::String(v.clone())),
        Json::Object(_) if is_finite(json) => {
            let value = match serde_json::from_value(json.clone()) {
                Ok(value) => value,
                Err(error) => read_named_form(json).unwrap_or_else(|| Err(error.to_string()))?,
            };
            match value {
                Value::Bool(_)
                | Value::String(_)
                | Value::Float32(_)
                | Value::Float64(_)
                | Value::UDim(_)
                | Value::UDim2(_)
                | Value::BrickColor(_)
                | Value::Color3(_)
                | Value::Vector2(_)
                | Value::Vector3(_)
                | Value::CFrame(_)
                | Value::EnumItem(_)
                | Value::NumberSequence(_)
                | Value::ColorSequence(_)
                | Value::NumberRange(_)
                | Value::Rect(_)
                | Value::Font(_) => Ok(value),
                Value::Int32(v) => Ok(Value::Float64(f64::from(v))),
                other => Err(format!("an attribute cannot hold a {}", other.type_name())),
            }
        }
        _ => Err(
            "an attribute is true, false, a number, a string, or a value with \"__t\", such as \
                  {\"__t\":\"Vector3\",\"x\":0,\"y\":1,\"z\":0}"
                .to_owned(),
        ),
    }
}

/// Reads a tolerant form by the type it names. None if there is no tolerant form for that type.
fn read_named_form(json: &Json) -> Option<ReadResult<Value>> {
    Some(match json.get("__t")?.as_str()? {
        "boolean" | "Bool" => read_bool(json).map(Value::Bool),
        "number" | "Float64" => read_double(json).map(Value::Float64),
        "string" | "String" => read_string(json).map(Value::String),
        "Vector3" => read_vector3(json).map(Value::Vector3),
        "Vector2" => read_vector2(json).map(Value::Vector2),
        "CFrame" => read_cframe(json).map(Value::CFrame),
        "Color3" => read_color(json).map(Value::Color3),
        "BrickColor" => read_brick_color(json).map(Value::BrickColor),
        "UDim" => read_udim(json).map(Value::UDim),
        "UDim2" => read_udim2(json).map(Value::UDim2),
        "NumberRange" => read_number_range(json).map(Value::NumberRange),
        "Rect" => read_rect(json).map(Value::Rect),
        "Font" => read_font(json).map(Value::Font),
        "EnumItem" => {
            let enum_type = enum_type_name(json).ok_or_else(|| "`enum` is missing".to_owned());
            enum_type.and_then(|name| enum_item(name, json)).map(Value::EnumItem)
        }
        _ => return None,
    })
}

/// Returns the enum that a form names, with or without `Enum.`.
fn enum_type_name(json: &Json) -> Option<&str> {
    let enum_type = ["enum", "enumType"].into_iter().find_map(|name| json.get(name)?.as_str())?;
    Some(enum_type.strip_prefix("Enum.").unwrap_or(enum_type))
}

/// Reads an enum item: its name, `Enum.Material.Neon`, its number, or the strict form.
fn enum_item(enum_type: &str, json: &Json) -> ReadResult<EnumItem> {
    if let Some(named_type) = enum_type_name(json)
        && named_type != enum_type
    {
        return Err(format!("an item of Enum.{enum_type} is needed, not of Enum.{named_type}"));
    }
    let item = json.get("name").or_else(|| json.get("value")).unwrap_or(json);
    let name = match item {
        Json::String(text) => {
            let front = format!("Enum.{enum_type}.");
            let name = text.strip_prefix(&front).unwrap_or(text);
            reflection::enum_value(enum_type, name).map_err(|refusal| {
                let reason = refusal.0;
                reason.strip_suffix('.').map(str::to_owned).unwrap_or(reason)
            })?;
            name.to_owned()
        }
        json => {
            let number = json.as_u64().and_then(|n| u32::try_from(n).ok());
            number
                .and_then(|n| reflection::enum_name(enum_type, n))
                .ok_or_else(|| format!("an item of Enum.{enum_type} is needed, by its name"))?
                .to_owned()
        }
    };
    Ok(EnumItem { enum_type: enum_type.to_owned(), item: EnumName::Name(name) })
}

/// Reads a reference: a path, null, or the strict form.
fn read_reference(scene: &Scene, json: &Json) -> ReadResult<Value> {
    let text = match json {
        Json::Null => return Ok(Value::Ref(None)),
        Json::String(text) => text,
        Json::Object(map) => {
            // `target` is the printed form; other tools write `path`.
            let target = map.get("target").unwrap_or(json);
            match target.get("path").unwrap_or(target) {
                Json::Null => return Ok(Value::Ref(None)),
                Json::String(path) => return resolve_reference(scene, path),
                _ => return Err("`path` is missing: the path of an instance, or null".to_owned()),
            }
        }
        _ => return Err("the path of an instance is needed, or null".to_owned()),
    };
    resolve_reference(scene, text)
}

fn resolve_reference(scene: &Scene, text: &str) -> ReadResult<Value> {
    let path: InstancePath = text.parse().map_err(|error| format!("{error}"))?;
    let node = scene.resolve(&path).map_err(|refusal| refusal.0)?;
    Ok(Value::Ref(Some(scene.target(node))))
}

#[cfg(test)]
mod tests;
