//! Facts about Roblox's API: what each class, datatype and enum has, with types, parameters and
//! security. `data/README.md` names their source.

mod definitions;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use self::definitions::print_definitions;

/// A class or datatype.
#[derive(Debug, Deserialize)]
pub struct TypeFacts {
    pub name: String,
    /// The class that it inherits from, alone.
    #[serde(default)]
    pub inherits: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    /// The members of its own.
    pub members: Vec<Member>,
    #[serde(default)]
    pub operations: Vec<Operation>,
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    Property,
    Method,
    Event,
    Callback,
    /// A constructor of a datatype, called on its name.
    Constructor,
    /// A constant of a datatype, read from its name.
    Constant,
    /// A function of a datatype or library, called on its name.
    Function,
}

#[derive(Debug, Deserialize)]
pub struct Member {
    pub kind: MemberKind,
    pub name: String,
    /// The type of a property.
    #[serde(default, rename = "type")]
    pub value_type: Option<String>,
    #[serde(default)]
    pub params: Vec<Parameter>,
    #[serde(default)]
    pub returns: Vec<String>,
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub security: Option<MemberSecurity>,
    #[serde(default)]
    pub deprecated: bool,
}

#[derive(Debug, Deserialize)]
pub struct Parameter {
    pub name: String,
    #[serde(default, rename = "type")]
    pub value_type: Option<String>,
    /// The default, as the reference writes it.
    #[serde(default)]
    pub default: Option<serde_json::Value>,
}

/// The security that a caller needs.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum MemberSecurity {
    Same(String),
    Each { read: String, write: String },
}

/// An operator of a datatype.
#[derive(Debug, Deserialize)]
pub struct Operation {
    pub operation: String,
    pub type_a: String,
    pub type_b: String,
    pub return_type: String,
}

#[derive(Debug, Deserialize)]
pub struct EnumFacts {
    pub name: String,
    pub items: Vec<EnumItem>,
}

#[derive(Debug, Deserialize)]
pub struct EnumItem {
    pub name: String,
    pub value: i64,
}

/// All facts, by name.
#[derive(Debug)]
pub struct ApiFacts {
    pub classes: BTreeMap<String, TypeFacts>,
    pub datatypes: BTreeMap<String, TypeFacts>,
    pub enums: BTreeMap<String, EnumFacts>,
}

const CLASSES: &str = include_str!("../data/classes.jsonl");
const DATATYPES: &str = include_str!("../data/datatypes.jsonl");
const ENUMS: &str = include_str!("../data/enums.jsonl");
const UNDOCUMENTED: &str = include_str!("../data/undocumented.txt");

static FACTS: LazyLock<ApiFacts> = LazyLock::new(|| {
    let types = |text| lines(text).map(|it: TypeFacts| (it.name.clone(), it)).collect();
    ApiFacts {
        classes: types(CLASSES),
        datatypes: types(DATATYPES),
        enums: lines(ENUMS).map(|it: EnumFacts| (it.name.clone(), it)).collect(),
    }
});

static UNDOCUMENTED_NAMES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| UNDOCUMENTED.lines().filter(|line| !line.starts_with('#')).collect());

/// Whether Roblox has a class, or a member written as `Class.Member`, that its reference leaves out.
/// The facts then lack it.
pub fn is_undocumented(name: &str) -> bool {
    UNDOCUMENTED_NAMES.contains(name)
}

/// Reads the lines of the data. A test reads each of them.
fn lines<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = T> + '_ {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// Parameters that may be left out although the reference does not say so: class, method, parameter.
const LEFT_OUT: [(&str, &str, &str); 3] = [
    ("Instance", "WaitForChild", "timeOut"),
    ("Plugin", "CreatePluginAction", "iconName"),
    ("PluginToolbar", "CreateButton", "text"),
];

/// Whether a plugin has a security.
fn has_plugin(security: &str) -> bool {
    matches!(security, "None" | "PluginSecurity" | "LocalUserSecurity")
}

impl ApiFacts {
    pub fn get() -> &'static Self {
        &FACTS
    }

    /// Returns a member of a class, of its own or inherited, and the class that has it.
    pub fn member(&self, class: &str, name: &str) -> Option<(&TypeFacts, &Member)> {
        self.lineage(class).find_map(|facts| {
            let member = facts.members.iter().find(|it| it.name == name)?;
            Some((facts, member))
        })
    }

    /// Returns a class and the classes that it inherits from, nearest first.
    pub fn lineage(&self, class: &str) -> impl Iterator<Item = &TypeFacts> {
        std::iter::successors(self.classes.get(class), |it| self.classes.get(it.inherits.first()?))
    }
}

impl TypeFacts {
    /// Whether a call of a method may leave out a parameter.
    pub fn is_optional(&self, method: &Member, parameter: &Parameter) -> bool {
        let named = (self.name.as_str(), method.name.as_str(), parameter.name.as_str());
        parameter.is_optional() || LEFT_OUT.contains(&named)
    }

    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|it| it == tag)
    }
}

impl Member {
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|it| it == tag)
    }

    pub fn is_deprecated(&self) -> bool {
        self.deprecated || self.has_tag("Deprecated")
    }

    /// Whether a plugin may read or call it.
    pub fn is_readable(&self) -> bool {
        !self.has_tag("NotScriptable")
            && match &self.security {
                None => true,
                Some(MemberSecurity::Same(security)) => has_plugin(security),
                Some(MemberSecurity::Each { read, .. }) => has_plugin(read),
            }
    }

    /// Whether a plugin may set it.
    pub fn is_writable(&self) -> bool {
        !self.has_tag("ReadOnly")
            && match &self.security {
                None => true,
                Some(MemberSecurity::Same(security)) => has_plugin(security),
                Some(MemberSecurity::Each { write, .. }) => has_plugin(write),
            }
    }
}

impl Parameter {
    /// Whether the reference says that a call may leave it out.
    fn is_optional(&self) -> bool {
        self.default.is_some()
            || self.value_type.as_ref().is_none_or(|it| it.ends_with('?') || it == "Variant")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_is_read() {
        let facts = ApiFacts::get();
        assert_eq!(facts.classes.len(), CLASSES.lines().count());
        assert_eq!(facts.datatypes.len(), DATATYPES.lines().count());
        assert_eq!(facts.enums.len(), ENUMS.lines().count());
    }

    #[test]
    fn undocumented_names_are_not_in_the_reference() {
        let facts = ApiFacts::get();
        assert!(UNDOCUMENTED_NAMES.len() > 400);
        for name in UNDOCUMENTED_NAMES.iter().filter(|name| **name != "VirtualUser") {
            let is_documented = match name.split_once('.') {
                Some((class, member)) => facts.member(class, member).is_some(),
                None => facts.classes.contains_key(*name),
            };
            assert!(!is_documented, "{name}");
        }
    }
}
