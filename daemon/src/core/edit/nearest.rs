//! What stands in a text instead of what was searched for: the part of a refusal that lets a model
//! repair its call without reading the whole script again.
//!
//! It only describes. Nothing that is found here is ever edited.

use super::class::speaks;

/// How many lines of a text are looked at, and how much of each is compared.
const MAX_LINES: usize = 50_000;
const MAX_COMPARED: usize = 300;
/// How much of a line is shown.
const SHOWN: usize = 160;
/// Below this likeness a line is no help.
const LIKE: f64 = 0.4;

/// A sentence or two on the nearest real lines and on what differs. Both texts have LF alone.
pub(super) fn nearest(text: &str, search: &str) -> String {
    const AGAIN: &str = "Read the script again and copy the lines exactly.";
    let lines: Vec<&str> = text.split('\n').take(MAX_LINES).collect();
    let wanted: Vec<&str> = search
        .split('\n')
        .skip_while(|line| line.trim().is_empty())
        .collect();
    let Some(first) = wanted.first() else {
        return format!("It is only white space. {AGAIN}");
    };
    let Some((at, agreeing)) = best_run(&lines, &wanted) else {
        return match most_like(&lines, first) {
            Some(at) => {
                format!(
                    "The nearest line is {}: `{}`. {AGAIN}",
                    at + 1,
                    cut(lines[at])
                )
            }
            None => format!("No line is like its first one, `{}`. {AGAIN}", cut(first)),
        };
    };
    if let Some(other) = wanted.get(agreeing) {
        let there = lines.get(at + agreeing).map_or_else(
            || "the script ends there".to_owned(),
            |line| format!("line {} is `{}`", at + agreeing + 1, cut(line)),
        );
        let from = if agreeing == 1 {
            format!("Line {} agrees with its first line", at + 1)
        } else {
            format!(
                "Lines {} to {} agree with its first lines",
                at + 1,
                at + agreeing
            )
        };
        return format!(
            "{from}, but then {there} where it has `{}`. {AGAIN}",
            cut(other)
        );
    }
    let differing = (0..agreeing).find(|&n| lines[at + n] != wanted[n]);
    let n = differing.unwrap_or(0);
    format!(
        "It differs only in white space from lines {} to {}: line {} is `{}`{}. {AGAIN}",
        at + 1,
        at + agreeing,
        at + n + 1,
        cut(&visible(lines[at + n])),
        difference(lines[at + n], wanted[n])
    )
}

/// The first place where most lines agree but for white space, and how many do. A last line that is
/// only begun counts, because a search may end within a line.
fn best_run(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    let last = wanted.len() - 1;
    let agrees = |n: usize, line: &str| {
        let wanted = wanted[n].as_str();
        line == wanted
            || (n == last && (line.starts_with(wanted) || (n == 0 && line.contains(wanted))))
    };
    let mut best: Option<(usize, usize)> = None;
    for at in 0..lines.len() {
        let run = lines[at..]
            .iter()
            .zip(0..wanted.len())
            .take_while(|(line, n)| agrees(*n, line))
            .count();
        // A lone `end` that agrees says nothing about the place that was meant.
        let helps = run == wanted.len() || (run > 0 && wanted[..run].iter().any(|l| speaks(l)));
        if helps && best.is_none_or(|(_, most)| run > most) {
            best = Some((at, run));
        }
    }
    best
}

fn most_like(lines: &[&str], wanted: &str) -> Option<usize> {
    let start = |line: &str| line.trim().chars().take(MAX_COMPARED).collect::<String>();
    let wanted = start(wanted);
    let mut best = (LIKE, None);
    for (at, line) in lines.iter().enumerate() {
        let likeness = strsim::sorensen_dice(&start(line), &wanted);
        if likeness > best.0 {
            best = (likeness, Some(at));
        }
    }
    best.1
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect()
}

/// What differs between two lines that agree but for white space.
fn difference(line: &str, wanted: &str) -> &'static str {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let (there, here) = (indent(line), indent(wanted));
    if line.trim_start() == wanted.trim_start() && there != here {
        return match (there.contains('\t'), here.contains('\t')) {
            (true, false) => ", indented with tabs where the search has spaces",
            (false, true) => ", indented with spaces where the search has tabs",
            _ => ", with another indentation than in the search",
        };
    }
    match (line.trim_end() == line, wanted.trim_end() == wanted) {
        (false, true) => ", with blanks at its end that the search does not have",
        (true, false) => ", without the blanks that the search has at its end",
        _ => ", with other blanks between the words than in the search",
    }
}

/// The line with its indentation made visible: a tab as `→`.
fn visible(line: &str) -> String {
    let content = line.trim_start_matches('\t');
    format!("{}{content}", "→".repeat(line.len() - content.len()))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::seeded::Random;
    use super::*;

    const SCRIPT: &str =
        "local Players = game:GetService('Players')\nif ready then\n\tstart()  \nend\n";

    #[track_caller]
    fn check(search: &str, says: &str) {
        let hint = nearest(SCRIPT, search);
        assert!(hint.contains(says), "{hint}");
    }

    #[test]
    fn names_white_space() {
        check(
            "if ready then\n    start()  \n",
            "line 3 is `→start()  `, indented with tabs where",
        );
        check(
            "if ready then\n\tstart()\nend",
            "with blanks at its end that the search does not",
        );
        check(
            "if  ready then",
            "differs only in white space from lines 2 to 2: line 2 is `if ready",
        );
        check("  \n \n", "only white space");
    }

    #[test]
    fn names_the_first_line_that_differs() {
        check(
            "if ready then\n\tstop()\nend",
            "Line 2 agrees with its first line, but then line 3",
        );
        check(
            "\tstart()\nend\nfoo()",
            "Lines 3 to 4 agree with its first lines, but then line 5 is ``",
        );
    }

    #[test]
    fn names_the_nearest_line() {
        check(
            "local players = game:GetService(\"Players\")",
            "nearest line is 1: `local Players",
        );
        check("zzzzzz\nend", "No line is like its first one, `zzzzzz`");
    }

    #[test]
    fn never_panics() {
        let mut random = Random::new(7);
        for _ in 0..3_000 {
            nearest(&random.text(6), &random.text(3));
        }
    }
}
