//! OpenAI's Chat Completions, which many other providers and local servers implement too.

pub(super) mod answer;
pub(super) mod request;
