//! A record of what setup, `vector plugin install` and `vector git install` wrote, so that it can be
//! undone. It is stored in the ledger's folder.
//!
//! A client's file contains keys and conversations of other programs, so no copy of it is kept:
//! only the inserted piece, and the hash of the whole, by which the file is recognized.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::clients::McpClient;
use super::files;

/// The name of the file.
pub(in crate::cli) const RECORD_FILE: &str = "setup.json";
/// The format version. Other versions are not read.
const FORM: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct SetupRecord {
    form: u32,
    /// The folders that were created for this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<PathBuf>,
    /// The entries written by setup.
    pub(in crate::cli) written: Vec<WrittenEntry>,
    /// The Studio plugin, if setup installed it and there was none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) plugin: Option<WrittenPlugin>,
    /// The plugins that `vector plugin install` wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::cli) installed_plugins: Vec<WrittenPlugin>,
    /// The Git work trees that `vector git install` configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::cli) work_trees: Vec<PathBuf>,
}

/// The entry in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct WrittenEntry {
    pub(in crate::cli) client: McpClient,
    /// The path at which the client looks for the file.
    pub(in crate::cli) file: PathBuf,
    pub(super) entry: Json,
    /// The foreign entry that was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Json>,
    /// Whether the section for servers was created for the entry.
    pub(super) made_place: bool,
    /// The folders that were created for the file. None if the file already existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made_file: Option<Vec<PathBuf>>,
    /// The hash of the whole text after the change.
    pub(super) left: Fingerprint,
    /// Restores the text from before the change.
    pub(super) back: TextSplice,
}

/// The plugin installed in Studio's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::cli) struct WrittenPlugin {
    pub(in crate::cli) file: PathBuf,
    /// The folders that were created for it.
    pub(in crate::cli) folders: Vec<PathBuf>,
}

impl WrittenPlugin {
    /// Deletes the plugin and the folders that were created for it.
    pub(in crate::cli) fn remove(&self) -> anyhow::Result<()> {
        files::remove_file(&self.file, &self.folders)
            .with_context(|| format!("{} cannot be removed", self.file.display()))
    }
}

/// A replacement of one piece of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TextSplice {
    at: usize,
    length: usize,
    text: String,
}

impl TextSplice {
    /// Computes the splice that turns one text into another.
    pub(super) fn between(from: &str, to: &str) -> Self {
        let starts = from.char_indices().zip(to.chars()).find(|((_, a), b)| a != b);
        let at = starts.map_or(from.len().min(to.len()), |((at, _), _)| at);
        let ends = from[at..].chars().rev().zip(to[at..].chars().rev());
        let same: usize = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        Self { at, length: from.len() - at - same, text: to[at..to.len() - same].to_owned() }
    }

    /// Applies the splice. None if it does not fit the text.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        let (before, rest) = (text.get(..self.at)?, text.get(self.at + self.length..)?);
        Some(format!("{before}{}{rest}", self.text))
    }
}

impl SetupRecord {
    /// Loads the record in a ledger's folder.
    ///
    /// # Errors
    /// Fails if the file is not a valid record, or was written by a newer Vector.
    pub(in crate::cli) fn load(home: &Path) -> anyhow::Result<Self> {
        let file = home.join(RECORD_FILE);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![],
            Err(error) => return Err(error).context(format!("{} cannot be read", file.display())),
        };
        if bytes.is_empty() {
            return Ok(Self {
                form: FORM,
                folders: vec![],
                written: vec![],
                plugin: None,
                installed_plugins: vec![],
                work_trees: vec![],
            });
        }
        let next =
            "move it away and run setup again; setup will then not know what it wrote before";
        let remembered: Self = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not a record of setup; {next}", file.display()))?;
        if remembered.form != FORM {
            bail!(
                "{} was written by another version of Vector; update this one, or {next}",
                file.display()
            );
        }
        Ok(remembered)
    }

    /// Saves the record, readable only by its owner: a replaced entry may contain a key. An empty
    /// record deletes the file.
    pub(in crate::cli) fn save(&mut self, home: &Path) -> anyhow::Result<()> {
        let file = home.join(RECORD_FILE);
        let failed = || format!("{} cannot be written", file.display());
        let is_empty = self.written.is_empty()
            && self.plugin.is_none()
            && self.installed_plugins.is_empty()
            && self.work_trees.is_empty();
        if is_empty {
            files::remove_file(&file, &self.folders).with_context(failed)?;
            self.folders.clear();
            return Ok(());
        }
        let made = files::make_folders(home, true).with_context(failed)?;
        self.folders.extend(made);
        files::make_private(&file).with_context(failed)?;
        let text = serde_json::to_string_pretty(self)?;
        vector_files::write_file(&file, format!("{text}\n").as_bytes()).with_context(failed)
    }

    /// Adds a plugin that `vector plugin install` wrote. Folders that an earlier one created stay on
    /// record.
    pub(in crate::cli) fn add_plugin(&mut self, plugin: WrittenPlugin) {
        let is_known = self.plugin.iter().chain(&self.installed_plugins);
        if !is_known.into_iter().any(|known| known.file == plugin.file) {
            self.installed_plugins.push(plugin);
        }
    }

    /// Removes a plugin from the record. Returns it, if it was there.
    pub(in crate::cli) fn take_plugin(&mut self, file: &Path) -> Option<WrittenPlugin> {
        if let Some(own) = self.plugin.take_if(|plugin| plugin.file == file) {
            return Some(own);
        }
        let at = self.installed_plugins.iter().position(|plugin| plugin.file == file)?;
        Some(self.installed_plugins.remove(at))
    }

    /// The record for a file.
    pub(super) fn find_written(&self, file: &Path) -> Option<&WrittenEntry> {
        self.written.iter().find(|written| written.file == file)
    }

    /// Sets the record for a file. None removes it.
    pub(super) fn set_entry(&mut self, file: &Path, written: Option<WrittenEntry>) {
        self.written.retain(|written| written.file != file);
        self.written.extend(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splice_turns_one_text_into_another() {
        for (from, to) in [
            ("", ""),
            ("", "a"),
            ("{}", "{\"a\": 1}"),
            ("aaa", "aa"),
            ("aXa", "aYZa"),
            ("\u{e9}", "\u{e8}"),
            ("x\u{e9}\u{e9}y", "x\u{e9}y"),
        ] {
            for (from, to) in [(from, to), (to, from)] {
                let splice = TextSplice::between(from, to);
                assert_eq!(splice.apply(from).as_deref(), Some(to), "{from} {to}");
            }
        }
        let far = TextSplice { at: 9, length: 1, text: String::new() };
        assert_eq!(far.apply("short"), None);
    }
}
