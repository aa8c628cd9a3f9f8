//! The Studio plugin as a model file, built from the sources embedded in the binary.
//!
//! The tree follows `rojo.json` and Rojo's rules for making instances of files: a folder is a
//! `Folder`, or the script in its `init` file; `.server.luau` is a `Script`, `.client.luau` a
//! `LocalScript` and `.luau` a `ModuleScript`. This module does not know where Studio looks for
//! plugins.

use std::borrow::Cow;

use scene_schemas::Value;
use serde_json::Value as Json;
use vector_place::{CodecError, FileFormat, Node, Scene};

/// The embedded files: path in the repository, and text.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/plugin.rs"));

/// A folder of plugin sources.
#[derive(Debug, Default)]
struct PluginFolder {
    folders: std::collections::BTreeMap<String, PluginFolder>,
    files: std::collections::BTreeMap<String, Cow<'static, str>>,
}

/// Builds the plugin as a binary model.
///
/// # Errors
/// Fails if the project is not one that this reader supports. A test builds the plugin.
pub fn build_plugin() -> Result<Vec<u8>, CodecError> {
    let read = |what: &str| CodecError::Read(what.to_owned());
    let text = |name: &str| FILES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text);
    let project = text("rojo.json").ok_or_else(|| read("the project is missing"))?;
    let project: Json =
        serde_json::from_str(project).map_err(|_| read("the project is not JSON"))?;
    let name = project["name"].as_str().ok_or_else(|| read("the project has no name"))?;
    let path = project["tree"]["$path"].as_str().ok_or_else(|| read("the tree has no $path"))?;
    PluginFolder::of_embedded(path).build_model(name)
}

/// Builds the probe of `vector doctor --studio` as a binary model. It sends its report to this port,
/// with the token.
///
/// # Errors
/// The model cannot be encoded.
pub fn build_probe(port: u16, token: &str) -> Result<Vec<u8>, CodecError> {
    let mut root = PluginFolder::of_embedded("plugin/probe");
    let address = format!("return table.freeze({{ port = {port}, token = {token:?} }})\n");
    root.files.insert("Address.luau".to_owned(), address.into());
    root.build_model("VectorProbe")
}

impl PluginFolder {
    /// The embedded files below a path.
    fn of_embedded(path: &str) -> Self {
        let mut root = Self::default();
        for (file, text) in FILES {
            if let Some(below) = file.strip_prefix(path).and_then(|below| below.strip_prefix('/')) {
                root.add_file(below, text);
            }
        }
        root
    }

    fn build_model(&self, name: &str) -> Result<Vec<u8>, CodecError> {
        let mut scene = Scene::empty(FileFormat::Binary);
        let game = scene.root();
        self.insert_into(&mut scene, game, name);
        scene.encode()
    }

    fn add_file(&mut self, path: &str, text: &'static str) {
        match path.split_once('/') {
            Some((folder, rest)) => {
                self.folders.entry(folder.to_owned()).or_default().add_file(rest, text);
            }
            None => drop(self.files.insert(path.to_owned(), text.into())),
        }
    }

    fn insert_into(&self, scene: &mut Scene, parent: Node, name: &str) {
        let init = self.files.iter().find_map(|(file, text)| {
            let (stem, class) = parse_script_name(file)?;
            (stem == "init").then_some((class, &**text))
        });
        let node = match init {
            Some((class, text)) => create_script(scene, parent, class, name, text),
            None => scene.create(parent, "Folder", name),
        };
        for (name, folder) in &self.folders {
            folder.insert_into(scene, node, name);
        }
        for (file, text) in &self.files {
            if let Some((stem, class)) = parse_script_name(file).filter(|(stem, _)| *stem != "init")
            {
                create_script(scene, node, class, stem, text);
            }
        }
    }
}

/// The name and class of the script that a file becomes.
fn parse_script_name(file: &str) -> Option<(&str, &'static str)> {
    let stem = file.strip_suffix(".luau")?;
    Some(match (stem.strip_suffix(".server"), stem.strip_suffix(".client")) {
        (Some(stem), _) => (stem, "Script"),
        (_, Some(stem)) => (stem, "LocalScript"),
        _ => (stem, "ModuleScript"),
    })
}

fn create_script(scene: &mut Scene, parent: Node, class: &str, name: &str, text: &str) -> Node {
    let node = scene.create(parent, class, name);
    // The source text is an ordinary property until the file is written.
    let _ = scene.set_property(node, "Source", Some(&Value::String(text.to_owned())));
    node
}

#[cfg(test)]
mod tests {
    use scene_schemas::InstancePath;

    use super::*;

    #[test]
    fn built_plugin_contains_the_schema_module() {
        let scene = Scene::decode(&build_plugin().unwrap()).unwrap();
        let at = |path: &str| scene.resolve(&path.parse::<InstancePath>().unwrap()).unwrap();
        let schema = at("game.Vector.Schema");
        assert_eq!(scene.class(schema), "ModuleScript");
        assert!(scene.script_text(schema).unwrap().starts_with("--!strict"));
    }

    #[test]
    fn file_names_map_to_script_classes_as_in_rojo() {
        assert_eq!(parse_script_name("init.server.luau"), Some(("init", "Script")));
        assert_eq!(parse_script_name("A.client.luau"), Some(("A", "LocalScript")));
        assert_eq!(parse_script_name("A.spec.luau"), Some(("A.spec", "ModuleScript")));
        assert_eq!(parse_script_name("A.json"), None);
    }
}
