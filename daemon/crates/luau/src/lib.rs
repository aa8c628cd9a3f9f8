//! Luau source: what its compiler and parser report, lints, formatting, the security scan and the index.
//!
//! Luau's compiler alone decides whether a text is a script; the parser describes what compiles. It must not know scenes,
//! edits or proposals, and it never runs code.

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
