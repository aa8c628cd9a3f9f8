//! What calls want to look at outside the scene: pages of the web, what is wrong with scripts, what
//! specs say. Each look is taken somewhere else than where proposals are planned, and its answer is the
//! call's entry.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use serde_json::{Value as Json, json};

use super::check::{self, Linters, Script, settings};
use super::spec::{self, Limits, Outcome, Spec};
use super::{Engine, EngineError, Target, web};
use crate::core::Refusal;
use crate::core::luau::{Finding, Severity};
use crate::core::scene::StyleFile;
use crate::core::tools::{Diagnostics, Look, Plan, Specs};
use crate::core::workflow::Input;
use crate::providers::http::Cancel;

/// Failures that a model is told, and lines of output with each.
const MAX_FAILURES: usize = 50;
const MAX_OUTPUT: usize = 20;

/// Something that a call wants to look at, with all that is needed for it.
#[derive(Debug, Clone)]
pub struct Looking {
    look: Arc<Look>,
    /// The place's folder, where it has one: its settings count.
    folder: Option<PathBuf>,
    /// Of a project: the files of the scripts that have one of their own, from its folder.
    files: HashMap<InstancePath, String>,
}

impl Looking {
    /// What is being done, for who waits.
    pub fn title(&self) -> String {
        match &*self.look {
            Look::Page(address) => format!("Reading {address}"),
            Look::Diagnostics(wanted) => format!("Checking {} scripts", wanted.scripts.len()),
            Look::Specs(wanted) => format!("Running {} specs", wanted.specs.len()),
        }
    }

    /// Looks, and waits for it.
    ///
    /// # Errors
    /// A sentence that says what to do instead.
    pub fn take(&self, cancel: &Cancel) -> Result<Json, String> {
        match &*self.look {
            Look::Page(address) => web::look(address, cancel).map(Json::from),
            Look::Diagnostics(wanted) => self.diagnostics(wanted),
            Look::Specs(wanted) => Ok(specs(wanted)),
        }
    }

    fn diagnostics(&self, wanted: &Diagnostics) -> Result<Json, String> {
        let found = self.folder.as_deref().map(settings::selene).transpose();
        let found = found.map_err(|why| format!("{why}. Mend it, and ask again."))?.flatten();
        let (linters, wrong) = Linters::of(found.as_ref().map(|found| &found.settings));
        let scripts: Vec<Script> = wanted
            .scripts
            .iter()
            .map(|it| Script {
                path: it.path.clone(),
                class: it.class.clone(),
                file: self.files.get(&it.path).cloned(),
                text: it.text.clone(),
            })
            .collect();
        let mut lists = check::check(&scripts, &linters);
        let untyped = check::add_types(&scripts, &mut lists).err();
        let file = found.map(|found| found.file.display().to_string()).unwrap_or_default();
        let settings = wrong.iter().map(|it| (json!({ "file": file }), it));
        let in_scripts = scripts
            .iter()
            .zip(&lists)
            .flat_map(|(script, found)| found.iter().map(move |it| (named(script), it)));
        let all: Vec<(Json, &Finding)> =
            settings.chain(in_scripts).filter(|(_, it)| it.severity >= wanted.least).collect();
        let of = |severity| all.iter().filter(|(_, it)| it.severity == severity).count();
        let counts = json!({
            "errors": of(Severity::Error),
            "warnings": of(Severity::Warning),
            "notes": of(Severity::Note),
        });
        let end = (wanted.skip + wanted.limit).min(all.len());
        let page = all.iter().take(end).skip(wanted.skip).map(|(place, it)| told(place, it));
        let mut answer = json!({
            "findings": page.collect::<Vec<_>>(),
            "counts": counts,
            "scripts": scripts.len(),
        });
        if let Some(why) = untyped {
            answer["types"] = why.into();
        }
        if end < all.len() {
            answer["cursor"] = end.to_string().into();
        }
        Ok(answer)
    }
}

fn named(script: &Script) -> Json {
    let mut named = json!({ "path": script.path });
    if let Some(file) = &script.file {
        named["file"] = file.as_str().into();
    }
    named
}

fn told(place: &Json, finding: &Finding) -> Json {
    let mut told = place.clone();
    told["line"] = finding.at.line.into();
    told["column"] = finding.at.column.into();
    told["severity"] = finding.severity.name().into();
    told["code"] = finding.code.as_str().into();
    told["message"] = finding.message.as_str().into();
    if !finding.notes.is_empty() {
        told["notes"] = json!(finding.notes);
    }
    told
}

fn specs(wanted: &Specs) -> Json {
    let total = std::time::Duration::from_secs(wanted.seconds);
    let limits = Limits { total, ..Limits::default() };
    let results = spec::run(&wanted.still, &wanted.specs, limits);
    let sum = |outcome| results.iter().map(|spec| spec.count(outcome)).sum::<usize>();
    let mut left = MAX_FAILURES;
    let told: Vec<Json> = results.iter().map(|spec| spec_told(spec, &mut left)).collect();
    let mut answer = json!({
        "passed": sum(Outcome::Passed),
        "failed": sum(Outcome::Failed),
        "skipped": sum(Outcome::Skipped),
        "specs": told,
    });
    if left == 0 {
        answer["note"] = format!("At most {MAX_FAILURES} failures are told.").into();
    }
    answer
}

fn spec_told(spec: &Spec, left: &mut usize) -> Json {
    let mut failures = Vec::new();
    for case in spec.cases.iter().filter(|case| case.outcome == Outcome::Failed) {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let why = case.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut failure = json!({ "case": case.name, "failure": why });
        if !case.output.is_empty() {
            failure["output"] = json!(&case.output[..case.output.len().min(MAX_OUTPUT)]);
        }
        failures.push(failure);
    }
    let mut told = json!({
        "path": spec.path,
        "passed": spec.count(Outcome::Passed),
        "failed": spec.count(Outcome::Failed),
        "skipped": spec.count(Outcome::Skipped),
    });
    if !failures.is_empty() {
        told["failures"] = failures.into();
    }
    if let Some(failure) = &spec.failure {
        told["didNotRun"] = failure.to_string().into();
    }
    told
}

impl Engine {
    /// What a call wants to look at.
    pub fn look(&self, call: Seq) -> Option<Looking> {
        let (of, look) = self.looking.as_ref()?;
        (*of == call).then(|| Looking {
            look: Arc::clone(look),
            folder: self.target.folder(),
            files: self.files_of(look),
        })
    }

    /// The files of the scripts that are to be checked.
    fn files_of(&self, look: &Look) -> HashMap<InstancePath, String> {
        let (Target::Project(project), Look::Diagnostics(wanted)) = (&self.target, look) else {
            return HashMap::new();
        };
        let mut files = project.script_files();
        let mut file = |path: &InstancePath| {
            let file = files.remove(&self.scene.resolve(path).ok()?)?;
            Some((path.clone(), file))
        };
        wanted.scripts.iter().filter_map(|it| file(&it.path)).collect()
    }

    /// Takes what was seen, or why it could not be. Where the call is settled, nobody wants it.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn has_looked(&mut self, call: Seq, seen: Result<Json, String>) -> Result<(), EngineError> {
        let result = seen.map(Plan::Answer).map_err(Refusal);
        match self.input(Input::Planned { call, result, after: Vec::new() }) {
            Ok(_) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells the scene how the project's scripts are formatted, where a call could ask.
    pub(super) fn know_style(&mut self, tool: &str) {
        if !matches!(tool, "format" | "propose_changes") {
            return;
        }
        let found = self.target.folder().map(|folder| settings::stylua(&folder));
        let style = match found {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(found))) => {
                Some(StyleFile { file: found.file.display().to_string(), text: Ok(found.settings) })
            }
            Some(Err(why)) => {
                Some(StyleFile { file: "stylua.toml".to_owned(), text: Err(why.to_string()) })
            }
        };
        self.scene.know_style(style);
    }
}
