//! Assets on a card: their contents, and their scripts, which neither the user nor the model wrote.
//!
//! Free models are the usual carrier of backdoors. Every script is listed, shown and scanned, and is
//! left out unless the person keeps it. They are not checked like edits: a script does not have to
//! compile to be flagged.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scene_schemas::command::{AssetContents, AssetFinding, AssetFindingKind};
use scene_schemas::proposal::{Change, Proposal, Row, ScriptDiff, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::sandbox::ScriptSandbox;
use scene_schemas::{Fingerprint, InstanceId, InstancePath, Target};
use vector_place::{Node, Scene, count_noun, reflection};

use crate::asset_scan::scan_contents;

use super::by_hand::is_of_the_call;
use super::part::{created_instances, map_targets};
use super::sandbox::{sandbox_state, set_sandbox};
use super::{CONTEXT, Command, ProposalDraft, draft_again};

/// Maximum rows listed per asset.
const MAX_ROWS: usize = 200;
/// Maximum findings listed per asset.
const MAX_FOUND: usize = 500;
/// Maximum scripts named in one warning, and maximum bytes of an asset's scripts shown on a card.
const MAX_NAMED: usize = 8;
const MAX_SHOWN: usize = 100_000;

/// Returns the k-th instance that a command created.
fn find_inserted(scene: &Scene, id: &InstanceId, k: usize) -> Option<Node> {
    let first: u32 = id.0.strip_prefix("new:")?.parse().ok()?;
    scene.by_id(&InstanceId::new_in_proposal(first + k as u32))
}

/// Drafts a proposal again with scripts of its assets that it leaves out, by their indices in the
/// preview, and with all its kept scripts in a sandbox or not.
///
/// # Errors
/// The preview has no such script, the script is not left out, it is inside of something else that
/// is, or there is no kept script at all.
pub fn draft_with_scripts(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    scripts: &[u32],
    is_sandboxed: bool,
) -> Result<(), Refusal> {
    let mut wanted: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for index in scripts {
        let Some(diff) = proposal.preview.scripts.get(*index as usize) else {
            return refuse!("The proposal does not have a script {index}. Scripts count from 0.");
        };
        let before = &proposal.preview.scripts[..*index as usize];
        let nth = before.iter().filter(|it| it.command == diff.command).count();
        let at = diff.command as usize;
        match proposal.commands.get(at) {
            Some(Command::Insert { contents, left_out, .. }) if diff.left_out => {
                let left_out = wanted.entry(at).or_insert_with(|| left_out.clone());
                keep_script(contents, left_out, nth).map_err(|holder| {
                    Refusal(format!(
                        "{} cannot be kept: it is inside of {holder}, which is left out.",
                        diff.path
                    ))
                })?;
            }
            _ => return refuse!("{} is not left out.", diff.path),
        }
    }
    for warning in proposal.warnings.iter().filter(|it| is_of_the_call(it.kind)) {
        draft.add_warning(warning.kind, &warning.text);
    }
    let mut changed = proposal.clone();
    change_left_out(&mut changed, &wanted);
    set_sandbox(&mut changed, is_sandboxed);
    if sandbox_state(&changed).is_none() {
        return refuse!("No script of an asset is kept. Choose the scripts to keep.");
    }
    draft_again(draft, &changed, |_| true, &BTreeMap::new())
}

/// Leaves out of a proposal's assets what an earlier version left out of them, and sandboxes the other
/// scripts if that did. Returns false if the contents of one are others now: what was kept of it is not known to be the same.
pub fn keep_same_scripts(earlier: &Proposal, now: &mut Proposal) -> bool {
    let mut before: Vec<&Command> =
        earlier.commands.iter().filter(|it| matches!(it, Command::Insert { .. })).collect();
    let mut wanted: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut sandboxes: BTreeMap<usize, Option<ScriptSandbox>> = BTreeMap::new();
    for (at, command) in now.commands.iter().enumerate() {
        let Command::Insert { asset, contents, .. } = command else { continue };
        let same = before.iter().position(|it| {
            matches!(it, Command::Insert { asset: of, contents: same, .. }
                if of == asset && same.has_same_instances(contents))
        });
        // Each is the earlier version of one.
        if let Some(same) = same
            && let Command::Insert { left_out, sandbox, .. } = before.remove(same)
        {
            wanted.insert(at, left_out.clone());
            sandboxes.insert(at, sandbox.clone());
        }
    }
    change_left_out(now, &wanted);
    for (at, kept) in sandboxes {
        if let Some(Command::Insert { sandbox, .. }) = now.commands.get_mut(at) {
            *sandbox = kept;
        }
    }
    before.is_empty()
}

/// Changes what a proposal leaves out of its assets, by the indices of its commands. Instances are
/// numbered in the order in which they are created, so those of later commands get other ids.
fn change_left_out(proposal: &mut Proposal, wanted: &BTreeMap<usize, Vec<u32>>) {
    let mut ids: HashMap<InstanceId, InstanceId> = HashMap::new();
    let mut shift = 0_i64;
    for (at, command) in proposal.commands.iter_mut().enumerate() {
        let Some(first) = command.new_instance_number() else { continue };
        let start = u32::try_from(i64::from(first) + shift).unwrap_or(first);
        let mut add = |old: u32, new: u32| {
            ids.insert(InstanceId::new_in_proposal(old), InstanceId::new_in_proposal(new));
        };
        if let (Command::Insert { contents, left_out, .. }, Some(wanted)) =
            (&mut *command, wanted.get(&at))
        {
            let kept = contents.flag_inserted(left_out).into_iter();
            let (mut old, mut new) = (first, start);
            for (was, is) in kept.zip(contents.flag_inserted(wanted)) {
                if was && is {
                    add(old, new);
                }
                old += u32::from(was);
                new += u32::from(is);
            }
            shift += i64::from(new - start) - i64::from(old - first);
            left_out.clone_from(wanted);
        } else if let Some((_, count)) = created_instances(command) {
            (0..count).for_each(|k| add(first + k, start + k));
        }
        if let Some((id, _)) = created_instances(command) {
            *id = InstanceId::new_in_proposal(start);
        }
    }
    let commands = std::mem::take(&mut proposal.commands).into_iter();
    // The closure never fails.
    let renamed = commands.filter_map(|command| {
        let rename = &mut |target: Target| {
            let id = ids.get(&target.id).cloned().unwrap_or(target.id);
            Ok(Target { id, path: target.path })
        };
        map_targets(command, rename).ok()
    });
    proposal.commands = renamed.collect();
}

/// Takes the nth script of an asset, and the scripts that it is in, out of what is left out. The error
/// names what else it is in that is left out.
fn keep_script(
    contents: &AssetContents,
    left_out: &mut Vec<u32>,
    nth: usize,
) -> Result<(), String> {
    let is_script = |at: u32| contents.scripts.binary_search_by_key(&at, |it| it.at).is_ok();
    let mut at = contents.scripts.get(nth).map_or(0, |script| script.at);
    while at != 0 {
        if let Ok(found) = left_out.binary_search(&at) {
            if !is_script(at) {
                return Err(contents.names[at as usize - 1].clone());
            }
            left_out.remove(found);
        }
        at = contents.parents.get(at as usize - 1).copied().unwrap_or(0);
    }
    Ok(())
}

impl ProposalDraft<'_> {
    /// Drafts the insertion of an asset with these contents, and returns its roots.
    pub fn insert_asset(
        &mut self,
        asset: u64,
        parent: Node,
        contents: AssetContents,
        left_out: Vec<u32>,
        blob: Option<Fingerprint>,
    ) -> Result<Vec<Node>, Refusal> {
        let id = InstanceId::new_in_proposal(self.scene.next_new_number());
        let expect = self.expected_fingerprint(parent);
        let inserted = contents.remove_left_out(&left_out);
        let roots: Vec<usize> =
            (0..inserted.len()).filter(|at| inserted.parents[*at] == 0).collect();
        for at in &roots {
            self.check_name(parent, &inserted.names[*at]);
        }
        drop(inserted);
        let parent = self.scene.target(parent);
        let command = Command::Insert {
            id: id.clone(),
            asset,
            parent,
            contents,
            left_out,
            sandbox: None,
            blob,
            expect,
        };
        self.push_command(command)?;
        Ok(roots.into_iter().filter_map(|at| find_inserted(self.scene, &id, at)).collect())
    }

    /// Records the contents of an asset that a command, of this index, just inserted.
    pub(super) fn note_insert(&mut self, command: u32, insertion: &Command) {
        let Command::Insert { id, asset, parent, contents, left_out, sandbox, blob, .. } =
            insertion
        else {
            return;
        };
        let asset = *asset;
        let inserted = contents.remove_left_out(left_out);
        let nodes: Vec<Option<Node>> =
            (0..inserted.len()).map(|k| find_inserted(self.scene, id, k)).collect();
        for (at, node) in nodes.iter().enumerate() {
            let Some(node) = *node else { continue };
            self.created_ids.insert(self.scene.id(node));
            self.judge_name(&inserted.names[at]);
            let change = if inserted.parents[at] == 0 {
                let count = self.scene.subtree(node).count() as u32;
                Change::Inserted { asset, count }
            } else {
                Change::Created { props: Vec::new() }
            };
            if at < MAX_ROWS && self.rows.len() < super::MAX_ROWS {
                let (path, class) = (self.scene.path(node), inserted.class_of(at).to_owned());
                self.rows.push(Row { command, member: None, change, path, class });
            } else {
                self.more_rows += 1;
            }
        }
        if inserted.is_empty() {
            let text = format!("Nothing of asset {asset} is inserted unless you keep a script.");
            self.add_warning(WarningKind::Scripts, text);
        }
        let kept = contents.flag_inserted(left_out);
        let mut count = 0;
        let positions = kept.iter().map(|is_kept| {
            count += usize::from(*is_kept);
            count
        });
        let positions = positions.collect();
        let parent = &parent.path;
        let paths = ContentPaths { contents, kept: &kept, positions, nodes: &nodes, parent };
        if let Some(sandbox) = sandbox {
            self.note_sandbox(asset, sandbox, &paths, blob.is_none());
        }
        self.note_inserted_scripts(command, asset, &paths);
        self.warn_of_left_out(asset, &paths);
        self.warn_of_content(&paths);
    }

    fn note_inserted_scripts(&mut self, command: u32, asset: u64, paths: &ContentPaths<'_>) {
        let scripts: Vec<(bool, InstancePath, &str)> = (paths.contents.scripts.iter())
            .map(|script| {
                let at = script.at as usize - 1;
                (paths.kept[at], paths.path(self.scene, at), script.text.as_str())
            })
            .collect();
        for (is_kept, fate) in [(true, "inserts"), (false, "leaves out")] {
            let found = scripts.iter().filter(|it| it.0 == is_kept);
            let found: Vec<&InstancePath> = found.map(|(_, path, _)| path).collect();
            if !found.is_empty() {
                let what = count_noun(found.len(), "script", "scripts");
                let named = name_paths(&found);
                let text = format!("It {fate} {what} of asset {asset}: {named}.");
                self.add_warning(WarningKind::Scripts, text);
            }
        }
        // What is inserted is shown before what is not.
        let (mut left, mut is_shown) = (MAX_SHOWN, vec![false; scripts.len()]);
        for wanted in [true, false] {
            for (at, (is_kept, _, text)) in scripts.iter().enumerate() {
                if *is_kept == wanted && text.len() <= left {
                    left -= text.len();
                    is_shown[at] = true;
                }
            }
        }
        let hidden: Vec<&InstancePath> =
            scripts.iter().zip(&is_shown).filter(|(_, it)| !**it).map(|(it, _)| &it.1).collect();
        if !hidden.is_empty() {
            let named = name_paths(&hidden);
            let text = format!("Too long to show here; read them before they run: {named}.");
            self.add_warning(WarningKind::Scripts, text);
        }
        let mut findings = group_findings(paths.contents);
        let scripts = scripts.into_iter().zip(is_shown).enumerate();
        for (nth, ((is_kept, path, text), is_shown)) in scripts {
            let at = paths.contents.scripts[nth].at;
            self.warn_of_asset(&path, findings.remove(&at).unwrap_or_default(), is_kept);
            let added = if is_kept { text.lines().count() as u32 } else { 0 };
            let hunks =
                if is_shown { vector_text_edit::diff_hunks("", text, CONTEXT) } else { Vec::new() };
            let (left_out, removed) = (!is_kept, 0);
            let diff = ScriptDiff { command, path, left_out, added, removed, hunks };
            self.inserted_scripts.push(diff);
        }
        // What other instances hold needs a second confirmation only if a script may read it.
        let has_script = paths.contents.scripts.iter().any(|it| paths.kept[it.at as usize - 1]);
        for (at, found) in findings {
            let Some(at) = (at as usize).checked_sub(1).filter(|at| *at < paths.kept.len()) else {
                continue;
            };
            let path = paths.path(self.scene, at);
            let (is_kept, text) = (paths.kept[at], found.join(" "));
            if is_kept && !has_script {
                self.add_warning(WarningKind::Scripts, format!("{path}: {text}"));
            } else {
                self.warn_of_asset(&path, vec![text], is_kept);
            }
        }
    }

    /// Warns of what an instance of an asset does or holds. Only what is inserted needs a second
    /// confirmation.
    fn warn_of_asset(&mut self, path: &InstancePath, found: Vec<String>, is_kept: bool) {
        for sentence in found {
            if is_kept {
                self.add_warning(WarningKind::Security, format!("{path}: {sentence}"));
            } else {
                self.add_warning(WarningKind::Scripts, format!("{path} (left out): {sentence}"));
            }
        }
    }

    /// Warns of content that may not load. It harms nobody, so it needs no second confirmation.
    fn warn_of_content(&mut self, paths: &ContentPaths<'_>) {
        let found = list_findings(paths.contents, AssetFindingKind::Content).unwrap_or_default();
        for finding in found.iter().take(MAX_FOUND) {
            let at = (finding.at as usize).checked_sub(1);
            let Some(at) = at.filter(|at| *at < paths.kept.len()) else { continue };
            let fate = if paths.kept[at] { "" } else { " (left out)" };
            let text = format!("{}{fate}: {}", paths.path(self.scene, at), finding.text);
            self.add_warning(WarningKind::Content, text);
        }
    }

    /// Warns of what else is left out: links to packages, instances of unknown classes, and what is
    /// below a script.
    fn warn_of_left_out(&mut self, asset: u64, paths: &ContentPaths<'_>) {
        let (contents, kept) = (paths.contents, paths.kept);
        let mut is_script = vec![false; contents.len()];
        for script in &contents.scripts {
            is_script[script.at as usize - 1] = true;
        }
        let others = (0..contents.len()).filter(|at| !kept[*at] && !is_script[*at]);
        let (links, others): (Vec<usize>, Vec<usize>) =
            others.partition(|at| contents.is_package_link(*at));
        let (unknown, below): (Vec<usize>, Vec<usize>) = others
            .into_iter()
            .partition(|at| reflection::find_class(contents.class_of(*at)).is_none());
        let link = format!(
            "Asset {asset} would be replaced by the newest version of its package, whatever it \
             contains then. Its links are left out"
        );
        for (found, what) in [
            (links, link.as_str()),
            (unknown, "Left out, because Vector does not know their classes"),
            (below, "Below scripts that are left out"),
        ] {
            if !found.is_empty() {
                let named = found.iter().take(MAX_NAMED).map(|at| paths.path(self.scene, *at));
                let named: Vec<String> = named.map(|path| path.to_string()).collect();
                let text = format!("{what}: {}.", join_named(named, found.len()));
                self.add_warning(WarningKind::Scripts, text);
            }
        }
    }
}

/// What was found of this kind in an asset, or None if it was not searched.
fn list_findings(contents: &AssetContents, kind: AssetFindingKind) -> Option<Vec<AssetFinding>> {
    let found = contents.findings.as_ref()?.iter();
    Some(found.filter(|it| it.kind == kind).cloned().collect())
}

/// Where the instances of an asset are, or would be.
pub(super) struct ContentPaths<'a> {
    pub(super) contents: &'a AssetContents,
    /// Whether each instance is inserted.
    pub(super) kept: &'a [bool],
    /// For each instance, how many are inserted up to it.
    positions: Vec<usize>,
    /// The instances that are inserted, in their order.
    nodes: &'a [Option<Node>],
    /// The parent of the asset.
    parent: &'a InstancePath,
}

impl ContentPaths<'_> {
    /// Returns an instance that is inserted, by its index.
    pub(super) fn node(&self, at: usize) -> Option<Node> {
        let is_kept = self.kept.get(at).copied().unwrap_or(false);
        self.nodes
            .get(self.positions.get(at)?.checked_sub(1)?)
            .copied()
            .flatten()
            .filter(|_| is_kept)
    }

    /// Returns the path of an instance by its index. One that is left out has the path that it would
    /// have if no sibling had its name.
    pub(super) fn path(&self, scene: &Scene, at: usize) -> InstancePath {
        let mut names = Vec::new();
        let mut at = at;
        let mut path = loop {
            if self.kept[at] {
                break self.node(at).map_or_else(|| self.parent.clone(), |node| scene.path(node));
            }
            names.push(self.contents.names[at].as_str());
            match self.contents.parents[at] as usize {
                0 => break self.parent.clone(),
                above => at = above - 1,
            }
        };
        for name in names.into_iter().rev() {
            path = path.child(name, None);
        }
        path
    }
}

/// The findings about the code of an asset by the numbers of its instances. If the whole asset was not
/// scanned, its scripts are.
fn group_findings(contents: &AssetContents) -> BTreeMap<u32, Vec<String>> {
    let found = list_findings(contents, AssetFindingKind::Code);
    let mut all = found.unwrap_or_else(|| scan_contents(contents));
    let more = all.split_off(all.len().min(MAX_FOUND));
    let mut grouped: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for finding in all {
        grouped.entry(finding.at).or_default().push(finding.text);
    }
    if more.is_empty() {
        return grouped;
    }
    // A script whose findings are not listed must not look like one that has none.
    let scripts: BTreeSet<u32> = contents.scripts.iter().map(|script| script.at).collect();
    let (of_scripts, others): (Vec<_>, Vec<_>) =
        more.into_iter().partition(|it| scripts.contains(&it.at));
    if !others.is_empty()
        && let Some(mut last) = grouped.last_entry()
    {
        let more = others.len();
        last.get_mut().push(format!("{more} more places are like these; read all of it."));
    }
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for finding in of_scripts {
        *counts.entry(finding.at).or_default() += 1;
    }
    for (at, count) in counts {
        let what = count_noun(count, "finding", "findings");
        let text = format!("{what} in it did not fit on the card; read all of it.");
        grouped.entry(at).or_default().push(text);
    }
    grouped
}

/// Joins the first paths, and the count of the others.
pub(super) fn name_paths(paths: &[&InstancePath]) -> String {
    join_named(paths.iter().take(MAX_NAMED).map(ToString::to_string).collect(), paths.len())
}

/// Joins the first names of this many, and the count of the others.
fn join_named(named: Vec<String>, count: usize) -> String {
    match count.saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::command::AssetScript;

    use super::*;

    #[test]
    fn scripts_beyond_the_listed_findings_are_not_shown_as_clean() {
        let mut contents = AssetContents::default();
        let kind = AssetFindingKind::Code;
        let found = |at: u32| AssetFinding { at, text: format!("It is {at}."), kind };
        let mut all: Vec<AssetFinding> = (0..MAX_FOUND).map(|_| found(1)).collect();
        all.extend([found(2), found(3), found(3)]);
        // What may not load is listed apart, and does not count.
        let content = AssetFinding { kind: AssetFindingKind::Content, ..found(4) };
        all.insert(0, content.clone());
        contents.findings = Some(all);
        contents.scripts = vec![AssetScript { at: 3, text: String::new() }];
        let grouped = group_findings(&contents);
        assert_eq!(grouped[&1][MAX_FOUND], "1 more places are like these; read all of it.");
        assert_eq!(grouped[&3], ["2 findings in it did not fit on the card; read all of it."]);
        assert!(!grouped.contains_key(&4), "{:?}", grouped[&4]);
        assert_eq!(list_findings(&contents, AssetFindingKind::Content), Some(vec![content]));
    }
}
