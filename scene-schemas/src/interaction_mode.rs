//! How far a person lets a request go. What is within it is known to whoever knows the tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far whoever answers may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InteractionMode {
    /// It proposes changes.
    #[default]
    Act,
    /// It reads, and makes a plan.
    Plan,
    /// It reads, and answers.
    Ask,
}

impl InteractionMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn is_act(&self) -> bool {
        *self == Self::Act
    }
}
