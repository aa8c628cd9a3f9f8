//! Fetches that calls need from outside the scene: web pages, script diagnostics, spec results,
//! pictures.
//!
//! A fetch runs outside the planner, and its result becomes the call's entry. This module does not
//! know how a fetch is performed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::permission::Permission;
use serde_json::Value as Json;
use vector_core::asset_scan::DownloadedAsset;
use vector_core::planning_scene::StyleFile;
use vector_core::play::{PlayOutcome, PlayedTwice};
use vector_core::run::RunOutcome;
use vector_core::specs::SpecResult;
use vector_core::tools::{FetchRequest, Plan};
use vector_core::workflow::WorkflowInput;
use vector_ledger::Ledger;
use vector_place::{MissingFacts, Scene};

use crate::planner::PlanState;
use crate::{Engine, EngineError, settings};

/// A fetch for a call, with all that is needed to perform it.
#[derive(Debug)]
pub struct FetchWork {
    pub request: Arc<FetchRequest>,
    /// The folder whose settings apply; None if the place has none.
    pub folder: Option<PathBuf>,
    /// For a project: the files of the scripts to check, relative to the project's folder. Scripts
    /// without a file are left out.
    pub files: HashMap<InstancePath, String>,
    /// For code to run, and games to play: a copy of the scene.
    pub run_scene: Option<RunScene>,
    /// What a person permitted the call, for requests that need it.
    pub permitted: Option<Permission>,
    /// The record of what was spent and uploaded.
    pub ledger: Arc<Ledger>,
}

/// A copy of the scene for code to run on.
#[derive(Debug)]
pub struct RunScene {
    pub scene: Scene,
    /// The state of the scene that it was taken from.
    pub state: PlanState,
    /// For a check: the same scene with the proposal.
    pub proposed: Option<Scene>,
}

impl RunScene {
    fn fork(&self) -> Self {
        let proposed = self.proposed.as_ref().map(Scene::fork);
        Self { scene: self.scene.fork(), state: self.state.clone(), proposed }
    }
}

/// The result of a fetch.
#[derive(Debug)]
pub enum FetchResult {
    /// The answer of the call.
    Answer(Json),
    Run(Box<FinishedRun>),
    Asset(DownloadedAsset),
    /// A person has to permit this first.
    NeedsPermission(Permission),
}

/// A run on a copy of the scene.
#[derive(Debug)]
pub struct FinishedRun {
    pub outcome: CodeOutcome,
    /// What the run read of an open place that is not known.
    pub missing: MissingFacts,
    /// The state of the scene that it ran on.
    pub state: PlanState,
}

/// What came of code on a copy of the scene.
#[derive(Debug)]
pub enum CodeOutcome {
    Run(RunOutcome),
    Play(PlayOutcome),
    Check(Box<PlayedTwice>),
    Specs(Vec<SpecResult>),
}

impl FetchWork {
    /// Returns a title that tells the user what is in progress.
    pub fn title(&self) -> String {
        match &*self.request {
            FetchRequest::Page(address) => format!("Reading {address}"),
            FetchRequest::Diagnostics(wanted) => {
                format!("Checking {} scripts", wanted.scripts.len())
            }
            FetchRequest::Specs(wanted) => format!("Running {} specs", wanted.specs.len()),
            FetchRequest::Run(_) => "Running code".to_owned(),
            FetchRequest::Play(_) => "Playing the game".to_owned(),
            FetchRequest::PlayInStudio(_) => "Playing the game in Studio".to_owned(),
            FetchRequest::Check(_) => "Playing the change".to_owned(),
            FetchRequest::StoreSearch(search) => {
                format!("Searching the Creator Store for {}", search.query)
            }
            FetchRequest::Asset(asset) => format!("Downloading asset {asset}"),
            FetchRequest::Generate(_) => "Generating a model".to_owned(),
            FetchRequest::Upload(_) => "Uploading an asset".to_owned(),
            FetchRequest::Review(proposal) => format!("Asking for a review of proposal {proposal}"),
            FetchRequest::Task(_) => "Asking for a task".to_owned(),
            FetchRequest::Picture { of, .. } => format!("Drawing {of}"),
        }
    }

    /// Whether the fetch waits for the network and uses no CPU.
    pub fn is_network_bound(&self) -> bool {
        matches!(
            &*self.request,
            FetchRequest::Page(_)
                | FetchRequest::StoreSearch(_)
                | FetchRequest::Asset(_)
                | FetchRequest::Generate(_)
                | FetchRequest::Upload(_)
        )
    }
}

impl Engine {
    /// Begins what a call waits for.
    pub(crate) fn begin_fetch(&mut self, workflow: Seq, call: Seq, request: Arc<FetchRequest>) {
        if let FetchRequest::PlayInStudio(playtest) = &*request
            && let Some(studio) = self.studio_mut()
        {
            studio.queue_playtest(call, *playtest);
        }
        self.executor.begin_fetch(workflow, call, request);
    }

    /// Whether a call waits for a game that is played.
    pub fn is_playing(&self, call: Seq) -> bool {
        let request = self.executor.find_fetch(call).map(|request| &**request);
        request.is_some_and(|request| match request {
            FetchRequest::Play(_) | FetchRequest::PlayInStudio(_) | FetchRequest::Check(_) => true,
            FetchRequest::Page(_)
            | FetchRequest::Diagnostics(_)
            | FetchRequest::Specs(_)
            | FetchRequest::Run(_)
            | FetchRequest::StoreSearch(_)
            | FetchRequest::Asset(_)
            | FetchRequest::Generate(_)
            | FetchRequest::Upload(_)
            | FetchRequest::Review(_)
            | FetchRequest::Task(_)
            | FetchRequest::Picture { .. } => false,
        })
    }

    /// Returns the fetch that a call waits for; None if Studio has to perform it.
    pub fn find_fetch(&self, call: Seq) -> Option<FetchWork> {
        let request = Arc::clone(self.executor.find_fetch(call)?);
        let files = self.script_files_for(&request);
        let run_scene = match &*request {
            FetchRequest::Run(_) | FetchRequest::Play(_) | FetchRequest::Specs(_) => {
                let (scene, state) = (self.planner.scene.fork(), self.planner.state());
                Some(RunScene { scene, state, proposed: None })
            }
            FetchRequest::PlayInStudio(_) => return None,
            FetchRequest::Check(_) => self.executor.checked_scenes(call).map(RunScene::fork),
            FetchRequest::Page(_)
            | FetchRequest::Diagnostics(_)
            | FetchRequest::StoreSearch(_)
            | FetchRequest::Asset(_)
            | FetchRequest::Generate(_)
            | FetchRequest::Upload(_)
            | FetchRequest::Review(_)
            | FetchRequest::Task(_)
            | FetchRequest::Picture { .. } => None,
        };
        Some(FetchWork {
            request,
            folder: self.settings_folder(),
            files,
            run_scene,
            permitted: self.executor.granted_permission(call).cloned(),
            ledger: self.executor.shared_ledger(),
        })
    }

    /// Drops the fetch of a call: its result is not needed any more.
    pub fn end_fetch(&mut self, call: Seq) {
        drop(self.executor.end_fetch(call));
        self.planner.scene.forget_assets(call);
        self.retract_playtests();
        self.executor.forget_call(call);
    }

    /// Returns the files of the scripts that a fetch checks.
    fn script_files_for(&self, request: &FetchRequest) -> HashMap<InstancePath, String> {
        let FetchRequest::Diagnostics(wanted) = request else {
            return HashMap::new();
        };
        let mut files = self.target.driver().script_files();
        let mut file = |path: &InstancePath| {
            let file = files.remove(&self.planner.scene.resolve(path).ok()?)?;
            Some((path.clone(), file))
        };
        wanted.scripts.iter().filter_map(|it| file(&it.path)).collect()
    }

    /// Records the result of a fetch, or the reason it failed. If the call is settled already, the
    /// result is dropped. What a run changed is planned when the workflow is run next.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn record_fetch_result(
        &mut self,
        workflow: Seq,
        call: Seq,
        seen: Result<FetchResult, String>,
    ) -> Result<(), EngineError> {
        let request = self.executor.end_fetch(call);
        if matches!(request.as_deref(), Some(FetchRequest::Check(_))) {
            self.keep_check(workflow, call, seen);
            return Ok(());
        }
        if let Some(FetchRequest::Asset(asset)) = request.as_deref() {
            // The call is planned again when the workflow is run next.
            let file = seen.and_then(|result| match result {
                FetchResult::Asset(asset) => Ok(asset),
                FetchResult::Answer(_) | FetchResult::Run(_) | FetchResult::NeedsPermission(_) => {
                    Err(format!("Asset {asset} was not downloaded. Ask for it again."))
                }
            });
            self.planner.scene.add_asset(call, *asset, file);
            return Ok(());
        }
        let result = match (seen, request) {
            (Ok(FetchResult::Run(run)), Some(request)) => {
                self.executor.keep_run(workflow, call, request, *run);
                return Ok(());
            }
            (Ok(FetchResult::Run(_) | FetchResult::Asset(_)), _) => return Ok(()),
            (Ok(FetchResult::Answer(answer)), _) => Ok(Plan::Answer(answer)),
            (Ok(FetchResult::NeedsPermission(wanted)), _) => Ok(Plan::NeedsPermission(wanted)),
            (Err(why), _) => Err(Refusal(why)),
        };
        let planned = WorkflowInput::Planned { call, result, after: Vec::new() };
        match self.handle_input(workflow, planned) {
            Ok(_) | Err(EngineError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Loads the project's script formatting settings into the scene, if the tool can need them.
    pub(crate) fn load_style(&mut self, tool: &str) {
        if !matches!(tool, "format" | "propose_changes") {
            return;
        }
        let found = self.settings_folder().map(|folder| settings::find_stylua_settings(&folder));
        let style = match found {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(found))) => {
                Some(StyleFile { file: found.file.display().to_string(), text: Ok(found.settings) })
            }
            Some(Err(why)) => {
                Some(StyleFile { file: "stylua.toml".to_owned(), text: Err(why.to_string()) })
            }
        };
        self.planner.scene.set_style(style);
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::Mode;
    use serde_json::json;
    use vector_core::prompt::ToolCall;
    use vector_files::place_file::PlaceFile;
    use vector_place::{FileFormat, Scene};

    use super::*;
    use crate::{NextStep, ToolDriver};

    /// Creates a place file with one spec.
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
        match engine.run(workflow).unwrap() {
            NextStep::Fetch(call) => call,
            due => panic!("{due:?}"),
        }
    }

    #[test]
    fn fetch_is_planned_once_across_workflow_turns() {
        let folder = tempfile::tempdir().unwrap();
        let (_ledger, mut engine) = place(folder.path());
        let tasks = [0, 1].map(|_| {
            let workflow = engine.begin_workflow("test", ToolDriver::Calls, Mode::Confirm).unwrap();
            engine.add_calls(workflow, vec![ToolCall::new("run_tests", json!({}))]).unwrap();
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
        let passed = FetchResult::Answer(json!({ "passed": 1 }));
        engine.record_fetch_result(one, call, Ok(passed)).unwrap();
        assert!(engine.find_fetch(call).is_none() && engine.find_fetch(other).is_some());
        assert_eq!(engine.run(one).unwrap(), NextStep::Nothing);
    }
}
