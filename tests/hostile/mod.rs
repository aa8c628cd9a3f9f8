//! Damaged and malicious files: whatever the damage, a file is refused, or it opens as a scene that
//! can be walked, edited, written and read again. There is never a panic, an endless loop, or more
//! memory use than the file justifies.
//!
//! Every input follows from a file and the number of its round, so a failure can be reproduced. A
//! normal run takes seconds. `VECTOR_HOSTILE=N` runs N times as many rounds, and
//! `VECTOR_HOSTILE_FROM=N` starts at another round. Use a release build and a memory limit
//! (`ulimit -v 4000000`) for such runs. An input that fails is written to the folder for temporary
//! files, and its name is reported.

pub(crate) mod binary;
mod cases;
mod check;
pub(crate) mod worst;
mod xml;

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use random_draws::RandomDraws;
use vector_place::FileFormat;
use vector_tests::cases as shared;
use vector_tests::{generated, places};

/// Typical false numbers of malicious files.
pub(crate) fn draw_number(draws: &mut RandomDraws) -> u32 {
    match draws.below(10) {
        0 => 0,
        1 => 1,
        2 => 0x7fff_ffff,
        3 => u32::MAX,
        4 => 1 << 31,
        5 => 70_000,
        6 => draws.bits() as u32,
        _ => draws.below(40) as u32,
    }
}

/// A random range within `0..len`, at most `most` long.
pub(crate) fn draw_range(
    draws: &mut RandomDraws,
    len: usize,
    most: usize,
) -> std::ops::Range<usize> {
    let start = draws.below(len + 1);
    let end = (start + draws.below(most + 1)).min(len);
    start..end
}

/// A file to be damaged.
struct Base {
    name: String,
    bytes: Vec<u8>,
}

fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| bases.push(Base { name, bytes });
    for format in places::Format::ALL {
        let extension = format.extension();
        add(format!("sample.{extension}"), places::sample(format));
        let city = places::encode(&generated::generated(120), format);
        add(format!("generated.{extension}"), city);
    }
    for format in [FileFormat::Binary, FileFormat::Xml] {
        add(format!("engine {format:?}"), crate::engine::place(format));
    }
    add("odd.rbxlx".to_owned(), xml::ODD.as_bytes().to_vec());
    if let Some(folder) = shared::cases() {
        let mut paths: Vec<_> = fs::read_dir(folder.join("places"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
                extension.starts_with("rbx")
            })
            .collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            add(name, fs::read(&path).unwrap());
        }
    }
    bases
}

/// Damages a file, once or several times.
fn damaged(base: &Base, other: &Base, draws: &mut RandomDraws) -> Vec<u8> {
    let mut bytes = base.bytes.clone();
    for _ in 0..=[0, 0, 0, 1, 3][draws.below(5)] {
        let is_binary = bytes.starts_with(b"<roblox!");
        bytes = match draws.below(8) {
            0 => raw(bytes, &other.bytes, draws),
            _ if is_binary => binary::damage(&bytes, &other.bytes, draws),
            _ => xml::damage(&bytes, &other.bytes, draws),
        };
    }
    bytes
}

/// Damages bytes without knowledge of the format.
fn raw(mut bytes: Vec<u8>, other: &[u8], draws: &mut RandomDraws) -> Vec<u8> {
    match draws.below(6) {
        0 => bytes.truncate(draws.below(bytes.len() + 1)),
        1 => {
            for _ in 0..=draws.below(8) {
                let at = draws.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << draws.below(8);
                }
            }
        }
        2 => overwrite(&mut bytes, draws),
        3 => {
            let (from, to) =
                (draw_range(draws, other.len(), 400), draw_range(draws, bytes.len(), 400));
            bytes.splice(to, other[from].iter().copied());
        }
        4 => {
            let gone = draw_range(draws, bytes.len(), 60);
            bytes.drain(gone);
        }
        _ => {
            let again = draw_range(draws, bytes.len(), 300);
            let again = bytes[again].to_vec();
            let at = draws.below(bytes.len() + 1);
            bytes.splice(at..at, again);
        }
    }
    bytes
}

/// Overwrites four bytes with a false number.
fn overwrite(bytes: &mut [u8], draws: &mut RandomDraws) {
    let at = draws.below(bytes.len().saturating_sub(3));
    let number = draw_number(draws);
    if let Some(four) = bytes.get_mut(at..at + 4) {
        let number = if draws.below(4) == 0 { number.to_be_bytes() } else { number.to_le_bytes() };
        four.copy_from_slice(&number);
    }
}

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// The number of rounds for a file. Small files are fast, so they get more.
fn rounds(base: &Base) -> u64 {
    let rounds = match base.bytes.len() {
        0..4_000 => 120,
        4_000..40_000 => 40,
        40_000..300_000 => 3,
        _ => 1,
    };
    rounds * variable("VECTOR_HOSTILE").unwrap_or(1)
}

#[derive(Debug, Default)]
struct Tally {
    inputs: u64,
    opened: u64,
    written: u64,
    slowest: Duration,
    slowest_name: String,
}

/// Checks one input. A failure names the input and the file to which it was written.
fn run(bytes: Vec<u8>, name: &str, draws: &mut RandomDraws, tally: &mut Tally) {
    let (bytes, started): (Arc<[u8]>, _) = (bytes.into(), Instant::now());
    let outcome = catch_unwind(AssertUnwindSafe(|| check::check(&bytes, draws)));
    tally.inputs += 1;
    let took = started.elapsed();
    if took > tally.slowest {
        (tally.slowest, tally.slowest_name) = (took, name.to_owned());
    }
    let why = match outcome {
        Ok(Ok(stage)) => {
            tally.opened += u64::from(stage > check::Stage::Refused);
            tally.written += u64::from(stage == check::Stage::Written);
            return;
        }
        Ok(Err(why)) => why,
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()))
            .unwrap_or_default(),
    };
    let file = format!("hostile {name}").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let path = env::temp_dir().join(file);
    fs::write(&path, &bytes).unwrap();
    if variable("VECTOR_HOSTILE_ALL").is_some() {
        eprintln!("{name} ({}): {why}", path.display());
    } else {
        panic!("{name} ({}): {why}", path.display());
    }
}

#[test]
fn damaged_files_do_no_harm() {
    let (bases, mut tally) = (bases(), Tally::default());
    let first = variable("VECTOR_HOSTILE_FROM").unwrap_or(0);
    for (at, base) in bases.iter().enumerate() {
        for round in first..first + rounds(base) {
            let mut draws = RandomDraws::from_seed((at as u64) << 40 ^ round);
            let other = &bases[draws.below(bases.len())];
            let bytes = damaged(base, other, &mut draws);
            run(bytes, &format!("{} {round}", base.name), &mut draws, &mut tally);
        }
    }
    println!("{tally:?}");
    // Inputs that are damaged too much to open find nothing.
    assert!(tally.opened * 4 > tally.inputs && tally.written * 8 > tally.inputs, "{tally:?}");
}

/// Replays an input that failed once, to find the cause.
#[test]
fn external_input_does_no_harm() {
    let Some(path) = env::var_os("VECTOR_HOSTILE_FILE") else { return };
    let bytes = fs::read(Path::new(&path)).unwrap();
    for round in 0..50 {
        let name = format!("outside {round}");
        run(bytes.clone(), &name, &mut RandomDraws::from_seed(round), &mut Tally::default());
    }
}
