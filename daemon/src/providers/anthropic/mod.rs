//! Anthropic's Messages.

pub(super) mod answer;
