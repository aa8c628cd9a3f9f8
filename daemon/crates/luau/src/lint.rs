//! Lints of scripts that compile: undefined names, unused values, members that Roblox does not
//! have.
//!
//! The lints are selene's, and those of `api_lints` about members of instances. selene's Roblox
//! library contains neither enums nor instances; enums are added from the reflection database.
//! Comments such as `-- selene: allow(unused_variable)` work as in selene.

use std::cell::OnceCell;
use std::panic::catch_unwind;

use globset::GlobSet;
use selene_lib::lints::Severity as Counts;
use selene_lib::standard_library::StandardLibrary;
use selene_lib::{Checker, CheckerDiagnostic};
use serde_json::{Map, Value as Json, json};

use super::api_lints::{ApiFinding, ApiLint, ApiLints};
use super::compile;
use super::finding::{
    FindingSeverity, FindingSource, LineIndex, LineSpan, SourceFinding, cap_findings,
};
use super::nesting::{self, MAX_NAMES, ParsePurpose, StackSize, UnfitReason};
use super::settings::{self, LintSettings};

/// Larger scripts, in bytes, are not linted for a card: selene reads about four megabytes a second.
const MAX_CARD_SIZE: usize = 200_000;

/// Larger scripts, in bytes, are not linted at all. No script in Studio is half as long.
const MAX_LINTED: usize = 500_000;

/// Style lints, which are disabled unless a project enables them.
const STYLE_LINTS: [&str; 9] = [
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

/// The globals that TestEZ defines in specs (its API reference, 0.4).
const TESTEZ_GLOBALS: [&str; 19] = [
    "FIXME",
    "FOCUS",
    "SKIP",
    "afterAll",
    "afterEach",
    "beforeAll",
    "beforeEach",
    "describe",
    "describeFOCUS",
    "describeSKIP",
    "expect",
    "fdescribe",
    "fit",
    "it",
    "itFIXME",
    "itFOCUS",
    "itSKIP",
    "xdescribe",
    "xit",
];

/// The lints with the settings of a project.
pub struct SourceLinter {
    checker: Option<Checker<Json>>,
    api_lints: ApiLints,
    excluded: Vec<GlobSet>,
}

impl std::fmt::Debug for SourceLinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linter").field("excluded", &self.excluded).finish_non_exhaustive()
    }
}

impl SourceLinter {
    /// The default lints for projects without settings: all except the style lints.
    pub fn default_lints() -> Self {
        let checker =
            roblox_library().and_then(|library| settings::default_checker(&STYLE_LINTS, library));
        Self { checker, api_lints: ApiLints::default(), excluded: Vec::new() }
    }

    /// The default lints for specs, with the globals of TestEZ.
    pub fn with_testez() -> Self {
        let library = roblox_library().and_then(|library| {
            let globals =
                TESTEZ_GLOBALS.iter().map(|name| ((*name).to_owned(), json!({ "any": true })));
            let mut library_globals = settings::globals_library(globals.collect())?;
            library_globals.extend(library);
            Some(library_globals)
        });
        let checker = library.and_then(|library| settings::default_checker(&STYLE_LINTS, library));
        Self { checker, api_lints: ApiLints::default(), excluded: Vec::new() }
    }

    /// The lints by a project's `selene.toml`, and the findings in that file.
    pub fn from_settings(settings: &LintSettings) -> (Self, Vec<SourceFinding>) {
        let read = settings::read_settings(settings);
        let linter =
            Self { checker: read.checker, api_lints: read.api_lints, excluded: read.excluded };
        (linter, read.findings)
    }

    /// Whether the settings exclude a file. `path` has `/` as separator.
    pub fn is_excluded(&self, path: &str) -> bool {
        self.excluded.iter().any(|glob| glob.is_match(path))
    }

    /// The lint findings of a script that compiles, in order. A note if it cannot be linted.
    pub fn lint_source(&self, source: &str, stack: StackSize) -> Vec<SourceFinding> {
        let not_linted = |at: LineSpan, why: String| {
            vec![SourceFinding {
                severity: FindingSeverity::Note,
                finder: FindingSource::Selene,
                code: "not_linted".to_owned(),
                message: format!("lints were not looked for: {why}"),
                notes: Vec::new(),
                at,
            }]
        };
        if source.len() > MAX_LINTED {
            return not_linted(LineSpan::START, format!("the script has {} bytes", source.len()));
        }
        let unknown = |start, end| {
            let at = LineIndex::from_text(source).span_from_bytes((start, end));
            not_linted(at, "their parser does not know this syntax yet".to_owned())
        };
        match nesting::check_nesting(source, ParsePurpose::Lint, stack) {
            Ok(()) => {}
            Err(UnfitReason::TooDeep) => {
                return not_linted(LineSpan::START, "the script is nested too deeply".to_owned());
            }
            Err(UnfitReason::TooManyNames) => {
                let why = format!("the script has more than {MAX_NAMES} names and operators");
                return not_linted(LineSpan::START, why);
            }
            Err(UnfitReason::UnknownSyntax(start, end)) => return unknown(start, end),
        }
        let parsed = full_moon::parse_fallible(source, full_moon::LuaVersion::luau());
        let ast = match parsed.into_result() {
            Ok(ast) => ast,
            Err(errors) => {
                let first = errors.first().map(full_moon::Error::range);
                return first.map_or_else(
                    || unknown(0, 0),
                    |(start, end)| unknown(start.bytes(), end.bytes()),
                );
            }
        };
        let Some(checker) = &self.checker else {
            return Vec::new();
        };
        let lines = LineIndex::from_text(source);
        let of_selene = checker.test_on(&ast).into_iter().filter_map(LintFinding::from_selene);
        let of_api = self.api_lints.find(&ast, source).into_iter().map(LintFinding::from_api);
        let mut counted: Vec<LintFinding> = of_selene.chain(of_api).collect();
        // Computing a column takes time proportional to its line, so cap the findings before
        // converting them.
        counted.sort_by_key(|it| it.range);
        let more = cap_findings(&mut counted, |it| it.severity);
        let found = counted.into_iter().map(|it| it.into_finding(&lines));
        let mut found: Vec<SourceFinding> = found.chain(more).collect();
        found.sort_by(|a, b| (a.at, &a.code, &a.message).cmp(&(b.at, &b.code, &b.message)));
        found
    }
}

/// A finding by bytes, before its line is known.
struct LintFinding {
    severity: FindingSeverity,
    finder: FindingSource,
    code: String,
    message: String,
    notes: Vec<String>,
    range: (usize, usize),
}

impl LintFinding {
    fn from_selene(found: CheckerDiagnostic) -> Option<Self> {
        let severity = match found.severity {
            Counts::Allow => return None,
            Counts::Warning => FindingSeverity::Warning,
            Counts::Error => FindingSeverity::Error,
        };
        let it = found.diagnostic;
        if ApiLint::is_unknown_to_selene(it.code, &it.message) {
            return None;
        }
        let (start, end) = it.primary_label.range;
        let label = it.primary_label.message.filter(|message| *message != it.message);
        Some(Self {
            severity,
            finder: FindingSource::Selene,
            code: it.code.to_owned(),
            message: it.message,
            notes: label.into_iter().chain(it.notes).collect(),
            range: (start as usize, end as usize),
        })
    }

    fn from_api(found: ApiFinding) -> Self {
        let ApiFinding { severity, lint, message, range } = found;
        let code = lint.name().to_owned();
        Self { severity, finder: FindingSource::Api, code, message, notes: Vec::new(), range }
    }

    fn into_finding(self, lines: &LineIndex<'_>) -> SourceFinding {
        let Self { severity, finder, code, message, notes, range } = self;
        SourceFinding { severity, finder, code, message, notes, at: lines.span_from_bytes(range) }
    }
}

thread_local! {
    /// Built for the first script: reading the library takes longer than linting a script.
    static DEFAULT_LINTER: OnceCell<SourceLinter> = const { OnceCell::new() };
}

/// The lint findings of a script for its card. Empty if the script does not compile, is very large,
/// or is nested so deeply that the recursive parser could overflow a usual stack.
pub fn lint_for_card(source: &str) -> Vec<SourceFinding> {
    if source.len() > MAX_CARD_SIZE || !compile::compile_errors(source).is_empty() {
        return Vec::new();
    }
    // A panic in a lint must not end the calling thread.
    let lint = || {
        DEFAULT_LINTER.with(|it| {
            it.get_or_init(SourceLinter::default_lints).lint_source(source, StackSize::Usual)
        })
    };
    let mut found = catch_unwind(lint).unwrap_or_default();
    found.retain(|it| it.severity > FindingSeverity::Note);
    found
}

/// The standard library of Roblox for selene.
pub fn roblox_library() -> Option<StandardLibrary> {
    let mut globals = Map::new();
    for instance in ["game", "plugin", "script", "workspace"] {
        globals.insert(instance.to_owned(), json!({ "any": true }));
    }
    // Corrections to selene's library: the message of `assert` and the third number of
    // `vector.create` are optional, and type functions have the library `types`.
    globals.insert("types".to_owned(), json!({ "any": true }));
    let may_be_left_out = |kind: &str| json!({ "type": kind, "required": false });
    let assert = json!({ "args": [{ "type": "any" }, may_be_left_out("any")] });
    globals.insert("assert".to_owned(), assert);
    let number = json!({ "type": "number" });
    let create = json!({ "args": [number, number, may_be_left_out("number")], "must_use": true });
    globals.insert("vector.create".to_owned(), create);
    // It lacks the datatype of script capabilities.
    let any_number = json!({ "type": "...", "required": false });
    for (constructor, args) in [("new", json!([any_number])), ("fromCurrent", json!([]))] {
        let field = json!({ "args": args, "must_use": true });
        globals.insert(format!("SecurityCapabilities.{constructor}"), field);
    }
    for (name, items) in &rbx_reflection_database::get_bundled().enums {
        for item in items.items.keys() {
            globals.insert(format!("Enum.{name}.{item}"), json!({ "struct": "EnumItem" }));
        }
        for (method, args) in [
            ("FromName", json!([{ "type": "string" }])),
            ("FromValue", json!([{ "type": "number" }])),
            ("GetEnumItems", json!([])),
        ] {
            let field = json!({ "args": args, "method": true });
            globals.insert(format!("Enum.{name}.{method}"), field);
        }
    }
    for LegacyName { enum_name, legacy, current } in legacy_names() {
        let deprecated = json!({
            "message": format!("Roblox has renamed {legacy} to {current} and still takes the old name"),
            "replace": [format!("Enum.{enum_name}.{current}")],
        });
        let field = json!({ "struct": "EnumItem", "deprecated": deprecated });
        globals.entry(format!("Enum.{enum_name}.{legacy}")).or_insert(field);
    }
    let mut library = settings::globals_library(globals)?;
    library.extend(StandardLibrary::roblox_base());
    Some(library)
}

/// A former name of an enum item that Roblox still accepts.
struct LegacyName<'a> {
    enum_name: &'a str,
    legacy: &'a str,
    current: &'a str,
}

fn legacy_names() -> impl Iterator<Item = LegacyName<'static>> {
    let lines = include_str!("legacy_enums.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut columns = line.split(' ');
        let (enum_name, legacy, current) = (columns.next()?, columns.next()?, columns.next()?);
        Some(LegacyName { enum_name, legacy, current })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[(u32, &str)]) {
        let found = lint_for_card(source);
        let codes: Vec<_> = found.iter().map(|it| (it.at.line, it.code.as_str())).collect();
        assert_eq!(codes, expected, "{found:?}");
    }

    #[test]
    fn suspicious_code_is_found() {
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
        check(
            "local all = Enum.SecurityCapability\nprint(SecurityCapabilities.new(all.Basic, all.UI))",
            &[],
        );
        check("local = 1", &[]);
    }

    #[test]
    fn legacy_enum_item_names_are_warnings() {
        let source = "local params = RaycastParams.new()\n\
                      params.FilterType = Enum.RaycastFilterType.Blacklist\nprint(params)\n";
        let found = lint_for_card(source);
        let said: Vec<_> = found.iter().map(|it| (it.severity, it.code.as_str())).collect();
        assert_eq!(said, [(FindingSeverity::Warning, "deprecated")], "{found:?}");
        let text = format!("{} {:?}", found[0].message, found[0].notes);
        assert!(text.contains("Exclude"), "{text}");
        check("print(Enum.RaycastFilterType.Cheese)", &[(1, "incorrect_standard_library_use")]);
    }

    #[test]
    fn every_legacy_name_maps_to_a_current_item() {
        let enums = &rbx_reflection_database::get_bundled().enums;
        assert_eq!(legacy_names().count(), 46);
        for LegacyName { enum_name, legacy, current } in legacy_names() {
            let items = &enums.get(enum_name).expect(enum_name).items;
            // The item that replaces `DisconnectNoResponse` is missing from the database.
            assert!(items.contains_key(current) || legacy == "DisconnectNoResponse", "{current}");
        }
    }

    #[test]
    fn valid_luau_apis_are_not_reported() {
        check("assert(game) assert(game, 'gone') print(vector.create(1, 2))", &[]);
        check(
            "print(Enum.Font:GetEnumItems(), Enum.Font:FromName('Arial'), Enum.Font:FromValue(1))",
            &[],
        );
        check("type function f() return types.string end\nlocal a: f<> = ''\nreturn a", &[]);
    }

    #[test]
    fn project_settings_and_script_comments_select_lints() {
        let (linter, said) = SourceLinter::from_settings(&settings::settings_from_text(
            "[lints]\nunused_variable = \"deny\"\nempty_if = \"allow\"",
        ));
        assert_eq!(said, []);
        let found = linter.lint_source("local a, b = 'é', 1\nif a then end\n", StackSize::Usual);
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["1:10: error: b is assigned a value, but never used (unused_variable)"]);
        let allowed = "-- selene: allow(unused_variable)\nlocal a = 1\nlocal b = 2\n";
        assert_eq!(linter.lint_source(allowed, StackSize::Usual).len(), 1);
    }

    #[test]
    fn unlinted_scripts_get_a_note() {
        let found = SourceLinter::default_lints()
            .lint_source("@[native, checked]\nlocal function a() end", StackSize::Usual);
        assert_eq!(found[0].severity, FindingSeverity::Note);
        assert_eq!(found[0].at.line, 1);
        let deep = format!("{}{}", "do ".repeat(10_000), "end ".repeat(10_000));
        let found = SourceLinter::default_lints().lint_source(&deep, StackSize::Large);
        assert!(found[0].message.contains("too deeply"), "{found:?}");
    }

    #[test]
    fn findings_are_capped_at_a_thousand_and_a_note() {
        let text = format!("{}print(1)\nreturn {{ a = 1, a = 2 }}", "print(x)".repeat(1_010));
        let found = SourceLinter::default_lints().lint_source(&text, StackSize::Large);
        assert_eq!(found.len(), 1_001);
        assert_eq!(found.iter().filter(|it| it.code == "more_findings").count(), 1, "and one note");
    }

    #[test]
    fn slow_scripts_are_not_linted() {
        let linter = SourceLinter::default_lints();
        for (text, said) in [
            ("do local a = 1 print(a) end\n".repeat(7_000), "names"),
            ("print('a' .. 'b')\n".repeat(11_000), "names"),
            (format!("return '{}'", "a".repeat(MAX_LINTED)), "bytes"),
        ] {
            let found = linter.lint_source(&text, StackSize::Large);
            assert_eq!((found.len(), found[0].code.as_str()), (1, "not_linted"));
            assert!(found[0].message.contains(said), "{found:?}");
        }
        let data = format!("return {{ {} }}", "1, 'a',\n".repeat(15_000));
        assert_eq!(linter.lint_source(&data, StackSize::Large), [], "data is quick");
    }

    #[test]
    fn deep_scripts_do_not_overflow_the_stack() {
        let deep = format!("return {}1{}", "(".repeat(100_000), ")".repeat(100_000));
        check(&deep, &[]);
        check(&format!("{}{}", "do ".repeat(10_000), "end ".repeat(10_000)), &[]);
        check(&format!("return 1{}", " .. 1".repeat(30_000)), &[]);
        check(&format!("return {}1", "not ".repeat(40_000)), &[]);
        check(&format!("return {}1", "if 1 then 1 else ".repeat(10_000)), &[]);
    }
}
