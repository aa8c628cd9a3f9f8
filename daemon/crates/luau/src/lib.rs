//! Luau source: compile errors, outlines, lints, formatting, the security scan and the index.
//!
//! Only Luau's compiler decides whether a text is a script; the parser describes what compiles.
//! Must not know scenes, edits or proposals, and never runs code.

mod additive;
mod api_lints;
mod compile;
mod complete;
mod finding;
mod format;
mod highlight;
pub mod index;
mod inspect;
mod lexer;
mod lint;
mod nesting;
mod outline;
mod security;
mod settings;

pub use additive::is_additive_edit;
pub use compile::{CompileDiagnostic, compile_errors, new_errors};
pub use complete::complete_names;
pub use finding::{
    FindingSeverity, FindingSource, LineIndex, LineSpan, MAX_FINDINGS, SourceFinding, cap_findings,
    new_findings,
};
pub use format::{FormatError, StyluaSettings, format_source, is_catching_panics};
pub use highlight::{HighlightKind, LinePieces, highlight_lines};
pub use inspect::{inspect_source, syntax_findings};
pub use lint::{SourceLinter, lint_for_card, roblox_library};
pub use nesting::StackSize;
pub use outline::{DefinitionKind, OutlineDefinition, OutlineError, outline_script};
pub use security::{
    ModelContent, ModelFinding, ModelInstance, ModelValue, ScanFinding, find_imitated_service,
    find_side_effects, format_findings, scan_change, scan_model, scan_script,
};
pub use settings::{LintSettings, library_names};
