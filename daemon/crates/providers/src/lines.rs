//! A line reader for newline-separated JSON values, as Ollama streams them.
//!
//! It does not parse the JSON.

/// The longest line in bytes. A longer one cannot be a model's answer.
pub(super) const LONGEST: usize = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line of the answer is longer than {} MB", LONGEST >> 20)]
pub(super) struct LineTooLong;

/// Splits bytes into lines that end in LF, CR or CRLF. The bytes may be split anywhere.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    line: Vec<u8>,
    is_after_cr: bool,
    has_started: bool,
}

impl LineSplitter {
    /// Returns the lines that end within these bytes, without their line ends. Invalid UTF-8
    /// becomes U+FFFD, and a byte order mark at the start of the first line is dropped.
    pub(super) fn push_bytes(&mut self, mut bytes: &[u8]) -> Result<Vec<String>, LineTooLong> {
        let mut lines = Vec::new();
        while let Some(at) = memchr::memchr2(b'\n', b'\r', bytes) {
            let (before, end, after) = (&bytes[..at], bytes[at], &bytes[at + 1..]);
            bytes = after;
            let is_second_half = self.is_after_cr && at == 0 && end == b'\n';
            self.is_after_cr = end == b'\r';
            if is_second_half {
                continue;
            }
            self.push_line_bytes(before)?;
            lines.push(self.take_line());
        }
        if !bytes.is_empty() {
            self.is_after_cr = false;
            self.push_line_bytes(bytes)?;
        }
        Ok(lines)
    }

    /// Returns the text after the last line end; None if there is none.
    pub(super) fn finish(&mut self) -> Option<String> {
        (!self.line.is_empty()).then(|| self.take_line())
    }

    fn push_line_bytes(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.line.len() + bytes.len() > LONGEST {
            return Err(LineTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self) -> String {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        if std::mem::replace(&mut self.has_started, true) {
            return text;
        }
        text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_line_endings_are_split_at_any_chunk_size() {
        let text = "\u{feff}first\nzwei ü\r\n\rvier \u{1f33e}\r\r\nlast";
        let expected = ["first", "zwei ü", "", "vier \u{1f33e}", "", "last"];
        for size in 1..text.len() {
            let mut lines = LineSplitter::default();
            let mut found: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|bytes| lines.push_bytes(bytes).unwrap())
                .collect();
            found.extend(lines.finish());
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn invalid_utf8_is_replaced() {
        let mut lines = LineSplitter::default();
        assert_eq!(lines.push_bytes(b"a\xff\xfeb\n").unwrap(), ["a\u{fffd}\u{fffd}b"]);
        assert_eq!(lines.finish(), None);
    }

    #[test]
    fn endless_line_is_refused() {
        let mut lines = LineSplitter::default();
        let megabyte = vec![b'x'; 1 << 20];
        let fed = (0..40).map(|_| lines.push_bytes(&megabyte)).find(Result::is_err);
        assert_eq!(fed, Some(Err(LineTooLong)));
    }
}
