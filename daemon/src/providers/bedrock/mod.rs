//! Converse of AWS Bedrock.

pub(super) mod answer;
