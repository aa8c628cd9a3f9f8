//! The instances that a file or node becomes, before they are part of a
//! [`ProjectTree`](super::tree::ProjectTree).

use std::collections::BTreeMap;
use std::path::PathBuf;

use rbx_types::{Attributes, Variant};
use serde_json::{Map, Value as Json};
use vector_place::stored_form;

use super::tree::InstanceOrigin;
use super::value;

/// An instance with its subtree.
#[derive(Debug)]
pub(super) struct InstanceSnapshot {
    pub(super) name: String,
    pub(super) class: String,
    /// A reference counts the instances of the model file from 1, in file order.
    pub(super) properties: BTreeMap<String, Variant>,
    pub(super) ignores_unknown: bool,
    pub(super) id: Option<String>,
    pub(super) has_references: bool,
    pub(super) key: String,
    pub(super) files: Vec<PathBuf>,
    pub(super) origin: InstanceOrigin,
    pub(super) children: Vec<SnapshotChild>,
    pub(super) entry: Option<PathBuf>,
    pub(super) rules: u32,
}

#[derive(Debug)]
pub(super) enum SnapshotChild {
    New(Box<InstanceSnapshot>),
    /// An instance of the previous tree that is kept as it was, with its subtree.
    Unchanged(u32),
}

impl SnapshotChild {
    pub(super) fn new(snapshot: InstanceSnapshot) -> Self {
        Self::New(Box::new(snapshot))
    }
}

impl InstanceSnapshot {
    pub(super) fn new(name: &str, class: &str, key: String, origin: InstanceOrigin) -> Self {
        Self {
            name: name.to_owned(),
            class: class.to_owned(),
            properties: BTreeMap::new(),
            ignores_unknown: false,
            id: None,
            has_references: false,
            key,
            files: Vec::new(),
            origin,
            children: Vec::new(),
            entry: None,
            rules: 0,
        }
    }

    /// Sets a property under its stored name. Properties that files do not store are dropped.
    pub(super) fn set_property(&mut self, name: &str, value: impl Into<Variant>) {
        self.properties.extend(stored_form(&self.class, name, value.into()));
    }

    /// Sets properties and attributes from the JSON of a file. Faults are added to `faults`.
    pub(super) fn set_properties(
        &mut self,
        properties: &Map<String, Json>,
        attributes: &Map<String, Json>,
        faults: &mut Vec<String>,
    ) {
        for (name, json) in properties {
            match value::parse_property(&self.class, name, json) {
                Ok(_) if matches!(name.as_str(), "Name" | "Parent") => {}
                Ok(value) => self.set_property(name, value),
                Err(why) => faults.push(why),
            }
        }
        if attributes.is_empty() {
            return;
        }
        let mut all = Attributes::new();
        for (name, json) in attributes {
            match value::parse_attribute(name, json) {
                Ok(value) => _ = all.insert(name.clone(), value),
                Err(why) => faults.push(why),
            }
        }
        self.properties.insert("Attributes".to_owned(), all.into());
    }
}
