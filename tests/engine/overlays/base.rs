//! Small random places, as a model and as a scene: in each format, and as a Rojo project.

use std::fs;

use random_draws::RandomDraws;
use scene_schemas::Value;
use tempfile::TempDir;
use vector_core::planning_scene::PlanningScene;
use vector_place::{FileFormat, Node, Scene};
use vector_rojo_project::RojoProject;

use super::model::{Key, LINES, Model, ModelValue, dump_scene, memory_text, script_text};

const CLASSES: [&str; 5] = ["Part", "Folder", "Model", "ObjectValue", "Script"];
pub(super) const NAMES: [&str; 3] = ["A", "B", "C"];
const TOPS: [&str; 2] = ["TopA", "TopB"];

/// The number of zones: one for each worker, and one that all share.
pub(super) const ZONES: usize = 5;

#[derive(Debug, Clone, Copy)]
enum BaseKind {
    Place(FileFormat),
    Model(FileFormat),
    Project,
}

const KINDS: [BaseKind; 5] = [
    BaseKind::Place(FileFormat::Binary),
    BaseKind::Place(FileFormat::Xml),
    BaseKind::Model(FileFormat::Binary),
    BaseKind::Model(FileFormat::Xml),
    BaseKind::Project,
];

/// A base that can be opened any number of times.
pub(super) struct Base {
    pub(super) model: Model,
    /// The roots of the model.
    pub(super) tops: [Key; 2],
    /// The roots of the zones. The last is the shared one.
    pub(super) zones: Vec<Key>,
    pub(super) shared: SharedZone,
    source: BaseSource,
}

enum BaseSource {
    File(Vec<u8>),
    Project(TempDir),
}

/// The instances of the zone that all workers may change.
#[derive(Debug, Clone, Copy)]
pub(super) struct SharedZone {
    pub(super) root: Key,
    pub(super) part: Key,
    pub(super) other: Key,
    pub(super) model: Key,
    pub(super) inner: Key,
    pub(super) deep: Key,
    pub(super) folder: Key,
    pub(super) pointer: Key,
    pub(super) script: Key,
}

/// A scene of the base, with the instances of its tops.
pub(super) struct OpenedBase {
    pub(super) scene: PlanningScene,
    pub(super) tops: Vec<Node>,
}

impl Base {
    pub(super) fn random(draws: &mut RandomDraws) -> Self {
        let mut model = Model { memory: vec![0; LINES], ..Model::default() };
        let mut count = 0;
        let mut add = |model: &mut Model, class, name: &str, parent| {
            let key = Key::Base(count);
            count += 1;
            model.add(key, class, name, parent);
            key
        };
        let tops = TOPS.map(|name| add(&mut model, "Folder", name, None));
        let mut zones = Vec::new();
        for zone in 0..ZONES {
            let root = add(&mut model, "Model", &format!("Zone{zone}"), Some(tops[zone % 2]));
            zones.push(root);
            if zone + 1 == ZONES {
                break;
            }
            let mut inside = vec![root];
            for at in 0..3 + draws.below(5) {
                let class = if at == 0 { "Script" } else { draws.pick(&CLASSES) };
                let (name, parent) = (draws.pick(&NAMES), draws.pick(&inside));
                inside.push(add(&mut model, class, name, Some(parent)));
            }
            for key in &inside {
                if model.nodes[key].class == "ObjectValue" && draws.below(2) == 0 {
                    let to = ModelValue::Instance(draws.pick(&inside));
                    model.nodes.get_mut(key).unwrap().props.insert("Value", to);
                }
            }
        }
        let root = zones[ZONES - 1];
        let part = add(&mut model, "Part", "P", Some(root));
        let other = add(&mut model, "Part", "Q", Some(root));
        let outer = add(&mut model, "Model", "M", Some(root));
        let inner = add(&mut model, "Folder", "Inner", Some(outer));
        let deep = add(&mut model, "Part", "Deep", Some(inner));
        let folder = add(&mut model, "Folder", "F", Some(root));
        let pointer = add(&mut model, "ObjectValue", "V", Some(root));
        let script = add(&mut model, "Script", "Code", Some(root));
        let shared =
            SharedZone { root, part, other, model: outer, inner, deep, folder, pointer, script };
        let source = BaseSource::new(draws.pick(&KINDS), &model, tops);
        Self { model, tops, zones, shared, source }
    }

    pub(super) fn open(&self) -> OpenedBase {
        let memory = memory_text(&self.model.memory);
        let mut scene = match &self.source {
            BaseSource::File(bytes) => PlanningScene::from(Scene::decode(bytes).unwrap()),
            BaseSource::Project(folder) => RojoProject::open(folder.path(), false).unwrap().1,
        };
        scene.load_memory(memory);
        let find_top = |name: &&str| {
            scene.descendants(scene.root()).find(|node| scene.name(*node) == *name).unwrap()
        };
        let tops = TOPS.iter().map(find_top).collect();
        OpenedBase { scene, tops }
    }

    /// Whether the base is one file.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.source, BaseSource::File(_))
    }
}

impl OpenedBase {
    /// The lines of [`Model::dump`] for the current state of the scene.
    pub(super) fn dump(&self) -> Vec<String> {
        dump_scene(&self.scene, self.scene.memory().unwrap(), &self.tops)
    }
}

impl BaseSource {
    fn new(kind: BaseKind, model: &Model, tops: [Key; 2]) -> Self {
        match kind {
            BaseKind::Place(format) => {
                let mut scene = Scene::empty(format);
                let services = ["Workspace", "ServerStorage"];
                for (service, top) in services.into_iter().zip(tops) {
                    let service = scene.create(scene.root(), service, service);
                    build(&mut scene, service, model, top);
                }
                Self::File(scene.encode().unwrap())
            }
            BaseKind::Model(format) => {
                let mut scene = Scene::empty(format);
                let root = scene.root();
                for top in tops {
                    build(&mut scene, root, model, top);
                }
                Self::File(scene.encode().unwrap())
            }
            BaseKind::Project => {
                let folder = tempfile::tempdir().unwrap();
                let files = [("TopA.rbxmx", FileFormat::Xml), ("TopB.rbxm", FileFormat::Binary)];
                for ((file, format), top) in files.into_iter().zip(tops) {
                    let mut scene = Scene::empty(format);
                    let root = scene.root();
                    build(&mut scene, root, model, top);
                    fs::write(folder.path().join(file), scene.encode().unwrap()).unwrap();
                }
                let project = r#"{ "name": "Game", "tree": { "$className": "DataModel",
                    "Workspace": { "TopA": { "$path": "TopA.rbxmx" } },
                    "ServerStorage": { "TopB": { "$path": "TopB.rbxm" } } } }"#;
                fs::write(folder.path().join("default.project.json"), project).unwrap();
                Self::Project(folder)
            }
        }
    }
}

fn build(scene: &mut Scene, parent: Node, model: &Model, top: Key) {
    let keys = model.subtree(top);
    let mut nodes = std::collections::HashMap::new();
    for key in &keys {
        let it = &model.nodes[key];
        let parent = it.parent.and_then(|above| nodes.get(&above).copied()).unwrap_or(parent);
        let node = scene.create(parent, it.class, &it.name);
        if it.class == "Script" {
            scene.set_source(node, script_text(&it.lines));
        }
        nodes.insert(*key, node);
    }
    for key in &keys {
        if let Some(ModelValue::Instance(to)) = model.nodes[key].props.get("Value") {
            let value = Value::Ref(Some(scene.target(nodes[to])));
            scene.set_property(nodes[key], "Value", Some(&value)).unwrap();
        }
    }
}
