//! `vector debug`: inspects Vector's internals, without a place or a model.
//!
//! It decodes recorded responses of providers, rebuilds requests from the ledger, and prints what
//! the plugin in Studio did.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use base64::Engine as _;
use clap::{Args, Subcommand};
use scene_schemas::api::{PluginLog, RouteId, SessionView};
use scene_schemas::entry::Seq;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_engine::model_request::{RebuiltRequest, rebuild_request};
use vector_ledger::Ledger;
use vector_providers::answer::{AnswerOutcome, CalledTool, ModelAnswer, TokenUsage};
use vector_providers::config;
use vector_providers::decode::ResponseDecoder;
use vector_providers::failure::ResponseHead;
use vector_providers::wire::WireFormat;

use super::ExitStatus;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::terminal::{escape_line_ends, print_status, print_stdout};

/// Debug Vector: decode recorded provider responses, rebuild requests.
#[derive(Debug, Args)]
pub(super) struct DebugArgs {
    #[command(subcommand)]
    command: DebugCommand,
}

#[derive(Debug, Subcommand)]
enum DebugCommand {
    /// Decode recorded responses of model providers
    Wire(WireArgs),
    /// Print a request to a model, rebuilt from the ledger
    Request(RequestArgs),
    /// Print the latest events of the plugin in Studio, to attach to a bug report
    Plugin(PluginLogArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Prints JSON lines: for each Studio window one line about the versions, then its latest events, at
most 500, oldest first. They name requests, kinds of failures, counts and durations, and nothing of
the place: no names, no texts.

Example:
  vector debug plugin > vector-plugin.jsonl")]
struct PluginLogArgs {}

#[derive(Debug, Args)]
#[command(after_help = "\
The number is that of a `requested` entry in `vector log --json`. The request is printed byte for byte,
verified by its hash in the ledger. If the hash does not match, because Vector or models.toml has
changed since, the command says so, and the exit code is 1.

Example:
  vector debug request 42 | jq .messages")]
struct RequestArgs {
    /// The entry's number
    number: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is an object: id, wire (anthropic_messages, openai_chat, openai_responses, gemini,
bedrock_converse, ollama_chat), status, headers, content_type, body_encoding (utf8, base64), body,
and chunk_offsets, the byte offsets at which the body arrived in pieces. docs/wire.md describes the output.

Examples:
  vector debug wire --jsonl < recorded.jsonl
  vector debug wire --jsonl recorded.jsonl")]
struct WireArgs {
    /// A file with one response per line [default: stdin]
    file: Option<PathBuf>,
    /// Read one response per line, and print one answer per line, in order
    #[arg(long, required = true)]
    jsonl: bool,
}

/// A recorded response. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
struct RecordedResponse {
    #[serde(default)]
    id: Json,
    wire: String,
    status: Option<u16>,
    headers: Option<Map<String, Json>>,
    content_type: Option<String>,
    body_encoding: Option<String>,
    #[serde(default)]
    body: String,
    chunk_offsets: Option<Vec<usize>>,
}

pub(super) fn run(
    args: &DebugArgs,
    home: impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<ExitStatus> {
    match &args.command {
        DebugCommand::Wire(args) => print_wire(args),
        DebugCommand::Request(args) => print_request(Seq(args.number), &home()?),
        DebugCommand::Plugin(PluginLogArgs {}) => print_plugin_logs(&home()?),
    }
}

fn print_request(number: Seq, home: &Path) -> anyhow::Result<ExitStatus> {
    let env = |name: &str| env::var(name).ok();
    let (catalogue, _) = config::load_config(home, None, &env).map_err(anyhow::Error::msg)?;
    let ledger = Ledger::open(home)?;
    let Some(RebuiltRequest { body, is_exact }) = rebuild_request(&ledger, number, &catalogue)?
    else {
        bail!("{number} is not a request; `vector log --json` lists them as `requested` entries");
    };
    print_stdout(&format!("{}\n", String::from_utf8_lossy(&body)))?;
    if is_exact {
        return Ok(ExitStatus::Done);
    }
    print_status(
        "error: this is not byte for byte what was sent: Vector or models.toml has changed since.",
    );
    Ok(ExitStatus::Failed)
}

fn print_plugin_logs(home: &Path) -> anyhow::Result<ExitStatus> {
    let daemon = DaemonClient::connect(home)?;
    let version = daemon.about()?.daemon;
    let mut lines = String::new();
    for SessionView { session, connected, instances, .. } in daemon.list_sessions()? {
        let request = RouteRequest::new(RouteId::PluginLog).with_id(&session);
        let PluginLog { events } = daemon.call(&request)?;
        if events.is_empty() {
            continue;
        }
        let head = json!({ "session": session, "daemon": version, "os": env::consts::OS,
                           "connected": connected, "instances": instances });
        let _ = writeln!(lines, "{head}");
        for event in events {
            let _ = writeln!(lines, "{}", escape_line_ends(&serde_json::to_string(&event)?));
        }
    }
    if lines.is_empty() {
        bail!(
            "no Studio window has connected since the daemon was started; open the place in Studio"
        );
    }
    print_stdout(&lines)?;
    Ok(ExitStatus::Done)
}

fn print_wire(args: &WireArgs) -> anyhow::Result<ExitStatus> {
    match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        Some(file) => {
            let opened = fs::File::open(file);
            let opened = opened.with_context(|| format!("{} cannot be read", file.display()))?;
            decode_lines(BufReader::new(opened))?;
        }
        None => decode_lines(io::stdin().lock())?,
    }
    Ok(ExitStatus::Done)
}

fn decode_lines(input: impl BufRead) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in input.lines() {
        let line = line.context("the responses are not valid text")?;
        if line.trim().is_empty() {
            continue;
        }
        writeln!(out, "{}", escape_line_ends(&decode_line(&line).to_string()))?;
        // A caller may wait for each answer before it sends the next response.
        out.flush()?;
    }
    Ok(())
}

/// The answer to a line, as JSON.
fn decode_line(line: &str) -> Json {
    let refused = |id: Json, why: String| {
        let outcome = AnswerOutcome::Error.name();
        json!({ "id": id, "outcome": outcome, "message": why, "tool_calls": [], "retryable": false })
    };
    match serde_json::from_str::<RecordedResponse>(line) {
        Ok(recorded) => {
            let id = recorded.id.clone();
            match decode_response(&recorded) {
                Ok((wire, answer)) => answer_json(id, wire, &answer),
                Err(error) => refused(id, error.to_string()),
            }
        }
        Err(error) => refused(Json::Null, format!("The line is not a recorded response: {error}.")),
    }
}

fn decode_response(recorded: &RecordedResponse) -> anyhow::Result<(WireFormat, ModelAnswer)> {
    let wire: WireFormat = recorded.wire.parse()?;
    let body = match recorded.body_encoding.as_deref() {
        Some("base64") => base64::engine::general_purpose::STANDARD
            .decode(recorded.body.trim())
            .context("the body is not base64")?,
        None | Some("utf8" | "utf-8") => recorded.body.as_bytes().to_vec(),
        Some(other) => bail!("body_encoding must be utf8 or base64, not {other}"),
    };
    let mut decoder = ResponseDecoder::new(wire, response_head(recorded));
    let mut parts = Vec::new();
    let mut offsets = recorded.chunk_offsets.clone().unwrap_or_default();
    offsets.retain(|offset| *offset < body.len());
    offsets.push(body.len());
    offsets.sort_unstable();
    let mut from = 0;
    for to in offsets {
        parts.extend(decoder.push_bytes(&body[from..to]));
        from = to;
    }
    parts.extend(decoder.finish());
    Ok((wire, ModelAnswer::from_parts(parts)))
}

fn response_head(recorded: &RecordedResponse) -> ResponseHead {
    let mut headers = Vec::new();
    if let Some(content_type) = &recorded.content_type {
        headers.push(("content-type".to_owned(), content_type.clone()));
    }
    for (name, value) in recorded.headers.iter().flatten() {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            headers.push((name.clone(), value));
        }
    }
    // Without a clock, so that the same line always gives the same answer.
    ResponseHead { status: recorded.status.unwrap_or(200), headers, received_at: None }
}

fn answer_json(id: Json, wire: WireFormat, answer: &ModelAnswer) -> Json {
    let end = &answer.end;
    let failure = end.failure.clone().unwrap_or_default();
    let mut object = json!({
        "id": id,
        "outcome": end.outcome.name(),
        "text": answer.text,
        "tool_calls": answer.calls.iter().map(call_json).collect::<Vec<_>>(),
        "stop": end.stop_reason,
        "usage": answer.usage.map(|usage| tokens_json(wire, usage)),
        "error_type": failure.kind.map(|kind| match kind.parse::<u16>() {
            Ok(code) => json!(code),
            Err(_) => json!(kind),
        }),
        "retryable": failure.is_retryable,
        "retry_after_ms": failure.retry_after.map(|it| it.as_millis() as u64),
        "context_overflow": failure.is_context_overflow,
    });
    let optional_fields = [
        ("message", (!failure.message.is_empty()).then(|| json!(failure.message))),
        ("refusal", end.refusal.as_ref().map(|it| json!(it))),
        ("reasoning", (!answer.reasoning.is_empty()).then(|| json!(answer.reasoning))),
        ("usage_details", answer.usage.and_then(token_details)),
    ];
    for (name, value) in optional_fields {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}

fn call_json(call: &CalledTool) -> Json {
    let mut object = json!({ "id": call.id, "name": call.name });
    match &call.args {
        Ok(args) => object["args"] = args.clone(),
        Err(malformed) => object["args_invalid"] = json!(malformed.text),
    }
    if call.is_signed {
        object["thought_signature"] = json!(true);
    }
    object
}

/// The token counts in the terms of the wire format. Anthropic counts cached tokens apart from the
/// input.
fn tokens_json(wire: WireFormat, usage: TokenUsage) -> Json {
    let mut tokens = json!({ "input": usage.input, "output": usage.output });
    if wire == WireFormat::Anthropic {
        tokens["cache_read"] = json!(usage.cache_read);
        tokens["cache_write"] = json!(usage.cache_write);
    }
    tokens
}

/// Further token counts, if any are not zero.
fn token_details(usage: TokenUsage) -> Option<Json> {
    let counts = [
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("reasoning", usage.reasoning),
    ];
    let known = counts.into_iter().filter(|(_, count)| *count > 0);
    let known: Map<_, _> = known.map(|(name, count)| (name.to_owned(), json!(count))).collect();
    (!known.is_empty()).then_some(Json::Object(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"grüße\"},\
                        \"finish_reason\":\"stop\"}]}\n\n";

    fn line(more: Json) -> Json {
        let mut line = json!({"id": 7, "wire": "openai_chat", "status": 200,
            "content_type": "text/event-stream", "body": BODY, "somebody_else": true});
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        decode_line(&line.to_string())
    }

    #[test]
    fn response_decodes_alike_for_any_chunk_offsets() {
        let whole = line(json!({}));
        assert_eq!((&whole["id"], &whole["outcome"]), (&json!(7), &json!("ok")));
        assert_eq!((&whole["text"], &whole["stop"]), (&json!("grüße"), &json!("stop")));
        let all: Vec<_> = (0..=BODY.len() + 9).collect();
        for offsets in [json!([3, 47, 47, 2]), json!([]), json!(null), json!(all)] {
            assert_eq!(line(json!({ "chunk_offsets": offsets })), whole);
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(BODY);
        assert_eq!(line(json!({"body_encoding": "base64", "body": encoded})), whole);
        assert_eq!(line(json!({"status": null, "headers": {"x": 1}})), whole);
    }

    #[test]
    fn http_error_has_its_reason_and_retry_delay() {
        let body = "{\"error\":{\"code\":429,\"message\":\"slow\"}}";
        let answer = line(json!({"status": 429, "content_type": null, "body": body,
            "headers": {"Retry-After": ["3"]}}));
        assert_eq!(answer["outcome"], "http_error");
        assert_eq!((&answer["error_type"], &answer["message"]), (&json!(429), &json!("slow")));
        assert_eq!((&answer["retryable"], &answer["retry_after_ms"]), (&json!(true), &json!(3000)));
    }

    #[test]
    fn invalid_lines_are_answered_with_an_error() {
        for (more, why) in [
            (json!({"wire": "telex"}), "there is no wire \"telex\""),
            (json!({"body_encoding": "base64", "body": "?"}), "the body is not base64"),
            (json!({"body_encoding": "rot13"}), "body_encoding must be utf8 or base64, not rot13"),
        ] {
            let answer = line(more);
            assert_eq!((&answer["id"], &answer["outcome"]), (&json!(7), &json!("error")));
            assert!(answer["message"].as_str().unwrap().starts_with(why), "{answer}");
        }
        assert_eq!(decode_line("{")["outcome"], "error");
    }
}
