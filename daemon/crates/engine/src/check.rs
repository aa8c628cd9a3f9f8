//! The check of a proposal before anybody sees it: the game is played without it and with it.
//!
//! A call with a proposal is planned, waits for the check as for a fetch, and is planned again. The
//! check holds for the same commands, whatever else has changed in the place meanwhile.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{PlayCheck, PlayCheckResult, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint};
use serde_json::Value as Json;
use vector_core::planning_scene::PlanningMark;
use vector_core::play::{PlayRequest, check_before, stable_message, unknown_check};
use vector_core::tools::Plan;
use vector_place::{MissingFacts, Scene, reflection};

use crate::Engine;
use crate::fetch::{CodeOutcome, FetchResult, RunScene};
use crate::replan::PreviousPlan;

/// How often the game is played for one call at most: the place may change, and Studio may have to
/// be asked.
const MAX_PLAYS: u32 = 12;

/// How many errors are returned to a model in one task at most.
const MAX_RETURNED: usize = 30;

/// The maximum number of instances whose facts Studio is asked for, for one check.
const MAX_ASKED: usize = 3_000;

/// The check of a call's proposal.
#[derive(Debug)]
pub(crate) struct ProposalCheck {
    call: Seq,
    /// The hash of the proposal's commands.
    commands: Fingerprint,
    state: CheckState,
    /// The number of instances that Studio was asked about for it.
    asked: usize,
    /// How often the game was played for it.
    plays: u32,
}

impl ProposalCheck {
    pub(crate) fn is_of(&self, call: Seq) -> bool {
        self.call == call
    }
}

#[derive(Debug)]
enum CheckState {
    Playing,
    /// The game needs facts of the open place that are not known.
    Lacking(MissingFacts),
    Done(PlayCheck),
}

/// A game that is too slow to be played is not played for each proposal.
#[derive(Debug, Default)]
pub(crate) struct SlowGame {
    /// How often in a row it was stopped also without the change.
    stops: u32,
    /// How many proposals it was not played for since.
    skipped: u32,
}

impl SlowGame {
    /// After so many stops in a row the game is not played for so many proposals.
    const STOPS: u32 = 2;
    const SKIPS: u32 = 10;

    fn note(&mut self, is_stopped: bool) {
        self.skipped = 0;
        self.stops = if is_stopped { self.stops + 1 } else { 0 };
    }

    /// Whether the next proposal is one that the game is not played for.
    fn skip(&mut self) -> bool {
        let is_skipped = self.stops >= Self::STOPS && self.skipped < Self::SKIPS;
        self.skipped += u32::from(is_skipped);
        is_skipped
    }
}

/// Whether the game is played with a proposal, and what came of it.
enum CheckProgress {
    /// It is not to be played.
    Skipped,
    Playing,
    Done(PlayCheck),
}

impl Engine {
    /// Sets whether proposals are checked by playing the game.
    pub fn set_play_check(&mut self, is_on: bool) {
        self.has_play_check = is_on;
    }

    /// Adds to a planned proposal what came of playing the game with it. A model's proposal with new
    /// errors is refused. One that replaces an `earlier` plan is not played again, because the person
    /// who looks at it would not see it meanwhile. None if the game is being played: the scene is as
    /// it was at `mark` then, and the call has to be planned again.
    pub(crate) fn check_plan(
        &mut self,
        workflow: Seq,
        call: Seq,
        plan: Plan,
        mark: PlanningMark,
        earlier: Option<&PreviousPlan>,
    ) -> Option<Result<Plan, Refusal>> {
        let Plan::Propose(mut proposal, mut answer) = plan else {
            return Some(Ok(plan));
        };
        if let Some(earlier) = earlier {
            proposal.runs = earlier.check().map(|it| check_before(it, "the place changed"));
            return Some(Ok(Plan::Propose(proposal, answer)));
        }
        let check = match self.play_proposal(workflow, call, &proposal, mark) {
            CheckProgress::Skipped => return Some(Ok(Plan::Propose(proposal, answer))),
            CheckProgress::Playing => return None,
            CheckProgress::Done(check) => check,
        };
        if let Err(refusal) = self.return_new_errors(workflow, &check) {
            return Some(Err(refusal));
        }
        if let Json::Object(answer) = &mut answer {
            let summary = check.summary.trim_start_matches("runs: ");
            answer.insert("runs".to_owned(), summary.into());
        }
        proposal.runs = Some(check);
        Some(Ok(Plan::Propose(proposal, answer)))
    }

    /// Returns what came of playing the game with a call's proposal, which is in the scene since
    /// `mark`, or begins to play it.
    fn play_proposal(
        &mut self,
        workflow: Seq,
        call: Seq,
        proposal: &Proposal,
        mark: PlanningMark,
    ) -> CheckProgress {
        let scene = &self.planner.scene;
        if !self.has_play_check
            || !has_game(scene)
            || proposal.commands.iter().all(Command::is_memory)
        {
            return CheckProgress::Skipped;
        }
        let is_unknown = |it: &Command| matches!(it, Command::Insert { blob: None, .. });
        if proposal.commands.iter().any(is_unknown) {
            let why = "what is in an asset can be played after it is inserted.";
            return CheckProgress::Done(unknown_check(why));
        }
        let commands = hash_commands(&proposal.commands);
        let known = self.executor.task(workflow).and_then(|task| task.check.as_ref());
        let known = known.filter(|check| check.call == call);
        if let Some(ProposalCheck { state: CheckState::Done(check), commands: of, .. }) = known
            && *of == commands
        {
            return CheckProgress::Done(check.clone());
        }
        let (asked, plays) = known.map_or((0, 0), |check| (check.asked, check.plays));
        if plays >= MAX_PLAYS {
            return CheckProgress::Done(unknown_check("the place kept changing."));
        }
        if plays == 0 && self.slow_game.skip() {
            let why = "the game could not be played to its end for the changes before, also without \
                       them; it is tried again later.";
            return CheckProgress::Done(unknown_check(why));
        }
        let request = PlayRequest::for_check(!scene.is_open_in_studio());
        let proposed = Some(scene.fork());
        self.planner.scene.rollback(mark);
        let scene = &self.planner.scene;
        let scenes = RunScene { scene: scene.fork(), state: self.planner.state(), proposed };
        self.executor.begin_check(workflow, call, request, scenes);
        if let Some(task) = self.executor.task_mut(workflow) {
            let (state, plays) = (CheckState::Playing, plays + 1);
            task.check = Some(ProposalCheck { call, commands, state, asked, plays });
        }
        // Others may ask Studio meanwhile.
        self.planner.end_questions();
        CheckProgress::Playing
    }

    /// Keeps the result of playing for a call's check.
    pub(crate) fn keep_check(
        &mut self,
        workflow: Seq,
        call: Seq,
        played: Result<FetchResult, String>,
    ) {
        let Some(task) = self.executor.task_mut(workflow) else {
            return;
        };
        let Some(check) = task.check.as_mut().filter(|check| check.call == call) else {
            return;
        };
        if let Ok(FetchResult::Run(run)) = &played
            && let CodeOutcome::Check(twice) = &run.outcome
        {
            self.slow_game.note(twice.was_stopped_before());
        }
        check.state = match played {
            Ok(FetchResult::Run(run)) => match run.outcome {
                _ if !run.missing.is_empty() => CheckState::Lacking(run.missing),
                CodeOutcome::Check(twice) => CheckState::Done(twice.compare()),
                CodeOutcome::Run(_) | CodeOutcome::Play(_) | CodeOutcome::Specs(_) => {
                    CheckState::Done(unknown_check("the game was not played."))
                }
            },
            Ok(
                FetchResult::Answer(_) | FetchResult::Asset(_) | FetchResult::NeedsPermission(_),
            ) => CheckState::Done(unknown_check("the game was not played.")),
            Err(why) => CheckState::Done(unknown_check(&why)),
        };
    }

    /// Asks Studio for what the check of a call lacks; the game is played again then. Returns false
    /// if nothing is lacking, or if it is too much.
    pub(crate) fn ask_for_check(&mut self, workflow: Seq, call: Seq) -> bool {
        let task = self.executor.task_mut(workflow);
        let Some(check) = task.and_then(|task| task.check.as_mut()) else {
            return false;
        };
        let CheckState::Lacking(missing) = &check.state else {
            return false;
        };
        if check.call != call {
            return false;
        }
        let missing = missing.clone();
        check.asked += missing.properties.len() + missing.sources.len();
        let is_too_much = check.asked > MAX_ASKED;
        check.state = CheckState::Playing;
        if !is_too_much && self.request_missing(&missing) {
            return true;
        }
        let why = "its scripts read more of the place than Studio is asked for each time.";
        if let Some(check) = self.executor.task_mut(workflow).and_then(|it| it.check.as_mut()) {
            check.state = CheckState::Done(unknown_check(why));
        }
        false
    }

    /// Refuses a model's proposal with new errors, so that it corrects them before anybody sees them.
    /// The same errors are refused once for each task, on whatever lines they are.
    fn return_new_errors(&mut self, workflow: Seq, check: &PlayCheck) -> Result<(), Refusal> {
        if check.result != PlayCheckResult::NewErrors || !self.has_model(workflow) {
            return Ok(());
        }
        let Some(task) = self.executor.task_mut(workflow) else {
            return Ok(());
        };
        let known = task.returned_errors.len();
        task.returned_errors.extend(check.errors.iter().map(|it| stable_message(&it.message)));
        if task.returned_errors.len() == known || known >= MAX_RETURNED {
            return Ok(());
        }
        let lines: Vec<String> =
            check.errors.iter().map(|it| format!("{} ({})", it.message, it.peer)).collect();
        let list = lines.join("\n");
        refuse!(
            "Nothing was proposed, because scripts fail with this change that did not fail before; the \
             game was played for 5 seconds.\n{list}\nCorrect the change and send it again. If the errors \
             cannot be avoided, make the same call again; the person sees them then."
        )
    }
}

/// Whether a scene has a script that can run by itself.
fn has_game(scene: &Scene) -> bool {
    let is_script = |class: &str| reflection::is_a(class, "BaseScript");
    scene.descendants(scene.root()).any(|node| is_script(scene.class(node)))
}

fn hash_commands(commands: &[Command]) -> Fingerprint {
    Fingerprint::hash_bytes(&serde_json::to_vec(commands).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_game_is_tried_again_after_some_proposals() {
        let mut game = SlowGame::default();
        game.note(true);
        assert!(!game.skip());
        game.note(true);
        for _ in 0..SlowGame::SKIPS {
            assert!(game.skip());
        }
        assert!(!game.skip());
        game.note(true);
        assert!(game.skip());
        game.note(false);
        assert!(!game.skip());
    }
}
