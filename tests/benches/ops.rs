//! The cost of an edit: a thousand operations on a place of 100,000 instances through the binary
//! `vector`, against a bare read and write of the same file by the rbx crates.
//!
//! `cargo bench -p vector-tests --bench ops [-- [--instances N] [--runs N] [--keep FOLDER]]`.
//! `--keep` writes the places and the operations to a folder for inspection. Both sides are
//! separate processes, built alike (release, mimalloc), and take turns. The results of the
//! operations are not checked here.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

mod measure;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use vector_tests::binary::Home;
use vector_tests::generated::generated;
use vector_tests::operations::operations;
use vector_tests::places::{Format, decode, encode};

use self::measure::{Median, machine, measure, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first argument of the child that only reads and writes.
const BARE: &str = "bare-read-and-write";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [first, input, output] = &args[..]
        && first == BARE
    {
        let bytes = fs::read(input).expect("the place can be read");
        let dom = decode(&bytes);
        let format = if bytes.starts_with(b"<roblox!") { Format::Rbxl } else { Format::Rbxlx };
        fs::write(output, encode(&dom, format)).expect("the place can be written");
        // Exit as `vector` does, without freeing the large tree.
        std::process::exit(0);
    }
    let number = |name| option(&args, name).map(|it| it.parse().expect("a number"));
    let instances = number("--instances").unwrap_or(100_000);
    let runs = number("--runs").unwrap_or(7);
    println!("{}", machine());
    println!("{instances} instances, 1,000 operations, median of {runs} runs each, in turns\n");
    let place = generated(instances);
    let ops = operations(&place);
    let keep = |name: &str, bytes: &[u8]| {
        if let Some(folder) = option(&args, "--keep") {
            fs::write(Path::new(folder).join(name), bytes).expect("the folder can be written to");
        }
    };
    keep("ops.jsonl", ops.as_bytes());
    let mut complete = true;
    for format in [Format::Rbxl, Format::Rbxlx] {
        let bytes = encode(&place, format);
        keep(&format!("place.{}", format.extension()), &bytes);
        complete &= compare(format, &bytes, &ops, runs);
    }
    if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures one format and prints its lines. Returns false if either side failed.
fn compare(format: Format, bytes: &[u8], ops: &str, runs: usize) -> bool {
    let home = Home::new();
    let file = |name: &str| {
        let name = format!("{name}.{}", format.extension());
        home.path().join(name)
    };
    let (place, bare_out, edit_out) = (file("place"), file("bare"), file("edited"));
    let list = home.path().join("ops.jsonl");
    fs::write(&place, bytes).expect("a temporary file can be written");
    fs::write(&list, ops).expect("a temporary file can be written");
    let (mut bare, mut edit) = (Vec::new(), Vec::new());
    for turn in 0..runs {
        bare.extend(measure(bare_command(&place, &bare_out), &bare_out));
        // If one run failed, do not repeat it: further runs would fail too.
        if edit.len() == turn {
            let command = edit_command(&home, &place, &list, &edit_out);
            edit.extend(measure(command, &edit_out));
        }
    }
    let name = format.extension();
    println!(".{name}, {:.1} MB", bytes.len() as f64 / 1e6);
    let (bare, edit) = (Median::of(&bare), Median::of(&edit));
    print("bare read + write", bare);
    print("vector edit --ops", edit);
    let (Some(bare), Some(edit)) = (bare, edit) else {
        println!("  no ratio, for one of the two failed\n");
        return false;
    };
    let (time, memory) = edit.times(&bare);
    let memory = memory.map_or_else(|| "unknown".to_owned(), |it| format!("{it:.2}"));
    println!("  ratio: time {time:.2}, memory {memory}\n");
    true
}

fn print(name: &str, run: Option<Median>) {
    match run {
        Some(run) => println!("  {name}: {run}"),
        None => println!("  {name}: failed"),
    }
}

fn bare_command(place: &Path, out: &Path) -> Command {
    let mut command = Command::new(env::current_exe().expect("a process knows its file"));
    command.arg(BARE).args([place, out]);
    command
}

fn edit_command(home: &Home, place: &Path, ops: &Path, out: &Path) -> Command {
    let paths = [place, ops, out].map(|path| path.to_string_lossy().into_owned());
    let [place, ops, out] = paths.each_ref().map(String::as_str);
    home.command(&["edit", place, "--ops", ops, "--yes", "--out", out])
}
