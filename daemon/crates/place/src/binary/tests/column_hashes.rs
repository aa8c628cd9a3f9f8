//! Hashes of values of any kind, of which some were edited since the file was read.

use std::cell::Cell;

use random_draws::{RandomDraws, check_seeds};
use rbx_dom_weak::ustr;
use rbx_types::Variant;
use rustc_hash::FxHashSet;
use scene_schemas::{Fingerprint, FingerprintHasher};

use super::random_values::draw_value;
use crate::{FileFormat, Node, Scene, reflection};

/// A property of each kind.
const PROPERTIES: [(&str, &str); 28] = [
    ("ArcHandles", "Axes"),
    ("BrickColorValue", "Value"),
    ("Handles", "Faces"),
    ("ImageLabel", "SliceCenter"),
    ("IntValue", "Value"),
    ("MeshPart", "PhysicalConfigData"),
    ("MeshPart", "Size"),
    ("Model", "PrimaryPart"),
    ("Model", "WorldPivotData"),
    ("NumberValue", "Value"),
    ("Part", "Anchored"),
    ("Part", "Attributes"),
    ("Part", "CFrame"),
    ("Part", "CollisionGroupId"),
    ("Part", "Color"),
    ("Part", "CustomPhysicalProperties"),
    ("Part", "Material"),
    ("Part", "Tags"),
    ("Part", "Transparency"),
    ("ParticleEmitter", "Color"),
    ("ParticleEmitter", "Lifetime"),
    ("ParticleEmitter", "Size"),
    ("RayValue", "Value"),
    ("StringValue", "Value"),
    ("TextLabel", "FontFace"),
    ("TextLabel", "Position"),
    ("TextLabel", "Text"),
    ("UIGradient", "Offset"),
];

/// Draws a value of a property; None to remove it.
fn draw_stored(class: &str, property: &str, draws: &mut RandomDraws) -> Option<Variant> {
    let (_, kind) =
        reflection::stored_name(class, property).unwrap_or_else(|| panic!("{class}.{property}"));
    // Few values, so that there are runs of equal ones.
    let mut few = RandomDraws::from_seed(draws.below(4) as u64);
    (draws.below(5) > 0).then(|| draw_value(&mut few, kind, &[rbx_types::Ref::none()]))
}

fn edit(scene: &mut Scene, draws: &mut RandomDraws) {
    let nodes: Vec<Node> = scene.descendants(scene.root()).collect();
    let node = nodes[draws.below(nodes.len())];
    let class = scene.class(node).to_owned();
    let own: Vec<&str> =
        PROPERTIES.iter().filter(|(of, _)| *of == class).map(|(_, name)| *name).collect();
    let property = own[draws.below(own.len())];
    let value = draw_stored(&class, property, draws);
    let key = ustr(property);
    if value.as_ref().is_none_or(|value| scene.check_storable(node, key, value).is_ok()) {
        scene.store_value(node, key, value);
    }
}

fn hash(scene: &Scene, nodes: &[Node]) -> Fingerprint {
    let nodes: Vec<u32> = nodes.iter().map(|node| node.0).collect();
    let mut hashing = FingerprintHasher::default();
    let file = scene.file.binary().unwrap();
    scene.hash_other_values(file, &nodes, &FxHashSet::default(), &mut hashing);
    hashing.finish()
}

#[test]
fn edits_hash_like_the_columns_that_they_are_written_to() {
    let told = Cell::new(0);
    check_seeds(0..600, |draws| {
        let mut scene = Scene::empty(FileFormat::Binary);
        for _ in 0..=draws.below(12) {
            let class = PROPERTIES[draws.below(PROPERTIES.len())].0;
            scene.create(scene.root(), class, "It");
            scene.create(scene.root(), class, "It");
        }
        for _ in 0..draws.below(60) {
            edit(&mut scene, draws);
        }
        let mut scene = Scene::decode(&scene.encode().unwrap()).unwrap();
        let all: Vec<Node> = scene.descendants(scene.root()).collect();
        let nodes: Vec<Node> = all.into_iter().filter(|_| draws.below(3) > 0).collect();
        let start = hash(&scene, &nodes);
        for _ in 0..draws.below(8) {
            edit(&mut scene, draws);
        }
        let edited = hash(&scene, &nodes);
        told.set(told.get() + usize::from(start != edited));
        let read = Scene::decode(&scene.encode().unwrap()).unwrap();
        assert_eq!(hash(&read, &nodes), edited);
    });
    assert!(told.get() > 200, "only {} of 600 edits were told", told.get());
}
