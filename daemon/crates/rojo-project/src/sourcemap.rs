//! Which instance comes from which files, both ways, and the map of it that other tools read.
//!
//! The JSON is that of `rojo sourcemap`, field by field, so that what reads the one reads the other.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::reader::{normalize_path, relative_path};
use super::tree::{InstanceOrigin, ProjectTree};

/// What a sourcemap holds, and how it names files.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourcemapOptions {
    /// Instances that are no scripts, and hold none.
    pub has_non_scripts: bool,
    /// Paths from the root of the disk, rather than from the project's folder.
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

/// The classes that a sourcemap is made for. Others of Roblox's classes with text are none of them.
const SCRIPT_CLASSES: [&str; 3] = ["Script", "LocalScript", "ModuleScript"];

impl ProjectTree {
    /// The sourcemap, as JSON in one line: what `rojo sourcemap` prints.
    pub fn to_sourcemap(&self, shown: SourcemapOptions) -> String {
        // Children come after their parents, so a walk backwards has them when their parent comes.
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
        // An entry holds texts alone, and no map.
        serde_json::to_string(&root).unwrap_or_default()
    }

    /// A file's path as a person reads it: from the project's folder, or from the root of the disk.
    pub fn format_path(&self, file: &Path, absolute: bool) -> String {
        let file = if absolute { file.to_owned() } else { relative_path(file, &self.folder) };
        let shown = file.to_string_lossy().replace('\\', "/");
        if shown.is_empty() { ".".to_owned() } else { shown }
    }

    /// The files that an instance is made of: its own, and those that say something about it. What
    /// stands inside a model file, or has no files, has none.
    pub fn instance_files(&self, instance: u32) -> &[PathBuf] {
        self.notes.get(instance as usize).map_or(&[], |note| &note.files)
    }

    /// The instances that come from a file or a folder, in their order: all that a model file holds, and
    /// all that a meta or project file says something about.
    pub fn find_by_file(&self, file: &Path) -> Vec<u32> {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let file = std::fs::canonicalize(&absolute).unwrap_or_else(|_| normalize_path(&absolute));
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
