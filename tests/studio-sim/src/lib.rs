//! A simulated Roblox Studio: the shipped plugin runs in a real Luau VM, with a DataModel that
//! supports real undo, over real HTTP, on a clock that the test controls.
//!
//! The DataModel is the one of `vector-runtime`, to which this crate adds what only Studio has, in
//! Luau as well: plugins and their widgets, the history, the script editor, HTTP. Rust adds sockets,
//! and the relation of the clock to real time. The tests of this crate do not need the daemon.

mod faults;
pub mod gui;
mod http;
pub mod models;
mod native;
mod options;
mod shared;
mod studio;
#[cfg(test)]
mod tests;

pub use faults::Answer;
pub use gui::{GuiObject, Widget};
pub use options::{Options, Permission, SharedSettings, Signals, Switches, Theme};
pub use studio::{FRAME, OutputLine, Sent, Studio};
pub use vector_runtime::Resumption;
