//! Google's Gemini.

pub(super) mod answer;
