//! A scenario as it lies in its folder: what a person asks and decides, what a provider replies, and
//! what it must have been sent. README.md beside the folders says how one is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scene_schemas::Value;
use serde::Deserialize;
use serde_json::Value as Json;
use vector_place::{FileFormat, Scene};
use vector_providers::answer::WireFormat;

use super::server::{End, Reply, Request};
use super::spell::{self, Call, Event, Message, Stop, Style, Usage};

/// A scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The rule that it shows, as a sentence.
    pub(crate) rule: String,
    /// How the provider is spoken to.
    pub(crate) wire: WireFormat,
    /// Its name; one that speaks this wire where absent.
    pub(crate) provider: Option<String>,
    /// The model; the provider's usual one where absent.
    pub(crate) model: Option<String>,
    /// What the person asks for, with `vector edit`.
    pub(crate) prompt: Option<String>,
    /// Or what they say one after the other, with `vector chat`.
    #[serde(default)]
    pub(crate) say: Vec<String>,
    /// What stands in the place: `yard`, or the name of a file in the folder.
    #[serde(default = "yard_name")]
    pub(crate) place: String,
    /// What the person decides, in order, on a terminal; without any, `--yes` does.
    #[serde(default)]
    pub(crate) decisions: Vec<String>,
    /// More arguments of `vector edit`.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Lines of `vector.toml`.
    #[serde(default)]
    pub(crate) settings: String,
    /// Lines of `models.toml`.
    #[serde(default)]
    pub(crate) models: String,
    /// When the process is killed. Then the person says `go_on` in `vector chat`.
    pub(crate) kill: Option<Kill>,
    /// What they say then.
    #[serde(default)]
    pub(crate) go_on: Vec<String>,
    /// The exit code.
    #[serde(default)]
    pub(crate) exit: i32,
    /// What the person must have been shown.
    #[serde(default)]
    pub(crate) shown: Vec<String>,
    /// Whether all wires must give the same ledger and place.
    #[serde(default)]
    pub(crate) all_wires: bool,
    /// What the provider replies, in order.
    #[serde(default)]
    pub(crate) reply: Vec<Scripted>,
    /// What it replies after the process was killed.
    #[serde(default)]
    pub(crate) resumed: Vec<Scripted>,
}

fn yard_name() -> String {
    "yard".to_owned()
}

/// When a process is killed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kill {
    /// `asked`: a request is on its way. `streaming`: half of a reply has come. `waiting`: a person is
    /// asked, behind all decisions. Otherwise the name of the entry that was written last.
    pub(crate) at: String,
    /// Of which reply, or how many entries of that name, from 1.
    #[serde(default = "first")]
    pub(crate) nth: usize,
}

fn first() -> usize {
    1
}

/// One reply.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Scripted {
    reasoning: Option<String>,
    signature: Option<String>,
    text: Option<String>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    stop: Stop,
    /// How often it is given, one after the other; `{n}` in it is the number, from 1.
    repeat: Option<usize>,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    content_type: Option<String>,
    /// The body as it is.
    raw: Option<String>,
    /// The events instead of those of a message, as JSON; `{"NAME": DATA}` on Bedrock.
    events: Option<Vec<String>>,
    /// Another event in the middle.
    insert: Option<Insert>,
    /// Whether the terminal events are there.
    terminal: Option<bool>,
    crlf: bool,
    comments: bool,
    split: Split,
    /// After how many bytes it ends; negative, how many are missing.
    cut: Option<i64>,
    /// How it ends: where absent as a whole body does, and where it is cut as a broken connection.
    ends: Option<Ends>,
    /// Which byte is damaged.
    damage: Option<usize>,
    /// What its request must have held.
    pub(crate) sent: Vec<Expected>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Insert {
    /// Before which event.
    at: usize,
    event: String,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ends {
    /// As if it were whole.
    Clean,
    /// Nothing more comes until the client goes.
    Hang,
    /// Nothing comes at all until the client goes.
    Silent,
}

/// Into which pieces a body is split.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
enum Split {
    /// Event by event.
    #[default]
    Events,
    /// `whole`, `bytes`, or `chance` with a seed.
    How(How),
    /// Into random pieces, the same for one seed.
    Chance { chance: u64 },
    /// At these bytes.
    At(Vec<usize>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Whole,
    Bytes,
}

/// What must stand in a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// Where: a JSON pointer, in which `-1` is the last of a list; the whole body where absent.
    #[serde(default)]
    at: String,
    /// A header instead.
    header: Option<String>,
    /// Just this.
    is: Option<Json>,
    /// At least the members of this, at any depth; lists have to have as many.
    like: Option<Json>,
    /// This text, in a text or in the JSON of what is none.
    has: Option<String>,
    /// And not this one.
    lacks: Option<String>,
    /// So many items or members.
    count: Option<usize>,
    /// Whether it is there at all.
    there: Option<bool>,
}

impl Scenario {
    /// Reads the one of a folder.
    ///
    /// # Panics
    /// It cannot be read, or says what there is not.
    pub(crate) fn read(folder: &Path) -> Self {
        let file = folder.join("scenario.toml");
        let text =
            fs::read_to_string(&file).unwrap_or_else(|it| panic!("{}: {it}", file.display()));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// The bytes of its place.
    pub(crate) fn place(&self, folder: &Path) -> Vec<u8> {
        match self.place.as_str() {
            "yard" => yard(),
            file => fs::read(folder.join(file)).unwrap(),
        }
    }

    /// The provider and its model, as they are named on the command line.
    pub(crate) fn model(&self, wire: WireFormat) -> (String, String) {
        let (usual, _) = provider(wire);
        let provider = self.provider.clone().unwrap_or_else(|| usual.to_owned());
        match &self.model {
            Some(model) => (provider.clone(), format!("{provider}/{model}")),
            None if wire == WireFormat::Ollama => (provider.clone(), format!("{provider}/qwen3")),
            None => (provider.clone(), provider),
        }
    }
}

/// Replies on a wire, with those that are given several times; and which block each is of.
pub(crate) fn replies(blocks: &[Scripted], wire: WireFormat) -> (Vec<usize>, Vec<Reply>) {
    let all = blocks.iter().enumerate().flat_map(|(at, block)| {
        let times = 1..=block.repeat.unwrap_or(1);
        times.map(move |n| (at, block.reply(wire, n)))
    });
    all.unzip()
}

/// The provider that stands for a wire, and the variable with its key.
pub(crate) fn provider(wire: WireFormat) -> (&'static str, &'static str) {
    match wire {
        WireFormat::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
        WireFormat::OpenaiChat => ("nvidia", "NVIDIA_API_KEY"),
        WireFormat::OpenaiResponses => ("openai", "OPENAI_API_KEY"),
        WireFormat::Gemini => ("gemini", "GEMINI_API_KEY"),
        WireFormat::Bedrock => ("bedrock", "AWS_BEARER_TOKEN_BEDROCK"),
        WireFormat::Ollama => ("ollama", "VECTOR_OLLAMA_API_KEY"),
    }
}

impl Scripted {
    fn reply(&self, wire: WireFormat, n: usize) -> Reply {
        let status = self.status.unwrap_or(200);
        let mut headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let is_stream = status == 200 && self.raw.is_none();
        let usual = if is_stream { spell::content_type(wire) } else { "application/json" };
        let kind = self.content_type.as_deref().unwrap_or(usual);
        headers.push(("content-type".to_owned(), kind.to_owned()));
        let style = Style { crlf: self.crlf, comments: self.comments };
        let events = match &self.raw {
            Some(raw) => vec![raw.replace("{n}", &n.to_string()).into_bytes()],
            None => spell::framed(wire, &self.events(wire, n), style),
        };
        let (pieces, is_cut) = self.pieces(events);
        let end = match self.ends {
            Some(Ends::Silent) => End::Silent,
            Some(Ends::Hang) => End::Hang,
            None if is_cut => End::Cut,
            None | Some(Ends::Clean) => End::Whole,
        };
        Reply { status, headers, pieces, gate: None, end }
    }

    fn message(&self, n: usize) -> Message {
        let number =
            |text: &Option<String>| text.as_ref().map(|it| it.replace("{n}", &n.to_string()));
        let call = |call: &Call| {
            let args = call.args.to_string().replace("{n}", &n.to_string());
            let id = number(&call.id);
            Call { id, name: call.name.clone(), args: serde_json::from_str(&args).unwrap() }
        };
        Message {
            reasoning: number(&self.reasoning),
            signature: self.signature.clone(),
            text: number(&self.text),
            calls: self.calls.iter().map(call).collect(),
            usage: self.usage,
            stop: self.stop,
        }
    }

    fn events(&self, wire: WireFormat, n: usize) -> Vec<Event> {
        let mut events = match &self.events {
            Some(events) => events.iter().map(|text| event(wire, text)).collect(),
            None => spell::events(wire, &self.message(n)),
        };
        if let Some(Insert { at, event: text }) = &self.insert {
            events.insert(*at, event(wire, text));
        }
        if self.terminal == Some(false) {
            events.retain(|event| !event.is_end);
        }
        events
    }

    /// The body in its pieces, and whether it is cut.
    fn pieces(&self, events: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, bool) {
        let mut ends: Vec<usize> = events
            .iter()
            .scan(0, |end, event| {
                *end += event.len();
                Some(*end)
            })
            .collect();
        let mut body = events.concat();
        if let Some(at) = self.damage {
            body[at] ^= 0x10;
        }
        match &self.split {
            Split::Events => {}
            Split::How(How::Whole) => ends.clear(),
            Split::How(How::Bytes) => ends = (1..body.len()).collect(),
            Split::Chance { chance } => ends = by_chance(*chance, body.len()),
            Split::At(at) => ends.clone_from(at),
        }
        let whole = body.len();
        if let Some(cut) = self.cut {
            let length = if cut < 0 { whole as i64 + cut } else { cut };
            body.truncate(usize::try_from(length).unwrap());
        }
        ends.retain(|end| *end < body.len());
        let starts: Vec<usize> = [0].into_iter().chain(ends).chain([body.len()]).collect();
        let pieces = starts.windows(2).map(|two| body[two[0]..two[1]].to_vec()).collect();
        (pieces, self.cut.is_some())
    }
}

/// Where pieces of 1 to 40 bytes end.
fn by_chance(seed: u64, length: usize) -> Vec<usize> {
    let (mut ends, mut at, mut state) = (Vec::new(), 0, seed.wrapping_mul(2) + 1);
    while at < length {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += 1 + (state >> 33) as usize % 40;
        ends.push(at);
    }
    ends
}

/// An event that was written by hand.
fn event(wire: WireFormat, text: &str) -> Event {
    let data: Json = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
    let (name, data) = match wire {
        WireFormat::Bedrock => {
            let member = data.as_object().and_then(|it| it.iter().next()).expect("it has a name");
            (member.0.clone(), member.1.clone())
        }
        WireFormat::Anthropic | WireFormat::OpenaiResponses => {
            (data["type"].as_str().unwrap_or_default().to_owned(), data)
        }
        _ => (String::new(), data),
    };
    Event { name, data, is_end: false }
}

impl Expected {
    /// Whether it says nothing of where something stands.
    pub(crate) fn is_of_any_wire(&self) -> bool {
        self.at.is_empty() && self.header.is_none()
    }

    /// What is wrong with a request.
    pub(crate) fn differences(&self, request: &Request) -> Vec<String> {
        let (what, found) = match &self.header {
            Some(name) => (name.as_str(), Some(Json::from(request.header(name)))),
            None => (self.at.as_str(), pointed(&request.body, &self.at).cloned()),
        };
        let is_there = found.is_some();
        let found = found.unwrap_or_default();
        let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        let count = found.as_array().map(Vec::len).or(found.as_object().map(serde_json::Map::len));
        let checks = [
            (self.is.as_ref().is_none_or(|it| *it == found), format!("is not {:?}", self.is)),
            (
                self.like.as_ref().is_none_or(|it| like(it, &found)),
                format!("is not like {:?}", self.like),
            ),
            (self.has.as_ref().is_none_or(|it| text.contains(it)), format!("lacks {:?}", self.has)),
            (
                self.lacks.as_ref().is_none_or(|it| !text.contains(it)),
                format!("has {:?}", self.lacks),
            ),
            (
                self.count.is_none_or(|it| count == Some(it)),
                format!("has not {:?} items", self.count),
            ),
            (self.there.is_none_or(|it| it == is_there), format!("is there: {is_there}")),
        ];
        let wrong = checks.into_iter().filter(|(is_right, _)| !is_right);
        wrong.map(|(_, why)| format!("`{what}` {why}: {text}")).collect()
    }
}

/// Where a pointer leads; `-1` is the last of a list, and so on.
fn pointed<'a>(json: &'a Json, pointer: &str) -> Option<&'a Json> {
    pointer.split('/').skip(1).try_fold(json, |json, step| match json {
        Json::Array(list) => {
            let at: i64 = step.parse().ok()?;
            let at = if at < 0 { list.len() as i64 + at } else { at };
            list.get(usize::try_from(at).ok()?)
        }
        json => json.get(step.replace("~1", "/").replace("~0", "~")),
    })
}

fn like(expected: &Json, found: &Json) -> bool {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) => {
            expected.iter().all(|(name, it)| found.get(name).is_some_and(|found| like(it, found)))
        }
        (Json::Array(expected), Json::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| like(a, b))
        }
        _ => expected == found,
    }
}

/// A small place, the same in every byte whenever it is made.
fn yard() -> Vec<u8> {
    let mut scene = Scene::empty(FileFormat::Xml);
    let game = scene.root();
    let workspace = scene.create(game, "Workspace", "Workspace");
    let base = scene.create(workspace, "Part", "Baseplate");
    scene.set_property(base, "Anchored", Some(&Value::Bool(true))).unwrap();
    let house = scene.create(workspace, "Model", "House");
    for name in ["Wall", "Door"] {
        scene.create(house, "Part", name);
    }
    let server = scene.create(game, "ServerScriptService", "ServerScriptService");
    let main = scene.create(server, "Script", "Main");
    scene.set_source(main, "local speed = 10\nprint(speed)\n".to_owned());
    let storage = scene.create(game, "ReplicatedStorage", "ReplicatedStorage");
    let sizes = scene.create(storage, "ModuleScript", "Sizes");
    scene.set_source(sizes, "return { small = 1, large = 2 } -- Größe\n".to_owned());
    scene.encode().unwrap()
}

/// The folders of all scenarios, by name.
pub(crate) fn all(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.join("scenario.toml").is_file()).collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Scenario {
        let head = "rule = \"r\"\nwire = \"anthropic_messages\"\nprompt = \"p\"\n";
        toml::from_str(&format!("{head}{text}")).unwrap()
    }

    fn body(reply: &Reply) -> String {
        String::from_utf8(reply.pieces.concat()).unwrap()
    }

    #[test]
    fn a_reply_is_given_as_often_and_in_the_pieces_that_it_says() {
        let scenario = read(
            "[[reply]]\nrepeat = 2\nsplit = \"bytes\"\n\
             calls = [{ id = \"c{n}\", name = \"t\", args = { n = \"{n}\" } }]\n\
             [[reply]]\nraw = \"0123456789\"\nsplit = [3, 5]\ncut = -2\n\
             [[reply]]\ntext = \"x\"\nterminal = false\nsplit = { chance = 4 }\nends = \"clean\"\n",
        );
        let (blocks, replies) = replies(&scenario.reply, WireFormat::Anthropic);
        assert_eq!(blocks, [0, 0, 1, 2]);
        assert!(replies[0].pieces.iter().all(|piece| piece.len() == 1));
        assert!(body(&replies[0]).contains("\"id\":\"c1\"") && body(&replies[1]).contains("c2"));
        assert_eq!(replies[2].pieces, [&b"012"[..], b"34", b"567"]);
        assert_eq!((replies[2].end, replies[3].end), (End::Cut, End::Whole));
        assert!(!body(&replies[3]).contains("message_stop") && replies[3].pieces.len() > 5);
    }

    #[test]
    fn what_was_sent_is_held_against_what_is_expected() {
        let request = Request {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            headers: vec![("a".to_owned(), "b".to_owned())],
            body: json!({ "list": [{ "x": 1, "y": "two words" }, [1, 2]] }),
        };
        let wrong = |text: &str| {
            let expected: Expected = toml::from_str(text).unwrap();
            expected.differences(&request).len()
        };
        for right in [
            "at = \"/list/-2/x\"\nis = 1",
            "at = \"/list\"\ncount = 2",
            "at = \"/list/0\"\nlike = { x = 1 }",
            "at = \"/list/0/y\"\nhas = \"two\"\nlacks = \"three\"",
            "has = \"two words\"",
            "at = \"/nothing\"\nthere = false",
            "header = \"a\"\nis = \"b\"",
        ] {
            assert_eq!(wrong(right), 0, "{right}");
        }
        for not_so in [
            "at = \"/list/0/x\"\nis = 2",
            "at = \"/list\"\ncount = 3",
            "at = \"/list/0\"\nlike = { x = 1, z = 2 }",
            "at = \"/list/0/y\"\nhas = \"three\"",
            "lacks = \"two words\"",
            "at = \"/list\"\nthere = false",
            "header = \"c\"\nis = \"b\"",
        ] {
            assert_eq!(wrong(not_so), 1, "{not_so}");
        }
    }

    #[test]
    fn the_yard_is_always_the_same() {
        assert!(yard() == yard());
    }
}
