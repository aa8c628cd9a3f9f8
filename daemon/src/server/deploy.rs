//! Deploys over HTTP: the parameters of a plan, and a state that is held until it changes.

use std::time::Duration;

use scene_schemas::api::{Deploy, DeployState, Failure, FailureKind, MAX_HOLD, SessionId};
use tokio::time::timeout;

use super::extract::{FromParameters, Parameters};
use crate::daemon::DaemonHandle;
use crate::failure::failure;

impl FromParameters for Deploy {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let session = parameters.text("session")?.map(SessionId).ok_or_else(|| {
            let hint =
                "Choose `deploy` at a project under Chat on the page; a client gives its `session`.";
            failure(FailureKind::BadRequest, "The project is not said.", hint)
        })?;
        Ok(Self {
            session,
            branch: parameters.text("branch")?,
            message: parameters.text("message")?,
        })
    }
}

/// How far a deploy is; held until that changes, or it is over.
pub(super) async fn wait_for_state(
    daemon: &DaemonHandle,
    id: u64,
    hold: u64,
) -> Result<DeployState, Failure> {
    let mut state = daemon.deploy_state(id).await?;
    if !state.borrow_and_update().is_over {
        let hold = Duration::from_secs(hold.min(MAX_HOLD));
        // Whoever was at it has said that it is over before they went.
        let _ = timeout(hold, state.changed()).await;
    }
    let now = state.borrow().clone();
    Ok(now)
}
