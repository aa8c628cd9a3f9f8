//! Chromium's trace of an interval: the tasks that kept the page busy, and the frames that were
//! late.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::{Value as Json, json};
use vector_tests::browser::Browser;

/// A longer frame or task is noticeable. In milliseconds.
const FELT: f64 = 50.0;

/// The capabilities with which a browser has to be started so that it can be traced.
pub(crate) fn wanted() -> Json {
    let categories = "disabled-by-default-devtools.timeline,\
        disabled-by-default-devtools.timeline.frame,__metadata";
    json!({
        "goog:loggingPrefs": { "performance": "ALL" },
        "goog:chromeOptions": { "perfLoggingPrefs": {
            "enableNetwork": false, "enablePage": false, "traceCategories": categories,
        } },
    })
}

/// The frames and tasks of an interval. Times are in milliseconds.
pub(crate) struct Traced {
    /// Number of frames drawn.
    frames: usize,
    /// Number of frames later than [`FELT`], and the time of the latest.
    late: usize,
    latest: f64,
    /// Number of main-thread tasks longer than [`FELT`], and the time of the longest.
    tasks: usize,
    longest: f64,
}

/// Discards the trace so far.
pub(crate) fn forget(browser: &Browser<'_>) {
    gathered(browser);
}

/// The trace since the last call. The first read of the log makes the browser collect the trace,
/// the second one returns it.
fn gathered(browser: &Browser<'_>) -> Vec<Json> {
    (0..2).flat_map(|_| browser.log("performance")).collect()
}

/// Summarizes the trace since the last call or [`forget`].
pub(crate) fn traced(browser: &Browser<'_>) -> Traced {
    let log = gathered(browser);
    let events: Vec<Json> = log.iter().filter_map(event).collect();
    let main: HashSet<(u64, u64)> = events
        .iter()
        .filter(|it| it["name"] == "thread_name" && it["args"]["name"] == "CrRendererMain")
        .filter_map(thread)
        .collect();
    let is_main = |it: &&Json| thread(it).is_some_and(|it| main.contains(&it));
    let mut tasks: Vec<f64> = events
        .iter()
        .filter(|it| it["name"] == "RunTask")
        .filter(is_main)
        .filter_map(|it| Some(it["dur"].as_f64()? / 1e3))
        .collect();
    tasks.sort_by(f64::total_cmp);
    let gaps = gaps(&events);
    Traced {
        frames: gaps.len() + 1,
        late: gaps.iter().filter(|it| **it > FELT).count(),
        latest: gaps.iter().copied().fold(0.0, f64::max),
        tasks: tasks.iter().filter(|it| **it > FELT).count(),
        longest: tasks.last().copied().unwrap_or(0.0),
    }
}

/// The trace event in an entry of chromedriver's log, if it is one.
fn event(logged: &Json) -> Option<Json> {
    let message: Json = serde_json::from_str(logged["message"].as_str()?).ok()?;
    let message = &message["message"];
    (message["method"] == "Tracing.dataCollected").then(|| message["params"].clone())
}

fn thread(event: &Json) -> Option<(u64, u64)> {
    Some((event["pid"].as_u64()?, event["tid"].as_u64()?))
}

/// The times between drawn frames, of the window that has most of them.
fn gaps(events: &[Json]) -> Vec<f64> {
    let mut drawn: HashMap<u64, Vec<f64>> = HashMap::new();
    for it in events.iter().filter(|it| it["name"] == "DrawFrame") {
        let (window, at) = (it["args"]["layerTreeId"].as_u64(), it["ts"].as_f64());
        if let (Some(window), Some(at)) = (window, at) {
            drawn.entry(window).or_default().push(at / 1e3);
        }
    }
    let mut times = drawn.into_values().max_by_key(Vec::len).unwrap_or_default();
    times.sort_by(f64::total_cmp);
    times.windows(2).map(|two| two[1] - two[0]).collect()
}

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, late, latest, tasks, longest } = self;
        write!(
            f,
            "{frames} frames, {late} later than 50 ms (the latest {latest:.0} ms); {tasks} tasks longer \
             than 50 ms (the longest {longest:.0} ms)"
        )
    }
}
