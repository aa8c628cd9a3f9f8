//! `vector doctor --studio`: the probe, in the simulated Studio. Its report differs where the switches
//! of the simulator do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value as Json;
use studio_sim::{Options, Permission, Signals, Studio, Switches};
use vector_tests::binary::Home;

use super::until_shown;

const BUTTON: &str = "Run Vector's check";

/// What the command printed and wrote, and what it left in Studio's folder.
struct Probed {
    printed: String,
    report: Json,
    left: usize,
}

/// A command that waits for a report; it ends with the test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the command, and waits until it has installed the probe in `folder`.
fn start(home: &Home, folder: &Path, args: &[&str]) -> Waiting {
    let mut command = home.command(&["doctor", "--studio", "--folder"]);
    command.arg(folder).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waiting = Waiting(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(waiting.0.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("Installed "), "{line}");
    waiting
}

/// Runs the command, and the probe that it installs in a Studio, whose place may be prepared first.
fn probe(options: Options<'_>, args: &[&str], prepare: impl FnOnce(&Studio)) -> Probed {
    let home = Home::new();
    let (folder, file) = (home.path().join("Plugins"), home.path().join("report.json"));
    let report = ["--report", file.to_str().unwrap()];
    let mut waiting = start(&home, &folder, &[&report, args].concat());
    let studio = Studio::new(options).unwrap();
    studio.register_asset("rbxassetid://0", Err("Unable to find the asset"));
    studio.load_plugin(&fs::read(folder.join("VectorProbe.rbxm")).unwrap()).unwrap();
    until_shown(&studio, "in a new Baseplate");
    studio.click_toolbar(BUTTON).unwrap();
    prepare(&studio);
    let before = studio.snapshot();
    until_shown(&studio, "Done. The report is in the terminal");
    assert_eq!(studio.snapshot(), before, "something was left in the place");
    assert_eq!(studio.errors(), Vec::<String>::new());
    assert_eq!(studio.not_simulated(), Vec::<String>::new());
    assert_eq!(studio.deprecated_calls(), ["DataModel:GetObjects"]);
    let mut printed = String::new();
    waiting.0.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(waiting.0.wait().unwrap().success());
    let report = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    Probed { printed, report, left: fs::read_dir(folder).unwrap().count() }
}

/// The answers of a report by their questions, without the figures of this machine.
fn answers(report: &Json) -> BTreeMap<String, String> {
    let all = report["answers"].as_array().unwrap().iter();
    all.map(|it| {
        let id = it["id"].as_str().unwrap().to_owned();
        let answer = format!("{} {}", it["value"], it["error"]);
        let figure = if id.starts_with("cost_") { String::new() } else { answer };
        (id, figure)
    })
    .collect()
}

fn verdicts(printed: &str, verdict: &str) -> Vec<String> {
    let printed: Json = serde_json::from_str(printed).unwrap();
    let all = printed["answers"].as_array().unwrap().iter();
    let found = all.filter(|it| it["verdict"] == verdict);
    found.map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn reports_differ_exactly_where_the_switches_do() {
    let options = |switches| Options { switches, signals: Signals::Deferred, ..Options::default() };
    let kind = probe(options(Switches::default()), &["--json"], |_| {});
    let hostile = probe(options(Switches::HOSTILE), &["--json"], |_| {});
    assert_eq!((kind.left, hostile.left), (0, 0));
    let (one, other) = (answers(&kind.report), answers(&hostile.report));
    assert!(one.len() >= 40, "{}", one.len());
    assert!(one.keys().eq(other.keys()));
    let differ: Vec<&str> =
        one.keys().filter(|id| one[*id] != other[*id]).map(String::as_str).collect();
    let switched =
        ["changed_names", "frame_rate", "label_limit", "services", "undo_text", "weak_tables"];
    assert_eq!(differ, switched);
    assert_eq!(verdicts(&kind.printed, "otherwise"), [""; 0]);
    assert_eq!(verdicts(&kind.printed, "failed"), [""; 0]);
    let mut otherwise = verdicts(&hostile.printed, "otherwise");
    otherwise.sort();
    // Nothing is assumed of the services.
    assert_eq!(otherwise, switched.into_iter().filter(|it| *it != "services").collect::<Vec<_>>());
    assert_eq!(Switches::from_report(&kind.report), Switches::default());
    // The probe does not ask how assets are loaded, and nobody answers its dialogs.
    let hostile_but = Switches { loading_blocks: false, dialogs_wait: false, ..Switches::HOSTILE };
    assert_eq!(Switches::from_report(&hostile.report), hostile_but);
    let unknown = "does not know";
    assert!(!kind.printed.contains(unknown), "{}", kind.printed);
}

#[test]
fn probe_waits_for_the_permission_and_says_what_it_found() {
    let options = Options { http: Permission::Asks, ..Options::default() };
    let probed = probe(options, &[], |studio| {
        until_shown(studio, "allow it");
        studio.set_http(Permission::Allowed);
    });
    assert!(probed.printed.contains("as Vector assumes"), "{}", probed.printed);
    assert!(probed.printed.contains("Microseconds to read a property: "), "{}", probed.printed);
    assert!(probed.printed.contains("attach it to an issue"), "{}", probed.printed);
    assert_ne!(answers(&probed.report)["first_request"], "\"no error\" null");
    assert!(probed.report["host"].as_str().unwrap().starts_with("127.0.0.1:"));
}

#[test]
fn place_that_is_in_use_is_not_touched() {
    let home = Home::new();
    let folder = home.path().join("Plugins");
    let _waiting = start(&home, &folder, &[]);
    let studio = Studio::new(Options::default()).unwrap();
    studio.eval("Instance.new('Model', workspace).Name = 'Mine'").unwrap();
    studio.load_plugin(&fs::read(folder.join("VectorProbe.rbxm")).unwrap()).unwrap();
    let before = studio.snapshot();
    until_shown(&studio, "in a new Baseplate");
    studio.click_toolbar(BUTTON).unwrap();
    until_shown(&studio, "This place is not new");
    assert_eq!(studio.snapshot(), before);
    assert_eq!(studio.http_log().len(), 0);
}
