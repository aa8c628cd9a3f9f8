//! The scan of an asset as it was downloaded: its scripts with all that they can read of it.
//!
//! It must not know where the asset is inserted, and runs nothing.

use vector_luau::{ModelContent, ModelFinding, ModelInstance, ModelValue};
use vector_place::{AssetModel, ReadableContent};

/// Scans an asset. The findings refer to the instances of its contents by their indices, and are in
/// their order.
pub fn scan_asset(model: &AssetModel) -> Vec<ModelFinding> {
    let contents = model.contents();
    let instance = |at: usize| ModelInstance {
        class: contents.class_of(at),
        name: &contents.names[at],
        parent: contents.parents[at].checked_sub(1),
        tags: model.tags(at as u32),
        ..ModelInstance::default()
    };
    let mut instances: Vec<ModelInstance<'_>> = (0..contents.len()).map(instance).collect();
    for script in &contents.scripts {
        instances[script.at as usize - 1].source = Some(&script.text);
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
    vector_luau::scan_model(&instances)
}
