//! Follows the files of a project: who asks is told once, soon after they have come to rest.
//!
//! What the changes mean is not known here. An editor that saves by renaming, or a branch that is
//! switched, makes many events; one that makes very many is told as [`Heard::All`], since reading
//! everything again is then the shorter way. The system may lose events, and says so: that is told
//! in the same way.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::targets::disk::TEMPORARY;

/// For how long nothing may have happened.
const REST: Duration = Duration::from_millis(40);
/// How long after its first event a change is told at the latest, though more come.
const LATEST: Duration = Duration::from_millis(120);
/// How many paths are told one by one; with more it is a storm, and its end is waited for.
const MANY: usize = 500;
/// How long the end of a storm is waited for.
const STORM: Duration = Duration::from_secs(2);

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
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
pub struct Watch {
    /// With it goes the system's watcher, with that the last who can say anything, and so the thread.
    _roots: Arc<Mutex<Roots>>,
}

impl Watch {
    /// Follows files, and folders with all that is below them. Links are not followed. What is not there
    /// yet, or goes, is followed when it comes, as long as its folder is there. `hear` is called on a
    /// thread of its own.
    ///
    /// # Errors
    /// The system cannot watch them, or no more of them.
    pub fn start(
        roots: &[PathBuf],
        mut hear: impl FnMut(Heard) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (say, said) = channel();
        // Who has ended needs to hear nothing.
        let tell = move |event| drop(say.send(event));
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(tell, config);
        let mut roots = Roots {
            watcher: watcher.map_err(|why| failed(Path::new("The project"), why))?,
            roots: roots.iter().map(|root| (root.clone(), false)).collect(),
        };
        roots.follow_folders()?;
        roots.follow(&Heard::All)?;
        let names: Vec<PathBuf> = roots.roots.iter().map(|(root, _)| root.clone()).collect();
        let roots = Arc::new(Mutex::new(roots));
        let followed = Arc::downgrade(&roots);
        let thread = thread::Builder::new().name("watch".to_owned());
        let spawned = thread.spawn(move || {
            while let Some(changed) = gather(&said, &names) {
                let Some(roots) = followed.upgrade() else {
                    return;
                };
                // Below what came or went only now, nothing was watched.
                let is_torn = match roots.lock() {
                    Ok(mut roots) => roots.follow(&changed).unwrap_or(true),
                    Err(_) => return,
                };
                drop(roots);
                hear(if is_torn { Heard::All } else { changed });
            }
        });
        spawned.map_err(|why| failed(Path::new("The project"), notify::Error::io(why)))?;
        Ok(Self { _roots: roots })
    }
}

#[derive(Debug)]
struct Roots {
    watcher: RecommendedWatcher,
    /// What is followed, and whether all below it is watched.
    roots: Vec<(PathBuf, bool)>,
}

impl Roots {
    /// Watches the folders in which the roots stand: a file may be replaced by another, and a folder
    /// may come back.
    fn follow_folders(&mut self) -> Result<(), WatchError> {
        let folders: BTreeSet<PathBuf> =
            self.roots.iter().filter_map(|(root, _)| root.parent()).map(Path::to_owned).collect();
        for folder in folders {
            let watched = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
            watched.map_err(|why| failed(&folder, why))?;
        }
        Ok(())
    }

    /// Watches the folders that have come, or may be others than they were. Whether there were any that
    /// had been watched, or are now: what happened below them before is not known.
    fn follow(&mut self, changed: &Heard) -> Result<bool, WatchError> {
        let is_named = |root: &PathBuf| match changed {
            Heard::Paths(paths) => paths.contains(root),
            Heard::All => true,
        };
        let mut is_torn = false;
        for (root, is_watched) in &mut self.roots {
            // A link leads elsewhere.
            let is_folder = root.symlink_metadata().is_ok_and(|it| it.is_dir());
            if is_folder == *is_watched && !is_named(root) {
                continue;
            }
            is_torn |= *is_watched || is_folder;
            *is_watched = false;
            if is_folder {
                let watched = self.watcher.watch(root, RecursiveMode::Recursive);
                watched.map_err(|why| failed(root, why))?;
                *is_watched = true;
            }
        }
        Ok(is_torn)
    }
}

fn failed(path: &Path, why: notify::Error) -> WatchError {
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
fn gather(said: &Receiver<notify::Result<Event>>, roots: &[PathBuf]) -> Option<Heard> {
    let mut paths = BTreeSet::new();
    let mut is_torn = false;
    let mut first: Option<Instant> = None;
    loop {
        let event = match first {
            None => said.recv().ok()?,
            Some(first) => {
                let latest = if is_torn || paths.len() > MANY { STORM } else { LATEST };
                let left = latest.saturating_sub(first.elapsed());
                match said.recv_timeout(REST.min(left)) {
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
                let ours = event.paths.into_iter().filter(|path| is_ours(path, roots));
                paths.extend(ours);
            }
            Ok(_) => {}
            Err(_) => is_torn = true,
        }
        if first.is_none() && (is_torn || paths.len() > before) {
            first = Some(Instant::now());
        }
    }
    let is_storm = is_torn || paths.len() > MANY;
    Some(if is_storm { Heard::All } else { Heard::Paths(paths) })
}

/// Whether something is another than before; to open and to read changes nothing.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn is_ours(path: &Path, roots: &[PathBuf]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    !name.starts_with(TEMPORARY) && roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests;
