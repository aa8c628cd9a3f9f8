//! Conversations for a client that opens one late: all earlier events, and the parts of a message
//! that is still arriving.

use std::collections::VecDeque;
use std::sync::Arc;

use scene_schemas::api::{ConversationHeader, ConversationView, EventRecord, Failure, Usage};
use scene_schemas::entry::{Entry, Record, Seq};
use vector_core::workflow::events_of;
use vector_ledger::Ledger;

use super::handle::run_on_thread;
use super::views::{ledger_failure, not_found};
use super::{DaemonActor, DaemonHandle};

/// The maximum number of tasks in a conversation; of a longer one, the latest are returned.
const MAX_TASKS: usize = 20;

impl DaemonActor {
    fn conversation_header(&mut self, seq: Seq) -> Result<ConversationHeader, Failure> {
        let started = self.find_start(seq)?.ok_or_else(|| not_found(seq))?;
        let Entry::Started { place, .. } = &started.entry else {
            return Err(not_found(seq));
        };
        let tasks = self.conversation_tasks(seq)?;
        let (mut usage, mut sent) = (Usage { input: 0, output: 0, cost: None }, None);
        for task in &tasks {
            let read = self
                .workflow_cache
                .current_reading(&self.ledger, *task)
                .map_err(|error| ledger_failure(&error))?;
            usage.input += read.usage.input;
            usage.output += read.usage.output;
            usage.cost = read.usage.cost.map(|it| it + usage.cost.unwrap_or(0.0)).or(usage.cost);
            sent = read.sent.or(sent);
        }
        let (at, place) = (started.at, place.name());
        Ok(ConversationHeader {
            workflow: self.view_workflow(seq)?,
            at,
            place,
            tasks: tasks.into(),
            usage,
            sent,
        })
    }

    fn find_start(&self, seq: Seq) -> Result<Option<Record>, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        Ok(record.filter(|record| record.workflow == seq))
    }

    /// Returns a task and the tasks that it follows, oldest first.
    fn conversation_tasks(&self, last: Seq) -> Result<VecDeque<Seq>, Failure> {
        let mut tasks = VecDeque::from([last]);
        while let Some(first) = tasks.front().filter(|_| tasks.len() < MAX_TASKS) {
            match self.find_start(*first)?.map(|record| record.entry) {
                Some(Entry::Started { follows: Some(before), .. }) => tasks.push_front(before),
                _ => break,
            }
        }
        Ok(tasks)
    }
}

impl DaemonHandle {
    /// Returns the conversation that ends with a workflow.
    ///
    /// # Errors
    /// The workflow does not exist.
    pub async fn conversation(&self, workflow: Seq) -> Result<ConversationView, Failure> {
        // The cursor is read first, so that later events are in the stream. Some may be in both.
        let (cursor, moments) = self.state.event_hub.streaming_events(workflow);
        let head = self.conversation_header(workflow).await?;
        let ledger = Arc::clone(&self.state.ledger);
        // A long conversation takes a while to read.
        run_on_thread(move || {
            let mut events = read_events(&ledger, &head.tasks)?;
            events.extend(moments);
            Ok(ConversationView { head, events, cursor })
        })
        .await
    }

    /// Returns the header of the conversation that ends with a workflow.
    ///
    /// # Errors
    /// The workflow does not exist.
    pub async fn conversation_header(&self, workflow: Seq) -> Result<ConversationHeader, Failure> {
        let mut header = self.run(move |daemon| daemon.conversation_header(workflow)).await?;
        header.workflow.spending = self.spending(workflow).await?;
        Ok(header)
    }
}

/// Reads all events of the tasks.
fn read_events(ledger: &Ledger, tasks: &[Seq]) -> Result<Vec<EventRecord>, Failure> {
    let mut events = Vec::new();
    for task in tasks {
        let records = ledger.workflow_records(*task).map_err(|error| ledger_failure(&error))?;
        events.extend(records.iter().flat_map(event_records));
    }
    Ok(events)
}

/// Returns the events of a record.
pub(super) fn event_records(record: &Record) -> Vec<EventRecord> {
    let (seq, at, workflow) = (record.seq, record.at, record.workflow);
    let events = events_of(record).into_iter();
    events.map(|event| EventRecord { seq, at, workflow, event }).collect()
}
