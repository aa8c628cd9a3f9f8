//! A request as data, before it is sent.

use std::fmt;

use bytes::{BufMut as _, Bytes, BytesMut};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

/// What stays as it is in a query: RFC 3986's unreserved characters.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The host of Open Cloud and the Creator Store.
pub(crate) const APIS: &str = "apis.roblox.com";
/// The host of Meshy, which takes its key as a bearer token.
pub(crate) const MESHY: &str = "api.meshy.ai";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestMethod {
    Get,
    Post,
    Put,
    Delete,
}

/// When a request may be sent again after it has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// After every failure that may pass: two requests have the effect of one.
    Idempotent,
    /// Only if the service has not acted on it: after 429, or if no connection was made. A second
    /// request would create a second thing or cost a second time.
    Unprocessed,
}

/// The next step after a status, which is special to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusAdvice {
    /// The status that it is for. 500 stands for every status from 500 on.
    pub status: u16,
    /// What the service must say in its message. Empty if that does not matter.
    pub detail: &'static str,
    /// The next step, in one or more sentences.
    pub text: &'static str,
}

impl StatusAdvice {
    /// Advice for a status, whatever the service says.
    pub const fn new(status: u16, text: &'static str) -> Self {
        Self { status, detail: "", text }
    }

    /// Advice for a status with a message that contains `detail`. It stands before the one for every message.
    pub const fn with_detail(status: u16, detail: &'static str, text: &'static str) -> Self {
        Self { status, detail, text }
    }

    /// Whether it is for an answer with this status and message.
    pub(crate) fn is_for(&self, status: u16, message: &str) -> bool {
        self.status == status.min(500) && message.contains(self.detail)
    }
}

/// A file in a form.
#[derive(Clone, PartialEq, Eq)]
pub struct FormFile {
    /// The name of the file, which the service sees. It has no quotes and no line breaks.
    pub name: String,
    pub content_type: &'static str,
    pub bytes: Bytes,
}

/// What a request sends. `Debug` shows the size of files instead of their bytes.
#[derive(Clone, PartialEq, Eq)]
pub enum RequestBody {
    None,
    Json(Json),
    Bytes {
        content_type: &'static str,
        bytes: Bytes,
    },
    /// A form (`multipart/form-data`) with the JSON in the part `request` and the file in the part
    /// `fileContent`.
    Multipart {
        request: Json,
        file: FormFile,
    },
}

/// A body as it is sent.
#[derive(Clone)]
pub(crate) struct EncodedBody {
    pub(crate) content_type: String,
    pub(crate) bytes: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudRequest {
    pub host: &'static str,
    pub method: RequestMethod,
    /// The path, which begins with `/`.
    pub path: String,
    /// The query, in its order.
    pub query: Vec<(&'static str, String)>,
    pub body: RequestBody,
    pub retry: RetryPolicy,
    /// Whether the body has the key, so that no header has it.
    pub is_key_in_body: bool,
    /// The next steps that are special to this route.
    pub advice: &'static [StatusAdvice],
}

impl CloudRequest {
    /// A request that reads.
    pub fn new(host: &'static str, path: &str) -> Self {
        Self {
            host,
            method: RequestMethod::Get,
            path: path.to_owned(),
            query: Vec::new(),
            body: RequestBody::None,
            retry: RetryPolicy::Idempotent,
            is_key_in_body: false,
            advice: &[],
        }
    }

    /// A request that sends a body, and is not sent a second time once the service may have acted on it.
    pub fn post(host: &'static str, path: &str, body: RequestBody) -> Self {
        let (method, retry) = (RequestMethod::Post, RetryPolicy::Unprocessed);
        Self { method, body, retry, ..Self::new(host, path) }
    }

    /// Adds a parameter of the query.
    #[must_use]
    pub fn with_query(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// Sets the next steps that are special to this route.
    #[must_use]
    pub fn with_advice(mut self, advice: &'static [StatusAdvice]) -> Self {
        self.advice = advice;
        self
    }

    /// Returns the path with the query, percent-encoded.
    pub fn target(&self) -> String {
        let mut target = self.path.clone();
        for (at, (name, value)) in self.query.iter().enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(value, QUERY));
        }
        target
    }
}

impl RequestBody {
    /// Encodes the body. Bytes are shared, and the file of a form is copied once.
    pub(crate) fn encode(&self) -> Option<EncodedBody> {
        match self {
            Self::None => None,
            Self::Json(json) => Some(EncodedBody {
                content_type: "application/json".to_owned(),
                bytes: json.to_string().into(),
            }),
            Self::Bytes { content_type, bytes } => {
                Some(EncodedBody { content_type: (*content_type).to_owned(), bytes: bytes.clone() })
            }
            Self::Multipart { request, file } => Some(encode_form(&request.to_string(), file)),
        }
    }
}

/// Encodes a form by RFC 7578, with a boundary that is not in its parts.
fn encode_form(request: &str, file: &FormFile) -> EncodedBody {
    let is_used = |boundary: &String| {
        let boundary = boundary.as_bytes();
        memmem::find(request.as_bytes(), boundary).is_some()
            || memmem::find(&file.bytes, boundary).is_some()
    };
    let mut number = 0_u64;
    let mut boundary = format!("vector-boundary-{number:016}");
    while is_used(&boundary) {
        number += 1;
        boundary = format!("vector-boundary-{number:016}");
    }
    let name: String =
        file.name.chars().map(|c| if c == '"' || c.is_control() { '_' } else { c }).collect();
    let before = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"request\"\r\n\
         Content-Type: application/json\r\n\r\n{request}\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"fileContent\"; \
         filename=\"{name}\"\r\nContent-Type: {}\r\n\r\n",
        file.content_type
    );
    let after = format!("\r\n--{boundary}--\r\n");
    let mut bytes = BytesMut::with_capacity(before.len() + file.bytes.len() + after.len());
    bytes.put_slice(before.as_bytes());
    bytes.put_slice(&file.bytes);
    bytes.put_slice(after.as_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    EncodedBody { content_type, bytes: bytes.freeze() }
}

impl fmt::Debug for FormFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, content_type, bytes } = self;
        write!(f, "{name:?} ({content_type}, {} bytes)", bytes.len())
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Json(json) => write!(f, "Json({json})"),
            Self::Bytes { content_type, bytes } => {
                write!(f, "Bytes({content_type}, {} bytes)", bytes.len())
            }
            Self::Multipart { request, file } => write!(f, "Multipart({request}, {file:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn query_is_percent_encoded() {
        let request = CloudRequest::new(APIS, "/v1/x")
            .with_query("query", "a tree & ümlaut+1")
            .with_query("maxPageSize", 25);
        assert_eq!(request.target(), "/v1/x?query=a%20tree%20%26%20%C3%BCmlaut%2B1&maxPageSize=25");
    }

    #[test]
    fn boundary_of_a_form_is_not_in_its_parts() {
        let content = b"x\r\n--vector-boundary-0000000000000000--\r\ny";
        let file = FormFile {
            name: "a\"\r\nb.png".to_owned(),
            content_type: "image/png",
            bytes: Bytes::from_static(content),
        };
        let request = json!({ "displayName": "vector-boundary-0000000000000001" });
        let body = RequestBody::Multipart { request, file };
        let shown = format!("{body:?}");
        assert!(shown.contains("42 bytes") && !shown.contains("--vector"), "{shown}");
        let form = body.encode().unwrap();
        let boundary = "vector-boundary-0000000000000002";
        assert_eq!(form.content_type, format!("multipart/form-data; boundary={boundary}"));
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"request\"\r\n\
             Content-Type: application/json\r\n\r\n\
             {{\"displayName\":\"vector-boundary-0000000000000001\"}}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"fileContent\"; \
             filename=\"a___b.png\"\r\nContent-Type: image/png\r\n\r\n{}\r\n--{boundary}--\r\n",
            String::from_utf8_lossy(content)
        );
        assert_eq!(String::from_utf8_lossy(&form.bytes), expected);
    }

    #[test]
    fn bytes_of_a_body_are_shared() {
        let bytes = Bytes::from(vec![7_u8; 1_000]);
        let body = RequestBody::Bytes { content_type: "application/xml", bytes: bytes.clone() };
        assert_eq!(body.encode().unwrap().bytes.as_ptr(), bytes.as_ptr());
    }
}
