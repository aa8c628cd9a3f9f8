//! `vector assets generate`: a model is paid once, after a yes, whatever stops it in between.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake_cloud::{FakeCloud, Fault, MESHY_KEY, MeshyOutcome, sample_glb};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};

const TEXT: &str = "a mossy \u{1b}[31mwell";

struct Bench {
    cloud: FakeCloud,
    home: Home,
}

impl Bench {
    fn new() -> Self {
        Self { cloud: FakeCloud::start(Vec::new()), home: Home::new() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.home.command(&[&["assets", "generate"], more].concat());
        command.env("VECTOR_ROBLOX_CLOUD_URL", self.cloud.url());
        command.env("MESHY_API_KEY", MESHY_KEY);
        command.current_dir(self.home.path());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        let output = binary::run_to_end(self.command(more), "");
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(MESHY_KEY) && !text.contains('\u{1b}'), "{text}");
        }
        output
    }

    fn generate(&self, more: &[&str]) -> Output {
        self.run(&[&[TEXT, "--yes"], more].concat())
    }

    #[track_caller]
    fn refused(&self, more: &[&str], says: &str) {
        let output = self.generate(more);
        assert_eq!(output.code, 1, "{}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    }

    /// The entries of the ledger about generations, by kind.
    fn kinds(&self) -> Vec<String> {
        let log = self.home.run(&["log", "--json"], "").stdout;
        assert!(!log.contains(MESHY_KEY), "{log}");
        let records = log.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let kinds = records.filter_map(|it| {
            it["entry"].as_str().or_else(|| it["entry"]["entry"].as_str()).map(str::to_owned)
        });
        kinds.filter(|it| it.starts_with("generat")).collect()
    }

    fn start(&self) -> Child {
        let mut command = self.command(&[TEXT, "--yes"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }
}

/// Waits until something holds, while a process runs.
#[track_caller]
fn until(child: &mut Child, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        assert!(Instant::now() < end, "nothing happened");
    }
}

#[test]
fn model_is_generated_once_after_a_yes() {
    let bench = Bench::new();
    let asked = bench.run(&[TEXT]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    for said in ["Generate a model with Meshy", "It costs 30 credits", "no terminal to ask on"] {
        assert!(asked.stderr.contains(said), "{said}: {}", asked.stderr);
    }
    assert!(bench.cloud.requests().is_empty());
    let done = bench.generate(&["--picture", "well.png"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "a-mossy-31mwell.glb\n"), "{}", done.stderr);
    assert_eq!(fs::read(bench.file("a-mossy-31mwell.glb")).unwrap(), sample_glb());
    assert!(fs::read(bench.file("well.png")).unwrap().starts_with(b"\x89PNG"));
    let requests = bench.cloud.meshy_tasks().into_iter().map(|it| it.request);
    let modes: Vec<Json> = requests.map(|it| it["mode"].clone()).collect();
    assert_eq!(modes, ["preview", "refine"]);
    assert_eq!(bench.cloud.meshy_balance(), 970);
    // What is there is written again, and not paid; files are not replaced.
    bench.refused(&[], "a-mossy-31mwell.glb exists already");
    let again = bench.generate(&["--out", "copy.glb", "--json"]);
    let line: Json = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&line["file"], &line["triangles"]), (&json!("copy.glb"), &json!(1)));
    assert_eq!(bench.cloud.meshy_balance(), 970);
    for more in [&["--again"][..], &["--low-poly"], &["--no-colors"], &["--polygons", "900"]] {
        let out = format!("{}.glb", more[0].trim_start_matches('-'));
        let output = bench.generate(&[&["--out", &out], more].concat());
        assert_eq!(output.code, 0, "{}", output.stderr);
    }
    assert_eq!(bench.cloud.meshy_balance(), 970 - 30 - 30 - 20 - 30);
    let usage = bench.home.run(&["usage"], "").stdout;
    assert!(usage.contains("5 models, 140 credits"), "{usage}");
    let listed = bench.run(&["--list"]).stdout;
    assert_eq!(listed.lines().filter(|it| it.contains("made")).count(), 5, "{listed}");
    assert_eq!(bench.kinds().iter().filter(|it| *it == "generated").count(), 5);
}

#[test]
fn killed_generation_goes_on_where_it_was_and_is_not_paid_again() {
    // Killed while Meshy works on the shape, and while it works on the colors.
    for tasks in [1, 2] {
        let bench = Bench::new();
        let slow = MeshyOutcome { states: vec!["IN_PROGRESS"; 1_000], error: "" };
        if tasks == 2 {
            let quick = MeshyOutcome { states: vec!["SUCCEEDED"], error: "" };
            bench.cloud.add_meshy_outcome(quick);
        }
        bench.cloud.add_meshy_outcome(slow);
        let mut child = bench.start();
        let accepted = || {
            let kinds = bench.kinds();
            kinds.iter().filter(|it| *it == "generation_accepted").count() == tasks
        };
        until(&mut child, accepted);
        bench.refused(&[], "is going on");
        child.kill().unwrap();
        child.wait().unwrap();
        bench.cloud.finish_meshy_tasks();
        let done = bench.generate(&[]);
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stderr.contains("Going on with generation"), "{}", done.stderr);
        assert_eq!(bench.cloud.meshy_tasks().len(), 2);
        assert_eq!(bench.cloud.meshy_balance(), 970);
    }
}

#[test]
fn request_without_an_answer_is_not_sent_again_unnoticed() {
    let bench = Bench::new();
    bench.cloud.fail_next(Fault::Truncate(4));
    bench.refused(&[], "may have been completed");
    assert_eq!(bench.cloud.meshy_tasks().len(), 1);
    // The person hears of it before it is paid a second time.
    let asked = bench.run(&[TEXT]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(asked.stderr.contains("cost up to 20 credits"), "{}", asked.stderr);
    assert_eq!(bench.kinds(), ["generation_starting", "generation_failed"]);
    let listed = bench.run(&["--list", "--json"]).stdout;
    let line: Json = serde_json::from_str(&listed).unwrap();
    assert_eq!((&line["state"], &line["credits"]), (&json!("failed"), &json!(20)));
}

#[test]
fn refusals_cost_nothing_and_say_what_to_do() {
    let bench = Bench::new();
    let failed = MeshyOutcome { states: vec!["FAILED"], error: "The prompt is not allowed" };
    bench.cloud.add_meshy_outcome(failed);
    bench.refused(&[], "Meshy made no model: The prompt is not allowed. Change the prompt.");
    bench.cloud.set_meshy_balance(19);
    bench.refused(&[], "too few credits");
    assert_eq!(bench.cloud.meshy_balance(), 19);
    bench.cloud.set_meshy_balance(1_000);
    bench.refused(&["--out", "nowhere/well.glb"], "there is no folder nowhere");
    let capped = |credits: &str| {
        let mut command = bench.command(&[TEXT, "--yes"]);
        command.env("VECTOR_CAP_DAY_CREDITS", credits);
        binary::run_to_end(command, "")
    };
    // The failed task has cost 20.
    let refused = capped("49");
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("the cap is 49. Raise caps.day_credits"), "{}", refused.stderr);
    assert_eq!(bench.cloud.meshy_balance(), 1_000);
    let mut keyless = bench.command(&[TEXT, "--yes"]);
    keyless.env_remove("MESHY_API_KEY");
    let output = binary::run_to_end(keyless, "");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("https://www.meshy.ai/settings/api"), "{}", output.stderr);
    let long = "x".repeat(601);
    let output = bench.run(&[&long, "--yes"]);
    assert!(output.stderr.contains("from 1 to 600"), "{}", output.stderr);
    assert_eq!(capped("50").code, 0);
    assert_eq!(bench.cloud.meshy_balance(), 970);
}

#[test]
fn generation_is_cancelled_where_nobody_waits_for_it() {
    let bench = Bench::new();
    let slow = MeshyOutcome { states: vec!["IN_PROGRESS"; 1_000], error: "" };
    bench.cloud.add_meshy_outcome(slow);
    let mut child = bench.start();
    until(&mut child, || bench.kinds().contains(&"generation_accepted".to_owned()));
    let listed = bench.run(&["--list", "--json"]).stdout;
    let line: Json = serde_json::from_str(&listed).unwrap();
    assert_eq!(line["state"], "unfinished");
    let number = line["generation"].to_string();
    let busy = bench.run(&["--cancel", &number]);
    assert!(busy.stderr.contains("is going on"), "{}", busy.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    let cancelled = bench.run(&["--cancel", &number]);
    assert_eq!(cancelled.code, 0, "{}", cancelled.stderr);
    assert!(bench.cloud.meshy_tasks()[0].is_deleted);
    let twice = bench.run(&["--cancel", &number]);
    assert!(twice.stderr.contains("has ended already"), "{}", twice.stderr);
    assert!(bench.run(&["--cancel", "9999"]).stderr.contains("no generation 9999"));
}
