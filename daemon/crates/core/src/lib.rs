//! Tools, proposals, policy, prompts and workflow state, as pure functions.
//!
//! A tool plans a change, a proposal describes it, and `workflow` decides what an input means. This
//! crate must not know the models' wire formats, the disk, the ledger's storage or the server. It
//! never blocks, and never reads the clock, files, the network or the environment.

pub mod asset_limits;
pub mod asset_scan;
pub mod calendar;
pub mod code;
pub mod erase;
pub mod memory;
pub mod mention;
pub mod overlay_merge;
pub mod page;
pub mod planning_scene;
pub mod play;
pub mod policy;
pub mod prompt;
pub mod proposal;
pub mod rule;
pub mod run;
pub mod safe_line;
pub mod specs;
pub mod tier;
pub mod tools;
pub mod workflow;
pub mod xml_call;
