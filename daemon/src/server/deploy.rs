//! Deploys, at the desk: what a person wants to be committed, and how far that is.

use std::time::Duration;

use scene_schemas::api::{
    Deploy, DeployPlan, DeployStarted, DeployState, Failure, FailureKind, MAX_HOLD, SessionId,
};
use tokio::sync::watch;
use tokio::time::timeout;

use super::daemon_handle::{DaemonHandle, DaemonRequest, Reply};
use super::failure::failure;
use super::history_api::Parameters;

/// What somebody wants of deploys.
#[derive(Debug)]
pub enum DeployRequest {
    /// To know what would be committed.
    Plan(Deploy, Reply<DeployPlan>),
    /// To have it committed.
    Begin(Deploy, Reply<DeployStarted>),
    /// To know how far one is.
    State(u64, Reply<watch::Receiver<DeployState>>),
}

/// What is asked for behind a path.
pub(super) fn parse_deploy(asked: &impl Parameters) -> Result<Deploy, Failure> {
    let session = asked.text_parameter("session")?.map(SessionId).ok_or_else(|| {
        let hint =
            "Choose `deploy` at a project under Chat on the page; a client gives its `session`.";
        failure(FailureKind::BadRequest, "The project is not said.", hint)
    })?;
    Ok(Deploy {
        session,
        branch: asked.text_parameter("branch")?,
        message: asked.text_parameter("message")?,
    })
}

/// How far a deploy is; held until that changes, or it is over.
pub(super) async fn wait_for_state(
    desk: &DaemonHandle,
    id: u64,
    hold: u64,
) -> Result<DeployState, Failure> {
    let mut state =
        desk.request(|reply| DaemonRequest::Deploy(DeployRequest::State(id, reply))).await?;
    if !state.borrow_and_update().is_over {
        let hold = Duration::from_secs(hold.min(MAX_HOLD));
        // Whoever was at it has said that it is over before they went.
        let _ = timeout(hold, state.changed()).await;
    }
    let now = state.borrow().clone();
    Ok(now)
}
