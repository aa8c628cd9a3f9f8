//! OpenAI's Responses.

pub(super) mod answer;
