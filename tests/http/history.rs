//! The history of the ledger over HTTP: paging, filters, figures and export.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Finish, Phase, Seq, Tokens};
use serde_json::{Value as Json, json};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

/// A daemon, its user, and an open place beside the ledger.
pub(super) struct Bench {
    pub(super) home: Home,
    pub(super) daemon: Daemon,
    pub(super) human: Human,
    pub(super) file: PathBuf,
    pub(super) opened: Json,
}

impl Bench {
    pub(super) fn new() -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxlx");
        fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
        let daemon = Daemon::start(binary::vector(), &ledger(&home));
        let human = Human::of(&daemon, &ledger(&home));
        let opened = human.open(&file).ok();
        Self { home, daemon, human, file, opened }
    }

    pub(super) fn ask(&mut self, request: &str) -> u64 {
        self.human.ask(&self.opened, request);
        self.human.card()
    }

    pub(super) fn apply(&mut self, request: &str) -> u64 {
        let card = self.ask(request);
        self.human.approve(card).ok();
        self.human.until("done");
        assert_eq!(self.human.shown(card)["status"], "applied");
        card
    }

    /// Waits for a workflow to end, and returns it.
    pub(super) fn ended(&self, workflow: &Json) -> Json {
        let mut cursor = Json::from(0);
        loop {
            let view = self.get(&format!("/api/workflows/{workflow}"));
            if view["state"] == "finished" {
                return view;
            }
            cursor = self.get(&format!("/api/stream?cursor={cursor}&hold=1"))["cursor"].clone();
        }
    }

    pub(super) fn get(&self, path: &str) -> Json {
        self.human.call("GET", path, &Json::Null).ok()
    }

    /// The sequence numbers of the entries that match.
    fn found(&self, query: &str) -> Vec<u64> {
        let page = self.get(&format!("/api/history?{query}"));
        seqs(&page)
    }
}

/// The ledger folder that the commands of this home use.
pub(super) fn ledger(home: &Home) -> PathBuf {
    home.path().join("vector")
}

fn entries(page: &Json) -> &Vec<Json> {
    page["entries"].as_array().unwrap()
}

fn seqs(page: &Json) -> Vec<u64> {
    entries(page).iter().map(|entry| entry["seq"].as_u64().unwrap()).collect()
}

fn kinds(page: &Json) -> Vec<&str> {
    entries(page).iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

#[track_caller]
fn refused(answer: &Answer, status: u16, says: &str) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, status, "{said}");
    assert!(said.contains(says), "{said}");
}

const FADE: &str = "set Transparency = 0.5 on #Baseplate";
const LAMP: &str = "set Transparency = 0.75 on #Lamp";

#[test]
fn history_lists_entries_newest_first_with_current_outcomes() {
    let mut bench = Bench::new();
    let done = bench.apply(FADE);
    let no = bench.ask(LAMP);
    bench.human.decide(no, &json!({ "say": "reject", "reason": "too pale" })).ok();
    bench.human.until("done");
    let page = bench.get("/api/history");
    let all = seqs(&page);
    assert!(all.is_sorted_by(|a, b| a == &(b + 1)), "without a gap: {all:?}");
    assert_eq!(all.last(), Some(&1));
    assert_eq!(page["older"], Json::Null);
    assert_eq!(kinds(&page).last(), Some(&"started"));
    let line = |seq: u64| entries(&page).iter().find(|it| it["seq"] == seq).unwrap().clone();
    let proposed = line(done);
    assert_eq!(proposed["kind"], "proposed");
    assert_eq!(proposed["outcome"], "applied", "what became of it by now");
    assert_eq!(proposed["tool"], "set_properties");
    assert_eq!(proposed["paths"], json!(["game.Workspace.Baseplate"]));
    assert_eq!(proposed["session"], bench.opened["session"]);
    assert_eq!(proposed["place"], page["places"][0]);
    assert_eq!(line(no)["outcome"], "rejected");
    let approved = entries(&page).iter().find(|it| it["kind"] == "approved").unwrap();
    assert_eq!((&approved["by"], &approved["proposal"]), (&json!("person"), &json!(done)));
    let title = format!("Approved: {}", proposed["title"].as_str().unwrap());
    assert_eq!(approved["title"], title);
    assert_eq!(page["tools"], json!(["complete", "set_properties"]));
    // A later decision changes the outcome of an entry that was already read.
    let waits = bench.ask(LAMP);
    assert_eq!(bench.found("outcome=waiting&kind=proposed"), [waits]);
    bench.human.approve(waits).ok();
    bench.human.until_status(waits, "applied");
    assert_eq!(bench.found("outcome=waiting&kind=proposed"), [0; 0]);
    assert_eq!(bench.found("outcome=applied&kind=proposed"), [waits, done]);
}

#[test]
fn history_filters_by_path_tool_text_place_and_day() {
    let mut bench = Bench::new();
    let fade = bench.apply(FADE);
    let lamp = bench.ask(LAMP);
    bench.human.decide(lamp, &json!({ "say": "reject", "reason": "far too pale" })).ok();
    bench.human.until("done");
    assert_eq!(bench.found("kind=proposed&path=baseplate"), [fade]);
    assert_eq!(bench.found("kind=proposed&path=Lamp"), [lamp]);
    assert_eq!(bench.found("path=no.such.thing"), [0; 0]);
    assert_eq!(bench.found("kind=proposed&tool=set_properties"), [lamp, fade]);
    assert_eq!(bench.found("tool=delete_instance"), [0; 0]);
    assert_eq!(bench.found("kind=rejected&text=TOO+PALE").len(), 1);
    assert_eq!(bench.found("kind=started&text=%23Lamp").len(), 1, "what was asked");
    assert_eq!(bench.found("text=.*").len(), 0, "a text is no pattern");
    let session = bench.opened["session"].as_str().unwrap();
    let all = bench.found("");
    assert_eq!(bench.found(&format!("place={session}")), all);
    let name = binary::path_there(&bench.file).replace('\\', "%5C").replace(' ', "%20");
    assert_eq!(bench.found(&format!("place={name}")), all);
    assert_eq!(bench.found("place=another"), [0; 0]);
    assert_eq!(bench.found("day=1999-12-31"), [0; 0]);
    let at = bench.get("/api/history?limit=1")["entries"][0]["at"].as_u64().unwrap();
    let day = vector_core::calendar::UtcMoment::from_seconds(at / 1000);
    let day = format!("{:04}-{:02}-{:02}", day.year, day.month, day.day);
    // The entries may span midnight, so only the newest one is certain to be of this day.
    assert_eq!(bench.found(&format!("day={day}")).first(), all.first());
    let get = |query: &str| bench.human.call("GET", &format!("/api/history?{query}"), &Json::Null);
    refused(&get("day=yesterday"), 400, "2026-12-01");
    refused(&get("outcome=good"), 400, "reverted");
    refused(&get("limit=x"), 400, "not a number");
    refused(&get("text=%ff"), 400, "UTF-8");
}

#[test]
fn entry_is_shown_whole_with_its_neighbours() {
    let mut bench = Bench::new();
    let card = bench.apply(FADE);
    let entry = bench.get(&format!("/api/history/{card}"));
    assert_eq!(entry["record"]["entry"], "proposed");
    assert_eq!(entry["record"]["proposal"]["commands"][0]["op"], "set");
    assert_eq!(
        (&entry["line"]["outcome"], &entry["line"]["seq"]),
        (&json!("applied"), &json!(card))
    );
    assert_eq!((&entry["previous"], &entry["next"]), (&json!(card - 1), &json!(card + 1)));
    let first = bench.get("/api/history/1");
    assert_eq!((&first["previous"], &first["next"]), (&Json::Null, &json!(2)));
    let last = bench.found("limit=1")[0];
    assert_eq!(bench.get(&format!("/api/history/{last}"))["next"], Json::Null);
    for no in [0, last + 1, u64::MAX] {
        let answer = bench.human.call("GET", &format!("/api/history/{no}"), &Json::Null);
        refused(&answer, 404, "does not exist or is of another kind");
    }
}

#[test]
fn figures_count_calls_and_decisions_by_tool() {
    let mut bench = Bench::new();
    bench.apply(FADE);
    let tool = |figures: &Json| {
        let tools = figures["tools"].as_array().unwrap().iter();
        tools.clone().find(|it| it["tool"] == "set_properties").unwrap().clone()
    };
    let figures = tool(&bench.get("/api/figures"));
    assert_eq!(
        (&figures["calls"], &figures["proposed"], &figures["applied"]),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(figures["planning"]["count"], 1);
    let no = bench.ask(LAMP);
    bench.human.decide(no, &json!({ "say": "reject" })).ok();
    bench.human.until("done");
    // The pages continue where the previous one stopped.
    let all = bench.get("/api/figures?days=1");
    let figures = tool(&all);
    assert_eq!((&figures["calls"], &figures["rejected"]), (&json!(2), &json!(1)));
    assert_eq!(figures["deciding"]["count"], 2);
    assert_eq!(all["usage"], json!([]), "the offline planner takes nothing");
    for days in ["0", "18446744073709551615"] {
        bench.get(&format!("/api/figures?days={days}"));
    }
    refused(&bench.human.call("GET", "/api/figures?days=x", &Json::Null), 400, "not a number");
}

/// The exported lines.
fn exported(bench: &Bench, query: &str) -> Vec<String> {
    let token = fs::read_to_string(ledger(&bench.home).join("token")).unwrap();
    let headers = [
        ("Host".to_owned(), format!("127.0.0.1:{}", bench.daemon.port)),
        (
            "Authorization".to_owned(),
            format!("Bearer {}", token.split_whitespace().nth(1).unwrap()),
        ),
    ];
    let text = bench.daemon.text("GET", &format!("/api/history/export?{query}"), &headers, b"");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/x-ndjson"), "{head}");
    // The other lines are the chunk sizes of the HTTP body.
    body.lines().filter(|line| line.starts_with('{')).map(str::to_owned).collect()
}

#[test]
fn export_equals_vector_log_output() {
    let mut bench = Bench::new();
    bench.apply(FADE);
    let no = bench.ask(LAMP);
    bench.human.decide(no, &json!({ "say": "reject" })).ok();
    bench.human.until("done");
    let printed = bench.home.run(&["log", "--json"], "");
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_eq!(exported(&bench, ""), printed.stdout.lines().collect::<Vec<_>>());
    let found = exported(&bench, "outcome=rejected&kind=proposed");
    let found: Vec<Json> = found.iter().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(found.iter().map(|it| it["seq"].as_u64().unwrap()).collect::<Vec<_>>(), [no]);
    assert_eq!(exported(&bench, "text=nobody+said+this"), [""; 0]);
    refused(&bench.human.call("GET", "/api/history/export?day=x", &Json::Null), 400, "2026-12-01");
}

/// A proposal that gives script `number` a new text.
fn proposed(call: u64, number: u64) -> Entry {
    let hash = Fingerprint::hash_bytes(b"text");
    let target =
        json!({ "id": format!("file:{number}"), "path": format!("game.Workspace.Script{number}") });
    let edit = json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 },
        "text": "-- a line that says something of what this script is for\n".repeat(20),
    });
    serde_json::from_value(json!({
        "entry": "proposed", "call": call, "proposal": {
            "title": format!("Edit Script{number}"), "class": "additive",
            "commands": [{ "op": "edit_script", "target": target, "edits": [edit], "expect": hash }],
            "base": hash, "patch_id": hash, "preview": { "rows": [], "scripts": [] }, "warnings": [],
        },
    }))
    .unwrap()
}

fn called(tool: &str, args: Json) -> Entry {
    Entry::Called { tool: tool.to_owned(), args, id: None, flaw: None }
}

/// Appends a task of 24 entries.
fn work(ledger: &Ledger, number: u64) {
    let started = json!({
        "entry": "started", "goal": format!("Task {number}: make it better"), "driver": "maker/model",
        "mode": "confirm", "place": {
            "file": format!("/games/{}.rbxl", number % 7), "hash": Fingerprint::hash_bytes(b"place"),
        },
    });
    let started: Entry = serde_json::from_value(started).unwrap();
    let tokens = Some(Tokens { prompt: 100, generated: 10, cache_read: 50, cache_write: 0 });
    let (model, cost) = ("maker/model".to_owned(), number.is_multiple_of(2).then_some(0.5));
    let mut entries = vec![started, Entry::Replied { model, tokens, cost, replay: None }];
    for step in 0..6_u64 {
        let text = format!("Now I look at step {step} of task {number}. ").repeat(20);
        entries.push(Entry::Said { text, phase: Phase::Update, answers: Vec::new() });
        let path = format!("game.Workspace.Script{number}");
        entries.push(called("read_script", json!({ "path": path })));
        let text = "print('a line of a script')\n".repeat(80);
        entries
            .push(Entry::Answered { call: Seq(0), answer: json!({ "path": path, "text": text }) });
    }
    let first =
        ledger.append(AppendBatch { workflow: None, entries, blobs: Vec::new() }).unwrap()[0].seq;
    let workflow = Some(first);
    let add =
        |entries| ledger.append(AppendBatch { workflow, entries, blobs: Vec::new() }).unwrap();
    let call = add(vec![called("replace_text", json!({}))])[0].seq.0;
    let proposal = add(vec![proposed(call, number)])[0].seq;
    let said = if number.is_multiple_of(2) {
        Entry::Rejected { proposal, reason: None }
    } else {
        Entry::Failed { proposal, reason: "The disk is full.".to_owned() }
    };
    add(vec![said, Entry::Finished { outcome: Finish::Done, summary: None }]);
}

/// Requests a page, and returns the milliseconds that it took.
fn took(human: &Human, query: &str) -> (u128, Json) {
    let start = Instant::now();
    let page = human.call("GET", &format!("/api/history?{query}"), &Json::Null).ok();
    (start.elapsed().as_millis(), page)
}

#[test]
fn ten_thousand_entries_are_paged_filtered_and_counted() {
    let home = Home::new();
    {
        let ledger = Ledger::open(&ledger(&home)).unwrap();
        (0..440).for_each(|number| work(&ledger, number));
        assert!(ledger.last_seq().unwrap() > Seq(10_000));
    }
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let (first, page) = took(&human, "");
    assert_eq!(entries(&page).len(), 50);
    // Paging through everything returns each entry once.
    let (mut all, mut query) = (Vec::new(), "limit=200".to_owned());
    loop {
        let page = human.call("GET", &format!("/api/history?{query}"), &Json::Null).ok();
        all.extend(seqs(&page));
        let Some(older) = page["older"].as_u64() else { break };
        query = format!("limit=200&before={older}");
    }
    assert_eq!(all.len(), 440 * 24);
    assert!(all.is_sorted_by(|a, b| a == &(b + 1)));
    let (unfiltered, _) = took(&human, "before=5000");
    let (rare, page) = took(&human, "text=task+3%3A&kind=started");
    assert_eq!(entries(&page)[0]["title"], "Task 3: make it better");
    let (path, page) = took(&human, "path=script400");
    // 12 for the reads (calls and results), and 3 for the change: the call, the proposal and the
    // decision.
    assert_eq!(entries(&page).len(), 6 * 2 + 3);
    let (outcome, page) = took(&human, "outcome=failed&kind=proposed&limit=200");
    assert_eq!(entries(&page).len(), 200);
    let (none, page) = took(&human, "text=nobody+ever+said+this");
    assert_eq!((entries(&page).len(), &page["older"]), (0, &Json::Null));
    let start = Instant::now();
    let figures = human.call("GET", "/api/figures", &Json::Null).ok();
    let measured = start.elapsed().as_millis();
    assert_eq!(figures["tools"][0]["tool"], "read_script");
    let usage = figures["usage"].as_array().unwrap();
    let sum = |name: &str| usage.iter().map(|it| it[name].as_f64().unwrap()).sum::<f64>();
    assert_eq!(
        (sum("messages"), sum("read"), sum("cached"), sum("written")),
        (440., 44e3, 22e3, 4_400.)
    );
    assert_eq!((sum("usd"), sum("unpriced")), (110., 220.));
    assert!(
        usage
            .iter()
            .all(|it| (&it["model"], &it["project"]) == (&json!("maker/model"), &json!("/games")))
    );
    println!("figures: {measured} ms");
    println!(
        "ms: first {first}, a later one {unfiltered}, text {rare}, path {path}, outcome {outcome}, \
         none {none}"
    );
    drop(daemon);
    // With a cold cache, an old entry is not on the first page: each page says where to continue.
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let (mut query, mut pages) = ("text=task+3%3A&kind=started".to_owned(), 0);
    let found = loop {
        let (ms, page) = took(&human, &query);
        println!("cold: {ms} ms");
        pages += 1;
        if let Some(found) = entries(&page).first() {
            break found.clone();
        }
        query = format!("text=task+3%3A&kind=started&before={}", page["older"]);
    };
    assert_eq!(found["title"], "Task 3: make it better");
    assert_eq!(pages, 3, "5,000 entries are looked at for a page");
}
