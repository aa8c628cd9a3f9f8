//! The scan of an asset as it was downloaded: its scripts with all that they can read of it.
//!
//! It must not know where the asset is inserted, and runs nothing.

use scene_schemas::command::{AssetContents, AssetFinding};
use vector_luau::{ModelContent, ModelInstance, ModelValue};
use vector_place::{AssetModel, ReadableContent};

/// An asset as it was downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadedAsset {
    pub file: Vec<u8>,
    /// What was found in it; None if it was not scanned.
    pub findings: Option<Vec<AssetFinding>>,
}

/// Scans an asset. The findings are in the order of its instances.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn scan_asset(model: &AssetModel) -> Vec<AssetFinding> {
    let contents = model.contents();
    let mut instances = list_instances(contents);
    for (at, instance) in (0..).zip(&mut instances) {
        instance.tags = model.tags(at);
    }
    for value in model.readable_values() {
        let content = match value.content {
            ReadableContent::Text(text) => ModelContent::Text(text),
            ReadableContent::Number(number) => ModelContent::Number(number),
            ReadableContent::Flag(flag) => ModelContent::Flag(flag),
            ReadableContent::Instance(at) => ModelContent::Instance(at),
        };
        instances[value.at as usize].values.push(ModelValue { name: value.name, content });
    }
    scan_instances(&instances)
}

/// Scans what is known of an asset that Studio loads: classes, names and scripts.
///
/// The parser recurses, so call this on a thread with at least 64 MB of stack.
pub fn scan_contents(contents: &AssetContents) -> Vec<AssetFinding> {
    scan_instances(&list_instances(contents))
}

fn scan_instances(instances: &[ModelInstance<'_>]) -> Vec<AssetFinding> {
    let found = vector_luau::scan_model(instances).into_iter();
    found.map(|it| AssetFinding { at: it.at + 1, text: it.text }).collect()
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
