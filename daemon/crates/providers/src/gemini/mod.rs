//! Google's Gemini.

pub(super) mod answer;
pub(super) mod request;

use super::sigv4::escape_segment;
use super::wire::{KeyHeader, WireDescriptor};

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: model_url,
    headers: &[],
    key_header: KeyHeader::Named("x-goog-api-key"),
    uses_aws_credentials: false,
    body: |prompt, model, _| request::request_body(prompt, model),
    decoder: || Box::<answer::GeminiDecoder>::default(),
    has_unlabelled_lines: false,
};

fn model_url(base: &str, model: &str) -> String {
    format!("{base}/v1beta/models/{}:streamGenerateContent?alt=sse", escape_segment(model))
}
