//! OpenAI's Responses.

pub(super) mod request;
