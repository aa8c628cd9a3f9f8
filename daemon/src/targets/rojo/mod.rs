//! Rojo projects: instances that are files, and the files that are instances.
//!
//! The project is read as Rojo 7.7 reads it, but tolerantly: a file that is wrong is a
//! [`Diagnostic`], and everything else is there.

mod tree;
pub mod watch;

pub use self::tree::{Diagnostic, Instance, Origin, Tree, reference_to};
