//! `vector verify` and `vector test --engine cloud`: specs run in a scratch place on Roblox.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fake_cloud::{FakeCloud, Fault, LuauOutcome, TaskPathShape};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use scene_schemas::entry::{CloudRun, Entry, Seq};
use serde_json::{Value as Json, json};
use vector_core::run::RunRequest;
use vector_ledger::Ledger;
use vector_place::Scene;
use vector_runtime::{RunLimits, run_script};
use vector_tests::binary::{self, Home, Output};
use vector_tests::places::{self, Format};

const UNIVERSE: u64 = 30;
const PLACE: u64 = 40;
const SCRATCH: &str = "30/40";
const KEY: &str = "a-key-that-only-verifies-0123456789abcdef";
pub(super) const GOOD: &str =
    "return function() it('adds', function() expect(1 + 1).to.equal(2) end) end";
const BAD: &str = "return function()\n\
                   it('adds', function() expect(1 + 1).to.equal(2) end)\n\
                   it('fails', function() expect(1).to.equal(2) end)\n\
                   itSKIP('waits', function() end)\n\
                   end";
const STORES: &str = "local S = game:GetService('DataStoreService')\nreturn S";

/// A cloud with a scratch place, and a home with a place file that has specs.
struct VerifyBench {
    cloud: FakeCloud,
    home: Home,
    place: PathBuf,
}

impl VerifyBench {
    fn new(modules: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let place = home.path().join("game.rbxl");
        fs::write(&place, place_of(modules)).unwrap();
        let cloud = FakeCloud::start(Vec::new());
        cloud.add_places(UNIVERSE, &[PLACE]);
        cloud.add_places(31, &[41]);
        cloud.add_key(
            KEY,
            &[
                "universe-places:write",
                "universe.place.luau-execution-session:write",
                "universe.place.luau-execution-session:read",
            ],
        );
        Self { cloud, home, place }
    }

    fn good() -> Self {
        Self::new(&[("Add.spec", GOOD)])
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("VECTOR_ROBLOX_CLOUD_URL", self.cloud.url());
        command.env("ROBLOX_VERIFY_API_KEY", KEY);
        command
    }

    /// Runs a command whose key nobody must see.
    fn run(&self, args: &[&str]) -> Output {
        let output = binary::run_to_end(self.command(args), "");
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(KEY), "{text}");
        }
        output
    }

    fn verify(&self, more: &[&str]) -> Output {
        let place = self.place.display().to_string();
        self.run(&[&["verify", place.as_str(), "--scratch", SCRATCH, "--yes"], more].concat())
    }

    fn dry_run(&self) -> Output {
        let place = self.place.display().to_string();
        self.run(&["verify", &place, "--scratch", SCRATCH, "--dry-run"])
    }

    fn test(&self, more: &[&str]) -> Output {
        let place = self.place.display().to_string();
        let args = ["test", place.as_str(), "--engine", "cloud", "--scratch", SCRATCH];
        self.run(&[&args, more].concat())
    }

    /// Runs the script of the last task in the runtime, on the version that it was pinned to.
    fn run_last_script(&self) -> Json {
        let task = self.cloud.luau_tasks().pop().unwrap();
        let number = task.version.unwrap();
        let versions = self.cloud.place_versions(PLACE);
        let version = versions.iter().find(|it| it.number == number).unwrap();
        let scene = Scene::open(Arc::from(version.bytes.to_vec())).unwrap();
        let request =
            RunRequest { source: task.script, name: "TaskScript".to_owned(), title: None };
        let stop = Rc::new(|| false);
        let ran = run_script(&scene, &request, RunLimits::default(), stop).unwrap();
        let mut returned = ran.result.unwrap();
        // The runtime knows no versions.
        returned["placeVersion"] = number.into();
        returned
    }

    fn entries(&self) -> Vec<Entry> {
        let ledger = Ledger::open(&self.home.path().join("vector")).unwrap();
        let records = ledger.read(Seq(0), 10_000).unwrap();
        records.into_iter().map(|record| record.entry).collect()
    }

    fn runs(&self) -> Vec<CloudRun> {
        let entries = self.entries().into_iter();
        let run = |entry| match entry {
            Entry::CloudRunStarted { run } => Some(*run),
            _ => None,
        };
        entries.filter_map(run).collect()
    }

    /// The paths of the tasks that Roblox has named.
    fn tasks(&self) -> Vec<String> {
        let entries = self.entries().into_iter();
        let task = |entry| match entry {
            Entry::CloudRunAccepted { task, .. } => Some(task),
            _ => None,
        };
        entries.filter_map(task).collect()
    }

    /// The counts of passed, failed and skipped cases of each finished run.
    fn counts(&self) -> Vec<[u64; 3]> {
        let entries = self.entries().into_iter();
        let count = |entry| match entry {
            Entry::CloudRunFinished { passed, failed, skipped, .. } => {
                Some([passed, failed, skipped])
            }
            _ => None,
        };
        entries.filter_map(count).collect()
    }

    fn uploads(&self) -> usize {
        let sent = self.cloud.requests();
        sent.iter().filter(|it| it.target.contains("versionType=")).count()
    }

    /// Waits until a request has arrived at the cloud.
    fn wait_for_request(&self, path: &str) {
        let limit = Instant::now() + Duration::from_mins(1);
        while !self.cloud.requests().iter().any(|it| it.target.contains(path)) {
            assert!(Instant::now() < limit, "no request for {path}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a command, and waits until its task is on record.
    fn spawn(&self, args: &[&str]) -> std::process::Child {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let limit = Instant::now() + Duration::from_mins(1);
        while self.tasks().is_empty() {
            assert!(Instant::now() < limit, "no task was started");
            thread::sleep(Duration::from_millis(50));
        }
        child
    }
}

/// A place with modules below ReplicatedStorage.
pub(super) fn place_of(modules: &[(&str, &str)]) -> Vec<u8> {
    let module = |(name, source): &(&str, &str)| {
        InstanceBuilder::new("ModuleScript").with_name(*name).with_property("Source", *source)
    };
    let storage =
        InstanceBuilder::new("ReplicatedStorage").with_children(modules.iter().map(module));
    let game = InstanceBuilder::new("DataModel")
        .with_child(InstanceBuilder::new("Workspace"))
        .with_child(storage);
    places::encode(&WeakDom::new(game), Format::Rbxl)
}

/// What the script returns for one spec whose case passed.
pub(super) fn passed() -> Json {
    json!({
        "format": 1, "placeVersion": 1, "seconds": 0.5, "modules": [],
        "specs": [{ "cases": [{ "name": "adds", "outcome": "passed", "seconds": 0.25 }] }],
    })
}

pub(super) fn complete(returned: Json) -> LuauOutcome {
    LuauOutcome { states: vec!["COMPLETE"], ..LuauOutcome::complete(vec![returned]) }
}

#[test]
fn place_is_saved_once_and_its_specs_run_in_that_version() {
    let bench = VerifyBench::new(&[("Add.spec", BAD), ("Shop", "return 1")]);
    let missing = bench.verify(&[]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("without results of specs"), "{}", missing.stderr);
    let task = &bench.cloud.luau_tasks()[0];
    assert_eq!((task.version, task.timeout.as_str()), (Some(1), "60s"));
    let logs = vec![["OUTPUT", "hello from the spec"], ["ERROR", "oh"]];
    bench.cloud.add_luau_outcome(LuauOutcome { logs, ..complete(bench.run_last_script()) });
    let place = bench.place.display().to_string();
    // The scratch place is known from the last run.
    let failed = bench.run(&["verify", &place, "--yes"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    assert_eq!(
        failed.stdout,
        "game.ReplicatedStorage[\"Add.spec\"]\n  ✓ adds\n  ✗ fails\n    \
         game.ReplicatedStorage[\"Add.spec\"]:3: expected 2 (number), got 1 (number)\n  - waits\n"
    );
    for says in [
        "has it as version 1 already",
        "1 passed, 1 failed, 1 skipped",
        "hello from the spec",
        "error: oh",
        "Ran in version 1 of place 40 of universe 30",
    ] {
        assert!(failed.stderr.contains(says), "{says}: {}", failed.stderr);
    }
    assert_eq!((bench.uploads(), bench.cloud.luau_tasks().len()), (1, 2));
    assert_eq!(bench.counts(), [[0, 0, 0], [1, 1, 1]]);
    assert!(bench.cloud.place_versions(PLACE).iter().all(|it| !it.is_published));
    // Other contents are another version.
    fs::write(&bench.place, place_of(&[("Add.spec", GOOD)])).unwrap();
    bench.cloud.add_luau_outcome(complete(json!({
        "format": 1, "placeVersion": 2, "modules": [],
        "specs": [{ "cases": [{ "name": "adds", "outcome": "passed" }] }],
    })));
    let passed = bench.run(&["verify", &place, "--yes"]);
    assert_eq!(passed.code, 0, "{}", passed.stderr);
    assert!(!passed.stderr.contains("Output of the task"), "{}", passed.stderr);
    assert_eq!(bench.cloud.luau_tasks()[2].version, Some(2));
    // What is saved to the scratch place was not deployed.
    let deploy = bench.run(&["deploy", &place, "--dry-run"]);
    assert!(deploy.stderr.contains("say where to upload it"), "{}", deploy.stderr);
}

#[test]
fn nothing_is_uploaded_without_a_yes() {
    let bench = VerifyBench::good();
    let place = bench.place.display().to_string();
    let asked = bench.run(&["verify", &place, "--scratch", SCRATCH]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(asked.stderr.contains("there is no terminal to ask on"), "{}", asked.stderr);
    let shown = bench.run(&["verify", &place, "--scratch", SCRATCH, "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for says in ["scratch: place 40 of universe 30", "runs: 1 spec, for at most 60 s"] {
        assert!(shown.stderr.contains(says), "{says}: {}", shown.stderr);
    }
    let nowhere = bench.run(&["verify", &place, "--yes"]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("--scratch UNIVERSE/PLACE"), "{}", nowhere.stderr);
    let mut keyless = bench.command(&["verify", &place, "--scratch", SCRATCH, "--yes"]);
    keyless.env_remove("ROBLOX_VERIFY_API_KEY");
    let keyless = binary::run_to_end(keyless, "");
    assert_eq!(keyless.code, 2, "{}", keyless.stderr);
    assert!(keyless.stderr.contains("luau-execution-session:write"), "{}", keyless.stderr);
    assert_eq!(bench.cloud.requests(), []);
}

#[test]
fn named_modules_are_required_in_the_place() {
    let modules = [("Good", "return 1"), ("Bad", "error('no')")];
    let bench = VerifyBench::new(&modules);
    let require =
        ["--require", "game.ReplicatedStorage.Good", "--require", "game.ReplicatedStorage.Bad"];
    bench.verify(&require);
    bench.cloud.add_luau_outcome(complete(bench.run_last_script()));
    let ran = bench.verify(&require);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("game.ReplicatedStorage.Good\n  ✓ can be required\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("game.ReplicatedStorage.Bad\n  ✗ can be required\n"),
        "{}",
        ran.stdout
    );
    let wrong = bench.verify(&["--require", "game.Workspace"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("is a Workspace, not a ModuleScript"), "{}", wrong.stderr);
}

#[test]
fn proposal_is_verified_before_it_is_applied() {
    let bench = VerifyBench::good();
    let before = fs::read(&bench.place).unwrap();
    let place = bench.place.display().to_string();
    let call = json!({ "tool": "create_instance", "args": {
        "className": "ModuleScript", "parentPath": "game.ReplicatedStorage",
        "props": { "Name": "New.spec", "Source": BAD },
    } });
    let propose = |more: &[&str]| -> u64 {
        let args = [&["edit", place.as_str(), "--ops", "-", "--json"], more].concat();
        let output = bench.home.run(&args, &call.to_string());
        let mut records = output.stdout.lines().filter(|line| line.contains("\"proposed\""));
        let record: Json = serde_json::from_str(records.next_back().unwrap()).unwrap();
        record["seq"].as_u64().unwrap()
    };
    let seq = propose(&[]);
    let number = seq.to_string();
    let proposal = ["--proposal", number.as_str()];
    let missing = bench.verify(&proposal);
    for says in [&format!("with proposal {seq} in Roblox's engine"), "runs: 2 specs"] {
        assert!(missing.stderr.contains(says), "{says}: {}", missing.stderr);
    }
    bench.cloud.add_luau_outcome(complete(bench.run_last_script()));
    let ran = bench.verify(&proposal);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("2 passed, 1 failed, 1 skipped"), "{}", ran.stderr);
    assert_eq!(
        bench.runs().iter().map(|run| run.proposal).collect::<Vec<_>>(),
        [Some(Seq(seq)); 2]
    );
    assert!(fs::read(&bench.place).unwrap() == before, "nothing is done to the place");
    // The place without it is another version.
    bench.cloud.add_luau_outcome(complete(json!({
        "format": 1, "placeVersion": 2, "modules": [],
        "specs": [{ "cases": [{ "name": "adds", "outcome": "passed" }] }],
    })));
    assert_eq!(bench.verify(&[]).code, 0);
    assert_eq!(bench.uploads(), 2);
    let applied = propose(&["--yes"]).to_string();
    let refused = |number: &str, says: &str| {
        let output = bench.verify(&["--proposal", number]);
        assert_eq!(output.code, 2, "{}", output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    };
    refused(&applied, "is in the place already");
    refused("1", "is not a proposal");
    refused("9999", "has no entry 9999");
}

#[test]
fn task_that_failed_says_what_to_do() {
    let bench = VerifyBench::good();
    let cancelled = LuauOutcome { states: vec!["CANCELLED"], ..LuauOutcome::complete(Vec::new()) };
    let other = json!({ "format": 1, "placeVersion": 9, "specs": [], "modules": [] });
    for (outcome, says) in [
        (
            LuauOutcome::failed("SCRIPT_ERROR", "TaskScript:1: oh"),
            "raised an error: TaskScript:1: oh",
        ),
        (LuauOutcome::failed("DEADLINE_EXCEEDED", ""), "did not end within 60 s"),
        (LuauOutcome::failed("OUTPUT_SIZE_LIMIT_EXCEEDED", ""), "with --root"),
        (LuauOutcome::failed("INTERNAL_ERROR", "busy"), "Roblox failed to run the task: busy"),
        (LuauOutcome::failed("NEW_CODE", ""), "The task failed. Run it again"),
        (cancelled, "was cancelled on Roblox. Run it again. Its logs are empty"),
        (complete(json!("x")), "not the results of specs"),
        (complete(other), "ran in version 9 of the place instead of version 1"),
    ] {
        let states = outcome.states.last().copied().into_iter().collect();
        bench.cloud.add_luau_outcome(LuauOutcome { states, ..outcome });
        let failed = bench.verify(&[]);
        assert_eq!(failed.code, 2, "{says}: {}", failed.stderr);
        assert!(failed.stderr.contains(says), "{says}: {}", failed.stderr);
    }
    // Each was recorded with its reason, and none is read again.
    let reasons = bench.entries().into_iter().filter(|entry| match entry {
        Entry::CloudRunFinished { failure, .. } => failure.is_some(),
        _ => false,
    });
    assert_eq!((reasons.count(), bench.runs().len(), bench.uploads()), (8, 8, 1));
}

#[test]
fn task_of_every_path_shape_is_followed() {
    let bench = VerifyBench::good();
    for shape in TaskPathShape::ALL {
        bench.cloud.add_luau_outcome(LuauOutcome { shape, ..complete(passed()) });
        let ran = bench.verify(&[]);
        assert_eq!(ran.code, 0, "{shape:?}: {}", ran.stderr);
    }
    let paths = bench.tasks();
    assert_eq!(paths.len(), 4);
    assert!(paths[2].contains("/luau-execution-sessions/"), "{paths:?}");
}

#[test]
fn limits_and_failures_in_the_middle_are_waited_for() {
    let bench = VerifyBench::good();
    let states = vec!["QUEUED", "PROCESSING", "PROCESSING", "COMPLETE"];
    bench.cloud.add_luau_outcome(LuauOutcome { states, ..complete(passed()) });
    let place = bench.place.display().to_string();
    let child = bench.spawn(&["verify", &place, "--scratch", SCRATCH, "--yes"]);
    bench.cloud.fail_next(Fault::too_many(1));
    // A failure that the client itself repeats three times.
    for _ in 0..3 {
        bench.cloud.fail_next(Fault::status(502, "Bad gateway"));
    }
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert_eq!((bench.cloud.luau_tasks().len(), bench.counts()), (1, vec![[1, 0, 0]]));
}

#[test]
fn killed_run_is_read_and_not_started_again() {
    let bench = VerifyBench::good();
    let states = [vec!["PROCESSING"; 6], vec!["COMPLETE"]].concat();
    bench.cloud.add_luau_outcome(LuauOutcome { states, ..complete(passed()) });
    let place = bench.place.display().to_string();
    let args = ["verify", place.as_str(), "--scratch", SCRATCH, "--yes"];
    let mut child = bench.spawn(&args);
    // Another process does not start it either.
    let second = bench.run(&args);
    assert_eq!(second.code, 2, "{}", second.stderr);
    assert!(second.stderr.contains("Another process waits"), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.counts(), [[0; 3]; 0]);
    let read = bench.run(&args);
    assert_eq!(read.code, 0, "{}", read.stderr);
    assert!(read.stderr.contains("was interrupted before"), "{}", read.stderr);
    assert_eq!((bench.cloud.luau_tasks().len(), bench.counts()), (1, vec![[1, 0, 0]]));
    // It has been read, so the next run is a new one.
    bench.cloud.add_luau_outcome(complete(passed()));
    assert_eq!(bench.run(&args).code, 0);
    assert_eq!((bench.cloud.luau_tasks().len(), bench.uploads()), (2, 1));
}

#[test]
fn run_that_may_have_started_is_not_repeated_unnoticed() {
    // Roblox starts the task, and its answer is lost.
    let bench = VerifyBench::good();
    bench.cloud.add_luau_outcome(complete(passed()));
    bench.cloud.add_luau_outcome(complete(passed()));
    let place = bench.place.display().to_string();
    let args = ["verify", place.as_str(), "--scratch", SCRATCH, "--yes"];
    bench.cloud.fail_at("luau-execution-session-tasks", Fault::Truncate(4));
    let lost = bench.run(&args);
    assert_eq!(lost.code, 2, "{}", lost.stderr);
    assert!(lost.stderr.contains("they may run twice"), "{}", lost.stderr);
    assert_eq!(bench.cloud.luau_tasks().len(), 1, "it is not sent a second time");
    let again = bench.dry_run();
    assert!(again.stderr.contains("the specs may run twice"), "{}", again.stderr);
    assert_eq!(bench.run(&args).code, 0);
    let unclear = bench
        .entries()
        .into_iter()
        .filter(|entry| matches!(entry, Entry::CloudRunFinished { is_unclear: true, .. }));
    assert_eq!((unclear.count(), bench.cloud.luau_tasks().len(), bench.uploads()), (1, 2, 1));
    // What was said once is not said of later runs.
    let later = bench.dry_run();
    assert!(!later.stderr.contains("may run twice"), "{}", later.stderr);
}

#[test]
fn killed_start_is_found_whether_roblox_acted_or_not() {
    for acts in [false, true] {
        let bench = VerifyBench::good();
        bench.cloud.fail_at("luau-execution-session-tasks", Fault::Silence { acts });
        let place = bench.place.display().to_string();
        let args = ["verify", place.as_str(), "--scratch", SCRATCH, "--yes"];
        let mut command = bench.command(&args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        bench.wait_for_request("luau-execution-session-tasks");
        let second = bench.run(&args);
        assert!(second.stderr.contains("Another process waits"), "{}", second.stderr);
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = bench.dry_run();
        assert!(shown.stderr.contains("whether Roblox started run"), "{acts}: {}", shown.stderr);
        bench.cloud.add_luau_outcome(complete(passed()));
        let again = bench.run(&args);
        assert_eq!(again.code, 0, "{acts}: {}", again.stderr);
        let tasks = 1 + usize::from(acts);
        assert_eq!((bench.cloud.luau_tasks().len(), bench.uploads()), (tasks, 1), "{acts}");
    }
}

#[cfg(unix)]
#[test]
fn interrupt_ends_the_wait_and_the_results_are_read_later() {
    let bench = VerifyBench::good();
    let states = [vec!["PROCESSING"; 30], vec!["COMPLETE"]].concat();
    bench.cloud.add_luau_outcome(LuauOutcome { states, ..complete(passed()) });
    let place = bench.place.display().to_string();
    let args = ["verify", place.as_str(), "--scratch", SCRATCH, "--yes"];
    let child = bench.spawn(&args);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("goes on at Roblox until its time limit of 60 s"), "{stderr}");
    assert_eq!(bench.counts(), [[0; 3]; 0]);
    bench.cloud.end_tasks();
    let read = bench.run(&args);
    assert_eq!(read.code, 0, "{}", read.stderr);
    assert!(read.stderr.contains("its results are read"), "{}", read.stderr);
    assert_eq!((bench.cloud.luau_tasks().len(), bench.counts()), (1, vec![[1, 0, 0]]));
}

#[test]
fn scratch_place_of_the_settings_is_used_without_an_earlier_run() {
    let bench = VerifyBench::good();
    let place = bench.place.display().to_string();
    let folder = bench.home.path().join("vector");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("vector.toml"), "[verify]\nscratch = \"31/41\"\n").unwrap();
    let shown = bench.run(&["verify", &place, "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stderr.contains("scratch: place 41 of universe 31"), "{}", shown.stderr);
    bench.cloud.add_luau_outcome(complete(passed()));
    assert_eq!(bench.verify(&[]).code, 0);
    // The place has one of its own now.
    let shown = bench.run(&["verify", &place, "--dry-run"]);
    assert!(shown.stderr.contains("scratch: place 40 of universe 30"), "{}", shown.stderr);
}

#[test]
fn live_place_is_refused() {
    let bench = VerifyBench::good();
    let refused = |args: &[&str], says: &str| {
        let output = bench.run(args);
        assert_eq!(output.code, 2, "{}", output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
        assert_eq!(bench.cloud.luau_tasks().len(), 0);
    };
    let place = bench.place.display().to_string();
    bench.cloud.add_places(UNIVERSE, &[42]);
    let mut publish = bench.command(&[
        "deploy",
        &place,
        "--universe",
        "30",
        "--place-id",
        "42",
        "--publish",
        "--yes",
        "--confirm-publish",
        "42",
    ]);
    publish.env("ROBLOX_PUBLISH_API_KEY", fake_cloud::API_KEY);
    assert_eq!(binary::run_to_end(publish, "").code, 0);
    let live = ["verify", place.as_str(), "--yes", "--scratch", "30/42"];
    refused(&live, "this ledger has published a version of it");
    refused(&[&live[..], &["--same-universe"]].concat(), "Place 42 is a live place");
    let shared = ["verify", place.as_str(), "--yes", "--scratch", SCRATCH];
    refused(&shared, "its data stores are those of the live game");
    let folder = bench.home.path().join("game");
    fs::create_dir_all(&folder).unwrap();
    let project = r#"{ "name": "Game", "gameId": 31, "placeId": 50, "servePlaceIds": [41],
        "tree": { "$className": "DataModel", "Workspace": {}, "ReplicatedStorage": { "$path": "src" } } }"#;
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("default.project.json"), project).unwrap();
    fs::write(folder.join("src/Add.spec.luau"), GOOD).unwrap();
    let folder = folder.display().to_string();
    let project =
        |scratch: &'static str| ["verify", folder.as_str(), "--yes", "--scratch", scratch];
    refused(&project("9/50"), "`placeId` or `servePlaceIds`");
    refused(&project("31/41"), "`placeId` or `servePlaceIds`");
    refused(&project("31/43"), "--same-universe");
    bench.cloud.add_luau_outcome(complete(passed()));
    let accepted = bench.run(&[&shared[..], &["--same-universe"]].concat());
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
}

#[test]
fn effects_beyond_the_place_need_a_second_yes() {
    let spec = "local stores = require(script.Parent.Stores)\nreturn function() end";
    let modules = [("A.spec", spec), ("Stores", STORES), ("Other", STORES)];
    let bench = VerifyBench::new(&modules);
    let refused = bench.verify(&[]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    let found =
        "game.ReplicatedStorage.Stores: Line 1 reaches DataStoreService, whose data is real.";
    assert!(refused.stderr.contains(found), "{}", refused.stderr);
    assert!(refused.stderr.contains("--allow-side-effects"), "{}", refused.stderr);
    // What nothing requires does not run.
    assert!(!refused.stderr.contains("ReplicatedStorage.Other"), "{}", refused.stderr);
    let test = bench.test(&[]);
    assert_eq!(test.code, 2, "{}", test.stderr);
    assert_eq!(bench.cloud.requests(), []);
    bench.cloud.add_luau_outcome(complete(passed()));
    let allowed = bench.verify(&["--allow-side-effects"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    // A require that is only known as the spec runs can reach every module.
    let spec = "local stores = require(script.Parent[tostring(1)])\nreturn function() end";
    fs::write(&bench.place, place_of(&[("A.spec", spec), ("Other", STORES)])).unwrap();
    let refused = bench.verify(&[]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("ReplicatedStorage.Other: Line 1"), "{}", refused.stderr);
    assert!(refused.stderr.contains("all modules were looked through"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn person_is_asked_twice_if_there_are_effects() {
    use vector_tests::person::Person;
    for (second, code) in [("n", 3), ("y", 0)] {
        let bench = VerifyBench::new(&[("A.spec", STORES)]);
        bench.cloud.add_luau_outcome(complete(passed()));
        let place = bench.place.display().to_string();
        let mut person = Person::runs(bench.command(&["verify", &place, "--scratch", SCRATCH]));
        person.answers("and run this there?", "y");
        person.answers("with these effects beyond the place?", second);
        assert_eq!(person.sees_the_end().0, code, "{second}");
        assert_eq!(bench.cloud.luau_tasks().len(), usize::from(code == 0), "{second}");
    }
}

#[test]
fn test_in_the_cloud_prints_what_the_runtime_prints() {
    let bench = VerifyBench::new(&[("Add.spec", BAD)]);
    let place = bench.place.display().to_string();
    bench.test(&["--timeout", "90"]);
    assert_eq!(bench.cloud.luau_tasks()[0].timeout, "90s");
    bench.cloud.add_luau_outcome(complete(bench.run_last_script()));
    let there = bench.test(&["--timeout", "90"]);
    let here = bench.run(&["test", &place]);
    assert_eq!((there.code, &there.stdout), (here.code, &here.stdout), "{}", there.stderr);
    assert_eq!(there.code, 1);
    bench.cloud.add_luau_outcome(complete(bench.run_last_script()));
    let lines = |output: &Output| -> Vec<Json> {
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let mut there = lines(&bench.test(&["--timeout", "90", "--json"]));
    assert!(there[0]["seconds"].is_number(), "{}", there[0]);
    for line in &mut there {
        line.as_object_mut().unwrap().remove("seconds");
    }
    assert_eq!(there, lines(&bench.run(&["test", &place, "--json"])));
    let refused = |args: &[&str], says: &str| {
        let output = bench.run(&[&["test", place.as_str()], args].concat());
        assert_eq!(output.code, 2, "{}", output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    };
    refused(&["--scratch", SCRATCH], "add --engine cloud");
    refused(&["--engine", "cloud", "--scratch", "40"], "123/456");
    refused(&["--engine", "cloud", "--timeout", "301"], "at most 300 s");
    refused(&["--engine", "cloud", "--root", "game.Workspace"], "has no specs below");
}
