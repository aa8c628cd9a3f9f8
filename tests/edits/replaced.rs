//! Replacements of texts by exact and by whitespace-tolerant search.

use random_draws::RandomDraws;
use vector_text_edit::{TextReplacement, apply_edits, apply_replacements};

use super::diffs::places;
use super::perturbed::Meant;
use super::random_text::{Text, change_text, draw_text};
use super::{Failure, end_for, run_all, shown};

fn occurrences(text: &str, search: &str) -> usize {
    let at = text.char_indices().map(|(at, _)| at);
    at.filter(|at| text[*at..].starts_with(search)).count()
}

fn once(search: &str, replace: &str) -> TextReplacement {
    TextReplacement {
        search: search.to_owned(),
        replace: replace.to_owned(),
        should_replace_all: false,
    }
}

/// Applies a replacement and checks the result against what was meant. If `must`, a refusal is a
/// failure.
fn check(
    kind: &str,
    text: &str,
    end: &str,
    wanted: &TextReplacement,
    meant: &Meant,
    must: bool,
) -> Result<(), Failure> {
    let text = text.replace('\n', end);
    let fail = |kind: String, got: &str| {
        let source = format!("{wanted:?}");
        Err(Failure::new(kind, shown(&text, &source, got, &format!("{meant:?}"))))
    };
    let replaced = match apply_replacements(&text, std::slice::from_ref(wanted)) {
        Ok(replaced) => replaced,
        Err(error) if must => return fail(format!("{kind}: refused"), &error.to_string()),
        Err(_) => return Ok(()),
    };
    let got = apply_edits(&text, &replaced.edits).unwrap();
    let is_mixed = end == "\r\n" && got.replace("\r\n", "").contains('\n');
    if is_mixed || !meant.allows(&got.replace("\r\n", "\n")) {
        return fail(format!("{kind}: another text"), &got);
    }
    Ok(())
}

#[test]
fn exact_searches_are_replaced() {
    run_all(1_200, |draws| {
        let text = draw_text(draws, false).with("\n");
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let start = draws.below(places.len());
        let end = (start + 1 + draws.below(60)).min(places.len() - 1);
        let search = &text[places[start]..places[end]];
        let new = draw_text(draws, false).with("\n");
        if search.is_empty() || search == new || new.lines().count() > 100 {
            return Ok(());
        }
        let ends = end_for(&text, draws);
        let count = occurrences(&text, search);
        let meant = match count {
            1 => Meant::Texts(vec![text.replacen(search, &new, 1)]),
            _ => Meant::Nothing,
        };
        check("once", &text, ends, &once(search, &new), &meant, count == 1)?;
        let all = TextReplacement { should_replace_all: true, ..once(search, &new) };
        let meant = Meant::Texts(vec![text.replace(search, &new)]);
        check("all", &text, ends, &all, &meant, true)
    });
}

/// A text, a range of its whole lines, and the lines that replace them.
struct Lines {
    old: Text,
    start: usize,
    count: usize,
    new: Vec<String>,
}

impl Lines {
    fn by(draws: &mut RandomDraws) -> Option<Self> {
        let old = draw_text(draws, false);
        if old.lines.is_empty() {
            return None;
        }
        let start = draws.below(old.lines.len());
        let count = 1 + draws.below((old.lines.len() - start).min(6));
        let part = Text { lines: old.lines[start..start + count].to_vec(), is_ended: true };
        let new = change_text(draws, &part, false).lines;
        (new != part.lines && !new.is_empty()).then_some(Self { old, start, count, new })
    }
}

#[test]
fn whitespace_faults_never_give_a_wrong_text() {
    run_all(2_000, |draws| {
        let Some(lines) = Lines::by(draws) else {
            return Ok(());
        };
        let there = &lines.old.lines[lines.start..lines.start + lines.count];
        let unit = draws.pick(&[4, 2]);
        let spaces = " ".repeat(unit);
        let faults = ["spaces", "deeper", "shallower", "behind", "blank edges"];
        let fault = draws.pick(&faults);
        let faulty = |line: &String| match fault {
            "spaces" => Some(line.replace('\t', &spaces)),
            "deeper" | "shallower" if line.is_empty() => Some(String::new()),
            "deeper" => Some(format!("\t{line}")),
            "shallower" => line.strip_prefix('\t').map(str::to_owned),
            "behind" => Some(format!("{line} ")),
            _ => Some(line.clone()),
        };
        let search: Option<Vec<String>> = there.iter().map(faulty).collect();
        let new: Option<Vec<String>> = match fault {
            "behind" => Some(lines.new.clone()),
            _ => lines.new.iter().map(faulty).collect(),
        };
        let (Some(search), Some(new)) = (search, new) else {
            return Ok(());
        };
        let (mut search, mut new) = (search.join("\n"), new.join("\n"));
        if fault == "blank edges" {
            (search, new) = (format!("\n{search}\n\n"), format!("\n{new}\n\n"));
        } else if draws.one_in(2) {
            search.push('\n');
            new.push('\n');
        }
        let text = lines.old.with("\n");
        // The same lines could occur elsewhere.
        let old: Vec<&str> = there.iter().map(String::as_str).collect();
        let is_elsewhere = fault == "blank edges" && places(&lines.old, &old).len() > 1;
        if text.contains(&search) || search.trim().is_empty() || is_elsewhere {
            return Ok(());
        }
        let mut all = lines.old.lines.clone();
        all.splice(lines.start..lines.start + lines.count, lines.new.iter().cloned());
        let mut come = vec![false; all.len()];
        // A neighbouring blank line may be matched by a blank line of the search.
        let end = (lines.start + lines.new.len() + 1).min(come.len());
        come[lines.start.saturating_sub(1)..end].fill(true);
        let meant = Text { lines: all, is_ended: lines.old.is_ended }.with("\n");
        let meant = Meant::Spaced { text: meant, come, unit };
        check(fault, &text, end_for(&text, draws), &once(&search, &new), &meant, false)
    });
}
