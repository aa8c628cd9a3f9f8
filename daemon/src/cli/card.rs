//! Renders a proposal as a card, which the user reads before approving it.
//!
//! The card is made from the proposal alone, so that it shows exactly what will be applied. This
//! module does not know who decides, or which stream the card is printed on.

use std::collections::BTreeMap;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{
    Change, Class, PlayCheck, PlayCheckResult, Proposal, Row, ScriptDiff,
};
use scene_schemas::{Command, InstancePath, Value};
use vector_core::proposal::{change_note, class_reason, group_by_instance, short_values};

use super::hunks;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line, wrap_words};
use super::tree::ChangeMark;

/// The maximum number of table rows on a card.
const ROWS: usize = 60;

/// The maximum number of diff lines on a card.
const LINES: usize = 200;

/// Renders the card of a proposal, shortened if it is too long.
pub(super) fn render_card(seq: Seq, proposal: &Proposal, style: TextStyle) -> String {
    card_text(seq, proposal, style, false)
}

/// Renders the card without shortening it.
pub(super) fn render_full_card(seq: Seq, proposal: &Proposal, style: TextStyle) -> String {
    card_text(seq, proposal, style, true)
}

fn card_text(seq: Seq, proposal: &Proposal, style: TextStyle, whole: bool) -> String {
    let paint = class_paint(proposal.class);
    let inner = TextStyle { width: style.width.saturating_sub(2), ..style };
    let mut lines = Vec::new();
    for line in wrap_words(&terminal_line(&proposal.title), inner.width) {
        lines.push(style.paint(PaintKind::Bold, line));
    }
    lines.extend(wrap_words(&terminal_line(&class_reason(proposal)), inner.width));
    if let Some(implicit_target) = &proposal.implicit_target {
        lines.extend(wrap_words(&terminal_line(&implicit_target.describe()), inner.width));
    }
    for line in proposal.describe_author() {
        lines.extend(wrap_words(&terminal_line(&line), inner.width));
    }
    if let Some(files) = proposal.describe_files() {
        lines.extend(wrap_words(&terminal_line(&files), inner.width));
    }
    lines.extend(proposal.runs.iter().flat_map(|check| check_lines(check, inner)));
    lines.extend(warning_lines(proposal, inner));
    let table = operation_lines(proposal, inner, whole);
    if !table.is_empty() {
        lines.push(String::new());
        lines.extend(table);
    }
    lines.extend(text_lines(proposal, inner, whole));
    let head = format!(
        "{} {} {} {}",
        style.paint(paint, "╭─"),
        style.paint(PaintKind::Bold, format!("Proposal {seq}")),
        style.paint(paint, format!("· {}", class_name(proposal.class))),
        style.paint(
            PaintKind::Dim,
            format!("· {}", count_noun(proposal.operation_count(), "operation"))
        ),
    );
    let bar = style.paint(paint, "│");
    let mut card = format!("{head}\n");
    for line in lines {
        card.push_str(format!("{bar} {line}").trim_end());
        card.push('\n');
    }
    card.push_str(&style.paint(paint, "╰─"));
    card.push('\n');
    card
}

pub(super) fn class_name(class: Class) -> &'static str {
    match class {
        Class::Additive => "additive",
        Class::Modifying => "modifying",
        Class::Destructive => "destructive",
    }
}

pub(super) fn class_paint(class: Class) -> PaintKind {
    match class {
        Class::Additive => PaintKind::Added,
        Class::Modifying => PaintKind::Changed,
        Class::Destructive => PaintKind::Removed,
    }
}

/// The lines about what came of playing the game.
fn check_lines(check: &PlayCheck, style: TextStyle) -> Vec<String> {
    let paint = match check.result {
        PlayCheckResult::Passed => PaintKind::Added,
        PlayCheckResult::NewErrors => PaintKind::Removed,
        PlayCheckResult::Unknown => PaintKind::Dim,
    };
    let summary = wrap_words(&terminal_line(&check.summary), style.width);
    let mut lines: Vec<String> = summary.into_iter().map(|line| style.paint(paint, line)).collect();
    for error in &check.errors {
        let text = format!("{} ({})", terminal_line(&error.message), terminal_line(&error.peer));
        let wrapped = wrap_words(&text, style.width.saturating_sub(2));
        lines.extend(wrapped.into_iter().map(|line| format!("  {line}")));
    }
    if check.more_errors > 0 {
        lines.push(format!("  … and {}", count_noun(check.more_errors as usize, "more error")));
    }
    lines
}

fn warning_lines(proposal: &Proposal, style: TextStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in &proposal.warnings {
        let twice = warning.kind.needs_second_confirmation();
        let (front, paint) =
            if twice { ("!! ", PaintKind::Removed) } else { ("!  ", PaintKind::Changed) };
        let mut text = terminal_line(&warning.text).into_owned();
        if twice {
            text.push_str(" (needs a second confirmation)");
        }
        for (at, line) in wrap_words(&text, style.width.saturating_sub(3)).iter().enumerate() {
            let front = if at == 0 { front } else { "   " };
            lines.push(style.paint(paint, format!("{front}{line}")));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The changes of one instance.
struct InstanceGroup<'a> {
    mark: ChangeMark,
    class: &'a str,
    path: &'a InstancePath,
    note: String,
    props: Vec<(String, String)>,
}

/// Groups the rows by instance.
fn group_rows<'a>(
    proposal: &'a Proposal,
    rows: impl Iterator<Item = &'a Row>,
    whole: bool,
) -> Vec<InstanceGroup<'a>> {
    let group = |rows: Vec<&'a Row>| {
        let first = rows.first()?;
        let mut group = InstanceGroup {
            mark: ChangeMark::Changed,
            class: &first.class,
            path: &first.path,
            note: String::new(),
            props: Vec::new(),
        };
        for row in rows {
            group.add_change(&row.change, whole);
        }
        Some(group)
    };
    group_by_instance(proposal, rows).into_iter().filter_map(group).collect()
}

impl InstanceGroup<'_> {
    fn add_change(&mut self, change: &Change, whole: bool) {
        match change {
            Change::Created { props } => {
                self.mark = ChangeMark::Added;
                let shown = props.iter().map(|(name, it)| (name.clone(), format_value(it, whole)));
                self.props.extend(shown);
            }
            Change::Cloned { .. } | Change::Inserted { .. } | Change::Restored { .. } => {
                self.mark = ChangeMark::Added;
            }
            Change::Set { property, before, after } => {
                let text = format_value_change(before.as_ref(), after.as_ref(), whole);
                self.props.push((property.clone(), text));
            }
            Change::Moved { .. } if self.mark == ChangeMark::Changed => {
                self.mark = ChangeMark::Moved;
            }
            Change::Moved { .. } => {}
            Change::Deleted { .. } => self.mark = ChangeMark::Removed,
        }
        if let Some(note) = change_note(change) {
            let comma = if self.note.is_empty() { "" } else { ", " };
            self.note = format!("{}{comma}{note}", self.note);
        }
    }

    fn format_lines(&self, style: TextStyle) -> Vec<String> {
        let front = format!("{} {}", self.mark.sign(), terminal_line(self.class));
        let mut head = format!(
            "{} {}",
            style.paint(self.mark.paint(), front),
            terminal_line(&self.path.to_string())
        );
        if !self.note.is_empty() {
            head.push_str(&style.paint(PaintKind::Dim, format!("  {}", terminal_line(&self.note))));
        }
        if let ([(name, value)], ChangeMark::Changed) = (self.props.as_slice(), self.mark) {
            let name = style.paint(PaintKind::Dim, terminal_line(name));
            return vec![format!("{head}  {name}  {}", terminal_line(value))];
        }
        let mut lines = vec![head];
        let widest = self.props.iter().map(|(name, _)| name.chars().count()).max();
        let column = widest.unwrap_or(0).min(34);
        for (name, value) in &self.props {
            let name = style.paint(PaintKind::Dim, format!("{:<column$}", terminal_line(name)));
            lines.push(format!("    {name}  {}", terminal_line(value)));
        }
        lines
    }
}

pub(super) fn format_value(value: &Value, whole: bool) -> String {
    match value {
        Value::String(_) if whole => serde_json::to_string(value).unwrap_or_default(),
        _ => value.to_brief(),
    }
}

/// Formats a change as `a → b`.
pub(super) fn format_value_change(
    before: Option<&Value>,
    after: Option<&Value>,
    whole: bool,
) -> String {
    let (before, after) = short_values(before, after, |value| format_value(value, whole));
    format!("{before} → {after}")
}

fn operation_lines(proposal: &Proposal, style: TextStyle, whole: bool) -> Vec<String> {
    let groups = group_rows(proposal, proposal.preview.rows.iter(), whole);
    let mut lines = Vec::new();
    let mut shown = 0;
    for group in &groups {
        let next = group.format_lines(style);
        if !whole && shown > 0 && lines.len() + next.len() > ROWS {
            break;
        }
        lines.extend(next);
        shown += 1;
    }
    let mut rest: BTreeMap<(char, &str), usize> = BTreeMap::new();
    for group in &groups[shown..] {
        *rest.entry((group.mark.sign(), group.class)).or_default() += 1;
    }
    let mut more: Vec<String> = rest
        .iter()
        .map(|((sign, class), n)| format!("{n} × {sign} {}", terminal_line(class)))
        .collect();
    if proposal.preview.more_rows > 0 {
        more.push(count_noun(proposal.preview.more_rows as usize, "further row"));
    }
    if !more.is_empty() {
        let text = format!("… and {}", more.join(", "));
        lines.push(style.paint(PaintKind::Dim, text));
    }
    lines
}

fn text_lines(proposal: &Proposal, style: TextStyle, whole: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut left = if whole { usize::MAX } else { LINES };
    for script in &proposal.preview.scripts {
        lines.push(String::new());
        lines.push(script_head(script, style));
        let mut diff = hunks::hunk_lines(&script.hunks, style, whole);
        let all = diff.len();
        // Replacing only a few lines by a note saves nothing.
        if all > left.saturating_add(5) {
            diff.truncate(left);
            diff.push(style.paint(PaintKind::Dim, format!("… {} more lines", all - left)));
        }
        left = left.saturating_sub(all);
        lines.extend(diff);
    }
    lines
}

/// The line above a script's diff. An empty path means the place's memory.
pub(super) fn script_head(script: &ScriptDiff, style: TextStyle) -> String {
    let is_memory = script.path.segments.is_empty();
    let name = if is_memory { "Memory".to_owned() } else { script.path.to_string() };
    let name = style.paint(PaintKind::Bold, terminal_line(&name));
    if script.left_out {
        return format!("{name}  {}", style.paint(PaintKind::Dim, "left out"));
    }
    format!(
        "{name}  {} {}",
        style.paint(PaintKind::Added, format!("+{}", script.added)),
        style.paint(PaintKind::Removed, format!("−{}", script.removed)),
    )
}

/// The rows of one command, each ending in a newline.
pub(super) fn command_rows(proposal: &Proposal, command: usize, style: TextStyle) -> String {
    let members = proposal.commands.get(command).and_then(Command::member_count);
    let is_shown = |row: &&Row| {
        row.command as usize == command && row.member.is_none_or(|it| (it as usize) < ROWS)
    };
    let rows = proposal.preview.rows.iter().filter(is_shown);
    let groups = group_rows(proposal, rows, true);
    let mut lines: Vec<String> =
        groups.iter().flat_map(|group| group.format_lines(style)).collect();
    if let Some(more) = members.and_then(|count| (count as usize).checked_sub(groups.len()))
        && more > 0
    {
        let text = format!("… and {}", count_noun(more, "further instance"));
        lines.push(style.paint(PaintKind::Dim, text));
    }
    let script = proposal.preview.scripts.iter().find(|it| it.command as usize == command);
    if let Some(script) = script {
        lines.push(script_head(script, style));
        lines.extend(hunks::hunk_lines(&script.hunks, style, true));
    }
    if lines.is_empty() {
        // The command may be beyond the preview's limit of rows.
        let exact = proposal.commands.get(command).map(serde_json::to_string);
        lines.extend(exact.and_then(Result::ok).map(|it| terminal_line(&it).into_owned()));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns rows as text, each with a line break.
pub(super) fn row_lines<'a>(
    proposal: &'a Proposal,
    rows: impl Iterator<Item = &'a Row>,
    style: TextStyle,
) -> String {
    let groups = group_rows(proposal, rows, true);
    let lines = groups.iter().flat_map(|group| group.format_lines(style));
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests;
