//! Lune as a peer, if it is installed, and the lines that compare with a peer.

use std::env;
use std::path::PathBuf;

use crate::measure::Median;

/// Returns the given file, or the first `lune` in PATH. Prints a notice if there is none.
pub(crate) fn find_lune(named: Option<&str>) -> Option<PathBuf> {
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = named.map(PathBuf::from).or_else(|| {
        let mut files = env::split_paths(&paths).map(|it| it.join("lune"));
        files.find(|file| file.is_file())
    });
    if found.is_none() {
        println!("without Lune, which is not on the PATH (cargo install lune)\n");
    }
    found
}

/// Prints the figures of a row, and how many times those of `against` they are.
pub(crate) fn print(name: &str, run: Option<Median>, against: Option<Median>) {
    let Some(run) = run else {
        return println!("  {name}: failed");
    };
    let ratio = against.map_or_else(String::new, |own| {
        let (time, memory) = run.times(&own);
        let memory = memory.map_or_else(String::new, |it| format!(" and {it:.0} times the memory"));
        format!(" ({time:.0} times the time{memory})")
    });
    println!("  {name}: {run}{ratio}");
}
