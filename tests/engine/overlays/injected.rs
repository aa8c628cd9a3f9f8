//! Overlaps of two workers in the shared zone, and what a merge must report of them.

use random_draws::RandomDraws;

use super::base::SharedZone;
use super::model::{Edit, Key, LINES, ModelValue};
use super::worker::{NotedRead, WishedProposal, Worker};

/// What a merge must report of an overlap.
#[derive(Debug, Clone, Copy)]
pub(super) struct InjectedOverlap {
    /// The kind of the conflict.
    pub(super) conflict: Option<&'static str>,
    pub(super) is_stale: bool,
    pub(super) is_equal: bool,
}

/// Lets two workers make edits that overlap, each as one more proposal somewhere among its others.
pub(super) fn inject(
    zone: &SharedZone,
    workers: &mut [Worker],
    one: usize,
    other: usize,
    draws: &mut RandomDraws,
) -> InjectedOverlap {
    let keys = [workers[one].next_key(), workers[other].next_key()];
    let (edits, reads, overlap) = overlap(zone, keys, draws);
    for ((at, edits), reads) in [one, other].into_iter().zip(edits).zip([Vec::new(), reads]) {
        let edits = edits.into_iter().map(|edit| workers[at].make(edit).unwrap()).collect();
        let wishes = &mut workers[at].wishes;
        // Not before the others: they may use the numbers of new instances before these.
        wishes.push(WishedProposal { edits, reads, is_injected: true });
    }
    overlap
}

/// Returns the edits of the earlier and of the later worker, and what the later one reads besides.
fn overlap(
    zone: &SharedZone,
    keys: [Key; 2],
    draws: &mut RandomDraws,
) -> ([Vec<Edit>; 2], Vec<NotedRead>, InjectedOverlap) {
    let set = |target, quarters| {
        vec![Edit::Set { target, property: "@n", value: ModelValue::Quarters(quarters) }]
    };
    let create = |by: usize, parent, name: &str| {
        let name = name.to_owned();
        vec![Edit::Create { key: keys[by], parent, class: "Part", name }]
    };
    let copy = |by: usize, source, parent| {
        vec![Edit::Clone { key: keys[by], source, parent, name: "N".to_owned() }]
    };
    let rename = |target, name: &str| vec![Edit::Rename { target, name: name.to_owned() }];
    let moved = |target, parent| vec![Edit::Move { target, parent }];
    let delete = |target| vec![Edit::Delete { target }];
    let point = |to| {
        let (target, value) = (zone.pointer, ModelValue::Instance(to));
        vec![Edit::Set { target, property: "Value", value }]
    };
    let line = draws.below(LINES);
    let (target, memory) = (zone.script, |number| vec![Edit::Remember { line, number }]);
    let edit = |number| vec![Edit::WriteLine { target, line, number }];
    let cases: Vec<(&'static str, [Vec<Edit>; 2])> = vec![
        ("property", [set(zone.part, 1), set(zone.part, 2)]),
        ("property", [rename(zone.part, "N"), rename(zone.part, "O")]),
        ("script", [edit(7), edit(8)]),
        ("memory", [memory(7), memory(8)]),
        ("name", [create(0, zone.folder, "N"), create(1, zone.folder, "N")]),
        ("name", [rename(zone.part, "N"), create(1, zone.root, "N")]),
        ("name", [create(0, zone.root, "N"), rename(zone.part, "N")]),
        ("name", [copy(0, zone.other, zone.folder), create(1, zone.folder, "N")]),
        ("name", [moved(zone.part, zone.folder), create(1, zone.folder, "P")]),
        ("name", [create(0, zone.folder, "P"), moved(zone.part, zone.folder)]),
        ("write_in_deleted", [delete(zone.model), set(zone.deep, 1)]),
        ("write_in_deleted", [delete(zone.model), create(1, zone.inner, "N")]),
        ("write_in_deleted", [delete(zone.model), moved(zone.deep, zone.root)]),
        ("write_in_deleted", [delete(zone.model), moved(zone.part, zone.inner)]),
        ("write_in_deleted", [delete(zone.script), edit(7)]),
        ("delete_of_written", [set(zone.deep, 1), delete(zone.model)]),
        ("delete_of_written", [create(0, zone.inner, "N"), delete(zone.model)]),
        ("delete_of_written", [moved(zone.deep, zone.root), delete(zone.model)]),
        ("delete_of_written", [moved(zone.part, zone.inner), delete(zone.model)]),
        ("delete_of_written", [edit(7), delete(zone.script)]),
        ("cycle", [moved(zone.model, zone.folder), moved(zone.folder, zone.inner)]),
        ("parent", [moved(zone.part, zone.folder), moved(zone.part, zone.model)]),
        ("reference_to_deleted", [delete(zone.part), point(zone.part)]),
        ("delete_of_referred", [point(zone.deep), delete(zone.model)]),
        ("copy_of_restructured", [create(0, zone.inner, "N"), copy(1, zone.model, zone.root)]),
        ("equal", [set(zone.part, 1), set(zone.part, 1)]),
        ("equal", [edit(7), edit(7)]),
        ("equal", [delete(zone.model), delete(zone.deep)]),
        ("stale", [rename(zone.model, "N"), set(zone.deep, 1)]),
        ("stale", [moved(zone.model, zone.folder), set(zone.deep, 1)]),
        ("stale", [set(zone.deep, 1), copy(1, zone.model, zone.folder)]),
        ("property read", [set(zone.part, 1), set(zone.other, 1)]),
        ("selector read", [create(0, zone.folder, "N"), set(zone.other, 1)]),
        ("place read", [set(zone.part, 1), set(zone.other, 1)]),
    ];
    let (kind, edits) = draws.pick(&cases);
    let (reads, is_stale) = match kind {
        "stale" => (Vec::new(), true),
        "property read" => (vec![NotedRead::Property(zone.part, "@n")], true),
        "selector read" => (vec![NotedRead::Selector("Part")], true),
        "place read" => (vec![NotedRead::Place], true),
        _ => (Vec::new(), false),
    };
    let is_equal = kind == "equal";
    let conflict = (!is_stale && !is_equal).then_some(kind);
    (edits, reads, InjectedOverlap { conflict, is_stale, is_equal })
}
