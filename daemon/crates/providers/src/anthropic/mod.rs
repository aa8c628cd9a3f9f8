//! Anthropic's Messages.

pub(super) mod answer;
pub(super) mod request;
