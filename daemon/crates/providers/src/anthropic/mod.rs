//! Anthropic's Messages API.

pub(super) mod answer;
pub(super) mod request;
