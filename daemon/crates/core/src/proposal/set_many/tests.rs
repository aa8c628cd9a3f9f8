//! Proposals with commands over many instances, against the same proposals with a command for each.

use std::collections::BTreeSet;

use random_draws::{RandomDraws, check_seeds};
use scene_schemas::entry::Seq;
use serde_json::{Value as Json, json};
use vector_place::FileFormat;
use vector_place::diff::diff_scenes;

use super::*;
use crate::proposal::{
    BlobStore, ProposalDraft, ProposalUnit, build_inverse, draft_part, perform_command,
    relocate_command, rematch_selection, target_fingerprint,
};
use crate::tools::{Plan, plan_call};

const CALL: Seq = Seq(7);

fn base() -> Fingerprint {
    Fingerprint::hash_bytes(b"base")
}

/// The bytes of a place with parts of few names and values.
fn draw_place(draws: &mut RandomDraws) -> Vec<u8> {
    let format = draws.pick(&[FileFormat::Binary, FileFormat::Xml]);
    let mut scene = Scene::empty(format);
    let workspace = scene.create(scene.root(), "Workspace", "Workspace");
    let mut parents = vec![workspace];
    for _ in 0..draws.below(40) {
        let class = draws.pick(&["Part", "Part", "Part", "MeshPart", "Model", "Script"]);
        let name = draws.pick(&["Part", "Wall", "Door"]);
        let node = scene.create(draws.pick(&parents), class, name);
        if class == "Model" || draws.one_in(6) {
            parents.push(node);
        }
        if class.ends_with("Part") {
            let number = Value::Float32(draws.below(3) as f32 / 2.0);
            scene.set_property(node, "Transparency", Some(&number)).unwrap();
            if draws.one_in(3) {
                scene.set_property(node, "Anchored", Some(&Value::Bool(true))).unwrap();
            }
        }
    }
    scene.encode().unwrap()
}

fn open(bytes: &[u8], set_many_from: Option<usize>) -> PlanningScene {
    let scene = PlanningScene::from(Scene::decode(bytes).unwrap());
    match set_many_from {
        Some(count) => scene.with_set_many_from(count),
        None => scene,
    }
}

fn draw_args(draws: &mut RandomDraws) -> Json {
    let mut props = serde_json::Map::new();
    let all = [
        ("Transparency", json!(draws.below(3) as f32 / 2.0)),
        ("Anchored", draws.pick(&[json!(true), json!(false), Json::Null])),
        ("Position", json!([draws.below(2), 0, 0])),
        ("@Speed", json!(draws.below(2))),
        ("Reflectance", json!(draws.below(3))),
    ];
    for (name, value) in all {
        if draws.one_in(3) || (props.is_empty() && name == "Reflectance") {
            props.insert(name.to_owned(), value);
        }
    }
    let selector = draws.pick(&["BasePart", "Part", "MeshPart, Part.Tagged", "Model BasePart"]);
    json!({ "selector": selector, "props": props })
}

/// Plans a call on the scene; it stays changed on trial.
fn plan(scene: &mut PlanningScene, args: &Json) -> Result<(Proposal, Json), String> {
    scene.begin_scope(CALL);
    let blobs = BlobStore::new();
    match plan_call(CALL, "set_properties", args, scene, &base(), &blobs, None) {
        Ok(Plan::Propose(proposal, answer)) => Ok((*proposal, answer)),
        Ok(other) => Err(format!("{other:?}")),
        Err(refusal) => Err(refusal.0),
    }
}

/// The rows without the numbers of their commands, in an order that does not depend on these.
fn sorted_rows(proposal: &Proposal) -> Vec<String> {
    let row = |row: &Row| format!("{} {} {:?}", row.path, row.class, row.change);
    let mut rows: Vec<String> = proposal.preview.rows.iter().map(row).collect();
    rows.sort_unstable();
    rows
}

/// The units of a proposal with the path of each, instances of commands over many one by one.
fn units_by_path(scene: &PlanningScene, proposal: &Proposal) -> Vec<(String, ProposalUnit)> {
    let expanded = ExpandedProposal::new(scene, &BlobStore::new(), proposal).unwrap();
    let commands = expanded.proposal.commands.iter().zip(&expanded.units);
    commands.map(|(command, unit)| (command.target().path.to_string(), *unit)).collect()
}

fn encode(scene: &mut PlanningScene) -> Vec<u8> {
    scene.scene_mut().encode().unwrap()
}

/// Performs commands for good, and returns the scene as reopened with the inverse and its witnesses.
fn apply(
    scene: &mut PlanningScene,
    proposal: &Proposal,
) -> (Vec<u8>, Vec<Command>, Vec<Option<Fingerprint>>, BlobStore) {
    scene.begin_scope(CALL);
    let mut backs = Vec::new();
    for command in &proposal.commands {
        backs.extend(perform_command(scene, command, &BlobStore::new()).unwrap().backs);
    }
    let bytes = encode(scene);
    let inverse = build_inverse(scene.scene_mut(), backs).unwrap();
    let mut blobs = inverse.blobs;
    for table in inverse.commands.iter().filter_map(Command::table) {
        blobs.insert(table.clone(), scene.take_blob(table).unwrap());
    }
    (bytes, inverse.commands, inverse.witnesses, blobs)
}

/// Drafts a selection of a proposal, and returns it with the resulting file.
fn take_part(
    scene: &mut PlanningScene,
    proposal: &Proposal,
    taken: &[ProposalUnit],
) -> Result<(Proposal, Vec<u8>), String> {
    let (mark, blobs) = (scene.journal_mark(), BlobStore::new());
    scene.begin_scope(CALL);
    let mut draft = ProposalDraft::new(scene, &blobs);
    let drafted = draft_part(&mut draft, proposal, taken).and_then(|()| draft.finish(&base()));
    let bytes = encode(scene);
    scene.rollback(mark);
    drafted.map(|part| (part, bytes)).map_err(|refusal| refusal.0)
}

#[test]
fn proposals_over_many_instances_equal_those_over_each() {
    check_seeds(0..300, |draws| {
        let bytes = draw_place(draws);
        let from = 1 + draws.below(3);
        let (mut many, mut each) = (open(&bytes, Some(from)), open(&bytes, None));
        let args = draw_args(draws);
        let marks = [many.journal_mark(), each.journal_mark()];
        let (by_set, by_one) = match (plan(&mut many, &args), plan(&mut each, &args)) {
            (Ok(many), Ok(each)) => (many, each),
            (many, each) => return assert_eq!(many.err(), each.err()),
        };
        assert_eq!(by_set.1, by_one.1, "answer");
        let (by_set, by_one) = (by_set.0, by_one.0);
        assert_eq!((&by_set.title, by_set.class), (&by_one.title, by_one.class));
        assert_eq!(by_set.warnings, by_one.warnings);
        assert_eq!(sorted_rows(&by_set), sorted_rows(&by_one));
        let reason = crate::proposal::class_reason;
        assert_eq!(reason(&by_set), reason(&by_one));
        assert!(encode(&mut many) == encode(&mut each));
        many.rollback(marks[0]);
        each.rollback(marks[1]);

        // A part of it.
        let (sets, ones) = (units_by_path(&many, &by_set), units_by_path(&each, &by_one));
        let chosen: BTreeSet<String> =
            ones.iter().filter(|_| draws.below(3) > 0).map(|(path, _)| path.clone()).collect();
        let pick = |units: &[(String, ProposalUnit)]| -> Vec<ProposalUnit> {
            units.iter().filter(|(path, _)| chosen.contains(path)).map(|(_, unit)| *unit).collect()
        };
        let part_of_sets = take_part(&mut many, &by_set, &pick(&sets)).unwrap();
        let part_of_ones = take_part(&mut each, &by_one, &pick(&ones)).unwrap();
        assert!(part_of_sets.1 == part_of_ones.1);
        assert_eq!(part_of_sets.0.title, part_of_ones.0.title);
        assert_eq!(sorted_rows(&part_of_sets.0), sorted_rows(&part_of_ones.0));

        // The same part when the call is planned again after a change by someone else.
        for scene in [&mut many, &mut each] {
            let first = scene.descendants(scene.root()).nth(1);
            let Some(node) = first else { continue };
            match args["selector"].as_str().map_or(0, str::len) % 2 {
                0 => scene.scene_mut().rename(node, "Renamed"),
                _ => drop(scene.scene_mut().create(node, "Part", "Part")),
            }
        }
        let marks = [many.journal_mark(), each.journal_mark()];
        let again = [plan(&mut many, &args), plan(&mut each, &args)];
        many.rollback(marks[0]);
        each.rollback(marks[1]);
        if let [Ok((set_now, _)), Ok((one_now, _))] = again {
            let blobs = BlobStore::new();
            let found_sets =
                rematch_selection([&by_set, &part_of_sets.0, &set_now], false, &many, &blobs);
            let found_ones =
                rematch_selection([&by_one, &part_of_ones.0, &one_now], false, &each, &blobs);
            assert_eq!(found_sets.is_ok(), found_ones.is_ok(), "{found_sets:?} {found_ones:?}");
            if let (Ok(sets), Ok(ones)) = (found_sets, found_ones) {
                let sets = take_part(&mut many, &set_now, &sets).map(|it| it.1);
                let ones = take_part(&mut each, &one_now, &ones).map(|it| it.1);
                assert!(sets == ones);
            }
        }
    });
}

#[test]
fn reverted_changes_of_many_instances_leave_the_same_file() {
    check_seeds(0..200, |draws| {
        let bytes = draw_place(draws);
        let mut scene = open(&bytes, Some(1 + draws.below(3)));
        let args = draw_args(draws);
        let mark = scene.journal_mark();
        let Ok((proposal, _)) = plan(&mut scene, &args) else { return };
        scene.rollback(mark);
        let (written, inverse, witnesses, blobs) = apply(&mut scene, &proposal);
        let mut back = open(&written, Some(1));
        back.begin_scope(CALL);
        let mut draft = ProposalDraft::new(&mut back, &blobs);
        draft.mark_as_inverse();
        for (command, witness) in inverse.into_iter().zip(witnesses) {
            let command = relocate_command(draft.scene(), command, &blobs).unwrap();
            if witness.is_some() {
                assert_eq!(target_fingerprint(draft.scene(), &command, &blobs).unwrap(), witness);
            }
            draft.push_command(command).unwrap();
        }
        let revert = draft.finish(&base()).unwrap();
        let reverted: BTreeSet<String> = sorted_rows(&revert).into_iter().collect();
        assert_eq!(reverted.len(), sorted_rows(&proposal).len());
        let (before, after) = (open(&bytes, None), open(&encode(&mut back), None));
        assert_eq!(diff_scenes(&before, &after), []);
    });
}

#[test]
fn changed_instances_are_not_overwritten() {
    check_seeds(0..200, |draws| {
        let bytes = draw_place(draws);
        let (mut many, mut each) = (open(&bytes, Some(1)), open(&bytes, None));
        let args = draw_args(draws);
        let marks = [many.journal_mark(), each.journal_mark()];
        let (Ok((sets, _)), Ok((ones, _))) = (plan(&mut many, &args), plan(&mut each, &args))
        else {
            return;
        };
        many.rollback(marks[0]);
        each.rollback(marks[1]);
        let nodes: Vec<Node> = many.descendants(many.root()).collect();
        let (node, kind) = (draws.pick(&nodes), draws.below(4));
        for scene in [&mut many, &mut each] {
            let scene = scene.scene_mut();
            match kind {
                0 => scene.delete(node),
                1 => scene.rename(node, "Wall"),
                2 => drop(scene.set_property(node, "Transparency", Some(&Value::Float32(0.5)))),
                _ => drop(scene.create(node, "Part", "Wall")),
            }
        }
        let perform = |scene: &mut PlanningScene, proposal: &Proposal| {
            let blobs = BlobStore::new();
            proposal.commands.iter().try_for_each(|it| perform_command(scene, it, &blobs).map(drop))
        };
        let (by_set, by_one) = (perform(&mut many, &sets), perform(&mut each, &ones));
        assert_eq!(by_set.is_ok(), by_one.is_ok(), "{by_set:?} {by_one:?}");
        if by_set.is_ok() {
            assert!(encode(&mut many) == encode(&mut each));
        }
    });
}
