//! Tests of the lexer, most of them against Luau's compiler and the parser.

use full_moon::LuaVersion;
use full_moon::tokenizer::{Lexer as ParserLexer, LexerResult};
use mlua::chunk::Compiler;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::compile_errors;

#[track_caller]
fn check(source: &str, expected: &[&str]) {
    let tokens = tokenize(source);
    let shown: Vec<&str> = tokens
        .iter()
        .map(|token| &source[token.start as usize..token.end as usize])
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn strings_are_tokens_and_comments_are_skipped() {
    check("", &[]);
    check("a.b = 0x1F -- c\r\nd", &["a", ".", "b", "=", "0x1F", "d"]);
    check("--[==[ a\n]] ]==] b --[[ c", &["b"]);
    check(r#"x'a\'b' "c""#, &["x", r"'a\'b'", "\"c\""]);
    check("[[a\nb]] c [=[d]]]=]", &["[[a\nb]]", "c", "[=[d]]]=]"]);
    check("a[b[1]] 'open\nc", &["a", "[", "b", "[", "1", "]", "]", "'open", "c"]);
    check("1..2 1e-5 0x1e-5 .5", &["1", "..", "2", "1e-5", "0x1e", "-", "5", ".5"]);
    check("a//=b ->::>=...", &["a", "//=", "b", "->", "::", ">=", "..."]);
    check("'a\\z \n b' c", &["'a\\z \n b'", "c"]);
    check("#!/bin/lune\na", &["a"]);
}

#[test]
fn reads_the_code_in_interpolated_strings() {
    check("`a{ {b} }c{`d{e}`}` f", &["`a{", "{", "b", "}", "}c{", "`d{", "e", "}`", "}`", "f"]);
    check(r"`\{a` b", &[r"`\{a`", "b"]);
    check(r"`\u{41}{a}` b", &[r"`\u{41}{", "a", "}`", "b"]);
    check("`a\\z \n b` c", &["`a\\z \n b`", "c"]);
}

#[test]
fn comments_are_listed() {
    let check = |source: &str, expected: &[&str]| {
        let lexed = tokenize_with_comments(source);
        let shown: Vec<&str> = lexed.comments.into_iter().map(|range| &source[range]).collect();
        assert_eq!(shown, expected);
    };
    check("a -- b\r\n--[[ c\nd ]] e --[=[ f", &["-- b", "--[[ c\nd ]]", "--[=[ f"]);
    check("#!/bin/lune\n'--' --[a", &["#!/bin/lune", "--[a"]);
}

#[test]
fn string_content_is_between_quotes_or_brackets() {
    for (text, expected) in [
        ("'a\"'", Some("a\"")),
        ("``", Some("")),
        ("[[]]", Some("")),
        ("[=[a]]]=]", Some("a]]")),
        ("'a", None),
        ("'", None),
        ("[[a]", None),
        ("[=[a]]", None),
        ("[[]", None),
        ("a", None),
        ("", None),
    ] {
        assert_eq!(string_content(text), expected, "{text}");
    }
}

/// All ASCII characters but NUL, at which Luau stops, and other characters that end lines in some
/// languages.
fn characters() -> impl Iterator<Item = char> {
    ('\u{1}'..='\u{7f}').chain(['\u{85}', '\u{a0}', '\u{feff}', '\u{2028}', '\u{2029}'])
}

#[test]
fn comments_end_where_the_compiler_ends_them() {
    for c in characters() {
        let source = format!("-- a{c}b c\n");
        let is_code = tokenize(&source).len() > 1;
        assert_eq!(is_code, !compile_errors(&source).is_empty(), "{source:?}");
        assert_eq!(is_code, matches!(c, '\n' | '\r'), "{source:?}");
    }
}

#[test]
fn strings_end_where_the_compiler_ends_them() {
    for quote in ['\'', '"', '`'] {
        // The digits complete an escape sequence that requires them.
        let middles = characters().flat_map(|c| [c.to_string(), format!("\\{c}04")]);
        for middle in middles.chain(["\\u{41}".to_owned()]) {
            for space in ["", "\n", "\r\n\n", "\u{b}\u{c}\n", "\n-- a"] {
                let source = format!("x = {quote}a{middle}{space}b{quote}");
                let is_closed = middle == "{" || middle == quote.to_string();
                if is_closed || !compile_errors(&source).is_empty() {
                    continue;
                }
                let ends: Vec<u32> = tokenize(&source).iter().map(|it| it.end).collect();
                let end = source.len() as u32;
                assert_eq!(ends, [1, 3, end, end], "{source:?}");
            }
        }
    }
}

fn compile(source: &str) -> Option<Vec<u8>> {
    Compiler::new().set_debug_level(0).compile(source).ok()
}

/// A script that consists only of the tokens of another one, on the same lines.
fn join_tokens(source: &str) -> String {
    let mut joined = String::new();
    let mut end = 0;
    for token in tokenize(source) {
        let (start, next) = (token.start as usize, token.end as usize);
        if start > end {
            joined.push(' ');
            joined.extend(source[end..start].matches('\n'));
        }
        joined.push_str(&source[start..next]);
        end = next;
    }
    joined
}

/// The byte ranges of the parser's tokens. None if it cannot read the text.
fn parser_ranges(source: &str) -> Option<Vec<(usize, usize)>> {
    let mut lexer = ParserLexer::new(source, LuaVersion::luau());
    let mut ranges = Vec::new();
    while let Some(next) = lexer.consume() {
        let LexerResult::Ok(token) = next else { return None };
        let token = token.token();
        ranges.push((token.start_position().bytes(), token.end_position().bytes()));
    }
    Some(ranges)
}

const TEXTS: [&str; 24] = [
    "", "a", "é", "--", "[[", "]]", "[=[", "]=]", "[", "]", "=", "(", ")", "\\n", "\\65", "\\\\",
    "\\u{41}", "\\x41", "\\\"", "\\'", "\\`", "\\{", "}", "\\\n",
];

fn content(more: &'static [&'static str]) -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = TEXTS.iter().chain(more).copied().collect();
    vec(select(pieces), 0..5).prop_map(|pieces| pieces.concat())
}

/// White space and comments. `\r` alone ends a comment, but not for the parser.
fn space() -> impl Strategy<Value = String> {
    let line = || content(&["'", "\"", "`", "{", "!"]).prop_map(|it| it.replace('\n', " "));
    prop_oneof![
        5 => Just(" ".to_owned()),
        2 => select(vec!["\n", "\t", "\r\n", "\n\n  "]).prop_map(ToOwned::to_owned),
        1 => line().prop_map(|it| format!("-- {it}\n")),
        1 => line().prop_map(|it| format!("--{it}\r\n")),
        1 => content(&["'", "\n", "\r\n"]).prop_map(|it| format!("--[==[{it}]==]")),
        1 => content(&["\"", "\n"]).prop_map(|it| format!("--[[{}]]", it.replace(']', ""))),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let numbers = ["1", "0x1F", "0b10", "1e5", "1E-5", "1_000.5", ".5", "3.", "0xF_F", "1e+1_0"];
    let leaf = prop_oneof![
        select(numbers.to_vec()).prop_map(ToOwned::to_owned),
        select(vec!["a", "nil", "true", "...", "_", "type", "a.b", "a :: any", "a :: A<B<C>>"])
            .prop_map(ToOwned::to_owned),
        content(&["`", "{", "\\z \n", "\""]).prop_map(|it| format!("'{it}'")),
        content(&["`", "{", "\\\r\n", "'"]).prop_map(|it| format!("\"{it}\"")),
        content(&["'", "\""]).prop_map(|it| format!("`{it}`")),
        content(&["`", "\n", "\r\n"]).prop_map(|it| format!("[==[{it}]==]")),
        content(&["{", "'"]).prop_map(|it| format!("[[{}]]", it.replace(']', ""))),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let operators =
            ["+", "-", "*", "/", "//", "%", "^", "..", "==", "~=", "<", "<=", ">", ">="];
        let operators = select([&operators[..], &["and", "or"]].concat());
        prop_oneof![
            (inner.clone(), space(), operators, space(), inner.clone())
                .prop_map(|(a, before, sign, behind, b)| format!("{a}{before}{sign}{behind}{b}")),
            (content(&["'"]), inner.clone(), space(), content(&["\""]))
                .prop_map(|(a, value, space, b)| format!("`{a}{{ {value}{space}}}{b}`")),
            (inner.clone(), space())
                .prop_map(|(it, space)| format!("{{{space}{it};[{it}] = {it}}}")),
            (inner.clone(), space()).prop_map(|(it, space)| format!("a[{space}{it}]")),
            (inner.clone(), space()).prop_map(|(it, space)| format!("f({space}{it})")),
            inner.clone().prop_map(|it| format!("not -(#{it})")),
            (inner.clone(), space()).prop_map(|(it, space)| format!(
                "function(...: A): (B) -> C?{space}return {it} end"
            )),
            inner.prop_map(|it| format!("if {it} then {it} else {it}")),
        ]
    })
}

fn script() -> impl Strategy<Value = String> {
    let targets = ["x =", "x +=", "x ..=", "x //=", "local x: {A}? =", "type A = B | C\nlocal x ="];
    let statement = (select(targets.to_vec()), space(), value(), space())
        .prop_map(|(target, before, value, behind)| format!("{target}{before}{value};{behind}"));
    vec(statement, 1..4).prop_map(|statements| statements.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The compiler must get the same program from the tokens alone.
    #[test]
    fn tokens_are_those_of_the_compiler(source in script(), is_old_mac in any::<bool>()) {
        let source = if is_old_mac { source.replace("\r\n", "\r") } else { source };
        if let Some(program) = compile(&source) {
            prop_assert_eq!(compile(&join_tokens(&source)), Some(program));
        }
    }

    #[test]
    fn tokens_are_those_of_the_parser(source in script()) {
        if compile_errors(&source).is_empty() && let Some(expected) = parser_ranges(&source) {
            let ranges: Vec<(usize, usize)> =
                tokenize(&source).iter().map(|it| (it.start as usize, it.end as usize)).collect();
            prop_assert_eq!(ranges, expected);
        }
    }
}

/// The properties above would hold if no generated script was accepted.
#[test]
fn most_generated_scripts_are_accepted() {
    let mut runner = TestRunner::deterministic();
    let scripts: Vec<String> =
        (0..500).map(|_| script().new_tree(&mut runner).unwrap().current()).collect();
    let compiled = scripts.iter().filter(|it| compile_errors(it).is_empty()).count();
    let read = scripts.iter().filter(|it| parser_ranges(it).is_some()).count();
    assert!(compiled > 250 && read > 250, "{compiled} compile, the parser reads {read}");
}
