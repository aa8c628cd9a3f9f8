//! One binary for every test that crosses a crate.

mod engine;
