//! Workflow leases: only one process at a time works on a workflow.
//!
//! A lease is an operating system lock on a separate file. It ends when the process ends, even by a
//! crash, and needs neither clocks nor heartbeats. This module must not know whether a workflow
//! exists.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scene_schemas::entry::Seq;

use super::LedgerError;

/// The folder of leases.
const LEASES: &str = "leases";

/// The exclusive right to work on a workflow, held until dropped.
#[derive(Debug)]
#[must_use = "dropping a lease gives the workflow to others"]
pub struct WorkflowLease {
    leases: LeaseTable,
    workflow: Seq,
    lock: Option<File>,
}

impl WorkflowLease {
    pub fn workflow(&self) -> Seq {
        self.workflow
    }
}

impl Drop for WorkflowLease {
    fn drop(&mut self) {
        self.leases.lock_held().remove(&self.workflow);
        // If the guard cannot be taken, the file stays. That is harmless: the lock ends either way.
        if let Ok(_guard) = self.leases.lock_guard() {
            let _ = fs::remove_file(self.leases.lease_path(self.workflow));
            // Close the file under the guard: some systems do not free the name before that.
            drop(self.lock.take());
        }
    }
}

/// Proof that no other process takes or releases a lease, or prepares the ledger file, meanwhile.
#[derive(Debug)]
pub(super) struct LeaseGuard {
    _lock: File,
}

/// The right to replace files of places, which one process of a ledger has at a time. Without it,
/// two could find a place unchanged and both replace it.
#[derive(Debug)]
pub struct ApplyingLock {
    _lock: File,
}

/// The leases of one ledger.
#[derive(Debug, Clone)]
pub(super) struct LeaseTable {
    folder: PathBuf,
    guard: PathBuf,
    applying: PathBuf,
    /// The workflows that are leased through this handle.
    held: Arc<Mutex<HashSet<Seq>>>,
}

impl LeaseTable {
    /// Opens the lease folder of a ledger.
    pub(super) fn in_folder(home: &Path) -> Result<Self, LedgerError> {
        let folder = home.join(LEASES);
        vector_system::create_private_folder(&folder)
            .map_err(LedgerError::unusable_path(&folder))?;
        let (guard, applying) = (home.join("ledger.lock"), home.join("applying.lock"));
        Ok(Self { folder, guard, applying, held: Arc::default() })
    }

    pub(super) fn is_held(&self, workflow: Seq) -> bool {
        self.lock_held().contains(&workflow)
    }

    fn lock_held(&self) -> MutexGuard<'_, HashSet<Seq>> {
        // A panic cannot leave the set half changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lease_path(&self, workflow: Seq) -> PathBuf {
        self.folder.join(format!("{workflow}.lock"))
    }

    /// Waits for the guard, which is held only for moments.
    ///
    /// Releasing a lease removes its file. A process that opened the file just before would then
    /// lock a file that no longer has a name, while a third process locks a new one: two holders.
    /// Hence lease files are opened, locked and removed only under this guard.
    pub(super) fn lock_guard(&self) -> Result<LeaseGuard, LedgerError> {
        let file = open_locked(&self.guard).map_err(LedgerError::unusable_path(&self.guard))?;
        Ok(LeaseGuard { _lock: file })
    }

    /// Waits until no other process or thread applies a change.
    pub(super) fn lock_applying(&self) -> Result<ApplyingLock, LedgerError> {
        let file =
            open_locked(&self.applying).map_err(LedgerError::unusable_path(&self.applying))?;
        Ok(ApplyingLock { _lock: file })
    }

    /// Leases a workflow. Returns None if the lease is already held.
    pub(super) fn try_lease(
        &self,
        _guard: &LeaseGuard,
        workflow: Seq,
    ) -> Result<Option<WorkflowLease>, LedgerError> {
        let path = self.lease_path(workflow);
        let file = open_lock(&path).map_err(LedgerError::unusable_path(&path))?;
        match file.try_lock() {
            Ok(()) => {
                self.lock_held().insert(workflow);
                Ok(Some(WorkflowLease { leases: self.clone(), workflow, lock: Some(file) }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(LedgerError::unusable_path(&path)(error)),
        }
    }
}

/// Whether a process works on a workflow of the ledger in `home`.
///
/// # Errors
/// Fails if the leases cannot be read.
pub fn is_in_use(home: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(home.join(LEASES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        match File::open(entry?.path()) {
            // Released just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            lease => match lease?.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(true),
                Err(TryLockError::Error(error)) => return Err(error),
            },
        }
    }
    Ok(false)
}

/// Opens a lock file and waits for its lock.
fn open_locked(path: &Path) -> io::Result<File> {
    let file = open_lock(path)?;
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done.map(|()| file),
        }
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    vector_system::open_private(OpenOptions::new().append(true).create(true), path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn leases(home: &Path) -> LeaseTable {
        LeaseTable::in_folder(home).unwrap()
    }

    fn take(leases: &LeaseTable, workflow: u64) -> Option<WorkflowLease> {
        leases.try_lease(&leases.lock_guard().unwrap(), Seq(workflow)).unwrap()
    }

    #[test]
    fn lease_has_one_holder_within_and_across_handles() {
        let home = tempfile::tempdir().unwrap();
        let (one, two) = (leases(home.path()), leases(home.path()));
        let lease = take(&one, 7).unwrap();
        assert_eq!(lease.workflow(), Seq(7));
        assert!(take(&one, 7).is_none());
        assert!(take(&two, 7).is_none());
        assert!(take(&two, 8).is_some());
        assert!(one.is_held(Seq(7)) && !two.is_held(Seq(7)) && !two.is_held(Seq(8)));
        drop(lease);
        assert!(!one.is_held(Seq(7)));
        assert!(!one.lease_path(Seq(7)).exists());
        assert!(take(&two, 7).is_some());
    }

    #[test]
    fn lease_file_left_by_a_dead_process_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let leases = leases(home.path());
        fs::write(leases.lease_path(Seq(7)), "").unwrap();
        assert!(take(&leases, 7).is_some());
    }

    #[test]
    fn lease_never_has_two_holders_in_a_race() {
        let home = tempfile::tempdir().unwrap();
        let holders = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let leases = leases(home.path());
                    for _ in 0..200 {
                        if let Some(lease) = take(&leases, 7) {
                            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            holders.fetch_sub(1, Ordering::SeqCst);
                            drop(lease);
                        }
                    }
                });
            }
        });
    }
}
