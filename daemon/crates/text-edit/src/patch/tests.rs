//! Tests of patches: which fit, at which stage, and why others are refused.

use std::collections::BTreeMap;

use super::super::apply_edits;
use super::*;

const SCRIPT: &str = "local a = 1\nlocal b = 2\n\nlocal function add()\n\treturn a + b\nend\n\nlocal function sub()\n\treturn a - b\nend\n\nreturn add\n";

#[track_caller]
fn patched(text: &str, patch: &str) -> (String, PatchResult) {
    match super::apply_patch(text, patch, &["Main.luau"]) {
        Ok(patched) => (apply_edits(text, &patched.edits).unwrap(), patched),
        Err(error) => panic!("{error}"),
    }
}

/// Checks a patch that fits exactly.
#[track_caller]
fn check(text: &str, patch: &str, after: &str) {
    let (found, patched) = patched(text, patch);
    assert_eq!(
        (found.as_str(), patched.stage, patched.should_review),
        (after, MatchStage::Exact, false)
    );
}

/// Checks a patch that fits and needs a review.
#[track_caller]
fn doubted(text: &str, patch: &str, after: &str, stage: MatchStage) {
    let (found, patched) = patched(text, patch);
    assert_eq!((found.as_str(), patched.stage, patched.should_review), (after, stage, true));
}

#[track_caller]
fn refused(text: &str, patch: &str, says: &str) {
    match super::apply_patch(text, patch, &["Main.luau"]) {
        Ok(patched) => panic!("{:?}", apply_edits(text, &patched.edits)),
        Err(error) => assert!(error.to_string().contains(says), "{error}"),
    }
}

fn with(from: &str, to: &str) -> String {
    assert!(SCRIPT.contains(from));
    SCRIPT.replacen(from, to, 1)
}

#[test]
fn git_patches_apply() {
    let patch = "diff --git a/Main.luau b/Main.luau\nindex 1..2 100644\n--- a/Main.luau\n+++ b/Main.luau\n\
                 @@ -2,5 +2,5 @@ local a\n local b = 2\n \n local function add()\n-\treturn a + b\n+\treturn b + a\n end\n";
    check(SCRIPT, patch, &with("a + b", "b + a"));
    check("", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n");
    check("a\nc\n", "@@ -1,0 +2 @@\n+b\n", "a\nb\nc\n");
    check("a\nb\n", "@@ -1 +0,0 @@\n-a\n", "b\n");
    check("a\n", "@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n", "b\n");
}

#[test]
fn loosely_formatted_model_patches_apply_exactly() {
    let after = with("return a + b", "return b + a");
    let body = " local function add()\n-\treturn a + b\n+\treturn b + a\n end\n";
    for patch in [
        format!("@@\n{body}"),
        format!("@@ ... @@\n{body}"),
        format!("@@ -1,1 +1,2 @@\n{body}"),
        format!("--- Main.luau\n+++ Main.luau\n{body}"),
        body.to_owned(),
        format!("I changed it:\n\n```diff\n@@ -4,3 +4,3 @@\n{body}```\nIt is **done**.\n"),
        format!("*** Begin Patch\n*** Update File: src/Main.luau\n@@\n{body}*** End Patch"),
        format!(
            "*** Begin Patch\n*** Update File: ./Main.luau\n@@ local b = 2\n{body}*** End Patch\n"
        ),
        format!("\u{feff}@@ -4,3 +4,3 @@\r\n{}", body.replace('\n', "\r\n")),
        format!(
            "   @@ -4,3 +4,3 @@\n{}",
            body.lines().flat_map(|line| ["   ", line, "\n"]).collect::<String>()
        ),
        format!("@@ -4,3 +4,3 @@\u{200b}\n{}", body.replace(" end", " end\u{200b}")),
        format!("@@ -3,4 +3,4 @@\n\n{body}"),
        format!("@@ -4,3 +4,3 @@\n{body}\n\n"),
        format!("@@ -4,3 +4,3 @@\n{body}\nThis swaps the operands (again).\n"),
    ] {
        let (found, patched) = patched(SCRIPT, &patch);
        assert_eq!((found.as_str(), patched.stage), (after.as_str(), MatchStage::Exact), "{patch}");
        assert!(!patched.should_review, "{patch}");
    }
}

#[test]
fn removed_comment_lines_are_not_read_as_headers() {
    check("-- a\nb\n", "@@ -1,2 +1 @@\n--- a\n b\n", "b\n");
    check("-- a\nb\n", "@@\n--- a\n+++ c\n b\n", "++ c\nb\n");
    check("x\n-- a\n", "@@\n x\n--- a\n", "x\n");
    check("-- a\nb\n", "@@ -1 +1 @@\n--- a\n+++ c\n@@ -2 +1,0 @@\n-b\n", "++ c\n");
    refused("-- a\nb\n", "--- a", "There is no patch in it");
}

#[test]
fn hunk_is_placed_by_line_number_or_only_match() {
    let text = "a\nx\nb\na\nx\nb\n";
    let hunk = " a\n-x\n+y\n b\n";
    check(text, &format!("@@ -1,3 +1,3 @@\n{hunk}"), "a\ny\nb\na\nx\nb\n");
    check(text, &format!("@@ -4,3 +4,3 @@\n{hunk}"), "a\nx\nb\na\ny\nb\n");
    refused(text, &format!("@@\n{hunk}"), "from lines 1, 4, and it has no line number");
    refused(text, &format!("@@ -2,3 +2,3 @@\n{hunk}"), "none of them is where it says");
    // An earlier hunk shows how far the line numbers are off.
    let shifted = format!("0\n{text}c\n");
    let patch = format!("@@ -4,3 +4,3 @@\n{hunk}@@ -6,2 +6,2 @@\n b\n-c\n+d\n");
    refused(&shifted, &patch, "fits in several places");
    let patch = format!("@@ -6,2 +6,2 @@\n b\n-c\n+d\n@@ -4,3 +4,3 @@\n{hunk}");
    check(&shifted, &patch, "0\na\nx\nb\na\ny\nb\nd\n");
}

#[test]
fn arbitrary_line_numbers_do_not_panic() {
    for number in ["0", "4294967295", "18446744073709551615", "99999999999999999999", "-1"] {
        let patch = format!("@@ -{number},{number} +{number},{number} @@\n-a\n+b\n c\n c\n c\n");
        let _ = super::apply_patch("a\nc\nc\nc\n", &patch, &[]);
        let _ = super::apply_patch("a\n", &format!("@@ -{number},0 +1 @@\n+b\n"), &[]);
    }
}

#[test]
fn anchor_chooses_among_several_matches() {
    let text = "function a()\n\tx()\nend\nfunction b()\n\tx()\nend\nfunction c()\n\tx()\nend\n";
    let patch = "*** Begin Patch\n*** Update File: Main.luau\n@@ function b()\n-\tx()\n+\ty()\n*** End Patch\n";
    check(
        text,
        patch,
        "function a()\n\tx()\nend\nfunction b()\n\ty()\nend\nfunction c()\n\tx()\nend\n",
    );
    refused(text, &patch.replace("b()", "d()"), "fits in several places");
}

#[test]
fn distant_matches_need_review_or_are_refused() {
    let text = format!("{}b\n", "a\n".repeat(60));
    let (_, patched) = patched(&text, "@@ -53 +53 @@\n-b\n+c\n");
    assert_eq!((patched.offset, patched.should_review), (8, false));
    let (_, patched) = self::patched(&text, "@@ -50 +50 @@\n-b\n+c\n");
    assert_eq!((patched.offset, patched.should_review), (11, true));
    refused(&text, "@@ -10 +10 @@\n-b\n+c\n", "says line 10 and fits at line 61, 51 lines away");
}

#[test]
fn white_space_and_context_mismatches_apply_with_review() {
    let spaces = "@@\n local function add()\n-    return a + b\n+    if a then\n+        return b\n+    end\n end\n";
    doubted(
        SCRIPT,
        spaces,
        &with("\treturn a + b", "\tif a then\n\t\treturn b\n\tend"),
        MatchStage::Whitespace,
    );
    doubted("a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n", MatchStage::Whitespace);
    doubted("a b\nc\n", "@@\n a\u{a0}b\n-c\n+d\u{a0}e\n", "a b\nd e\n", MatchStage::Whitespace);
    let text = "1\n2\n3\n4\n5\n6\n7\n";
    doubted(
        text,
        "@@ -1,7 +1,7 @@\n X\n 2\n 3\n-4\n+D\n 5\n 6\n 7\n",
        "1\n2\n3\nD\n5\n6\n7\n",
        MatchStage::Fuzz1,
    );
    doubted(
        text,
        "@@ -1,7 +1,7 @@\n X\n X\n 3\n-4\n+D\n 5\n 6\n Z\n",
        "1\n2\n3\nD\n5\n6\n7\n",
        MatchStage::Fuzz2,
    );
    refused(text, "@@ -1,7 +1,7 @@\n X\n X\n X\n-4\n+D\n 5\n 6\n 7\n", "does not fit");
    refused(text, "@@ -3,3 +3,3 @@\n 3\n-X\n+D\n 5\n", "does not fit");
    // It is ambiguous how the added line would be indented.
    refused("  a\n    b\n", "@@\n a\n b\n+c\n", "cannot be carried over");
}

#[test]
fn lines_without_a_sign_are_context() {
    let patch = "@@\nlocal function add()\n-\treturn a + b\n+\treturn b\nend\n";
    doubted(SCRIPT, patch, &with("return a + b", "return b"), MatchStage::Exact);
    refused(SCRIPT, &patch.replace("local f", "lokal f"), "Line 2 of the patch, `lokal function");
}

#[test]
fn invalid_or_unrelated_patches_are_refused() {
    refused(SCRIPT, "I did it.", "There is no patch in it");
    refused(SCRIPT, "--- a/Main.luau\n+++ b/Main.luau\n", "no hunks");
    refused(SCRIPT, "*** Begin Patch\n*** End Patch\n", "no hunks");
    refused(
        SCRIPT,
        "*** Begin Patch\n*** Frob File: a\n*** End Patch\n",
        "Line 2 of the patch, `*** Frob",
    );
    refused(SCRIPT, "@@ -1 +1 @@\\n-local a = 1\\n+local a = 2\\n", "single line");
    let hunk = "@@ -1 +1 @@\n-local a = 1\n+local a = 2\n";
    refused(
        SCRIPT,
        &format!("--- a/Other.luau\n+++ b/Other.luau\n{hunk}"),
        "for `Other.luau`, not for `Main.luau`",
    );
    refused(
        SCRIPT,
        &format!("--- a/A\n+++ b/A\n{hunk}--- a/B\n+++ b/B\n{hunk}"),
        "several files (A, B)",
    );
    refused(SCRIPT, &format!("--- /dev/null\n+++ b/Main.luau\n{hunk}"), "creates a file");
    refused(SCRIPT, &format!("--- a/Main.luau\n+++ /dev/null\n{hunk}"), "deletes a file");
    refused(
        SCRIPT,
        "*** Begin Patch\n*** Delete File: Main.luau\n*** End Patch\n",
        "deletes a file",
    );
    refused(SCRIPT, "@@@ -1 -1 +1 @@@\n  a\n", "combined diff");
    refused(SCRIPT, "@@ -1 +1 @@\n-local a = 1\n+local a = 1\n", "changes nothing");
    refused(SCRIPT, "@@ -1 +1 @@\n local a = 1\n", "changes nothing");
    refused("a\n\n\nb\n", "@@ -1,4 +1,4 @@\n a\n-\n \n+\n b\n", "changes nothing");
    refused("a < b\n", "@@ -1 +1,2 @@\n-a &lt; b\n+a &gt; b\n", "escaped as for XML (`&lt;`)");
    refused(
        SCRIPT,
        "@@\n local a = 1\n+-- ... rest of the code ...\n",
        "a placeholder for omitted code",
    );
}

#[test]
fn already_applied_or_reversed_patches_are_refused() {
    let after = with("local b = 2", "local b = 3");
    let patch = "@@ -1,3 +1,3 @@\n local a = 1\n-local b = 2\n+local b = 3\n \n";
    check(SCRIPT, patch, &after);
    refused(&after, patch, "in the script already: its resulting lines are at line 1");
    refused(&after, &patch.replace("-1,3 +1,3 ", ""), "in the script already");
    refused("a\nx\nb\n", "@@\n a\n+x\n", "in the script already");
    refused("a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "in the script already");
}

#[test]
fn truncated_patches_are_refused() {
    refused(
        SCRIPT,
        "@@ -1,3 +1,3 @@\n local a = 1\n-local b = 2\n+local b",
        "cut off: its last hunk says 3 lines before",
    );
    refused(
        SCRIPT,
        "*** Begin Patch\n*** Update File: Main.luau\n@@\n-local b = 2\n+local b = 3\n",
        "`*** End Patch` is missing",
    );
    check("a\n", "@@ -1 +1,2 @@\n-a\n+b\n+c", "b\nc\n");
    refused(
        SCRIPT,
        "@@ -1 +1 @@\n-local a = 1\n+local a = 2\n@@ -8,3 +8,3 @@",
        "cut off: its last hunk has no lines",
    );
    refused(
        "a\nb\nfoo()\nc\n",
        "@@ -1,3 +1,3 @@\n-a\n+x\n b\n fo",
        "cut off: its last line is not that",
    );
    refused("a\nb\n", "@@ -1 +1 @@\n-a\n+x\n b\n ", "cut off: its last line is not that");
    // More lines were to come.
    refused(
        SCRIPT,
        "@@ -1,2 +1,2 @@\n-local a = 1\n-local b = 2\n",
        "cut off: its last hunk has fewer",
    );
    refused("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n-b\n", "cut off");
    refused("a\nb\nc\n", "@@ -1,2 +1 @@\n-a\n b\n@@ -3,4 +2,4 @@\n c\n", "cut off");
    doubted("a\nb\n", "@@ -1,4 +1,4 @@\n-a\n+x\n b\n", "x\nb\n", MatchStage::Exact);
    refused("a\nb\n", "@@ -1,6 +1,6 @@\n-a\n+x\n b\n", "cut off");
}

#[test]
fn blank_lines_with_signs_count() {
    check("a\n", "-a\n+\n", "\n");
    check("a\n\n", " a\n-\n", "a\n");
}

#[test]
fn applied_hunk_is_not_applied_to_similar_lines() {
    refused("\tend\n b\n", "@@ -1 +1,2 @@\n+\tend\n  b\n", "in the script already");
    refused("end\nend\n", "@@ -1,3 +1,2 @@\n end\n end\n-end\n", "in the script already");
    refused("x\na\n}\n\tb\n", "@@ -1,2 +1 @@\n-}\n \n", "does not fit");
    refused("a\nb\nc\na\n", "@@ -4,2 +4 @@\n a\n-b\n", "in the script already");
    let text = "x\na\nb\n".repeat(2) + &"-\n".repeat(60);
    refused(&text, "@@ -53,2 +53,2 @@\n a\n-b\n+c\n", "fits in several places, from lines 2, 5");
    refused(&text, "@@ -3,2 +3,2 @@\n a\n-b\n+c\n", "fits in several places");
}

#[test]
fn ambiguous_indentation_is_refused() {
    refused("end\n\t\tx\n", "@@\n     x\n+y\n", "cannot be carried over");
    // For a line that lost its sign, the first space of its indentation counts as the sign.
    doubted(
        "    a\n    b\n",
        "@@ -1,2 +1,3 @@\n    a\n    b\n+\tc\n",
        "    a\n    b\n\tc\n",
        MatchStage::Whitespace,
    );
}

#[test]
fn hunks_changing_the_same_lines_are_refused() {
    let hunk = "@@ -1 +1 @@\n-local a = 1\n+local a = 2\n";
    refused(SCRIPT, &format!("{hunk}{hunk}"), "Hunks 1 and 2 change the same lines, at line 1");
    refused(
        "a\nb\n",
        "@@ -1,2 +1,3 @@\n a\n+x\n b\n@@ -1,2 +1,3 @@\n a\n+y\n b\n",
        "change the same lines",
    );
    check("a\nb\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -3 +3 @@\n-c\n+C\n", "a\nB\nC\n");
    check("a\nb\nc\n", "@@ -3 +3 @@\n-c\n+C\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "A\nb\nC\n");
}

#[test]
fn patch_keeps_line_ends_and_byte_order_mark() {
    check("a\r\nb\nc\r\n", "@@\n a\n-b\n+x\n+y\n c\n", "a\r\nx\ny\nc\r\n");
    check("a\r\nb\r\n", "@@\n-a\n+x\n+y\n b\n", "x\r\ny\r\nb\r\n");
    check("a\r\n", "@@\n a\n+b\n", "a\r\nb\r\n");
    // The end of the file stays as it is, unless the patch says otherwise.
    check("a\nb", "@@\n a\n-b\n+c\n", "a\nc");
    check("a\nb", "@@\n b\n+c\n", "a\nb\nc");
    check("a\nb", "@@\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n");
    check("a\nb", "@@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n");
    check("a\nb\n", "@@\n-b\n+b\n\\ No newline at end of file\n", "a\nb");
    check("a\nb\n", "@@\n-b\n+c\n\\ No newline at end of file\n", "a\nc");
    check("a\nb\n", "@@\n-a\n-b\n+a\n\\ No newline at end of file\n", "a");
    check("a\nb", "@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n", "a\n");
    check("\u{feff}a\nb\n", "@@\n-a\n+x\n b\n", "\u{feff}x\nb\n");
    check("\u{feff}a\n", "@@\n-a\n", "\u{feff}");
    check("\u{feff}a\n", "@@ -0,0 +1 @@\n+x\n", "\u{feff}x\na\n");
}

#[test]
fn patch_changes_several_files_or_none() {
    let file = |text: &str| text.to_owned();
    let files = BTreeMap::from([(file("a"), file("1\n")), (file("b"), file("2\n"))]);
    let apply =
        |patch: &str| apply_to_files(&files, &format!("*** Begin Patch\n{patch}*** End Patch\n"));
    let texts = |patch: &str| -> Vec<(String, Option<String>)> {
        let changed = apply(patch).unwrap_or_else(|error| panic!("{error}"));
        changed.into_iter().map(|(name, change)| (name, change.text)).collect()
    };
    let some = |name: &str, text: &str| (file(name), Some(file(text)));
    assert_eq!(
        texts("*** Add File: c\n+3\n+4\n*** Delete File: a\n*** Update File: b\n@@\n-2\n+two\n"),
        [(file("a"), None), some("b", "two\n"), some("c", "3\n4\n")]
    );
    assert_eq!(
        texts("*** Update File: a\n*** Move to: d\n@@\n-1\n+one\n"),
        [(file("a"), None), some("d", "one\n")]
    );
    let says = |patch: &str| apply(patch).unwrap_err().to_string();
    assert!(says("*** Update File: c\n@@\n-1\n+2\n").contains("`c` is not there"));
    assert!(
        says("*** Update File: a\n@@\n-1\n+2\n*** Update File: b\n@@\n-9\n+8\n")
            .contains("does not fit")
    );
    assert!(says("*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n").contains("is there already"));
    assert!(says("*** Delete File: c\n").contains("`c` is not there"));
}

#[test]
fn later_hunk_follows_drift_over_its_line_number() {
    let steps = "if a then\n\tstep()\nend\n".repeat(5);
    let text = format!("anchor\n{steps}");
    let second = "@@ -8,3 +8,3 @@\n if a then\n-\tstep()\n+\tstop()\n end\n";
    let patch = format!("@@ -4,2 +4,2 @@\n-anchor\n+ANCHOR\n if a then\n{second}");
    let with_stop = |head: &str, at: usize| -> String {
        let mut lines: Vec<&str> = steps.split_inclusive('\n').collect();
        lines[at] = "\tstop()\n";
        format!("{head}\n{}", lines.concat())
    };
    // Three lines above its number, like the first hunk.
    doubted(&text, &patch, &with_stop("ANCHOR", 4), MatchStage::Exact);
    let doubts = patched(&text, &patch).1.list_doubts();
    assert!(doubts.iter().any(|it| it.contains("fits at its own line number too")), "{doubts:?}");
    // Without a drift, or if nothing fits at the drift, the line number counts.
    check(&text, second, &with_stop("anchor", 7));
    let other = patch.replace("-4,2 +4,2", "-2,2 +2,2");
    check(&text, &other, &with_stop("ANCHOR", 7));
    // The same with keys: the lines fit except for white space.
    let loose = patch.replace(" if a then\n-\tstep", " if  a  then\n-\tstep");
    doubted(&text, &loose, &with_stop("ANCHOR", 4), MatchStage::Whitespace);
}

#[test]
fn later_hunk_is_placed_below_the_previous_one() {
    let text = "x\nend\n0\n0\nanchor\n0\nx\nend\n";
    let second = "@@ -5,2 +5,2 @@\n-x\n+y\n end\n";
    refused(text, second, "fits in several places, from lines 1, 7");
    let patch = format!("@@ -4,2 +4,2 @@\n-anchor\n+ANCHOR\n 0\n{second}");
    let after = "x\nend\n0\n0\nANCHOR\n0\ny\nend\n";
    doubted(text, &patch, after, MatchStage::Exact);
    // Hunks that are not in order imply nothing about each other.
    let patch = format!("@@ -6,2 +6,2 @@\n-anchor\n+ANCHOR\n 0\n{second}");
    refused(text, &patch, "fits in several places");
}

#[test]
fn no_newline_marker_contradicting_the_text_needs_review() {
    let mark = "\\ No newline at end of file\n";
    let text = "foo\nbar\nbaz\nbanana\n";
    let patch = format!("@@ -2,3 +2,3 @@\n bar\n baz\n-banana\n{mark}+babaco\n{mark}");
    doubted(text, &patch, "foo\nbar\nbaz\nbabaco\n", MatchStage::Exact);
    let doubts = patched(text, &patch).1.list_doubts();
    assert!(doubts.iter().any(|it| it.contains("No newline")), "{doubts:?}");
    let patch = format!("@@ -3,2 +3,2 @@\n-baz\n+BAZ\n banana\n{mark}");
    doubted(text, &patch, "foo\nbar\nBAZ\nbanana\n", MatchStage::Exact);
    // Text follows the line that is marked as the last one.
    let patch = format!("@@ -1 +1 @@\n-foo\n+FOO\n{mark}");
    doubted("foo\nbar\n", &patch, "FOO\nbar\n", MatchStage::Exact);
    // If mark and text agree, no review is needed.
    let patch = format!("@@ -2,3 +2,3 @@\n bar\n baz\n-banana\n{mark}+babaco\n{mark}");
    check("foo\nbar\nbaz\nbanana", &patch, "foo\nbar\nbaz\nbabaco");
}

#[test]
fn indented_patch_applies_to_empty_text() {
    let patch =
        "\n    --- a/Main.luau\n    +++ b/Main.luau\n    @@ -0,0 +1,2 @@\n    +foo\n    +bar\n    ";
    check("", patch, "foo\nbar\n");
    check("x\n", patch, "foo\nbar\nx\n");
    check("", "@@\n+foo\n\n", "foo\n");
}

#[test]
fn xml_entities_that_fit_verbatim_need_review() {
    let text = "if a < b then\n\tf()\nend\n";
    let patch = "@@ -2,2 +2,2 @@\n-\tf()\n+\tf(\"&lt;cyclic&gt;\")\n end\n";
    doubted(text, patch, "if a < b then\n\tf(\"&lt;cyclic&gt;\")\nend\n", MatchStage::Exact);
    let doubts = patched(text, patch).1.list_doubts();
    assert!(doubts.iter().any(|it| it.contains("entities")), "{doubts:?}");
    refused(text, "@@ -1 +1 @@\n-if a &lt; b then\n+if b &lt; a then\n", "escaped as for XML");
}
