//! Drawing a place: the whole process of `vector render`, and in the same run the least work it has
//! to do: reading the same file, filling as many samples, and writing as large a PNG.
//!
//! `cargo bench -p vector-tests --bench render [-- [--parts N,N] [--runs N] [--keep FOLDER]]`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

mod measure;

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use png::{BitDepth, ColorType, Compression, Encoder, Filter};
use serde_json::json;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::generated::generated;
use vector_tests::human::Human;
use vector_tests::places::{Format, encode};

use self::measure::{Median, machine, measure, megabytes, option};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first argument of the child that does only the unavoidable work.
const FLOOR: &str = "floor";
/// Pixels per side of the picture. [`FINE`] is the number of samples per side of a pixel.
const SIDE: usize = 1024;
const FINE: usize = 3;
/// In the generated places, one instance in this many is not a part.
const OTHERS: usize = 8;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    if let [FLOOR, input, output] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        floor(input, output);
        return ExitCode::SUCCESS;
    }
    let parts = option(&args, "--parts").unwrap_or("10000,100000");
    let runs = option(&args, "--runs").map_or(5, |it| it.parse().expect("a number"));
    println!("{}", machine());
    println!("median of {runs} runs each; whole processes, {SIDE} x {SIDE} points\n");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = option(&args, "--keep").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    for parts in parts.split(',') {
        let parts: usize = parts.trim().parse().expect("a number of parts");
        for format in [Format::Rbxl, Format::Rbxlx] {
            let place = folder.join(format!("{parts}.{}", format.extension()));
            let dom = generated(parts + parts / OTHERS);
            let is_part = |it: &&rbx_dom_weak::Instance| it.class.as_str() == "Part";
            let count = dom.descendants().filter(is_part).count();
            fs::write(&place, encode(&dom, format)).expect("it can be written");
            compare(&place, count, format, runs);
            measure_waits(&place);
        }
    }
    ExitCode::SUCCESS
}

/// Reads the file, fills the samples, reduces them to pixels, and writes those.
fn floor(input: &str, output: &str) {
    black_box(fs::read(input).unwrap());
    let samples = black_box(vec![[127_u8; 3]; SIDE * FINE * SIDE * FINE]);
    let mut points = vec![0_u8; SIDE * SIDE * 3];
    for (at, point) in points.chunks_exact_mut(3).enumerate() {
        let first = at / SIDE * FINE * SIDE * FINE + at % SIDE * FINE;
        let mut sum = [0_u32; 3];
        for row in 0..FINE {
            for sample in &samples[first + row * SIDE * FINE..][..FINE] {
                sum.iter_mut().zip(sample).for_each(|(sum, part)| *sum += u32::from(*part));
            }
        }
        point.copy_from_slice(&sum.map(|sum| (sum / (FINE * FINE) as u32) as u8));
    }
    let mut png = Vec::new();
    let mut encoder = Encoder::new(&mut png, SIDE as u32, SIDE as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Balanced);
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&points).unwrap();
    writer.finish().unwrap();
    fs::write(output, png).unwrap();
}

fn compare(place: &Path, parts: usize, format: Format, runs: usize) {
    let bytes = fs::metadata(place).map_or(0, |it| it.len());
    println!(".{}, {parts} parts, {}", format.extension(), megabytes(bytes));
    let out = place.with_extension("png");
    let floor = || {
        let mut command = Command::new(env::current_exe().expect("a process knows its file"));
        command.arg(FLOOR).args([place, &out]);
        command
    };
    let bare = median(runs, floor, &out);
    print("read, fill and write alone", bare, None);
    for view in ["iso", "top", "front"] {
        let render = || {
            let mut command = Command::new(binary::vector());
            command.arg("render").arg(place).arg("-o").arg(&out).args(["--view", view]);
            command.arg("--size").arg(SIDE.to_string());
            command
        };
        print(&format!("vector render --view {view}"), median(runs, render, &out), bare);
    }
    println!();
}

/// Prints how long other requests of a session wait at most, alone and while a first picture of the
/// place is made.
fn measure_waits(place: &Path) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let human = Human::of(&daemon, home.path());
    let opened = human.open(place).ok();
    let session = opened["session"].as_str().expect("a session");
    // The session refuses an empty request at once, when its turn comes.
    let chat = json!({
        "session": session, "epoch": opened["epoch"], "text": " ", "attached": [],
    });
    let wait = || {
        let started = Instant::now();
        assert_eq!(human.call("POST", "/api/chat", &chat).status, 400);
        started.elapsed()
    };
    let alone = (0..100).map(|_| wait()).max().unwrap_or_default();
    let side = SIDE.to_string();
    let (first, longest) = thread::scope(|scope| {
        let picture = scope.spawn(|| {
            let started = Instant::now();
            let path = format!("/api/sessions/{session}/picture?size={side}");
            human.picture(&path).map(|_| started.elapsed()).ok()
        });
        let mut longest = Duration::ZERO;
        while !picture.is_finished() {
            longest = longest.max(wait());
        }
        (picture.join().ok().flatten().expect("a picture"), longest)
    });
    println!(
        "  first picture of a session: {first:.2?}; others wait at most {longest:.1?}, without it \
         {alone:.1?}\n"
    );
}

fn median(runs: usize, command: impl Fn() -> Command, out: &Path) -> Option<Median> {
    // If one run failed, do not repeat it: further runs would fail too.
    let runs: Vec<_> = (0..runs).map_while(|_| measure(command(), out)).collect();
    Median::of(&runs)
}

fn print(name: &str, run: Option<Median>, bare: Option<Median>) {
    match (run, bare) {
        (None, _) => println!("  {name}: failed"),
        (Some(run), None) => println!("  {name}: {run}"),
        (Some(run), Some(bare)) => {
            println!("  {name}: {run} ({:.1} times the time)", run.times(&bare).0);
        }
    }
}
