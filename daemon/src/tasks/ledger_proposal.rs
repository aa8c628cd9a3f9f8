//! A proposal of the ledger, for what shows or verifies it without the session of its place: finds it,
//! and applies it to a copy of its place.

use std::path::Path;

use anyhow::bail;
use scene_schemas::Command;
use scene_schemas::entry::{Place, Seq};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, try_command};
use vector_core::workflow::{LedgerState, PendingProposal, PendingStatus, Workflow};
use vector_files::place_file::real_path;
use vector_ledger::Ledger;
use vector_rojo_project::RojoProject;

/// A proposal with the workflow that it is part of.
#[derive(Debug)]
pub struct LedgerProposal<'a> {
    pub seq: Seq,
    pub workflow: &'a Workflow,
    pub pending: &'a PendingProposal,
}

/// Reads the workflow of an entry.
pub fn read_workflow(ledger: &Ledger, seq: Seq) -> anyhow::Result<(LedgerState, Seq)> {
    let Some(record) = ledger.record_at(seq)? else {
        bail!("the ledger has no entry {seq}; `vector log` lists the entries");
    };
    let mut state = LedgerState::default();
    for record in ledger.workflow_records(record.workflow)? {
        state.apply_record(&record);
    }
    Ok((state, record.workflow))
}

impl<'a> LedgerProposal<'a> {
    /// Finds a proposal, which must belong to the given place.
    pub fn find(
        state: &'a LedgerState,
        workflow: Seq,
        seq: Seq,
        place: &Path,
    ) -> anyhow::Result<Self> {
        let workflow = state.workflow(workflow);
        let Some((workflow, pending)) = workflow.and_then(|it| Some((it, it.proposal(seq)?)))
        else {
            bail!("entry {seq} is not a proposal; `vector log` lists the proposals");
        };
        let found = Self { seq, workflow, pending };
        found.check_place(place)?;
        Ok(found)
    }

    /// Applies the proposals that this one was made after to a scene, except for those that the place has.
    pub fn apply_earlier(
        &self,
        ledger: &Ledger,
        scene: &mut PlanningScene,
        blobs: &mut BlobStore,
    ) -> anyhow::Result<()> {
        for before in &self.pending.proposal.after {
            let before = self.workflow.proposal(*before);
            if let Some(before) =
                before.filter(|it| !matches!(it.status, PendingStatus::Applied(_)))
            {
                apply_commands(ledger, scene, before, blobs)?;
            }
        }
        Ok(())
    }

    /// Applies this proposal to a scene.
    pub fn apply(
        &self,
        ledger: &Ledger,
        scene: &mut PlanningScene,
        blobs: &mut BlobStore,
    ) -> anyhow::Result<()> {
        apply_commands(ledger, scene, self.pending, blobs)
    }

    /// Checks that the proposal belongs to the given place.
    fn check_place(&self, place: &Path) -> anyhow::Result<()> {
        let (seq, own) = (self.seq, &self.workflow.place);
        let named = match own {
            Place::Open(_) => bail!(
                "proposal {seq} belongs to a place that is open in Studio; the page, which `vector open` \
                 shows, has its pictures"
            ),
            Place::File(file) => {
                [Some(&file.file), file.out.as_ref()].into_iter().flatten().collect()
            }
            Place::Project(project) => vec![&project.project],
        };
        let is_project = matches!(own, Place::Project(_));
        let here =
            if is_project { RojoProject::find_project_file(place)? } else { place.to_owned() };
        let here = real_path(&here)?;
        if named.iter().any(|file| real_path(Path::new(file)).is_ok_and(|file| file == here)) {
            return Ok(());
        }
        bail!(
            "proposal {seq} belongs to {}, not to {}; name that place",
            own.name(),
            place.display()
        )
    }
}

fn apply_commands(
    ledger: &Ledger,
    scene: &mut PlanningScene,
    pending: &PendingProposal,
    blobs: &mut BlobStore,
) -> anyhow::Result<()> {
    fetch_blobs(ledger, &pending.proposal.commands, blobs)?;
    scene.begin_scope(pending.call);
    for command in &pending.proposal.commands {
        try_command(scene, command, blobs)?;
    }
    Ok(())
}

/// Reads the blobs of removed instances that commands restore, and of assets that they insert.
pub fn fetch_blobs(
    ledger: &Ledger,
    commands: &[Command],
    blobs: &mut BlobStore,
) -> anyhow::Result<()> {
    for command in commands {
        if let Command::Restore { blob: Some(blob), .. } | Command::Insert { blob: Some(blob), .. } =
            command
            && let Some(bytes) = ledger.read_blob(blob)?
        {
            blobs.insert(blob.clone(), bytes);
        }
    }
    Ok(())
}
