//! Leases: a workflow is worked on by one process.
//!
//! A lease is a lock of the operating system on a file of its own, so it ends with the process,
//! however that ends, and needs neither clocks nor heartbeats. Whether the workflow exists is not
//! known here.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scene_schemas::entry::Seq;

use super::{LedgerError, private_files};

/// The right to work on a workflow, held until it is dropped.
#[derive(Debug)]
#[must_use = "dropping a lease gives the workflow to others"]
pub struct WorkflowLease {
    leases: LeaseTable,
    workflow: Seq,
    lock: Option<File>,
}

impl WorkflowLease {
    /// The workflow that is leased.
    pub fn workflow(&self) -> Seq {
        self.workflow
    }
}

impl Drop for WorkflowLease {
    fn drop(&mut self) {
        self.leases.lock_held().remove(&self.workflow);
        // Without the guard the file stays, which harms nobody: the lock ends either way.
        if let Ok(_guard) = self.leases.lock_guard() {
            let _ = fs::remove_file(self.leases.lease_path(self.workflow));
            // Closed under the guard: until then some systems let nobody reuse the name.
            drop(self.lock.take());
        }
    }
}

/// Proof that nobody else takes or gives back a lease, or prepares the ledger's file, meanwhile.
#[derive(Debug)]
pub(super) struct LeaseGuard {
    _lock: File,
}

/// The leases of one ledger.
#[derive(Debug, Clone)]
pub(super) struct LeaseTable {
    folder: PathBuf,
    guard: PathBuf,
    /// Those that were taken through this handle, and not given back.
    held: Arc<Mutex<HashSet<Seq>>>,
}

impl LeaseTable {
    /// Those in the folder of a ledger.
    pub(super) fn in_folder(home: &Path) -> Result<Self, LedgerError> {
        let folder = home.join("leases");
        private_files::create_folder(&folder).map_err(LedgerError::unusable_path(&folder))?;
        Ok(Self { folder, guard: home.join("ledger.lock"), held: Arc::default() })
    }

    /// Whether a workflow is leased through this handle.
    pub(super) fn is_held(&self, workflow: Seq) -> bool {
        self.lock_held().contains(&workflow)
    }

    fn lock_held(&self) -> MutexGuard<'_, HashSet<Seq>> {
        // Whoever panicked has left a whole set behind.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file whose lock is the lease.
    pub(super) fn lease_path(&self, workflow: Seq) -> PathBuf {
        self.folder.join(format!("{workflow}.lock"))
    }

    /// Wait for the others. It is held for moments only.
    ///
    /// A lease's file is removed when it is given back. Whoever had opened it just before would then
    /// lock a file that no longer has a name, and a third process a new one: two holders. Hence
    /// files are opened, locked and removed under this guard alone.
    pub(super) fn lock_guard(&self) -> Result<LeaseGuard, LedgerError> {
        let lock = || {
            let file = open_lock(&self.guard)?;
            loop {
                match file.lock() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    done => return done.map(|()| file),
                }
            }
        };
        let file = lock().map_err(LedgerError::unusable_path(&self.guard))?;
        Ok(LeaseGuard { _lock: file })
    }

    /// Lease a workflow; none where somebody holds it.
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

fn open_lock(path: &Path) -> io::Result<File> {
    private_files::private_options(OpenOptions::new().append(true).create(true)).open(path)
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
    fn one_holder_within_and_across_handles() {
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
    fn a_file_that_a_dead_process_left_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let leases = leases(home.path());
        fs::write(leases.lease_path(Seq(7)), "").unwrap();
        assert!(take(&leases, 7).is_some());
    }

    #[test]
    fn never_two_holders_in_a_race() {
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
