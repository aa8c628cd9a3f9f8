//! Deleted instances: which files are removed with them, and which stay.
//!
//! A file is removed if its own instance was deleted, or with its folder. What a node of a project
//! file mounts stays on the disk when the node is removed. Deleting a folder is refused if it
//! contains files that are not instances.

use std::path::PathBuf;

use rustc_hash::FxHashSet;
use scene_schemas::refusal::{Refusal, refuse};

use super::restructure::META_EXTENSIONS;
use super::{ChangePlanner, MovedMeta, mount_node};
use crate::tree::InstanceOrigin;

impl ChangePlanner<'_> {
    /// Removes the files of instances that were deleted, or are written elsewhere.
    pub(super) fn remove_deleted(&mut self) -> Result<(), Refusal> {
        let is_gone = |number: &u32| !self.scene.is_live(self.node_at(*number));
        let mut gone: Vec<u32> = (0..self.nodes.len() as u32).filter(is_gone).collect();
        gone.append(&mut self.detached);
        let all: FxHashSet<u32> = gone.iter().copied().collect();
        self.files.allow_removal(gone.iter().flat_map(|it| self.source_files(*it)).collect());
        for number in gone {
            if self.is_below_mounted(number, &all) {
                continue;
            }
            let instance = self.instance_at(number);
            let is_below = instance.parent.is_some_and(|parent| all.contains(&parent));
            match &instance.origin {
                origin if mount_node(origin).is_some() => {
                    if !is_below {
                        self.delete_mounted(number)?;
                    }
                }
                InstanceOrigin::Folder { folder, .. } => {
                    self.check_unshared(number)?;
                    self.files.remove_folder(folder);
                }
                InstanceOrigin::File { file, .. } => {
                    self.check_unshared(number)?;
                    self.files.remove_file(file);
                    self.moved_metas.push(MovedMeta {
                        file: file.clone(),
                        name: instance.name.clone(),
                        to: None,
                    });
                }
                InstanceOrigin::Model { file, at, .. } if at.is_empty() => {
                    self.check_unshared(number)?;
                    self.files.remove_file(file);
                }
                InstanceOrigin::Model { .. } => {
                    let root = self.model_root(number);
                    if !all.contains(&root) {
                        self.models.insert(root);
                    }
                }
                InstanceOrigin::Node { .. } => {}
            }
        }
        self.models.retain(|root| !all.contains(root));
        Ok(())
    }

    /// Whether an instance is removed only because its mounting node is removed, so that its file
    /// stays. An instance that was moved elsewhere has left its file, along with its subtree,
    /// before that.
    fn is_below_mounted(&self, number: u32, gone: &FxHashSet<u32>) -> bool {
        let mut at = number;
        while !self.scene.is_live(self.node_at(at))
            && let Some(parent) = self.instance_at(at).parent
            && gone.contains(&parent)
        {
            if mount_node(&self.instance_at(parent).origin).is_some() {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Returns the files that an instance was read from.
    fn source_files(&self, number: u32) -> Vec<PathBuf> {
        let instance = self.instance_at(number);
        let mut files = match self.tree.notes.get(number as usize) {
            Some(note) => note.files.clone(),
            None => Vec::new(),
        };
        files.extend(mount_node(&instance.origin).map(|(project, _)| project.to_owned()));
        match &instance.origin {
            InstanceOrigin::File { file, .. } | InstanceOrigin::Model { file, .. } => {
                files.push(file.clone());
            }
            InstanceOrigin::Folder { folder, init: Some(init), .. } => {
                files.push(init.clone());
                // Rojo also applies a meta file with the folder's own name to its `init` file.
                let metas = META_EXTENSIONS.iter().filter_map(|end| {
                    let name = folder.file_name()?.to_str()?;
                    Some(folder.join(format!("{name}.meta.{end}")))
                });
                files.extend(metas);
            }
            InstanceOrigin::Folder { .. } | InstanceOrigin::Node { .. } => {}
        }
        files
    }

    /// Removes a node from a project file. The mounted files stay on the disk.
    fn delete_mounted(&mut self, number: u32) -> Result<(), Refusal> {
        self.check_node_unshared(number)?;
        let (project, names) = self.mounted_node(number, self.node_at(number))?;
        self.retained.extend(match &self.instance_at(number).origin {
            InstanceOrigin::Folder { folder, .. } => Some(folder.clone()),
            InstanceOrigin::File { file, .. } | InstanceOrigin::Model { file, .. } => {
                Some(file.clone())
            }
            InstanceOrigin::Node { .. } => None,
        });
        let Some((last, above)) = names.split_last() else {
            return refuse!(
                "{} is a project of its own; delete it by hand.",
                self.display_path(&project)
            );
        };
        self.edit_project_node(&project, above, |parent| {
            parent.remove(last);
            Ok(())
        })
    }
}
