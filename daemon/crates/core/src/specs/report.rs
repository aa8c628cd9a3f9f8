//! The result of specs for a model: the failures, up to a size limit. Passed specs are only
//! counted.

use serde_json::{Value as Json, json};

use super::{CaseOutcome, SpecCase, SpecResult};

/// The approximate limit of the whole answer, in bytes.
const MAX_ANSWER: usize = 30_000;
/// The maximum length of a case's title, in bytes.
const MAX_TITLE: usize = 200;
/// The maximum length of a failure, in bytes.
const MAX_FAILURE: usize = 1_000;
/// The maximum number of output lines per failure, and of bytes per line.
const MAX_OUTPUT: usize = 20;
const MAX_LINE: usize = 200;

const NOTE: &str = "Only specs that failed, did not run to their end, or need what is not known here \
                    are listed.";

/// Reports the number of passed cases, and the specs that failed or did not run to their end.
pub fn report_json(results: &[SpecResult]) -> Json {
    let sum = |outcome| results.iter().map(|spec| spec.count_outcome(outcome)).sum::<usize>();
    let mut budget = ReportBudget { bytes_left: MAX_ANSWER, omitted_cases: 0, omitted_specs: 0 };
    let unknown = sum(CaseOutcome::Unknown);
    let is_listed =
        |spec: &&SpecResult| !spec.has_passed() || spec.count_outcome(CaseOutcome::Unknown) > 0;
    let bad = results.iter().filter(is_listed);
    let specs: Vec<Json> = bad.filter_map(|spec| budget.spec_json(spec)).collect();
    let mut answer = json!({
        "passed": sum(CaseOutcome::Passed),
        "failed": sum(CaseOutcome::Failed),
        "skipped": sum(CaseOutcome::Skipped),
        "specsPassed": results.iter().filter(|spec| spec.has_passed()).count(),
        "specs": specs,
    });
    if unknown > 0 {
        answer["notKnown"] = unknown.into();
    }
    answer["note"] = match (budget.omitted_specs, budget.omitted_cases) {
        (0, 0) => NOTE.into(),
        (specs, cases) => format!(
            "Not all fits: {specs} specs that failed and {cases} failed cases of those above are left \
             out. Fix what is listed, or name fewer specs in `paths`."
        )
        .into(),
    };
    answer
}

/// The remaining size of the report, and the number of omissions.
struct ReportBudget {
    bytes_left: usize,
    omitted_cases: usize,
    omitted_specs: usize,
}

impl ReportBudget {
    fn try_reserve(&mut self, value: &Json) -> bool {
        let size = value.to_string().len();
        let fits = size <= self.bytes_left;
        if fits {
            self.bytes_left -= size;
        }
        fits
    }

    /// A spec with as many of its failures as fit. None if it does not fit at all.
    fn spec_json(&mut self, spec: &SpecResult) -> Option<Json> {
        let mut object = json!({
            "path": truncate_text(&spec.path, MAX_FAILURE),
            "passed": spec.count_outcome(CaseOutcome::Passed),
            "failed": spec.count_outcome(CaseOutcome::Failed),
            "skipped": spec.count_outcome(CaseOutcome::Skipped),
        });
        if let Some(failure) = &spec.failure {
            object["didNotRun"] = truncate_text(&failure.to_string(), MAX_FAILURE).into();
        }
        if !self.try_reserve(&object) {
            self.omitted_specs += 1;
            return None;
        }
        let mut failures = Vec::new();
        let mut unknown = Vec::new();
        for case in &spec.cases {
            let list = match case.outcome {
                CaseOutcome::Passed | CaseOutcome::Skipped => continue,
                CaseOutcome::Failed => &mut failures,
                CaseOutcome::Unknown => &mut unknown,
            };
            let failure = failure_json(case);
            if self.omitted_cases == 0 && self.try_reserve(&failure) {
                list.push(failure);
            } else {
                self.omitted_cases += 1;
            }
        }
        for (name, list) in [("failures", failures), ("notKnown", unknown)] {
            if !list.is_empty() {
                object[name] = list.into();
            }
        }
        Some(object)
    }
}

/// Truncates an untrusted text to at most `limit` bytes, at a character boundary.
fn truncate_text(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit.saturating_sub(3));
    format!("{}...", &text[..end])
}

fn failure_json(case: &SpecCase) -> Json {
    let why = case.failure.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut failure = json!({
        "case": truncate_text(&case.name, MAX_TITLE),
        "failure": truncate_text(&why, MAX_FAILURE),
    });
    if !case.output.is_empty() {
        let lines = case.output.iter().take(MAX_OUTPUT).map(|line| truncate_text(line, MAX_LINE));
        failure["output"] = lines.collect::<Vec<_>>().into();
    }
    failure
}

#[cfg(test)]
mod tests {
    use crate::specs::CaseFailure;

    use super::*;

    fn case(name: &str, why: Option<String>) -> SpecCase {
        let outcome = if why.is_some() { CaseOutcome::Failed } else { CaseOutcome::Passed };
        let output = why.iter().map(|_| "ü".repeat(500)).collect();
        let failure = why.map(|message| CaseFailure { at: None, message });
        SpecCase { output, ..SpecCase::without_output(name.to_owned(), outcome, failure) }
    }

    fn spec(path: &str, cases: Vec<SpecCase>) -> SpecResult {
        SpecResult { path: path.to_owned(), cases, failure: None }
    }

    #[test]
    fn passed_cases_are_only_counted() {
        let failed = case("b", Some("x".to_owned()));
        let specs = [
            spec("game.A", vec![case("a", None), case("b", None)]),
            spec("game.B", vec![case("a", None), failed]),
        ];
        let told = report_json(&specs);
        assert_eq!((&told["passed"], &told["failed"]), (&3.into(), &1.into()));
        assert_eq!(told["specsPassed"], 1);
        assert_eq!(told["specs"].as_array().map(Vec::len), Some(1), "{told}");
        assert_eq!(told["specs"][0]["path"], "game.B");
        assert_eq!(told["specs"][0]["failures"][0]["case"], "b");
        assert!(told["note"].as_str().unwrap().starts_with("Only specs that failed"), "{told}");
    }

    #[test]
    fn report_is_limited_in_length() {
        let long = || case(&"ü".repeat(5_000), Some("é".repeat(5_000)));
        let mut specs: Vec<SpecResult> =
            (0..500).map(|at| spec(&format!("game.A{at}"), vec![long(), long()])).collect();
        specs[0].failure = Some(CaseFailure { at: None, message: "y".repeat(5_000) });
        let told = report_json(&specs);
        assert!(told.to_string().len() < 31_000, "{}", told.to_string().len());
        assert_eq!(told["failed"], 1_000);
        let first = &told["specs"][0]["failures"][0];
        assert!(first["case"].as_str().unwrap().len() <= 200);
        assert!(first["failure"].as_str().unwrap().len() <= 1_000);
        assert!(told["specs"][0]["didNotRun"].as_str().unwrap().len() <= 1_000);
        assert!(told["note"].as_str().unwrap().starts_with("Not all fits"), "{told}");
    }
}
