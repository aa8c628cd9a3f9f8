//! Reads script texts for the code index in parallel, on all cores.
//!
//! [`vector_core::code`] decides what is read, and when. Only this module starts and joins threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use vector_core::code::TextReaders;
use vector_luau::index::{self, ScriptSummary};

/// The parser recurses as deep as Luau allows.
const STACK_SIZE: usize = 16 << 20;

/// How many texts a thread takes at once. Most texts are short.
const BATCH_SIZE: usize = 16;

/// The readers for the code index that use all cores.
pub const PARALLEL_READERS: TextReaders = TextReaders { read: read_texts, fit: match_texts };

/// Summarizes each text. The results are in the order of the texts.
fn read_texts(texts: &[&str]) -> Vec<ScriptSummary> {
    map_parallel(texts, &index::summarize_script)
}

/// Tests each text. The results are in the order of the texts.
fn match_texts(texts: &[&str], holds: &(dyn Fn(&str) -> bool + Sync)) -> Vec<bool> {
    map_parallel(texts, holds)
}

/// Maps each text with `each`. If no threads can be started, the calling thread does all the work.
fn map_parallel<T: Send>(texts: &[&str], each: &(dyn Fn(&str) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let first = next.fetch_add(BATCH_SIZE, Ordering::Relaxed);
            let Some(run) = texts.get(first..texts.len().min(first + BATCH_SIZE)) else {
                return done;
            };
            if run.is_empty() {
                return done;
            }
            done.push((first, run.iter().map(|text| each(text)).collect::<Vec<_>>()));
        }
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let others = cores.min(texts.len().div_ceil(BATCH_SIZE)).saturating_sub(1);
    let mut runs = thread::scope(|scope| {
        let start =
            |_| thread::Builder::new().stack_size(STACK_SIZE).spawn_scoped(scope, work).ok();
        let started: Vec<_> = (0..others).map_while(start).collect();
        let mut runs = work();
        for thread in started {
            // If a thread panicked, the code below computes its missing results.
            runs.extend(thread.join().unwrap_or_default());
        }
        runs
    });
    runs.sort_unstable_by_key(|(first, _)| *first);
    let mut all = Vec::with_capacity(texts.len());
    for (first, run) in runs {
        if first != all.len() {
            break;
        }
        all.extend(run);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_texts_are_read_in_order() {
        for count in [0, 1, BATCH_SIZE, 10 * BATCH_SIZE + 3] {
            let texts: Vec<String> = (0..count).map(|at| format!("local a{at} = {at}")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let one_by_one: Vec<ScriptSummary> =
                texts.iter().map(|text| index::summarize_script(text)).collect();
            assert_eq!(read_texts(&texts), one_by_one, "{count}");
            let is_odd = |text: &str| text.ends_with(['1', '3', '5', '7', '9']);
            let odd: Vec<bool> = (0..count).map(|at| at % 2 == 1).collect();
            assert_eq!(match_texts(&texts, &is_odd), odd, "{count}");
        }
    }
}
