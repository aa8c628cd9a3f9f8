//! Queries on the bundled reflection database: Roblox's classes, properties and enums.
//!
//! The database has no methods, events or documentation. A newer database in the user's home
//! directory is deliberately ignored: the same input must give the same fingerprints everywhere.

use std::collections::HashMap;
use std::sync::LazyLock;

use rbx_reflection::{
    ClassDescriptor, ClassTag, DataType, PropertyDescriptor, PropertyKind, PropertyMigration,
    PropertySerialization, ReflectionDatabase, Scriptability,
};
use rbx_types::{Variant, VariantType};
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};

pub fn database() -> &'static ReflectionDatabase<'static> {
    rbx_reflection_database::get_bundled()
}

/// Returns the class with a name; None if there is none.
pub fn find_class(name: &str) -> Option<&'static ClassDescriptor<'static>> {
    database().classes.get(name)
}

/// Whether a class is another class or inherits from it, like `IsA`. An unknown class is only
/// itself and an `Instance`.
pub fn is_a(name: &str, ancestor: &str) -> bool {
    name == ancestor
        || ancestor == "Instance"
        || find_class(name).is_some_and(|class| {
            database().superclasses_iter(class).any(|class| class.name == ancestor)
        })
}

/// Whether instances of a class hold script text in `Source`.
pub fn is_script(name: &str) -> bool {
    is_a(name, "LuaSourceContainer")
}

/// Whether a class is a service: a singleton that the engine creates directly below `game`.
pub fn is_service(name: &str) -> bool {
    find_class(name).is_some_and(|class| class.tags.contains(&ClassTag::Service))
}

/// Returns a class that an edit may create.
pub fn creatable_class(name: &str) -> Result<&'static ClassDescriptor<'static>, Refusal> {
    let Some(found) = find_class(name) else {
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
pub struct StoredProperty {
    /// The name in files.
    pub name: &'static str,
    pub ty: &'static DataType<'static>,
    /// Whether files store the colour in bytes. Such colours are rounded when they are set, so that
    /// a fingerprint is the same before and after saving.
    pub is_color_in_bytes: bool,
}

/// How a property named by an edit is accessed.
#[derive(Debug, Clone, Copy)]
pub enum PropertyAccess {
    /// The property is stored under this name.
    Stored(StoredProperty),
    /// The property was replaced by others, all of which get the translated value.
    Migrated(MigratedProperty),
    /// The property is not stored; another property holds it in another form.
    Derived(DerivedProperty),
}

/// A deprecated property and its replacements.
#[derive(Debug, Clone, Copy)]
pub struct MigratedProperty {
    /// The replacements, at least one.
    pub to: &'static [&'static str],
    /// The translation of a value.
    pub migration: &'static PropertyMigration<'static>,
    /// The type of the deprecated property.
    pub ty: &'static DataType<'static>,
}

/// Properties that are computed from a stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedProperty {
    /// `Position` of a part or attachment: the position in `CFrame`.
    Position,
    /// `Orientation` or `Rotation`, in degrees, applied in the order Y, X, Z: the rotation in
    /// `CFrame`.
    Orientation,
    /// `Enabled` of a script: not `Disabled`.
    Enabled,
}

/// Returns the descriptor of a property of a class, including inherited ones.
fn property_descriptor(
    class_name: &str,
    property: &str,
) -> Option<&'static PropertyDescriptor<'static>> {
    find_property(class_name, property).map(|(_, found)| found)
}

/// Returns all property names of a class, including inherited ones.
pub fn property_names(class_name: &str) -> impl Iterator<Item = &'static str> {
    find_class(class_name)
        .into_iter()
        .flat_map(|class| database().superclasses_iter(class))
        .flat_map(|class| class.properties.keys().copied())
}

/// Returns how a property is accessed; None if the class does not have it or files do not store it.
pub fn property_access(class_name: &str, property: &str) -> Option<PropertyAccess> {
    let found = property_descriptor(class_name, property)?;
    match &found.kind {
        PropertyKind::Alias { alias_for } => property_access(class_name, alias_for),
        PropertyKind::Canonical { serialization } => match serialization {
            PropertySerialization::Serializes | PropertySerialization::SerializesAs(_) => {
                Some(PropertyAccess::Stored(stored_access(found, serialization)))
            }
            PropertySerialization::Migrate(migration) => {
                let to = migration.new_property_names();
                let ty = &found.data_type;
                Some(PropertyAccess::Migrated(MigratedProperty { to, migration, ty }))
            }
            _ => derived_property(class_name, property).map(PropertyAccess::Derived),
        },
        _ => None,
    }
}

/// Returns one name for all properties, of any class, that hold the same value in other forms, such as
/// `Color` and `BrickColor`. A property that stands alone is its own group.
pub fn property_group(property: &str) -> &str {
    static GROUPS: LazyLock<HashMap<&str, &str>> = LazyLock::new(property_groups);
    GROUPS.get(property).copied().unwrap_or(property)
}

fn property_groups() -> HashMap<&'static str, &'static str> {
    let mut groups: HashMap<&str, &str> = HashMap::new();
    let mut join = |a: &'static str, b: &'static str| {
        let [a, b] = [a, b].map(|it| groups.get(it).copied().unwrap_or(it));
        for (from, to) in [(a, a.min(b)), (b, a.min(b))] {
            groups.values_mut().filter(|it| **it == from).for_each(|it| *it = to);
            groups.insert(from, to);
        }
    };
    for class in database().classes.values() {
        for property in class.properties.values() {
            match &property.kind {
                PropertyKind::Alias { alias_for } => join(property.name, alias_for),
                PropertyKind::Canonical {
                    serialization: PropertySerialization::Migrate(migration),
                } => {
                    migration.new_property_names().iter().for_each(|to| join(property.name, to));
                }
                PropertyKind::Canonical { .. } => {
                    match derived_property(class.name, property.name) {
                        Some(DerivedProperty::Position | DerivedProperty::Orientation) => {
                            join(property.name, "CFrame");
                        }
                        Some(DerivedProperty::Enabled) => join(property.name, "Disabled"),
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }
    groups
}

fn stored_access(
    found: &'static PropertyDescriptor<'static>,
    serialization: &PropertySerialization<'_>,
) -> StoredProperty {
    StoredProperty {
        name: found.name,
        ty: &found.data_type,
        is_color_in_bytes: matches!(serialization, PropertySerialization::SerializesAs(name)
            if *name == "Color3uint8"),
    }
}

fn derived_property(class_name: &str, property: &str) -> Option<DerivedProperty> {
    let posed = is_a(class_name, "BasePart") || is_a(class_name, "Attachment");
    match property {
        "Position" if posed => Some(DerivedProperty::Position),
        "Orientation" | "Rotation" if posed => Some(DerivedProperty::Orientation),
        "Enabled" if is_a(class_name, "BaseScript") => Some(DerivedProperty::Enabled),
        _ => None,
    }
}

/// The meaning of a property name found in a file.
#[derive(Debug, Clone, Copy)]
pub enum StoredNameKind {
    /// A property, under the name that scripts use, and its type.
    Shown(&'static str, VariantType),
    /// A deprecated property of this type, replaced by others.
    Replaced(VariantType, &'static PropertyMigration<'static>),
    /// A property that is no longer stored; older files may have it.
    Hidden,
    /// A property that reflection does not know.
    Unknown,
}

/// Returns the meaning for a class of a property name found in a file.
pub fn classify_name(class_name: &str, stored: &str) -> StoredNameKind {
    let Some((class, found)) = find_property(class_name, stored) else {
        return StoredNameKind::Unknown;
    };
    let canonical = match &found.kind {
        PropertyKind::Alias { alias_for } => class.properties.get(alias_for),
        _ => Some(found),
    };
    let Some(PropertyDescriptor { name, data_type, kind, .. }) = canonical else {
        return StoredNameKind::Unknown;
    };
    match kind {
        PropertyKind::Canonical { serialization } => match serialization {
            PropertySerialization::DoesNotSerialize => StoredNameKind::Hidden,
            PropertySerialization::Migrate(migration) => {
                StoredNameKind::Replaced(data_type.ty(), migration)
            }
            _ => StoredNameKind::Shown(name, data_type.ty()),
        },
        _ => StoredNameKind::Unknown,
    }
}

/// Returns the properties whose value a name in a file provides.
pub fn script_names(class_name: &str, stored: &str) -> Vec<&'static str> {
    match classify_name(class_name, stored) {
        StoredNameKind::Shown(name, _) => vec![name],
        StoredNameKind::Replaced(_, migration) => migration.new_property_names().to_vec(),
        StoredNameKind::Hidden | StoredNameKind::Unknown => Vec::new(),
    }
}

/// Returns the name and type under which files store a property; None if reflection does not know
/// it or files do not store it.
pub fn stored_name(class_name: &str, property: &str) -> Option<(&'static str, VariantType)> {
    let (class, found) = find_property(class_name, property)?;
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

/// Finds a property of a class, including inherited ones, and the class that declares it. An
/// unknown class has the properties of `Instance`.
fn find_property(
    class_name: &str,
    property: &str,
) -> Option<(&'static ClassDescriptor<'static>, &'static PropertyDescriptor<'static>)> {
    database()
        .superclasses_iter(find_class(class_name).or_else(|| find_class("Instance"))?)
        .find_map(|class| Some((class, class.properties.get(property)?)))
}

/// Returns the declared type of a property, under any of its names; None if the class or the
/// property is not known.
pub fn declared_type(class_name: &str, property: &str) -> Option<&'static DataType<'static>> {
    find_class(class_name)?;
    property_descriptor(class_name, property).map(|found| &found.data_type)
}

/// Returns how an edit may write a property.
pub fn writable_access(class_name: &str, property: &str) -> Result<PropertyAccess, Refusal> {
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
    let Some(found) = property_descriptor(class_name, property) else {
        if find_class(class_name).is_none() {
            return refuse!(
                "The class `{class_name}` is not known, so its `{property}` cannot be set."
            );
        }
        let near = did_you_mean(property, property_names(class_name));
        return refuse!("`{property}` is not a property of {class_name}.{near}");
    };
    if let Some(access) = property_access(class_name, property) {
        return Ok(access);
    }
    let why = if matches!(found.scriptability, Scriptability::Read) {
        "it is read-only"
    } else {
        "it is computed while the game runs and is not kept in a place"
    };
    refuse!("`{property}` of {class_name} cannot be set: {why}.")
}

/// Returns the default of a stored property; None if reflection has no default.
pub fn default_of(class_name: &str, property: &str) -> Option<&'static Variant> {
    database().find_default_property(find_class(class_name)?, property)
}

/// Returns the number of an enum item.
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

/// Returns the name of an enum item. If several share the number, the alphabetically first.
pub fn enum_name(enum_type: &str, value: u32) -> Option<&'static str> {
    let items = &database().enums.get(enum_type)?.items;
    items.iter().filter(|(_, number)| **number == value).map(|(name, _)| *name).min()
}

/// Returns the name of a property type in Roblox's terms.
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
    fn property_names_resolve_to_stored_properties() {
        let name = |class, property| match property_access(class, property) {
            Some(PropertyAccess::Stored(property)) => property.name,
            Some(PropertyAccess::Migrated(migrated)) => migrated.to[0],
            Some(PropertyAccess::Derived(_)) => "derived",
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
    fn refusals_suggest_alternatives() {
        let said = |class, property| writable_access(class, property).unwrap_err().0;
        assert!(said("Part", "Colour").contains("`Color`"));
        assert!(said("Part", "Parent").contains("move_instance"));
        assert!(creatable_class("Prat").unwrap_err().0.contains("`Part`"));
        assert!(creatable_class("BasePart").unwrap_err().0.contains("abstract"));
        assert!(creatable_class("Workspace").unwrap_err().0.contains("service"));
        assert!(enum_value("Material", "Noen").unwrap_err().0.contains("`Neon`"));
    }
}
