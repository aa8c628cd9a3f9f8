//! Ollama's own chat.

pub(super) mod answer;
pub(super) mod request;
