//! The scratch place: which one was used last, and that it is not the live one.

use std::path::Path;

use scene_schemas::entry::{Entry, Place, VersionKind};
use vector_ledger::Ledger;
use vector_rojo_project::{NamedIds, RojoProject};

use super::RunHistory;
use crate::tasks::deploy::{
    DeployError, DeploySource, DeployTarget, PastUpload, UploadHistory, UploadOutcome,
    UploadPurpose, refuse_deploy, source_file,
};

/// Returns the scratch place that this place was verified in last.
///
/// # Errors
/// The ledger cannot be read.
pub fn last_scratch(
    ledger: &Ledger,
    source: &DeploySource,
) -> Result<Option<DeployTarget>, DeployError> {
    let own = source_file(&source.place);
    for past in RunHistory::read(ledger)?.runs.iter().rev() {
        let started = ledger.record_at(past.workflow)?.map(|record| record.entry);
        if let Some(Entry::Started { place, .. }) = started
            && own.is_some()
            && source_file(&place) == own
        {
            return Ok(Some(past.target()));
        }
    }
    let history = UploadHistory::read(ledger)?;
    let uploads = history.of_place_for(UploadPurpose::Verify, ledger, &source.place)?;
    Ok(uploads.last().map(|past| past.target()))
}

/// Checks that a place is not the live one. Within the universe of the live one data stores are shared,
/// which `is_same_universe_allowed` accepts.
///
/// # Errors
/// It is the live place, or in its universe.
pub fn check_scratch(
    ledger: &Ledger,
    source: &DeploySource,
    target: DeployTarget,
    is_same_universe_allowed: bool,
) -> Result<(), DeployError> {
    let history = UploadHistory::read(ledger)?;
    // Roblox may have published what is not known to have arrived.
    let published = history.uploads.iter().filter(|past| {
        let has_arrived = match &past.outcome {
            UploadOutcome::Uploaded { .. } | UploadOutcome::Open => true,
            UploadOutcome::Failed { is_unclear, .. } => *is_unclear,
        };
        past.upload.kind == VersionKind::Published && has_arrived
    });
    let published: Vec<DeployTarget> = published.map(PastUpload::target).collect();
    let named = match &source.place {
        Place::Project(project) => RojoProject::named_ids(Path::new(&project.project)),
        Place::File(_) | Place::Open(_) => NamedIds::default(),
    };
    let why = if published.iter().any(|it| it.place == target.place) {
        Some("this ledger has published a version of it")
    } else if named.places.contains(&target.place) {
        Some("the project file names it in `placeId` or `servePlaceIds`")
    } else {
        None
    };
    if let Some(why) = why {
        return Err(refuse_deploy(format!(
            "Place {} is a live place, not a scratch place: {why}. Specs do not run in it. Create a place \
             that nobody plays, and name it with --scratch UNIVERSE/PLACE.",
            target.place
        )));
    }
    let is_shared = published.iter().any(|it| it.universe == target.universe)
        || named.universe == Some(target.universe);
    if is_shared && !is_same_universe_allowed {
        return Err(refuse_deploy(format!(
            "Universe {} is that of the live place, and its data stores are those of the live game. Create \
             the scratch place in an experience of its own, or accept it with `vector verify --same-universe`.",
            target.universe
        )));
    }
    Ok(())
}
