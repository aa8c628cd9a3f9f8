//! The way back from a step: how far it has got, by what is on the disk, and every file made what it was.
//!
//! A file that is neither what it was nor what the step leaves is somebody else's work: it stays as it is.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use vector_files::disk;

use super::case_rename::CaseVariants;
use super::journal::{JournalFile, StepJournal, StoredContent, hash_file, set_mode};

/// How far a step has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepProgress {
    /// Every file and folder is what it was.
    NotStarted,
    /// Some are what they were, and others what they become.
    Partial,
    /// Every file and folder is what it was to become.
    Done,
    /// Some files are neither: somebody else has changed them.
    Diverged {
        foreign: Vec<PathBuf>,
        /// How far the step has got with all others; none where there are none that could tell.
        rest: Option<RemainingProgress>,
    },
}

/// How far a step has got with the files that nobody else has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemainingProgress {
    /// They are what they were.
    NotStarted,
    /// Some are what they were, and others what they become.
    Partial,
    /// They are what they were to become.
    Done,
}

/// What could not be made what it was.
#[derive(Debug, Default)]
pub struct RollbackFailure {
    /// The files that somebody else has changed. They stay as they are.
    pub foreign: Vec<PathBuf>,
    /// The others, each with the reason. It can be tried again.
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

/// Why a file is not made what it was.
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
    /// How far the step has got, by the files and folders as they are.
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
                // It has another mode at the most, which tells nothing.
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

    /// The folders that go and are made again: before the step, and after it, they stand.
    fn recreated_folders(&self) -> BTreeSet<&PathBuf> {
        let gone: BTreeSet<&PathBuf> = self.gone.iter().collect();
        self.made.iter().filter(|folder| gone.contains(folder)).collect()
    }

    /// Makes every file and folder what it was, of contents that `before` has, and takes away what is
    /// temporary.
    ///
    /// # Errors
    /// Some could not be made what they were, or are somebody else's; all of them are named, and all
    /// others are what they were. Running it again goes on with them.
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
    /// Takes a file away that the step made.
    fn remove_created(&self, twins: &CaseVariants) -> Result<(), RestoreFault> {
        match hash_file(&self.path, twins)? {
            Some(now) if self.is_result(&now) => Ok(fs::remove_file(&self.path)?),
            Some(_) => Err(RestoreFault::ForeignEdit),
            None => Ok(()),
        }
    }

    /// Gives a file the content back that it had. Where it is missing nobody's work is lost by that.
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
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Whether this is what the step leaves there.
    fn is_result(&self, now: &Fingerprint) -> bool {
        self.after.as_ref().is_some_and(|after| after.hash == *now)
    }
}

/// Takes a folder away that the step made. What somebody has put there meanwhile stays, and the folder
/// with it.
fn remove_empty_folder(folder: &Path, twins: &CaseVariants) -> io::Result<()> {
    // On some systems another one of the step is found under this name.
    if !twins.has_exact_name(folder) {
        return Ok(());
    }
    match fs::remove_dir(folder) {
        // It may not be there, or a file that goes with the step is.
        Err(_) if !folder.is_dir() => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done,
    }
}
