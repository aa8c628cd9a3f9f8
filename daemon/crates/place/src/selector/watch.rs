//! Which changes of a place can change what a selector matches.
//!
//! It errs on one side: what it does not name changes nothing, and what it names may change nothing.

use std::collections::BTreeSet;

use super::{Combinator, ComplexSelector, Selector, SelectorTest};
use crate::reflection;

/// The changes that can change what a selector matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectorWatch {
    /// The instances that matter if they are new or deleted; None if any do.
    pub subjects: Option<Vec<WatchedSubject>>,
    /// Whether it matters where an instance is.
    pub has_steps: bool,
    /// The names that matter: a renaming does if the old or the new name is among them.
    pub names: BTreeSet<String>,
    /// The properties that matter, as named by [`reflection::property_group`]. `Tags` is among them,
    /// and attributes with an `@`.
    pub properties: BTreeSet<String>,
}

/// What an alternative of a selector demands of an instance that it matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedSubject {
    /// The class, or one from which it derives; None if it can be any.
    pub class: Option<String>,
    /// The name; None if it can be any.
    pub name: Option<String>,
}

impl SelectorWatch {
    /// Whether an instance that appears or disappears matters, by its class and name.
    pub fn includes(&self, class: &str, name: &str) -> bool {
        let matches = |it: &WatchedSubject| {
            it.class.as_ref().is_none_or(|of| reflection::is_a(class, of))
                && it.name.as_ref().is_none_or(|of| of == name)
        };
        self.subjects.as_ref().is_none_or(|it| it.iter().any(matches))
    }
}

impl Selector {
    /// Returns the changes that can change what the selector matches.
    pub fn watch(&self) -> SelectorWatch {
        let mut watch = SelectorWatch { subjects: Some(Vec::new()), ..Default::default() };
        add_list(&mut watch, &self.any_of);
        watch
    }
}

fn add_list(watch: &mut SelectorWatch, any_of: &[ComplexSelector]) {
    for complex in any_of {
        watch.has_steps |= complex.steps.len() > 1
            || complex.steps.iter().any(|it| it.combinator == Combinator::Child);
        for step in &complex.steps {
            let mut subject = WatchedSubject::default();
            for test in &step.tests {
                match test {
                    SelectorTest::Class { name, .. } => {
                        subject.class = Some(name.clone()).filter(|it| it != "Instance");
                    }
                    SelectorTest::Name(name) => {
                        subject.name = Some(name.clone());
                        watch.names.insert(name.clone());
                    }
                    SelectorTest::Tag(_) => add_property(watch, "Tags"),
                    SelectorTest::HasAttribute(key) | SelectorTest::Attribute(key, _) => {
                        watch.properties.insert(format!("@{key}"));
                    }
                    SelectorTest::Property(test) => add_property(watch, &test.name),
                    SelectorTest::Not(nested) | SelectorTest::Has(nested) => {
                        watch.has_steps = true;
                        add_list(watch, &nested.any_of);
                    }
                }
            }
            watch.subjects.iter_mut().for_each(|it| it.push(subject.clone()));
        }
    }
    // An instance of any class and name can be on the way to one that matches.
    if watch.has_steps {
        watch.subjects = None;
    }
}

fn add_property(watch: &mut SelectorWatch, name: &str) {
    watch.properties.insert(reflection::property_group(name).to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(selector: &str) -> SelectorWatch {
        Selector::parse(selector).unwrap().watch()
    }

    #[test]
    fn classes_matter_where_every_alternative_names_one() {
        let parts = watch("Part, Script[Enabled = true]");
        assert!(parts.includes("Part", "A") && parts.includes("LocalScript", "A"));
        assert!(!parts.includes("Folder", "A") && !parts.has_steps);
        assert!(parts.properties.contains(reflection::property_group("Disabled")));
        for any in
            ["Part, .Door", "Instance", "Model > Part", "#A > #B", ":not(Part)", "Part:has(Fire)"]
        {
            assert!(watch(any).includes("Folder", "Wall"), "{any}");
        }
        let named = watch("#Wall, Part#Door");
        for (class, name, is_watched) in [
            ("Folder", "Wall", true),
            ("Folder", "Door", false),
            ("Part", "Door", true),
            ("Part", "Gate", false),
        ] {
            assert_eq!(named.includes(class, name), is_watched, "{class} {name}");
        }
    }

    #[test]
    fn place_in_the_tree_matters_for_steps_and_nested_selectors() {
        for steps in ["Model > Part", "Model >> Part", "> Part", "Part:has(Fire)", "Part:not(.A)"] {
            assert!(watch(steps).has_steps, "{steps}");
        }
        assert!(!watch("Part.Door[$open = 3]#Name").has_steps);
    }

    #[test]
    fn names_tags_attributes_and_properties_matter_where_they_are_tested() {
        let all = watch(
            "Part.Door[$open = 3]#Wall[BrickColor = \"Bright red\"]:not([Position = \"0, 0, 0\"])",
        );
        assert!(["@open", "Tags"].iter().all(|it| all.properties.contains(*it)), "{all:?}");
        assert_eq!(all.names, BTreeSet::from(["Wall".to_owned()]));
        assert!(watch("[Name = \"Wall\"]").properties.contains("Name"));
        for same in ["Color", "BrickColor", "CFrame"] {
            assert!(all.properties.contains(reflection::property_group(same)), "{same}: {all:?}");
        }
        assert!(!all.properties.contains(reflection::property_group("Transparency")));
    }
}
