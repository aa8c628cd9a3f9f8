//! `vector edit`: runs an editing task from the request to the changed file.
//!
//! A dry run uses a temporary ledger and a temporary output file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use scene_schemas::api::SpendingLimits;
use scene_schemas::entry::{Approver, Finish, Record, Seq};
use serde_json::{Value as Json, json};
use vector_core::policy::needs_second_confirmation;
use vector_core::prompt::ToolCall;
use vector_core::tools;
use vector_core::workflow::{CALLS, PendingProposal, PendingStatus, Workflow, WorkflowInput};
use vector_engine::model_request;
use vector_engine::{EntryListener, NextStep, ToolDriver, UserRequest, WorkflowRun, recover_runs};
use vector_ledger::Ledger;
use vector_providers::ProviderKind;
use vector_providers::model_choice::OFFLINE;

use super::call_log::CallLog;
use super::card_links::CardLinks;
use super::decision_prompt::{self, PromptFlow};
use super::place_arg::{PlaceArg, read_mentions};
use super::review_requirement::{NO_REVIEWER, refuse_unreviewed};
use super::terminal::{Terminal, print_status};
use super::{DecideArgs, ExitStatus, ModeName, interrupt, interrupted_runs, model, replan_notice};
use crate::daemon::settings_store::load_settings;

/// Edit a place or model file, or the files of a Rojo project: tool calls become proposals, and
/// those you approve are written.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("request").required(true).args(["ops", "prompt"])))]
pub(super) struct EditArgs {
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx; or a Rojo project: its file or its
    /// folder
    #[arg(required_unless_present = "project")]
    place: Option<PathBuf>,
    /// A Rojo project instead: its file or its folder; changes are written to the project's files
    #[arg(long, value_name = "PATH", conflicts_with_all = ["place", "out"])]
    project: Option<PathBuf>,
    /// Tool calls as JSON lines, {"tool": NAME, "args": {...}}; - reads stdin
    #[arg(long, value_name = "FILE")]
    ops: Option<PathBuf>,
    /// A request in words; if no model is set up, the offline planner answers
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// The model for --prompt: PROVIDER/MODEL, PROVIDER or offline [default: from the settings]
    #[arg(long, value_name = "NAME", requires = "prompt")]
    model: Option<String>,
    /// Write to this file and leave the place unchanged
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Make each line of --ops a separate proposal, and continue after a refusal
    #[arg(long, requires = "ops")]
    keep_going: bool,
    /// Show what would be done; nothing is written or recorded
    #[arg(long)]
    dry_run: bool,
    /// Do not play the game to find out whether a change brings new errors
    #[arg(long)]
    no_play: bool,
    #[command(flatten)]
    decide: DecideArgs,
}

const EXAMPLES: &str = "\
Examples:
  vector edit game.rbxlx --prompt \"grid 3x3 of neon parts\"
  vector edit game.rbxl --ops changes.jsonl --yes --out game-new.rbxl
  echo '{\"tool\":\"set_properties\",\"args\":{\"selector\":\"Part\",\"props\":{\"Anchored\":true}}}' \\
    | vector edit game.rbxl --ops - --dry-run
  vector edit --project . --ops changes.jsonl     # the files of a Rojo project

Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.";

pub(super) fn run(args: &EditArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let calls = args.ops.as_deref().map(read_calls).transpose()?;
    let at = PlaceArg::from_args(args.place.as_deref(), args.project.as_deref())?;
    let goal = request_goal(args);
    let calls = calls.map(|calls| {
        if args.keep_going {
            calls.into_iter().map(|(_, call)| call).collect()
        } else {
            vec![combine_calls(calls, &goal)]
        }
    });
    let request = match calls {
        Some(calls) => EditRequest::Calls(calls),
        None => EditRequest::Prompt {
            driver: model::choose_driver(home, at.settings_folder(), args.model.as_deref())?,
            limits: load_settings(home).limits,
        },
    };
    let (out, dry_run, decide) = (args.out.as_deref(), args.dry_run, &args.decide);
    let is_played = !args.no_play;
    EditTask { at, out, dry_run, is_played, decide, goal, request }.run(home)
}

/// What is done to a place.
#[derive(Debug)]
pub(super) enum EditRequest {
    Calls(Vec<ToolCall>),
    /// The goal is a request in words, for this driver.
    Prompt {
        driver: ToolDriver,
        limits: SpendingLimits,
    },
}

/// An edit of a place, from the request to the changed file.
#[derive(Debug)]
pub(super) struct EditTask<'a> {
    pub(super) at: PlaceArg<'a>,
    /// The file to write to instead of the place.
    pub(super) out: Option<&'a Path>,
    pub(super) dry_run: bool,
    /// Whether the game is played with each change.
    pub(super) is_played: bool,
    pub(super) decide: &'a DecideArgs,
    pub(super) goal: String,
    pub(super) request: EditRequest,
}

impl EditTask<'_> {
    pub(super) fn run(self, home: &Path) -> anyhow::Result<ExitStatus> {
        if self.out.is_some() && matches!(self.at, PlaceArg::Project(_)) {
            bail!("--out writes a place file; changes to a project are written to its own files");
        }
        let out = self.out;
        if !self.dry_run {
            refuse_unreviewed(home, self.at.settings_folder())?;
            let ledger = Arc::new(Ledger::open(home)?);
            let written = self.at.ledger_file()?;
            let recovered = recover_runs(&ledger, out.unwrap_or(&written))?;
            for notice in recovered.notices {
                print_status(&format!("note: {notice}"));
            }
            return self.run_on(&ledger, &recovered.workflows, out, home);
        }
        let scratch = tempfile::tempdir().context("no temporary folder for the dry run")?;
        let ledger = Arc::new(Ledger::open(&scratch.path().join("home"))?);
        let exit = self.run_on(&ledger, &[], Some(&scratch.path().join("place")), home)?;
        print_status("This was a dry run: nothing was written or recorded.");
        Ok(exit)
    }

    fn run_on(
        self,
        ledger: &Arc<Ledger>,
        cut_off: &[Seq],
        out: Option<&Path>,
        home: &Path,
    ) -> anyhow::Result<ExitStatus> {
        let Self { at, out: own_out, dry_run, is_played, decide, goal, request } = self;
        interrupt::install_handler();
        let terminal = Terminal::for_command(decide.json);
        let opened = at.open_target(&terminal, out, dry_run)?;
        let (driver, calls, limits) = match request {
            EditRequest::Calls(calls) => {
                (ToolDriver::Calls, Some(calls), SpendingLimits::default())
            }
            EditRequest::Prompt { driver, limits } => (driver, None, limits),
        };
        let repeated = interrupted_runs::RunRequest {
            place: opened.0.place(),
            goal: &goal,
            driver: driver.name(),
            calls: calls.as_deref(),
        };
        if let Some(exit) = interrupted_runs::find_repeated_request(ledger, cut_off, &repeated)? {
            return Ok(exit);
        }
        let mut user_request = UserRequest::from(goal.as_str());
        if calls.is_none() {
            // A dry run has a ledger of its own, and creates none in Vector's folder.
            let known = if dry_run && home.join(vector_ledger::FILE).exists() {
                Arc::new(Ledger::open(home)?)
            } else {
                Arc::clone(ledger)
            };
            user_request.attached = read_mentions(&goal, &opened.1, at.settings_folder(), &known)?;
        }
        model_request::check_images(&driver, &user_request.attached).map_err(anyhow::Error::msg)?;
        model_request::check_first_message(&driver, &user_request).map_err(anyhow::Error::msg)?;
        let calls_log = CallLog::default();
        let listener = entry_listener(decide.json, &calls_log);
        let has_model = matches!(driver, ToolDriver::Provider(ProviderKind::Model(_)));
        let mut run =
            WorkflowRun::start(ledger, opened, user_request, driver, decide.mode(), listener)?;
        // With --yes nobody reads the cards of a list of calls.
        let is_read = has_model || !decide.yes;
        run.set_play_check(is_played && is_read);
        run.set_spending_limits(limits, terminal.can_ask());
        if let Some(calls) = calls {
            let called = run.add_calls(calls);
            called.inspect_err(|error| interrupted_runs::report_written_state(&run, error))?;
        }
        let exit = decide_all(&mut run, decide, &terminal, &calls_log, dry_run, home)?;
        let is_applied =
            |(_, it): (Seq, &PendingProposal)| matches!(it.status, PendingStatus::Applied(_));
        let has_written = run.workflow().is_some_and(|it| it.proposals().any(is_applied));
        if exit == ExitStatus::Done
            && own_out.is_some()
            && !dry_run
            && !has_written
            && let Some(file) = run.place_file()
        {
            file.copy_unchanged()?;
            let out = file.output_file().display();
            let place = at.path().display();
            print_status(&format!("No changes. Copied {place} to {out}."));
        }
        run.release();
        Ok(exit)
    }
}

fn request_goal(args: &EditArgs) -> String {
    match (&args.prompt, &args.ops) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(ops)) if ops.as_os_str() == "-" => "Calls from stdin".to_owned(),
        (None, Some(ops)) => format!("Calls from {}", ops.display()),
        (None, None) => String::new(),
    }
}

/// With `--json`, stdout contains only the ledger's entries.
pub(super) fn entry_listener(json: bool, calls: &CallLog) -> EntryListener {
    if !json {
        let calls = calls.clone();
        return Box::new(move |record| calls.read_record(record));
    }
    Box::new(|record: &Record| {
        if let Ok(line) = serde_json::to_string(record) {
            super::terminal::print_line(&line);
        }
    })
}

/// Reads calls, one per line. Empty lines are skipped.
fn read_calls(file: &Path) -> anyhow::Result<Vec<(usize, ToolCall)>> {
    let name = if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() };
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("stdin cannot be read")?;
    } else {
        bytes = fs::read(file).with_context(|| format!("{name} cannot be read"))?;
    }
    let text =
        String::from_utf8(bytes).ok().with_context(|| format!("{name} is not UTF-8 text"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut calls = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let call = read_call(line).with_context(|| format!("{name}, line {}", at + 1))?;
        calls.push((at + 1, call));
    }
    if calls.is_empty() {
        bail!("{name} contains no calls; each line must be {{\"tool\": NAME, \"args\": {{...}}}}");
    }
    Ok(calls)
}

fn read_call(line: &str) -> anyhow::Result<ToolCall> {
    let json: Json = serde_json::from_str(line).context("it is not JSON")?;
    let Json::Object(mut map) = json else { bail!("a call must be an object: {EXAMPLE}") };
    let Some(Json::String(tool)) = map.remove("tool") else {
        bail!("`tool` is missing or not a string: {EXAMPLE}")
    };
    let args = map.remove("args").unwrap_or_else(|| json!({}));
    if let Some(unknown) = map.keys().next() {
        bail!("unknown field `{unknown}`; a call is {EXAMPLE}");
    }
    Ok(ToolCall::new(tool, args))
}

const EXAMPLE: &str = r#"{"tool": "set_properties", "args": {...}}"#;

/// The tool that combines several calls in one proposal.
const PROPOSE_CHANGES: &str = "propose_changes";

/// Combines a list of calls into one proposal: all or nothing. A single call stays as it is if it
/// is already combined or changes nothing.
fn combine_calls(mut calls: Vec<(usize, ToolCall)>, title: &str) -> ToolCall {
    let is_whole = |tool: &str| {
        tool == PROPOSE_CHANGES || tools::find_tool(tool).is_ok_and(|it| !it.is_change())
    };
    if calls.len() == 1 && is_whole(&calls[0].1.tool) {
        return calls.remove(0).1;
    }
    let changes: Vec<Json> = calls
        .into_iter()
        .map(|(line, call)| json!({ "tool": call.tool, "args": call.args, "line": line }))
        .collect();
    ToolCall::new(PROPOSE_CHANGES, json!({ "title": title, "changes": changes }))
}

/// Runs until nothing is left, asking the user for decisions, and finishes the run however it ends.
/// Only if an error leaves approved proposals unsettled, the run stays unfinished. On an error,
/// reports what the place contains.
pub(super) fn decide_all(
    run: &mut WorkflowRun,
    decide: &DecideArgs,
    terminal: &Terminal,
    calls: &CallLog,
    dry_run: bool,
    home: &Path,
) -> anyhow::Result<ExitStatus> {
    let links = CardLinks::for_run(run, terminal, home);
    let done = decide_each(run, decide, terminal, calls, dry_run, links);
    if interrupt::take_press() {
        print_status("Stopped: nothing more will be done in this run.");
    }
    let is_torn = run.workflow().is_some_and(|it| it.approved_proposals().next().is_some());
    if let Err(error) = done {
        if let Some(error) = error.downcast_ref() {
            interrupted_runs::report_written_state(run, error);
        }
        // If approved proposals are neither applied nor undone, the next run settles them, and has
        // to find this run unfinished.
        if !is_torn {
            let _ = run.handle_input(WorkflowInput::Finish { outcome: Finish::Failed });
        }
        return Err(error);
    }
    let ended = run.workflow().map(|it| report_end((run.seq(), it), terminal, calls, dry_run));
    Ok(ended.unwrap_or(ExitStatus::Failed))
}

fn decide_each(
    run: &mut WorkflowRun,
    decide: &DecideArgs,
    terminal: &Terminal,
    calls: &CallLog,
    dry_run: bool,
    links: CardLinks,
) -> anyhow::Result<()> {
    let is_look = dry_run && !decide.yes && decide.mode == ModeName::Confirm;
    let mut session = ReviewState {
        // By default, a dry run approves everything. With other options it ends as the real run
        // would.
        approve_all_as: (decide.yes || is_look).then_some(Approver::Yes),
        force: decide.force || is_look,
        shown: BTreeSet::new(),
        links,
        shown_messages: 0,
        is_plan_shown: false,
        calls: calls.clone(),
        mode: decide.mode,
        dry_run,
    };
    loop {
        let due = terminal.with_spinner("Working", || run.run());
        let due_proposal = match due {
            Ok(NextStep::Decision(proposal)) => Some(proposal),
            _ => None,
        };
        show_new(run, terminal, &mut session, due_proposal);
        let due = due?;
        if interrupt::is_pressed() && due != NextStep::Nothing {
            run.handle_input(WorkflowInput::Finish { outcome: Finish::NotApproved })?;
            continue;
        }
        match due {
            // Only a daemon runs several tasks at a time.
            NextStep::Nothing | NextStep::Studio | NextStep::Workers => return Ok(()),
            NextStep::Model => {
                let before = run.workflow().map_or(0, |it| it.messages().count());
                if model::ask_model(run, terminal)? {
                    let now = run.workflow().map_or(0, |it| it.messages().count());
                    session.shown_messages += usize::from(now > before);
                }
            }
            NextStep::Fetch(call) => model::fetch_for_call(run, call, terminal)?,
            NextStep::Answer(call) => {
                if !model::answer_question(run, call, terminal)? {
                    run.handle_input(WorkflowInput::Finish { outcome: Finish::NotApproved })?;
                }
            }
            NextStep::Call | NextStep::GoAhead => {
                if !model::ask_retry(run, terminal)? {
                    run.handle_input(WorkflowInput::Finish { outcome: Finish::Failed })?;
                }
            }
            NextStep::Decision(proposal) => {
                if !decide_one(run, proposal, terminal, &mut session)? {
                    run.handle_input(WorkflowInput::Finish { outcome: Finish::NotApproved })?;
                }
            }
        }
    }
}

/// The user's choices for all cards of this run, and what was already shown.
#[derive(Debug)]
pub(super) struct ReviewState {
    /// If set, every card is approved, and the approval is recorded as this.
    pub(super) approve_all_as: Option<Approver>,
    /// Also approves cards that need a second confirmation.
    pub(super) force: bool,
    /// The cards that were shown.
    pub(super) shown: BTreeSet<Seq>,
    /// The number of the model's messages that were shown.
    shown_messages: usize,
    is_plan_shown: bool,
    calls: CallLog,
    mode: ModeName,
    /// Whether this is a dry run, whose proposal numbers are not valid afterwards.
    dry_run: bool,
    pub(super) links: CardLinks,
}

/// Shows new messages, and the cards that were not shown yet: the one to be decided, and those that
/// needed no decision. Other cards wait for their turn.
fn show_new(
    run: &WorkflowRun,
    terminal: &Terminal,
    session: &mut ReviewState,
    due_proposal: Option<Seq>,
) {
    let Some(workflow) = run.workflow() else {
        return;
    };
    let mut messages = workflow.messages().skip(session.shown_messages);
    session.shown_messages += messages.clone().count();
    if !session.is_plan_shown && !workflow.plan.is_empty() {
        session.is_plan_shown = true;
        // The first message announces the plan.
        messages.next().into_iter().for_each(|text| terminal.show_message(text));
        terminal.show_plan(&workflow.plan);
    }
    messages.for_each(|text| terminal.show_message(text));
    show_calls(workflow, terminal, &session.calls);
    for (seq, pending) in workflow.proposals() {
        let is_due = match pending.status {
            PendingStatus::Waiting => due_proposal == Some(seq),
            PendingStatus::Withdrawn(_) => false,
            _ => true,
        };
        if is_due && session.shown.insert(seq) {
            let again = pending.proposal.replaces.filter(|old| session.shown.contains(old));
            if again.is_some()
                && let Some(notice) = replan_notice::replan_notice(workflow, seq, &pending.proposal)
            {
                print_status(&format!("note: {notice}"));
            }
            terminal.show_run_card(seq, &pending.proposal, session.dry_run, &session.links);
        }
    }
}

/// Shows each call as a line. The user's own list of calls is reported at its end, and the offline
/// planner reports its refusals itself.
fn show_calls(workflow: &Workflow, terminal: &Terminal, calls: &CallLog) {
    let lines = calls.take_lines();
    if workflow.driver == CALLS {
        return;
    }
    let is_offline = workflow.driver == OFFLINE;
    let shown = lines.iter().filter(|line| !is_offline || !line.contains(": refused: "));
    shown.for_each(|line| terminal.show_aside(line));
}

/// Gets a decision on one proposal. Returns false if the run is over.
fn decide_one(
    run: &mut WorkflowRun,
    proposal: Seq,
    terminal: &Terminal,
    session: &mut ReviewState,
) -> anyhow::Result<bool> {
    let twice = run
        .workflow()
        .and_then(|workflow| workflow.proposal(proposal))
        .is_some_and(|pending| needs_second_confirmation(&pending.proposal));
    if session.approve_all_as.is_some() && run.missing_review(proposal).is_some() {
        print_status(NO_REVIEWER);
        return Ok(false);
    }
    if let Some(by) = session.approve_all_as
        && (!twice || session.force)
    {
        run.approve(proposal, by, twice)?;
        return Ok(true);
    }
    if terminal.can_ask() {
        return Ok(decision_prompt::ask_decision(run, proposal, terminal, session)?
            == PromptFlow::Continue);
    }
    if session.approve_all_as.is_some() {
        // The run continues: later proposals may not need a second confirmation.
        let reason = "It has a warning that needs a second confirmation, which was not given.";
        run.handle_input(WorkflowInput::Reject { proposal, reason: Some(reason.to_owned()) })?;
        print_status(&format!(
            "Proposal {proposal} has a warning that needs a second confirmation. Read it, and run \
             again with --force to approve it."
        ));
        return Ok(true);
    }
    print_status(match session.mode {
        ModeName::Confirm => {
            "Not approved: there is no terminal to ask on. --yes approves every card; --mode auto \
             approves proposals that only add and have no warnings."
        }
        _ => {
            "Not approved: the mode does not cover this proposal, and there is no terminal to ask \
             on. --yes approves every card."
        }
    });
    Ok(false)
}

/// Reports the result and returns the exit status.
fn report_end(
    run: (Seq, &Workflow),
    terminal: &Terminal,
    calls: &CallLog,
    dry_run: bool,
) -> ExitStatus {
    show_calls(run.1, terminal, calls);
    terminal.show_summary(run.0, run.1, dry_run);
    let (_, workflow) = run;
    let mut counts = OutcomeCounts::default();
    for (seq, pending) in workflow.proposals() {
        match &pending.status {
            PendingStatus::Applied(_) | PendingStatus::Undone(_) => counts.applied += 1,
            PendingStatus::Failed(reason) => {
                counts.failed += 1;
                print_status(&format!("error: proposal {seq} was not applied: {reason}"));
            }
            PendingStatus::Rejected(_) if workflow.is_revised(seq) => {}
            PendingStatus::Withdrawn(_) if workflow.is_replanned(seq) => {}
            PendingStatus::Rejected(_) | PendingStatus::Withdrawn(_) => counts.rejected += 1,
            PendingStatus::Waiting
            | PendingStatus::Drafted
            | PendingStatus::Approved
            | PendingStatus::Applying(_) => {
                counts.failed += 1;
            }
        }
    }
    let is_list = workflow.driver == CALLS;
    for (call, reason) in workflow.refusals() {
        if is_list {
            counts.failed += 1;
            let place = match workflow.call_count() {
                1 => String::new(),
                _ => format!("call {}: ", workflow.call_number(call)),
            };
            // Internally the list is one call. The user only wrote its lines.
            let inner = reason.strip_prefix(PROPOSE_CHANGES).and_then(|it| it.strip_prefix(": "));
            let reason = inner.unwrap_or(reason);
            print_status(&format!("error: {place}{reason}"));
        }
    }
    if counts.rejected > 0 || workflow.finished == Some(Finish::NotApproved) {
        ExitStatus::NotApproved
    } else if counts.failed > 0 || workflow.finished == Some(Finish::Failed) {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    }
}

#[derive(Default)]
struct OutcomeCounts {
    applied: usize,
    rejected: usize,
    failed: usize,
}
