//! The contents of a folder that is moved: whether the rules of project files read them as before.
//!
//! `globIgnorePaths` and `syncRules` match whole paths, so they can include or leave out files at a
//! new place, or read them in another way. This module reads the disk and writes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::glob::is_ignored;
use crate::middleware::{FileMiddleware, INIT_FILES};
use crate::project::DEFAULT_NAMES;
use crate::reader::FileRules;

/// The maximum nesting depth that is looked at. The plan refuses deeper folders.
const MAX_DEPTH: usize = 500;

/// A folder and its new path, each with the rules that apply to its contents.
pub(super) struct MovedFolder<'a> {
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    pub(super) old: &'a FileRules,
    pub(super) new: &'a FileRules,
}

/// What the rules make of a file: its middleware, its name, and the class and context of a script.
type FileReading<'a> = (FileMiddleware, &'a str, Option<(&'static str, Option<u32>)>);

impl MovedFolder<'_> {
    /// Returns an entry that is read differently at the new place.
    pub(super) fn find_misread(&self) -> Option<PathBuf> {
        self.find_misread_below(self.from, false, 0)
    }

    fn find_misread_below(
        &self,
        folder: &Path,
        is_in_project: bool,
        depth: usize,
    ) -> Option<PathBuf> {
        let mut entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        // A project of its own has its own rules for files, which move along with it.
        let is_in_project = is_in_project
            || entries.iter().any(|entry| DEFAULT_NAMES.iter().any(|it| entry.file_name() == *it));
        entries.into_iter().find_map(|entry| {
            let from = entry.path();
            let to = self.to.join(from.strip_prefix(self.from).ok()?);
            let (was_ignored, is_ignored) =
                (is_ignored(&self.old.ignores, &from), is_ignored(&self.new.ignores, &to));
            let is_same = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if was_ignored == is_ignored && !is_ignored && depth < MAX_DEPTH {
                    return self.find_misread_below(&from, is_in_project, depth + 1);
                }
                was_ignored == is_ignored
            } else if is_in_project {
                was_ignored == is_ignored
            } else {
                let name = entry.file_name();
                let name = name.to_str()?;
                // A folder has its `init` file in any case.
                let is_init = is_init(name);
                read_as(self.old, &from, name).filter(|_| is_init || !was_ignored)
                    == read_as(self.new, &to, name).filter(|_| is_init || !is_ignored)
            };
            (!is_same).then_some(from)
        })
    }
}

fn is_init(file_name: &str) -> bool {
    INIT_FILES.iter().any(|(init, _)| *init == file_name)
}

/// Returns what rules make of a file that they do not leave out.
fn read_as<'a>(rules: &FileRules, path: &Path, file_name: &'a str) -> Option<FileReading<'a>> {
    let init = INIT_FILES.iter().find(|(init, _)| *init == file_name);
    let rule = rules.syncs.iter().find(|rule| rule.matches(path));
    let (middleware, name) = match (init, rule) {
        (Some((init, middleware)), _) => (*middleware, *init),
        (None, Some(rule)) => (rule.middleware, rule.instance_name(file_name)),
        (None, None) => FileMiddleware::from_file_name(file_name)?,
    };
    let script = match middleware {
        FileMiddleware::Script(script) => Some(script.class_and_context(rules.emit_legacy_scripts)),
        _ => None,
    };
    Some((middleware, name, script))
}
