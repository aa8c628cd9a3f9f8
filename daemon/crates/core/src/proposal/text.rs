//! A preview as plain text, for use without a display: a line per operation, and a unified diff per
//! script.

use scene_schemas::comment::{CommentSide, CommentSubject};
use scene_schemas::proposal::{Change, DiffLine, Hunk, Preview, Row, ScriptDiff};
use scene_schemas::{InstancePath, Value};

/// The usual maximum length of the text, in bytes.
pub const BRIEF_PREVIEW: usize = 8_000;

/// Marks a last line without a line end.
const UNENDED: &str = "\\ No newline at end of file";

/// Formats a preview as text of at most `longest` bytes; omitted lines are counted.
pub fn preview_text(preview: &Preview, longest: usize) -> String {
    let mut lines: Vec<String> = preview.rows.iter().map(row_text).collect();
    if preview.more_rows > 0 {
        lines.push(format!("… and {} more operations", preview.more_rows));
    }
    for script in &preview.scripts {
        script_lines(script, &mut lines);
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if text.len() + line.len() > longest {
            text.push_str(&format!("… {} more lines are left out\n", lines.len() - at));
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns the lines of a preview, each with what a comment on it is about.
pub fn commentable_lines(preview: &Preview) -> Vec<(String, CommentSubject)> {
    let rows = preview.rows.iter().map(|row| {
        let property = match &row.change {
            Change::Set { property, .. } => Some(property.clone()),
            _ => None,
        };
        (row_text(row), CommentSubject::Instance { path: row.path.clone(), property })
    });
    let mut lines: Vec<(String, CommentSubject)> = rows.collect();
    for script in &preview.scripts {
        let path = &script.path;
        let whole = CommentSubject::Instance { path: path.clone(), property: None };
        lines.push((format!("--- {path}"), whole.clone()));
        lines.push((format!("+++ {path}"), whole));
        for hunk in &script.hunks {
            script_line_subjects(path, hunk, &mut lines);
        }
    }
    lines
}

fn script_line_subjects(
    path: &InstancePath,
    hunk: &Hunk,
    lines: &mut Vec<(String, CommentSubject)>,
) {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    for line in &hunk.lines {
        let (text, side, number) = match line {
            DiffLine::Context(text) => (format!(" {text}"), CommentSide::After, new),
            DiffLine::Added(text) => (format!("+{text}"), CommentSide::After, new),
            DiffLine::Removed(text) => (format!("-{text}"), CommentSide::Before, old),
        };
        old += u32::from(!matches!(line, DiffLine::Added(_)));
        new += u32::from(!matches!(line, DiffLine::Removed(_)));
        let (path, quote) = (path.clone(), String::new());
        lines.push((text, CommentSubject::Line { path, side, line: number, quote }));
    }
}

fn row_text(row: &Row) -> String {
    let Row { path, class, change, .. } = row;
    match change {
        Change::Created { props } if props.is_empty() => format!("+ {path} ({class})"),
        Change::Created { props } => {
            let props: Vec<String> = props
                .iter()
                .map(|(name, value)| format!("{name} = {}", value.to_brief()))
                .collect();
            format!("+ {path} ({class}): {}", props.join(", "))
        }
        Change::Cloned { source, count } => {
            format!("+ {path} ({class}): a copy of {source}, instances: {count}")
        }
        Change::Set { property, before, after } => {
            format!(
                "~ {path}.{property}: {} -> {}",
                brief_value(before.as_ref()),
                brief_value(after.as_ref())
            )
        }
        Change::Moved { to } => format!("> {path} ({class}) -> {to}"),
        Change::Deleted { count } => format!("- {path} ({class}), instances: {count}"),
        Change::Inserted { asset, count } => {
            format!("+ {path} ({class}): of asset {asset}, instances: {count}")
        }
        Change::Restored { count } => format!("+ {path} ({class}): back, instances: {count}"),
    }
}

fn brief_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "(default)".to_owned(), Value::to_brief)
}

fn script_lines(script: &ScriptDiff, lines: &mut Vec<String>) {
    let left_out = if script.left_out { " (left out unless the user keeps it)" } else { "" };
    lines.push(format!("--- {}", script.path));
    lines.push(format!("+++ {}{left_out}", script.path));
    for hunk in &script.hunks {
        hunk_lines(hunk, lines);
    }
}

fn hunk_lines(hunk: &Hunk, lines: &mut Vec<String>) {
    let count = |gone: fn(&DiffLine) -> bool| hunk.lines.iter().filter(|line| !gone(line)).count();
    let (old, new) = (
        count(|line| matches!(line, DiffLine::Added(_))),
        count(|line| matches!(line, DiffLine::Removed(_))),
    );
    lines.push(format!("@@ -{},{old} +{},{new} @@", hunk.old_start, hunk.new_start));
    for line in &hunk.lines {
        let (sign, text) = match line {
            DiffLine::Context(text) => (' ', text),
            DiffLine::Added(text) => ('+', text),
            DiffLine::Removed(text) => ('-', text),
        };
        // A card shows the marker after the line, a diff below it.
        match text.strip_suffix(UNENDED) {
            Some(text) => lines.extend([format!("{sign}{}", text.trim_end()), UNENDED.to_owned()]),
            None => lines.push(format!("{sign}{text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief_text(preview: &Preview) -> String {
        preview_text(preview, BRIEF_PREVIEW)
    }

    fn path(text: &str) -> InstancePath {
        text.parse().unwrap()
    }

    fn preview(rows: Vec<Change>, lines: &[&str]) -> Preview {
        let row = |change| Row {
            member: None,
            command: 0,
            change,
            path: path("game.Workspace.Wall"),
            class: "Part".to_owned(),
        };
        let old: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        let hunks = vector_text_edit::diff_hunks(&old, &old.replace("b\n", "B\nB\n"), 1);
        let script = ScriptDiff {
            command: 0,
            path: path("game.Workspace.Main"),
            left_out: false,
            added: 2,
            removed: 1,
            hunks,
        };
        Preview {
            rows: rows.into_iter().map(row).collect(),
            more_rows: 0,
            scripts: if lines.is_empty() { vec![] } else { vec![script] },
        }
    }

    #[test]
    fn operations_are_lines_and_scripts_are_unified_diffs() {
        let set = Change::Set {
            property: "Anchored".to_owned(),
            before: None,
            after: Some(Value::Bool(true)),
        };
        let created = Change::Created { props: vec![("Locked".to_owned(), Value::Bool(true))] };
        let said = brief_text(&preview(
            vec![created, set, Change::Deleted { count: 3 }],
            &["a", "b", "c"],
        ));
        assert_eq!(
            said,
            "\
+ game.Workspace.Wall (Part): Locked = true
~ game.Workspace.Wall.Anchored: (default) -> true
- game.Workspace.Wall (Part), instances: 3
--- game.Workspace.Main
+++ game.Workspace.Main
@@ -1,3 +1,4 @@
 a
-b
+B
+B
 c
"
        );
    }

    #[test]
    fn missing_final_newline_is_marked_on_a_separate_line() {
        let hunks = vector_text_edit::diff_hunks("a\nb\n", "a\nb", 1);
        let script = ScriptDiff {
            command: 0,
            path: path("game.Main"),
            left_out: false,
            added: 1,
            removed: 1,
            hunks,
        };
        let said = brief_text(&Preview { scripts: vec![script], ..Preview::default() });
        assert!(said.ends_with(" a\n-b\n+b\n\\ No newline at end of file\n"), "{said}");
    }

    #[test]
    fn omitted_lines_are_counted() {
        let many = vec![Change::Deleted { count: 1 }; 1_000];
        let said = brief_text(&preview(many, &[]));
        assert!(said.len() < BRIEF_PREVIEW + 100, "{}", said.len());
        assert!(said.ends_with(" more lines are left out\n"), "{said}");
    }
}
