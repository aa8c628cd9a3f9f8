//! Locks on files in which changes of earlier processes are being settled. No two threads settle
//! the same file at once, and none waits for a thread at another file, whose drive may be slow or
//! gone.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The files that are locked.
#[derive(Debug, Clone, Default)]
pub(super) struct FileLocks(Arc<LockedFiles>);

#[derive(Debug, Default)]
struct LockedFiles {
    files: Mutex<HashSet<String>>,
    released: Condvar,
}

impl LockedFiles {
    fn lock_files(&self) -> MutexGuard<'_, HashSet<String>> {
        // A panic cannot leave a partly changed set behind.
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the lock on its files until it is dropped.
#[derive(Debug)]
pub(super) struct FileLockGuard {
    locked: Arc<LockedFiles>,
    files: HashSet<String>,
}

impl FileLocks {
    /// Waits until none of the files is locked, and locks them. All are locked together, so that
    /// there is no deadlock.
    pub(super) fn lock(&self, own: HashSet<String>) -> FileLockGuard {
        let mut files = self.0.lock_files();
        while !files.is_disjoint(&own) {
            files = self.0.released.wait(files).unwrap_or_else(PoisonError::into_inner);
        }
        files.extend(own.iter().cloned());
        FileLockGuard { locked: Arc::clone(&self.0), files: own }
    }
}

impl Drop for FileLockGuard {
    fn drop(&mut self) {
        self.locked.lock_files().retain(|it| !self.files.contains(it));
        self.locked.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn files(names: &[usize]) -> HashSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn locks_of_other_files_do_not_block() {
        let settling = FileLocks::default();
        let _alone = settling.lock(files(&[0, 1]));
        let (other, (done, is_done)) = (settling.clone(), channel());
        thread::spawn(move || {
            drop(other.lock(files(&[2, 3])));
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_mins(1)).expect("it is none of theirs");
    }

    #[test]
    fn file_is_locked_by_one_holder_at_a_time() {
        let settling = FileLocks::default();
        let is_busy: [AtomicBool; 4] = Default::default();
        let all = Barrier::new(4);
        thread::scope(|scope| {
            for at in 0..4 {
                let (settling, is_busy, all) = (&settling, &is_busy, &all);
                scope.spawn(move || {
                    let own = [at, (at + 1) % 4];
                    all.wait();
                    for _ in 0..500 {
                        let _alone = settling.lock(files(&own));
                        for file in own {
                            assert!(!is_busy[file].swap(true, Ordering::SeqCst), "file {file}");
                        }
                        thread::yield_now();
                        for file in own {
                            is_busy[file].store(false, Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(settling.0.lock_files().is_empty());
    }
}
