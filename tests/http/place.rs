//! Place and model files that the daemon has open: requested and decided by the user, written in
//! place, and changed by other programs meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

/// A daemon, its user, and a place beside the ledger.
pub(super) struct Bench {
    home: Home,
    daemon: Option<Daemon>,
    pub(super) human: Human,
    pub(super) file: PathBuf,
}

impl Bench {
    fn new(format: Format) -> Self {
        let home = Home::new();
        let file = home.path().join(format!("place.{}", format.extension()));
        fs::write(&file, places::sample(format)).unwrap();
        let daemon = Daemon::start(binary::vector(), &ledger(&home));
        let human = Human::of(&daemon, &ledger(&home));
        Self { home, daemon: Some(daemon), human, file }
    }

    /// A bench with the place open.
    pub(super) fn open(format: Format) -> (Self, Json) {
        let bench = Self::new(format);
        let opened = bench.human.open(&bench.file).ok();
        (bench, opened)
    }

    /// Runs a command in the user's home, and returns its output.
    pub(super) fn vector(&self, args: &[&str]) -> String {
        let run = self.home.run(args, "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    }

    fn kill(&mut self) {
        self.daemon.take().unwrap().kill();
    }

    fn stop(&mut self) {
        self.human.call("POST", "/api/stop", &json!({})).ok();
        self.daemon.take().unwrap().ends();
    }

    /// Starts the daemon with the place.
    fn start(&mut self) -> Json {
        let daemon = Daemon::of_place(binary::vector(), &ledger(&self.home), &self.file);
        self.human = Human::of(&daemon, &ledger(&self.home));
        self.daemon = Some(daemon);
        let opened = self.human.open(&self.file).ok();
        let sessions = self.human.call("GET", "/api/sessions", &Json::Null).ok();
        let sessions = sessions["sessions"].as_array().unwrap().clone();
        assert_eq!(sessions.len(), 1, "it was open already");
        assert_eq!(sessions[0]["session"], opened["session"]);
        assert!(sessions[0]["instances"].as_u64().unwrap() > 5, "{}", sessions[0]);
        opened
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        fs::read(&self.file).unwrap()
    }

    /// The bytes that `vector edit` would make of the file as it is now, from another home.
    fn edited(&self, request: &str) -> Vec<u8> {
        let home = Home::new();
        let copy = home.path().join(self.file.file_name().unwrap());
        fs::copy(&self.file, &copy).unwrap();
        let copy = copy.display().to_string();
        let run = home.run(&["edit", &copy, "--prompt", request, "--yes"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        fs::read(copy).unwrap()
    }

    pub(super) fn waiting(&self) -> usize {
        let waiting = self.human.call("GET", "/api/proposals", &Json::Null).ok();
        waiting["proposals"].as_array().unwrap().len()
    }
}

/// The ledger folder that the commands of this home use.
fn ledger(home: &Home) -> PathBuf {
    home.path().join("vector")
}

/// Replaces a file by a rename, as most programs save.
fn save(file: &Path, bytes: &[u8]) {
    let new = file.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::rename(&new, file).unwrap();
}

const FADE: &str = "set Transparency = 0.5 on #Baseplate";
/// Changes the same property as `FADE`.
const CLEAR: &str = "set Transparency = 0.25 on #Baseplate";
/// Changes another instance.
const LAMP: &str = "set Transparency = 0.75 on #Lamp";

#[test]
fn approved_proposal_writes_the_same_bytes_as_vector_edit() {
    for format in Format::ALL {
        let (mut bench, opened) = Bench::open(format);
        let before = bench.bytes();
        let expected = bench.edited(FADE);
        assert!(expected != before);
        bench.human.ask(&opened, FADE);
        let card = bench.human.card();
        assert!(bench.bytes() == before, "nothing is written before a yes");
        bench.human.approve(card).ok();
        bench.human.until("done");
        assert_eq!(bench.human.shown(card)["status"], "applied");
        assert!(bench.bytes() == expected, "{format:?}");
        // Also on top of the written file, as if it had been read again.
        let expected = bench.edited(LAMP);
        bench.human.ask(&opened, LAMP);
        let card = bench.human.card();
        bench.human.approve(card).ok();
        bench.human.until_status(card, "applied");
        assert!(bench.bytes() == expected, "{format:?}");
    }
}

#[test]
fn rejected_proposal_leaves_the_file_unchanged() {
    let (mut bench, opened) = Bench::open(Format::Rbxlx);
    let before = bench.bytes();
    let workflow = bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    bench.human.decide(card, &json!({ "say": "reject", "reason": "too pale" })).ok();
    bench.human.until("done");
    assert!(bench.bytes() == before);
    assert_eq!(bench.human.shown(card)["status"], "rejected");
    let path = format!("/api/workflows/{workflow}");
    let workflow = bench.human.call("GET", &path, &Json::Null).ok();
    assert_eq!(workflow["session"], opened["session"]);
    assert_eq!(
        (&workflow["state"], &workflow["outcome"]),
        (&json!("finished"), &json!("not_approved"))
    );
}

#[test]
fn rejected_revert_ends_as_not_approved() {
    let (mut bench, opened) = Bench::open(Format::Rbxlx);
    bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    bench.human.approve(card).ok();
    bench.human.until("done");
    let path = format!("/api/proposals/{card}/revert");
    bench.human.call("POST", &path, &json!({})).ok();
    let back = bench.human.card();
    bench.human.decide(back, &json!({ "say": "reject" })).ok();
    assert_eq!(bench.human.until("done")["outcome"], "not_approved");
}

#[test]
fn compatible_proposal_is_applied_on_top_of_external_save() {
    for format in Format::ALL {
        let (mut bench, opened) = Bench::open(format);
        bench.human.ask(&opened, FADE);
        let card = bench.human.card();
        let shown = bench.human.shown(card);
        save(&bench.file, &bench.edited(LAMP));
        let expected = bench.edited(FADE);
        // Approve at once: the daemon may not have noticed yet that the file changed.
        bench.human.decide_on(&shown, &json!({ "say": "approve" })).ok();
        bench.human.until_status(card, "applied");
        assert!(bench.bytes() == expected, "{format:?}");
    }
}

#[test]
fn proposal_is_replanned_after_a_conflicting_external_save() {
    for format in Format::ALL {
        let (mut bench, opened) = Bench::open(format);
        bench.human.ask(&opened, FADE);
        let first = bench.human.card();
        let shown = bench.human.shown(first);
        let theirs = bench.edited(CLEAR);
        save(&bench.file, &theirs);
        let refused = bench.human.decide_on(&shown, &json!({ "say": "approve" }));
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert_eq!(bench.human.shown(first)["status"], "withdrawn");
        let again = bench.human.card();
        assert_ne!(first, again);
        assert!(bench.bytes() == theirs);
        let expected = bench.edited(FADE);
        bench.human.approve(again).ok();
        bench.human.until_status(again, "applied");
        assert!(bench.bytes() == expected, "{format:?}");
    }
}

#[test]
fn stale_proposal_is_replanned_without_a_decision() {
    let (mut bench, opened) = Bench::open(Format::Rbxl);
    bench.human.ask(&opened, FADE);
    let first = bench.human.card();
    save(&bench.file, &bench.edited(CLEAR));
    let again = bench.human.card();
    assert_ne!(first, again);
    assert_eq!(bench.human.shown(first)["status"], "withdrawn");
}

#[test]
fn saving_the_same_bytes_keeps_the_proposal() {
    let (mut bench, opened) = Bench::open(Format::Rbxl);
    bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    let expected = bench.edited(FADE);
    save(&bench.file, &bench.bytes());
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
    assert!(bench.bytes() == expected);
}

#[test]
fn proposal_stays_when_one_of_another_request_is_rejected() {
    let (mut bench, opened) = Bench::open(Format::Rbxlx);
    bench.human.ask(&opened, LAMP);
    let first = bench.human.card();
    bench.human.ask(&opened, FADE);
    let second = bench.human.card();
    let expected = bench.edited(FADE);
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    assert_eq!(bench.human.shown(second)["status"], "waiting");
    bench.human.approve(second).ok();
    bench.human.until_status(second, "applied");
    assert!(bench.bytes() == expected);
}

#[test]
fn missing_or_broken_file_is_refused_until_restored() {
    let (mut bench, opened) = Bench::open(Format::Rbxl);
    bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    let shown = bench.human.shown(card);
    let aside = bench.file.with_extension("aside");
    for broken in [None, Some("no place at all")] {
        fs::rename(&bench.file, &aside).unwrap();
        if let Some(text) = broken {
            fs::write(&bench.file, text).unwrap();
        }
        let refused = bench.human.decide_on(&shown, &json!({ "say": "approve" }));
        assert_eq!(refused.status, 409);
        let message = refused.body["message"].as_str().unwrap();
        let file = binary::path_there(&bench.file);
        assert!(message.contains(&file) && message.contains("is readable again"), "{message}");
        let workflow = bench.human.ask(&opened, LAMP);
        let why = bench.human.until("tool_error")["reason"].as_str().unwrap().to_owned();
        assert!(why.contains(&file) && why.contains("is readable again"), "{why}");
        let path = format!("/api/workflows/{workflow}/cancel");
        bench.human.call("POST", &path, &json!({}));
        assert_eq!(bench.human.shown(card)["status"], "waiting");
        assert_eq!(bench.file.exists(), broken.is_some(), "nothing is made in its place");
        fs::rename(&aside, &bench.file).unwrap();
    }
    let expected = bench.edited(FADE);
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
    assert!(bench.bytes() == expected);
}

/// The ways in which a daemon can end.
const ENDS: [fn(&mut Bench); 2] = [Bench::kill, Bench::stop];

#[test]
fn pending_proposals_are_replanned_by_the_next_daemon() {
    for end in ENDS {
        let (mut bench, opened) = Bench::open(Format::Rbxl);
        let before = bench.bytes();
        let asked = [FADE, LAMP].map(|request| {
            let task = bench.human.ask(&opened, request);
            (task, bench.human.card())
        });
        let whole = bench.edited(&format!("{FADE}; {LAMP}"));
        end(&mut bench);
        assert!(bench.bytes() == before);
        bench.start();
        assert_eq!(bench.human.card(), asked[0].1, "what was before is told first");
        let again = asked.map(|(task, card)| {
            let again = bench.human.successor(card);
            let (old, new) = (bench.human.shown(card), bench.human.shown(again));
            assert_eq!((&old["status"], &new["status"]), (&json!("withdrawn"), &json!("waiting")));
            assert_eq!((&new["workflow"], &old["workflow"]), (&json!(task), &json!(task)));
            assert_eq!(new["proposal"]["title"], old["proposal"]["title"]);
            again
        });
        assert_eq!(bench.waiting(), 2);
        for card in again {
            bench.human.approve(card).ok();
            bench.human.until_status(card, "applied");
        }
        assert!(bench.bytes() == whole);
    }
}

#[test]
fn plan_continues_in_the_next_daemon() {
    for end in ENDS {
        let (mut bench, opened) = Bench::open(Format::Rbxlx);
        let task = bench.human.ask(&opened, "delete #Baseplate; delete #Lamp");
        let first = bench.human.card();
        bench.human.approve(first).ok();
        let second = bench.human.card();
        end(&mut bench);
        bench.start();
        let again = bench.human.successor(second);
        bench.human.approve(again).ok();
        bench.human.until("done");
        let path = format!("/api/workflows/{task}");
        let task = bench.human.call("GET", &path, &Json::Null).ok();
        assert_eq!((&task["state"], &task["outcome"]), (&json!("finished"), &json!("done")));
        let text = String::from_utf8(bench.bytes()).unwrap();
        assert!(!text.contains(">Baseplate<") && !text.contains(">Lamp<"));
    }
}

#[test]
fn killed_daemon_keeps_decisions() {
    let (mut bench, opened) = Bench::open(Format::Rbxl);
    let before = bench.bytes();
    let expected = bench.edited(FADE);
    bench.human.ask(&opened, FADE);
    let card = bench.human.card();
    bench.human.approve(card).ok();
    // The kill may come before or after the write.
    bench.kill();
    let now = bench.bytes();
    assert!(now == before || now == expected);
    bench.start();
    assert_eq!(bench.human.shown(card)["status"], "applied");
    assert!(bench.bytes() == expected);
}

#[test]
fn approval_after_another_proposal_survives_a_daemon_kill() {
    let (mut bench, opened) = Bench::open(Format::Rbxl);
    bench.human.ask(&opened, LAMP);
    let first = bench.human.card();
    bench.human.ask(&opened, FADE);
    let second = bench.human.card();
    bench.human.approve(first).ok();
    bench.human.until_status(first, "applied");
    let expected = bench.edited(FADE);
    bench.human.approve(second).ok();
    bench.kill();
    bench.start();
    let shown = bench.human.shown(second);
    assert_eq!(shown["status"], "applied", "{shown}");
    assert!(bench.bytes() == expected);
}

#[test]
fn file_opened_by_several_paths_has_one_session() {
    let (bench, opened) = Bench::open(Format::Rbxm);
    let session = opened["session"].as_str().unwrap();
    assert!(session.starts_with("file-") && session.len() == 17, "{session}");
    let folder = bench.home.path();
    fs::create_dir(folder.join("deeper")).unwrap();
    let mut names = vec![bench.file.clone(), folder.join("deeper/../place.rbxm")];
    #[cfg(unix)]
    {
        let link = folder.join("link.rbxm");
        std::os::unix::fs::symlink(&bench.file, &link).unwrap();
        names.push(link);
    }
    for name in names {
        assert_eq!(bench.human.open(&name).ok(), opened, "{}", name.display());
    }
    let other = folder.join("other.rbxm");
    fs::copy(&bench.file, &other).unwrap();
    assert_ne!(bench.human.open(&other).ok()["session"], opened["session"]);
    let sessions = bench.human.call("GET", "/api/sessions", &Json::Null).ok();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 2, "{sessions}");
}

#[test]
fn invalid_places_are_not_opened() {
    let bench = Bench::new(Format::Rbxl);
    let folder = bench.home.path();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).unwrap();
        folder.join(name)
    };
    let cut = &places::sample(Format::Rbxl)[..200];
    for (path, status, says) in [
        (folder.join("missing.rbxl"), 404, "There is no file"),
        (folder.join("missing/place.rbxl"), 404, "There is no file"),
        (folder.to_owned(), 400, "is not a file"),
        (file("text.rbxl", b"print(1)\n"), 400, "cannot be opened"),
        (file("empty.rbxl", b""), 400, "cannot be opened"),
        (file("cut.rbxl", cut), 400, "cannot be opened"),
        (PathBuf::from("place.rbxl"), 400, "full path"),
        (PathBuf::new(), 400, "full path"),
    ] {
        let refused = bench.human.open(&path);
        assert_eq!(refused.status, status, "{}", refused.body);
        let message = refused.body["message"].as_str().unwrap();
        assert!(message.contains(says) && message.ends_with('.'), "{message}");
        assert!(!refused.body["hint"].as_str().unwrap().is_empty());
    }
    for body in [
        json!({}),
        json!({ "place": bench.file, "project": folder }),
        json!({ "place": bench.file, "else": 1 }),
        json!({ "place": 7 }),
    ] {
        assert_eq!(bench.human.call("POST", "/api/open", &body).status, 400, "{body}");
    }
    let mut permissions = fs::metadata(&bench.file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&bench.file, permissions.clone()).unwrap();
    let refused = bench.human.open(&bench.file);
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert_eq!(refused.body["hint"], "Make it writable, then open it again.");
    let sessions = bench.human.call("GET", "/api/sessions", &Json::Null).ok();
    assert_eq!(sessions["sessions"], json!([]));
}

#[test]
fn project_is_opened_in_a_running_daemon() {
    let bench = Bench::new(Format::Rbxl);
    let folder = bench.home.path().join("game");
    fs::create_dir_all(folder.join("src")).unwrap();
    let project = folder.join("default.project.json");
    fs::write(&project, "{").unwrap();
    let open = |path: &Path| {
        let project = binary::path_there(path);
        bench.human.call("POST", "/api/open", &json!({ "project": project }))
    };
    let broken = open(&folder);
    assert_eq!(broken.status, 409, "{}", broken.body);
    assert!(broken.body["message"].as_str().unwrap().contains("cannot be read"), "{}", broken.body);
    let missing = open(&bench.home.path().join("nothing"));
    assert_eq!(missing.status, 404, "{}", missing.body);
    fs::write(&project, r#"{ "name": "game", "tree": { "$path": "src" } }"#).unwrap();
    let opened = open(&folder).ok();
    assert!(opened["session"].as_str().unwrap().starts_with("project-"), "{opened}");
    assert_eq!(open(&project).ok(), opened);
}

#[test]
fn command_line_restores_a_file_to_a_checkpoint() {
    for format in [Format::Rbxl, Format::Rbxlx] {
        let (mut bench, opened) = Bench::open(format);
        let before = bench.bytes();
        let cli = |args: &[&str]| bench.home.run(&[&["checkpoint"], args].concat(), "");
        let made = cli(&["before lamp"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        let number: String = made.stdout.chars().filter(char::is_ascii_digit).collect();
        for prompt in [LAMP, FADE] {
            bench.human.ask(&opened, prompt);
            let card = bench.human.card();
            bench.human.approve(card).ok();
            bench.human.until_status(card, "applied");
        }
        assert!(bench.bytes() != before);
        let listed = cli(&["--list"]).stdout;
        assert!(listed.contains("before lamp"), "{listed}");
        // Another program changes something else meanwhile.
        let call = r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game.Workspace","props":{"Name":"Theirs"}}}"#;
        let elsewhere = Home::new();
        let file = bench.file.display().to_string();
        let edited = elsewhere.run(&["edit", &file, "--ops", "-", "--yes"], call);
        assert_eq!(edited.code, 0, "{}", edited.stderr);
        let back = cli(&["--restore", &number, "--yes"]);
        assert_eq!(back.code, 0, "{}\n{}", back.stdout, back.stderr);
        assert!(back.stdout.contains("Restored checkpoint"), "{}", back.stdout);
        assert!(back.stdout.contains("changes by others stay"), "{}", back.stdout);
        // Everything is restored except what the other program created.
        let expected = elsewhere.path().join(format!("expected.{}", format.extension()));
        fs::write(&expected, &before).unwrap();
        let expected = expected.display().to_string();
        let edited = elsewhere.run(&["edit", &expected, "--ops", "-", "--yes"], call);
        assert_eq!(edited.code, 0, "{}", edited.stderr);
        let same = elsewhere.run(&["diff", &expected, &file], "");
        assert_eq!(same.code, 0, "{}", same.stdout);
        let again = cli(&["--restore", &number, "--yes"]);
        // Reverted proposals, and the proposals that reverted them, are not part of the restore any
        // more.
        assert_eq!(again.code, 1, "{}\n{}", again.stdout, again.stderr);
        assert!(again.stderr.contains("remains to be reverted"), "{}", again.stderr);
        let none = cli(&["--restore", "999999", "--yes"]);
        assert_eq!(none.code, 1);
        assert!(none.stderr.contains("does not exist or is of another kind"), "{}", none.stderr);
    }
}

/// Another process edits the same file on a terminal.
#[cfg(unix)]
#[test]
fn workflow_started_on_a_terminal_stays_there() {
    use vector_tests::person::Person;

    let mut bench = Bench::new(Format::Rbxl);
    let file = bench.file.display().to_string();
    let mut terminal =
        Person::runs(bench.home.command(&["edit", &file, "--prompt", FADE, "--model", "offline"]));
    terminal.answers("[q]uit [?]", "?");
    // The workflow waits for the terminal's user, and the daemon does not take it up.
    let opened = bench.human.open(&bench.file).ok();
    let workflows = bench.human.call("GET", "/api/workflows", &Json::Null).ok();
    let theirs = &workflows["workflows"][0];
    assert_eq!((&theirs["state"], &theirs["session"]), (&json!("waiting"), &Json::Null));
    assert_eq!(bench.waiting(), 0, "it is not decided here");
    let proposal = theirs["proposals"][0].as_u64().unwrap();
    assert_eq!(bench.human.approve(proposal).status, 409);
    let cancel = format!("/api/workflows/{}/cancel", theirs["seq"]);
    let refused = bench.human.call("POST", &cancel, &json!({}));
    assert_eq!((refused.status, &refused.body["hint"]), (409, &json!("Stop it there.")));
    // Both write, one after the other.
    bench.human.ask(&opened, LAMP);
    let card = bench.human.card();
    let expected = bench.edited(FADE);
    terminal.answers("[q]uit [?]", "y");
    assert_eq!(terminal.sees_the_end().0, 0);
    assert!(bench.bytes() == expected);
    assert_eq!(bench.human.shown(proposal)["session"], opened["session"], "now it is history");
    let expected = bench.edited(LAMP);
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
    assert!(bench.bytes() == expected);
}
