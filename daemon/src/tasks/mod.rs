//! Tasks outside the engine, for tools and commands: checks, web pages, commits, deploys, uploads,
//! generated models, mentions, and erasure.
//!
//! They must not decide or apply anything.

mod asset;
mod asset_content;
pub mod asset_upload;
pub mod attached_file;
pub mod check;
pub mod cloud;
mod cloud_workflow;
pub mod commit;
pub mod deploy;
pub mod fetch;
pub mod forget;
pub mod generate;
mod generated_model;
pub mod ledger_proposal;
pub mod mentions;
pub mod read_queue;
pub mod verify;
pub mod web;
