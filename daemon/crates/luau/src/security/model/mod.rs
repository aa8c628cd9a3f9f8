//! Scan of a whole model: its scripts together with what they can read of it, such as attributes,
//! value objects, names, tags and the addresses of textures.
//!
//! A script's expressions are resolved within the model, so a number that another instance holds is
//! followed to the call that uses it. Texts that hide something count by themselves, as do places
//! where nobody looks for scripts. Like the scan of one script, it runs nothing and must not know
//! where the model comes from.

mod lookup;
mod model_index;
mod signs;

use std::rc::Rc;

use super::tree::TreeExpr;
use super::value::ScanValue;
use super::{
    ScanFinding, TokenView, TreeView, added_findings, find_all, format_findings,
    normalize_line_ends, parse_tree, scan_view,
};

pub(super) use self::model_index::{ModelContext, ModelIndex};

use self::model_index::{ModuleExports, ScanStop};
use self::signs::CodeBudget;

/// What is said of every script if not all of the model was scanned.
const TEXTS_NOT_SCANNED: &str =
    "Not all texts of the asset were scanned: too many of them may be code. Read all of it.";
const NOT_SCANNED: &str =
    "The scan of the asset was ended before all of it was scanned. Read all of it.";

/// An instance of a model. Parents come before their children, which follow them depth first.
#[derive(Debug, Clone, Default)]
pub struct ModelInstance<'a> {
    pub class: &'a str,
    pub name: &'a str,
    /// The index of the parent, if it is in the model.
    pub parent: Option<u32>,
    /// The text of a script.
    pub source: Option<&'a str>,
    /// Properties and attributes that scripts can read.
    pub values: Vec<ModelValue>,
    pub tags: Vec<String>,
}

/// A property or attribute that scripts can read.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelValue {
    /// The name of the property, or of the attribute after `@`.
    pub name: String,
    pub content: ModelContent,
}

/// The content of a [`ModelValue`].
#[derive(Debug, Clone, PartialEq)]
pub enum ModelContent {
    Text(String),
    Number(f64),
    Flag(bool),
    /// Another instance of the model, by its index.
    Instance(u32),
}

/// What deserves review in a model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelFinding {
    /// The index of the instance.
    pub at: u32,
    /// A sentence about it.
    pub text: String,
}

/// Scans a model. Findings are in the order of its instances. Those of a script include what
/// [`scan_script`](super::scan_script) finds in it alone, with what is known of the values.
/// `is_stopped` is called often and ends the scan when it returns true; every script then has a
/// finding that says so.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn scan_model(
    instances: &[ModelInstance<'_>],
    is_stopped: &dyn Fn() -> bool,
) -> Vec<ModelFinding> {
    let stop = ScanStop(is_stopped);
    let mut index = ModelIndex::new(instances, stop);
    read_modules(&mut index);
    let mut found = Vec::new();
    let mut budget = CodeBudget::default();
    for (at, instance) in (0..).zip(instances) {
        if stop.is_set() {
            break;
        }
        signs::find_signs(&index, at, &mut budget, &mut found);
        let Some(source) = instance.source.filter(|source| !source.is_empty()) else { continue };
        let context = ModelContext { index: &index, script: at };
        let of_script = added_findings(&[], find_all(source, Some(context)));
        let sentences = format_findings(of_script).into_iter();
        found.extend(sentences.map(|text| ModelFinding { at, text }));
    }
    // Any of the scripts may be the one that uses what was not scanned.
    let incomplete = [(budget.is_exceeded(), TEXTS_NOT_SCANNED), (stop.is_set(), NOT_SCANNED)];
    for (_, text) in incomplete.into_iter().filter(|(is_so, _)| *is_so) {
        let scripts = (0..).zip(instances).filter(|(_, it)| it.source.is_some());
        found.extend(scripts.map(|(at, _)| ModelFinding { at, text: text.to_owned() }));
    }
    found.sort_by_key(|it| it.at);
    found
}

/// Records the constant values that the model's modules return.
fn read_modules(index: &mut ModelIndex<'_>) {
    for at in 0..index.instances.len() as u32 {
        if index.stop.is_set() {
            break;
        }
        let instance = &index.instances[at as usize];
        let Some(source) = instance.source.filter(|_| instance.class == "ModuleScript") else {
            continue;
        };
        let source = normalize_line_ends(source);
        let tokens = TokenView::new(&source);
        let Ok(tree) = parse_tree(&source, &tokens.tokens) else { continue };
        let context = ModelContext { index: &*index, script: at };
        let exports = scan_view(&tokens, &tree, Some(context), read_exports);
        index.exports.insert(at, exports);
    }
}

/// The constant values that a module returns, and those of a returned table.
fn read_exports(view: &mut TreeView<'_>) -> ModuleExports {
    let tree = view.tree;
    let mut exports = ModuleExports::default();
    let returns = tree.statements.iter().filter(|it| it.is_return && it.function.is_none());
    for value in returns.filter_map(|it| it.roots.first().copied()) {
        let values = view.evaluator.eval(value);
        exports.values.extend(values.iter().filter(|it| is_constant(it)).cloned());
        for table in values.iter() {
            let ScanValue::Table(id) = table else { continue };
            let TreeExpr::Table(fields) = tree.expr(*id) else { continue };
            let mut nth = 0;
            for field in fields {
                let name = if let Some(key) = field.key {
                    tree.literal_text(key).cloned()
                } else {
                    nth += 1;
                    Some(Rc::from(nth.to_string()))
                };
                let found = view.evaluator.eval(field.value);
                let constant = found.iter().filter(|it| is_constant(it)).cloned();
                exports.add_field(name, constant);
            }
        }
        let written = tree.binding_writes.iter();
        for ((binding, name), writes) in written {
            if tree.root_binding(value) == Some(*binding) {
                for write in writes {
                    let found = view.evaluator.eval(*write);
                    let constant = found.iter().filter(|it| is_constant(it)).cloned();
                    exports.add_field(Some(name.clone()), constant);
                }
            }
        }
    }
    exports
}

/// Whether a value means the same in another script.
fn is_constant(value: &ScanValue) -> bool {
    match value {
        ScanValue::Number(_)
        | ScanValue::Text(_)
        | ScanValue::Prefix(_)
        | ScanValue::Builtin(_)
        | ScanValue::Service(_)
        | ScanValue::Untrusted(_)
        | ScanValue::ModelNode(_)
        | ScanValue::Module(_) => true,
        ScanValue::Nil
        | ScanValue::Bool(_)
        | ScanValue::UnknownNumber
        | ScanValue::Table(_)
        | ScanValue::List(_)
        | ScanValue::Function(_)
        | ScanValue::Member(..)
        | ScanValue::Instance
        | ScanValue::Imported
        | ScanValue::Incomplete
        | ScanValue::Unknown => false,
    }
}

/// Describes what the scan finds in a text that is not a script. None if it finds nothing.
fn describe_code(text: &str) -> Option<String> {
    let found: Vec<ScanFinding> = added_findings(&[], find_all(text, None));
    // Notes show how a module is used, such as `local Spring = require(path.Spring)`.
    let is_use = |it: &&ScanFinding| it.message == super::external_access::UNSHOWN_MODULE;
    found.iter().find(|it| !is_use(it)).map(|first| first.message.clone())
}

#[cfg(test)]
mod tests;
