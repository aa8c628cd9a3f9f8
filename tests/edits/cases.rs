//! Cases with known answers, which are no part of the project: those of `VECTOR_CASES`, in
//! `cases/edits/`. Each goes through `vector patch --jsonl`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use vector_tests::binary;
use vector_tests::cases;

/// The kinds, and which share of their cases has to be right, in hundredths.
const KINDS: [(&str, usize); 5] = [
    ("unified_diff", 97),
    ("search_replace", 98),
    ("range_edits", 100),
    ("diff3", 100),
    ("apply_patch_v4a", 100),
];

/// The members of a case that say what to do; the others hold its answer.
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

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    Right,
    /// Refused, though it could have been done.
    Refused,
    /// Done rightly, though a rule forbids it, or with other line ends, or nobody is asked to look.
    Rule,
    WrongText,
}

fn accepts(case: &Json, outcome: &str) -> bool {
    case["accept"].as_array().unwrap().iter().any(|it| it == outcome)
}

/// A text as a case compares it: its lines without white space at their ends, and no blank ones.
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

/// What is wrong with the answers to the cases of a kind.
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
fn cases_with_known_answers() {
    let Some(folder) = cases::cases() else {
        return;
    };
    let folder = folder.join("cases").join("edits");
    let failures: Vec<String> =
        KINDS.into_iter().map(|(kind, share)| failures(&folder, kind, share)).collect();
    let failures = failures.concat();
    assert!(failures.is_empty(), "{failures}");
}
