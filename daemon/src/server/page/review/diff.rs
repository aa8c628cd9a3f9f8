//! What happens to texts: hunk by hunk, one below the other or side by side.
//!
//! Lines stand in blocks, so that the browser lays out only those that are looked at.

use maud::{Markup, html};
use scene_schemas::proposal::{DiffLine, Hunk, Proposal, ScriptDiff};
use vector_core::proposal::Unit;
use vector_core::shown::shown;
use vector_luau::{Pieces, highlight};
use vector_text_edit::{Beside, Words};

use super::line::line;
use super::named;
use crate::server::page::words;
use crate::server::waiting::Extent;

/// Lines of a block.
const BLOCK: usize = 100;
/// The browser is told how high a block is in steps of so many lines.
const STEP: usize = 10;

/// How the lines of a text stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// What goes above what comes.
    Unified,
    /// What goes beside what comes.
    Split,
}

/// The changes of all texts.
pub(super) fn texts(proposal: &Proposal, pieces: &[Unit], layout: Layout) -> Markup {
    let mut compared = Words::default();
    html! {
        @for (at, script) in proposal.preview.scripts.iter().enumerate() {
            (text(at, script, pieces, layout, &mut compared))
        }
    }
}

fn text(
    at: usize,
    script: &ScriptDiff,
    pieces: &[Unit],
    layout: Layout,
    compared: &mut Words,
) -> Markup {
    let whole = Unit::Command(script.command as usize);
    let is_memory = is_memory(script);
    html! {
        section.script data-key={ "s" (at) } aria-label=(name(script)) {
            h3 {
                (head(script))
                @if !is_memory {
                    button.plain type="button" data-act="whole-script" data-path=(script.path) { "Show whole script" }
                }
                label.viewed { input type="checkbox" data-viewed=(name(script)); "Viewed" }
            }
            div.whole {}
            @for number in 0..script.hunks.len() {
                @let unit = Unit::Hunk { script: at, hunk: number };
                // A memory is taken or left as a whole.
                @let unit = if is_memory && number == 0 { whole } else { unit };
                @let unit = Some(unit).filter(|unit| pieces.len() > 1 && pieces.contains(unit));
                (section((at, number), script, unit, layout, compared))
            }
        }
    }
}

/// What stands above the change of a text.
pub(super) fn head(script: &ScriptDiff) -> Markup {
    html! {
        span.path { (name(script)) } " "
        span.good { "+" (script.added) } " " span.bad { "−" (script.removed) }
    }
}

/// The place itself has no text; its memory has its path.
fn is_memory(script: &ScriptDiff) -> bool {
    script.path.segments.is_empty()
}

fn name(script: &ScriptDiff) -> String {
    if is_memory(script) {
        "Memory".to_owned()
    } else {
        shown(&script.path.to_string()).into_owned()
    }
}

fn section(
    (at, number): (usize, usize),
    script: &ScriptDiff,
    unit: Option<Unit>,
    layout: Layout,
    compared: &mut Words,
) -> Markup {
    let Some(hunk) = script.hunks.get(number) else {
        return html! {};
    };
    let label = label(hunk);
    let part = unit.map(named);
    html! {
        section.hunk data-key={ "h" (at) "." (number) } data-stop="" tabindex="-1"
            aria-label={ (label) " of " (name(script)) } {
            @if let Some(part) = part {
                label.take {
                    input type="checkbox" name="part" value=(part) data-part=(part) checked;
                    span.hush { "Take " (label) " of " (name(script)) }
                }
            }
            details open {
                summary { (label) }
                (lines(hunk, script, layout, compared))
            }
        }
    }
}

fn label(hunk: &Hunk) -> String {
    let range = |start: u32, wanted: fn(&DiffLine) -> bool| {
        let count = hunk.lines.iter().filter(|line| wanted(line)).count() as u32;
        match count {
            0 => None,
            1 => Some(start.to_string()),
            n => Some(format!("{start}–{}", start + n - 1)),
        }
    };
    let old = range(hunk.old_start, |line| !matches!(line, DiffLine::Added(_)));
    let new = range(hunk.new_start, |line| !matches!(line, DiffLine::Removed(_)));
    match (old, new) {
        (Some(old), Some(new)) if old == new => format!("Lines {old}"),
        (Some(old), Some(new)) => format!("Lines {old} → {new}"),
        (Some(old), None) => format!("Lines {old}, removed"),
        (None, Some(new)) => format!("Lines {new}, new"),
        (None, None) => "No lines".to_owned(),
    }
}

/// A text as it is.
pub(super) fn plain(text: &str) -> Markup {
    let lines = text.lines().map(|line| DiffLine::Context(line.to_owned())).collect();
    let hunk = Hunk { old_start: 1, new_start: 1, lines };
    let pieces = coloured(&hunk.lines);
    let line_of = |(it, pieces): (&DiffLine, &Pieces)| line(text_of(it), pieces, &[]);
    let cells = hunk.lines.iter().zip(&pieces).map(line_of).collect();
    let digits = hunk.lines.len().to_string().len().clamp(2, 7);
    let old: Vec<u32> = (1..).take(hunk.lines.len()).collect();
    Shown { hunk: &hunk, cells, new: old.clone(), old, digits }.one_side()
}

/// The first lines of a text's change, one below the other, and how many are left.
pub(super) fn first(script: &ScriptDiff, most: usize, compared: &mut Words) -> (Markup, usize) {
    let mut left = most;
    let mut cut = Vec::new();
    for hunk in &script.hunks {
        let mut hunk = hunk.clone();
        hunk.lines.truncate(left);
        left -= hunk.lines.len();
        if !hunk.lines.is_empty() {
            cut.push(hunk);
        }
    }
    let all: usize = script.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    let shown = html! {
        @for hunk in &cut { (lines(hunk, script, Layout::Unified, compared)) }
    };
    (shown, all - (most - left))
}

fn lines(hunk: &Hunk, script: &ScriptDiff, layout: Layout, compared: &mut Words) -> Markup {
    let beside = compared.beside(&hunk.lines);
    let marks = compared.marks(&hunk.lines, &beside);
    let pieces = if is_memory(script) {
        vec![Pieces::new(); hunk.lines.len()]
    } else {
        coloured(&hunk.lines)
    };
    let last = script.hunks.last().unwrap_or(hunk);
    let digits = last.old_start.max(last.new_start) as usize + last.lines.len();
    let digits = digits.to_string().len().clamp(2, 7);
    let (old, new) = numbers(hunk);
    let cells: Vec<Markup> = hunk
        .lines
        .iter()
        .zip(&pieces)
        .zip(&marks)
        .map(|((it, pieces), marks)| line(text_of(it), pieces, marks))
        .collect();
    let shown = Shown { hunk, cells, old, new, digits };
    match layout {
        Layout::Unified => shown.unified(),
        Layout::Split => shown.split(&beside),
    }
}

fn text_of(line: &DiffLine) -> &str {
    match line {
        DiffLine::Context(text) | DiffLine::Added(text) | DiffLine::Removed(text) => text,
    }
}

/// The pieces of each line: of what goes as they are before, of all others as they are afterwards.
fn coloured(lines: &[DiffLine]) -> Vec<Pieces> {
    let side = |gone: bool| {
        let on = move |line: &&DiffLine| match line {
            DiffLine::Context(_) => true,
            DiffLine::Removed(_) => gone,
            DiffLine::Added(_) => !gone,
        };
        highlight(lines.iter().filter(on).map(text_of)).into_iter()
    };
    let (mut old, mut new) = (side(true), side(false));
    let pieces = lines.iter().map(|line| match line {
        DiffLine::Context(_) => {
            old.next();
            new.next()
        }
        DiffLine::Removed(_) => old.next(),
        DiffLine::Added(_) => new.next(),
    });
    pieces.map(Option::unwrap_or_default).collect()
}

/// The number of each line before and after.
fn numbers(hunk: &Hunk) -> (Vec<u32>, Vec<u32>) {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let next = |line: &DiffLine| {
        let at = (old, new);
        old += u32::from(!matches!(line, DiffLine::Added(_)));
        new += u32::from(!matches!(line, DiffLine::Removed(_)));
        at
    };
    hunk.lines.iter().map(next).unzip()
}

/// A hunk whose lines are made.
struct Shown<'a> {
    hunk: &'a Hunk,
    cells: Vec<Markup>,
    old: Vec<u32>,
    new: Vec<u32>,
    /// Of the longest number.
    digits: usize,
}

impl Shown<'_> {
    fn unified(&self) -> Markup {
        let (width, all) = (self.digits, self.hunk.lines.len());
        html! {
            div class={ "lines u w" (width) } {
                @for from in (0..all).step_by(BLOCK) {
                    @let to = all.min(from + BLOCK);
                    div class=(block(to - from)) {
                        @for at in from..to {
                            @let (old, new) = (self.old[at], self.new[at]);
                            @match self.hunk.lines[at] {
                                DiffLine::Context(_) => div data-n=(format!("{old:>width$} {new:>width$}")) { (self.cells[at]) },
                                DiffLine::Removed(_) => del data-n=(format!("{old:>width$} {:width$}", "")) { (self.cells[at]) },
                                DiffLine::Added(_) => ins data-n=(format!("{:width$} {new:>width$}", "")) { (self.cells[at]) },
                            }
                        }
                    }
                }
            }
        }
    }

    /// One side alone.
    fn one_side(&self) -> Markup {
        let all = self.hunk.lines.len();
        html! {
            div class={ "lines o w" (self.digits) } {
                @for from in (0..all).step_by(BLOCK) {
                    @let to = all.min(from + BLOCK);
                    div class=(block(to - from)) { @for at in from..to { (self.cell(Some(at), &self.old)) } }
                }
            }
        }
    }

    fn split(&self, beside: &[Beside]) -> Markup {
        html! {
            div class={ "lines p w" (self.digits) } {
                @for rows in beside.chunks(BLOCK) {
                    div class=(block(rows.len())) {
                        @for row in rows {
                            (self.cell(row.old, &self.old))
                            (self.cell(row.new, &self.new))
                        }
                    }
                }
            }
        }
    }

    /// One side of a row.
    fn cell(&self, at: Option<usize>, numbers: &[u32]) -> Markup {
        let Some(at) = at else {
            return html! { div.e {} };
        };
        html! {
            @match self.hunk.lines[at] {
                DiffLine::Context(_) => div data-n=(numbers[at]) { (self.cells[at]) },
                DiffLine::Removed(_) => del data-n=(numbers[at]) { (self.cells[at]) },
                DiffLine::Added(_) => ins data-n=(numbers[at]) { (self.cells[at]) },
            }
        }
    }
}

/// The classes of a block: the style knows by them how high it is before it was looked at.
fn block(lines: usize) -> String {
    format!("b t{}", lines.div_ceil(STEP))
}

/// How many lines come and go in all, in a few signs.
pub(super) fn size(extent: Extent) -> Markup {
    html! {
        (words::count(extent.operations, "operation"))
        @if let Some((added, removed)) = extent.lines {
            " · " span.good { "+" (added) } " " span.bad { "−" (removed) }
        }
    }
}
