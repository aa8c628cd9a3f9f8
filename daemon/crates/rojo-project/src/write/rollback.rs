//! Rollback of a step: determines its progress from the files on the disk, and restores the
//! previous contents.
//!
//! A file that matches neither its previous content nor the result of the step contains an edit
//! from outside. Rollback leaves it as it is.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use vector_files::disk;
use vector_files::held::{persist_over, retry_while_held};

use super::case_rename::CaseVariants;
use super::journal::{JournalFile, StepJournal, StoredContent, hash_file, set_mode};

/// The progress of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepProgress {
    /// Every file and folder is in its previous state.
    NotStarted,
    /// Some are in their previous state, others in their new state.
    Partial,
    /// Every file and folder is in its new state.
    Done,
    /// Some files are in neither state: they were edited from outside.
    Diverged {
        foreign: Vec<PathBuf>,
        /// The progress of the step with all other files; None if there are none that tell.
        rest: Option<RemainingProgress>,
    },
}

/// The progress of a step with the files that were not edited from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemainingProgress {
    /// All are in their previous state.
    NotStarted,
    /// Some are in their previous state, others in their new state.
    Partial,
    /// All are in their new state.
    Done,
}

/// The files that could not be restored.
#[derive(Debug, Default)]
pub struct RollbackFailure {
    /// The files that were edited from outside. They stay as they are.
    pub foreign: Vec<PathBuf>,
    /// The other files, each with the reason. The rollback can be retried.
    pub faults: Vec<String>,
}

impl std::fmt::Display for RollbackFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let theirs = self
            .foreign
            .iter()
            .map(|file| format!("{}: it was changed since, and is left as it is", file.display()));
        let all: Vec<String> = self.faults.iter().cloned().chain(theirs).collect();
        f.write_str(&all.join("; "))
    }
}

/// The reason why a file is not restored.
enum RestoreFault {
    ForeignEdit,
    Io(io::Error),
}

impl From<io::Error> for RestoreFault {
    fn from(why: io::Error) -> Self {
        Self::Io(why)
    }
}

impl RollbackFailure {
    fn add_result(&mut self, path: &Path, done: Result<(), RestoreFault>) {
        match done {
            Ok(()) => {}
            Err(RestoreFault::ForeignEdit) => self.foreign.push(path.to_owned()),
            Err(RestoreFault::Io(why)) => self.faults.push(format!("{}: {why}", path.display())),
        }
    }
}

impl StepJournal {
    /// Determines the progress of the step from the files and folders on the disk.
    pub fn find_progress(&self) -> StepProgress {
        let (mut were, mut become_, mut theirs) = (0, 0, Vec::new());
        let twins = self.case_variants();
        for noted in &self.files {
            let Ok(now) = hash_file(&noted.path, &twins) else {
                theirs.push(noted.path.clone());
                continue;
            };
            let is =
                |kept: &Option<StoredContent>| now.as_ref() == kept.as_ref().map(|it| &it.hash);
            match (is(&noted.before), is(&noted.after)) {
                // The two states differ at most in their permissions, so the file shows nothing.
                (true, true) => {}
                (true, false) => were += 1,
                (false, true) => become_ += 1,
                (false, false) => theirs.push(noted.path.clone()),
            }
        }
        let again = self.recreated_folders();
        let once = |folder: &&PathBuf| !again.contains(*folder);
        let folders = (self.made.iter().filter(once).map(|it| (it, true)))
            .chain(self.gone.iter().filter(once).map(|it| (it, false)));
        for (folder, is_made) in folders {
            *(if twins.is_folder(folder) == is_made { &mut become_ } else { &mut were }) += 1;
        }
        let is_between = again.iter().any(|folder| !twins.is_folder(folder));
        let rest = match (were, become_) {
            _ if is_between => Some(RemainingProgress::Partial),
            (0, 0) => None,
            (_, 0) => Some(RemainingProgress::NotStarted),
            (0, _) => Some(RemainingProgress::Done),
            _ => Some(RemainingProgress::Partial),
        };
        match rest {
            rest if !theirs.is_empty() => StepProgress::Diverged { foreign: theirs, rest },
            None | Some(RemainingProgress::NotStarted) => StepProgress::NotStarted,
            Some(RemainingProgress::Partial) => StepProgress::Partial,
            Some(RemainingProgress::Done) => StepProgress::Done,
        }
    }

    /// Returns the folders that are removed and created again, which exist both before and after
    /// the step.
    fn recreated_folders(&self) -> BTreeSet<&PathBuf> {
        let gone: BTreeSet<&PathBuf> = self.gone.iter().collect();
        self.made.iter().filter(|folder| gone.contains(folder)).collect()
    }

    /// Restores every file and folder, with the contents that `before` returns, and removes
    /// temporary files.
    ///
    /// # Errors
    /// Fails if some files could not be restored or contain edits from outside. The error lists all
    /// of them; everything else is restored. Another call continues with them.
    pub fn roll_back(
        &self,
        before: impl Fn(&JournalFile) -> Option<Vec<u8>>,
    ) -> Result<(), RollbackFailure> {
        let (mut left, twins) = (RollbackFailure::default(), self.case_variants());
        for noted in self.files.iter().filter(|it| it.before.is_none()) {
            left.add_result(&noted.path, noted.remove_created(&twins));
        }
        let again = self.recreated_folders();
        for folder in self.made.iter().rev().filter(|folder| !again.contains(folder)) {
            left.add_result(folder, remove_empty_folder(folder, &twins).map_err(RestoreFault::Io));
        }
        for folder in self.gone.iter().rev() {
            left.add_result(folder, fs::create_dir_all(folder).map_err(RestoreFault::Io));
        }
        for noted in &self.files {
            left.add_result(&noted.path, noted.restore_content(&self.mark, &twins, &before));
        }
        self.sweep_temporary();
        self.sync_folders();
        if left.foreign.is_empty() && left.faults.is_empty() { Ok(()) } else { Err(left) }
    }
}

impl JournalFile {
    /// Removes a file that the step created.
    fn remove_created(&self, twins: &CaseVariants) -> Result<(), RestoreFault> {
        match hash_file(&self.path, twins)? {
            Some(now) if self.is_result(&now) => {
                Ok(retry_while_held(&self.path, || fs::remove_file(&self.path))?)
            }
            Some(_) => Err(RestoreFault::ForeignEdit),
            None => Ok(()),
        }
    }

    /// Restores the previous content of a file. A missing file is restored too, because this
    /// overwrites nothing.
    fn restore_content(
        &self,
        mark: &str,
        twins: &CaseVariants,
        before: impl Fn(&Self) -> Option<Vec<u8>>,
    ) -> Result<(), RestoreFault> {
        let Some(kept) = &self.before else { return Ok(()) };
        match hash_file(&self.path, twins)? {
            Some(now) if now == kept.hash => return Ok(()),
            Some(now) if !self.is_result(&now) => return Err(RestoreFault::ForeignEdit),
            _ => {}
        }
        let bytes = before(self).ok_or_else(|| io::Error::other("what it was is not kept"))?;
        let file = disk::write_marked(&self.path, mark, [&bytes[..]])?;
        set_mode(file.path(), kept.mode)?;
        persist_over(file.into_temp_path(), &self.path)?;
        Ok(())
    }

    /// Whether the hash is that of the step's result.
    fn is_result(&self, now: &Fingerprint) -> bool {
        self.after.as_ref().is_some_and(|after| after.hash == *now)
    }
}

/// Removes a folder that the step created. If another process has put something into it, both stay.
fn remove_empty_folder(folder: &Path, twins: &CaseVariants) -> io::Result<()> {
    // On a case-insensitive file system, the name may find another folder of the step.
    if !twins.has_exact_name(folder) {
        return Ok(());
    }
    match fs::remove_dir(folder) {
        // The folder does not exist, or the path is still a file that the step was to remove.
        Err(_) if !folder.is_dir() => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done,
    }
}
