//! Ollama's chat API.

pub(super) mod answer;
pub(super) mod request;
