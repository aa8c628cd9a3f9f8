//! Several models that work on one task: a lead, its workers and scouts, and a reviewer of the result.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::Variant;
use scene_schemas::entry::{Entry, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::models::{calls, calls_for, says};
use crate::models::server::{End, Reply, RoleScript, Server};

/// Longer than any machine needs. A wait that takes this long fails its test.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

const REQUEST: &str = "Build a round game";

const CONFIG: &str = "return {\n\tlives = 3,\n\n\n\n\n\tcoins = 0,\n}\n";

/// A place with many parts, and a module that several workers change.
fn place(parts: usize) -> WeakDom {
    let part = |number: usize| InstanceBuilder::new("Part").with_name(format!("Tile{number}"));
    let tiles = (0..parts).map(part);
    let arena = InstanceBuilder::new("Model").with_name("Arena").with_children(tiles);
    let config = InstanceBuilder::new("ModuleScript")
        .with_name("Config")
        .with_property("Source", CONFIG.to_owned());
    let services = [
        InstanceBuilder::new("Workspace").with_child(arena),
        InstanceBuilder::new("ReplicatedStorage").with_child(config),
        InstanceBuilder::new("ServerScriptService"),
        InstanceBuilder::new("StarterGui"),
    ];
    WeakDom::new(InstanceBuilder::new("DataModel").with_children(services))
}

/// A daemon that serves a place, a person, and a provider that plays all models.
pub(super) struct Bench {
    pub(super) home: Home,
    pub(super) server: Server,
    pub(super) daemon: Option<Daemon>,
    pub(super) human: Human,
    pub(super) file: PathBuf,
}

impl Bench {
    pub(super) fn new(parts: usize, roles: Vec<RoleScript>, settings: &str) -> Self {
        Self::with_models(parts, roles, settings, "")
    }

    /// A bench whose model has a price, in US dollars per million tokens.
    fn priced(roles: Vec<RoleScript>, settings: &str, input: f64) -> Self {
        let price = format!("price = {{ input = {input:.1}, output = 0.0 }}");
        Self::with_models(4, roles, settings, &format!("[models.lmstudio.lead]\n{price}\n"))
    }

    fn with_models(parts: usize, roles: Vec<RoleScript>, settings: &str, models: &str) -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxl");
        fs::write(&file, places::encode(&place(parts), Format::Rbxl)).unwrap();
        let server = Server::by_role(roles);
        let ledger = home.path().join("vector");
        fs::create_dir_all(&ledger).unwrap();
        let settings = format!(
            "retries = 0\n{settings}\n[providers.lmstudio]\nbase_url = \"{}/v1\"\n",
            server.url()
        );
        fs::write(ledger.join("vector.toml"), settings).unwrap();
        fs::write(ledger.join("models.toml"), models).unwrap();
        let daemon = Daemon::of_place(binary::vector(), &ledger, &file);
        let human = Human::of(&daemon, &ledger);
        let settings = json!({
            "mode": "confirm", "dry_run": false, "play_check": false, "model": "lmstudio/lead",
        });
        human.call("PUT", "/api/settings", &settings).ok();
        Self { home, server, daemon: Some(daemon), human, file }
    }

    /// Sends the request, and returns the task of the lead.
    fn begin(&self) -> u64 {
        let opened = self.human.open(&self.file).ok();
        let chat = json!({
            "session": opened["session"], "epoch": opened["epoch"], "text": REQUEST,
            "workers": true, "confirmed": true,
        });
        self.human.call("POST", "/api/chat", &chat).ok()["workflow"].as_u64().unwrap()
    }

    pub(super) fn task(&self, task: u64) -> Json {
        self.human.call("GET", &format!("/api/workflows/{task}"), &Json::Null).ok()
    }

    pub(super) fn until_task(&mut self, task: u64, state: &str) -> Json {
        self.human.until_found(&format!("/api/workflows/{task}"), |it| {
            (it["state"] == state).then(|| it.clone())
        })
    }

    /// Waits until the lead has submitted its result and the review of it has ended, and returns the
    /// proposals, as they are shown.
    fn until_reviewed(&mut self, task: u64) -> Vec<Json> {
        self.until_task(task, "waiting");
        let waiting = self.waiting();
        for seq in &waiting {
            self.human.until_shown(*seq, |it| {
                let mut reviews = it["reviews"].as_array().into_iter().flatten();
                reviews.all(|it| it["state"] != "running").then_some(())
            });
        }
        self.waiting().into_iter().map(|seq| self.human.shown(seq)).collect()
    }

    /// The proposals that a person has to decide on.
    pub(super) fn waiting(&self) -> Vec<u64> {
        let waiting = self.human.call("GET", "/api/proposals", &Json::Null).ok();
        let waiting = waiting["proposals"].as_array().unwrap().clone();
        waiting.iter().map(|it| it["seq"].as_u64().unwrap()).collect()
    }

    /// The requests of the model whose first message contains a text.
    pub(super) fn requests_of(&self, needle: &str) -> Vec<Json> {
        let all = self.server.requests().into_iter().map(|it| it.body);
        all.filter(|it| first_message(it).contains(needle)).collect()
    }

    fn saved(&self) -> WeakDom {
        places::decode(&fs::read(&self.file).unwrap())
    }

    /// Kills the daemon as soon as an entry is written.
    pub(super) fn kill_at(&mut self, ledger: &Ledger, entry: u64) {
        let begun = Instant::now();
        while ledger.last_seq().unwrap() < Seq(entry) {
            assert!(begun.elapsed() < PATIENCE, "entry {entry} was never written");
            std::thread::yield_now();
        }
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        self.daemon.take().unwrap().kill();
    }

    pub(super) fn restart(&mut self) {
        let ledger = self.home.path().join("vector");
        let daemon = Daemon::of_place(binary::vector(), &ledger, &self.file);
        self.human = Human::of(&daemon, &ledger);
        self.daemon = Some(daemon);
        self.human.open(&self.file).ok();
    }
}

fn first_message(body: &Json) -> String {
    let messages = body["messages"].as_array().unwrap();
    let first = messages.iter().find(|it| it["role"] == "user");
    first.map_or(String::new(), |it| it["content"].to_string())
}

/// What the last call of a request was answered.
fn last_result(body: &Json) -> String {
    let messages = body["messages"].as_array().unwrap();
    let last = messages.iter().rev().find(|it| it["role"] == "tool");
    last.map_or(String::new(), |it| it["content"].as_str().unwrap().to_owned())
}

fn tools_of(body: &Json) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap();
    tools.iter().filter_map(|it| it["function"]["name"].as_str()).collect()
}

pub(super) fn role(needle: &'static str, replies: Vec<Reply>) -> RoleScript {
    RoleScript { needle, replies }
}

fn part(title: &str, writes: &str) -> Json {
    json!({ "title": title, "instructions": format!("Make the {title}."), "writes": [writes] })
}

fn assign(parts: &[Json]) -> Reply {
    calls("assign_parts", json!({ "parts": parts }))
}

pub(super) fn create(class: &str, parent: &str, name: &str) -> Reply {
    calls(
        "create_instance",
        json!({ "className": class, "parentPath": parent, "props": { "Name": name } }),
    )
}

fn read_config() -> Reply {
    calls("read_script", json!({ "path": "game.ReplicatedStorage.Config" }))
}

fn replace(search: &str, replace: &str) -> Reply {
    let path = "game.ReplicatedStorage.Config";
    calls("replace_text", json!({ "path": path, "search": search, "replace": replace }))
}

pub(super) fn plan() -> Reply {
    calls("start_plan", json!({ "steps": ["Give the parts away", "Check them"] }))
}

fn report(findings: &Json) -> Reply {
    calls("report_review", json!({ "summary": "Read all of it.", "findings": findings }))
}

/// A lead with two workers, whose parts are apart.
pub(super) fn two_parts() -> Vec<RoleScript> {
    let parts = [part("Coins", "game.ServerScriptService"), part("Shop", "game.StarterGui")];
    vec![
        role(
            "Do part 1",
            vec![
                create("Folder", "game.ServerScriptService", "Coins"),
                create("Configuration", "game.ServerScriptService.Coins", "Values"),
                says("Made the folder of the coins."),
            ],
        ),
        role(
            "Do part 2",
            vec![
                calls("share_note", json!({ "text": "The shop is StarterGui.Shop." })),
                create("ScreenGui", "game.StarterGui", "Shop"),
                says("Made the shop."),
            ],
        ),
        role("Review proposal", vec![report(&json!([]))]),
        role("", vec![plan(), assign(&parts), says("Both are made.")]),
    ]
}

#[test]
fn parts_of_workers_become_proposals_of_the_lead() {
    let mut bench = Bench::new(4, two_parts(), "");
    let task = bench.begin();
    let cards = bench.until_reviewed(task);
    let titles: Vec<&Json> = cards.iter().map(|it| &it["proposal"]["title"]).collect();
    assert_eq!(titles, ["Coins", "Shop"]);
    let view = bench.task(task);
    let parts = view["parts"].as_array().unwrap();
    for (card, part) in cards.iter().zip(parts) {
        assert_eq!(card["workflow"], task);
        let by = &card["proposal"]["made_by"];
        assert_eq!((&by["worker"], &by["part"]), (&part["worker"], &part["number"]));
        assert_eq!(part["outcome"]["outcome"], "submitted", "{part}");
        let page = bench.human.page(&format!("/page/proposal?of={}", card["seq"]));
        let who = format!("made by lmstudio/lead in task {}", part["worker"]);
        assert!(page.contains(&who), "{page}");
        // The task of the worker is over, and nobody decides on what it made.
        let worker = bench.task(part["worker"].as_u64().unwrap());
        assert_eq!((&worker["state"], &worker["outcome"]), (&json!("finished"), &json!("done")));
        let own = bench.human.shown(worker["proposals"][0].as_u64().unwrap());
        assert_eq!(own["status"], "withdrawn");
        assert_eq!(own["reason"], format!("It is in the result of task {task}."));
    }
    // Two changes of one worker are one proposal, in which the later uses what the earlier creates.
    assert_eq!(cards[0]["proposal"]["commands"].as_array().unwrap().len(), 2);

    let worker = bench.requests_of("Do part 1").remove(0);
    let text = worker["messages"].to_string();
    assert!(text.contains("Make the Coins.") && text.contains("part 2: Shop"), "{text}");
    assert!(text.contains("You do one part of a task") && text.contains(REQUEST), "{text}");
    assert!(!text.contains("start_plan\\\""), "nothing of the conversation of the lead");
    let tools = tools_of(&worker);
    assert!(tools.contains(&"create_instance") && tools.contains(&"share_note"), "{tools:?}");
    for tool in ["assign_parts", "ask_clarification", "report_review", "upload_asset"] {
        assert!(!tools.contains(&tool), "{tool}");
    }
    let told = bench.requests_of("").into_iter().filter(|it| first_message(it).contains(REQUEST));
    let told = told.map(|it| last_result(&it)).find(|it| it.contains("conflicts")).unwrap();
    assert!(told.contains("Made the folder of the coins.") && told.contains("Made the shop."));

    for card in &cards {
        bench.human.approve(card["seq"].as_u64().unwrap()).ok();
    }
    let view = bench.until_task(task, "finished");
    assert_eq!(view["outcome"], "done");
    let saved = bench.saved();
    let names: Vec<&str> = saved.descendants().map(|it| it.name.as_str()).collect();
    for name in ["Coins", "Values", "Shop"] {
        assert!(names.contains(&name), "{name}");
    }
    let asked = bench.server.requests().len();
    assert_eq!(asked, 3 + 3 + 3 + 1, "nobody is asked after the decisions");
}

/// A lead with four workers, of which three want the same script, in a place of many parts. The reviewer
/// finds something, and the lead corrects it.
fn orchestra() -> Vec<RoleScript> {
    let parts = [
        part("Coins", "game.ServerScriptService.Coins"),
        part("Lives", "game.ServerScriptService.Lives"),
        part("Tiles", "game.Workspace.Arena"),
        part("Prices", "game.StarterGui"),
    ];
    let fade = json!({ "selector": "Part", "props": { "Transparency": 0.5 } });
    let finding = json!([{
        "severity": "high", "text": "Nobody can win with five lives.",
        "path": "game.ReplicatedStorage.Config", "line": 2,
    }]);
    vec![
        role(
            "Do part 1",
            vec![
                create("Folder", "game.ServerScriptService", "Coins"),
                read_config(),
                replace("coins = 0", "coins = 10"),
                says("Coins begin at ten."),
            ],
        ),
        role(
            "Do part 2",
            vec![
                read_config(),
                replace("lives = 3", "lives = 5"),
                says("Five lives."),
                says("That is right."),
                says("That is right."),
            ],
        ),
        role("Do part 3", vec![calls("set_properties", fade), says("Faded all tiles.")]),
        role(
            "Do part 4",
            vec![
                create("ScreenGui", "game.StarterGui", "Prices"),
                read_config(),
                replace("coins = 0", "coins = 99"),
                says("Coins begin at 99."),
                says("I keep it."),
                says("I keep it."),
            ],
        ),
        role("Review proposal", vec![report(&finding)]),
        role(
            "",
            vec![
                plan(),
                assign(&parts),
                read_config(),
                replace("coins = 10", "coins = 99"),
                says("All four parts are made."),
                replace("lives = 5", "lives = 1"),
                says("One life now."),
            ],
        ),
    ]
}

/// Approves all proposals, and returns the task of the lead when it is over.
pub(super) fn approve_all(bench: &mut Bench, task: u64) -> Json {
    for seq in bench.waiting() {
        bench.human.approve(seq).ok();
    }
    bench.until_task(task, "finished")
}

/// Checks what the orchestra made of the place.
fn check_result(bench: &Bench, parts: usize) {
    let saved = bench.saved();
    let all = || saved.descendants();
    let source = all().find(|it| it.name == "Config").unwrap().properties[&"Source".into()].clone();
    let Variant::String(source) = source else { panic!("{source:?}") };
    assert_eq!(source, "return {\n\tlives = 1,\n\n\n\n\n\tcoins = 99,\n}\n");
    for name in ["Coins", "Prices"] {
        assert_eq!(all().filter(|it| it.name == name).count(), 1, "{name}");
    }
    let faded = all()
        .filter(|it| it.properties.get(&"Transparency".into()) == Some(&Variant::Float32(0.5)));
    assert_eq!(faded.count(), parts);
}

/// Waits until the lead has corrected what the reviewer found. A killed daemon plans what was pending
/// again.
fn until_corrected(bench: &mut Bench, task: u64) {
    bench.human.until_found("/api/proposals", |it| {
        let waiting = it["proposals"].as_array()?;
        let last = waiting.last()?["proposal"]["preview"].to_string();
        (waiting.len() == 6 && last.contains("lives = 1")).then_some(())
    });
    bench.until_task(task, "waiting");
}

fn notices(card: &Json) -> Vec<&str> {
    let notices = card["proposal"]["made_by"]["notices"].as_array().into_iter().flatten();
    notices.filter_map(Json::as_str).collect()
}

#[test]
fn conflicts_are_resolved_by_the_lead_and_findings_corrected_once() {
    let mut bench = Bench::new(10_000, orchestra(), "");
    let task = bench.begin();
    until_corrected(&mut bench, task);
    let cards = bench.until_reviewed(task);
    let titles: Vec<&str> =
        cards.iter().filter_map(|it| it["proposal"]["title"].as_str()).collect();
    let own = "Replace 1 match in Config";
    assert_eq!(titles, ["Coins", "Lives", "Tiles", "Prices", own, own]);
    // Both sides of the conflict tell it, and the part that wanted something else lacks it.
    for card in [&cards[0], &cards[3]] {
        let [told] = notices(card)[..] else { panic!("{card}") };
        assert!(told.starts_with("Two parts changed the same lines of "), "{told}");
        assert!(told.contains("part 1 edits") && told.contains("part 4 edits"), "{told}");
    }
    assert_eq!(cards[3]["proposal"]["commands"].as_array().unwrap().len(), 1);
    let merged =
        "Its edits of game.ReplicatedStorage.Config were merged with those of an earlier part.";
    assert_eq!(notices(&cards[1]), [merged]);
    // The lead was told both sides, and made what it kept on top.
    let lead = bench.requests_of("").into_iter().map(|it| last_result(&it));
    let told = lead.into_iter().find(|it| it.contains("conflicts")).unwrap();
    let told: Json = serde_json::from_str(&told).unwrap();
    let passage = &told["conflicts"][0]["sides"]["passages"]["passages"][0];
    assert_eq!(
        (&passage["ours"], &passage["theirs"]),
        (&json!("\tcoins = 99,\n"), &json!("\tcoins = 10,\n"))
    );
    let after = cards[4]["proposal"]["after"].as_array().unwrap();
    assert!(after.contains(&cards[0]["seq"]) && !after.contains(&cards[2]["seq"]), "{after:?}");
    // One reviewer read all, and its finding is where the line is.
    let requests = bench.requests_of("Review proposal");
    assert_eq!(requests.len(), 1);
    assert!(first_message(&requests[0]).contains("whether they fit together"));
    for card in &cards[..5] {
        let reviews = card["reviews"].as_array().unwrap();
        assert_eq!((reviews.len(), &reviews[0]["state"]), (1, &json!("done")), "{card}");
        let count = reviews[0]["findings"].as_array().map_or(0, Vec::len);
        assert_eq!(count, usize::from(card["seq"] == cards[1]["seq"]), "{reviews:?}");
    }
    let told = bench.requests_of("").into_iter().filter(|it| {
        let last = it["messages"].as_array().unwrap().last().unwrap();
        last["content"].to_string().contains("Nobody can win with five lives.")
    });
    assert_eq!(told.count(), 1);

    let view = approve_all(&mut bench, task);
    assert_eq!(view["outcome"], "done");
    check_result(&bench, 10_000);
}

#[test]
fn result_is_reviewed_before_the_mode_approves_any_of_it() {
    let mut roles = two_parts();
    let finding = json!({
        "severity": "high", "text": "Coins can be forged.", "path": "game.ServerScriptService.Coins",
    });
    roles[2].replies = vec![report(&json!([finding]))];
    let parts = [part("Coins", "game.ServerScriptService"), part("Shop", "game.StarterGui")];
    // It ends with a call, so that it goes on without another message.
    let complete = || calls("complete", json!({}));
    roles[3].replies = vec![plan(), assign(&parts), complete(), complete()];
    let mut bench = Bench::new(4, roles, "");
    let settings = json!({
        "mode": "auto", "dry_run": false, "play_check": false, "model": "lmstudio/lead",
    });
    bench.human.call("PUT", "/api/settings", &settings).ok();
    let task = bench.begin();
    // The lead was told of the finding, and has nothing to correct.
    bench.human.until_found(&format!("/api/workflows/{task}"), |it| {
        let told = |it: &Json| it.to_string().contains("Coins can be forged.");
        (it["state"] == "waiting" && bench.server.requests().iter().any(|it| told(&it.body)))
            .then_some(())
    });
    let view = bench.task(task);
    let [coins, shop] = [0, 1].map(|at: usize| view["proposals"][at].as_u64().unwrap());
    // The file is written when all is decided.
    bench.human.until_shown(shop, |it| (it["status"] == "approved").then_some(()));
    assert_eq!(bench.human.shown(coins)["status"], "waiting");
    let ledger = Ledger::open(&bench.home.path().join("vector")).unwrap();
    let records = ledger.workflow_records(Seq(task)).unwrap();
    let at = |is_it: fn(&Entry) -> bool| records.iter().position(|it| is_it(&it.entry)).unwrap();
    let reviewed = at(|it| matches!(it, Entry::Reviewed { .. }));
    assert!(reviewed < at(|it| matches!(it, Entry::Approved { .. })));
    assert_eq!(approve_all(&mut bench, task)["outcome"], "done");
}

#[test]
fn worker_is_told_once_of_what_it_read_and_another_changed() {
    let parts = [part("Ramp", "game.Workspace.Ramp"), part("Tiles", "game.Workspace.Arena")];
    let fade = |value: f64| {
        calls("set_properties", json!({ "selector": "Part", "props": { "Transparency": value } }))
    };
    let roles = vec![
        role("Do part 1", vec![create("Part", "game.Workspace", "Ramp"), says("Made a ramp.")]),
        role(
            "Do part 2",
            vec![fade(0.5), says("Faded all parts."), fade(0.25), says("Less, with the ramp.")],
        ),
        role("Review proposal", vec![report(&json!([]))]),
        role("", vec![plan(), assign(&parts), says("Both are made.")]),
    ];
    let mut bench = Bench::new(4, roles, "");
    let task = bench.begin();
    let cards = bench.until_reviewed(task);
    let [told] = notices(&cards[1])[..] else { panic!("{:#}", cards[1]) };
    assert!(told.contains("depends on what `Part` finds"), "{told}");
    let requests = bench.requests_of("Do part 2");
    assert_eq!(requests.len(), 4);
    let last = requests[2]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(last.contains("Others have changed what you have read"), "{last}");
    assert!(last.contains("game.Workspace.Ramp (Part)") && last.contains("part 1 did"), "{last}");
    approve_all(&mut bench, task);
    let saved = bench.saved();
    let faded = saved
        .descendants()
        .filter(|it| it.properties.get(&"Transparency".into()) == Some(&Variant::Float32(0.25)));
    assert_eq!(faded.count(), 4);
}

#[test]
fn parts_that_fail_are_told_and_their_changes_left_out() {
    let parts = [
        part("Coins", "game.ServerScriptService"),
        part("Shop", "game.StarterGui"),
        part("Sky", "game.Lighting"),
    ];
    let broke = Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#);
    let spends = calls_for(
        200_000,
        "create_instance",
        json!({ "className": "ScreenGui", "parentPath": "game.StarterGui" }),
    );
    let roles = vec![
        role("Do part 1", vec![create("Folder", "game.ServerScriptService", "Coins"), broke]),
        role("Do part 2", vec![spends, says("never said")]),
        role(
            "Do part 3",
            vec![create("Folder", "game.ReplicatedStorage", "Sky"), says("Made it.")],
        ),
        role("Review proposal", vec![report(&json!([]))]),
        role("", vec![plan(), assign(&parts), says("Coins and the shop are missing.")]),
    ];
    let mut bench = Bench::priced(roles, "caps.workflow_usd = 4.0", 10.0);
    let task = bench.begin();
    let cards = bench.until_reviewed(task);
    let titles: Vec<&Json> = cards.iter().map(|it| &it["proposal"]["title"]).collect();
    assert_eq!(titles, ["Sky"]);
    let view = bench.task(task);
    let reasons: Vec<&str> = view["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["outcome"]["reason"].as_str())
        .collect();
    let [died, overspent] = reasons[..] else { panic!("{view:#}") };
    assert!(died.contains("Insufficient credit."), "{died}");
    assert_eq!(overspent, "$2.00 was spent for this part, and its share of the cap is $1.33.");
    let lead = bench.requests_of("").into_iter().map(|it| last_result(&it));
    let told = lead.into_iter().find(|it| it.contains("conflicts")).unwrap();
    assert!(told.contains("was not done: $2.00 was spent"), "{told}");
    // What workers spend counts for the task.
    let spent = view["spending"][0]["spent"].as_f64().unwrap();
    assert!((2.0..2.2).contains(&spent), "{spent}");
    approve_all(&mut bench, task);
    let names: Vec<String> = bench.saved().descendants().map(|it| it.name.clone()).collect();
    assert!(names.iter().any(|it| it == "Sky") && !names.iter().any(|it| it == "Coins"));
}

#[test]
fn worker_that_never_ends_is_stopped_when_its_time_is_over() {
    let silent = Reply { end: End::Silent, ..says("") };
    let mut roles = two_parts();
    roles[1].replies = vec![create("ScreenGui", "game.StarterGui", "Shop"), silent];
    let mut bench = Bench::new(4, roles, "workers.seconds = 6");
    let task = bench.begin();
    let cards = bench.until_reviewed(task);
    assert_eq!(cards.len(), 1);
    let view = bench.task(task);
    let outcome = &view["parts"][1]["outcome"];
    assert_eq!(outcome["reason"], "It took longer than 6 seconds.");
    let worker = bench.task(view["parts"][1]["worker"].as_u64().unwrap());
    assert_eq!((&worker["state"], &worker["outcome"]), (&json!("finished"), &json!("failed")));
}

#[test]
fn scouts_answer_at_the_same_time_and_change_nothing() {
    let questions = json!({ "questions": ["Where are the lives?", "How many tiles are there?"] });
    let look = calls("find_instances", json!({ "selector": "Part" }));
    let roles = vec![
        role("Where are the lives?", vec![read_config(), says("Config, line 2.")]),
        role("How many tiles", vec![create("Part", "game.Workspace", "No"), look, says("Four.")]),
        role("", vec![calls("ask_scouts", questions), says("There are four.")]),
    ];
    let mut bench = Bench::new(4, roles, "");
    let task = bench.begin();
    let view = bench.until_task(task, "finished");
    assert_eq!(view["outcome"], "done");
    assert_eq!(view["proposals"], json!([]));
    let told = last_result(&bench.requests_of(REQUEST).pop().unwrap());
    let told: Json = serde_json::from_str(&told).unwrap();
    assert_eq!(told[0]["answer"], "Config, line 2.");
    assert_eq!(told[1], json!({ "question": "How many tiles are there?", "answer": "Four." }));
    let refused = bench.requests_of("How many tiles").swap_remove(1);
    assert!(last_result(&refused).contains("A scout only reads"), "{refused}");
    let tools = tools_of(&refused);
    assert!(tools.contains(&"read_script") && !tools.contains(&"create_instance"), "{tools:?}");
}

#[test]
fn stopping_the_lead_stops_its_workers() {
    let silent = || Reply { end: End::Silent, ..says("") };
    let mut roles = two_parts();
    roles[0].replies = vec![silent()];
    roles[1].replies = vec![silent()];
    let mut bench = Bench::new(4, roles, "");
    let task = bench.begin();
    let parts = bench.human.until_found(&format!("/api/workflows/{task}"), |it| {
        let parts = it["parts"].as_array()?;
        (parts.len() == 2).then(|| parts.clone())
    });
    bench.human.call("POST", &format!("/api/workflows/{task}/cancel"), &json!({})).ok();
    for part in parts {
        let worker = bench.until_task(part["worker"].as_u64().unwrap(), "finished");
        assert_eq!(worker["outcome"], "not_approved");
    }
}

/// How many entries lie between two kills. `VECTOR_KILLS=1` kills at every entry.
pub(super) fn kill_step() -> usize {
    std::env::var("VECTOR_KILLS").map_or(7, |it| it.parse().unwrap())
}

#[test]
fn killed_daemon_goes_on_with_all_models_where_they_were() {
    let parts = 200;
    let mut bench = Bench::new(parts, orchestra(), "");
    let task = bench.begin();
    until_corrected(&mut bench, task);
    let ledger = Ledger::open(&bench.home.path().join("vector")).unwrap();
    let last = ledger.last_seq().unwrap().0;
    for kill_at in (2..last).step_by(kill_step()) {
        let mut bench = Bench::new(parts, orchestra(), "");
        let ledger = Ledger::open(&bench.home.path().join("vector")).unwrap();
        let task = bench.begin();
        bench.kill_at(&ledger, kill_at);
        bench.restart();
        until_corrected(&mut bench, task);
        let view = approve_all(&mut bench, task);
        assert_eq!(view["outcome"], "done", "killed at entry {kill_at}");
        let outcomes = view["parts"].as_array().unwrap().iter().map(|it| &it["outcome"]["outcome"]);
        assert_eq!(outcomes.collect::<Vec<_>>(), ["submitted"; 4], "killed at entry {kill_at}");
        check_result(&bench, parts);
    }
}
