//! What Roblox says of classes, properties and enums: the bundled reflection database, asked in the
//! words of tools.
//!
//! The database knows no methods, events or documentation. A newer database in the user's home is
//! deliberately not read: the same input must give the same fingerprints everywhere.

use rbx_reflection::{
    ClassDescriptor, ClassTag, DataType, PropertyDescriptor, PropertyKind, PropertyMigration,
    PropertySerialization, ReflectionDatabase, Scriptability,
};
use rbx_types::{Variant, VariantType};
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};

/// The bundled database.
pub fn database() -> &'static ReflectionDatabase<'static> {
    rbx_reflection_database::get_bundled()
}

/// A class of this name, where there is one.
pub fn class(name: &str) -> Option<&'static ClassDescriptor<'static>> {
    database().classes.get(name)
}

/// Whether instances of a class count as instances of another, as `IsA` says. An unknown class is
/// only itself.
pub fn is_a(name: &str, ancestor: &str) -> bool {
    name == ancestor
        || ancestor == "Instance"
        || class(name).is_some_and(|class| {
            database().superclasses_iter(class).any(|class| class.name == ancestor)
        })
}

/// Whether a class holds a script's text in `Source`.
pub fn is_script(name: &str) -> bool {
    is_a(name, "LuaSourceContainer")
}

/// Whether a class is a service: made by the engine, one of each, directly below `game`.
pub fn is_service(name: &str) -> bool {
    class(name).is_some_and(|class| class.tags.contains(&ClassTag::Service))
}

/// A class that an edit may create.
pub fn creatable(name: &str) -> Result<&'static ClassDescriptor<'static>, Refusal> {
    let Some(found) = class(name) else {
        let near = did_you_mean(name, database().classes.keys().copied());
        return refuse!("There is no class `{name}`.{near}");
    };
    if found.tags.contains(&ClassTag::Service) {
        return refuse!("`{name}` is a service: it is made by the engine and cannot be created.");
    }
    if found.tags.contains(&ClassTag::NotCreatable) {
        return refuse!(
            "`{name}` cannot be created: it is abstract or made by the engine. Name a concrete \
             class, such as Part, Folder or Script."
        );
    }
    Ok(found)
}

/// A property as the file formats store it.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// The name under which it is stored.
    pub name: &'static str,
    /// Its type.
    pub ty: &'static DataType<'static>,
    /// Colours that a file holds in bytes are rounded when they are set, so that a fingerprint is
    /// the same before and after the file.
    pub colour_in_bytes: bool,
}

/// How a property that an edit names is reached.
#[derive(Debug, Clone, Copy)]
pub enum Access {
    /// It is stored under this name.
    Stored(Property),
    /// It was replaced by other properties, which all take the translated value.
    Migrated(Migrated),
    /// It is not stored; another property holds it in another form.
    Derived(Derived),
}

/// A property of the past and what stands for it now.
#[derive(Debug, Clone, Copy)]
pub struct Migrated {
    /// The properties that stand for it, at least one.
    pub to: &'static [&'static str],
    /// How a value is translated.
    pub migration: &'static PropertyMigration<'static>,
    /// The type that it had.
    pub ty: &'static DataType<'static>,
}

/// Properties that follow from a stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// `Position` of a part or attachment: the position in `CFrame`.
    Position,
    /// `Orientation` or `Rotation`, in degrees, applied in the order Y, X, Z: the rotation in
    /// `CFrame`.
    Orientation,
    /// `Enabled` of a script: not `Disabled`.
    Enabled,
}

/// The descriptor of a property of a class, or of its superclasses.
fn descriptor(class_name: &str, property: &str) -> Option<&'static PropertyDescriptor<'static>> {
    found(class_name, property).map(|(_, found)| found)
}

/// All property names of a class, its superclasses' included.
pub fn property_names(class_name: &str) -> impl Iterator<Item = &'static str> {
    class(class_name)
        .into_iter()
        .flat_map(|class| database().superclasses_iter(class))
        .flat_map(|class| class.properties.keys().copied())
}

/// How a property is reached, where it is one of the class and is kept in files.
pub fn access(class_name: &str, property: &str) -> Option<Access> {
    let found = descriptor(class_name, property)?;
    match &found.kind {
        PropertyKind::Alias { alias_for } => access(class_name, alias_for),
        PropertyKind::Canonical { serialization } => match serialization {
            PropertySerialization::Serializes | PropertySerialization::SerializesAs(_) => {
                Some(Access::Stored(stored(found, serialization)))
            }
            PropertySerialization::Migrate(migration) => {
                let to = migration.new_property_names();
                let ty = &found.data_type;
                Some(Access::Migrated(Migrated { to, migration, ty }))
            }
            _ => derived(class_name, property).map(Access::Derived),
        },
        _ => None,
    }
}

fn stored(
    found: &'static PropertyDescriptor<'static>,
    serialization: &PropertySerialization<'_>,
) -> Property {
    Property {
        name: found.name,
        ty: &found.data_type,
        colour_in_bytes: matches!(serialization, PropertySerialization::SerializesAs(name)
            if *name == "Color3uint8"),
    }
}

fn derived(class_name: &str, property: &str) -> Option<Derived> {
    let posed = is_a(class_name, "BasePart") || is_a(class_name, "Attachment");
    match property {
        "Position" if posed => Some(Derived::Position),
        "Orientation" | "Rotation" if posed => Some(Derived::Orientation),
        "Enabled" if is_a(class_name, "BaseScript") => Some(Derived::Enabled),
        _ => None,
    }
}

/// What a name that stands in a file means.
#[derive(Debug, Clone, Copy)]
pub enum Known {
    /// A property, under the name that scripts use, and its type.
    Shown(&'static str, VariantType),
    /// A property of the past, of this type; others stand for it now.
    Replaced(VariantType, &'static PropertyMigration<'static>),
    /// A property that is not kept in files; older files may have it.
    Hidden,
    /// Reflection does not know it.
    Unknown,
}

/// What a name that stands in a file means for a class.
pub fn known(class_name: &str, stored: &str) -> Known {
    let Some((class, found)) = found(class_name, stored) else {
        return Known::Unknown;
    };
    let canonical = match &found.kind {
        PropertyKind::Alias { alias_for } => class.properties.get(alias_for),
        _ => Some(found),
    };
    let Some(PropertyDescriptor { name, data_type, kind, .. }) = canonical else {
        return Known::Unknown;
    };
    match kind {
        PropertyKind::Canonical { serialization } => match serialization {
            PropertySerialization::DoesNotSerialize => Known::Hidden,
            PropertySerialization::Migrate(migration) => Known::Replaced(data_type.ty(), migration),
            _ => Known::Shown(name, data_type.ty()),
        },
        _ => Known::Unknown,
    }
}

/// The properties that a name that stands in a file has a value for.
pub fn meant(class_name: &str, stored: &str) -> Vec<&'static str> {
    match known(class_name, stored) {
        Known::Shown(name, _) => vec![name],
        Known::Replaced(_, migration) => migration.new_property_names().to_vec(),
        Known::Hidden | Known::Unknown => Vec::new(),
    }
}

/// The name and type under which files have a property; none where reflection does not know it.
pub fn written(class_name: &str, property: &str) -> Option<(&'static str, VariantType)> {
    let (class, found) = found(class_name, property)?;
    let PropertyKind::Canonical { serialization } = &found.kind else {
        return None;
    };
    match serialization {
        PropertySerialization::Serializes => Some((found.name, found.data_type.ty())),
        PropertySerialization::SerializesAs(name) => {
            let found = class.properties.get(name)?;
            Some((found.name, found.data_type.ty()))
        }
        _ => None,
    }
}

/// A property of a class or of its superclasses, with the class that has it. A class that nobody
/// knows has what all instances have.
fn found(
    class_name: &str,
    property: &str,
) -> Option<(&'static ClassDescriptor<'static>, &'static PropertyDescriptor<'static>)> {
    database()
        .superclasses_iter(class(class_name).or_else(|| class("Instance"))?)
        .find_map(|class| Some((class, class.properties.get(property)?)))
}

/// The type that reflection declares for a property, by whatever name; none where the class or the
/// property is not known.
pub fn declared(class_name: &str, property: &str) -> Option<&'static DataType<'static>> {
    class(class_name)?;
    descriptor(class_name, property).map(|found| &found.data_type)
}

/// How a property may be written by an edit.
pub fn writable(class_name: &str, property: &str) -> Result<Access, Refusal> {
    match property {
        "Parent" => return refuse!("`Parent` is changed with move_instance."),
        "ClassName" => {
            return refuse!(
                "A class cannot be changed: create a new instance and delete this one."
            );
        }
        "Source" if is_script(class_name) => {
            return refuse!(
                "A script's text is changed with write_script, apply_edit or replace_text."
            );
        }
        "UniqueId" | "HistoryId" => {
            return refuse!("`{property}` belongs to the engine and cannot be set.");
        }
        "Attributes" | "AttributesSerialize" => {
            return refuse!(
                "Attributes are set one by one, as properties with `@`: \"@Speed\": 5."
            );
        }
        _ => {}
    }
    let Some(found) = descriptor(class_name, property) else {
        if class(class_name).is_none() {
            return refuse!(
                "The class `{class_name}` is not known, so its `{property}` cannot be set."
            );
        }
        let near = did_you_mean(property, property_names(class_name));
        return refuse!("`{property}` is not a property of {class_name}.{near}");
    };
    if let Some(access) = access(class_name, property) {
        return Ok(access);
    }
    let why = if matches!(found.scriptability, Scriptability::Read) {
        "it is read-only"
    } else {
        "it is computed while the game runs and is not kept in a place"
    };
    refuse!("`{property}` of {class_name} cannot be set: {why}.")
}

/// The default of a stored property; none where reflection knows no default.
pub fn default_of(class_name: &str, property: &str) -> Option<&'static Variant> {
    database().find_default_property(class(class_name)?, property)
}

/// The number of an enum's item.
pub fn enum_value(enum_type: &str, item: &str) -> Result<u32, Refusal> {
    let Some(found) = database().enums.get(enum_type) else {
        let near = did_you_mean(enum_type, database().enums.keys().copied());
        return refuse!("There is no enum `{enum_type}`.{near}");
    };
    found.items.get(item).copied().ok_or_else(|| {
        let near = did_you_mean(item, found.items.keys().copied());
        let mut names: Vec<_> = found.items.keys().copied().collect();
        names.sort_unstable();
        let list = if names.len() <= 12 && near.is_empty() {
            format!(" It has {}.", names.join(", "))
        } else {
            near
        };
        Refusal(format!("Enum.{enum_type} has no item `{item}`.{list}"))
    })
}

/// The name of an enum's item; the first in the alphabet where several share a number.
pub fn enum_name(enum_type: &str, value: u32) -> Option<&'static str> {
    let items = &database().enums.get(enum_type)?.items;
    items.iter().filter(|(_, number)| **number == value).map(|(name, _)| *name).min()
}

/// The type of a stored property, in Roblox's words.
pub fn type_name(ty: &DataType<'_>) -> String {
    match ty {
        DataType::Enum(name) => format!("Enum.{name}"),
        DataType::Value(VariantType::Float32 | VariantType::Float64) => "number".to_owned(),
        DataType::Value(VariantType::Int32 | VariantType::Int64) => "whole number".to_owned(),
        DataType::Value(VariantType::Bool) => "boolean".to_owned(),
        DataType::Value(VariantType::String) => "string".to_owned(),
        DataType::Value(VariantType::Ref) => "instance reference".to_owned(),
        DataType::Value(other) => format!("{other:?}"),
        _ => "a type that is not known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_resolved_to_what_is_stored() {
        let name = |class, property| match access(class, property) {
            Some(Access::Stored(property)) => property.name,
            Some(Access::Migrated(migrated)) => migrated.to[0],
            Some(Access::Derived(_)) => "derived",
            None => "none",
        };
        assert_eq!(name("Part", "size"), "Size");
        assert_eq!(name("Part", "BrickColor"), "Color");
        assert_eq!(name("Part", "Position"), "derived");
        assert_eq!(name("Frame", "Position"), "Position");
        assert_eq!(name("Decal", "Texture"), "TextureContent");
        assert_eq!(name("UICorner", "CornerRadius"), "BottomLeftRadius");
        assert_eq!(name("Script", "Enabled"), "derived");
        assert_eq!(name("Humanoid", "Health"), "none");
    }

    #[test]
    fn refusals_say_what_is_near() {
        let said = |class, property| writable(class, property).unwrap_err().0;
        assert!(said("Part", "Colour").contains("`Color`"));
        assert!(said("Part", "Parent").contains("move_instance"));
        assert!(creatable("Prat").unwrap_err().0.contains("`Part`"));
        assert!(creatable("BasePart").unwrap_err().0.contains("abstract"));
        assert!(creatable("Workspace").unwrap_err().0.contains("service"));
        assert!(enum_value("Material", "Noen").unwrap_err().0.contains("`Neon`"));
    }
}
