//! Recorded exchanges with model providers, from `cases/wire/` in `VECTOR_CASES`; they are not part
//! of the repository. Each goes through `vector debug wire --jsonl` in its recorded pieces, in one
//! piece, byte by byte, and in pseudorandom pieces.

use std::fs;

use random_draws::RandomDraws;
use serde_json::{Value as Json, json};
use vector_tests::binary;
use vector_tests::cases;

/// The fields of a case that form the response; the others hold the expected answer and the source.
const RECORDED: [&str; 8] =
    ["id", "wire", "status", "headers", "content_type", "body_encoding", "body", "chunk_offsets"];

/// The expected fields that are compared if a case has them.
const EXPECTED: [&str; 8] = [
    "text",
    "tool_calls",
    "stop",
    "error_type",
    "message",
    "retryable",
    "retry_after_ms",
    "context_overflow",
];

fn all() -> Option<Vec<Json>> {
    let folder = cases::cases()?.join("cases").join("wire");
    let files = ["recorded.jsonl", "variants.jsonl"].map(|name| folder.join(name));
    let lines = files.map(|file| fs::read_to_string(file).unwrap()).concat();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Whether the token limit cut a call within its arguments. A recording calls that `ok`, because
/// its stream is complete; the variants of the cases follow the rule and call it `truncated`.
fn is_cut(expect: &Json) -> bool {
    let limits = ["length", "max_tokens", "MAX_TOKENS", "incomplete"];
    let calls = expect["tool_calls"].as_array();
    limits.iter().any(|stop| expect["stop"] == *stop)
        && calls
            .into_iter()
            .flatten()
            .any(|call| call.get("args") == Some(&json!({})) || call["args_invalid"].is_string())
}

/// The differences between an answer and what a case expects.
fn differences(case: &Json, answer: &Json) -> Vec<String> {
    let expect = &case["expect"];
    let mut differences = Vec::new();
    let mut compare = |name: &str, expected: &Json, found: &Json| {
        if expected != found {
            differences.push(format!("{}: {name} is {found}, not {expected}", case["id"]));
        }
    };
    let cut = json!("truncated");
    let outcome = if is_cut(expect) { &cut } else { &expect["outcome"] };
    compare("id", &case["id"], &answer["id"]);
    compare("outcome", outcome, &answer["outcome"]);
    for name in EXPECTED {
        if let Some(expected) = expect.get(name) {
            compare(name, expected, &answer[name]);
        }
    }
    if !expect["usage"].is_null() {
        compare("usage", &expect["usage"], &answer["usage"]);
    }
    differences
}

/// Decodes all cases, each with the chunk offsets that `pieces` returns.
fn decoded(cases: &[Json], pieces: impl Fn(usize, &Json) -> Json) -> Vec<Json> {
    let mut asked = String::new();
    for (at, case) in cases.iter().enumerate() {
        let mut line = case.as_object().unwrap().clone();
        line.retain(|name, _| RECORDED.contains(&name.as_str()));
        line.insert("chunk_offsets".to_owned(), pieces(at, case));
        asked.push_str(&serde_json::to_string(&line).unwrap());
        asked.push('\n');
    }
    let run = binary::run(&["debug", "wire", "--jsonl"], &asked);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let answers: Vec<Json> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len(), "another number of answers");
    answers
}

#[test]
fn recorded_responses_decode_as_expected() {
    let Some(cases) = all() else {
        return;
    };
    assert!(cases.len() > 200, "only {} cases", cases.len());
    let answers = decoded(&cases, |_, case| case["chunk_offsets"].clone());
    let pairs = cases.iter().zip(&answers);
    let wrong: Vec<_> = pairs.flat_map(|(case, answer)| differences(case, answer)).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let length = |case: &Json| case["body"].as_str().unwrap().len();
    assert_eq!(decoded(&cases, |_, _| Json::Null), answers, "in one piece");
    let bytewise = decoded(&cases, |_, case| (0..length(case)).collect());
    assert_eq!(bytewise, answers, "byte by byte");
    for seed in 0..4 {
        let pieces = decoded(&cases, |at, case| {
            let mut draws = RandomDraws::from_seed(seed << 32 | at as u64);
            (0..=draws.below(40)).map(|_| draws.below(length(case))).collect()
        });
        assert_eq!(pieces, answers, "in pieces, seed {seed}");
    }
}

#[test]
fn truncated_recorded_stream_yields_no_partial_calls() {
    let Some(cases) = all() else {
        return;
    };
    // Ten prefixes of each: none may yield a call that differs from the complete one.
    let cases: Vec<_> = cases.iter().filter(|case| case["expect"]["outcome"] == "ok").collect();
    let mut cut = Vec::new();
    for case in &cases {
        let body = case["body"].as_str().unwrap();
        for tenth in 0..10 {
            let mut end = body.len() * tenth / 10;
            while !body.is_char_boundary(end) {
                end -= 1;
            }
            let mut case = (*case).clone();
            // Base64 has groups of four characters.
            let end = if case["body_encoding"] == "base64" { end / 4 * 4 } else { end };
            case["body"] = json!(body[..end]);
            cut.push(case);
        }
    }
    let answers = decoded(&cut, |_, _| Json::Null);
    for (case, answer) in cut.iter().zip(&answers) {
        let is_called = answer["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        // A prefix that includes the terminal event is complete, and must yield all calls.
        let is_whole = answer["outcome"] != "incomplete"
            && answer["tool_calls"] == case["expect"]["tool_calls"]
            && answer["stop"] == case["expect"]["stop"];
        assert!(!is_called || is_whole, "{}: {answer}", case["id"]);
    }
}
