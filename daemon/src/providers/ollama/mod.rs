//! Ollama's own chat.

pub(super) mod answer;
