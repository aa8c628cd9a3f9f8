//! One binary for every test that crosses a crate.
//!
//! Each file of tests needs a `mod` line here; `tidy` refuses a file without one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod attacks;
mod cli;
mod cloud;
mod code;
mod edits;
mod engine;
mod engines;
mod hostile;
mod http;
#[cfg(unix)]
mod install;
mod mcp;
#[cfg(unix)]
mod models;
mod page;
#[cfg(unix)]
mod picture;
mod plays;
mod plugin_style;
mod printed;
mod render;
mod rojo;
mod runs;
mod samples;
mod studio;
mod tidy;
#[cfg(unix)]
mod windows;
mod wire;
mod workbench;
