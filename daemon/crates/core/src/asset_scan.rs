//! The scan of an asset as it was downloaded: its scripts with all that they can read of it.
//!
//! It must not know where the asset is inserted, and runs nothing.

use scene_schemas::command::{AssetContents, AssetFinding, AssetFindingKind};
use vector_luau::{ModelContent, ModelInstance, ModelValue};
use vector_place::{AssetModel, MAX_READABLE_VALUES, ReadableContent};

/// An asset as it was downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadedAsset {
    pub file: Vec<u8>,
    /// What was found in its code, and then in its content; None if it was not scanned.
    pub findings: Option<Vec<AssetFinding>>,
}

/// What is said of every script if an asset holds more values than were read.
const VALUES_NOT_READ: &str =
    "The asset holds too many values: not all of them were scanned. Read all of it.";

/// Scans an asset. The findings are in the order of its instances. `is_stopped` is called often, and
/// ends the scan when it returns true; the findings say so.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn scan_asset(model: &AssetModel, is_stopped: &dyn Fn() -> bool) -> Vec<AssetFinding> {
    let contents = model.contents();
    let mut instances = list_instances(contents);
    for (at, instance) in (0..).zip(&mut instances) {
        instance.tags = model.tags(at);
    }
    let values = model.readable_values();
    let is_cut = values.len() >= MAX_READABLE_VALUES;
    for value in values {
        let content = match value.content {
            ReadableContent::Text(text) => ModelContent::Text(text),
            ReadableContent::Number(number) => ModelContent::Number(number),
            ReadableContent::Flag(flag) => ModelContent::Flag(flag),
            ReadableContent::Instance(at) => ModelContent::Instance(at),
        };
        instances[value.at as usize].values.push(ModelValue { name: value.name, content });
    }
    let mut found = scan_instances(&instances, is_stopped);
    if is_cut {
        found.extend(name_scripts(contents, VALUES_NOT_READ));
    }
    found
}

/// The same finding for every script of an asset: any of them may be the one that is kept.
pub fn name_scripts(contents: &AssetContents, text: &str) -> Vec<AssetFinding> {
    let kind = AssetFindingKind::Code;
    let finding = |at: u32| AssetFinding { at, text: text.to_owned(), kind };
    contents.scripts.iter().map(|script| finding(script.at)).collect()
}

/// Scans what is known of an asset that Studio loads: classes, names and scripts.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn scan_contents(contents: &AssetContents) -> Vec<AssetFinding> {
    scan_instances(&list_instances(contents), &|| false)
}

fn scan_instances(
    instances: &[ModelInstance<'_>],
    is_stopped: &dyn Fn() -> bool,
) -> Vec<AssetFinding> {
    let found = vector_luau::scan_model(instances, is_stopped).into_iter();
    let kind = AssetFindingKind::Code;
    found.map(|it| AssetFinding { at: it.at + 1, text: it.text, kind }).collect()
}

fn list_instances(contents: &AssetContents) -> Vec<ModelInstance<'_>> {
    let instance = |at: usize| ModelInstance {
        class: contents.class_of(at),
        name: &contents.names[at],
        parent: contents.parents[at].checked_sub(1),
        ..ModelInstance::default()
    };
    let mut instances: Vec<ModelInstance<'_>> = (0..contents.len()).map(instance).collect();
    for script in &contents.scripts {
        instances[script.at as usize - 1].source = Some(&script.text);
    }
    instances
}
