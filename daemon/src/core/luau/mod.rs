//! What Luau's own tools say about a script.
//!
//! Luau's compiler alone decides whether a text is a script; the parser only describes what is
//! already known to compile. Nothing here ever runs code, and nothing knows scenes or edits.

mod compile;
pub mod index;
mod lint;
mod nesting;
mod outline;
mod security;
mod tokens;

pub use compile::{Diagnostic, check, new_errors};
pub use lint::{Lint, lint, roblox};
pub use outline::{Definition, DefinitionKind, OutlineError, outline};
pub use security::security;
