//! AWS Bedrock's Converse API.

pub(super) mod answer;
pub(super) mod request;

use super::sigv4::escape_segment;
use super::wire::{KeyHeader, WireDescriptor};

pub(super) const WIRE: WireDescriptor = WireDescriptor {
    url: |base, model| format!("{base}/model/{}/converse-stream", escape_segment(model)),
    headers: &[],
    key_header: KeyHeader::Bearer,
    uses_aws_credentials: true,
    body: |prompt, model, _| request::request_body(prompt, model),
    decoder: || Box::<answer::BedrockDecoder>::default(),
    has_unlabelled_lines: false,
};
