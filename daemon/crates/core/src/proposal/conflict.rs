//! Conflicting passages in their wire form, shortened to fit on a card.

use scene_schemas::InstancePath;
use scene_schemas::proposal::{Conflict, Passage};

/// Maximum number of passages, and maximum characters of each side.
const MOST: usize = 8;
const LONGEST: usize = 2_000;

/// Converts the conflicts of a merge between the current text (the merge's `ours`) and the wanted
/// text.
pub(crate) fn text_conflict(path: &InstancePath, found: &[vector_text_edit::Conflict]) -> Conflict {
    let passage = |it: &vector_text_edit::Conflict| Passage {
        line: it.ours_line as u32,
        base: shorten_text(&it.base),
        theirs: shorten_text(&it.ours),
        ours: shorten_text(&it.theirs),
    };
    let passages = found.iter().take(MOST).map(passage).collect();
    Conflict { path: path.clone(), passages, more: found.len().saturating_sub(MOST) as u32 }
}

fn shorten_text(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use vector_text_edit::{MergeResult, merge_texts};

    use super::{LONGEST, MOST, text_conflict};

    #[test]
    fn current_text_is_theirs_and_proposed_text_is_ours() {
        let MergeResult::Conflicts(found) = merge_texts("a\nb\nc\n", "0\na\nx\nc\n", "a\ny\nc\n")
        else {
            panic!("they do not go together");
        };
        let it = text_conflict(&"game.Workspace.Main".parse().unwrap(), &found);
        let passage = &it.passages[0];
        assert_eq!((passage.base.as_str(), passage.line), ("b\n", 3));
        assert_eq!((passage.theirs.as_str(), passage.ours.as_str()), ("x\n", "y\n"));
        assert_eq!(it.more, 0);
    }

    #[test]
    fn conflict_passages_are_limited_in_length_and_number() {
        let text =
            |letter: &str| format!("{}\nsame\n", letter.repeat(LONGEST * 2)).repeat(MOST * 2);
        let MergeResult::Conflicts(found) = merge_texts(&text("a"), &text("b"), &text("c")) else {
            panic!("they do not go together");
        };
        let it = text_conflict(&"game.Workspace.Main".parse().unwrap(), &found);
        assert_eq!((it.passages.len(), it.more as usize), (MOST, MOST));
        assert_eq!(it.passages[0].ours.chars().count(), LONGEST + 1);
    }
}
