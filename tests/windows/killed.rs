//! Processes that are killed at a random moment: a place is always whole, and the next run settles
//! what was begun.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use random_draws::RandomDraws;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::is_for_windows;

const CALLS: &str = "\
{\"tool\":\"create_instance\",\"args\":{\"className\":\"Folder\",\"parentPath\":\"game.Workspace\",\"props\":{\"Name\":\"Kept\"}}}
{\"tool\":\"delete_instance\",\"args\":{\"selector\":\"Part\"}}
";

/// How often each is killed; `VECTOR_KILLS` names another number.
fn rounds() -> usize {
    std::env::var("VECTOR_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(12)
}

#[test]
fn killed_edit_and_revert_leave_whole_places() {
    if !is_for_windows() {
        return;
    }
    let mut draws = RandomDraws::from_seed(25);
    for round in 0..rounds() {
        let format = [Format::Rbxl, Format::Rbxlx][round % 2];
        let home = Home::new();
        let file = home.path().join(format!("place.{}", format.extension()));
        fs::write(&file, places::sample(format)).unwrap();
        let before = fs::read(&file).unwrap();
        let calls = home.path().join("calls.jsonl");
        fs::write(&calls, CALLS).unwrap();
        let (place, calls) = (file.display().to_string(), calls.display().to_string());
        let nothing = ["edit", &place, "--prompt", "delete #NotThere"];
        // A whole run: how long it takes, and what it leaves.
        let whole = Home::new();
        let copy = whole.path().join(file.file_name().unwrap());
        fs::write(&copy, &before).unwrap();
        let begun = Instant::now();
        let run = whole.run(&["edit", &copy.display().to_string(), "--ops", &calls, "--yes"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (takes, after) = (begun.elapsed(), fs::read(&copy).unwrap());
        let mut kill = |args: &[&str]| {
            let mut command = home.command(args);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            thread::sleep(takes.mul_f64(draws.below(1000) as f64 / 1000.0));
            child.kill().unwrap();
            child.wait().unwrap();
        };
        let is_kept = || {
            let place = places::decode(&fs::read(&file).unwrap());
            place.descendants().any(|it| it.name == "Kept")
        };
        kill(&["edit", &place, "--ops", &calls, "--yes"]);
        for after_next in [false, true] {
            let now = fs::read(&file).unwrap();
            assert!(now == before || now == after, "round {round}, after the next: {after_next}");
            if !after_next {
                assert_eq!(home.run(&nothing, "").code, 1);
            }
        }
        if is_kept() {
            kill(&["revert", "1", "--yes"]);
            // Each is whole, but a run is reverted proposal by proposal.
            is_kept();
            assert_eq!(home.run(&nothing, "").code, 1);
            home.run(&["revert", "1", "--yes"], "");
            assert!(!is_kept(), "round {round}: it was not reverted");
        }
        let doctor = home.run(&["doctor"], "");
        assert!(doctor.stdout.contains("intact"), "round {round}: {}", doctor.stdout);
    }
}

#[test]
fn killed_daemon_leaves_a_whole_place_and_serves_again() {
    if !is_for_windows() {
        return;
    }
    let mut draws = RandomDraws::from_seed(26);
    for round in 0..rounds() {
        let home = Home::new();
        let ledger = home.path().join("vector");
        let file = home.path().join("place.rbxl");
        fs::write(&file, places::sample(Format::Rbxl)).unwrap();
        let before = fs::read(&file).unwrap();
        let daemon = Daemon::start(binary::vector(), &ledger);
        let mut human = Human::of(&daemon, &ledger);
        let opened = human.open(&file).ok();
        human.ask(&opened, "delete Part");
        let card = human.card();
        // The daemon is killed before it answers, or just after.
        let decided = thread::spawn(move || human.approve(card));
        thread::sleep(Duration::from_micros(draws.below(60_000) as u64));
        daemon.kill();
        let _ = decided.join();
        let killed = fs::read(&file).unwrap();
        places::decode(&killed);
        let again = Daemon::start(binary::vector(), &ledger);
        Human::of(&again, &ledger).open(&file).ok();
        let place = places::decode(&fs::read(&file).unwrap());
        let is_changed = !place.descendants().any(|it| it.class == "Part");
        let now = fs::read(&file).unwrap();
        assert!(now == before || is_changed, "round {round}: half a change");
        again.kill();
    }
}
