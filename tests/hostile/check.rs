//! The invariants of any file that opens.

use std::sync::Arc;

use random_draws::RandomDraws;
use scene_schemas::Value;
use vector_place::diff::diff_scenes;
use vector_place::selector::Selector;
use vector_place::{DetachedSubtree, Node, Scene};

/// How far an input got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// The file does not open.
    Refused,
    /// The file opens, but cannot be written after the edits.
    Opened,
    /// The file was edited, written and read again.
    Written,
}

/// Number of instances that are examined.
const LOOKS: usize = 60;

/// Uses a file as a session would, and checks the invariants.
pub(super) fn check(bytes: &Arc<[u8]>, draws: &mut RandomDraws) -> Result<Stage, String> {
    let Ok(mut scene) = Scene::open(Arc::clone(bytes)) else {
        return Ok(Stage::Refused);
    };
    let unchanged = scene.encode().map_err(|why| format!("unchanged: {why}"))?;
    if unchanged[..] != bytes[..] {
        let same = unchanged.iter().zip(bytes.iter()).take_while(|(a, b)| a == b).count();
        return Err(format!(
            "a file that nobody edited changed at byte {same} ({} bytes became {})",
            bytes.len(),
            unchanged.len()
        ));
    }
    walk(&scene, draws)?;
    let mark = scene.journal_mark();
    let edits = edit(&mut scene, draws);
    let stage = match scene.encode() {
        Ok(after) => {
            hold(&scene, &after, &edits)?;
            let back = scene.reverse_patch().apply(&after);
            if back.as_deref() != Some(&bytes[..]) {
                return Err(format!("{edits:?}: the way back leads elsewhere"));
            }
            Stage::Written
        }
        Err(_) => Stage::Opened,
    };
    scene.rollback(mark);
    let again = scene.encode().map_err(|why| format!("{edits:?}, taken back: {why}"))?;
    if again[..] != bytes[..] {
        return Err(format!("{edits:?}: what was taken back left something"));
    }
    Ok(stage)
}

/// Checks that the written file can be read and equals the scene.
fn hold(scene: &Scene, after: &[u8], edits: &[String]) -> Result<(), String> {
    let read = Scene::decode(after)
        .map_err(|why| format!("{edits:?}: what was written does not open: {why}"))?;
    if read.len() != scene.len() {
        return Err(format!("{edits:?}: {} instances became {}", scene.len(), read.len()));
    }
    for (old, new) in [(scene, &read), (&read, scene)] {
        let found = diff_scenes(old, new);
        if let Some(first) = found.first() {
            return Err(format!("{edits:?}: {} differences, such as {first:?}", found.len()));
        }
    }
    Ok(())
}

fn walk(scene: &Scene, draws: &mut RandomDraws) -> Result<(), String> {
    let nodes: Vec<Node> = scene.subtree(scene.root()).collect();
    if nodes.len() != scene.len() + 1 {
        return Err("the walk and the length differ".to_owned());
    }
    let _ = (scene.unsupported_items(), scene.is_place());
    for _ in 0..LOOKS.min(nodes.len()) {
        look(scene, draws.pick(&nodes))?;
    }
    for text in ["Part", "#Wall", "[Anchored = true]", "* > Script", "Model Part[Name ^= \"W\"]"] {
        if let Ok(selector) = Selector::parse(text) {
            let _ = selector.check(scene);
            let found = selector.select(scene, scene.root());
            if found.iter().any(|node| !scene.is_live(*node)) {
                return Err(format!("{text} finds what is not there"));
            }
        }
    }
    Ok(())
}

fn look(scene: &Scene, node: Node) -> Result<(), String> {
    let path = scene.path(node);
    if scene.resolve(&path).ok() != Some(node) {
        return Err(format!("{path} is not found by its path"));
    }
    let id = scene.id(node);
    if scene.by_id(&id) != Some(node) {
        return Err(format!("{path} is not found by its id {id:?}"));
    }
    if scene
        .parent(node)
        .is_some_and(|it| scene.children(it).nth(scene.index(node) as usize) != Some(node))
    {
        return Err(format!("{path} is not where it stands"));
    }
    for name in scene.stored_names(node) {
        let _ = (scene.stored_value(node, name), scene.value(node, name));
    }
    for name in scene.attribute_names(node) {
        let _ = scene.attribute(node, &name);
    }
    for name in ["Name", "Position", "Orientation", "Enabled", "BrickColor", "Nothing", ""] {
        let _ = scene.value(node, name);
    }
    let _ = (scene.tags(node), scene.script_text(node), scene.fixed_reason(scene.class(node)));
    Ok(())
}

/// Makes a few edits and describes them.
fn edit(scene: &mut Scene, draws: &mut RandomDraws) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..=draws.below(5) {
        let nodes: Vec<Node> = scene.subtree(scene.root()).take(3_000).collect();
        let (node, other) = (draws.pick(&nodes), draws.pick(&nodes));
        let said = format!("{}", scene.path(node));
        let kind = draws.below(14);
        let what = if node == scene.root() {
            let class = draws.pick(&["Folder", "Workspace", "Script"]);
            scene.create(node, class, "New");
            "create"
        } else if kind < 7 {
            change(scene, node, other, kind, draws)
        } else {
            rebuild(scene, node, other, kind, draws)
        };
        done.push(format!("{what} {said}"));
    }
    done
}

/// Edits the name, the properties or the source of an instance.
fn change(
    scene: &mut Scene,
    node: Node,
    other: Node,
    kind: usize,
    draws: &mut RandomDraws,
) -> &'static str {
    let names = scene.stored_names(node);
    let name = if names.is_empty() { "Anything" } else { draws.pick(&names) };
    match kind {
        0 => {
            let name = draws.pick(&["Hostile", "", "Größe", "a<b>&\"']]>", " \n "]);
            scene.rename(node, name);
            "rename"
        }
        1 => {
            let value = scene.stored_value(other, name).or_else(|| scene.value(node, name));
            let _ = scene.set_property(node, name, value.as_ref());
            "set"
        }
        2 => {
            let _ = scene.set_property(node, name, None);
            "unset"
        }
        3 => {
            let _ = scene.set_property(node, "@Hostile", Some(&Value::Float64(0.5)));
            "attribute"
        }
        4 => {
            let _ =
                scene.set_property(node, "Tags", Some(&Value::Tags(vec!["A".into(), "B".into()])));
            "tags"
        }
        5 => {
            let other = if other == scene.root() { node } else { other };
            let target = scene.target(other);
            let name = draws.pick(&["Value", "PrimaryPart", "Part0", "NotInvented"]);
            let _ = scene.set_property(node, name, Some(&Value::Ref(Some(target))));
            "reference"
        }
        _ => {
            if scene.is_script(node) {
                scene.set_source(node, "return 1 -- <&]]>\r\n".to_owned());
            } else {
                let _ = scene.set_property(node, "NotInvented", Some(&Value::String("yet".into())));
            }
            "source"
        }
    }
}

/// Edits the tree.
fn rebuild(
    scene: &mut Scene,
    node: Node,
    other: Node,
    kind: usize,
    draws: &mut RandomDraws,
) -> &'static str {
    let index = Some(draws.below(5) as u32);
    match kind {
        7 | 8 => {
            let class = scene.class(other).to_owned();
            let class = if draws.below(2) == 0 { &class } else { "Part" };
            let new = scene.create(node, class, "New");
            let name = scene.stored_names(other).first().copied();
            if let Some((name, value)) =
                name.and_then(|it| Some((it, scene.stored_value(other, it)?)))
            {
                let _ = scene.set_property(new, name, Some(&value));
            }
            "create"
        }
        9 if scene.subtree(node).count() < 3_000 => {
            let copy = scene.copy(node, other, "Copy");
            let _ = scene.references_out_of(copy);
            "copy"
        }
        10 => {
            let _ = scene.move_to(node, other, index);
            "move"
        }
        11 | 12 => {
            let _ = (scene.references_into(node), scene.references_out_of(node));
            scene.delete(node);
            "delete"
        }
        _ => {
            let Ok(subtree) = scene.encode_subtree(node) else { return "nothing" };
            let subtree = DetachedSubtree::decode(&subtree).expect("what was encoded is a subtree");
            if draws.below(2) == 0 {
                scene.delete(node);
            }
            let other = if scene.is_live(other) { other } else { scene.root() };
            scene.restore_subtree(subtree, other, index);
            "restore"
        }
    }
}
