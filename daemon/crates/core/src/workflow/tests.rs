//! Tests of decisions on small workflows, and of replaying them to the same state.

mod model;
mod parts;
mod reviews;

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use scene_schemas::entry::{
    Approver, AttachmentSnapshot, Entry, FilePlace, Finish, Guards, InteractionMode, Place, Record,
    Seq,
};
use scene_schemas::proposal::{Ack, Class, Mode, Preview, Proposal, Warning, WarningKind};
use scene_schemas::review::TaskRole;
use serde_json::{Value as Json, json};

use super::{CALLS, LedgerState, PendingStatus, WantedWork, WorkflowInput, check_call, decide};
use crate::prompt::{CallOutcome, ModelMessage, PromptTurn, ToolCall};
use crate::tools::{ModelAction, Plan};

/// A workflow whose entries are kept as in a ledger.
struct Run {
    state: LedgerState,
    records: Vec<Record>,
}

const WORKFLOW: Seq = Seq(1);

impl Run {
    fn new(driver: &str, mode: Mode) -> Self {
        Self::held_to(driver, mode, "a goal", None)
    }

    fn held_to(driver: &str, mode: Mode, goal: &str, guards: Option<Guards>) -> Self {
        Self::within(InteractionMode::Act, (driver, mode, goal), guards)
    }

    fn within(
        interaction: InteractionMode,
        (driver, mode, goal): (&str, Mode, &str),
        guards: Option<Guards>,
    ) -> Self {
        let mut run = Self { state: LedgerState::default(), records: Vec::new() };
        let hash = Fingerprint::hash_bytes(b"place");
        let file = "place.rbxl".to_owned();
        let place = Place::File(FilePlace { file, out: None, hash, replaces: None });
        let (goal, driver) = (goal.to_owned(), driver.to_owned());
        let (attached, follows) = (Vec::new(), None);
        run.input(WorkflowInput::Start {
            place,
            goal,
            driver,
            mode,
            attached,
            interaction,
            follows,
            guards,
            role: TaskRole::Solo,
        })
        .unwrap();
        run
    }

    /// A task that a model does in this role. The mode approves additions.
    fn of_role(role: TaskRole, driver: &str, interaction: InteractionMode) -> Self {
        let mut run = Self { state: LedgerState::default(), records: Vec::new() };
        let hash = Fingerprint::hash_bytes(b"place");
        let file = "place.rbxl".to_owned();
        run.input(WorkflowInput::Start {
            place: Place::File(FilePlace { file, out: None, hash, replaces: None }),
            goal: "a goal".to_owned(),
            driver: driver.to_owned(),
            mode: Mode::Auto,
            attached: Vec::new(),
            interaction,
            follows: None,
            guards: Some(Guards { scope: 8, needs_script: true, turns: 50 }),
            role,
        })
        .unwrap();
        run
    }

    fn input(&mut self, input: WorkflowInput) -> Result<Vec<Entry>, String> {
        let entries = decide(&self.state, WORKFLOW, input).map_err(|refusal| refusal.0)?;
        for entry in &entries {
            let seq = Seq(self.records.len() as u64 + 1);
            let record = Record { seq, at: 0, workflow: WORKFLOW, entry: entry.clone() };
            self.state.apply_record(&record);
            self.records.push(record);
        }
        Ok(entries)
    }

    fn wants(&self) -> Option<WantedWork> {
        self.state.workflow(WORKFLOW).unwrap().wants()
    }

    /// Calls a tool, and answers the call with this proposal. Returns its position.
    fn propose(&mut self, proposal: Proposal, after: &[Seq]) -> Seq {
        let call = ToolCall::new("create_instance", json!({}));
        self.input(WorkflowInput::Called(vec![call])).unwrap();
        self.answer(Ok(Plan::Propose(Box::new(proposal), json!({ "path": "game.A" }))), after)
    }

    fn answer(&mut self, result: Result<Plan, Refusal>, after: &[Seq]) -> Seq {
        let Some(WantedWork::Plan { call, .. }) = self.wants() else { panic!("no open call") };
        self.input(WorkflowInput::Planned { call, result, after: after.to_vec() }).unwrap();
        self.records.last().unwrap().seq
    }

    fn approve(&mut self, seq: Seq, by: Approver, twice: bool) -> Result<Vec<Entry>, String> {
        let proposal = self.state.workflow(WORKFLOW).unwrap().proposal(seq).unwrap();
        let patch_id = proposal.proposal.patch_id.clone();
        self.input(WorkflowInput::Approve {
            proposal: seq,
            patch_id,
            by,
            is_confirmed_twice: twice,
            adds: None,
        })
    }

    fn status(&self, seq: Seq) -> PendingStatus {
        self.state.workflow(WORKFLOW).unwrap().proposal(seq).unwrap().status.clone()
    }
}

fn proposal(name: &str) -> Proposal {
    Proposal {
        title: name.to_owned(),
        class: Class::Additive,
        commands: Vec::new(),
        base: Fingerprint::hash_bytes(b"place"),
        patch_id: Fingerprint::hash_bytes(name.as_bytes()),
        preview: Preview::default(),
        warnings: Vec::new(),
        after: Vec::new(),
        reads: Vec::new(),
        implicit_target: None,
        files: None,
        from: None,
        reverts: Vec::new(),
        replaces: None,
        runs: None,
        changed_files: Vec::new(),
        made_by: None,
    }
}

fn ack() -> Ack {
    Ack {
        file: None,
        before: None,
        after: None,
        outcomes: Vec::new(),
        inverse: Vec::new(),
        witnesses: Vec::new(),
        files: None,
        bytes: None,
    }
}

fn with_warning(kind: WarningKind) -> Proposal {
    let warnings = vec![Warning { kind, text: String::new() }];
    Proposal { warnings, ..proposal("warned") }
}

#[track_caller]
fn refused(result: Result<Vec<Entry>, String>, said: &str) {
    let sentence = result.unwrap_err();
    assert!(sentence.contains(said), "{sentence}");
}

#[test]
fn only_the_seen_patch_is_approved_and_only_once() {
    let mut run = Run::new(CALLS, Mode::Confirm);
    let seq = run.propose(proposal("a"), &[]);
    assert_eq!(run.wants(), Some(WantedWork::Ask(seq)));
    let other = Fingerprint::hash_bytes(b"other");
    let by = Approver::Person;
    let approve = WorkflowInput::Approve {
        proposal: seq,
        patch_id: other,
        by,
        is_confirmed_twice: true,
        adds: None,
    };
    refused(run.input(approve), "differs from what was approved");
    refused(run.approve(seq, Approver::Mode, true), "The mode does not allow");
    run.approve(seq, Approver::Person, false).unwrap();
    refused(run.approve(seq, Approver::Person, false), "already approved");
    refused(run.input(WorkflowInput::Reject { proposal: seq, reason: None }), "already approved");
    assert_eq!(run.wants(), Some(WantedWork::Apply(vec![seq])));
}

#[test]
fn security_warning_needs_second_confirmation_in_every_mode() {
    for mode in [Mode::Confirm, Mode::Auto, Mode::Dangerous] {
        let mut run = Run::new(CALLS, mode);
        let seq = run.propose(with_warning(WarningKind::Security), &[]);
        assert_eq!(run.wants(), Some(WantedWork::Ask(seq)));
        refused(run.approve(seq, Approver::Yes, false), "second confirmation");
        run.approve(seq, Approver::Yes, true).unwrap();
    }
}

#[test]
fn rejected_proposal_is_not_offered_again() {
    let mut run = Run::new("model", Mode::Confirm);
    let seq = run.propose(proposal("a"), &[]);
    run.input(WorkflowInput::Reject { proposal: seq, reason: Some("ugly".to_owned()) }).unwrap();
    run.propose(proposal("a"), &[]);
    let Some(Entry::Refused { reason, .. }) = run.records.last().map(|it| it.entry.clone()) else {
        panic!("it was offered again")
    };
    assert!(reason.contains("rejected: ugly"), "{reason}");
    assert_eq!(run.wants(), Some(WantedWork::Reply));
}

#[test]
fn only_the_first_call_of_a_message_is_taken() {
    let mut run = Run::new("model", Mode::Confirm);
    let call = |tool: &str| ToolCall::new(tool, Json::Null);
    let calls = vec![call("list_children"), call("delete_instance")];
    let message =
        ModelMessage { text: Some("I look.".to_owned()), calls, ..ModelMessage::default() };
    let entries = run.input(WorkflowInput::Replied(message)).unwrap();
    assert!(matches!(&entries[1], Entry::Called { tool, .. } if tool == "list_children"));
    assert!(matches!(&entries[2], Entry::Notified { text } if text.contains("delete_instance")));
    assert_eq!(entries.len(), 3);
    run.answer(Ok(Plan::Answer(json!([1]))), &[]);
    let turns = run.state.build_prompt(WORKFLOW).unwrap().turns;
    let answered = turns.iter().any(|turn| {
        matches!(turn, PromptTurn::Called { outcome: CallOutcome::Done(answer), .. } if *answer == json!([1]))
    });
    assert!(answered, "{turns:?}");
}

#[test]
fn applied_change_reports_its_new_lint_findings() {
    let mut run = Run::new("model", Mode::Confirm);
    let text = "game.A: line 2: `x` is not defined (undefined_variable)".to_owned();
    let warnings = vec![Warning { kind: WarningKind::Lint, text: text.clone() }];
    let seq = run.propose(Proposal { warnings, ..proposal("a") }, &[]);
    run.approve(seq, Approver::Person, false).unwrap();
    let (file, acks) = ("a.rbxl".to_owned(), vec![ack()]);
    run.input(WorkflowInput::Applying { proposals: vec![seq], file, before: None, acks }).unwrap();
    run.input(WorkflowInput::Applied(vec![seq])).unwrap();
    let turns = run.state.build_prompt(WORKFLOW).unwrap().turns;
    let told = turns.iter().find_map(|turn| match turn {
        PromptTurn::Called { outcome: CallOutcome::Done(answer), .. } => Some(answer.clone()),
        _ => None,
    });
    assert_eq!(told, Some(json!({ "path": "game.A", "newFindings": [text] })));
}

#[test]
fn dependents_of_a_rejected_proposal_are_planned_again() {
    let mut run = Run::new(CALLS, Mode::Confirm);
    let first = run.propose(proposal("a"), &[]);
    let second = run.propose(proposal("b"), &[first]);
    let third = run.propose(proposal("c"), &[]);
    run.input(WorkflowInput::Reject { proposal: first, reason: None }).unwrap();
    assert!(matches!(run.status(second), PendingStatus::Withdrawn(_)));
    assert_eq!(run.status(third), PendingStatus::Waiting);
    assert!(matches!(run.wants(), Some(WantedWork::Plan { .. })));
    let again = run.answer(Ok(Plan::Propose(Box::new(proposal("b2")), Json::Null)), &[]);
    assert_eq!(run.status(again), PendingStatus::Waiting);
    let workflow = run.state.workflow(WORKFLOW).unwrap();
    let replaces = |seq: Seq| workflow.proposal(seq).unwrap().proposal.replaces;
    assert_eq!([again, third].map(replaces), [Some(second), None]);
    assert_eq!(
        [first, second, again].map(|it| workflow.successor_of(it)),
        [None, Some(again), None]
    );
}

#[test]
fn revised_proposal_replaces_the_old_one() {
    let mut run = Run::new("model", Mode::Confirm);
    let old = run.propose(proposal("a"), &[]);
    let same = WorkflowInput::Revise { proposal: old, by: Box::new(proposal("a")) };
    refused(run.input(same), "Nothing was changed");
    run.input(WorkflowInput::Revise { proposal: old, by: Box::new(proposal("part of a")) })
        .unwrap();
    let new = run.records.last().unwrap().seq;
    assert!(matches!(run.status(old), PendingStatus::Rejected(_)));
    assert!(run.state.workflow(WORKFLOW).unwrap().is_revised(old));
    run.approve(new, Approver::Person, false).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Apply(vec![new])));
}

#[test]
fn workflow_ended_by_a_rejection_finishes_as_not_approved() {
    let outcome = |end: &dyn Fn(&mut Run, Seq)| {
        let mut run = Run::new("offline", Mode::Confirm);
        let seq = run.propose(proposal("a"), &[]);
        end(&mut run, seq);
        let text = Some("I stopped.".to_owned());
        run.input(WorkflowInput::Replied(ModelMessage {
            text,
            is_declined: true,
            ..ModelMessage::default()
        }))
        .unwrap();
        run.state.workflow(WORKFLOW).unwrap().finished
    };
    let no = |run: &mut Run, seq| {
        run.input(WorkflowInput::Reject { proposal: seq, reason: None }).unwrap();
    };
    assert_eq!(outcome(&no), Some(Finish::NotApproved));
    let part = |run: &mut Run, seq| {
        run.input(WorkflowInput::Revise { proposal: seq, by: Box::new(proposal("part of a")) })
            .unwrap();
        assert!(!run.state.workflow(WORKFLOW).unwrap().has_rejected_call());
        no(run, run.records.last().unwrap().seq);
    };
    assert_eq!(outcome(&part), Some(Finish::NotApproved));
    let broken = |run: &mut Run, seq| {
        run.approve(seq, Approver::Person, false).unwrap();
        run.input(WorkflowInput::Failed { proposals: vec![seq], reason: "full".to_owned() })
            .unwrap();
    };
    assert_eq!(outcome(&broken), Some(Finish::Failed));
}

#[test]
fn finished_workflow_withdraws_pending_and_keeps_approved_proposals() {
    let mut run = Run::new(CALLS, Mode::Confirm);
    let first = run.propose(proposal("a"), &[]);
    let second = run.propose(proposal("b"), &[first]);
    run.approve(first, Approver::Person, false).unwrap();
    run.input(WorkflowInput::Finish { outcome: Finish::NotApproved }).unwrap();
    assert!(matches!(run.status(second), PendingStatus::Withdrawn(_)));
    assert_eq!(run.wants(), Some(WantedWork::Apply(vec![first])));
    refused(run.approve(second, Approver::Person, false), "can no longer be decided");
}

#[test]
fn progress_marks_plan_steps_as_done() {
    let mut run = Run::new("model", Mode::Confirm);
    let call = |tool: &str| ToolCall::new(tool, Json::Null);
    run.input(WorkflowInput::Called(vec![call("start_plan"), call("update_plan")])).unwrap();
    let steps = vec!["one".to_owned(), "two".to_owned()];
    run.answer(Ok(Plan::Talk(ModelAction::Plan { steps })), &[]);
    let completed = Some(crate::tools::update_plan::StepName::Number(2));
    run.answer(Ok(Plan::Talk(ModelAction::Progress { completed, next: None, notes: None })), &[]);
    let done: Vec<bool> =
        run.state.workflow(WORKFLOW).unwrap().plan.iter().map(|step| step.done).collect();
    assert_eq!(done, [false, true]);
}

#[test]
fn replay_of_records_gives_the_same_state() {
    let mut run = Run::new(CALLS, Mode::Auto);
    let first = run.propose(proposal("a"), &[]);
    assert_eq!(run.wants(), Some(WantedWork::ApproveUnasked(vec![(first, Approver::Mode)])));
    run.approve(first, Approver::Mode, false).unwrap();
    run.propose(with_warning(WarningKind::Name), &[first]);
    let mut replay = LedgerState::default();
    for record in &run.records {
        let text = serde_json::to_string(record).unwrap();
        replay.apply_record(&serde_json::from_str(&text).unwrap());
    }
    assert_eq!(format!("{replay:?}"), format!("{:?}", run.state));
}

#[test]
fn attachments_are_recorded_and_absent_in_old_ledgers() {
    let path = |text: &str| text.parse().unwrap();
    let id = scene_schemas::InstanceId("studio:2".to_owned());
    let target = scene_schemas::Target { id, path: path("game.Workspace.Wall") };
    let attached =
        vec![AttachmentSnapshot::Instance { target: target.clone(), class: "Part".to_owned() }];
    let started = |attached| {
        let hash = Fingerprint::hash_bytes(b"place");
        let file = "place.rbxl".to_owned();
        let place = Place::File(FilePlace { file, out: None, hash, replaces: None });
        let (goal, driver, mode) = ("a goal".to_owned(), "offline".to_owned(), Mode::Confirm);
        let (interaction, follows, guards) = (InteractionMode::Act, None, None);
        Entry::Started {
            place,
            goal,
            driver,
            mode,
            attached,
            interaction,
            follows,
            guards,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        }
    };
    let read = |entry: Entry| {
        let text = serde_json::to_string(&entry).unwrap();
        let entry = serde_json::from_str(&text).unwrap();
        let mut state = LedgerState::default();
        state.apply_record(&Record { seq: WORKFLOW, at: 0, workflow: WORKFLOW, entry });
        (text, state)
    };
    let (old, state) = read(started(Vec::new()));
    assert!(!old.contains("attached"), "it is written as it was before there was any: {old}");
    assert_eq!(state.workflow(WORKFLOW).unwrap().implicit_target(Seq(2)), None);
    let (_, state) = read(started(attached.clone()));
    let workflow = state.workflow(WORKFLOW).unwrap();
    assert_eq!(workflow.attached, attached);
    assert_eq!(state.build_prompt(WORKFLOW).unwrap().attached, attached);
    let meant = workflow.implicit_target(Seq(2)).unwrap();
    assert_eq!(meant.describe(), "Path left out: the attached instance game.Workspace.Wall");
    let two = AttachmentSnapshot::Instance { target, class: "Part".to_owned() };
    let (_, state) = read(started(vec![attached[0].clone(), two]));
    assert_eq!(
        state.workflow(WORKFLOW).unwrap().implicit_target(Seq(2)),
        None,
        "one of two is not meant"
    );
}

/// Adds another workflow in the same place, with a proposal that depends on these.
fn beside(run: &mut Run, seq: Seq, after: &[Seq]) {
    let (workflow, call) = (Seq(100), Seq(101));
    let hash = Fingerprint::hash_bytes(b"place");
    let file = "place.rbxl".to_owned();
    let place = Place::File(FilePlace { file, out: None, hash, replaces: None });
    let (goal, driver, mode) = ("beside".to_owned(), CALLS.to_owned(), Mode::Confirm);
    let (attached, interaction, follows, guards) = (Vec::new(), InteractionMode::Act, None, None);
    let served = false;
    let started = Entry::Started {
        place,
        goal,
        driver,
        mode,
        attached,
        interaction,
        follows,
        guards,
        served,
        role: TaskRole::Solo,
        requested_by: None,
    };
    let (tool, args) = ("create_instance".to_owned(), json!({}));
    let mut proposal = proposal("beside");
    proposal.after = after.to_vec();
    let entries = [
        (workflow, started),
        (call, Entry::Called { tool, args, id: None, flaw: None }),
        (seq, Entry::Proposed { call, answer: None, proposal: Box::new(proposal) }),
    ];
    for (seq, entry) in entries {
        run.state.apply_record(&Record { seq, at: 0, workflow, entry });
    }
}

#[test]
fn proposal_depending_on_another_workflows_is_decided_after_it() {
    let mut run = Run::new(CALLS, Mode::Confirm);
    let first = run.propose(proposal("a"), &[]);
    let second = Seq(102);
    beside(&mut run, second, &[first]);
    assert_eq!(run.state.decided_before(first), None);
    assert_eq!(run.state.decided_before(second), Some(first));
    let patch_id = proposal("beside").patch_id;
    let yes = WorkflowInput::Approve {
        proposal: second,
        patch_id,
        by: Approver::Person,
        is_confirmed_twice: false,
        adds: None,
    };
    let refused = decide(&run.state, Seq(100), yes.clone()).unwrap_err().0;
    assert!(refused.ends_with(&format!("Approve or reject proposal {first} first.")), "{refused}");
    run.approve(first, Approver::Person, false).unwrap();
    decide(&run.state, Seq(100), yes).unwrap();
}

#[test]
fn replanned_proposal_takes_those_that_depend_on_it() {
    let mut run = Run::new(CALLS, Mode::Confirm);
    let first = run.propose(proposal("a"), &[]);
    let on_top = run.propose(proposal("b"), &[first]);
    let other = run.propose(proposal("c"), &[]);
    run.approve(first, Approver::Person, false).unwrap();
    let replan = |proposal| WorkflowInput::Replan { proposal, reason: "moved".to_owned() };
    run.input(replan(first)).unwrap();
    for gone in [first, on_top] {
        assert!(matches!(run.status(gone), PendingStatus::Withdrawn(_)), "{gone}");
    }
    assert_eq!(run.status(other), PendingStatus::Waiting);
    // One that was sent to the target is kept.
    let acks = serde_json::from_value(json!([{ "outcomes": [], "inverse": [] }])).unwrap();
    run.approve(other, Approver::Person, false).unwrap();
    let (proposals, file) = (vec![other], String::new());
    run.input(WorkflowInput::Applying { proposals, file, before: None, acks }).unwrap();
    run.input(replan(other)).unwrap();
    assert!(matches!(run.status(other), PendingStatus::Applying(_)));
}

#[test]
fn interaction_mode_limits_tools_for_every_driver() {
    let may = |interaction, driver: &str, tool: &str, guards: Option<Guards>| {
        let mut run = Run::within(interaction, (driver, Mode::Dangerous, "a goal"), guards);
        run.input(WorkflowInput::Called(vec![ToolCall::new(tool, json!({}))])).unwrap();
        let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
        check_call(&run.state, WORKFLOW, call).map_err(|refusal| refusal.0)
    };
    let guards = || Some(Guards { scope: 8, needs_script: true, turns: 50 });
    for (driver, guards) in [("offline", None), (CALLS, None), ("maker/model", guards())] {
        for tool in ["create_instance", "delete_instance", "write_script", "edit_memory"] {
            let why = may(InteractionMode::Plan, driver, tool, guards.clone()).unwrap_err();
            assert!(why.contains("Make a plan with start_plan"), "{why}");
            let why = may(InteractionMode::Ask, driver, tool, guards.clone()).unwrap_err();
            assert!(why.contains("Answer the question"), "{why}");
        }
        for tool in ["start_plan", "update_plan"] {
            assert_eq!(may(InteractionMode::Plan, driver, tool, guards.clone()), Ok(()));
            let why = may(InteractionMode::Ask, driver, tool, guards.clone()).unwrap_err();
            assert!(why.contains("do not make a plan"), "{why}");
        }
        for interaction in [InteractionMode::Plan, InteractionMode::Ask] {
            assert_eq!(may(interaction, driver, "list_children", guards.clone()), Ok(()));
        }
    }
    assert_eq!(may(InteractionMode::Act, "offline", "create_instance", None), Ok(()));
}

#[test]
fn code_only_answers_questions_where_changes_are_not_allowed() {
    for interaction in [InteractionMode::Ask, InteractionMode::Plan, InteractionMode::Act] {
        let mut run = Run::within(interaction, ("offline", Mode::Dangerous, "a goal"), None);
        let mut call = |result| {
            let call = ToolCall::new("run_luau", json!({ "code": "return 1" }));
            run.input(WorkflowInput::Called(vec![call])).unwrap();
            run.answer(Ok(result), &[]);
            run.records.last().unwrap().entry.clone()
        };
        assert!(matches!(call(Plan::Answer(json!(1))), Entry::Answered { .. }));
        match (interaction, call(Plan::Propose(Box::new(proposal("a")), Json::Null))) {
            (InteractionMode::Act, Entry::Proposed { .. }) => {}
            (InteractionMode::Ask | InteractionMode::Plan, Entry::Refused { reason, .. }) => {
                assert!(reason.starts_with("run_luau: This mode does not allow"), "{reason}");
            }
            (_, other) => panic!("{interaction:?}: {other:?}"),
        }
    }
}
