//! A proposal that is planned again: what a person had chosen of it is found in the new one, and an
//! instance is not taken for another that has its path by now.
//!
//! Both are told by what is done, and to what. Where a place is read anew, an id may be somebody else's,
//! and there is nothing to tell by but the path.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;

use scene_schemas::path::Segment;
use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target};
use serde_json::{Value as Json, json};

use super::part::{Unit, is_own, units, with_targets};
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::Scene;

/// So many paths are named in a refusal.
const NAMED: usize = 3;

/// What an instance is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Path,
    /// What a proposal itself makes has no id that lasts, and is known by its path.
    Id,
}

/// What each of these pieces is about and what it does, as two short hashes, wherever in its text or
/// proposal it stands: when a proposal is planned again, a piece of it is found again by that. Of
/// several that do the same, each has its own.
pub fn marks(proposal: &Proposal, pieces: &[Unit]) -> Vec<String> {
    marked(proposal, pieces, By::Path)
}

fn marked(proposal: &Proposal, pieces: &[Unit], by: By) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mark = |unit: &Unit| {
        let [about, done] = does(proposal, *unit, by);
        let hash = |json: Json| Fingerprint::of(json.to_string().as_bytes()).short().to_owned();
        let mark = format!("{}.{}", hash(about), hash(done));
        let before = seen.entry(mark.clone()).or_default();
        *before += 1;
        format!("{mark}.{before}")
    };
    pieces.iter().map(mark).collect()
}

/// What a piece is about, and what it does to that.
fn does(proposal: &Proposal, unit: Unit, by: By) -> [Json; 2] {
    match unit {
        Unit::Command(at) => {
            let command = proposal.commands.get(at);
            let about = command.map(|command| name(command.target(), by));
            [json!(about), lasting(json!(command), by)]
        }
        Unit::Hunk { script, hunk } => {
            let script = proposal.preview.scripts.get(script);
            let lines = script.and_then(|script| script.hunks.get(hunk)).map(|hunk| {
                let is_change = |line: &&DiffLine| !matches!(line, DiffLine::Context(_));
                hunk.lines.iter().filter(is_change).collect::<Vec<_>>()
            });
            let edit = script.and_then(|script| proposal.commands.get(script.command as usize));
            let about = match edit {
                Some(edit) if by == By::Id => Some(name(edit.target(), by)),
                _ => script.map(|script| script.path.to_string()),
            };
            [json!(about), json!(lines)]
        }
    }
}

fn name(target: &Target, by: By) -> String {
    if by == By::Id && !is_own(&target.id) {
        return target.id.0.clone();
    }
    target.path.to_string()
}

/// What of a command stays as it is when the same is planned again: not what instances are not known
/// by, nor what is found there.
fn lasting(mut command: Json, by: By) -> Json {
    if let Json::Object(members) = &mut command {
        for passing in ["id", "expect", "count"] {
            members.remove(passing);
        }
        members.values_mut().for_each(|json| *json = known(json, by));
    }
    command
}

/// The same with each instance named by what it is known by.
fn known(json: &Json, by: By) -> Json {
    match json {
        Json::Object(members) => {
            let id = members.get("id").and_then(Json::as_str).map(|id| InstanceId(id.to_owned()));
            let is_target = id.is_some() && members.contains_key("path");
            let has_id = id.is_some_and(|id| !is_own(&id));
            let passing = match by {
                _ if !is_target => None,
                By::Id if has_id => Some("path"),
                By::Id | By::Path => Some("id"),
            };
            let lasts = members.iter().filter(|(name, _)| Some(name.as_str()) != passing);
            Json::Object(lasts.map(|(name, json)| (name.clone(), known(json, by))).collect())
        }
        Json::Array(all) => all.iter().map(|json| known(json, by)).collect(),
        json => json.clone(),
    }
}

/// The pieces of what a call is planned as now that do all that was chosen of what it was before. Where
/// ids are what they were, they tell first what is meant.
///
/// # Errors
/// Some of that is not there.
pub fn chosen_again(
    before: &Proposal,
    now: &Proposal,
    has_ids: bool,
) -> Result<Vec<Unit>, Refusal> {
    let (wanted, pieces) = (units(before), units(now));
    let mut lost = Vec::new();
    for by in [By::Id, By::Path].into_iter().filter(|by| has_ids || *by == By::Path) {
        let there: HashMap<String, Unit> =
            marked(now, &pieces, by).into_iter().zip(pieces.iter().copied()).collect();
        let found: Vec<Option<Unit>> =
            marked(before, &wanted, by).iter().map(|mark| there.get(mark).copied()).collect();
        let missing = wanted.iter().zip(&found).filter(|(_, found)| found.is_none());
        lost = missing.map(|(unit, _)| about(before, *unit)).collect();
        if lost.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
    }
    lost.dedup();
    refuse!(
        "A person had chosen a part of this, or changed it, and not all of that is found in what it \
         would be by now, so that it is not proposed again: {}. Ask for what they had made of it.",
        listed(&lost)
    )
}

/// The path of what a piece is about.
fn about(proposal: &Proposal, unit: Unit) -> String {
    let path = match unit {
        Unit::Command(at) => proposal.commands.get(at).map(|it| &it.target().path),
        Unit::Hunk { script, .. } => proposal.preview.scripts.get(script).map(|it| &it.path),
    };
    path.map_or(String::new(), InstancePath::to_string)
}

fn listed(all: &[String]) -> String {
    let mut text = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if all.len() > NAMED {
        text.push_str(&format!(" and {} more", all.len() - NAMED));
    }
    text
}

/// An instance that a command was about, and that has another path by now.
#[derive(Debug)]
pub struct Elsewhere {
    command: usize,
    was: Target,
    now: InstancePath,
}

/// The instances that a proposal was about and that have other paths by now, where ids are what they
/// were.
pub fn elsewhere(scene: &Scene, proposal: &Proposal) -> Vec<Elsewhere> {
    let of = |(command, it): (usize, &Command)| {
        let there = targets(it).into_iter().filter(|target| !is_own(&target.id));
        let moved = there.filter_map(move |was| {
            let node = scene.by_id(&was.id).filter(|node| scene.is_live(*node))?;
            let now = scene.path(node);
            (steps(&now.segments) != steps(&was.path.segments)).then_some(Elsewhere {
                command,
                was,
                now,
            })
        });
        moved.collect::<Vec<_>>()
    };
    proposal.commands.iter().enumerate().flat_map(of).collect()
}

/// Holds what a call is planned as now against what it was before.
///
/// # Errors
/// It does to another instance what was to be done to one that is still there, for that one's path is the
/// other's by now.
pub fn astray(elsewhere: &[Elsewhere], before: &Proposal, now: &Proposal) -> Result<(), Refusal> {
    if elsewhere.is_empty() {
        return Ok(());
    }
    let done: HashSet<String> = now.commands.iter().map(done).collect();
    let named = now.commands.iter().flat_map(targets);
    let named: BTreeMap<Vec<(String, u32)>, InstanceId> =
        named.map(|target| (steps(&target.path.segments), target.id)).collect();
    let is_taken = |it: &Elsewhere, path: &[Segment]| {
        let path = steps(path);
        let below = (Bound::Included(path.as_slice()), Bound::Unbounded);
        let below = named.range::<[(String, u32)], _>(below);
        below.take_while(|(other, _)| other.starts_with(&path)).any(|(_, id)| *id != it.was.id)
    };
    let mut others = Vec::new();
    for it in elsewhere {
        let is_done =
            before.commands.get(it.command).is_some_and(|it| done.contains(&self::done(it)));
        let [was, now] = parting(&it.was.path, &it.now);
        if !is_done && is_taken(it, &was.segments) {
            others.push(format!("what was {was} when it was planned is {now} now"));
        }
    }
    others.dedup();
    if others.is_empty() {
        return Ok(());
    }
    refuse!(
        "By its paths this would be about another instance now, so that it is not proposed again: {}. \
         Ask for it with the path that is right now.",
        listed(&others)
    )
}

/// What a command does, and to which instances.
fn done(command: &Command) -> String {
    lasting(json!(command), By::Id).to_string()
}

/// The instances that a command names.
fn targets(command: &Command) -> Vec<Target> {
    let mut all = Vec::new();
    // Nothing is changed, and so nothing refused.
    let _ = with_targets(command.clone(), &mut |target| {
        all.push(target.clone());
        Ok(target)
    });
    all
}

/// Names with numbers. The first of several may be the only one by now, which has no number.
fn steps(path: &[Segment]) -> Vec<(String, u32)> {
    path.iter().map(|step| (step.name.clone(), step.index.unwrap_or(1))).collect()
}

/// Two paths up to where they part: what stands below that is below an instance that has another path.
fn parting(was: &InstancePath, now: &InstancePath) -> [InstancePath; 2] {
    let (before, after) = (steps(&was.segments), steps(&now.segments));
    let common = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let up_to = |path: &InstancePath| {
        let is_above = before.len() == after.len();
        let all = path.segments.len();
        let end = if is_above { all.min(common + 1) } else { all };
        InstancePath { segments: path.segments[..end].to_vec() }
    };
    [up_to(was), up_to(now)]
}

#[cfg(test)]
mod tests {
    use scene_schemas::proposal::{Class, Hunk, Preview, ScriptDiff};

    use super::*;

    /// Hunks of one script, each a line above and a line that is new.
    fn proposal(hunks: &[[&str; 2]]) -> Proposal {
        let hunk = |(at, [above, new]): (usize, &[&str; 2])| Hunk {
            old_start: at as u32,
            new_start: at as u32,
            lines: vec![DiffLine::Context((*above).to_owned()), DiffLine::Added((*new).to_owned())],
        };
        let script = ScriptDiff {
            command: 0,
            path: "game.Workspace.Script".parse().unwrap(),
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
            meant: None,
            files: None,
            from: None,
            replaces: None,
        }
    }

    #[test]
    fn a_piece_is_known_by_what_it_does() {
        let of = |hunks: &[[&str; 2]]| {
            let pieces: Vec<Unit> =
                (0..hunks.len()).map(|hunk| Unit::Hunk { script: 0, hunk }).collect();
            marks(&proposal(hunks), &pieces)
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
    fn a_command_is_known_whatever_was_found_there() {
        let mark = |path: &str, id: &str, expect: &str, size: u32| {
            let set = serde_json::from_value(json!({
                "op": "set", "target": { "id": id, "path": path }, "expect": expect,
                "props": {
                    "Size": size,
                    "Adornee": { "__t": "Ref", "target": { "id": id, "path": path } },
                },
            }));
            let commands = vec![set.unwrap()];
            marks(&Proposal { commands, ..proposal(&[]) }, &[Unit::Command(0)]).remove(0)
        };
        let before = mark("game.A", "ref:1", "aa", 1);
        assert_eq!(mark("game.A", "ref:7", "bb", 1), before);
        assert_ne!(mark("game.B", "ref:1", "aa", 1), before);
        let other = mark("game.A", "ref:1", "aa", 2);
        assert_ne!(other, before, "it does something else");
        assert_eq!(other.split('.').next(), before.split('.').next(), "to the same");
    }
}
