//! Review of the daemon's pending proposals on a terminal that did not request them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::Format;

use super::{ended, many_parts, unanchored, with_place};

/// A daemon with a place, and a user who makes requests elsewhere.
struct Bench {
    home: Home,
    daemon: Daemon,
    human: Human,
    file: PathBuf,
    opened: Json,
}

impl Bench {
    fn new() -> Self {
        let (home, file) = with_place(Format::Rbxl);
        Self::with(home, file)
    }

    fn with(home: Home, file: PathBuf) -> Self {
        let ledger = home.path().join("vector");
        let daemon = Daemon::start(binary::vector(), &ledger);
        let human = Human::of(&daemon, &ledger);
        let opened = human.open(&file).ok();
        Self { home, daemon, human, file, opened }
    }

    /// Makes a request and waits for its card.
    fn card(&mut self, text: &str) -> u64 {
        self.human.ask(&self.opened, text);
        self.human.card()
    }

    fn status(&self, proposal: u64) -> Json {
        self.human.shown(proposal)["status"].clone()
    }

    fn review(&self, args: &[&str]) -> Output {
        let mut all = vec!["review", "--once"];
        all.extend(args);
        self.home.run(&all, "")
    }

    fn tree(&self) -> String {
        let file = self.file.display().to_string();
        self.home.run(&["show", &file, "--depth", "9"], "").stdout
    }
}

/// Proposes a folder in the workspace, as an agent.
fn propose_folder(agent: &mut Agent, name: &str) -> u64 {
    let props = json!({ "Name": name });
    let args = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": props });
    agent.propose("create_instance", &args)
}

/// A request whose proposal has to be confirmed twice.
const LOADSTRING: &str =
    r#"replace "print(" with "loadstring(" in game.ServerScriptService.Main[1]"#;

#[test]
fn review_without_a_daemon_suggests_serve() {
    let asked = Home::new().run(&["review", "--once"], "");
    ended(&asked, 1);
    assert!(asked.stderr.contains("start it with `vector serve`"), "{}", asked.stderr);
    ended(&Home::new().run(&["review", "--force"], ""), 2);
}

#[test]
fn review_ends_when_nothing_is_pending() {
    let bench = Bench::new();
    let review = bench.review(&[]);
    ended(&review, 0);
    assert_eq!(review.stdout, "");
}

#[test]
fn review_yes_approves_proposals_of_other_clients() {
    let mut bench = Bench::new();
    let first = bench.card("rename game.Workspace.Lamp to Lantern");
    let second = bench.card("set Transparency = 0.5 on #Baseplate");
    let review = bench.review(&[]);
    ended(&review, 3);
    assert!(review.stderr.contains("--yes approves every card"), "{}", review.stderr);
    assert_eq!(bench.status(first), "waiting");
    let review = bench.review(&["--yes"]);
    ended(&review, 0);
    let session = bench.opened["session"].as_str().unwrap();
    for part in [session, "by offline: rename game.Workspace.Lamp", "Lantern"] {
        assert!(review.stdout.contains(part), "{part}: {}", review.stdout);
    }
    for proposal in [first, second] {
        assert_eq!(bench.status(proposal), "applied");
        let said = format!("Proposal {proposal} was applied.");
        assert!(review.stderr.contains(&said), "{}", review.stderr);
    }
    assert!(bench.tree().contains("Lantern"));
}

#[test]
fn warning_requires_force() {
    let mut bench = Bench::new();
    let card = bench.card(LOADSTRING);
    assert_eq!(bench.human.shown(card)["needs_twice"], true);
    let review = bench.review(&["--yes"]);
    ended(&review, 3);
    assert!(review.stderr.contains("--force"), "{}", review.stderr);
    assert_eq!(bench.status(card), "waiting");
    ended(&bench.review(&["--yes", "--force"]), 0);
    assert_eq!(bench.status(card), "applied");
}

#[test]
fn review_json_lists_cards_and_their_outcomes() {
    let mut bench = Bench::new();
    let card = bench.card("rename game.Workspace.Lamp to Lantern");
    let review = bench.review(&["--yes", "--json"]);
    ended(&review, 0);
    let lines: Vec<Json> =
        review.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["seq"], json!(card));
    assert_eq!(lines[0]["status"], "waiting");
    let became: Vec<&Json> = lines[1..].iter().map(|line| &line["event"]["status"]).collect();
    assert_eq!(became, ["approved", "applied"]);
}

#[test]
fn proposal_for_missing_place_is_reported_and_stays_pending() {
    let mut bench = Bench::new();
    let card = bench.card("rename game.Workspace.Lamp to Lantern");
    let bytes = fs::read(&bench.file).unwrap();
    fs::remove_file(&bench.file).unwrap();
    let review = bench.review(&["--yes"]);
    ended(&review, 3);
    assert!(review.stderr.contains("is readable again"), "{}", review.stderr);
    fs::write(&bench.file, bytes).unwrap();
    assert_eq!(bench.status(card), "waiting");
    ended(&bench.review(&["--yes"]), 0);
}

#[test]
fn small_steps_are_printed_one_by_one_without_a_terminal() {
    let bench = Bench::new();
    let ledger = bench.home.path().join("vector");
    let mut agent = Agent::new(&bench.daemon, &ledger, "builder");
    let mut all = ["Park", "Shop"].map(|name| propose_folder(&mut agent, name)).to_vec();
    all.push(agent.propose("delete_instance", &json!({ "path": "game.Workspace.Lamp" })));
    let listed = bench.review(&["--json"]);
    ended(&listed, 3);
    let cards: Vec<u64> = listed
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Json>(line).unwrap()["seq"].as_u64())
        .collect();
    assert_eq!(cards, all);
}

#[cfg(unix)]
mod on_a_terminal {
    use std::os::unix::fs::PermissionsExt as _;

    use vector_tests::person::Person;

    use super::*;

    const APPLY: &str = "[q]uit [?]";

    fn person(bench: &Bench, args: &[&str]) -> Person {
        let mut all = vec!["review"];
        all.extend(args);
        Person::runs(bench.home.command(&all))
    }

    #[track_caller]
    fn ends(person: Person, code: i32) -> String {
        let (ended, shown) = person.sees_the_end();
        assert_eq!(ended, code, "{shown}");
        shown
    }

    #[test]
    fn review_prompts_for_each_card() {
        let mut bench = Bench::new();
        let [first, second, third] = [
            "rename game.Workspace.Lamp to Lantern",
            "set Transparency = 0.5 on #Baseplate",
            LOADSTRING,
        ]
        .map(|text| bench.card(text));
        let mut reviewer = person(&bench, &["--once"]);
        let card = reviewer.answers(APPLY, "what?");
        let session = bench.opened["session"].as_str().unwrap();
        assert!(
            card.contains(session) && card.contains("by offline: rename game.Workspace.Lamp"),
            "{card}"
        );
        let help = reviewer.answers(APPLY, "y");
        assert!(help.contains("split it") && help.contains("skip it"), "{help}");
        reviewer.answers(APPLY, "n");
        reviewer.answers("Reason (optional", "too pale");
        reviewer.answers(APPLY, "y");
        reviewer.answers("Type yes", "y");
        reviewer.answers(APPLY, "y");
        reviewer.answers("Type yes", "yes");
        ends(reviewer, 0);
        assert_eq!(bench.status(first), "applied");
        assert_eq!(bench.status(second), "rejected");
        assert_eq!(bench.human.shown(second)["reason"], "too pale");
        assert_eq!(bench.status(third), "applied");
        let file = bench.file.display().to_string();
        let main = bench.home.run(&["source", &file, "game.ServerScriptService.Main[1]"], "");
        assert!(main.stdout.contains("loadstring"), "{}", main.stdout);
    }

    #[test]
    fn small_steps_of_a_task_are_decided_together() {
        let bench = Bench::new();
        let ledger = bench.home.path().join("vector");
        let mut agent = Agent::new(&bench.daemon, &ledger, "builder");
        let mut folder = |name: &str, parent: &str| {
            let props = json!({ "Name": name });
            let args = json!({ "className": "Folder", "parentPath": parent, "props": props });
            agent.propose("create_instance", &args)
        };
        let park = folder("Park", "game.Workspace");
        let pond = folder("Pond", "game.Workspace.Park");
        let [shop, mine] = ["Shop", "Mine"].map(|name| folder(name, "game.Workspace"));
        let gone = agent.propose("delete_instance", &json!({ "path": "game.Workspace.Lamp" }));
        let mut reviewer = person(&bench, &["--once"]);
        // What deletes is not in the group.
        let list = reviewer.answers("Apply these 4 steps?", "v");
        assert!(list.contains("Create Folder Park") && !list.contains("Lamp"), "{list}");
        let cards = reviewer.answers("Apply these 4 steps?", "2 4");
        assert!(cards.contains(&format!("Proposal {mine}")), "{cards}");
        let refused = reviewer.answers("Apply these 4 steps?", "5-9");
        assert!(refused.contains("Step 2 depends on step 1."), "{refused}");
        let refused = reviewer.answers("Apply these 4 steps?", "1-2, 4");
        assert!(refused.contains("There are the steps 1 to 4; `5-9` names none."), "{refused}");
        // The step that was not chosen is asked about by itself.
        let card = reviewer.answers(APPLY, "n");
        assert!(card.contains("Create Folder Shop"), "{card}");
        reviewer.answers("Reason (optional", "");
        let card = reviewer.answers(APPLY, "k");
        assert!(card.contains("Lamp"), "{card}");
        ends(reviewer, 3);
        let outcomes = [park, pond, shop, mine, gone].map(|it| bench.status(it));
        assert_eq!(outcomes, ["applied", "applied", "rejected", "applied", "waiting"]);
        assert!(bench.tree().contains("Pond"));
    }

    #[test]
    fn step_that_somebody_else_decides_meanwhile_is_left_to_them() {
        let bench = Bench::new();
        let ledger = bench.home.path().join("vector");
        let mut agent = Agent::new(&bench.daemon, &ledger, "builder");
        let steps = ["Park", "Shop", "Mine"].map(|name| propose_folder(&mut agent, name));
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.sees("Apply these 3 steps?");
        bench.human.decide(steps[1], &json!({ "say": "reject", "reason": "mine" })).ok();
        reviewer.types("y");
        let shown = ends(reviewer, 0);
        assert!(shown.contains("This was decided elsewhere in the meantime."), "{shown}");
        assert_eq!(steps.map(|it| bench.status(it)), ["applied", "rejected", "applied"]);
        assert!(!bench.tree().contains("Shop"));
    }

    #[test]
    fn steps_of_a_group_stay_pending_when_the_user_quits() {
        let bench = Bench::new();
        let ledger = bench.home.path().join("vector");
        let mut agent = Agent::new(&bench.daemon, &ledger, "builder");
        let steps = ["Park", "Shop"].map(|name| propose_folder(&mut agent, name));
        let mut reviewer = person(&bench, &[]);
        reviewer.answers("Apply these 2 steps?", "q");
        ends(reviewer, 3);
        assert_eq!(steps.map(|it| bench.status(it)), ["waiting", "waiting"]);
    }

    #[test]
    fn chat_in_a_session_offers_what_the_daemon_finds() {
        let mut bench = Bench::new();
        let card = bench.card("rename game.Workspace.Lamp to Lantern");
        let command = bench.home.command(&["chat", "--session"]);
        let mut chat = Person::runs(command);
        chat.sees("> ");
        chat.presses("@lam");
        chat.sees("@file:game.Workspace.Lamp");
        chat.presses("\x15@proposal:");
        chat.sees(&format!("@proposal:{card}"));
        chat.presses("\x15/quit\n");
        ends(chat, 0);
    }

    #[test]
    fn card_links_to_the_page_in_a_terminal_that_shows_links() {
        let mut bench = Bench::new();
        let seq = bench.card("rename game.Workspace.Lamp to Lantern");
        let mut command = bench.home.command(&["review", "--once"]);
        command.env("FORCE_HYPERLINK", "1");
        let mut reviewer = Person::runs(command);
        let card = reviewer.answers(APPLY, "q");
        let page =
            format!("\u{1b}]8;;http://127.0.0.1:{}/#/proposals/{seq}\u{1b}\\", bench.daemon.port);
        assert!(card.contains(&page), "{card:?}");
        let mut reviewer = person(&bench, &["--once"]);
        let card = reviewer.answers(APPLY, "q");
        assert!(!card.contains("\u{1b}]8"), "{card:?}");
        let mut command = bench.home.command(&["log"]);
        command.env("FORCE_HYPERLINK", "1");
        let log = ends(Person::runs(command), 0);
        assert!(log.contains(&format!("{page}{seq}\u{1b}]8;;\u{1b}\\  modifying")), "{log:?}");
    }

    #[test]
    fn instances_of_a_large_change_are_chosen_one_by_one() {
        let home = Home::new();
        let file = home.path().join("place.rbxl");
        fs::write(&file, many_parts(2_050)).unwrap();
        let mut bench = Bench::with(home, file);
        let card = bench.card("set Anchored = true on Part");
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.answers("[v]iew all of it [?]", "s");
        reviewer.answers("[o]ne by one", "o");
        // Beyond the rows that are read at once, and those of the preview.
        for n in 1..=101 {
            let question = format!("Take this ({n} of 2050 instances)?");
            reviewer.answers(&question, if n == 101 { "n" } else { "y" });
        }
        reviewer.answers("Take this (102 of 2050 instances)?", "a");
        let shown = ends(reviewer, 0);
        assert!(shown.contains("2049 of 2050 parts of: "), "{shown}");
        assert_eq!(bench.status(card), "rejected");
        assert_eq!(unanchored(&bench.file), ["Part100"]);
    }

    #[test]
    fn input_typed_before_a_card_is_shown_decides_nothing() {
        let mut bench = Bench::new();
        let mut reviewer = person(&bench, &[]);
        reviewer.sees("Nothing else is pending.");
        reviewer.types("y");
        reviewer.types("y");
        let card = bench.card(LOADSTRING);
        reviewer.answers(APPLY, "n");
        reviewer.answers("Reason (optional", "unseen");
        while bench.status(card) == "waiting" {
            std::thread::yield_now();
        }
        assert_eq!(bench.status(card), "rejected");
        assert_eq!(bench.human.shown(card)["reason"], "unseen");
    }

    #[test]
    fn card_can_be_split() {
        let mut bench = Bench::new();
        let card = bench.card("set Transparency = 0.5 on #Wall");
        let whole = bench.human.shown(card);
        assert_eq!(whole["proposal"]["commands"].as_array().unwrap().len(), 3, "{whole}");
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.answers(APPLY, "s");
        reviewer.answers("(1 of 3)?", "n");
        reviewer.answers("(2 of 3)?", "y");
        reviewer.answers("(3 of 3)?", "d");
        ends(reviewer, 0);
        assert_eq!(bench.status(card), "rejected");
        let file = bench.file.display().to_string();
        let faded = |at: u32| {
            let wall = format!("game.Workspace.Tower.Wall[{at}]");
            let shown = bench.home.run(&["show", &file, &wall, "--props"], "").stdout;
            shown.lines().any(|line| line.split_whitespace().eq(["Transparency", "0.5"]))
        };
        assert_eq!([1, 2, 3].map(faded), [false, true, false]);
    }

    #[test]
    fn comments_that_cannot_be_sent_are_kept() {
        let mut bench = Bench::new();
        let card = bench.card("set Transparency = 0.5 on #Baseplate");
        let go = bench.home.path().join("go");
        let editor = format!(
            "echo '>> too pale' >> \"$1\"\nwhile [ ! -e {} ]; do sleep 0.05; done",
            go.display()
        );
        let mut reviewer = edits_with(&bench, &editor);
        reviewer.answers(APPLY, "c");
        // Somebody else decides while the editor is open.
        bench.human.decide(card, &json!({ "say": "reject", "reason": "mine" })).ok();
        fs::write(go, "").unwrap();
        let shown = ends(reviewer, 0);
        let kept = shown.lines().find_map(|line| line.split_once("Your comments are in ")).unwrap();
        let kept = kept.1.trim().trim_end_matches('.');
        assert!(fs::read_to_string(kept).unwrap().contains(">> too pale"), "{shown}");
        fs::remove_file(kept).unwrap();
    }

    #[test]
    fn watching_terminal_notifies_of_each_card() {
        let mut bench = Bench::new();
        let mut reviewer = person(&bench, &["--watch"]);
        reviewer.sees("New proposals appear here");
        bench.card("rename game.Workspace.Lamp to Lantern");
        reviewer.sees("\x1b]9;Vector: Rename Lamp to Lantern\x07\x07");
        reviewer.answers(APPLY, "q");
        ends(reviewer, 3);
        let once = bench.home.run(&["review", "--watch", "--once"], "");
        assert_eq!(once.code, 2, "{}", once.stderr);
    }

    /// A user at a terminal who reviews with this shell script as the editor.
    fn edits_with(bench: &Bench, editor: &str) -> Person {
        let file = bench.home.path().join("editor");
        fs::write(&file, format!("#!/bin/sh\n{editor}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = bench.home.command(&["review", "--once"]);
        command.env("EDITOR", &file);
        Person::runs(command)
    }

    #[test]
    fn card_is_edited_and_its_result_decided() {
        let mut bench = Bench::new();
        let card = bench.card("set Transparency = 0.5 on #Baseplate");
        let editor = "sed 's/^Transparency = .*/Transparency = 0.25/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"";
        let mut reviewer = edits_with(&bench, editor);
        reviewer.answers(APPLY, "e");
        let edited = reviewer.answers(APPLY, "y");
        assert!(edited.contains("changed by hand") && edited.contains("0.25"), "{edited}");
        ends(reviewer, 0);
        assert_eq!(bench.status(card), "rejected");
        let file = bench.file.display().to_string();
        let shown =
            bench.home.run(&["show", &file, "game.Workspace.Baseplate", "--props"], "").stdout;
        assert!(
            shown.lines().any(|it| it.split_whitespace().eq(["Transparency", "0.25"])),
            "{shown}"
        );
    }

    #[test]
    fn edited_card_that_is_skipped_is_not_asked_about_twice() {
        let mut bench = Bench::new();
        bench.card("set Transparency = 0.5 on #Baseplate");
        let editor = "sed 's/^Transparency = .*/Transparency = 0.25/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"";
        let mut reviewer = edits_with(&bench, editor);
        reviewer.answers(APPLY, "e");
        reviewer.answers(APPLY, "k");
        ends(reviewer, 3);
    }

    #[test]
    fn changes_that_cannot_be_sent_are_kept() {
        let mut bench = Bench::new();
        let card = bench.card("set Transparency = 0.5 on #Baseplate");
        let go = bench.home.path().join("go");
        let editor = format!(
            "sed 's/^Transparency = .*/Transparency = 0.25/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n\
             while [ ! -e {} ]; do sleep 0.05; done",
            go.display()
        );
        let mut reviewer = edits_with(&bench, &editor);
        reviewer.answers(APPLY, "e");
        bench.human.decide(card, &json!({ "say": "reject", "reason": "mine" })).ok();
        fs::write(go, "").unwrap();
        let shown = ends(reviewer, 0);
        let kept = shown.lines().find_map(|line| line.split_once("Your changes are in ")).unwrap();
        let kept = kept.1.trim().trim_end_matches('.');
        assert!(fs::read_to_string(kept).unwrap().contains("Transparency = 0.25"), "{shown}");
        fs::remove_file(kept).unwrap();
    }

    #[test]
    fn rule_approves_the_rest_of_a_task() {
        let mut bench = Bench::new();
        bench.card("farm 2x2 at 0,0.5,0 in game.Workspace");
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.answers(APPLY, "r");
        let offered = reviewer.answers("Number (Enter goes back):", "9");
        assert!(offered.contains("1  additions within game.Workspace.Farm"), "{offered}");
        assert!(offered.contains("2  the rest of this task"), "{offered}");
        reviewer.answers(APPLY, "r");
        reviewer.answers("Number (Enter goes back):", "1");
        ends(reviewer, 0);
        let tree = bench.tree();
        assert!(tree.contains("FarmServer") && tree.contains("FenceEast"), "{tree}");
    }

    #[test]
    fn skipped_card_stays_pending() {
        let mut bench = Bench::new();
        let first = bench.card("rename game.Workspace.Lamp to Lantern");
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.answers(APPLY, "k");
        ends(reviewer, 3);
        assert_eq!(bench.status(first), "waiting");
        let mut reviewer = person(&bench, &["--once"]);
        reviewer.answers(APPLY, "q");
        ends(reviewer, 3);
        assert_eq!(bench.status(first), "waiting");
    }

    #[test]
    fn decision_made_elsewhere_is_reported() {
        let mut bench = Bench::new();
        let first = bench.card("rename game.Workspace.Lamp to Lantern");
        let mut reviewer = person(&bench, &[]);
        let card = reviewer.answers(APPLY, "?");
        assert!(card.contains("Lantern"), "{card}");
        bench.human.decide(first, &json!({ "say": "reject", "reason": "mine" })).ok();
        reviewer.answers(APPLY, "y");
        let told = reviewer.sees("was rejected: mine");
        assert!(told.contains("decided elsewhere"), "{told}");
        // The review waits for the next proposal, which is made now.
        reviewer.sees("Ctrl-C stops");
        let second = bench.card("set Transparency = 0.5 on #Baseplate");
        reviewer.answers(APPLY, "y");
        reviewer.sees("was applied");
        assert_eq!(bench.status(second), "applied");
        let third = bench.card("rename game.Workspace.Lamp to Lantern");
        reviewer.answers(APPLY, "q");
        ends(reviewer, 3);
        assert_eq!(bench.status(third), "waiting");
    }

    #[test]
    fn review_fails_when_the_daemon_ends() {
        let mut bench = Bench::new();
        bench.card("rename game.Workspace.Lamp to Lantern");
        let mut reviewer = person(&bench, &[]);
        let question = reviewer.answers(APPLY, "?");
        assert!(question.contains("Lantern"), "{question}");
        bench.daemon.kill();
        reviewer.answers(APPLY, "y");
        let shown = ends(reviewer, 1);
        assert!(shown.contains("restart `vector serve`"), "{shown}");
    }
}
