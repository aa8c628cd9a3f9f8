//! Lookups of the evaluator in the model around a script: members and methods of its instances.
//!
//! A result is one of the possible values: other scripts may change what the model holds, so the
//! caller adds what the scan of the script alone assumes.

use std::rc::Rc;

use super::super::value::{ScanValue, truncate_text};
use super::ModelContent;
use super::model_index::{ModelContext, ModuleExports};

/// Maximum number of instances in a list.
const MAX_LIST: usize = 300;

/// Classes that scripts look for although instances have classes that inherit from them.
const BASE_CLASSES: [(&str, &str); 6] = [
    ("LuaSourceContainer", "Script"),
    ("BaseScript", "Script"),
    ("ValueBase", "Value"),
    ("BasePart", "Part"),
    ("DataModelMesh", "Mesh"),
    ("LightBase", "Light"),
];

impl<'a> ModelContext<'a> {
    /// The value of an instance's member, if the model has it.
    pub(in super::super) fn member(self, at: u32, name: &str) -> Vec<ScanValue> {
        let index = self.index;
        let instance = index.instance(at);
        let mut values = Vec::new();
        match name {
            "Parent" => match index.parent(at) {
                Some(parent) => return vec![ScanValue::ModelNode(parent)],
                None => return Vec::new(),
            },
            "Name" => values.push(truncate_text(instance.name)),
            "ClassName" => values.push(ScanValue::Text(instance.class.into())),
            _ => {}
        }
        values.extend(index.content(at, name).map(content_value));
        values.extend(index.find_named(at, name, false).map(ScanValue::ModelNode));
        values
    }

    /// The results of a method of an instance, if the model determines them.
    pub(in super::super) fn method(
        self,
        at: u32,
        name: &str,
        args: &[Option<Rc<str>>],
    ) -> Vec<ScanValue> {
        let index = self.index;
        let first = args.first().and_then(Clone::clone);
        let node = |found: Option<u32>| found.map(ScanValue::ModelNode).into_iter().collect();
        let Some(first) = first else {
            return match name {
                "GetChildren" => node_list(index.children(at).iter().copied()),
                "GetDescendants" => node_list(index.descendants(at)),
                "GetTags" => text_list(&index.instance(at).tags),
                "Clone" => vec![ScanValue::ModelNode(at)],
                _ => Vec::new(),
            };
        };
        match name {
            "FindFirstChild" => node(index.find_named(at, &first, args.len() > 1)),
            "WaitForChild" => node(index.find_named(at, &first, false)),
            "FindFirstDescendant" => node(index.find_named(at, &first, true)),
            "FindFirstChildOfClass" | "FindFirstChildWhichIsA" => {
                let mut children = index.children(at).iter().copied().take(MAX_LIST);
                node(children.find(|child| is_of_class(index.instance(*child).class, &first)))
            }
            "FindFirstAncestor" => {
                node(index.ancestors(at).find(|above| index.instance(*above).name == &*first))
            }
            "FindFirstAncestorOfClass" | "FindFirstAncestorWhichIsA" => {
                let mut above = index.ancestors(at);
                node(above.find(|above| is_of_class(index.instance(*above).class, &first)))
            }
            "GetAttribute" => {
                let content = index.content(at, &format!("@{first}"));
                content.map(content_value).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The texts of all tags that `CollectionService:GetTags` returns of an instance.
    pub(in super::super) fn tags(self, at: u32) -> Vec<ScanValue> {
        text_list(&self.index.instance(at).tags)
    }

    /// What a module of the model returns, as far as it is constant.
    pub(in super::super) fn exports(self, module: u32) -> Option<&'a ModuleExports> {
        self.index.exports.get(&module)
    }
}

fn is_of_class(class: &str, wanted: &str) -> bool {
    let ending = BASE_CLASSES.iter().find(|(base, _)| *base == wanted).map(|(_, ending)| ending);
    class == wanted || ending.is_some_and(|ending| class.ends_with(ending))
}

fn content_value(content: &ModelContent) -> ScanValue {
    match content {
        ModelContent::Text(text) => truncate_text(text),
        ModelContent::Number(number) => ScanValue::Number(*number),
        ModelContent::Flag(flag) => ScanValue::Bool(*flag),
        ModelContent::Instance(at) => ScanValue::ModelNode(*at),
    }
}

fn node_list(nodes: impl Iterator<Item = u32>) -> Vec<ScanValue> {
    vec![ScanValue::List(nodes.take(MAX_LIST).map(ScanValue::ModelNode).collect())]
}

fn text_list(texts: &[String]) -> Vec<ScanValue> {
    if texts.is_empty() {
        return Vec::new();
    }
    vec![ScanValue::List(texts.iter().take(MAX_LIST).map(|it| truncate_text(it)).collect())]
}
