//! The functions of Windows. All code of the workspace that is not safe is here, and nothing that
//! it offers is unsafe to call.

pub(crate) mod access;
pub(crate) mod attributes;
pub(crate) mod console;
pub(crate) mod holders;
pub(crate) mod user_path;
mod wide;
