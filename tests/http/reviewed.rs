//! Proposals as parts of the page: complete and well-formed whatever they contain, small for large
//! changes, and with everything that a decision needs.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use html5gum::{Token, Tokenizer};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

/// Markup that a browser would execute, controls that reorder text, and invisible characters.
const HOSTILE: &str =
    "</pre><script>alert(1)</script>\"'`&amp;\u{1b}[2J\u{202e}b\u{2066}\u{200b}\u{feff}\u{e0041}";
const HIDDEN: &str = "\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}";

/// Elements without an end tag.
const VOID: [&str; 5] = ["input", "img", "br", "meta", "link"];

/// A daemon with a place that has one script, an agent that calls tools, and the user.
pub(super) struct Desk {
    pub(super) home: Home,
    daemon: Daemon,
    pub(super) human: Human,
    calls: u32,
}

impl Desk {
    fn new(script: &str) -> Self {
        let source = script.to_owned();
        let main = InstanceBuilder::new("Script").with_name("Main").with_property("Source", source);
        let wall = InstanceBuilder::new("Part").with_name("Wall");
        Self::with(InstanceBuilder::new("Workspace").with_child(main).with_child(wall))
    }

    /// A place with this workspace.
    pub(super) fn with(workspace: InstanceBuilder) -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxl");
        fs::write(&file, place(workspace)).unwrap();
        let ledger = home.path().join("vector");
        let daemon = Daemon::of_place(binary::vector(), &ledger, &file);
        let human = Human::of(&daemon, &ledger);
        Self { home, daemon, human, calls: 0 }
    }

    /// Makes a call as an agent, and returns the proposal that it became.
    pub(super) fn propose(&mut self, tool: &str, args: Json) -> u64 {
        let view = self.call(tool, args);
        let proposal = &view["outcome"]["proposal"];
        proposal.as_u64().unwrap_or_else(|| panic!("no proposal: {view}"))
    }

    /// Makes a call as an agent, and returns its view.
    fn call(&mut self, tool: &str, args: Json) -> Json {
        self.calls += 1;
        let call = json!({
            "connection": "agent", "client": "agent", "id": self.calls.to_string(), "tool": tool,
            "args": args, "hold": 60,
        });
        let token = Daemon::agent_token(&self.home.path().join("vector"));
        self.daemon.call("POST", "/api/agents/calls", Some(&token), &call).ok()
    }

    /// Overwrites the file with another place, as another program would.
    pub(super) fn becomes(&self, workspace: InstanceBuilder) {
        fs::write(self.file(), place(workspace)).unwrap();
    }

    /// The place file.
    pub(super) fn file(&self) -> PathBuf {
        self.home.path().join("place.rbxl")
    }

    fn write(&mut self, source: &str) -> u64 {
        self.propose("write_script", json!({ "path": "game.Workspace.Main", "source": source }))
    }

    /// Requests a part of the page.
    pub(super) fn part(&self, part: &str) -> String {
        let kept = fs::read_to_string(self.home.path().join("vector/token")).unwrap();
        let token = kept.split_whitespace().nth(1).unwrap();
        let headers = [
            ("Host".to_owned(), format!("127.0.0.1:{}", self.daemon.port)),
            ("Authorization".to_owned(), format!("Bearer {token}")),
        ];
        let answer = self.daemon.text("GET", &format!("/page/{part}"), &headers, b"");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{part}: {head}\n{body}");
        body.to_owned()
    }

    /// All parts of the page that show a proposal.
    fn parts(&self, proposal: u64) -> Vec<String> {
        ["card?", "proposal?layout=unified&", "proposal?layout=split&", "proposal?layout=odd&"]
            .iter()
            .map(|part| self.part(&format!("{part}of={proposal}")))
            .chain([self.part("proposals")])
            .collect()
    }
}

/// The bytes of a place with this workspace.
fn place(workspace: InstanceBuilder) -> Vec<u8> {
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), Format::Rbxl)
}

/// Asserts that every element is closed, and that the part contains no scripts, styles or handlers.
#[track_caller]
pub(super) fn is_well_formed(part: &str) {
    let mut open: Vec<String> = Vec::new();
    for token in Tokenizer::new(part) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                assert!(name != "script" && name != "style", "{part}");
                let is_event = |name: &[u8]| name.starts_with(b"on") || name == b"style";
                assert!(!tag.attributes.keys().any(|name| is_event(name)), "{part}");
                if !VOID.contains(&name.as_str()) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8(tag.name.to_vec()).unwrap();
                assert_eq!(open.pop(), Some(name), "{part}");
            }
            Token::Error(error) => panic!("{error:?} in {part}"),
            Token::String(_) | Token::Comment(_) | Token::Doctype(_) => {}
        }
    }
    assert_eq!(open, Vec::<String>::new(), "{part}");
}

#[track_caller]
fn is_harmless(part: &str) {
    is_well_formed(part);
    let is_bad = |c: char| HIDDEN.contains(c) || c.is_control() && c != '\n' && c != '\t';
    assert!(!part.contains(is_bad), "{:?}", part.find(is_bad).map(|at| &part[at..]));
}

#[test]
fn hostile_text_of_places_and_agents_is_shown_escaped() {
    let mut desk = Desk::new(&format!("-- {}\nprint(1)\n", HOSTILE.replace('\u{1b}', "")));
    let hostile = json!({ "Name": HOSTILE, "@a": HOSTILE, "Color": "#ff8800" });
    let create = json!({ "className": "Part", "parentPath": "game.Workspace", "props": hostile });
    let made = desk.propose("create_instance", create);
    let texts = format!(
        "-- {HOSTILE}\nprint(2)\n--[[ {HOSTILE}\n]]\nif nil then {} end",
        "x()".repeat(2_000)
    );
    let written = desk.write(&texts);
    let changes = json!([
        { "tool": "set_properties", "args": { "path": "game.Workspace.Wall", "props": { "@b": HOSTILE } } },
        { "tool": "delete_instance", "args": { "path": "game.Workspace.Wall" } },
    ]);
    let several = desk.propose("propose_changes", json!({ "title": HOSTILE, "changes": changes }));
    for proposal in [made, written, several] {
        for part in desk.parts(proposal) {
            is_harmless(&part);
            assert!(part.contains("\\u{202e}b\\u{2066}"), "it is shown: {part}");
        }
    }
    let whole = desk.part(&format!("proposal?of={written}"));
    assert!(whole.contains("&lt;script&gt;"), "{whole}");
    assert!(whole.contains("more characters</summary>"), "a long line is cut: {whole}");
    let colour = desk.part(&format!("proposal?of={made}"));
    assert!(colour.contains("fill=\"#ff8800\""), "{colour}");
    desk.human.decide(several, &json!({ "say": "reject", "reason": HOSTILE })).ok();
    for part in desk.parts(several) {
        is_harmless(&part);
    }
    let card = desk.part(&format!("card?of={several}"));
    assert!(card.contains("data-state=\"rejected\"") && !card.contains("data-act"), "{card}");
    is_harmless(&desk.part("proposals"));
    let comments = json!([{ "on": { "kind": "proposal" }, "text": HOSTILE }]);
    let ask = json!({ "say": "request_changes", "comments": comments });
    desk.human.decide(written, &ask).ok();
    for part in desk.parts(written) {
        is_harmless(&part);
    }
    let commented = desk.part(&format!("proposal?of={written}"));
    assert!(commented.contains("No reply yet"), "{commented}");
}

#[test]
fn hunks_shown_on_page_can_be_chosen_and_decided() {
    let before: Vec<String> = (0..40).map(|n| format!("print({n})\n")).collect();
    let mut desk = Desk::new(&before.concat());
    let ends = |n: usize| format!("print({n}, \"end\")\n");
    let after: String =
        (0..40).map(|n| if n % 39 == 0 { ends(n) } else { format!("print({n})\n") }).collect();
    let proposal = desk.write(&after);
    let part = desk.part(&format!("proposal?of={proposal}"));
    let shown = desk.human.shown(proposal);
    for name in ["patch_id", "base"] {
        let value = shown["proposal"][name].as_str().unwrap();
        assert!(part.contains(&format!("=\"{value}\"")), "{name}: {part}");
    }
    assert!(part.contains("data-parts=\"h0.0 h0.1\""), "{part}");
    assert_eq!(part.matches("type=\"checkbox\" name=\"part\"").count(), 2, "{part}");
    assert!(part.contains("<i class=\"m\">, </i><i class=\"s m\">&quot;end&quot;</i>"), "{part}");
    let parts = json!([{ "part": "hunk", "script": 0, "hunk": 1 }]);
    let decided = desk.human.decide(proposal, &json!({ "say": "take", "parts": parts })).ok();
    let chosen = decided["proposal"].as_u64().unwrap();
    assert_ne!(chosen, proposal);
    let title = shown["proposal"]["title"].as_str().unwrap();
    let titled = desk.human.shown(chosen)["proposal"]["title"].clone();
    assert_eq!(titled, format!("1 of 2 parts of: {title}"));
    let part = desk.part(&format!("proposal?of={chosen}"));
    assert!(part.contains(&format!("derived from <a href=\"#/proposals/{proposal}\">")), "{part}");
    assert!(!part.contains("name=\"part\""), "one piece is all there is: {part}");
    desk.human.approve(chosen).ok();
    desk.human.until_status(chosen, "applied");
    let part = desk.part(&format!("proposal?of={chosen}"));
    assert!(part.contains("data-status=\"applied\"") && !part.contains("data-act=\"accept\""));
    let list = desk.part("proposals");
    assert!(list.contains("Nothing to review"), "{list}");
}

#[test]
fn additive_proposals_beside_a_deletion_are_offered_together() {
    let mut desk = Desk::new("print(1)\n");
    let create = |name: &str| json!({ "className": "Part", "parentPath": "game.Workspace", "props": { "Name": name } });
    let first = desk.propose("create_instance", create("A"));
    let second = desk.propose("create_instance", create("B"));
    desk.propose("delete_instance", json!({ "path": "game.Workspace.Wall" }));
    desk.propose("create_instance", create("Wall"));
    let third = desk.propose("create_instance", create("C"));
    let list = desk.part("proposals");
    is_well_formed(&list);
    let plain: Vec<u64> = list
        .split("<a class=\"pick\"")
        .skip(1)
        .filter(|entry| entry.split('>').next().unwrap().ends_with("data-plain"))
        .map(|entry| entry.split("data-seq=\"").nth(1).unwrap().split('"').next().unwrap())
        .map(|seq| seq.parse().unwrap())
        .collect();
    assert_eq!(plain, [first, second, third], "one depends on what deletes: {list}");
    assert!(list.contains("data-behind=\"1\">Approve all additive (3)"), "{list}");
}

/// A warning that needs a second confirmation has it wherever it is decided.
#[test]
fn double_confirmation_warning_appears_on_card_and_proposal() {
    let mut desk = Desk::new("print(1)\n");
    let proposal = desk.write("print(1)\nif nil then\n\tloadstring(\"x\")()\nend\n");
    for part in ["card", "proposal"] {
        let part = desk.part(&format!("{part}?of={proposal}"));
        let twice = part.split("data-twice=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(twice.contains("loadstring"), "{part}");
        assert!(part.contains("<b>Security</b>"), "{part}");
    }
}

/// The limits are far above the measured values: they catch growth faster than the number of lines.
#[test]
fn five_thousand_lines_render_small_and_fast() {
    let line = |n: usize, by: &str| {
        let odd = format!("\tlocal step{n} = math.floor(player.Size.X * {n}) {by} 2 -- step\n");
        if n.is_multiple_of(2) { odd } else { format!("\tprint(\"{n}\")\n") }
    };
    let text = |by: &str| (0..3_400).map(|n| line(n, by)).collect::<String>();
    let mut desk = Desk::new(&text("+"));
    let proposal = desk.write(&text("*"));
    for layout in ["unified", "split"] {
        let begun = Instant::now();
        let part = desk.part(&format!("proposal?of={proposal}&layout={layout}"));
        let took = begun.elapsed();
        is_well_formed(&part);
        let lines = part.matches("<ins ").count() + part.matches("<del ").count();
        assert_eq!(lines, 3_400, "each changed line is there on both sides");
        let all = lines + part.matches("<div data-n").count();
        assert!(all >= 5_000, "{all}");
        assert!(part.len() / all < 300, "{layout}: {} bytes, {all} lines", part.len());
        assert!(took < Duration::from_secs(5), "{layout}: {took:?}");
        assert!(part.contains("class=\"b t10\""), "lines stand in blocks");
    }
}

#[test]
fn partly_approved_card_is_not_shown_as_rejected() {
    let mut desk = Desk::new("");
    let lamp = json!({ "className": "PointLight", "props": { "Name": "Lamp" } });
    let model = json!({
        "parentPath": "game.Workspace", "className": "Model", "props": { "Name": "Post" },
        "children": [lamp],
    });
    let whole = desk.propose("create_instance", model);
    let parts = json!([{ "part": "command", "command": 0 }]);
    let taken = desk.human.decide(whole, &json!({ "say": "take", "parts": parts })).ok();
    let card = desk.part(&format!("card?of={whole}"));
    assert!(card.contains(">partly approved<") && !card.contains("rejected"), "{card}");
    let part = taken["proposal"].as_u64().unwrap();
    desk.human.decide(part, &json!({ "say": "reject" })).ok();
    let card = desk.part(&format!("card?of={part}"));
    assert!(card.contains(">rejected<"), "{card}");
}
