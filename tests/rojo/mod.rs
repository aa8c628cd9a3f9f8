//! Rojo projects, read by Vector and by Rojo with the same result.
//!
//! A rule is a file in `cases`: the files of a project, and the expected result. If Rojo is
//! installed, its sourcemap and its place are compared as well.

mod cases;
mod crash;
mod edited;
pub(crate) mod edits;
mod followed;
mod large;
mod looked;
mod moved;
mod named;
mod oracle;
mod packages;
mod random_projects;
mod recover;
mod sourcemap;
mod vectors;
