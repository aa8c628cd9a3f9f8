//! Detection of comments that replace omitted code.
//!
//! A model that writes `-- ... rest of the code ...` means to keep the existing code, but would
//! delete it.

use rustc_hash::FxHashSet;

/// Whether a line is a comment that indicates omitted code.
pub(super) fn is_elision(line: &str) -> bool {
    const LEADERS: [&str; 6] = ["--[[", "--", "//", "/*", "<!--", "#"];
    const WORDS: [&str; 10] = [
        "existing",
        "rest",
        "unchanged",
        "remaining",
        "remains",
        "omitted",
        "previous",
        "same",
        "other code",
        "keep",
    ];
    let line = line.trim();
    let Some(comment) = LEADERS.iter().find_map(|leader| line.strip_prefix(leader)) else {
        return false;
    };
    let comment = comment.trim_matches(|c: char| c.is_whitespace() || "]-*/>()[{}".contains(c));
    let has_dots = |at: &str| at.contains("...") || at.contains('…');
    let is_open = comment.starts_with("...") || comment.starts_with('…');
    let is_left_open = comment.ends_with("...") || comment.ends_with('…');
    let lower = comment.to_lowercase();
    has_dots(comment) && (is_open || is_left_open) && WORDS.iter().any(|word| lower.contains(word))
}

/// Returns the first added line that indicates omitted code and was not in the text before.
pub fn find_elision<'a>(added: impl Iterator<Item = &'a str>, before: &str) -> Option<&'a str> {
    let mut suspects = added.filter(|line| is_elision(line)).peekable();
    suspects.peek()?;
    let existing: FxHashSet<&str> = before.lines().map(str::trim).collect();
    suspects.find(|line| !existing.contains(line.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elision_comments_are_recognised() {
        for line in [
            "-- ... rest of the code unchanged ...",
            "\t-- ... existing code ...",
            "// ...rest of the function",
            "# … keep the rest",
            "--[[ ... previous code ... ]]",
            "-- rest of the script stays as it is...",
            "/* ... remaining methods ... */",
        ] {
            assert!(is_elision(line), "{line}");
        }
        for line in [
            "-- waits ... for the rest",
            "...",
            "return ...",
            "-- TODO...",
            "print('... existing')",
            "-- the existing code",
        ] {
            assert!(!is_elision(line), "{line}");
        }
        assert_eq!(find_elision(["-- ... rest ..."].into_iter(), "a\n  -- ... rest ...\n"), None);
    }
}
