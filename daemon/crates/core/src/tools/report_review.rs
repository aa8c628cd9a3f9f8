//! `report_review`: what a reviewer found in a proposal. It ends the task of the reviewer.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::FindingSeverity;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

/// The name of the tool.
pub const REPORT_REVIEW: &str = "report_review";

/// Maximum number of findings. Nobody reads more of them about one proposal.
const MAX_FINDINGS: usize = 30;

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 4_000;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: REPORT_REVIEW,
    about: "Reports the review. Make it your last call; without findings, the list is empty.",
    schema: args::args_schema::<ReportReviewArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        let summary = parse_report(json)?.summary;
        Ok(ModelAction::Reviewed { summary })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReportReviewArgs {
    /// One or two sentences: what you checked, and your judgement.
    summary: String,
    /// What is wrong with the proposal.
    findings: Vec<FindingArgs>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FindingArgs {
    /// high: it breaks what was asked or what worked, or lets players cheat; medium: it fails in some
    /// cases; low: it could be better.
    severity: FindingSeverity,
    /// The problem, why it is one, and what to do instead.
    text: String,
    /// The path of the script or instance.
    path: Option<String>,
    /// The line in the script after the change, from 1.
    line: Option<u32>,
    /// The property, if it is about one.
    property: Option<String>,
}

/// A review as a model reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedReview {
    pub summary: String,
    pub findings: Vec<ReportedFinding>,
}

/// A finding as a model reported it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedFinding {
    pub severity: FindingSeverity,
    /// The script or instance; None for the proposal as a whole.
    pub path: Option<InstancePath>,
    pub line: Option<u32>,
    pub property: Option<String>,
    pub text: String,
}

/// Parses the arguments of the tool.
///
/// # Errors
/// An argument is missing, too long, or not a path.
pub fn parse_report(json: Json) -> Result<ReportedReview, Refusal> {
    let args: ReportReviewArgs = args::parse_args(json)?;
    if args.findings.len() > MAX_FINDINGS {
        return refuse!(
            "There are {} findings; report the {MAX_FINDINGS} that matter most.",
            args.findings.len()
        );
    }
    check_text("`summary`", &args.summary)?;
    let findings: Result<Vec<ReportedFinding>, Refusal> =
        (1..).zip(args.findings).map(|(number, it)| parse_finding(number, it)).collect();
    Ok(ReportedReview { summary: args.summary, findings: findings? })
}

fn parse_finding(number: usize, args: FindingArgs) -> Result<ReportedFinding, Refusal> {
    let FindingArgs { severity, text, path, line, property } = args;
    check_text(&format!("`text` of finding {number}"), &text)?;
    let path = path.filter(|it| !it.trim().is_empty());
    let path = path
        .map(|it| it.trim().parse::<InstancePath>())
        .transpose()
        .map_err(|error| Refusal(format!("`path` of finding {number} is not a path: {error}")))?;
    if path.is_none() && line.is_some() {
        return refuse!("Finding {number} has a line and no path; name the script.");
    }
    let line = line.filter(|it| *it > 0);
    Ok(ReportedFinding { severity, path, line, property, text })
}

fn check_text(name: &str, text: &str) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return refuse!("{name} is empty.");
    }
    if text.len() > MAX_TEXT {
        return refuse!("{name} has {} bytes; at most {MAX_TEXT} are shown.", text.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn report_is_read_with_its_findings() {
        let report = parse_report(json!({
            "summary": "Read the shop and its remotes.",
            "findings": [
                { "severity": "high", "text": "The server trusts the price.", "path": "game.ServerScriptService.Shop", "line": 12 },
                { "severity": "low", "text": "The name says nothing." },
            ],
        }));
        let report = report.unwrap();
        assert_eq!(report.findings[0].severity, FindingSeverity::High);
        assert_eq!(
            report.findings[0].path.as_ref().unwrap().to_string(),
            "game.ServerScriptService.Shop"
        );
        assert_eq!((report.findings[0].line, report.findings[1].line), (Some(12), None));
        assert_eq!(report.findings[1].path, None);
    }

    #[test]
    fn unusable_reports_are_refused_with_what_is_wrong() {
        let finding = |more: Json| {
            let mut finding = json!({ "severity": "high", "text": "It is wrong." });
            let fields = finding.as_object_mut().unwrap();
            fields.extend(more.as_object().unwrap().clone());
            json!({ "summary": "Read it.", "findings": [finding] })
        };
        let many = vec![json!({ "severity": "low", "text": "x" }); MAX_FINDINGS + 1];
        for (args, says) in [
            (json!({ "summary": " ", "findings": [] }), "`summary` is empty"),
            (json!({ "summary": "Read it." }), "findings"),
            (json!({ "summary": "Read it.", "findings": many }), "31 findings"),
            (finding(json!({ "text": "" })), "`text` of finding 1 is empty"),
            (finding(json!({ "text": "x".repeat(MAX_TEXT + 1) })), "4001 bytes"),
            (finding(json!({ "path": "Workspace" })), "`path` of finding 1 is not a path"),
            (finding(json!({ "line": 3 })), "has a line and no path"),
            (finding(json!({ "severity": "fatal" })), "fatal"),
        ] {
            let refused = parse_report(args).unwrap_err().0;
            assert!(refused.contains(says), "{says} is not in {refused}");
        }
    }
}
