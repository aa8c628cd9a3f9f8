//! The library of the Vector daemon. The binary `vector` is its command line.

mod asset_store;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod event_hub;
pub mod failure;
pub mod history;
pub mod merges;
mod parallel;
pub mod plugin;
pub mod server;
pub mod session;
pub mod tasks;
mod versions;
