//! Scripts that run on places: what they see, and what they change.

mod authoring;
mod datatypes;
mod instances;
mod lune;
mod random;
pub(crate) mod scripts;
mod targets;

use std::fs;
use std::rc::Rc;

use scene_schemas::Value;
use serde_json::{Value as Json, json};
use vector_core::run::{RunOutcome, RunRequest};
use vector_place::{Node, Scene};
use vector_runtime::{RunLimits, run_script};
use vector_tests::cases::cases;

/// Lists each instance below the services of a scene, with its size.
const WALK: &str = "
    local lines = {}
    for _, top in tops do
        for _, it in { game:FindFirstChild(top), unpack(game:FindFirstChild(top):GetDescendants()) } do
            local hasSize, size = pcall(function() return it.Size end)
            local isVector = hasSize and typeof(size) == 'Vector3'
            table.insert(lines, { it.Name, it.ClassName, if isVector then { size.X, size.Y, size.Z } else false })
        end
    end
    return lines";

fn run(scene: &Scene, source: &str, name: &str) -> RunOutcome {
    let request = RunRequest { source: source.to_owned(), name: name.to_owned(), title: None };
    run_script(scene, &request, RunLimits::default(), Rc::new(|| false)).unwrap()
}

/// A number as it comes from a script, which knows no integers.
fn number(it: f32) -> Json {
    if it.fract() == 0.0 { json!(it as i64) } else { json!(it) }
}

fn line(scene: &Scene, node: Node) -> Json {
    let size = match scene.value(node, "Size") {
        Some(Value::Vector3(size)) => json!([size.x, size.y, size.z].map(number)),
        _ => json!(false),
    };
    json!([scene.name(node), scene.class(node), size])
}

#[test]
fn scripts_see_real_places_as_they_are() {
    let Some(cases) = cases() else { return };
    let mut seen = 0;
    for entry in fs::read_dir(cases.join("places")).unwrap() {
        let file = entry.unwrap().path();
        if !file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx")) {
            continue;
        }
        let scene = Scene::decode(&fs::read(&file).unwrap()).unwrap();
        // A script finds a service by its name.
        let is_named_alone = |node: &Node| scene.count_named(scene.root(), scene.name(*node)) == 1;
        let tops: Vec<Node> = scene.children(scene.root()).filter(is_named_alone).collect();
        let names: Vec<String> =
            tops.iter().map(|node| format!("{:?}", scene.name(*node))).collect();
        let source = format!("local tops = {{ {} }}\n{WALK}", names.join(", "));
        let outcome = run(&scene, &source, "Walk");
        let found = outcome.result.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let nodes = tops.iter().flat_map(|top| scene.subtree(*top));
        let expected: Vec<Json> = nodes.map(|node| line(&scene, node)).collect();
        let found = found.as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "{}", file.display());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{}", file.display());
        }
        seen += 1;
    }
    assert!(seen > 0, "no places in {}", cases.display());
}
