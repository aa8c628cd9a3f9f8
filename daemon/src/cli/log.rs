//! `vector log`: lists the requests, proposals, decisions and results in the ledger.
//!
//! It only reads. With `--json` it prints the records as stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, ValueEnum};
use scene_schemas::InstancePath;
use scene_schemas::entry::{Finish, Place, Record, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use vector_core::calendar::UtcMoment;
use vector_core::workflow::{CALLS, LedgerState, PendingProposal, PendingStatus, Workflow};
use vector_files::disk::canonical_path;
use vector_ledger::Ledger;

use super::ExitStatus;
use super::card::{class_name, class_paint};
use super::card_links::LogLinks;
use super::style::{PaintKind, TextStyle, terminal_line};
use super::terminal::{Terminal, print_status, print_stdout, stdout_style};

const PAGE: usize = 5_000;

/// List requests, proposals, decisions and results; newest last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector log
  vector log --limit 5
  vector log --path game.ServerScriptService.Shop   # what changed this script
  vector log --place game.rbxl --outcome applied
  vector log coins                                  # in requests, titles and paths
  vector log --json | jq 'select(.entry == \"applied\")'")]
pub(super) struct LogArgs {
    /// Only entries with this text in their request, titles or paths; case-insensitive
    text: Option<String>,
    /// Only proposals that change this instance or its descendants
    #[arg(long, value_name = "PATH")]
    path: Option<InstancePath>,
    /// Only entries of this place: its file, its project, or its name
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
    /// Only proposals with this outcome
    #[arg(long, value_enum, value_name = "OUTCOME")]
    outcome: Option<OutcomeFilter>,
    /// Only the last N matching runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Print the ledger's entries as JSON lines
    #[arg(long)]
    json: bool,
}

/// The outcome of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutcomeFilter {
    /// Waiting for a decision
    Waiting,
    /// Applied and not reverted
    Applied,
    /// Applied and later reverted
    Reverted,
    /// Rejected by a person
    Rejected,
    /// Withdrawn, because its base changed or its run ended
    Withdrawn,
    /// It could not be applied
    Failed,
}

impl OutcomeFilter {
    fn matches(self, seq: Seq, pending: &PendingProposal, reverted: &HashMap<Seq, Seq>) -> bool {
        match (self, &pending.status) {
            (
                Self::Waiting,
                PendingStatus::Waiting
                | PendingStatus::Drafted
                | PendingStatus::Approved
                | PendingStatus::Applying(_),
            )
            | (Self::Rejected, PendingStatus::Rejected(_))
            | (Self::Withdrawn, PendingStatus::Withdrawn(_))
            | (Self::Failed, PendingStatus::Failed(_))
            | (Self::Reverted, PendingStatus::Undone(_)) => true,
            (Self::Applied, PendingStatus::Applied(_)) => !reverted.contains_key(&seq),
            (Self::Reverted, PendingStatus::Applied(_)) => reverted.contains_key(&seq),
            _ => false,
        }
    }
}

impl LogArgs {
    fn has_filter(&self) -> bool {
        self.text.is_some() || self.path.is_some() || self.place.is_some() || self.outcome.is_some()
    }

    /// The proposals of a run that match the filter. None if the run itself does not match.
    fn matching_proposals(
        &self,
        workflow: &Workflow,
        reverted: &HashMap<Seq, Seq>,
    ) -> Option<BTreeSet<Seq>> {
        if let Some(place) = &self.place
            && !is_named_place(&workflow.place, place)
        {
            return None;
        }
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        let has_match =
            |own: &str| text.as_ref().is_none_or(|text| own.to_lowercase().contains(text));
        let is_asked = has_match(&workflow.goal);
        let fits = |&(seq, pending): &(Seq, &PendingProposal)| {
            let touched = || changed_paths(&pending.proposal);
            let has_text = is_asked
                || has_match(&pending.proposal.title)
                || touched().any(|path| has_match(&path.to_string()));
            let is_below =
                self.path.as_ref().is_none_or(|path| touched().any(|it| it.is_within(path)));
            let is_outcome = self.outcome.is_none_or(|it| it.matches(seq, pending, reverted));
            has_text && is_below && is_outcome
        };
        let fitting: BTreeSet<Seq> =
            workflow.proposals().filter(fits).map(|(seq, _)| seq).collect();
        // A run without proposals can only match by its request.
        let is_run = self.path.is_none() && self.outcome.is_none() && is_asked;
        (is_run || !fitting.is_empty()).then_some(fitting)
    }
}

/// Whether a place matches a name given by the user.
fn is_named_place(place: &Place, named: &str) -> bool {
    let file = match place {
        Place::File(place) => Some(place.out.as_ref().unwrap_or(&place.file)),
        Place::Project(place) => Some(&place.project),
        Place::Open(_) => None,
    };
    let real = || canonical_path(Path::new(named)).ok();
    let is_file = |file: &String| {
        real().is_some_and(|real| {
            let file = Path::new(file);
            file == real || file.parent() == Some(&real) && matches!(place, Place::Project(_))
        })
    };
    place.name() == named || place.session_id().0 == named || file.is_some_and(is_file)
}

/// The paths of the instances and scripts that a proposal changes.
fn changed_paths(proposal: &Proposal) -> impl Iterator<Item = &InstancePath> {
    let rows = proposal.preview.rows.iter().map(|row| &row.path);
    rows.chain(proposal.preview.scripts.iter().map(|script| &script.path))
}

pub(super) fn run(args: &LogArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Ledger::open(home)?;
    let mut state = LedgerState::default();
    let mut began: Vec<(Seq, u64)> = Vec::new();
    for_each_record(&ledger, |record| {
        state.apply_record(record);
        if record.seq == record.workflow {
            began.push((record.seq, record.at));
        }
        Ok(())
    })?;
    let reverted = find_reverted(&state);
    let mut fitting: HashMap<Seq, BTreeSet<Seq>> = HashMap::new();
    if args.has_filter() {
        for (seq, _) in &began {
            let workflow = state.workflow(*seq);
            if let Some(found) = workflow.and_then(|it| args.matching_proposals(it, &reverted)) {
                fitting.insert(*seq, found);
            }
        }
        began.retain(|(seq, _)| fitting.contains_key(seq));
    }
    let first = args.limit.map_or(0, |limit| began.len().saturating_sub(limit as usize));
    let began = &began[first..];
    if args.json {
        let shown: BTreeSet<Seq> = began.iter().map(|(seq, _)| *seq).collect();
        for_each_record(&ledger, |record| {
            if shown.contains(&record.workflow) {
                print_stdout(&format!("{}\n", serde_json::to_string(record)?))?;
            }
            Ok(())
        })?;
        return Ok(ExitStatus::Done);
    }
    if began.is_empty() {
        print_status(if args.has_filter() {
            "Nothing matches; `vector log` without filters lists everything."
        } else {
            "Nothing has been done yet; start with `vector edit`."
        });
        return Ok(ExitStatus::Done);
    }
    let style = stdout_style();
    let links = LogLinks::new(home, &Terminal::for_command(false));
    let mut text = String::new();
    for (at, (seq, time)) in began.iter().enumerate() {
        if let Some(workflow) = state.workflow(*seq) {
            if at > 0 {
                text.push('\n');
            }
            let shown = fitting.get(seq);
            let list = ProposalList { reverted: &reverted, shown, links: &links };
            text.push_str(&render_run(*seq, workflow, *time, list, style));
        }
    }
    text.push_str(
        &style.paint(
            PaintKind::Dim,
            "\nTo revert a proposal, or all of a run: vector revert NUMBER\n",
        ),
    );
    print_stdout(&text)?;
    Ok(ExitStatus::Done)
}

fn for_each_record(
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

/// Replays all records of the ledger.
pub(super) fn replay_ledger(ledger: &Ledger) -> anyhow::Result<LedgerState> {
    let mut state = LedgerState::default();
    for_each_record(ledger, |record| {
        state.apply_record(record);
        Ok(())
    })?;
    Ok(state)
}

/// The reverted proposals and the proposals that reverted them, in the same file. A proposal whose
/// revert was itself reverted is not included.
pub(super) fn find_reverted(state: &LedgerState) -> HashMap<Seq, Seq> {
    let proposals = || state.workflows().flat_map(|(_, workflow)| workflow.proposals());
    let applied = proposals().filter_map(|(seq, pending)| match &pending.status {
        PendingStatus::Applied(ack) => Some((seq, (pending, ack.as_ref()))),
        _ => None,
    });
    let applied: BTreeMap<Seq, (&PendingProposal, &Ack)> = applied.collect();
    // Newest first: whether a revert is still in force is known before the proposals that it
    // reverts are examined.
    let mut reverted: HashMap<Seq, Seq> = HashMap::new();
    for (by, (pending, revert_ack)) in applied.iter().rev() {
        if reverted.contains_key(by) {
            continue;
        }
        for of in pending.proposal.reverted_proposals() {
            if applied.get(&of).is_some_and(|(_, there)| revert_ack.file == there.file) {
                reverted.insert(of, *by);
            }
        }
    }
    reverted
}

/// How the proposals of a run are listed.
#[derive(Debug, Clone, Copy)]
struct ProposalList<'a> {
    /// The reverted proposals, with those that reverted them.
    reverted: &'a HashMap<Seq, Seq>,
    /// Those that are listed. None for all.
    shown: Option<&'a BTreeSet<Seq>>,
    links: &'a LogLinks,
}

fn render_run(
    seq: Seq,
    workflow: &Workflow,
    time: u64,
    list: ProposalList<'_>,
    style: TextStyle,
) -> String {
    let goal = terminal_line(workflow.goal.lines().next().unwrap_or_default()).into_owned();
    let driver = match workflow.driver.as_str() {
        CALLS => "calls",
        other => other,
    };
    let ended = match (workflow.finished, workflow.disconnected_agent()) {
        (Some(Finish::Done), _) => "done".to_owned(),
        (Some(Finish::NotApproved), _) => "not approved".to_owned(),
        (Some(Finish::Failed), _) => "failed".to_owned(),
        (None, Some(client)) => format!("ended, {} disconnected", terminal_line(client)),
        (None, None) => "not finished".to_owned(),
    };
    let place = workflow.place.name();
    let mut text = format!(
        "{}  {}\n{}\n",
        style.paint(PaintKind::Dim, format_time(time)),
        style.paint(PaintKind::Bold, goal),
        style.paint(
            PaintKind::Dim,
            format!("  run {seq}, {}, {}, {ended}", terminal_line(&place), terminal_line(driver))
        )
    );
    for attached in &workflow.attached {
        let description = terminal_line(&attached.describe()).into_owned();
        let _ =
            writeln!(text, "{}", style.paint(PaintKind::Dim, format!("  attached: {description}")));
    }
    for (_, reason) in workflow.refusals() {
        let _ = writeln!(
            text,
            "  {} {}",
            style.paint(PaintKind::Removed, "refused:"),
            terminal_line(reason)
        );
    }
    let is_shown = |seq: &Seq| list.shown.is_none_or(|shown| shown.contains(seq));
    for (seq, pending) in workflow.proposals().filter(|(seq, _)| is_shown(seq)) {
        text.push_str(&render_proposal(workflow, seq, pending, list, style));
    }
    text
}

fn render_proposal(
    workflow: &Workflow,
    seq: Seq,
    pending: &PendingProposal,
    list: ProposalList<'_>,
    style: TextStyle,
) -> String {
    let class = pending.proposal.class;
    let (label, why) = match &pending.status {
        PendingStatus::Waiting => ("waiting", None),
        PendingStatus::Drafted => {
            ("drafted", Some("decided with the result of the lead".to_owned()))
        }
        PendingStatus::Approved | PendingStatus::Applying(_) => ("approved", None),
        PendingStatus::Applied(_) => {
            ("applied", list.reverted.get(&seq).map(|by| format!("reverted by {by}")))
        }
        PendingStatus::Undone(_) => ("undone", Some("in Studio".to_owned())),
        PendingStatus::Rejected(_) if workflow.is_revised(seq) => {
            ("changed", Some("replaced by a part or a changed version".to_owned()))
        }
        PendingStatus::Rejected(reason) => ("rejected", reason.clone()),
        PendingStatus::Withdrawn(reason) => ("withdrawn", Some(reason.clone())),
        PendingStatus::Failed(reason) => ("failed", Some(reason.clone())),
    };
    let paint = match &pending.status {
        PendingStatus::Applied(_) => PaintKind::Added,
        PendingStatus::Failed(_) => PaintKind::Removed,
        _ => PaintKind::Dim,
    };
    let title = terminal_line(&pending.proposal.title_with_path()).into_owned();
    let mut text = format!(
        "{}  {}  {}  {}\n",
        list.links.link_number(seq, 6),
        style.paint(class_paint(class), format!("{:<11}", class_name(class))),
        style.paint(paint, format!("{label:<9}")),
        list.links.link_title(&workflow.place, &pending.proposal, &title),
    );
    if let Some(why) = why {
        let why = format!("{:32}{}", "", terminal_line(&why));
        let _ = writeln!(text, "{}", style.paint(PaintKind::Dim, why));
    }
    text
}

/// Formats milliseconds since 1970 as a date and time in UTC.
pub(super) fn format_time(at: u64) -> String {
    let UtcMoment { year, month, day, hour, minute, second } = UtcMoment::from_seconds(at / 1000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::format_time;

    #[test]
    fn times_are_formatted_as_calendar_dates() {
        assert_eq!(format_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(format_time(951_782_399_000), "2000-02-28 23:59:59 UTC");
        assert_eq!(format_time(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(format_time(4_107_542_400_000), "2100-03-01 00:00:00 UTC");
        assert_eq!(format_time(1_796_083_200_000), "2026-12-01 00:00:00 UTC");
    }
}
