//! What calls want to look at outside the scene: pages of the web, what is wrong with scripts, what
//! specs say. Each look is taken somewhere else than where proposals are planned, and its answer is the
//! call's entry. How it is taken is not known here.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use vector_core::tools::{FetchRequest, Plan};
use vector_core::workflow::WorkflowInput;
use vector_place::StyleFile;

use crate::{Engine, EngineError, Target, settings};

/// Something that a call wants to look at, with all that is needed for it.
#[derive(Debug, Clone)]
pub struct FetchWork {
    /// What it wants to look at.
    pub request: Arc<FetchRequest>,
    /// The place's folder, where it has one: its settings count.
    pub folder: Option<PathBuf>,
    /// Of a project: the files of the scripts that have one of their own, from its folder.
    pub files: HashMap<InstancePath, String>,
}

impl FetchWork {
    /// What is being done, for who waits.
    pub fn title(&self) -> String {
        match &*self.request {
            FetchRequest::Page(address) => format!("Reading {address}"),
            FetchRequest::Diagnostics(wanted) => {
                format!("Checking {} scripts", wanted.scripts.len())
            }
            FetchRequest::Specs(wanted) => format!("Running {} specs", wanted.specs.len()),
            FetchRequest::Picture { of, .. } => format!("Drawing {of}"),
        }
    }

    /// Whether it waits for the network, and computes nothing.
    pub fn is_network_bound(&self) -> bool {
        matches!(&*self.request, FetchRequest::Page(_))
    }
}

impl Engine {
    /// What a call wants to look at.
    pub fn find_fetch(&self, call: Seq) -> Option<FetchWork> {
        let looks = self.tasks.values().filter_map(|task| task.fetching.as_ref());
        let look = looks.into_iter().find(|(of, _)| *of == call).map(|(_, look)| look)?;
        Some(FetchWork {
            request: Arc::clone(look),
            folder: self.target.settings_folder(),
            files: self.script_files_for(look),
        })
    }

    /// Whether something is looked at for a call.
    pub(super) fn is_fetching(&self, call: Seq) -> bool {
        let mut looks = self.tasks.values().filter_map(|task| task.fetching.as_ref());
        looks.any(|(of, _)| *of == call)
    }

    /// Nobody wants any more what is looked at for a call.
    pub fn end_fetch(&mut self, call: Seq) {
        for task in self.tasks.values_mut() {
            task.fetching.take_if(|(of, _)| *of == call);
        }
    }

    pub(super) fn begin_fetch(&mut self, call: Seq, look: Arc<FetchRequest>) {
        if let Some(task) = self.tasks.get_mut(&self.current) {
            task.fetching = Some((call, look));
        }
    }

    /// The files of the scripts that are to be checked.
    fn script_files_for(&self, look: &FetchRequest) -> HashMap<InstancePath, String> {
        let (Target::Project(project), FetchRequest::Diagnostics(wanted)) = (&self.target, look)
        else {
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
    pub fn record_fetch_result(
        &mut self,
        call: Seq,
        seen: Result<Json, String>,
    ) -> Result<(), EngineError> {
        self.end_fetch(call);
        let result = seen.map(Plan::Answer).map_err(Refusal);
        match self.handle_input(WorkflowInput::Planned { call, result, after: Vec::new() }) {
            Ok(_) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Tells the scene how the project's scripts are formatted, where a call could ask.
    pub(super) fn load_style(&mut self, tool: &str) {
        if !matches!(tool, "format" | "propose_changes") {
            return;
        }
        let found =
            self.target.settings_folder().map(|folder| settings::find_stylua_settings(&folder));
        let style = match found {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(found))) => {
                Some(StyleFile { file: found.file.display().to_string(), text: Ok(found.settings) })
            }
            Some(Err(why)) => {
                Some(StyleFile { file: "stylua.toml".to_owned(), text: Err(why.to_string()) })
            }
        };
        self.scene.set_style(style);
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::Mode;
    use serde_json::json;
    use vector_core::prompt::ToolCall;
    use vector_files::place_file::PlaceFile;
    use vector_ledger::Ledger;
    use vector_place::{FileFormat, Scene};

    use super::*;
    use crate::{NextStep, ToolDriver};

    /// A place file with a spec.
    fn place(folder: &std::path::Path) -> (Arc<Ledger>, Engine) {
        let file = folder.join("place.rbxlx");
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        let storage = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
        let spec = scene.create(storage, "ModuleScript", "A.spec");
        scene.set_source(spec, "return function() it('a', function() end) end".to_owned());
        std::fs::write(&file, scene.encode().unwrap()).unwrap();
        let ledger = Arc::new(Ledger::open(&folder.join("ledger")).unwrap());
        let (target, scene) = PlaceFile::open(&file, None).unwrap();
        let engine = Engine::without_tasks(&ledger, target, scene, Box::new(|_| {}));
        (ledger, engine)
    }

    #[track_caller]
    fn due_look(engine: &mut Engine, workflow: Seq) -> Seq {
        engine.select_workflow(workflow);
        match engine.run().unwrap() {
            NextStep::Fetch(call) => call,
            due => panic!("{due:?}"),
        }
    }

    #[test]
    fn a_look_is_taken_once_however_often_its_task_has_its_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (_ledger, mut engine) = place(folder.path());
        let tasks = [0, 1].map(|_| {
            let workflow = engine.begin_workflow("test", ToolDriver::Calls, Mode::Confirm).unwrap();
            engine.add_calls(vec![ToolCall::new("run_tests", json!({}))]).unwrap();
            (workflow, due_look(&mut engine, workflow))
        });
        let first = tasks.map(|(_, call)| engine.find_fetch(call).unwrap());
        for (workflow, call) in tasks {
            assert_eq!(due_look(&mut engine, workflow), call);
        }
        for ((_, call), first) in tasks.into_iter().zip(&first) {
            let again = engine.find_fetch(call).unwrap();
            assert!(Arc::ptr_eq(&first.request, &again.request), "call {call} was planned again");
        }
        let [(one, call), (_, other)] = tasks;
        engine.select_workflow(one);
        engine.record_fetch_result(call, Ok(json!({ "passed": 1 }))).unwrap();
        assert!(engine.find_fetch(call).is_none() && engine.find_fetch(other).is_some());
        assert_eq!(engine.run().unwrap(), NextStep::Nothing);
    }
}
