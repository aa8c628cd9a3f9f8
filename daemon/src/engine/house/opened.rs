//! What a person has opened besides the places in Studio: sessions without a plugin, which stay for as
//! long as the daemon does.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, thread};

use scene_schemas::api::{Failure, FailureKind, Open, Opened};
use scene_schemas::entry::Place;

use super::{House, STACK, Word, random};
use crate::core::scene::Scene;
use crate::engine::{EngineError, Target};
use crate::server::{Secret, failed};
use crate::targets::place::PlaceError;
use crate::targets::rojo::ProjectError;

/// Why something is not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// It is not there.
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    /// It is no file.
    #[error("{} is no file that could be a place (a folder, or a device)", .0.display())]
    NoFile(PathBuf),
    /// It cannot be written.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// It cannot be read, or what was begun in it cannot be settled.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its files cannot be followed, or there is no thread for it.
    #[error("{file} cannot be served: {why}")]
    NotServed {
        /// The file or project.
        file: String,
        /// Why.
        why: String,
    },
}

impl NotOpened {
    /// As the wire says it.
    fn failure(&self) -> Failure {
        let (kind, hint) = match self {
            Self::Missing(_) => (FailureKind::NotFound, "Look how it is written, and where it is."),
            Self::NoFile(_) => (
                FailureKind::BadRequest,
                "Name a .rbxl, .rbxlx, .rbxm or .rbxmx file; the folder of a Rojo project is opened as a \
                 project.",
            ),
            Self::ReadOnly(_) => (FailureKind::Settled, "Make it writable, and open it again."),
            Self::Engine(EngineError::Place(PlaceError::Open { .. })) => {
                (FailureKind::BadRequest, "Name a .rbxl, .rbxlx, .rbxm or .rbxmx file.")
            }
            Self::Engine(EngineError::Place(PlaceError::Project(ProjectError::NotFound(_)))) => {
                (FailureKind::NotFound, "Look how it is written, and where it is.")
            }
            Self::Engine(EngineError::Place(_)) => {
                (FailureKind::Settled, "Mend that, and open it again.")
            }
            Self::Engine(_) | Self::NotServed { .. } => (FailureKind::Internal, "Try again."),
        };
        let mut message = format!("{self}.");
        // A sentence; a path from the root begins with no letter, or with that of a drive.
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        failed(kind, message, hint)
    }
}

impl House {
    /// Opens what a person names, or finds it open.
    pub(super) fn open(&mut self, open: &Open) -> Result<Opened, Failure> {
        let (Open::Place { place: path } | Open::Project { project: path }) = open;
        let path = Path::new(path);
        if !path.is_absolute() {
            let message = format!("{} does not say where it is from the root.", path.display());
            let hint = "Give the whole path: the daemon does not know the folder that you are in.";
            return Err(failed(FailureKind::BadRequest, message, hint));
        }
        let opened = match open {
            Open::Place { .. } => self.open_place(path),
            Open::Project { .. } => self.open_project(path),
        };
        opened.map_err(|error| error.failure())
    }

    /// The session of a file or project that is open. One that panicked hears nothing any more, and is
    /// opened anew.
    pub(super) fn known(&self, file: &Path) -> Option<Opened> {
        let name = file.display().to_string();
        let is_it = |place: &Place| match place {
            Place::File(place) => place.file == name,
            Place::Project(place) => place.project == name,
            Place::Open(_) => false,
        };
        let (session, known) = self.sessions.iter().find(|(_, it)| is_it(&it.place))?;
        known.words.send(Word::GoOn).ok()?;
        let epoch = self.board.seat(session)?.epoch();
        Some(Opened { session: session.clone(), epoch, name })
    }

    /// Lets a session begin that stays.
    pub(super) fn begin_here(
        &mut self,
        opened: (Target, Scene),
    ) -> io::Result<(Opened, Sender<Word>)> {
        let place = opened.0.place();
        let session = place.session();
        // Nobody holds its token: a person decides with their own.
        let token = random(24)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let seat = self.board.sit(&session, self.epoch, Secret::of(&token));
        seat.stays();
        let words = self.begin(&seat, opened)?;
        Ok((Opened { session, epoch: seat.epoch(), name: place.name() }, words))
    }
}

/// Reads on a stack that is large enough for whatever stands in a file. Whoever panics reads nothing.
pub(super) fn deep<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read)?;
        reader.join().map_err(|_| io::Error::other("the reader stopped"))
    })
}
