//! A Roblox DataModel in a Luau VM: instances with reflection-true properties and defaults,
//! datatypes, enums, signals in both modes, and `task` on a clock that its user controls.
//!
//! The engine is written in Luau, in `luau/`, so that its methods may yield, and its errors are
//! strings with the script's own line, as in Roblox. Rust does what Luau cannot: reflection data and
//! files. [`run_script`] runs a script on a scene; [`play_scene`] plays a game, with a server and
//! clients; [`run_specs`] runs specs; [`watch_model`] watches the scripts of a model that is not
//! inserted yet. A user of the engine steps its clock, and may add classes and functions, as the simulated
//! Studio of the tests does. Nothing here reaches the machine.

mod boxes;
mod changes;
mod convert;
mod engine;
pub mod json;
mod meter;
mod native;
mod place;
mod play;
mod reflection;
mod scene;
mod space;
mod specs;
mod watch;

pub use engine::{Engine, EngineExtension, EngineFile};
pub use meter::{Meter, Resumption};
pub use play::{PlayLimits, has_members, play_scene};
pub use reflection::services;
pub use scene::{RunLimits, run_script};
pub use specs::{CloudResults, CloudScript, CloudSpecs, SpecLimits, SpecsRun, run_specs};
pub use watch::{AccessKind, ModelAccess, WatchLimits, watch_model};
