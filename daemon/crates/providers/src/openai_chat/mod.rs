//! OpenAI's Chat Completions, which many other providers and local servers speak too.

pub(super) mod answer;
pub(super) mod request;
