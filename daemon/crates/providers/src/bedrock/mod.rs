//! AWS Bedrock's Converse API.

pub(super) mod answer;
pub(super) mod request;
