//! The script that runs specs in Roblox's own engine, and what it returns.
//!
//! The script has the libraries of the runtime's specs, so that both understand the same forms. Where
//! it runs, and in which version of a place, is decided elsewhere.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value as Json, json};
use vector_core::specs::{CaseFailure, CaseOutcome, SpecCase, SpecResult};
use vector_place::{Node, Scene};

use super::group_specs;

/// What the script consists of: the libraries that the runtime's specs use too, and its own part.
const LIBRARIES: [&str; 2] =
    [include_str!("../luau/specs/expect.luau"), include_str!("../luau/specs/plan.luau")];
const RUNNER: &str = include_str!("../luau/specs/cloud.luau");

/// The form of the results that the script returns.
const FORMAT: u64 = 1;
/// The longest time that a case may take, in seconds.
const CASE_SECONDS: u32 = 30;

/// What is to be run in Roblox's engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudSpecs {
    /// The ModuleScripts of the specs.
    pub specs: Vec<Node>,
    /// ModuleScripts that only have to be required without an error.
    pub modules: Vec<Node>,
    /// The time limit of everything together, in seconds.
    pub seconds: u32,
}

/// A script for a task of Luau execution.
#[derive(Debug, Clone)]
pub struct CloudScript {
    text: String,
    /// The paths of the specs, then those of the modules.
    paths: Vec<String>,
    /// The number of specs.
    specs: usize,
    /// The paths of scripts, by the names that the engine has for them.
    names: HashMap<String, String>,
}

/// What the script returned.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudResults {
    /// The version of the place that it ran in.
    pub place_version: u64,
    /// The results of the specs, then those of the modules, in the order of the request.
    pub results: Vec<SpecResult>,
    /// How long everything took.
    pub duration: Duration,
}

impl CloudScript {
    /// Writes the script for specs of a scene.
    pub fn new(scene: &Scene, request: &CloudSpecs) -> Self {
        let steps = |nodes: &[Node]| nodes.iter().map(|it| path_steps(scene, *it)).collect();
        let (specs, modules): (Vec<Json>, Vec<Json>) =
            (steps(&request.specs), steps(&request.modules));
        let number = |node: &Node| request.specs.iter().position(|it| it == node).map(|it| it + 1);
        let groups = group_specs(scene, &request.specs).into_iter();
        let jest: Vec<Json> = groups
            .filter_map(|group| {
                let project = group.jest?;
                let numbers: Vec<usize> = group.specs.iter().filter_map(number).collect();
                let module = project.module.map(|it| path_steps(scene, it));
                let root = path_steps(scene, project.root);
                Some(json!({ "root": root, "module": module, "specs": numbers }))
            })
            .collect();
        let arguments = json!({
            "specs": specs, "modules": modules, "jest": jest,
            "seconds": request.seconds, "caseSeconds": CASE_SECONDS,
        });
        let mut text = "local libraries = {\n".to_owned();
        for library in LIBRARIES {
            let _ = writeln!(text, "function(...)\n{library}\nend,");
        }
        let _ = write!(text, "}}\nreturn (function(...)\n{RUNNER}\nend)(libraries, ");
        write_literal(&mut text, &arguments);
        text.push_str(")\n");
        let scripts = scene.descendants(scene.root()).filter(|it| scene.is_script(*it));
        Self {
            text,
            paths: request
                .specs
                .iter()
                .chain(&request.modules)
                .map(|it| scene.path(*it).to_string())
                .collect(),
            specs: request.specs.len(),
            names: scripts.map(|it| (full_name(scene, it), scene.path(it).to_string())).collect(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reads what the script returned. A spec without a result has failed.
    ///
    /// # Errors
    /// Fails with a reason if it is not what this script returns.
    pub fn read_results(&self, returned: &[Json]) -> Result<CloudResults, String> {
        let [returned] = returned else {
            return Err(match returned.len() {
                0 => "it returned nothing".to_owned(),
                count => format!("it returned {count} values instead of one"),
            });
        };
        if returned["format"].as_u64() != Some(FORMAT) {
            return Err("what it returned is not the results of specs".to_owned());
        }
        let Some(place_version) = returned["placeVersion"].as_u64() else {
            return Err("it does not say in which version it ran".to_owned());
        };
        let result = |(at, path): (usize, &String)| {
            let row = match at.checked_sub(self.specs) {
                None => &returned["specs"][at],
                Some(at) => &returned["modules"][at],
            };
            self.read_result(path, row)
        };
        Ok(CloudResults {
            place_version,
            results: self.paths.iter().enumerate().map(result).collect(),
            duration: read_seconds(&returned["seconds"]).unwrap_or_default(),
        })
    }

    fn read_result(&self, path: &str, row: &Json) -> SpecResult {
        let missing = || CaseFailure { at: None, message: "it gave no result".to_owned() };
        let failure =
            if row.is_object() { self.read_failure(&row["failure"]) } else { Some(missing()) };
        let cases = row["cases"].as_array().into_iter().flatten();
        let case = |row: &Json| {
            let outcome = match row["outcome"].as_str() {
                Some("passed") => CaseOutcome::Passed,
                Some("skipped") => CaseOutcome::Skipped,
                _ => CaseOutcome::Failed,
            };
            let name = row["name"].as_str().unwrap_or_default().to_owned();
            let failure = match outcome {
                CaseOutcome::Failed => {
                    self.read_failure(&row["failure"]).or_else(|| Some(missing()))
                }
                CaseOutcome::Passed | CaseOutcome::Skipped | CaseOutcome::Unknown => None,
            };
            let duration = read_seconds(&row["seconds"]);
            SpecCase { duration, ..SpecCase::without_output(name, outcome, failure) }
        };
        SpecResult { path: path.to_owned(), cases: cases.map(case).collect(), failure }
    }

    fn read_failure(&self, row: &Json) -> Option<CaseFailure> {
        let message = row["message"].as_str()?.to_owned();
        let line = row["line"].as_f64().filter(|it| (1.0..=f64::from(u32::MAX)).contains(it));
        let script = row["script"].as_str();
        let path = script.map(|it| self.names.get(it).cloned().unwrap_or_else(|| it.to_owned()));
        Some(CaseFailure { at: path.zip(line.map(|it| it as u32)), message })
    }
}

fn read_seconds(value: &Json) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

/// The name of a script in messages of the engine.
fn full_name(scene: &Scene, node: Node) -> String {
    let above = std::iter::successors(Some(node), |it| scene.parent(*it));
    let mut names: Vec<&str> =
        above.filter(|it| *it != scene.root()).map(|it| scene.name(it)).collect();
    names.reverse();
    names.join(".")
}

/// The way to an instance from `game`, each step by its name, its class, and its number among the
/// siblings that have both.
fn path_steps(scene: &Scene, node: Node) -> Json {
    let mut steps: Vec<Json> = Vec::new();
    let mut at = node;
    while let Some(parent) = scene.parent(at) {
        let (name, class) = (scene.name(at), scene.class(at));
        let same = scene.children(parent).filter(|it| scene.name(*it) == name);
        let before = same.take_while(|it| *it != at).filter(|it| scene.class(*it) == class);
        steps.push(json!({ "name": name, "class": class, "number": before.count() + 1 }));
        at = parent;
    }
    steps.reverse();
    steps.into()
}

/// Writes a value as Luau has it.
fn write_literal(text: &mut String, value: &Json) {
    match value {
        Json::Null => text.push_str("nil"),
        Json::Bool(it) => text.push_str(if *it { "true" } else { "false" }),
        Json::Number(it) => text.push_str(&it.to_string()),
        Json::String(it) => write_text(text, it),
        Json::Array(items) => {
            text.push('{');
            for item in items {
                write_literal(text, item);
                text.push(',');
            }
            text.push('}');
        }
        Json::Object(members) => {
            text.push('{');
            for (name, value) in members {
                text.push('[');
                write_text(text, name);
                text.push_str("]=");
                write_literal(text, value);
                text.push(',');
            }
            text.push('}');
        }
    }
}

fn write_text(text: &mut String, value: &str) {
    text.push('"');
    for byte in value.bytes() {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\') => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "\\{byte:03}");
            }
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests;
