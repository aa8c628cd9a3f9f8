//! The planner: the scene, the pending proposals that are laid over it, and what calls in progress
//! have asked.
//!
//! A task sees the place with its own pending proposals: they are applied to the scene but not to the
//! target, and its next call is planned on top of them. Those of other tasks are not in the scene
//! then. The planner must not know the target, and appends nothing to the ledger.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use scene_schemas::entry::{Entry, Record, Seq};
use scene_schemas::proposal::{ImplicitTarget, Proposal};
use scene_schemas::{Command, Fingerprint, FingerprintHasher, Refusal};
use vector_core::planning_scene::{PlanningMark, PlanningScene};
use vector_core::proposal::{BlobStore, Footprint, SeenTexts, try_command};
use vector_core::workflow::PendingStatus;
use vector_place::{Scene, SceneState};

use crate::executor::Executor;

/// How many footprints of settled proposals are kept at most.
const MAX_SETTLED: usize = 256;

/// How often one call may ask questions before it is refused.
const MAX_ROUNDS: usize = 64;

/// The state of the questions to Studio.
#[derive(Debug, Default)]
pub(crate) struct AskedQuestions {
    /// The call that has asked something and is not settled.
    pub(crate) call: Option<Seq>,
    pub(crate) rounds: usize,
    /// The number of a question that a tool asks itself, and its call. The answer becomes the
    /// call's result.
    pub(crate) own_question: Option<(u64, Seq)>,
}

/// What calls are planned on: the scene, and the pending proposals over it. It is the same again when
/// the proposals were removed and overlaid again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanState {
    scene: SceneState,
    overlay: Vec<Seq>,
}

impl PlanState {
    /// Returns the state of a scene without pending proposals.
    pub fn without_proposals(scene: &Scene) -> Self {
        Self { scene: scene.state(), overlay: Vec::new() }
    }
}

pub(crate) struct Planner {
    pub(crate) scene: PlanningScene,
    /// The task whose pending proposals are in the overlay, or queued for it.
    pub(crate) view: Option<Seq>,
    /// The pending proposals that are applied to the scene only, each with the journal mark from
    /// before it.
    pub(crate) overlay: Vec<(Seq, PlanningMark)>,
    /// Proposals that have to be overlaid again, once the facts that they need are known.
    pub(crate) pending_overlay: Vec<Seq>,
    /// The tasks whose pending proposals may no longer fit the scene, because it has changed.
    pub(crate) changed_views: BTreeSet<Seq>,
    /// What pending proposals read and write, as far as it was asked for.
    footprints: HashMap<Seq, Footprint>,
    pub(crate) blobs: BlobStore,
    /// The texts that calls saw when they were first planned, for calls that are replanned.
    pub(crate) planned_texts: HashMap<Seq, SeenTexts>,
    pub(crate) questions: AskedQuestions,
    /// The last entry from before the current scene was read. Ids in entries up to it may be stale.
    pub(crate) ids_valid_after: Seq,
}

impl Planner {
    pub(crate) fn new(scene: PlanningScene) -> Self {
        Self {
            scene,
            view: None,
            overlay: Vec::new(),
            pending_overlay: Vec::new(),
            changed_views: BTreeSet::new(),
            footprints: HashMap::new(),
            blobs: BlobStore::new(),
            planned_texts: HashMap::new(),
            questions: AskedQuestions::default(),
            ids_valid_after: Seq(0),
        }
    }

    /// Continues with a scene that was read again. The overlay must be dropped first.
    pub(crate) fn replace_scene(&mut self, scene: PlanningScene, last_seq: Seq) {
        self.scene.replace_with(scene);
        self.invalidate_ids(last_seq);
    }

    /// Marks the ids in proposals up to entry `after` as possibly stale.
    pub(crate) fn invalidate_ids(&mut self, after: Seq) {
        self.ids_valid_after = self.ids_valid_after.max(after);
    }

    /// Returns the base of the next plan: the hash of the target and of the pending proposals on
    /// top of it.
    pub(crate) fn plan_base(&self, target: Fingerprint, executor: &Executor) -> Fingerprint {
        if self.overlay.is_empty() {
            return target;
        }
        let mut text = target.to_string();
        for (seq, _) in &self.overlay {
            let pending = executor.find_proposal(*seq);
            text.push('\n');
            text.push_str(pending.map_or("", |(_, pending)| &pending.proposal.patch_id.0));
        }
        Fingerprint::hash_bytes(text.as_bytes())
    }

    pub(crate) fn state(&self) -> PlanState {
        let Some((_, mark)) = self.overlay.first() else {
            return PlanState::without_proposals(&self.scene);
        };
        let overlay = self.overlay.iter().map(|(seq, _)| *seq).collect();
        PlanState { scene: self.scene.state_at(*mark), overlay }
    }

    /// Returns the proposals in the overlay, each with its call.
    pub(crate) fn overlaid_proposals<'a>(
        &self,
        executor: &'a Executor,
    ) -> Vec<(Seq, &'a Proposal)> {
        let pending = self.overlay.iter().filter_map(|(seq, _)| executor.find_proposal(*seq));
        pending.map(|(_, it)| (it.call, &it.proposal)).collect()
    }

    /// Returns the pending proposals among these that touch a footprint.
    pub(crate) fn find_touched(
        &mut self,
        footprint: &Footprint,
        among: &[Seq],
        executor: &Executor,
    ) -> Vec<Seq> {
        let is_pending =
            |seq: &Seq| executor.find_proposal(*seq).is_some_and(|(_, it)| it.status.is_pending());
        if self.footprints.len() > MAX_SETTLED + executor.pending_count() {
            self.footprints.retain(|seq, _| is_pending(seq));
        }
        let mut touches = |seq: &Seq| {
            let known = self.footprints.entry(*seq).or_insert_with(|| {
                let pending = executor.find_proposal(*seq);
                pending.map_or_else(Footprint::default, |(_, it)| Footprint::new(&it.proposal))
            });
            footprint.touches(known)
        };
        among.iter().copied().filter(|seq| touches(seq)).collect()
    }

    /// Returns the proposals that a new one of the same task depends on: those among these that it
    /// touches, and those that these depend on.
    pub(crate) fn find_dependencies(
        &mut self,
        proposal: &Proposal,
        among: &[Seq],
        executor: &Executor,
    ) -> Vec<Seq> {
        let touched = self.find_touched(&Footprint::new(proposal), among, executor);
        let below = touched.iter().filter_map(|seq| executor.find_proposal(*seq));
        let below: Vec<Seq> = below.flat_map(|(_, it)| it.proposal.after.clone()).collect();
        let all: BTreeSet<Seq> = touched.into_iter().chain(below).collect();
        let is_pending =
            |seq: &Seq| executor.find_proposal(*seq).is_some_and(|(_, it)| it.status.is_pending());
        all.into_iter().filter(is_pending).collect()
    }

    /// Begins the questions of a call. Facts that are fetched for a call are valid until it is
    /// settled.
    pub(crate) fn begin_questions(&mut self, call: Seq, implicit_target: Option<ImplicitTarget>) {
        if self.questions.call != Some(call) {
            self.questions.call = Some(call);
            self.questions.rounds = 0;
            self.scene.scene_mut().forget_facts();
        }
        self.scene.set_implicit_target(implicit_target);
    }

    /// Counts a question of the call being planned. Returns false if it has asked too often.
    pub(crate) fn count_question(&mut self) -> bool {
        self.questions.rounds += 1;
        self.questions.rounds <= MAX_ROUNDS
    }

    /// Whether any call has asked Studio something and is not settled.
    pub(crate) fn is_asking(&self) -> bool {
        self.questions.call.is_some()
    }

    /// Marks the call as settled. If it is planned again, all its questions are asked again.
    pub(crate) fn end_questions(&mut self) {
        self.questions.call = None;
    }

    /// Rolls back proposals that are no longer pending, and everything on top of them.
    pub(crate) fn drop_settled(&mut self, executor: &Executor) {
        let is_pending = |seq: Seq| {
            executor.find_proposal(seq).is_some_and(|(_, pending)| pending.status.is_pending())
        };
        if let Some(at) = self.overlay.iter().position(|(seq, _)| !is_pending(*seq)) {
            self.drop_overlay_from(at, executor);
        }
    }

    /// Keeps the texts that a proposal was planned on, in case it is replanned.
    pub(crate) fn save_planned_texts(&mut self, proposal: Seq, executor: &Executor) {
        let Some((_, pending)) = executor.state().find_proposal(proposal) else {
            return;
        };
        for command in &pending.proposal.commands {
            let Command::EditScript { target, .. } = command else {
                continue;
            };
            if let Ok(node) = self.scene.locate(target)
                && let Some(text) = self.scene.script_text(node)
            {
                let texts = self.planned_texts.entry(pending.call).or_default();
                texts.entry(target.path.clone()).or_insert_with(|| text.into_owned());
            }
        }
    }

    /// Returns the tables and assets that proposals among these entries name and that are not in the
    /// ledger yet.
    pub(crate) fn new_blobs(&self, entries: &[Entry]) -> Vec<Vec<u8>> {
        let proposals = entries.iter().filter_map(|entry| match entry {
            Entry::Proposed { proposal, .. } => Some(proposal),
            _ => None,
        });
        let mut hashes: Vec<&Fingerprint> =
            proposals.flat_map(|it| &it.commands).filter_map(Command::planned_blob).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.retain(|hash| !self.blobs.contains_key(*hash));
        hashes.into_iter().filter_map(|hash| self.scene.take_blob(hash)).collect()
    }

    /// Drops the tables and assets that no pending proposal names: each may be as large as the place.
    pub(crate) fn drop_settled_blobs(&mut self, executor: &Executor) {
        if !self.scene.has_blobs() {
            return;
        }
        let pending = executor.all_proposals().into_iter().map(|(_, it)| it);
        let pending = pending.filter(|it| it.status.is_pending());
        let needed: HashSet<&Fingerprint> = pending
            .flat_map(|it| &it.proposal.commands)
            .filter_map(Command::planned_blob)
            .collect();
        for blob in self.scene.drop_blobs(|blob| needed.contains(blob)) {
            self.blobs.remove(&blob);
        }
    }

    /// Keeps a newly proposed change in the overlay. If nothing was proposed, rolls back to `mark`.
    pub(crate) fn keep_overlay(&mut self, records: &[Record], mark: PlanningMark) {
        let proposed = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
        match proposed {
            Some(record) => self.overlay.push((record.seq, mark)),
            None => self.scene.rollback(mark),
        }
    }

    /// Applies pending proposals to the overlay again.
    pub(crate) fn overlay_proposals(
        &mut self,
        proposals: &[Seq],
        executor: &Executor,
    ) -> Result<(), Refusal> {
        for seq in proposals {
            let Some((_, pending)) = executor.state().find_proposal(*seq) else {
                continue;
            };
            let mark = self.scene.journal_mark();
            self.scene.begin_scope(pending.call);
            for command in &pending.proposal.commands {
                try_command(&mut self.scene, command, &self.blobs)?;
            }
            self.overlay.push((*seq, mark));
        }
        Ok(())
    }

    /// Whether approved proposals still apply to the current scene: the change was in another file
    /// of the project, or did not affect what they touch.
    pub(crate) fn can_reapply(&mut self, proposals: &[Seq], executor: &Executor) -> bool {
        let mark = self.scene.journal_mark();
        let fit = self.overlay_proposals(proposals, executor).is_ok();
        self.overlay.clear();
        self.scene.rollback(mark);
        fit
    }

    /// Rolls back the overlay from position `at`, last proposal first, and keeps the texts that
    /// each was planned on. All of them are queued to be overlaid again if they are still pending.
    pub(crate) fn drop_overlay_from(&mut self, at: usize, executor: &Executor) {
        let dropped = self.overlay.split_off(at);
        for (seq, mark) in dropped.iter().rev() {
            self.scene.rollback(*mark);
            self.save_planned_texts(*seq, executor);
        }
        self.queue_overlay(dropped.into_iter().map(|(seq, _)| seq));
    }

    /// Queues proposals that were in the overlay, ahead of those that are queued already.
    fn queue_overlay(&mut self, proposals: impl Iterator<Item = Seq>) {
        self.pending_overlay.splice(0..0, proposals);
    }

    /// Returns the reason a proposal cannot be changed now.
    pub(crate) fn overlay_refusal(proposal: Seq, executor: &Executor) -> Refusal {
        let waits = |status: &PendingStatus| *status == PendingStatus::Waiting;
        let is_waiting = executor.find_proposal(proposal).is_some_and(|(_, it)| waits(&it.status));
        Refusal(if is_waiting {
            "The place is being read or changed; try again in a moment.".to_owned()
        } else {
            format!("Proposal {proposal} is no longer pending.")
        })
    }

    /// Fingerprints the script texts that proposals would delete. A deletion itself only expects a
    /// class, a name and a count.
    pub(crate) fn fingerprint_deleted_texts(
        &self,
        proposals: &[Seq],
        executor: &Executor,
    ) -> BTreeMap<Seq, Fingerprint> {
        let mut taken = BTreeMap::new();
        for seq in proposals {
            let Some((_, pending)) = executor.find_proposal(*seq) else {
                continue;
            };
            let mut hashing = FingerprintHasher::default();
            for command in &pending.proposal.commands {
                let Command::Delete { target, .. } = command else {
                    continue;
                };
                let Ok(root) = self.scene.resolve(&target.path) else {
                    continue;
                };
                for node in self.scene.subtree(root).filter(|node| self.scene.is_script(*node)) {
                    hashing.update(self.scene.path(node).to_string().as_bytes());
                    hashing.update(&[0]);
                    hashing.update(self.scene.script_text(node).unwrap_or_default().as_bytes());
                    hashing.update(&[0]);
                }
            }
            taken.insert(*seq, hashing.finish());
        }
        taken
    }

    /// Forgets what belongs to workflows, because none is active any more.
    pub(crate) fn forget_workflows(&mut self) {
        self.blobs.clear();
        self.scene.forget_all_assets();
        self.scene.drop_blobs(|_| false);
        self.planned_texts.clear();
    }
}
