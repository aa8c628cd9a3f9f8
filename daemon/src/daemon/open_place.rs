//! Places opened by the user without Studio: sessions without a plugin, which stay open as long as
//! the daemon runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, thread};

use scene_schemas::api::{Failure, FailureKind, OpenPlaceRequest, OpenedSession};
use scene_schemas::entry::Place;
use vector_core::planning_scene::PlanningScene;
use vector_engine::{EngineError, Target};
use vector_files::place_file::PlaceError;
use vector_ledger::Ledger;
use vector_rojo_project::{FileChanges, FileWatch};

use super::file_locks::FileLocks;
use super::{DaemonActor, DaemonHandle, STACK, places, projects, random_text};
use crate::event_hub::TokenHash;
use crate::failure::failure;
use crate::session::{Answer, Reply, SessionHandle, SessionMessage};

/// The reason a path was not opened.
#[derive(Debug, thiserror::Error)]
pub enum NotOpened {
    /// The file does not exist.
    #[error("there is no file {}", .0.display())]
    Missing(PathBuf),
    /// The path is not a regular file.
    #[error("{} is not a file (a folder or a device)", .0.display())]
    NoFile(PathBuf),
    /// The file is not a project file.
    #[error("{} is not a project: choose a folder or a file like game.project.json", .0.display())]
    NoProject(PathBuf),
    /// The file is not writable.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The file cannot be read, or an unfinished change in it cannot be settled.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The files cannot be watched, or no thread could be started.
    #[error("{file} cannot be served: {why}")]
    NotServed {
        /// The place file or project.
        file: String,
        why: String,
    },
}

impl NotOpened {
    /// Converts the error for the API.
    fn to_failure(&self) -> Failure {
        let (kind, hint) = match self {
            Self::Missing(_) => (FailureKind::NotFound, "Check the spelling and the folder."),
            Self::NoFile(_) => (
                FailureKind::BadRequest,
                "Specify a .rbxl, .rbxlx, .rbxm or .rbxmx file; the folder of a Rojo project is opened as a \
                 project.",
            ),
            Self::NoProject(_) => (
                FailureKind::BadRequest,
                "Specify a folder with a Rojo project, or a .rbxl, .rbxlx, .rbxm or .rbxmx file.",
            ),
            Self::ReadOnly(_) => (FailureKind::Settled, "Make it writable, then open it again."),
            Self::Engine(EngineError::Place(PlaceError::Open { .. })) => {
                (FailureKind::BadRequest, "Specify a .rbxl, .rbxlx, .rbxm or .rbxmx file.")
            }
            Self::Engine(EngineError::Place(PlaceError::NoProject(_))) => {
                (FailureKind::NotFound, "Check the spelling and the folder.")
            }
            Self::Engine(EngineError::Place(_)) => {
                (FailureKind::Settled, "Fix the problem and open it again.")
            }
            Self::Engine(_) | Self::NotServed { .. } => (FailureKind::Internal, "Try again."),
        };
        let mut message = format!("{self}.");
        // Capitalize the message. A path is not changed, unless it begins with a drive letter.
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        failure(kind, message, hint)
    }
}

/// A request to open a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum OpenRequest {
    /// A place or model file.
    Place(PathBuf),
    /// A project, by its file or its folder.
    Project(PathBuf),
}

impl OpenRequest {
    fn from_open(open: &OpenPlaceRequest) -> Self {
        match open {
            OpenPlaceRequest::Place { place } => Self::Place(place.into()),
            OpenPlaceRequest::Project { project } => Self::Project(project.into()),
        }
    }

    fn path(&self) -> &Path {
        let (Self::Place(path) | Self::Project(path)) = self;
        path
    }

    /// Returns the same request for the file that was located.
    fn with_file(&self, file: PathBuf) -> Self {
        match self {
            Self::Place(_) => Self::Place(file),
            Self::Project(_) => Self::Project(file),
        }
    }

    /// Whether this is open as that place.
    fn is_open_as(&self, place: &Place) -> bool {
        let name = self.path().display().to_string();
        match (self, place) {
            (Self::Place(_), Place::File(place)) => place.file == name,
            (Self::Project(_), Place::Project(place)) => place.project == name,
            _ => false,
        }
    }

    fn locate(&self) -> Result<PathBuf, NotOpened> {
        match self {
            Self::Place(path) => places::find_file(path),
            Self::Project(path) => projects::find_project_file(path),
        }
    }

    /// Reads the file, which was located before.
    fn read_file(&self, context: &ReadContext) -> ReadOutcome {
        let mut notes = Vec::new();
        let outcome = with_deep_stack(|| match self {
            Self::Place(file) => places::read_place(context, file, &mut notes),
            Self::Project(file) => projects::read_project(context, file, &mut notes),
        });
        let session_start = outcome.unwrap_or_else(|why| Err(not_served(self.path(), &why)));
        ReadOutcome { notes, start: session_start }
    }
}

/// The result of reading a file whose session has not begun.
pub(super) struct ReadOutcome {
    /// Messages to the user, whether reading succeeded or not.
    notes: Vec<String>,
    start: Result<SessionStart, NotOpened>,
}

/// The input of a new session.
pub(super) struct SessionStart {
    pub(super) opened: (Target, PlanningScene),
    /// The session's sender, for the file watch. It is set once the session has begun.
    pub(super) message_sender: Arc<OnceLock<Sender<SessionMessage>>>,
    pub(super) watch: Option<FileWatch>,
    /// A message to the user when the session has begun.
    pub(super) ready_message: Option<String>,
}

/// What reading a file needs from the daemon.
#[derive(Clone)]
pub(super) struct ReadContext {
    pub(super) ledger: Arc<Ledger>,
    pub(super) followers: Arc<Mutex<Vec<Sender<SessionMessage>>>>,
    file_locks: FileLocks,
}

impl ReadContext {
    /// Settles what an earlier process left unfinished in a file, while holding the lock on the
    /// affected files.
    pub(super) fn settle_file<T>(
        &self,
        file: &Path,
        settle: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let _alone = self.file_locks.lock(vector_engine::affected_files(&self.ledger, file)?);
        settle()
    }
}

/// Requests that wait for a file. Each file is read only once.
#[derive(Default)]
pub(super) struct PendingOpens {
    /// Requests whose file is being located.
    locating: HashMap<OpenRequest, Vec<Reply<OpenedSession>>>,
    /// Requests whose file is being read.
    reading: HashMap<OpenRequest, Vec<Reply<OpenedSession>>>,
    file_locks: FileLocks,
}

fn reply_to_all(waiting: Vec<Reply<OpenedSession>>, opened: &Result<OpenedSession, Failure>) {
    for reply in waiting {
        let _ = reply.send(opened.clone());
    }
}

fn not_served(file: &Path, why: &impl ToString) -> NotOpened {
    NotOpened::NotServed { file: file.display().to_string(), why: why.to_string() }
}

impl DaemonActor {
    /// Opens a path, or finds it open. The file is located and read on a separate thread, however
    /// long that takes.
    fn open_path(&mut self, open: &OpenPlaceRequest, reply: Reply<OpenedSession>) {
        let request = OpenRequest::from_open(open);
        if !request.path().is_absolute() {
            let message = format!("`{}` is not a full path.", request.path().display());
            let hint = "Specify the full path: the daemon does not know your current folder.";
            let _ = reply.send(Err(failure(FailureKind::BadRequest, message, hint)));
            return;
        }
        if let Some(waiting) = self.pending_opens.locating.get_mut(&request) {
            return waiting.push(reply);
        }
        self.pending_opens.locating.insert(request.clone(), vec![reply]);
        let sought = request.clone();
        let spawned = self.run_beside(move || {
            let found = with_deep_stack(|| sought.locate());
            let found = found.unwrap_or_else(|why| Err(not_served(sought.path(), &why)));
            move |daemon: &mut Self| daemon.finish_locating(&sought, found)
        });
        if let Err(why) = spawned {
            self.finish_locating(&request, Err(not_served(request.path(), &why)));
        }
    }

    /// Runs work on a separate thread, and then the task that it returns on the daemon's thread.
    fn run_beside<T: FnOnce(&mut Self) + Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<()> {
        let tasks = self.task_sender.clone();
        let thread = thread::Builder::new().name("open".to_owned());
        let run = move || {
            let task = work();
            // A daemon that has ended does not need the result.
            if let Some(tasks) = tasks.upgrade() {
                let _ = tasks.send(Box::new(task));
            }
        };
        thread.spawn(run).map(drop)
    }

    /// Continues a request whose file was located.
    fn finish_locating(&mut self, requested: &OpenRequest, found: Result<PathBuf, NotOpened>) {
        let waiting = self.pending_opens.locating.remove(requested).unwrap_or_default();
        let request = match found {
            Ok(file) => requested.with_file(file),
            Err(why) => return reply_to_all(waiting, &Err(why.to_failure())),
        };
        if let Some(opened) = self.find_open(&request) {
            return reply_to_all(waiting, &Ok(opened));
        }
        if let Some(others) = self.pending_opens.reading.get_mut(&request) {
            return others.extend(waiting);
        }
        self.pending_opens.reading.insert(request.clone(), waiting);
        let (context, of) = (self.read_context(), request.clone());
        let spawned = self.run_beside(move || {
            let read = of.read_file(&context);
            move |daemon: &mut Self| daemon.finish_reading(&of, read)
        });
        if let Err(why) = spawned {
            let failed = Err(not_served(request.path(), &why));
            self.finish_reading(&request, ReadOutcome { notes: Vec::new(), start: failed });
        }
    }

    /// Begins the session of a file that was read. Open sessions resume the workflows that were
    /// locked meanwhile.
    fn finish_reading(&mut self, request: &OpenRequest, read: ReadOutcome) {
        self.send_to_all(|| SessionMessage::ResumeWorkflows);
        let waiting = self.pending_opens.reading.remove(request).unwrap_or_default();
        reply_to_all(
            waiting,
            &self.start_read_session(request, read).map_err(|error| error.to_failure()),
        );
    }

    /// Opens a place or model file, which is edited in place, when the daemon starts. Changes that
    /// an earlier process left unfinished in it are settled first.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open_place(&mut self, path: &Path) -> Result<OpenedSession, NotOpened> {
        self.open_now(&OpenRequest::Place(path.to_owned()))
    }

    /// Opens a project in the same way, by its file or its folder.
    ///
    /// # Errors
    /// The project cannot be opened.
    pub fn open_project(&mut self, path: &Path) -> Result<OpenedSession, NotOpened> {
        self.open_now(&OpenRequest::Project(path.to_owned()))
    }

    fn open_now(&mut self, requested: &OpenRequest) -> Result<OpenedSession, NotOpened> {
        let request = requested.with_file(requested.locate()?);
        match self.find_open(&request) {
            Some(opened) => Ok(opened),
            None => self.start_read_session(&request, request.read_file(&self.read_context())),
        }
    }

    fn read_context(&self) -> ReadContext {
        ReadContext {
            ledger: Arc::clone(&self.ledger),
            followers: Arc::clone(&self.followers),
            file_locks: self.pending_opens.file_locks.clone(),
        }
    }

    fn start_read_session(
        &mut self,
        request: &OpenRequest,
        read: ReadOutcome,
    ) -> Result<OpenedSession, NotOpened> {
        for note in &read.notes {
            (self.notify)(note);
        }
        let SessionStart { opened, message_sender, watch, ready_message: last } = read.start?;
        let (opened, way) =
            self.start_local_session(opened).map_err(|why| not_served(request.path(), &why))?;
        // Changes between the reading and this point were reported to no session.
        let sender = message_sender.get_or_init(|| way.message_sender());
        let _ = sender.send(SessionMessage::FilesChanged(FileChanges::All));
        self.file_watches.extend(watch);
        if let OpenRequest::Project(file) = request {
            self.share_project(file);
        }
        (self.notify)(&format!(
            "{} is open: `vector chat --session {}` talks about it.",
            opened.name, opened.session
        ));
        if let Some(last) = last {
            (self.notify)(&last);
        }
        Ok(opened)
    }

    /// Returns the session of a file or project that is open. One that panicked receives no
    /// messages, and is opened again.
    fn find_open(&self, request: &OpenRequest) -> Option<OpenedSession> {
        let mut sessions = self.sessions.list().into_iter();
        let (session, known) = sessions.find(|(_, it)| request.is_open_as(&it.place))?;
        if !known.handle.send(SessionMessage::RunWorkflows) {
            return None;
        }
        let epoch = self.event_hub.slot(&session)?.epoch();
        Some(OpenedSession { session, epoch, name: known.place.name() })
    }

    /// Starts a session that stays open.
    fn start_local_session(
        &mut self,
        opened: (Target, PlanningScene),
    ) -> io::Result<(OpenedSession, SessionHandle)> {
        let place = opened.0.place();
        let session = place.session_id();
        // No plugin holds this token. The user decides with their own.
        let token = random_text(24)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let slot = self.event_hub.register(&session, self.epoch, TokenHash::of_token(&token));
        slot.mark_permanent();
        let handle = self.start_session(&slot, opened, None)?;
        Ok((OpenedSession { session, epoch: slot.epoch(), name: place.name() }, handle))
    }
}

impl DaemonHandle {
    /// Opens a place file or a project, or finds it open.
    pub fn open_path(&self, open: OpenPlaceRequest) -> Answer<OpenedSession> {
        self.run_with_reply(move |daemon, reply| daemon.open_path(&open, reply))
    }
}

/// Runs a read on a stack that is large enough for deeply nested files. A panic becomes an error.
fn with_deep_stack<T: Send>(read: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read)?;
        reader.join().map_err(|_| io::Error::other("the reader stopped"))
    })
}
