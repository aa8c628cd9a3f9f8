//! `vector patch --jsonl`: one case a line on stdin, one answer a line on stdout, in order.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use scene_schemas::text::TextEdit;
use serde::{Deserialize, Serialize};
use vector_text_edit::{Conflict, Merged};

use super::super::terminal::one_line;
use super::edits::Searched;

/// A case. Members that it does not know are passed over.
#[derive(Debug, Deserialize)]
struct Case {
    #[serde(default)]
    id: serde_json::Value,
    kind: Kind,
    target: Option<String>,
    base: Option<String>,
    patch: Option<String>,
    edits: Option<Vec<Searched>>,
    range_edits: Option<Vec<TextEdit>>,
    unit: Option<Unit>,
    ours: Option<String>,
    theirs: Option<String>,
    files: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    UnifiedDiff,
    SearchReplace,
    RangeEdits,
    Diff3,
    ApplyPatchV4a,
}

/// What characters of a range are counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Unit {
    #[serde(rename = "utf-8")]
    Utf8,
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    #[serde(rename = "utf-32", alias = "codepoint", alias = "code_points")]
    Utf32,
}

/// An answer.
#[derive(Debug, Default, Serialize)]
struct Answer {
    id: serde_json::Value,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_files: Option<BTreeMap<String, String>>,
    confirm: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<isize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<vector_text_edit::Nearest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflicts: Option<Vec<Conflict>>,
}

impl Answer {
    fn refused(reason: String) -> Self {
        Self { outcome: "reject", reason: Some(reason), ..Self::default() }
    }
}

/// Answers each line of stdin.
pub(super) fn run(holds_luau: bool) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Case>(&line) {
            Ok(case) => {
                let mut answer = answer(&case);
                if holds_luau {
                    hold(&case, &mut answer);
                }
                answer.id = case.id;
                answer
            }
            Err(error) => {
                let reason = format!("The line is not a case: {error}.");
                Answer { id: id_of(&line), ..Answer::refused(reason) }
            }
        };
        out.write_all(one_line(&serde_json::to_string(&answer)?).as_bytes())?;
        out.write_all(b"\n")?;
        // Whoever sends one case and waits for its answer gets it.
        out.flush()?;
    }
    Ok(())
}

/// The `id` of a line that is not a case; null where there is none.
fn id_of(line: &str) -> serde_json::Value {
    let object: Option<serde_json::Value> = serde_json::from_str(line).ok();
    object.and_then(|mut object| Some(object.get_mut("id")?.take())).unwrap_or_default()
}

/// Refuses what would no longer compile.
fn hold(case: &Case, answer: &mut Answer) {
    let before = case.base.as_deref().unwrap_or_default();
    let Some(error) =
        answer.text.as_deref().and_then(|after| vector_luau::new_errors(before, after).pop())
    else {
        return;
    };
    *answer = Answer::refused(format!("The script would no longer compile: {error}."));
}

fn answer(case: &Case) -> Answer {
    let missing = |what: &str| Answer::refused(format!("The case has no `{what}`."));
    let base = case.base.as_deref().unwrap_or_default();
    match case.kind {
        Kind::UnifiedDiff => match &case.patch {
            Some(patch) => patched(base, patch, case.target.as_deref()),
            None => missing("patch"),
        },
        Kind::SearchReplace => match &case.edits {
            Some(edits) => replaced(base, edits),
            None => missing("edits"),
        },
        Kind::RangeEdits => match &case.range_edits {
            Some(edits) => ranged(base, edits, case.unit.unwrap_or_default()),
            None => missing("range_edits"),
        },
        Kind::Diff3 => match (&case.ours, &case.theirs) {
            (Some(ours), Some(theirs)) => merged(base, ours, theirs),
            _ => missing("ours` and `theirs"),
        },
        Kind::ApplyPatchV4a => match (&case.files, &case.patch) {
            (Some(files), Some(patch)) => enveloped(files, patch),
            _ => missing("files` and `patch"),
        },
    }
}

fn patched(base: &str, patch: &str, target: Option<&str>) -> Answer {
    match vector_text_edit::patch(base, patch, target.as_slice()) {
        Ok(patched) => Answer {
            confirm: patched.confirm,
            stage: Some(patched.stage.name()),
            offset: Some(patched.offset),
            ..applied(base, &patched.edits)
        },
        Err(error) => {
            Answer { nearest: error.nearest().cloned(), ..Answer::refused(error.to_string()) }
        }
    }
}

fn applied(base: &str, edits: &[TextEdit]) -> Answer {
    match vector_text_edit::apply(base, edits) {
        Ok(text) => Answer { outcome: "ok", text: Some(text), ..Answer::default() },
        Err(error) => Answer::refused(error.to_string()),
    }
}

fn replaced(base: &str, edits: &[Searched]) -> Answer {
    let edits: Vec<_> = edits.iter().map(Searched::replacement).collect();
    match vector_text_edit::replace(base, &edits) {
        Ok(replaced) => Answer {
            confirm: replaced.stage > vector_text_edit::Stage::Exact,
            stage: Some(replaced.stage.name()),
            ..applied(base, &replaced.edits)
        },
        Err(error) => {
            Answer { nearest: error.nearest().cloned(), ..Answer::refused(error.to_string()) }
        }
    }
}

fn ranged(base: &str, edits: &[TextEdit], unit: Unit) -> Answer {
    let edits = super::edits::in_utf16(base, edits, unit);
    let fitted = vector_text_edit::check_limits(&edits)
        .and_then(|()| vector_text_edit::fitted(base, &edits));
    match fitted {
        Ok(edits) => {
            Answer { stage: Some(vector_text_edit::Stage::Exact.name()), ..applied(base, &edits) }
        }
        Err(error) => Answer::refused(error.to_string()),
    }
}

fn merged(base: &str, ours: &str, theirs: &str) -> Answer {
    match vector_text_edit::merge(base, ours, theirs) {
        Merged::Text(text) => Answer { outcome: "ok", text: Some(text), ..Answer::default() },
        Merged::Conflicts(conflicts) => {
            let reason = "Both sides changed the same lines.".to_owned();
            Answer { conflicts: Some(conflicts), ..Answer::refused(reason) }
        }
    }
}

fn enveloped(files: &BTreeMap<String, String>, patch: &str) -> Answer {
    match vector_text_edit::apply_to_files(files, patch) {
        Ok(changes) => {
            let confirm = changes.values().any(|change| change.confirm);
            let mut after = files.clone();
            for (name, change) in changes {
                match change.text {
                    Some(text) => after.insert(name, text),
                    None => after.remove(&name),
                };
            }
            Answer { outcome: "ok", result_files: Some(after), confirm, ..Answer::default() }
        }
        Err(error) => {
            Answer { nearest: error.nearest().cloned(), ..Answer::refused(error.to_string()) }
        }
    }
}
