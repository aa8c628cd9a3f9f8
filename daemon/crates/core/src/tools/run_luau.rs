//! `run_luau`: runs code on a copy of the place. What it changed becomes a proposal.

use scene_schemas::proposal::PlanRead;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;
use crate::run::{ChangeCounts, RunOutcome, RunOutput, RunRequest};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "run_luau",
    about: "Runs Luau on a copy of the place, like Studio's command bar. What it changed becomes one \
            proposal; code that only reads needs no approval. For bulk edits, geometry, counting. \
            Returns {output, result}. Not here: terrain, physics, HTTP.",
    schema: args::args_schema::<RunLuauArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Run(|json| plan(args::parse_args(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunLuauArgs {
    code: String,
    /// What the code changes
    title: Option<String>,
}

/// The name of the code in its errors.
const NAME: &str = "code";

/// Maximum bytes of the code.
const MAX_CODE: usize = 200_000;

/// The maximum number of printed lines in an answer, from the start and the end, and the maximum
/// bytes of each.
const MAX_LINES: usize = 100;
const MAX_LINE: usize = 500;

/// Maximum bytes of the result in an answer.
const MAX_RESULT: usize = 20_000;

fn plan(args: RunLuauArgs) -> Result<RunRequest, Refusal> {
    if args.code.trim().is_empty() {
        return refuse!("`code` is empty.");
    }
    if args.code.len() > MAX_CODE {
        return refuse!(
            "`code` has {} bytes; at most {MAX_CODE} can run. Read data from the place instead of \
             writing it into the code.",
            args.code.len()
        );
    }
    Ok(RunRequest { source: args.code, name: NAME.to_owned(), title: args.title })
}

/// Drafts what a run changed, and returns the answer of the call.
///
/// # Errors
/// The code failed, or a change is not possible in this place.
pub(super) fn draft_run(
    request: &RunRequest,
    outcome: &RunOutcome,
    draft: &mut ProposalDraft<'_>,
) -> Result<Json, Refusal> {
    let result = match &outcome.result {
        Ok(result) => result,
        Err(error) => return Err(failure(error, outcome)),
    };
    let mut answer = json!({ "result": cut_result(result) });
    if !outcome.output.is_empty() {
        answer["output"] = json!(output_lines(&outcome.output));
    }
    if !outcome.not_in_runtime.is_empty() {
        answer["notInRuntime"] = json!(outcome.not_in_runtime);
    }
    if !outcome.changes.not_stored.is_empty() {
        answer["notStored"] = json!(outcome.changes.not_stored);
    }
    if outcome.changes.is_empty() {
        return Ok(answer);
    }
    // What the code read is not known.
    draft.note_read(PlanRead::Place {});
    let counts = outcome.changes.draft(draft)?;
    draft.set_title(request.title().unwrap_or_else(|| describe_counts(&counts)));
    for (what, count) in [
        ("created", counts.created),
        ("moved", counts.moved),
        ("changed", counts.changed),
        ("deleted", counts.deleted),
    ] {
        if count > 0 {
            answer[what] = count.into();
        }
    }
    Ok(answer)
}

/// Describes the changes in words: `Create 2 and delete 1 instance`.
fn describe_counts(counts: &ChangeCounts) -> String {
    let ChangeCounts { created, moved, changed, deleted } = *counts;
    let mut parts = Vec::new();
    for (verb, count) in
        [("create", created), ("move", moved), ("change", changed), ("delete", deleted)]
    {
        if count > 0 {
            parts.push(format!("{verb} {count}"));
        }
    }
    let last = parts.pop().unwrap_or_default();
    let text = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    let noun = if text.ends_with(" 1") { "instance" } else { "instances" };
    let (first, rest) = text.split_at(1);
    format!("{}{rest} {noun}", first.to_uppercase())
}

fn failure(error: &str, outcome: &RunOutcome) -> Refusal {
    let mut text = format!("The code failed, and nothing was changed.\n{error}");
    if error.contains("NotInRuntime") {
        text.push_str(
            "\nThe code may be right: Vector runs it without Roblox's engine, which has this member. \
             Do it without the member, or use another tool.",
        );
    }
    // The error may be the last line of the output.
    let output = match outcome.output.split_last() {
        Some((last, before)) if last.kind == "error" && error.ends_with(&last.text) => before,
        _ => &outcome.output,
    };
    if !output.is_empty() {
        text.push_str("\nOutput before that:");
        for line in output_lines(output) {
            text.push_str("\n  ");
            text.push_str(&line);
        }
    }
    Refusal(text)
}

/// Returns the printed lines as the Output window shows them, without the middle if there are many.
fn output_lines(output: &[RunOutput]) -> Vec<String> {
    let line = |it: &RunOutput| {
        let mut text = cut(&it.text, MAX_LINE);
        if it.kind != "print" {
            text.insert_str(0, &format!("{}: ", it.kind));
        }
        text
    };
    if output.len() <= MAX_LINES {
        return output.iter().map(line).collect();
    }
    let (first, last) = (&output[..MAX_LINES / 2], &output[output.len() - MAX_LINES / 2..]);
    let left_out = format!("({} lines left out)", output.len() - MAX_LINES);
    first.iter().map(line).chain([left_out]).chain(last.iter().map(line)).collect()
}

fn cut_result(result: &Json) -> Json {
    let text = result.to_string();
    if text.len() <= MAX_RESULT {
        return result.clone();
    }
    Json::from(format!(
        "{} (cut: the result has {} bytes; return less)",
        cut(&text, MAX_RESULT),
        text.len()
    ))
}

fn cut(text: &str, limit: usize) -> String {
    match text
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|end| *end <= limit)
        .last()
    {
        Some(end) if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunChanges;

    fn outcome(result: Result<Json, String>, lines: usize) -> RunOutcome {
        let line = |n| RunOutput { kind: "print".to_owned(), text: format!("line {n}") };
        RunOutcome {
            output: (1..=lines).map(line).collect(),
            result,
            changes: RunChanges::default(),
            not_in_runtime: Vec::new(),
            touched: 0,
        }
    }

    #[test]
    fn long_output_and_results_are_cut() {
        let lines = output_lines(&outcome(Ok(Json::Null), 250).output);
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0], "line 1");
        assert_eq!(lines[50], "(150 lines left out)");
        assert_eq!(lines[100], "line 250");
        let cut = cut_result(&Json::from("é".repeat(20_000)));
        assert!(cut.as_str().unwrap().contains("(cut: the result has 40002 bytes"));
        assert_eq!(cut_result(&json!([1, 2])), json!([1, 2]));
    }

    #[test]
    fn failure_says_what_was_printed_and_what_is_not_here() {
        let text = failure("code:2: attempt to index nil", &outcome(Ok(Json::Null), 2)).0;
        assert_eq!(
            text,
            "The code failed, and nothing was changed.\ncode:2: attempt to index nil\n\
             Output before that:\n  line 1\n  line 2"
        );
        let missing = "code:1: NotInRuntime: Part.ApplyImpulse exists in Roblox";
        assert!(failure(missing, &outcome(Ok(Json::Null), 0)).0.contains("The code may be right"));
    }

    #[test]
    fn changes_are_counted_in_words() {
        let words = |created, moved, changed, deleted| {
            describe_counts(&ChangeCounts { created, moved, changed, deleted })
        };
        assert_eq!(words(0, 0, 19, 0), "Change 19 instances");
        assert_eq!(words(2, 0, 3, 1), "Create 2, change 3 and delete 1 instance");
    }

    #[test]
    fn title_is_the_one_given_or_the_first_comment() {
        let request = |source: &str, title: Option<&str>| RunRequest {
            source: source.to_owned(),
            name: NAME.to_owned(),
            title: title.map(str::to_owned),
        };
        let title = |source, title| request(source, title).title();
        assert_eq!(title("-- Anchors all parts.\n", Some("Anchor it")), Some("Anchor it".into()));
        assert_eq!(
            title("\n--   Anchors all parts.\nlocal x", None),
            Some("Anchors all parts".into())
        );
        assert_eq!(title("--!strict\n--[[\nx]]", None), None);
        assert_eq!(title("local x = 1 -- one", None), None);
        assert_eq!(title("", Some("  ")), None);
    }
}
