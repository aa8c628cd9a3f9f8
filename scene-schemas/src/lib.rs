//! Types shared by every part of Vector: paths, values, commands, ledger entries and the wire API.
//!
//! The daemon, the plugin and the page all use these types. The plugin's Luau types and the OpenAPI
//! document are generated from them. This crate depends on no other crate of the workspace,
//! performs no I/O and does not know about files or models.

#![warn(missing_docs)]

pub mod api;
pub mod attachment;
pub mod bounded;
pub mod command;
pub mod comment;
pub mod context;
pub mod entry;
pub mod generation;
pub mod interaction_mode;
pub mod luau;
pub mod path;
pub mod permission;
pub mod place;
pub mod playtest;
pub mod proposal;
pub mod refusal;
pub mod review;
pub mod rule;
pub mod sandbox;
pub mod text;
pub mod tier;
pub mod upload;
pub mod value;
pub mod workers;

pub use bounded::BoundedNumber;
pub use command::{Command, Fingerprint, FingerprintHasher, InstanceId, Target};
pub use path::InstancePath;
pub use refusal::Refusal;
pub use text::TextConflict;
pub use value::Value;
