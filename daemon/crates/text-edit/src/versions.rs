//! The difference between two versions of a change, from the hunks that show each of them.

use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::proposal::{DiffLine, Hunk};

use super::hunks::{NO_NEWLINE_MARK, diff_hunks};

/// Returns the hunks that turn the result of one change of a text into the result of another change
/// of the same text. `old` and `new` are the hunks of each change, with unchanged lines around
/// the changed ones. None if a line that both show differs, so that they change different texts.
pub fn compare_hunks(old: &[Hunk], new: &[Hunk], context: usize) -> Option<Vec<Hunk>> {
    let (old, new) = (ShownChange::from_hunks(old), ShownChange::from_hunks(new));
    let is_shared = |(line, text): (&u32, &&str)| new.known.get(line).is_none_or(|it| it == text);
    if !old.known.iter().all(is_shared) {
        return None;
    }
    let sides = [&old, &new];
    let positions: BTreeSet<u32> =
        sides.iter().flat_map(|it| it.known.keys().chain(it.added.keys())).copied().collect();
    let positions: Vec<u32> = positions.into_iter().collect();
    let mut hunks = Vec::new();
    // The lines above the current run: of the text, and of both results.
    let (mut above, mut above_in) = (0, [0, 0]);
    // The lines between two runs are in both results.
    for run in positions.chunk_by(|a, b| a + 1 == *b) {
        let Some(first) = run.first() else { continue };
        let kept = first - 1 - above;
        above_in = above_in.map(|lines| lines + kept);
        let results = sides.map(|side| side.result(run, &old, &new));
        let [before, after] = &results;
        hunks.extend(diff_hunks(&before.text, &after.text, context).into_iter().map(|hunk| {
            let below = |start: u32, above: u32| if start == 0 { 0 } else { start + above };
            Hunk {
                old_start: below(hunk.old_start, above_in[0]),
                new_start: below(hunk.new_start, above_in[1]),
                lines: hunk.lines,
            }
        }));
        above_in = [above_in[0] + before.lines, above_in[1] + after.lines];
        above = first - 1 + run.iter().filter(|at| is_known(**at, &old, &new)).count() as u32;
    }
    Some(hunks)
}

fn is_known(line: u32, old: &ShownChange<'_>, new: &ShownChange<'_>) -> bool {
    old.known.contains_key(&line) || new.known.contains_key(&line)
}

/// What hunks show of a text and of its change, by the numbers of the text's lines.
#[derive(Debug, Default)]
struct ShownChange<'a> {
    known: BTreeMap<u32, &'a str>,
    removed: BTreeSet<u32>,
    /// The lines added above a line.
    added: BTreeMap<u32, Vec<&'a str>>,
}

/// A passage of the result of a change, whose lines end in LF.
#[derive(Debug, Default)]
struct ResultPassage {
    text: String,
    lines: u32,
}

impl<'a> ShownChange<'a> {
    fn from_hunks(hunks: &'a [Hunk]) -> Self {
        let mut shown = Self::default();
        for hunk in hunks {
            // 0 if the text has no lines.
            let mut line = hunk.old_start.max(1);
            for it in &hunk.lines {
                match it {
                    DiffLine::Added(text) => shown.added.entry(line).or_default().push(text),
                    DiffLine::Context(text) => {
                        shown.known.insert(line, without_mark(text));
                        line += 1;
                    }
                    DiffLine::Removed(text) => {
                        shown.known.insert(line, without_mark(text));
                        shown.removed.insert(line);
                        line += 1;
                    }
                }
            }
        }
        shown
    }

    /// Returns what becomes of a run of lines, of which one of the changes shows each.
    fn result(&self, run: &[u32], old: &Self, new: &Self) -> ResultPassage {
        let mut result = ResultPassage::default();
        for at in run {
            let added = self.added.get(at).into_iter().flatten();
            let kept = old.known.get(at).or_else(|| new.known.get(at));
            let kept = kept.filter(|_| !self.removed.contains(at));
            for line in added.chain(kept) {
                result.text.extend([line, "\n"]);
                result.lines += 1;
            }
        }
        result
    }
}

/// Returns a line without the mark of its line end, which only changed lines have.
fn without_mark(line: &str) -> &str {
    let line = line.strip_suffix(NO_NEWLINE_MARK).unwrap_or(line);
    line.strip_suffix(['␍', '␊']).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use random_draws::{RandomDraws, check_seeds};

    use super::super::hunks::format_hunks;
    use super::super::random_text::random_text;
    use super::*;

    #[test]
    fn second_version_is_shown_on_top_of_the_first() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let old = diff_hunks(before, "1\nx\n3\n4\n5\n6\n7\n8\n9\nend\n", 1);
        let new = diff_hunks(before, "1\ny\n3\n4\n5\n6\n7\n9\nend\n", 1);
        let shown = format_hunks(&compare_hunks(&old, &new, 1).unwrap());
        assert_eq!(shown, "@@ -1,3 +1,3 @@\n 1\n-x\n+y\n 3\n@@ -7,3 +7,2 @@\n 7\n-8\n 9\n");
        assert_eq!(compare_hunks(&old, &old, 1), Some(Vec::new()));
        let taken_back = format_hunks(&compare_hunks(&old, &[], 1).unwrap());
        assert_eq!(taken_back, "@@ -1,3 +1,3 @@\n 1\n-x\n+2\n 3\n@@ -9,2 +9,1 @@\n 9\n-end\n");
    }

    #[test]
    fn changes_of_different_texts_are_not_compared() {
        let old = diff_hunks("1\n2\n", "1\n2\n3\n", 1);
        let new = diff_hunks("1\ntwo\n", "1\n3\n", 1);
        assert_eq!(compare_hunks(&old, &new, 1), None);
    }

    #[test]
    fn last_line_without_line_end_is_the_same_line() {
        let (before, old) = ("1\nend", diff_hunks("1\nend", "1\nend\nx\n", 1));
        let new = diff_hunks(before, "one\nend", 1);
        let shown = format_hunks(&compare_hunks(&old, &new, 0).unwrap());
        assert_eq!(shown, "@@ -1,1 +1,1 @@\n-1\n+one\n@@ -3,1 +0,0 @@\n-x\n");
    }

    /// Some lines of a small alphabet, each with a line end.
    fn random_lines(draws: &mut RandomDraws, most: usize) -> Vec<&'static str> {
        (0..draws.below(most + 1)).map(|_| draws.pick(&["a", "b", "", "end"])).collect()
    }

    fn random_change(draws: &mut RandomDraws, lines: &[&'static str]) -> Vec<&'static str> {
        let mut changed = lines.to_vec();
        for _ in 0..draws.below(4) {
            let from = draws.below(changed.len() + 1);
            let to = changed.len().min(from + draws.below(3));
            changed.splice(from..to, random_lines(draws, 2));
        }
        changed
    }

    fn text_of(lines: &[&str]) -> String {
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// Applies hunks as the user reads them.
    fn apply(lines: &[&str], hunks: &[Hunk]) -> Vec<String> {
        let (mut result, mut done): (Vec<String>, usize) = (Vec::new(), 0);
        let take = |result: &mut Vec<String>, from: usize, to: usize| {
            result.extend(lines[from..to].iter().map(|&line| line.to_owned()));
        };
        for hunk in hunks {
            if hunk.old_start > 0 {
                take(&mut result, done, hunk.old_start as usize - 1);
                done = hunk.old_start as usize - 1;
            }
            if hunk.new_start > 0 {
                assert_eq!(result.len() + 1, hunk.new_start as usize);
            }
            for line in &hunk.lines {
                match line {
                    DiffLine::Added(text) => result.push(text.clone()),
                    DiffLine::Context(text) | DiffLine::Removed(text) => {
                        assert_eq!(lines[done], text);
                        done += 1;
                        if matches!(line, DiffLine::Context(_)) {
                            result.push(text.clone());
                        }
                    }
                }
            }
        }
        take(&mut result, done, lines.len());
        result
    }

    #[test]
    fn comparison_turns_one_result_into_the_other() {
        check_seeds(0..20_000, |draws| {
            let before = random_lines(draws, 24);
            let (old, new) = (random_change(draws, &before), random_change(draws, &before));
            let context = 1 + draws.below(3);
            let shown = |after: &[&str]| diff_hunks(&text_of(&before), &text_of(after), context);
            let compared = compare_hunks(&shown(&old), &shown(&new), context);
            let compared = compared.expect("changes of one text");
            assert_eq!(apply(&old, &compared), new);
            assert_eq!(compared.is_empty(), old == new);
        });
    }

    #[test]
    fn changes_of_one_text_are_compared_whatever_its_line_ends() {
        check_seeds(0..3_000, |draws| {
            let before = random_text(draws, 12);
            let (old, new) = (random_text(draws, 12), random_text(draws, 12));
            let shown = |after: &str| diff_hunks(&before, after, 2);
            assert!(compare_hunks(&shown(&old), &shown(&new), 2).is_some());
            assert_eq!(compare_hunks(&shown(&old), &shown(&old), 2), Some(Vec::new()));
        });
    }
}
