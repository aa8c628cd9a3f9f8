//! A small place, overlays written as lines, and the merged result as lines.

use scene_schemas::command::Props;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::{Command, Fingerprint, InstancePath, Value};
use vector_place::{FileFormat, Node, Scene};

use super::super::*;
use crate::proposal::{ProposalDraft, text_of};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// What a test sees of a merge.
#[derive(Debug)]
pub(super) struct MergeOutcome {
    pub(super) lines: Vec<String>,
    /// The commands of the taken proposals.
    pub(super) commands: Vec<Command>,
    /// The path and class of each instance, in order.
    pub(super) tree: Vec<String>,
    pub(super) scene: PlanningScene,
    pub(super) json: String,
}

pub(super) fn place() -> PlanningScene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    let workspace = scene.create(game, "Workspace", "Workspace");
    let storage = scene.create(game, "ServerStorage", "ServerStorage");
    let house = scene.create(workspace, "Model", "House");
    let door = scene.create(house, "Part", "Door");
    scene.create(door, "Part", "Knob");
    scene.create(workspace, "Folder", "Trees");
    for name in ["Wall", "Gate"] {
        scene.create(workspace, "Part", name);
    }
    scene.create(workspace, "ObjectValue", "Pointer");
    let main = scene.create(storage, "Script", "Main");
    scene.set_source(main, "local a = 1\nlocal b = 2\n\n\nprint(a, b)\n".to_owned());
    // Read again, so that the instances have the ids of a file.
    let scene = Scene::decode(&scene.encode().unwrap()).unwrap();
    PlanningScene::new(scene, Some("one\ntwo\nthree\n".to_owned())).with_set_many_from(2)
}

/// Plans overlays on the place. Each is a list of proposals, whose edits are separated by `;`.
pub(super) fn plan(scene: &mut PlanningScene, overlays: &[&[&str]]) -> Vec<Vec<Proposal>> {
    let plan_overlay = |(at, edits): (usize, &&[&str])| {
        let mark = scene.journal_mark();
        let planned = (0..).zip(*edits).map(|(number, edits)| {
            scene.begin_scope(call_of(at, number));
            let blobs = BlobStore::new();
            let mut draft = ProposalDraft::new(scene, &blobs);
            edits.split(';').for_each(|edit| draft_edit(&mut draft, edit.trim(), at));
            draft.finish(&Fingerprint::hash_bytes(b"base")).unwrap()
        });
        let planned = planned.collect();
        scene.rollback(mark);
        planned
    };
    overlays.iter().enumerate().map(plan_overlay).collect()
}

fn call_of(overlay: usize, number: u64) -> Seq {
    Seq(1_000 + 100 * overlay as u64 + number)
}

fn draft_edit(draft: &mut ProposalDraft<'_>, edit: &str, overlay: usize) {
    let words: Vec<&str> = edit.split_whitespace().collect();
    let node = |draft: &ProposalDraft<'_>, path: &str| {
        let path: InstancePath = format!("game.{path}").parse().unwrap();
        draft.scene().resolve(&path).unwrap()
    };
    match words[..] {
        ["create", parent, class, name] => {
            let parent = node(draft, parent);
            draft.create_instance(parent, class, name, Props::new()).unwrap();
        }
        ["clone", source, parent, name] => {
            let (source, parent) = (node(draft, source), node(draft, parent));
            draft.clone_instance(source, parent, name).unwrap();
        }
        ["set", path, property, value] => {
            let value = parse_value(value, |path| draft.scene().target(node(draft, path)));
            set(draft, node(draft, path), property, value);
        }
        ["rename", path, name] => {
            set(draft, node(draft, path), "Name", Some(Value::String(name.to_owned())));
        }
        ["move", path, parent] => {
            let (it, parent) = (node(draft, path), node(draft, parent));
            draft.move_to(it, parent).unwrap();
        }
        ["delete", path] => {
            let it = node(draft, path);
            draft.delete_instance(it).unwrap();
        }
        ["edit", path, from, to] => {
            let it = node(draft, path);
            let path = draft.scene().path(it);
            let before = text_of(draft.scene(), it, &path).unwrap().into_owned();
            let after = before.replace(&from.replace('_', " "), &to.replace('_', " "));
            let edits = vector_text_edit::diff_lines(&before, &after);
            draft.edit_script(it, edits).unwrap();
        }
        ["remember", from, to] => {
            let after = draft.memory_text().unwrap().replace(from, to);
            draft.edit_memory(&after).unwrap();
        }
        ["setall", class, property, value] => {
            let props =
                Props::from([(property.to_owned(), parse_value(value, |_| unreachable!()))]);
            let scene = draft.scene();
            let all = scene.descendants(scene.root());
            let nodes: Vec<Node> = all.filter(|node| scene.class(*node) == class).collect();
            let by_class = [(class.to_owned(), props)].into();
            let groups = draft.group_sets(nodes, &by_class);
            assert!(groups.rest.is_empty() && groups.groups.len() == 1);
            groups.groups.into_iter().for_each(|group| draft.set_many(group).unwrap());
        }
        ["readproperty", path, property] => {
            let path = draft.scene().path(node(draft, path));
            let property = property.to_owned();
            draft.note_read(scene_schemas::proposal::PlanRead::Property { path, property });
        }
        ["read", ..] => {
            let selector = words[1..].join(" ");
            draft.note_read(scene_schemas::proposal::PlanRead::Selector { selector });
        }
        ["readtext", path] => {
            let it = node(draft, path);
            draft.note_text(it);
        }
        ["readplace"] => draft.note_read(scene_schemas::proposal::PlanRead::Place {}),
        _ => panic!("{edit} of overlay {overlay} is not known"),
    }
}

fn set(draft: &mut ProposalDraft<'_>, node: Node, property: &str, value: Option<Value>) {
    let props = Props::from([(property.to_owned(), value)]);
    assert!(draft.set_properties(node, props).unwrap());
}

fn parse_value(text: &str, target: impl Fn(&str) -> scene_schemas::Target) -> Option<Value> {
    Some(match text {
        "none" => return None,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if text.starts_with('&') => Value::Ref(Some(target(&text[1..]))),
        _ if text.starts_with('#') => Value::BrickColor(
            rbx_types::BrickColor::from_name(&text[1..].replace('_', " ")).unwrap(),
        ),
        _ if text.contains(',') => {
            let parts: Vec<f32> = text.split(',').map(|it| it.parse().unwrap()).collect();
            Value::Color3(rbx_types::Color3::new(parts[0], parts[1], parts[2]))
        }
        _ => Value::Float32(text.parse().unwrap()),
    })
}

/// Merges overlays on the place.
pub(super) fn merge(edits: &[&[&str]]) -> MergeOutcome {
    let mut scene = place();
    let planned = plan(&mut scene, edits);
    merge_planned(scene, &planned)
}

pub(super) fn merge_planned(mut scene: PlanningScene, planned: &[Vec<Proposal>]) -> MergeOutcome {
    let overlays: Vec<Overlay<'_>> = planned
        .iter()
        .enumerate()
        .map(|(at, proposals)| Overlay {
            name: NAMES[at],
            proposals: (0..)
                .zip(proposals)
                .map(|(number, proposal)| {
                    let call = call_of(at, number);
                    OverlayProposal { seq: Seq(call.0 + 1_000), call, proposal }
                })
                .collect(),
        })
        .collect();
    let merged = merge_overlays(&mut scene, &overlays, &BlobStore::new());
    let id = |seq: Seq| format!("{}{}", NAMES[(seq.0 as usize - 2_000) / 100], seq.0 % 100);
    let mut lines = Vec::new();
    for it in &merged.taken {
        let mut line = format!("{} taken", id(it.origin.proposal));
        if it.commands.is_empty() {
            line += ", all done";
        }
        for equal in &it.equal {
            let by = id(equal.earlier.proposal);
            line += &match &equal.kind {
                EqualKind::Property { property } => format!(", {property} by {by}"),
                EqualKind::Text {} => format!(", text by {by}"),
                EqualKind::Move {} => format!(", move by {by}"),
                EqualKind::Deletion {} => format!(", deletion by {by}"),
            };
        }
        for text in &it.merged_texts {
            let by: Vec<String> = text.earlier.iter().map(|it| id(it.proposal)).collect();
            line += &format!(", merged with {}", by.join(" "));
        }
        lines.push(line);
    }
    for it in &merged.conflicts {
        let kind = serde_json::to_value(&it.kind).unwrap()["kind"].as_str().unwrap().to_owned();
        let earlier = it.earlier.as_ref().map_or_else(
            || "nothing".to_owned(),
            |side| format!("{} {}", id(side.proposal), side.wants),
        );
        let (later, wants) = (id(it.later.proposal), &it.later.wants);
        lines.push(format!("{kind} at {}: {earlier} | {later} {wants}", it.path));
    }
    for it in &merged.dependents {
        let (own, on) = (id(it.origin.proposal), id(it.depends_on));
        lines.push(format!("{own} without {on}: {:?}", it.reason));
    }
    for it in &merged.stale_reads {
        let (reader, writer) = (id(it.reader.proposal), id(it.writer.proposal));
        let subjects: Vec<String> = it.subjects.iter().map(describe_subject).collect();
        lines.push(format!("{reader} reads of {writer}: {}", subjects.join(", ")));
    }
    let commands = merged.taken.iter().flat_map(|it| it.commands.iter().cloned()).collect();
    let json = serde_json::to_string(&merged).unwrap();
    let tree = scene.descendants(scene.root());
    let tree = tree.map(|node| format!("{} {}", scene.class(node), scene.path(node))).collect();
    MergeOutcome { lines, commands, tree, scene, json }
}

fn describe_subject(subject: &ReadSubject) -> String {
    match subject {
        ReadSubject::Instance { path } => path.to_string(),
        ReadSubject::Property { path, property } => format!("{property} of {path}"),
        ReadSubject::Tree { path } => format!("all of {path}"),
        ReadSubject::ChildOrder { path } => format!("order in {path}"),
        ReadSubject::Selector { selector } => format!("matches of {selector}"),
        ReadSubject::Place {} => "the place".to_owned(),
    }
}

/// Merges overlays, and compares what came of it other than stale reads.
#[track_caller]
pub(super) fn check(edits: &[&[&str]], expected: &[&str]) -> MergeOutcome {
    let outcome = merge(edits);
    let found: Vec<&String> =
        outcome.lines.iter().filter(|line| !line.contains(" reads of ")).collect();
    assert_eq!(found, expected, "{edits:?}");
    outcome
}

impl MergeOutcome {
    pub(super) fn node(&self, path: &str) -> Option<Node> {
        self.scene.resolve(&format!("game.{path}").parse().unwrap()).ok()
    }

    pub(super) fn value(&self, path: &str, property: &str) -> Option<Value> {
        self.scene.stored_value(self.node(path).unwrap(), property)
    }

    pub(super) fn text(&self, path: &str) -> String {
        self.scene.script_text(self.node(path).unwrap()).unwrap().into_owned()
    }
}
