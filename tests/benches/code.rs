//! Code navigation in 10,000 scripts: the index, cold and after one edit, beside `rojo sourcemap`
//! of the same scripts as files; a search of 50 MB beside `rg` as a process; and the choice of
//! scripts for a request.
//!
//! `cargo bench -p vector-tests --bench code [-- [--scripts N] [--runs N]]`. The other programs are
//! looked up in PATH; the lines of a missing one are left out. `rojo` reads files and does not
//! understand code, while the index reads a scene that is already open. The two do not do the same
//! work: each is what precedes the first answer on its side. The results themselves are not checked
//! here.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

#[allow(dead_code, reason = "other measurements need the rest")]
mod measure;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;
use serde_json::json;
use tempfile::TempDir;
use vector_core::code::{self, CodeIndex, ContextRequest};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_core::tools::{self, Plan};
use vector_engine::parallel_reading::PARALLEL_READERS;
use vector_place::{FileFormat, Node, Scene};

use self::measure::{machine, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of scripts per folder.
const FOLDER: usize = 100;

/// The source of a module that requires three others, with `lines` more lines of code.
fn text(number: usize, scripts: usize, lines: usize) -> String {
    let mut text = String::from("--!strict\n-- What a shop sells, and for how much.\n");
    for step in 1..=3 {
        let other = (number * 7 + step * 131) % scripts;
        let (folder, name) = (other / FOLDER, other);
        let _ = writeln!(
            text,
            "local M{step} = require(script.Parent.Parent.Folder{folder}.Module{name})"
        );
    }
    let _ = write!(text, "\nlocal Shop{number} = {{}}\nShop{number}.__index = Shop{number}\n\n");
    let _ = writeln!(text, "export type Offer{number} = {{ price: number, item: string? }}\n");
    for at in 0..lines / 8 {
        let _ = write!(
            text,
            "--[[ Buys the offer {at}. ]]\nfunction Shop{number}:buy{at}(offer: Offer{number}, count: number): boolean\n\
             \tlocal price = offer.price * count + {at}\n\tif price > self.coins then\n\
             \t\twarn(`{{offer.item}} costs {{price}}`)\n\t\treturn false\n\tend\n\
             \tself.coins -= price\n\treturn M1.check{at}(offer, {{ count = count, at = os.clock() }})\nend\n\n"
        );
    }
    let _ = writeln!(text, "return Shop{number}");
    text
}

/// Builds a place of modules in folders, and the same modules as the files of a Rojo project.
/// Returns both and the size of the sources in bytes.
fn made(scripts: usize, lines: usize) -> (Scene, TempDir, usize) {
    let home = TempDir::new().expect("a temporary folder");
    let project = json!({ "name": "bench", "tree": { "$className": "DataModel",
        "ReplicatedStorage": { "$path": "src" } } });
    fs::write(home.path().join("default.project.json"), project.to_string()).expect("a file");
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let (mut bytes, mut folder) = (0, storage);
    for number in 0..scripts {
        let on_disk = home.path().join(format!("src/Folder{}", number / FOLDER));
        if number.is_multiple_of(FOLDER) {
            folder = scene.create(storage, "Folder", &format!("Folder{}", number / FOLDER));
            fs::create_dir_all(&on_disk).expect("a folder");
        }
        let text = text(number, scripts, lines);
        bytes += text.len();
        fs::write(on_disk.join(format!("Module{number}.luau")), &text).expect("a file");
        let node = scene.create(folder, "ModuleScript", &format!("Module{number}"));
        scene.set_source(node, text);
    }
    // Decode the place, so that the scene is in the state of one that was read from a file.
    let scene = Scene::decode(&scene.encode().expect("a place")).expect("a place");
    (scene, home, bytes)
}

/// The median of some runs, in milliseconds.
fn median(runs: usize, mut run: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..runs)
        .map(|at| {
            let start = Instant::now();
            run(at);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The median of a program's runs. None if it is missing.
fn program(runs: usize, name: &str, args: &[&str], folder: &Path) -> Option<f64> {
    let run = || {
        let command =
            Command::new(name).args(args).current_dir(folder).stdout(Stdio::null()).status();
        command.ok()
    };
    if run().is_none() {
        println!("{name} is missing: its lines are left out");
        return None;
    }
    Some(median(runs, |_| _ = run()))
}

fn line(what: &str, figure: f64, other: Option<(&str, f64)>) {
    match other {
        Some((name, time)) => {
            println!("{what}: {figure:.2} ms ({name}: {time:.1} ms, ratio {:.3})", figure / time);
        }
        None => println!("{what}: {figure:.2} ms"),
    }
}

fn indexed(scripts: usize, runs: usize) {
    let (mut scene, home, bytes) = made(scripts, 48);
    println!("{scripts} scripts, {:.1} MB\n", bytes as f64 / 1e6);
    let rojo = program(runs, "rojo", &["sourcemap", "--include-non-scripts"], home.path());
    let rojo = rojo.map(|time| ("rojo sourcemap", time));
    line("cold index", median(runs, |_| drop(CodeIndex::new_by(&scene, PARALLEL_READERS))), rojo);
    line("cold index on one core", median(runs, |_| drop(CodeIndex::new(&scene))), rojo);
    let mut index = CodeIndex::new(&scene);
    let nodes: Vec<Node> = index.script_nodes().to_vec();
    let mut times = Vec::new();
    for run in 0..runs.max(20) {
        let node = nodes[run * 37 % nodes.len()];
        let text = format!("{}-- {run}\n", scene.script_text(node).unwrap_or_default());
        scene.set_source(node, text);
        times.push(median(1, |_| index.refresh(&scene)));
    }
    times.sort_by(f64::total_cmp);
    line("index after one edit", times[times.len() / 2], rojo);
    for words in ["make the shop cheaper", "why does buy3 of Module77 warn about coins and offers?"]
    {
        let asked =
            ContextRequest { words, budget: 16_000, max_scripts: 12, ..ContextRequest::default() };
        let time = median(runs.max(20), |_| drop(code::select_scripts(&index, &scene, &asked)));
        line(&format!("scripts chosen for {words:?}"), time, None);
    }
}

fn searched(scripts: usize, runs: usize) {
    let (scene, home, bytes) = made(scripts, 180);
    println!("\n{scripts} scripts, {:.1} MB\n", bytes as f64 / 1e6);
    let queries = [
        (
            "a text",
            json!({ "query": "Module4321)", "caseSensitive": true }),
            vec!["-F", "Module4321)"],
        ),
        ("any case", json!({ "query": "shop4321:BUY7" }), vec!["-iF", "shop4321:BUY7"]),
        (
            "a regular expression",
            json!({ "query": r"Shop43\d1:buy[67]\(", "regex": true, "caseSensitive": true }),
            vec![r"Shop43\d1:buy[67]\("],
        ),
        (
            "one without letters to look for",
            json!({ "query": r"\d{5}[a-z]\d", "regex": true, "caseSensitive": true }),
            vec![r"\d{5}[a-z]\d"],
        ),
        ("nothing", json!({ "query": "zebra", "caseSensitive": true }), vec!["-F", "zebra"]),
    ];
    // The engine sets the same number of readers.
    let mut scene = PlanningScene::from(scene);
    scene.set_readers(PARALLEL_READERS);
    for (what, args, rg) in queries {
        let time = median(runs, |_| {
            let base = Fingerprint::hash_bytes(b"");
            let plan = tools::plan_call(
                Seq(1),
                "search_files",
                &args,
                &mut scene,
                &base,
                &BlobStore::new(),
                None,
            );
            assert!(matches!(plan, Ok(Plan::Answer(_))), "{plan:?}");
        });
        let rg = [["-n", "-C2"].as_slice(), &rg, &["src"]].concat();
        let rg = program(runs, "rg", &rg, home.path()).map(|time| ("rg", time));
        line(&format!("search for {what}"), time, rg);
    }
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |name| option(&args, name).map(|it| it.parse().expect("a number"));
    let (scripts, runs) = (number("--scripts").unwrap_or(10_000), number("--runs").unwrap_or(9));
    println!("{}", machine());
    indexed(scripts, runs);
    searched(scripts, runs);
}
