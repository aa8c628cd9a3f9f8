//! Transient events: what each workflow waits for, and what Studio is asked.

use scene_schemas::api::{Event, EventRecord, FailureKind, PluginQuery, ThinkingPhase, Work};
use scene_schemas::entry::Seq;
use vector_core::workflow::{PendingStatus, Workflow};
use vector_engine::studio::StudioTarget;
use vector_engine::{EngineError, NextStep};
use vector_files::place_file::PlaceError;
use vector_place::count_noun;

use super::SessionActor;

impl SessionActor {
    /// Records a transient event. [`Self::publish`] wakes those that wait for it.
    pub(super) fn emit_progress(&self, workflow: Seq, event: Event) {
        let record = EventRecord { seq: workflow, at: 0, workflow, event };
        self.event_hub.record_event(Some(&self.session), record, true);
    }

    /// Emits what a workflow waits for, if that has changed.
    pub(super) fn emit_thinking(&mut self, workflow: Seq, due: NextStep) {
        if matches!(due, NextStep::GoAhead | NextStep::Call) {
            // The workflow waits only for the user, which an entry already reports, or for an
            // agent.
            if let Some(job) = self.workflow_slots.get_mut(&workflow) {
                job.last_phase = None;
            }
            return;
        }
        let phase = self.thinking_phase(workflow, due);
        if let Some(job) = self.workflow_slots.get_mut(&workflow)
            && job.last_phase != Some(phase)
        {
            job.last_phase = Some(phase);
            self.emit_progress(workflow, Event::Thinking { phase });
        }
    }

    fn thinking_phase(&mut self, workflow: Seq, due: NextStep) -> ThinkingPhase {
        let its = |seq: Seq| self.engine.find_proposal(seq).is_some_and(|(it, _)| it == workflow);
        let mut work = self.engine.studio().map_or(&[][..], StudioTarget::work).iter();
        let mut all = self.engine.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        match due {
            NextStep::Decision(_) | NextStep::Answer(_) => ThinkingPhase::Decision,
            NextStep::Model => ThinkingPhase::Model,
            NextStep::Workers => ThinkingPhase::Workers,
            NextStep::Fetch(call) if self.engine.is_playing(call) => ThinkingPhase::Playing,
            NextStep::Fetch(_) => ThinkingPhase::Reading,
            _ if work.any(|it| matches!(it, Work::Apply { apply } if its(apply.proposal))) => {
                ThinkingPhase::Applying
            }
            // Studio is busy with another workflow.
            _ if self.engine.asking_workflow() != Some(workflow)
                && all.any(|(_, it)| it.status == PendingStatus::Waiting) =>
            {
                ThinkingPhase::Decision
            }
            _ => ThinkingPhase::Reading,
        }
    }

    /// Emits additional questions to Studio.
    pub(super) fn emit_requested_context(&mut self) {
        let questions = self.engine.studio().into_iter().flat_map(StudioTarget::plan_questions);
        let questions: Vec<&PluginQuery> = questions.collect();
        let count = questions.len();
        if count > self.reported_work
            && let Some(workflow) =
                self.engine.asking_workflow().or(self.workflow_slots.keys().next().copied())
        {
            let what = describe_questions(&questions);
            self.emit_progress(workflow, Event::ContextRequested { what });
        }
        self.reported_work = count;
    }

    /// Reports that approved changes cannot be applied at the moment. They are tried again on each
    /// message to the session. The user is notified once.
    pub(super) fn report_blocked(&mut self, workflow: Seq, error: &PlaceError) {
        let job = self.workflow_slots.entry(workflow).or_default();
        if std::mem::replace(&mut job.is_blocked, true) {
            return;
        }
        self.emit_progress(
            workflow,
            Event::Error {
                code: FailureKind::Internal,
                message: format!("{error}. What you approved stays approved."),
                retryable: true,
                hint: "Vector retries it; close programs that have many files open.".to_owned(),
                setting: None,
            },
        );
    }

    /// Stops a workflow until the user retries it.
    pub(super) fn stop_with_error(&mut self, workflow: Seq, error: &EngineError) {
        self.workflow_slots.entry(workflow).or_default().is_stopped = true;
        self.emit_progress(
            workflow,
            Event::Error {
                code: FailureKind::Internal,
                message: error.to_string(),
                retryable: true,
                hint: "Try again; if this persists, restart Vector.".to_owned(),
                setting: None,
            },
        );
    }
}

/// Describes the questions to the plugin for the user.
fn describe_questions(questions: &[&PluginQuery]) -> String {
    let (mut instances, mut scripts, mut others) = (0, 0, Vec::new());
    for wanted in questions {
        match wanted {
            PluginQuery::Properties { of } => instances += of.len(),
            PluginQuery::Sources { ids } => scripts += ids.len(),
            PluginQuery::ActiveScript {} => others.push("the script that is open".to_owned()),
            PluginQuery::Selection {} => others.push("the selection".to_owned()),
            PluginQuery::Documents { .. } => others.push("the open scripts".to_owned()),
            PluginQuery::Reveal { .. } => others.push("something to show".to_owned()),
            PluginQuery::Output { .. } => others.push("the output".to_owned()),
            PluginQuery::Asset { asset } => {
                others.push(format!("asset {asset} (Studio may stand still meanwhile)"));
            }
        }
    }
    if instances > 0 {
        others.push(format!("properties of {}", count_noun(instances, "instance", "instances")));
    }
    if scripts > 0 {
        others.push(count_noun(scripts, "script", "scripts"));
    }
    others.join(", ")
}
