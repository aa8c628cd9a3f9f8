//! JSON files that people write: read as Rojo reads them, and edited so that every other byte stays.
//!
//! `read` parses a text. `tree` keeps the text between values beside them, `style` lays out new
//! values, and `document` finds the place of an edit. `jsonc_parser::cst` is not used: it breaks up
//! objects that are on one line, and trims blank lines. The module must not know whose file it is.

mod document;
mod read;
mod style;
#[cfg(test)]
mod tests;
mod tree;

pub use document::{JsonArray, JsonDocument, JsonObject};
pub use read::{parse_json, read_json};
pub use style::{JsonInput, JsonLayout};
