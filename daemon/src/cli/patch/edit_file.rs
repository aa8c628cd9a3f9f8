//! Edits in their JSON form.
//!
//! This module parses edits and converts their columns. It does not apply them.

use scene_schemas::text::{Position, TextEdit};
use serde::Deserialize;
use vector_text_edit::TextReplacement;

use super::jsonl::ColumnUnit;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SearchEdit {
    search: String,
    replace: String,
    #[serde(default)]
    all: bool,
}

impl SearchEdit {
    pub(super) fn to_replacement(&self) -> TextReplacement {
        let Self { search, replace, all } = self.clone();
        TextReplacement { search, replace, should_replace_all: all }
    }
}

/// The contents of an edit file: replacements or ranges.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum EditFile {
    Replacements(Vec<SearchEdit>),
    Ranges(Vec<TextEdit>),
}

/// Converts ranges in other units to UTF-16 units. A position inside a character stays inside it if
/// it has two UTF-16 units, and otherwise moves to its start. A position past the end of its line
/// stays past it.
pub(super) fn in_utf16(text: &str, edits: &[TextEdit], unit: ColumnUnit) -> Vec<TextEdit> {
    let lines: Vec<&str> = text.split('\n').collect();
    let position = |at: Position| {
        let Some(line) = lines.get(at.line as usize).filter(|_| unit != ColumnUnit::Utf16) else {
            return at;
        };
        let (mut counted, mut units) = (0, 0);
        for c in line.chars() {
            if counted >= at.character {
                break;
            }
            counted += if unit == ColumnUnit::Utf8 { c.len_utf8() as u32 } else { 1 };
            units += c.len_utf16() as u32;
        }
        let is_between = counted > at.character;
        Position {
            character: units + at.character.saturating_sub(counted) - u32::from(is_between),
            ..at
        }
    };
    let edits = edits.iter().map(|edit| TextEdit {
        start: position(edit.start),
        end: position(edit.end),
        text: edit.text.clone(),
    });
    edits.collect()
}
