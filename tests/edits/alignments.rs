//! Merges of all small texts, checked against every possible alignment.
//!
//! A diff says which lines of two texts correspond. Where lines repeat, there are several answers.
//! The oracle tries them all: it computes the merge for each pair of longest alignments, and any of
//! these results is a correct merge.

use std::collections::{BTreeMap, BTreeSet};

use random_draws::{RandomDraws, check_seeds};
use vector_text_edit::{MergeResult, merge_texts};

/// Pairs of corresponding lines of two texts.
type Alignment = Vec<(usize, usize)>;
type Letters = Vec<u8>;

/// All texts of up to `lines` lines, each of which is one of `letters` letters.
fn texts(letters: u8, lines: usize) -> Vec<Letters> {
    let mut all = vec![vec![]];
    let mut longest = all.clone();
    for _ in 0..lines {
        let longer = |text: &Letters| {
            (0..letters).map(|letter| [text.as_slice(), &[letter]].concat()).collect::<Vec<_>>()
        };
        longest = longest.iter().flat_map(longer).collect();
        all.extend(longest.iter().cloned());
    }
    all
}

fn written(text: &[u8]) -> String {
    text.iter().flat_map(|letter| [char::from(b'a' + letter), '\n']).collect()
}

/// All longest alignments of two texts.
fn alignments(base: &[u8], side: &[u8]) -> Vec<Alignment> {
    fn extend(base: &[u8], side: &[u8], found: &[(usize, usize)], all: &mut Vec<Alignment>) {
        let (from, there) = found.last().map_or((0, 0), |(a, b)| (a + 1, b + 1));
        all.push(found.to_vec());
        for at in from..base.len() {
            for other in there..side.len() {
                if base[at] == side[other] {
                    extend(base, side, &[found, &[(at, other)]].concat(), all);
                }
            }
        }
    }
    let mut all = Vec::new();
    extend(base, side, &[], &mut all);
    let longest = all.iter().map(Vec::len).max().unwrap();
    all.retain(|it| it.len() == longest);
    all
}

/// The merge according to two alignments. None if it is a conflict.
fn merged_by(base: &[u8], sides: [&[u8]; 2], by: [&Alignment; 2]) -> Option<Letters> {
    // `there` maps a line of the base to its line on a side. The lines between two lines that both
    // sides keep are a region. A region with changes on both sides is a conflict unless both sides
    // have the same text there.
    let there = |side: usize, at: usize| by[side].iter().find(|(it, _)| *it == at).map(|it| it.1);
    let (mut text, mut from) = (Vec::new(), [0; 3]);
    let ends = [base.len(), sides[0].len(), sides[1].len()];
    let stable = (0..base.len()).filter_map(|at| Some([at, there(0, at)?, there(1, at)?]));
    for next in stable.chain([ends]) {
        let region = [base, sides[0], sides[1]];
        let [old, ours, theirs]: [&[u8]; 3] =
            std::array::from_fn(|it| &region[it][from[it]..next[it]]);
        // A side is unchanged if the alignment keeps every line, not if its lines happen to be
        // equal.
        let stays = |side: usize| {
            let is_there = |at: usize| there(side, at) == Some(from[side + 1] + at - from[0]);
            next[side + 1] - from[side + 1] == old.len() && (from[0]..next[0]).all(is_there)
        };
        match (stays(0), stays(1)) {
            (true, _) => text.extend(theirs),
            (_, true) => text.extend(ours),
            _ if ours == theirs => text.extend(ours),
            _ => return None,
        }
        if next[0] < base.len() {
            text.push(base[next[0]]);
        }
        from = next.map(|it| it + 1);
    }
    Some(text)
}

/// Whether a side only inserts, or only deletes.
fn is_one_way(base: &[u8], side: &[u8], longest: &[Alignment]) -> bool {
    let kept = longest[0].len();
    kept == base.len() || kept == side.len()
}

#[test]
fn small_text_merges_match_some_alignment() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (letters, lines, more) in [(2, 3, 4), (3, 2, 3)] {
        let sides = texts(letters, more);
        for base in texts(letters, lines) {
            let all: Vec<_> = sides.iter().map(|side| alignments(&base, side)).collect();
            for (one, ours) in sides.iter().enumerate() {
                for (other, theirs) in sides.iter().enumerate().skip(one) {
                    let right: BTreeSet<Letters> = all[one]
                        .iter()
                        .flat_map(|a| all[other].iter().map(move |b| [a, b]))
                        .filter_map(|by| merged_by(&base, [ours, theirs], by))
                        .collect();
                    let [base_text, text, other_text] = [&base, ours, theirs].map(|it| written(it));
                    let merged = merge_texts(&base_text, &text, &other_text);
                    let what = format!("{base_text:?} {text:?} {other_text:?}: {merged:?}");
                    let MergeResult::Text(found) = &merged else {
                        let mirrored = merge_texts(&base_text, &other_text, &text);
                        assert!(matches!(mirrored, MergeResult::Conflicts(_)), "{what}");
                        assert!(ours != theirs && *ours != base && *theirs != base, "{what}");
                        *counts.entry("conflicts").or_default() += 1;
                        continue;
                    };
                    *counts.entry("merged").or_default() += 1;
                    assert_eq!(merge_texts(&base_text, &other_text, &text), merged, "{what}");
                    let found: Letters = found.lines().map(|it| it.as_bytes()[0] - b'a').collect();
                    assert!(right.contains(&found), "{what}, not one of {right:?}");
                    // If one side already contains the changes of the other, it is the merge:
                    // nothing is applied twice.
                    let has_all = right.contains(ours) || right.contains(theirs);
                    if has_all && found != *ours && found != *theirs {
                        let is_plain = is_one_way(&base, ours, &all[one])
                            && is_one_way(&base, theirs, &all[other]);
                        assert!(!is_plain, "done twice: {what}");
                        *counts.entry("a line was moved").or_default() += 1;
                    }
                }
            }
        }
    }
    assert!(counts["merged"] > 2_000, "{counts:?}");
    // To a diff, a side that moves a line up has inserted it above and deleted it below.
    assert!(counts.get("a line was moved").is_none_or(|count| *count <= 10), "{counts:?}");
}

#[test]
fn both_sides_same_change_in_repeated_lines_merges_once() {
    check_seeds(0..3_000, |draws| {
        let period = 1 + draws.below(6);
        let lines = period * (2 + draws.below(4));
        let repeated: Vec<String> = (0..lines).map(|at| format!("line {}", at % period)).collect();
        let (top, bottom) = (["top", "head"], ["tail", "bottom"]);
        let joined = |first: &[&str], middle: &[String], last: &[&str]| {
            let middle: Vec<&str> = middle.iter().map(String::as_str).collect();
            let lines = [first, &top, &middle, &bottom, last].concat();
            lines.iter().flat_map(|line| [*line, "\n"]).collect::<String>()
        };
        // Wherever a run of whole periods is inserted or deleted, the resulting text is the same.
        let run = period * (1 + draws.below(2));
        let changed = |draws: &mut RandomDraws, inserts: bool| -> Vec<String> {
            let at = draws.below(lines + 1 - if inserts { 0 } else { run });
            let mut changed = repeated.clone();
            if inserts {
                let run = (at..at + run).map(|at| format!("line {}", at % period));
                changed.splice(at..at, run);
            } else {
                changed.drain(at..at + run);
            }
            changed
        };
        let inserts = draws.one_in(2);
        let (one, other) = (changed(draws, inserts), changed(draws, inserts));
        assert_eq!(one, other);
        let base = joined(&[], &repeated, &[]);
        let ours = joined(&["ours"], &one, &[]);
        let theirs = joined(&[], &other, &["theirs"]);
        let both = MergeResult::Text(joined(&["ours"], &one, &["theirs"]));
        assert_eq!(merge_texts(&base, &ours, &theirs), both, "{base}");
        assert_eq!(merge_texts(&base, &theirs, &ours), both, "{base}");
        // One side has the change of the other, and another one beside it.
        let own = joined(&[], &one, &[]);
        assert_eq!(merge_texts(&base, &own, &theirs), MergeResult::Text(theirs.clone()), "{base}");
        assert_eq!(merge_texts(&base, &ours, &own), MergeResult::Text(ours.clone()), "{base}");
    });
}

#[test]
fn function_added_by_both_sides_appears_once() {
    let base = "f\nend\n\nreturn M\n";
    let ours = "f\nend\n\ng\nend\n\nreturn M\n";
    let theirs = "h\nf\nend\n\ng\nend\n\nreturn M\n";
    assert_eq!(merge_texts(base, ours, theirs), MergeResult::Text(theirs.to_owned()));
    assert_eq!(merge_texts(base, theirs, ours), MergeResult::Text(theirs.to_owned()));
}
