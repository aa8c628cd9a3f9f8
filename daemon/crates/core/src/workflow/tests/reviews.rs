//! Reviews of proposals: how they begin and end, and what a reviewer may call.

use scene_schemas::comment::{CommentSide, CommentSubject};
use scene_schemas::proposal::{DiffLine, Hunk, ScriptDiff};
use scene_schemas::review::FindingSeverity::{self, High, Low, Medium};
use scene_schemas::review::ReviewReport;

use super::*;
use crate::prompt::MessageCost;
use crate::tools::REPORT_REVIEW;
use crate::workflow::ReviewState;

const REVIEWER: Seq = Seq(900);

fn started(run: &mut Run, proposal: Seq) -> Result<Vec<Entry>, String> {
    let model = "maker/other".to_owned();
    run.input(WorkflowInput::ReviewStarted {
        proposal,
        with: Vec::new(),
        reviewer: REVIEWER,
        model,
    })
}

fn states(run: &Run, proposal: Seq) -> Vec<ReviewState> {
    let reviews = run.state.workflow(WORKFLOW).unwrap().reviews_of(proposal);
    reviews.iter().map(|it| it.state.clone()).collect()
}

#[test]
fn review_of_a_pending_proposal_is_recorded_with_its_end() {
    let mut run = Run::new("maker/model", Mode::Confirm);
    let seq = run.propose(proposal("a"), &[]);
    started(&mut run, seq).unwrap();
    assert_eq!(states(&run, seq), [ReviewState::Running]);
    let again = started(&mut run, seq).unwrap_err();
    assert!(again.contains("is being reviewed already, in task 900"), "{again}");
    let report = ReviewReport { summary: "Read it.".to_owned(), findings: Vec::new() };
    let outcome = Ok(report.clone());
    let ended = WorkflowInput::ReviewEnded { proposal: seq, reviewer: REVIEWER, outcome };
    assert_eq!(run.input(ended.clone()).unwrap().len(), 1);
    assert_eq!(run.input(ended).unwrap(), [], "a report is recorded once");
    assert_eq!(states(&run, seq), [ReviewState::Reported(report)]);
    // It can be reviewed again, and a review can fail.
    started(&mut run, seq).unwrap();
    let outcome = Err(Refusal::new("It broke off."));
    run.input(WorkflowInput::ReviewEnded { proposal: seq, reviewer: REVIEWER, outcome }).unwrap();
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().running_reviews().count(), 0);
}

#[test]
fn decided_proposal_is_not_reviewed() {
    let mut run = Run::new("maker/model", Mode::Confirm);
    let seq = run.propose(proposal("a"), &[]);
    run.input(WorkflowInput::Reject { proposal: seq, reason: None }).unwrap();
    let refused = started(&mut run, seq).unwrap_err();
    assert!(refused.contains("was already rejected"), "{refused}");
    assert!(started(&mut run, Seq(77)).unwrap_err().contains("no proposal 77"));
}

/// The task of a reviewer.
fn reviewer() -> Run {
    let role = TaskRole::Reviewer { proposal: Seq(5) };
    Run::of_role(role, "maker/other", InteractionMode::Ask)
}

#[test]
fn reviewer_reads_and_reports_and_does_nothing_else() {
    for (tool, may) in [
        ("read_script", true),
        ("find_references", true),
        ("playtest", true),
        (REPORT_REVIEW, true),
        ("write_script", false),
        ("insert_asset", false),
        ("upload_asset", false),
        ("ask_clarification", false),
        ("start_plan", false),
        ("complete", false),
        ("message", false),
    ] {
        let mut run = reviewer();
        run.input(WorkflowInput::Called(vec![ToolCall::new(tool, json!({}))])).unwrap();
        let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
        let checked = check_call(&run.state, WORKFLOW, call);
        assert_eq!(checked.is_ok(), may, "{tool}: {checked:?}");
    }
    // A task of its own has nothing to report.
    let mut run = Run::new("maker/model", Mode::Confirm);
    run.input(WorkflowInput::Called(vec![ToolCall::new(REPORT_REVIEW, json!({}))])).unwrap();
    let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
    assert!(check_call(&run.state, WORKFLOW, call).is_err());
}

#[test]
fn reviewer_that_only_writes_is_reminded_once() {
    let mut run = reviewer();
    let said = || ModelMessage {
        text: Some("Looks good.".to_owned()),
        cost: Some(MessageCost::default()),
        ..ModelMessage::default()
    };
    run.input(WorkflowInput::Replied(said())).unwrap();
    let reminded = run.records.iter().any(|it| {
        matches!(&it.entry, Entry::Notified { text } if text.contains("Report the review of proposal 5"))
    });
    assert!(reminded && run.wants() == Some(WantedWork::Reply));
    run.input(WorkflowInput::Replied(said())).unwrap();
    assert_eq!(run.wants(), None);
    let why = run
        .state
        .workflow(WORKFLOW)
        .unwrap()
        .review_report(Seq(7), &[(Seq(7), &proposal("a"))])
        .unwrap_err();
    assert!(why.0.contains("maker/other ended the review without a report"), "{}", why.0);
}

#[test]
fn findings_are_placed_in_the_proposal_and_sorted() {
    let mut run = reviewer();
    let path = "game.ServerScriptService.Shop";
    let args = json!({ "summary": "Read the shop.", "findings": [
        { "severity": "low", "text": "Unclear." },
        { "severity": "high", "text": "The price comes from the client.", "path": path, "line": 3 },
        { "severity": "high", "text": "Far away.", "path": path, "line": 90 },
        { "severity": "medium", "text": "Falls.", "path": "game.Workspace.Door", "property": "Anchored" },
    ] });
    run.input(WorkflowInput::Called(vec![ToolCall::new(REPORT_REVIEW, args.clone())])).unwrap();
    let done = Plan::Talk(ModelAction::Reviewed { summary: "Read the shop.".to_owned() });
    run.answer(Ok(done), &[]);
    assert_eq!(run.state.workflow(WORKFLOW).unwrap().finished, Some(Finish::Done));
    let lines = ["local a", "local price = sent", "pay(price)"];
    let lines = lines.map(|it| DiffLine::Added(it.to_owned())).to_vec();
    let hunks = vec![Hunk { old_start: 0, new_start: 1, lines }];
    let path_of_shop = path.parse().unwrap();
    let script =
        ScriptDiff { command: 0, path: path_of_shop, left_out: false, added: 3, removed: 0, hunks };
    let mut changed = proposal("a");
    changed.preview.scripts.push(script);
    let report =
        run.state.workflow(WORKFLOW).unwrap().review_report(Seq(7), &[(Seq(7), &changed)]).unwrap();
    let severities: Vec<FindingSeverity> = report.findings.iter().map(|it| it.severity).collect();
    assert_eq!(severities, [High, High, Medium, Low]);
    let line = |line, quote: &str| CommentSubject::Line {
        path: path.parse().unwrap(),
        side: CommentSide::After,
        line,
        quote: quote.to_owned(),
    };
    assert_eq!(report.findings[0].on, line(3, "pay(price)"));
    assert_eq!(report.findings[1].on, line(90, ""));
    assert_eq!(report.findings[2].on.describe(), "Anchored of game.Workspace.Door");
    assert_eq!(report.findings[3].on, CommentSubject::Proposal {});
}
