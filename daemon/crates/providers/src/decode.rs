//! Decodes the bytes of a response to the parts of an answer, by framing and wire format.
//!
//! The caller declares the wire format. The content type declares the framing, but the first bytes
//! override it if they contradict, because servers and proxies often label their bodies wrongly.

use std::fmt;

use serde_json::Value as Json;

use super::answer::{AnswerOutcome, AnswerPart};
use super::answer_builder::AnswerBuilder;
use super::bedrock;
use super::event_stream::EventStream;
use super::failure::{self, ResponseHead};
use super::lines::LineSplitter;
use super::sse::{SseEvent, SseReader};
use super::wire::WireFormat;

/// The size limit of an error's body.
const MAX_ERROR_BYTES: usize = 1 << 20;
/// The size limit of an answer that is not a stream.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Decodes answers of one wire format.
pub(super) trait AnswerDecoder: fmt::Debug + Send {
    /// Handles an event of a stream. The name is empty if the framing has no names.
    fn handle_event(&mut self, name: &str, data: &Json, draft: &mut AnswerBuilder);

    /// Handles an answer that is not a stream.
    fn handle_body(&mut self, body: &Json, draft: &mut AnswerBuilder);

    /// Handles the end of the response.
    fn handle_end(&mut self, _draft: &mut AnswerBuilder) {}
}

#[derive(Debug)]
pub struct ResponseDecoder {
    wire: WireFormat,
    head: ResponseHead,
    decoder: Box<dyn AnswerDecoder>,
    framing: ResponseFraming,
    builder: AnswerBuilder,
}

/// The framing of the bytes.
#[derive(Debug)]
enum ResponseFraming {
    /// Not yet known; the first bytes are kept until it can be detected.
    Unknown(Vec<u8>),
    Sse(SseReader),
    Lines(LineSplitter),
    EventStream(EventStream),
    /// One JSON value, or several if the content type hides a stream.
    Whole(Vec<u8>),
    /// The body of an error.
    Failed(Vec<u8>),
}

impl ResponseDecoder {
    /// Creates a decoder for a response whose head was received.
    pub fn new(wire: WireFormat, head: ResponseHead) -> Self {
        let decoder = (wire.descriptor().decoder)();
        let bytes = Vec::new();
        let framing = if (200..300).contains(&head.status) {
            ResponseFraming::Unknown(bytes)
        } else {
            ResponseFraming::Failed(bytes)
        };
        Self { wire, head, decoder, framing, builder: AnswerBuilder::default() }
    }

    /// Decodes the next bytes, which may be split anywhere. Returns the parts that they complete.
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Vec<AnswerPart> {
        if !self.is_over() {
            self.read_bytes(bytes);
        }
        self.builder.take_parts()
    }

    /// Whether all further bytes can be ignored, so that the connection can be closed.
    pub fn is_over(&self) -> bool {
        self.builder.is_over
    }

    /// Returns the remaining parts at the end of the response. The last one is [`AnswerPart::End`].
    pub fn finish(mut self) -> Vec<AnswerPart> {
        if !self.builder.is_over {
            self.close_stream();
        }
        self.decoder.handle_end(&mut self.builder);
        self.builder.into_parts()
    }

    fn read_bytes(&mut self, bytes: &[u8]) {
        match &mut self.framing {
            ResponseFraming::Unknown(first) => {
                first.extend_from_slice(bytes);
                let Some(framing) = detect_framing(self.wire, self.head.content_type(), first)
                else {
                    return;
                };
                let first = std::mem::take(first);
                self.framing = framing;
                self.read_bytes(&first);
            }
            ResponseFraming::Sse(sse) => match sse.push_bytes(bytes) {
                Ok(events) => self.handle_events(&events),
                Err(error) => self.builder.fail_retryable(error.to_string()),
            },
            ResponseFraming::Lines(lines) => match lines.push_bytes(bytes) {
                Ok(lines) => lines.iter().for_each(|line| self.handle_data("", line)),
                Err(error) => self.builder.fail_retryable(error.to_string()),
            },
            ResponseFraming::EventStream(stream) => {
                let (messages, broken) = stream.push_bytes(bytes);
                for message in &messages {
                    bedrock::answer::handle_message(message, &mut *self.decoder, &mut self.builder);
                    if self.builder.is_over {
                        return;
                    }
                }
                if let Some(broken) = broken {
                    self.builder.fail_retryable(broken.to_string());
                }
            }
            ResponseFraming::Whole(body) => {
                if body.len() + bytes.len() > MAX_BODY_BYTES {
                    let limit = MAX_BODY_BYTES >> 20;
                    self.builder.fail_retryable(format!("the answer is longer than {limit} MB"));
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            ResponseFraming::Failed(body) => {
                let room = MAX_ERROR_BYTES.saturating_sub(body.len()).min(bytes.len());
                body.extend_from_slice(&bytes[..room]);
            }
        }
    }

    /// Handles the remaining bytes at the end of the response.
    fn close_stream(&mut self) {
        if let ResponseFraming::Unknown(first) = &mut self.framing {
            let first = std::mem::take(first);
            self.framing = ResponseFraming::Whole(first);
        }
        match &mut self.framing {
            ResponseFraming::Unknown(_) | ResponseFraming::EventStream(_) => {}
            // The last event may lack its blank line. If it is not whole JSON, it was cut off
            // rather than garbled, so drop it.
            ResponseFraming::Sse(sse) => {
                if let Some(event) = sse.finish().filter(|event| is_complete_json(&event.data)) {
                    self.handle_events(&[event]);
                }
            }
            ResponseFraming::Lines(lines) => {
                if let Some(line) = lines.finish().filter(|line| is_complete_json(line)) {
                    self.handle_data("", &line);
                }
            }
            ResponseFraming::Whole(body) => {
                let body = std::mem::take(body);
                self.handle_body(&body);
            }
            ResponseFraming::Failed(body) => {
                let failure = failure::from_response(&self.head, body);
                self.builder.end_with(AnswerOutcome::HttpError, failure);
            }
        }
    }

    fn handle_events(&mut self, events: &[SseEvent]) {
        for event in events {
            self.handle_data(&event.name, &event.data);
        }
    }

    fn handle_data(&mut self, name: &str, data: &str) {
        let data = data.trim();
        if self.builder.is_over || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            self.builder.is_over = true;
            return;
        }
        match serde_json::from_str(data) {
            Ok(data) => self.handle_json(name, &data),
            // Plain text in an `error` event is an error message.
            Err(_) if name == "error" => {
                self.builder.set_failure(failure::from_object(&Json::from(data), &self.head));
            }
            Err(error) => {
                self.builder.fail_retryable(format!("an event of the answer is not JSON: {error}"));
            }
        }
    }

    fn handle_json(&mut self, name: &str, data: &Json) {
        if !self.builder.is_over {
            match failure::find_error(name, data) {
                Some(error) => self.builder.set_failure(failure::from_object(error, &self.head)),
                None => self.decoder.handle_event(name, data, &mut self.builder),
            }
        }
    }

    fn handle_body(&mut self, body: &[u8]) {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let values: Result<Vec<Json>, _> =
            serde_json::Deserializer::from_slice(body).into_iter().collect();
        match values {
            // A Gemini stream without SSE framing is one array.
            Ok(values) if matches!(values.as_slice(), [Json::Array(_)]) => {
                let events = values[0].as_array().into_iter().flatten();
                events.for_each(|event| self.handle_json("", event));
            }
            Ok(values) => match values.as_slice() {
                [] => {}
                [value] => match failure::find_error("", value) {
                    Some(error) => {
                        self.builder.set_failure(failure::from_object(error, &self.head));
                    }
                    None => self.decoder.handle_body(value, &mut self.builder),
                },
                values => values.iter().for_each(|event| self.handle_json("", event)),
            },
            Err(error) if error.is_eof() => {}
            Err(_) if is_html_page(self.head.content_type(), body) => {
                self.builder.end_with(
                    AnswerOutcome::Error,
                    failure::from_page(&self.head, body, self.wire),
                );
            }
            Err(error) => {
                self.builder
                    .fail_retryable(format!("the answer is not valid {} JSON: {error}", self.wire));
            }
        }
    }
}

/// Whether a body is a web page: then the URL does not belong to the provider's API.
fn is_html_page(content_type: &str, body: &[u8]) -> bool {
    content_type.to_ascii_lowercase().starts_with("text/html")
        || body.trim_ascii_start().starts_with(b"<")
}

fn is_complete_json(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<Json>(data).is_ok_and(|it| it.is_object())
}

/// Detects the framing from the content type and the first bytes. None if more bytes are needed.
fn detect_framing(wire: WireFormat, content_type: &str, bytes: &[u8]) -> Option<ResponseFraming> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let first = *bytes.first()?;
    let is_json = matches!(first, b'{' | b'[');
    let is_lines =
        ["ndjson", "jsonl", "jsonlines", "json-seq"].iter().any(|it| essence.contains(it));
    if essence == "application/vnd.amazon.eventstream" && !is_json {
        return Some(ResponseFraming::EventStream(EventStream::default()));
    }
    let is_unlabelled = wire.descriptor().has_unlabelled_lines && !essence.contains("json");
    if is_lines || is_unlabelled && is_json {
        return Some(ResponseFraming::Lines(LineSplitter::default()));
    }
    if is_json {
        return Some(ResponseFraming::Whole(Vec::new()));
    }
    if essence == "text/event-stream" && first != b'<' {
        return Some(ResponseFraming::Sse(SseReader::default()));
    }
    let fields = [&b"data"[..], b"event", b"error:", b"id:", b"retry:", b":"];
    if fields.iter().any(|field| bytes.starts_with(field)) {
        return Some(ResponseFraming::Sse(SseReader::default()));
    }
    // With more bytes, this may still become an SSE field.
    let may_become = fields.iter().any(|field| field.starts_with(bytes));
    (!may_become).then(|| ResponseFraming::Whole(Vec::new()))
}
