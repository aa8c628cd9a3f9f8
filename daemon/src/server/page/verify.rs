//! Runs of specs in Roblox's engine on the page: the section of a proposal, and the dialog that shows
//! what would be sent.

use maud::{Markup, html};
use scene_schemas::api::{
    CloudRunEnd, CloudRunView, Failure, ProposalStatus, ProposalView, UploadView, VerifyPhase,
    VerifyPlanView, VerifyProgress, VerifyQuery, VerifyTargetView, VerifyView,
};
use scene_schemas::entry::{CloudRunFailure, CloudRunLevel, CloudRunReport, Seq};
use vector_core::safe_line::safe_line;

use super::conversation::is_file_session;
use super::format;
use super::format::{count_text, safe_text};
use crate::daemon::DaemonHandle;
use crate::tasks::deploy::format_size;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunDetail {
    /// The last run, without its output.
    Card,
    Full,
}

/// Renders the content of a proposal's section.
pub(super) async fn verify_part(
    daemon: &DaemonHandle,
    of: Seq,
    detail: RunDetail,
) -> Result<Markup, Failure> {
    let proposal = daemon.proposal(of).await?;
    let runs = daemon.verify_view(of).await?;
    Ok(section_content(&proposal, &runs, detail))
}

/// Renders the section of a proposal. Nothing if it cannot be verified, and was not.
pub(super) fn verify_section(
    proposal: &ProposalView,
    runs: &VerifyView,
    detail: RunDetail,
) -> Markup {
    let is_shown = can_verify(proposal) || has_run(runs);
    html! {
        @if is_shown {
            section.verify data-verify=(proposal.seq) data-detail=(detail_name(detail)) aria-label="Roblox's engine" {
                (section_content(proposal, runs, detail))
            }
        }
    }
}

/// The names of the details in the page's requests.
fn detail_name(detail: RunDetail) -> &'static str {
    match detail {
        RunDetail::Card => "card",
        RunDetail::Full => "full",
    }
}

/// Parses the detail that the page requests.
pub(super) fn parse_detail(name: Option<&str>) -> RunDetail {
    match name {
        Some("card") => RunDetail::Card,
        _ => RunDetail::Full,
    }
}

/// Whether a proposal is pending in a place file or a Rojo project that is open here. The daemon has no
/// contents of a place that is open in Studio.
fn can_verify(proposal: &ProposalView) -> bool {
    proposal.status == ProposalStatus::Waiting
        && proposal.session.as_ref().is_some_and(is_file_session)
}

fn has_run(runs: &VerifyView) -> bool {
    let VerifyView { proposal: _, running, failure, upload, runs } = runs;
    running.is_some() || failure.is_some() || upload.is_some() || !runs.is_empty()
}

fn section_content(proposal: &ProposalView, runs: &VerifyView, detail: RunDetail) -> Markup {
    let is_unread = runs.runs.first().is_some_and(|it| it.end.is_none());
    let shown = match detail {
        RunDetail::Card => 1,
        RunDetail::Full => runs.runs.len(),
    };
    html! {
        @if has_run(runs) && detail == RunDetail::Full { h2 { "In Roblox's engine" } }
        @if let Some(progress) = &runs.running { (progress_view(*progress)) }
        @if let Some(why) = &runs.failure { p.bad role="status" { (safe_text(why)) } }
        @if runs.running.is_none() && runs.failure.is_none() {
            @if let Some(upload) = &runs.upload { (upload_view(upload)) }
        }
        @for (at, run) in runs.runs.iter().take(shown).enumerate() {
            @if at > 0 || runs.running.is_none() || run.end.is_some() { (run_view(proposal.seq, run, detail)) }
        }
        @if can_verify(proposal) && runs.running.is_none() {
            div.buttons {
                button type="button" data-act="verify" data-proposal-of=(proposal.seq) {
                    @if is_unread { "Read the results…" } @else { "Verify…" }
                }
                @if !has_run(runs) { span.dim { "Runs the specs in Roblox's own engine, in a scratch place" } }
            }
        }
    }
}

fn progress_view(progress: VerifyProgress) -> Markup {
    let doing = match (progress.is_cancelled, progress.phase) {
        (true, _) => "Cancelling",
        (false, VerifyPhase::Preparing) => "Building the place",
        (false, VerifyPhase::Uploading) => "Uploading to the scratch place",
        (false, VerifyPhase::Starting) => "Starting the specs",
        (false, VerifyPhase::Running) => "Specs run on Roblox",
    };
    let has_task = progress.phase == VerifyPhase::Running;
    html! {
        p.running role="status" { span.spinner aria-hidden="true" {} b { (doing) } span.dim { "since " (format::time_element(progress.since)) } }
        @if !progress.is_cancelled {
            div.buttons {
                button type="button" data-act="cancel-verify" data-proposal-of=(progress.proposal) { "Cancel" }
                @if has_task { span.dim { "The task goes on at Roblox until its time limit." } }
            }
        }
    }
}

fn upload_view(upload: &UploadView) -> Markup {
    html! {
        p.bad {
            "The upload to place " (upload.upload.place) " of universe " (upload.upload.universe) " "
            @if upload.is_unclear || upload.failure.is_none() {
                "was interrupted or got no answer, and Roblox may have its version. Verify again: the same contents get the same version."
            } @else {
                "failed. " (safe_text(upload.failure.as_deref().unwrap_or_default()))
            }
        }
    }
}

fn run_view(shown: Seq, view: &CloudRunView, detail: RunDetail) -> Markup {
    let CloudRunView { seq, at, run, end } = view;
    html! {
        div.cloud-run data-run=(seq) data-result=(result_name(end.as_ref())) {
            @match end {
                None => p {
                    b { "Run " (seq) " was interrupted" } " "
                    @if run.task.is_empty() {
                        "as it started. It is not known whether Roblox ran the specs."
                    } @else {
                        "or is waited for elsewhere. Verify again to read its results: nothing is started a second time."
                    }
                },
                Some(CloudRunEnd { failure: Some(why), .. }) => p { b { "No results" } " " (safe_text(why)) },
                Some(end) => p {
                    b { (end.passed) " passed, " (end.failed) " failed" @if end.skipped > 0 { ", " (end.skipped) " skipped" } }
                    @if run.specs == 0 { " Roblox opened the place; it has no specs." }
                },
            }
            p.dim {
                "Version " (run.version) " of place " (run.place) " of universe " (run.universe) ", "
                @if let Some(replaced) = run.proposal.filter(|it| *it != shown) { "with proposal " (replaced) ", which this one replaces, " }
                (format::time_element(end.as_ref().map_or(*at, |end| end.at)))
            }
            @if let Some(report) = end.as_ref().and_then(|end| end.report.as_ref()) { (report_view(*seq, report, detail)) }
        }
    }
}

fn result_name(end: Option<&CloudRunEnd>) -> &'static str {
    match end {
        None => "open",
        Some(end) if end.failure.is_none() && end.failed == 0 => "passed",
        Some(_) => "failed",
    }
}

/// The number of failures on a card.
const CARD_FAILURES: usize = 3;

fn report_view(run: Seq, report: &CloudRunReport, detail: RunDetail) -> Markup {
    let shown = match detail {
        RunDetail::Card => CARD_FAILURES,
        RunDetail::Full => report.failures.len(),
    };
    let more = report.failures.len().saturating_sub(shown) as u64 + report.more_failures;
    html! {
        @if !report.failures.is_empty() {
            ul.plainly {
                @for CloudRunFailure { spec, case, message } in report.failures.iter().take(shown) {
                    li {
                        b { @match case { Some(case) => (safe_line(case)), None => (safe_line(spec)) } }
                        pre { (safe_text(message)) }
                    }
                }
                @if more > 0 { li.dim { "and " (more) " more" } }
            }
        }
        @if detail == RunDetail::Full && !report.output.is_empty() {
            details data-key={ "run-" (run) } {
                summary { "Output of the task" }
                pre.changes tabindex="0" {
                    @for line in &report.output { (level_name(line.level)) (safe_text(&line.text)) "\n" }
                    @if report.more_output > 0 { "and " (report.more_output) " more lines\n" }
                }
            }
        }
    }
}

fn level_name(level: CloudRunLevel) -> &'static str {
    match level {
        CloudRunLevel::Output | CloudRunLevel::Info => "",
        CloudRunLevel::Warning => "warning: ",
        CloudRunLevel::Error => "error: ",
    }
}

/// Renders the dialog: where the specs would run, what is sent, and the effects beyond the place.
pub(super) fn plan_dialog(query: &VerifyQuery, plan: &VerifyPlanView) -> Markup {
    html! {
        h2 #dialog-title { "Verify in Roblox's engine" }
        @match &plan.target {
            Some(target) => (start_form(plan, target)),
            None => p { "Say in which place the specs run: one that nobody plays, in an experience of its own. Both IDs are in its menu on the Creator Dashboard." },
        }
        @if let Some(why) = &plan.refusal { p.bad { (safe_text(why)) } }
        @if plan.target.is_some() {
            details.scratch { summary { "Another scratch place" } (scratch_form(query, plan)) }
        } @else { (scratch_form(query, plan)) }
    }
}

fn scratch_form(query: &VerifyQuery, plan: &VerifyPlanView) -> Markup {
    let target = plan.target.as_ref();
    let id = |named: Option<u64>, own: Option<u64>| {
        named.or(own).map(|it| it.to_string()).unwrap_or_default()
    };
    html! {
        form data-act="verify-scratch" data-proposal-of=(plan.proposal) {
            label.field {
                span { "Universe ID" }
                input name="universe" value=(id(query.universe, target.map(|it| it.universe))) required inputmode="numeric" pattern="[0-9]{1,15}" autocomplete="off";
            }
            label.field {
                span { "Place ID" }
                input name="place" value=(id(query.place, target.map(|it| it.place))) required inputmode="numeric" pattern="[0-9]{1,15}" autocomplete="off";
            }
            p.bad role="alert" {}
            div.buttons {
                @if target.is_none() { button type="button" data-act="close-dialog" { "Cancel" } }
                button.main[target.is_none()] type="submit" { "Use this place" }
            }
        }
    }
}

fn start_form(plan: &VerifyPlanView, target: &VerifyTargetView) -> Markup {
    let count = target.specs.len() + target.more_specs as usize;
    html! {
        form data-act="start-verify" data-proposal-of=(plan.proposal) data-universe=(target.universe) data-place=(target.place) data-contents=(plan.contents) {
            p {
                "Saves " (format::place_name(&plan.name)) " with proposal " (plan.proposal)
                " as a version of the scratch place, and runs its specs there. Your place is not changed."
            }
            dl.facts {
                dt { "Scratch place" }
                dd { "place " (target.place) " of universe " (target.universe) }
                dt { "Upload" }
                dd {
                    @match target.existing {
                        Some(version) => { "None: it has these contents as version " (version) },
                        None => { (format_size(plan.size)) ", saved and not published" },
                    }
                }
                dt { "Specs" }
                dd { (count_text(count, "spec")) ", for at most " (target.seconds) " s" }
            }
            @if count == 0 { p.dim { "The place has no specs: the run shows that Roblox opens it." } }
            @else {
                details { summary { "The specs" } ul.plainly { @for spec in &target.specs { li { code { (safe_text(spec)) } } } @if target.more_specs > 0 { li.dim { "and " (target.more_specs) " more" } } } }
            }
            @if let Some(run) = target.resumes { p { "Run " (run) " was interrupted: its results are read, and nothing is started." } }
            @if let Some(run) = target.unclear { p.bad { "It is not known whether Roblox started run " (run) ", so the specs may run twice." } }
            @if !target.effects.is_empty() { (effects_view(target)) }
            p.bad role="alert" {}
            div.buttons {
                button type="button" data-act="close-dialog" { "Cancel" }
                button.main.danger[!target.effects.is_empty()] type="submit" disabled { @if target.resumes.is_some() { "Read the results" } @else { "Verify" } }
            }
        }
    }
}

fn effects_view(target: &VerifyTargetView) -> Markup {
    html! {
        div.effects {
            p.bad {
                b { "Effects beyond the place, which are real" }
                @if target.covers_all_modules { " (some requires are only known as the specs run, so all modules were looked through)" }
            }
            ul.plainly {
                @for effect in &target.effects { li { code { (safe_text(&effect.script)) } " " (safe_text(&effect.text)) } }
                @if target.more_effects > 0 { li.dim { "and " (target.more_effects) " more" } }
            }
            label.check { input type="checkbox" name="effects" required; span { "Run the specs with these effects" } }
        }
    }
}
