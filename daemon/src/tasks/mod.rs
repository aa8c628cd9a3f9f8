//! What is done beside the engine, for tools and commands: checks, specs, pages of the web, commits, mentions, and forgetting.
//!
//! It must not decide or apply anything.

pub mod check;
pub mod deploy;
pub mod fetch;
pub mod forget;
pub mod mentions;
pub mod read_queue;
pub mod spec;
pub mod web;
