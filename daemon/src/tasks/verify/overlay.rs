//! The place with a proposal that was not applied: what is uploaded to verify it.

use std::path::{Path, PathBuf};

use anyhow::bail;
use scene_schemas::entry::{Place, Seq};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_core::workflow::{LedgerState, PendingStatus};
use vector_ledger::Ledger;

use crate::tasks::deploy::DeploySource;
use crate::tasks::ledger_proposal::{LedgerProposal, read_workflow};

/// A proposal of the ledger, and the workflow that it is part of.
#[derive(Debug)]
pub struct OverlaySource {
    seq: Seq,
    workflow: Seq,
    state: LedgerState,
}

impl OverlaySource {
    /// Reads a proposal together with the workflow that it is part of.
    ///
    /// # Errors
    /// The ledger cannot be read, or has no such entry.
    pub fn read(ledger: &Ledger, seq: Seq) -> anyhow::Result<Self> {
        let (state, workflow) = read_workflow(ledger, seq)?;
        Ok(Self { seq, workflow, state })
    }

    /// Returns the file of the proposal's place: the place file that has its changes, or the project
    /// file.
    ///
    /// # Errors
    /// The place is open in Studio.
    pub fn place_file(&self) -> anyhow::Result<PathBuf> {
        let place = self.state.workflow(self.workflow).map(|it| &it.place);
        match place {
            Some(Place::File(file)) => {
                let out = file.out.as_ref().map(PathBuf::from).filter(|out| out.exists());
                Ok(out.unwrap_or_else(|| PathBuf::from(&file.file)))
            }
            Some(Place::Project(project)) => Ok(PathBuf::from(&project.project)),
            Some(Place::Open(_)) => bail!(
                "proposal {} belongs to a place that is open in Studio, which cannot be verified yet; \
                 save the place to a file, and make the change there",
                self.seq
            ),
            None => bail!("entry {} is not a proposal; `vector log` lists the proposals", self.seq),
        }
    }

    /// Applies the proposal, and those that it was made after, to the scene of its place.
    ///
    /// # Errors
    /// It belongs to another place than `path`, was applied, or does not fit the place any more.
    pub fn build(
        &self,
        ledger: &Ledger,
        path: &Path,
        read_scene: impl FnOnce() -> anyhow::Result<PlanningScene>,
    ) -> anyhow::Result<DeploySource> {
        let seq = self.seq;
        let found = LedgerProposal::find(&self.state, self.workflow, seq, path)?;
        if let PendingStatus::Applied(_) = found.pending.status {
            bail!("proposal {seq} is in the place already; verify the place without --proposal");
        }
        let mut scene = read_scene()?;
        let mut blobs = BlobStore::new();
        found.apply_earlier(ledger, &mut scene, &mut blobs)?;
        found.apply(ledger, &mut scene, &mut blobs).map_err(|error| {
            error.context(format!("proposal {seq} does not fit the place as it is now"))
        })?;
        let place = found.workflow.place.clone();
        Ok(DeploySource::of_scene(place, scene.into_scene())?)
    }
}
