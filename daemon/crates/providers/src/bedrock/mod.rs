//! Converse of AWS Bedrock.

pub(super) mod answer;
pub(super) mod request;
