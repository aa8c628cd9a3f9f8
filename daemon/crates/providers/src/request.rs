//! Builds a request to a provider: the URL, the headers and the body.
//!
//! The body is a pure function of the conversation, with one module per wire format. The key is
//! added when the request is sent, and never shown.

use std::fmt;

use serde_json::Value as Json;
use vector_core::prompt::ModelPrompt;

use super::catalogue::{CatalogueModel, ChatDialect, ProviderService};
use super::keys::Credential;
use super::model_choice::ChosenModel;
use super::sigv4;
use super::turns::measure_images;
use super::wire::{KeyHeader, WireFormat};

#[derive(Clone)]
pub struct ModelHttpRequest {
    pub url: String,
    /// Determines how the key is sent.
    pub wire: WireFormat,
    pub credential: Credential,
    pub body: Vec<u8>,
    pub images: SentImages,
}

/// The images in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentImages {
    pub count: usize,
    /// Bytes of the body that they take.
    pub bytes: usize,
}

impl fmt::Debug for ModelHttpRequest {
    /// Leaves out the body: prompts are only meant for the provider.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, wire, body, .. } = self;
        write!(f, "Request({wire:?}, {url}, {} bytes)", body.len())
    }
}

impl ModelHttpRequest {
    /// Builds the request for the next message of a conversation.
    pub fn new(prompt: &ModelPrompt, chosen: &ChosenModel) -> Self {
        let ChosenModel { service, model, credential, .. } = chosen;
        Self {
            url: model_url(service, model),
            wire: service.wire,
            credential: credential.clone(),
            body: Self::encode_body(prompt, service, model),
            images: measure_images(prompt, model),
        }
    }

    /// Builds the body only, for callers that just want to read it.
    pub fn encode_body(
        prompt: &ModelPrompt,
        service: &ProviderService,
        model: &CatalogueModel,
    ) -> Vec<u8> {
        request_body(prompt, model, service.wire, service.dialect).to_string().into_bytes()
    }

    /// Returns the headers. A signature is valid for a few minutes; `at` is the current time in
    /// seconds since 1970.
    pub fn signed_headers(&self, at: u64) -> Vec<(String, String)> {
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        let wire = self.wire.descriptor();
        for (name, value) in wire.headers {
            add(name, (*value).to_owned());
        }
        match &self.credential {
            Credential::None => {}
            Credential::Key(key) => match wire.key_header {
                KeyHeader::Bearer => add("authorization", format!("Bearer {}", key.expose())),
                KeyHeader::Named(name) => add(name, key.expose().to_owned()),
            },
            Credential::Aws { id, secret, session, region } => {
                let (host, path) = split_url(&self.url);
                let request = sigv4::SigningRequest {
                    method: "POST",
                    host,
                    path,
                    headers: &[("content-type", "application/json")],
                    body: &self.body,
                    signed_at: at,
                };
                let session = session.as_ref();
                let key = sigv4::SigningKey { id, secret, session, region, service: "bedrock" };
                headers.extend(sigv4::sign_request(&request, &key));
            }
        }
        headers
    }
}

/// Splits a URL into its host and its path.
fn split_url(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or((rest, "/"), |at| rest.split_at(at))
}

/// Returns the URL for requests to a model.
pub(super) fn model_url(service: &ProviderService, model: &CatalogueModel) -> String {
    (service.wire.descriptor().url)(&service.base_url, &model.id)
}

/// Builds the body of a request.
pub(super) fn request_body(
    prompt: &ModelPrompt,
    model: &CatalogueModel,
    wire: WireFormat,
    dialect: ChatDialect,
) -> Json {
    (wire.descriptor().body)(prompt, model, dialect)
}

#[cfg(test)]
mod tests;
