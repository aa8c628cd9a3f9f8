//! Conversations, as whoever opens one late is shown them: what the stream would have said from the
//! beginning, and what has come of a message that is still on its way.

use std::collections::VecDeque;

use scene_schemas::api::{EventRecord, Failure, Talk};
use scene_schemas::entry::{Entry, Record, Seq};

use super::House;
use super::views::{broken, missing, view_of};
use crate::core::workflow::events;

/// How many tasks of a conversation are told; of an older one, the last.
const MAX_TASKS: usize = 20;

impl House {
    /// The conversation that a workflow is the end of.
    pub(super) fn talk(&self, seq: Seq) -> Result<Talk, Failure> {
        // What happens from here on is told by the stream, once or twice.
        let (cursor, moments) = self.board.of_the_moment(seq);
        let started = self.started_at(seq)?.ok_or_else(|| missing(seq))?;
        let Entry::Started { place, .. } = &started.entry else {
            return Err(missing(seq));
        };
        let tasks = self.conversation(seq)?;
        let mut told = Vec::new();
        for task in &tasks {
            let records = self.ledger.workflow(*task).map_err(|error| broken(&error))?;
            told.extend(records.iter().flat_map(told_of));
        }
        told.extend(moments);
        Ok(Talk {
            workflow: view_of(&self.ledger, &self.board, seq)?,
            at: started.at,
            place: place.name(),
            tasks: tasks.into(),
            events: told,
            cursor,
        })
    }

    fn started_at(&self, seq: Seq) -> Result<Option<Record>, Failure> {
        let record = self.ledger.record(seq).map_err(|error| broken(&error))?;
        Ok(record.filter(|record| record.workflow == seq))
    }

    /// A task, and those before it that it goes on with, oldest first.
    fn conversation(&self, last: Seq) -> Result<VecDeque<Seq>, Failure> {
        let mut tasks = VecDeque::from([last]);
        while let Some(first) = tasks.front().filter(|_| tasks.len() < MAX_TASKS) {
            match self.started_at(*first)?.map(|record| record.entry) {
                Some(Entry::Started { follows: Some(before), .. }) => tasks.push_front(before),
                _ => break,
            }
        }
        Ok(tasks)
    }
}

/// What the stream says of a record.
pub(super) fn told_of(record: &Record) -> Vec<EventRecord> {
    let (seq, at, workflow) = (record.seq, record.at, record.workflow);
    let told = events(record).into_iter();
    told.map(|event| EventRecord { seq, at, workflow, event }).collect()
}
