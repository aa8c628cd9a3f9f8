//! Checks of a planned proposal by its target: whether it can represent the proposal, what it adds
//! to it, and which of its files another tool will overwrite.
//!
//! The user is only asked about proposals that can be applied.

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Proposal, Warning, WarningKind};
use vector_core::tools::{self, ToolSpec};
use vector_providers::ProviderKind;

use crate::target::{CompletedPlan, FileHashes, PlanContext};
use crate::{Engine, EngineError, ToolDriver};

impl Engine {
    /// Completes a planned proposal with what the target does for it.
    pub(crate) fn complete_plan(
        &mut self,
        workflow: Seq,
        call: Seq,
        proposal: Proposal,
        files_before: &FileHashes,
    ) -> Result<Result<Proposal, Refusal>, EngineError> {
        let context = PlanContext {
            call,
            scene: &self.planner.scene,
            pending: self.planner.overlaid_proposals(&self.executor),
            files_before,
            blobs: &mut self.planner.blobs,
            ledger: self.executor.ledger(),
        };
        let completed = self.target.driver_mut().complete_plan(proposal, context)?;
        Ok(completed.and_then(|it| self.warn_generated_files(workflow, it)))
    }

    /// Returns the file changes that are pending before a call is planned; empty if no proposal is
    /// pending.
    pub(crate) fn planned_files_before(&self, tool: &str) -> FileHashes {
        let reads = tools::find_tool(tool).is_ok_and(ToolSpec::is_read);
        if reads || self.planner.overlay.is_empty() {
            return FileHashes::new();
        }
        self.target.driver().planned_files(&self.planner.scene)
    }

    /// Whether a model makes the calls, of Vector or of an external agent.
    pub(crate) fn has_model(&self, workflow: Seq) -> bool {
        !matches!(
            self.executor.driver(workflow),
            None | Some(ToolDriver::Calls | ToolDriver::Provider(ProviderKind::Offline))
        )
    }

    /// Warns of files that another tool will overwrite. A model is refused once per file and task,
    /// so that it changes the source file instead.
    fn warn_generated_files(
        &self,
        workflow: Seq,
        completed: CompletedPlan,
    ) -> Result<Proposal, Refusal> {
        let CompletedPlan { mut proposal, generated: found } = completed;
        // The worker was refused when it made the change.
        let is_model = self.has_model(workflow) && proposal.made_by.is_none();
        let was_warned = |file: &str| {
            let prefix = format!("{file} is written by");
            self.workflow(workflow)
                .is_some_and(|it| it.refusals().any(|(_, reason)| reason.contains(&prefix)))
        };
        if let Some(first) = found.iter().find(|it| is_model && !was_warned(&it.file)) {
            return Err(Refusal(format!(
                "{} Nothing was proposed. Tell the person which source to change, or change it yourself where it is \
                 an instance of this place. If the person wants this file itself changed, make the same call again.",
                first.to_warning()
            )));
        }
        for it in &found {
            let warning = Warning { kind: WarningKind::Generated, text: it.to_warning() };
            proposal.warnings.push(warning);
        }
        Ok(proposal)
    }
}
