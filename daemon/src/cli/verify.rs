//! `vector verify`: runs the specs of a place in Roblox's own engine, in a scratch place.
//!
//! `crate::tasks::verify` does the work. This module asks, and prints the results. `vector test --engine
//! cloud` is the same without the first question.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::InstancePath;
use scene_schemas::entry::{Approver, Seq};
use vector_cloud::{LuauLogLevel, LuauLogMessage};
use vector_core::specs::SpecResult;
use vector_ledger::Ledger;
use vector_providers::config::load_config;
use vector_providers::config::scratch_place::ScratchPlace;

use super::place_arg::{PlaceArg, read_place};
use super::style::{count_noun, terminal_line};
use super::terminal::{Terminal, confirm_question, print_status};
use super::test::print_results;
use super::{ExitStatus, error_sentence, interrupt};
use crate::tasks::deploy::{DeploySource, DeployTarget};
use crate::tasks::verify::{
    DEFAULT_SECONDS, MAX_SECONDS, OverlaySource, VerifyControl, VerifyPlan, VerifyReport,
    VerifyRequest, check_scratch, last_scratch, plan_verify, run_verify,
};

/// Maximum lines of effects on a card, and of output of a task.
const MAX_EFFECTS: usize = 30;
const MAX_OUTPUT: usize = 200;

/// Run the specs of a place in Roblox's own engine, in a scratch place.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector verify game.rbxl --scratch 123/456     # asks, saves a version of the scratch place, runs specs
  vector verify . --require game.ReplicatedStorage.Shop
  vector verify . --yes                         # in the scratch place of the last run
  vector verify . --proposal 12                 # with a proposal that was not applied

The scratch place is one that nobody plays, in an experience of its own. Specs run with an API key of
yours: `vector key set roblox-verify` stores it, or ROBLOX_VERIFY_API_KEY holds it. Data stores, messages
and requests of specs are real: they are found before anything is sent, and need a second yes.

Exit codes: 0 all passed, 1 some failed, 2 another error, 3 not approved.")]
pub(super) struct VerifyArgs {
    /// The place, or a Rojo project: its file or its folder
    #[arg(default_value = ".")]
    place: PathBuf,
    /// Only run the specs at and below this instance
    #[arg(long, value_name = "PATH", default_value = "game")]
    root: InstancePath,
    /// Verify the place with this proposal, by its number in `vector log`
    #[arg(long, value_name = "NUMBER")]
    proposal: Option<u64>,
    /// Also require this ModuleScript; repeat it for others
    #[arg(long, value_name = "PATH")]
    require: Vec<InstancePath>,
    /// The time limit for all specs together, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_SECONDS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SECONDS)))]
    timeout: u32,
    #[command(flatten)]
    cloud: CloudArgs,
    /// Upload and run without asking; effects beyond the place still need a yes
    #[arg(long, short)]
    yes: bool,
    /// Show what would be uploaded and run, without doing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print one JSON object per case, one per line
    #[arg(long)]
    json: bool,
}

/// Where specs run in Roblox's engine, and what they may do.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct CloudArgs {
    /// The scratch place, by the IDs of its universe and itself [default: that of the last run of
    /// this place, or `verify.scratch` of vector.toml]
    #[arg(long, value_name = "UNIVERSE/PLACE")]
    scratch: Option<ScratchPlace>,
    /// Accept a scratch place in the universe of the live one, whose data stores it shares
    #[arg(long)]
    same_universe: bool,
    /// Run specs with effects beyond the place without asking: data stores, messages, requests
    #[arg(long)]
    allow_side_effects: bool,
}

impl CloudArgs {
    /// Whether any of the options was given.
    pub(super) fn is_used(&self) -> bool {
        self.scratch.is_some() || self.same_universe || self.allow_side_effects
    }
}

/// The command that runs specs in Roblox's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloudFrontEnd {
    /// `vector verify`, which asks unless `--yes` was given.
    Verify { is_approved: bool },
    /// `vector test`: calling it is the yes to the upload, and there must be specs.
    Test,
}

impl CloudFrontEnd {
    fn is_approved(self) -> bool {
        match self {
            Self::Verify { is_approved } => is_approved,
            Self::Test => true,
        }
    }
}

/// A run in Roblox's engine, as a command wants it.
#[derive(Debug)]
pub(super) struct CloudCommand<'a> {
    pub(super) place: &'a Path,
    pub(super) options: &'a CloudArgs,
    pub(super) request: VerifyRequest,
    pub(super) front_end: CloudFrontEnd,
    pub(super) dry_run: bool,
    pub(super) json: bool,
}

pub(super) fn run(args: &VerifyArgs, home: &Path) -> ExitStatus {
    let command = CloudCommand {
        place: &args.place,
        options: &args.cloud,
        request: VerifyRequest {
            root: args.root.clone(),
            modules: args.require.clone(),
            proposal: args.proposal.map(Seq),
            seconds: args.timeout,
        },
        front_end: CloudFrontEnd::Verify { is_approved: args.yes },
        dry_run: args.dry_run,
        json: args.json,
    };
    command.run(home).unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        ExitStatus::Usage
    })
}

impl CloudCommand<'_> {
    /// Asks, uploads, runs, and prints the results.
    pub(super) fn run(&self, home: &Path) -> anyhow::Result<ExitStatus> {
        let ledger = Ledger::open(home)?;
        let terminal = Terminal::for_command(self.json);
        let read = || self.read_source(&ledger);
        let source = terminal.with_spinner("Reading the place", read)?;
        let target = self.choose_scratch(home, &ledger, &source)?;
        check_scratch(&ledger, &source, target, self.options.same_universe)?;
        let plan = || plan_verify(&ledger, &source, target, &self.request);
        let plan = terminal.with_spinner("Looking through the specs", plan)?;
        if self.front_end == CloudFrontEnd::Test && plan.specs.is_empty() {
            bail!(
                "{} has no specs below {}: ModuleScripts whose names end in .spec",
                self.place.display(),
                self.request.root
            );
        }
        print_status(&render_card(&source, &plan, &self.request));
        if self.dry_run {
            return Ok(ExitStatus::Done);
        }
        if !self.is_run_approved(&plan)? {
            return Ok(ExitStatus::NotApproved);
        }
        let by = if self.front_end.is_approved() { Approver::Yes } else { Approver::Person };
        // From here on Ctrl-C ends the wait, so that what Roblox goes on with is said.
        interrupt::install_handler();
        let cancel = interrupt::cancel_switch();
        let run = || {
            let mut control = VerifyControl { by, cancel: &cancel, on_step: &mut |_| {} };
            run_verify(&ledger, &source, &plan, &mut control)
        };
        let report = terminal.with_spinner("Running specs on Roblox", run)?;
        self.print_report(&plan, &report)
    }

    /// Reads the place, with the proposal if one is named.
    fn read_source(&self, ledger: &Ledger) -> anyhow::Result<DeploySource> {
        let Some(seq) = self.request.proposal else {
            let place = PlaceArg::from_args(Some(self.place), None)?;
            let is_project = matches!(place, PlaceArg::Project(_));
            return Ok(DeploySource::read(self.place, is_project)?);
        };
        let read_scene = || Ok(read_place(self.place)?.scene);
        OverlaySource::read(ledger, seq)?.build(ledger, self.place, read_scene)
    }

    fn choose_scratch(
        &self,
        home: &Path,
        ledger: &Ledger,
        source: &DeploySource,
    ) -> anyhow::Result<DeployTarget> {
        if let Some(scratch) = self.options.scratch {
            return Ok(scratch.into());
        }
        if let Some(target) = last_scratch(ledger, source)? {
            return Ok(target);
        }
        let env = |name: &str| std::env::var(name).ok();
        let (_, config) = load_config(home, None, &env).map_err(anyhow::Error::msg)?;
        match config.scratch {
            Some(scratch) => Ok(scratch.into()),
            None => bail!(
                "say where the specs run: --scratch UNIVERSE/PLACE. Create a place that nobody plays at \
                 https://create.roblox.com/dashboard/creations, in an experience of its own; both IDs are \
                 in its menu. Later runs of this place use it again, and `verify.scratch` in vector.toml \
                 sets one for all places"
            ),
        }
    }

    fn is_run_approved(&self, plan: &VerifyPlan) -> anyhow::Result<bool> {
        let question = "Save it as a version of the scratch place, and run this there? [y/N]";
        let nothing = "Nothing was uploaded";
        let first = self.front_end.is_approved()
            || confirm_question(question, nothing, "--yes uploads and runs without asking")?;
        if !first || plan.side_effects.found.is_empty() || self.options.allow_side_effects {
            return Ok(first);
        }
        let question = "Run it with these effects beyond the place? [y/N]";
        confirm_question(question, nothing, "--allow-side-effects runs it without asking")
    }

    fn print_report(&self, plan: &VerifyPlan, report: &VerifyReport) -> anyhow::Result<ExitStatus> {
        if report.is_resumed {
            print_status(
                "note: a run of the same specs was interrupted before; these are its results.",
            );
        }
        let results = match &report.results {
            Ok(results) => results,
            Err(reason) => {
                print_output(&report.logs);
                print_status(&format!("error: {reason}"));
                return Ok(ExitStatus::Usage);
            }
        };
        print_results(results, self.json)?;
        let has_passed = results.iter().all(SpecResult::has_passed);
        if !has_passed {
            print_output(&report.logs);
        }
        print_status(&format!("Ran in version {} of {}.", report.version, plan.target));
        Ok(if has_passed { ExitStatus::Done } else { ExitStatus::Failed })
    }
}

fn render_card(source: &DeploySource, plan: &VerifyPlan, request: &VerifyRequest) -> String {
    let mut text = String::new();
    let name = terminal_line(&source.place.name()).into_owned();
    let with = request.proposal.map(|it| format!(" with proposal {it}")).unwrap_or_default();
    let title = format!("Verify {name}{with} in Roblox's engine");
    let _ = writeln!(text, "{title}");
    let kilobytes = source.bytes.len() as f64 / 1e3;
    let what = plan.existing.map_or_else(
        || format!("gets it as a saved version, {kilobytes:.1} kB"),
        |version| format!("has it as version {version} already"),
    );
    let _ = writeln!(text, "  scratch: {}, which {what}", plan.target);
    let mut runs = count_noun(plan.specs.len(), "spec");
    if !request.modules.is_empty() {
        let _ = write!(runs, " and {}", count_noun(request.modules.len(), "module"));
    }
    let _ = writeln!(text, "  runs: {runs}, for at most {} s", request.seconds);
    if let Some(run) = plan.resumes {
        let _ = writeln!(
            text,
            "  run {run} was interrupted: its results are read, and nothing is started"
        );
    }
    if let Some(run) = plan.unclear {
        let _ = writeln!(
            text,
            "warning: it is not known whether Roblox started run {run}, so the specs may run twice"
        );
    }
    let effects = &plan.side_effects;
    if !effects.found.is_empty() {
        let whose = if effects.covers_all_modules {
            "some requires are only known as the specs run, so all modules were looked through"
        } else {
            "in the specs and what they require"
        };
        let _ = writeln!(text, "warning: effects beyond the place, which are real ({whose}):");
        for effect in effects.found.iter().take(MAX_EFFECTS) {
            let line = format!("{}: {}", effect.script, effect.finding);
            let _ = writeln!(text, "  {}", terminal_line(&line));
        }
        let more = effects.found.len().saturating_sub(MAX_EFFECTS);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Prints what a task wrote to its logs.
fn print_output(logs: &[LuauLogMessage]) {
    if logs.is_empty() {
        return;
    }
    let mut text = "Output of the task:".to_owned();
    let lines = logs.iter().flat_map(|it| it.text.lines().map(|line| (it.level, line)));
    for (level, line) in lines.clone().take(MAX_OUTPUT) {
        let mark = match level {
            LuauLogLevel::Output | LuauLogLevel::Info => "",
            LuauLogLevel::Warning => "warning: ",
            LuauLogLevel::Error => "error: ",
        };
        let _ = write!(text, "\n  {mark}{line}");
    }
    let more = lines.count().saturating_sub(MAX_OUTPUT);
    if more > 0 {
        let _ = write!(text, "\n  and {more} more lines");
    }
    print_status(&text);
}
