//! Rojo projects: a cold map of 10,000 scripts as a whole process, beside `rojo sourcemap`, and one
//! changed file in a process that already has the map.
//!
//! `cargo bench -p vector-tests --bench rojo [-- [--scripts 10000] [--runs 7]]`
//!
//! Rojo is looked up in PATH, and left out if it is absent.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that fails has failed")]

mod measure;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use vector_rojo_project::{ProjectTree, SourcemapOptions};
use vector_tests::binary;

use self::measure::{Median, machine, measure, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of scripts per folder.
const PER_FOLDER: usize = 50;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: usize| {
        option(&args, name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (scripts, runs) = (number("--scripts", 10_000), number("--runs", 7));
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let project = fs::canonicalize(folder.path()).expect("it is there");
    write(&project, scripts);
    println!("{scripts} scripts, {runs} runs each, the middle one; {}", machine());
    let ours = processes("vector sourcemap", binary::vector(), &project, runs);
    let theirs = processes("rojo sourcemap", Path::new("rojo"), &project, runs);
    if let (Some((ours, _)), Some((theirs, _))) = (&ours, &theirs) {
        println!("  ours is {:.2} of theirs (goal: at most 1)", ours.times(theirs).0);
    }
    one_file(&project, runs, theirs.map(|(_, time)| time));
}

/// Writes a project with folders of scripts, 30 lines each.
fn write(project: &Path, scripts: usize) {
    let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel",
        "ReplicatedStorage": { "$path": "src" } } }"#;
    fs::write(project.join("default.project.json"), tree).expect("it can be written");
    for n in 0..scripts {
        let folder = project.join(format!("src/Group{}/Folder{}", n / 1000, n / PER_FOLDER));
        if n % PER_FOLDER == 0 {
            fs::create_dir_all(&folder).expect("it can be made");
        }
        let line = format!("local value{n} = require(script.Parent.Module{n})\n");
        let text = format!("--!strict\n{}return value{n}\n", line.repeat(28));
        let end = ["luau", "server.luau", "client.luau", "lua"][n % 4];
        fs::write(folder.join(format!("Module{n}.{end}")), text).expect("it can be written");
    }
}

/// The median of some runs, and the median of their times alone.
fn processes(
    name: &str,
    program: &Path,
    project: &Path,
    runs: usize,
) -> Option<(Median, Duration)> {
    let out = project.join("sourcemap.json");
    let (mut all, mut times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut command = Command::new(program);
        command.arg("sourcemap").arg(project).args(["--include-non-scripts", "--output"]).arg(&out);
        if program == Path::new("rojo") && Command::new("rojo").arg("--version").output().is_err() {
            println!("  {name}: not on the PATH");
            return None;
        }
        let start = Instant::now();
        all.push(measure(command, &out)?);
        times.push(start.elapsed());
    }
    let _ = fs::remove_file(out);
    let median = Median::of(&all)?;
    println!("  {name}: {median}");
    Some((median, middle(times)))
}

/// The median of some times.
fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn one_file(project: &Path, runs: usize, theirs: Option<Duration>) {
    let mut tree = ProjectTree::read(project).expect("it is a project");
    let time = |work: &mut dyn FnMut(usize)| {
        let run = |n| {
            let start = Instant::now();
            work(n);
            start.elapsed()
        };
        middle((0..runs).map(run).collect())
    };
    let cold = time(&mut |_| drop(ProjectTree::read(project).expect("it is a project")));
    let map = time(&mut |_| drop(tree.to_sourcemap(SourcemapOptions::default())));
    let scene = time(&mut |_| drop(tree.to_scene()));
    println!("  in one process: read {cold:.1?}, sourcemap {map:.1?}, scene {scene:.1?}");
    let edited = project.join("src/Group0/Folder0/Module0.luau");
    let edit = update(&mut tree, runs, |n| {
        fs::write(&edited, format!("return {n}\n")).expect("it can be written");
        edited.clone()
    });
    let added = update(&mut tree, runs, |n| {
        let file = project.join(format!("src/Group0/Folder1/New{n}.luau"));
        fs::write(&file, "return 1\n").expect("it can be written");
        file
    });
    println!("  one file edited: {edit:.2?}; one file added: {added:.2?}");
    if let Some(theirs) = theirs {
        let times = theirs.as_secs_f64() / edit.as_secs_f64();
        println!("  {times:.0} times faster than Rojo's map (goal: 50)");
    }
}

fn update(tree: &mut ProjectTree, runs: usize, change: impl Fn(usize) -> PathBuf) -> Duration {
    let run = |n| {
        let file = change(n);
        let start = Instant::now();
        let changed = tree.update(&[file]).expect("it stays a project");
        let took = start.elapsed();
        assert_eq!(changed.added.len() + changed.changed.len(), 1);
        took
    };
    middle((0..runs).map(run).collect())
}
