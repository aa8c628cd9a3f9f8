//! What is sent to a provider: the address, the headers and the body of one request.
//!
//! The body is a pure function of the conversation, one file per wire. The key is put in when the
//! request goes out, and shown nowhere.

use std::fmt;

use serde_json::Value as Json;
use vector_core::prompt::ModelPrompt;

use super::answer::Wire;
use super::catalogue::{Accent, Model, Service};
use super::choose::Chosen;
use super::keys::Credential;
use super::sigv4;
use super::{anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// The version of Anthropic's wire.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// One request.
#[derive(Clone)]
pub struct Request {
    /// Where it goes.
    pub url: String,
    /// How its key is sent.
    pub wire: Wire,
    /// Its key.
    pub credential: Credential,
    /// What it says.
    pub body: Vec<u8>,
}

impl fmt::Debug for Request {
    /// Not what it says: prompts are nobody's business but the provider's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, wire, body, .. } = self;
        write!(f, "Request({wire:?}, {url}, {} bytes)", body.len())
    }
}

impl Request {
    /// The request for the next message of a conversation.
    pub fn new(prompt: &ModelPrompt, chosen: &Chosen) -> Self {
        let Chosen { service, model, credential, .. } = chosen;
        Self {
            url: url(service, model),
            wire: service.wire,
            credential: credential.clone(),
            body: Self::body_of(prompt, service, model),
        }
    }

    /// What it says, for whoever only wants to read it.
    pub fn body_of(prompt: &ModelPrompt, service: &Service, model: &Model) -> Vec<u8> {
        body(prompt, model, service.wire, service.accent).to_string().into_bytes()
    }

    /// Its headers. A signature holds for some minutes: `at` is now, in seconds since 1970.
    pub fn headers(&self, at: u64) -> Vec<(String, String)> {
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        if self.wire == Wire::Anthropic {
            add("anthropic-version", ANTHROPIC_VERSION.to_owned());
        }
        match &self.credential {
            Credential::None => {}
            Credential::Key(key) => match self.wire {
                Wire::Anthropic => add("x-api-key", key.expose().to_owned()),
                Wire::Gemini => add("x-goog-api-key", key.expose().to_owned()),
                _ => add("authorization", format!("Bearer {}", key.expose())),
            },
            Credential::Aws { id, secret, session, region } => {
                let (host, path) = parts(&self.url);
                let request = sigv4::Request {
                    method: "POST",
                    host,
                    path,
                    headers: &[("content-type", "application/json")],
                    body: &self.body,
                    at,
                };
                let session = session.as_ref();
                let key = sigv4::Key { id, secret, session, region, service: "bedrock" };
                headers.extend(sigv4::sign(&request, &key));
            }
        }
        headers
    }
}

/// The host and the path of an address.
fn parts(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

/// Where a model is asked.
pub(super) fn url(service: &Service, model: &Model) -> String {
    let base = &service.base_url;
    match service.wire {
        Wire::Anthropic => format!("{base}/v1/messages"),
        Wire::OpenaiChat => format!("{base}/chat/completions"),
        Wire::OpenaiResponses => format!("{base}/responses"),
        Wire::Gemini => {
            format!(
                "{base}/v1beta/models/{}:streamGenerateContent?alt=sse",
                sigv4::escaped(&model.id)
            )
        }
        Wire::Bedrock => {
            format!("{base}/model/{}/converse-stream", sigv4::escaped(&model.id))
        }
        Wire::Ollama => format!("{base}/api/chat"),
    }
}

/// What a model is sent.
pub(super) fn body(prompt: &ModelPrompt, model: &Model, wire: Wire, accent: Accent) -> Json {
    match wire {
        Wire::Anthropic => anthropic::request::body(prompt, model),
        Wire::OpenaiChat => openai_chat::request::body(prompt, model, accent),
        Wire::OpenaiResponses => openai_responses::request::body(prompt, model),
        Wire::Gemini => gemini::request::body(prompt, model),
        Wire::Bedrock => bedrock::request::body(prompt, model),
        Wire::Ollama => ollama::request::body(prompt, model),
    }
}

#[cfg(test)]
mod tests;
