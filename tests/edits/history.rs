//! Merges of texts from the history of this repository, checked against `git merge-file`.
//!
//! `merges/collect.py` defines the cases and generates them.

use std::collections::BTreeSet;
use std::fs;

use vector_tests::repository;
use vector_text_edit::{MergeResult, merge_texts};

/// Cases in which Git reports a conflict and Vector merges. Each result was reviewed: no line is
/// lost or duplicated.
const MERGED_BY_VECTOR_ALONE: [&str; 1] = ["384b4e75"];
/// Cases in which Git merges and Vector reports a conflict: a change could also be aligned with a
/// change of the other side that deletes or inserts the same line.
const MERGED_BY_GIT_ALONE: [&str; 1] = ["19a6ac6d"];

struct Case {
    /// The first characters of the hash of its texts.
    name: String,
    title: String,
    base: String,
    ours: String,
    theirs: String,
    /// Git's result. None if Git reports a conflict.
    git: Option<String>,
}

fn cases() -> Vec<Case> {
    let file = repository::root().join("tests/edits/merges/history.txt");
    let text = fs::read_to_string(file).unwrap();
    let (mut cases, mut texts): (Vec<Case>, [String; 4]) = (Vec::new(), Default::default());
    // Read from the end, so that a mark precedes its line and a title follows its lines.
    let mut is_last = false;
    for line in text.lines().rev() {
        if line == "\\" {
            is_last = true;
        } else if let Some(title) = line.strip_prefix("# ") {
            let [base, ours, theirs, merged] = std::mem::take(&mut texts);
            let name = title.split(' ').next().unwrap().to_owned();
            let git = title.ends_with(" merged").then_some(merged);
            cases.push(Case { name, title: title.to_owned(), base, ours, theirs, git });
        } else {
            let (bits, line) = line.split_at(1);
            let bits = u8::from_str_radix(bits, 16).unwrap();
            for (at, text) in texts.iter_mut().enumerate() {
                if bits & 1 << at != 0 {
                    let end = if is_last { "" } else { "\n" };
                    text.insert_str(0, &format!("{line}{end}"));
                }
            }
            is_last = false;
        }
    }
    cases
}

#[test]
fn merges_of_this_repository_match_git() {
    let cases = cases();
    assert!(cases.len() > 400, "only {} cases", cases.len());
    let (mut by_vector, mut by_git) = (BTreeSet::new(), BTreeSet::new());
    let mut both = 0;
    for Case { name, title, base, ours, theirs, git } in &cases {
        let merged = merge_texts(base, ours, theirs);
        let mirrored = merge_texts(base, theirs, ours);
        match (&merged, &mirrored) {
            (MergeResult::Text(text), MergeResult::Text(other)) => {
                assert_eq!(text, other, "{title}");
            }
            (MergeResult::Conflicts(found), MergeResult::Conflicts(other)) => {
                assert_eq!(found.len(), other.len(), "{title}");
            }
            _ => panic!("{title}: a conflict on one side only"),
        }
        match (&merged, git) {
            (MergeResult::Text(text), Some(git)) => {
                both += 1;
                assert_eq!(text, git, "{title}");
            }
            (MergeResult::Text(_), None) => _ = by_vector.insert(name.as_str()),
            (MergeResult::Conflicts(_), Some(_)) => _ = by_git.insert(name.as_str()),
            (MergeResult::Conflicts(_), None) => {}
        }
    }
    assert!(both > 200, "only {both} of {} are merged", cases.len());
    assert_eq!(by_vector, BTreeSet::from(MERGED_BY_VECTOR_ALONE));
    assert_eq!(by_git, BTreeSet::from(MERGED_BY_GIT_ALONE));
    assert!(by_git.len() * 50 < both, "{} of {both} merges are refused", by_git.len());
}
