//! Signs of a model by themselves: scripts where nobody looks for them, and texts that hide
//! something.

use super::super::encoded_text::{check_literal, find_call_word};
use super::super::hidden_code::describe_odd_characters;
use super::super::imitation::find_imitated_service;
use super::model_index::ModelIndex;
use super::{ModelContent, ModelFinding, describe_code};

/// Minimum depth of a script within a model at which people do not open the folders any more.
const MIN_HIDDEN_DEPTH: u32 = 9;

/// Maximum bytes of a text that is read as code.
const MAX_CODE: usize = 20_000;

/// Maximum bytes of all texts of a model that are read as code.
const MAX_ALL_CODE: usize = 400_000;

/// Classes in which scripts have no reason to be.
const ODD_HOLDERS: [&str; 18] = [
    "Weld",
    "WeldConstraint",
    "ManualWeld",
    "Motor6D",
    "Motor",
    "Snap",
    "Decal",
    "Texture",
    "Sound",
    "SpecialMesh",
    "BlockMesh",
    "CylinderMesh",
    "Attachment",
    "SurfaceAppearance",
    "NoCollisionConstraint",
    "PackageLink",
    "Animation",
    "Terrain",
];

/// The run contexts of a script by their numbers, but for the usual one.
const RUN_CONTEXTS: [(f64, &str); 3] = [(1.0, "Server"), (2.0, "Client"), (3.0, "Plugin")];

/// How much of a model's texts was read as code.
#[derive(Debug, Default)]
pub(super) struct CodeBudget {
    used: usize,
    is_exceeded: bool,
}

impl CodeBudget {
    /// Whether a text was not read because too many others were.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Counts a text. Returns false if it must not be read.
    fn take(&mut self, text: &str) -> bool {
        if self.used + text.len() > MAX_ALL_CODE {
            self.is_exceeded = true;
            return false;
        }
        self.used += text.len();
        true
    }
}

/// Finds the signs of an instance.
pub(super) fn find_signs(
    index: &ModelIndex<'_>,
    at: u32,
    budget: &mut CodeBudget,
    found: &mut Vec<ModelFinding>,
) {
    let instance = index.instance(at);
    let mut add = |text: String| found.push(ModelFinding { at, text });
    if instance.source.is_some() {
        find_script_signs(index, at, &mut add);
    }
    let mut check = |what: &str, text: &str| check_text(what, text, budget, &mut add);
    check("Its name", instance.name);
    for tag in &instance.tags {
        check("A tag of it", tag);
    }
    for value in &instance.values {
        if index.stop.is_set() {
            break;
        }
        let ModelContent::Text(text) = &value.content else { continue };
        match value.name.strip_prefix('@') {
            Some(key) => {
                check("The name of an attribute", key);
                check(&format!("Its attribute {key}"), text);
            }
            None => check(&format!("Its {}", value.name), text),
        }
    }
}

fn find_script_signs(index: &ModelIndex<'_>, at: u32, add: &mut impl FnMut(String)) {
    let instance = index.instance(at);
    let holder = index.parent(at).map(|parent| index.instance(parent).class);
    if let Some(class) = holder.filter(|class| ODD_HOLDERS.contains(class)) {
        add(format!("It is inside of a {class}, where people do not look for scripts."));
    }
    let depth = index.depths[at as usize];
    if depth >= MIN_HIDDEN_DEPTH {
        add(format!("It is {depth} levels deep in the model."));
    }
    if let Some(known) = find_imitated_service(instance.name) {
        add(format!("Its name looks like {known} but is a different name."));
    }
    if instance.name.trim().is_empty() || describe_odd_characters(instance.name).is_some() {
        add("Its name has characters that people cannot see.".to_owned());
    }
    if let Some(ModelContent::Number(context)) = index.content(at, "RunContext")
        && let Some((_, name)) = RUN_CONTEXTS.iter().find(|(number, _)| number == context)
    {
        add(format!("Its RunContext is {name}, so it runs wherever it is in the place."));
    }
    if let Some(ModelContent::Text(link)) = index.content(at, "LinkedSource")
        && !link.is_empty()
    {
        add(format!("Its text is taken from {link} and is not the one that is shown here."));
    }
}

/// Checks a text that a script can read.
fn check_text(what: &str, text: &str, budget: &mut CodeBudget, add: &mut impl FnMut(String)) {
    if let Some(message) = check_literal(text, true) {
        add(format!("{what} {message}."));
        return;
    }
    if text.len() > MAX_CODE || find_call_word(text).is_none() || !text.contains('(') {
        return;
    }
    if !budget.take(text) {
        return;
    }
    if super::super::super::compile_errors(text).is_empty() {
        if let Some(message) = describe_code(text) {
            add(format!("{what} is code, which {message}."));
        }
    } else if has_call(text) {
        add(format!("{what} holds text that can become code."));
    }
}

/// Whether a text that is not a script calls a function that loads code.
fn has_call(text: &str) -> bool {
    let has_argument = |word: &str, is_argument: fn(&str) -> bool| {
        text.match_indices(word).any(|(at, _)| {
            let rest = text[at + word.len()..].trim_start().strip_prefix('(');
            rest.is_some_and(|rest| is_argument(rest.trim_start()))
        })
    };
    ["loadstring", "getfenv", "setfenv"].iter().any(|word| has_argument(word, |_| true))
        || has_argument("require", |rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
