//! How the daemon reports what failed, why, and what to do next.

use scene_schemas::api::{Failure, FailureKind};

/// Makes a failure: what failed and why, and what to do next.
pub fn failure(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure { kind, message: message.into(), hint: hint.into() }
}
