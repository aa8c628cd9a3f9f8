//! Matching a selector against a subtree, in loops over the flat tree.
//!
//! Steps are followed for all instances at once: going down, each instance inherits which steps its
//! ancestors reached; for `:has`, going up, each passes on which steps were found below it. So the
//! work grows with the number of instances, however deep they are nested. Values are compared as
//! they are stored, without making a [`scene_schemas::Value`] of them.

use std::borrow::Cow;
use std::cell::OnceCell;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{BrickColor, Color3uint8, ContentType, Variant};
use rustc_hash::FxHashMap;

use super::super::flat::Flat;
use super::super::reflection::{self, Access, Derived};
use super::{Combinator, Complex, Literal, Nested, PropertyTest, Selector, Step, Test};
use crate::Node;

/// One selector on one subtree.
pub(super) struct Search<'a> {
    flat: &'a Flat<'a>,
    /// The classes of the subtree, and which of them each instance has.
    classes: Vec<&'a str>,
    class_of: Vec<u32>,
    /// For each class test and each class, whether it passes.
    is_a: Vec<OnceCell<Vec<bool>>>,
    /// For each property test and each class, where the property is.
    probes: Vec<Vec<OnceCell<Probe>>>,
    /// For each `:not` and `:has`, what its list matches, where it had to be found for all.
    nested: Vec<OnceCell<Vec<bool>>>,
    tags: Ustr,
    attributes: Ustr,
    disabled: Ustr,
}

/// Where a property of a class is, and what it is compared with.
enum Probe {
    Name,
    Class,
    Stored {
        key: Ustr,
        default: Option<&'static Variant>,
        wanted: Wanted,
    },
    /// `Enabled` of a script.
    NotDisabled,
    Nowhere,
}

/// What a stored value is compared with.
enum Wanted {
    /// The literal, read as the stored value's type.
    Written,
    /// An enum's item, by number.
    Item(Option<u32>),
    /// What the literal became when the property was replaced by another one.
    Migrated(Option<Variant>),
}

impl<'a> Search<'a> {
    pub(super) fn new(selector: &Selector, flat: &'a Flat<'a>) -> Self {
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut classes = Vec::new();
        let class_of = (0..flat.len())
            .map(|at| {
                *numbers.entry(flat.class(at)).or_insert_with(|| {
                    classes.push(flat.scene.class(flat.node(at)));
                    classes.len() as u32 - 1
                })
            })
            .collect();
        let cells = || classes.iter().map(|_| OnceCell::new()).collect();
        let slots = selector.slots;
        Self {
            flat,
            probes: (0..slots.properties).map(|_| cells()).collect(),
            is_a: (0..slots.classes).map(|_| OnceCell::new()).collect(),
            nested: (0..slots.nested).map(|_| OnceCell::new()).collect(),
            classes,
            class_of,
            tags: ustr("Tags"),
            attributes: ustr("Attributes"),
            disabled: ustr("Disabled"),
        }
    }

    pub(super) fn select(&self, any_of: &[Complex]) -> Vec<Node> {
        let found = self.matching(any_of);
        (1..self.flat.len()).filter(|at| found[*at]).map(|at| self.flat.node(at)).collect()
    }

    /// Which instances are where a list of steps from the root leads to.
    fn matching(&self, any_of: &[Complex]) -> Vec<bool> {
        let mut found = vec![false; self.flat.len()];
        for complex in any_of {
            self.follow(&complex.steps, &mut found);
        }
        found
    }

    fn follow(&self, steps: &[Step], found: &mut [bool]) {
        let last = 1_u64 << (steps.len() - 1);
        // The steps that end at an instance, and those that end there or above; both are shifted by
        // one, so that they are the steps that can be taken from there.
        let mut here = vec![0_u64; self.flat.len()];
        let mut above = vec![0_u64; self.flat.len()];
        here[0] = 1;
        above[0] = 1;
        for at in 1..self.flat.len() {
            let parent = self.flat.parent(at);
            let mut ended = 0_u64;
            for (n, step) in steps.iter().enumerate() {
                let from = match step.by {
                    Combinator::Child => here[parent],
                    Combinator::Descendant => above[parent],
                };
                if from >> n & 1 == 1 && self.is(step, at) {
                    ended |= 1 << n;
                }
            }
            found[at] |= ended & last != 0;
            here[at] = ended << 1;
            above[at] = above[parent] | ended << 1;
        }
    }

    /// Which instances have what a list of relative steps leads to.
    fn having(&self, any_of: &[Complex]) -> Vec<bool> {
        let mut found = vec![false; self.flat.len()];
        for complex in any_of {
            self.follow_up(&complex.steps, &mut found);
        }
        found
    }

    fn follow_up(&self, steps: &[Step], found: &mut [bool]) {
        // The steps from which the rest of the way exists: among children, and anywhere below.
        let mut children = vec![0_u64; self.flat.len()];
        let mut below = vec![0_u64; self.flat.len()];
        for at in (0..self.flat.len()).rev() {
            let way = |n: usize| match steps[n].by {
                Combinator::Child => children[at] >> n & 1 == 1,
                Combinator::Descendant => below[at] >> n & 1 == 1,
            };
            found[at] |= way(0);
            if at == 0 {
                return;
            }
            let mut begun = 0_u64;
            for (n, step) in steps.iter().enumerate() {
                if (n + 1 == steps.len() || way(n + 1)) && self.is(step, at) {
                    begun |= 1 << n;
                }
            }
            let parent = self.flat.parent(at);
            children[parent] |= begun;
            below[parent] |= begun | below[at];
        }
    }

    fn is(&self, step: &Step, at: usize) -> bool {
        step.tests.iter().all(|test| self.passes(test, at))
    }

    fn passes(&self, test: &Test, at: usize) -> bool {
        match test {
            Test::Class { name, slot } => {
                let table = self.is_a[*slot].get_or_init(|| {
                    let is_a = |class: &&str| reflection::is_a(class, name);
                    self.classes.iter().map(is_a).collect()
                });
                table[self.class_of[at] as usize]
            }
            Test::Name(name) => self.flat.name(at) == *name,
            Test::Tag(tag) => match self.variant(at, self.tags).as_deref() {
                Some(Variant::Tags(tags)) => tags.iter().any(|it| it == tag),
                _ => false,
            },
            Test::HasAttribute(key) => self.attribute(at, key, |_| true),
            Test::Attribute(key, value) => self.attribute(at, key, |stored| equals(stored, value)),
            Test::Property(test) => self.has_value(test, at),
            Test::Not(nested) => !self.any(nested, at),
            Test::Has(nested) => {
                self.nested[nested.slot].get_or_init(|| self.having(&nested.any_of))[at]
            }
        }
    }

    fn variant(&self, at: usize, key: Ustr) -> Option<Cow<'_, Variant>> {
        self.flat.scene.variant(self.flat.node(at).0, key)
    }

    /// Whether an instance has an attribute that passes.
    fn attribute(&self, at: usize, key: &str, passes: impl FnOnce(&Variant) -> bool) -> bool {
        match self.variant(at, self.attributes).as_deref() {
            Some(Variant::Attributes(all)) => all.get(key).is_some_and(passes),
            _ => false,
        }
    }

    fn any(&self, nested: &Nested, at: usize) -> bool {
        let mut steps = nested.any_of.iter().map(|complex| complex.steps.as_slice());
        // Inside `:not` a single step says nothing of where an instance stands.
        if steps.all(|steps| steps.len() == 1) {
            let mut any_of = nested.any_of.iter();
            return any_of.any(|complex| self.is(&complex.steps[0], at));
        }
        self.nested[nested.slot].get_or_init(|| self.matching(&nested.any_of))[at]
    }

    fn has_value(&self, test: &PropertyTest, at: usize) -> bool {
        let class = self.class_of[at] as usize;
        let probe =
            self.probes[test.slot][class].get_or_init(|| Probe::new(self.classes[class], test));
        match probe {
            Probe::Name => self.flat.name(at) == test.value.text,
            Probe::Class => self.classes[class] == test.value.text,
            Probe::Nowhere => false,
            Probe::NotDisabled => {
                let disabled = self.variant(at, self.disabled);
                let enabled = !matches!(disabled.as_deref(), Some(Variant::Bool(true)));
                test.value.boolean() == Some(enabled)
            }
            Probe::Stored { key, default, wanted } => {
                let stored = self.variant(at, *key);
                match (stored.as_deref().or(*default), wanted) {
                    (Some(stored), Wanted::Written) => equals(stored, &test.value),
                    (Some(Variant::Enum(item)), Wanted::Item(number)) => {
                        Some(item.to_u32()) == *number
                    }
                    (None, _) | (Some(_), Wanted::Item(_)) => false,
                    (Some(stored), Wanted::Migrated(value)) => {
                        value.as_ref().is_some_and(|value| same(stored, value))
                    }
                }
            }
        }
    }
}

impl Probe {
    fn new(class: &str, test: &PropertyTest) -> Self {
        match test.name.as_str() {
            "Name" => return Self::Name,
            "ClassName" => return Self::Class,
            _ => {}
        }
        let stored = |name: &str, wanted| Self::Stored {
            key: ustr(name),
            default: reflection::default_of(class, name),
            wanted,
        };
        match reflection::access(class, &test.name) {
            Some(Access::Stored(found)) => stored(found.name, wanted(found.ty, &test.value)),
            Some(Access::Migrated(migrated)) => {
                let value = old_value(migrated.ty, &test.value)
                    .and_then(|old| migrated.migration.perform(&old).ok());
                let name = migrated.to.first().copied().unwrap_or_default();
                stored(name, Wanted::Migrated(value))
            }
            Some(Access::Derived(Derived::Enabled)) => Self::NotDisabled,
            Some(Access::Derived(_)) => Self::Nowhere,
            // A newer Roblox may have a property that reflection does not know.
            None => stored(&test.name, Wanted::Written),
        }
    }
}

fn wanted(ty: &rbx_reflection::DataType<'_>, value: &Literal) -> Wanted {
    match ty {
        rbx_reflection::DataType::Enum(name) => Wanted::Item(enum_number(name, value)),
        _ => Wanted::Written,
    }
}

pub(super) fn enum_number(enum_type: &str, value: &Literal) -> Option<u32> {
    value.number().or_else(|| reflection::enum_value(enum_type, value.item(enum_type)).ok())
}

/// A literal as the value that a replaced property had.
fn old_value(ty: &rbx_reflection::DataType<'_>, value: &Literal) -> Option<Variant> {
    use rbx_reflection::DataType;
    use rbx_types::VariantType;
    Some(match ty {
        DataType::Enum(name) => rbx_types::Enum::from_u32(enum_number(name, value)?).into(),
        DataType::Value(VariantType::Bool) => value.boolean()?.into(),
        DataType::Value(VariantType::BrickColor) => brick_color(value)?.into(),
        DataType::Value(VariantType::ContentId) => Variant::ContentId(value.text.as_str().into()),
        DataType::Value(VariantType::String) => value.text.clone().into(),
        DataType::Value(VariantType::Float32) => value.number::<f32>()?.into(),
        _ => return None,
    })
}

pub(super) fn brick_color(value: &Literal) -> Option<BrickColor> {
    let by_number = value.number().and_then(BrickColor::from_number);
    by_number.or_else(|| BrickColor::from_name(&value.text))
}

/// Whether a stored value is what the migration of a literal gave. Caches and the two ways of
/// keeping a colour make no difference.
fn same(stored: &Variant, wanted: &Variant) -> bool {
    match (stored, wanted) {
        (Variant::Font(a), Variant::Font(b)) => {
            (&a.family, a.weight, a.style) == (&b.family, b.weight, b.style)
        }
        (Variant::Color3uint8(a), Variant::Color3(b)) => *a == Color3uint8::from(*b),
        (Variant::Color3(a), Variant::Color3uint8(b)) => Color3uint8::from(*a) == *b,
        _ => stored == wanted,
    }
}

/// Whether a stored value is what a literal says, read as the stored value's type.
fn equals(stored: &Variant, value: &Literal) -> bool {
    match stored {
        Variant::Bool(it) => value.boolean() == Some(*it),
        Variant::Float32(it) => value.number() == Some(*it),
        Variant::Float64(it) => value.number() == Some(*it),
        Variant::Int32(it) => value.number() == Some(f64::from(*it)),
        // Both ways: a long number is exact as an integer, and `5.0` is one too.
        Variant::Int64(it) => {
            value.number::<i64>().map_or_else(|| value.number() == Some(*it as f64), |n| n == *it)
        }
        Variant::String(it) => *it == value.text,
        Variant::BinaryString(it) => AsRef::<[u8]>::as_ref(it) == value.text.as_bytes(),
        Variant::ContentId(it) => it.as_str() == value.text,
        Variant::Content(it) => match it.value() {
            ContentType::Uri(uri) => *uri == value.text,
            ContentType::None => value.text.is_empty(),
            _ => false,
        },
        Variant::BrickColor(it) => brick_color(value) == Some(*it),
        Variant::Enum(it) => value.number() == Some(it.to_u32()),
        Variant::EnumItem(it) => enum_number(&it.ty, value) == Some(it.value),
        _ => false,
    }
}
