//! Words that must not occur in comments, in strings of the sources, or in documents: they belong to
//! an unidiomatic dialect that this project once had.

use vector_tests::repository;

/// Words that no comment, string or document may contain.
const WORDS: [&str; 8] =
    ["anew", "mend", "mended", "mends", "whoever", "whomever", "whosever", "whosoever"];

/// The forbidden phrases in a text, each with the words around it.
fn find_dialect(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c: char| !is_part(c)).filter(|it| !it.is_empty()).collect();
    let word = |at: Option<usize>| at.and_then(|at| words.get(at)).copied().unwrap_or_default();
    let is_dialect = |at: usize| {
        let lower = word(Some(at)).to_lowercase();
        let (before, next) = (word(at.checked_sub(1)).to_lowercase(), word(Some(at + 1)));
        let (second, third) = (word(Some(at + 2)), word(Some(at + 3)));
        WORDS.contains(&lower.as_str())
            || (lower == "may" && next == "be" && second == "said")
            || (matches!(lower.as_str(), "is" | "are")
                && next == "no"
                && before != "there"
                && !matches!(second, "longer" | "more")
                && !third.is_empty())
    };
    let found = (0..words.len()).filter(|at| is_dialect(*at));
    found.map(|at| words[at.saturating_sub(2)..words.len().min(at + 4)].join(" ")).collect()
}

/// The strings of a source, with continued lines joined.
fn joined(strings: &str) -> String {
    strings.replace("\\\n", " ").replace("\\n", " ")
}

#[test]
fn comments_strings_and_documents_are_in_plain_words() {
    let (sources, _) = super::sources();
    let mut found = Vec::new();
    for source in &sources {
        let is_for_tests = source.test || source.path.starts_with("tests/");
        let mut lines = find_dialect(&source.comments);
        if !is_for_tests {
            lines.extend(find_dialect(&joined(&source.strings)));
        }
        found.extend(lines.into_iter().map(|words| format!("{}: {words}", source.path)));
    }
    let documents =
        ["README.md", "SECURITY.md", "CHANGELOG.md", "BENCHMARKS.md"].map(str::to_owned);
    for path in repository::files("docs", "md").into_iter().chain(documents) {
        let lines = find_dialect(&repository::read(&path));
        found.extend(lines.into_iter().map(|words| format!("{path}: {words}")));
    }
    assert!(found.is_empty(), "say it in plain words:\n{}", found.join("\n"));
}

#[test]
fn dialect_is_found() {
    let check = |text: &str, expected: &[&str]| assert_eq!(find_dialect(text), expected, "{text}");
    check("Start it anew, whoever asks.", &["Start it anew whoever asks", "it anew whoever asks"]);
    check("It may be said twice.", &["It may be said twice"]);
    check("`x` is no number. There is no file. It is no longer there.", &["x is no number There"]);
    check("an amended recommendation", &[]);
}
