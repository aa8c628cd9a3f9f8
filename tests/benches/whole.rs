//! Whole commands, as a person types them: time, peak memory, and what the ledger keeps.
//!
//! `cargo bench -p vector-tests --bench whole [-- [--only NAME] [--instances N,N] [--runs N]
//! [--ids] [--lune FILE]]`. The names are those of [`TABLE`]. Each row is printed for each number of
//! instances, 10,000, 100,000 and 1,000,000 unless others are given. With `--ids` each instance has
//! a unique id, as in a place that Studio saved. A Lune script that does the same work is the peer
//! of the bulk edit; without Lune it is left out with a notice. `VECTOR_BINARY` names another build
//! to measure. The results are not checked here.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

mod measure;
mod peer;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rbx_dom_weak::{Instance, WeakDom};
use rbx_types::{Ref, UniqueId};
use serde_json::{Value as Json, json};
use vector_tests::binary::Home;
use vector_tests::generated::generated;
use vector_tests::places::{Format, encode};

use self::measure::{Median, Run, machine, measure, measure_exit, megabytes, option};
use self::peer::print;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A row of the report: its name, and what measures it.
type ReportRow = (&'static str, fn(&Bench));

const TABLE: [ReportRow; 11] = [
    ("edit", edit_all),
    ("revert", revert_all),
    ("create", create_one),
    ("edit-one", edit_one),
    ("diff-one", diff_one),
    ("diff-all", diff_all),
    ("merge", merge_unchanged),
    ("calls", many_calls),
    ("rename", rename_siblings),
    ("delete", delete_siblings),
    ("revert-run", revert_run),
];

/// The number of siblings that are renamed or deleted one by one.
const SIBLINGS: usize = 20_000;

/// The exit code of `vector diff` if the places differ.
const DIFFERENT: i32 = 1;

const LUNE: &str = r#"
local fs, roblox = require("@lune/fs"), require("@lune/roblox")
local process = require("@lune/process")
local game = roblox.deserializePlace(fs.readFile(process.args[1]))
local colour = roblox.Color3.fromRGB(1, 2, 3)
for _, it in game:GetDescendants() do
	if it.ClassName == "Part" then
		it.Color = colour
	end
end
fs.writeFile(process.args[2], roblox.serializePlace(game, process.args[3] == "xml"))
"#;

/// A generated place, and where its copies and outputs lie.
struct Bench {
    folder: PathBuf,
    place: PathBuf,
    format: Format,
    runs: usize,
    lune: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let sizes = option(&args, "--instances").unwrap_or("10000,100000,1000000");
    let runs = option(&args, "--runs").map_or(3, |it| it.parse().expect("a number"));
    let only = option(&args, "--only");
    let lune = peer::find_lune(option(&args, "--lune"));
    println!("{}\nmedian of {runs} runs each; whole processes\n", machine());
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for size in sizes.split(',') {
        let size: usize = size.trim().parse().expect("a number of instances");
        let mut dom = generated(size);
        if args.iter().any(|arg| arg == "--ids") {
            give_ids(&mut dom);
        }
        for format in [Format::Rbxl, Format::Rbxlx] {
            let place = folder.path().join(format!("{size}.{}", format.extension()));
            fs::write(&place, encode(&dom, format)).expect("it can be written");
            let len = fs::metadata(&place).map_or(0, |it| it.len());
            println!(".{}, {size} instances, {}", format.extension(), megabytes(len));
            let folder = folder.path().to_owned();
            let bench = Bench { folder, place, format, runs, lune: lune.clone() };
            for (_, row) in TABLE.iter().filter(|(name, _)| only.is_none_or(|it| it == *name)) {
                row(&bench);
            }
            println!();
        }
    }
    ExitCode::SUCCESS
}

/// Gives each instance a unique id, as Studio does.
fn give_ids(dom: &mut WeakDom) {
    let root = dom.root_ref();
    let all: Vec<Ref> =
        dom.descendants().map(Instance::referent).filter(|it| *it != root).collect();
    let mut rng = fastrand::Rng::with_seed(2);
    for (at, time) in all.into_iter().zip(0..) {
        let id = UniqueId::new(time, 1_700_000_000, rng.i64(1..));
        let instance = dom.get_by_ref_mut(at).expect("it is in the place");
        instance.properties.insert("UniqueId".into(), id.into());
    }
}

impl Bench {
    /// A file beside the place, with its extension.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{}", self.format.extension()))
    }

    /// Writes calls, one per line.
    fn calls(&self, calls: impl IntoIterator<Item = (&'static str, Json)>) -> PathBuf {
        let file = self.folder.join("calls.jsonl");
        let line = |(tool, args)| json!({ "tool": tool, "args": args }).to_string();
        let lines: Vec<String> = calls.into_iter().map(line).collect();
        fs::write(&file, lines.join("\n")).expect("it can be written");
        file
    }

    /// Edits a place with calls; back to itself unless `out` is given.
    fn edit(home: &Home, place: &Path, calls: &Path, out: Option<&Path>) -> Command {
        let mut command = home.command(&["edit"]);
        command.arg(place).arg("--ops").arg(calls).arg("--yes");
        if let Some(out) = out {
            command.arg("--out").arg(out);
        }
        command
    }

    /// Measures an edit to another file, each time with a new ledger.
    fn measure_edit(&self, name: &str, calls: &Path) -> Option<Median> {
        self.measure_edit_of(&self.place, name, calls)
    }

    fn measure_edit_of(&self, place: &Path, name: &str, calls: &Path) -> Option<Median> {
        let (out, mut kept) = (self.file("out"), 0);
        let run = self.median(|| {
            let home = Home::new();
            let run = measure(Self::edit(&home, place, calls, Some(&out)), &out);
            kept = size_of(&home.path().join("vector"));
            run
        });
        print(name, run, None);
        println!("    the ledger keeps {} KB", kept / 1_000);
        run
    }

    /// Returns the median of several runs, fewer if one fails.
    fn median(&self, run: impl FnMut() -> Option<Run>) -> Option<Median> {
        Median::of(
            &std::iter::repeat_with(run).take(self.runs).map_while(|it| it).collect::<Vec<_>>(),
        )
    }

    /// The place after some calls, as `vector` writes it.
    fn edited(&self, name: &str, calls: &Path) -> PathBuf {
        let out = self.file(name);
        let run = measure(Self::edit(&Home::new(), &self.place, calls, Some(&out)), &out);
        run.expect("the place can be edited");
        out
    }

    fn colour_parts(&self) -> PathBuf {
        let args = json!({ "selector": "Part", "props": { "Color": "#010203" } });
        self.calls([("set_properties", args)])
    }

    fn create_siblings(&self, count: usize) -> PathBuf {
        let create = |n: usize| {
            let props = json!({ "Name": format!("New {n}") });
            let parent = "game.Workspace";
            let args = json!({ "className": "Part", "parentPath": parent, "props": props });
            ("create_instance", args)
        };
        self.calls((0..count).map(create))
    }

    fn set_gravity(&self) -> PathBuf {
        let props = json!({ "Gravity": 100 });
        self.calls([("set_properties", json!({ "path": "game.Workspace", "props": props }))])
    }
}

fn edit_all(bench: &Bench) {
    let own = bench.measure_edit("edit: a colour for every part", &bench.colour_parts());
    let Some(lune) = &bench.lune else {
        return;
    };
    let (script, out) = (bench.folder.join("edit.luau"), bench.file("lune"));
    fs::write(&script, LUNE).expect("a script can be written");
    let form = if bench.format == Format::Rbxlx { "xml" } else { "binary" };
    let run = bench.median(|| {
        let mut command = Command::new(lune);
        command.arg("run").args([&script, &bench.place, &out]).arg(form);
        measure(command, &out)
    });
    print("  the same in Lune", run, own);
}

fn revert_all(bench: &Bench) {
    let (calls, place) = (bench.colour_parts(), bench.file("reverted"));
    let run = bench.median(|| {
        let home = Home::new();
        fs::copy(&bench.place, &place).expect("the place can be copied");
        measure_exit(Bench::edit(&home, &place, &calls, None), 0)?;
        measure_exit(home.command(&["revert", "1", "--yes"]), 0)
    });
    print("revert: the colour of every part", run, None);
}

fn create_one(bench: &Bench) {
    let props = json!({ "Name": "New" });
    let args = json!({ "className": "Part", "parentPath": "game.Workspace", "props": props });
    bench.measure_edit("create: one part", &bench.calls([("create_instance", args)]));
}

fn edit_one(bench: &Bench) {
    bench.measure_edit("edit: one property", &bench.set_gravity());
}

fn diff_one(bench: &Bench) {
    let later = bench.edited("later", &bench.set_gravity());
    print("diff: one difference", diff_to(bench, &later), None);
}

fn diff_all(bench: &Bench) {
    let later = bench.edited("later", &bench.colour_parts());
    print("diff: every part", diff_to(bench, &later), None);
}

fn diff_to(bench: &Bench, later: &Path) -> Option<Median> {
    let home = Home::new();
    bench.median(|| {
        let mut command = home.command(&["diff"]);
        command.args([&bench.place, later]);
        measure_exit(command, DIFFERENT)
    })
}

fn merge_unchanged(bench: &Bench) {
    let (home, out) = (Home::new(), bench.file("merged"));
    let changed = bench.edited("changed", &bench.set_gravity());
    for (name, ours, theirs) in [
        ("merge: theirs is the base", &changed, &bench.place),
        ("merge: ours is the base", &bench.place, &changed),
    ] {
        let run = bench.median(|| {
            let mut command = home.command(&["merge"]);
            command.args([&bench.place, ours, theirs]).arg("--out").arg(&out);
            measure(command, &out)
        });
        print(name, run, None);
    }
}

fn many_calls(bench: &Bench) {
    bench.measure_edit("edit: 10,000 creations in one proposal", &bench.create_siblings(10_000));
}

fn rename_siblings(bench: &Bench) {
    let rename =
        |path, n| ("rename_instance", json!({ "path": path, "newName": format!("Old {n}") }));
    edit_siblings(bench, "edit: 20,000 siblings renamed one by one", rename);
}

fn delete_siblings(bench: &Bench) {
    let delete = |path, _| ("delete_instance", json!({ "path": path }));
    edit_siblings(bench, "edit: 20,000 siblings deleted one by one", delete);
}

/// Measures a call for each of many siblings.
fn edit_siblings(bench: &Bench, name: &str, call: fn(String, usize) -> (&'static str, Json)) {
    let place = bench.edited("siblings", &bench.create_siblings(SIBLINGS));
    let path = |n: usize| format!(r#"game.Workspace["New {n}"]"#);
    let calls = bench.calls((0..SIBLINGS).map(|n| call(path(n), n)));
    bench.measure_edit_of(&place, name, &calls);
}

/// The offline planner builds a grid row by row.
fn revert_run(bench: &Bench) {
    let place = bench.file("run");
    let run = bench.median(|| {
        let home = Home::new();
        fs::copy(&bench.place, &place).expect("the place can be copied");
        let mut edit = home.command(&["edit"]);
        edit.arg(&place).args(["--prompt", "grid 50x50", "--model", "offline", "--yes"]);
        measure_exit(edit, 0)?;
        measure_exit(home.command(&["revert", "1", "--yes"]), 0)
    });
    print("revert: a run of 51 proposals", run, None);
}

/// The size of all files in a folder.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(it) if it.is_dir() => size_of(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
