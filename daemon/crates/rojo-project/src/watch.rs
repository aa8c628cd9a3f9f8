//! Follows the files of a project: who asks is told once, soon after they have come to rest.
//!
//! What the changes mean is not known here. An editor that saves by renaming, or a branch that is
//! switched, makes many events; one that makes very many is told as [`Heard::All`], since reading
//! everything again is then the shorter way. The system may lose events, and says so: that is told
//! in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, Flag};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use vector_files::disk::TEMPORARY_PREFIX;

/// For how long nothing may have happened.
const QUIET_PERIOD: Duration = Duration::from_millis(40);
/// How long after its first event a change is told at the latest, though more come.
const MAX_DELAY: Duration = Duration::from_millis(120);
/// How many paths are told one by one; with more it is a storm, and its end is waited for.
const MAX_PATHS: usize = 500;
/// How long the end of a storm is waited for.
const STORM_DELAY: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChanges {
    /// These paths: what is there now, what was, or both.
    Paths(BTreeSet<PathBuf>),
    /// Nobody knows what exactly: all has to be read again.
    All,
}

/// Why the files cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be watched: {why}{hint}")]
pub struct WatchError {
    path: String,
    why: notify::Error,
    hint: &'static str,
}

/// Files that are followed; no more when this is dropped.
#[derive(Debug)]
pub struct FileWatch {
    /// With it goes the system's watcher, with that the last who can say anything, and so the thread.
    roots: Arc<Mutex<WatchRoots>>,
}

/// Tells a [`Watch`] what is to be followed from now on.
#[derive(Debug, Clone, Default)]
pub struct WatchUpdater(Weak<Mutex<WatchRoots>>);

impl FileWatch {
    /// Follows files, and folders with all that is below them. Links are not followed. What is not there
    /// yet, or goes, is followed when it comes. `hear` is called on a thread of its own.
    ///
    /// # Errors
    /// The system cannot watch them, or no more of them.
    pub fn start(
        roots: &[PathBuf],
        mut hear: impl FnMut(FileChanges) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (say, said) = channel();
        // Who has ended needs to hear nothing.
        let to = say.clone();
        let tell = move |event| drop(to.send(event));
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(tell, config);
        let mut roots = WatchRoots {
            watcher: watcher.map_err(|why| watch_error(Path::new("The project"), why))?,
            watched_roots: roots.iter().map(|root| (root.clone(), false)).collect(),
            folders: BTreeSet::new(),
            sender: say,
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
            while let Some(changed) = gather_changes(&said, is_ours) {
                let Some(roots) = followed.upgrade() else {
                    return;
                };
                // Below what came or went only now, nothing was watched.
                let is_torn = match roots.lock() {
                    Ok(mut roots) => roots.watch_changed(&changed).unwrap_or(true),
                    Err(_) => return,
                };
                drop(roots);
                hear(if is_torn { FileChanges::All } else { changed });
            }
        });
        spawned.map_err(|why| watch_error(Path::new("The project"), notify::Error::io(why)))?;
        Ok(Self { roots })
    }

    /// Who can tell it what is to be followed.
    pub fn updater(&self) -> WatchUpdater {
        WatchUpdater(Arc::downgrade(&self.roots))
    }
}

impl WatchUpdater {
    /// Follows these from now on. Where others come with that, [`Heard::All`] is told: nobody knows what
    /// happened to them since they were read.
    pub fn set_roots(&self, wanted: &[PathBuf]) {
        let Some(roots) = self.0.upgrade() else { return };
        let Ok(mut roots) = roots.lock() else { return };
        let stays = |root: &PathBuf| roots.watched_roots.get(root).copied();
        let new: BTreeMap<PathBuf, bool> =
            wanted.iter().map(|root| (root.clone(), stays(root).unwrap_or(false))).collect();
        let is_more = new.keys().any(|root| !roots.watched_roots.contains_key(root));
        roots.watched_roots = new;
        if is_more {
            // What cannot be watched is read again before anything is written, as all is.
            let _ = roots.watch_changed(&FileChanges::Paths(BTreeSet::new()));
            let _ = roots.sender.send(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
        }
    }
}

#[derive(Debug)]
struct WatchRoots {
    watcher: RecommendedWatcher,
    /// What is followed, and whether all below it is watched.
    watched_roots: BTreeMap<PathBuf, bool>,
    /// The folders of which only the entries are watched.
    folders: BTreeSet<PathBuf>,
    sender: Sender<notify::Result<Event>>,
}

impl WatchRoots {
    /// Whether a path is part of what is followed, or on the way to it.
    fn contains(&self, path: &Path) -> bool {
        self.watched_roots.keys().any(|root| path.starts_with(root) || root.starts_with(path))
    }

    /// Watches what has come, or may be another than it was. Whether there were folders that had been
    /// watched, or are now: what happened below them before is not known.
    fn watch_changed(&mut self, changed: &FileChanges) -> Result<bool, WatchError> {
        let is_named = |root: &Path| match changed {
            FileChanges::Paths(paths) => root.ancestors().any(|it| paths.contains(it)),
            FileChanges::All => true,
        };
        // What comes while they are looked at is seen in the next round.
        while self.watch_parents(is_named)? {}
        let mut is_torn = false;
        for (root, is_watched) in &mut self.watched_roots {
            // A link leads elsewhere.
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

    /// Watches the folders in which the roots stand, or will: a file may be replaced by another, and a
    /// folder may come, or come back. Whether there are more than before.
    fn watch_parents(&mut self, is_named: impl Fn(&Path) -> bool) -> Result<bool, WatchError> {
        let folder =
            |root: &PathBuf| root.ancestors().skip(1).find(|it| it.is_dir()).map(Path::to_owned);
        let wanted: BTreeSet<PathBuf> = self.watched_roots.keys().filter_map(folder).collect();
        self.folders.retain(|folder| wanted.contains(folder));
        let mut is_more = false;
        for folder in wanted {
            // A watch of its own would end the one of all that is below it.
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

/// Waits for a change, and for its end; none where nobody is left who could say anything.
fn gather_changes(
    said: &Receiver<notify::Result<Event>>,
    is_ours: impl Fn(&Path) -> bool,
) -> Option<FileChanges> {
    let mut paths = BTreeSet::new();
    let mut is_torn = false;
    let mut first: Option<Instant> = None;
    loop {
        let event = match first {
            None => said.recv().ok()?,
            Some(first) => {
                let latest =
                    if is_torn || paths.len() > MAX_PATHS { STORM_DELAY } else { MAX_DELAY };
                let left = latest.saturating_sub(first.elapsed());
                match said.recv_timeout(QUIET_PERIOD.min(left)) {
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

/// Whether something is another than before; to open and to read changes nothing.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Whether Vector itself writes it beside a file, before it takes its place.
fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(TEMPORARY_PREFIX))
}

#[cfg(test)]
mod tests;
