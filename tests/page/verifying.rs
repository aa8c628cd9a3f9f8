//! Specs in Roblox's engine from the page: what is sent is shown first, the run is seen, and its results
//! stay with the proposal.

use fake_cloud::{FakeCloud, Fault, LuauOutcome};

use super::store::{bench, cloud_variables};
use super::*;

const SPEC: &str = "local S = game:GetService('DataStoreService')\n\
                    return function() it('adds', function() end) end";

/// An outcome of a task in version 1, after some requests for its state.
pub(super) fn outcome(waits: usize) -> LuauOutcome {
    let returned = json!({
        "format": 1, "placeVersion": 1, "seconds": 0.5, "modules": [],
        "specs": [{ "cases": [
            { "name": "saves the stage", "outcome": "passed", "seconds": 0.25 },
            { "name": "counts <b>stages</b>", "outcome": "failed", "seconds": 0.25,
              "failure": { "message": "expected 4 (number), got 3 (number)" } },
        ] }],
    });
    let states = [vec!["PROCESSING"; waits], vec!["COMPLETE"]].concat();
    let logs = vec![["OUTPUT", "3 stages are known"], ["WARNING", "The last stage has no end."]];
    LuauOutcome { states, logs, ..LuauOutcome::complete(vec![returned]) }
}

/// A daemon that serves a Rojo project and uses a cloud with a scratch place, with a pending proposal of
/// a spec.
fn project_with_spec(cloud: &FakeCloud) -> (Bench, u64) {
    cloud.add_places(30, &[40]);
    let home = Home::new();
    let project = home.path().join("game");
    fs::create_dir_all(project.join("src")).unwrap();
    let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel",
        "Workspace": { "$className": "Workspace" }, "ReplicatedStorage": { "Stages": { "$path": "src" } } } }"#;
    fs::write(project.join("default.project.json"), tree).unwrap();
    fs::write(project.join("src/Count.luau"), "return 3\n").unwrap();
    let mut command = std::process::Command::new(binary::vector());
    command.args(["serve", "--port", "0", "--project"]).arg(&project);
    let variables = cloud_variables(cloud).to_vec();
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let daemon = Daemon::run(command, &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let mut bench = Bench { home, daemon: Some(daemon), human, file: project, calls: 0, variables };
    let spec = json!({
        "className": "ModuleScript", "parentPath": "game.ReplicatedStorage.Stages",
        "props": { "Name": "Stages.spec", "Source": SPEC },
    });
    let proposal = bench.propose("create_instance", &spec);
    (bench, proposal)
}

/// A cloud with a scratch place, and a daemon with a pending proposal of a spec.
fn bench_with_spec(cloud: &FakeCloud) -> (Bench, u64) {
    cloud.add_places(30, &[40]);
    let mut bench = bench(cloud);
    bench.variables = cloud_variables(cloud).to_vec();
    let spec = json!({
        "className": "ModuleScript", "parentPath": "game.Workspace",
        "props": { "Name": "Stages.spec", "Source": SPEC },
    });
    let proposal = bench.propose("create_instance", &spec);
    (bench, proposal)
}

fn open_proposal(bench: &Bench, browser: &Browser<'_>, proposal: u64) {
    bench.enter(browser);
    browser.run("location.hash = arguments[0]", &[format!("#/proposals/{proposal}").into()]);
    browser.until("document.querySelector('#one .verify [data-act=verify]')");
}

fn press(browser: &Browser<'_>, act: &str) {
    let button = format!("#one .verify [data-act={act}]");
    let into_view =
        format!("document.querySelector('{button}').scrollIntoView({{ block: 'center' }})");
    browser.until(&format!("document.querySelector('{button}')"));
    browser.run(&into_view, &[]);
    browser.click(&button);
}

fn name_scratch(browser: &Browser<'_>) {
    for (name, id) in [("universe", "30"), ("place", "40")] {
        browser.until(&format!("document.querySelector('#dialog[open] [name={name}]')"));
        browser.click(&format!("#dialog [name={name}]"));
        browser.enter(id);
    }
    browser.click("#dialog form[data-act=verify-scratch] button.main");
    browser.until_shown("#dialog .facts", "place 40 of universe 30");
}

/// Answers the dialog once its yes can be pressed.
pub(super) fn say_yes(browser: &Browser<'_>) {
    browser.until("document.querySelector('#dialog[open] [name=effects]')");
    browser.click("#dialog [name=effects]");
    browser
        .until("!document.querySelector('#dialog [data-act=start-verify] [type=submit]').disabled");
    browser.click("#dialog [data-act=start-verify] [type=submit]");
    browser.until("!document.querySelector('#dialog').open");
}

#[test]
fn proposal_is_verified_after_two_yeses_and_keeps_its_results() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(Vec::new());
    let (mut bench, proposal) = bench_with_spec(&cloud);
    cloud.add_luau_outcome(outcome(1_000));
    let browser = stage.browser();
    open_proposal(&bench, &browser, proposal);
    press(&browser, "verify");
    name_scratch(&browser);
    let shown = browser.text("#dialog");
    for says in [
        "1 spec, for at most 60 s",
        "saved and not published",
        "DataStoreService, whose data is real",
    ] {
        assert!(shown.contains(says), "{says} is not in {shown}");
    }
    // The second yes is missing.
    browser
        .until("!document.querySelector('#dialog [data-act=start-verify] [type=submit]').disabled");
    browser.click("#dialog [data-act=start-verify] [type=submit]");
    assert_eq!(browser.is("document.querySelector('#dialog').open"), true);
    assert_eq!(cloud.requests(), []);
    say_yes(&browser);
    browser.until_shown("#one .verify .running", "Specs run on Roblox");
    press(&browser, "cancel-verify");
    browser.until_shown("#one .verify .bad", "goes on at Roblox until its time limit of 60 s");
    // What Roblox has is read later, and nothing is started a second time.
    browser.reload();
    browser.until_shown("#one .verify [data-act=verify]", "Read the results");
    cloud.end_tasks();
    press(&browser, "verify");
    browser.until_shown("#dialog", "was interrupted: its results are read, and nothing is started");
    say_yes(&browser);
    browser.until_shown("#one .cloud-run", "1 passed, 1 failed");
    let details = "document.querySelector('#one .cloud-run details')";
    browser.run(&format!("{details}.open = true"), &[]);
    let shown = browser.text("#one .cloud-run");
    for says in [
        "counts <b>stages</b>",
        "expected 4 (number), got 3 (number)",
        "The last stage has no end.",
    ] {
        assert!(shown.contains(says), "{says} is not in {shown}");
    }
    assert_eq!((cloud.luau_tasks().len(), cloud.place_versions(40).len()), (1, 1));
    // A restart of the daemon loses nothing.
    browser.expect("net::ERR_");
    let port = bench.kill();
    browser.until_shown("#link", "Disconnected");
    bench.start_on(port);
    until_connected(&browser);
    browser.until_shown("#one .cloud-run", "1 passed, 1 failed");
    let task = bench.human.shown(proposal)["workflow"].clone();
    browser.run("location.hash = arguments[0]", &[format!("#/now/{task}").into()]);
    browser.until_shown("#log .card .cloud-run", "1 passed, 1 failed");
}

#[test]
fn proposal_of_a_project_is_verified_with_its_files() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(Vec::new());
    let (bench, proposal) = project_with_spec(&cloud);
    cloud.add_luau_outcome(outcome(0));
    let browser = stage.browser();
    open_proposal(&bench, &browser, proposal);
    press(&browser, "verify");
    name_scratch(&browser);
    browser.until_shown("#dialog", "1 spec, for at most 60 s");
    say_yes(&browser);
    browser.until_shown("#one .cloud-run", "1 passed, 1 failed");
    let [version] = &cloud.place_versions(40)[..] else { panic!("one version is saved") };
    assert!(!version.is_published);
    let saved = places::decode(&version.bytes);
    let names: Vec<&str> = saved.descendants().map(|it| it.name.as_str()).collect();
    assert!(names.contains(&"Count") && names.contains(&"Stages.spec"), "{names:?}");
    assert!(!bench.file.join("src/Stages.spec.luau").exists(), "the proposal was not applied");
}

fn until_connected(browser: &Browser<'_>) {
    browser.until("document.querySelector('#link').dataset.state === 'here'");
}

#[test]
fn killed_daemon_leaves_what_is_known_on_the_card() {
    let Some(stage) = Stage::set() else { return };
    for (target, says) in [
        ("versionType=", "Roblox may have its version"),
        ("luau-execution-session-tasks", "It is not known whether Roblox ran the specs"),
    ] {
        let cloud = FakeCloud::start(Vec::new());
        let (mut bench, proposal) = bench_with_spec(&cloud);
        cloud.fail_at(target, Fault::Silence { acts: true });
        let browser = stage.browser();
        open_proposal(&bench, &browser, proposal);
        press(&browser, "verify");
        name_scratch(&browser);
        say_yes(&browser);
        let arrived = || cloud.requests().iter().any(|it| it.target.contains(target));
        let limit = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while !arrived() {
            assert!(std::time::Instant::now() < limit, "no request for {target}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        browser.expect("net::ERR_");
        let port = bench.kill();
        browser.until_shown("#link", "Disconnected");
        bench.start_on(port);
        until_connected(&browser);
        browser.until_shown("#one .verify", says);
        // The next run is asked for, and ends.
        cloud.add_luau_outcome(outcome(0));
        press(&browser, "verify");
        browser.until("document.querySelector('#dialog[open]')");
        if browser.is("document.querySelector('#dialog .facts') === null") == true {
            name_scratch(&browser);
        } else {
            browser.until_shown("#dialog .facts", "place 40 of universe 30");
        }
        say_yes(&browser);
        browser.until_shown("#one .cloud-run", "1 passed, 1 failed");
        assert_eq!(cloud.place_versions(40).len(), 1, "{target}");
    }
}
