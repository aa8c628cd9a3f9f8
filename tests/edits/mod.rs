//! The edit engine on random input: real diffs, diffs with faults typical of models, replacements,
//! merges and garbage. What is applied has to be exactly what was meant. Everything else has to be
//! refused.
//!
//! A test run does some thousand cases of each kind. `VECTOR_SEEDS=N` sets their number and
//! `VECTOR_FIRST_SEED` the first seed, so that a run can be split and a failed case repeated. For
//! each kind of failure, the first case is reported in its smallest form.

mod alignments;
mod cases;
mod diffs;
mod garbage;
mod history;
mod perturbed;
mod random_text;
mod replaced;

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use random_draws::{RandomDraws, shrink_failure};
use vector_text_edit::{
    MatchStage, MergeResult, apply_edits, apply_patch, diff_hunks, diff_lines, format_hunks,
    merge_texts,
};

use self::random_text::{Text, change_text, draw_text};

/// The line ends of texts.
const ENDS: [&str; 2] = ["\n", "\r\n"];

/// Picks the line ends for a text. In a text without line ends, new lines end in LF.
fn end_for(text: &str, draws: &mut RandomDraws) -> &'static str {
    let end = draws.pick(&ENDS);
    if text.contains('\n') { end } else { "\n" }
}

/// The kind of a failure, and its description.
struct Failure {
    kind: String,
    said: String,
}

impl Failure {
    fn new(kind: impl Into<String>, said: String) -> Self {
        Self { kind: kind.into(), said }
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs `work` and converts a panic to a failure.
fn caught(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::new("a panic", said.unwrap_or_default().to_owned()))
    })
}

/// A failed case in its smallest form, and the number of cases that failed in the same way.
struct FailureReport {
    seed: u64,
    said: String,
    count: u64,
}

/// Runs all seeds. Reports the number of failures of each kind, and the first in its smallest form.
fn run_all(seeds: u64, one: impl Fn(&mut RandomDraws) -> Result<(), Failure>) {
    let first = number("VECTOR_FIRST_SEED").unwrap_or(0);
    let seeds = number("VECTOR_SEEDS").unwrap_or(seeds);
    let mut failed: BTreeMap<String, FailureReport> = BTreeMap::new();
    for seed in first..first + seeds {
        let mut draws = RandomDraws::from_seed(seed);
        let Err(failure) = caught(|| one(&mut draws)) else {
            continue;
        };
        if let Some(report) = failed.get_mut(&failure.kind) {
            report.count += 1;
            continue;
        }
        let kind = failure.kind.clone();
        let of_kind = |draws: &mut RandomDraws| {
            caught(|| one(draws)).err().filter(|failure| failure.kind == kind)
        };
        let Failure { said, .. } = shrink_failure(draws, failure, of_kind);
        failed.insert(kind, FailureReport { seed, said, count: 1 });
    }
    let failed: Vec<_> = failed
        .iter()
        .map(|(kind, FailureReport { seed, said, count })| {
            format!("{kind}: {count} failed, the first with seed {seed}: {said}")
        })
        .collect();
    assert!(failed.is_empty(), "\n{}\n", failed.join("\n\n"));
}

/// The result of a patch, and whether it needs a review. None if the patch is refused.
fn patched(text: &str, source: &str) -> Option<(String, bool)> {
    let targets: [&[&str]; 2] = [&[], &["src/Main.luau"]];
    let patched = apply_patch(text, source, targets[source.len() % 2]).ok()?;
    Some((apply_edits(text, &patched.edits).unwrap(), patched.should_review))
}

fn shown(text: &str, source: &str, got: &str, meant: &str) -> String {
    format!("\n--- text\n{text:?}\n--- patch\n{source}\n--- got\n{got:?}\n--- meant\n{meant}")
}

#[test]
fn diffs_reproduce_their_target_text() {
    run_all(1_500, |draws| {
        let old = draw_text(draws, true);
        let new = change_text(draws, &old, true);
        let context = draws.below(4);
        let hunks = diffs::hunks(&old, &new, context, draws);
        if hunks.is_empty() {
            return Ok(());
        }
        let source = diffs::written(&hunks);
        let end = end_for(&old.with("\n"), draws);
        let (text, meant) = (old.with(end), new.with(end));
        let fail = |kind: &str, got: &str| {
            let meant = format!("{meant:?}");
            Err(Failure::new(
                format!("{kind}, {} of context", context.min(1)),
                shown(&text, &source, got, &meant),
            ))
        };
        let patched = match apply_patch(&text, &source, &[]) {
            Ok(patched) => patched,
            Err(_) if context == 0 => return Ok(()),
            Err(error) => return fail("refused", &error.to_string()),
        };
        let got = apply_edits(&text, &patched.edits).unwrap();
        if got != meant {
            return fail("another text", &got);
        }
        if patched.stage != MatchStage::Exact || patched.should_review {
            return fail("not exact", &format!("{:?}", patched.stage));
        }
        Ok(())
    });
}

#[test]
fn faulty_patches_never_give_a_wrong_text() {
    run_all(2_500, |draws| {
        let Some(case) = perturbed::case(draws) else {
            return Ok(());
        };
        let end = end_for(&case.base, draws);
        let text = case.base.replace('\n', end);
        let Some((got, confirm)) = patched(&text, &case.patch) else {
            return Ok(());
        };
        let fail = |kind: &str| {
            let said = shown(&text, &case.patch, &got, &format!("{:?}", case.meant));
            Err(Failure::new(format!("{}: {kind} ({confirm})", case.fault), said))
        };
        if end == "\r\n" && got.replace("\r\n", "").contains('\n') {
            return fail("other line ends");
        }
        if !case.meant.allows(&got.replace("\r\n", "\n")) {
            return fail("another text");
        }
        if case.confirm && !confirm {
            return fail("nobody has to look");
        }
        Ok(())
    });
}

#[test]
fn own_diffs_apply_exactly() {
    run_all(600, |draws| {
        let old = draw_text(draws, false);
        let mut new = change_text(draws, &old, false);
        if !old.is_ended {
            return Ok(());
        }
        new.is_ended = true;
        let (old, new) = (old.with("\n"), new.with("\n"));
        let context = 1 + draws.below(3);
        let source = format_hunks(&diff_hunks(&old, &new, context));
        if apply_edits(&old, &diff_lines(&old, &new)).unwrap() != new {
            return Err(Failure::new("whole", shown(&old, "", "", &new)));
        }
        if source.is_empty() {
            return Ok(());
        }
        match patched(&old, &source) {
            Some((got, false)) if got == new => Ok(()),
            got => Err(Failure::new("own", shown(&old, &source, &format!("{got:?}"), &new))),
        }
    });
}

#[test]
fn merges_keep_both_changes() {
    run_all(600, |draws| {
        let base = draw_text(draws, false);
        let (one, other) = (change_text(draws, &base, false), change_text(draws, &base, false));
        let end = draws.pick(&ENDS);
        let (text, ours, theirs) = (base.with(end), one.with(end), other.with(end));
        let check = |kind: &str, got: MergeResult, meant: &str| {
            if got == MergeResult::Text(meant.to_owned()) {
                return Ok(());
            }
            Err(Failure::new(kind, shown(&text, &ours, &format!("{got:?}"), meant)))
        };
        check("theirs alone", merge_texts(&text, &text, &theirs), &theirs)?;
        check("ours alone", merge_texts(&text, &ours, &text), &ours)?;
        check("the same", merge_texts(&text, &ours, &ours), &ours)?;
        // Changes above and below lines that both sides keep.
        let kept: Vec<String> = (0..5).map(|at| format!("kept {at}")).collect();
        let joined = |above: &Text, below: &Text| {
            let lines = [above.lines.clone(), kept.clone(), below.lines.clone()].concat();
            Text { lines, is_ended: below.is_ended }.with(end)
        };
        let last = draw_text(draws, false);
        let new = change_text(draws, &last, false);
        let (text, ours) = (joined(&base, &last), joined(&one, &last));
        let (theirs, meant) = (joined(&base, &new), joined(&one, &new));
        check("both", merge_texts(&text, &ours, &theirs), &meant)?;
        check("both, the other way", merge_texts(&text, &theirs, &ours), &meant)
    });
}
