//! Passages of a script that two sides changed, in three columns: the common base, the current
//! text, and the requested one.

use std::ops::Range;

use maud::{Markup, html};
use scene_schemas::proposal::{Conflict, DiffLine, Passage};
use vector_core::safe_line::safe_line;
use vector_luau::{LinePieces, highlight_lines};
use vector_text_edit::WordDiff;

use super::diff_line::line_view;
use crate::server::page::format;

/// Renders a conflict as an item of a conversation.
pub(in super::super) fn conflict_view(key: &str, conflict: &Conflict) -> Markup {
    let path = conflict.path.to_string();
    let mut compared = WordDiff::default();
    html! {
        article.item.conflict data-key=(key) aria-label={ "Changed twice: " (safe_line(&path)) } {
            p.title { "Changed twice: " span.path { (safe_line(&path)) } }
            @for passage in &conflict.passages { (passage_columns(passage, &mut compared)) }
            @if conflict.more > 0 {
                p.dim { "… and " (format::count_text(conflict.more as usize, "further passage")) }
            }
            p.dim { "Nothing was changed. The requester was notified and can try again with the current script." }
        }
    }
}

fn passage_columns(passage: &Passage, compared: &mut WordDiff) -> Markup {
    let line = Some(passage.line as usize);
    let of = |title, text| TextVersion { title, line, text };
    let others = [of("Current", &passage.theirs), of("Requested", &passage.ours)];
    let label = format!("From line {}", passage.line);
    version_columns(&label, of("Common base", &passage.base), others, compared)
}

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct TextVersion<'t> {
    pub(in super::super) title: &'static str,
    /// The number of its first line, if it is part of a script.
    pub(in super::super) line: Option<usize>,
    pub(in super::super) text: &'t str,
}

/// Renders versions of the same lines in columns. New words in the others are marked.
pub(in super::super) fn version_columns(
    label: &str,
    base: TextVersion<'_>,
    others: [TextVersion<'_>; 2],
    compared: &mut WordDiff,
) -> Markup {
    let lines = base.text.lines().count();
    let plain = (vec![false; lines], vec![Vec::new(); lines]);
    html! {
        div.passage role="group" aria-label=(label) {
            (version_column(base, &plain.0, &plain.1))
            @for other in others {
                @let (is_new, marks) = compare_lines(base.text, other.text, compared);
                (version_column(other, &is_new, &marks))
            }
        }
    }
}

/// Returns which lines differ from the base, and the ranges of the words that differ in them.
fn compare_lines(
    base: &str,
    text: &str,
    compared: &mut WordDiff,
) -> (Vec<bool>, Vec<Vec<Range<usize>>>) {
    let removed = base.lines().map(|line| DiffLine::Removed(line.to_owned()));
    let added = text.lines().map(|line| DiffLine::Added(line.to_owned()));
    let lines: Vec<DiffLine> = removed.chain(added).collect();
    let first = base.lines().count();
    let pairs = compared.pair_lines(&lines);
    let marks = compared.changed_ranges(&lines, &pairs).split_off(first);
    let mut is_new = vec![true; marks.len()];
    for pair in &pairs {
        if let (Some(a), Some(b)) = (pair.old, pair.new)
            && let (DiffLine::Removed(old), DiffLine::Added(new)) = (&lines[a], &lines[b])
        {
            is_new[b - first] = old != new;
        }
    }
    (is_new, marks)
}

fn version_column(
    version: TextVersion<'_>,
    is_new: &[bool],
    marks: &[Vec<Range<usize>>],
) -> Markup {
    let TextVersion { title, line: first, text } = version;
    let pieces: Vec<LinePieces> = match first {
        Some(_) => highlight_lines(text.lines()),
        None => text.lines().map(|_| LinePieces::default()).collect(),
    };
    html! {
        section aria-label=(title) {
            p.title { (title) }
            @if text.is_empty() { p.dim { "Nothing" } }
            div.lines.x.w4 {
                @for (at, it) in text.lines().enumerate() {
                    @let number = first.map(|first| first + at);
                    @if is_new[at] {
                        ins data-n=[number] { (line_view(it, &pieces[at], &marks[at])) }
                    } @else {
                        div data-n=[number] { (line_view(it, &pieces[at], &marks[at])) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflict_columns_mark_changes_of_each_side() {
        let passage = Passage {
            line: 8,
            base: "local x = 10\n".to_owned(),
            theirs: "local x = 99\n".to_owned(),
            ours: "local x = 10\nlocal y = \u{202e}2\n".to_owned(),
        };
        let path = "game.Workspace[\"a\u{202e}\"]".parse().unwrap();
        let twice = Conflict { path, passages: vec![passage], more: 2 };
        let html = super::conflict_view("conflict-7", &twice).into_string();
        let columns: Vec<&str> = html.split("<section").skip(1).collect();
        assert_eq!(columns.len(), 3, "{html}");
        assert!(!columns[0].contains("<ins"), "{html}");
        assert!(columns[1].contains("<ins data-n=\"8\">"), "{html}");
        assert!(columns[1].contains("<i class=\"n m\">99</i>"), "{html}");
        assert!(columns[2].contains("<div data-n=\"8\">"), "as it was: {html}");
        assert!(columns[2].contains("<ins data-n=\"9\">"), "{html}");
        assert!(html.contains("2 further passages") && !html.contains('\u{202e}'), "{html}");
    }

    #[test]
    fn empty_passage_is_shown_as_nothing() {
        let none = Passage { line: 1, base: "a".into(), theirs: String::new(), ours: "b".into() };
        let path = "game.Workspace.Main".parse().unwrap();
        let html = super::conflict_view("c", &Conflict { path, passages: vec![none], more: 0 });
        assert!(html.into_string().contains("<p class=\"dim\">Nothing</p>"));
    }
}
