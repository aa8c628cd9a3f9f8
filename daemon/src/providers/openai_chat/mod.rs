//! OpenAI's Chat Completions, which many others speak.

pub(super) mod request;
