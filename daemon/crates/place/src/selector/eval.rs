//! Matches a selector against a subtree, in loops over the flat tree.
//!
//! Steps are tracked for all instances at once. Top-down, each instance inherits the steps that its
//! ancestors reached; for `:has`, bottom-up, each passes on the steps found below it. The work is
//! therefore linear in the number of instances, whatever their depth. Values are compared as
//! stored, without converting them to [`scene_schemas::Value`].

use std::borrow::Cow;
use std::cell::OnceCell;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{BrickColor, Color3uint8, ContentType, Variant};
use rustc_hash::FxHashMap;

use super::super::flat_tree::FlatTree;
use super::super::reflection::{self, DerivedProperty, PropertyAccess};
use super::{
    Combinator, ComplexSelector, NestedSelector, PropertyTest, Selector, SelectorLiteral,
    SelectorStep, SelectorTest,
};
use crate::Node;

/// The evaluation of one selector on one subtree.
pub(super) struct SelectorSearch<'a> {
    flat: &'a FlatTree<'a>,
    /// The distinct classes of the subtree, and the index of each instance's class among them.
    classes: Vec<&'a str>,
    class_of: Vec<u32>,
    /// For each class test and class, whether the class passes.
    is_a: Vec<OnceCell<Vec<bool>>>,
    /// For each property test and class, how to read the property.
    probes: Vec<Vec<OnceCell<PropertyProbe>>>,
    /// For each `:not` and `:has`, the instances that match its list, if computed for all of them.
    nested: Vec<OnceCell<Vec<bool>>>,
    tags: Ustr,
    attributes: Ustr,
    disabled: Ustr,
}

/// How to read a property of a class, and what to compare it with.
enum PropertyProbe {
    Name,
    Class,
    Stored {
        key: Ustr,
        default: Option<&'static Variant>,
        wanted: ExpectedValue,
    },
    /// `Enabled` of a script.
    NotDisabled,
    Unstored,
}

enum ExpectedValue {
    /// The literal, parsed as the stored value's type.
    Literal,
    /// An enum item, by number.
    Item(Option<u32>),
    /// The literal, translated by the migration of a replaced property.
    Migrated(Option<Variant>),
}

impl<'a> SelectorSearch<'a> {
    pub(super) fn new(selector: &Selector, flat: &'a FlatTree<'a>) -> Self {
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let mut classes = Vec::new();
        let class_of = (0..flat.len())
            .map(|at| {
                *numbers.entry(flat.class_at(at)).or_insert_with(|| {
                    classes.push(flat.scene.class(flat.node_at(at)));
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

    pub(super) fn select_nodes(&self, any_of: &[ComplexSelector]) -> Vec<Node> {
        let found = self.match_from_root(any_of);
        (1..self.flat.len()).filter(|at| found[*at]).map(|at| self.flat.node_at(at)).collect()
    }

    /// Returns which instances a list of selectors matches, starting from the root.
    fn match_from_root(&self, any_of: &[ComplexSelector]) -> Vec<bool> {
        let mut found = vec![false; self.flat.len()];
        for complex in any_of {
            self.follow_steps(&complex.steps, &mut found);
        }
        found
    }

    fn follow_steps(&self, steps: &[SelectorStep], found: &mut [bool]) {
        let last = 1_u64 << (steps.len() - 1);
        // Bit sets of the steps that end at an instance (`here`), or at it or an ancestor
        // (`above`). Both are shifted by one, so that they denote the steps that can be taken next.
        let mut here = vec![0_u64; self.flat.len()];
        let mut above = vec![0_u64; self.flat.len()];
        here[0] = 1;
        above[0] = 1;
        for at in 1..self.flat.len() {
            let parent = self.flat.parent_of(at);
            let mut ended = 0_u64;
            for (n, step) in steps.iter().enumerate() {
                let from = match step.combinator {
                    Combinator::Child => here[parent],
                    Combinator::Descendant => above[parent],
                };
                if from >> n & 1 == 1 && self.matches_step(step, at) {
                    ended |= 1 << n;
                }
            }
            found[at] |= ended & last != 0;
            here[at] = ended << 1;
            above[at] = above[parent] | ended << 1;
        }
    }

    /// Returns which instances have a match for a list of relative selectors.
    fn match_relative(&self, any_of: &[ComplexSelector]) -> Vec<bool> {
        let mut found = vec![false; self.flat.len()];
        for complex in any_of {
            self.follow_steps_up(&complex.steps, &mut found);
        }
        found
    }

    fn follow_steps_up(&self, steps: &[SelectorStep], found: &mut [bool]) {
        // Bit sets of the steps from which the rest of the selector matches, for steps to a child
        // (`children`) and to any descendant (`below`).
        let mut children = vec![0_u64; self.flat.len()];
        let mut below = vec![0_u64; self.flat.len()];
        for at in (0..self.flat.len()).rev() {
            let can_match = |n: usize| match steps[n].combinator {
                Combinator::Child => children[at] >> n & 1 == 1,
                Combinator::Descendant => below[at] >> n & 1 == 1,
            };
            found[at] |= can_match(0);
            if at == 0 {
                return;
            }
            let mut begun = 0_u64;
            for (n, step) in steps.iter().enumerate() {
                if (n + 1 == steps.len() || can_match(n + 1)) && self.matches_step(step, at) {
                    begun |= 1 << n;
                }
            }
            let parent = self.flat.parent_of(at);
            children[parent] |= begun;
            below[parent] |= begun | below[at];
        }
    }

    fn matches_step(&self, step: &SelectorStep, at: usize) -> bool {
        step.tests.iter().all(|test| self.passes_test(test, at))
    }

    fn passes_test(&self, test: &SelectorTest, at: usize) -> bool {
        match test {
            SelectorTest::Class { name, slot } => {
                let table = self.is_a[*slot].get_or_init(|| {
                    let is_a = |class: &&str| reflection::is_a(class, name);
                    self.classes.iter().map(is_a).collect()
                });
                table[self.class_of[at] as usize]
            }
            SelectorTest::Name(name) => self.flat.name(at) == *name,
            SelectorTest::Tag(tag) => match self.variant_at(at, self.tags).as_deref() {
                Some(Variant::Tags(tags)) => tags.iter().any(|it| it == tag),
                _ => false,
            },
            SelectorTest::HasAttribute(key) => self.has_matching_attribute(at, key, |_| true),
            SelectorTest::Attribute(key, value) => {
                self.has_matching_attribute(at, key, |stored| equals_literal(stored, value))
            }
            SelectorTest::Property(test) => self.has_value(test, at),
            SelectorTest::Not(nested) => !self.has_nested_match(nested, at),
            SelectorTest::Has(nested) => {
                self.nested[nested.slot].get_or_init(|| self.match_relative(&nested.any_of))[at]
            }
        }
    }

    fn variant_at(&self, at: usize, key: Ustr) -> Option<Cow<'_, Variant>> {
        self.flat.scene.variant_of(self.flat.node_at(at).0, key)
    }

    /// Whether an instance has an attribute that passes a test.
    fn has_matching_attribute(
        &self,
        at: usize,
        key: &str,
        passes: impl FnOnce(&Variant) -> bool,
    ) -> bool {
        match self.variant_at(at, self.attributes).as_deref() {
            Some(Variant::Attributes(all)) => all.get(key).is_some_and(passes),
            _ => false,
        }
    }

    fn has_nested_match(&self, nested: &NestedSelector, at: usize) -> bool {
        let mut steps = nested.any_of.iter().map(|complex| complex.steps.as_slice());
        // A single step inside `:not` does not depend on the position of the instance.
        if steps.all(|steps| steps.len() == 1) {
            let mut any_of = nested.any_of.iter();
            return any_of.any(|complex| self.matches_step(&complex.steps[0], at));
        }
        self.nested[nested.slot].get_or_init(|| self.match_from_root(&nested.any_of))[at]
    }

    fn has_value(&self, test: &PropertyTest, at: usize) -> bool {
        let class = self.class_of[at] as usize;
        let probe = self.probes[test.slot][class]
            .get_or_init(|| PropertyProbe::new(self.classes[class], test));
        match probe {
            PropertyProbe::Name => self.flat.name(at) == test.value.text,
            PropertyProbe::Class => self.classes[class] == test.value.text,
            PropertyProbe::Unstored => false,
            PropertyProbe::NotDisabled => {
                let disabled = self.variant_at(at, self.disabled);
                let enabled = !matches!(disabled.as_deref(), Some(Variant::Bool(true)));
                test.value.as_bool() == Some(enabled)
            }
            PropertyProbe::Stored { key, default, wanted } => {
                let stored = self.variant_at(at, *key);
                match (stored.as_deref().or(*default), wanted) {
                    (Some(stored), ExpectedValue::Literal) => equals_literal(stored, &test.value),
                    (Some(Variant::Enum(item)), ExpectedValue::Item(number)) => {
                        Some(item.to_u32()) == *number
                    }
                    (None, _) | (Some(_), ExpectedValue::Item(_)) => false,
                    (Some(stored), ExpectedValue::Migrated(value)) => {
                        value.as_ref().is_some_and(|value| is_same(stored, value))
                    }
                }
            }
        }
    }
}

impl PropertyProbe {
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
        match reflection::property_access(class, &test.name) {
            Some(PropertyAccess::Stored(found)) => {
                stored(found.name, expected_value(found.ty, &test.value))
            }
            Some(PropertyAccess::Migrated(migrated)) => {
                let value = old_value(migrated.ty, &test.value)
                    .and_then(|old| migrated.migration.perform(&old).ok());
                let name = migrated.to.first().copied().unwrap_or_default();
                stored(name, ExpectedValue::Migrated(value))
            }
            Some(PropertyAccess::Derived(DerivedProperty::Enabled)) => Self::NotDisabled,
            Some(PropertyAccess::Derived(_)) => Self::Unstored,
            // A newer Roblox may have a property that reflection does not know.
            None => stored(&test.name, ExpectedValue::Literal),
        }
    }
}

fn expected_value(ty: &rbx_reflection::DataType<'_>, value: &SelectorLiteral) -> ExpectedValue {
    match ty {
        rbx_reflection::DataType::Enum(name) => ExpectedValue::Item(enum_number(name, value)),
        _ => ExpectedValue::Literal,
    }
}

pub(super) fn enum_number(enum_type: &str, value: &SelectorLiteral) -> Option<u32> {
    value
        .as_number()
        .or_else(|| reflection::enum_value(enum_type, value.enum_item_name(enum_type)).ok())
}

/// Converts a literal to the type of a replaced property.
fn old_value(ty: &rbx_reflection::DataType<'_>, value: &SelectorLiteral) -> Option<Variant> {
    use rbx_reflection::DataType;
    use rbx_types::VariantType;
    Some(match ty {
        DataType::Enum(name) => rbx_types::Enum::from_u32(enum_number(name, value)?).into(),
        DataType::Value(VariantType::Bool) => value.as_bool()?.into(),
        DataType::Value(VariantType::BrickColor) => brick_color(value)?.into(),
        DataType::Value(VariantType::ContentId) => Variant::ContentId(value.text.as_str().into()),
        DataType::Value(VariantType::String) => value.text.clone().into(),
        DataType::Value(VariantType::Float32) => value.as_number::<f32>()?.into(),
        _ => return None,
    })
}

pub(super) fn brick_color(value: &SelectorLiteral) -> Option<BrickColor> {
    let by_number = value.as_number().and_then(BrickColor::from_number);
    by_number.or_else(|| BrickColor::from_name(&value.text))
}

/// Whether a stored value equals the migrated literal. Ignores cached data and the two ways of
/// storing a colour.
fn is_same(stored: &Variant, wanted: &Variant) -> bool {
    match (stored, wanted) {
        (Variant::Font(a), Variant::Font(b)) => {
            (&a.family, a.weight, a.style) == (&b.family, b.weight, b.style)
        }
        (Variant::Color3uint8(a), Variant::Color3(b)) => *a == Color3uint8::from(*b),
        (Variant::Color3(a), Variant::Color3uint8(b)) => Color3uint8::from(*a) == *b,
        _ => stored == wanted,
    }
}

/// Whether a stored value equals a literal that is parsed as the stored value's type.
fn equals_literal(stored: &Variant, value: &SelectorLiteral) -> bool {
    match stored {
        Variant::Bool(it) => value.as_bool() == Some(*it),
        Variant::Float32(it) => value.as_number() == Some(*it),
        Variant::Float64(it) => value.as_number() == Some(*it),
        Variant::Int32(it) => value.as_number() == Some(f64::from(*it)),
        // Try both: a long number is exact only as an integer, and `5.0` is valid too.
        Variant::Int64(it) => value
            .as_number::<i64>()
            .map_or_else(|| value.as_number() == Some(*it as f64), |n| n == *it),
        Variant::String(it) => *it == value.text,
        Variant::BinaryString(it) => AsRef::<[u8]>::as_ref(it) == value.text.as_bytes(),
        Variant::ContentId(it) => it.as_str() == value.text,
        Variant::Content(it) => match it.value() {
            ContentType::Uri(uri) => *uri == value.text,
            ContentType::None => value.text.is_empty(),
            _ => false,
        },
        Variant::BrickColor(it) => brick_color(value) == Some(*it),
        Variant::Enum(it) => value.as_number() == Some(it.to_u32()),
        Variant::EnumItem(it) => enum_number(&it.ty, value) == Some(it.value),
        _ => false,
    }
}
