//! Random texts that resemble scripts, and random changes to them.

/// A random generator that gives the same sequence in every run.
#[derive(Debug, Clone)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True once in `times` times.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

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

impl Chance {
    /// A random line. If `is_wild`, it sometimes looks like a line of a patch.
    pub(super) fn line(&mut self, is_wild: bool) -> String {
        match self.below(20) {
            0 if is_wild => self.pick(&WILD).to_owned(),
            0..2 => self.pick(&ODD).to_owned(),
            2..10 => self.pick(&COMMON).to_owned(),
            _ => {
                let depth = "\t".repeat(self.below(4));
                let name = self.below(40);
                match self.below(4) {
                    0 => format!("{depth}local v{name} = {}", self.below(9)),
                    1 => format!("{depth}function f{name}(a, b)"),
                    2 => format!("{depth}call{name}(x, \"text\")"),
                    _ => format!("{depth}if v{name} then"),
                }
            }
        }
    }

    pub(super) fn text(&mut self, is_wild: bool) -> Text {
        let most = match self.below(40) {
            0 => 1,
            1 => 500,
            2..5 => 120,
            5..20 => 12,
            _ => 30,
        };
        let count = self.below(most);
        let mut lines: Vec<String> = (0..count).map(|_| self.line(is_wild)).collect();
        // Repeat some blocks.
        if self.one_in(3) && !lines.is_empty() {
            for _ in 0..=self.below(2) {
                let (from, to) = (self.below(lines.len()), self.below(lines.len()));
                let block: Vec<String> =
                    lines[from..].iter().take(1 + self.below(12)).cloned().collect();
                lines.splice(to..to, block);
            }
        }
        // Indent with spaces instead of tabs.
        if self.one_in(8) {
            let unit = self.pick(&["  ", "    "]);
            for line in &mut lines {
                *line = line.replace('\t', unit);
            }
        }
        Text { lines, is_ended: !self.one_in(6) }.settle()
    }

    /// Changes some lines.
    pub(super) fn changed(&mut self, text: &Text, is_wild: bool) -> Text {
        let mut new = text.clone();
        for _ in 0..=self.below(4) {
            let count = new.lines.len();
            let at = self.below(count + 1);
            let most = if self.one_in(5) { 8 } else { 2 };
            let end = (at + 1 + self.below(most)).min(count);
            match self.below(12) {
                0..4 => {
                    let lines: Vec<_> = (at..end).map(|_| self.line(is_wild)).collect();
                    new.lines.splice(at..end, lines);
                }
                4..7 => {
                    let lines: Vec<_> = (0..=self.below(4)).map(|_| self.line(is_wild)).collect();
                    new.lines.splice(at..at, lines);
                }
                7..9 => drop(new.lines.drain(at..end)),
                9 => {
                    let block = new.lines[at..end].to_vec();
                    let to = self.below(count + 1);
                    new.lines.splice(to..to, block);
                }
                10 => {
                    for line in &mut new.lines[at..end] {
                        line.insert(0, '\t');
                    }
                }
                _ if self.one_in(4) => new.is_ended = !new.is_ended,
                _ if self.one_in(8) => new.lines.clear(),
                _ => {}
            }
        }
        new.settle()
    }
}
