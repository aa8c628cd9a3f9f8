//! The format of a scenario's folder: the user's requests and decisions, the provider's replies,
//! and the expected requests to the provider. README.md beside the folders describes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use random_draws::RandomDraws;
use scene_schemas::Value;
use serde::Deserialize;
use serde_json::Value as Json;
use vector_place::{FileFormat, Scene};
use vector_providers::wire::WireFormat;

use super::server::{End, Reply, Request};
use super::spell::{self, Call, Event, Message, Stop, Style, Usage};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The rule that the scenario demonstrates, as a sentence.
    pub(crate) rule: String,
    /// The wire format of the provider.
    pub(crate) wire: WireFormat,
    /// The provider's name. None for the usual one of the wire.
    pub(crate) provider: Option<String>,
    /// The model. None for the usual one of the provider.
    pub(crate) model: Option<String>,
    /// The user's request, for `vector edit`.
    pub(crate) prompt: Option<String>,
    /// Or the user's messages, one after the other, for `vector chat`.
    #[serde(default)]
    pub(crate) say: Vec<String>,
    /// The place: `yard`, or the name of a file in the folder.
    #[serde(default = "yard_name")]
    pub(crate) place: String,
    /// The user's decisions on a terminal, in order. If empty, the command runs with `--yes`.
    #[serde(default)]
    pub(crate) decisions: Vec<String>,
    /// Additional arguments of `vector edit`.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Lines of `vector.toml`.
    #[serde(default)]
    pub(crate) settings: String,
    /// Lines of `models.toml`.
    #[serde(default)]
    pub(crate) models: String,
    /// When to kill the process. Afterwards the user sends `go_on` in `vector chat`.
    pub(crate) kill: Option<Kill>,
    /// The user's messages after the kill.
    #[serde(default)]
    pub(crate) go_on: Vec<String>,
    /// The expected exit code.
    #[serde(default)]
    pub(crate) exit: i32,
    /// Texts that must be shown to the user.
    #[serde(default)]
    pub(crate) shown: Vec<String>,
    /// Whether all wires must result in the same ledger and place.
    #[serde(default)]
    pub(crate) all_wires: bool,
    /// The provider's replies, in order.
    #[serde(default)]
    pub(crate) reply: Vec<Scripted>,
    /// The provider's replies after the kill.
    #[serde(default)]
    pub(crate) resumed: Vec<Scripted>,
}

fn yard_name() -> String {
    "yard".to_owned()
}

/// When to kill a process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kill {
    /// `asked`: while a request is in flight. `streaming`: after half of a reply. `waiting`: at the
    /// first card after all decisions. Otherwise the kind of the entry that was written last.
    pub(crate) at: String,
    /// The number of the reply, or of the entry of that kind, from 1.
    #[serde(default = "first")]
    pub(crate) nth: usize,
}

fn first() -> usize {
    1
}

/// One reply of the provider.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Scripted {
    reasoning: Option<String>,
    signature: Option<String>,
    text: Option<String>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    stop: Stop,
    /// Number of times that it is given in a row. `{n}` in it is replaced by its number, from 1.
    repeat: Option<usize>,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    content_type: Option<String>,
    /// A verbatim body.
    raw: Option<String>,
    /// Events to send in place of those of a message, as JSON. On Bedrock `{"NAME": DATA}`.
    events: Option<Vec<String>>,
    /// An additional event in the middle.
    insert: Option<Insert>,
    /// Whether the terminal events are sent.
    terminal: Option<bool>,
    crlf: bool,
    comments: bool,
    split: Split,
    /// Number of bytes after which the body ends. If negative, number of bytes missing.
    cut: Option<i64>,
    /// How the body ends. If None, it is complete, or the connection breaks where it is cut.
    ends: Option<Ends>,
    /// The index of a byte to damage.
    damage: Option<usize>,
    /// The expectations on the request that it answers.
    pub(crate) sent: Vec<Expected>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Insert {
    /// The index of the event before which it is inserted.
    at: usize,
    event: String,
}

/// The end of a body.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ends {
    /// As if it were complete.
    Clean,
    /// Nothing more is sent until the client disconnects.
    Hang,
    /// Nothing is sent at all until the client disconnects.
    Silent,
}

/// The pieces into which a body is split.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(untagged)]
enum Split {
    /// One piece per event.
    #[default]
    Events,
    /// `whole` or `bytes`.
    How(How),
    /// Random pieces, the same for the same seed.
    Chance { chance: u64 },
    /// Split at these byte offsets.
    At(Vec<usize>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Whole,
    Bytes,
}

/// An expectation on a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// A JSON pointer, in which `-1` is the last item of a list. Empty for the whole body.
    #[serde(default)]
    at: String,
    /// A header to check in place of the body.
    header: Option<String>,
    /// The exact value.
    is: Option<Json>,
    /// Members that the value must have at least, at any depth. Lists must have the same length.
    like: Option<Json>,
    /// A text that must be contained, in a string or in the JSON of another value.
    has: Option<String>,
    /// A text that must not be contained.
    lacks: Option<String>,
    /// The number of items or members.
    count: Option<usize>,
    /// Whether the value exists.
    there: Option<bool>,
}

impl Scenario {
    /// Reads the scenario of a folder.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be read, or has unknown fields.
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

    /// The provider and the model, as they are named on the command line.
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

/// The replies on a wire, repeated ones several times, with the index of each one's block.
pub(crate) fn replies(blocks: &[Scripted], wire: WireFormat) -> (Vec<usize>, Vec<Reply>) {
    let all = blocks.iter().enumerate().flat_map(|(at, block)| {
        let times = 1..=block.repeat.unwrap_or(1);
        times.map(move |n| (at, block.reply(wire, n)))
    });
    all.unzip()
}

/// The usual provider of a wire, and the variable with its key.
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

    /// The pieces of the body, and whether it is cut.
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

/// The ends of random pieces of 1 to 40 bytes.
fn by_chance(seed: u64, length: usize) -> Vec<usize> {
    let (mut ends, mut at, mut draws) = (Vec::new(), 0, RandomDraws::from_seed(seed));
    while at < length {
        at += 1 + draws.below(40);
        ends.push(at);
    }
    ends
}

/// A hand-written event.
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
    /// Whether it applies to every wire: it names no location.
    pub(crate) fn is_of_any_wire(&self) -> bool {
        self.at.is_empty() && self.header.is_none()
    }

    /// Returns how a request differs from the expectation.
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

/// Resolves a JSON pointer in which `-1` is the last item of a list, `-2` the one before, and so
/// on.
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

/// A small place that has the same bytes whenever it is built.
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
    fn replies_are_repeated_and_split_as_specified() {
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
    fn requests_are_compared_with_expectations() {
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
    fn yard_place_is_deterministic() {
        assert!(yard() == yard());
    }
}
