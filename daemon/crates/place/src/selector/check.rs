//! Checks that the classes and properties of a selector exist, and that values fit their
//! properties.
//!
//! Tags, attributes and instance names are arbitrary and never refused.

use rbx_reflection::{ClassDescriptor, DataType};
use rbx_types::VariantType;
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};

use super::super::reflection::{self, DerivedProperty, PropertyAccess};
use super::eval::{brick_color, enum_number};
use super::{ComplexSelector, PropertyTest, Selector, SelectorLiteral, SelectorTest};
use crate::Scene;

pub(super) fn check_selector(selector: &Selector, scene: &Scene) -> Result<(), Refusal> {
    check_list(&selector.any_of, scene)
}

fn check_list(any_of: &[ComplexSelector], scene: &Scene) -> Result<(), Refusal> {
    for tests in any_of.iter().flat_map(|complex| &complex.steps).map(|step| step.tests.as_slice())
    {
        let class = tests.iter().find_map(|test| match test {
            SelectorTest::Class { name, .. } => Some(name.as_str()),
            _ => None,
        });
        if let Some(class) = class {
            check_class(class, scene)?;
        }
        for test in tests {
            match test {
                SelectorTest::Property(test) => check_property(class, test, scene)?,
                SelectorTest::Not(nested) | SelectorTest::Has(nested) => {
                    check_list(&nested.any_of, scene)?;
                }
                SelectorTest::Class { .. }
                | SelectorTest::Name(_)
                | SelectorTest::Tag(_)
                | SelectorTest::HasAttribute(_)
                | SelectorTest::Attribute(..) => {}
            }
        }
    }
    Ok(())
}

fn check_class(name: &str, scene: &Scene) -> Result<(), Refusal> {
    let known = name == "Instance" || reflection::find_class(name).is_some();
    if known || scene.descendants(scene.root()).any(|node| scene.class(node) == name) {
        return Ok(());
    }
    let near = did_you_mean(name, reflection::database().classes.keys().copied());
    refuse!(
        "There is no class `{name}`.{near} An instance's name needs `#` in front and a tag `.`: \
         `#{name}`, `.{name}`."
    )
}

/// Returns the classes whose instances a test can apply to.
fn candidate_classes(
    class: Option<&str>,
) -> impl Iterator<Item = &'static ClassDescriptor<'static>> {
    reflection::database()
        .classes
        .values()
        .filter(move |found| class.is_none_or(|class| reflection::is_a(found.name, class)))
}

fn check_property(class: Option<&str>, test: &PropertyTest, scene: &Scene) -> Result<(), Refusal> {
    let name = test.name.as_str();
    if matches!(name, "Name" | "ClassName")
        || class.is_some_and(|class| class != "Instance" && reflection::find_class(class).is_none())
    {
        return Ok(());
    }
    let mut misfits = Vec::new();
    for candidate in candidate_classes(class) {
        let Some(access) = reflection::property_access(candidate.name, name) else {
            continue;
        };
        match check_literal(&access, &test.value) {
            Ok(()) => return Ok(()),
            Err(why) => misfits.push(why),
        }
    }
    // The order of classes is not fixed, so report the alphabetically first reason, preferably of a
    // property whose type can be compared at all.
    if let Some((_, why)) = misfits.into_iter().min() {
        return refuse!("`[{name} = {}]` can never match: {why}", test.value);
    }
    let key = rbx_dom_weak::ustr(name);
    if scene.descendants(scene.root()).any(|node| scene.variant_of(node.0, key).is_some()) {
        return Ok(());
    }
    let of = class.unwrap_or("any class");
    if candidate_classes(class)
        .any(|candidate| reflection::property_names(candidate.name).any(|known| known == name))
    {
        return refuse!(
            "`{name}` of {of} cannot be compared: it is computed while the game runs and is not \
             kept in a place."
        );
    }
    let own = candidate_classes(class).flat_map(|candidate| candidate.properties.keys().copied());
    let inherited = class.into_iter().flat_map(reflection::property_names);
    let near = did_you_mean(name, own.chain(inherited));
    refuse!(
        "`{name}` is not a property of {of}.{near} An attribute needs `$` in front: \
         `[${name} = {}]`.",
        test.value
    )
}

/// Checks that a property can have a value. The error holds whether its type cannot be compared at
/// all, and the reason as a sentence.
fn check_literal(access: &PropertyAccess, value: &SelectorLiteral) -> Result<(), (bool, String)> {
    let ty = match access {
        PropertyAccess::Stored(found) => found.ty,
        PropertyAccess::Migrated(migrated) => migrated.ty,
        PropertyAccess::Derived(DerivedProperty::Enabled) => &DataType::Value(VariantType::Bool),
        PropertyAccess::Derived(_) => &DataType::Value(VariantType::Vector3),
    };
    let number = || value.as_number::<f64>().map(|_| ());
    let fits = match ty {
        DataType::Enum(name) if enum_number(name, value).is_some() => Ok(()),
        DataType::Enum(name) => reflection::enum_value(name, value.enum_item_name(name))
            .map_or_else(|it| Err(it.0), |_| Ok(())),
        DataType::Value(VariantType::Bool) => value
            .as_bool()
            .map(|_| ())
            .ok_or_else(|| "it is true or false, without quotes.".to_owned()),
        DataType::Value(
            VariantType::Float32 | VariantType::Float64 | VariantType::Int32 | VariantType::Int64,
        ) => number().ok_or_else(|| "it is a number, without quotes.".to_owned()),
        DataType::Value(VariantType::BrickColor) => brick_color(value)
            .map(|_| ())
            .ok_or_else(|| "it is the name or number of a BrickColor.".to_owned()),
        DataType::Value(
            VariantType::String
            | VariantType::BinaryString
            | VariantType::ContentId
            | VariantType::Content,
        ) => Ok(()),
        other => {
            let why = format!(
                "it is a {}, and a selector compares only booleans, numbers, strings and enum items.",
                reflection::type_name(other)
            );
            return Err((true, why));
        }
    };
    fits.map_err(|why| (false, why))
}
