//! Tests of the guards for a model, of its prompt, and of handling its messages.

use std::sync::Arc;

use scene_schemas::InstanceId;
use scene_schemas::api::FailureKind;
use scene_schemas::command::{Command, Props, Target};
use scene_schemas::entry::{Image, ImageFormat, ModelRequestRecord, Tokens};
use scene_schemas::permission::{Permission, PermissionAnswer};
use scene_schemas::playtest::{Playtest, PlaytestMode};
use scene_schemas::text::TextEdit;
use scene_schemas::upload::{AssetAccount, AssetFile, AssetFileKind};

use super::*;
use crate::prompt::MessageCost;
use crate::tools::FetchRequest;
use crate::workflow::{ModelTrouble, check_call};

const GUARDS: Guards = Guards { scope: 2, needs_script: true, turns: 9 };

fn run() -> Run {
    Run::held_to("maker/model", Mode::Confirm, "make a farm", Some(GUARDS))
}

fn target(path: &str) -> Target {
    Target { id: InstanceId("ref:1".to_owned()), path: path.parse().unwrap() }
}

fn edit(path: &str) -> Command {
    let edit: TextEdit = serde_json::from_value(json!({
        "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 0 },
        "text": "x",
    }))
    .unwrap();
    Command::EditScript {
        target: target(path),
        edits: vec![edit],
        expect: Fingerprint::hash_bytes(b""),
    }
}

fn part() -> Command {
    Command::Create {
        id: InstanceId("new:0".to_owned()),
        parent: target("game.Workspace"),
        class: "Part".to_owned(),
        name: "P".to_owned(),
        props: Props::default(),
        expect: None,
    }
}

fn of(name: &str, commands: Vec<Command>) -> Plan {
    Plan::Propose(Box::new(Proposal { commands, ..proposal(name) }), Json::Null)
}

fn cost() -> MessageCost {
    let tokens = Some(Tokens { prompt: 1_000, generated: 10, ..Tokens::default() });
    MessageCost { model: "maker/model".to_owned(), tokens, ..MessageCost::default() }
}

impl Run {
    /// Requests a message in which the model calls a tool. Returns the last resulting entry.
    fn called(&mut self, tool: &str, args: Json, result: Result<Plan, Refusal>) -> Entry {
        self.requested(4_000);
        let calls = vec![ToolCall::new(tool, args)];
        self.input(WorkflowInput::Replied(ModelMessage {
            calls,
            cost: Some(cost()),
            ..ModelMessage::default()
        }))
        .unwrap();
        let Some(WantedWork::Plan { call, .. }) = self.wants() else { panic!("no open call") };
        let result = check_call(&self.state, WORKFLOW, call).and(result);
        let entries =
            self.input(WorkflowInput::Planned { call, result, after: Vec::new() }).unwrap();
        entries.into_iter().find(|entry| !matches!(entry, Entry::Notified { .. })).unwrap()
    }

    fn requested(&mut self, bytes: u64) {
        let hash = Fingerprint::hash_bytes(b"");
        let request = ModelRequestRecord {
            model: "maker/model".to_owned(),
            effort: None,
            max_output: None,
            system: hash.clone(),
            summary: None,
            turns: 1,
            bytes,
            estimate: 1,
            window: 1,
            body: hash,
        };
        self.input(WorkflowInput::Requested(Box::new(request))).unwrap();
    }

    fn says(&mut self, message: ModelMessage) -> Vec<Entry> {
        self.requested(4_000);
        self.input(WorkflowInput::Replied(ModelMessage { cost: Some(cost()), ..message })).unwrap()
    }

    fn plans(&mut self) {
        let steps = vec!["One".to_owned()];
        let talk = Plan::Talk(ModelAction::Plan { steps: steps.clone() });
        self.called("start_plan", json!({ "steps": steps }), Ok(talk));
    }

    fn reads(&mut self, path: &str) -> Entry {
        let answer = json!({
            "path": path, "text": "a", "startLine": 1, "endLine": 1, "totalLines": 1,
            "fingerprint": "0123456789abcdef",
        });
        self.called("read_script", json!({ "path": path }), Ok(Plan::Answer(answer)))
    }

    fn applies(&mut self) {
        let Some(WantedWork::Ask(seq)) = self.wants() else { panic!("nothing waits") };
        self.approve(seq, Approver::Person, false).unwrap();
        let acks = vec![serde_json::from_value(json!({ "outcomes": [], "inverse": [] })).unwrap()];
        let (file, before) = ("place.rbxl".to_owned(), None);
        self.input(WorkflowInput::Applying { proposals: vec![seq], file, before, acks }).unwrap();
        self.input(WorkflowInput::Applied(vec![seq])).unwrap();
    }

    fn workflow(&self) -> &super::super::Workflow {
        self.state.workflow(WORKFLOW).unwrap()
    }
}

#[track_caller]
fn is_refused(entry: &Entry, words: &str) {
    let Entry::Refused { reason, .. } = entry else { panic!("{entry:?}") };
    assert!(reason.contains(words), "{reason}");
}

#[test]
fn first_change_without_a_plan_is_refused_once() {
    let mut run = run();
    let change = || Ok(of("a", vec![part()]));
    is_refused(&run.called("create_instance", json!({ "n": 1 }), change()), "start_plan");
    let again = run.called("create_instance", json!({ "n": 2 }), change());
    assert!(matches!(again, Entry::Proposed { .. }), "{again:?}");
}

#[test]
fn edit_of_an_unread_script_is_refused() {
    let mut run = run();
    run.plans();
    let change = || Ok(of("a", vec![edit("game.ServerScriptService.Main")]));
    is_refused(&run.called("apply_edit", json!({ "n": 1 }), change()), "You have not read");
    run.reads("game.ServerScriptService.Main");
    let now = run.called("apply_edit", json!({ "n": 2 }), change());
    assert!(matches!(now, Entry::Proposed { .. }), "{now:?}");
}

/// A plan that replaces the text of a script.
fn rewrite(path: &str, before: &str, after: &str) -> Plan {
    let mut plan = of(after, vec![edit(path)]);
    if let Plan::Propose(proposal, _) = &mut plan {
        proposal.preview.scripts = vec![scene_schemas::proposal::ScriptDiff {
            command: 0,
            path: path.parse().unwrap(),
            left_out: false,
            added: 0,
            removed: 0,
            hunks: vector_text_edit::diff_hunks(before, after, 3),
        }];
    }
    plan
}

#[test]
fn only_lines_the_model_has_read_may_be_overwritten() {
    let path = "game.ServerScriptService.Main";
    let lines: Vec<String> = (1..=26).map(|n| format!("line{n} = {n}\n")).collect();
    let text = lines.concat();
    let guards = Guards { turns: 99, ..GUARDS };
    let mut run = Run::held_to("maker/model", Mode::Confirm, "make a farm", Some(guards));
    run.plans();
    let found = json!({ "matches": [{ "path": path, "line": 10, "text": "line10 = 10",
        "before": ["line8 = 8", "line9 = 9"], "after": ["line11 = 11", "line12 = 12"] }] });
    run.called("search_files", json!({ "query": "10" }), Ok(Plan::Answer(found)));
    let whole = || Ok(rewrite(path, &text, "print(1)\n"));
    let refused = run.called("write_script", json!({ "n": 1 }), whole());
    is_refused(&refused, "overwrites lines 1 to 7");
    let other = text.replace("line13 = 13", "line13 = 31");
    let refused = run.called("replace_text", json!({ "n": 2 }), Ok(rewrite(path, &text, &other)));
    is_refused(&refused, "overwrites lines 13 to 13");
    // Lines from a search result may be changed, even if they have moved.
    let moved = format!("-- new\n{text}");
    let other = moved.replace("line10 = 10", "line10 = 0");
    let now = run.called("replace_text", json!({ "n": 3 }), Ok(rewrite(path, &moved, &other)));
    assert!(matches!(now, Entry::Proposed { .. }), "{now:?}");
    run.applies();
    // Reading one part does not cover the rest.
    let read = |start: u32, part: &str| {
        Ok(Plan::Answer(json!({ "path": path, "text": part, "startLine": start })))
    };
    let half: String = text.split_inclusive('\n').take(20).collect();
    run.called("read_script", json!({ "end": 20 }), read(1, &half));
    is_refused(&run.called("write_script", json!({ "n": 4 }), whole()), "lines 21 to 26");
    let rest: String = text.split_inclusive('\n').skip(20).collect();
    run.called("read_script", json!({ "start": 21 }), read(21, &rest));
    // A line that another author changed since counts as unseen.
    let theirs = text.replace("line3 = 3", "line3 = 33");
    let other = Ok(rewrite(path, &theirs, "print(1)\n"));
    is_refused(&run.called("write_script", json!({ "n": 5 }), other), "lines 3 to 3");
    let now = run.called("write_script", json!({ "n": 6 }), whole());
    assert!(matches!(now, Entry::Proposed { .. }), "{now:?}");
}

#[test]
fn unrelated_script_does_not_count_for_created_parts() {
    let done = || Ok(Plan::Talk(ModelAction::Done { summary: None }));
    let about = |path: &str, text: &str| {
        let mut run = run();
        run.plans();
        let mut named = part();
        if let Command::Create { name, .. } = &mut named {
            "Door".clone_into(name);
        }
        run.called("create_instance", json!({}), Ok(of("a", vec![named])));
        run.applies();
        run.called("open_or_create_script", json!({}), {
            Ok(Plan::Answer(json!({ "path": path, "text": "", "created": false })))
        });
        run.called("write_script", json!({}), Ok(rewrite(path, "", text)));
        run.applies();
        let entry = run.called("complete", json!({ "n": 1 }), done());
        !matches!(entry, Entry::Refused { .. })
    };
    assert!(!about("game.ServerScriptService.KillBricks", "print(1)\n"));
    assert!(!about("game.ServerScriptService.KillBricks", "print(Doorway)\n"));
    assert!(about("game.ServerScriptService.Opens", "local door = workspace.Door\n"));
    assert!(about("game.Workspace.Door.Script", "print(1)\n"));
    assert!(!about("game.Workspace.Other.Script", "print(1)\n"));
    assert!(!about("game.Workspace.Script", "print(1)\n"));
}

#[test]
fn completion_marks_all_plan_steps_as_done() {
    let mut run = run();
    run.plans();
    run.called("complete", json!({}), Ok(Plan::Talk(ModelAction::Done { summary: None })));
    let plan = &run.state.workflow(WORKFLOW).unwrap().plan;
    assert!(!plan.is_empty() && plan.iter().all(|step| step.done), "{plan:?}");
}

#[test]
fn wide_reaching_changes_need_user_confirmation_first() {
    let mut run = run();
    run.plans();
    let paths = ["game.A", "game.B", "game.C"];
    for path in paths {
        run.reads(path);
    }
    let change = || Ok(of("a", paths.iter().map(|path| edit(path)).collect()));
    is_refused(&run.called("replace_text", json!({ "n": 1 }), change()), "more than 2");
    let question = ModelAction::Question { question: "All three?".to_owned(), answers: Vec::new() };
    run.called("ask_clarification", json!({ "n": 2 }), Ok(Plan::Talk(question)));
    assert!(matches!(run.wants(), Some(WantedWork::Answer(_))));
    run.input(WorkflowInput::Asked { text: "Yes".to_owned(), attached: Vec::new() }).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Reply));
    let now = run.called("replace_text", json!({ "n": 3 }), change());
    assert!(matches!(now, Entry::Proposed { .. }), "{now:?}");
}

fn play_in_studio() -> Plan {
    let playtest = Playtest { mode: PlaytestMode::Play, seconds: 5 };
    Plan::Look(Arc::new(FetchRequest::PlayInStudio(playtest)))
}

#[test]
fn first_game_in_studio_needs_permission_which_may_be_for_the_task() {
    for answer in Permission::Playtest.answers().iter().copied() {
        let mut run = run();
        let asked = run.called("playtest", json!({ "inStudio": true }), Ok(play_in_studio()));
        let Entry::PermissionRequested { call, permission: Permission::Playtest } = asked else {
            panic!("{asked:?}");
        };
        assert_eq!(run.wants(), Some(WantedWork::Answer(call)), "no model is asked meanwhile");
        let other = WorkflowInput::Permit { call: Seq(call.0 + 1), answer };
        assert!(run.input(other).unwrap_err().contains("does not wait"));
        run.input(WorkflowInput::Permit { call, answer }).unwrap();
        let again = run.input(WorkflowInput::Permit { call, answer });
        assert!(again.unwrap_err().contains("answered already"));
        if answer == PermissionAnswer::No {
            assert_eq!(run.wants(), Some(WantedWork::Reply));
            let reason = run.workflow().refusals().next().unwrap().1.to_owned();
            assert!(reason.contains("did not permit"), "{reason}");
            continue;
        }
        // The call is planned again, and now nothing is in its way.
        assert!(matches!(run.wants(), Some(WantedWork::Plan { call: next, .. }) if next == call));
        let result = Ok(play_in_studio());
        let planned = WorkflowInput::Planned { call, result, after: Vec::new() };
        assert_eq!(run.input(planned).unwrap(), Vec::new());
        let result = Ok(Plan::Answer(json!({ "ok": true })));
        run.input(WorkflowInput::Planned { call, result, after: Vec::new() }).unwrap();
        run.requested(4_000);
        let calls = vec![ToolCall::new("playtest", json!({ "inStudio": true, "seconds": 9 }))];
        run.input(WorkflowInput::Replied(ModelMessage { calls, ..ModelMessage::default() }))
            .unwrap();
        let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
        let lacking = run.workflow().lacking_permission(
            call,
            match &play_in_studio() {
                Plan::Look(request) => request,
                plan => panic!("{plan:?}"),
            },
        );
        assert_eq!(lacking.is_some(), answer == PermissionAnswer::Once, "{answer:?}");
    }
}

/// An upload that a model asks for. Each size stands for other contents of the file.
fn upload(size: u64) -> Permission {
    Permission::Upload(Box::new(AssetFile {
        file: "oak.png".to_owned(),
        kind: AssetFileKind::Image,
        name: "oak".to_owned(),
        description: String::new(),
        account: AssetAccount::User { id: 7 },
        contents: Fingerprint::hash_bytes(&size.to_le_bytes()),
        size,
        by: Approver::Person,
        generated: None,
    }))
}

#[test]
fn upload_is_permitted_for_one_call_and_these_contents() {
    let mut run = run();
    let wanted = || Ok(Plan::NeedsPermission(upload(9)));
    let asked = run.called("upload_asset", json!({ "file": "oak.png" }), wanted());
    let Entry::PermissionRequested { call, .. } = asked else { panic!("{asked:?}") };
    let for_all = WorkflowInput::Permit { call, answer: PermissionAnswer::Task };
    assert!(run.input(for_all).unwrap_err().contains("once at a time"));
    assert_eq!(run.workflow().granted_permission(call), None);
    run.input(WorkflowInput::Permit { call, answer: PermissionAnswer::Once }).unwrap();
    assert_eq!(run.workflow().granted_permission(call), Some(&upload(9)));
    assert!(matches!(run.wants(), Some(WantedWork::Plan { call: next, .. }) if next == call));
    // The file has changed since: it is asked again, and a refusal ends the call.
    let result = Ok(Plan::NeedsPermission(upload(10)));
    run.input(WorkflowInput::Planned { call, result, after: Vec::new() }).unwrap();
    run.input(WorkflowInput::Permit { call, answer: PermissionAnswer::No }).unwrap();
    let reason = run.workflow().refusals().next().unwrap().1.to_owned();
    assert!(reason.contains("did not permit this upload"), "{reason}");
}

#[test]
fn message_instead_of_an_answer_permits_nothing() {
    for text in ["yes", "Yes, for this task", "no", "first fix the shop"] {
        let mut run = run();
        run.called("playtest", json!({ "inStudio": true }), Ok(play_in_studio()));
        let message = WorkflowInput::Asked { text: text.to_owned(), attached: Vec::new() };
        let entries = run.input(message).unwrap();
        let [Entry::PermissionDecided { answer, .. }, Entry::Asked { text: told, .. }] =
            &entries[..]
        else {
            panic!("{entries:?}");
        };
        assert_eq!((*answer, told.as_str()), (PermissionAnswer::No, text));
    }
}

#[test]
fn calls_that_ask_together_are_answered_each_or_for_the_task() {
    for answer in [PermissionAnswer::Once, PermissionAnswer::Task] {
        let mut run = Run::held_to("mcp/claude", Mode::Confirm, "claude (MCP)", None);
        let args = json!({ "inStudio": true });
        let calls = [0, 1].map(|_| ToolCall::new("playtest", args.clone()));
        run.input(WorkflowInput::Called(calls.to_vec())).unwrap();
        let mut asking = Vec::new();
        while let Some(WantedWork::Plan { call, .. }) = run.wants() {
            let result = Ok(play_in_studio());
            run.input(WorkflowInput::Planned { call, result, after: Vec::new() }).unwrap();
            asking.push(call);
        }
        let [first, second] = asking[..] else { panic!("{asking:?}") };
        // The answers may come in another order.
        run.input(WorkflowInput::Permit { call: second, answer }).unwrap();
        let is_open = |run: &Run, call| run.workflow().open_playtests().contains(&call);
        assert!(is_open(&run, second));
        assert_eq!(is_open(&run, first), answer == PermissionAnswer::Task);
        if answer == PermissionAnswer::Once {
            run.input(WorkflowInput::Disconnected).unwrap();
            assert!(run.workflow().refusals().any(|(call, _)| call == first));
        }
    }
}

#[test]
fn user_is_asked_at_most_twice() {
    let mut run = run();
    for n in 1..=3 {
        let question = ModelAction::Question { question: "Which?".to_owned(), answers: Vec::new() };
        let entry = run.called("ask_clarification", json!({ "n": n }), Ok(Plan::Talk(question)));
        if n == 3 {
            return is_refused(&entry, "asked 2 times");
        }
        run.input(WorkflowInput::Asked { text: "This".to_owned(), attached: Vec::new() }).unwrap();
    }
}

#[test]
fn only_user_named_and_roblox_docs_sites_are_fetched() {
    let goal = "do as https://Docs.Example.org/x says";
    let mut run = Run::held_to("maker/model", Mode::Confirm, goal, Some(GUARDS));
    let mut fetch = |url: &str| {
        let answer = Ok(Plan::Answer(json!("text")));
        matches!(run.called("fetch_url", json!({ "url": url }), answer), Entry::Answered { .. })
    };
    assert!(fetch("https://docs.example.org/y"));
    assert!(fetch("https://create.roblox.com/docs/reference"));
    assert!(!fetch("https://evil.example.com/?code=local+x"));
    assert!(!fetch("https://docs.example.org@evil.example.com/"));
    assert!(!fetch("https://create.roblox.com.evil.example/"));
    assert!(!fetch("https://ple.org/"), "a part of a name is none");
}

#[test]
fn task_with_parts_but_no_script_is_not_complete() {
    let mut run = run();
    run.plans();
    run.called("create_instance", json!({}), Ok(of("a", vec![part()])));
    run.applies();
    let done = || Ok(Plan::Talk(ModelAction::Done { summary: None }));
    is_refused(&run.called("complete", json!({ "n": 1 }), done()), "You made 1 part but no script");
    // A model that just stops is reminded once.
    let said = run.says(ModelMessage { text: Some("Done.".to_owned()), ..ModelMessage::default() });
    assert!(matches!(said.last(), Some(Entry::Notified { text }) if text.contains("no script")));
    let said = run.says(ModelMessage { text: Some("Done.".to_owned()), ..ModelMessage::default() });
    assert!(matches!(said.last(), Some(Entry::Finished { .. })), "{said:?}");
}

#[test]
fn user_can_opt_out_of_scripts() {
    let goal = "Ten red parts, geometry only";
    let mut run = Run::held_to("maker/model", Mode::Confirm, goal, Some(GUARDS));
    run.plans();
    run.called("create_instance", json!({}), Ok(of("a", vec![part()])));
    run.applies();
    let done = Ok(Plan::Talk(ModelAction::Done { summary: None }));
    let entry = run.called("complete", json!({}), done);
    // Completing the task ticks the steps of the plan.
    assert!(matches!(entry, Entry::Planned { .. }), "{entry:?}");
}

#[test]
fn three_refusals_ask_for_another_way_nine_pause_workflow() {
    let mut run = run();
    for n in 1..=9 {
        run.called("read_script", json!({ "n": n }), refuse("There is no such path."));
        let told = matches!(run.records.last().unwrap().entry, Entry::Notified { .. });
        assert_eq!(told, n % 3 == 0 && n < 9, "after {n}");
    }
    assert_eq!(run.wants(), Some(WantedWork::GoAhead));
    run.input(WorkflowInput::Resume).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Reply));
}

fn refuse(reason: &str) -> Result<Plan, Refusal> {
    Err(Refusal(reason.to_owned()))
}

#[test]
fn repeated_identical_calls_are_stopped() {
    let mut run = run();
    let answer = || Ok(Plan::Answer(json!({ "children": ["a"] })));
    let args = || json!({ "parentPath": "game" });
    let first = run.called("list_children", args(), answer());
    assert!(matches!(first, Entry::Answered { answer, .. } if answer["children"].is_array()));
    let second = run.called("list_children", args(), answer());
    assert!(
        matches!(&second, Entry::Answered { answer, .. } if answer["unchangedSinceStep"] == 1),
        "{second:?}"
    );
    is_refused(&run.called("list_children", args(), answer()), "third time in a row");
    run.called("list_children", args(), answer());
    run.called("list_children", args(), answer());
    assert_eq!(run.wants(), Some(WantedWork::GoAhead));
    let trouble = run.workflow().conversation().trouble().unwrap();
    assert!(trouble.message.contains("same call 5 times"), "{trouble:?}");
}

#[test]
fn user_message_during_a_request_joins_the_next() {
    let mut run = run();
    run.requested(4_000);
    run.input(WorkflowInput::Asked { text: "And red.".to_owned(), attached: Vec::new() }).unwrap();
    let said = run
        .input(WorkflowInput::Replied(ModelMessage {
            text: Some("Done.".to_owned()),
            cost: Some(cost()),
            ..ModelMessage::default()
        }))
        .unwrap();
    assert!(!said.iter().any(|entry| matches!(entry, Entry::Finished { .. })), "{said:?}");
    let turns = run.state.build_prompt(WORKFLOW).unwrap().turns;
    let expected = [PromptTurn::Said("Done.".to_owned()), PromptTurn::Asked("And red.".to_owned())];
    assert_eq!(turns, expected);
}

#[test]
fn images_follow_the_message_that_they_were_attached_to() {
    let mut run = run();
    run.requested(4_000);
    let image = Image { format: ImageFormat::Png, width: 1, height: 1, data: "AA==".to_owned() };
    let attached = |name: &str| {
        vec![AttachmentSnapshot::Image { name: name.to_owned(), image: image.clone() }]
    };
    let text = "Like this.".to_owned();
    run.input(WorkflowInput::Asked { text, attached: attached("a.png") }).unwrap();
    let turns = run.state.build_prompt(WORKFLOW).unwrap().turns;
    let [PromptTurn::Asked(text), shown] = &turns[..] else { panic!("{turns:?}") };
    assert!(text.ends_with("- a.png (PNG, 1 × 1 pixels)\n"), "{text}");
    assert_eq!(*shown, PromptTurn::Image(image.clone()));
}

#[test]
fn flawed_messages_are_returned_and_stop_after_three() {
    let mut run = run();
    for n in 1..=3 {
        let flaw = Some("Your message was empty.".to_owned());
        let entries = run.says(ModelMessage { flaw, ..ModelMessage::default() });
        let is_over = matches!(entries.last(), Some(Entry::RequestFailed { .. }));
        assert_eq!(is_over, n == 3, "{entries:?}");
    }
}

#[test]
fn provider_failure_waits_for_the_user() {
    let mut run = run();
    run.requested(4_000);
    let trouble = ModelTrouble {
        code: FailureKind::Provider,
        message: "It is overloaded.".to_owned(),
        is_retryable: true,
        hint: "Try again.".to_owned(),
        setting: None,
    };
    run.input(WorkflowInput::Unanswered(trouble)).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::GoAhead));
    run.input(WorkflowInput::Asked { text: "Go on.".to_owned(), attached: Vec::new() }).unwrap();
    assert_eq!(run.wants(), Some(WantedWork::Reply));
}

#[test]
fn flawed_call_is_refused_and_never_planned() {
    let mut run = run();
    let call =
        ToolCall { flaw: Some("It was cut.".to_owned()), ..ToolCall::new("delete", json!({})) };
    run.says(ModelMessage { calls: vec![call], ..ModelMessage::default() });
    let Some(WantedWork::Plan { call, .. }) = run.wants() else { panic!("no open call") };
    assert_eq!(check_call(&run.state, WORKFLOW, call).unwrap_err().0, "It was cut.");
}

#[test]
fn summary_of_a_long_conversation_keeps_decisions() {
    let mut run = run();
    run.plans();
    for n in 0..60 {
        run.reads(&format!("game.ServerScriptService.Script{n:02}"));
        let path = format!("game.ServerScriptService.Script{n:02}");
        run.called(
            "apply_edit",
            json!({ "n": n }),
            Ok(of(&format!("Mend {n}"), vec![edit(&path)])),
        );
        match run.wants() {
            Some(WantedWork::Ask(seq)) if n % 3 == 0 => {
                let reason = Some(format!("not like this {n}"));
                run.input(WorkflowInput::Reject { proposal: seq, reason }).unwrap();
            }
            _ => run.applies(),
        }
    }
    run.input(WorkflowInput::Summarise { keep: 6 }).unwrap();
    let prompt = run.state.build_prompt(WORKFLOW).unwrap();
    let earlier = prompt.earlier.unwrap();
    assert!((2_800..=3_800).contains(&earlier.len()), "{} bytes:\n{earlier}", earlier.len());
    for words in ["make a farm", "Mend 1", "not like this 0"] {
        assert!(earlier.contains(words), "{words}:\n{earlier}");
    }
    let calls =
        prompt.turns.iter().filter(|turn| matches!(turn, PromptTurn::Called { .. })).count();
    assert_eq!(calls, 6);
    let now = prompt.now.unwrap();
    assert!(now.lines().count() < 33, "{now}");
    assert_eq!(run.input(WorkflowInput::Summarise { keep: 6 }).unwrap(), [], "nothing more can go");
    assert_eq!(
        run.workflow().conversation().estimate_tokens(4_000),
        1_000,
        "as the provider counts"
    );
}
