//! Rojo projects that the daemon has open: sessions without a plugin, whose files are watched.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use vector_engine::recover_place;
use vector_engine::{EngineError, Target};
use vector_files::place_file::PlaceError;
use vector_rojo_project::{self, FileChanges, FileWatch, RojoProject};

use super::DaemonActor;
use super::open_place::{NotOpened, ReadContext, SessionStart};
use crate::session::SessionMessage;

/// Returns the project file for a path to the file or its folder.
pub(super) fn find_project_file(path: &Path) -> Result<PathBuf, NotOpened> {
    let is_json = |it: &OsStr| ["json", "jsonc"].iter().any(|end| it.eq_ignore_ascii_case(end));
    if path.is_file() && !path.extension().is_some_and(is_json) {
        return Err(NotOpened::NoProject(path.to_owned()));
    }
    Ok(RojoProject::find_project_file(path)
        .map_err(|why| EngineError::from(PlaceError::from(why)))?)
}

/// Reads a project. Changes that an earlier process left unfinished in it are settled first.
pub(super) fn read_project(
    context: &ReadContext,
    file: &Path,
    notes: &mut Vec<String>,
) -> Result<SessionStart, NotOpened> {
    let ledger = &context.ledger;
    context.settle_file(file, || {
        let restored = vector_engine::restore_interrupted_files(ledger, file)?;
        let notices = restored.into_iter().chain(recover_place(ledger, file)?);
        notes.extend(notices.map(|notice| format!("note: {notice}")));
        Ok(())
    })?;
    let (mut project, scene) = RojoProject::open(file, false).map_err(EngineError::from)?;
    notes.extend(project.diagnostics().map(|fault| format!("warning: {fault}")));
    let message_sender = Arc::new(OnceLock::<Sender<SessionMessage>>::new());
    let (later, followers) = (Arc::clone(&message_sender), Arc::clone(&context.followers));
    // Before the session has begun and after it has ended, changes can be ignored.
    let on_change = move |changes: FileChanges| {
        if let Ok(mut followers) = followers.lock() {
            followers.retain(|it| it.send(SessionMessage::FilesChanged(changes.clone())).is_ok());
        }
        if let Some(message_sender) = later.get() {
            let _ = message_sender.send(SessionMessage::FilesChanged(changes));
        }
    };
    let watch = FileWatch::start(&project.watch_roots(), on_change).map_err(|why| {
        NotOpened::NotServed { file: file.display().to_string(), why: why.to_string() }
    })?;
    project.set_watch_updater(watch.updater());
    let opened = (Target::from(project), scene);
    Ok(SessionStart {
        opened,
        message_sender,
        watch: Some(watch),
        ready_message: Some(serving_note()),
    })
}

/// Describes whether file changes reach Studio through Rojo's server.
fn serving_note() -> String {
    match vector_rojo_project::find_server(vector_rojo_project::DEFAULT_PORT) {
        Some(serving) => format!(
            "Rojo {} serves {:?} on port {}: file changes reach Studio through it.",
            serving.version,
            serving.project,
            vector_rojo_project::DEFAULT_PORT
        ),
        None => format!(
            "note: no `rojo serve` responds on port {}; file changes reach Studio once one is connected.",
            vector_rojo_project::DEFAULT_PORT
        ),
    }
}

impl DaemonActor {
    /// Notifies the places open in Studio of a project that was opened.
    pub(super) fn share_project(&mut self, file: &Path) {
        for (_, session) in self.sessions.list() {
            if session.place.studio_place().is_some() {
                session.handle.send(SessionMessage::ProjectOpened(file.to_owned()));
            }
        }
        self.projects.push(file.to_owned());
    }
}
