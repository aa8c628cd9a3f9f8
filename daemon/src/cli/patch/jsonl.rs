//! `vector patch --jsonl`: reads one case per line from stdin, and writes one answer per line to
//! stdout, in order.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use scene_schemas::text::TextEdit;
use serde::{Deserialize, Serialize};
use vector_text_edit::{Conflict, MergeResult};

use super::super::terminal::escape_line_ends;
use super::edit_file::SearchEdit;

/// A case. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
struct JsonCase {
    #[serde(default)]
    id: serde_json::Value,
    kind: CaseKind,
    target: Option<String>,
    base: Option<String>,
    patch: Option<String>,
    edits: Option<Vec<SearchEdit>>,
    range_edits: Option<Vec<TextEdit>>,
    unit: Option<ColumnUnit>,
    ours: Option<String>,
    theirs: Option<String>,
    files: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CaseKind {
    UnifiedDiff,
    SearchReplace,
    RangeEdits,
    Diff3,
    ApplyPatchV4a,
}

/// The unit in which columns of a range are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum ColumnUnit {
    #[serde(rename = "utf-8")]
    Utf8,
    #[default]
    #[serde(rename = "utf-16")]
    Utf16,
    #[serde(rename = "utf-32", alias = "codepoint", alias = "code_points")]
    Utf32,
}

#[derive(Debug, Default, Serialize)]
struct CaseAnswer {
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
    nearest: Option<vector_text_edit::NearestText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflicts: Option<Vec<Conflict>>,
}

impl CaseAnswer {
    fn refused_with(reason: String) -> Self {
        Self { outcome: "reject", reason: Some(reason), ..Self::default() }
    }
}

pub(super) fn run(holds_luau: bool) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<JsonCase>(&line) {
            Ok(case) => {
                let mut answer = answer_case(&case);
                if holds_luau {
                    check_syntax(&case, &mut answer);
                }
                answer.id = case.id;
                answer
            }
            Err(error) => {
                let reason = format!("The line is not a valid case: {error}.");
                CaseAnswer { id: read_case_id(&line), ..CaseAnswer::refused_with(reason) }
            }
        };
        out.write_all(escape_line_ends(&serde_json::to_string(&answer)?).as_bytes())?;
        out.write_all(b"\n")?;
        // A caller may wait for each answer before it sends the next case.
        out.flush()?;
    }
    Ok(())
}

/// The `id` of a line that is not a valid case. Null if it has none.
fn read_case_id(line: &str) -> serde_json::Value {
    let object: Option<serde_json::Value> = serde_json::from_str(line).ok();
    object.and_then(|mut object| Some(object.get_mut("id")?.take())).unwrap_or_default()
}

/// Replaces the answer by a refusal if the result would no longer compile.
fn check_syntax(case: &JsonCase, answer: &mut CaseAnswer) {
    let before = case.base.as_deref().unwrap_or_default();
    let Some(error) =
        answer.text.as_deref().and_then(|after| vector_luau::new_errors(before, after).pop())
    else {
        return;
    };
    *answer = CaseAnswer::refused_with(format!("The script would no longer compile: {error}."));
}

fn answer_case(case: &JsonCase) -> CaseAnswer {
    let missing = |what: &str| CaseAnswer::refused_with(format!("The case has no `{what}`."));
    let base = case.base.as_deref().unwrap_or_default();
    match case.kind {
        CaseKind::UnifiedDiff => match &case.patch {
            Some(patch) => apply_patch(base, patch, case.target.as_deref()),
            None => missing("patch"),
        },
        CaseKind::SearchReplace => match &case.edits {
            Some(edits) => apply_replacements(base, edits),
            None => missing("edits"),
        },
        CaseKind::RangeEdits => match &case.range_edits {
            Some(edits) => apply_ranges(base, edits, case.unit.unwrap_or_default()),
            None => missing("range_edits"),
        },
        CaseKind::Diff3 => match (&case.ours, &case.theirs) {
            (Some(ours), Some(theirs)) => merge_texts(base, ours, theirs),
            _ => missing("ours` and `theirs"),
        },
        CaseKind::ApplyPatchV4a => match (&case.files, &case.patch) {
            (Some(files), Some(patch)) => apply_envelope(files, patch),
            _ => missing("files` and `patch"),
        },
    }
}

fn apply_patch(base: &str, patch: &str, target: Option<&str>) -> CaseAnswer {
    match vector_text_edit::apply_patch(base, patch, target.as_slice()) {
        Ok(patched) => CaseAnswer {
            confirm: patched.should_review,
            stage: Some(patched.stage.name()),
            offset: Some(patched.offset),
            ..apply_edits(base, &patched.edits)
        },
        Err(error) => CaseAnswer {
            nearest: error.nearest().cloned(),
            ..CaseAnswer::refused_with(error.to_string())
        },
    }
}

fn apply_edits(base: &str, edits: &[TextEdit]) -> CaseAnswer {
    match vector_text_edit::apply_edits(base, edits) {
        Ok(text) => CaseAnswer { outcome: "ok", text: Some(text), ..CaseAnswer::default() },
        Err(error) => CaseAnswer::refused_with(error.to_string()),
    }
}

fn apply_replacements(base: &str, edits: &[SearchEdit]) -> CaseAnswer {
    let edits: Vec<_> = edits.iter().map(SearchEdit::to_replacement).collect();
    match vector_text_edit::apply_replacements(base, &edits) {
        Ok(replaced) => CaseAnswer {
            confirm: replaced.stage > vector_text_edit::MatchStage::Exact,
            stage: Some(replaced.stage.name()),
            ..apply_edits(base, &replaced.edits)
        },
        Err(error) => CaseAnswer {
            nearest: error.nearest().cloned(),
            ..CaseAnswer::refused_with(error.to_string())
        },
    }
}

fn apply_ranges(base: &str, edits: &[TextEdit], unit: ColumnUnit) -> CaseAnswer {
    let edits = super::edit_file::in_utf16(base, edits, unit);
    let fitted = vector_text_edit::check_limits(&edits)
        .and_then(|()| vector_text_edit::fit_edits(base, &edits));
    match fitted {
        Ok(edits) => CaseAnswer {
            stage: Some(vector_text_edit::MatchStage::Exact.name()),
            ..apply_edits(base, &edits)
        },
        Err(error) => CaseAnswer::refused_with(error.to_string()),
    }
}

fn merge_texts(base: &str, ours: &str, theirs: &str) -> CaseAnswer {
    match vector_text_edit::merge_texts(base, ours, theirs) {
        MergeResult::Text(text) => {
            CaseAnswer { outcome: "ok", text: Some(text), ..CaseAnswer::default() }
        }
        MergeResult::Conflicts(conflicts) => {
            let reason = "Both sides changed the same lines.".to_owned();
            CaseAnswer { conflicts: Some(conflicts), ..CaseAnswer::refused_with(reason) }
        }
    }
}

fn apply_envelope(files: &BTreeMap<String, String>, patch: &str) -> CaseAnswer {
    match vector_text_edit::apply_to_files(files, patch) {
        Ok(changes) => {
            let confirm = changes.values().any(|change| change.should_review);
            let mut after = files.clone();
            for (name, change) in changes {
                match change.text {
                    Some(text) => after.insert(name, text),
                    None => after.remove(&name),
                };
            }
            CaseAnswer {
                outcome: "ok",
                result_files: Some(after),
                confirm,
                ..CaseAnswer::default()
            }
        }
        Err(error) => CaseAnswer {
            nearest: error.nearest().cloned(),
            ..CaseAnswer::refused_with(error.to_string())
        },
    }
}
