//! Generated model files, for tests that need a plugin or an asset of a few lines.

use std::fs;
use std::path::Path;

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

/// A plugin with one script, whose children are the modules `(name, text)`.
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

/// Builds the plugin in a folder as Rojo does: a folder with an `init` file is that script, any
/// other script file is a separate script, and all other files are left out.
pub fn plugin_from_folder(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    model([self::folder(folder, name)?])
}

/// The script's class and name, from its file name.
fn script(file: &str) -> Option<(&'static str, &str)> {
    let stem = file.strip_suffix(".luau").or_else(|| file.strip_suffix(".lua"))?;
    let of = |ending| stem.strip_suffix(ending);
    Some(match (of(".server").or_else(|| of(".plugin")), of(".client")) {
        (Some(name), _) => ("Script", name),
        (None, Some(name)) => ("LocalScript", name),
        (None, None) => ("ModuleScript", stem),
    })
}

fn folder(folder: &Path, name: &str) -> Result<InstanceBuilder, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(fail)?;
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    let mut this = InstanceBuilder::new("Folder");
    let mut children = vec![];
    for path in paths {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            children.push(self::folder(&path, &file)?);
        } else if let Some((class, name)) = script(&file) {
            let text = fs::read_to_string(&path).map_err(fail)?.replace("\r\n", "\n");
            let script = InstanceBuilder::new(class).with_name(name).with_property("Source", text);
            if name == "init" {
                this = script;
            } else {
                children.push(script);
            }
        }
    }
    Ok(this.with_name(name).with_children(children))
}
