//! Deploys of the open places: what an upload to Roblox would change, and the upload itself.

use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::api::{
    DeployPlanView, DeployQuery, DeployRequest, DeployTargetView, DeployedVersion, Failure,
    FailureKind, SessionId, UploadView,
};
use scene_schemas::entry::{Approver, Place, Seq};
use vector_files::disk::canonical_path;
use vector_ledger::Ledger;
use vector_providers::http::CancelSwitch;

use super::handle::run_on_thread;
use super::{DaemonActor, DaemonHandle};
use crate::failure::failure;
use crate::tasks::deploy::{
    DeployApproval, DeployError, DeployPlan, DeploySource, DeployTarget, PastUpload, UploadHistory,
    UploadOutcome, choose_target, deploy_version, plan_deploy, source_file,
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
    let (source, _) =
        read_source(ledger, file, request.earlier).map_err(|error| deploy_failure(&error))?;
    if source.contents != request.contents {
        let message = "The place was changed after it was shown; nothing was uploaded.";
        let hint = "Reload the page, look at what changed, and deploy again.";
        return Err(failure(FailureKind::Stale, message, hint));
    }
    let target = DeployTarget { universe: request.universe, place: request.place };
    let cancel = CancelSwitch::new();
    let (kind, compared) = (request.kind, request.compared);
    let approval = DeployApproval { kind, by: Approver::Person, compared };
    let uploaded = deploy_version(ledger, &source, target, approval, &cancel);
    let version = uploaded.map_err(|error| deploy_failure(&error))?;
    Ok(DeployedVersion { version })
}

/// Returns what is uploaded. An earlier upload comes with its target, and is one of the same place.
fn read_source(
    ledger: &Ledger,
    file: &DeployFile,
    earlier: Option<Seq>,
) -> Result<(DeploySource, Option<DeployTarget>), DeployError> {
    let Some(seq) = earlier else {
        return Ok((DeploySource::read(&file.path, file.is_project)?, None));
    };
    let (source, target) = DeploySource::earlier(ledger, seq)?;
    if source_file(&source.place) != canonical_path(&file.path).ok() {
        let why =
            format!("Upload {seq} is one of another place. Open that place and deploy it there.");
        return Err(DeployError::Refused(why));
    }
    Ok((source, Some(target)))
}

fn plan_view(
    ledger: &Ledger,
    file: &DeployFile,
    query: &DeployQuery,
) -> Result<DeployPlanView, DeployError> {
    let (source, own) = read_source(ledger, file, query.earlier)?;
    let target = match (query.universe, query.place, own) {
        (Some(universe), Some(place), _) => Some(DeployTarget { universe, place }),
        (None, None, Some(own)) => Some(own),
        (None, None, None) => choose_target(ledger, &source.place)?,
        (Some(_), None, _) | (None, Some(_), _) => {
            let why = "Name both the universe and the place, or none of them.";
            return Err(DeployError::Refused(why.to_owned()));
        }
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
    let (named, more) = plan.changes.named_not_updated();
    DeployTargetView {
        universe: plan.target.universe,
        place: plan.target.place,
        published: plan.published.as_ref().map(upload_view),
        existing: plan.existing.as_ref().map(upload_view),
        is_published: plan.is_published,
        is_erased: plan.is_erased,
        unclear: plan.unclear.iter().map(upload_view).collect(),
        summary: plan.changes.describe(),
        more: plan.changes.more as u64,
        not_updated: named.into_iter().map(str::to_owned).collect(),
        more_not_updated: more as u64,
        lines: plan.changes.lines,
    }
}

pub(super) fn upload_view(past: &PastUpload) -> UploadView {
    let (failure, is_unclear) = match &past.outcome {
        UploadOutcome::Failed { reason, is_unclear } => (Some(reason.clone()), *is_unclear),
        UploadOutcome::Uploaded { .. } | UploadOutcome::Open => (None, false),
    };
    let (seq, at, upload) = (past.seq, past.at, past.upload.clone());
    UploadView { seq, at, upload, version: past.version(), is_unclear, failure }
}

pub(super) fn deploy_failure(error: &DeployError) -> Failure {
    match error {
        DeployError::Ledger(error) => {
            failure(FailureKind::Internal, error.to_string(), "Try again.")
        }
        DeployError::Refused(why) => {
            failure(FailureKind::Settled, why, "Nothing else was changed.")
        }
    }
}
