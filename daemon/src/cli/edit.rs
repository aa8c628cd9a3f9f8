//! `vector edit`: the whole way from a request to a changed file.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use scene_schemas::entry::{Approver, Finish, Record, Seq};
use serde_json::{Value as Json, json};

use super::ask::{self, Flow};
use super::opened::Where;
use super::terminal::{Terminal, say};
use super::{Decide, Exit, ModeName, mentions, model};
use crate::core::policy::needs_second_confirmation;
use crate::core::prompt::Call;
use crate::core::workflow::{CALLS, Input, Pending, Status, Workflow};
use crate::engine::{Asked, Driver, Due, Engine, Listener, asked, recover};
use crate::ledger::Ledger;
use crate::providers::Provider;

/// Edit a place or model file, or the files of a Rojo project: tool calls become proposals, you decide, and they are written.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("request").required(true).args(["ops", "prompt"])))]
pub(super) struct Edit {
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx
    #[arg(required_unless_present = "project")]
    place: Option<PathBuf>,
    /// A Rojo project instead: its file, or its folder; what is done goes to the project's files
    #[arg(long, value_name = "PATH", conflicts_with_all = ["place", "out"])]
    project: Option<PathBuf>,
    /// Tool calls as JSON lines, {"tool": NAME, "args": {...}}; - reads stdin
    #[arg(long, value_name = "FILE")]
    ops: Option<PathBuf>,
    /// What you want, in words; the offline planner answers where no model is set up
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Who answers --prompt, as PROVIDER/MODEL, PROVIDER or offline; by the settings where absent
    #[arg(long, value_name = "NAME", requires = "prompt")]
    model: Option<String>,
    /// Write to this file and leave the place as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Make each line of --ops a proposal of its own, and go on after a refusal
    #[arg(long, requires = "ops")]
    keep_going: bool,
    /// Show what would be done on a copy that is thrown away; nothing is written or recorded
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    decide: Decide,
}

const EXAMPLES: &str = "\
Examples:
  vector edit game.rbxlx --prompt \"grid 3x3 of neon parts\"
  vector edit game.rbxl --ops changes.jsonl --yes --out game-new.rbxl
  echo '{\"tool\":\"set_properties\",\"args\":{\"selector\":\"Part\",\"props\":{\"Anchored\":true}}}' \\
    | vector edit game.rbxl --ops - --dry-run
  vector edit --project . --ops changes.jsonl     # the files of a Rojo project

Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.";

pub(super) fn run(args: &Edit, home: &Path) -> anyhow::Result<Exit> {
    let calls = args.ops.as_deref().map(read_calls).transpose()?;
    let at = Where::of(args.place.as_deref(), args.project.as_deref())?;
    let driver = match &calls {
        Some(_) => Driver::Calls,
        None => model::driver(home, at.folder(), args.model.as_deref())?,
    };
    if !args.dry_run {
        let ledger = Arc::new(Ledger::open(home)?);
        let written = at.written()?;
        for notice in recover(&ledger, args.out.as_deref().unwrap_or(&written))? {
            say(&format!("note: {notice}"));
        }
        return edit(args, (driver, calls), &ledger, args.out.as_deref());
    }
    let scratch = tempfile::tempdir().context("no temporary folder for the dry run")?;
    let ledger = Arc::new(Ledger::open(&scratch.path().join("home"))?);
    let out = scratch.path().join("place");
    let exit = edit(args, (driver, calls), &ledger, Some(&out))?;
    say("This was a dry run: nothing was written or recorded.");
    Ok(exit)
}

fn edit(
    args: &Edit,
    (driver, calls): (Driver, Option<Vec<(usize, Call)>>),
    ledger: &Arc<Ledger>,
    out: Option<&Path>,
) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(args.decide.json);
    let at = Where::of(args.place.as_deref(), args.project.as_deref())?;
    let opened = at.open(&terminal, out, args.dry_run)?;
    let goal = goal(args);
    let mut asked = Asked::from(goal.as_str());
    if args.prompt.is_some() {
        asked.attached = mentions::attached(&goal, &opened.1, at.folder())?;
    }
    if let Driver::Provider(Provider::Model(models)) = &driver {
        asked::fits(models, &asked).map_err(anyhow::Error::msg)?;
    }
    let mut engine = Engine::start(
        ledger,
        opened,
        asked,
        driver,
        args.decide.mode(),
        listener(args.decide.json),
    )?;
    if let Some(calls) = calls {
        engine.call(if args.keep_going {
            calls.into_iter().map(|(_, call)| call).collect()
        } else {
            vec![as_one(calls, &goal)]
        })?;
    }
    let exit = decide_all(&mut engine, &args.decide, &terminal, args.dry_run)?;
    let is_applied = |(_, it): (Seq, &Pending)| matches!(it.status, Status::Applied(_));
    let has_written = engine.workflow().is_some_and(|it| it.proposals().any(is_applied));
    if exit == Exit::Done
        && args.out.is_some()
        && !args.dry_run
        && !has_written
        && let Some(file) = engine.file()
    {
        file.copy()?;
        let out = file.output().display();
        let place = at.path().display();
        say(&format!("Nothing was to be changed; {out} is a copy of {place}."));
    }
    engine.leave();
    Ok(exit)
}

fn goal(args: &Edit) -> String {
    match (&args.prompt, &args.ops) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(ops)) => format!("The calls of {}", ops.display()),
        (None, None) => String::new(),
    }
}

/// With `--json`, stdout is the ledger's entries and nothing else.
pub(super) fn listener(json: bool) -> Listener {
    if !json {
        return Box::new(|_| {});
    }
    Box::new(|record: &Record| {
        if let Ok(line) = serde_json::to_string(record) {
            super::terminal::print_line(&line);
        }
    })
}

/// Reads calls, one a line. Empty lines do not count.
fn read_calls(file: &Path) -> anyhow::Result<Vec<(usize, Call)>> {
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
        bail!("{name} holds no calls; each line is {{\"tool\": NAME, \"args\": {{...}}}}");
    }
    Ok(calls)
}

fn read_call(line: &str) -> anyhow::Result<Call> {
    let json: Json = serde_json::from_str(line).context("it is not JSON")?;
    let Json::Object(mut map) = json else { bail!("a call is an object: {EXAMPLE}") };
    let Some(Json::String(tool)) = map.remove("tool") else {
        bail!("`tool` is missing or no string: {EXAMPLE}")
    };
    let args = map.remove("args").unwrap_or_else(|| json!({}));
    if let Some(unknown) = map.keys().next() {
        bail!("`{unknown}` is not known here; a call is {EXAMPLE}");
    }
    Ok(Call::new(tool, args))
}

const EXAMPLE: &str = r#"{"tool": "set_properties", "args": {...}}"#;

/// The tool that makes one proposal of several calls.
const WHOLE: &str = "propose_changes";

/// A list of calls as one proposal: all or nothing. One that is that already stays as it is.
fn as_one(mut calls: Vec<(usize, Call)>, title: &str) -> Call {
    if calls.len() == 1 && calls[0].1.tool == WHOLE {
        return calls.remove(0).1;
    }
    let changes: Vec<Json> = calls
        .into_iter()
        .map(|(line, call)| json!({ "tool": call.tool, "args": call.args, "line": line }))
        .collect();
    Call::new(WHOLE, json!({ "title": title, "changes": changes }))
}

/// Works until nothing is left, asking whoever decides.
pub(super) fn decide_all(
    engine: &mut Engine,
    decide: &Decide,
    terminal: &Terminal,
    dry_run: bool,
) -> anyhow::Result<Exit> {
    let is_look = dry_run && !decide.yes && decide.mode == ModeName::Confirm;
    let mut session = Session {
        // A dry run says yes where nothing else was said, and otherwise ends as the real run would.
        all: (decide.yes || is_look).then_some(Approver::Yes),
        force: decide.force || is_look,
        shown: BTreeSet::new(),
        heard: 0,
        planned: false,
    };
    loop {
        let due = terminal.busy("Working", || engine.run());
        let asked = match due {
            Ok(Due::Decision(proposal)) => Some(proposal),
            _ => None,
        };
        show_new(engine, terminal, &mut session, asked);
        match due? {
            Due::Nothing | Due::Studio => break,
            Due::Model => {
                let before = engine.workflow().map_or(0, |it| it.words().count());
                if model::ask(engine, terminal)? {
                    let now = engine.workflow().map_or(0, |it| it.words().count());
                    session.heard += usize::from(now > before);
                }
            }
            Due::Look(call) => model::look(engine, call, terminal)?,
            Due::Answer(call) => {
                if !model::answer(engine, call, terminal)? {
                    engine.input(Input::Finish { outcome: Finish::NotApproved })?;
                }
            }
            Due::Call | Due::GoAhead => {
                if !model::goes_on(engine, terminal)? {
                    engine.input(Input::Finish { outcome: Finish::Failed })?;
                }
            }
            Due::Decision(proposal) => {
                if !decide_one(engine, proposal, terminal, &mut session)? {
                    engine.input(Input::Finish { outcome: Finish::NotApproved })?;
                }
            }
        }
    }
    let run = engine.seq();
    let ended = engine.workflow().map(|workflow| conclude((run, workflow), terminal, dry_run));
    Ok(ended.unwrap_or(Exit::Failed))
}

/// What a person has said for all cards of this run, and has seen of it.
#[derive(Debug)]
pub(super) struct Session {
    /// Yes to every card, and in which way it was said.
    pub(super) all: Option<Approver>,
    /// Also to those that need a second confirmation.
    pub(super) force: bool,
    /// The cards that were shown.
    pub(super) shown: BTreeSet<Seq>,
    /// How many of the model's words were shown.
    heard: usize,
    /// Whether the model's plan was shown.
    planned: bool,
}

/// Shows what was said, and the cards that have not been seen: the one that is asked about, and those
/// that needed no asking. Others wait for their turn.
fn show_new(engine: &Engine, terminal: &Terminal, session: &mut Session, asked: Option<Seq>) {
    let Some(workflow) = engine.workflow() else {
        return;
    };
    let mut words = workflow.words().skip(session.heard);
    session.heard += words.clone().count();
    if !session.planned && !workflow.plan.is_empty() {
        session.planned = true;
        // A plan is announced, and then told.
        words.next().into_iter().for_each(|text| terminal.said(text));
        terminal.plan(&workflow.plan);
    }
    words.for_each(|text| terminal.said(text));
    for (seq, pending) in workflow.proposals() {
        let is_due = match pending.status {
            Status::Waiting => asked == Some(seq),
            Status::Withdrawn(_) => false,
            _ => true,
        };
        if is_due && session.shown.insert(seq) {
            terminal.card(seq, &pending.proposal);
        }
    }
}

/// Gets a decision on one proposal; false where the run is over.
fn decide_one(
    engine: &mut Engine,
    proposal: Seq,
    terminal: &Terminal,
    session: &mut Session,
) -> anyhow::Result<bool> {
    let twice = engine
        .workflow()
        .and_then(|workflow| workflow.proposal(proposal))
        .is_some_and(|pending| needs_second_confirmation(&pending.proposal));
    if let Some(by) = session.all
        && (!twice || session.force)
    {
        engine.approve(proposal, by, twice)?;
        return Ok(true);
    }
    if terminal.can_ask() {
        return Ok(ask::ask(engine, proposal, terminal, session)? == Flow::Go);
    }
    if session.all.is_some() {
        // The run goes on: what comes later may need no second look.
        let reason = "It has a warning that needs a second confirmation, and nobody gave one.";
        engine.input(Input::Reject { proposal, reason: Some(reason.to_owned()) })?;
        say(&format!(
            "Proposal {proposal} has a warning that needs a second confirmation. Read it, and run \
             again with --force as well if you want it."
        ));
        return Ok(true);
    }
    say("Not approved: there is no terminal to ask on. --yes approves every card; --mode auto \
         approves what only adds and has no warnings.");
    Ok(false)
}

/// Says how it ended, and what the exit code is.
fn conclude(run: (Seq, &Workflow), terminal: &Terminal, dry_run: bool) -> Exit {
    terminal.summary(run, dry_run);
    let (_, workflow) = run;
    let mut counts = Counts::default();
    for (seq, pending) in workflow.proposals() {
        match &pending.status {
            Status::Applied(_) | Status::Undone(_) => counts.applied += 1,
            Status::Failed(reason) => {
                counts.failed += 1;
                say(&format!("error: proposal {seq} was not applied: {reason}"));
            }
            Status::Rejected(_) if workflow.was_revised(seq) => {}
            Status::Withdrawn(_) if workflow.was_replanned(seq) => {}
            Status::Rejected(_) | Status::Withdrawn(_) => counts.rejected += 1,
            Status::Waiting | Status::Approved | Status::Applying(_) => counts.failed += 1,
        }
    }
    let is_list = workflow.driver == CALLS;
    for (call, reason) in workflow.refusals() {
        if is_list {
            counts.failed += 1;
            let place = match workflow.calls() {
                1 => String::new(),
                _ => format!("call {}: ", workflow.call_number(call)),
            };
            // The list is one call inside; the person wrote only its lines.
            let inner = reason.strip_prefix(WHOLE).and_then(|it| it.strip_prefix(": "));
            let reason = inner.unwrap_or(reason);
            say(&format!("error: {place}{reason}"));
        }
    }
    if counts.rejected > 0 || workflow.finished == Some(Finish::NotApproved) {
        Exit::NotApproved
    } else if counts.failed > 0 || workflow.finished == Some(Finish::Failed) {
        Exit::Failed
    } else {
        Exit::Done
    }
}

#[derive(Default)]
struct Counts {
    applied: usize,
    rejected: usize,
    failed: usize,
}
