//! Tasks that several models share: how a worker and a lead go on while their proposals are pending, and
//! how they end.

use scene_schemas::permission::Permission;
use scene_schemas::workers::{PartOutcome, TaskPart};

use super::*;
use crate::prompt::MessageCost;
use crate::tools::MERGE_PART;

const LEAD: Seq = Seq(900);
const WORKER: Seq = Seq(901);

fn run_of(role: TaskRole) -> Run {
    Run::of_role(role, "maker/model", InteractionMode::Act)
}

fn worker() -> Run {
    run_of(TaskRole::Worker { lead: LEAD, call: Seq(902), part: 1 })
}

fn says(run: &mut Run, message: ModelMessage) -> Vec<Entry> {
    let cost = Some(MessageCost::default());
    run.input(WorkflowInput::Replied(ModelMessage { cost, ..message })).unwrap()
}

fn ends(run: &mut Run) -> Vec<Entry> {
    says(run, ModelMessage { text: Some("Made it.".to_owned()), ..ModelMessage::default() })
}

fn is_submitted(entries: &[Entry]) -> bool {
    matches!(entries.last(), Some(Entry::Submitted { .. }))
}

#[test]
fn worker_goes_on_while_its_changes_are_pending_and_nobody_decides_on_them() {
    let mut run = worker();
    let seq = run.propose(proposal("a"), &[]);
    assert_eq!(run.status(seq), PendingStatus::Drafted);
    // The mode would approve an addition without asking.
    assert_eq!(run.wants(), Some(WantedWork::Reply));
    refused(run.approve(seq, Approver::Person, false), "is the change of a worker");
    refused(run.input(WorkflowInput::Reject { proposal: seq, reason: None }), "of a worker");
    let turns = run.state.build_prompt(WORKFLOW).unwrap().turns;
    let told = turns.iter().find_map(|turn| match turn {
        PromptTurn::Called { outcome: CallOutcome::Done(answer), .. } => Some(answer.clone()),
        _ => None,
    });
    let told = told.expect("the call is answered");
    assert_eq!(told["path"], "game.A");
    assert!(told["pending"].as_str().unwrap().contains("in your copy of the place"), "{told}");
    assert!(is_submitted(&ends(&mut run)));
    assert_eq!(run.wants(), Some(WantedWork::Merge));
    // It can be sent back to work, and then submits again.
    run.input(WorkflowInput::Reopened { text: "Others changed it.".to_owned() }).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Reply));
    assert_eq!(run.input(WorkflowInput::Reopened { text: String::new() }).unwrap(), []);
    assert!(is_submitted(&ends(&mut run)));
    run.input(WorkflowInput::Finish { outcome: Finish::Done }).unwrap();
    let reason = "It is in the result of task 900.".to_owned();
    assert_eq!(run.status(seq), PendingStatus::Withdrawn(reason));
    assert_eq!(run.wants(), None);
}

#[test]
fn worker_that_gives_up_leaves_nothing_pending() {
    let mut run = worker();
    let seq = run.propose(proposal("a"), &[]);
    says(&mut run, ModelMessage { is_declined: true, ..ModelMessage::default() });
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().finished, Some(Finish::Failed));
    assert!(
        matches!(run.status(seq), PendingStatus::Withdrawn(reason) if reason.contains("without a result"))
    );
}

#[test]
fn worker_is_refused_what_a_person_would_have_to_permit() {
    let mut run = worker();
    run.input(WorkflowInput::Called(vec![ToolCall::new("playtest", json!({}))])).unwrap();
    run.answer(Ok(Plan::NeedsPermission(Permission::Playtest)), &[]);
    let last = run.records.last().unwrap().entry.clone();
    assert!(
        matches!(last, Entry::Refused { reason, .. } if reason.contains("a worker asks nobody"))
    );
}

#[test]
fn lead_is_decided_on_when_it_has_submitted_and_ends_when_all_is_applied() {
    let mut run = run_of(TaskRole::Lead {});
    let seq = run.propose(proposal("a"), &[]);
    assert_eq!(run.status(seq), PendingStatus::Waiting);
    assert_eq!(run.wants(), Some(WantedWork::Reply), "it goes on first");
    assert!(is_submitted(&ends(&mut run)));
    assert_eq!(run.wants(), Some(WantedWork::ApproveUnasked(vec![(seq, Approver::Mode)])));
    run.approve(seq, Approver::Mode, false).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Apply(vec![seq])));
    let acks = vec![ack()];
    let file = "place.rbxl".to_owned();
    run.input(WorkflowInput::Applying { proposals: vec![seq], file, before: None, acks }).unwrap();
    run.input(WorkflowInput::Applied(vec![seq])).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Close));
    run.input(WorkflowInput::Closed).unwrap();
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().finished, Some(Finish::Done));
}

#[test]
fn lead_hears_what_did_not_become_part_of_the_place_once() {
    let mut run = run_of(TaskRole::Lead {});
    let seq = run.propose(proposal("a"), &[]);
    ends(&mut run);
    let reason = Some("ugly".to_owned());
    run.input(WorkflowInput::Reject { proposal: seq, reason }).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Close));
    let told = run.input(WorkflowInput::Closed).unwrap();
    assert!(
        matches!(&told[..], [Entry::Notified { text }] if text.contains("not part of the place: ugly"))
    );
    assert_eq!(run.wants(), Some(WantedWork::Reply));
    // Nothing is pending, so that the task ends with its next message.
    ends(&mut run);
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().finished, Some(Finish::Done));
}

#[test]
fn lead_without_a_pending_proposal_ends_at_once() {
    let mut run = run_of(TaskRole::Lead {});
    ends(&mut run);
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().finished, Some(Finish::Done));
}

#[test]
fn parts_are_recorded_with_their_end_once_and_joined_by_calls_that_no_model_makes() {
    let mut run = run_of(TaskRole::Lead {});
    run.input(WorkflowInput::Called(vec![ToolCall::new("assign_parts", json!({}))])).unwrap();
    let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
    let part = TaskPart { call, number: 1, title: "Shop".to_owned() };
    let started =
        || WorkflowInput::PartStarted { part: part.clone(), worker: WORKER, model: "m".to_owned() };
    assert_eq!(run.input(started()).unwrap().len(), 1);
    assert_eq!(run.input(started()).unwrap(), []);
    let outcome =
        PartOutcome::Submitted { proposals: vec![Seq(903)], report: "Made it.".to_owned() };
    let ended = || WorkflowInput::PartEnded { worker: WORKER, outcome: outcome.clone() };
    assert_eq!(run.input(ended()).unwrap().len(), 1);
    assert_eq!(run.input(ended()).unwrap(), []);
    let merges = vec![ToolCall::new(MERGE_PART, json!({ "part": 1 }))];
    let joined = || WorkflowInput::PartsJoined { call, answer: json!({}), merges: merges.clone() };
    run.input(joined()).unwrap();
    refused(run.input(joined()), "already settled");
    let Some(WantedWork::Plan { tool, .. }) = run.wants() else { panic!("no open call") };
    assert_eq!(tool, MERGE_PART);
    run.answer(Ok(Plan::Propose(Box::new(proposal("a")), Json::Null)), &[]);
    // The model hears of its own call, and of the parts.
    let prompt = run.state.build_prompt(WORKFLOW).unwrap();
    assert_eq!(prompt.turns.len(), 1, "{:?}", prompt.turns);
    let now = prompt.now.unwrap();
    assert!(now.contains("- part 1, Shop: is done, with 1 change"), "{now}");
    let call = ToolCall::new(MERGE_PART, json!({ "part": 1 }));
    says(&mut run, ModelMessage { calls: vec![call], ..ModelMessage::default() });
    let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
    let may = check_call(&run.state, WORKFLOW, call).unwrap_err();
    assert!(may.0.contains("There is no tool `merge_part`"), "{}", may.0);
}

#[test]
fn three_refusals_in_a_row_ask_for_a_stronger_model_until_the_end() {
    let mut run = worker();
    let needs = |run: &Run| run.state.workflow(WORKFLOW).unwrap().needs_stronger_model();
    for refusals in 0..3 {
        assert!(!needs(&run), "after {refusals}");
        run.input(WorkflowInput::Called(vec![ToolCall::new("delete_instance", json!({}))]))
            .unwrap();
        run.answer(Err(Refusal::new("No.")), &[]);
    }
    assert!(needs(&run));
    run.propose(proposal("a"), &[]);
    assert!(needs(&run), "also after a call that was done");
}
