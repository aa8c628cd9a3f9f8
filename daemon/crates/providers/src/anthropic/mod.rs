//! Anthropic's Messages API.

pub(super) mod answer;
pub(super) mod request;

use super::wire::{KeyHeader, WireDescriptor};

/// The version of the API.
const VERSION: &str = "2023-06-01";

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: |base, _| format!("{base}/v1/messages"),
    headers: &[("anthropic-version", VERSION)],
    key_header: KeyHeader::Named("x-api-key"),
    uses_aws_credentials: false,
    body: |prompt, model, _| request::request_body(prompt, model),
    decoder: || Box::<answer::AnthropicDecoder>::default(),
    has_unlabelled_lines: false,
};
