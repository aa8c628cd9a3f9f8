//! OpenAI's Chat Completions, which many other providers and local servers implement too.

pub(super) mod answer;
pub(super) mod request;

use super::wire::{KeyHeader, WireDescriptor};

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: |base, _| format!("{base}/chat/completions"),
    headers: &[],
    key_header: KeyHeader::Bearer,
    uses_aws_credentials: false,
    body: request::request_body,
    decoder: || Box::<answer::OpenaiChatDecoder>::default(),
    has_unlabelled_lines: false,
};
