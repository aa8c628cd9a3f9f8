//! Closing of idle sessions, whose plugin has not been heard of for a long time.

use std::sync::Arc;

use scene_schemas::api::{FailureKind, RevokeRequest, RevokeResult, WorkflowState, WorkflowView};
use scene_schemas::entry::Seq;
use tokio::sync::oneshot::error::TryRecvError;
use vector_daemon::daemon::DaemonHandle;
use vector_daemon::session::WorkflowAction;

use super::bench::{Answer, Bench, window};

fn state(bench: &Bench, workflow: Seq) -> WorkflowState {
    bench.ask(|daemon| daemon.workflow(workflow)).unwrap().state
}

fn cancel(bench: &Bench, workflow: Seq) -> Answer<WorkflowView> {
    let call = |daemon: DaemonHandle| async move {
        daemon.act_on_workflow(workflow, WorkflowAction::Cancel).await
    };
    bench.begin(call)
}

/// A paired window with a running workflow: its credential, its epoch, and the workflow.
fn at_work(bench: &Bench) -> (String, u64, Seq) {
    let credential = bench.pair();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let workflow = bench.wait(bench.chat(epoch)).unwrap().workflow;
    (credential, epoch, workflow)
}

#[test]
fn idle_session_is_closed_and_resumes_on_plugin_return() {
    let bench = Bench::new();
    let (credential, epoch, workflow) = at_work(&bench);
    assert_eq!((bench.sessions(), state(&bench, workflow)), (1, WorkflowState::Working));
    let seat = Arc::downgrade(&bench.board.slot(&window()).unwrap());
    bench.daemon.close_idle_sessions();
    assert_eq!((bench.sessions(), state(&bench, workflow)), (0, WorkflowState::Away));
    assert!(bench.wait(bench.hello(&credential)).unwrap().epoch > epoch);
    assert_eq!(seat.strong_count(), 0, "its thread and its mirror have gone before it comes back");
    assert_eq!((bench.sessions(), state(&bench, workflow)), (1, WorkflowState::Working));
    bench.daemon.close_idle_sessions();
    let ended = bench.wait(cancel(&bench, workflow)).unwrap();
    assert_eq!(ended.state, WorkflowState::Finished, "what is away can be ended");
}

#[test]
fn session_closing_mid_work_blocks_only_its_own_name() {
    let bench = Bench::new();
    let (credential, epoch, workflow) = at_work(&bench);
    let seat = Arc::downgrade(&bench.board.slot(&window()).unwrap());
    let held = bench.hold();
    // The session blocks on starting this workflow, and sees the request to close only after it.
    let second = bench.chat(epoch);
    bench.daemon.close_idle_sessions();
    assert_eq!((bench.sessions(), state(&bench, workflow)), (0, WorkflowState::Away));
    assert!(bench.ledger.has_lease(workflow), "it has not ended");
    let mut hello = bench.hello(&credential);
    let mut ended = cancel(&bench, workflow);
    let refused = bench.wait(bench.hello("nobody's")).unwrap_err();
    assert_eq!(refused.hint, "Type the six digits that `vector pair` shows.");
    assert_eq!(bench.sessions(), 0, "others are answered");
    assert_eq!(hello.try_recv().unwrap_err(), TryRecvError::Empty);
    assert_eq!(ended.try_recv().unwrap_err(), TryRecvError::Empty);
    held.unlock().unwrap();
    let second = bench.wait(second).unwrap().workflow;
    let next = bench.wait(hello).unwrap().epoch;
    assert!(next > epoch);
    assert_eq!(seat.strong_count(), 0, "it has let go of everything");
    assert_eq!(bench.wait(ended).unwrap().state, WorkflowState::Finished);
    assert_eq!((bench.sessions(), state(&bench, second)), (1, WorkflowState::Working));
    // The session has resumed its workflows when it answers.
    bench.wait(bench.chat(next)).unwrap();
    assert!(bench.ledger.has_lease(second), "it goes on where it comes back");
}

#[test]
fn dropped_hello_starts_no_session() {
    let bench = Bench::new();
    let (credential, epoch, workflow) = at_work(&bench);
    let held = bench.hold();
    let second = bench.chat(epoch);
    bench.daemon.close_idle_sessions();
    drop(bench.hello(&credential));
    let ended = cancel(&bench, workflow);
    held.unlock().unwrap();
    bench.wait(second).unwrap();
    assert_eq!(bench.wait(ended).unwrap().state, WorkflowState::Finished);
    assert_eq!(bench.sessions(), 0);
}

fn revoke(bench: &Bench) -> Answer<RevokeResult> {
    let call =
        |daemon: DaemonHandle| async move { daemon.revoke_access(RevokeRequest::Plugins {}).await };
    bench.begin(call)
}

#[test]
fn revocation_is_answered_after_the_session_has_ended() {
    let bench = Bench::new();
    let (credential, epoch, workflow) = at_work(&bench);
    let held = bench.hold();
    // The session is blocked on this request.
    let second = bench.chat(epoch);
    let mut all = [revoke(&bench), revoke(&bench)];
    assert_eq!(bench.sessions(), 0, "others are answered");
    assert_eq!(bench.wait(bench.hello(&credential)).unwrap_err().kind, FailureKind::Unpaired);
    for answer in &mut all {
        assert_eq!(answer.try_recv().unwrap_err(), TryRecvError::Empty);
    }
    held.unlock().unwrap();
    let [one, other] = all.map(|answer| bench.wait(answer).unwrap());
    assert!(!bench.ledger.has_lease(workflow));
    assert_eq!((one.names.len(), &one.sessions[..]), (1, &[window()][..]));
    assert_eq!((other.names.len(), other.sessions.len()), (0, 0), "it was gone by then");
    bench.wait(second).unwrap();
    // A second revocation has nothing to wait for.
    bench.wait(revoke(&bench)).unwrap();
}

#[test]
fn revocation_waits_for_a_session_that_is_already_closing() {
    let bench = Bench::new();
    let credential = bench.pair();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let held = bench.hold();
    let started = bench.chat(epoch);
    bench.daemon.close_idle_sessions();
    let mut gone = revoke(&bench);
    assert_eq!(bench.sessions(), 0);
    assert_eq!(gone.try_recv().unwrap_err(), TryRecvError::Empty);
    held.unlock().unwrap();
    assert!(bench.wait(gone).unwrap().sessions.is_empty());
    assert!(!bench.ledger.has_lease(bench.wait(started).unwrap().workflow));
}
