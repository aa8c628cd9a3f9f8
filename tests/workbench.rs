//! Tests of the test support itself.

use std::collections::BTreeSet;

use rbx_types::Variant;
use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;
use serde_json::Value as Json;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_core::tools::{self, Plan};
use vector_place::Scene;
use vector_tests::places::{self, Format};
use vector_tests::{binary, cases, generated, operations, repository, requirement};

#[test]
fn sample_place_exists_in_all_formats() {
    for format in Format::ALL {
        let bytes = places::sample(format);
        let dom = places::decode(&bytes);
        let find = |name: &str| dom.descendants().find(|it| it.name == name).unwrap();
        let stored = |name: &str, property: &str| find(name).properties.get(&property.into());
        assert!(stored("Future", "NotInvented").is_some(), "{format:?}");
        assert!(stored("Tomorrow", "Level").is_some(), "{format:?}");
        assert!(stored("Rock", "PhysicalConfigData").is_some(), "{format:?}");
        assert!(stored("Lamp", "Attributes").is_some(), "{format:?}");
        assert!(stored("Lamp", "Tags").is_some(), "{format:?}");
        assert!(matches!(stored("Pointer", "Value"), Some(Variant::Ref(it)) if it.is_some()));
        let is_place = Scene::decode(&bytes).unwrap().is_place();
        assert_eq!(is_place, format.extension().starts_with("rbxl"));
    }
}

#[test]
fn unknown_requirement_is_an_error() {
    assert_eq!(requirement::check_list(""), Ok(0));
    assert_eq!(requirement::check_list("chromium, rojo,git"), Ok(3));
    let error = requirement::check_list("chromium,roj").unwrap_err();
    assert!(error.contains("`roj`") && error.contains("rojo"), "{error}");
}

#[test]
fn generated_place_is_deterministic() {
    let one = generated::generated(3_000);
    assert_eq!(generated::count(&one), 3_000);
    let written = |dom| places::encode(dom, Format::Rbxl);
    assert!(written(&one) == written(&generated::generated(3_000)));
    let scripts =
        ["Script", "ModuleScript", "LocalScript"].map(|it| generated::paths(&one, it).len());
    assert_eq!(scripts.iter().sum::<usize>(), 30);
}

#[test]
fn generated_paths_match_the_scene() {
    let dom = generated::generated(3_000);
    let scene = Scene::decode(&places::encode(&dom, Format::Rbxl)).unwrap();
    let paths = generated::paths(&dom, "Part");
    assert!(paths.iter().any(|path| path.segments.iter().any(|it| it.index.is_some())));
    let mut met = BTreeSet::new();
    for path in paths {
        let node = scene.resolve(&path).unwrap();
        assert_eq!(scene.path(node), path);
        assert!(met.insert(path));
    }
}

#[test]
fn benchmark_operations_can_be_planned() {
    let dom = generated::generated(22_000);
    let scene = Scene::decode(&places::encode(&dom, Format::Rbxl)).unwrap();
    let mut scene = PlanningScene::from(scene);
    let (base, blobs) = (Fingerprint::hash_bytes(b""), BlobStore::default());
    let list = operations::operations(&dom);
    assert_eq!(list.lines().count(), 1_000);
    for (call, line) in list.lines().enumerate() {
        let op: Json = serde_json::from_str(line).unwrap();
        let tool = op["tool"].as_str().unwrap();
        let plan =
            tools::plan_call(Seq(call as u64), tool, &op["args"], &mut scene, &base, &blobs, None);
        assert!(matches!(plan, Ok(Plan::Propose(..))), "{line}: {plan:?}");
    }
}

#[test]
fn binary_runs_in_a_separate_home() {
    let output = binary::run(&["--version"], "");
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn shared_cases_and_repository_root_are_found() {
    if let Some(cases) = cases::cases() {
        assert!(cases.join("places").is_dir(), "{}", cases.display());
    }
    assert!(repository::root().join("Cargo.lock").is_file());
}
