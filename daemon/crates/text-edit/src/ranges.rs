//! Range edits, as editors send them. All other forms of edits are converted to these.
//!
//! An edit replaces exactly the bytes of its range. Line ends are neither repaired nor unified
//! here.

use scene_schemas::text::{Position, TextEdit};

use super::lines::{LineEnd, LineIndex, line_end_at, normalize_to_lf};
use super::{EditError, diff_lines};

/// The maximum number of edits in one call.
pub const MAX_EDITS: usize = 20;
/// The maximum number of characters (Unicode scalar values) that the edits of one call may insert
/// in total.
pub const MAX_INSERTED: usize = 2_000;

/// Checks that edits are inside the text and do not overlap, and returns them in order.
///
/// Two insertions at the same position keep their order. An insertion goes before a replacement
/// that starts at the same position, and must precede it in the list, as in the Language Server
/// Protocol.
pub fn check_edits(text: &str, edits: &[TextEdit]) -> Result<Vec<TextEdit>, EditError> {
    Ok(locate_edits(text, edits)?.into_iter().map(|place| place.edit.clone()).collect())
}

/// Applies edits to a text. Fails like [`check_edits`].
pub fn apply_edits(text: &str, edits: &[TextEdit]) -> Result<String, EditError> {
    let places = locate_edits(text, edits)?;
    let inserted: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut after = String::with_capacity(text.len() + inserted);
    let mut kept = 0;
    for place in places {
        after.push_str(&text[kept..place.start]);
        after.push_str(&place.edit.text);
        kept = place.end;
    }
    after.push_str(&text[kept..]);
    Ok(after)
}

/// Returns the edits in order, with the line ends of inserted text adapted to the lines around
/// them, as a model means them. Fails like [`check_edits`].
pub fn fit_edits(text: &str, edits: &[TextEdit]) -> Result<Vec<TextEdit>, EditError> {
    let fitted = locate_edits(text, edits)?.into_iter().map(|place| {
        let lf = normalize_to_lf(&place.edit.text);
        let text = match line_end_at(text, place.start) {
            LineEnd::CrLf => lf.replace('\n', LineEnd::CrLf.as_str()),
            LineEnd::Lf => lf.into_owned(),
            LineEnd::None => place.edit.text.clone(),
        };
        TextEdit { text, ..place.edit.clone() }
    });
    Ok(fitted.collect())
}

/// Returns edits that restore the original text from the edited one, byte for byte.
///
/// They result from a line diff of the two texts. An edit that joins a CR and an LF could not be
/// reverted by a range edit in the same place, because no position is between the two.
pub fn invert_edits(text: &str, edits: &[TextEdit]) -> Result<Vec<TextEdit>, EditError> {
    Ok(diff_lines(&apply_edits(text, edits)?, text))
}

/// Checks that one call of `apply_edit` may contain these edits.
pub fn check_limits(edits: &[TextEdit]) -> Result<(), EditError> {
    if edits.len() > MAX_EDITS {
        return Err(EditError::TooManyEdits { count: edits.len() });
    }
    let count = edits.iter().map(|edit| edit.text.chars().count()).sum();
    if count > MAX_INSERTED {
        return Err(EditError::TooMuchText { count });
    }
    Ok(())
}

/// An edit and the byte range that it replaces.
struct EditRange<'a> {
    edit: &'a TextEdit,
    start: usize,
    end: usize,
}

fn locate_edits<'a>(text: &str, edits: &'a [TextEdit]) -> Result<Vec<EditRange<'a>>, EditError> {
    let lines = LineIndex::from_text(text);
    let mut places = Vec::with_capacity(edits.len());
    for edit in edits {
        let (start, end) = (lines.byte_offset(edit.start)?, lines.byte_offset(edit.end)?);
        if end < start {
            return Err(EditError::Reversed { start: edit.start, end: edit.end });
        }
        places.push(EditRange { edit, start, end });
    }
    places.sort_by_key(|place| place.start);
    let mut before: Option<(usize, Position)> = None;
    for place in &places {
        if let Some((_, position)) = before.filter(|(end, _)| *end > place.start) {
            return Err(EditError::Overlap { end: position, start: place.edit.start });
        }
        before = Some((place.end, place.edit.end));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::random_text::{line_edit, random_edits, random_text};
    use super::*;

    fn check(text: &str, edits: &[TextEdit], after: &str) {
        assert_eq!(apply_edits(text, edits).unwrap(), after);
        let back = invert_edits(text, edits).unwrap();
        assert_eq!(apply_edits(after, &back).unwrap(), text);
    }

    fn refused(text: &str, edits: &[TextEdit], says: &str) {
        let error = apply_edits(text, edits).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn edits_replace_insert_and_delete_text() {
        check("", &[], "");
        check("", &[line_edit(0, 0, 0, 0, "a\n")], "a\n");
        check("a\nb\n", &[line_edit(2, 0, 2, 0, "c")], "a\nb\nc");
        check("a\nb\n", &[line_edit(0, 0, 1, 0, "")], "b\n");
        check("a\nb\n", &[line_edit(0, 1, 1, 0, "")], "ab\n");
        check("abc", &[line_edit(0, 1, 0, 2, "xyz")], "axyzc");
    }

    #[test]
    fn edits_are_sorted_and_inserts_keep_their_order() {
        let edits =
            [line_edit(0, 2, 0, 3, "C"), line_edit(0, 1, 0, 1, "1"), line_edit(0, 1, 0, 1, "2")];
        check("abc", &edits, "a12bC");
        check("abc", &[line_edit(0, 0, 0, 0, "x"), line_edit(0, 0, 0, 1, "y")], "xybc");
        assert_eq!(check_edits("abc", &edits).unwrap()[0], edits[1]);
    }

    #[test]
    fn applied_edits_leave_line_ends_alone() {
        check("a\r\nb\r\n", &[line_edit(0, 1, 0, 1, "x")], "ax\r\nb\r\n");
        check("a\r\nb\r\n", &[line_edit(0, 1, 1, 0, "\n")], "a\nb\r\n");
        check("a\rb\nc", &[line_edit(0, 2, 0, 3, "")], "a\r\nc");
        check("a\n", &[line_edit(0, 1, 0, 1, "\r")], "a\r\n");
    }

    #[test]
    fn fitted_edits_take_local_line_ends() {
        let check = |text, edits: &[TextEdit], after| {
            assert_eq!(apply_edits(text, &fit_edits(text, edits).unwrap()).unwrap(), after);
        };
        check("a\r\nb\r\n", &[line_edit(1, 0, 1, 0, "x\ny\n")], "a\r\nx\r\ny\r\nb\r\n");
        check("a\nb\n", &[line_edit(1, 0, 1, 0, "x\r\n")], "a\nx\nb\n");
        check("a\r\nb", &[line_edit(1, 1, 1, 1, "\nc")], "a\r\nb\r\nc");
        check("a", &[line_edit(0, 1, 0, 1, "\r\nb")], "a\r\nb");
    }

    #[test]
    fn characters_are_counted_in_utf16() {
        check("😀é\n", &[line_edit(0, 2, 0, 3, "e")], "😀e\n");
        check("a😀", &[line_edit(0, 3, 0, 3, "!")], "a😀!");
        refused("😀é", &[line_edit(0, 1, 0, 2, "")], "Use 0 or 2");
        refused("é😀", &[line_edit(0, 2, 0, 3, "")], "Use 1 or 3");
    }

    #[test]
    fn invalid_ranges_are_refused() {
        refused("a\nb\n", &[line_edit(3, 0, 3, 0, "x")], "it has 3, so the last one is 2");
        refused(
            "abc\r\nd",
            &[line_edit(0, 4, 0, 4, "x")],
            "3 UTF-16 characters long (lines are counted from 0; the last one is 1)",
        );
        refused("abc", &[line_edit(0, 2, 0, 1, "x")], "ends before it starts");
        refused("abc", &[line_edit(0, 0, 0, 2, "x"), line_edit(0, 1, 0, 3, "y")], "overlap");
        refused("abc", &[line_edit(0, 0, 0, 1, "x"), line_edit(0, 0, 0, 0, "y")], "overlap");
    }

    #[test]
    fn edit_count_and_inserted_text_are_limited() {
        let one = line_edit(0, 0, 0, 0, "é");
        assert_eq!(check_limits(&vec![one.clone(); MAX_EDITS]), Ok(()));
        assert!(check_limits(&vec![one; MAX_EDITS + 1]).is_err());
        assert_eq!(check_limits(&[line_edit(0, 0, 0, 0, &"é".repeat(MAX_INSERTED))]), Ok(()));
        let error =
            check_limits(&[line_edit(0, 0, 0, 0, &"é".repeat(MAX_INSERTED + 1))]).unwrap_err();
        assert!(error.to_string().contains("write_script"), "{error}");
    }

    #[test]
    fn random_edits_are_reverted_exactly() {
        check_seeds(0..5_000, |draws| {
            let text = random_text(draws, 12);
            let edits = random_edits(draws, &text);
            let after = apply_edits(&text, &edits).unwrap();
            check(&text, &edits, &after);
        });
    }

    #[test]
    fn wild_positions_never_panic() {
        check_seeds(0..5_000, |draws| {
            let text = random_text(draws, 4);
            let [a, b, c, d] = [(); 4].map(|()| draws.below(6) as u32);
            let _ = apply_edits(&text, &[line_edit(a, b, c, d, "x"), line_edit(c, d, a, b, "y")]);
        });
    }
}
