//! Tools, proposals, policy, prompts and the state of a workflow, as pure functions.
//!
//! A tool plans, a proposal says what would change, `workflow` decides what an input means. It must not know models'
//! wire formats, the disk, the ledger's storage or the server: it never waits, reads a clock, or touches a file, the network
//! or the environment.

pub mod calendar;
pub mod code;
pub mod erase;
pub mod memory;
pub mod mention;
pub mod page;
pub mod policy;
pub mod prompt;
pub mod proposal;
pub mod safe_line;
pub mod tools;
pub mod workflow;
pub mod xml_call;
