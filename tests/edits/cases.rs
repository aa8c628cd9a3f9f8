//! Test cases with known answers that are not part of the project: those in `cases/edits/` of
//! `VECTOR_CASES`. Each is run through `vector patch --jsonl`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use vector_tests::binary;
use vector_tests::cases;

/// The kinds of cases, and the percentage of each that has to be right.
const KINDS: [(&str, usize); 5] = [
    ("unified_diff", 97),
    ("search_replace", 98),
    ("range_edits", 100),
    ("diff3", 100),
    ("apply_patch_v4a", 100),
];

/// The members of a case that are its input. The others are its answer.
const ASKED: [&str; 11] = [
    "id",
    "kind",
    "target",
    "base",
    "patch",
    "edits",
    "range_edits",
    "unit",
    "ours",
    "theirs",
    "files",
];

/// The verdict on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Right,
    /// Refused, although the case could be done.
    Refused,
    /// The right text, but a rule forbids applying it, or the line ends differ, or the required
    /// confirmation is not requested.
    Rule,
    WrongText,
}

fn accepts(case: &Json, outcome: &str) -> bool {
    case["accept"].as_array().unwrap().iter().any(|it| it == outcome)
}

/// A text in the loose comparison of some cases: trimmed lines, without blank ones.
fn squeezed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn worth(case: &Json, answer: &Json) -> Worth {
    if answer["outcome"] == "reject" {
        return if accepts(case, "reject") { Worth::Right } else { Worth::Refused };
    }
    let others = case["alt_results"].as_array().into_iter().flatten();
    let wanted: Vec<&str> =
        [&case["result"]].into_iter().chain(others).filter_map(Json::as_str).collect();
    let is_right = if case["kind"] == "apply_patch_v4a" {
        answer["result_files"] == case["result_files"]
    } else {
        let text = answer["text"].as_str().unwrap();
        let is_loose = !case["compare"].is_null();
        let is_it = |it: &&str| *it == text || is_loose && squeezed(it) == squeezed(text);
        let lf = |text: &str| text.replace("\r\n", "\n");
        if !wanted.iter().any(is_it) && wanted.iter().any(|it| lf(it) == lf(text)) {
            return Worth::Rule;
        }
        wanted.iter().any(is_it)
    };
    match is_right {
        false => Worth::WrongText,
        true if !accepts(case, "ok") => Worth::Rule,
        true if case["confirm"] == true && answer["confirm"] != true => Worth::Rule,
        true => Worth::Right,
    }
}

/// Runs the cases of one kind and describes those that are not right. Empty if enough are right and
/// no text is wrong.
fn failures(folder: &Path, kind: &str, share: usize) -> String {
    let file = folder.join(format!("{kind}.jsonl"));
    let lines = fs::read_to_string(&file).unwrap();
    let cases: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!cases.is_empty(), "no cases in {}", file.display());
    let mut asked = String::new();
    for case in &cases {
        let mut case = case.as_object().unwrap().clone();
        case.retain(|name, _| ASKED.contains(&name.as_str()));
        asked.push_str(&serde_json::to_string(&case).unwrap());
        asked.push('\n');
    }
    let run = binary::run(&["patch", "--jsonl"], &asked);
    assert_eq!(run.code, 0, "{kind}: {}", run.stderr);
    let answers: Vec<Json> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len(), "{kind}: another number of answers");
    let (mut failures, mut right) = (String::new(), 0);
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(case["id"], answer["id"], "{kind}: answers in another order");
        let worth = worth(case, answer);
        right += usize::from(worth == Worth::Right);
        if worth != Worth::Right {
            let _ = writeln!(failures, "  {}: {worth:?} {}", case["id"], answer["reason"]);
        }
        if worth == Worth::WrongText {
            let _ = writeln!(failures, "  wrong texts are never allowed");
        }
    }
    let is_wrong = failures.contains("wrong texts");
    if right * 100 >= cases.len() * share && !is_wrong {
        return String::new();
    }
    format!("{kind}: {right} of {} are right, {share} % have to be\n{failures}", cases.len())
}

#[test]
fn known_cases_give_their_expected_results() {
    let Some(folder) = cases::cases() else {
        return;
    };
    let folder = folder.join("cases").join("edits");
    let failures: Vec<String> =
        KINDS.into_iter().map(|(kind, share)| failures(&folder, kind, share)).collect();
    let failures = failures.concat();
    assert!(failures.is_empty(), "{failures}");
}
