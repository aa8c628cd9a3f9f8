//! Help for a person who types a script. It needs no place.

use scene_schemas::api::{CheckScript, CompleteScript, Completions, ScriptFinding, ScriptFindings};
use vector_luau::{FindingSeverity, SourceFinding, SourceLinter, StackSize};

use super::DaemonHandle;
use super::handle::run_on_thread;
use crate::session::Answer;

impl DaemonHandle {
    /// Returns the errors of a script's text, or if it compiles, its lints.
    pub fn check_script(&self, script: CheckScript) -> Answer<ScriptFindings> {
        run_on_thread(move || {
            let linter = SourceLinter::default_lints();
            let found = vector_luau::inspect_source(&script.text, &linter, StackSize::Usual);
            Ok(ScriptFindings { findings: found.into_iter().map(finding_view).collect() })
        })
    }

    /// Returns the names that can follow at a position of a script.
    pub fn complete_script(&self, position: CompleteScript) -> Answer<Completions> {
        let CompleteScript { text, line, column } = position;
        run_on_thread(move || Ok(vector_luau::complete_names(&text, line, column)))
    }
}

fn finding_view(finding: SourceFinding) -> ScriptFinding {
    ScriptFinding {
        is_error: finding.severity == FindingSeverity::Error,
        code: finding.code,
        message: finding.message,
        line: finding.at.line,
        column: finding.at.column,
        end_line: finding.at.end_line,
        end_column: finding.at.end_column,
    }
}
