//! Merges of random overlays over small random places, compared with a naive model on which the edits
//! of the taken proposals are performed one after the other.
//!
//! A test run does some hundred merges of each kind. `VECTOR_SEEDS=N` sets their number.

mod base;
mod injected;
mod model;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use random_draws::{RandomDraws, check_seeds};
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use vector_core::overlay_merge::{
    MergedOverlays, MergedStep, Overlay, ProposalOrigin, draft_merged, merge_overlays,
};
use vector_core::proposal::{BlobStore, ProposalDraft, try_command};

use self::base::{Base, ZONES};
use self::injected::inject;
use self::model::{Edit, Key, LINES, Model, ModelValue};
use self::worker::{PlannedProposal, Worker, plan_overlay};

const WORKERS: usize = ZONES - 1;

fn seeds() -> std::ops::Range<u64> {
    0..env::var("VECTOR_SEEDS").map_or(100, |text| text.parse().unwrap())
}

/// A base with the planned proposals of each worker.
struct MergeCase {
    base: Base,
    planned: Vec<Vec<PlannedProposal>>,
}

/// What came of a merge.
struct MergeReport {
    taken: Vec<ProposalOrigin>,
    /// The kind of each conflict, with its earlier and its later proposal.
    conflicts: Vec<(String, Option<Seq>, Seq)>,
    dependents: Vec<ProposalOrigin>,
    /// The reader and the writer of each stale read.
    stale: Vec<(Seq, Seq)>,
    equal: usize,
}

impl MergeCase {
    fn new(base: Base, workers: Vec<Worker>) -> Self {
        let mut opened = base.open();
        let planned = workers.into_iter().map(|worker| plan_overlay(&mut opened, &base, worker));
        let planned = planned.collect();
        Self { base, planned }
    }

    fn overlays(&self) -> Vec<Overlay<'_>> {
        let all = self.planned.iter().map(|planned| Overlay {
            name: "worker",
            proposals: planned.iter().map(PlannedProposal::in_overlay).collect(),
        });
        all.collect()
    }

    /// Merges the overlays, and checks what is true of every merge: the result is that of the taken
    /// proposals one after the other, their commands can be performed again, and the same input gives
    /// the same bytes.
    fn check(&self) -> MergeReport {
        let overlays = self.overlays();
        let blobs = BlobStore::new();
        let mut opened = self.base.open();
        let mark = opened.scene.journal_mark();
        let merged = merge_overlays(&mut opened.scene, &overlays, &blobs);
        let found = opened.dump();
        assert_eq!(found, self.model_of(&merged).dump(&self.base.tops), "{merged:#?}");
        let mut again = self.base.open();
        let same = merge_overlays(&mut again.scene, &overlays, &blobs);
        assert_eq!(serde_json::to_string(&merged).unwrap(), serde_json::to_string(&same).unwrap());
        if self.base.is_file() {
            let bytes = [&mut opened, &mut again].map(|it| it.scene.scene_mut().encode().unwrap());
            assert!(bytes[0] == bytes[1], "the files differ: {merged:#?}");
        }
        opened.scene.rollback(mark);
        assert_eq!(opened.dump(), self.base.model.dump(&self.base.tops));
        for taken in &merged.taken {
            opened.scene.begin_scope(taken.call);
            for command in taken.commands.iter() {
                try_command(&mut opened.scene, command, &blobs).unwrap();
            }
        }
        assert_eq!(opened.dump(), found, "{merged:#?}");
        opened.scene.rollback(mark);
        // The proposals of an overlay can be drafted as one.
        for overlay in 0..overlays.len() {
            let taken = merged.taken.iter().filter(|it| it.origin.overlay == overlay);
            let steps: Vec<MergedStep> = taken
                .map(|it| MergedStep { call: it.call, commands: it.commands.to_vec() })
                .collect();
            opened.scene.begin_scope(Seq(1_000_000 + overlay as u64));
            let mut draft = ProposalDraft::new(&mut opened.scene, &blobs);
            draft_merged(&mut draft, &steps).unwrap();
        }
        assert_eq!(opened.dump(), found, "{merged:#?}");
        self.check_all_named(&merged);
        MergeReport::new(&merged)
    }

    fn planned(&self, origin: ProposalOrigin) -> &PlannedProposal {
        let mut all = self.planned[origin.overlay].iter();
        all.find(|it| it.seq == origin.proposal).unwrap()
    }

    /// The base after the edits of the taken proposals.
    fn model_of(&self, merged: &MergedOverlays<'_>) -> Model {
        let mut model = self.base.model.clone();
        for taken in &merged.taken {
            for edit in &self.planned(taken.origin).edits {
                model.perform(edit);
            }
        }
        model
    }

    /// Checks that each proposal is taken, or left out with a reason.
    fn check_all_named(&self, merged: &MergedOverlays<'_>) {
        let taken = merged.taken.iter().map(|it| it.origin.proposal);
        let conflicts: BTreeSet<Seq> =
            merged.conflicts.iter().map(|it| it.later.proposal).collect();
        let dependents = merged.dependents.iter().map(|it| it.origin.proposal);
        let mut found: Vec<Seq> = taken.chain(conflicts).chain(dependents).collect();
        found.sort_unstable();
        let all: Vec<Seq> = self.planned.iter().flatten().map(|it| it.seq).collect();
        assert_eq!(found, all, "{merged:#?}");
    }

    /// Checks that nothing is taken that wants what an earlier overlay has done differently. Knows only
    /// the edits.
    fn check_taken(&self, report: &MergeReport) {
        let mut known = KnownWishes::default();
        let mut model = self.base.model.clone();
        for overlay in 0..self.planned.len() {
            let mut own = KnownWishes::default();
            for origin in report.taken.iter().filter(|it| it.overlay == overlay) {
                for edit in &self.planned(*origin).edits {
                    known.check(edit);
                    own.add(edit, overlay, &known, &mut model);
                }
            }
            known.join(own);
        }
        known.check_names(&model);
    }
}

/// What taken proposals want.
#[derive(Default)]
struct KnownWishes {
    values: BTreeMap<(Key, &'static str), ModelValue>,
    names: BTreeMap<Key, String>,
    parents: BTreeMap<Key, Key>,
    lines: BTreeMap<(Option<Key>, usize), usize>,
    gone: BTreeSet<Key>,
    /// The overlays that named or moved an instance.
    placed_by: BTreeMap<Key, BTreeSet<usize>>,
}

impl KnownWishes {
    fn check(&self, edit: &Edit) {
        let same = |known: Option<bool>| assert_ne!(known, Some(false), "{edit:?}");
        let there = |key: &Key| assert!(!self.gone.contains(key), "{edit:?}");
        match edit {
            Edit::Create { parent, .. } => there(parent),
            Edit::Clone { source, parent, .. } => [source, parent].into_iter().for_each(there),
            Edit::Set { target, property, value } => {
                there(target);
                if let ModelValue::Instance(to) = value {
                    there(to);
                }
                same(self.values.get(&(*target, *property)).map(|known| known == value));
            }
            Edit::Rename { target, name } => {
                there(target);
                same(self.names.get(target).map(|known| known == name));
            }
            Edit::Move { target, parent } => {
                [target, parent].into_iter().for_each(there);
                same(self.parents.get(target).map(|known| known == parent));
            }
            Edit::Delete { target } => {
                if self.gone.contains(target) {
                    return;
                }
                let is_written = self.values.keys().any(|(key, _)| key == target)
                    || self.names.contains_key(target)
                    || self.parents.contains_key(target);
                assert!(!is_written, "{edit:?}");
            }
            Edit::WriteLine { target, line, number } => {
                there(target);
                same(self.lines.get(&(Some(*target), *line)).map(|known| known == number));
            }
            Edit::Remember { line, number } => {
                same(self.lines.get(&(None, *line)).map(|known| known == number));
            }
        }
    }

    /// Adds an edit, and performs it. What earlier overlays did too is theirs.
    fn add(&mut self, edit: &Edit, overlay: usize, earlier: &Self, model: &mut Model) {
        match edit {
            Edit::Create { key, .. } | Edit::Clone { key, .. } => {
                self.placed_by.entry(*key).or_default().insert(overlay);
            }
            Edit::Set { target, property, value } => {
                self.values.insert((*target, *property), *value);
            }
            Edit::Rename { target, name } => {
                self.names.insert(*target, name.clone());
                if earlier.names.get(target) != Some(name) {
                    self.placed_by.entry(*target).or_default().insert(overlay);
                }
            }
            Edit::Move { target, parent } => {
                self.parents.insert(*target, *parent);
                let is_new = model.nodes[target].parent != Some(*parent);
                if is_new && earlier.parents.get(target) != Some(parent) {
                    self.placed_by.entry(*target).or_default().insert(overlay);
                }
            }
            Edit::Delete { target } => self.gone.extend(model.subtree(*target)),
            Edit::WriteLine { target, line, number } => {
                self.lines.insert((Some(*target), *line), *number);
            }
            Edit::Remember { line, number } => {
                self.lines.insert((None, *line), *number);
            }
        }
        model.perform(edit);
    }

    fn join(&mut self, own: Self) {
        self.values.extend(own.values);
        self.names.extend(own.names);
        self.parents.extend(own.parents);
        self.lines.extend(own.lines);
        self.gone.extend(own.gone);
        for (key, overlays) in own.placed_by {
            self.placed_by.entry(key).or_default().extend(overlays);
        }
    }

    /// Checks that no two children with one name were placed by different overlays.
    fn check_names(&self, model: &Model) {
        for node in model.nodes.values() {
            for (at, one) in node.children.iter().enumerate() {
                for other in &node.children[at + 1..] {
                    let [first, second] = [one, other].map(|key| self.placed_by.get(key));
                    let (Some(first), Some(second)) = (first, second) else { continue };
                    let is_clash = model.nodes[one].name == model.nodes[other].name
                        && first.iter().any(|overlay| second.iter().any(|it| it != overlay));
                    assert!(!is_clash, "{one:?} and {other:?} have one name");
                }
            }
        }
    }
}

impl MergeReport {
    fn new(merged: &MergedOverlays<'_>) -> Self {
        let kind = |json: Json| json["kind"].as_str().unwrap().to_owned();
        let conflicts = merged.conflicts.iter().map(|it| {
            let earlier = it.earlier.as_ref().map(|side| side.proposal);
            (kind(serde_json::to_value(&it.kind).unwrap()), earlier, it.later.proposal)
        });
        Self {
            taken: merged.taken.iter().map(|it| it.origin).collect(),
            conflicts: conflicts.collect(),
            dependents: merged.dependents.iter().map(|it| it.origin).collect(),
            stale: merged
                .stale_reads
                .iter()
                .map(|it| (it.reader.proposal, it.writer.proposal))
                .collect(),
            equal: merged.taken.iter().map(|it| it.equal.len()).sum(),
        }
    }
}

/// Workers that each change a zone of their own, and if asked for, a line of their own of the shared
/// texts.
fn disjoint_workers(base: &Base, draws: &mut RandomDraws, has_texts: bool) -> Vec<Worker> {
    let worker = |overlay: usize| {
        let mut worker = Worker::new(overlay, &base.model);
        for _ in 0..=draws.below(3) {
            let mut edits = worker.random_edits(draws, &[base.zones[overlay]], false);
            if has_texts && draws.below(3) == 0 {
                let (target, line, number) =
                    (base.shared.script, overlay % LINES, 1 + draws.below(3));
                edits.extend(worker.make(Edit::WriteLine { target, line, number }));
                edits.extend(worker.make(Edit::Remember { line, number }));
            }
            worker.propose(edits);
        }
        worker
    };
    (0..WORKERS).map(worker).collect()
}

#[test]
fn merge_of_random_overlays_is_a_serial_order_of_what_is_taken() {
    check_seeds(seeds(), |draws| {
        let base = Base::random(draws);
        let count = 2 + draws.below(WORKERS - 1);
        // In one or two zones, so that overlaps are common.
        let zones = &base.zones[ZONES - 1 - draws.below(2)..];
        let workers = (0..count).map(|overlay| {
            let mut worker = Worker::new(overlay, &base.model);
            for _ in 0..=draws.below(3) {
                let edits = worker.random_edits(draws, zones, true);
                worker.propose(edits);
            }
            worker
        });
        let workers = workers.collect();
        let case = MergeCase::new(base, workers);
        let report = case.check();
        case.check_taken(&report);
    });
}

#[test]
fn disjoint_overlays_have_neither_conflicts_nor_stale_reads() {
    check_seeds(seeds(), |draws| {
        let base = Base::random(draws);
        let workers = disjoint_workers(&base, draws, true);
        let report = MergeCase::new(base, workers).check();
        assert_eq!(report.conflicts, []);
        assert_eq!(report.dependents, []);
        assert_eq!(report.stale, []);
        assert_eq!(report.equal, 0);
    });
}

#[test]
fn every_injected_overlap_is_reported_and_nothing_else() {
    check_seeds(seeds(), |draws| {
        let base = Base::random(draws);
        let mut workers = disjoint_workers(&base, draws, false);
        let one = draws.below(WORKERS - 1);
        let other = one + 1 + draws.below(WORKERS - 1 - one);
        let overlap = inject(&base.shared, &mut workers, one, other, draws);
        let case = MergeCase::new(base, workers);
        let proposal = |overlay: usize| {
            let mut all = case.planned[overlay].iter();
            all.find(|it| it.is_injected).unwrap().seq
        };
        let (writer, reader) = (proposal(one), proposal(other));
        let report = case.check();
        let conflicts: Vec<_> = overlap
            .conflict
            .iter()
            .map(|kind| ((*kind).to_owned(), Some(writer), reader))
            .collect();
        assert_eq!(report.conflicts, conflicts);
        assert_eq!(report.dependents, []);
        assert_eq!(report.equal, usize::from(overlap.is_equal));
        assert!(report.stale.iter().all(|(by, _)| *by == reader), "{:?}", report.stale);
        if overlap.is_stale {
            assert!(report.stale.contains(&(reader, writer)), "{:?}", report.stale);
        }
    });
}

#[test]
fn base_is_opened_as_its_model_says() {
    check_seeds(0..10, |draws| {
        let base = Base::random(draws);
        let opened = base.open();
        assert_eq!(opened.dump(), base.model.dump(&base.tops));
    });
}
