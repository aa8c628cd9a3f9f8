//! Deploys of the open places: what an upload to Roblox would change, and the upload itself.

use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::api::{
    DeployPlanView, DeployQuery, DeployRequest, DeployTargetView, DeployedVersion, Failure,
    FailureKind, SessionId, UploadView,
};
use scene_schemas::entry::{Approver, Place, Seq};
use vector_ledger::Ledger;
use vector_providers::http::CancelSwitch;

use super::handle::run_on_thread;
use super::{DaemonActor, DaemonHandle};
use crate::failure::failure;
use crate::tasks::deploy::{
    DeployError, DeployPlan, DeploySource, DeployTarget, PastUpload, UploadHistory, UploadOutcome,
    choose_target, deploy_version, plan_deploy,
};

/// Maximum uploads of a plan.
const MAX_UPLOADS: usize = 50;

/// The file of an open place.
struct DeployFile {
    path: PathBuf,
    is_project: bool,
}

impl DaemonActor {
    /// Returns the file of a session's place.
    fn deploy_file(&self, session: &SessionId) -> Result<DeployFile, Failure> {
        match self.sessions.get(session).map(|known| known.place) {
            Some(Place::Project(project)) => {
                Ok(DeployFile { path: PathBuf::from(project.project), is_project: true })
            }
            Some(Place::File(file)) => {
                let path = PathBuf::from(file.out.unwrap_or(file.file));
                Ok(DeployFile { path, is_project: false })
            }
            Some(Place::Open(_)) => Err(failure(
                FailureKind::Settled,
                "A place that is open in Studio is published from Studio.",
                "Publish it there, or save it to a file and open that file here.",
            )),
            None => Err(failure(
                FailureKind::NotFound,
                format!("No place is open as session {session}."),
                "Open it under Chat on the page, or with `vector serve PLACE`.",
            )),
        }
    }
}

impl DaemonHandle {
    /// Returns what an upload of an open place would change on Roblox.
    ///
    /// # Errors
    /// The place cannot be read, or is open in Studio.
    pub async fn plan_deploy(&self, query: DeployQuery) -> Result<DeployPlanView, Failure> {
        let session = query.session.clone();
        let file = self.run(move |daemon| daemon.deploy_file(&session)).await?;
        let ledger = Arc::clone(&self.state.ledger);
        run_on_thread(move || {
            plan_view(&ledger, &file, &query).map_err(|error| deploy_failure(&error))
        })
        .await
    }

    /// Uploads a version that the person was shown.
    ///
    /// # Errors
    /// The place is another one than was shown, or the version was not uploaded.
    pub async fn deploy(&self, request: DeployRequest) -> Result<DeployedVersion, Failure> {
        let session = request.session.clone();
        let file = self.run(move |daemon| daemon.deploy_file(&session)).await?;
        let ledger = Arc::clone(&self.state.ledger);
        run_on_thread(move || upload(&ledger, &file, &request)).await
    }
}

fn upload(
    ledger: &Ledger,
    file: &DeployFile,
    request: &DeployRequest,
) -> Result<DeployedVersion, Failure> {
    let source =
        read_source(ledger, file, request.earlier).map_err(|error| deploy_failure(&error))?;
    if source.contents != request.contents {
        let message = "The place was changed after it was shown; nothing was uploaded.";
        let hint = "Reload the page, look at what changed, and deploy again.";
        return Err(failure(FailureKind::Stale, message, hint));
    }
    let target = DeployTarget { universe: request.universe, place: request.place };
    let cancel = CancelSwitch::new();
    let uploaded = deploy_version(ledger, &source, target, request.kind, Approver::Person, &cancel);
    let version = uploaded.map_err(|error| deploy_failure(&error))?;
    Ok(DeployedVersion { version })
}

fn read_source(
    ledger: &Ledger,
    file: &DeployFile,
    earlier: Option<Seq>,
) -> Result<DeploySource, DeployError> {
    match earlier {
        Some(seq) => DeploySource::earlier(ledger, seq).map(|(source, _)| source),
        None => DeploySource::read(&file.path, file.is_project),
    }
}

fn plan_view(
    ledger: &Ledger,
    file: &DeployFile,
    query: &DeployQuery,
) -> Result<DeployPlanView, DeployError> {
    let source = read_source(ledger, file, query.earlier)?;
    let target = match (query.universe, query.place) {
        (Some(universe), Some(place)) => Some(DeployTarget { universe, place }),
        _ => choose_target(ledger, &source.place)?,
    };
    let plan = target.map(|target| plan_deploy(ledger, &source, target)).transpose()?;
    let history = UploadHistory::read(ledger)?;
    let uploads = history.of_place(ledger, &source.place)?;
    Ok(DeployPlanView {
        name: source.place.name(),
        contents: source.contents,
        size: source.bytes.len() as u64,
        target: plan.map(target_view),
        uploads: uploads.into_iter().rev().take(MAX_UPLOADS).map(upload_view).collect(),
    })
}

fn target_view(plan: DeployPlan) -> DeployTargetView {
    let DeployPlan { target, published, existing, changes, interrupted: _ } = plan;
    DeployTargetView {
        universe: target.universe,
        place: target.place,
        published: published.as_ref().map(upload_view),
        existing: existing.as_ref().map(upload_view),
        added: changes.added as u64,
        removed: changes.removed as u64,
        changed: changes.changed as u64,
        scripts: changes.scripts as u64,
        lines: changes.lines,
        more: changes.more as u64,
        not_updated: changes.not_updated.into_iter().collect(),
    }
}

fn upload_view(past: &PastUpload) -> UploadView {
    let failure = match &past.outcome {
        UploadOutcome::Failed { reason, .. } => Some(reason.clone()),
        UploadOutcome::Uploaded { .. } | UploadOutcome::Open => None,
    };
    let (seq, at, upload) = (past.seq, past.at, past.upload.clone());
    UploadView { seq, at, upload, version: past.version(), failure }
}

fn deploy_failure(error: &DeployError) -> Failure {
    match error {
        DeployError::Ledger(error) => {
            failure(FailureKind::Internal, error.to_string(), "Try again.")
        }
        DeployError::Refused(why) => {
            failure(FailureKind::Settled, why, "Nothing else was changed.")
        }
    }
}
