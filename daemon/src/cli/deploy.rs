//! `vector deploy`: uploads a place to Roblox as a saved version, and publishes it after a second yes.
//!
//! `crate::tasks::deploy` does the work. This module asks, and prints the results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::entry::{Approver, Seq, VersionKind};
use serde_json::json;
use vector_ledger::Ledger;

use super::log::format_time;
use super::place_arg::PlaceArg;
use super::style::{PaintKind, count_noun, terminal_line};
use super::terminal::{
    Terminal, confirm_question, escape_line_ends, print_line, print_status, print_stdout,
    stdout_style,
};
use super::{ExitStatus, interrupt};
use crate::tasks::deploy::{
    DeployPlan, DeploySource, DeployTarget, PastUpload, UploadHistory, UploadOutcome,
    VersionChanges, choose_target, deploy_version, plan_deploy,
};

/// Upload a place to Roblox: save it as a version, and publish it after a second yes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector deploy game.rbxl --universe 123 --place-id 456    # saves a version; players do not see it
  vector deploy game.rbxl --publish                        # asks again, then publishes it
  vector deploy --list                                     # what was uploaded
  vector deploy --again 812 --publish                      # publishes an earlier version again
  vector deploy . --publish --yes --confirm-publish 456    # in CI

The version is uploaded with an API key of yours, with the scope universe-places:write:
`vector key set roblox-publish` stores it, or ROBLOX_PUBLISH_API_KEY holds it. The place file is kept in
the ledger.

Exit codes: 0 done; 1 failed; 2 usage; 3 not approved.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct DeployArgs {
    /// The place, or a Rojo project: its file or its folder
    #[arg(default_value = ".")]
    place: PathBuf,
    /// The universe's ID, as on the Creator Dashboard [default: that of the last upload of this
    /// place, or gameId of the project file]
    #[arg(long, value_name = "ID", requires = "place_id", conflicts_with = "again")]
    universe: Option<u64>,
    /// The place's ID [default: that of the last upload of this place, or placeId of the project
    /// file]
    #[arg(long, value_name = "ID", requires = "universe")]
    place_id: Option<u64>,
    /// Publish the version after it was saved
    #[arg(long)]
    publish: bool,
    /// Save the version without asking
    #[arg(long, short)]
    yes: bool,
    /// Publish the version without asking again, to the place with this ID
    #[arg(long, value_name = "ID", requires_all = ["publish", "yes"])]
    confirm_publish: Option<u64>,
    /// Use the contents of an earlier upload, by its number in the list
    #[arg(long, value_name = "NUMBER", conflicts_with = "place")]
    again: Option<u64>,
    /// List the uploads, newest last
    #[arg(long, conflicts_with_all = ["publish", "yes", "again", "dry_run"])]
    list: bool,
    /// Show what would be uploaded, without uploading
    #[arg(long, conflicts_with_all = ["publish", "yes"])]
    dry_run: bool,
    /// Print JSON: an object for each version, one per line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DeployArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Ledger::open(home)?;
    if args.list {
        print_stdout(&list_uploads(&ledger, args)?)?;
        return Ok(ExitStatus::Done);
    }
    let terminal = Terminal::for_command(args.json);
    let (source, target) = if let Some(seq) = args.again {
        DeploySource::earlier(&ledger, Seq(seq))?
    } else {
        let place = PlaceArg::from_args(Some(&args.place), None)?;
        let is_project = matches!(place, PlaceArg::Project(_));
        let read = || DeploySource::read(&args.place, is_project);
        let source = terminal.with_spinner("Reading the place", read)?;
        let target = target_of(&ledger, &source, args)?;
        (source, target)
    };
    if args.confirm_publish.is_some_and(|place| place != target.place) {
        bail!("--confirm-publish names another place than {target}; nothing was uploaded");
    }
    let compare = || plan_deploy(&ledger, &source, target);
    let plan = terminal.with_spinner("Comparing with the published version", compare)?;
    print_status(&render_plan(&source, &plan));
    let run = DeployRun { args, ledger: &ledger, terminal: &terminal, source, plan };
    run.save_and_publish()
}

/// A deploy that the user was shown.
struct DeployRun<'a> {
    args: &'a DeployArgs,
    ledger: &'a Ledger,
    terminal: &'a Terminal,
    source: DeploySource,
    plan: DeployPlan,
}

impl DeployRun<'_> {
    fn save_and_publish(&self) -> anyhow::Result<ExitStatus> {
        let target = self.plan.target;
        let is_published = self
            .plan
            .published
            .as_ref()
            .is_some_and(|published| published.upload.contents == self.source.contents);
        let existing = self.plan.existing.as_ref().and_then(PastUpload::version);
        // Somebody may have published another version since, from Studio: an earlier one that is named
        // can always be published again.
        let is_settled = is_published && self.args.again.is_none();
        if let Some(version) = existing.filter(|_| is_settled || !self.args.publish) {
            let published = if is_published { " and are published" } else { "" };
            print_status(&format!(
                "Nothing to upload: the contents are version {version} of {target} already{published}."
            ));
            return Ok(ExitStatus::Done);
        }
        if self.args.dry_run {
            return Ok(ExitStatus::Done);
        }
        let saved = match existing {
            Some(version) => {
                print_status(&format!("The contents are saved as version {version} already."));
                version
            }
            None if !self.is_save_approved()? => return Ok(ExitStatus::NotApproved),
            None => self.upload(VersionKind::Saved)?,
        };
        if !self.args.publish {
            return Ok(ExitStatus::Done);
        }
        if !self.is_publish_approved(saved)? {
            return Ok(ExitStatus::NotApproved);
        }
        self.upload(VersionKind::Published)?;
        Ok(ExitStatus::Done)
    }

    fn is_save_approved(&self) -> anyhow::Result<bool> {
        let question = "Save it as a version? Players do not see it. [y/N]";
        let otherwise = "--yes saves it without asking";
        Ok(self.args.yes || confirm_question(question, "Nothing was uploaded", otherwise)?)
    }

    /// Asks for the second yes, which names the place.
    fn is_publish_approved(&self, version: u64) -> anyhow::Result<bool> {
        let DeployTarget { place, .. } = self.plan.target;
        if self.args.confirm_publish.is_some() {
            return Ok(true);
        }
        let nothing = "The version was not published";
        if !self.terminal.can_ask() {
            print_status(&format!(
                "{nothing}: there is no terminal to ask on. --yes --confirm-publish {place} publishes it."
            ));
            return Ok(false);
        }
        print_status(
            "Publishing: new servers of the game run this version. Servers that run now keep theirs \
             until they end or you restart them.",
        );
        let question = format!("To publish version {version}, type the place's ID, {place}:");
        let answer = self.terminal.ask_line(&question)?.unwrap_or_default();
        let is_yes = answer.trim() == place.to_string();
        if !is_yes {
            print_status(&format!("{nothing}."));
        }
        Ok(is_yes)
    }

    fn upload(&self, kind: VersionKind) -> anyhow::Result<u64> {
        let target = self.plan.target;
        let by = if self.args.yes { Approver::Yes } else { Approver::Person };
        let cancel = interrupt::cancel_switch();
        let upload = || deploy_version(self.ledger, &self.source, target, kind, by, &cancel);
        let what = format!("Uploading {}", format_size(self.source.bytes.len() as u64));
        let version = self.terminal.with_spinner(&what, upload)?;
        if self.args.json {
            let line = json!({
                "universe": target.universe, "place": target.place, "version": version,
                "kind": kind, "contents": self.source.contents,
            });
            print_line(&escape_line_ends(&line.to_string()));
        } else {
            let done = match kind {
                VersionKind::Saved => "Saved as",
                VersionKind::Published => "Published",
            };
            print_line(&format!("{done} version {version} of {target}."));
        }
        Ok(version)
    }
}

/// Returns the place of Roblox to upload to.
fn target_of(
    ledger: &Ledger,
    source: &DeploySource,
    args: &DeployArgs,
) -> anyhow::Result<DeployTarget> {
    if let (Some(universe), Some(place)) = (args.universe, args.place_id) {
        return Ok(DeployTarget { universe, place });
    }
    if let Some(target) = choose_target(ledger, &source.place)? {
        return Ok(target);
    }
    bail!(
        "say where to upload it: --universe ID --place-id ID. Both are in the menu of the place at \
         https://create.roblox.com/dashboard/creations; later deploys of this place use them again"
    )
}

fn render_plan(source: &DeploySource, plan: &DeployPlan) -> String {
    let style = stdout_style();
    let mut text = String::new();
    let name = terminal_line(&source.place.name()).into_owned();
    let _ = writeln!(text, "{}", style.paint(PaintKind::Bold, format!("Deploy {name}")));
    let _ = writeln!(text, "  to {}, {}", plan.target, format_size(source.bytes.len() as u64));
    if let Some(earlier) = source.earlier {
        let _ = writeln!(text, "  with the contents of upload {earlier}");
    }
    for past in &plan.interrupted {
        let _ = writeln!(
            text,
            "note: upload {} was interrupted, and Roblox may have its version. The same contents get the \
             same version.",
            past.seq
        );
    }
    let changes = &plan.changes;
    if let Some(past) = &plan.published {
        let version = past.version().unwrap_or_default();
        let (when, what) = (format_time(past.at), describe_changes(changes));
        let _ = writeln!(text, "Since version {version}, published {when}: {what}");
    } else {
        let what = count_noun(changes.added, "instance");
        let _ = writeln!(text, "Nothing was published to it with this ledger before: {what}");
    }
    for line in &changes.lines {
        let _ = writeln!(text, "  {}", terminal_line(line));
    }
    if changes.more > 0 {
        let _ = writeln!(text, "  and {} more", changes.more);
    }
    if !changes.not_updated.is_empty() {
        text.push_str(
            "warning: an upload does not change these on Roblox; publish the place in Studio for them:\n",
        );
        for it in changes.not_updated.iter().take(MAX_NOT_UPDATED) {
            let _ = writeln!(text, "  {}", terminal_line(it));
        }
        let more = changes.not_updated.len().saturating_sub(MAX_NOT_UPDATED);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Maximum instances that are named as not updated.
const MAX_NOT_UPDATED: usize = 10;

fn describe_changes(changes: &VersionChanges) -> String {
    if changes.is_empty() {
        return "no differences".to_owned();
    }
    let parts = [
        (changes.added, "instance", "added"),
        (changes.removed, "instance", "removed"),
        (changes.changed, "instance", "changed"),
        (changes.scripts, "script", "with another text"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts = parts.map(|(count, noun, what)| format!("{} {what}", count_noun(count, noun)));
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn format_size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn list_uploads(ledger: &Ledger, args: &DeployArgs) -> anyhow::Result<String> {
    let mut text = String::new();
    for past in UploadHistory::read(ledger)?.uploads {
        let PastUpload { seq, at, ref upload, ref outcome, .. } = past;
        if args.json {
            let version = past.version();
            let failure = match outcome {
                UploadOutcome::Failed { reason, .. } => Some(reason),
                UploadOutcome::Uploaded { .. } | UploadOutcome::Open => None,
            };
            let line = json!({
                "upload": seq, "at": at, "universe": upload.universe, "place": upload.place,
                "kind": upload.kind, "contents": upload.contents, "size": upload.size,
                "version": version, "failure": failure,
            });
            let _ = writeln!(text, "{}", escape_line_ends(&line.to_string()));
            continue;
        }
        let what = match outcome {
            UploadOutcome::Uploaded { version } => {
                format!("{} as version {version}", upload.kind.name())
            }
            UploadOutcome::Failed { is_unclear: true, .. } => "Not known".to_owned(),
            UploadOutcome::Failed { .. } => "Failed".to_owned(),
            UploadOutcome::Open => "Going on".to_owned(),
        };
        let size = format_size(upload.size);
        let (when, target) = (format_time(at), past.target());
        let _ = writeln!(text, "{:>6}  {when}  {what}, {target}, {size}", seq.0);
        if let UploadOutcome::Failed { reason, .. } = outcome {
            let _ = writeln!(text, "{:8}{}", "", terminal_line(reason));
        }
    }
    if text.is_empty() && !args.json {
        print_status("Nothing was uploaded yet.");
    }
    Ok(text)
}
