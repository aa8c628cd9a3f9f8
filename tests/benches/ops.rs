//! What an edit costs beside nothing at all: a thousand operations on a place of 100,000 instances
//! through the binary `vector`, against a bare read and write of the same file by the rbx crates.
//!
//! `cargo bench -p vector-tests --bench ops [-- [--instances N] [--runs N] [--keep FOLDER]]`; with
//! `--keep` the places and the operations stay there, to look closer. Both sides are processes of their own, built alike
//! (release, mimalloc), and take turns. What the operations do is not checked here.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vector_tests::binary::Home;
use vector_tests::generated::generated;
use vector_tests::operations::operations;
use vector_tests::places::{Format, decode, encode};

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
        // As the other side does: taking a large tree apart is nobody's work.
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

fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

/// Measures one format and prints its lines; false where one of the sides failed.
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
        // What failed once would only fail again.
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
    let memory = match (bare.peak, edit.peak) {
        (Some(bare), Some(edit)) => format!("{:.2}", edit as f64 / bare as f64),
        _ => "unknown".to_owned(),
    };
    let time = edit.wall.as_secs_f64() / bare.wall.as_secs_f64();
    println!("  ratio: time {time:.2}, memory {memory}\n");
    true
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

/// One run: its time, and the most memory that it held at once (where the system tells).
#[derive(Clone, Copy)]
struct Run {
    wall: Duration,
    peak: Option<u64>,
}

/// Runs a command to its end; none, with what it said, where it fails or writes nothing.
fn measure(mut command: Command, out: &Path) -> Option<Run> {
    // What an earlier run left behind would count as this one's.
    let _ = fs::remove_file(out);
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let stderr = log.reopen().expect("a temporary file can be opened");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let start = Instant::now();
    let mut child = command.spawn().expect("the command starts");
    let (status, peak) = wait(&mut child);
    let wall = start.elapsed();
    if status && out.is_file() {
        return Some(Run { wall, peak });
    }
    let said = fs::read_to_string(log.path()).unwrap_or_default();
    println!("  failed: {}", said.lines().next().unwrap_or("no output file"));
    None
}

/// Waits for a child, and meanwhile reads its high-water mark again and again. The mark only
/// rises, so nothing is missed but the child's last millisecond.
fn wait(child: &mut Child) -> (bool, Option<u64>) {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (ended, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let success = thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&status).unwrap_or_default();
                peak.fetch_max(high_water(&text).unwrap_or(0), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let status = child.wait().expect("the child can be waited for");
        ended.store(true, Ordering::Relaxed);
        status.success()
    });
    let peak = peak.into_inner();
    (success, (peak > 0).then_some(peak))
}

/// Bytes, from a line such as `VmHWM:     1234 kB`.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

struct Median;

impl Median {
    /// Of time and memory each for themselves; none without runs.
    fn of(runs: &[Run]) -> Option<Run> {
        let mut walls: Vec<_> = runs.iter().map(|run| run.wall).collect();
        let mut peaks: Vec<_> = runs.iter().filter_map(|run| run.peak).collect();
        walls.sort_unstable();
        peaks.sort_unstable();
        Some(Run { wall: *walls.get(walls.len() / 2)?, peak: peaks.get(peaks.len() / 2).copied() })
    }
}

fn print(name: &str, run: Option<Run>) {
    let Some(run) = run else {
        return println!("  {name}: failed");
    };
    let peak = run
        .peak
        .map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    println!("  {name}: {:.3} s, {peak} at most", run.wall.as_secs_f64());
}

/// The cores and the processor's name.
fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unnamed processor", |(_, model)| model);
    format!("{cores} cores, {model}, {}", env::consts::OS)
}
