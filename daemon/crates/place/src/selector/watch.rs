//! Which changes of a place can change what a selector matches.
//!
//! It errs on one side: what it does not name changes nothing, and what it names may change nothing.

use std::collections::BTreeSet;

use super::{Combinator, ComplexSelector, Selector, SelectorTest};
use crate::reflection;

/// The changes that can change what a selector matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectorWatch {
    /// The classes whose new or deleted instances matter; None if those of any class do.
    pub classes: Option<BTreeSet<String>>,
    /// Whether it matters where an instance is.
    pub has_steps: bool,
    /// The names that matter: a renaming does if the old or the new name is among them.
    pub names: BTreeSet<String>,
    /// The properties that matter, as named by [`reflection::property_group`]. `Tags` is among them,
    /// and attributes with an `@`.
    pub properties: BTreeSet<String>,
}

impl SelectorWatch {
    /// Whether an instance of a class that appears or disappears matters.
    pub fn includes_class(&self, class: &str) -> bool {
        self.classes.as_ref().is_none_or(|it| it.iter().any(|of| reflection::is_a(class, of)))
    }
}

impl Selector {
    /// Returns the changes that can change what the selector matches.
    pub fn watch(&self) -> SelectorWatch {
        let mut watch = SelectorWatch { classes: Some(BTreeSet::new()), ..Default::default() };
        add_list(&mut watch, &self.any_of);
        watch
    }
}

fn add_list(watch: &mut SelectorWatch, any_of: &[ComplexSelector]) {
    for complex in any_of {
        // An instance of any class can be on the way to one that matches.
        watch.has_steps |= complex.steps.len() > 1
            || complex.steps.iter().any(|it| it.combinator == Combinator::Child);
        for step in &complex.steps {
            let mut class = None;
            for test in &step.tests {
                match test {
                    SelectorTest::Class { name, .. } => class = Some(name),
                    SelectorTest::Name(name) => _ = watch.names.insert(name.clone()),
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
            match class.filter(|it| it.as_str() != "Instance") {
                Some(class) => watch.classes.iter_mut().for_each(|it| _ = it.insert(class.clone())),
                None => watch.classes = None,
            }
        }
    }
    if watch.has_steps {
        watch.classes = None;
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
        assert!(parts.includes_class("Part") && parts.includes_class("LocalScript"));
        assert!(!parts.includes_class("Folder") && !parts.has_steps);
        assert!(parts.properties.contains(reflection::property_group("Disabled")));
        for any in
            ["#Wall", "Part, .Door", "Instance", "Model > Part", ":not(Part)", "Part:has(Fire)"]
        {
            assert!(watch(any).includes_class("Folder"), "{any}");
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
