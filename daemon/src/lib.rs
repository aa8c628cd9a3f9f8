//! The library of the Vector daemon. The binary `vector` is its command line.

pub mod cli;
pub mod config;
pub mod daemon;
pub mod history;
pub mod merges;
pub mod plugin;
pub mod server;
mod session;
pub mod tasks;
