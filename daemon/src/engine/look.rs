//! What calls want to look at outside the scene: pages of the web, what is wrong with scripts, what
//! specs say. Each look is taken somewhere else than where proposals are planned, and its answer is the
//! call's entry.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use serde_json::{Value as Json, json};

use super::check::{self, Linters, Script, settings};
use super::spec::{self, Limits};
use super::{Engine, EngineError, Target, web};
use crate::core::Refusal;
use crate::core::luau::{Finding, Severity};
use crate::core::picture::{Frame, Solids, View, draw};
use crate::core::scene::StyleFile;
use crate::core::tools::{Diagnostics, Look, Plan, Specs};
use crate::core::workflow::Input;
use crate::providers::http::Cancel;

/// What is said of a look that was ended with its task.
const CANCELLED: &str = "It was ended: the task was cancelled.";

/// How wide and high a picture is that a model sees: larger ones cost more, and tell little more.
const SIDE: u32 = 512;

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
            Look::Picture { of, .. } => format!("Drawing {of}"),
        }
    }

    /// Whether it waits for the network, and computes nothing.
    pub fn is_fetched(&self) -> bool {
        matches!(&*self.look, Look::Page(_))
    }

    /// Looks, and waits for it.
    ///
    /// # Errors
    /// A sentence that says what to do instead.
    pub fn take(&self, cancel: &Cancel) -> Result<Json, String> {
        if cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        match &*self.look {
            Look::Page(address) => web::look(address, cancel).map(Json::from),
            Look::Diagnostics(wanted) => self.diagnostics(wanted, cancel),
            Look::Specs(wanted) => specs(wanted, cancel),
            Look::Picture { of, solids, view } => picture(of, solids, *view),
        }
    }

    fn diagnostics(&self, wanted: &Diagnostics, cancel: &Cancel) -> Result<Json, String> {
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
        let mut lists = check::check(&scripts, &linters, &|| cancel.is_cancelled());
        if cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
        let untyped = check::add_types(&scripts, &mut lists, &|| cancel.is_cancelled()).err();
        if cancel.is_cancelled() {
            return Err(CANCELLED.to_owned());
        }
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

fn specs(wanted: &Specs, cancel: &Cancel) -> Result<Json, String> {
    let total = std::time::Duration::from_secs(wanted.seconds);
    let limits = Limits { total, ..Limits::default() };
    let results = spec::run(&wanted.still, &wanted.specs, limits, &|| cancel.is_cancelled());
    if cancel.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    Ok(spec::told(&results))
}

/// A picture, in base64 beside what there is to say of it.
fn picture(of: &InstancePath, solids: &Solids, view: View) -> Result<Json, String> {
    let frame = Frame::of(&[solids], view);
    let frame = frame.ok_or_else(|| format!("There is nothing to see in {of}."))?;
    let png = draw(solids, (SIDE, SIDE), frame).png().map_err(|refusal| refusal.0)?;
    let mut answer = json!({
        "shown": of, "view": view.name(), "parts": solids.all.len(), "png": STANDARD.encode(png),
    });
    let notes = solids.notes();
    if !notes.is_empty() {
        answer["notes"] = json!(notes);
    }
    Ok(answer)
}

impl Engine {
    /// What a call wants to look at.
    pub fn look(&self, call: Seq) -> Option<Looking> {
        let looks = self.tasks.values().filter_map(|task| task.looking.as_ref());
        let look = looks.into_iter().find(|(of, _)| *of == call).map(|(_, look)| look)?;
        Some(Looking {
            look: Arc::clone(look),
            folder: self.target.folder(),
            files: self.files_of_look(look),
        })
    }

    /// Whether something is looked at for a call.
    pub(super) fn is_looking(&self, call: Seq) -> bool {
        let mut looks = self.tasks.values().filter_map(|task| task.looking.as_ref());
        looks.any(|(of, _)| *of == call)
    }

    /// Nobody wants any more what is looked at for a call.
    pub(super) fn end_look(&mut self, call: Seq) {
        for task in self.tasks.values_mut() {
            task.looking.take_if(|(of, _)| *of == call);
        }
    }

    pub(super) fn begin_look(&mut self, call: Seq, look: Arc<Look>) {
        if let Some(task) = self.tasks.get_mut(&self.workflow) {
            task.looking = Some((call, look));
        }
    }

    /// The files of the scripts that are to be checked.
    fn files_of_look(&self, look: &Look) -> HashMap<InstancePath, String> {
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
        self.end_look(call);
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

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::Mode;

    use super::*;
    use crate::core::prompt::Call;
    use crate::core::scene::{Format, Scene};
    use crate::engine::{Driver, Due};
    use crate::ledger::Ledger;
    use crate::targets::place::PlaceFile;

    /// A place file with a spec.
    fn place(folder: &std::path::Path) -> (Arc<Ledger>, Engine) {
        let file = folder.join("place.rbxlx");
        let mut scene = Scene::empty(Format::Xml);
        let root = scene.root();
        let storage = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
        let spec = scene.create(storage, "ModuleScript", "A.spec");
        scene.set_source(spec, "return function() it('a', function() end) end".to_owned());
        std::fs::write(&file, scene.encode().unwrap()).unwrap();
        let ledger = Arc::new(Ledger::open(&folder.join("ledger")).unwrap());
        let engine = Engine::idle(&ledger, PlaceFile::open(&file, None).unwrap(), Box::new(|_| {}));
        (ledger, engine)
    }

    #[track_caller]
    fn due_look(engine: &mut Engine, workflow: Seq) -> Seq {
        engine.turn_to(workflow);
        match engine.run().unwrap() {
            Due::Look(call) => call,
            due => panic!("{due:?}"),
        }
    }

    #[test]
    fn a_look_is_taken_once_however_often_its_task_has_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (_ledger, mut engine) = place(folder.path());
        let tasks = [0, 1].map(|_| {
            let workflow = engine.begin("test", Driver::Calls, Mode::Confirm).unwrap();
            engine.call(vec![Call::new("run_tests", json!({}))]).unwrap();
            (workflow, due_look(&mut engine, workflow))
        });
        let first = tasks.map(|(_, call)| engine.look(call).unwrap());
        for (workflow, call) in tasks {
            assert_eq!(due_look(&mut engine, workflow), call);
        }
        for ((_, call), first) in tasks.into_iter().zip(&first) {
            let again = engine.look(call).unwrap();
            assert!(Arc::ptr_eq(&first.look, &again.look), "call {call} was planned again");
        }
        let [(one, call), (_, other)] = tasks;
        engine.turn_to(one);
        engine.has_looked(call, Ok(json!({ "passed": 1 }))).unwrap();
        assert!(engine.look(call).is_none() && engine.look(other).is_some());
        assert_eq!(engine.run().unwrap(), Due::Nothing);
    }

    #[test]
    fn a_look_ends_with_its_task() {
        let endless = "return function() it('a', function() while true do end end) end";
        let mut scene = Scene::empty(Format::Xml);
        let root = scene.root();
        let spec = scene.create(root, "ModuleScript", "A.spec");
        scene.set_source(spec, endless.to_owned());
        let (still, specs) = scene.still(&[spec]);
        let wanted = Specs { still: Arc::new(still), specs, seconds: 100 };
        let looking = Looking {
            look: Arc::new(Look::Specs(Box::new(wanted))),
            folder: None,
            files: HashMap::new(),
        };
        let cancel = Cancel::new();
        let own = cancel.clone();
        let began = std::time::Instant::now();
        let look = std::thread::spawn(move || looking.take(&own));
        cancel.cancel();
        assert_eq!(look.join().unwrap(), Err(CANCELLED.to_owned()));
        assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
        let script = crate::core::tools::Looked {
            path: "game.A".parse().unwrap(),
            class: "ModuleScript".to_owned(),
            text: Some("print(x)".to_owned()),
        };
        let wanted =
            Diagnostics { scripts: vec![script], least: Severity::Note, skip: 0, limit: 9 };
        let looking = Looking {
            look: Arc::new(Look::Diagnostics(Box::new(wanted))),
            folder: None,
            files: HashMap::new(),
        };
        assert_eq!(looking.take(&cancel), Err(CANCELLED.to_owned()));
    }
}
