//! Changes of texts, hunk by hunk, in a unified or a split layout.
//!
//! Lines are grouped in blocks, so that the browser lays out only the visible ones.

use maud::{Markup, html};
use scene_schemas::proposal::{DiffLine, Hunk, Proposal, ScriptDiff};
use vector_core::proposal::{ProposalUnit, is_editable_script};
use vector_core::safe_line::safe_line;
use vector_luau::{LinePieces, highlight_lines};
use vector_text_edit::{LinePair, WordDiff};

use super::diff_line::line_view;
use super::unit_key;
use crate::daemon::ChangeExtent;
use crate::server::page::format;

/// The number of lines in a block.
const BLOCK: usize = 100;
/// The granularity in lines of a block's height, which the browser knows in advance.
const STEP: usize = 10;

/// The layout of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLayout {
    /// Removed lines above added ones.
    Unified,
    /// Removed lines beside added ones.
    Split,
}

/// Where the scripts of a proposal can be shown besides the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptTargets {
    /// Whether scripts have files.
    pub(super) has_files: bool,
    pub(super) is_in_studio: bool,
}

/// Renders the changes of all texts.
pub(super) fn text_changes(
    proposal: &Proposal,
    pieces: &[ProposalUnit],
    layout: DiffLayout,
    targets: ScriptTargets,
) -> Markup {
    let mut compared = WordDiff::default();
    html! {
        @for (at, script) in proposal.preview.scripts.iter().enumerate() {
            (text_change(proposal, at, script, pieces, layout, targets, &mut compared))
        }
    }
}

fn text_change(
    proposal: &Proposal,
    at: usize,
    script: &ScriptDiff,
    pieces: &[ProposalUnit],
    layout: DiffLayout,
    targets: ScriptTargets,
    compared: &mut WordDiff,
) -> Markup {
    let whole = ProposalUnit::Command(script.command as usize);
    let is_memory = is_memory(script);
    let is_editable = !pieces.is_empty() && is_editable_script(proposal, at);
    html! {
        section.script data-key={ "s" (at) } data-script=(at) data-path=(format::json_attribute(&script.path)) aria-label=(script_name(script)) {
            h3 {
                (text_head(script))
                @if script.left_out && !pieces.is_empty() {
                    button.plain type="button" data-act="keep-script" data-script=(at) { "Keep this script" }
                }
                @if !is_memory && !script.left_out {
                    button.plain type="button" data-act="whole-script" data-path=(script.path) { "Show whole script" }
                    (reveal_buttons(script, targets))
                }
                @if is_editable {
                    button.plain type="button" data-act="edit-script" data-script=(at) { "Edit" }
                }
                label.viewed { input type="checkbox" data-viewed=(script_name(script)); "Viewed" }
            }
            div.whole {}
            @for number in 0..script.hunks.len() {
                @let unit = ProposalUnit::Hunk { script: at, hunk: number };
                // A memory can only be approved as a whole.
                @let unit = if is_memory && number == 0 { whole } else { unit };
                @let unit = Some(unit).filter(|unit| pieces.len() > 1 && pieces.contains(unit));
                (hunk_section(at, number, script, unit, layout, compared))
            }
        }
    }
}

/// Renders the buttons that show a script in other programs, at its first change.
fn reveal_buttons(script: &ScriptDiff, targets: ScriptTargets) -> Markup {
    // A new script is nowhere yet.
    if script.is_new() {
        return html! {};
    }
    let line = script.first_line();
    html! {
        @if targets.has_files {
            button.plain type="button" data-act="reveal" data-target="editor" data-path=(script.path) data-line=(line) { "Open in editor" }
        }
        @if targets.is_in_studio {
            button.plain type="button" data-act="reveal" data-target="studio" data-path=(script.path) data-line=(line) { "Show in Studio" }
        }
    }
}

/// Renders the heading of a text's change.
pub(super) fn text_head(script: &ScriptDiff) -> Markup {
    html! {
        span.path { (script_name(script)) } " "
        @if script.left_out {
            span.dim { "left out" }
        } @else {
            span.good { "+" (script.added) } " " span.bad { "−" (script.removed) }
        }
    }
}

/// Whether this is the place's memory: the place itself has no text, and the memory uses its path.
fn is_memory(script: &ScriptDiff) -> bool {
    script.path.segments.is_empty()
}

fn script_name(script: &ScriptDiff) -> String {
    if is_memory(script) {
        "Memory".to_owned()
    } else {
        safe_line(&script.path.to_string()).into_owned()
    }
}

/// Renders the difference between two versions of a text's change. Nothing of it can be chosen.
pub(super) fn compared_text(
    script: &ScriptDiff,
    layout: DiffLayout,
    compared: &mut WordDiff,
) -> Markup {
    html! {
        section.compared aria-label=(script_name(script)) {
            h3 { (text_head(script)) }
            @for hunk in &script.hunks {
                p.dim { (hunk_label(hunk)) }
                (hunk_lines(hunk, script, layout, compared))
            }
        }
    }
}

fn hunk_section(
    at: usize,
    number: usize,
    script: &ScriptDiff,
    unit: Option<ProposalUnit>,
    layout: DiffLayout,
    compared: &mut WordDiff,
) -> Markup {
    let Some(hunk) = script.hunks.get(number) else {
        return html! {};
    };
    let label = hunk_label(hunk);
    let part = unit.map(unit_key);
    html! {
        section.hunk data-key={ "h" (at) "." (number) } data-stop="" tabindex="-1"
            aria-label={ (label) " of " (script_name(script)) } {
            @if let Some(part) = part {
                label.take {
                    input type="checkbox" name="part" value=(part) data-part=(part) checked;
                    span.hush { "Take " (label) " of " (script_name(script)) }
                }
            }
            details open {
                summary { (label) }
                (hunk_lines(hunk, script, layout, compared))
            }
        }
    }
}

fn hunk_label(hunk: &Hunk) -> String {
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

/// Renders a text without changes.
pub(super) fn plain_text(text: &str) -> Markup {
    let lines = text.lines().map(|line| DiffLine::Context(line.to_owned())).collect();
    let hunk = Hunk { old_start: 1, new_start: 1, lines };
    let pieces = color_lines(&hunk.lines);
    let line_of = |(it, pieces): (&DiffLine, &LinePieces)| line_view(line_text(it), pieces, &[]);
    let cells = hunk.lines.iter().zip(&pieces).map(line_of).collect();
    let digits = hunk.lines.len().to_string().len().clamp(2, 7);
    let old: Vec<u32> = (1..).take(hunk.lines.len()).collect();
    RenderedHunk { hunk: &hunk, cells, new: old.clone(), old, digits }.render_side()
}

/// Renders the first lines of a text's change. Returns the number of remaining lines as well.
pub(super) fn preview_lines(
    script: &ScriptDiff,
    limit: usize,
    compared: &mut WordDiff,
) -> (Markup, usize) {
    let mut left = limit;
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
        @for hunk in &cut { (hunk_lines(hunk, script, DiffLayout::Unified, compared)) }
    };
    (shown, all - (limit - left))
}

fn hunk_lines(
    hunk: &Hunk,
    script: &ScriptDiff,
    layout: DiffLayout,
    compared: &mut WordDiff,
) -> Markup {
    let pairs = compared.pair_lines(&hunk.lines);
    let marks = compared.changed_ranges(&hunk.lines, &pairs);
    let pieces = if is_memory(script) {
        vec![LinePieces::new(); hunk.lines.len()]
    } else {
        color_lines(&hunk.lines)
    };
    let last = script.hunks.last().unwrap_or(hunk);
    let digits = last.old_start.max(last.new_start) as usize + last.lines.len();
    let digits = digits.to_string().len().clamp(2, 7);
    let (old, new) = line_numbers(hunk);
    let cells: Vec<Markup> = hunk
        .lines
        .iter()
        .zip(&pieces)
        .zip(&marks)
        .map(|((it, pieces), marks)| line_view(line_text(it), pieces, marks))
        .collect();
    let shown = RenderedHunk { hunk, cells, old, new, digits };
    match layout {
        DiffLayout::Unified => shown.render_unified(),
        DiffLayout::Split => shown.render_split(&pairs),
    }
}

fn line_text(line: &DiffLine) -> &str {
    match line {
        DiffLine::Context(text) | DiffLine::Added(text) | DiffLine::Removed(text) => text,
    }
}

/// Highlights each line: removed ones in the context of the old text, all others in that of the new
/// text.
fn color_lines(lines: &[DiffLine]) -> Vec<LinePieces> {
    let side = |gone: bool| {
        let on = move |line: &&DiffLine| match line {
            DiffLine::Context(_) => true,
            DiffLine::Removed(_) => gone,
            DiffLine::Added(_) => !gone,
        };
        highlight_lines(lines.iter().filter(on).map(line_text)).into_iter()
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

/// Returns the number of each line before and after.
fn line_numbers(hunk: &Hunk) -> (Vec<u32>, Vec<u32>) {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let next = |line: &DiffLine| {
        let at = (old, new);
        old += u32::from(!matches!(line, DiffLine::Added(_)));
        new += u32::from(!matches!(line, DiffLine::Removed(_)));
        at
    };
    hunk.lines.iter().map(next).unzip()
}

/// A hunk whose lines are rendered.
struct RenderedHunk<'a> {
    hunk: &'a Hunk,
    cells: Vec<Markup>,
    old: Vec<u32>,
    new: Vec<u32>,
    /// The number of digits of the largest line number.
    digits: usize,
}

impl RenderedHunk<'_> {
    fn render_unified(&self) -> Markup {
        let (width, all) = (self.digits, self.hunk.lines.len());
        html! {
            div class={ "lines u w" (width) } {
                @for from in (0..all).step_by(BLOCK) {
                    @let to = all.min(from + BLOCK);
                    div class=(block_class(to - from)) {
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

    fn render_side(&self) -> Markup {
        let all = self.hunk.lines.len();
        html! {
            div class={ "lines o w" (self.digits) } {
                @for from in (0..all).step_by(BLOCK) {
                    @let to = all.min(from + BLOCK);
                    div class=(block_class(to - from)) { @for at in from..to { (self.render_cell(Some(at), &self.old)) } }
                }
            }
        }
    }

    fn render_split(&self, pairs: &[LinePair]) -> Markup {
        html! {
            div class={ "lines p w" (self.digits) } {
                @for rows in pairs.chunks(BLOCK) {
                    div class=(block_class(rows.len())) {
                        @for row in rows {
                            (self.render_cell(row.old, &self.old))
                            (self.render_cell(row.new, &self.new))
                        }
                    }
                }
            }
        }
    }

    /// Renders one side of a row.
    fn render_cell(&self, at: Option<usize>, numbers: &[u32]) -> Markup {
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

/// Returns the classes of a block, from which the style sheet knows its height before it is laid
/// out.
fn block_class(lines: usize) -> String {
    format!("b t{}", lines.div_ceil(STEP))
}

/// Renders the number of operations, and of added and removed lines.
pub(super) fn size_badge(extent: ChangeExtent) -> Markup {
    html! {
        (format::count_text(extent.operations, "operation"))
        @if let Some((added, removed)) = extent.lines {
            " · " span.good { "+" (added) } " " span.bad { "−" (removed) }
        }
    }
}
