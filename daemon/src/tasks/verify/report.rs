//! What a person reads of a run besides its counts: the failures and the output, cut to sizes that the
//! ledger and the page hold.

use scene_schemas::entry::{CloudRunFailure, CloudRunLevel, CloudRunLine, CloudRunReport};
use vector_cloud::{LuauLogLevel, LuauLogMessage};
use vector_core::specs::{CaseOutcome, SpecResult};

/// Maximum failures, and lines of output.
const MAX_FAILURES: usize = 50;
const MAX_LINES: usize = 200;
/// Maximum bytes of a name, a failure and a line.
const MAX_NAME: usize = 300;
const MAX_MESSAGE: usize = 2_000;
const MAX_LINE: usize = 500;

/// Describes a run. None if nothing failed and nothing was printed.
pub(super) fn describe_run(
    results: &[SpecResult],
    logs: &[LuauLogMessage],
) -> Option<CloudRunReport> {
    let mut failures: Vec<CloudRunFailure> = results.iter().flat_map(spec_failures).collect();
    let more_failures = failures.len().saturating_sub(MAX_FAILURES) as u64;
    failures.truncate(MAX_FAILURES);
    let lines = || logs.iter().flat_map(|it| it.text.lines().map(|line| (it.level, line)));
    let more_output = lines().count().saturating_sub(MAX_LINES) as u64;
    let output = lines().take(MAX_LINES).map(|(level, line)| CloudRunLine {
        level: match level {
            LuauLogLevel::Output => CloudRunLevel::Output,
            LuauLogLevel::Info => CloudRunLevel::Info,
            LuauLogLevel::Warning => CloudRunLevel::Warning,
            LuauLogLevel::Error => CloudRunLevel::Error,
        },
        text: cut(line, MAX_LINE),
    });
    let report = CloudRunReport { failures, more_failures, output: output.collect(), more_output };
    (report != CloudRunReport::default()).then_some(report)
}

fn spec_failures(spec: &SpecResult) -> Vec<CloudRunFailure> {
    let failure = |case: Option<&str>, message: String| CloudRunFailure {
        spec: cut(&spec.path, MAX_NAME),
        case: case.map(|it| cut(it, MAX_NAME)),
        message: cut(&message, MAX_MESSAGE),
    };
    let own = spec.failure.iter().map(|why| failure(None, why.to_string()));
    let failed = spec.cases.iter().filter(|case| case.outcome == CaseOutcome::Failed);
    let cases = failed.map(|case| {
        let message = case.failure.as_ref().map(ToString::to_string);
        failure(Some(&case.name), message.unwrap_or_else(|| "It failed.".to_owned()))
    });
    own.chain(cases).collect()
}

fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> LuauLogMessage {
        LuauLogMessage { level: LuauLogLevel::Warning, text: text.to_owned(), time: String::new() }
    }

    #[test]
    fn output_is_cut_to_what_a_person_reads() {
        assert_eq!(describe_run(&[], &[]), None);
        let text = format!("{}\nsecond\n{}", "é".repeat(MAX_LINE), "x\n".repeat(MAX_LINES));
        let report = describe_run(&[], &[message(&text)]).unwrap();
        assert_eq!((report.output.len(), report.more_output), (MAX_LINES, 2));
        assert_eq!(report.output[0].text, format!("{}…", "é".repeat(MAX_LINE / 2)));
        assert_eq!(report.output[1].text, "second");
        assert_eq!(report.output[1].level, CloudRunLevel::Warning);
    }

    #[test]
    fn failures_name_spec_and_case() {
        let case = vector_core::specs::SpecCase::without_output(
            "adds".to_owned(),
            CaseOutcome::Failed,
            None,
        );
        let spec = SpecResult { path: "game.A".to_owned(), cases: vec![case], failure: None };
        let report = describe_run(&vec![spec; MAX_FAILURES + 3], &[]).unwrap();
        assert_eq!((report.failures.len(), report.more_failures), (MAX_FAILURES, 3));
        let CloudRunFailure { spec, case, message } = &report.failures[0];
        assert_eq!(
            (spec.as_str(), case.as_deref(), message.as_str()),
            ("game.A", Some("adds"), "It failed.")
        );
    }
}
