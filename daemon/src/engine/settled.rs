//! Entries for a workflow that nobody is at work on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scene_schemas::api::{EventRecord, Sent, Usage};
use scene_schemas::entry::{Entry, Record, Seq};

use crate::core::workflow::{Input, State, decide, events};
use crate::ledger::{Append, Ledger, LedgerError};
use crate::server::Board;

/// Who settles what an earlier process left does so alone. A lease that is held meanwhile by whoever only
/// looks whether there is something to do would keep a session from its own workflow.
#[derive(Debug, Clone, Default)]
pub(super) struct Settling(Arc<Mutex<()>>);

impl Settling {
    /// Waits for the others.
    pub(super) fn alone(&self) -> MutexGuard<'_, ()> {
        // Nothing stands behind it that could be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many workflows are kept as they were read, of those that are over.
const READ: usize = 256;

/// Reads a workflow.
pub(super) fn read(ledger: &Ledger, workflow: Seq) -> Result<State, LedgerError> {
    let mut state = State::default();
    for record in ledger.workflow(workflow)? {
        state.apply(&record);
    }
    Ok(state)
}

/// A workflow as it was read.
#[derive(Debug)]
pub(super) struct Reading {
    last: Seq,
    /// How it stands.
    pub(super) state: State,
    /// What models took for it.
    pub(super) usage: Usage,
    /// What the model was sent last.
    pub(super) sent: Option<Sent>,
}

impl Reading {
    fn new() -> Self {
        let usage = Usage { input: 0, output: 0, cost: None };
        Self { last: Seq(0), state: State::default(), usage, sent: None }
    }

    fn apply(&mut self, record: &Record) {
        self.last = record.seq;
        self.state.apply(record);
        match &record.entry {
            Entry::Requested { request } => {
                let (turns, bytes, window) = (request.turns, request.bytes, request.window);
                self.sent = Some(Sent { turns, bytes, window });
            }
            Entry::Replied { tokens: Some(tokens), cost, .. } => {
                self.usage.input += tokens.prompt;
                self.usage.output += tokens.generated;
                self.usage.cost =
                    cost.map(|it| it + self.usage.cost.unwrap_or(0.0)).or(self.usage.cost);
            }
            _ => {}
        }
    }
}

/// Workflows as they were read last; what has happened since is read then.
#[derive(Debug, Default)]
pub(super) struct Readings(HashMap<Seq, Reading>);

impl Readings {
    /// A workflow as it stands now.
    pub(super) fn of(&mut self, ledger: &Ledger, workflow: Seq) -> Result<&State, LedgerError> {
        Ok(&self.whole(ledger, workflow)?.state)
    }

    /// The same, with what models took for it.
    pub(super) fn whole(
        &mut self,
        ledger: &Ledger,
        workflow: Seq,
    ) -> Result<&Reading, LedgerError> {
        // What is not over is read again and again, by whoever counts what waits.
        if self.0.len() > READ && !self.0.contains_key(&workflow) {
            self.0.retain(|seq, it| it.state.workflow(*seq).is_some_and(|it| !it.is_over()));
        }
        let reading = self.0.entry(workflow).or_insert_with(Reading::new);
        for record in ledger.workflow_after(workflow, reading.last)? {
            reading.apply(&record);
        }
        Ok(reading)
    }
}

/// Decides what inputs mean in a workflow that is over or was left, and makes it durable. What does
/// not fit is passed over.
pub(super) fn input(
    ledger: &Ledger,
    board: &Board,
    workflow: Seq,
    inputs: impl IntoIterator<Item = Input>,
) -> Result<Vec<Record>, LedgerError> {
    let mut all = Vec::new();
    let mut state = read(ledger, workflow)?;
    for input in inputs {
        let entries = decide(&state, workflow, input).unwrap_or_default();
        if entries.is_empty() {
            continue;
        }
        for record in ledger.append(Append { workflow: Some(workflow), entries, blobs: vec![] })? {
            state.apply(&record);
            let session = state.workflow(workflow).map(|it| it.place.session());
            for event in events(&record) {
                let (seq, at, workflow) = (record.seq, record.at, record.workflow);
                board.publish(session.as_ref(), EventRecord { seq, at, workflow, event }, false);
            }
            all.push(record);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::{FilePlace, Finish, Place, Stance};
    use scene_schemas::proposal::Mode;

    use super::*;

    fn begin(ledger: &Ledger) -> Seq {
        let (file, hash) = ("a.rbxl".to_owned(), Fingerprint::of(b"a"));
        let started = Entry::Started {
            place: Place::File(FilePlace { file, out: None, hash, replaces: None }),
            goal: "a goal".to_owned(),
            driver: "calls".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            stance: Stance::Act,
            follows: None,
            guards: None,
            served: false,
        };
        let batch = Append { workflow: None, entries: vec![started], blobs: Vec::new() };
        ledger.append(batch).unwrap()[0].seq
    }

    #[test]
    fn what_is_over_is_forgotten_before_what_is_not() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let all: Vec<Seq> = (0..=READ + 1).map(|_| begin(&ledger)).collect();
        let mut readings = Readings::default();
        let read = |readings: &mut Readings, seq| {
            readings.of(&ledger, seq).unwrap();
        };
        for seq in &all {
            read(&mut readings, *seq);
        }
        assert_eq!(readings.0.len(), all.len(), "none of them is over");
        let entries = vec![Entry::Finished { outcome: Finish::Done, summary: None }];
        let over = Append { workflow: Some(all[0]), entries, blobs: Vec::new() };
        ledger.append(over).unwrap();
        read(&mut readings, all[0]);
        read(&mut readings, begin(&ledger));
        assert!(!readings.0.contains_key(&all[0]));
        assert_eq!(readings.0.len(), all.len());
    }
}
