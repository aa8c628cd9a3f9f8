//! From the bytes of a response to the parts of an answer: which reader, and which wire.
//!
//! The wire is declared by whoever asked. The content type says how its bytes are framed, and the
//! first bytes correct it where they contradict, for servers and proxies label their bodies wrongly.

use std::fmt;

use serde_json::Value as Json;

use super::answer::{Outcome, Part, Wire};
use super::draft::Draft;
use super::event_stream::EventStream;
use super::failure::{self, Head};
use super::lines::Lines;
use super::sse::{Event, Sse};
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// What of an error's body is read.
const LONGEST_ERROR: usize = 1 << 20;
/// What of an answer that is no stream is read.
const LONGEST_WHOLE: usize = 64 << 20;

/// What a wire knows of its answers.
pub(super) trait Spelling: fmt::Debug + Send {
    /// An event of a stream; its name is empty where the framing has none.
    fn event(&mut self, name: &str, data: &Json, draft: &mut Draft);

    /// An answer that is no stream.
    fn whole(&mut self, body: &Json, draft: &mut Draft);

    /// Whatever there is to do when no more bytes come.
    fn end(&mut self, _draft: &mut Draft) {}
}

/// Decodes one response.
#[derive(Debug)]
pub struct Decoder {
    wire: Wire,
    head: Head,
    spelling: Box<dyn Spelling>,
    framing: Framing,
    draft: Draft,
}

/// How the bytes are framed.
#[derive(Debug)]
enum Framing {
    /// Not known before more of the first bytes are there.
    Unknown(Vec<u8>),
    Sse(Sse),
    Lines(Lines),
    EventStream(EventStream),
    /// One JSON value; or several, where the content type hides a stream.
    Whole(Vec<u8>),
    /// The body of an error.
    Failed(Vec<u8>),
}

impl Decoder {
    /// A decoder for a response of which the head is there.
    pub fn new(wire: Wire, head: Head) -> Self {
        let spelling: Box<dyn Spelling> = match wire {
            Wire::Anthropic => Box::<anthropic::answer::Anthropic>::default(),
            Wire::OpenaiChat => Box::<openai_chat::answer::OpenaiChat>::default(),
            Wire::OpenaiResponses => Box::<openai_responses::answer::OpenaiResponses>::default(),
            Wire::Gemini => Box::<gemini::answer::Gemini>::default(),
            Wire::Bedrock => Box::<bedrock::answer::Bedrock>::default(),
            Wire::Ollama => Box::<ollama::answer::Ollama>::default(),
        };
        let bytes = Vec::new();
        let framing = if (200..300).contains(&head.status) {
            Framing::Unknown(bytes)
        } else {
            Framing::Failed(bytes)
        };
        Self { wire, head, spelling, framing, draft: Draft::default() }
    }

    /// The parts that these bytes complete. They may be split anywhere.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Part> {
        if !self.is_over() {
            self.read(bytes);
        }
        self.draft.take()
    }

    /// Whether no byte that is still to come matters: the connection can be closed.
    pub fn is_over(&self) -> bool {
        self.draft.is_over
    }

    /// The last parts, when no more bytes come; `Part::End` is the last of them.
    pub fn finish(mut self) -> Vec<Part> {
        if !self.draft.is_over {
            self.close();
        }
        self.spelling.end(&mut self.draft);
        self.draft.end()
    }

    fn read(&mut self, bytes: &[u8]) {
        match &mut self.framing {
            Framing::Unknown(first) => {
                first.extend_from_slice(bytes);
                let Some(framing) = framing(self.wire, self.head.content_type(), first) else {
                    return;
                };
                let first = std::mem::take(first);
                self.framing = framing;
                self.read(&first);
            }
            Framing::Sse(sse) => match sse.feed(bytes) {
                Ok(events) => self.events(&events),
                Err(error) => self.draft.broken(error.to_string()),
            },
            Framing::Lines(lines) => match lines.feed(bytes) {
                Ok(lines) => lines.iter().for_each(|line| self.data("", line)),
                Err(error) => self.draft.broken(error.to_string()),
            },
            Framing::EventStream(stream) => {
                let (messages, broken) = stream.feed(bytes);
                for message in &messages {
                    bedrock::answer::message(message, &mut *self.spelling, &mut self.draft);
                    if self.draft.is_over {
                        return;
                    }
                }
                if let Some(broken) = broken {
                    self.draft.broken(broken.to_string());
                }
            }
            Framing::Whole(body) => {
                if body.len() + bytes.len() > LONGEST_WHOLE {
                    let limit = LONGEST_WHOLE >> 20;
                    self.draft.broken(format!("the answer is longer than {limit} MB"));
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            Framing::Failed(body) => {
                let room = LONGEST_ERROR.saturating_sub(body.len()).min(bytes.len());
                body.extend_from_slice(&bytes[..room]);
            }
        }
    }

    /// What has to be done with the rest when no more bytes come.
    fn close(&mut self) {
        if let Framing::Unknown(first) = &mut self.framing {
            let first = std::mem::take(first);
            self.framing = Framing::Whole(first);
        }
        match &mut self.framing {
            Framing::Unknown(_) | Framing::EventStream(_) => {}
            // The last event may lack its blank line. What is no JSON was cut off, not garbled.
            Framing::Sse(sse) => {
                if let Some(event) = sse.finish().filter(|event| is_whole(&event.data)) {
                    self.events(&[event]);
                }
            }
            Framing::Lines(lines) => {
                if let Some(line) = lines.finish().filter(|line| is_whole(line)) {
                    self.data("", &line);
                }
            }
            Framing::Whole(body) => {
                let body = std::mem::take(body);
                self.whole(&body);
            }
            Framing::Failed(body) => {
                let failure = failure::of_response(&self.head, body);
                self.draft.end_with(Outcome::HttpError, failure);
            }
        }
    }

    fn events(&mut self, events: &[Event]) {
        for event in events {
            self.data(&event.name, &event.data);
        }
    }

    fn data(&mut self, name: &str, data: &str) {
        let data = data.trim();
        if self.draft.is_over || data.is_empty() {
            return;
        }
        if data == "[DONE]" {
            self.draft.is_over = true;
            return;
        }
        match serde_json::from_str(data) {
            Ok(data) => self.event(name, &data),
            // Plain words under the name of an error are one.
            Err(_) if name == "error" => {
                self.draft.fail(failure::of_object(&Json::from(data), &self.head));
            }
            Err(error) => self.draft.broken(format!("an event of the answer is no JSON: {error}")),
        }
    }

    fn event(&mut self, name: &str, data: &Json) {
        if !self.draft.is_over {
            match failure::in_body(name, data) {
                Some(error) => self.draft.fail(failure::of_object(error, &self.head)),
                None => self.spelling.event(name, data, &mut self.draft),
            }
        }
    }

    fn whole(&mut self, body: &[u8]) {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let values: Result<Vec<Json>, _> =
            serde_json::Deserializer::from_slice(body).into_iter().collect();
        match values {
            // A stream of Gemini's that is no SSE is one list.
            Ok(values) if matches!(values.as_slice(), [Json::Array(_)]) => {
                let events = values[0].as_array().into_iter().flatten();
                events.for_each(|event| self.event("", event));
            }
            Ok(values) => match values.as_slice() {
                [] => {}
                [value] => match failure::in_body("", value) {
                    Some(error) => self.draft.fail(failure::of_object(error, &self.head)),
                    None => self.spelling.whole(value, &mut self.draft),
                },
                values => values.iter().for_each(|event| self.event("", event)),
            },
            Err(error) if error.is_eof() => {}
            Err(_) if is_page(self.head.content_type(), body) => {
                self.draft.end_with(Outcome::Error, failure::of_page(&self.head, body, self.wire));
            }
            Err(error) => {
                self.draft
                    .broken(format!("the answer is not JSON as {} has it: {error}", self.wire));
            }
        }
    }
}

/// Whether a body is a page for people: somebody else answers at that address.
fn is_page(content_type: &str, body: &[u8]) -> bool {
    content_type.to_ascii_lowercase().starts_with("text/html")
        || body.trim_ascii_start().starts_with(b"<")
}

fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<Json>(data).is_ok_and(|it| it.is_object())
}

/// The framing, as soon as it can be told.
fn framing(wire: Wire, content_type: &str, bytes: &[u8]) -> Option<Framing> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let first = *bytes.first()?;
    let is_json = matches!(first, b'{' | b'[');
    let is_lines =
        ["ndjson", "jsonl", "jsonlines", "json-seq"].iter().any(|it| essence.contains(it));
    if essence == "application/vnd.amazon.eventstream" && !is_json {
        return Some(Framing::EventStream(EventStream::default()));
    }
    if is_lines || wire == Wire::Ollama && is_json && !essence.contains("json") {
        return Some(Framing::Lines(Lines::default()));
    }
    if is_json {
        return Some(Framing::Whole(Vec::new()));
    }
    if essence == "text/event-stream" && first != b'<' {
        return Some(Framing::Sse(Sse::default()));
    }
    let fields = [&b"data"[..], b"event", b"error:", b"id:", b"retry:", b":"];
    if fields.iter().any(|field| bytes.starts_with(field)) {
        return Some(Framing::Sse(Sse::default()));
    }
    // With more bytes it may become one.
    let may_become = fields.iter().any(|field| field.starts_with(bytes));
    (!may_become).then(|| Framing::Whole(Vec::new()))
}
