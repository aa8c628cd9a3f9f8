//! Checks all scripts of a place on all cores, with findings in a stable order.
//!
//! This module does not know where the scripts come from: it receives texts, each with the path of
//! its instance and its file, if it has one. It writes nothing but the input of the type checker,
//! in a temporary folder.

pub mod types;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use scene_schemas::InstancePath;
use vector_luau::{
    FindingSeverity, FindingSource, LineSpan, LintSettings, SourceFinding, SourceLinter, StackSize,
    inspect_source, syntax_findings,
};
use vector_place::{Node, Scene};

/// Stack size of the threads that parse: parsers recurse.
const STACK_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedScript {
    pub path: InstancePath,
    pub class: String,
    /// The script's own file, relative to the project's folder and with `/`. None if it has none.
    pub file: Option<String>,
    /// None if the text is not UTF-8.
    pub text: Option<String>,
}

impl CheckedScript {
    /// The path that a project's patterns are matched against: the script's file, or the instance
    /// path with each instance as a folder.
    pub fn match_path(&self) -> String {
        self.file.clone().unwrap_or_else(|| {
            let names: Vec<&str> = self.path.segments.iter().map(|it| it.name.as_str()).collect();
            names.join("/")
        })
    }
}

/// The scripts below some instances, in the order of the tree and without duplicates, each with its
/// own file.
pub fn collect_scripts(
    scene: &Scene,
    roots: &[Node],
    file: impl Fn(Node) -> Option<String>,
) -> Vec<CheckedScript> {
    let mut seen = std::collections::HashSet::new();
    let below = roots.iter().flat_map(|root| scene.subtree(*root));
    let all = below.filter(|node| scene.is_script(*node) && seen.insert(*node));
    all.map(|node| CheckedScript {
        path: scene.path(node),
        class: scene.class(node).to_owned(),
        file: file(node),
        text: scene.script_text(node).map(std::borrow::Cow::into_owned),
    })
    .collect()
}

/// The linters of a place's scripts.
#[derive(Debug)]
pub struct ScriptLinters {
    default_linter: SourceLinter,
    /// The linter of specs, if it differs.
    spec_linter: Option<SourceLinter>,
}

impl ScriptLinters {
    /// The linters for a project's settings, and the errors in those settings. Without settings,
    /// specs know the globals of TestEZ. With settings, the project defines the known globals.
    pub fn from_settings(settings: Option<&LintSettings>) -> (Self, Vec<SourceFinding>) {
        match settings {
            None => (
                Self {
                    default_linter: SourceLinter::default_lints(),
                    spec_linter: Some(SourceLinter::with_testez()),
                },
                Vec::new(),
            ),
            Some(settings) => {
                let (all, findings) = SourceLinter::from_settings(settings);
                (Self { default_linter: all, spec_linter: None }, findings)
            }
        }
    }

    fn for_script(&self, script: &CheckedScript) -> &SourceLinter {
        let is_spec = script.path.name().strip_suffix(".spec").is_some();
        self.spec_linter.as_ref().filter(|_| is_spec).unwrap_or(&self.default_linter)
    }
}

/// Checks each script and returns the findings in the order of the scripts. Cancelling takes effect
/// between two scripts. The remaining scripts are reported as not checked.
pub fn check_scripts(
    scripts: &[CheckedScript],
    linters: &ScriptLinters,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Vec<Vec<SourceFinding>> {
    on_threads(scripts, linters, STACK_BYTES, is_cancelled)
}

fn on_threads(
    scripts: &[CheckedScript],
    linters: &ScriptLinters,
    stack: usize,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Vec<Vec<SourceFinding>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; scripts.len()]);
    let work = |stack: StackSize| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(script) = scripts.get(at).filter(|_| !is_cancelled()) else {
                return;
            };
            let found = check_script(script, linters.for_script(script), stack);
            let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            results[at] = Some(found);
        }
    };
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores.min(scripts.len()) {
            let thread = thread::Builder::new().stack_size(stack);
            // If no more threads can be started, the existing ones do the work.
            if thread.spawn_scoped(scope, || work(StackSize::Large)).is_err() {
                break;
            }
        }
    });
    // Checks the scripts that are left if no thread could be started.
    work(StackSize::Usual);
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let message = "the script was not checked; check again";
    let lost = || vec![finding_without_line(FindingSeverity::Error, "not_checked", message)];
    results.into_iter().map(|found| found.unwrap_or_else(lost)).collect()
}

/// Adds the findings of a type checker, if one is installed.
///
/// # Errors
/// A sentence that says why types were not checked.
pub fn add_types(
    scripts: &[CheckedScript],
    found: &mut [Vec<SourceFinding>],
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), String> {
    let typed = types::TypeChecker::find_installed()?.check_scripts(scripts, is_cancelled)?;
    for (found, typed) in found.iter_mut().zip(typed) {
        found.extend(typed);
        found.sort_by_key(|it| it.at);
    }
    Ok(())
}

fn finding_without_line(severity: FindingSeverity, code: &str, message: &str) -> SourceFinding {
    SourceFinding {
        severity,
        finder: FindingSource::Compiler,
        code: code.to_owned(),
        message: message.to_owned(),
        notes: Vec::new(),
        at: LineSpan::START,
    }
}

fn check_script(
    script: &CheckedScript,
    linter: &SourceLinter,
    stack: StackSize,
) -> Vec<SourceFinding> {
    let Some(text) = &script.text else {
        let message = "the text is not UTF-8; save the script as UTF-8";
        return vec![finding_without_line(FindingSeverity::Error, "not_utf8", message)];
    };
    if linter.is_excluded(&script.match_path()) {
        return Vec::new();
    }
    // Lints are third-party code. One that panics must not affect the other scripts.
    let found = catch_unwind(AssertUnwindSafe(|| inspect_source(text, linter, stack)));
    found.unwrap_or_else(|_| {
        let message = "a lint failed on this script; no lint was looked for in it";
        let mut found = syntax_findings(text);
        found.push(finding_without_line(FindingSeverity::Note, "not_linted", message));
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(path: &str, text: &str) -> CheckedScript {
        let (path, class) = (path.parse().unwrap(), "ModuleScript".to_owned());
        CheckedScript { path, class, file: None, text: Some(text.to_owned()) }
    }

    #[test]
    fn findings_are_returned_in_script_order() {
        let mut scripts: Vec<CheckedScript> = (0..200)
            .map(|at| script(&format!("game.A{at}"), if at % 2 == 0 { "print(x)" } else { "" }))
            .collect();
        scripts[1].text = None;
        scripts[3].text = Some("local =".to_owned());
        let found = check_scripts(&scripts, &ScriptLinters::from_settings(None).0, &|| false);
        assert_eq!(
            found,
            check_scripts(&scripts, &ScriptLinters::from_settings(None).0, &|| false)
        );
        assert_eq!(found[0][0].code, "undefined_variable");
        assert_eq!(found[1][0].code, "not_utf8");
        assert_eq!(found[3][0].code, "syntax");
        assert!(found.iter().skip(4).step_by(2).all(|it| it.len() == 1));
        assert!(found.iter().skip(5).step_by(2).all(Vec::is_empty));
    }

    #[test]
    fn scripts_are_checked_without_any_threads() {
        let texts = ["print(x)", "local =", "", &"do ".repeat(500)];
        let scripts = texts.map(|text| script("game.A", text));
        let found = on_threads(&scripts, &ScriptLinters::from_settings(None).0, 1 << 60, &|| false);
        let codes: Vec<Vec<&str>> =
            found.iter().map(|it| it.iter().map(|it| it.code.as_str()).collect()).collect();
        assert_eq!(codes, [vec!["undefined_variable"], vec!["syntax"], vec![], vec!["syntax"]]);
    }

    #[test]
    fn specs_may_use_test_runner_globals() {
        let text = "return function() it('a', function() expect(1).to.be.ok() end) end";
        let found = check_scripts(
            &[script("game.A", text)],
            &ScriptLinters::from_settings(None).0,
            &|| false,
        );
        assert_eq!(found[0].len(), 2, "{found:?}");
        let found = check_scripts(
            &[script("game[\"A.spec\"]", text)],
            &ScriptLinters::from_settings(None).0,
            &|| false,
        );
        assert!(found[0].is_empty(), "{found:?}");
    }

    #[test]
    fn deeply_nested_source_does_not_overflow_the_stack() {
        let blocks = |n: usize| format!("{}{}", "do ".repeat(n), "end ".repeat(n));
        let texts = [
            blocks(190),
            blocks(100_000),
            format!("return {}1{}", "(".repeat(700), ")".repeat(700)),
            format!("return 1{}", " + 1".repeat(1_500)),
            format!("return 1{}", " + 1".repeat(200_000)),
            format!("return {}{}", "{".repeat(150), "}".repeat(150)),
            format!("return {}1", "not ".repeat(900)),
            format!("return {}", "function() return ".repeat(150) + &"end ".repeat(150)),
            format!("local a: {}number{} = 1 return a", "{".repeat(300), "}".repeat(300)),
            format!("return f{}", "()".repeat(30_000)),
            format!("return f{}", ".a".repeat(30_000)),
        ];
        let scripts: Vec<CheckedScript> = texts.iter().map(|text| script("game.A", text)).collect();
        assert_eq!(
            check_scripts(&scripts, &ScriptLinters::from_settings(None).0, &|| false).len(),
            scripts.len()
        );
    }

    #[test]
    fn cancelled_check_ends_between_two_scripts() {
        let scripts: Vec<CheckedScript> =
            (0..100).map(|at| script(&format!("game.A{at}"), "print(x)")).collect();
        let asked = AtomicUsize::new(0);
        let is_cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
        let found = check_scripts(&scripts, &ScriptLinters::from_settings(None).0, &is_cancelled);
        let is_checked = |it: &&Vec<SourceFinding>| it[0].code == "undefined_variable";
        assert_eq!(found.iter().filter(is_checked).count(), 3);
        assert_eq!(found.iter().filter(|it| it[0].code == "not_checked").count(), 97);
    }

    #[test]
    fn excluded_files_have_no_findings() {
        let text = "exclude = [\"Packages/*\"]".to_owned();
        let settings = vector_luau::LintSettings { text, ..Default::default() };
        let (linters, _) = ScriptLinters::from_settings(Some(&settings));
        let scripts = [
            script("game.Packages.A", "print(x)"),
            script("game.B", "print(x)"),
            CheckedScript {
                file: Some("Packages/c.luau".to_owned()),
                ..script("game.C", "print(x)")
            },
        ];
        let found: Vec<usize> =
            check_scripts(&scripts, &linters, &|| false).iter().map(Vec::len).collect();
        assert_eq!(found, [0, 1, 0]);
    }
}
