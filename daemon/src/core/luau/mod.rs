//! What Luau's own tools say about a script.
//!
//! Luau's compiler alone decides whether a text is a script; the parser only describes what is
//! already known to compile. Nothing here ever runs code, and nothing knows scenes or edits.

mod additive;
mod compile;
mod finding;
mod format;
mod highlight;
pub mod index;
mod inspect;
mod lint;
mod nesting;
mod outline;
mod security;
mod settings;

pub use additive::only_adds;
pub use compile::{Diagnostic, check, new_errors};
pub use finding::{Finder, Finding, Lines, MAX_FINDINGS, Severity, Span, cap, new_findings};
pub use format::{FormatError, Style, format, is_caught};
pub use highlight::{Piece, Pieces, highlight};
pub use inspect::{inspect, syntax};
pub use lint::{Linter, lint, roblox};
pub use nesting::Stack;
pub use outline::{Definition, DefinitionKind, OutlineError, outline};
pub use security::{ScanFinding, imitation, list_findings, scan_change, scan_script};
pub use settings::{LintSettings, libraries};
