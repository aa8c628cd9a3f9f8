//! Roblox's cloud, as a server on this machine that speaks its shapes and its errors.

mod asset_uploads;
mod contract;
mod deploy;
mod failures;
mod file_uploads;
mod generation;
mod insert;
mod insert_content;
#[cfg(unix)]
mod key_leaks;
mod keys;
mod luau_tasks;
mod meshy;
mod place_versions;
mod samples;
mod sandboxed;
mod search;
mod sender;
mod served;
mod served_deploy;
mod served_verify;
mod shapes;
mod verify;
