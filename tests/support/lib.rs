//! Shared test support: the repository's files, the built binary, generated places, and the vectors
//! that all parts of Vector are compared with.
//!
//! A failure here is a failed test, so everything panics with a message instead of returning an
//! error. This crate contains no tests.

#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a helper that fails is a test that fails"
)]

pub mod agent;
pub mod binary;
pub mod browser;
pub mod cases;
pub mod committed;
pub mod daemon;
pub mod forked;
pub mod generated;
pub mod human;
pub mod mcp;
pub mod operations;
pub mod oracle;
pub mod past;
#[cfg(unix)]
pub mod person;
pub mod places;
pub mod printed;
pub mod repository;
pub mod requirement;
pub mod secrets;
pub mod vectors;
