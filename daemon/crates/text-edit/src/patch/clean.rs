//! Removal of the noise around a patch: fences, prose, indentation, line ends.
//!
//! Only what cannot be part of a patch is removed here. `parse` determines which lines are hunks.

use super::super::whitespace::{indentation_of, strip_invisible};
use super::PatchError;

/// A line of a patch, with its number from 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// A patch without the noise around it.
#[derive(Debug)]
pub(super) struct CleanPatch<'a> {
    pub(super) lines: Vec<PatchLine<'a>>,
    /// Whether the last line has no line end or a fence is not closed, so that something may be
    /// missing.
    pub(super) is_open: bool,
}

/// Removes the noise around a patch.
pub(super) fn clean_patch(patch: &str) -> Result<CleanPatch<'_>, PatchError> {
    let patch = patch.strip_prefix('\u{feff}').unwrap_or(patch);
    if patch.trim_end().lines().count() <= 1 && patch.matches("\\n").count() > 2 {
        return Err(PatchError::EscapedTwice);
    }
    let lines = patch.split_inclusive('\n').map(|line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    });
    let lines = lines.zip(1..).map(|(text, number)| PatchLine { number, text }).collect();
    let (mut lines, is_fence_open) = strip_fences(lines);
    dedent_lines(&mut lines);
    Ok(CleanPatch { lines, is_open: !patch.ends_with('\n') || is_fence_open })
}

/// Whether a line can be the first line of a patch.
pub(super) fn is_patch_start(line: &str, next: Option<&str>) -> bool {
    let line = strip_invisible(line);
    let next = || strip_invisible(next.unwrap_or_default()).trim_start().to_owned();
    line.starts_with("@@")
        || ["diff --git ", "*** Begin Patch", "*** Update File: ", "*** Add File: "]
            .iter()
            .any(|start| line.starts_with(start))
        || line.starts_with("*** Delete File: ")
        || line.starts_with("--- ") && next().starts_with("+++ ")
        || line.starts_with("+++ ") && next().starts_with("@@")
}

fn find_start(lines: &[PatchLine<'_>]) -> Option<usize> {
    let next = |at: usize| lines.get(at + 1).map(|line| line.text);
    lines.iter().enumerate().position(|(at, line)| is_patch_start(line.text.trim_start(), next(at)))
}

fn parse_fence(line: &str) -> Option<(&str, &str)> {
    let inside = line.trim_start();
    let len = inside.len() - inside.trim_start_matches('`').len();
    (len >= 3).then(|| (indentation_of(line), inside[len..].trim()))
}

/// Returns the content of the fences that contain the patch, and whether the last fence is not
/// closed.
fn strip_fences(lines: Vec<PatchLine<'_>>) -> (Vec<PatchLine<'_>>, bool) {
    let first = lines.iter().position(|line| parse_fence(line.text).is_some());
    let Some(first) = first.filter(|at| find_start(&lines).is_none_or(|start| *at < start)) else {
        return (lines, false);
    };
    let (mut kept, mut is_open) = (Vec::new(), false);
    let mut rest = &lines[first..];
    while let Some(at) = rest.iter().position(|line| parse_fence(line.text).is_some()) {
        let (margin, info) = parse_fence(rest[at].text).unwrap_or_default();
        let block = &rest[at + 1..];
        // Lines of the patch have a sign, so fences inside it are indented further.
        let is_end = |line: &PatchLine<'_>| parse_fence(line.text) == Some((margin, ""));
        let end = block.iter().position(is_end);
        let inside = &block[..end.unwrap_or(block.len())];
        let has_signs = || inside.iter().any(|line| line.text.trim_start().starts_with(['+', '-']));
        let is_patch = find_start(inside).is_some()
            || (matches!(info, "diff" | "patch" | "udiff") || lines.len() == inside.len() + 2)
                && has_signs();
        if is_patch {
            kept.extend_from_slice(inside);
            is_open = end.is_none();
        }
        rest = &block[end.map_or(block.len(), |end| end + 1)..];
    }
    if kept.is_empty() { (lines, false) } else { (kept, is_open) }
}

/// Removes the common indentation of a patch.
fn dedent_lines(lines: &mut [PatchLine<'_>]) {
    let start = find_start(lines);
    let is_signed = |line: &&PatchLine<'_>| line.text.trim_start().starts_with(['+', '-']);
    let margins = lines.iter().filter(is_signed).map(|line| indentation_of(line.text));
    let least = || margins.min_by_key(|margin| margin.len());
    let margin = start.map_or_else(least, |start| Some(indentation_of(lines[start].text)));
    let margin = margin.unwrap_or_default().to_owned();
    let inside = &mut lines[start.unwrap_or(0)..];
    let is_within = |line: &str| line.starts_with(&margin) || line.trim().is_empty();
    if margin.is_empty() || !inside.iter().all(|line| is_within(line.text)) {
        return;
    }
    for line in inside {
        line.text = line.text.strip_prefix(margin.as_str()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(patch: &str, lines: &[&str], is_open: bool) {
        let clean = clean_patch(patch).unwrap();
        let texts: Vec<_> = clean.lines.iter().map(|line| line.text).collect();
        assert_eq!((texts.as_slice(), clean.is_open), (lines, is_open));
    }

    #[test]
    fn fences_are_removed() {
        check("@@\n-a\n+b", &["@@", "-a", "+b"], true);
        check("Sure:\n```diff\n@@\r\n-a\n```\nDone.\n", &["@@", "-a"], false);
        check("```\nx\n```\n~~~\n```diff\n@@\n-a\n", &["@@", "-a"], true);
        check(
            "```diff\n@@\n ```\n-a\n```\n```diff\n@@\n-b\n```\n",
            &["@@", " ```", "-a", "@@", "-b"],
            false,
        );
        check("```\n a\n-b\n```", &[" a", "-b"], true);
    }

    #[test]
    fn indentation_is_removed() {
        check("  @@\n  -a\n\n   b\n", &["@@", "-a", "", " b"], false);
        check("\t--- a\n\t+++ b\n\t@@\n\t-a\n", &["--- a", "+++ b", "@@", "-a"], false);
        check("   a\n  -b\n  +c\n", &[" a", "-b", "+c"], false);
        check(" *** Begin Patch\n@@\n a\n", &[" *** Begin Patch", "@@", " a"], false);
        check("prose\n  @@\n  -a\n", &["prose", "@@", "-a"], false);
    }

    #[test]
    fn escaped_single_line_patch_is_refused() {
        assert!(matches!(clean_patch("@@\\n-a\\n+b\\n"), Err(PatchError::EscapedTwice)));
    }
}
