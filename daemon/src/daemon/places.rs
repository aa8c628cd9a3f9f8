//! Place and model files that the daemon has open. Other programs may change a file at any time.
//! The session checks it before each message, and a file watch triggers a check soon after a
//! change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use vector_engine::EngineError;
use vector_engine::recover_place;
use vector_files::place_file::{self, PlaceFile};
use vector_rojo_project::{FileChanges, FileWatch};

use super::open_place::{NotOpened, ReadContext, SessionStart};
use crate::session::SessionMessage;

/// Returns the real path of a place file.
pub(super) fn find_file(path: &Path) -> Result<PathBuf, NotOpened> {
    // Anything but a regular file is refused, because reading it may never end.
    match fs::metadata(path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            return Err(NotOpened::Missing(path.to_owned()));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(NotOpened::NoFile(path.to_owned()));
        }
        Ok(metadata) if metadata.permissions().readonly() => {
            return Err(NotOpened::ReadOnly(path.to_owned()));
        }
        // Other errors are reported when the file is read.
        _ => {}
    }
    place_file::real_path(path).map_err(|error| NotOpened::Engine(error.into()))
}

/// Reads a place or model file. Changes that an earlier process left unfinished in it are settled
/// first.
pub(super) fn read_place(
    context: &ReadContext,
    file: &Path,
    notes: &mut Vec<String>,
) -> Result<SessionStart, NotOpened> {
    let notices = context.settle_file(file, || recover_place(&context.ledger, file))?;
    notes.extend(notices.iter().map(|notice| format!("note: {notice}")));
    let (target, scene) = PlaceFile::open(file, None).map_err(EngineError::from)?;
    let message_sender = Arc::new(OnceLock::<Sender<SessionMessage>>::new());
    let later = Arc::clone(&message_sender);
    // Before the session has begun and after it has ended, changes can be ignored.
    let on_change = move |changes: FileChanges| {
        if let Some(message_sender) = later.get() {
            let _ = message_sender.send(SessionMessage::FilesChanged(changes));
        }
    };
    let watch = FileWatch::start(&[file.to_owned()], on_change).map_err(|why| {
        notes.push(format!(
            "note: {why}. Changes by others are noticed at your next request or decision."
        ));
    });
    Ok(SessionStart {
        opened: (target.into(), scene),
        message_sender,
        watch: watch.ok(),
        ready_message: None,
    })
}
