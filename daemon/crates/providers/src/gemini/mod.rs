//! Google's Gemini.

pub(super) mod answer;
pub(super) mod request;
