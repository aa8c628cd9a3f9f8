//! Tests of steps whose result differs from what was approved, and which cannot be rolled back
//! completely.

use std::fs;
use std::path::PathBuf;

use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use tempfile::TempDir;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::ProposalDraft;

use super::*;

struct Bench {
    _folder: TempDir,
    root: PathBuf,
    project: RojoProject,
    scene: PlanningScene,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel", "ServerStorage": { "$path": "src" } } }"#;
        fs::write(root.join("default.project.json"), tree).unwrap();
        fs::write(root.join("src/a.luau"), "return 1\n").unwrap();
        fs::write(root.join("src/b.luau"), "return 1\n").unwrap();
        let (project, scene) = RojoProject::open(&root, false).unwrap();
        Self { _folder: folder, root, project, scene }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join("src").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// Prepares the deletion of both scripts.
    fn prepared(&mut self) -> Result<ReadyStep, PlaceError> {
        let mark = self.scene.journal_mark();
        let blobs = BlobStore::new();
        let mut draft = ProposalDraft::new(&mut self.scene, &blobs);
        for name in ["a", "b"] {
            let path: InstancePath = format!("game.ServerStorage.{name}").parse().unwrap();
            let node = draft.scene().resolve(&path).unwrap();
            draft.delete_instance(node).unwrap();
        }
        let proposal = draft.finish(self.project.hash()).unwrap();
        self.scene.rollback(mark);
        let all = [(Seq(3), Seq(2), &proposal)];
        let prepared = self.project.prepare_proposals(&mut self.scene, &all, &blobs, None)?;
        assert_eq!(prepared.refused, []);
        Ok(prepared.stored.unwrap().ready.unwrap())
    }
}

/// A scene that differs from what the files produce.
fn other() -> Scene {
    Scene::empty(vector_place::FileFormat::Binary)
}

#[test]
fn files_saved_meanwhile_are_named_and_kept() {
    let mut bench = Bench::new();
    let done = bench.prepared().unwrap().perform().unwrap();
    fs::write(bench.file("b.luau"), "return 'mine'\n").unwrap();
    let error = bench.project.verify_result(done, &other()).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, PlaceError::ForeignEdits { .. }), "{said}");
    assert!(said.contains("b.luau") && !said.contains("a.luau"), "{said}");
    assert_eq!(bench.text("a.luau"), "return 1\n");
    assert_eq!(bench.text("b.luau"), "return 'mine'\n");
    assert!(bench.project.partial_step.is_none(), "nothing is left to do");
}

#[test]
fn incomplete_rollback_is_retried_before_other_work() {
    let mut bench = Bench::new();
    let done = bench.prepared().unwrap().perform().unwrap();
    // A file cannot replace a folder.
    fs::create_dir(bench.file("b.luau")).unwrap();
    fs::write(bench.file("b.luau/in the way"), "").unwrap();
    let error = bench.project.verify_result(done, &other()).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, PlaceError::PartlyApplied { .. }), "{said}");
    assert!(said.contains("b.luau: ") && said.contains("run the command again"), "{said}");
    assert_eq!(bench.text("a.luau"), "return 1\n");
    assert!(bench.project.check_scene(&bench.scene).is_err(), "nothing is planned on it");
    // Reading the project again does not complete the rollback.
    bench.project.follow_changes(&FileChanges::All).unwrap();
    let blobs = BlobStore::new();
    let error = bench.project.prepare_proposals(&mut bench.scene, &[], &blobs, None).unwrap_err();
    assert!(matches!(error, PlaceError::PartlyApplied { .. }), "{error}");
    fs::remove_dir_all(bench.file("b.luau")).unwrap();
    // The project was read while it was only partly restored, so preparing reports a change.
    let prepared = bench.project.prepare_proposals(&mut bench.scene, &[], &blobs, None);
    assert!(matches!(prepared, Err(PlaceError::Changed { .. })), "{prepared:?}");
    assert_eq!(bench.text("b.luau"), "return 1\n");
    assert!(bench.project.partial_step.is_none());
}
