//! The words that every side of Vector shares: paths, values, commands, ledger entries, and the wire.
//!
//! The daemon, the plugin and the pages speak in these types; what they read is printed from here.
//! This crate depends on nothing of ours, does no I/O and knows nothing of files or models.

#![warn(missing_docs)]

pub mod api;
pub mod bounded;
pub mod command;
pub mod context;
pub mod entry;
pub mod interaction_mode;
pub mod luau;
pub mod path;
pub mod proposal;
pub mod refusal;
pub mod text;
pub mod value;

pub use bounded::BoundedNumber;
pub use command::{Command, Fingerprint, FingerprintHasher, InstanceId, Target};
pub use path::InstancePath;
pub use refusal::Refusal;
pub use text::TextConflict;
pub use value::Value;
