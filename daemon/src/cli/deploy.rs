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
use super::style::{count_noun, terminal_line};
use super::terminal::{
    Terminal, confirm_question, escape_line_ends, print_line, print_status, print_stdout,
};
use super::{ExitStatus, interrupt};
use crate::tasks::deploy::{
    DeployApproval, DeployPlan, DeploySource, DeployTarget, PastUpload, UploadHistory,
    UploadOutcome, choose_target, deploy_version, format_size, plan_deploy,
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
        let is_published = self.plan.is_published;
        let existing = self.plan.existing.as_ref().and_then(PastUpload::version);
        // Somebody may have published another version since, from Studio: an earlier one that is named
        // can always be published again.
        let is_settled = is_published && self.args.again.is_none();
        if let Some(version) = existing.filter(|_| is_settled || !self.args.publish) {
            let published = if is_published { " and are published" } else { "" };
            print_status(&format!(
                "Nothing to upload: the contents are version {version} of {target} already{published}."
            ));
            let kind = if is_published { VersionKind::Published } else { VersionKind::Saved };
            if self.args.json {
                self.print_json(version, kind);
            }
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
        let is_unasked = match kind {
            VersionKind::Saved => self.args.yes,
            VersionKind::Published => self.args.confirm_publish.is_some(),
        };
        let by = if is_unasked { Approver::Yes } else { Approver::Person };
        let compared = self.plan.published.as_ref().map(|past| past.seq);
        let approval = DeployApproval { kind, by, compared };
        let cancel = interrupt::cancel_switch();
        let upload = || deploy_version(self.ledger, &self.source, target, approval, &cancel);
        let what = format!("Uploading {}", format_size(self.source.bytes.len() as u64));
        let version = self.terminal.with_spinner(&what, upload)?;
        if self.args.json {
            self.print_json(version, kind);
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

impl DeployRun<'_> {
    fn print_json(&self, version: u64, kind: VersionKind) {
        let target = self.plan.target;
        let line = json!({
            "universe": target.universe, "place": target.place, "version": version, "kind": kind,
            "contents": self.source.contents,
        });
        print_line(&escape_line_ends(&line.to_string()));
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
    let mut text = String::new();
    let _ = writeln!(text, "Deploy {}", terminal_line(&source.place.name()));
    let _ = writeln!(text, "  to {}, {}", plan.target, format_size(source.bytes.len() as u64));
    if let Some(earlier) = source.earlier {
        let _ = writeln!(text, "  with the contents of upload {earlier}");
    }
    for past in &plan.unclear {
        let _ = writeln!(
            text,
            "note: upload {} was interrupted or got no answer, and Roblox may have its version. The same \
             contents get the same version.",
            past.seq
        );
    }
    let changes = &plan.changes;
    if let Some(past) = &plan.published {
        let version = past.version().unwrap_or_default();
        let when = format_time(past.at);
        if plan.is_erased {
            let _ = writeln!(
                text,
                "Version {version}, published {when}, cannot be compared: its contents were erased"
            );
        } else {
            let what = changes.describe();
            let _ = writeln!(text, "Since version {version}, published {when}: {what}");
        }
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
    let (named, more) = changes.named_not_updated();
    if !named.is_empty() {
        text.push_str(
            "warning: an upload does not change these on Roblox; publish the place in Studio for them:\n",
        );
        for it in named {
            let _ = writeln!(text, "  {}", terminal_line(it));
        }
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    text.truncate(text.trim_end().len());
    text
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
