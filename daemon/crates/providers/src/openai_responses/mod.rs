//! OpenAI's Responses API.

pub(super) mod answer;
pub(super) mod request;
