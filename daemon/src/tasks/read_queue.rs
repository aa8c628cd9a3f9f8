//! A queue for reads that take much time or memory: specs, type checks, pictures, pages.
//!
//! The number of concurrent reads is limited by the number of processors. This bounds their total
//! memory, and keeps the daemon responsive. Clients take turns: one that submits a hundred reads
//! delays only itself. The queue does not know what is read.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Limit regardless of the number of processors: each read may use as much memory as a spec.
const MAX_RUNNING: usize = 4;
/// Web pages wait for the network and use few resources.
const MAX_PAGES: usize = 8;
/// Further reads are dropped.
const MAX_WAITING: usize = 512;

type ReadJob = Box<dyn FnOnce() + Send>;

/// Running and waiting reads, each on its own thread.
#[derive(Clone)]
pub(crate) struct ReadQueue {
    state: Arc<Mutex<QueueState>>,
    slots: usize,
    stack: usize,
}

#[derive(Default)]
struct QueueState {
    running: usize,
    /// The waiting reads, by client.
    waiting: BTreeMap<String, VecDeque<ReadJob>>,
    /// The clients with waiting reads, the next one first.
    turns: VecDeque<String>,
}

impl QueueState {
    /// Takes the next read of the client whose turn it is, and moves the client to the end.
    fn next_job(&mut self) -> Option<ReadJob> {
        let client = self.turns.pop_front()?;
        let jobs = self.waiting.get_mut(&client)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        job
    }

    fn count_waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }
}

/// The queue for reads that compute.
pub(crate) fn compute_queue() -> &'static ReadQueue {
    static QUEUE: LazyLock<ReadQueue> = LazyLock::new(|| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        ReadQueue::new(cores.min(MAX_RUNNING))
    });
    &QUEUE
}

/// The queue for reads that wait for the network.
pub(crate) fn network_queue() -> &'static ReadQueue {
    static QUEUE: LazyLock<ReadQueue> = LazyLock::new(|| ReadQueue::new(MAX_PAGES));
    &QUEUE
}

/// Stack size of a read: parsers recurse.
const STACK: usize = 64 << 20;

impl ReadQueue {
    pub(crate) fn new(slots: usize) -> Self {
        Self { state: Arc::default(), slots: slots.max(1), stack: STACK }
    }

    /// Runs a read when it is its client's turn. The read is dropped if too many are waiting or no
    /// thread can be started.
    pub(crate) fn push(&self, client: &str, job: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.lock_state();
            if state.count_waiting() >= MAX_WAITING {
                return;
            }
            let jobs = state.waiting.entry(client.to_owned()).or_default();
            jobs.push_back(Box::new(job));
            if jobs.len() == 1 {
                state.turns.push_back(client.to_owned());
            }
        }
        self.start_queued();
    }

    fn lock_state(&self) -> MutexGuard<'_, QueueState> {
        // Every change of the state is a single step, so a poisoned lock holds a consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts waiting reads while there are free slots.
    fn start_queued(&self) {
        loop {
            let job = {
                let mut state = self.lock_state();
                if state.running >= self.slots {
                    return;
                }
                let Some(job) = state.next_job() else {
                    return;
                };
                state.running += 1;
                job
            };
            let own = self.clone();
            let work = move || {
                let mut next = Some(job);
                while let Some(job) = next {
                    // If the read panics, its captures are dropped, which notifies its caller.
                    let _ = catch_unwind(AssertUnwindSafe(job));
                    next = own.lock_state().next_job();
                }
                own.lock_state().running -= 1;
                // A read may have been queued after `next_job` and before the slot was freed.
                own.start_queued();
            };
            if thread::Builder::new()
                .name("read".to_owned())
                .stack_size(self.stack)
                .spawn(work)
                .is_err()
            {
                self.lock_state().running -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_mins(1);

    /// Occupies the only slot until the returned sender is used. Returns when the slot is occupied.
    fn block(queue: &ReadQueue) -> Sender<()> {
        let ((go, wait), (begun, has_begun)) = (channel::<()>(), channel());
        queue.push("blocker", move || {
            begun.send(()).unwrap();
            let _ = wait.recv();
        });
        has_begun.recv_timeout(SOON).unwrap();
        go
    }

    fn all(done: &Receiver<String>, count: usize) -> Vec<String> {
        (0..count).map(|_| done.recv_timeout(SOON).unwrap()).collect()
    }

    #[test]
    fn all_reads_run_within_the_slot_limit() {
        for slots in [1, 2, 3] {
            let queue = ReadQueue::new(slots);
            let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (tell, done) = channel();
            for at in 0..200 {
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                let tell = tell.clone();
                queue.push(&format!("client {}", at % 7), move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    tell.send(at.to_string()).unwrap();
                });
            }
            let mut seen = all(&done, 200);
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 200);
            assert!(most.load(Ordering::SeqCst) <= slots, "{slots} slots");
        }
    }

    #[test]
    fn greedy_client_does_not_delay_others() {
        let queue = ReadQueue::new(1);
        let go = block(&queue);
        let (tell, done) = channel();
        let push = |client: &str, what: String| {
            let tell = tell.clone();
            queue.push(client, move || tell.send(what).unwrap());
        };
        (0..50).for_each(|at| push("greedy", format!("greedy {at}")));
        push("one", "one".to_owned());
        push("two", "two".to_owned());
        go.send(()).unwrap();
        let order = all(&done, 52);
        assert_eq!(order[..4], ["greedy 0", "one", "two", "greedy 1"]);
        assert_eq!(order[51], "greedy 49");
    }

    #[test]
    fn panicking_read_releases_its_slot() {
        let queue = ReadQueue::new(1);
        let (tell, done) = channel();
        for at in 0..3 {
            let tell = tell.clone();
            queue.push("one", move || {
                tell.send(at.to_string()).unwrap();
                assert_ne!(at, 1, "on purpose");
            });
        }
        assert_eq!(all(&done, 3), ["0", "1", "2"]);
    }

    #[test]
    fn reads_beyond_the_queue_limit_are_dropped() {
        let queue = ReadQueue::new(1);
        let go = block(&queue);
        let held = Arc::new(());
        for at in 0..MAX_WAITING + 10 {
            let held = Arc::clone(&held);
            queue.push(&at.to_string(), move || drop(held));
        }
        assert_eq!(Arc::strong_count(&held), MAX_WAITING + 1);
        go.send(()).unwrap();
    }
}
