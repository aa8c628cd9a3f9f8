//! Conversion of a script's text to the bytes of its file: the scene uses LF line endings, and the
//! file keeps its own.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Returns the bytes of a file whose script gets a new text. Unchanged lines keep their bytes.
/// Other lines get the line ending that most lines of the file have.
pub(super) fn script_bytes(file: &[u8], text: &str) -> Vec<u8> {
    let carriages = memchr::memmem::find_iter(file, b"\r\n").count();
    if carriages == 0 {
        return text.as_bytes().to_vec();
    }
    let newlines = memchr::memchr_iter(b'\n', file).count();
    let end: &[u8] = if carriages * 2 > newlines { b"\r\n" } else { b"\n" };
    let old: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let plain: Vec<Vec<u8>> = old.iter().map(|line| unix_line(line)).collect();
    let new: Vec<Vec<u8>> =
        text.as_bytes().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let mut written = Vec::with_capacity(file.len() + text.len() / 2);
    for op in capture_diff_slices(Algorithm::Myers, &plain, &new) {
        if let DiffOp::Equal { old_index, len, .. } = op {
            old[old_index..old_index + len].iter().for_each(|line| written.extend_from_slice(line));
            continue;
        }
        for line in &new[op.new_range()] {
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    written.extend_from_slice(line);
                    written.extend_from_slice(end);
                }
                None => written.extend_from_slice(line),
            }
        }
    }
    written
}

fn unix_line(line: &[u8]) -> Vec<u8> {
    match line.strip_suffix(b"\r\n") {
        Some(line) => [line, b"\n"].concat(),
        None => line.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, text: &str, expected: &str) {
        assert_eq!(
            script_bytes(file.as_bytes(), text),
            expected.as_bytes(),
            "{file:?} to {text:?}"
        );
    }

    #[test]
    fn line_endings_of_a_file_are_kept() {
        check("a\nb\n", "a\nc\n", "a\nc\n");
        check("a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n");
        check("a\r\nb", "a\nb\nc", "a\r\nb\r\nc");
        check("a\r\nb\r\nc\r\n", "", "");
        check("", "a\nb", "a\nb");
    }

    #[test]
    fn unchanged_lines_keep_their_bytes() {
        check("a\r\nb\nc\r\nd\r\n", "a\nb\nC\nd\n", "a\r\nb\nC\r\nd\r\n");
        check("a\nb\r\nc\n", "a\nb\nc\nd\n", "a\nb\r\nc\nd\n");
        check("a\rb\r\nc\r\n", "a\rb\nC\n", "a\rb\r\nC\r\n");
    }
}
