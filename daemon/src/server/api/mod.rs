//! The handlers of the API's routes.

pub(super) mod access;
pub(super) mod agents;
pub(super) mod assets;
pub(super) mod history;
pub(super) mod luau;
pub(super) mod place;
pub(super) mod plugin;
pub(super) mod proposals;
pub(super) mod settings;
pub(super) mod stream;
pub(super) mod verify;
