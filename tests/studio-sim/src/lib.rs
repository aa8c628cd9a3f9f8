//! A simulated Roblox Studio: the shipped plugin runs in a real Luau VM, with a DataModel that
//! supports real undo, over real HTTP, on a clock that the test controls.
//!
//! The engine is written in Luau, in `luau/`, so that its methods may yield, and its errors are
//! strings with the script's own line, as in Studio. Rust does what Luau cannot: reflection data,
//! files, sockets, and the relation of the clock to real time. The tests of this crate do not need
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
pub use options::{Options, Permission, SharedSettings, Signals, Switches, Theme};
pub use shared::Resumption;
pub use studio::{FRAME, OutputLine, Sent, Studio};
