//! Replanned proposals: finding the user's selection in the new proposal, and ensuring that a path
//! does not lead to a different instance now.
//!
//! Both compare the action and its target. After a place is read again, an id may belong to another
//! instance, so only paths can be compared.

use std::collections::{HashMap, HashSet};

use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target};
use serde_json::{Value as Json, json};
use vector_place::Scene;

use super::part::{ProposalUnit, is_own, list_units, map_targets};
use super::perform::BlobStore;
use super::set_many::ExpandedProposal;
use crate::planning_scene::PlanningScene;

/// Maximum number of paths named in a refusal.
const NAMED: usize = 3;

/// The identity of an instance for comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstanceKey {
    Path,
    /// The id. Instances created by a proposal have no stable id and are identified by path.
    Id,
}

/// Returns a stable key for each unit: two short hashes of its target and its action, independent
/// of its position. A replanned proposal's units are matched by these keys. Identical units get
/// different keys by a counter.
pub fn piece_keys(proposal: &Proposal, pieces: &[ProposalUnit]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mark = |unit: &ProposalUnit| {
        let [about, done] = describe_piece(proposal, *unit, InstanceKey::Path);
        let hash = |json: Json| {
            Fingerprint::hash_bytes(json.to_string().as_bytes()).short_hex().to_owned()
        };
        let mark = format!("{}.{}", hash(about), hash(done));
        let before = seen.entry(mark.clone()).or_default();
        *before += 1;
        format!("{mark}.{before}")
    };
    pieces.iter().map(mark).collect()
}

/// Returns the target of a unit, and its action.
fn describe_piece(proposal: &Proposal, unit: ProposalUnit, by: InstanceKey) -> [Json; 2] {
    match unit {
        // An instance of a command over many is described by what the command does to it.
        ProposalUnit::Command(at) | ProposalUnit::Member { command: at, .. } => {
            let command = proposal.commands.get(at);
            let about = command.map(|command| target_key(command.target(), by));
            [json!(about), stable_command(json!(command), by)]
        }
        ProposalUnit::Hunk { script, hunk } => {
            let script = proposal.preview.scripts.get(script);
            let lines = script.and_then(|script| script.hunks.get(hunk)).map(|hunk| {
                let is_change = |line: &&DiffLine| !matches!(line, DiffLine::Context(_));
                hunk.lines.iter().filter(is_change).collect::<Vec<_>>()
            });
            let edit = script.and_then(|script| proposal.commands.get(script.command as usize));
            let about = match edit {
                Some(edit) if by == InstanceKey::Id => Some(target_key(edit.target(), by)),
                _ => script.map(|script| script.path.to_string()),
            };
            [json!(about), json!(lines)]
        }
    }
}

fn target_key(target: &Target, by: InstanceKey) -> String {
    if by == InstanceKey::Id && !is_own(&target.id) {
        return target.id.0.clone();
    }
    target.path.to_string()
}

/// Removes the fields of a command that may differ when it is planned again: new ids, expectations,
/// counts, and the field of each target that does not identify it.
fn stable_command(mut command: Json, by: InstanceKey) -> Json {
    if let Json::Object(members) = &mut command {
        for passing in ["id", "expect", "count", "table"] {
            members.remove(passing);
        }
        members.values_mut().for_each(|json| *json = replace_ids(json, by));
    }
    command
}

/// Removes from each target the field by which it is not identified.
fn replace_ids(json: &Json, by: InstanceKey) -> Json {
    match json {
        Json::Object(members) => {
            let id = members.get("id").and_then(Json::as_str).map(|id| InstanceId(id.to_owned()));
            let is_target = id.is_some() && members.contains_key("path");
            let has_id = id.is_some_and(|id| !is_own(&id));
            let passing = match by {
                _ if !is_target => None,
                InstanceKey::Id if has_id => Some("path"),
                InstanceKey::Id | InstanceKey::Path => Some("id"),
            };
            let lasts = members.iter().filter(|(name, _)| Some(name.as_str()) != passing);
            Json::Object(lasts.map(|(name, json)| (name.clone(), replace_ids(json, by))).collect())
        }
        Json::Array(all) => all.iter().map(|json| replace_ids(json, by)).collect(),
        json => json.clone(),
    }
}

/// Finds the units of a replanned proposal that correspond to the user's selection from the
/// original one. If ids are stable, they are compared first, then paths.
///
/// # Errors
/// Part of the selection is missing, or ambiguous.
pub fn rematch_selection(
    [whole, chosen, now]: [&Proposal; 3],
    has_ids: bool,
    scene: &PlanningScene,
    blobs: &BlobStore,
) -> Result<Vec<ProposalUnit>, Refusal> {
    let has_sets = |it: &&Proposal| {
        it.commands.iter().any(|command| matches!(command, Command::SetMany { .. }))
    };
    if [whole, chosen, now].iter().any(has_sets) {
        let expand = |it| ExpandedProposal::new(scene, blobs, it);
        let [whole, chosen, now] = [expand(whole)?, expand(chosen)?, expand(now)?];
        let all = [&whole.proposal, &chosen.proposal, &now.proposal];
        let found = match_selection(all, has_ids)?;
        return Ok(found.into_iter().map(|unit| now.original_unit(unit)).collect());
    }
    match_selection([whole, chosen, now], has_ids)
}

fn match_selection(
    [whole, chosen, now]: [&Proposal; 3],
    has_ids: bool,
) -> Result<Vec<ProposalUnit>, Refusal> {
    let wanted = list_units(chosen);
    let mut lost = Vec::new();
    for by in [InstanceKey::Id, InstanceKey::Path]
        .into_iter()
        .filter(|by| has_ids || *by == InstanceKey::Path)
    {
        let found = match_pieces([whole, chosen, now], by);
        let missing = wanted.iter().zip(&found).filter(|(_, found)| found.is_none());
        lost = missing.map(|(unit, _)| subject_path(chosen, *unit)).collect();
        if lost.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
    }
    lost.dedup();
    refuse!(
        "A person had accepted a part of this or edited it, and not all of that is found in the \
         replanned proposal, so it is not proposed again: {}. Request the version that the person \
         had chosen.",
        join_names(&lost)
    )
}

/// How precisely identical hunks of one script are distinguished. A text with repeated lines often
/// has identical changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HunkPrecision {
    No,
    /// By line number, if the text before the edits is the same.
    ByLine,
    /// By the context lines.
    ByContext,
}

/// Finds the matching unit for each chosen unit. Identical hunks match if all of them were chosen
/// and their number is the same now.
fn match_pieces(
    [whole, chosen, now]: [&Proposal; 3],
    by: InstanceKey,
) -> Vec<Option<ProposalUnit>> {
    let mut found = vec![None; list_units(chosen).len()];
    for closely in [HunkPrecision::No, HunkPrecision::ByLine, HunkPrecision::ByContext] {
        let [whole, chosen, now] = [whole, chosen, now].map(|it| pieces_by_key(it, by, closely));
        for (key, places) in chosen {
            let same = now.get(&key).map_or(&[][..], Vec::as_slice);
            let were = whole.get(&key).map_or(0, Vec::len);
            let is_exact = closely == HunkPrecision::ByLine || were == places.len();
            for ((at, unit), (_, other)) in places.iter().zip(same) {
                // Identical commands are interchangeable.
                let is_any = matches!(unit, ProposalUnit::Command(_));
                let is_certain = is_any || is_exact && places.len() == same.len();
                found[*at] = found[*at].or(Some(*other).filter(|_| is_certain));
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    let mut taken = HashSet::new();
    found.into_iter().map(|unit| unit.filter(|unit| taken.insert(*unit))).collect()
}

/// Groups the units of a proposal by their action, each with its index.
fn pieces_by_key(
    proposal: &Proposal,
    by: InstanceKey,
    closely: HunkPrecision,
) -> HashMap<String, Vec<(usize, ProposalUnit)>> {
    let mut alike: HashMap<String, Vec<(usize, ProposalUnit)>> = HashMap::new();
    for (at, unit) in list_units(proposal).into_iter().enumerate() {
        let key = json!([describe_piece(proposal, unit, by), precise_key(proposal, unit, closely)]);
        alike.entry(key.to_string()).or_default().push((at, unit));
    }
    alike
}

fn precise_key(proposal: &Proposal, unit: ProposalUnit, closely: HunkPrecision) -> Json {
    let ProposalUnit::Hunk { script, hunk } = unit else {
        return Json::Null;
    };
    let script = proposal.preview.scripts.get(script);
    let hunk = script.and_then(|script| script.hunks.get(hunk));
    match closely {
        HunkPrecision::No => Json::Null,
        HunkPrecision::ByLine => {
            let path = script.map(|script| &script.path);
            let text = proposal.commands.iter().find_map(|command| match command {
                Command::EditScript { target, expect, .. } if Some(&target.path) == path => {
                    Some(expect)
                }
                _ => None,
            });
            json!([text, hunk.map(|hunk| hunk.old_start)])
        }
        HunkPrecision::ByContext => json!(hunk.map(|hunk| &hunk.lines)),
    }
}

/// Returns the path of a unit's target.
fn subject_path(proposal: &Proposal, unit: ProposalUnit) -> String {
    let path = match unit {
        ProposalUnit::Command(at) | ProposalUnit::Member { command: at, .. } => {
            proposal.commands.get(at).map(|it| &it.target().path)
        }
        ProposalUnit::Hunk { script, .. } => {
            proposal.preview.scripts.get(script).map(|it| &it.path)
        }
    };
    path.map_or(String::new(), InstancePath::to_string)
}

fn join_names(all: &[String]) -> String {
    let mut text = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        text.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    text
}

/// An instance of a command that has another path now.
#[derive(Debug)]
pub struct MovedInstance {
    command: usize,
    was: Target,
    now: InstancePath,
}

/// Returns the instances of a proposal that have other paths now. Requires stable ids.
pub fn moved_instances(scene: &Scene, proposal: &Proposal) -> Vec<MovedInstance> {
    let of = |(command, it): (usize, &Command)| {
        let there = command_targets(it).into_iter().filter(|target| !is_own(&target.id));
        let moved = there.filter_map(move |was| {
            let node = scene.by_id(&was.id).filter(|node| scene.is_live(*node))?;
            let now = scene.path(node);
            (number_path(&now) != number_path(&was.path)).then_some(MovedInstance {
                command,
                was,
                now,
            })
        });
        moved.collect::<Vec<_>>()
    };
    proposal.commands.iter().enumerate().flat_map(of).collect()
}

/// Compares a replanned call with the previous proposal. A selector may match other instances now,
/// but a path must not lead to a different instance.
///
/// # Errors
/// A path leads to a different instance, and the original one still exists and would be left
/// unchanged.
pub fn check_targets(
    elsewhere: &[MovedInstance],
    before: &Proposal,
    now: &Proposal,
) -> Result<(), Refusal> {
    if elsewhere.is_empty() {
        return Ok(());
    }
    let [was_done, is_done] =
        [before, now].map(|it| it.commands.iter().map(describe_action).collect::<HashSet<_>>());
    let mut named: HashMap<NumberedPath, Vec<(InstanceId, bool)>> = HashMap::new();
    for command in &now.commands {
        let is_new = !was_done.contains(&describe_action(command));
        for Target { id, path } in command_targets(command) {
            named.entry(number_path(&path)).or_default().push((id, is_new));
        }
    }
    let (mut is_lost, mut is_found, mut others) = (false, false, Vec::new());
    for MovedInstance { command, was, now } in elsewhere {
        is_lost |=
            before.commands.get(*command).is_some_and(|it| !is_done.contains(&describe_action(it)));
        let there = named.get(&number_path(&was.path)).map_or(&[][..], Vec::as_slice);
        if there.is_empty() || there.iter().any(|(id, _)| *id == was.id) {
            continue;
        }
        is_found |= there.iter().any(|(_, is_new)| *is_new);
        others.push(format!("{} at planning time is now {now}", was.path));
    }
    others.dedup();
    if !is_lost || !is_found {
        return Ok(());
    }
    refuse!(
        "The paths of this proposal now refer to a different instance, so it is not proposed again: \
         {}. Request it again with the current path.",
        join_names(&others)
    )
}

/// Returns a key for a command's action and instances.
fn describe_action(command: &Command) -> String {
    stable_command(json!(command), InstanceKey::Id).to_string()
}

/// Returns the targets of a command.
fn command_targets(command: &Command) -> Vec<Target> {
    let mut all = Vec::new();
    // The closure changes nothing and never fails.
    let _ = map_targets(command.clone(), &mut |target| {
        all.push(target.clone());
        Ok(target)
    });
    all
}

/// Names with explicit indices. The first of several may be the only one left, which has no index.
type NumberedPath = Vec<(String, u32)>;

fn number_path(path: &InstancePath) -> NumberedPath {
    path.segments.iter().map(|step| (step.name.clone(), step.index.unwrap_or(1))).collect()
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::{Class, Hunk, Preview, ScriptDiff};

    use super::*;

    /// A proposal with hunks in one script, each with one context line and one added line.
    fn proposal(hunks: &[[&str; 2]]) -> Proposal {
        let hunk = |(at, [above, new]): (usize, &[&str; 2])| Hunk {
            old_start: at as u32,
            new_start: at as u32,
            lines: vec![DiffLine::Context((*above).to_owned()), DiffLine::Added((*new).to_owned())],
        };
        let script = ScriptDiff {
            command: 0,
            path: "game.Workspace.Script".parse().unwrap(),
            left_out: false,
            added: 1,
            removed: 0,
            hunks: hunks.iter().enumerate().map(hunk).collect(),
        };
        Proposal {
            title: String::new(),
            class: Class::Additive,
            commands: Vec::new(),
            base: Fingerprint(String::new()),
            patch_id: Fingerprint(String::new()),
            preview: Preview { scripts: vec![script], ..Preview::default() },
            warnings: Vec::new(),
            after: Vec::new(),
            reads: Vec::new(),
            implicit_target: None,
            files: None,
            from: None,
            reverts: Vec::new(),
            replaces: None,
            runs: None,
            changed_files: Vec::new(),
            made_by: None,
        }
    }

    #[test]
    fn hunk_key_depends_on_content_and_not_position() {
        let of = |hunks: &[[&str; 2]]| {
            let pieces: Vec<ProposalUnit> =
                (0..hunks.len()).map(|hunk| ProposalUnit::Hunk { script: 0, hunk }).collect();
            piece_keys(&proposal(hunks), &pieces)
        };
        let before = of(&[["local a", "print(1)"], ["local b", "print(2)"]]);
        let now = of(&[["local c", "print(2)"], ["local d", "print(2)"], ["local a", "print(3)"]]);
        assert_eq!(now[0], before[1], "wherever it stands");
        assert_ne!(now[1], now[0], "each of two that are alike is one");
        assert!(!before.contains(&now[2]), "{now:?}");
        let about = |mark: &str| mark.split('.').next().map(str::to_owned);
        assert_eq!(about(&now[2]), about(&before[0]), "the same script");
    }

    #[test]
    fn command_key_ignores_instance_ids_and_expected_state() {
        let mark = |path: &str, id: &str, expect: &str, size: u32| {
            let set = serde_json::from_value(json!({
                "op": "set", "target": { "id": id, "path": path }, "expect": expect,
                "props": {
                    "Size": size,
                    "Adornee": { "__t": "Ref", "target": { "id": id, "path": path } },
                },
            }));
            let commands = vec![set.unwrap()];
            piece_keys(&Proposal { commands, ..proposal(&[]) }, &[ProposalUnit::Command(0)])
                .remove(0)
        };
        let before = mark("game.A", "ref:1", "aa", 1);
        assert_eq!(mark("game.A", "ref:7", "bb", 1), before);
        assert_ne!(mark("game.B", "ref:1", "aa", 1), before);
        let other = mark("game.A", "ref:1", "aa", 2);
        assert_ne!(other, before, "it does something else");
        assert_eq!(other.split('.').next(), before.split('.').next(), "to the same");
    }
}
