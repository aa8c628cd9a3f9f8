//! Who performs an approved proposal. A target decides nothing: it does what was approved, whole or
//! not at all, and says what it did.

mod disk;
pub mod place;
pub mod studio;
pub mod text;
