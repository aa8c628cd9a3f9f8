//! Plans calls on the scene.
//!
//! The tools themselves decide what a call proposes or answers. This module does what surrounds it:
//! questions to Studio, fetches, the check against project files, and the overlay.

use std::sync::Arc;

use scene_schemas::Fingerprint;
use scene_schemas::api::{ListedScript, ScriptPage};
use scene_schemas::entry::Seq;
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;
use vector_core::specs;
use vector_core::tools::{self, FetchRequest, MERGE_PART, Plan, ToolSpec};
use vector_core::workflow::{WantedWork, Workflow, WorkflowInput, check_call};
use vector_place::MissingFacts;

use crate::fetch::{CodeOutcome, FinishedRun};
use crate::parallel_reading;
use crate::planner::Planner;
use crate::reviews::REQUEST_REVIEW;
use crate::{Engine, EngineError, RESTORE, REVERT, ToolDriver};

const PAGE_SIZE: u64 = 100;

/// The maximum number of instances whose facts Studio is asked for, for one run of code.
const MAX_ASKED: usize = 20_000;

impl Engine {
    /// Answers a call that only reads, if the place can be read now and no other work is due first.
    /// Call and answer become durable together. None if the call has to be planned like others.
    pub fn answer_immediately(
        &mut self,
        workflow: Seq,
        call: &ToolCall,
    ) -> Result<Option<Seq>, EngineError> {
        let only_reads = tools::find_tool(&call.tool).is_ok_and(ToolSpec::is_read);
        let is_free = match self.workflow(workflow).and_then(Workflow::wants) {
            // A fetch in progress does not block other calls.
            Some(WantedWork::Plan { call, .. }) => self.executor.is_fetching(call),
            _ => true,
        };
        let is_here = self.check_readable().is_ok();
        if !only_reads
            || !is_free
            || !is_here
            || self.planner.is_asking()
            || self.is_waiting_for_studio(Some(workflow))?
        {
            return Ok(None);
        }
        let base = self.plan_base();
        self.planner.scene.scene_mut().forget_facts();
        self.planner.scene.set_implicit_target(None);
        self.planner.scene.set_readers(parallel_reading::PARALLEL_READERS);
        let (tool, args) = (&call.tool, &call.args);
        let planned = tools::plan_call(
            Seq(0),
            tool,
            args,
            &mut self.planner.scene,
            &base,
            &self.planner.blobs,
            None,
        );
        if !self.planner.scene.take_missing().is_empty() {
            return Ok(None);
        }
        let answer = match planned {
            Ok(Plan::Answer(mut answer)) => {
                self.add_pending_of_others(workflow, None, &mut answer, args);
                Ok(answer)
            }
            Err(refusal) => Err(self.add_pending_conflicts(workflow, refusal, args)),
            Ok(_) => return Ok(None),
        };
        let records =
            self.handle_input(workflow, WorkflowInput::Read { call: call.clone(), answer })?;
        Ok(records.first().map(|record| record.seq))
    }

    /// Lists a page of the scripts, as far as the place is known, without proposals. Studio is not
    /// asked, and no call is recorded.
    pub fn list_scripts(&mut self, cursor: Option<&str>) -> Result<ScriptPage, Refusal> {
        self.check_readable()?;
        if self.planner.is_asking() {
            return refuse!("The place is being read; list again in a moment.");
        }
        let args =
            json!({ "selector": "LuaSourceContainer", "limit": PAGE_SIZE, "cursor": cursor });
        self.drop_overlay();
        let base = self.plan_base();
        self.planner.scene.set_implicit_target(None);
        let (scene, blobs) = (&mut self.planner.scene, &self.planner.blobs);
        let found = tools::plan_call(Seq(0), "find_instances", &args, scene, &base, blobs, None)?;
        if !self.planner.scene.take_missing().is_empty() {
            return refuse!("The place is not completely read yet; list again in a moment.");
        }
        let Plan::Answer(found) = found else {
            return refuse!("The scripts cannot be listed.");
        };
        let script = |it: &Json| {
            let path = it["path"].as_str()?.to_owned();
            let class = it["class"].as_str().unwrap_or("Script").to_owned();
            Some(ListedScript { path, class })
        };
        let scripts = found["instances"].as_array().into_iter().flatten();
        Ok(ScriptPage {
            scripts: scripts.filter_map(script).collect(),
            cursor: found["cursor"].as_str().map(str::to_owned),
        })
    }

    /// Plans a call. Returns true if a fetch is needed first. While that fetch is in progress, the
    /// call is not planned again, however often the workflow is run.
    pub(crate) fn plan_call(
        &mut self,
        workflow: Seq,
        call: Seq,
        tool: &str,
        args: &Json,
    ) -> Result<bool, EngineError> {
        if self.executor.is_fetching(call) {
            return Ok(true);
        }
        let may =
            check_call(self.executor.state(), workflow, call).and_then(|()| self.check_readable());
        if let Err(refusal) = may {
            self.executor.forget_call(call);
            self.planner.scene.forget_assets(call);
            self.refuse_call(workflow, call, refusal)?;
            return Ok(false);
        }
        let base = self.plan_base();
        let files = self.planned_files_before(tool);
        self.begin_questions(workflow, call);
        let earlier = self.workflow(workflow).and_then(|it| self.planner.previous_plan(it, call));
        if let Some(earlier) = &earlier {
            self.load_blobs(earlier.required_blobs())?;
            self.planner.reuse_assets(call, earlier);
        }
        // A revision may have left it.
        self.planner.scene.take_missing_asset();
        let mark = self.planner.scene.journal_mark();
        let is_own = matches!(self.executor.driver(workflow), Some(ToolDriver::Calls));
        self.planner.scene.begin_scope(call);
        self.planner.scene.set_readers(parallel_reading::PARALLEL_READERS);
        self.load_style(tool);
        if self.ask_for_check(workflow, call) {
            return Ok(false);
        }
        let ran = self.executor.find_run(workflow, call);
        let result = if let Some(planned) = self.plan_unlisted(workflow, call, tool, args, &base)? {
            planned
        } else if let Some((request, run)) = ran.filter(|(_, run)| self.is_run_valid(run)) {
            if self.ask_for(&run.missing) {
                self.executor.drop_run(workflow);
                return Ok(false);
            }
            self.plan_run(call, &request, &run, &base)
        } else {
            let seen = self.planner.planned_texts.get(&call);
            tools::plan_call(
                call,
                tool,
                args,
                &mut self.planner.scene,
                &base,
                &self.planner.blobs,
                seen,
            )
        };
        let result = match &earlier {
            Some(earlier) => result
                .and_then(|plan| self.planner.restore_choices(earlier, call, &base, mark, plan)),
            None => result,
        };
        let result = match result {
            Ok(Plan::Propose(proposal, answer)) => self
                .complete_plan(workflow, call, *proposal, &files)?
                .map(|it| Plan::Propose(Box::new(it), answer)),
            other => other,
        };
        if self.ask_studio(call, &result) {
            self.planner.scene.rollback(mark);
            return Ok(false);
        }
        if let Some(asset) = self.planner.scene.take_missing_asset() {
            self.planner.scene.rollback(mark);
            self.begin_fetch(workflow, call, Arc::new(FetchRequest::Asset(asset)));
            return Ok(true);
        }
        if let Ok(Plan::Look(look)) = &result
            && !self.lacks_permission(workflow, call, look)
        {
            self.planner.scene.rollback(mark);
            if !look.runs_code() {
                // Its result is the answer, so it asks nothing more, and other calls can.
                self.planner.end_questions();
            }
            self.begin_fetch(workflow, call, Arc::clone(look));
            return Ok(true);
        }
        // What is reverted was there before.
        let is_old = is_own && matches!(tool, REVERT | RESTORE);
        let result = match result {
            Ok(plan) if !is_old => {
                match self.check_plan(workflow, call, plan, mark, earlier.as_ref()) {
                    Some(checked) => checked,
                    None => return Ok(true),
                }
            }
            other => other,
        };
        self.executor.drop_run(workflow);
        self.planner.scene.forget_assets(call);
        self.planner.end_questions();
        let planned = self.conclude_plan(workflow, call, args, result);
        let records = self.handle_input(workflow, planned)?;
        self.planner.keep_overlay(&records, mark);
        Ok(false)
    }

    /// Records why a call is not performed.
    pub(crate) fn refuse_call(
        &mut self,
        workflow: Seq,
        call: Seq,
        refusal: Refusal,
    ) -> Result<(), EngineError> {
        let (result, after) = (Err(refusal), Vec::new());
        self.handle_input(workflow, WorkflowInput::Planned { call, result, after }).map(drop)
    }

    /// Plans a call of a tool that no list of tools has. None if the tool is another one.
    fn plan_unlisted(
        &mut self,
        workflow: Seq,
        call: Seq,
        tool: &str,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Option<Result<Plan, Refusal>>, EngineError> {
        let is_own = matches!(self.executor.driver(workflow), Some(ToolDriver::Calls));
        Ok(match tool {
            REVERT if is_own => Some(self.plan_revert(call, args, base)?),
            RESTORE if is_own => Some(self.plan_restore(call, args, base)?),
            REQUEST_REVIEW if self.is_agent_driven(workflow) => {
                Some(self.plan_review_request(args))
            }
            MERGE_PART => Some(self.plan_merge(workflow, call, args, base)?),
            _ => None,
        })
    }

    /// Adds to a plan or a refusal what a call should know of other pending proposals, and what a
    /// proposal depends on.
    fn conclude_plan(
        &mut self,
        workflow: Seq,
        call: Seq,
        args: &Json,
        result: Result<Plan, Refusal>,
    ) -> WorkflowInput {
        let mut after = Vec::new();
        let result = match result {
            Ok(Plan::Propose(proposal, mut answer)) => {
                self.add_pending_of_others(workflow, Some(&proposal), &mut answer, args);
                let overlaid: Vec<Seq> = self.planner.overlay.iter().map(|(seq, _)| *seq).collect();
                after = self.planner.find_dependencies(&proposal, &overlaid, &self.executor);
                Ok(Plan::Propose(proposal, answer))
            }
            Ok(Plan::Answer(mut answer)) => {
                self.add_pending_of_others(workflow, None, &mut answer, args);
                Ok(Plan::Answer(answer))
            }
            Ok(other) => Ok(other),
            Err(refusal) => Err(self.add_pending_conflicts(workflow, refusal, args)),
        };
        WorkflowInput::Planned { call, result, after }
    }

    fn lacks_permission(&self, workflow: Seq, call: Seq, request: &FetchRequest) -> bool {
        let lacking = |it: &Workflow| it.lacking_permission(call, request);
        self.workflow(workflow).and_then(lacking).is_some()
    }

    /// Whether the call would be planned on the same as when the run began. Otherwise the code runs again.
    fn is_run_valid(&self, run: &FinishedRun) -> bool {
        run.state == self.planner.state()
    }

    /// Asks Studio for what code read and what is not known. The code runs again then. Returns false
    /// if everything is known, or Studio was asked too often or would be for too much.
    pub(crate) fn ask_for(&mut self, missing: &MissingFacts) -> bool {
        let asked = missing.properties.len() + missing.sources.len();
        !missing.is_empty()
            && asked <= MAX_ASKED
            && self.planner.count_question()
            && self.request_missing(missing)
    }

    /// Asks Studio for missing facts. Returns false if the place is not open in Studio.
    pub(crate) fn request_missing(&mut self, missing: &MissingFacts) -> bool {
        let Some(studio) = self.studio_mut() else {
            return false;
        };
        studio.request_missing(missing.clone());
        true
    }

    fn plan_run(
        &mut self,
        call: Seq,
        request: &FetchRequest,
        run: &FinishedRun,
        base: &Fingerprint,
    ) -> Result<Plan, Refusal> {
        if !run.missing.is_empty() {
            return refuse!(
                "The code reads more of the place than Studio can tell in one go. Let it read less at \
                 once: fewer instances, or fewer of their properties."
            );
        }
        let Planner { scene, blobs, .. } = &mut self.planner;
        match (request, &run.outcome) {
            (FetchRequest::Run(request), CodeOutcome::Run(outcome)) => {
                tools::plan_run(call, request, outcome, scene, base, blobs)
            }
            (FetchRequest::Play(request), CodeOutcome::Play(outcome)) => {
                Ok(Plan::Answer(tools::play_answer(request, outcome)))
            }
            (FetchRequest::Specs(_), CodeOutcome::Specs(results)) => {
                Ok(Plan::Answer(specs::report_json(results)))
            }
            _ => refuse!("The result of the run is missing; call the tool again."),
        }
    }
}
