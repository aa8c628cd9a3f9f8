//! Vector: the daemon's library. The binary `vector` is its command line.

pub mod core;
pub mod ledger;
pub mod providers;
