//! What is suspicious in a script that compiles: names that nobody defines, values that nobody uses,
//! members that Roblox does not have.
//!
//! The lints are selene's. What it ships of Roblox knows neither enums nor instances: enums come from
//! the reflection database, and what is asked of an instance is not looked at.

use std::cell::OnceCell;

use selene_lib::lints::Severity;
use selene_lib::standard_library::StandardLibrary;
use selene_lib::{Checker, CheckerConfig};
use serde_json::{Map, Value as Json, json};

use super::nesting::is_deep;
use super::tokens::tokens;

/// Scripts above this many bytes are not looked at: selene reads some four megabytes a second.
const MAX_SIZE: usize = 200_000;

/// Lints about style, which is not for a warning.
const PASSED_OVER: [&str; 9] = [
    "high_cyclomatic_complexity",
    "manual_table_clone",
    "mixed_table",
    "multiple_statements",
    "must_use",
    "parenthese_conditions",
    "roblox_manual_fromscale_or_fromoffset",
    "shadowing",
    "unused_variable",
];

/// Something suspicious.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The line, from 1.
    pub line: usize,
    /// selene's name of it, such as `undefined_variable`.
    pub code: String,
    /// What it is, in selene's words.
    pub message: String,
}

thread_local! {
    /// Made when the first script is looked at: reading the library takes longer than a script.
    static CHECKER: OnceCell<Option<Checker<Json>>> = const { OnceCell::new() };
}

/// What is suspicious in a script, in order; nothing where it does not parse, is very large, or is
/// nested so deeply that the parser, which recurses, could leave the stack.
pub fn lint(source: &str) -> Vec<Lint> {
    if source.len() > MAX_SIZE || is_deep(&tokens(source)) {
        return Vec::new();
    }
    let parsed = full_moon::parse_fallible(source, full_moon::LuaVersion::luau());
    let Ok(ast) = parsed.into_result() else {
        return Vec::new();
    };
    CHECKER.with(|checker| {
        let Some(checker) = checker.get_or_init(|| Checker::new(config(), roblox()?).ok()) else {
            return Vec::new();
        };
        let found = checker.test_on(&ast).into_iter();
        let shown = found.filter(|it| it.severity != Severity::Allow);
        let mut lints: Vec<Lint> = shown
            .map(|it| Lint {
                line: line_of(source, it.diagnostic.primary_label.range.0),
                code: it.diagnostic.code.to_owned(),
                message: it.diagnostic.message,
            })
            .collect();
        lints.sort_by_key(|lint| lint.line);
        lints
    })
}

fn line_of(source: &str, at: u32) -> usize {
    source.bytes().take(at as usize).filter(|byte| *byte == b'\n').count() + 1
}

fn config() -> CheckerConfig<Json> {
    let passed_over: Map<String, Json> =
        PASSED_OVER.iter().map(|code| ((*code).to_owned(), json!("allow"))).collect();
    serde_json::from_value(json!({ "lints": passed_over })).unwrap_or_default()
}

/// What a script finds in Roblox.
pub fn roblox() -> Option<StandardLibrary> {
    let mut globals = Map::new();
    for instance in ["game", "plugin", "script", "workspace"] {
        globals.insert(instance.to_owned(), json!({ "any": true }));
    }
    for (name, items) in &rbx_reflection_database::get_bundled().enums {
        for item in items.items.keys() {
            globals.insert(format!("Enum.{name}.{item}"), json!({ "struct": "EnumItem" }));
        }
        for method in ["FromName", "FromValue", "GetEnumItems"] {
            let field = json!({ "args": [{ "type": "..." }], "method": true });
            globals.insert(format!("Enum.{name}.{method}"), field);
        }
    }
    let mut library: StandardLibrary =
        serde_json::from_value(json!({ "globals": globals })).ok()?;
    library.extend(StandardLibrary::roblox_base());
    Some(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[(usize, &str)]) {
        let found = lint(source);
        let codes: Vec<_> = found.iter().map(|it| (it.line, it.code.as_str())).collect();
        assert_eq!(codes, expected, "{found:?}");
    }

    #[test]
    fn finds_what_is_suspicious() {
        check("local a = 1\r\nprint(a, b)\r\n", &[(2, "undefined_variable")]);
        check(
            "print(Enum.Material.Neon, Enum.Material.Cheese)",
            &[(1, "incorrect_standard_library_use")],
        );
        check("local a = 1\nif a == 1 then\nend\n", &[(2, "empty_if")]);
        check(
            "print(Vector3.new(1, 2, 3), task.wait(1), workspace.A.B, game:GetService('Players'))",
            &[],
        );
        check("local = 1", &[]);
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        check(&deep, &[]);
        check(&format!("{}{}", "do ".repeat(10_000), "end ".repeat(10_000)), &[]);
        check(&format!("return 1{}", " .. 1".repeat(30_000)), &[]);
        check(&format!("return {}1", "not ".repeat(40_000)), &[]);
        check(&format!("return {}1", "if 1 then 1 else ".repeat(10_000)), &[]);
    }
}
