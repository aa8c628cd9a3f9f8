//! Anthropic's Messages.

pub(super) mod request;
