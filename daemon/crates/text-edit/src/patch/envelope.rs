//! `*** Begin Patch` over several files, in the format of `apply_patch` in other tools.

use std::collections::BTreeMap;

use super::super::apply_edits;
use super::hunk_place::BaseText;
use super::parse::{FileAction, FilePatch};
use super::{PatchError, apply_file_patch, clean, parse, strip_bom};

/// The change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The new text; None if the file is deleted.
    pub text: Option<String>,
    /// Whether the change needs a review.
    pub should_review: bool,
}

/// Applies a patch to files, given by name, and returns the changed ones; all or nothing.
///
/// # Errors
/// Fails if the text is not a patch, if it does not fit, or if it names a file that does not exist.
pub fn apply_to_files(
    files: &BTreeMap<String, String>,
    patch: &str,
) -> Result<BTreeMap<String, FileChange>, PatchError> {
    let cleaned = clean::clean_patch(patch)?;
    let mut changed: BTreeMap<String, FileChange> = BTreeMap::new();
    for file in parse::parse_patch(&cleaned)? {
        let Some(name) = file.name().map(str::to_owned) else {
            return Err(PatchError::NoHunks);
        };
        let now = match changed.get(&name) {
            Some(change) => change.text.clone(),
            None => files.get(&name).cloned(),
        };
        let is_taken = |name: &str| match changed.get(name) {
            Some(change) => change.text.is_some(),
            None => files.contains_key(name),
        };
        if let Some(to) = file.renamed_to.filter(|to| is_taken(to)) {
            let (name, what) = (to.to_owned(), "is there already, so nothing can be moved to it");
            return Err(PatchError::File { name, what, instead: "Choose another name." });
        }
        let change = build_file_change(&file, &name, now.as_deref())?;
        let moved = file.renamed_to.map(str::to_owned);
        if let Some(to) = moved {
            changed.insert(name, FileChange { text: None, should_review: false });
            changed.insert(to, change);
        } else {
            changed.insert(name, change);
        }
    }
    Ok(changed)
}

fn build_file_change(
    file: &FilePatch<'_>,
    name: &str,
    now: Option<&str>,
) -> Result<FileChange, PatchError> {
    let missing = |instead| {
        let name = name.to_owned();
        PatchError::File { name, what: "is not there", instead }
    };
    match (file.action, now) {
        (FileAction::Delete, Some(_)) => Ok(FileChange { text: None, should_review: false }),
        (FileAction::Delete, None) => Err(missing("Leave it out, or correct its name.")),
        (FileAction::Update, None) => {
            Err(missing("Correct its name, or add it with `*** Add File:`."))
        }
        (FileAction::Update, Some(text)) if file.hunks.is_empty() && file.renamed_to.is_some() => {
            Ok(FileChange { text: Some(text.to_owned()), should_review: false })
        }
        (FileAction::Update, Some(_)) if file.hunks.is_empty() => Err(PatchError::NoHunks),
        (FileAction::Add | FileAction::Update, text) => {
            let text = text.unwrap_or_default();
            let patched = apply_file_patch(&BaseText::new(strip_bom(text)), file, text)?;
            let after = apply_edits(text, &patched.edits).unwrap_or_else(|_| text.to_owned());
            Ok(FileChange { text: Some(after), should_review: patched.should_review })
        }
    }
}
