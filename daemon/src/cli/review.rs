//! `vector review`: decides all pending proposals of the daemon in this terminal, regardless of who
//! requested them.
//!
//! It keeps no state: the pending proposals are fetched after each answer, as others may decide
//! too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use scene_schemas::api::{
    DecisionResponse, Event, EventRecord, ProposalStatus, ProposalView, Proposals, RouteId,
    SessionView, WorkflowState, WorkflowView,
};
use scene_schemas::entry::Seq;

use super::ExitStatus;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::remote_review::{CardOutcome, ExtraKeys, RemoteReview, outcome_sentence};
use super::step_prompt::StepsOutcome;
use super::style::{PaintKind, terminal_line};
use super::terminal::{Terminal, escape_line_ends, print_line, print_status};
use crate::daemon::{PendingSummary, grouped_steps};

/// Duration of a long poll, in seconds. Must be shorter than the request timeout.
const HOLD: u32 = 15;
/// How long to wait for the results of decisions if nothing else is pending.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the approval of a proposal that the mode or a rule allows may take.
const COVERED: Duration = Duration::from_secs(3);
/// The maximum length of a goal that is shown, in characters.
const GOAL: usize = 120;

const KEYS: ExtraKeys = ExtraKeys {
    prompt: "[y]es [n]o [r]ule [c]omment [s]plit [e]dit [m]odel s[k]ip [q]uit",
    help: "  k  skip it: it stays pending
  q  quit: undecided proposals stay pending",
};

/// Decide on all pending proposals in the daemon
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 everything is decided, 1 something failed, 2 usage, 3 \
                        proposals are left.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct ReviewArgs {
    /// Exit when nothing is pending and all results are in
    #[arg(long)]
    once: bool,
    /// Keep waiting for proposals, and notify you of each: by the terminal's bell, and by a notification
    /// of the system where the terminal has them (OSC 9)
    #[arg(long, conflicts_with_all = ["once", "yes"])]
    watch: bool,
    /// Approve every card without asking
    #[arg(long, short)]
    yes: bool,
    /// With --yes: also approve cards that need a second confirmation
    #[arg(long, requires = "yes")]
    force: bool,
    /// Print only the cards and their outcomes on stdout, as JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ReviewArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let daemon = DaemonClient::connect(home)?;
    let terminal = Terminal::for_command(args.json);
    let (yes, force) = (args.yes, args.force);
    let cards = RemoteReview { daemon: &daemon, terminal: &terminal, yes, force };
    let mut daemon = ReviewLoop {
        cards,
        json: args.json,
        watch: args.watch,
        cursor: stream_head(&daemon)?,
        tasks: BTreeSet::new(),
        shown: BTreeSet::new(),
        singly: BTreeSet::new(),
        skipped: BTreeSet::new(),
        covered: BTreeMap::new(),
        awaiting_apply: BTreeSet::new(),
        has_failed: false,
    };
    daemon.run_reviews(args.once)?;
    Ok(daemon.exit_status())
}

/// The current end of the event stream.
fn stream_head(daemon: &DaemonClient) -> anyhow::Result<Seq> {
    let mut cursor = Seq(0);
    loop {
        let page = daemon.read_events(cursor, 0)?;
        cursor = page.cursor;
        if page.events.is_empty() {
            return Ok(cursor);
        }
    }
}

/// The state of a review.
struct ReviewLoop<'a> {
    cards: RemoteReview<'a>,
    json: bool,
    /// Whether the user is notified of a card.
    watch: bool,
    cursor: Seq,
    /// The workflows that had a pending proposal.
    tasks: BTreeSet<Seq>,
    shown: BTreeSet<Seq>,
    /// The small steps that the user wants to decide one by one.
    singly: BTreeSet<Seq>,
    /// The proposals that were shown and are still pending.
    skipped: BTreeSet<Seq>,
    /// Since when proposals are pending that the mode or a rule approves.
    covered: BTreeMap<Seq, Instant>,
    /// The proposals that were approved here and are not applied yet.
    awaiting_apply: BTreeSet<Seq>,
    /// Whether one of these failed.
    has_failed: bool,
}

/// What is asked about next: a proposal, or the small steps of a task.
struct NextReview {
    proposals: Vec<ProposalView>,
    workflow: Seq,
    place: SessionView,
}

impl ReviewLoop<'_> {
    fn run_reviews(&mut self, once: bool) -> anyhow::Result<()> {
        let mut since = Instant::now();
        let (mut is_told, mut is_last) = (once, false);
        loop {
            if let Some(next) = self.next()? {
                if !self.review(&next)? {
                    break;
                }
                (since, is_last) = (Instant::now(), false);
            } else if !once {
                if !std::mem::replace(&mut is_told, true) {
                    print_status(
                        "Nothing else is pending. New proposals appear here; Ctrl-C stops.",
                    );
                }
                self.wait_for_events(HOLD)?;
            } else if self.has_covered() || since.elapsed() < PATIENCE && self.has_working_task()? {
                if self.wait_for_events(1)? {
                    since = Instant::now();
                }
            } else if std::mem::replace(&mut is_last, true) {
                break;
            }
            // A task may have made a proposal since the pending ones were fetched, so check again.
        }
        // Report the results of the last answers.
        while self.wait_for_events(0)? {}
        Ok(())
    }

    /// The oldest pending proposal that was not skipped, or the small steps of its task if it is one
    /// of them.
    fn next(&mut self) -> anyhow::Result<Option<NextReview>> {
        let daemon = self.cards.daemon;
        let Proposals { proposals } = daemon.call(&RouteRequest::new(RouteId::Proposals))?;
        self.tasks.extend(proposals.iter().map(|it| it.workflow));
        let summaries: Vec<PendingSummary> = proposals.iter().filter_map(summary_of).collect();
        let new = proposals.into_iter().filter(|it| !self.skipped.contains(&it.seq));
        let new = new.filter(|it| !is_soon_approved(&mut self.covered, it));
        let mut new: Vec<ProposalView> = new.collect();
        if new.is_empty() {
            return Ok(None);
        }
        let sessions = daemon.list_sessions()?;
        // A proposal of a place that is no longer open cannot be decided.
        let place_of = |view: &ProposalView| {
            sessions.iter().find(|it| Some(&it.session) == view.session.as_ref()).cloned()
        };
        let first = new.iter().zip(0..).find_map(|(view, at)| Some((at, place_of(view)?)));
        let Some((at, place)) = first else {
            return Ok(None);
        };
        let (first, workflow) = (new[at].seq, new[at].workflow);
        let is_asked = |it: &&PendingSummary| {
            let is_new = new.binary_search_by_key(&it.seq, |view| view.seq).is_ok();
            is_new && it.workflow == workflow && !self.singly.contains(&it.seq)
        };
        let of_task: Vec<&PendingSummary> = summaries.iter().filter(is_asked).collect();
        let steps = grouped_steps(&summaries, &of_task);
        let can_group = self.cards.terminal.can_ask() && !self.cards.yes;
        let proposals = if !can_group || !steps.contains(&first) {
            vec![new.swap_remove(at)]
        } else {
            new.retain(|it| steps.contains(&it.seq));
            new
        };
        Ok(Some(NextReview { proposals, workflow, place }))
    }

    /// Shows a card or the small steps of a task, and asks for a decision. Returns false if the user
    /// wants to see no more.
    fn review(&mut self, next: &NextReview) -> anyhow::Result<bool> {
        let workflow = self.fetch_workflow(next.workflow)?;
        self.shown.extend(next.proposals.iter().map(|it| it.seq));
        if self.json {
            for view in &next.proposals {
                print_line(&escape_line_ends(&serde_json::to_string(view)?));
            }
        }
        let terminal = self.cards.terminal;
        let heading = format!("{}\n", terminal_line(&card_heading(&workflow, &next.place)));
        terminal.show(&terminal.style().paint(PaintKind::Dim, heading));
        match next.proposals.as_slice() {
            [view] => {
                if self.watch {
                    terminal.notify(&format!("Vector: {}", view.proposal.title));
                }
                self.review_card(view)
            }
            steps => {
                if self.watch {
                    terminal.notify(&format!("Vector: {} small steps", steps.len()));
                }
                self.review_steps(steps)
            }
        }
    }

    fn review_steps(&mut self, steps: &[ProposalView]) -> anyhow::Result<bool> {
        let StepsOutcome { decided, singly, skipped, is_over } = self.cards.decide_steps(steps)?;
        for decided in decided {
            self.note_decision(decided);
        }
        self.singly.extend(singly);
        for step in skipped {
            self.skip(step)?;
        }
        Ok(!is_over)
    }

    /// Notes the daemon's response, so that the outcome is reported.
    fn note_decision(&mut self, decided: DecisionResponse) {
        self.shown.insert(decided.proposal);
        if decided.status == ProposalStatus::Approved {
            self.awaiting_apply.insert(decided.proposal);
        }
    }

    fn review_card(&mut self, view: &ProposalView) -> anyhow::Result<bool> {
        match self.cards.decide_card(view, KEYS)? {
            CardOutcome::Decided(decided) => self.note_decision(decided),
            CardOutcome::Elsewhere => {}
            CardOutcome::Left => self.skip(view.seq)?,
            CardOutcome::Quit => {
                self.skip(view.seq)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes that a proposal stays pending; if it was edited, the one that replaces it.
    fn skip(&mut self, seq: Seq) -> anyhow::Result<()> {
        let left = self.cards.fetch_proposal(seq)?.successor.unwrap_or(seq);
        self.skipped.insert(left);
        self.shown.insert(left);
        Ok(())
    }

    /// Whether a proposal is about to be approved without asking.
    fn has_covered(&self) -> bool {
        self.covered.values().any(|since| since.elapsed() < COVERED)
    }

    fn fetch_workflow(&self, workflow: Seq) -> anyhow::Result<WorkflowView> {
        self.cards.daemon.call(&RouteRequest::new(RouteId::Workflow).with_id(workflow))
    }

    /// Whether a task that had a pending proposal is still working.
    fn has_working_task(&mut self) -> anyhow::Result<bool> {
        for task in self.tasks.clone() {
            match self.fetch_workflow(task)?.state {
                WorkflowState::Working => return Ok(true),
                // It goes on when it is decided, by a rule at once.
                WorkflowState::Waiting => {}
                WorkflowState::Idle
                | WorkflowState::Disconnected
                | WorkflowState::Away
                | WorkflowState::Stopped
                | WorkflowState::Finished => {
                    self.tasks.remove(&task);
                }
            }
        }
        Ok(false)
    }

    /// Waits up to `hold` seconds for events, and reports the outcomes of proposals decided here.
    /// Returns whether there were events.
    fn wait_for_events(&mut self, hold: u32) -> anyhow::Result<bool> {
        let page = self.cards.daemon.read_events(self.cursor, hold)?;
        self.cursor = page.cursor;
        for record in &page.events {
            self.handle_event(record)?;
        }
        Ok(!page.events.is_empty())
    }

    fn handle_event(&mut self, record: &EventRecord) -> anyhow::Result<()> {
        let Event::ProposalChanged { proposal, status, reason, .. } = &record.event else {
            return Ok(());
        };
        if self.json && self.shown.contains(proposal) {
            print_line(&escape_line_ends(&serde_json::to_string(record)?));
        }
        if *status != ProposalStatus::Waiting && *status != ProposalStatus::Approved {
            self.skipped.remove(proposal);
            if self.awaiting_apply.remove(proposal) {
                let is_error = *status == ProposalStatus::Failed;
                self.has_failed |= is_error;
                let error = if is_error { "error: " } else { "" };
                print_status(&format!(
                    "{error}{}",
                    outcome_sentence(*proposal, *status, reason.as_deref())
                ));
            }
        }
        Ok(())
    }

    fn exit_status(&self) -> ExitStatus {
        for proposal in &self.awaiting_apply {
            print_status(&format!(
                "note: Proposal {proposal} is approved, but not applied yet; `vector log` shows its \
                 outcome."
            ));
        }
        let terminal = self.cards.terminal;
        if !self.skipped.is_empty() && !self.cards.yes && !terminal.can_ask() {
            print_status("Not decided: there is no terminal to ask on. --yes approves every card.");
        }
        match (self.has_failed, self.skipped.is_empty()) {
            (true, _) => ExitStatus::Failed,
            (false, false) => ExitStatus::NotApproved,
            (false, true) => ExitStatus::Done,
        }
    }
}

/// Whether a proposal will be approved without asking in a moment. If it is not, for example in a dry
/// run, it is asked about.
fn is_soon_approved(covered: &mut BTreeMap<Seq, Instant>, view: &ProposalView) -> bool {
    view.is_covered && covered.entry(view.seq).or_insert_with(Instant::now).elapsed() < COVERED
}

/// None if the proposal's place is not of this daemon.
fn summary_of(view: &ProposalView) -> Option<PendingSummary> {
    let session = view.session.clone()?;
    let summary = PendingSummary::from_proposal(view.workflow, view.seq, session, &view.proposal);
    Some(PendingSummary { needs_review: view.unreviewed.is_some(), ..summary })
}

/// The place of a card, and who requested it.
fn card_heading(workflow: &WorkflowView, place: &SessionView) -> String {
    let goal: String =
        workflow.goal.lines().next().unwrap_or_default().chars().take(GOAL).collect();
    let gone = match workflow.state {
        WorkflowState::Disconnected => " (disconnected)",
        _ => "",
    };
    let WorkflowView { driver, .. } = workflow;
    format!("In {} ({}), by {driver}{gone}: {goal}", place.place.name, place.session)
}
