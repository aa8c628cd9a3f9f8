//! Differences as Markdown for a pull request: a summary, a table of properties, and the tree and
//! the scripts folded. What GitHub would cut off is left out, and said to be.
//!
//! Names and texts of a place are data: they cannot end a code block or become a tag or a link.

use std::fmt::Write as _;

use scene_schemas::proposal::{DiffLine, Hunk, ScriptDiff};
use vector_core::prompt::{fence_text, longest_backtick_run};
use vector_core::safe_line::safe_line;

/// GitHub refuses a comment of more than 65,536 characters. The rest is for what stands around.
const MAX_CHARS: usize = 60_000;
const MAX_ROWS: usize = 40;
const MAX_TREE_LINES: usize = 200;

/// A property that changed.
#[derive(Debug)]
pub(super) struct PropertyRow {
    pub(super) instance: String,
    pub(super) property: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// What a comparison found.
#[derive(Debug)]
pub(super) struct MarkdownReport<'a> {
    pub(super) summary: &'a str,
    pub(super) names: [&'a str; 2],
    pub(super) tree: &'a str,
    pub(super) rows: &'a [PropertyRow],
    pub(super) scripts: &'a [ScriptDiff],
    pub(super) pictures: &'a [(String, String)],
}

impl MarkdownReport<'_> {
    pub(super) fn render(&self) -> String {
        let [before, after] = self.names.map(code);
        let mut text = format!("**{}** from {before} to {after}\n", self.summary);
        for (name, address) in self.pictures {
            let _ = write!(text, "\n![{}](<{}>)\n", link_text(name), address.replace('>', "%3E"));
        }
        if !self.rows.is_empty() {
            text.push_str(&self.table());
        }
        text.push_str(&folded("All instances", &fence_text(&self.shown_tree(), "text")));
        let mut left_out = Vec::new();
        for script in self.scripts {
            let part = script_part(script);
            if text.chars().count() + part.chars().count() > MAX_CHARS {
                left_out.push(script);
            } else {
                text.push_str(&part);
            }
        }
        if !left_out.is_empty() {
            let titles: Vec<String> = left_out.into_iter().map(script_title).collect();
            let count = titles.len();
            let list: String = titles.join("\n").chars().take(MAX_CHARS / 20).collect();
            let title = format!("{count} more scripts, whose text is too long for here");
            text.push_str(&folded(&title, &fence_text(&list, "text")));
        }
        text
    }

    fn table(&self) -> String {
        let mut text =
            "\n| instance | property | before | after |\n| --- | --- | --- | --- |\n".to_owned();
        for row in self.rows.iter().take(MAX_ROWS) {
            let cells = [&row.instance, &row.property, &row.before, &row.after];
            let cells = cells.map(|cell| code(cell).replace('|', "\\|"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        if let more @ 1.. = self.rows.len().saturating_sub(MAX_ROWS) {
            let _ = writeln!(text, "\n… and {more} more, in the tree.");
        }
        text
    }

    fn shown_tree(&self) -> String {
        let count = self.tree.lines().count();
        let mut shown: String = self.tree.split_inclusive('\n').take(MAX_TREE_LINES).collect();
        if shown.chars().count() > MAX_CHARS / 3 {
            shown = shown.chars().take(MAX_CHARS / 3).collect();
            shown.push_str("…\n");
        }
        if count > MAX_TREE_LINES {
            let _ = writeln!(shown, "… and {} more lines", count - MAX_TREE_LINES);
        }
        shown
    }
}

fn script_title(script: &ScriptDiff) -> String {
    format!("{}  +{} −{}", script.path, script.added, script.removed)
}

fn script_part(script: &ScriptDiff) -> String {
    let lines: String = script.hunks.iter().map(hunk_text).collect();
    folded(&script_title(script), &fence_text(&lines, "diff"))
}

fn hunk_text(hunk: &Hunk) -> String {
    let count = |is_counted: fn(&DiffLine) -> bool| {
        hunk.lines.iter().filter(|line| is_counted(line)).count()
    };
    let old = count(|line| !matches!(line, DiffLine::Added(_)));
    let new = count(|line| !matches!(line, DiffLine::Removed(_)));
    let mut text = format!("@@ -{},{old} +{},{new} @@\n", hunk.old_start, hunk.new_start);
    for line in &hunk.lines {
        let (sign, line) = match line {
            DiffLine::Context(line) => (' ', line),
            DiffLine::Added(line) => ('+', line),
            DiffLine::Removed(line) => ('-', line),
        };
        let _ = writeln!(text, "{sign}{}", safe_line(line));
    }
    text
}

/// A part that a reader unfolds.
fn folded(title: &str, content: &str) -> String {
    let title = safe_line(title).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("\n<details><summary><code>{title}</code></summary>\n\n{content}\n</details>\n")
}

/// Code within a line.
fn code(text: &str) -> String {
    let text = safe_line(text);
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_backtick_run(&text) + 1);
    let blank = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// The text of a link or picture, in which nothing is markup.
fn link_text(text: &str) -> String {
    let is_markup = |c: char| c.is_ascii_punctuation();
    let escaped = |c: char| if is_markup(c) { format!("\\{c}") } else { c.to_string() };
    safe_line(text).chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_code() {
        assert_eq!(code("Part"), "`Part`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a``"), "``` `a`` ```");
        assert_eq!(code("a\nb\u{202e}c"), "`a␊b\\u{202e}c`");
        assert_eq!(code(""), "");
        assert_eq!(fence_text("+```\n", "diff"), "````diff\n+```\n````\n");
        let part = folded("</summary><script>", "x");
        assert!(part.contains("&lt;/summary&gt;&lt;script&gt;"), "{part}");
        assert_eq!(link_text("a](b)"), "a\\]\\(b\\)");
    }

    #[test]
    fn long_report_stays_below_the_limit_and_names_what_it_leaves_out() {
        let script = |n: usize| ScriptDiff {
            command: 0,
            path: format!("game.Workspace.S{n}").parse().unwrap(),
            left_out: false,
            added: 500,
            removed: 0,
            hunks: vec![Hunk {
                old_start: 0,
                new_start: 1,
                lines: vec![DiffLine::Added("x".repeat(50)); 500],
            }],
        };
        let scripts: Vec<ScriptDiff> = (0..9).map(script).collect();
        let row = |n: usize| PropertyRow {
            instance: format!("game.Workspace.P{n}"),
            property: "Name|`".to_owned(),
            before: "1".to_owned(),
            after: String::new(),
        };
        let rows: Vec<PropertyRow> = (0..100).map(row).collect();
        let tree = "├─ Part\n".repeat(5000);
        let report = MarkdownReport {
            summary: "much",
            names: ["a.rbxl", "b.rbxl"],
            tree: &tree,
            rows: &rows,
            scripts: &scripts,
            pictures: &[("before".to_owned(), "https://x/y>z".to_owned())],
        };
        let text = report.render();
        assert!(text.chars().count() < 65_536, "{}", text.chars().count());
        assert!(text.contains("… and 60 more, in the tree."));
        assert!(text.contains("… and 4800 more lines"));
        assert!(text.contains("7 more scripts, whose text is too long for here"), "{text}");
        assert!(text.contains("game.Workspace.S8"));
        assert!(text.contains("| `` Name\\|` `` |"), "{}", &text[..600]);
        assert!(text.contains("![before](<https://x/y%3Ez>)"));
    }
}
