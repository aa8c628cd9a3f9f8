//! OpenAI's Responses API.

pub(super) mod answer;
pub(super) mod request;

use super::wire::{KeyHeader, WireDescriptor};

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: |base, _| format!("{base}/responses"),
    headers: &[],
    key_header: KeyHeader::Bearer,
    uses_aws_credentials: false,
    body: |prompt, model, _| request::request_body(prompt, model),
    decoder: || Box::<answer::OpenaiResponsesDecoder>::default(),
    has_unlabelled_lines: false,
};
