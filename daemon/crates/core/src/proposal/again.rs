//! A proposal that is planned again: what a person had chosen of it is found in the new one, and an
//! instance is not taken for another that has its path by now.
//!
//! Both are told by what is done, and to what. Where a place is read anew, an id may be somebody else's,
//! and there is nothing to tell by but the path.

use std::collections::{HashMap, HashSet};

use scene_schemas::proposal::{DiffLine, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target};
use serde_json::{Value as Json, json};
use vector_place::Scene;

use super::part::{Unit, is_own, units, with_targets};

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
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mark = |unit: &Unit| {
        let [about, done] = does(proposal, *unit, By::Path);
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

/// The pieces of what a call is planned as now that do all that a person had chosen of the whole that it
/// was before. Where ids are what they were, they tell first what is meant.
///
/// # Errors
/// Some of that is not there, or cannot be told from others.
pub fn chosen_again(
    whole: &Proposal,
    chosen: &Proposal,
    now: &Proposal,
    has_ids: bool,
) -> Result<Vec<Unit>, Refusal> {
    let wanted = units(chosen);
    let mut lost = Vec::new();
    for by in [By::Id, By::Path].into_iter().filter(|by| has_ids || *by == By::Path) {
        let found = found([whole, chosen, now], by);
        let missing = wanted.iter().zip(&found).filter(|(_, found)| found.is_none());
        lost = missing.map(|(unit, _)| about(chosen, *unit)).collect();
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

/// How hunks are told from each other that change the same lines in one script: a text that says something
/// often is changed often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closely {
    /// Not at all.
    No,
    /// By where they stand in a text that is what it was.
    ByLine,
    /// By what stands around them.
    ByContext,
}

/// What does the same now as each piece that was chosen. Hunks that are alike are told closely enough where
/// all of them were chosen, and as many are there now.
fn found([whole, chosen, now]: [&Proposal; 3], by: By) -> Vec<Option<Unit>> {
    let mut found = vec![None; units(chosen).len()];
    for closely in [Closely::No, Closely::ByLine, Closely::ByContext] {
        let [whole, chosen, now] = [whole, chosen, now].map(|it| alike(it, by, closely));
        for (told, places) in chosen {
            let same = now.get(&told).map_or(&[][..], Vec::as_slice);
            let were = whole.get(&told).map_or(0, Vec::len);
            let is_exact = closely == Closely::ByLine || were == places.len();
            for ((at, unit), (_, other)) in places.iter().zip(same) {
                // Of commands that are alike one is as good as the other.
                let is_any = matches!(unit, Unit::Command(_));
                let is_told = is_any || is_exact && places.len() == same.len();
                found[*at] = found[*at].or(Some(*other).filter(|_| is_told));
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    let mut taken = HashSet::new();
    found.into_iter().map(|unit| unit.filter(|unit| taken.insert(*unit))).collect()
}

/// The pieces of a proposal by what they do, each with its place among all.
fn alike(proposal: &Proposal, by: By, closely: Closely) -> HashMap<String, Vec<(usize, Unit)>> {
    let mut alike: HashMap<String, Vec<(usize, Unit)>> = HashMap::new();
    for (at, unit) in units(proposal).into_iter().enumerate() {
        let told = json!([does(proposal, unit, by), closer(proposal, unit, closely)]);
        alike.entry(told.to_string()).or_default().push((at, unit));
    }
    alike
}

fn closer(proposal: &Proposal, unit: Unit, closely: Closely) -> Json {
    let Unit::Hunk { script, hunk } = unit else {
        return Json::Null;
    };
    let script = proposal.preview.scripts.get(script);
    let hunk = script.and_then(|script| script.hunks.get(hunk));
    match closely {
        Closely::No => Json::Null,
        Closely::ByLine => {
            let path = script.map(|script| &script.path);
            let text = proposal.commands.iter().find_map(|command| match command {
                Command::EditScript { target, expect, .. } if Some(&target.path) == path => {
                    Some(expect)
                }
                _ => None,
            });
            json!([text, hunk.map(|hunk| hunk.old_start)])
        }
        Closely::ByContext => json!(hunk.map(|hunk| &hunk.lines)),
    }
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
            (steps(&now) != steps(&was.path)).then_some(Elsewhere { command, was, now })
        });
        moved.collect::<Vec<_>>()
    };
    proposal.commands.iter().enumerate().flat_map(of).collect()
}

/// Holds what a call is planned as now against what it was before. A selector may find others now; a path
/// that leads to another instance may not.
///
/// # Errors
/// By its path another instance is meant than the one that was, which is still there and left alone.
pub fn astray(elsewhere: &[Elsewhere], before: &Proposal, now: &Proposal) -> Result<(), Refusal> {
    if elsewhere.is_empty() {
        return Ok(());
    }
    let [was_done, is_done] =
        [before, now].map(|it| it.commands.iter().map(done).collect::<HashSet<_>>());
    let mut named: HashMap<Steps, Vec<(InstanceId, bool)>> = HashMap::new();
    for command in &now.commands {
        let is_new = !was_done.contains(&done(command));
        for Target { id, path } in targets(command) {
            named.entry(steps(&path)).or_default().push((id, is_new));
        }
    }
    let (mut is_lost, mut is_found, mut others) = (false, false, Vec::new());
    for Elsewhere { command, was, now } in elsewhere {
        is_lost |= before.commands.get(*command).is_some_and(|it| !is_done.contains(&done(it)));
        let there = named.get(&steps(&was.path)).map_or(&[][..], Vec::as_slice);
        if there.is_empty() || there.iter().any(|(id, _)| *id == was.id) {
            continue;
        }
        is_found |= there.iter().any(|(_, is_new)| *is_new);
        others.push(format!("what was {} when it was planned is {now} now", was.path));
    }
    others.dedup();
    if !is_lost || !is_found {
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
type Steps = Vec<(String, u32)>;

fn steps(path: &InstancePath) -> Steps {
    path.segments.iter().map(|step| (step.name.clone(), step.index.unwrap_or(1))).collect()
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
            takes_back: Vec::new(),
            replaces: None,
            writes: Vec::new(),
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
