//! Deploys, at the desk: what a person wants to be committed, and how far that is.

use std::time::Duration;

use scene_schemas::api::{
    Deploy, DeployPlan, DeployStarted, DeployState, Failure, FailureKind, MAX_HOLD, SessionId,
};
use tokio::sync::watch;
use tokio::time::timeout;

use super::desk::{Ask, Desk, Reply};
use super::failure::failed;
use super::past::Behind;

/// What somebody wants of deploys.
#[derive(Debug)]
pub enum Deploying {
    /// To know what would be committed.
    Plan(Deploy, Reply<DeployPlan>),
    /// To have it committed.
    Begin(Deploy, Reply<DeployStarted>),
    /// To know how far one is.
    State(u64, Reply<watch::Receiver<DeployState>>),
}

/// What is asked for behind a path.
pub(super) fn wanted(asked: &impl Behind) -> Result<Deploy, Failure> {
    let session = asked.text("session")?.map(SessionId).ok_or_else(|| {
        let hint =
            "Choose `deploy` at a project under Chat on the page; a client gives its `session`.";
        failed(FailureKind::BadRequest, "The project is not said.", hint)
    })?;
    Ok(Deploy { session, branch: asked.text("branch")?, message: asked.text("message")? })
}

/// How far a deploy is; held until that changes, or it is over.
pub(super) async fn state(desk: &Desk, id: u64, hold: u64) -> Result<DeployState, Failure> {
    let mut state = desk.ask(|reply| Ask::Deploy(Deploying::State(id, reply))).await?;
    if !state.borrow_and_update().is_over {
        let hold = Duration::from_secs(hold.min(MAX_HOLD));
        // Whoever was at it has said that it is over before they went.
        let _ = timeout(hold, state.changed()).await;
    }
    let now = state.borrow().clone();
    Ok(now)
}
