//! The plugin's Luau compiles, is formatted as StyLua formats it, and passes selene.
//!
//! All three are libraries here, so no tools need to be installed; `UPDATE=1` formats the files.
//! The behavior of the code is tested elsewhere.

use std::thread;

use selene_lib::lints::Severity;
use selene_lib::{Checker, CheckerConfig};
use serde_json::Value as Json;
use stylua_lib::{Config, OutputVerification};
use vector_tests::{printed, repository};

/// The parser is recursive, and its frames are large without optimisation.
const STACK: usize = 64 << 20;

fn on_a_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// Every Luau file of the project with its text.
fn files() -> Vec<(String, String)> {
    let mut files = repository::files("plugin", "luau");
    files.extend(repository::files("daemon", "luau"));
    assert!(files.len() > 1, "the plugin has files");
    let read = |path: String| {
        let text = repository::read(&path);
        (path, text)
    };
    files.into_iter().map(read).collect()
}

#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn luau_compiles() {
    let mut problems = Vec::new();
    for (path, text) in files() {
        let found = vector_luau::compile_errors(&text);
        problems.extend(found.into_iter().map(|it| format!("{path}: {it}")));
    }
    report(&problems);
}

#[test]
fn luau_is_formatted() {
    let config: Config = toml::from_str(&repository::read(".stylua.toml")).unwrap();
    let mut problems = Vec::new();
    for (path, text) in files() {
        let formatted = on_a_large_stack(|| {
            stylua_lib::format_code(&text, config, None, OutputVerification::None)
        });
        match formatted {
            Ok(formatted) if printed::updating() => {
                std::fs::write(repository::root().join(&path), formatted).unwrap();
            }
            Ok(formatted) => problems.extend(difference(&path, &text, &formatted)),
            Err(error) => problems.push(format!("{path}: {error}")),
        }
    }
    report(&problems);
}

/// The first line that StyLua would format differently.
fn difference(path: &str, text: &str, formatted: &str) -> Option<String> {
    let at = text
        .split('\n')
        .zip(formatted.split('\n'))
        .position(|(is, ought)| is != ought)
        .or_else(|| (text != formatted).then(|| text.lines().count()))?;
    let ought = formatted.split('\n').nth(at).unwrap_or_default();
    Some(format!("{path}:{}: StyLua writes `{ought}`", at + 1))
}

#[test]
fn luau_passes_the_lints() {
    let problems = on_a_large_stack(|| {
        let checker = checker();
        let lint = |(path, text): (String, String)| lint(&checker, &path, &text);
        files().into_iter().flat_map(lint).collect::<Vec<_>>()
    });
    report(&problems);
}

#[test]
fn lints_find_known_problems() {
    let text = "local a = 1\nprint(b)\nprint(Enum.Material.Neon, Enum.Material.Cheese)\n";
    let problems = on_a_large_stack(|| lint(&checker(), "a.luau", text));
    let found: Vec<_> =
        problems.iter().map(|it| it.split(": ").take(2).collect::<Vec<_>>()).collect();
    let expected = [
        ["a.luau:3", "incorrect_standard_library_use"],
        ["a.luau:2", "undefined_variable"],
        ["a.luau:1", "unused_variable"],
    ];
    assert_eq!(found, expected, "{problems:?}");
}

/// Uses the repository's `selene.toml`, as the `selene` tool does, and Vector's Roblox library.
fn checker() -> Checker<toml::Value> {
    let config: CheckerConfig<toml::Value> =
        toml::from_str(&repository::read("selene.toml")).unwrap();
    Checker::new(config, vector_luau::roblox_library().unwrap()).unwrap()
}

fn lint(checker: &Checker<toml::Value>, path: &str, text: &str) -> Vec<String> {
    let version = full_moon::LuaVersion::luau();
    let ast = match full_moon::parse_fallible(text, version).into_result() {
        Ok(ast) => ast,
        Err(errors) => return errors.iter().map(|it| format!("{path}: {it}")).collect(),
    };
    let found = checker.test_on(&ast).into_iter();
    found
        .filter(|it| it.severity != Severity::Allow)
        .map(|it| {
            let start = it.diagnostic.primary_label.range.0 as usize;
            let line = text[..start].matches('\n').count() + 1;
            format!("{path}:{line}: {}: {}", it.diagnostic.code, it.diagnostic.message)
        })
        .collect()
}

#[test]
fn rojo_finds_the_plugin() {
    let project: Json = serde_json::from_str(&repository::read("rojo.json")).unwrap();
    assert_eq!(project["name"], "Vector");
    let path = project["tree"]["$path"].as_str().unwrap();
    assert!(repository::root().join(path).join("Schema.luau").is_file(), "{path}");
}
