//! The uploads that the ledger records.

use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Place, PlaceUpload, Record, Seq, VersionKind};
use vector_files::disk::canonical_path;
use vector_ledger::{Ledger, LedgerError};

use super::super::cloud_workflow::{STOPPED, close_interrupted};
use super::{DeployTarget, UploadPurpose};

/// What became of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadOutcome {
    /// Roblox has it as this version.
    Uploaded { version: u64 },
    Failed {
        reason: String,
        /// Whether Roblox may have it all the same.
        is_unclear: bool,
    },
    /// It goes on, or the process that uploaded it was stopped.
    Open,
}

/// An upload that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastUpload {
    pub seq: Seq,
    /// When it was begun, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    pub workflow: Seq,
    pub purpose: UploadPurpose,
    pub upload: PlaceUpload,
    pub outcome: UploadOutcome,
}

impl PastUpload {
    pub fn target(&self) -> DeployTarget {
        DeployTarget { universe: self.upload.universe, place: self.upload.place }
    }

    /// Whether Roblox has it or may have it.
    pub fn may_have_arrived(&self) -> bool {
        match self.outcome {
            UploadOutcome::Failed { is_unclear, .. } => is_unclear,
            UploadOutcome::Uploaded { .. } | UploadOutcome::Open => true,
        }
    }

    /// Returns the version that Roblox gave it, if it has one.
    pub fn version(&self) -> Option<u64> {
        match self.outcome {
            UploadOutcome::Uploaded { version } => Some(version),
            UploadOutcome::Failed { .. } | UploadOutcome::Open => None,
        }
    }
}

/// The uploads of a ledger, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadHistory {
    pub uploads: Vec<PastUpload>,
}

impl UploadHistory {
    /// Reads all uploads of a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self, LedgerError> {
        let mut history = Self::default();
        for record in ledger.uploads()? {
            let purpose = match &record.entry {
                Entry::Uploading { .. } => read_purpose(ledger, record.workflow)?,
                _ => UploadPurpose::Deploy,
            };
            history.add(record, purpose);
        }
        Ok(history)
    }

    fn add(&mut self, record: Record, purpose: UploadPurpose) {
        let Record { seq, at, workflow, entry } = record;
        let (upload, outcome) = match entry {
            Entry::Uploading { upload } => {
                let (upload, outcome) = (*upload, UploadOutcome::Open);
                self.uploads.push(PastUpload { seq, at, workflow, purpose, upload, outcome });
                return;
            }
            Entry::Uploaded { upload, version } => (upload, UploadOutcome::Uploaded { version }),
            Entry::UploadFailed { upload, reason, is_unclear } => {
                (upload, UploadOutcome::Failed { reason, is_unclear })
            }
            _ => return,
        };
        if let Some(past) = self.uploads.iter_mut().rev().find(|past| past.seq == upload) {
            past.outcome = outcome;
        }
    }

    /// Returns the uploads to a place of Roblox, newest first.
    pub fn to_target(&self, target: DeployTarget) -> impl Iterator<Item = &PastUpload> {
        self.uploads.iter().rev().filter(move |past| past.target() == target)
    }

    /// Returns the newest version of a place of Roblox that was published.
    pub fn last_published(&self, target: DeployTarget) -> Option<&PastUpload> {
        let mut done = self.to_target(target).filter(|past| past.version().is_some());
        done.find(|past| past.upload.kind == VersionKind::Published)
    }

    /// Whether a place of Roblox has these contents as its published version, as far as is known: no
    /// later upload may have published others.
    pub fn is_published(&self, target: DeployTarget, contents: &Fingerprint) -> bool {
        let mut publishing = self.to_target(target).filter(|past| past.may_have_arrived());
        let newest = publishing.find(|past| past.upload.kind == VersionKind::Published);
        newest.is_some_and(|past| past.version().is_some() && past.upload.contents == *contents)
    }

    /// Returns the uploads to a place of Roblox that may have arrived, and are newer than the last one
    /// that did.
    pub fn unclear(&self, target: DeployTarget) -> Vec<PastUpload> {
        let since = self.to_target(target).take_while(|past| past.version().is_none());
        since.filter(|past| past.may_have_arrived()).cloned().collect()
    }

    /// Returns the newest version of a place of Roblox that has these contents.
    pub fn with_contents(
        &self,
        target: DeployTarget,
        contents: &Fingerprint,
    ) -> Option<&PastUpload> {
        let mut done = self.to_target(target).filter(|past| past.version().is_some());
        done.find(|past| past.upload.contents == *contents)
    }

    /// Records the uploads of stopped processes as failed.
    pub fn close_interrupted(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        for past in &mut self.uploads {
            if past.outcome != UploadOutcome::Open {
                continue;
            }
            let Some(_lease) = ledger.try_lease(past.workflow)? else { continue };
            // Another process may have ended it since the ledger was read.
            if !close_interrupted(ledger, past.workflow, past.seq)? {
                continue;
            }
            let reason = STOPPED.to_owned();
            past.outcome = UploadOutcome::Failed { reason, is_unclear: true };
        }
        Ok(())
    }

    /// Returns the deploys of a place, oldest first. Uploads to scratch places are not among them.
    pub fn of_place(
        &self,
        ledger: &Ledger,
        place: &Place,
    ) -> Result<Vec<&PastUpload>, LedgerError> {
        self.of_place_for(UploadPurpose::Deploy, ledger, place)
    }

    /// Returns the uploads of a place for a purpose, oldest first.
    pub fn of_place_for(
        &self,
        purpose: UploadPurpose,
        ledger: &Ledger,
        place: &Place,
    ) -> Result<Vec<&PastUpload>, LedgerError> {
        let own = source_file(place);
        let mut found = Vec::new();
        for past in self.uploads.iter().filter(|past| past.purpose == purpose) {
            let started = ledger.record_at(past.workflow)?.map(|record| record.entry);
            if let Some(Entry::Started { place, .. }) = started
                && own.is_some()
                && source_file(&place) == own
            {
                found.push(past);
            }
        }
        Ok(found)
    }
}

/// Returns the file that a place is read from, with its links resolved.
pub fn source_file(place: &Place) -> Option<PathBuf> {
    let file = match place {
        Place::File(file) => &file.file,
        Place::Project(project) => &project.project,
        Place::Open(_) => return None,
    };
    Some(canonical_path(Path::new(file)).unwrap_or_else(|_| PathBuf::from(file)))
}

fn read_purpose(ledger: &Ledger, workflow: Seq) -> Result<UploadPurpose, LedgerError> {
    let started = ledger.record_at(workflow)?.map(|record| record.entry);
    let is_verify = matches!(&started, Some(Entry::Started { driver, .. })
        if driver == UploadPurpose::Verify.driver());
    Ok(if is_verify { UploadPurpose::Verify } else { UploadPurpose::Deploy })
}
