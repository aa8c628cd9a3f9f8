//! Patching: a thousand patches to scripts of 10,000 lines, beside the crate `diffy` and GNU patch;
//! then the edit engine on adversarial texts.
//!
//! `cargo bench -p vector-tests --bench patch [-- [--patches N] [--lines N] [--only NAME]]`.
//! `--only patches` leaves out the second part. Any other name leaves out the first part and all
//! cases of the second whose names do not contain it. GNU patch runs as a process, the other two
//! are calls. If GNU patch is absent, it is left out with a notice. No time is asserted.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a measurement that fails has nothing to return"
)]

#[expect(dead_code, reason = "only whole processes need the rest")]
mod measure;
mod texts;
mod worst;

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;

use self::measure::{machine, option};
use self::texts::{script, text};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of context lines around a change.
const CONTEXT: usize = 3;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let number = |name| option(&args, name).map(|it| it.parse().expect("a number"));
    let (patches, lines) = (number("--patches").unwrap_or(1_000), number("--lines"));
    let lines = lines.unwrap_or(10_000);
    let only = option(&args, "--only");
    println!("{}", machine());
    if only.is_none_or(|only| only == "patches") {
        compare(&cases(patches, lines));
    }
    if only != Some("patches") {
        worst::run(lines, only);
    }
}

/// The kind of line numbers in the headers of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The correct positions of the hunks.
    Right,
    /// Positions that are a few lines off.
    Offset,
    /// No positions. Only this engine reads such a patch.
    Bare,
}

struct Case {
    kind: Kind,
    before: String,
    patch: String,
    after: String,
}

/// Generates patches: seven in ten have correct line numbers, two are some lines off, one has none.
fn cases(count: usize, lines: usize) -> Vec<Case> {
    let mut random = Rng::with_seed(1);
    let mut script_lines = Vec::new();
    let case = |at: usize| {
        // Use each script for ten patches.
        if at.is_multiple_of(10) {
            script_lines = script(&mut random, lines);
        }
        let kind = match at % 10 {
            0..7 => Kind::Right,
            7 | 8 => Kind::Offset,
            _ => Kind::Bare,
        };
        case(&mut random, &script_lines, kind)
    };
    (0..count).map(case).collect()
}

fn case(random: &mut Rng, lines: &[String], kind: Kind) -> Case {
    let hunks = 1 + random.usize(..3);
    let room = lines.len() / hunks;
    let off = if kind == Kind::Offset { 1 + random.usize(..8) } else { 0 };
    let mut patch = "--- a/script.luau\n+++ b/script.luau\n".to_owned();
    let (mut after, mut done) = (Vec::new(), 0);
    for hunk in 0..hunks {
        let at = hunk * room + 10 + random.usize(..room - 30);
        let (removed, added) = (1 + random.usize(..4), 1 + random.usize(..6));
        let (start, end) = (at - CONTEXT, at + removed + CONTEXT);
        after.extend(lines[done..at].iter().cloned());
        let (old, new) = (removed + 2 * CONTEXT, added + 2 * CONTEXT);
        let (said, now) = (start + 1 + off, after.len() - CONTEXT + 1 + off);
        match kind {
            Kind::Bare => patch.push_str("@@\n"),
            Kind::Right | Kind::Offset => {
                writeln!(patch, "@@ -{said},{old} +{now},{new} @@").unwrap();
            }
        }
        let put = |patch: &mut String, sign, line: &str| writeln!(patch, "{sign}{line}").unwrap();
        lines[start..at].iter().for_each(|line| put(&mut patch, ' ', line));
        lines[at..at + removed].iter().for_each(|line| put(&mut patch, '-', line));
        for number in 0..added {
            let line = format!("\tlocal added{number} = {}", random.usize(..100_000));
            put(&mut patch, '+', &line);
            after.push(line);
        }
        lines[at + removed..end].iter().for_each(|line| put(&mut patch, ' ', line));
        done = at + removed;
    }
    after.extend(lines[done..].iter().cloned());
    Case { kind, before: text(lines), patch, after: text(&after) }
}

/// The total time of a program, and the number of its correct results.
#[derive(Default)]
struct Sum {
    time: Duration,
    count: u32,
    right: u32,
}

impl Sum {
    fn add(&mut self, case: &Case, apply: impl FnOnce(&Case) -> Option<String>) {
        let start = Instant::now();
        let after = apply(case);
        self.time += start.elapsed();
        self.count += 1;
        self.right += u32::from(after.as_ref() == Some(&case.after));
    }

    fn micros(&self) -> f64 {
        self.time.as_secs_f64() * 1e6 / f64::from(self.count.max(1))
    }

    fn print(&self, name: &str) {
        let Self { count, right, .. } = self;
        println!("  {name:<14} {:>9.1} µs a patch, {right} of {count} right", self.micros());
    }
}

fn compare(cases: &[Case]) {
    let lines = cases.first().map_or(0, |case| case.before.lines().count());
    println!("{} patches to scripts of {lines} lines, each side read and applied\n", cases.len());
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let has_patch = Command::new("patch").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_patch {
        println!("GNU patch is not on the PATH, and is left out.\n");
    }
    for (kind, name) in [
        (Kind::Right, "right numbers"),
        (Kind::Offset, "numbers that are 1 to 8 lines off"),
        (Kind::Bare, "a bare `@@` (nobody else reads those)"),
    ] {
        let (mut own, mut ranges) = (Sum::default(), Sum::default());
        let (mut diffy, mut gnu) = (Sum::default(), Sum::default());
        for case in cases.iter().filter(|case| case.kind == kind) {
            own.add(case, with_vector);
            ranges.add(case, |case| {
                let patched = vector_text_edit::apply_patch(&case.before, &case.patch, &[]).ok()?;
                std::hint::black_box(patched);
                None
            });
            if kind == Kind::Bare {
                continue;
            }
            diffy.add(case, with_diffy);
            if has_patch {
                add_gnu(&mut gnu, case, folder.path());
            }
        }
        println!("{name}");
        own.print("vector");
        println!("  {:<14} {:>9.1} µs", "  to the ranges", ranges.micros());
        if kind != Kind::Bare {
            diffy.print("diffy");
            println!("  ratio to diffy: {:.2}", own.micros() / diffy.micros());
            if has_patch {
                gnu.print("GNU patch");
                println!("  ratio to GNU patch: {:.4}", own.micros() / gnu.micros());
            }
        }
        println!();
    }
}

fn with_vector(case: &Case) -> Option<String> {
    let patched = vector_text_edit::apply_patch(&case.before, &case.patch, &[]).ok()?;
    vector_text_edit::apply_edits(&case.before, &patched.edits).ok()
}

fn with_diffy(case: &Case) -> Option<String> {
    let patch = diffy::Patch::from_str(&case.patch).ok()?;
    diffy::apply(&case.before, &patch).ok()
}

/// Adds a run of GNU patch. The time to write its input and to read its output is not counted.
fn add_gnu(sum: &mut Sum, case: &Case, folder: &Path) {
    let [before, patch, after] = ["before", "patch", "after"].map(|name| folder.join(name));
    fs::write(&before, &case.before).expect("a temporary file can be written");
    fs::write(&patch, &case.patch).expect("a temporary file can be written");
    let mut command = Command::new("patch");
    command.args(["--silent", "--force", "--output"]).args([&after, &before, &patch]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let succeeds = command.status().is_ok_and(|status| status.success());
    sum.time += start.elapsed();
    sum.count += 1;
    let is_right = succeeds && fs::read_to_string(&after).is_ok_and(|text| text == case.after);
    sum.right += u32::from(is_right);
}
