//! Merging the overlays of four workers with 10,000 commands each, beside performing the same
//! commands one after the other on a scene, which is the floor: nothing is compared or recorded.
//!
//! `cargo bench -p vector-tests --bench overlays [-- [--commands N] [--runs N]]`. The overlays are
//! disjoint, share a tenth of their values and all of their scripts, or have a conflict in each
//! hundredth command; their proposals have one command, a hundred, or all.
//!
//! At the end, what it costs to record the read and write sets of proposals, beside planning them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has failed")]

#[expect(dead_code, reason = "only whole processes need the rest")]
mod measure;

use std::collections::BTreeSet;
use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

use scene_schemas::command::Props;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Class, PlanRead, Preview, Proposal};
use scene_schemas::{Command, Fingerprint, InstanceId, Value};
use serde_json::{Value as Json, json};
use vector_core::overlay_merge::{Overlay, OverlayProposal, merge_overlays};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, Footprint, try_command};
use vector_core::tools::{self, Plan};
use vector_place::{FileFormat, Node, Scene};

use self::measure::{machine, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WORKERS: usize = 4;
/// Parts in a folder, and lines in a script.
const FOLDER: usize = 400;
const LINES: usize = 200;
const SCRIPTS: usize = 50;

/// What the overlays have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    Disjoint,
    Equal,
    Conflicting,
}

/// The instances of a base. Those of a worker are at its index.
struct Base {
    scene: PlanningScene,
    folders: Vec<Vec<Node>>,
    parts: Vec<Vec<Node>>,
    scripts: Vec<Node>,
}

impl Base {
    fn new(commands: usize) -> Self {
        let mut scene = Scene::empty(FileFormat::Binary);
        let workspace = scene.create(scene.root(), "Workspace", "Workspace");
        let storage = scene.create(scene.root(), "ServerStorage", "ServerStorage");
        for at in 0..WORKERS * commands.div_ceil(FOLDER) {
            let folder = scene.create(workspace, "Folder", &format!("Folder{at}"));
            for part in 0..FOLDER {
                scene.create(folder, "Part", &format!("Part{part}"));
            }
        }
        for at in 0..SCRIPTS {
            let script = scene.create(storage, "ModuleScript", &format!("Module{at}"));
            let lines = (0..LINES).map(|line| format!("local value{line} = {line}\n"));
            scene.set_source(script, lines.collect());
        }
        let scene = Scene::decode(&scene.encode().unwrap()).unwrap();
        let child = |name| scene.find_child(scene.root(), name).unwrap();
        let (workspace, storage) = (child("Workspace"), child("ServerStorage"));
        let mut folders = vec![Vec::new(); WORKERS];
        for (at, folder) in scene.children(workspace).enumerate() {
            folders[at % WORKERS].push(folder);
        }
        let parts = folders.iter().map(|folders: &Vec<Node>| {
            folders.iter().flat_map(|folder| scene.children(*folder)).collect()
        });
        let parts = parts.collect();
        let scripts = scene.children(storage).collect();
        Self { scene: PlanningScene::from(scene), folders, parts, scripts }
    }

    /// Returns the commands of a worker, each for an instance of its own. They are performed on the
    /// scene, which the caller rolls back.
    fn command(&self, worker: usize, number: usize, created: usize, sharing: Sharing) -> Command {
        let (scene, part) = (&self.scene, self.parts[worker][number]);
        let folder = |at: usize| self.folders[worker][at % self.folders[worker].len()];
        let expect = |node, keys: &[&str]| Some(scene.fingerprint(node, keys.iter().copied()));
        match number % 20 {
            0..14 => {
                let is_common = match sharing {
                    Sharing::Disjoint => false,
                    Sharing::Equal => number.is_multiple_of(10),
                    Sharing::Conflicting => number.is_multiple_of(100),
                };
                let node = if is_common { self.parts[0][number] } else { part };
                let is_other = sharing == Sharing::Conflicting && worker > 0;
                let value = if is_common && is_other { 0.25 } else { 0.5 };
                let props = Props::from([
                    ("Anchored".to_owned(), Some(Value::Bool(true))),
                    ("Transparency".to_owned(), Some(Value::Float32(value))),
                ]);
                let expect = expect(node, &["Anchored", "Transparency"]);
                Command::Set { target: scene.target(node), props, expect }
            }
            14 | 15 => Command::Create {
                id: InstanceId::new_in_proposal(created as u32),
                parent: scene.target(folder(number)),
                class: "Part".to_owned(),
                name: format!("New{number}"),
                props: Props::new(),
                expect: expect(folder(number), &[]),
            },
            16 => {
                let name = Value::String(format!("Renamed{number}"));
                let props = Props::from([("Name".to_owned(), Some(name))]);
                let expect = expect(part, &["Name"]);
                Command::Set { target: scene.target(part), props, expect }
            }
            17 => Command::Move {
                target: scene.target(part),
                parent: scene.target(folder(number + 1)),
                index: None,
                expect: expect(part, &[]),
            },
            18 => {
                Command::Delete { target: scene.target(part), count: 1, expect: expect(part, &[]) }
            }
            _ => self.edit(worker, number, sharing == Sharing::Equal),
        }
    }

    /// Edits a line. No two workers edit lines that adjoin.
    fn edit(&self, worker: usize, number: usize, is_shared: bool) -> Command {
        let (step, count) = (number / 20, SCRIPTS / WORKERS);
        let script = if is_shared { step % SCRIPTS } else { worker * count + step % count };
        let script = self.scripts[script];
        let before = self.scene.script_text(script).unwrap().into_owned();
        let line = (step / SCRIPTS * WORKERS + worker) * 3 % (LINES - 1);
        let start = format!("local value{line} = ");
        let lines = before.lines().map(|it| {
            if it.starts_with(&start) { format!("{start}-{number}\n") } else { format!("{it}\n") }
        });
        let edits = vector_text_edit::diff_lines(&before, &lines.collect::<String>());
        let expect = Fingerprint::hash_bytes(before.as_bytes());
        Command::EditScript { target: self.scene.target(script), edits, expect }
    }

    fn plan(
        &mut self,
        worker: usize,
        commands: usize,
        size: usize,
        sharing: Sharing,
    ) -> Vec<Proposal> {
        let mark = self.scene.journal_mark();
        let blobs = BlobStore::new();
        let planned = (0..commands.div_ceil(size)).map(|number| {
            self.scene.begin_scope(call_of(worker, number));
            let (mut all, mut created) = (Vec::new(), 0);
            for at in number * size..commands.min((number + 1) * size) {
                let command = self.command(worker, at, created, sharing);
                created += usize::from(matches!(command, Command::Create { .. }));
                try_command(&mut self.scene, &command, &blobs).unwrap();
                all.push(command);
            }
            let read = self.parts[worker][number * size];
            let path = self.scene.path(read);
            let property = "Size".to_owned();
            proposal(all, vec![PlanRead::Property { path, property }])
        });
        let planned = planned.collect();
        self.scene.rollback(mark);
        planned
    }
}

fn proposal(commands: Vec<Command>, reads: Vec<PlanRead>) -> Proposal {
    Proposal {
        title: String::new(),
        class: Class::Modifying,
        commands,
        base: Fingerprint(String::new()),
        patch_id: Fingerprint(String::new()),
        preview: Preview::default(),
        warnings: Vec::new(),
        after: Vec::new(),
        reads,
        implicit_target: None,
        files: None,
        changed_files: Vec::new(),
        made_by: None,
        from: None,
        reverts: Vec::new(),
        replaces: None,
        runs: None,
    }
}

fn call_of(worker: usize, number: usize) -> Seq {
    Seq((1_000_000 * (worker + 1) + number) as u64)
}

/// Performs commands without comparing or recording anything. Returns the time.
fn perform(scene: &mut PlanningScene, all: &[(Seq, &[Command])]) -> Duration {
    let mark = scene.journal_mark();
    let blobs = BlobStore::new();
    let start = Instant::now();
    for (call, commands) in all {
        scene.begin_scope(*call);
        for command in *commands {
            try_command(scene, command, &blobs).unwrap();
        }
    }
    let time = start.elapsed();
    scene.rollback(mark);
    time
}

/// Calls of several kinds, each of an instance of its own.
fn planned_call(base: &Base, number: usize) -> (&'static str, Json) {
    let path = base.scene.path(base.parts[0][number]).to_string();
    match number % 8 {
        0 | 1 => {
            let props = json!({ "Transparency": 0.5, "Anchored": true });
            ("set_properties", json!({ "path": path, "props": props }))
        }
        2 => {
            let name = base.scene.name(base.parts[0][number]);
            let selector = json!(format!("#{name}"));
            let props = json!({ "Reflectance": number as f64 / 1e6 + 0.1 });
            ("set_properties", json!({ "selector": selector, "props": props }))
        }
        3 => ("rename_instance", json!({ "path": path, "newName": format!("Renamed{number}") })),
        4 => ("clone_instance", json!({ "path": path })),
        5 => ("delete_instance", json!({ "path": path })),
        6 => {
            let parent = base.scene.path(base.folders[0][number % base.folders[0].len()]);
            let props = json!({ "Name": format!("New{number}") });
            let parent = parent.to_string();
            (
                "create_instance",
                json!({ "className": "Part", "parentPath": parent, "props": props }),
            )
        }
        _ => {
            let script = base.scripts[number / 8 % SCRIPTS];
            let line = number / 8 / SCRIPTS % LINES;
            let search = format!("local value{line} = {line}\n");
            let edits = json!({ "search": search, "replace": format!("local value{line} = -1\n") });
            let path = base.scene.path(script).to_string();
            let (search, replace) = (&edits["search"], &edits["replace"]);
            ("replace_text", json!({ "path": path, "search": search, "replace": replace }))
        }
    }
}

/// Measures planning, and what of it records what the proposals read and write: the list of reads, and the
/// sets that are compared.
fn measure_recording(base: &mut Base, calls: usize, runs: usize) {
    let blobs = BlobStore::new();
    let of_place = Fingerprint::hash_bytes(b"");
    let all: Vec<_> = (0..calls).map(|number| planned_call(base, number)).collect();
    let mut times = [Vec::new(), Vec::new()];
    let (mut reads, mut commands) = (0, 0);
    for _ in 0..runs {
        let mark = base.scene.journal_mark();
        let start = Instant::now();
        let planned = all.iter().enumerate().map(|(number, (tool, args))| {
            let call = call_of(0, number);
            let plan = tools::plan_call(call, tool, args, &mut base.scene, &of_place, &blobs, None);
            match plan {
                Ok(Plan::Propose(proposal, _)) => proposal,
                other => panic!("{tool} {args}: {other:?}"),
            }
        });
        let planned: Vec<Box<Proposal>> = planned.collect();
        times[0].push(start.elapsed());
        let start = Instant::now();
        for proposal in &planned {
            let list: BTreeSet<PlanRead> = proposal.reads.iter().cloned().collect();
            black_box((list, Footprint::new(proposal)));
        }
        times[1].push(start.elapsed());
        base.scene.rollback(mark);
        reads = planned.iter().map(|it| it.reads.len()).sum();
        commands = planned.iter().map(|it| it.commands.len()).sum();
    }
    let [plan, record] = times.map(fastest_and_median);
    println!(
        "  {calls} calls, {commands} commands, {reads} reads: plan {:.1} {:.1}, of which recording {:.1} \
         {:.1}, share {:.1} %",
        plan[0],
        plan[1],
        record[0],
        record[1],
        100.0 * record[0] / plan[0]
    );
}

/// Returns the fastest of some runs and their median, in milliseconds.
fn fastest_and_median(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort_unstable();
    [times[0], times[times.len() / 2]].map(|time| time.as_secs_f64() * 1e3)
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |name, usual| option(&args, name).map_or(usual, |it| it.parse().unwrap());
    let (commands, runs) = (number("--commands", 10_000), number("--runs", 5));
    println!("{}", machine());
    println!("{WORKERS} overlays with {commands} commands each; fastest and median of {runs}, ms");
    let mut base = Base::new(commands);
    for sharing in [Sharing::Disjoint, Sharing::Equal, Sharing::Conflicting] {
        for size in [1, 100, commands] {
            run(&mut base, commands, size, sharing, runs);
        }
    }
    println!("Planning calls, and recording what they read and write; fastest and median, ms");
    measure_recording(&mut base, commands.min(2_000), runs);
}

fn run(base: &mut Base, commands: usize, size: usize, sharing: Sharing, runs: usize) {
    let planned: Vec<Vec<Proposal>> =
        (0..WORKERS).map(|worker| base.plan(worker, commands, size, sharing)).collect();
    let overlays: Vec<Overlay<'_>> = planned
        .iter()
        .enumerate()
        .map(|(worker, proposals)| Overlay {
            name: "worker",
            proposals: proposals
                .iter()
                .enumerate()
                .map(|(number, proposal)| {
                    let call = call_of(worker, number);
                    OverlayProposal { seq: call, call, proposal }
                })
                .collect(),
        })
        .collect();
    let blobs = BlobStore::new();
    let mut times = [Vec::new(), Vec::new()];
    let mut counts = String::new();
    for _ in 0..runs {
        let mark = base.scene.journal_mark();
        let start = Instant::now();
        let merged = merge_overlays(&mut base.scene, &overlays, &blobs);
        times[0].push(start.elapsed());
        base.scene.rollback(mark);
        let taken = &merged.taken;
        counts = format!(
            "{} taken, {} equal, {} texts, {} conflicts, {} dependents, {} stale reads",
            taken.len(),
            taken.iter().map(|it| it.equal.len()).sum::<usize>(),
            taken.iter().map(|it| it.merged_texts.len()).sum::<usize>(),
            merged.conflicts.len(),
            merged.dependents.len(),
            merged.stale_reads.len()
        );
        let all: Vec<(Seq, &[Command])> =
            merged.taken.iter().map(|it| (it.call, &*it.commands)).collect();
        times[1].push(perform(&mut base.scene, &all));
    }
    let [merge, floor] = times.map(fastest_and_median);
    println!(
        "  {sharing:?}, {size} commands each: merge {:.0} {:.0}, floor {:.0} {:.0}, ratio {:.2} ({counts})",
        merge[0],
        merge[1],
        floor[0],
        floor[1],
        merge[0] / floor[0]
    );
}
