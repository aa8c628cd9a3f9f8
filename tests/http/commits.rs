//! Commits of an open project with real Git: the plan and the progress.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::committed::Committed;
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;

use super::history::{Bench as File, ledger};

struct Bench {
    _home: Home,
    _daemon: Daemon,
    human: Human,
    project: Committed,
    opened: Json,
}

impl Bench {
    /// A daemon with an open project in a repository; None if Git is missing.
    fn new() -> Option<Self> {
        let home = Home::new();
        let project = Committed::new(home.path())?;
        let daemon = Daemon::start(binary::vector(), &ledger(&home));
        let human = Human::of(&daemon, &ledger(&home));
        let opened = human
            .call("POST", "/api/open", &json!({ "project": binary::path_there(&project.folder) }))
            .ok();
        Some(Self { _home: home, _daemon: daemon, human, project, opened })
    }

    fn apply(&mut self, name: &str, from: u32, to: u32) -> u64 {
        let request = format!("replace \"{from}\" with \"{to}\" in game.ServerStorage.{name}");
        self.human.ask(&self.opened, &request);
        let card = self.human.card();
        self.human.approve(card).ok();
        self.human.until("done");
        card
    }

    fn planned(&self, more: &str) -> Answer {
        let session = self.opened["session"].as_str().unwrap();
        self.human.call("GET", &format!("/api/commit?session={session}{more}"), &Json::Null)
    }

    fn commit(&self, branch: Json) -> Answer {
        let mut commit = json!({ "session": self.opened["session"] });
        if !branch.is_null() {
            commit["branch"] = branch;
        }
        self.human.call("POST", "/api/commit", &commit)
    }

    /// Waits for a commit to end, and returns its state.
    fn over(&self, started: &Json) -> Json {
        loop {
            let path = format!("/api/commit/{}?hold=5", started["id"]);
            let state = self.human.call("GET", &path, &Json::Null).ok();
            if state["is_over"] == true {
                return state;
            }
        }
    }
}

#[track_caller]
fn refused(answer: &Answer, status: u16, says: &str) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, status, "{said}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn accepted_proposals_are_shown_and_then_committed() {
    let Some(mut bench) = Bench::new() else { return };
    let one = bench.apply("One", 1, 11);
    bench.apply("Two", 2, 22);
    // Another program has changed one of the two files since.
    fs::write(bench.project.folder.join("src/Two.luau"), "return 'mine'\n").unwrap();
    let plan = bench.planned("&message=Faster+rounds").ok();
    assert_eq!(plan["files"], json!(["src/One.luau"]));
    assert_eq!(plan["proposals"][0]["seq"], one);
    assert_eq!(plan["left"][0]["file"], "src/Two.luau");
    assert!(
        plan["left"][0]["why"]
            .as_str()
            .unwrap()
            .contains("changed since, not by an accepted proposal")
    );
    assert!(plan["message"].as_str().unwrap().starts_with("Faster rounds\n"), "{plan}");
    let branch = plan["branch"].as_str().unwrap().to_owned();
    assert_eq!((&plan["is_new"], branch.starts_with("vector/")), (&json!(true), true));
    assert_eq!(
        bench.project.git(&["branch", "--list", &branch]),
        "",
        "nothing is committed by looking"
    );
    let done = bench.over(&bench.commit(Json::Null).ok());
    assert_eq!((&done["failure"], &done["branch"]), (&Json::Null, &json!(branch)));
    assert_eq!(
        (&done["step"], &done["steps"], &done["doing"]),
        (&json!(4), &json!(4), &json!("Committing"))
    );
    assert_eq!((&done["files"], &done["left"]), (&plan["files"], &plan["left"]));
    assert_eq!(bench.project.git(&["rev-parse", &branch]), done["commit"].as_str().unwrap());
    assert_eq!(bench.project.git(&["show", &format!("{branch}:src/One.luau")]), "return 11");
    assert_eq!(bench.project.git(&["show", &format!("{branch}:src/Two.luau")]), "return 2");
    // The page sends the branch name that the plan proposed.
    bench.project.git(&["branch", "-m", &branch, "theirs"]);
    let elsewhere = bench.planned("").ok();
    assert_eq!((&elsewhere["files"], &elsewhere["branch"]), (&json!([]), &json!(branch)));
    assert!(elsewhere["left"].to_string().contains(" on theirs already"), "{elsewhere}");
    let named = bench.over(&bench.commit(json!(branch)).ok());
    assert_eq!((&named["commit"], &named["failure"]), (&Json::Null, &Json::Null));
    bench.project.git(&["branch", "-m", "theirs", &branch]);
    // A commit with nothing to commit is not a failure.
    assert_eq!(bench.planned("").ok()["files"], json!([]));
    let again = bench.over(&bench.commit(Json::Null).ok());
    assert_eq!((&again["commit"], &again["failure"]), (&Json::Null, &Json::Null));
    assert_eq!(again["files"], json!([]));
}

#[test]
fn commit_is_pushed_if_that_is_wanted() {
    let Some(mut bench) = Bench::new() else { return };
    bench.apply("One", 1, 11);
    let remote = bench.project.folder.with_file_name("origin.git").display().to_string();
    bench.project.git(&["init", "--quiet", "--bare", &remote]);
    bench.project.git(&["remote", "add", "origin", &remote]);
    assert_eq!(bench.planned("").ok()["remotes"], json!(["origin"]));
    let push = |to: &str| {
        let wanted = json!({ "session": bench.opened["session"], "branch": "next", "push": to });
        bench.over(&bench.human.call("POST", "/api/commit", &wanted).ok())
    };
    // A push that fails leaves the commit, and can be repeated.
    let failed = push("nowhere");
    assert!(failed["failure"]["message"].to_string().contains("there is origin"), "{failed}");
    assert_eq!(failed["commit"], bench.project.git(&["rev-parse", "next"]));
    let done = push("");
    assert_eq!((&done["commit"], &done["failure"]), (&Json::Null, &Json::Null));
    assert_eq!(done["pushed"], json!({ "remote": "origin" }));
    assert_eq!((&done["step"], &done["steps"]), (&json!(5), &json!(5)));
    let pushed = bench.project.git(&["--git-dir", &remote, "rev-parse", "next"]);
    assert_eq!(failed["commit"], pushed);
}

#[test]
fn refused_commits_state_the_reason() {
    let Some(mut bench) = Bench::new() else { return };
    bench.apply("One", 1, 11);
    refused(&bench.planned("&branch=a..b"), 409, "is not a branch name");
    let failed = bench.over(&bench.commit(json!("a..b")).ok());
    assert!(
        failed["failure"]["message"].as_str().unwrap().contains("is not a branch name"),
        "{failed}"
    );
    assert_eq!(failed["commit"], Json::Null);
    // Another program has committed a different version of the file.
    bench.project.git(&["stash", "--quiet"]);
    fs::write(bench.project.folder.join("src/One.luau"), "return 'theirs'\n").unwrap();
    bench.project.git(&["commit", "--quiet", "-a", "-m", "Theirs"]);
    fs::write(bench.project.folder.join("src/One.luau"), "return 11\n").unwrap();
    refused(&bench.planned(""), 409, "other versions of these files");
    for path in ["/api/commit/99", "/api/commit?session=nobody"] {
        refused(&bench.human.call("GET", path, &Json::Null), 404, "");
    }
    refused(&bench.human.call("GET", "/api/commit", &Json::Null), 400, "No project is specified");
    fs::remove_dir_all(bench.project.folder.join(".git")).unwrap();
    refused(&bench.planned(""), 409, "git init");
}

#[test]
fn place_file_cannot_be_committed() {
    let bench = File::new();
    let commit = json!({ "session": bench.opened["session"] });
    refused(&bench.human.call("POST", "/api/commit", &commit), 409, "is not a Rojo project");
}
