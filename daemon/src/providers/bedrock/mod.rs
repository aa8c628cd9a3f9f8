//! AWS Bedrock's Converse.

pub(super) mod request;
