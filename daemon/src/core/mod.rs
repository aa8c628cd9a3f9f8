//! Everything that Vector knows and decides, as pure functions.
//!
//! Nothing below here waits, reads a clock, or touches a file, the network or the environment.

pub mod calendar;
pub mod code;
pub mod edit;
pub mod erase;
pub mod luau;
pub mod memory;
pub mod mention;
pub mod page;
pub mod picture;
pub mod policy;
pub mod prompt;
pub mod proposal;
pub mod refusal;
pub mod scene;
pub mod shown;
pub mod tools;
pub mod workflow;
pub mod xml_call;

pub use refusal::Refusal;
