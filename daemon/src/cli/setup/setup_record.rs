//! What setup has done, so that it can be taken back: kept in the folder of the ledger.
//!
//! A client's file holds keys and conversations of others, so no copy of it is kept: only the piece
//! that was cut in, and the hash of the whole by which it is known again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::clients::McpClient;
use super::files;

/// The file in the folder of the ledger.
const FILE: &str = "setup.json";
/// Its form. Another one is not read.
const FORM: u32 = 1;

/// What setup has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SetupRecord {
    form: u32,
    /// The folders that were made for this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    folders: Vec<PathBuf>,
    /// The entries that it wrote.
    pub(super) written: Vec<WrittenEntry>,
    /// The Studio plugin, where it put it and none was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plugin: Option<WrittenPlugin>,
}

/// The entry in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WrittenEntry {
    /// Whose file it is.
    pub(super) client: McpClient,
    /// Where the client looks for it.
    pub(super) file: PathBuf,
    pub(super) entry: Json,
    /// The entry of somebody else that was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Json>,
    /// The place for servers was made for it.
    pub(super) made_place: bool,
    /// The file was made for it, and these folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) made_file: Option<Vec<PathBuf>>,
    /// The whole text as it was left.
    pub(super) left: Fingerprint,
    /// What makes the text that was there before of it.
    pub(super) back: TextSplice,
}

/// The plugin that was put into Studio's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WrittenPlugin {
    pub(super) file: PathBuf,
    /// The folders that were made for it.
    pub(super) folders: Vec<PathBuf>,
}

/// A piece of a text that is another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TextSplice {
    at: usize,
    length: usize,
    text: String,
}

impl TextSplice {
    /// What makes one text of another.
    pub(super) fn between(from: &str, to: &str) -> Self {
        let starts = from.char_indices().zip(to.chars()).find(|((_, a), b)| a != b);
        let at = starts.map_or(from.len().min(to.len()), |((at, _), _)| at);
        let ends = from[at..].chars().rev().zip(to[at..].chars().rev());
        let same: usize = ends.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        Self { at, length: from.len() - at - same, text: to[at..to.len() - same].to_owned() }
    }

    /// The other text; none where this one is too short to be the one that was meant.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        let (before, rest) = (text.get(..self.at)?, text.get(self.at + self.length..)?);
        Some(format!("{before}{}{rest}", self.text))
    }
}

impl SetupRecord {
    /// What is remembered in the folder of a ledger.
    ///
    /// # Errors
    /// The file is not one of ours, or of a newer Vector.
    pub(super) fn load(home: &Path) -> anyhow::Result<Self> {
        let file = home.join(FILE);
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => vec![],
            Err(error) => return Err(error).context(format!("{} cannot be read", file.display())),
        };
        if bytes.is_empty() {
            return Ok(Self { form: FORM, folders: vec![], written: vec![], plugin: None });
        }
        let next = "move it away and run setup again: it knows then no more what it wrote before";
        let remembered: Self = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not what setup has written; {next}", file.display()))?;
        if remembered.form != FORM {
            bail!("{} is of another Vector; update this one, or {next}", file.display());
        }
        Ok(remembered)
    }

    /// Keeps it, for its owner alone: an entry that was replaced may hold a key. What says nothing
    /// is no file.
    pub(super) fn save(&mut self, home: &Path) -> anyhow::Result<()> {
        let file = home.join(FILE);
        let failed = || format!("{} cannot be written", file.display());
        if self.written.is_empty() && self.plugin.is_none() {
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

    /// What was written to a file.
    pub(super) fn find_written(&self, file: &Path) -> Option<&WrittenEntry> {
        self.written.iter().find(|written| written.file == file)
    }

    /// Remembers what a file holds now; nothing where it holds nothing of ours any more.
    pub(super) fn set_entry(&mut self, file: &Path, written: Option<WrittenEntry>) {
        self.written.retain(|written| written.file != file);
        self.written.extend(written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_leads_from_one_text_to_another() {
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
