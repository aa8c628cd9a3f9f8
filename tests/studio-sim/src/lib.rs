//! A simulated Roblox Studio: the plugin as it ships runs in a real Luau VM, against a DataModel
//! with undo that truly reverts, over real HTTP, on a clock that the test moves.
//!
//! The engine is written in Luau, in `luau/`, so that its methods may yield and its errors are
//! strings with the script's own line, as in Studio. Rust holds what Luau cannot do: the facts of
//! reflection, files, sockets, and the clock's relation to real time. No test lives here that needs
//! the daemon.

mod convert;
mod engine;
mod faults;
pub mod gui;
mod http;
mod json;
pub mod models;
mod native;
mod options;
mod place;
mod reflection;
mod shared;
mod studio;
#[cfg(test)]
mod tests;

pub use faults::Answer;
pub use gui::{GuiObject, Widget};
pub use options::{Options, Permission, SharedSettings, Signals, Theme};
pub use shared::Resumption;
pub use studio::{FRAME, OutputLine, Sent, Studio};
