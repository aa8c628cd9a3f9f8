//! Vector: the daemon's library. The binary `vector` is its command line.

pub mod cli;
pub mod config;
pub mod core;
pub mod engine;
pub mod ledger;
pub mod plugin;
pub mod providers;
pub mod server;
pub mod targets;
