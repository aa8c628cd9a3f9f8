//! Classification of a text change by how much it removes.
//!
//! It judges characters and lines, not meaning: inserting two dashes turns a line into a comment,
//! and still counts as an insertion. So the class `Additive` is meaningful for prose only. Whether
//! an edit of a script only adds code is decided by `is_additive_edit` of the Luau crate.

use scene_schemas::proposal::Class;

use super::diff::{LineChange, line_changes};
use super::lines::split_lines;

/// The maximum number of bytes of lines that are compared word by word. Lines beyond it count as
/// changed.
const MAX_COMPARED_BYTES: usize = 1_000_000;

/// Classifies a change of prose.
///
/// - Additive: text is only inserted, possibly inside lines, and nothing is removed. No change is
///   additive too.
/// - Destructive: more lines are removed than added, or a text of more than five lines is
///   overwritten. That is the case if less than half of its lines remain and none of those is
///   significant (`end` and the like are not).
/// - Modifying: everything else.
pub fn classify_change(before: &str, after: &str) -> Class {
    if is_insertion(before, after) {
        return Class::Additive;
    }
    let (old, new) = (split_lines(before), split_lines(after));
    let changes = line_changes(&old, &new);
    let mut looked_at = 0;
    if changes.iter().all(|change| is_pure_insertion(&old, &new, change, &mut looked_at)) {
        return Class::Additive;
    }
    class_of_loss(&old, &changes)
}

/// Classifies a change that is known not to be additive: as destructive or modifying, by the rules
/// of [`classify_change`].
pub fn classify_loss(before: &str, after: &str) -> Class {
    let (old, new) = (split_lines(before), split_lines(after));
    class_of_loss(&old, &line_changes(&old, &new))
}

fn class_of_loss(old: &[&str], changes: &[LineChange]) -> Class {
    let removed: usize = changes.iter().map(|change| change.old.len()).sum();
    let added: usize = changes.iter().map(|change| change.new.len()).sum();
    if removed > added || is_overwrite(old, changes) {
        Class::Destructive
    } else {
        Class::Modifying
    }
}

/// Whether `after` is `before` with one insertion.
fn is_insertion(before: &str, after: &str) -> bool {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let tail = before[head..].iter().rev().zip(after[head..].iter().rev());
    head + tail.take_while(|(a, b)| a == b).count() == before.len()
}

/// Whether the replaced lines are still contained, in order, in the lines that replace them.
/// `looked_at` counts the bytes that were compared by words.
fn is_pure_insertion(
    old: &[&str],
    new: &[&str],
    change: &LineChange,
    looked_at: &mut usize,
) -> bool {
    let mut candidates = new[change.new.clone()].iter();
    let mut has_grown = |line: &str, wider: &str| {
        *looked_at += line.len() + wider.len();
        *looked_at <= MAX_COMPARED_BYTES && is_widened(line, wider)
    };
    let in_order = old[change.old.clone()].iter().all(|line| {
        candidates.by_ref().any(|wider| is_insertion(line, wider) || has_grown(line, wider))
    });
    in_order || is_insertion(&old[change.old.clone()].concat(), &new[change.new.clone()].concat())
}

/// Whether all words and symbols of `line` occur in `wider`, in order. Whole words are compared,
/// because the letters of a short line occur in almost any other line.
fn is_widened(line: &str, wider: &str) -> bool {
    let wider = split_words(wider);
    let mut wider = wider.iter();
    split_words(line).iter().all(|word| wider.any(|other| other == word))
}

/// Splits a line into words and symbols.
pub(super) fn split_words(line: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = vec![];
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, behind) = rest.split_at(length);
        words.push(word);
        rest = behind;
    }
    words
}

fn is_overwrite(old: &[&str], changes: &[LineChange]) -> bool {
    let removed: usize = changes.iter().map(|change| change.old.len()).sum();
    if old.len() <= 5 || removed * 2 <= old.len() {
        return false;
    }
    let mut kept = 0;
    let mut has_significant = false;
    for change in changes {
        has_significant |= old[kept..change.old.start].iter().any(|line| is_significant(line));
        kept = change.old.end;
    }
    !has_significant && !old[kept..].iter().any(|line| is_significant(line))
}

/// Whether a line would be missed: it has more than four letters and digits, unlike `end` and
/// `else`.
pub(super) fn is_significant(line: &str) -> bool {
    line.chars().filter(|c| c.is_alphanumeric()).count() > 4
}

#[cfg(test)]
mod tests {
    use super::Class::{Additive, Destructive, Modifying};
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, class: Class) {
        assert_eq!(classify_change(before, after), class);
    }

    #[test]
    fn inserting_is_additive() {
        check("", "", Additive);
        check("a\n", "a\n", Additive);
        check("", "a\nb\n", Additive);
        check("a", "a\nb", Additive);
        check("a\nb\n", "x\na\ny\nb\nz\n", Additive);
        check("foo(a, b)\n", "foo(x, a, b, y)\n", Additive);
        check("foo(a)\nend\nbar(b)\n", "foo(a, c)\nend\nbar(😀, b)\n", Additive);
        check("a b\n", "a c\nd b\n", Additive);
    }

    #[test]
    fn changing_is_modifying() {
        check("a = 1\n", "a = 2\n", Modifying);
        check("end\n", "print(send(d))\n", Modifying);
        check("a\n", "a", Modifying);
        check("a\nb\n", "b\na\n", Modifying);
        check("1\n2\n3\n4\n5\n", "a\nb\nc\nd\ne\n", Modifying);
        let lines = "v1 = 1\nv2 = 1\nv3 = 1\nv4 = 1\nv5 = 1\nv6 = 1\n";
        check(lines, &lines.replace("v3 = 1", "v3 = 2"), Modifying);
    }

    #[test]
    fn removing_is_destructive() {
        check("a\nb\n", "a\n", Destructive);
        check("a\nb\n", "", Destructive);
        check("local a = 1\nlocal b = 2\n", "local c = 1", Destructive);
        let before = "local a = 1\nif a then\n\tfoo()\nend\nfor i = 1, 2 do\n\tbar()\nend\n";
        let after = "function x()\nend\nfunction y()\nend\nreturn { x, y }\n-- 1\n-- 2\n-- 3\n";
        check(before, after, Destructive);
    }
}
