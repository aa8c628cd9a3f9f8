//! A model, prepared for lookups by scripts: children by name, subtrees, and what modules return.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use super::super::value::ScanValue;
use super::{ModelContent, ModelInstance};

/// Maximum number of constant values of a module's field, or of a module.
const MAX_EXPORTED: usize = 8;

/// Tells whether the scan has to end early.
#[derive(Clone, Copy)]
pub(in super::super) struct ScanStop<'a>(pub(super) &'a dyn Fn() -> bool);

impl ScanStop<'_> {
    pub(in super::super) fn is_set(self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for ScanStop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScanStop").field(&self.is_set()).finish()
    }
}

/// The model around a script.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct ModelContext<'a> {
    pub(in super::super) index: &'a ModelIndex<'a>,
    /// The index of the script's own instance.
    pub(in super::super) script: u32,
}

/// The constant values that a module returns.
#[derive(Debug, Default)]
pub(in super::super) struct ModuleExports {
    pub(in super::super) values: Vec<ScanValue>,
    /// The fields of a returned table, and its items by their numbers.
    pub(in super::super) fields: HashMap<Rc<str>, Vec<ScanValue>>,
}

impl ModuleExports {
    pub(super) fn add_field(
        &mut self,
        name: Option<Rc<str>>,
        values: impl Iterator<Item = ScanValue>,
    ) {
        let Some(name) = name else { return };
        let known = self.fields.entry(name).or_default();
        let left = MAX_EXPORTED.saturating_sub(known.len());
        known.extend(values.take(left));
    }
}

/// A name among the children, or the values, of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct NameWithin<'a> {
    at: u32,
    name: &'a str,
}

/// The instances of a model and their relations.
#[derive(Debug)]
pub(in super::super) struct ModelIndex<'a> {
    pub(in super::super) instances: &'a [ModelInstance<'a>],
    /// The indices of each instance's children.
    children: Vec<Vec<u32>>,
    /// The index behind each instance's last descendant.
    ends: Vec<u32>,
    /// The number of ancestors in the model.
    pub(super) depths: Vec<u32>,
    by_name: HashMap<&'a str, Vec<u32>>,
    /// The first child of each name, and the first value.
    named_children: HashMap<NameWithin<'a>, u32>,
    values: HashMap<NameWithin<'a>, &'a ModelContent>,
    pub(in super::super) stop: ScanStop<'a>,
    pub(in super::super) exports: HashMap<u32, ModuleExports>,
}

impl<'a> ModelIndex<'a> {
    pub(super) fn new(instances: &'a [ModelInstance<'a>], stop: ScanStop<'a>) -> Self {
        let count = instances.len();
        let mut children = vec![Vec::new(); count];
        let mut depths = vec![0; count];
        let mut ends: Vec<u32> = (1..=count as u32).collect();
        let mut by_name: HashMap<&str, Vec<u32>> = HashMap::new();
        let (mut named_children, mut values) = (HashMap::new(), HashMap::new());
        for (at, instance) in instances.iter().enumerate() {
            for value in &instance.values {
                let key = NameWithin { at: at as u32, name: value.name.as_str() };
                values.entry(key).or_insert(&value.content);
            }
            by_name.entry(instance.name).or_default().push(at as u32);
            // A parent that does not come before its child is not believed.
            let parent = instance.parent.filter(|parent| (*parent as usize) < at);
            if let Some(parent) = parent {
                children[parent as usize].push(at as u32);
                let key = NameWithin { at: parent, name: instance.name };
                named_children.entry(key).or_insert(at as u32);
                depths[at] = depths[parent as usize] + 1;
            }
        }
        for (at, instance) in instances.iter().enumerate().rev() {
            if let Some(parent) = instance.parent.filter(|parent| (*parent as usize) < at) {
                ends[parent as usize] = ends[parent as usize].max(ends[at]);
            }
        }
        let exports = HashMap::new();
        Self { instances, children, ends, depths, by_name, named_children, values, stop, exports }
    }

    pub(super) fn instance(&self, at: u32) -> &'a ModelInstance<'a> {
        &self.instances[at as usize]
    }

    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        self.instance(at).parent.filter(|parent| *parent < at)
    }

    pub(super) fn children(&self, at: u32) -> &[u32] {
        &self.children[at as usize]
    }

    pub(super) fn descendants(&self, at: u32) -> std::ops::Range<u32> {
        at + 1..self.ends[at as usize]
    }

    /// The first descendant with a name, or the first child with it.
    pub(super) fn find_named(&self, at: u32, name: &str, is_deep: bool) -> Option<u32> {
        if !is_deep {
            return self.named_children.get(&NameWithin { at, name }).copied();
        }
        let named = self.by_name.get(name)?;
        let below = self.descendants(at);
        let first = named.partition_point(|it| *it < below.start);
        named.get(first).copied().filter(|it| *it < below.end)
    }

    /// The content of a property, or of an attribute by its name after `@`.
    pub(super) fn content(&self, at: u32, name: &str) -> Option<&'a ModelContent> {
        self.values.get(&NameWithin { at, name }).copied()
    }

    pub(super) fn ancestors(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.parent(at), |above| self.parent(*above))
    }
}
