//! A fifth target, for tests: a place in the memory of this process.
//!
//! It shows what a new kind of target has to bring: this file, and its variant in [`super::Target`].

use std::sync::{Arc, Mutex};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{FilePlace, Place};
use scene_schemas::proposal::Ack;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::build_inverse;
use vector_files::perform::{PerformedCommands, effect_outcome, perform_proposals};
use vector_files::place_file::PlaceError;
use vector_place::{CodecError, Scene};

use super::{
    ApplyContext, ApprovedProposal, DirectDriver, PreparedChange, ReadyChange, Target, TargetDriver,
};
use crate::EngineError;

const NAME: &str = "memory.rbxl";

/// The bytes of the place, which others may change at any time.
type SharedBytes = Arc<Mutex<Vec<u8>>>;

#[derive(Debug)]
pub struct MemoryTarget {
    bytes: SharedBytes,
    /// The hash of the bytes that were read.
    hash: Fingerprint,
    prepared: Option<Vec<u8>>,
}

impl MemoryTarget {
    fn open(bytes: SharedBytes) -> Result<(Self, PlanningScene), PlaceError> {
        let read = bytes.lock().unwrap().clone();
        let scene = Scene::decode(&read).map_err(encode_error)?.into();
        let hash = Fingerprint::hash_bytes(&read);
        Ok((Self { bytes, hash, prepared: None }, scene))
    }

    fn check_unchanged(&self) -> Result<(), PlaceError> {
        let now = Fingerprint::hash_bytes(&self.bytes.lock().unwrap());
        if now == self.hash {
            return Ok(());
        }
        Err(PlaceError::Changed { file: NAME.to_owned() })
    }
}

fn encode_error(why: CodecError) -> PlaceError {
    PlaceError::Encode { file: NAME.to_owned(), why }
}

impl TargetDriver for MemoryTarget {
    fn place(&self) -> Place {
        let (file, hash) = (NAME.to_owned(), self.hash.clone());
        Place::File(FilePlace { file, out: None, hash, replaces: None })
    }

    fn plan_base(&self) -> Fingerprint {
        self.hash.clone()
    }

    fn direct(&self) -> Option<&dyn DirectDriver> {
        Some(self)
    }

    fn direct_mut(&mut self) -> Option<&mut dyn DirectDriver> {
        Some(self)
    }

    fn recorded_file(&self) -> Option<String> {
        Some(NAME.to_owned())
    }

    fn output_name(&self) -> String {
        NAME.to_owned()
    }

    fn read_memory(&mut self) -> Option<String> {
        None
    }
}

impl DirectDriver for MemoryTarget {
    fn prepare(
        &mut self,
        approved: &[ApprovedProposal<'_>],
        context: ApplyContext<'_>,
    ) -> Result<PreparedChange, EngineError> {
        self.check_unchanged()?;
        let ApplyContext { scene, blobs, .. } = context;
        let PerformedCommands { done, refused } = perform_proposals(scene, approved, blobs, false);
        let bytes = scene.scene_mut().encode().map_err(encode_error)?;
        let after = Fingerprint::hash_bytes(&bytes);
        let mut ready = ReadyChange { acks: Vec::new(), blobs: Vec::new() };
        for performed in done {
            scene.begin_scope(performed.call);
            let effects = performed.effects.into_iter();
            let outcomes = effects.map(|effect| effect_outcome(scene, effect)).collect();
            let inverse = build_inverse(scene.scene_mut(), performed.undo_steps)?;
            ready.blobs.extend(inverse.blobs.into_values());
            let ack = Ack {
                file: Some(NAME.to_owned()),
                before: Some(self.hash.clone()),
                after: Some(after.clone()),
                outcomes,
                inverse: inverse.commands,
                witnesses: inverse.witnesses,
                bytes: None,
                files: None,
            };
            ready.acks.push((performed.seq, ack));
        }
        self.prepared = Some(bytes);
        Ok(PreparedChange { ready: (!ready.acks.is_empty()).then_some(ready), refused })
    }

    fn commit(&mut self, scene: &mut PlanningScene) -> Result<(), PlaceError> {
        self.check_unchanged()?;
        if let Some(bytes) = self.prepared.take() {
            self.hash = Fingerprint::hash_bytes(&bytes);
            *self.bytes.lock().unwrap() = bytes;
            scene.scene_mut().forget_history();
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.prepared = None;
    }

    fn reopen(&mut self) -> Option<Result<PlanningScene, PlaceError>> {
        Some(Self::open(Arc::clone(&self.bytes)).map(|(target, scene)| {
            *self = target;
            scene
        }))
    }

    fn can_apply_after_change(&self) -> bool {
        false
    }

    fn is_as_left(&self, base: &Fingerprint, _replaced: Option<&Fingerprint>) -> bool {
        self.hash == *base
    }
}

mod tests {
    use scene_schemas::entry::{Approver, Seq};
    use scene_schemas::proposal::Mode;
    use serde_json::{Value as Json, json};
    use vector_core::prompt::ToolCall;
    use vector_core::workflow::PendingStatus;
    use vector_ledger::Ledger;
    use vector_place::FileFormat;

    use super::*;
    use crate::{NextStep, REVERT, ToolDriver, WorkflowRun};

    /// A place with one part, and a ledger for it.
    struct Fixture {
        bytes: SharedBytes,
        ledger: Arc<Ledger>,
        _home: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let mut scene = Scene::empty(FileFormat::Binary);
            let workspace = scene.create(scene.root(), "Workspace", "Workspace");
            scene.create(workspace, "Part", "Door");
            let home = tempfile::tempdir().unwrap();
            let ledger = Arc::new(Ledger::open(home.path()).unwrap());
            let bytes = Arc::new(Mutex::new(scene.encode().unwrap()));
            Self { bytes, ledger, _home: home }
        }

        fn start(&self, tool: &str, args: Json) -> WorkflowRun {
            let (target, scene) = MemoryTarget::open(Arc::clone(&self.bytes)).unwrap();
            let opened = (Target::Memory(target), scene);
            let (driver, listener) = (ToolDriver::Calls, Box::new(|_: &_| {}));
            let mut run =
                WorkflowRun::start(&self.ledger, opened, "test", driver, Mode::Confirm, listener)
                    .unwrap();
            run.add_calls(vec![ToolCall::new(tool, args)]).unwrap();
            run
        }

        /// The names of the parts, as the bytes have them.
        fn parts(&self) -> Vec<String> {
            let scene = Scene::decode(&self.bytes.lock().unwrap()).unwrap();
            let all = scene.subtree(scene.root()).filter(|node| scene.class(*node) == "Part");
            all.map(|node| scene.name(node).to_owned()).collect()
        }

        /// Renames the part, as another program would.
        fn rename_elsewhere(&self, from: &str, to: &str) {
            let mut bytes = self.bytes.lock().unwrap();
            let mut scene = Scene::decode(&bytes).unwrap();
            let part = scene.resolve(&format!("game.Workspace.{from}").parse().unwrap()).unwrap();
            scene.rename(part, to);
            *bytes = scene.encode().unwrap();
        }
    }

    #[track_caller]
    fn due_proposal(run: &mut WorkflowRun) -> Seq {
        match run.run().unwrap() {
            NextStep::Decision(proposal) => proposal,
            due => panic!("{due:?}: {:?}", run.workflow().unwrap().refusals().next()),
        }
    }

    fn create_window() -> Json {
        json!({ "parentPath": "game.Workspace", "className": "Part", "props": { "Name": "Window" } })
    }

    #[test]
    fn approved_proposal_is_applied_and_reverted() {
        let place = Fixture::new();
        let mut run = place.start("create_instance", create_window());
        let proposal = due_proposal(&mut run);
        assert_eq!(place.parts(), ["Door"], "nothing is applied before the decision");
        run.approve(proposal, Approver::Person, true).unwrap();
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
        assert_eq!(place.parts(), ["Door", "Window"]);
        let mut run = place.start(REVERT, json!({ "proposal": proposal }));
        let revert = due_proposal(&mut run);
        run.approve(revert, Approver::Person, true).unwrap();
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
        assert_eq!(place.parts(), ["Door"]);
    }

    #[test]
    fn approved_proposal_is_planned_again_after_a_foreign_change() {
        let place = Fixture::new();
        let mut run = place.start("create_instance", create_window());
        let first = due_proposal(&mut run);
        place.rename_elsewhere("Door", "Gate");
        run.approve(first, Approver::Person, true).unwrap();
        let second = due_proposal(&mut run);
        assert_ne!(first, second);
        assert!(matches!(run.find_proposal(first).unwrap().status, PendingStatus::Withdrawn(_)));
        run.approve(second, Approver::Person, true).unwrap();
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
        assert_eq!(place.parts(), ["Gate", "Window"]);
    }
}
