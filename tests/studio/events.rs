//! The widget's display of every event. A fake daemon plays them, because tests cannot cause some
//! of them with the real one, such as a failure for lack of money.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use axum::extract::State;
use axum::http::Uri;
use axum::{Json as Body, Router};
use scene_schemas::Fingerprint;
use scene_schemas::api::{
    Event, EventRecord, FailureKind, OfferedPermission, PollResponse, ProposalCard, ProposalStatus,
    SceneReceipt, SessionId, Setting, Settings, SpendingLimits, ThinkingPhase, Usage, Welcome,
    WorkflowState, WorkflowView, Workflows, openapi_document,
};
use scene_schemas::entry::{Finish, Seq, Step};
use scene_schemas::permission::{Permission, PermissionAnswer};
use scene_schemas::proposal::{Change, Class, Conflict, Mode, Passage, Preview, Row};
use scene_schemas::review::TaskRole;
use serde_json::{Value as Json, json};
use studio_sim::{Options, SharedSettings, Signals, Studio};
use tokio::sync::Notify;

use super::{ask, click, eval, has, load, object, shows, until, until_shown, until_there};

const WORKFLOW: Seq = Seq(1);
const CALL: Seq = Seq(3);
const REFUSED: Seq = Seq(4);
const PROPOSAL: Seq = Seq(5);

/// What the player sends, and what the plugin did with it.
#[derive(Default)]
struct Played {
    session: Option<SessionId>,
    waiting: Vec<EventRecord>,
    cursor: u64,
    asked: Vec<String>,
    /// Whether the last request began a new conversation.
    begins: bool,
    /// Actions on workflows, such as `1/cancel`.
    verbs: Vec<String>,
    /// The number of rows in the proposal's preview.
    rows: u32,
}

/// How long a poll is held if nothing happens.
const HOLD: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
struct Player(Arc<(Mutex<Played>, Notify)>);

/// The first lines of a proposal with this many rows.
fn proposal_card(rows: u32, lines: u32) -> ProposalCard {
    let row = |at: u32| Row {
        command: at,
        member: None,
        change: Change::Deleted { count: 1 },
        path: format!("game.Workspace.Wall{at}").parse().unwrap(),
        class: "Part".to_owned(),
    };
    let shown = rows.min(lines);
    ProposalCard {
        seq: PROPOSAL,
        status: ProposalStatus::Waiting,
        reason: None,
        needs_twice: false,
        title: "Paint the wall".to_owned(),
        class: Class::Modifying,
        base: Fingerprint::hash_bytes(b"base"),
        patch_id: Fingerprint::hash_bytes(b"patch"),
        warnings: Vec::new(),
        runs: None,
        notes: Vec::new(),
        rules: Vec::new(),
        after: Vec::new(),
        is_small_step: false,
        preview: Preview { rows: (0..shown).map(row).collect(), ..Preview::default() },
        more: rows - shown,
        sandbox: None,
        parts: rows,
        edited: Vec::new(),
        comments: Vec::new(),
        reviews: Vec::new(),
        unreviewed: None,
    }
}

/// An active workflow.
fn workflow(seq: Seq) -> WorkflowView {
    WorkflowView {
        role: TaskRole::Solo,
        parts: Vec::new(),
        seq,
        cursor: Seq(0),
        session: None,
        goal: text("Paint the wall red"),
        attached: Vec::new(),
        driver: text("offline"),
        mode: Mode::Confirm,
        state: WorkflowState::Working,
        outcome: None,
        plan: Vec::new(),
        proposals: Vec::new(),
        rules: Vec::new(),
        spending: Vec::new(),
    }
}

impl Player {
    fn with<T>(&self, act: impl FnOnce(&mut Played) -> T) -> T {
        act(&mut self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for an event, as the daemon does, though not for long.
    async fn hold(&self) {
        if self.with(|it| it.waiting.is_empty()) {
            let _ = tokio::time::timeout(HOLD, self.0.1.notified()).await;
        }
    }

    fn play(&self, event: Event) {
        self.play_of(WORKFLOW, event);
    }

    fn play_of(&self, workflow: Seq, event: Event) {
        self.with(|it| {
            it.cursor += 1;
            let record = EventRecord { seq: Seq(it.cursor), at: 0, workflow, event };
            it.waiting.push(record);
        });
        self.0.1.notify_one();
    }

    fn hello(&self, body: &Json) -> Json {
        let session: SessionId = serde_json::from_value(body["session"].clone()).unwrap();
        self.with(|it| it.session = Some(session));
        json!(Welcome {
            protocol: scene_schemas::api::PROTOCOL,
            update: None,
            daemon: "0.1.0".to_owned(),
            epoch: 1,
            token: "token".to_owned(),
            cursor: Seq(0),
        })
    }

    fn polled(&self) -> Json {
        json!(self.with(|it| PollResponse {
            cursor: Seq(it.cursor),
            events: std::mem::take(&mut it.waiting),
            work: Vec::new(),
            need: None,
        }))
    }

    fn answer(&self, path: &str, body: &Json) -> Json {
        match path {
            "/api/hello" => self.hello(body),
            "/api/workflows" => json!(Workflows { workflows: Vec::new() }),
            "/api/settings" => json!(Settings {
                mode: Mode::Confirm,
                dry_run: false,
                play_check: true,
                model: "offline".to_owned(),
                models: vec!["offline".to_owned()],
                limits: SpendingLimits::default(),
            }),
            "/api/usage" => json!(Usage { input: 0, output: 0, cost: None }),
            "/api/chat" => {
                let text = body["text"].as_str().unwrap_or_default().to_owned();
                self.with(|it| {
                    it.asked.push(text);
                    it.begins = body["begins"] == true;
                });
                json!({ "workflow": WORKFLOW })
            }
            path if path.starts_with("/api/workflows/") => {
                let verb = path["/api/workflows/".len()..].to_owned();
                let seq = verb.split('/').next().and_then(|seq| seq.parse().ok()).unwrap();
                self.with(|it| it.verbs.push(verb));
                json!(workflow(Seq(seq)))
            }
            path if path.ends_with("/poll") => self.polled(),
            path if path.ends_with("/scene") => json!(SceneReceipt { instances: 1 }),
            path if path.starts_with("/api/proposals/5/card?lines=") => {
                let lines = path["/api/proposals/5/card?lines=".len()..].parse().unwrap();
                json!(self.with(|it| proposal_card(it.rows, lines)))
            }
            other => panic!("the plugin asked for {other}"),
        }
    }

    /// Starts to listen on a free port, and returns it.
    fn listen(&self) -> u16 {
        let it = self.clone();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async move {
                let handler = |State(it): State<Player>, uri: Uri, body: String| async move {
                    if uri.path().ends_with("/poll") {
                        it.hold().await;
                    }
                    let body = serde_json::from_str(&body).unwrap_or(Json::Null);
                    Body(it.answer(uri.path_and_query().unwrap().as_str(), &body))
                };
                let router = Router::new().fallback(handler).with_state(it);
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        port
    }
}

/// An event, the texts that the widget contains then, and the texts that it must not contain.
type Case = (Event, &'static [&'static str], &'static [&'static str]);

fn text(text: &str) -> String {
    text.to_owned()
}

fn changed(status: ProposalStatus, reason: Option<&str>) -> Event {
    Event::ProposalChanged { proposal: PROPOSAL, status, by: None, reason: reason.map(text) }
}

fn parsed(call: Seq, tool: &str, brief: &str) -> Event {
    Event::ToolParsed { call, tool: text(tool), brief: text(brief) }
}

fn conflict() -> Conflict {
    let passage = Passage {
        line: 7,
        base: text("local speed = 1\n"),
        theirs: text("local speed = 2\n"),
        ours: text("local speed = 3\n"),
    };
    let path = "game.ServerScriptService.Main".parse().unwrap();
    Conflict { path, passages: vec![passage], more: 2 }
}

fn of_tools() -> Vec<Case> {
    vec![
        (parsed(CALL, "set_properties", "Color · .Wall"), &["… set properties Color"], &[]),
        (Event::ToolValid { call: CALL }, &["… set properties Color"], &[]),
        (Event::ToolStarted { call: CALL }, &["… set properties Color"], &[]),
        (
            Event::ToolResult { call: CALL, brief: text("3 changed") },
            &["✓ set properties Color", "3 changed"],
            &["… set properties Color · .Wall"],
        ),
        (parsed(REFUSED, "apply_edit", "Main"), &["… apply edit Main"], &[]),
        (
            Event::ToolError {
                call: REFUSED,
                reason: text("The text has changed."),
                conflict: Some(Box::new(conflict())),
            },
            &[
                "✗ apply edit Main",
                "The text has changed.",
                "Line 7, before",
                "local speed = 1",
                "Now in the script",
                "local speed = 2",
                "Proposed",
                "local speed = 3",
                "and 2 more passages in game.ServerScriptService.Main",
            ],
            &["… apply edit Main"],
        ),
    ]
}

fn of_proposals() -> Vec<Case> {
    vec![
        (
            Event::ProposalMapped {
                call: CALL,
                proposal: PROPOSAL,
                title: text("Paint the wall"),
                subject: Some("game.Workspace.Wall".parse().unwrap()),
                class: Class::Modifying,
                from: None,
            },
            &["Paint the wall", "Changes", "Approve", "Reject", "Waiting for your decision"],
            &[],
        ),
        (changed(ProposalStatus::Approved, None), &["Approved; being applied."], &["Approve"]),
        (
            changed(ProposalStatus::Failed, Some("A playtest is running.")),
            &["Not applied. A playtest is running.", "Request it again"],
            &[],
        ),
        (
            changed(ProposalStatus::Rejected, None),
            &["Rejected."],
            &["Not applied. A playtest is running."],
        ),
        (
            changed(ProposalStatus::Withdrawn, Some("The script has changed.")),
            &["No longer valid. The script has changed."],
            &[],
        ),
        (
            changed(ProposalStatus::Applied, None),
            &["Step 1: applied.", "Verify that it works"],
            &[],
        ),
        (
            changed(ProposalStatus::Undone, None),
            &["Undone.", "You have undone step 1: Paint the wall."],
            &["Verify that it works"],
        ),
        (changed(ProposalStatus::Waiting, None), &["Approve"], &["Undone."]),
    ]
}

fn of_the_model() -> Vec<Case> {
    vec![
        (
            Event::Thinking { phase: ThinkingPhase::Planning },
            &["Planning the change…"],
            &["The model is thinking…"],
        ),
        (Event::ContextRequested { what: text("the selection") }, &["Reading the selection"], &[]),
        (
            Event::Plan {
                steps: vec![
                    Step { text: text("Lay the floor"), done: true },
                    Step { text: text("Raise the walls"), done: false },
                ],
                notes: Some(text("Walls are next.")),
            },
            &["▸ Plan: 1 of 2 done"],
            &[],
        ),
        (
            Event::Usage { input: 12_000, output: 345, cost: Some(0.25) },
            &["12.0k tokens read, 345 written, $0.25"],
            &[],
        ),
        (
            Event::ContextStats {
                turns: 4,
                bytes: 40_000,
                limit: Some(100_000),
                scripts: Vec::new(),
                left: Vec::new(),
            },
            &["10% of what the model can read"],
            &[],
        ),
        (Event::ContextSummarised { turns: 6 }, &["The oldest 6 messages were summarised"], &[]),
        (
            Event::Retrying { reason: text("It is overloaded"), seconds: 7 },
            &["It is overloaded. Retrying in 7 s."],
            &[],
        ),
        (Event::Stalled { seconds: 20 }, &["No response for 20 seconds."], &[]),
        (Event::AssistantStart {}, &[], &["No response for 20 seconds. Stop ends it."]),
        (Event::AssistantUpdate { text: text("Half a ") }, &["Half a"], &[]),
        (Event::AssistantUpdate { text: text("sentence") }, &["Half a sentence"], &[]),
        (
            Event::AskedMore { text: text("Rather blue"), attached: Vec::new() },
            &["Rather blue", "Half a sentence"],
            &[],
        ),
        // A repeated model request starts with an empty text.
        (Event::AssistantStart {}, &[], &["Half a sentence"]),
        (
            Event::AssistantFinal { text: text("**Red** or blue?"), answers: Vec::new() },
            &["Red or blue?"],
            &["Half a sentence", "Half a "],
        ),
    ]
}

fn of_permissions() -> Vec<Case> {
    let answers = Permission::Playtest.answers().iter().copied();
    let offered =
        |answer: PermissionAnswer| OfferedPermission { answer, label: answer.label().to_owned() };
    let question = text("Play the game in Studio?");
    let call = Seq(7);
    vec![
        (
            Event::PermissionRequested {
                call,
                question,
                answers: answers.map(offered).collect(),
                model: None,
            },
            &["Play the game in Studio?", "Yes, this time", "Yes, for this task", "No"],
            &[],
        ),
        (
            Event::PermissionDecided { call, answer: PermissionAnswer::Task },
            &["You permitted it, for this task."],
            &["Yes, this time", "No"],
        ),
    ]
}

fn of_comments() -> Vec<Case> {
    let commented = |count, is_reply| Event::Commented { proposal: PROPOSAL, count, is_reply };
    vec![
        (commented(2, false), &["You asked for changes, with 2 comments."], &[]),
        (commented(1, true), &["The model replied to 1 comment."], &[]),
        (
            Event::Review { proposal: PROPOSAL, text: text("The review is done: no findings.") },
            &["The review is done: no findings."],
            &[],
        ),
        (
            Event::Part { text: text("Part 1, Shop: vendor/model does it, in task 12.") },
            &["Part 1, Shop: vendor/model does it, in task 12."],
            &[],
        ),
    ]
}

/// The cases of rules, of which the first is played as the event at `added`.
fn of_rules(added: Seq) -> Vec<Case> {
    vec![
        (
            Event::RuleAdded { text: text("additions within game.Workspace.Farm") },
            &[
                "Additions within game.Workspace.Farm",
                "Revoke",
                "You allowed additions within game.Workspace.Farm",
            ],
            &[],
        ),
        (Event::RuleRevoked { rule: added }, &["You revoked what you had allowed."], &["Revoke"]),
    ]
}

fn of_errors() -> Vec<Case> {
    vec![
        (
            Event::Error {
                code: FailureKind::PaymentRequired,
                message: text("The provider wants to be paid."),
                retryable: true,
                hint: text("Add credit there, or choose another model."),
                setting: Some(Setting::Model),
            },
            &[
                "The provider wants to be paid.",
                "Add credit there",
                "Choose another model",
                "Retry",
            ],
            &["Waiting for your decision"],
        ),
        (
            Event::Error {
                code: FailureKind::Internal,
                // The code decides on the kind of card, not the contents of the message.
                message: text("Line 402 of the api key list is broken."),
                retryable: false,
                hint: String::new(),
                setting: None,
            },
            &["Line 402 of the api key list is broken."],
            &["Retry"],
        ),
    ]
}

fn asked(session: Option<SessionId>, what: &str) -> Event {
    Event::Asked {
        session,
        text: text(what),
        driver: text("offline"),
        mode: Mode::Confirm,
        attached: vec!["game.Workspace.Wall".to_owned()],
    }
}

fn cases(session: Option<SessionId>) -> Vec<Case> {
    let asked = asked(session, "Paint the wall red");
    let mut all: Vec<Case> =
        vec![(asked, &["Paint the wall red", "The model is thinking…", "Stop"], &[])];
    all.extend(of_tools());
    all.extend(of_proposals());
    all.extend(of_the_model());
    all.extend(of_permissions());
    all.extend(of_comments());
    all.extend(of_rules(Seq(all.len() as u64 + 1)));
    all.extend(of_errors());
    all.push((
        Event::ClientDisconnected { client: text("claude-code") },
        &["claude-code disconnected. Its proposals are still pending."],
        &["Stop"],
    ));
    all.push((
        Event::AssistantFinal {
            text: text("Which red?"),
            answers: vec![text("Crimson"), text("Really red")],
        },
        &["Which red?"],
        &[],
    ));
    all.push((
        Event::Done { outcome: Finish::Done, summary: Some(text("The wall is red.")) },
        &["Done. The wall is red.", "Crimson", "Really red", "Next step", "Carry out the plan"],
        &["Stop"],
    ));
    all
}

/// The names of all events in the generated API document.
fn printed() -> BTreeSet<String> {
    let api = openapi_document();
    let variants = api["components"]["schemas"]["Event"]["oneOf"].as_array().unwrap();
    let name = |it: &Json| it["properties"]["event"]["const"].as_str().unwrap().to_owned();
    variants.iter().map(name).collect()
}

#[test]
fn every_event_has_a_case() {
    let name = |(event, ..): &Case| json!(event)["event"].as_str().unwrap().to_owned();
    let played: BTreeSet<String> = cases(None).iter().map(name).collect();
    assert_eq!(played, printed(), "an event needs a case here: what the widget shows of it");
}

/// A Studio of this height that is connected to a player.
fn listener(player: &Player, signals: Signals, height: u32) -> Studio {
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(player.listen().to_string()));
    settings.set("VectorCredential", Some("\"credential\"".to_owned()));
    let size = (420, height);
    let studio =
        Studio::new(Options { signals, settings, widget_size: size, ..Options::default() });
    let studio = studio.unwrap();
    load(&studio);
    until_shown(&studio, "Connected");
    until_shown(&studio, "Asks before every change");
    studio
}

#[test]
fn widget_shows_every_event() {
    for signals in [Signals::Immediate, Signals::Deferred] {
        let player = Player::default();
        let studio = listener(&player, signals, 2_400);
        let session = player.with(|it| it.session.clone());
        for (event, shown, gone) in cases(session) {
            let what = format!("{signals:?}: {event:?}");
            player.play(event);
            until(&studio, &what, |studio| {
                let texts = studio.visible_texts();
                player.with(|it| it.waiting.is_empty())
                    && shown.iter().all(|text| shows(studio, text))
                    && !gone.iter().any(|gone| texts.iter().any(|text| text == gone))
            });
        }
        answers_are_sent(&studio, &player);
        assert_eq!(studio.errors(), Vec::<String>::new());
        assert_eq!(eval(&studio, "return #workspace:GetChildren() > 0"), true);
    }
}

#[test]
fn long_card_is_drawn_in_slices_with_end_visible() {
    let player = Player::default();
    player.with(|it| it.rows = 150);
    let studio = listener(&player, Signals::Deferred, 600);
    let session = player.with(|it| it.session.clone());
    let (asked, ..) = cases(session).swap_remove(0);
    let (mapped, ..) = of_proposals().swap_remove(0);
    player.play(asked);
    player.play(mapped);
    until_there(&studio, "Approve");
    studio.reset_meter();
    studio.click_text("Show more").unwrap();
    until(&studio, "the rest of it", |studio| shows(studio, "Wall149"));
    until_there(&studio, "Approve");
    let most = studio.most_work();
    // Studio itself replaces the old card with the finished one, and that work is counted here.
    assert!(most.units < 150_000, "{} units in one go, at {:#?}", most.units, most.traces);
    assert_eq!(studio.errors(), Vec::<String>::new());
}

/// Clicks one of a question's answers, and the button of a failure that leads to its setting.
fn answers_are_sent(studio: &Studio, player: &Player) {
    studio.click_text("Really red").unwrap();
    until(studio, "the answer is sent", |_| player.with(|it| it.asked == ["Really red"]));
    until_there(studio, "OpenSettings");
    click(studio, "OpenSettings");
    until_shown(studio, "Ask before every change");
}

/// A Studio with a running task.
fn at_work(player: &Player) -> Studio {
    let studio = listener(player, Signals::Deferred, 1_200);
    player.play(asked(player.with(|it| it.session.clone()), "Paint the wall red"));
    until_there(&studio, "Stop");
    studio
}

/// Waits until the input box is empty again.
fn until_taken(studio: &Studio) {
    until(studio, "the box is empty", |studio| object(studio, "Ask").text.is_empty());
}

fn until_verb(studio: &Studio, player: &Player, verb: &str) {
    until(studio, verb, |_| player.with(|it| it.verbs.last().is_some_and(|it| it == verb)));
}

#[test]
fn typed_commands_are_run() {
    let player = Player::default();
    let studio = at_work(&player);
    for (typed, verb) in [("/stop", "1/cancel"), (" /retry ", "1/retry"), ("/reject", "1/clear")] {
        ask(&studio, typed);
        until_verb(&studio, &player, verb);
        until_taken(&studio);
    }
    ask(&studio, "/clear");
    until(&studio, "an empty list", |studio| !shows(studio, "Paint the wall red"));
    ask(&studio, "/settings");
    until_shown(&studio, "Ask before every change");
    click(&studio, "Back");
    until_taken(&studio);
    assert_eq!(player.with(|it| it.asked.clone()), Vec::<String>::new());
    ask(&studio, "/new");
    until_taken(&studio);
    ask(&studio, "Lay the floor");
    until(&studio, "sent", |_| player.with(|it| it.asked == ["Lay the floor"] && it.begins));
    assert_eq!(studio.errors(), Vec::<String>::new());
}

/// What is selected in the focused text box.
const SELECTED: &str = "
    local box = game:GetService('UserInputService'):GetFocusedTextBox()
    return box and string.sub(box.Text, box.SelectionStart, box.CursorPosition - 1)";

#[test]
fn code_and_long_messages_can_be_copied() {
    let player = Player::default();
    let studio = listener(&player, Signals::Deferred, 900);
    player.play(asked(player.with(|it| it.session.clone()), "Explain doors"));
    let code = (1..=600).map(|n| format!("print({n})")).collect::<Vec<_>>().join("\n");
    let message = format!("A door:\n```lua\n{code}\n```");
    player.play(Event::AssistantFinal { text: message.clone(), answers: Vec::new() });
    until_shown(&studio, "Copy message");
    let links = studio.gui().into_iter().filter(|it| it.text == "Copy code").count();
    assert_eq!(links, 1, "a block that takes several labels has one link");
    for (link, copied) in [("Copy code", code), ("Copy message", message)] {
        studio.scroll_to(&object(&studio, "Transcript"), 0.0, f64::MAX).unwrap();
        studio.click_text(link).unwrap();
        until_there(&studio, "Copied");
        assert_eq!(eval(&studio, SELECTED), copied);
        studio.release_focus().unwrap();
        until(&studio, "the box is gone", |studio| !has(studio, "Copied"));
    }
    player.play(Event::AssistantFinal { text: text("Short."), answers: Vec::new() });
    until_shown(&studio, "Short.");
    assert_eq!(studio.gui().into_iter().filter(|it| it.text == "Copy message").count(), 1);
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn new_chat_begins_a_conversation() {
    let player = Player::default();
    let studio = at_work(&player);
    assert!(!has(&studio, "NewChat"), "the task is still at work");
    player.play(Event::Done { outcome: Finish::Done, summary: None });
    until_there(&studio, "NewChat");
    click(&studio, "NewChat");
    until(&studio, "an empty list", |studio| !shows(studio, "Paint the wall red"));
    assert!(!has(&studio, "NewChat"));
    ask(&studio, "Lay the floor");
    until(&studio, "sent", |_| player.with(|it| it.asked == ["Lay the floor"] && it.begins));
}

#[test]
fn invalid_commands_are_not_sent() {
    for (typed, told) in [
        ("/undo", "Unknown command /undo. Nothing was sent."),
        ("/undo the wall", "Unknown command /undo. Nothing was sent."),
        ("/stop it", "/stop takes no text. Nothing was sent."),
    ] {
        let player = Player::default();
        let studio = at_work(&player);
        ask(&studio, typed);
        until_shown(&studio, told);
        until_shown(&studio, "Type / for the list");
        assert_eq!(object(&studio, "Ask").text, typed, "what was typed can be mended");
        studio.type_into(&object(&studio, "Ask"), ".", false).unwrap();
        until(&studio, "the notice goes", |studio| !has(studio, "Notice"));
        let (asked, verbs) = player.with(|it| (it.asked.clone(), it.verbs.clone()));
        assert_eq!((asked.len(), verbs.len()), (0, 0), "{asked:?} {verbs:?}");
        assert_eq!(studio.errors(), Vec::<String>::new());
    }
}

#[test]
fn text_after_a_command_is_sent_as_its_subject() {
    let player = Player::default();
    let studio = at_work(&player);
    ask(&studio, "/plan");
    for (typed, sent) in [
        // The command alone sent nothing, and is still in the box.
        (" a tower", "a tower"),
        ("/fix", "Find the problem here"),
        ("/explain the door", "what to watch out for. the door"),
        ("/build", "Carry out the plan, step by step."),
        ("/etc/hosts is a file", "/etc/hosts is a file"),
    ] {
        ask(&studio, typed);
        until(&studio, typed, |_| {
            player.with(|it| it.asked.last().is_some_and(|it| it.contains(sent)))
        });
        until_taken(&studio);
    }
    assert_eq!(player.with(|it| it.asked.len()), 5);
    assert_eq!(studio.errors(), Vec::<String>::new());
}

fn broken() -> Event {
    Event::Error {
        code: FailureKind::Provider,
        message: text("No model is available."),
        retryable: true,
        hint: String::new(),
        setting: None,
    }
}

#[test]
fn retry_applies_to_the_failed_task() {
    let player = Player::default();
    let studio = at_work(&player);
    let other = asked(player.with(|it| it.session.clone()), "Lay the floor");
    player.play_of(Seq(2), other);
    player.play(broken());
    until_there(&studio, "Retry");
    click(&studio, "Stop");
    until_verb(&studio, &player, "2/cancel");
    player.play_of(Seq(2), Event::Done { outcome: Finish::NotApproved, summary: None });
    until(&studio, "nothing at work", |studio| !has(studio, "Stop"));
    click(&studio, "Retry");
    until_verb(&studio, &player, "1/retry");
    until(&studio, "it goes on", |studio| has(studio, "Stop") && !has(studio, "Retry"));
    player.play(broken());
    until_there(&studio, "Retry");
    player.play(Event::AskedMore { text: text("Rather blue"), attached: Vec::new() });
    until(&studio, "it is at work", |studio| has(studio, "Stop") && !has(studio, "Retry"));
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn try_again_resends_the_last_request() {
    let player = Player::default();
    let studio = at_work(&player);
    player.play(Event::AskedMore { text: text("Paint it blue"), attached: Vec::new() });
    player.play(Event::Done { outcome: Finish::Failed, summary: None });
    until_shown(&studio, "Try again");
    studio.click_text("Try again").unwrap();
    until(&studio, "sent", |_| player.with(|it| it.asked == ["Paint it blue"]));
    assert_eq!(studio.errors(), Vec::<String>::new());
}

#[test]
fn suggested_answer_is_not_run_as_a_command() {
    let player = Player::default();
    let studio = at_work(&player);
    let answers = vec![text("/settings"), text("/build a door")];
    player.play(Event::AssistantFinal { text: text("Which command?"), answers });
    player.play(Event::Done { outcome: Finish::Done, summary: None });
    until_shown(&studio, "/settings");
    studio.click_text("/settings").unwrap();
    until(&studio, "sent", |_| player.with(|it| it.asked == ["/settings"]));
    assert!(!shows(&studio, "Ask before every change"));
}
