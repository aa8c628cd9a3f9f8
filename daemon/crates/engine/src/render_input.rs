//! Input for pictures: a place as it is, or the place before and after a proposal. Drawing itself
//! happens outside the planner.

use std::sync::Arc;

use scene_schemas::entry::Seq;
use scene_schemas::refusal::refuse;
use scene_schemas::{InstancePath, Refusal};
use vector_core::workflow::{LedgerState, PendingProposal, PendingStatus};
use vector_place::{EditedNodes, Node};
use vector_render::{
    ChangeSide, Picture, SolidSet, ViewDirection, ViewFrame, check_part_limit, draw_solids,
    visible_root,
};

use crate::planner::Planner;
use crate::proposal_solids::{
    ProposalSolids, SolidGathering, picture_roots, proposal_solids, reverted_solids,
};
use crate::workflow_state;
use crate::{Engine, EngineError, required_blobs};

/// The number of instances that are gathered in one go. Those of an XML file take about 4 µs each.
const SLICE: usize = 1_000;
/// How often a gathering begins again because the place has changed, before it is done in one go.
const MAX_RESTARTS: usize = 4;

/// The subject of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PictureSubject {
    /// The effect of a proposal.
    Proposal(Seq, ChangeSide),
    /// An instance and its descendants, with all pending proposals applied.
    Place(InstancePath),
}

/// The data a picture is drawn from. Drawing needs no scene.
#[derive(Debug, Clone)]
pub enum DrawInput {
    /// One side of a proposal.
    Side(Arc<ProposalSolids>, ChangeSide),
    Place(SolidSet),
}

impl DrawInput {
    /// Draws the picture from a view.
    ///
    /// # Errors
    /// There is nothing to see.
    pub fn draw(&self, view: ViewDirection, size: (u32, u32)) -> Result<Picture, Refusal> {
        match self {
            Self::Side(solids, when) => solids.compare()?.draw_side(*when, view, size),
            Self::Place(solids) => match ViewFrame::enclose_solids(&[solids], view) {
                Some(frame) => Ok(draw_solids(solids, size, frame)),
                None => {
                    refuse!("There are no parts to render. Specify another path.")
                }
            },
        }
    }
}

/// How far the input of a picture was gathered.
#[derive(Debug, Default)]
pub struct DrawingProgress {
    gathering: Option<SolidGathering>,
    restarts: usize,
}

/// The next step towards a picture.
#[derive(Debug)]
pub enum DrawingStep {
    Ready(DrawInput),
    /// There is more to gather.
    Unfinished,
    /// Studio has to answer something first; the question is queued.
    WaitsForStudio,
}

impl Engine {
    /// Gathers the next slice of the input for a picture.
    ///
    /// # Errors
    /// The subject does not exist, or there is nothing to see.
    pub fn gather_drawing(
        &mut self,
        of: &PictureSubject,
        progress: &mut DrawingProgress,
    ) -> Result<DrawingStep, EngineError> {
        let scene = &self.planner.scene;
        if !scene.is_tree_complete() {
            let why = "Studio is still sending the place. Try again in a moment.";
            return Err(Refusal::new(why).into());
        }
        let pending = match of {
            PictureSubject::Proposal(seq, _) => {
                self.find_proposal(*seq).filter(|(_, it)| it.status.is_pending())
            }
            PictureSubject::Place(_) => None,
        };
        let view = pending.map(|(workflow, _)| workflow);
        if self.is_waiting_for_studio(view)? {
            return Ok(DrawingStep::WaitsForStudio);
        }
        if view.is_none() {
            // Unsynced file changes stay: they are in the place.
            self.planner.drop_overlay_from(0, &self.executor);
        }
        let scene = &self.planner.scene;
        let kept = progress.gathering.take();
        let is_begun = kept.is_some();
        let kept = kept.filter(|it| it.fits(scene) && !scene.is_open_in_studio());
        progress.restarts += usize::from(is_begun && kept.is_none());
        let in_one_go = scene.is_open_in_studio() || progress.restarts > MAX_RESTARTS;
        let is_new = kept.is_none();
        let mut gathering = match kept {
            Some(gathering) => gathering,
            None => SolidGathering::new(scene, self.drawing_roots(of)?),
        };
        let scene = &self.planner.scene;
        if in_one_go {
            gathering.finish(scene);
        } else if is_new || !gathering.advance(scene, SLICE) {
            progress.gathering = Some(gathering);
            return Ok(DrawingStep::Unfinished);
        }
        let drawing = match of {
            PictureSubject::Proposal(seq, when) => self
                .gather_proposal(*seq, gathering)
                .map(|solids| DrawInput::Side(Arc::new(solids), *when)),
            PictureSubject::Place(_) => Ok(DrawInput::Place(gathering.into_solids())),
        };
        let missing = self.planner.scene.take_missing();
        if let Some(live) = self.target.driver_mut().live_mut()
            && !missing.is_empty()
        {
            live.studio_mut().request_missing(missing);
            return Ok(DrawingStep::WaitsForStudio);
        }
        drawing.map(DrawingStep::Ready)
    }

    /// Returns the instances whose subtrees a picture shows.
    fn drawing_roots(&self, of: &PictureSubject) -> Result<Vec<Node>, EngineError> {
        let scene = &self.planner.scene;
        match of {
            PictureSubject::Place(path) => {
                let root = scene.resolve(path)?;
                check_part_limit(scene, root)?;
                Ok(vec![visible_root(scene, root)])
            }
            PictureSubject::Proposal(seq, _) => {
                check_part_limit(scene, scene.root())?;
                let task = self.read_task(*seq)?;
                let pending = find_proposal(&task, *seq)?;
                Ok(match &pending.status {
                    PendingStatus::Applied(ack) => picture_roots(scene, &ack.inverse),
                    _ => picture_roots(scene, &pending.proposal.commands),
                })
            }
        }
    }

    /// Reads the task of a proposal.
    fn read_task(&self, seq: Seq) -> Result<LedgerState, EngineError> {
        let Some(record) = self.executor.ledger().record_at(seq)? else {
            return Err(Refusal(format!("There is no proposal {seq}.")).into());
        };
        Ok(workflow_state::read_workflow(self.executor.ledger(), record.workflow)?)
    }

    /// Gathers both sides of a proposal. The overlay is restored afterwards.
    fn gather_proposal(
        &mut self,
        seq: Seq,
        gathering: SolidGathering,
    ) -> Result<ProposalSolids, EngineError> {
        let task = self.read_task(seq)?;
        let pending = find_proposal(&task, seq)?;
        self.load_blobs(match &pending.status {
            PendingStatus::Applied(ack) => required_blobs(&ack.inverse),
            _ => required_blobs(&pending.proposal.commands),
        })?;
        // A pending proposal is shown on top of those of its task, any other on the place itself.
        let at =
            self.planner.overlay.iter().position(|(on_trial, _)| *on_trial == seq).unwrap_or(0);
        let dropped = self.planner.overlay.split_off(at);
        let mut edits = EditedNodes::default();
        if let Some((_, mark)) = dropped.first() {
            edits = self.planner.scene.edited_since(*mark);
            self.planner.scene.rollback(*mark);
        }
        let Planner { scene, blobs, .. } = &mut self.planner;
        let solids = if let PendingStatus::Applied(ack) = &pending.status {
            reverted_solids(scene, blobs, seq, ack, gathering, edits)
        } else {
            let (call, proposal) = (pending.call, &pending.proposal);
            proposal_solids(scene, blobs, call, proposal, gathering, edits)
        };
        let dropped: Vec<Seq> = dropped.into_iter().map(|(seq, _)| seq).collect();
        self.planner.overlay_proposals(&dropped, &self.executor)?;
        Ok(solids?)
    }
}

fn find_proposal(task: &LedgerState, seq: Seq) -> Result<&PendingProposal, Refusal> {
    let found = task.find_proposal(seq).map(|(_, pending)| pending);
    found.ok_or_else(|| Refusal(format!("Entry {seq} is not a proposal.")))
}
