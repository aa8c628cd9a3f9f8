//! Checkpoints: states of a place that the user can restore by a proposal.
//!
//! A checkpoint is a ledger position for a place. Restoring it reverts what Vector has applied in
//! that place since. It belongs to the place, not to a window or a run, so it is available whenever
//! the same place is open.

use scene_schemas::api::{
    Checkpoint, Checkpoints, Failure, MakeCheckpoint, SessionId, WorkflowStarted,
};
use scene_schemas::entry::{Entry, Finish, InteractionMode, Place, Record, Seq};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use serde_json::json;
use vector_core::prompt::ToolCall;
use vector_engine::RESTORE;
use vector_engine::conversation;
use vector_ledger::AppendBatch;

use super::history::place_closed;
use super::views::{ledger_failure, not_found, plugin_away};
use super::{CHECKPOINT, DaemonActor, DaemonHandle};
use crate::session::{Answer, SessionHandle, SessionMessage};

impl DaemonActor {
    /// Returns the session in which a place is open.
    fn session_at(&self, place: &Place) -> Option<(SessionId, SessionHandle)> {
        let is_it = |open: &Place| conversation::is_same_place(open, place);
        let found = self.sessions.list().into_iter().find(|(_, session)| is_it(&session.place));
        found.map(|(id, session)| (id, session.handle))
    }

    /// Lists the checkpoints that can be restored, which are those of open places.
    pub(super) fn list_checkpoints(&self) -> Result<Checkpoints, Failure> {
        let checkpoint = |record: Record| {
            let Entry::Started { goal, place, .. } = record.entry else {
                return None;
            };
            let (session, _) = self.session_at(&place)?;
            Some(Checkpoint {
                seq: record.seq,
                at: record.at,
                session,
                place: place.name(),
                label: goal,
            })
        };
        let checkpoints = self.recent_starts()?.into_iter().filter_map(checkpoint).collect();
        Ok(Checkpoints { checkpoints })
    }

    /// Records a checkpoint, as a workflow that begins and ends at once.
    pub(super) fn make_checkpoint(&mut self, make: MakeCheckpoint) -> Result<Checkpoint, Failure> {
        let Some(session) = self.sessions.get(&make.session) else {
            return Err(plugin_away());
        };
        let label = make.label.unwrap_or_else(|| "Checkpoint".to_owned());
        let place = session.place.name();
        let started = Entry::Started {
            place: session.place.clone(),
            goal: label.clone(),
            driver: CHECKPOINT.to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            interaction: InteractionMode::Act,
            follows: None,
            guards: None,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        };
        let finished = Entry::Finished { outcome: Finish::Done, summary: None };
        let entries = vec![started, finished];
        let batch = AppendBatch { workflow: None, entries, blobs: Vec::new() };
        let records = self.ledger.append(batch).map_err(|error| ledger_failure(&error))?;
        let first = records.first().ok_or_else(plugin_away)?;
        Ok(Checkpoint { seq: first.seq, at: first.at, session: make.session, place, label })
    }

    /// Returns the session in which the place of a checkpoint is open.
    fn session_of_checkpoint(&self, checkpoint: Seq) -> Result<SessionHandle, Failure> {
        let place = self.place_of_checkpoint(checkpoint)?;
        let session = self.session_at(&place).ok_or_else(|| place_closed(&place))?;
        Ok(session.1)
    }

    fn place_of_checkpoint(&self, checkpoint: Seq) -> Result<Place, Failure> {
        let record = self.ledger.record_at(checkpoint).map_err(|error| ledger_failure(&error))?;
        match record.map(|record| record.entry) {
            Some(Entry::Started { place, .. }) => Ok(place),
            _ => Err(not_found(checkpoint)),
        }
    }
}

impl DaemonHandle {
    pub fn list_checkpoints(&self) -> Answer<Checkpoints> {
        self.run(|daemon| daemon.list_checkpoints())
    }

    pub fn make_checkpoint(&self, make: MakeCheckpoint) -> Answer<Checkpoint> {
        self.run(|daemon| daemon.make_checkpoint(make))
    }

    /// Plans the restoration of a checkpoint in its place.
    pub fn restore_checkpoint(&self, checkpoint: Seq) -> Answer<WorkflowStarted> {
        let goal = format!("Restore checkpoint {checkpoint}");
        let call = ToolCall::new(RESTORE, json!({ "checkpoint": checkpoint }));
        self.forward(
            move |daemon| daemon.session_of_checkpoint(checkpoint),
            |reply| SessionMessage::StartCall(goal, call, reply),
        )
    }
}
