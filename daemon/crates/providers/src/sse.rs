//! A reader of server-sent events.
//!
//! It follows <https://html.spec.whatwg.org/multipage/server-sent-events.html>, with two
//! exceptions. An event without its final blank line is returned at the end, because some servers
//! leave that line out. A field `error` is an event of that name, because llama.cpp reported its
//! errors like this. There is no reconnection: a broken answer is requested again.

use super::lines::{LONGEST, LineSplitter, LineTooLong};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SseEvent {
    /// The event's name; empty if it has none.
    pub(super) name: String,
    /// The event's data. Several lines are joined with LF.
    pub(super) data: String,
}

/// Reads events from bytes that are split anywhere.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    lines: LineSplitter,
    event: SseEvent,
    has_data: bool,
}

impl SseReader {
    /// Returns the events that end within these bytes.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, LineTooLong> {
        let mut events = Vec::new();
        for line in self.lines.push_bytes(bytes)? {
            if line.is_empty() {
                events.extend(self.dispatch_event());
            } else {
                self.read_field(&line)?;
            }
        }
        Ok(events)
    }

    /// Returns the last event if it has no blank line after it. Its last line may be incomplete.
    pub(super) fn finish(&mut self) -> Option<SseEvent> {
        if let Some(line) = self.lines.finish() {
            self.read_field(&line).ok()?;
        }
        self.dispatch_event()
    }

    fn read_field(&mut self, line: &str) -> Result<(), LineTooLong> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" | "error" => {
                if self.event.data.len() + value.len() > LONGEST {
                    return Err(LineTooLong);
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
                if name == "error" {
                    name.clone_into(&mut self.event.name);
                }
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments have no field name, and `id` and `retry` are for reconnecting.
            _ => {}
        }
        Ok(())
    }

    fn dispatch_event(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        for size in 1..=text.len() {
            let mut reader = SseReader::default();
            let mut found: Vec<_> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|bytes| reader.push_bytes(bytes).unwrap())
                .collect();
            found.extend(reader.finish());
            let found: Vec<_> =
                found.iter().map(|it| (it.name.as_str(), it.data.as_str())).collect();
            assert_eq!(found, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_are_parsed_per_the_standard() {
        check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
        check("event: ping\r\ndata: {}\r\n\r\n", &[("ping", "{}")]);
        check("data: one\rdata: two\r\r", &[("", "one\ntwo")]);
        check("data:tight\n\ndata:  loose\n\n", &[("", "tight"), ("", " loose")]);
        check("data\n\ndata: \n\n", &[("", ""), ("", "")]);
        check("\u{feff}data: märz \u{1f33e}\n\n", &[("", "märz \u{1f33e}")]);
        check(": OPENROUTER PROCESSING\n\nid: 7\nretry: 10\ndata: x\n\n", &[("", "x")]);
        check("event: lonely\n\ndata: x\n\n", &[("", "x")]);
        check("data: {\ndata:  \"a\": 1\ndata: }\n\n", &[("", "{\n \"a\": 1\n}")]);
    }

    #[test]
    fn unterminated_event_is_returned_at_the_end() {
        check("data: [DONE]\n", &[("", "[DONE]")]);
        check("data: a\n\ndata: [DO", &[("", "a"), ("", "[DO")]);
        check("data: a\n\nevent: err", &[("", "a")]);
        check("", &[]);
    }

    #[test]
    fn error_field_becomes_an_event() {
        check("error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")]);
    }
}
