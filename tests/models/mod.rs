//! Scenarios with models. A folder holds the user's requests, the provider's replies and a place,
//! and the expected ledger and place. `scenarios/README.md` describes the format.
//!
//! The binary and its connection to the provider are real. Only the provider's bytes are scripted.

mod conform;
mod folder;
mod leaks;
mod play;
pub(crate) mod server;
mod shown;
pub(crate) mod spell;
mod terminal;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use vector_providers::wire::WireFormat;
use vector_tests::repository;

use self::folder::Scenario;

/// Number of scenarios that run in parallel. They mostly wait for each other's disk accesses.
const AT_ONCE: usize = 8;

fn root() -> PathBuf {
    repository::root().join("tests/models/scenarios")
}

/// Runs `check` on all items in parallel, and describes those that failed.
fn all<T: Send>(work: Vec<(String, T)>, check: impl Fn(T) -> Vec<String> + Sync) -> Vec<String> {
    let (work, wrong) = (Mutex::new(work), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = work.lock().unwrap().pop();
                    let Some((name, item)) = next else {
                        return;
                    };
                    // A panic fails one scenario. The others still run.
                    let lines = catch_unwind(AssertUnwindSafe(|| check(item)));
                    let lines = lines.unwrap_or_else(|_| vec!["it panicked; see above".to_owned()]);
                    if !lines.is_empty() {
                        wrong.lock().unwrap().push(format!("{name}:\n  {}", lines.join("\n  ")));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// The scenarios: all, or those whose name contains the value of `SCENARIO`.
fn chosen() -> Vec<(String, PathBuf)> {
    let filter = std::env::var("SCENARIO").unwrap_or_default();
    let named = folder::all(&root()).into_iter().map(|folder| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        (name, folder)
    });
    named.filter(|(name, _)| name.contains(&filter)).collect()
}

#[test]
fn scenarios_leave_the_expected_ledger_and_place() {
    let wrong = all(chosen(), |folder| play::check(&folder, None));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n\n"));
}

#[test]
fn all_wire_formats_leave_the_same_ledger_and_place() {
    let scenarios = chosen().into_iter().map(|(name, folder)| {
        let scenario = Scenario::read(&folder);
        (name, folder, scenario)
    });
    let shared = scenarios.filter(|(.., scenario)| scenario.all_wires);
    let work = shared.flat_map(|(name, folder, scenario)| {
        let others = WireFormat::ALL.into_iter().filter(move |wire| *wire != scenario.wire);
        others.map(move |wire| (format!("{name} on {wire}"), (folder.clone(), wire)))
    });
    let wrong = all(work.collect(), |(folder, wire)| play::check(&folder, Some(wire)));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n\n"));
}
