//! Scripts that change a place: the commands of the proposal give exactly the tree that the run made.
//!
//! The runtime itself saves that tree, as a script in Roblox would, with a writer that is not ours.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, ProposalDraft, SET_MANY_FROM};
use vector_core::run::RunOutcome;
use vector_place::diff::{SceneDifference, diff_scenes};
use vector_place::{FileFormat, Scene};
use vector_tests::cases::cases;

use super::scripts::scripts;

/// Saves the services that a place has.
const SAVE: &str = "
local services = {}
for _, child in game:GetChildren() do
    if table.find(saved, child.ClassName) then
        table.insert(services, child)
    end
end
local bytes = game:GetService('SerializationService'):SerializeInstancesAsync(services)
return buffer.tostring(game:GetService('EncodingService'):Base64Encode(bytes))
";

/// Plans the changes of a run on its scene and returns the scene with them.
fn plan(scene: &Scene, outcome: &RunOutcome) -> PlanningScene {
    let mut planning = PlanningScene::from(scene.fork()).with_set_many_from(SET_MANY_FROM.min(40));
    planning.begin_scope(Seq(1));
    let blobs = BlobStore::new();
    let mut draft = ProposalDraft::new(&mut planning, &blobs);
    outcome.changes.draft(&mut draft).unwrap();
    if !draft.is_empty() {
        draft.finish(&Fingerprint::hash_bytes(b"base")).unwrap();
    }
    planning
}

/// Runs a script on a scene, and returns the tree that it made, as the runtime saves it.
pub(super) fn run_and_save(scene: &Scene, source: &str, name: &str) -> (RunOutcome, Scene) {
    let saved: Vec<String> =
        scene.children(scene.root()).map(|it| format!("{:?}", scene.class(it))).collect();
    let source = format!(
        "local function authored()\n{source}\nend\nauthored()\nlocal saved = {{ {} }}{SAVE}",
        saved.join(", ")
    );
    let outcome = super::run(scene, &source, name);
    let saved = outcome.result.clone().unwrap_or_else(|error| panic!("{name}: {error}"));
    let bytes = STANDARD.decode(saved.as_str().unwrap()).unwrap();
    (outcome, Scene::decode(&bytes).unwrap())
}

/// Returns the properties that differ after the runtime has only read and saved a place, by class: those
/// whose types Roblox's published API does not tell.
fn find_unsaved(scene: &Scene) -> HashSet<(String, String)> {
    let (_, saved) = run_and_save(scene, "", "Save");
    let mut unsaved = HashSet::new();
    for difference in diff_scenes(scene, &saved) {
        match difference {
            SceneDifference::Changed { class, properties, .. } => {
                unsaved.extend(properties.into_iter().map(|it| (class.clone(), it.name)));
            }
            other => panic!("{other:?}"),
        }
    }
    unsaved
}

#[track_caller]
pub(super) fn check(
    scene: &Scene,
    name: &str,
    source: &str,
    place: &str,
    unsaved: &HashSet<(String, String)>,
) {
    let (outcome, made) = run_and_save(scene, source, name);
    let mut planned = plan(scene, &outcome).into_scene();
    let planned = Scene::decode(&planned.encode().unwrap()).unwrap();
    let mut differences = diff_scenes(&made, &planned);
    differences.retain_mut(|difference| match difference {
        SceneDifference::Changed { class, properties, .. } => {
            properties.retain(|it| !unsaved.contains(&(class.clone(), it.name.clone())));
            !properties.is_empty()
        }
        _ => true,
    });
    let shown = &differences[..differences.len().min(5)];
    assert!(differences.is_empty(), "{place}: {name}: {shown:#?}");
}

#[test]
fn proposals_of_scripts_make_what_the_scripts_made() {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../samples/obby.rbxlx");
    let mut sample = Scene::decode(&fs::read(sample).unwrap()).unwrap();
    // As Studio saves it: with all services.
    let root = sample.root();
    for service in ["ServerStorage", "StarterGui", "SoundService", "Lighting", "CollectionService"]
    {
        if sample.find_child(root, service).is_none() {
            sample.create(root, service, service);
        }
    }
    for (name, source) in scripts() {
        for format in [FileFormat::Xml, FileFormat::Binary] {
            let scene = sample.convert_to(format).unwrap();
            check(&scene, &name, &source, &format!("the sample as {format:?}"), &HashSet::new());
        }
    }
}

#[test]
fn proposals_of_scripts_make_what_the_scripts_made_in_real_places() {
    let Some(cases) = cases() else { return };
    for file in ["slime-defense.rbxl", "gravity-controller.rbxl", "baseplate-566.rbxl"] {
        let bytes = fs::read(cases.join("places").join(file)).unwrap();
        let scene = Scene::decode(&bytes).unwrap();
        let unsaved = find_unsaved(&scene);
        for (name, source) in scripts() {
            check(&scene, &name, &source, file, &unsaved);
        }
    }
}
