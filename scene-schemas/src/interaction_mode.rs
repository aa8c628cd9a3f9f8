//! Interaction modes: whether a request may propose changes, only plan, or only answer.
//!
//! Which tools a mode allows is decided where the tools are defined.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the model may do for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionMode {
    /// Read the place and propose changes.
    #[default]
    Act,
    /// Read the place and make a plan.
    Plan,
    /// Read the place and answer.
    Ask,
}

impl InteractionMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn is_act(&self) -> bool {
        *self == Self::Act
    }
}
