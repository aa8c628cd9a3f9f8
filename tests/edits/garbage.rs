//! Invalid patches: arbitrary text, and diffs that have lost some bytes.

use random_draws::RandomDraws;
use vector_text_edit::{apply_edits, apply_patch, apply_to_files, invert_edits};

use super::random_text::{change_text, draw_line, draw_text};
use super::{Failure, diffs, run_all, shown};

const SCRAPS: [&str; 24] = [
    "@@",
    "@@ -1,3 +1,4 @@",
    "@@ -0,0 +1 @@",
    "@@ -99999999999999999999,1 +1 @@",
    "@@ -3 +3,18446744073709551615 @@",
    "@@ function f1(a, b) @@",
    "@@@ -1 -1 +1 @@@",
    "--- a/x",
    "+++ b/x",
    "--- /dev/null",
    "+++ /dev/null",
    "diff --git a/x b/x",
    "*** Begin Patch",
    "*** End Patch",
    "*** Update File: x",
    "*** Add File: x",
    "*** Delete File: x",
    "*** Move to: y",
    "*** End of File",
    "```",
    "\\ No newline at end of file",
    "\u{feff}",
    "-- ",
    "GIT binary patch",
];

fn garbage(draws: &mut RandomDraws, text: &str) -> String {
    let lines: Vec<&str> = text.lines().chain([""]).collect();
    let mut patch = String::new();
    for _ in 0..draws.below(14) {
        match draws.below(8) {
            0..3 => patch.push_str(draws.pick(&SCRAPS)),
            3 => patch.push_str(&draw_line(draws, true)),
            _ => {
                patch.push_str(draws.pick(&[" ", "+", "-", "", "    ", "+", "-", "\u{200b}"]));
                patch.push_str(draws.pick(&lines));
            }
        }
        patch.push_str(draws.pick(&["\n", "\n", "\n", "\n", "\r\n", ""]));
    }
    patch
}

#[test]
fn garbage_patches_never_panic_and_can_be_inverted() {
    run_all(2_500, |draws| {
        let text = draw_text(draws, true).with(draws.pick(&["\n", "\r\n"]));
        let source = if draws.one_in(3) {
            // A real diff that has lost some of its bytes.
            let old = draw_text(draws, true);
            let new = change_text(draws, &old, true);
            let mut source = diffs::written(&diffs::hunks(&old, &new, 2, draws));
            for _ in 0..=draws.below(3) {
                let at: Vec<usize> = source.char_indices().map(|(at, _)| at).collect();
                let from = draws.pick(&at);
                source.remove(from);
            }
            source
        } else {
            garbage(draws, &text)
        };
        let files = [("x".to_owned(), text.clone())].into();
        let _ = apply_to_files(&files, &source);
        let got = apply_patch(&text, &source, &[]);
        let fail =
            |kind: &str| Err(Failure::new(kind, shown(&text, &source, &format!("{got:?}"), "")));
        if apply_patch(&text, &source, &[]) != got {
            return fail("another answer");
        }
        let Ok(patched) = &got else {
            return Ok(());
        };
        let Ok(after) = apply_edits(&text, &patched.edits) else {
            return fail("edits that do not fit");
        };
        let back = invert_edits(&text, &patched.edits).unwrap();
        if apply_edits(&after, &back).as_deref() != Ok(&text) {
            return fail("no way back");
        }
        Ok(())
    });
}
