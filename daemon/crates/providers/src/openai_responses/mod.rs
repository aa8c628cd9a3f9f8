//! OpenAI's Responses.

pub(super) mod answer;
pub(super) mod request;
