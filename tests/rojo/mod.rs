//! Rojo projects, read by us and by Rojo: both have to say the same.
//!
//! A rule is a file in `cases`: the files of a project, then what it becomes. Where Rojo is
//! installed it is asked, too, for its sourcemap and its place.

mod cases;
mod chance;
mod crash;
mod edited;
mod edits;
mod followed;
mod large;
mod looked;
mod moved;
mod named;
mod oracle;
mod packages;
mod recover;
mod sourcemap;
mod vectors;
