//! What is certain about the class of a value, and which members its instances may have.
//!
//! The facts are those of Roblox's reference. What only the reflection database has, or is known by
//! name alone, counts as existing.

use std::collections::BTreeMap;

use rbx_reflection::{ClassDescriptor, ClassTag, Scriptability};
use rbx_reflection_database::get_bundled;
use rustc_hash::FxHashMap;
use vector_roblox_api::{ApiFacts, Member, MemberKind, TypeFacts, is_undocumented};

use super::uses::{CollectedUses, InstanceOrigin, InstanceStep, InstanceValue, NameState};

/// A class that an instance certainly has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct InstanceClass {
    pub(super) name: &'static str,
    /// Whether it cannot be a class that derives from this one.
    pub(super) is_exact: bool,
}

/// The classes of the values of a script.
pub(super) struct ValueClasses<'s, 'u> {
    uses: &'u CollectedUses<'s>,
    /// The class of each local; None if its declarations differ or the class is not known.
    locals: FxHashMap<&'s str, Option<InstanceClass>>,
}

impl<'s, 'u> ValueClasses<'s, 'u> {
    pub(super) fn from_uses(uses: &'u CollectedUses<'s>) -> Self {
        let mut classes = Self { uses, locals: FxHashMap::default() };
        // In order: a value can only refer to locals above it.
        for local in &uses.locals {
            let class = classes.class_of(&local.value);
            let entry = classes.locals.entry(local.name).or_insert(class);
            if *entry != class {
                *entry = None;
            }
        }
        classes
    }

    /// The class of a value, if it is certain.
    pub(super) fn class_of(&self, value: &InstanceValue<'s>) -> Option<InstanceClass> {
        let origin = match value.origin {
            InstanceOrigin::Created(class) => {
                let is_shadowed = self.uses.names.contains_key("Instance");
                let facts = class_facts(class).filter(|_| !is_shadowed);
                facts.map(|it| InstanceClass { name: &it.name, is_exact: true })
            }
            InstanceOrigin::Name(name) => match (self.uses.names.get(name), name) {
                (Some(NameState::Followed), _) => self.locals.get(name).copied().flatten(),
                (None, "game") => class_or_derived("DataModel"),
                (None, "workspace") => class_or_derived("Workspace"),
                (Some(NameState::Uncertain) | None, _) => None,
            },
        };
        value.steps.iter().try_fold(origin?, |class, step| match step {
            InstanceStep::Property(name) => {
                let (_, member) = ApiFacts::get().member(class.name, name)?;
                let is_property = member.kind == MemberKind::Property;
                let value_type = member.value_type.as_deref().filter(|_| is_property)?;
                class_or_derived(value_type.trim_end_matches('?'))
            }
            InstanceStep::Service(name) => {
                let is_service = class.name == "DataModel" && is_service_class(name);
                class_or_derived(name).filter(|_| is_service)
            }
            InstanceStep::Cast(name) => {
                ApiFacts::get().lineage(class.name).any(|it| it.name == **name).then_some(class)
            }
        })
    }
}

/// The facts about a class whose members are known.
fn class_facts(name: &str) -> Option<&'static TypeFacts> {
    ApiFacts::get().classes.get(name).filter(|_| !is_undocumented(name))
}

/// A class by its name, or one that derives from it.
fn class_or_derived(name: &str) -> Option<InstanceClass> {
    class_facts(name).map(|it| InstanceClass { name: &it.name, is_exact: false })
}

/// The classes that derive from a class.
struct DerivedClasses {
    facts: Vec<&'static TypeFacts>,
    /// The classes that the reference leaves out.
    undocumented: Vec<&'static str>,
    /// Whether there are others, whose members are not known even by name.
    has_unknown: bool,
}

/// The members that instances of a class may have.
#[derive(Default)]
pub(super) struct MemberTable {
    derived: BTreeMap<&'static str, DerivedClasses>,
}

/// What Roblox has under a name for instances of a class.
#[derive(Debug, Default)]
pub(super) struct NamedMembers {
    /// The members that the reference describes, the class's own first.
    pub(super) described: Vec<&'static Member>,
    /// Whether there may be one that it leaves out.
    pub(super) has_undocumented: bool,
    /// Whether the reflection database has a property that scripts can read or set.
    pub(super) is_in_database: bool,
    pub(super) is_settable_in_database: bool,
}

impl NamedMembers {
    /// The members that the reference describes for the class itself.
    pub(super) fn of_class(class: InstanceClass, name: &str) -> Self {
        let members = ApiFacts::get().lineage(class.name).flat_map(|it| &it.members);
        Self { described: members.filter(|it| it.name == name).collect(), ..Self::default() }
    }

    fn add_undescribed(&mut self, class: &str, name: &str) {
        self.has_undocumented |= is_undocumented(&format!("{class}.{name}"));
        let access = property_access(class, name).unwrap_or(Scriptability::None);
        self.is_in_database |= !matches!(access, Scriptability::None);
        self.is_settable_in_database |=
            !matches!(access, Scriptability::None | Scriptability::Read);
    }
}

impl MemberTable {
    /// Adds what else there may be: in the reflection database, without documentation, and in the
    /// classes that derive from the class.
    pub(super) fn add_others(
        &mut self,
        found: &mut NamedMembers,
        class: InstanceClass,
        name: &str,
    ) {
        for facts in ApiFacts::get().lineage(class.name) {
            found.add_undescribed(&facts.name, name);
        }
        if class.is_exact {
            return;
        }
        let derived = self.derived.entry(class.name).or_insert_with(|| derived_classes(class.name));
        for facts in &derived.facts {
            found.described.extend(facts.members.iter().filter(|it| it.name == name));
            found.add_undescribed(&facts.name, name);
        }
        for class in &derived.undocumented {
            found.add_undescribed(class, name);
        }
        found.has_undocumented |= derived.has_unknown;
    }
}

fn derived_classes(of: &str) -> DerivedClasses {
    let facts = ApiFacts::get();
    let derives = |it: &&TypeFacts| facts.lineage(&it.name).skip(1).any(|it| it.name == of);
    let is_undescribed = |it: &&ClassDescriptor<'static>| {
        let mut above = database_lineage(it.name).skip(1);
        !facts.classes.contains_key(it.name) && above.any(|it| it.name == of)
    };
    let undescribed = get_bundled().classes.values().filter(is_undescribed).map(|it| it.name);
    let (undocumented, unknown): (Vec<_>, Vec<_>) = undescribed.partition(|it| is_undocumented(it));
    DerivedClasses {
        facts: facts.classes.values().filter(derives).collect(),
        undocumented,
        has_unknown: !unknown.is_empty(),
    }
}

/// A class and those above it in the reflection database, nearest first.
fn database_lineage(name: &str) -> impl Iterator<Item = &'static ClassDescriptor<'static>> {
    let classes = &get_bundled().classes;
    std::iter::successors(classes.get(name), |it| classes.get(it.superclass?))
}

/// How scripts may access a class's own property by the reflection database.
fn property_access(class: &str, property: &str) -> Option<Scriptability> {
    Some(get_bundled().classes.get(class)?.properties.get(property)?.scriptability)
}

/// Whether Roblox has a class of this name.
pub(super) fn class_exists(name: &str) -> bool {
    ApiFacts::get().classes.contains_key(name)
        || get_bundled().classes.contains_key(name)
        || is_undocumented(name)
}

/// Whether `Instance.new` certainly refuses a class that exists.
pub(super) fn is_not_creatable(name: &str) -> bool {
    class_facts(name).is_some_and(|it| it.has_tag("NotCreatable"))
        && database_tag(name, ClassTag::NotCreatable) != Some(false)
}

/// Whether `GetService` may return a class. False only if it certainly does not.
pub(super) fn is_service_class(name: &str) -> bool {
    let Some(facts) = class_facts(name) else {
        return class_exists(name);
    };
    // The reference does not tag the services of the providers other than `game`.
    let is_provider = || ApiFacts::get().lineage(name).any(|it| it.name == "ServiceProvider");
    facts.has_tag("Service") || database_tag(name, ClassTag::Service) == Some(true) || is_provider()
}

fn database_tag(class: &str, tag: ClassTag) -> Option<bool> {
    Some(get_bundled().classes.get(class)?.tags.contains(&tag))
}
