//! Language models, and the offline planner: a provider turns a prompt into one message and keeps no state between two.
//!
//! It must not know tools, scenes, targets or the ledger; whether a requested call is allowed is decided elsewhere.

pub mod answer;
mod anthropic;
mod bedrock;
pub mod capture;
pub mod catalogue;
pub mod choose;
pub mod client;
pub mod config;
pub mod decode;
mod draft;
mod event_stream;
pub mod failure;
mod gemini;
mod hint;
pub mod http;
pub mod keys;
mod lines;
pub mod offline;
mod ollama;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod recorded;
pub mod request;
pub mod retry;
mod schema;
mod sides;
mod sigv4;
mod sse;
#[cfg(test)]
mod tests;
pub mod who;

use self::client::Models;

/// Who answers.
#[derive(Debug, Clone)]
pub enum Provider {
    /// The deterministic planner, which needs no key and no network.
    Offline,
    /// Models.
    Model(Models),
}

impl Provider {
    /// The name by which a person chooses it.
    pub fn name(&self) -> String {
        match self {
            Self::Offline => choose::OFFLINE.to_owned(),
            Self::Model(models) => models.edit.name(),
        }
    }
}
