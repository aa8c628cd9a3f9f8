//! Language model providers and the offline planner. A provider turns a prompt into one message,
//! and keeps no state between messages.
//!
//! It must not know tools, scenes, targets or the ledger. Whether a requested call is allowed is
//! decided elsewhere.

pub mod answer;
mod answer_builder;
mod anthropic;
mod bedrock;
pub mod capture;
pub mod catalogue;
pub mod client;
pub mod config;
pub mod decode;
mod event_stream;
pub mod failure;
mod gemini;
pub mod http;
pub mod keys;
mod lines;
pub mod model_choice;
pub mod model_selector;
pub mod offline;
mod ollama;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
mod recorded_tests;
pub mod request;
pub mod retry;
mod retry_after;
mod schema;
mod sigv4;
mod sse;
#[cfg(test)]
mod tests;
mod turns;
pub mod wire;

use self::client::TaskModels;

#[derive(Debug, Clone)]
pub enum ProviderKind {
    /// The deterministic planner, which needs no key and no network.
    Offline,
    Model(TaskModels),
}

impl ProviderKind {
    /// Returns the name by which the user chooses it.
    pub fn name(&self) -> String {
        match self {
            Self::Offline => model_choice::OFFLINE.to_owned(),
            Self::Model(models) => models.edit.name(),
        }
    }
}
