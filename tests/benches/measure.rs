//! Measurement of whole processes: their time and their peak memory.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The value that follows an option.
pub(crate) fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

/// One run: its time, and its peak memory in bytes if the system reports it.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    wall: Duration,
    peak: Option<u64>,
}

/// Runs a command to its end. If it fails or writes no output file, prints the first line of its
/// stderr and returns None.
pub(crate) fn measure(command: Command, out: &Path) -> Option<Run> {
    // The output of an earlier run would count as that of this one.
    let _ = fs::remove_file(out);
    let run = measure_exit(command, 0)?;
    if out.is_file() {
        return Some(run);
    }
    println!("  failed: no output file");
    None
}

/// Runs a command to its end. If its exit code is another one, prints the first line of its stderr
/// and returns None.
pub(crate) fn measure_exit(mut command: Command, code: i32) -> Option<Run> {
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let stderr = log.reopen().expect("a temporary file can be opened");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
    let start = Instant::now();
    let mut child = command.spawn().expect("the command starts");
    let (status, peak) = wait(&mut child);
    let wall = start.elapsed();
    if status == Some(code) {
        return Some(Run { wall, peak });
    }
    let said = fs::read_to_string(log.path()).unwrap_or_default();
    println!("  failed: {}", said.lines().next().unwrap_or("no message"));
    None
}

/// Waits for a child, and reads its high-water mark repeatedly meanwhile. The mark only rises, so
/// only the child's last millisecond can be missed.
fn wait(child: &mut Child) -> (Option<i32>, Option<u64>) {
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (ended, peak) = (AtomicBool::new(false), AtomicU64::new(0));
    let code = thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&status).unwrap_or_default();
                peak.fetch_max(high_water(&text).unwrap_or(0), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let status = child.wait().expect("the child can be waited for");
        ended.store(true, Ordering::Relaxed);
        status.code()
    });
    let peak = peak.into_inner();
    (code, (peak > 0).then_some(peak))
}

/// Parses a line such as `VmHWM:     1234 kB` into bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The median of several runs, separately for time and memory.
#[derive(Clone, Copy)]
pub(crate) struct Median {
    wall: Duration,
    peak: Option<u64>,
}

impl Median {
    /// None if there are no runs.
    pub(crate) fn of(runs: &[Run]) -> Option<Self> {
        let mut walls: Vec<_> = runs.iter().map(|run| run.wall).collect();
        let mut peaks: Vec<_> = runs.iter().filter_map(|run| run.peak).collect();
        walls.sort_unstable();
        peaks.sort_unstable();
        Some(Self { wall: *walls.get(walls.len() / 2)?, peak: peaks.get(peaks.len() / 2).copied() })
    }

    /// The ratio of its time and memory to those of `other`.
    pub(crate) fn times(&self, other: &Self) -> (f64, Option<f64>) {
        let peaks = self.peak.zip(other.peak);
        let time = self.wall.as_secs_f64() / other.wall.as_secs_f64();
        (time, peaks.map(|(own, other)| own as f64 / other as f64))
    }
}

impl fmt::Display for Median {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peak = self.peak.map_or_else(|| "unknown".to_owned(), megabytes);
        write!(f, "{:.3} s, {peak} at most", self.wall.as_secs_f64())
    }
}

/// Formats a number of bytes for the printed report.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// The number of cores and the processor's name.
pub(crate) fn machine() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("an unnamed processor", |(_, model)| model);
    format!("{cores} cores, {model}, {}", std::env::consts::OS)
}
