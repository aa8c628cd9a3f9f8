//! Reads a project's `selene.toml` tolerantly: reports what is wrong in it, and applies the rest.
//!
//! Keys, names and defaults are selene's (its book, "Configuration"), with two differences. A file
//! that names no standard library uses Roblox's, because every script here runs on Roblox. And the
//! library for `std = "roblox"`, which selene downloads from Roblox, is built from the reflection
//! database instead.

use std::collections::HashMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use selene_lib::standard_library::StandardLibrary;
use selene_lib::{Checker, CheckerConfig, CheckerErrorProblem, LintVariation, lint_exists};
use serde_json::{Map, Value as Json};

use super::api_lints::{ApiLint, ApiLints};
use super::finding::{FindingSeverity, FindingSource, LineIndex, LineSpan, SourceFinding};
use super::lint::roblox_library;

/// The text of a `selene.toml` and of the standard libraries next to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintSettings {
    pub text: String,
    /// The library files by name; see [`library_names`]. Missing files are left out.
    pub libraries: HashMap<String, String>,
}

/// Maximum number of reported faults, because the whole text is searched for each.
const MAX_FINDINGS: usize = 100;

/// Maximum number of brackets: at each new one, the YAML parser visits all open ones.
const MAX_BRACKETS: usize = 10_000;

const KNOWN_KEYS: [&str; 6] = ["config", "lints", "rules", "std", "exclude", "roblox-std-source"];

/// The standard libraries in a `selene.toml` that are files next to it, called `NAME.yml`.
pub fn library_names(text: &str) -> Vec<String> {
    let table = toml::from_str::<toml::Table>(text).unwrap_or_default();
    let names = table.get("std").and_then(toml::Value::as_str).unwrap_or_default();
    let named = names.split('+').map(str::trim);
    named.filter(|name| !name.is_empty() && !is_builtin_library(name)).map(str::to_owned).collect()
}

/// Whether a library needs no file.
fn is_builtin_library(name: &str) -> bool {
    matches!(name, "roblox" | "luau" | "lua51" | "lua52" | "lua53")
}

/// The readable part of a `selene.toml`, and what is wrong with it.
pub(super) struct LintConfig {
    pub(super) checker: Option<Checker<Json>>,
    pub(super) api_lints: ApiLints,
    pub(super) excluded: Vec<GlobSet>,
    pub(super) findings: Vec<SourceFinding>,
}

pub(super) fn read_settings(settings: &LintSettings) -> LintConfig {
    let mut reader = SettingsReader {
        lines: LineIndex::from_text(&settings.text),
        findings: Vec::new(),
        api_lints: ApiLints { is_off: true, ..ApiLints::default() },
    };
    let table = match toml::from_str::<toml::Table>(&settings.text) {
        Ok(table) => table,
        Err(error) => {
            let at = error
                .span()
                .map_or(LineSpan::START, |it| reader.lines.span_from_bytes((it.start, it.end)));
            let message = error.message().trim_end_matches('.').to_owned();
            reader.report(
                FindingSeverity::Error,
                at,
                format!("selene.toml is not TOML: {message}; it is ignored"),
            );
            toml::Table::new()
        }
    };
    for key in table.keys().filter(|key| !KNOWN_KEYS.contains(&key.as_str())) {
        let text = format!("selene.toml has the key `{key}`, which selene does not know");
        reader.report(FindingSeverity::Warning, reader.find_word(key), text);
    }
    let mut config =
        CheckerConfig::<Json> { lints: reader.read_lints(&table), ..CheckerConfig::default() };
    config.config = SettingsReader::read_lint_options(&table);
    let excluded = reader.read_excludes(&table);
    let std = table.get("std").and_then(toml::Value::as_str).unwrap_or("roblox");
    config.std = Some(std.to_owned());
    let library = reader.read_library(std, &settings.libraries);
    let checker = reader.build_checker(config, &library);
    LintConfig { checker, api_lints: reader.api_lints, excluded, findings: reader.findings }
}

struct SettingsReader<'a> {
    lines: LineIndex<'a>,
    findings: Vec<SourceFinding>,
    /// Off until Roblox's library is read.
    api_lints: ApiLints,
}

impl SettingsReader<'_> {
    fn report(&mut self, severity: FindingSeverity, at: LineSpan, message: String) {
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        let (finder, code) = (FindingSource::Settings, "settings".to_owned());
        self.findings.push(SourceFinding {
            severity,
            finder,
            code,
            message,
            notes: Vec::new(),
            at,
        });
    }

    /// The first line that contains a word, because the TOML parser does not report positions of
    /// keys.
    fn find_word(&self, word: &str) -> LineSpan {
        if self.findings.len() >= MAX_FINDINGS {
            return LineSpan::START;
        }
        let count = self.lines.line_count() as u32;
        let line = (1..=count).find(|line| self.lines.line_text(*line).contains(word));
        line.map_or(LineSpan::START, |line| self.lines.line_span(line))
    }

    fn read_lints(&mut self, table: &toml::Table) -> HashMap<String, LintVariation> {
        let mut lints = HashMap::new();
        for (name, value) in
            ["rules", "lints"].iter().filter_map(|it| table.get(*it)?.as_table()).flatten()
        {
            let variation = match value.as_str() {
                Some("allow") => LintVariation::Allow,
                Some("warn") => LintVariation::Warn,
                Some("deny") => LintVariation::Deny,
                _ => {
                    let text = format!(
                        "selene.toml says {value} for the lint `{name}`; write \"allow\", \"warn\" or \"deny\""
                    );
                    self.report(FindingSeverity::Warning, self.find_word(name), text);
                    continue;
                }
            };
            if let Some(lint) = ApiLint::from_name(name) {
                self.api_lints.variations.push((lint, variation));
                continue;
            }
            if !lint_exists(name) {
                let text = format!("selene.toml names the lint `{name}`, which does not exist");
                self.report(FindingSeverity::Warning, self.find_word(name), text);
                continue;
            }
            lints.insert(name.clone(), variation);
        }
        lints
    }

    /// The options of lints.
    fn read_lint_options(table: &toml::Table) -> HashMap<String, Json> {
        let given = table.get("config").and_then(toml::Value::as_table);
        let all = given.into_iter().flatten();
        all.filter_map(|(name, value)| Some((name.clone(), serde_json::to_value(value).ok()?)))
            .collect()
    }

    /// The patterns of excluded files.
    fn read_excludes(&mut self, table: &toml::Table) -> Vec<GlobSet> {
        let given = table.get("exclude").and_then(toml::Value::as_array);
        let mut globs = Vec::new();
        for value in given.into_iter().flatten() {
            if let Some(glob) = value.as_str().and_then(compile_glob) {
                globs.push(glob);
            } else {
                let text = format!("selene.toml excludes {value}, which is not a pattern");
                self.report(FindingSeverity::Warning, self.find_word("exclude"), text);
            }
        }
        globs
    }

    /// Reads the standard library, merged from its parts. Earlier parts take precedence.
    fn read_library(&mut self, names: &str, files: &HashMap<String, String>) -> StandardLibrary {
        let mut library: Option<StandardLibrary> = None;
        for name in names.split('+').map(str::trim).filter(|name| !name.is_empty()) {
            if let Some(mut part) = self.read_library_part(name, files) {
                if let Some(rest) = library.take() {
                    part.extend(rest);
                }
                library = Some(part);
            }
        }
        library.or_else(|| self.read_roblox_library()).unwrap_or_default()
    }

    fn read_roblox_library(&mut self) -> Option<StandardLibrary> {
        self.api_lints.is_off = false;
        roblox_library()
    }

    fn read_library_part(
        &mut self,
        name: &str,
        files: &HashMap<String, String>,
    ) -> Option<StandardLibrary> {
        if name == "roblox" {
            return self.read_roblox_library();
        }
        if is_builtin_library(name) {
            return StandardLibrary::from_name(name);
        }
        let at = self.find_word(name);
        let Some(text) = files.get(name) else {
            let text = format!(
                "the standard library `{name}` is not known: put {name}.yml beside selene.toml, or take \
                 it out of `std`. What it defines counts as undefined until then"
            );
            self.report(FindingSeverity::Warning, at, text);
            return None;
        };
        if memchr::memchr2_iter(b'[', b'{', text.as_bytes()).count() > MAX_BRACKETS {
            let text = format!(
                "{name}.yml has more than {MAX_BRACKETS} brackets; it is passed over until it has fewer"
            );
            self.report(FindingSeverity::Warning, at, text);
            return None;
        }
        match serde_yaml::from_str::<StandardLibrary>(text) {
            Ok(mut library) => {
                let base = library.base.clone().filter(|base| *base != name);
                match base.as_deref() {
                    Some("roblox") => library.extend(self.read_roblox_library()?),
                    Some(base) if is_builtin_library(base) => {
                        library.extend(StandardLibrary::from_name(base)?);
                    }
                    // An unknown base library adds nothing.
                    Some(_) | None => {}
                }
                Some(library)
            }
            Err(error) => {
                // The error message may quote the file, which need not belong to the project.
                let place = error.location().map_or_else(
                    || "its form is not right".to_owned(),
                    |it| format!("line {}, column {} does not fit", it.line(), it.column()),
                );
                let text = format!(
                    "{name}.yml is not a standard library: {place}. Write it as selene's documentation \
                     says; it is ignored until then"
                );
                self.report(FindingSeverity::Warning, at, text);
                None
            }
        }
    }

    /// Builds a checker. Reports and drops options that their lint does not accept.
    fn build_checker(
        &mut self,
        config: CheckerConfig<Json>,
        library: &StandardLibrary,
    ) -> Option<Checker<Json>> {
        let (lints, mut configs, std) = (config.lints, config.config, config.std);
        loop {
            let attempt = CheckerConfig {
                lints: lints.clone(),
                config: configs.clone(),
                std: std.clone(),
                ..CheckerConfig::default()
            };
            let error = match Checker::new(attempt, library.clone()) {
                Ok(checker) => return Some(checker),
                Err(error) => error,
            };
            let why = match &error.problem {
                CheckerErrorProblem::ConfigDeserializeError(why)
                | CheckerErrorProblem::LintNewError(why) => why.to_string(),
            };
            let name = error.name;
            let text = format!("selene.toml configures `{name}` wrongly: {why}; it is passed over");
            self.report(FindingSeverity::Warning, self.find_word(name), text);
            configs.remove(name)?;
        }
    }
}

/// The default checker, without the lints in `passed_over`.
pub(super) fn default_checker(
    passed_over: &[&str],
    library: StandardLibrary,
) -> Option<Checker<Json>> {
    let allowed = |code: &&str| ((*code).to_owned(), LintVariation::Allow);
    let lints = passed_over.iter().map(allowed).collect();
    let config = CheckerConfig { lints, ..CheckerConfig::default() };
    Checker::new(config, library).ok()
}

/// Compiles a path pattern as selene does. A pattern that matches a folder also matches everything
/// in it.
fn compile_glob(pattern: &str) -> Option<GlobSet> {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let compile = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
    let mut globs = GlobSetBuilder::new();
    globs.add(compile(pattern).ok()?).add(compile(&format!("{pattern}/**")).ok()?);
    globs.build().ok()
}

/// Settings with this text and no libraries.
#[cfg(test)]
pub(super) fn settings_from_text(text: &str) -> LintSettings {
    LintSettings { text: text.to_owned(), libraries: HashMap::new() }
}

/// A library that consists only of globals.
pub(super) fn globals_library(globals: Map<String, Json>) -> Option<StandardLibrary> {
    serde_json::from_value(serde_json::json!({ "globals": globals })).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let read = read_settings(&settings_from_text(text));
        assert!(read.checker.is_some());
        let said: Vec<String> =
            read.findings.iter().map(|it| format!("{}: {}", it.at.line, it.message)).collect();
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn invalid_settings_are_reported_and_the_rest_applies() {
        check("std = \"roblox\"\n[lints]\nunused_variable = \"deny\"\n", &[]);
        check("std = \"roblox\"\nfoo = 1\n", &["2: selene.toml has the key `foo`"]);
        check("std = \"roblox", &["1: selene.toml is not TOML"]);
        check("\nstd = \"roblox+testez\"", &["2: the standard library `testez` is not known"]);
        check("[lints]\nnope = \"deny\"", &["2: selene.toml names the lint `nope`"]);
        check("[rules]\nshadowing = 7", &["2: selene.toml says 7 for the lint `shadowing`"]);
        check(
            "[config]\nunused_variable = { ignore_pattern = \"(\" }",
            &["2: selene.toml configures `unused_variable` wrongly"],
        );
        check("[config]\nshadowing = 3", &["2: selene.toml configures `shadowing` wrongly"]);
        check("exclude = [\"{\", 3]", &["excludes \"{\"", "excludes 3"]);
    }

    #[test]
    fn standard_libraries_beside_selene_toml_are_read() {
        let text = "std = \"roblox+testez\"";
        assert_eq!(library_names(text), ["testez"]);
        assert!(library_names("std = [").is_empty());
        let yml = "---\nglobals:\n  describe:\n    args: []\n";
        let with = |yml: &str| LintSettings {
            text: text.to_owned(),
            libraries: HashMap::from([("testez".to_owned(), yml.to_owned())]),
        };
        assert!(read_settings(&with(yml)).findings.is_empty());
        let said = read_settings(&with("- 1")).findings;
        assert!(said[0].message.starts_with("testez.yml is not a standard library"), "{said:?}");
        let said = read_settings(&with("globals:\n  a: secret\n")).findings;
        assert!(said[0].message.contains("line 2, column"), "{said:?}");
        assert!(!said[0].message.contains("secret"), "a file's text is not told");
    }

    #[test]
    fn hostile_settings_and_libraries_are_bounded() {
        let keys: Vec<String> = (0..20_000).map(|at| format!("k{at}=1")).collect();
        assert_eq!(
            read_settings(&settings_from_text(&keys.join("\n"))).findings.len(),
            MAX_FINDINGS
        );
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for at in 1..12 {
            let before = vec![format!("*a{}", at - 1); 10].join(",");
            bomb.push_str(&format!("a{at}: &a{at} [{before}]\n"));
        }
        let deep = |n: usize| format!("globals: {}", "[".repeat(n));
        for yml in [
            bomb,
            deep(MAX_BRACKETS),
            deep(200_000),
            "&a [*a]".to_owned(),
            "globals: &a\n  b: *a\n".to_owned(),
        ] {
            let libraries = HashMap::from([("b".to_owned(), yml)]);
            let settings = LintSettings { text: "std = \"b\"".to_owned(), libraries };
            assert!(read_settings(&settings).findings[0].message.starts_with("b.yml"));
        }
    }

    #[test]
    fn glob_patterns_match_paths() {
        let fits = |pattern: &str, path: &str| compile_glob(pattern).unwrap().is_match(path);
        assert!(fits("Packages/*", "Packages/a.lua"));
        assert!(fits("Packages/*", "Packages/a/b.lua"), "below a folder that fits");
        assert!(fits("**/*.spec.lua", "a/b/c.spec.lua") && fits("**/*.spec.lua", "c.spec.lua"));
        assert!(!fits("*.lua", "a/b.lua"));
        assert!(fits("{a,b}/?.lua", "b/c.lua") && !fits("{a,b}/?.lua", "c/c.lua"));
        assert!(fits("./src/", "src/x.luau"));
        assert!(fits("[ab].lua", "b.lua") && !fits("[ab].lua", "c.lua"));
    }
}
