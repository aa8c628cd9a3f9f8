//! Replaces a text and keeps the bytes of the unchanged lines.

use super::{CDATA, CDATA_END, LinePoint, TextDecoder};
use super::{decode_text, encode_lines, style_of, write_cdata, write_escaped};

/// Returns the content of a string element with its text replaced. The raw bytes of the unchanged
/// lines at the front and back are kept, so that a diff of the files shows only the changed lines.
/// New lines use the existing line ending. Any text that [`super::check_text`] accepts is read back
/// unchanged.
pub(in crate::xml) fn replace_text(inside: &[u8], text: &str) -> Vec<u8> {
    let newline = newline_of(inside);
    let spliced = splice_lines(inside, text, newline);
    if let Some(spliced) = spliced.filter(|spliced| decode_text(spliced) == text) {
        return spliced;
    }
    let mut whole = Vec::with_capacity(text.len() + 32);
    encode_lines(text, style_of(inside), newline, &mut whole);
    whole
}

/// Returns the line ending of the first line of a raw text.
fn newline_of(inside: &[u8]) -> &'static str {
    match memchr::memchr(b'\n', inside) {
        Some(at) if at > 0 && inside[at - 1] == b'\r' => "\r\n",
        _ => "\n",
    }
}

/// Replaces the lines between the unchanged ones. The result is wrong if blank text is dropped or
/// sections are split at the seam, so the caller must verify it.
fn splice_lines(inside: &[u8], text: &str, newline: &str) -> Option<Vec<u8>> {
    let mut points = Vec::new();
    let old = TextDecoder::run(inside, Some(&mut points)).text;
    let (old, new) = (old.as_bytes(), text.as_bytes());
    if !points.is_sorted_by_key(|point| point.decoded) {
        return None;
    }
    let starts_line = |point: &LinePoint| {
        let at = point.decoded;
        at == 0 || at == old.len() || old.get(at - 1) == Some(&b'\n')
    };
    let front = common_length(old.iter(), new.iter());
    // Prefer a point within a section, so that added text is written like the rest.
    let before = points
        .iter()
        .filter(|point| starts_line(point) && point.decoded <= front)
        .max_by_key(|point| (point.decoded, point.is_literal, point.raw))?;
    let (old_rest, new_rest) = (&old[before.decoded..], &new[before.decoded..]);
    let back = common_length(old_rest.iter().rev(), new_rest.iter().rev());
    let behind = points
        .iter()
        .filter(|point| starts_line(point) && point.raw >= before.raw)
        .filter(|point| point.decoded + back >= old.len())
        .min_by_key(|point| (point.decoded, !point.is_literal, point.raw))?;
    let kept = old.len() - behind.decoded;
    let middle = text.get(before.decoded..text.len() - kept)?;
    Some(join_pieces(inside, *before, middle, *behind, newline))
}

/// Returns the length of the common prefix.
fn common_length<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

fn join_pieces(
    inside: &[u8],
    before: LinePoint,
    middle: &str,
    behind: LinePoint,
    newline: &str,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(inside.len() + middle.len());
    out.extend_from_slice(&inside[..before.raw]);
    if before.is_literal || behind.is_literal {
        out.extend_from_slice(if before.is_literal { b"" } else { CDATA });
        write_cdata(middle, newline, &mut out);
    } else {
        write_escaped(middle, newline, &mut out);
    }
    if before.is_literal && !behind.is_literal {
        out.extend_from_slice(CDATA_END);
    }
    out.extend_from_slice(&inside[behind.raw..]);
    out
}
