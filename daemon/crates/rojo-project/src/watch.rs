//! File watching for a project: reports changes once, soon after the files have settled.
//!
//! The module does not interpret changes. An editor that saves by renaming, or a branch switch,
//! causes many events. Very many are reported as [`FileChanges::All`], because a full reading is
//! faster then. Events that the system reports as lost are handled the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, Flag};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use vector_files::disk::TEMPORARY_PREFIX;

/// The time without events after which a change is reported.
const QUIET_PERIOD: Duration = Duration::from_millis(40);
/// The maximum time from the first event to the report, even if events continue.
const MAX_DELAY: Duration = Duration::from_millis(120);
/// The maximum number of paths in a report. Beyond it, the events count as a storm, and the watch
/// waits for its end.
const MAX_PATHS: usize = 500;
/// The maximum time to wait for the end of a storm.
const STORM_DELAY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChanges {
    /// Paths that were created, removed or modified.
    Paths(BTreeSet<PathBuf>),
    /// Unknown changes: everything must be read again.
    All,
}

/// The reason why files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be watched: {why}{hint}")]
pub struct WatchError {
    path: String,
    why: notify::Error,
    hint: &'static str,
}

/// A file watch. Dropping it ends the watch.
#[derive(Debug)]
pub struct FileWatch {
    /// Dropping this drops the system's watcher and the last sender, which ends the thread.
    roots: Arc<Mutex<WatchRoots>>,
}

/// A handle that changes the watched paths of a [`FileWatch`].
#[derive(Debug, Clone, Default)]
pub struct WatchUpdater(Weak<Mutex<WatchRoots>>);

impl FileWatch {
    /// Watches files, and folders with everything below them. Links are not followed. A path that
    /// does not exist, or is removed, is watched once it appears. `hear` is called on a separate
    /// thread.
    ///
    /// # Errors
    /// Fails if the system cannot watch the files, or cannot watch any more of them.
    pub fn start(
        roots: &[PathBuf],
        mut on_change: impl FnMut(FileChanges) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (event_sender, events) = channel();
        // Sending fails only if the receiving thread has ended.
        let to = event_sender.clone();
        let forward = move |event| drop(to.send(event));
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(forward, config);
        let mut roots = WatchRoots {
            watcher: watcher.map_err(|why| watch_error(Path::new("The project"), why))?,
            watched_roots: roots.iter().map(|root| (root.clone(), false)).collect(),
            folders: BTreeSet::new(),
            sender: event_sender,
        };
        roots.watch_changed(&FileChanges::All)?;
        let roots = Arc::new(Mutex::new(roots));
        let followed = Arc::downgrade(&roots);
        let thread = thread::Builder::new().name("watch".to_owned());
        let spawned = thread.spawn(move || {
            let is_ours = |path: &Path| {
                let roots = followed.upgrade();
                roots.is_some_and(|roots| roots.lock().is_ok_and(|roots| roots.contains(path)))
            };
            while let Some(changed) = gather_changes(&events, is_ours) {
                let Some(roots) = followed.upgrade() else {
                    return;
                };
                // Nothing below a root that has just appeared or disappeared was watched, so its
                // changes are unknown.
                let is_torn = match roots.lock() {
                    Ok(mut roots) => roots.watch_changed(&changed).unwrap_or(true),
                    Err(_) => return,
                };
                drop(roots);
                on_change(if is_torn { FileChanges::All } else { changed });
            }
        });
        spawned.map_err(|why| watch_error(Path::new("The project"), notify::Error::io(why)))?;
        Ok(Self { roots })
    }

    /// Returns a handle that changes the watched paths.
    pub fn updater(&self) -> WatchUpdater {
        WatchUpdater(Arc::downgrade(&self.roots))
    }
}

impl WatchUpdater {
    /// Replaces the watched paths. If there are new ones, [`FileChanges::All`] is reported, because
    /// they may have changed since they were read.
    pub fn set_roots(&self, wanted: &[PathBuf]) {
        let Some(roots) = self.0.upgrade() else { return };
        let Ok(mut roots) = roots.lock() else { return };
        let watched_state = |root: &PathBuf| roots.watched_roots.get(root).copied();
        let new: BTreeMap<PathBuf, bool> = wanted
            .iter()
            .map(|root| (root.clone(), watched_state(root).unwrap_or(false)))
            .collect();
        let is_more = new.keys().any(|root| !roots.watched_roots.contains_key(root));
        roots.watched_roots = new;
        if is_more {
            // A path that cannot be watched does no harm: the project is read again before every
            // write.
            let _ = roots.watch_changed(&FileChanges::Paths(BTreeSet::new()));
            let _ = roots.sender.send(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        }
    }
}

#[derive(Debug)]
struct WatchRoots {
    watcher: RecommendedWatcher,
    /// The watched paths, each with whether it is watched recursively.
    watched_roots: BTreeMap<PathBuf, bool>,
    /// The folders that are watched without their subfolders.
    folders: BTreeSet<PathBuf>,
    sender: Sender<notify::Result<Event>>,
}

impl WatchRoots {
    /// Whether a path is a root, or below or above one.
    fn contains(&self, path: &Path) -> bool {
        self.watched_roots.keys().any(|root| path.starts_with(root) || root.starts_with(path))
    }

    /// Watches roots that appeared or may have been replaced. Returns whether any of them was
    /// watched before or is watched now: changes below it may have been missed.
    fn watch_changed(&mut self, changed: &FileChanges) -> Result<bool, WatchError> {
        let is_named = |root: &Path| match changed {
            FileChanges::Paths(paths) => root.ancestors().any(|it| paths.contains(it)),
            FileChanges::All => true,
        };
        // What appears meanwhile is found in the next round.
        while self.watch_parents(is_named)? {}
        let mut is_torn = false;
        for (root, is_watched) in &mut self.watched_roots {
            // A link is not followed, so it does not count as a folder.
            let is_folder = root.symlink_metadata().is_ok_and(|it| it.is_dir());
            if is_folder == *is_watched && !is_named(root) {
                continue;
            }
            is_torn |= *is_watched || is_folder;
            *is_watched = false;
            if is_folder {
                let watched = self.watcher.watch(root, RecursiveMode::Recursive);
                watched.map_err(|why| watch_error(root, why))?;
                *is_watched = true;
            }
        }
        Ok(is_torn)
    }

    /// Watches the nearest existing parent folders of the roots, because a file may be replaced and
    /// a folder may appear or reappear. Returns whether a folder was added.
    fn watch_parents(&mut self, is_named: impl Fn(&Path) -> bool) -> Result<bool, WatchError> {
        let folder =
            |root: &PathBuf| root.ancestors().skip(1).find(|it| it.is_dir()).map(Path::to_owned);
        let wanted: BTreeSet<PathBuf> = self.watched_roots.keys().filter_map(folder).collect();
        self.folders.retain(|folder| wanted.contains(folder));
        let mut is_more = false;
        for folder in wanted {
            // A non-recursive watch would replace the recursive one that already covers this
            // folder.
            let is_below = folder.ancestors().any(|it| self.watched_roots.get(it) == Some(&true));
            if is_below || self.folders.contains(&folder) && !is_named(&folder) {
                continue;
            }
            let watched = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
            watched.map_err(|why| watch_error(&folder, why))?;
            is_more |= self.folders.insert(folder);
        }
        Ok(is_more)
    }
}

fn watch_error(path: &Path, why: notify::Error) -> WatchError {
    let hint = match why.kind {
        notify::ErrorKind::MaxFilesWatch => {
            ". The system watches no more folders for one user; on Linux, raise \
             fs.inotify.max_user_watches"
        }
        _ => "",
    };
    WatchError { path: path.display().to_string(), why, hint }
}

/// Waits for a change and collects further changes until they end. Returns None if all senders are
/// gone.
fn gather_changes(
    events: &Receiver<notify::Result<Event>>,
    is_ours: impl Fn(&Path) -> bool,
) -> Option<FileChanges> {
    let mut paths = BTreeSet::new();
    let mut is_torn = false;
    let mut first: Option<Instant> = None;
    loop {
        let event = match first {
            None => events.recv().ok()?,
            Some(first) => {
                let latest =
                    if is_torn || paths.len() > MAX_PATHS { STORM_DELAY } else { MAX_DELAY };
                let left = latest.saturating_sub(first.elapsed());
                match events.recv_timeout(QUIET_PERIOD.min(left)) {
                    Ok(event) => event,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
        };
        let before = paths.len();
        match event {
            Ok(event) if event.need_rescan() => is_torn = true,
            Ok(event) if is_change(event.kind) => {
                let ours =
                    event.paths.into_iter().filter(|path| !is_temporary(path) && is_ours(path));
                paths.extend(ours);
            }
            Ok(_) => {}
            Err(_) => is_torn = true,
        }
        if first.is_none() && (is_torn || paths.len() > before) {
            first = Some(Instant::now());
        }
    }
    let is_storm = is_torn || paths.len() > MAX_PATHS;
    Some(if is_storm { FileChanges::All } else { FileChanges::Paths(paths) })
}

/// Whether an event can mean a modification; opening and reading do not.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Whether the path is a temporary file that Vector writes before it replaces a file.
fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(TEMPORARY_PREFIX))
}

#[cfg(test)]
mod tests;
