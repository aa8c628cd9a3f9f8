//! Constructor of failures: the message, its cause, and a hint what to do next.

use scene_schemas::api::{Failure, FailureKind};

/// Makes a failure. `message` says what failed and why, `hint` what to do next.
pub fn failure(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure { kind, message: message.into(), hint: hint.into() }
}
