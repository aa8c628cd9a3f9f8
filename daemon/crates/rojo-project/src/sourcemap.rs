//! The mapping between instances and files in both directions, and the sourcemap for other tools.
//!
//! The JSON equals that of `rojo sourcemap`, field by field, so that the same tools can read it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use vector_files::disk::canonical_path;

use super::reader::{normalize_path, relative_path};
use super::tree::{InstanceOrigin, ProjectTree};

/// The options of a sourcemap.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourcemapOptions {
    /// Whether to include instances that are not scripts and contain none.
    pub has_non_scripts: bool,
    /// Whether paths are absolute rather than relative to the project folder.
    pub is_absolute: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourcemapEntry<'a> {
    name: &'a str,
    class_name: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    file_paths: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Self>,
}

/// The script classes of a sourcemap. Other Roblox classes that hold text do not count.
const SCRIPT_CLASSES: [&str; 3] = ["Script", "LocalScript", "ModuleScript"];

impl ProjectTree {
    /// Returns the sourcemap as JSON on one line, as `rojo sourcemap` prints it.
    pub fn to_sourcemap(&self, shown: SourcemapOptions) -> String {
        // Children follow their parents, so a reverse pass has the children ready for each parent.
        let mut entries: Vec<Option<SourcemapEntry<'_>>> = Vec::new();
        entries.resize_with(self.instances.len(), || None);
        for (number, instance) in self.instances.iter().enumerate().rev() {
            let children = instance.children.iter();
            let children: Vec<_> =
                children.filter_map(|child| entries[*child as usize].take()).collect();
            if children.is_empty()
                && !shown.has_non_scripts
                && !SCRIPT_CLASSES.contains(&instance.class.as_str())
            {
                continue;
            }
            let files = self.instance_files(number as u32).iter();
            entries[number] = Some(SourcemapEntry {
                name: &instance.name,
                class_name: &instance.class,
                file_paths: files.map(|file| self.format_path(file, shown.is_absolute)).collect(),
                children,
            });
        }
        let root = entries.first_mut().and_then(Option::take);
        // An entry holds only strings and no map, so serialization cannot fail.
        serde_json::to_string(&root).unwrap_or_default()
    }

    /// Formats a file path for the user, relative to the project folder or absolute.
    pub fn format_path(&self, file: &Path, absolute: bool) -> String {
        let file = if absolute { file.to_owned() } else { relative_path(file, &self.folder) };
        let shown = file.to_string_lossy().replace('\\', "/");
        if shown.is_empty() { ".".to_owned() } else { shown }
    }

    /// Returns the files that an instance was read from: its own file, and those that add settings.
    /// Empty for an instance without files or inside a model file.
    pub fn instance_files(&self, instance: u32) -> &[PathBuf] {
        self.notes.get(instance as usize).map_or(&[], |note| &note.files)
    }

    /// Returns the instances that come from a file or folder, in order: every instance of a model
    /// file, and every instance that a meta or project file adds settings to.
    pub fn find_by_file(&self, file: &Path) -> Vec<u32> {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let file = canonical_path(&absolute).unwrap_or_else(|_| normalize_path(&absolute));
        let is_of = |number: &u32| {
            let by = match &self.instances[*number as usize].origin {
                InstanceOrigin::Node { project, .. } => project,
                InstanceOrigin::File { file, .. } | InstanceOrigin::Model { file, .. } => file,
                InstanceOrigin::Folder { folder, .. } => folder,
            };
            *by == file || self.instance_files(*number).contains(&file)
        };
        (0..self.instances.len() as u32).filter(is_of).collect()
    }
}
