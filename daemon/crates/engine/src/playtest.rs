//! Playtests in Studio: the fetches of calls that the plugin performs.
//!
//! Each is queued as work for the plugin. Other work, and the calls of other workflows, go on
//! meanwhile; later calls of the same workflow wait, except for those that only read.

use scene_schemas::Refusal;
use scene_schemas::api::PluginAnswer;
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use vector_core::tools;
use vector_core::workflow::{Workflow, WorkflowInput};

use crate::fetch::FetchResult;
use crate::target::studio::StudioTarget;
use crate::{Engine, EngineError};

/// The refusal of a call whose playtest the plugin has forgotten.
const LOST: &str = "The plugin or Vector was restarted, or lost its connection, while the game was played, and the \
                    result is lost. Stop the game in Studio if it still runs, then call again.";

impl Engine {
    /// Refuses the calls whose playtests the plugin has forgotten, because it was restarted.
    pub fn fail_playtests(&mut self) -> Result<(), EngineError> {
        let calls = self.studio_mut().map(StudioTarget::forget_playtests).unwrap_or_default();
        for call in calls {
            self.finish_playtest(call, Err(LOST.to_owned()))?;
        }
        Ok(())
    }

    /// Refuses the calls of a resumed workflow that may have played the game already: it is not
    /// played twice for one permission.
    pub(crate) fn refuse_begun_playtests(&mut self, workflow: Seq) -> Result<(), EngineError> {
        let begun = self.workflow(workflow).map(Workflow::open_playtests).unwrap_or_default();
        for call in begun {
            let result = Err(Refusal(LOST.to_owned()));
            self.handle_input(
                workflow,
                WorkflowInput::Planned { call, result, after: Vec::new() },
            )?;
        }
        Ok(())
    }

    /// Answers a call with the report of its playtest.
    pub(crate) fn record_playtest(
        &mut self,
        call: Seq,
        answer: &PluginAnswer,
    ) -> Result<(), EngineError> {
        let mut described = tools::describe_answer(&self.planner.scene, answer);
        if self.executor.pending_count() > 0
            && let Ok(Json::Object(answer)) = &mut described
        {
            answer.insert("note".to_owned(), "Pending proposals were not part of the game.".into());
        }
        let seen = described.map(FetchResult::Answer).map_err(|refusal| refusal.0);
        self.finish_playtest(call, seen)
    }

    fn finish_playtest(
        &mut self,
        call: Seq,
        seen: Result<FetchResult, String>,
    ) -> Result<(), EngineError> {
        match self.executor.workflow_of_fetch(call) {
            Some(workflow) => self.record_fetch_result(workflow, call, seen),
            None => Ok(()),
        }
    }

    /// Ends the playtests whose calls do not wait for them any more.
    pub(crate) fn retract_playtests(&mut self) {
        let Some(live) = self.target.driver_mut().live_mut() else {
            return;
        };
        live.studio_mut().retain_playtests(|call| self.executor.find_fetch(call).is_some());
    }
}
