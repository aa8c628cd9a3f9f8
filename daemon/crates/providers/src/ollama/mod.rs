//! Ollama's chat API.

pub(super) mod answer;
pub(super) mod request;

use super::wire::{KeyHeader, WireDescriptor};

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: |base, _| format!("{base}/api/chat"),
    headers: &[],
    key_header: KeyHeader::Bearer,
    uses_aws_credentials: false,
    body: |prompt, model, _| request::request_body(prompt, model),
    decoder: || Box::<answer::OllamaDecoder>::default(),
    has_unlabelled_lines: true,
};
