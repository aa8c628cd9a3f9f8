//! Plans calls on the scene. What a call says of the place is its tool's business; here is what stands
//! around it: questions to Studio, looks elsewhere, what files can hold, and the trial.

use scene_schemas::entry::Seq;
use serde_json::Value as Json;

use super::{Driver, Engine, EngineError, RESTORE, REVERT, reading};
use crate::core::code;
use crate::core::tools::{self, Plan};
use crate::core::workflow::{Input, before};

impl Engine {
    /// Plans a call; true where something has to be looked at for it first. While that is looked at,
    /// it is not planned again, however often the workflow has its turn.
    pub(super) fn plan(&mut self, call: Seq, tool: &str, args: &Json) -> Result<bool, EngineError> {
        if self.is_looking(call) {
            return Ok(true);
        }
        let may = before(&self.state, self.workflow, call).and_then(|()| self.is_at_hand());
        if let Err(refusal) = may {
            let (result, after) = (Err(refusal), Vec::new());
            self.input(Input::Planned { call, result, after })?;
            return Ok(false);
        }
        let base = self.base();
        self.begin_questions(call);
        let mark = self.scene.mark();
        let is_own = matches!(self.driver(), Some(Driver::Calls));
        self.scene.begin(call);
        code::read_by(&self.scene, reading::ON_ALL_CORES);
        self.know_style(tool);
        let result = if is_own && tool == REVERT {
            self.plan_revert(call, args, &base)?
        } else if is_own && tool == RESTORE {
            self.plan_restore(call, args, &base)?
        } else {
            let seen = self.seen.get(&call);
            tools::plan(call, tool, args, &mut self.scene, &base, &self.blobs, seen)
        };
        let result = self.held_by_files(call, result)?;
        if self.asks_studio(call, &result) {
            self.scene.rollback(mark);
            return Ok(false);
        }
        if let Ok(Plan::Look(look)) = result {
            self.scene.rollback(mark);
            self.begin_look(call, look);
            return Ok(true);
        }
        self.end_questions();
        let after = self.trial.iter().map(|(seq, _)| *seq).collect();
        let records = self.input(Input::Planned { call, result, after })?;
        self.keep_trial(&records, mark);
        Ok(false)
    }
}
