//! Random texts that resemble scripts, and random changes to them.

use random_draws::RandomDraws;

/// Lines that are common in scripts.
const COMMON: [&str; 16] = [
    "",
    "",
    "",
    "end",
    "end",
    "\tend",
    "\t\tend",
    "end)",
    "\telse",
    "\treturn",
    "return nil",
    "}",
    "-- the same note",
    "\tlocal x = 1",
    "local x = 1",
    "\tprint(x)",
];

/// Lines that could confuse a parser of patches.
const ODD: [&str; 15] = [
    "\t",
    "end ",
    "  x()",
    "    y()",
    "- a",
    "-- a",
    " + b",
    "\t+ 1",
    "print(\"@@ -1 +1 @@\")",
    "é = \"日本\"",
    "x = 1 < 2",
    "--[[",
    "]]",
    "\"```\"",
    "local\tx  = 1",
];

/// Lines that look like those of a patch.
const WILD: [&str; 9] = [
    "\\ n",
    "++ b",
    "+++ b",
    "@@",
    "@@ -1,2 +1,2 @@",
    "*** End",
    "```",
    "--- a",
    "diff --git a/x b/x",
];

/// A text as lines without line ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) lines: Vec<String>,
    /// Whether the last line has a line end.
    pub(super) is_ended: bool,
}

impl Text {
    /// The text with these line ends.
    pub(super) fn with(&self, end: &str) -> String {
        let mut text = self.lines.join(end);
        if self.is_ended && !self.lines.is_empty() {
            text.push_str(end);
        }
        text
    }

    /// Sets `is_ended` if the text is empty or its last line is: an empty last line without a line
    /// end would not exist in the text.
    fn settle(mut self) -> Self {
        if self.lines.last().is_none_or(String::is_empty) {
            self.is_ended = true;
        }
        self
    }
}

/// A random line. If `is_wild`, it sometimes looks like a line of a patch.
pub(super) fn draw_line(draws: &mut RandomDraws, is_wild: bool) -> String {
    match draws.below(20) {
        0 if is_wild => draws.pick(&WILD).to_owned(),
        0..2 => draws.pick(&ODD).to_owned(),
        2..10 => draws.pick(&COMMON).to_owned(),
        _ => {
            let depth = "\t".repeat(draws.below(4));
            let name = draws.below(40);
            match draws.below(4) {
                0 => format!("{depth}local v{name} = {}", draws.below(9)),
                1 => format!("{depth}function f{name}(a, b)"),
                2 => format!("{depth}call{name}(x, \"text\")"),
                _ => format!("{depth}if v{name} then"),
            }
        }
    }
}

pub(super) fn draw_text(draws: &mut RandomDraws, is_wild: bool) -> Text {
    let most = match draws.below(40) {
        0 => 1,
        1 => 500,
        2..5 => 120,
        5..20 => 12,
        _ => 30,
    };
    let count = draws.below(most);
    let mut lines: Vec<String> = (0..count).map(|_| draw_line(draws, is_wild)).collect();
    // Repeat some blocks.
    if draws.one_in(3) && !lines.is_empty() {
        for _ in 0..=draws.below(2) {
            let (from, to) = (draws.below(lines.len()), draws.below(lines.len()));
            let block: Vec<String> =
                lines[from..].iter().take(1 + draws.below(12)).cloned().collect();
            lines.splice(to..to, block);
        }
    }
    // Indent with spaces instead of tabs.
    if draws.one_in(8) {
        let unit = draws.pick(&["  ", "    "]);
        for line in &mut lines {
            *line = line.replace('\t', unit);
        }
    }
    Text { lines, is_ended: !draws.one_in(6) }.settle()
}

/// Changes some lines.
pub(super) fn change_text(draws: &mut RandomDraws, text: &Text, is_wild: bool) -> Text {
    let mut new = text.clone();
    for _ in 0..=draws.below(4) {
        let count = new.lines.len();
        let at = draws.below(count + 1);
        let most = if draws.one_in(5) { 8 } else { 2 };
        let end = (at + 1 + draws.below(most)).min(count);
        match draws.below(12) {
            0..4 => {
                let lines: Vec<_> = (at..end).map(|_| draw_line(draws, is_wild)).collect();
                new.lines.splice(at..end, lines);
            }
            4..7 => {
                let lines: Vec<_> =
                    (0..=draws.below(4)).map(|_| draw_line(draws, is_wild)).collect();
                new.lines.splice(at..at, lines);
            }
            7..9 => drop(new.lines.drain(at..end)),
            9 => {
                let block = new.lines[at..end].to_vec();
                let to = draws.below(count + 1);
                new.lines.splice(to..to, block);
            }
            10 => {
                for line in &mut new.lines[at..end] {
                    line.insert(0, '\t');
                }
            }
            _ if draws.one_in(4) => new.is_ended = !new.is_ended,
            _ if draws.one_in(8) => new.lines.clear(),
            _ => {}
        }
    }
    new.settle()
}
