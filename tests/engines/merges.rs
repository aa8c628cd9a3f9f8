//! Merges of random places and of real ones, checked against the trees that the rbx crates read.
//!
//! Both sides are changes of a tree of the rbx crates, so the expected merge is known without
//! Vector. Failing cases are shrunk. `VECTOR_SEEDS` sets the number of cases.

use std::collections::{BTreeSet, HashSet};

use proptest::collection;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rbx_dom_weak::{InstanceBuilder, WeakDom, ustr};
use rbx_types::{Attributes, Color3uint8, Ref, Tags, UniqueId, Variant, Vector3};
use scene_schemas::api::ConflictChoice;
use vector_place::merge::{MergeConflict, OpenMerge, merge_scenes};
use vector_place::{FileFormat as Codec, Scene};
use vector_tests::cases;
use vector_tests::oracle::Tree;
use vector_tests::places::{self, Format};

use super::edits::Run;
use super::{files, number, run_all};

const CLASSES: [&str; 6] = ["Part", "Model", "Folder", "ObjectValue", "Script", "ClassOfTomorrow"];
const NAMES: [&str; 3] = ["Wall", "Door", "Part"];

/// An instance of the base. Its numbers are taken modulo the number of choices.
#[derive(Debug, Clone)]
struct Seed {
    class: usize,
    name: usize,
    parent: usize,
    value: usize,
}

/// A change by one side.
#[derive(Debug, Clone)]
enum Change {
    Create(Seed),
    Set { at: usize, property: usize, value: usize },
    Rename { at: usize, name: usize },
    Move { at: usize, parent: usize },
    Delete { at: usize },
}

/// How the instances of a place can be identified.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Identity {
    UniqueIds,
    UniqueNames,
    /// By class, name and order alone. Siblings may share a name.
    Order,
}

fn seed() -> impl Strategy<Value = Seed> {
    (0..CLASSES.len(), 0..NAMES.len(), 0..8_usize, 0..3_usize)
        .prop_map(|(class, name, parent, value)| Seed { class, name, parent, value })
}

fn change() -> impl Strategy<Value = Change> {
    proptest::prop_oneof![
        4 => seed().prop_map(Change::Create),
        4 => (0..16_usize, 0..8_usize, 0..3_usize)
            .prop_map(|(at, property, value)| Change::Set { at, property, value }),
        1 => (0..16_usize, 0..NAMES.len()).prop_map(|(at, name)| Change::Rename { at, name }),
        2 => (0..16_usize, 0..16_usize).prop_map(|(at, parent)| Change::Move { at, parent }),
        1 => (0..16_usize).prop_map(|at| Change::Delete { at }),
    ]
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    collection::vec(seed(), 0..12)
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    collection::vec(change(), 0..8)
}

fn identity() -> impl Strategy<Value = Identity> {
    proptest::sample::select(vec![Identity::UniqueNames, Identity::UniqueIds, Identity::Order])
}

/// A place of the rbx crates, with its instances in the order of their creation.
struct Place {
    dom: WeakDom,
    all: Vec<Ref>,
    identity: Identity,
    /// Distinguishes the instances that each side creates.
    side: u32,
    made: u32,
    /// The names of the instances that a side changed, added to, or deleted.
    touched: BTreeSet<String>,
    deleted: BTreeSet<String>,
}

impl Place {
    fn new(seeds: &[Seed], identity: Identity) -> Self {
        let workspace = InstanceBuilder::new("Workspace");
        let all = vec![workspace.referent()];
        let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
        let (touched, deleted) = (BTreeSet::new(), BTreeSet::new());
        let mut place = Self { dom, all, identity, side: 0, made: 0, touched, deleted };
        for seed in seeds {
            place.create(seed);
        }
        place
    }

    /// The base with the changes of one side.
    fn changed(seeds: &[Seed], identity: Identity, side: u32, changes: &[Change]) -> Self {
        let mut place = Self::new(seeds, identity);
        place.change(side, changes);
        place
    }

    /// Applies the changes of one side, which can use the instances of the base and its own.
    fn change(&mut self, side: u32, changes: &[Change]) {
        let base = self.all.clone();
        (self.side, self.made) = (side, 0);
        for change in changes {
            self.apply(change);
        }
        self.all = base;
    }

    /// An instance of the place, if it still exists. Never the first one, so that the place keeps
    /// its root.
    fn pick(&self, at: usize) -> Option<Ref> {
        let at = *self.all.get(1..)?.get(at % (self.all.len() - 1).max(1))?;
        self.dom.get_by_ref(at).map(|_| at)
    }

    fn parent(&self, at: usize) -> Ref {
        let at = self.all[at % self.all.len()];
        if self.dom.get_by_ref(at).is_some() { at } else { self.all[0] }
    }

    fn name_of(&self, at: Ref) -> String {
        self.dom.get_by_ref(at).unwrap().name.clone()
    }

    fn touch(&mut self, at: Ref) {
        let name = self.name_of(at);
        self.touched.insert(name);
    }

    fn create(&mut self, seed: &Seed) {
        let parent = self.parent(seed.parent);
        let class = CLASSES[seed.class];
        let (side, made) = (self.side, self.made);
        self.made += 1;
        let name = match self.identity {
            Identity::UniqueNames => format!("{}{side}-{made}", NAMES[seed.name]),
            _ => NAMES[seed.name].to_owned(),
        };
        let mut builder = InstanceBuilder::new(class).with_name(name);
        if self.identity == Identity::UniqueIds {
            let id = UniqueId::new(made + 1, side + 1, i64::from(made) + 1);
            builder = builder.with_property("UniqueId", id);
        }
        let new = self.dom.insert(parent, builder);
        self.all.push(new);
        self.set(new, 0, seed.value);
        self.set(new, 1, seed.value);
        if side > 0 {
            self.touch(new);
            self.touch(parent);
        }
    }

    /// Sets one of the properties that instances of its class have.
    fn set(&mut self, at: Ref, property: usize, value: usize) {
        let target = self.parent(value);
        let item = self.dom.get_by_ref_mut(at).unwrap();
        let number = value as f32;
        let (key, new): (&str, Variant) = match (item.class.as_str(), property) {
            ("Part", 0) => ("Anchored", (value % 2 == 1).into()),
            ("Part", 1) => ("Size", Vector3::new(number + 1.0, 1.0, 2.0).into()),
            ("Part", 2) => ("Transparency", (number / 4.0).into()),
            ("Part", 3) => ("Color", Color3uint8::new(value as u8, 0, 9).into()),
            ("ObjectValue", 0..4) => ("Value", target.into()),
            ("Model", 0..4) => ("PrimaryPart", target.into()),
            ("Script", 0..4) => {
                let lines = ["a\na\nb\n", "a\na\na\nb\nb\n", "c\n"];
                ("Source", lines[value].to_owned().into())
            }
            // The crates cannot write attributes of a class that they do not know.
            (_, 4 | 5) if item.class.as_str() != "ClassOfTomorrow" => {
                let key = ["Level", "Speed"][property - 4];
                let all = match item.properties.get(&ustr("Attributes")) {
                    Some(Variant::Attributes(all)) => all.clone(),
                    _ => Attributes::new(),
                };
                ("Attributes", all.with(key, f64::from(number)).into())
            }
            (_, 6) => ("Tags", Tags::from(vec![["x", "y", "z"][value].to_owned()]).into()),
            ("ClassOfTomorrow", _) => ("Level", (value as i32).into()),
            _ => ("NotInvented", number.into()),
        };
        let points = matches!(new, Variant::Ref(_));
        item.properties.insert(key.into(), new);
        self.touch(at);
        // A reference depends on its target.
        if points {
            self.touch(target);
        }
    }

    fn apply(&mut self, change: &Change) {
        match *change {
            Change::Create(ref seed) => self.create(seed),
            Change::Set { at, property, value } => {
                if let Some(at) = self.pick(at) {
                    self.set(at, property, value);
                }
            }
            Change::Rename { at, name } => {
                if let Some(at) = self.pick(at).filter(|_| self.identity != Identity::UniqueNames) {
                    NAMES[name].clone_into(&mut self.dom.get_by_ref_mut(at).unwrap().name);
                }
            }
            Change::Move { at, parent } => {
                let Some(at) = self.pick(at) else { return };
                let into = self.parent(parent);
                if self.subtree(at).contains(&into) {
                    return;
                }
                self.touch(at);
                self.touch(into);
                if self.identity != Identity::UniqueIds {
                    // Without an id, a moved instance cannot be recognized: it counts as deleted
                    // and created.
                    for gone in self.subtree(at) {
                        self.touch(gone);
                        let name = self.name_of(gone);
                        self.deleted.insert(name);
                        // References of a created instance are new, too.
                        for target in self.targets(gone) {
                            self.touch(target);
                        }
                    }
                }
                self.dom.transfer_within(at, into);
            }
            Change::Delete { at } => {
                let Some(at) = self.pick(at) else { return };
                for gone in self.subtree(at) {
                    self.touch(gone);
                    let name = self.name_of(gone);
                    self.deleted.insert(name);
                }
                self.dom.destroy(at);
            }
        }
    }

    /// The instances that an instance refers to.
    fn targets(&self, at: Ref) -> Vec<Ref> {
        let values = self.dom.get_by_ref(at).into_iter().flat_map(|it| it.properties.values());
        let targets = values.filter_map(|value| match value {
            Variant::Ref(to) => Some(*to),
            _ => None,
        });
        targets.filter(|to| self.dom.get_by_ref(*to).is_some()).collect()
    }

    fn subtree(&self, at: Ref) -> Vec<Ref> {
        self.dom.descendants_of(at).map(rbx_dom_weak::Instance::referent).chain([at]).collect()
    }

    fn encode(&self, format: Format) -> Vec<u8> {
        places::encode(&self.dom, format)
    }
}

/// The merged file, and the conflicts.
fn merged(base: &[u8], ours: &[u8], theirs: &[u8]) -> (Vec<u8>, Vec<MergeConflict>) {
    let [base, theirs] = [base, theirs].map(|bytes| Scene::decode(bytes).unwrap());
    let mut ours = Scene::decode(ours).unwrap();
    let conflicts = merge_scenes(&base, &mut ours, &theirs);
    (ours.encode().unwrap(), conflicts)
}

/// Fails if a merge has conflicts or is not the expected place.
fn hold(
    what: &str,
    (file, conflicts): (Vec<u8>, Vec<MergeConflict>),
    wanted: &[u8],
) -> Result<(), String> {
    if !conflicts.is_empty() {
        return Err(format!("{what}: conflicts {conflicts:#?}"));
    }
    let (wanted, mut found) = (Tree::decode(wanted), Tree::decode(&file));
    // Ignore ids that the expected place lacks: a side without ids does not ask for their removal.
    for (at, to) in wanted.subtree(wanted.root()).into_iter().zip(found.subtree(found.root())) {
        for id in ["UniqueId", "HistoryId"] {
            if !wanted.item(at).properties.contains_key(id) {
                found.set(to, id, None);
            }
        }
    }
    same(what, &wanted, &found)
}

fn same(what: &str, wanted: &Tree, found: &Tree) -> Result<(), String> {
    let differences = wanted.differences(found, true);
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("{what}:\n  {}", differences.join("\n  ")))
}

/// The same kind of file in the other codec.
fn other(format: Format) -> Format {
    match format {
        Format::Rbxl => Format::Rbxlx,
        Format::Rbxlx => Format::Rbxl,
        Format::Rbxm => Format::Rbxmx,
        Format::Rbxmx => Format::Rbxm,
    }
}

/// Runs the cases. Reports the smallest one that fails.
fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), String>) {
    let cases = number("VECTOR_SEEDS").map_or(64, |seeds| seeds as u32);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut start = [0; 32];
    let first = number("VECTOR_FIRST_SEED").unwrap_or(0);
    start[..8].copy_from_slice(&first.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &start);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&strategy, |case| test(case).map_err(TestCaseError::fail));
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn merge_with_an_unchanged_side_gives_the_other_side() {
    check((seeds(), changes(), identity()), |(seeds, changes, identity)| {
        let base = Place::new(&seeds, identity);
        let changed = Place::changed(&seeds, identity, 1, &changes);
        for format in Format::ALL {
            let [base, changed, converted] =
                [(&base, format), (&changed, format), (&changed, other(format))]
                    .map(|(place, format)| place.encode(format));
            let what = format!("{format:?}");
            hold(&format!("{what}, theirs"), merged(&base, &base, &changed), &changed)?;
            hold(&format!("{what}, converted"), merged(&base, &base, &converted), &changed)?;
            hold(&format!("{what}, ours"), merged(&base, &changed, &base), &changed)?;
            hold(&format!("{what}, both"), merged(&base, &changed, &changed), &changed)?;
            let (file, _) = merged(&changed, &changed, &changed);
            if file != changed {
                return Err(format!("{what}: other bytes where nobody did anything"));
            }
        }
        Ok(())
    });
}

#[test]
fn changes_in_separate_halves_merge_without_conflict() {
    let half = || (seeds(), changes());
    check((half(), half(), 0..2_usize), |((left, ours), (right, theirs), identity)| {
        let identity = [Identity::UniqueNames, Identity::UniqueIds][identity];
        let place =
            |ours: &[Change], theirs: &[Change]| halves(&left, &right, identity, ours, theirs);
        let (base, union) = (place(&[], &[]), place(&ours, &theirs));
        let (ours, theirs) = (place(&ours, &[]), place(&[], &theirs));
        for format in Format::ALL {
            let [base, ours, theirs, union] =
                [&base, &ours, &theirs, &union].map(|dom| places::encode(dom, format));
            for (what, one, two) in [("theirs", &ours, &theirs), ("ours", &theirs, &ours)] {
                hold(&format!("{format:?}, {what}"), merged(&base, one, two), &union)?;
            }
        }
        Ok(())
    });
}

/// A place of two models, each of which is changed by one side alone.
fn halves(
    left: &[Seed],
    right: &[Seed],
    identity: Identity,
    ours: &[Change],
    theirs: &[Change],
) -> WeakDom {
    let workspace = InstanceBuilder::new("Workspace");
    let above = workspace.referent();
    let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    let (touched, deleted) = (BTreeSet::new(), BTreeSet::new());
    let mut place = Place { dom, all: vec![], identity, side: 10, made: 0, touched, deleted };
    for (n, (name, seeds, changes)) in (0..).zip([("Left", left, ours), ("Right", right, theirs)]) {
        let id = UniqueId::new(n + 1, 20, 1);
        let mut half = InstanceBuilder::new("Model").with_name(name);
        if identity == Identity::UniqueIds {
            half = half.with_property("UniqueId", id);
        }
        place.all = vec![place.dom.insert(above, half)];
        (place.side, place.made) = (10 + n, 0);
        for seed in seeds {
            place.create(seed);
        }
        place.change(1 + n, changes);
    }
    place.dom
}

#[test]
fn merge_is_symmetric_in_its_sides() {
    let strategy = (seeds(), changes(), changes(), 0..2_usize);
    check(strategy, |(seeds, ours, theirs, identity)| {
        let identity = [Identity::UniqueNames, Identity::UniqueIds][identity];
        let base = Place::new(&seeds, identity);
        let ours = Place::changed(&seeds, identity, 1, &ours);
        let theirs = Place::changed(&seeds, identity, 2, &theirs);
        for format in Format::ALL {
            let [base, ours, theirs] = [&base, &ours, &theirs].map(|place| place.encode(format));
            let (one, found) = merged(&base, &ours, &theirs);
            let (two, turned) = merged(&base, &theirs, &ours);
            if found.is_empty() != turned.is_empty() {
                return Err(format!("{format:?}: {found:#?}, and turned around {turned:#?}"));
            }
            if found.is_empty() {
                let (mut one, mut two) = (Tree::decode(&one), Tree::decode(&two));
                one.sort_children();
                two.sort_children();
                same(&format!("{format:?}"), &one, &two)?;
            }
        }
        Ok(())
    });
}

#[test]
fn either_side_of_every_conflict_can_be_chosen() {
    check((seeds(), changes(), changes(), 0..256_u32), |(seeds, ours, theirs, mask)| {
        let places = [Place::new(&seeds, Identity::UniqueIds)].into_iter().chain(
            [(1, &ours), (2, &theirs)]
                .map(|(side, it)| Place::changed(&seeds, Identity::UniqueIds, side, it)),
        );
        let scenes = places.map(|place| Scene::decode(&place.encode(Format::Rbxl)).unwrap());
        let [base, mut ours, theirs]: [Scene; 3] = scenes.collect::<Vec<_>>().try_into().unwrap();
        let mut open = OpenMerge::new(&base, &mut ours, &theirs);
        for at in 0..open.conflicts().len() {
            let sides = [ConflictChoice::Theirs, ConflictChoice::Ours];
            let choice = &sides[(mask >> (at % 8)) as usize & 1];
            let chosen = open.apply_choice(&mut ours, at, choice);
            chosen.map_err(|why| format!("{why:?}: {:#?}", open.conflicts()))?;
        }
        Scene::decode(&ours.encode().unwrap()).map(drop).map_err(|why| why.to_string())
    });
}

#[test]
fn changes_of_one_side_alone_never_conflict() {
    check((seeds(), changes(), changes()), |(seeds, ours, theirs)| {
        let identity = Identity::UniqueNames;
        let base = Place::new(&seeds, identity);
        let ours = Place::changed(&seeds, identity, 1, &ours);
        let theirs = Place::changed(&seeds, identity, 2, &theirs);
        let places = [&base, &ours, &theirs].map(|place| place.encode(Format::Rbxl));
        let (_, conflicts) = merged(&places[0], &places[1], &places[2]);
        for conflict in conflicts {
            let (path, deleted) = match &conflict {
                MergeConflict::Property { path, .. }
                | MergeConflict::Script { path, .. }
                | MergeConflict::Moved { path, .. } => (path, None),
                MergeConflict::Deleted { path, is_deleted_by_ours: by_ours, .. } => {
                    (path, Some(if *by_ours { (&ours, &theirs) } else { (&theirs, &ours) }))
                }
            };
            let path = path.to_string();
            let name = path.rsplit(['.', '"']).find(|part| part.len() > 1).unwrap().to_owned();
            let is_real = match deleted {
                None => ours.touched.contains(&name) && theirs.touched.contains(&name),
                // A deletion includes everything below the instance, on either side.
                Some((deleter, changer)) => {
                    let all: HashSet<String> = [&base, changer]
                        .iter()
                        .flat_map(|place| below(place, &name))
                        .chain([name.clone()])
                        .collect();
                    !deleter.deleted.is_empty() && all.iter().any(|it| changer.touched.contains(it))
                }
            };
            if !is_real {
                return Err(format!("{conflict:?}"));
            }
        }
        Ok(())
    });
}

/// The names of all instances with this name, and of everything below them.
fn below(place: &Place, name: &str) -> Vec<String> {
    let all = place.dom.descendants().filter(|it| it.name == name);
    all.flat_map(|it| place.subtree(it.referent())).map(|it| place.name_of(it)).collect()
}

/// Places with values of all types, under current and outdated names.
#[test]
fn edits_of_generated_files_merge_into_the_unedited_place() {
    run_all(number("VECTOR_SEEDS").unwrap_or(100), |_, draws| {
        let (base, what) = files::file(draws);
        let mut run = Run::start(&base);
        run.hold_trees()?;
        for _ in 0..=draws.below(20) {
            run.step(draws)?;
            run.hold_trees()?;
        }
        let theirs = run.encode()?;
        let found = merged(&base, &base, &theirs);
        hold(&format!("{what}: {:#?}", run.log), found, &theirs)?;
        hold(&format!("{what}, ours"), merged(&base, &theirs, &base), &theirs)
    });
}

#[test]
fn unchanged_real_place_merged_with_another_gives_the_other() {
    let mut files = vec![std::path::PathBuf::from("samples/obby.rbxlx")];
    files[0] = vector_tests::repository::root().join(&files[0]);
    if let Some(cases) = cases::cases() {
        let found = std::fs::read_dir(cases.join("places")).unwrap();
        files.extend(found.map(|entry| entry.unwrap().path()).filter(|file| {
            file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx"))
        }));
        files.sort();
    }
    let scenes: Vec<[Vec<u8>; 2]> = files
        .iter()
        .map(|file| {
            let scene = Scene::decode(&std::fs::read(file).unwrap()).unwrap();
            [Codec::Binary, Codec::Xml]
                .map(|codec| scene.convert_to(codec).unwrap().encode().unwrap())
        })
        .collect();
    let sample = [Format::Rbxl, Format::Rbxlx].map(places::sample);
    for (index, (base, file)) in scenes.iter().zip(&files).enumerate() {
        // Merge every place with itself, with the next one and with the sample, in both directions.
        let next = &scenes[(index + 1) % scenes.len()];
        for (theirs, name) in [base, next, &sample].into_iter().zip(["itself", "next", "sample"]) {
            for codec in 0..2 {
                let what = format!("{} and {name}, {codec}", file.display());
                let (base, theirs) = (&base[codec], &theirs[codec]);
                hold(&what, merged(base, base, theirs), theirs).unwrap();
                hold(&what, merged(base, theirs, base), theirs).unwrap();
            }
        }
    }
}
