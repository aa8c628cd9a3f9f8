//! Model files made on the fly, for tests that need a plugin or an asset of a few lines.

use rbx_dom_weak::{InstanceBuilder, WeakDom};

/// The bytes of a model file with these roots.
pub fn model(roots: impl IntoIterator<Item = InstanceBuilder>) -> Result<Vec<u8>, String> {
    let mut dom = WeakDom::new(InstanceBuilder::new("DataModel"));
    let root = dom.root_ref();
    let roots: Vec<_> = roots.into_iter().map(|it| dom.insert(root, it)).collect();
    let mut bytes = vec![];
    rbx_binary::to_writer(&mut bytes, &dom, &roots).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// A plugin of one script, with modules beside its text: `(name, text)` become its children.
pub fn plugin(script: &str, modules: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let module = |(name, text): &(&str, &str)| {
        InstanceBuilder::new("ModuleScript").with_name(*name).with_property("Source", *text)
    };
    let script = InstanceBuilder::new("Script")
        .with_name("Vector")
        .with_property("Source", script)
        .with_children(modules.iter().map(module).collect::<Vec<_>>());
    model([script])
}
