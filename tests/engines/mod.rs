//! The engine that edits files, checked against one that has a tree of everything: random sequences
//! of edits, applied to both, must result in the same place.
//!
//! A test run does some hundred and fifty sequences. `VECTOR_SEEDS=N` sets their number and
//! `VECTOR_FIRST_SEED` the first seed, so that a run can be split and a failed sequence repeated.

mod edits;
mod files;
mod known;
mod merges;
mod mistyped;
mod random_values;
mod untouched;

use std::env;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use random_draws::{RandomDraws, shrink_failure};
use vector_place::diff::diff_scenes;
use vector_place::{FileFormat, Scene};
use vector_tests::cases;
use vector_tests::oracle::Tree;

use self::edits::Run;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs `work` and converts a panic to an error.
fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", said.unwrap_or_default()))
    })
}

/// Runs the sequences of all seeds, and reports those that failed, each in its smallest form.
fn run_all(seeds: u64, sequence: impl Fn(u64, &mut RandomDraws) -> Result<(), String>) {
    let first = number("VECTOR_FIRST_SEED").unwrap_or(0);
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        let mut draws = RandomDraws::from_seed(seed);
        let Err(why) = caught(|| sequence(seed, &mut draws)) else {
            continue;
        };
        let why = shrink_failure(draws, why, |draws| caught(|| sequence(seed, draws)).err());
        failed.push(format!("seed {seed}: {why}"));
        if failed.len() == 5 {
            break;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn edits_of_generated_files_match_the_tree_engine() {
    run_all(number("VECTOR_SEEDS").unwrap_or(150), |_, draws| {
        let (mut file, what) = files::file(draws);
        let rounds = if draws.one_in(4) { 3 } else { 1 };
        for round in 0..rounds {
            let what = format!("{what}, round {round}");
            file = sequence(&file, draws, &what)?;
        }
        Ok(())
    });
}

#[test]
fn edits_of_real_files_match_the_tree_engine() {
    let Some(cases) = cases::cases() else {
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(cases.join("places"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx")))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no places in {}", cases.display());
    // Fewer sequences, because real places are large.
    let seeds = number("VECTOR_SEEDS").map_or(files.len() as u64, |seeds| seeds / 20);
    run_all(seeds, |seed, draws| {
        let file = &files[seed as usize % files.len()];
        let bytes = std::fs::read(file).unwrap();
        sequence(&bytes, draws, &file.display().to_string()).map(|_| ())
    });
}

/// Makes some edits of a file with both engines, and compares the results.
fn sequence(file: &[u8], draws: &mut RandomDraws, what: &str) -> Result<Vec<u8>, String> {
    let mut run = Run::start(file);
    let done = caught(|| edit(&mut run, draws));
    done.map_err(|why| {
        let mut said = format!("{what}: {why}");
        for line in &run.log {
            let _ = write!(said, "\n    {line}");
        }
        if let Some(folder) = env::var_os("VECTOR_KEEP") {
            let _ = std::fs::write(folder, file);
        }
        said
    })
}

fn edit(run: &mut Run, draws: &mut RandomDraws) -> Result<Vec<u8>, String> {
    run.hold_trees()?;
    for _ in 0..=draws.below(40) {
        run.step(draws)?;
        run.hold_trees()?;
    }
    let new = run.encode()?;
    hold(run, &new)?;
    untouched::hold(run, &new)?;
    if let Some(start) = run.start_mark() {
        run.scene.rollback(start);
        let back = run.encode()?;
        if back != run.file {
            let same = back.iter().zip(&run.file).take_while(|(a, b)| a == b).count();
            let there = |bytes: &[u8]| {
                let part = same.saturating_sub(60)..(same + 100).min(bytes.len());
                String::from_utf8_lossy(&bytes[part]).into_owned()
            };
            let (one, other) = (there(&run.file), there(&back));
            return Err(format!("other bytes, with everything taken back: {one:?}, {other:?}"));
        }
        let patch = run.scene.reverse_patch();
        if patch.apply(&run.file).as_deref() != Some(&*run.file) {
            return Err("the way back from where it is leads elsewhere".to_owned());
        }
    }
    Ok(new)
}

/// Compares a written file with the scene that wrote it and with the other engine's tree.
fn hold(run: &mut Run, new: &[u8]) -> Result<(), String> {
    if run.encode()? != new {
        return Err("other bytes when it is written again".to_owned());
    }
    let by_class = run.scene.format() == FileFormat::Binary;
    let found = run.tree.differences(&Tree::decode(new), by_class);
    if !found.is_empty() {
        return Err(format!("the file is another place:\n  {}", found.join("\n  ")));
    }
    let again = Scene::decode(new).map_err(|error| error.to_string())?;
    for (one, other) in [(&run.scene, &again), (&again, &run.scene)] {
        let found = diff_scenes(one, other);
        if !found.is_empty() {
            return Err(format!("the file is another scene: {found:#?}"));
        }
    }
    let back = run.scene.reverse_patch().apply(new);
    if back.as_deref() != Some(&*run.stands) {
        return Err("the way back leads elsewhere".to_owned());
    }
    Ok(())
}
