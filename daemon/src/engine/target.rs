//! Whom the engine works with: a place file, or a place that is open in Studio.

use std::path::PathBuf;

use scene_schemas::Fingerprint;
use scene_schemas::entry::Place;

use crate::targets::place::PlaceFile;
use crate::targets::studio::Studio;

/// Who performs what is approved.
#[derive(Debug)]
pub enum Target {
    /// A place file.
    File(PlaceFile),
    /// A place that is open in Studio.
    Open(Studio),
}

impl From<PlaceFile> for Target {
    fn from(file: PlaceFile) -> Self {
        Self::File(file)
    }
}

impl Target {
    /// How the ledger names the place.
    pub fn place(&self) -> Place {
        match self {
            Self::File(file) => Place::File(file.place()),
            Self::Open(studio) => Place::Open(studio.place().clone()),
        }
    }

    /// The folder whose settings count for the place; none where that is not known.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.folder().to_owned()),
            Self::Open(_) => None,
        }
    }

    /// What plans stand on that have nothing below them.
    pub(super) fn base(&self) -> Fingerprint {
        match self {
            Self::File(file) => file.hash().clone(),
            Self::Open(studio) => studio.base(),
        }
    }
}
