//! What stands in a text instead of what was searched for: the part of a refusal that lets a model
//! repair its call without reading the whole script again.
//!
//! It only describes. Nothing that is found here is ever edited.

use super::class::speaks;

/// How many lines of a text are looked at, and how much of each is compared.
const MAX_LINES: usize = 50_000;
const MAX_COMPARED: usize = 300;
/// How many lines of a search are compared.
const MAX_SEARCHED: usize = 200;
/// How much of a line is shown.
const SHOWN: usize = 160;
/// Below this likeness a line is no help.
const LIKE: f64 = 0.4;

/// A sentence or two on the nearest real lines and on what differs. Both texts have LF alone.
pub(super) fn nearest(text: &str, search: &str) -> String {
    const AGAIN: &str = "Read the script again and copy the lines exactly.";
    let lines: Vec<&str> = text.split('\n').take(MAX_LINES).collect();
    let wanted = search.split('\n').skip_while(|line| line.trim().is_empty());
    let wanted: Vec<&str> = wanted.take(MAX_SEARCHED).collect();
    let Some(first) = wanted.first() else {
        return format!("It is only white space. {AGAIN}");
    };
    let Some((at, agreeing)) = best_run(&lines, &wanted) else {
        return match most_like(&lines, first) {
            Some(at) => {
                format!("The nearest line is {}: `{}`. {AGAIN}", at + 1, cut(lines[at]))
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
            format!("Lines {} to {} agree with its first lines", at + 1, at + agreeing)
        };
        return format!("{from}, but then {there} where it has `{}`. {AGAIN}", cut(other));
    }
    let run = format!("lines {} to {}", at + 1, at + agreeing);
    let differing = (0..agreeing).find(|&n| !fits(lines[at + n], wanted[n], n, agreeing - 1));
    let Some(n) = differing else {
        return format!("Only the blank lines that it starts with differ from {run}. {AGAIN}");
    };
    format!(
        "It differs only in white space from {run}: line {} is `{}`{}. {AGAIN}",
        at + n + 1,
        cut(lines[at + n]),
        difference(lines[at + n], wanted[n])
    )
}

/// Whether line `n` of a search, of which `last` is the last one, can stand in a line: a search may
/// start and end within one.
fn fits(line: &str, wanted: &str, n: usize, last: usize) -> bool {
    match (n == 0, n == last) {
        (true, true) => line.contains(wanted),
        (true, false) => line.ends_with(wanted),
        (false, true) => line.starts_with(wanted),
        (false, false) => line == wanted,
    }
}

/// The first place where most lines agree but for white space, and how many do.
fn best_run(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    let last = wanted.len() - 1;
    let mut best: Option<(usize, usize)> = None;
    for at in 0..lines.len() {
        let run = lines[at..]
            .iter()
            .zip(0..wanted.len())
            .take_while(|(line, n)| fits(line, &wanted[*n], *n, last))
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
    if line.trim_start().starts_with(wanted.trim_start()) && there != here {
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
            "line 3 is `\tstart()  `, indented with tabs where",
        );
        check("if ready then\n\tstart()\nend", "with blanks at its end that the search does not");
        check(
            "if  ready then",
            "differs only in white space from lines 2 to 2: line 2 is `if ready",
        );
        check("  \n \n", "only white space");
        check("\n\nif ready then", "Only the blank lines that it starts with differ from lines 2");
        check("ready then\n  start(", "differs only in white space from lines 2 to 3: line 3 is");
    }

    #[test]
    fn names_the_first_line_that_differs() {
        check("if ready then\n\tstop()\nend", "Line 2 agrees with its first line, but then line 3");
        check(
            "\tstart()\nend\nfoo()",
            "Lines 3 to 4 agree with its first lines, but then line 5 is ``",
        );
    }

    #[test]
    fn names_the_nearest_line() {
        check("local players = game:GetService(\"Players\")", "nearest line is 1: `local Players");
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
