//! A scripted model for clients that speak Anthropic's Messages, OpenAI's Responses or Gemini: a
//! local server that answers each request with the next turn of a script, and keeps the tool
//! results that the requests contain.
//!
//! The number of results in a request selects the turn. A repeated request therefore gets the same
//! answer, and the client's other model requests, such as titles and summaries, do not consume a
//! turn.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

/// One of Vector's tools: only requests that offer it are answered from the script.
const OURS: &str = "proposal_status";

/// What the model does in a turn.
#[derive(Debug, Clone)]
pub(super) enum Turn {
    /// Calls one of Vector's tools.
    Call(&'static str, Json),
    /// Calls `proposal_status` for the last pending proposal, and waits for it.
    Status,
    /// Reads a resource with the client's own tool.
    Resource(String),
    /// Ends with a text.
    Say(&'static str),
}

/// The result that the model received for a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Received {
    /// The text, as sent over the wire.
    pub(super) text: String,
    /// The number of pictures in it.
    pub(super) pictures: usize,
}

/// The model API that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelWire {
    Messages,
    Responses,
    Gemini,
}

/// A scripted model; its server ends with the test.
pub(super) struct ScriptedModel {
    pub(super) port: u16,
    state: Arc<State>,
}

struct State {
    wire: ModelWire,
    script: Vec<Turn>,
    received: Mutex<Vec<Received>>,
    more: Condvar,
}

impl ScriptedModel {
    pub(super) fn start(wire: ModelWire, script: Vec<Turn>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State { wire, script, received: Mutex::default(), more: Condvar::new() };
        let state = Arc::new(state);
        let own = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&own);
                // A write error only means that the client has closed the connection.
                thread::spawn(move || state.serve(&stream));
            }
        });
        Self { port, state }
    }

    /// What the model received for its nth call, from 0; None if it does not arrive in time.
    pub(super) fn result(&self, n: usize, within: Duration) -> Option<Received> {
        let received = self.state.received.lock().unwrap();
        let missing = |received: &mut Vec<Received>| received.len() <= n;
        let (received, _) = self.state.more.wait_timeout_while(received, within, missing).unwrap();
        received.get(n).cloned()
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let (path, body) = request(&mut reader)?;
        let (media, answer) = self.answer(&path, &body);
        let mut stream = stream;
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            answer.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(answer.as_bytes()).ok()
    }

    fn answer(&self, path: &str, body: &Json) -> (&'static str, String) {
        const EVENTS: &str = "text/event-stream";
        const JSON: &str = "application/json";
        if path.contains("count_tokens") || path.contains("countTokens") {
            return (JSON, json!({ "input_tokens": 10, "totalTokens": 10 }).to_string());
        }
        let is_ours = body.get("tools").is_some_and(|tools| tools.to_string().contains(OURS));
        let turn = if is_ours { self.turn(body) } else { Turn::Say("Vector") };
        match self.wire {
            ModelWire::Messages if body["stream"] == true => (EVENTS, messages(&turn, self)),
            ModelWire::Messages => {
                let content = json!([{ "type": "text", "text": "Vector" }]);
                (JSON, message(&content, "end_turn").to_string())
            }
            ModelWire::Responses => (EVENTS, responses(&turn, self)),
            ModelWire::Gemini if path.contains("streamGenerateContent") => {
                (EVENTS, format!("data: {}\r\n\r\n", gemini(&turn, self)))
            }
            ModelWire::Gemini => (JSON, gemini(&turn, self).to_string()),
        }
    }

    /// Stores the results of a request, and selects the turn by their number.
    fn turn(&self, body: &Json) -> Turn {
        let results = match self.wire {
            ModelWire::Messages => of_messages(body),
            ModelWire::Responses => of_responses(body),
            ModelWire::Gemini => of_gemini(body),
        };
        let turn = self.script.get(results.len()).cloned().unwrap_or(Turn::Say("Done."));
        let mut received = self.received.lock().unwrap();
        if results.len() > received.len() {
            *received = results;
        }
        self.more.notify_all();
        turn
    }

    /// The tool name and arguments of a turn, as this client spells them.
    fn call(&self, turn: &Turn) -> Option<(String, Json)> {
        let ours = |name: &str| match self.wire {
            ModelWire::Messages => format!("mcp__vector__{name}"),
            ModelWire::Responses => name.to_owned(),
            ModelWire::Gemini => format!("mcp_vector_{name}"),
        };
        Some(match turn {
            Turn::Call(name, args) => (ours(name), args.clone()),
            Turn::Status => {
                let args = json!({ "id": self.pending(), "wait": 50 });
                (ours("proposal_status"), args)
            }
            Turn::Resource(uri) => {
                let name = match self.wire {
                    ModelWire::Messages => "ReadMcpResourceTool",
                    ModelWire::Responses | ModelWire::Gemini => "read_mcp_resource",
                };
                (name.to_owned(), json!({ "server": "vector", "uri": uri }))
            }
            Turn::Say(_) => return None,
        })
    }

    /// The id in the text of the last result, which is all that a model would see.
    fn pending(&self) -> u64 {
        let received = self.received.lock().unwrap();
        let text = &received.last().expect("a call was answered").text;
        let rest = text.split("proposal_status with").nth(1).unwrap_or_default();
        let digits = rest.chars().skip_while(|c| !c.is_ascii_digit());
        digits.take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
    }
}

/// Reads a request: its path, and its body as JSON.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<(String, Json)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut is_chunked) = (0_usize, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        is_chunked |= line.starts_with("transfer-encoding:") && line.ends_with("chunked");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if is_chunked {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }
    Some((path, serde_json::from_slice(&body).unwrap_or(Json::Null)))
}

fn list(json: &Json) -> impl Iterator<Item = &Json> {
    json.as_array().into_iter().flatten()
}

/// The text of the parts, and the number of pictures among them.
fn parts(content: &Json, is_picture: fn(&Json) -> bool) -> Received {
    if let Some(text) = content.as_str() {
        return Received { text: text.to_owned(), pictures: 0 };
    }
    let texts = list(content).filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    Received { text, pictures: list(content).filter(|part| is_picture(part)).count() }
}

fn of_messages(body: &Json) -> Vec<Received> {
    let blocks = list(&body["messages"]).flat_map(|message| list(&message["content"]));
    let results = blocks.filter(|block| block["type"] == "tool_result");
    results.map(|it| parts(&it["content"], |part| part["type"] == "image")).collect()
}

fn of_responses(body: &Json) -> Vec<Received> {
    let results = list(&body["input"]).filter(|item| item["type"] == "function_call_output");
    results.map(|it| parts(&it["output"], |part| part["type"] == "input_image")).collect()
}

fn of_gemini(body: &Json) -> Vec<Received> {
    let mut results: Vec<Received> = Vec::new();
    for part in list(&body["contents"]).flat_map(|content| list(&content["parts"])) {
        if let Some(response) = part.get("functionResponse") {
            let said = &response["response"];
            let text = ["output", "error"].iter().find_map(|key| said[*key].as_str());
            let text = text.map_or_else(|| said.to_string(), str::to_owned);
            let inside = list(&response["parts"]).filter(|it| it.get("inlineData").is_some());
            results.push(Received { text, pictures: inside.count() });
        } else if let (Some(_), Some(last)) = (part.get("inlineData"), results.last_mut()) {
            last.pictures += 1;
        }
    }
    results
}

fn events(events: &[Json]) -> String {
    let event = |it: &Json| format!("event: {}\ndata: {it}\n\n", it["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn message(content: &Json, stop: &str) -> Json {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    })
}

fn messages(turn: &Turn, state: &State) -> String {
    let mut begin = message(&json!([]), "end_turn");
    begin["stop_reason"] = Json::Null;
    let (block, delta, stop) = match (turn, state.call(turn)) {
        (_, Some((name, args))) => {
            let id = format!("toolu_{}", state.received.lock().unwrap().len());
            (
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": args.to_string() }),
                "tool_use",
            )
        }
        (Turn::Say(text), None) => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        _ => unreachable!("every other turn is a call"),
    };
    events(&[
        json!({ "type": "message_start", "message": begin }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ])
}

fn responses(turn: &Turn, state: &State) -> String {
    let n = state.received.lock().unwrap().len();
    let item = match (turn, state.call(turn)) {
        (_, Some((name, args))) => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"),
                "name": name, "arguments": args.to_string(),
            });
            if !matches!(turn, Turn::Resource(_)) {
                call["namespace"] = "mcp__vector".into();
            }
            call
        }
        (Turn::Say(text), None) => json!({
            "type": "message", "id": format!("msg_{n}"), "role": "assistant",
            "content": [{ "type": "output_text", "text": text }],
        }),
        _ => unreachable!("every other turn is a call"),
    };
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
        "output_tokens_details": null, "total_tokens": 2,
    });
    let id = format!("resp_{n}");
    events(&[
        json!({ "type": "response.created", "response": { "id": id } }),
        json!({ "type": "response.output_item.done", "item": item }),
        json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }),
    ])
}

fn gemini(turn: &Turn, state: &State) -> Json {
    let part = match (turn, state.call(turn)) {
        (_, Some((name, args))) => {
            // Without a signature, the client treats the call as made up.
            json!({ "functionCall": { "name": name, "args": args }, "thoughtSignature": "c2lnbmVk" })
        }
        (Turn::Say(text), None) => json!({ "text": text }),
        _ => unreachable!("every other turn is a call"),
    };
    json!({
        "candidates": [{
            "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": "scripted",
    })
}
