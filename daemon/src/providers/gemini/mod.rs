//! Google's Gemini.

pub(super) mod request;
