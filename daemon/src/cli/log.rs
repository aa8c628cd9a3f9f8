//! `vector log`: the ledger as a list of what was asked, proposed, decided and done.
//!
//! It only reads. With `--json` it prints the records as they lie in the ledger.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use scene_schemas::entry::{Finish, Record, Seq};
use scene_schemas::proposal::Ack;

use super::Exit;
use super::card::{class_name, class_paint};
use super::style::{Paint, Style, safe};
use super::terminal::{print, say, stdout_style};
use crate::core::calendar::Moment;
use crate::core::workflow::{CALLS, Pending, State, Status, Workflow};
use crate::engine::REVERT;
use crate::ledger::Ledger;

/// Records that are read at once.
const PAGE: usize = 5_000;

/// List what was asked, proposed, decided and done; newest last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector log
  vector log --limit 5
  vector log --json | jq 'select(.entry == \"applied\")'")]
pub(super) struct Log {
    /// Only the last N workflows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Print the ledger's entries as JSON lines
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Log, home: &Path) -> anyhow::Result<Exit> {
    let ledger = Ledger::open(home)?;
    let mut state = State::default();
    let mut began: Vec<(Seq, u64)> = Vec::new();
    for_each(&ledger, |record| {
        state.apply(record);
        if record.seq == record.workflow {
            began.push((record.seq, record.at));
        }
        Ok(())
    })?;
    let first = args.limit.map_or(0, |limit| began.len().saturating_sub(limit as usize));
    let began = &began[first..];
    if args.json {
        let from = began.first().map_or(Seq(u64::MAX), |(seq, _)| *seq);
        for_each(&ledger, |record| {
            if record.workflow >= from {
                print(&format!("{}\n", serde_json::to_string(record)?))?;
            }
            Ok(())
        })?;
        return Ok(Exit::Done);
    }
    if began.is_empty() {
        say("Nothing was done yet; `vector edit` begins.");
        return Ok(Exit::Done);
    }
    let (reverted, style) = (reverted(&state), stdout_style());
    let mut text = String::new();
    for (at, (seq, time)) in began.iter().enumerate() {
        if let Some(workflow) = state.workflow(*seq) {
            if at > 0 {
                text.push('\n');
            }
            text.push_str(&render((*seq, workflow), *time, &reverted, style));
        }
    }
    text.push_str(
        &style.paint(
            Paint::Dim,
            "\nTake an applied one, or all of a run, back: vector revert NUMBER\n",
        ),
    );
    print(&text)?;
    Ok(Exit::Done)
}

fn for_each(
    ledger: &Ledger,
    mut each: impl FnMut(&Record) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after = Seq(0);
    loop {
        let page = ledger.read(after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.seq;
        page.iter().try_for_each(&mut each)?;
    }
}

/// Everything that the ledger says.
pub(super) fn replay(ledger: &Ledger) -> anyhow::Result<State> {
    let mut state = State::default();
    for_each(ledger, |record| {
        state.apply(record);
        Ok(())
    })?;
    Ok(state)
}

fn ack(state: &State, seq: Seq) -> Option<&Ack> {
    let proposal = state.workflows().find_map(|(_, workflow)| workflow.proposal(seq))?;
    match &proposal.status {
        Status::Applied(ack) => Some(ack),
        _ => None,
    }
}

/// The proposals that were taken back, whole and in their file, and by which one; those that were brought back again are not
/// among them.
pub(super) fn reverted(state: &State) -> HashMap<Seq, Seq> {
    let all = state.workflows().flat_map(|(_, workflow)| {
        workflow.proposals().filter_map(|(seq, pending)| {
            let (tool, args) = workflow.call(pending.call)?;
            let of = args.get("proposal")?.as_u64().map(Seq)?;
            let is_whole = tool == REVERT && pending.proposal.from == Some(of);
            let same_file = match (&pending.status, ack(state, of)) {
                (Status::Applied(back), Some(there)) => back.file == there.file,
                _ => false,
            };
            (is_whole && same_file).then_some((of, seq))
        })
    });
    let all: Vec<(Seq, Seq)> = all.collect();
    // Newest first: whether a way back still counts is known before what it took back is looked at.
    let mut reverted: HashMap<Seq, Seq> = HashMap::new();
    for (of, by) in all.into_iter().rev() {
        if !reverted.contains_key(&by) {
            reverted.insert(of, by);
        }
    }
    reverted
}

fn render(
    (seq, workflow): (Seq, &Workflow),
    time: u64,
    reverted: &HashMap<Seq, Seq>,
    style: Style,
) -> String {
    let goal = safe(workflow.goal.lines().next().unwrap_or_default()).into_owned();
    let driver = match workflow.driver.as_str() {
        CALLS => "calls",
        other => other,
    };
    let ended = match workflow.finished {
        Some(Finish::Done) => "done",
        Some(Finish::NotApproved) => "not approved",
        Some(Finish::Failed) => "failed",
        None => "not finished",
    };
    let place = workflow.place.name();
    let mut text = format!(
        "{}  {}\n{}\n",
        style.paint(Paint::Dim, date(time)),
        style.paint(Paint::Bold, goal),
        style
            .paint(Paint::Dim, format!("  run {seq}, {}, {}, {ended}", safe(&place), safe(driver)))
    );
    for attached in &workflow.attached {
        let said = safe(&attached.sentence()).into_owned();
        let _ = writeln!(text, "{}", style.paint(Paint::Dim, format!("  attached: {said}")));
    }
    for (_, reason) in workflow.refusals() {
        let _ = writeln!(text, "  {} {}", style.paint(Paint::Removed, "refused:"), safe(reason));
    }
    for (seq, pending) in workflow.proposals() {
        text.push_str(&line(workflow, seq, pending, reverted, style));
    }
    text
}

fn line(
    workflow: &Workflow,
    seq: Seq,
    pending: &Pending,
    reverted: &HashMap<Seq, Seq>,
    style: Style,
) -> String {
    let class = pending.proposal.class;
    let (word, why) = match &pending.status {
        Status::Waiting => ("waiting", None),
        Status::Approved | Status::Applying(_) => ("approved", None),
        Status::Applied(_) => {
            ("applied", reverted.get(&seq).map(|by| format!("taken back by {by}")))
        }
        Status::Undone(_) => ("undone", Some("in Studio".to_owned())),
        Status::Rejected(_) if workflow.was_revised(seq) => {
            ("changed", Some("a part or a changed form stands for it".to_owned()))
        }
        Status::Rejected(reason) => ("rejected", reason.clone()),
        Status::Withdrawn(reason) => ("withdrawn", Some(reason.clone())),
        Status::Failed(reason) => ("failed", Some(reason.clone())),
    };
    let paint = match &pending.status {
        Status::Applied(_) => Paint::Added,
        Status::Failed(_) => Paint::Removed,
        _ => Paint::Dim,
    };
    let mut text = format!(
        "{:>6}  {}  {}  {}\n",
        seq.0,
        style.paint(class_paint(class), format!("{:<11}", class_name(class))),
        style.paint(paint, format!("{word:<9}")),
        safe(&pending.proposal.title),
    );
    if let Some(why) = why {
        let why = format!("{:32}{}", "", safe(&why));
        let _ = writeln!(text, "{}", style.paint(Paint::Dim, why));
    }
    text
}

/// Milliseconds since 1970 as a date and time in UTC.
pub(super) fn date(at: u64) -> String {
    let Moment { year, month, day, hour, minute, second } = Moment::of(at / 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_the_calendar_s() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_399_000), "2000-02-28 23:59:59 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(4_107_542_400_000), "2100-03-01 00:00:00 UTC");
        assert_eq!(date(1_796_083_200_000), "2026-12-01 00:00:00 UTC");
    }
}
