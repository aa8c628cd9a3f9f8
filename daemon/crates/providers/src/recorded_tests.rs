//! Compares our requests with recorded requests of other clients: for the same conversation, both
//! have the same key paths with the same types.
//!
//! A recorded request is parsed into a prompt, which is encoded again, and the sets of `path type`
//! of both are compared. Each difference needs a row with its reason in the table below. A row that
//! is not needed any more fails the test too.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;
use vector_core::prompt::{
    CallOutcome, ModelPrompt, PromptTool, PromptTurn, Replay, ThinkingEffort,
};

use super::catalogue::{CatalogueModel, ChatDialect, ThinkingStyle};
use super::request::request_body;
use super::wire::WireFormat;

/// An allowed difference: the wire, the side that has it, the beginning of the path, and the
/// reason.
type Row = (&'static str, Side, &'static str, &'static str);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

const OTHERS: &str = "their tests ask for it; Vector never does";
const NULLS: &str = "null is what is absent";
const STREAM: &str = "Vector always streams, they sometimes do not";
const LISTED: &str = "a text and a list of one text are the same";
const ONE: &str = "one tool per message, where the wire can say so";

const ALLOWED: &[Row] = &[
    (
        "anthropic_messages",
        Side::Ours,
        ".tools[].input_schema",
        "theirs is no object's, and is refused",
    ),
    ("openai_chat", Side::Theirs, ".reasoning object", "it holds only what Vector says by a word"),
    ("openai_responses", Side::Theirs, ".input[].id", "what is not replayed has no id of theirs"),
    ("openai_responses", Side::Theirs, ".input[].status", "it belongs to answers"),
    ("anthropic_messages", Side::Ours, ".stream bool", STREAM),
    ("anthropic_messages", Side::Ours, ".tool_choice", ONE),
    (
        "anthropic_messages",
        Side::Theirs,
        ".cache_control",
        "the whole request may be marked for the cache; Vector marks the blocks that stay",
    ),
    ("anthropic_messages", Side::Theirs, ".stop_sequences", OTHERS),
    ("anthropic_messages", Side::Theirs, ".temperature", OTHERS),
    ("anthropic_messages", Side::Theirs, ".tool_choice", OTHERS),
    ("anthropic_messages", Side::Theirs, ".tools[].strict", OTHERS),
    (
        "bedrock_converse",
        Side::Ours,
        ".inferenceConfig.maxTokens",
        "without it some models stop after a few hundred tokens",
    ),
    ("bedrock_converse", Side::Theirs, ".inferenceConfig.temperature", OTHERS),
    ("bedrock_converse", Side::Theirs, ".toolConfig.toolChoice", OTHERS),
    (
        "openai_chat",
        Side::Ours,
        ".max_completion_tokens",
        "OpenAI's newer name, which its reasoning models insist on",
    ),
    ("openai_chat", Side::Ours, ".parallel_tool_calls", ONE),
    ("openai_chat", Side::Ours, ".stream", STREAM),
    ("openai_chat", Side::Theirs, ".grammar", OTHERS),
    ("openai_chat", Side::Theirs, ".include_reasoning", OTHERS),
    ("openai_chat", Side::Theirs, ".json_schema", OTHERS),
    ("openai_chat", Side::Theirs, ".logprobs", OTHERS),
    ("openai_chat", Side::Theirs, ".max_tokens", "OpenAI's older name"),
    ("openai_chat", Side::Theirs, ".messages[].content", LISTED),
    ("openai_chat", Side::Theirs, ".messages[].prefix", OTHERS),
    (
        "openai_chat",
        Side::Theirs,
        ".messages[].tool_calls[].index",
        "it belongs to streams; nobody asks for it in a request",
    ),
    ("openai_chat", Side::Theirs, ".provider", OTHERS),
    ("openai_chat", Side::Theirs, ".reasoning.max_tokens", "Vector says it by a word"),
    ("openai_chat", Side::Theirs, ".response_format", OTHERS),
    ("openai_chat", Side::Theirs, ".return_related_questions", OTHERS),
    ("openai_chat", Side::Theirs, ".search_context_size", OTHERS),
    ("openai_chat", Side::Theirs, ".stop", OTHERS),
    ("openai_chat", Side::Theirs, ".temperature", OTHERS),
    ("openai_chat", Side::Theirs, ".thinking", OTHERS),
    ("openai_chat", Side::Theirs, ".tool_choice", OTHERS),
    ("openai_chat", Side::Theirs, ".top_logprobs", OTHERS),
    ("openai_chat", Side::Theirs, ".venice_parameters", OTHERS),
    ("openai_responses", Side::Ours, ".input[].content", LISTED),
    ("openai_responses", Side::Ours, ".instructions", "the rules stand there, not in a message"),
    ("openai_responses", Side::Ours, ".parallel_tool_calls", ONE),
    ("openai_responses", Side::Ours, ".store", "nothing is to be kept there"),
    ("openai_responses", Side::Ours, ".stream", STREAM),
    (
        "openai_responses",
        Side::Ours,
        ".tools[].parameters.additionalProperties",
        "what names its arguments is closed, and strict then",
    ),
    (
        "openai_responses",
        Side::Ours,
        ".tools[].strict",
        "absent means strict here, which our schemas are not",
    ),
    ("openai_responses", Side::Theirs, ".input[].content", LISTED),
    ("openai_responses", Side::Theirs, ".previous_response_id", "nothing is kept there"),
    ("openai_responses", Side::Theirs, ".temperature", OTHERS),
    ("openai_responses", Side::Theirs, ".text", OTHERS),
    ("openai_responses", Side::Theirs, ".tool_choice", OTHERS),
    ("openai_responses", Side::Theirs, ".tools[].parameters.$schema", "strict schemas have none"),
    ("gemini", Side::Theirs, ".contents[].parts[].thought bool", "false is what is absent"),
    ("gemini", Side::Theirs, ".generationConfig null", NULLS),
    ("gemini", Side::Theirs, ".generationConfig object", "it holds only what Vector does not say"),
    ("gemini", Side::Theirs, ".generationConfig.temperature", OTHERS),
    (
        "gemini",
        Side::Theirs,
        ".generationConfig.thinkingConfig.includeThoughts",
        "thoughts are not shown",
    ),
    ("gemini", Side::Theirs, ".safetySettings null", NULLS),
    ("gemini", Side::Theirs, ".systemInstruction null", NULLS),
    ("gemini", Side::Theirs, ".systemInstruction.parts[].thought", "false is what is absent"),
    ("gemini", Side::Theirs, ".toolConfig", OTHERS),
    ("gemini", Side::Theirs, ".tools[].codeExecution null", NULLS),
    (
        "ollama_chat",
        Side::Ours,
        ".options.num_ctx",
        "without it Ollama cuts a long conversation without a word",
    ),
    ("ollama_chat", Side::Theirs, ".format", OTHERS),
];

/// One exchange of the shared recordings.
struct Recorded {
    id: String,
    wire: WireFormat,
    name: String,
    accent: ChatDialect,
    request: Json,
}

fn recorded() -> Vec<Recorded> {
    let Some(cases) = std::env::var_os("VECTOR_CASES").map(PathBuf::from) else {
        eprintln!("skipped: VECTOR_CASES does not say where the recorded requests are");
        return vec![];
    };
    let text = fs::read_to_string(cases.join("cases/wire/recorded.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines
        .filter_map(|case| {
            let request = serde_json::from_str(case.get("request")?.as_str()?).ok()?;
            let name = case["wire"].as_str()?.to_owned();
            let wire = name.parse::<WireFormat>().ok()?;
            let accent = match case["provider"].as_str()? {
                "openai" => ChatDialect::OpenAi,
                "openrouter" => ChatDialect::OpenRouter,
                _ => ChatDialect::Plain,
            };
            let id = case["id"].as_str()?.to_owned();
            Some(Recorded { id, wire, name, accent, request })
        })
        .collect()
}

/// Builds a prompt message by message.
#[derive(Default)]
struct Builder {
    prompt: ModelPrompt,
    /// Data that is replayed with the next call.
    replay: Vec<Json>,
}

impl Builder {
    fn person(&mut self, text: &str) {
        if self.prompt.turns.is_empty() && self.prompt.goal.is_empty() {
            text.clone_into(&mut self.prompt.goal);
        } else {
            self.prompt.turns.push(PromptTurn::Asked(text.to_owned()));
        }
    }

    fn rules(&mut self, text: &str) {
        self.prompt.rules.push_str(text);
    }

    fn said(&mut self, text: &str) {
        self.prompt.turns.push(PromptTurn::Said(text.to_owned()));
    }

    fn call(&mut self, id: &Json, tool: &Json, args: Json, replay: Option<Json>) {
        self.prompt.turns.push(PromptTurn::Called {
            id: id.as_str().map(str::to_owned),
            tool: tool.as_str().unwrap().to_owned(),
            args,
            outcome: CallOutcome::Done(Json::Null),
            replay: replay.map(|content| {
                let (provider, model) = ("theirs".to_owned(), "m".to_owned());
                Replay { provider, model, content }
            }),
        });
    }

    /// Sets the result of a call, which is found by its id or its tool's name.
    fn outcome(&mut self, of: &Json, value: Json) {
        let turn = self.prompt.turns.iter_mut().find_map(|turn| match turn {
            PromptTurn::Called { id, tool, outcome, .. }
                if (id.as_deref() == of.as_str() || Some(tool.as_str()) == of.as_str())
                    && *outcome == CallOutcome::Done(Json::Null) =>
            {
                Some(outcome)
            }
            _ => None,
        });
        *turn.expect("a result has its call") = CallOutcome::Done(value);
    }

    fn tool(&mut self, tool: &Json, schema: &str) {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let (name, about) = (text("name"), text("description"));
        let schema = tool.pointer(schema).cloned().unwrap_or_default();
        self.prompt.tools.push(PromptTool { name, about, schema });
    }
}

fn list<'a>(json: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    json[key].as_array().into_iter().flatten()
}

/// Returns a text that may be given as a list of texts. None if it holds anything else.
fn text(content: &Json) -> Option<String> {
    match content {
        Json::Null => Some(String::new()),
        Json::String(text) => Some(text.clone()),
        Json::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}

fn anthropic(request: &Json, to: &mut Builder) -> Option<()> {
    to.rules(&text(&request["system"])?);
    list(request, "tools").for_each(|tool| to.tool(tool, "/input_schema"));
    for message in list(request, "messages") {
        let is_person = message["role"] == "user";
        for block in list(message, "content") {
            match block["type"].as_str()? {
                "text" if is_person => to.person(block["text"].as_str()?),
                "text" => to.said(block["text"].as_str()?),
                "tool_use" => {
                    to.call(&block["id"], &block["name"], block["input"].clone(), None);
                }
                "tool_result" => {
                    to.outcome(&block["tool_use_id"], text(&block["content"])?.into());
                }
                _ => return None,
            }
        }
    }
    Some(())
}

fn bedrock(request: &Json, to: &mut Builder) -> Option<()> {
    to.rules(&text(&request["system"])?);
    for tool in list(&request["toolConfig"], "tools") {
        to.tool(&tool["toolSpec"], "/inputSchema/json");
    }
    for message in list(request, "messages") {
        for block in list(message, "content") {
            let (used, result) = (&block["toolUse"], &block["toolResult"]);
            if let Some(text) = block["text"].as_str() {
                if message["role"] == "user" { to.person(text) } else { to.said(text) }
            } else if used.is_object() {
                to.call(&used["toolUseId"], &used["name"], used["input"].clone(), None);
            } else {
                let value = result.pointer("/content/0/json/result")?;
                to.outcome(&result["toolUseId"], value.clone());
            }
        }
    }
    Some(())
}

fn gemini(request: &Json, to: &mut Builder) -> Option<()> {
    to.rules(&text(&request["systemInstruction"]["parts"])?);
    for tools in list(request, "tools") {
        list(tools, "functionDeclarations").for_each(|tool| to.tool(tool, "/parameters"));
    }
    for content in list(request, "contents") {
        for part in list(content, "parts") {
            let (call, result) = (&part["functionCall"], &part["functionResponse"]);
            if let Some(text) = part["text"].as_str() {
                if content["role"] == "user" { to.person(text) } else { to.said(text) }
            } else if call.is_object() {
                let replay = Json::from(vec![part.clone()]);
                to.call(&Json::Null, &call["name"], call["args"].clone(), Some(replay));
            } else {
                to.outcome(&result["name"], result["response"].get("result")?.clone());
            }
        }
    }
    Some(())
}

fn chat(request: &Json, to: &mut Builder) -> Option<()> {
    list(request, "tools").for_each(|tool| to.tool(&tool["function"], "/parameters"));
    for message in list(request, "messages") {
        let words = text(&message["content"])?;
        match message["role"].as_str()? {
            "system" => to.rules(&words),
            "user" => to.person(&words),
            "tool" => {
                let name = message.get("tool_call_id").unwrap_or(&message["tool_name"]);
                to.outcome(name, words.into());
            }
            _ => {
                let calls = list(message, "tool_calls").collect::<Vec<_>>();
                if !words.is_empty() || calls.is_empty() {
                    to.said(&words);
                }
                for call in calls {
                    let function = &call["function"];
                    let args = match &function["arguments"] {
                        Json::String(text) => serde_json::from_str(text).ok()?,
                        args => args.clone(),
                    };
                    to.call(&call["id"], &function["name"], args, Some(message.clone()));
                }
            }
        }
    }
    Some(())
}

fn responses(request: &Json, to: &mut Builder) -> Option<()> {
    to.rules(&text(&request["instructions"])?);
    list(request, "tools").for_each(|tool| to.tool(tool, "/parameters"));
    for item in list(request, "input") {
        match item["type"].as_str()? {
            "message" => {
                let words = text(&item["content"])?;
                match item["role"].as_str()? {
                    "system" | "developer" => to.rules(&words),
                    "user" => to.person(&words),
                    _ => to.said(&words),
                }
            }
            "reasoning" => to.replay.push(item.clone()),
            "function_call" => {
                to.replay.push(item.clone());
                let replay = Json::from(std::mem::take(&mut to.replay));
                let args = serde_json::from_str(item["arguments"].as_str()?).ok()?;
                to.call(&item["call_id"], &item["name"], args, Some(replay));
            }
            "function_call_output" => to.outcome(&item["call_id"], text(&item["output"])?.into()),
            _ => return None,
        }
    }
    Some(())
}

/// Returns the first number at one of these places.
fn number(request: &Json, places: &[&str]) -> Option<u32> {
    let number = places.iter().find_map(|place| request.pointer(place)?.as_u64());
    number.and_then(|number| u32::try_from(number).ok())
}

/// Encodes the same conversation as Vector does. None if it holds something that Vector cannot
/// express.
fn ours(case: &Recorded) -> Option<Json> {
    let request = &case.request;
    let mut to = Builder::default();
    match case.wire {
        WireFormat::Anthropic => anthropic(request, &mut to),
        WireFormat::Bedrock => bedrock(request, &mut to),
        WireFormat::Gemini => gemini(request, &mut to),
        WireFormat::OpenaiResponses => responses(request, &mut to),
        WireFormat::OpenaiChat | WireFormat::Ollama => chat(request, &mut to),
    }?;
    let mut prompt = to.prompt;
    prompt.max_output = number(
        request,
        &[
            "/max_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
            "/inferenceConfig/maxTokens",
            "/generationConfig/maxOutputTokens",
            "/options/num_predict",
        ],
    );
    let mut model =
        CatalogueModel { output: 64_000, ..CatalogueModel::new_unlisted("theirs", "m") };
    let words = ["/reasoning/effort", "/reasoning_effort"];
    if words.iter().any(|place| request.pointer(place).is_some()) {
        model.thinking = ThinkingStyle::Effort;
        model.efforts = vec!["high".to_owned()];
        prompt.effort = Some(ThinkingEffort::High);
    }
    let budgets = ["/thinking/budget_tokens", "/generationConfig/thinkingConfig", "/think"];
    if budgets.iter().any(|place| request.pointer(place).is_some()) {
        model.thinking = ThinkingStyle::Budget;
        prompt.effort = Some(ThinkingEffort::High);
    }
    Some(request_body(&prompt, &model, case.wire, case.accent))
}

/// Collects all paths with their types.
fn paths(json: &Json, at: &str, to: &mut BTreeSet<String>) {
    let kind = match json {
        Json::Null => "null",
        Json::Bool(_) => "bool",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(list) => {
            for item in list {
                paths(item, &format!("{at}[]"), to);
            }
            "array"
        }
        Json::Object(map) => {
            for (key, value) in map {
                paths(value, &format!("{at}.{key}"), to);
            }
            "object"
        }
    };
    to.insert(format!("{at} {kind}"));
}

#[test]
fn encoded_requests_match_recorded_paths_and_types() {
    let cases = recorded();
    if cases.is_empty() {
        return;
    }
    let (mut wrong, mut used) = (BTreeSet::new(), BTreeSet::new());
    let mut compared = 0;
    for case in &cases {
        let Some(ours) = ours(case) else {
            continue;
        };
        compared += 1;
        let (mut a, mut b) = (BTreeSet::new(), BTreeSet::new());
        paths(&ours, "", &mut a);
        paths(&case.request, "", &mut b);
        let only = |side, path: &&String| (side, (*path).clone());
        let differences = a.difference(&b).map(|path| only(Side::Ours, &path));
        let differences = differences.chain(b.difference(&a).map(|path| only(Side::Theirs, &path)));
        for (side, path) in differences {
            let row = ALLOWED.iter().position(|(wire, own, begin, _)| {
                *wire == case.name && *own == side && path.starts_with(begin)
            });
            match row {
                Some(row) => drop(used.insert(row)),
                None => drop(wrong.insert(format!("{} {side:?} {path} in {}", case.name, case.id))),
            }
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
    let idle: Vec<_> = (0..ALLOWED.len()).filter(|row| !used.contains(row)).collect();
    assert!(
        idle.is_empty(),
        "rows that nobody needs: {:?}",
        idle.iter().map(|it| ALLOWED[*it]).collect::<Vec<_>>()
    );
    assert!(compared >= 190, "only {compared} of {} requests were compared", cases.len());
}
