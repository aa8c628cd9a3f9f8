//! Detection of files of open places that were moved or deleted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;

use scene_schemas::api::SessionId;
use scene_schemas::entry::Place;

use super::DaemonActor;

/// The sessions whose file was missing at the last check.
#[derive(Debug, Clone, Default)]
pub(super) struct MissingFiles {
    missing: Arc<Mutex<Vec<SessionId>>>,
    /// Held during a check, so that checks do not overlap.
    check_lock: Arc<Mutex<()>>,
}

impl MissingFiles {
    pub(super) fn is_gone(&self, session: &SessionId) -> bool {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}

impl DaemonActor {
    /// Checks the files of open places on a separate thread, as a disk may not respond. Reports a
    /// change of the places if the result differs from the last one.
    pub(super) fn check_files(&self) {
        let file = |place: &Place| match place {
            Place::File(file) => Some(file.out.as_ref().unwrap_or(&file.file).into()),
            Place::Project(project) => Some((&project.project).into()),
            Place::Open(_) => None,
        };
        let known = self.sessions.list().into_iter();
        let known = known.filter_map(|(session, known)| Some((session, file(&known.place)?)));
        let known: BTreeMap<SessionId, PathBuf> = known.collect();
        if known.is_empty() {
            return;
        }
        let (files, event_hub) = (self.files.clone(), Arc::clone(&self.event_hub));
        thread::spawn(move || {
            let _guard = match files.check_lock.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
                // The last check is still running.
                Err(TryLockError::WouldBlock) => return,
            };
            // A file that cannot be checked counts as present.
            let is_gone = |path: &PathBuf| matches!(path.try_exists(), Ok(false));
            let gone = known.into_iter().filter(|(_, path)| is_gone(path));
            let gone: Vec<SessionId> = gone.map(|(session, _)| session).collect();
            let mut before = files.missing.lock().unwrap_or_else(PoisonError::into_inner);
            if *before != gone {
                *before = gone;
                drop(before);
                event_hub.mark_places_changed();
            }
        });
    }
}
