//! The solids of a place before and after a proposal.
//!
//! An unapplied proposal is applied to the scene, and an applied one is reverted; the scene is then
//! rolled back. A picture shows the difference between the two states, not what the commands claim.
//!
//! A large place is gathered in slices, in whatever state the scene is between them. Of each side
//! only those instances are looked at again that were edited on the way to it.

use std::sync::OnceLock;

use rustc_hash::FxHashSet;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::{Command, Refusal};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, ProposalDraft, try_command};
use vector_place::{EditedNodes, Node, Scene, SceneState, reflection};
use vector_render::{BeforeAfter, FirstReads, SolidSet, gather_nodes, visible_root};

use crate::revert::draft_inverse;

/// The solids of a scene, gathered in slices while the scene stays in one state.
#[derive(Debug)]
pub struct SolidGathering {
    state: SceneState,
    /// The instances whose subtrees are gathered.
    roots: Vec<Node>,
    /// All instances to look at, in the order of the place.
    nodes: Vec<Node>,
    first_reads: FirstReads,
    /// The instances that were looked at.
    known: FxHashSet<Node>,
    solids: SolidSet,
}

impl SolidGathering {
    /// Begins to gather what is below `roots`.
    pub fn new(scene: &Scene, roots: Vec<Node>) -> Self {
        let nodes: Vec<Node> = roots.iter().flat_map(|root| scene.subtree(*root)).collect();
        let (known, solids) = (FxHashSet::default(), SolidSet::default());
        let first_reads = FirstReads::default();
        Self { state: scene.state(), roots, nodes, first_reads, known, solids }
    }

    /// Gathers all that is below `roots`.
    pub fn complete(scene: &Scene, roots: Vec<Node>) -> Self {
        let mut gathering = Self::new(scene, roots);
        gathering.finish(scene);
        gathering
    }

    /// Whether the scene is still in the state that is gathered.
    pub fn fits(&self, scene: &Scene) -> bool {
        self.state == scene.state()
    }

    /// Looks at all other instances.
    pub fn finish(&mut self, scene: &Scene) {
        while !self.advance(scene, usize::MAX) {}
    }

    /// Looks at up to `count` more instances, or decodes a property of some. Returns whether it has
    /// looked at all of them.
    pub fn advance(&mut self, scene: &Scene, count: usize) -> bool {
        let rest = self.nodes.get(self.known.len()..).unwrap_or_default();
        let next = rest.get(..count).unwrap_or(rest);
        if self.first_reads.read_next(scene) || self.first_reads.add(scene, next) {
            return false;
        }
        gather_nodes(scene, next.iter().copied(), &mut self.solids);
        self.known.extend(next);
        self.known.len() == self.nodes.len()
    }

    pub fn into_solids(self) -> SolidSet {
        self.solids
    }
}

/// The solids before and after a proposal. They are compared by the thread that draws them.
#[derive(Debug)]
pub struct ProposalSolids {
    gathered: SolidSet,
    before: EditedSolids,
    after: EditedSolids,
    compared: OnceLock<Result<BeforeAfter, Refusal>>,
}

impl ProposalSolids {
    /// Returns both sides of the first root in which something differs.
    ///
    /// # Errors
    /// Nothing visible differs.
    pub fn compare(&self) -> Result<&BeforeAfter, Refusal> {
        let side = |side: &EditedSolids, order: &[Node]| {
            self.gathered.merge(&side.solids, order, |node| side.edited.contains(&node))
        };
        let compare = || {
            let mut roots = self.before.orders.iter().zip(&self.after.orders);
            let found = roots.find_map(|(before, after)| {
                BeforeAfter::from_solids(side(&self.before, before), side(&self.after, after))
            });
            found.ok_or_else(|| {
                Refusal::new(
                    "This proposal has no visible effect: no part is added, removed or changed in appearance.",
                )
            })
        };
        self.compared.get_or_init(compare).as_ref().map_err(Clone::clone)
    }
}

/// What the solids of a state have of their own, beside those that were gathered.
#[derive(Debug)]
struct EditedSolids {
    /// For each root its subtree, in the order of the place.
    orders: Vec<Vec<Node>>,
    /// The instances that were edited, or that are not among the gathered ones.
    edited: FxHashSet<Node>,
    solids: SolidSet,
}

impl EditedSolids {
    fn gather(scene: &Scene, gathering: &SolidGathering, edits: &EditedNodes) -> Self {
        let roots = gathering.roots.iter();
        let orders: Vec<Vec<Node>> = roots.map(|root| scene.subtree(*root).collect()).collect();
        let is_edited = |node: &&Node| edits.contains(**node) || !gathering.known.contains(*node);
        let edited: FxHashSet<Node> = orders.iter().flatten().filter(is_edited).copied().collect();
        let mut solids = SolidSet::default();
        gather_nodes(scene, edited.iter().copied(), &mut solids);
        Self { orders, edited, solids }
    }
}

/// Returns the solids before and after an unapplied proposal. Of the `edits` since the gathering,
/// those that the scene does not have were rolled back.
///
/// # Errors
/// The proposal does not fit any more.
pub fn proposal_solids(
    scene: &mut PlanningScene,
    blobs: &BlobStore,
    call: Seq,
    proposal: &Proposal,
    gathering: SolidGathering,
    edits: EditedNodes,
) -> Result<ProposalSolids, Refusal> {
    let (gathered, [before, after]) = gather_both(scene, gathering, edits, |scene| {
        scene.begin_scope(call);
        proposal.commands.iter().try_for_each(|it| try_command(scene, it, blobs).map(drop))
    })?;
    Ok(ProposalSolids { gathered, before, after, compared: OnceLock::new() })
}

/// Returns the solids before and after an applied proposal, by reverting it.
///
/// # Errors
/// Its result has changed since.
pub fn reverted_solids(
    scene: &mut PlanningScene,
    blobs: &BlobStore,
    call: Seq,
    ack: &Ack,
    gathering: SolidGathering,
    edits: EditedNodes,
) -> Result<ProposalSolids, Refusal> {
    let (gathered, [after, before]) = gather_both(scene, gathering, edits, |scene| {
        scene.begin_scope(call);
        let mut draft = ProposalDraft::new(scene, blobs);
        draft.mark_as_inverse();
        let witnesses = ack.witnesses.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let mut back = ack.inverse.iter().cloned().zip(witnesses);
        back.try_for_each(|(command, left)| draft_inverse(&mut draft, command, left, false))
    })?;
    Ok(ProposalSolids { gathered, before, after, compared: OnceLock::new() })
}

/// Gathers the solids as they are and after `work`, and rolls the scene back.
fn gather_both(
    scene: &mut PlanningScene,
    gathering: SolidGathering,
    mut edits: EditedNodes,
    work: impl FnOnce(&mut PlanningScene) -> Result<(), Refusal>,
) -> Result<(SolidSet, [EditedSolids; 2]), Refusal> {
    let now = EditedSolids::gather(scene, &gathering, &edits);
    let mark = scene.journal_mark();
    let done = work(scene);
    edits.merge(scene.edited_since(mark));
    let then = EditedSolids::gather(scene, &gathering, &edits);
    scene.rollback(mark);
    done.map(|()| (gathering.solids, [now, then]))
}

/// Returns the roots that a picture of a change shows: the Workspace, and the services that the
/// commands name. A model file has a single root.
pub fn picture_roots(scene: &Scene, commands: &[Command]) -> Vec<Node> {
    let workspace = visible_root(scene, scene.root());
    let mut roots = vec![workspace];
    if workspace == scene.root() {
        return roots;
    }
    for command in commands {
        let first = command.target().path.segments.first();
        let service = first.and_then(|it| scene.find_child(scene.root(), &it.name));
        let is_service = |it: &Node| reflection::is_service(scene.class(*it));
        if let Some(service) = service.filter(|it| is_service(it) && !roots.contains(it)) {
            roots.push(service);
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use rbx_types::{CFrame, Matrix3, Vector3};
    use scene_schemas::Value as PropertyValue;
    use vector_place::FileFormat;
    use vector_render::gather_solids;

    use super::*;

    const CLASSES: [&str; 5] = ["Part", "MeshPart", "SpecialMesh", "Folder", "WedgePart"];

    /// An edit and the numbers that it is made from, with small periods.
    type Draw = (u8, u8, u8, u8);

    fn edits() -> impl Strategy<Value = Vec<Draw>> {
        vec((0..7_u8, 0..9_u8, 0..9_u8, 0..3_u8), 0..24)
    }

    fn edit_all(scene: &mut PlanningScene, draws: Vec<Draw>) {
        for draw in draws {
            edit(scene.scene_mut(), draw);
        }
    }

    fn edit(scene: &mut Scene, (kind, node, parent, value): Draw) {
        let nodes: Vec<Node> = scene.descendants(scene.root()).skip(2).collect();
        let pick = |n: u8| nodes.get(usize::from(n) % nodes.len().max(1)).copied();
        let parent = match parent {
            0..=2 => scene.find_child(scene.root(), "Workspace"),
            3 => scene.find_child(scene.root(), "ReplicatedStorage"),
            _ => pick(parent),
        };
        let (Some(node), Some(parent)) = (pick(node), parent) else {
            let parent = parent.unwrap_or(scene.root());
            scene.create(parent, "Part", "Part");
            return;
        };
        match kind {
            0 | 1 => drop(scene.create(parent, CLASSES[usize::from(value + kind)], "It")),
            2 => scene.delete(node),
            3 => drop(scene.move_to(node, parent, (value == 0).then_some(0))),
            4 => drop(scene.copy(node, parent, "Copy")),
            5 => {
                let at = Vector3::new(f32::from(value) * 1e12, 0.0, 0.0);
                let value = PropertyValue::CFrame(CFrame::new(at, Matrix3::identity()));
                let _ = scene.set_property(node, "CFrame", Some(&value));
            }
            _ => {
                let value = PropertyValue::Float32(f32::from(value) / 2.0);
                let _ = scene.set_property(node, "Transparency", Some(&value));
            }
        }
    }

    fn place() -> PlanningScene {
        let mut scene = Scene::empty(FileFormat::Binary);
        for service in ["Workspace", "ReplicatedStorage"] {
            scene.create(scene.root(), service, service);
        }
        PlanningScene::from(scene)
    }

    #[test]
    fn gathering_does_not_fit_a_scene_that_was_read_again() {
        let mut scene = place();
        let gathering = SolidGathering::new(&scene, picture_roots(&scene, &[]));
        assert!(gathering.fits(&scene));
        scene.replace_with(place());
        assert!(!gathering.fits(&scene));
    }

    proptest! {
        #[test]
        fn both_sides_equal_those_gathered_from_the_start(
            kept in edits(),
            rolled_back in edits(),
            made in edits(),
            slice in 1..9_usize,
        ) {
            let mut scene = place();
            edit_all(&mut scene, kept);
            let mark = scene.journal_mark();
            edit_all(&mut scene, rolled_back);
            let mut gathering = SolidGathering::new(&scene, picture_roots(&scene, &[]));
            while !gathering.advance(&scene, slice) {}
            prop_assert!(gathering.fits(&scene));
            let edits = scene.edited_since(mark);
            scene.rollback(mark);
            let gather = |scene: &PlanningScene| gather_solids(scene, scene.root());
            let mut expected = vec![gather(&scene)];
            let (gathered, sides) = gather_both(&mut scene, gathering, edits, |scene| {
                edit_all(scene, made);
                expected.push(gather(scene));
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(&gather(&scene), &expected[0], "rolled back");
            for (side, expected) in sides.iter().zip(&expected) {
                let order = &side.orders[0];
                let merged = gathered.merge(&side.solids, order, |node| side.edited.contains(&node));
                prop_assert_eq!(&merged, expected);
            }
        }
    }
}
