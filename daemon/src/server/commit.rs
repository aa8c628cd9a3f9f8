//! Commits over HTTP: the parameters of a plan, and a long poll for the state.

use std::time::Duration;

use scene_schemas::api::{CommitRequest, CommitState, Failure, FailureKind, MAX_HOLD, SessionId};
use tokio::time::timeout;

use super::extract::{FromParameters, Parameters};
use crate::daemon::DaemonHandle;
use crate::failure::failure;

impl FromParameters for CommitRequest {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let session = parameters.text("session")?.map(SessionId).ok_or_else(|| {
            let hint =
                "Choose `commit` at a project under Chat on the page; a client sends its `session`.";
            failure(FailureKind::BadRequest, "No project is specified.", hint)
        })?;
        Ok(Self {
            session,
            branch: parameters.text("branch")?,
            message: parameters.text("message")?,
            push: None,
        })
    }
}

/// Returns the state of a commit once it has changed or is final, or after `hold` seconds.
pub(super) async fn wait_for_state(
    daemon: &DaemonHandle,
    id: u64,
    hold: u64,
) -> Result<CommitState, Failure> {
    let mut state = daemon.commit_state(id).await?;
    if !state.borrow_and_update().is_over {
        let hold = Duration::from_secs(hold.min(MAX_HOLD));
        // The sender sets the final state before it is dropped, so an error needs no handling.
        let _ = timeout(hold, state.changed()).await;
    }
    let now = state.borrow().clone();
    Ok(now)
}
