//! Assets on a card: their contents, and their scripts, which neither the user nor the model wrote.
//!
//! Free models are the usual carrier of backdoors. Every script is listed, shown and scanned, and is
//! left out unless the person keeps it. They are not checked like edits: a script does not have to
//! compile to be flagged.

use std::collections::BTreeMap;

use scene_schemas::command::{AssetContents, AssetScript};
use scene_schemas::proposal::{Change, Proposal, Row, ScriptDiff, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Fingerprint, InstanceId, InstancePath};
use vector_luau::ScanFinding;
use vector_place::{Node, Scene, count_noun};

use super::{CONTEXT, Command, ProposalDraft, draft_again};

/// Maximum rows listed per asset.
const MAX_ROWS: usize = 200;
/// Maximum scripts named in one warning, and maximum bytes of an asset's scripts shown on a card.
const MAX_NAMED: usize = 8;
const MAX_SHOWN: usize = 100_000;

/// Returns the k-th instance that a command created.
fn find_inserted(scene: &Scene, id: &InstanceId, k: usize) -> Option<Node> {
    let first: u32 = id.0.strip_prefix("new:")?.parse().ok()?;
    scene.by_id(&InstanceId::new_in_proposal(first + k as u32))
}

/// Drafts a proposal again with scripts of its assets that it leaves out, by their indices in the
/// preview.
///
/// # Errors
/// The preview has no such script, or the script is not left out.
pub fn draft_kept(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    scripts: &[u32],
) -> Result<(), Refusal> {
    let mut changed = proposal.clone();
    for index in scripts {
        let Some(diff) = proposal.preview.scripts.get(*index as usize) else {
            return refuse!("The proposal does not have a script {index}. Scripts count from 0.");
        };
        let all = &proposal.preview.scripts[..*index as usize];
        let nth = all.iter().filter(|it| it.command == diff.command).count();
        match changed.commands.get_mut(diff.command as usize) {
            Some(Command::Insert { contents, left_out, .. }) if diff.left_out => {
                keep_script(contents, left_out, nth);
            }
            _ => return refuse!("{} is not left out.", diff.path),
        }
    }
    draft_again(draft, &changed, |_| true, &BTreeMap::new())
}

/// Leaves out of a proposal's assets what an earlier version left out of them, if their contents are
/// the same.
pub fn keep_same_scripts(earlier: &Proposal, now: &mut Proposal) {
    for command in &mut now.commands {
        let Command::Insert { asset, contents, left_out, .. } = command else { continue };
        let before = earlier.commands.iter().find_map(|it| match it {
            Command::Insert { asset: of, contents: same, left_out, .. } => {
                (of == asset && same == contents).then_some(left_out)
            }
            _ => None,
        });
        if let Some(before) = before {
            left_out.clone_from(before);
        }
    }
}

/// Takes the nth script of an asset, and the scripts that it is in, out of what is left out.
fn keep_script(contents: &AssetContents, left_out: &mut Vec<u32>, nth: usize) {
    let mut at = contents.scripts.get(nth).map_or(0, |script| script.at);
    while at != 0 {
        left_out.retain(|it| *it != at);
        at = contents.parents.get(at as usize - 1).copied().unwrap_or(0);
    }
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
        let inserted = contents.without(&left_out);
        let roots: Vec<usize> =
            (0..inserted.len()).filter(|at| inserted.parents[*at] == 0).collect();
        for at in &roots {
            self.check_name(parent, &inserted.names[*at]);
        }
        drop(inserted);
        let parent = self.scene.target(parent);
        let command =
            Command::Insert { id: id.clone(), asset, parent, contents, left_out, blob, expect };
        self.push_command(command)?;
        Ok(roots.into_iter().filter_map(|at| find_inserted(self.scene, &id, at)).collect())
    }

    /// Records the contents of an asset that the command just inserted below `parent`.
    pub(super) fn note_insert(
        &mut self,
        command: u32,
        id: &InstanceId,
        asset: u64,
        parent: &InstancePath,
        contents: &AssetContents,
        left_out: &[u32],
    ) {
        let inserted = contents.without(left_out);
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
        let kept = contents.kept_instances(left_out);
        let mut kept_nodes = nodes.iter();
        // Instances that are left out have the paths that they would have if there were no others.
        let mut paths: Vec<InstancePath> = Vec::with_capacity(contents.len());
        for (at, is_kept) in kept.iter().enumerate() {
            let node = if *is_kept { kept_nodes.next().copied().flatten() } else { None };
            paths.push(match (node, contents.parents[at] as usize) {
                (Some(node), _) => self.scene.path(node),
                (None, 0) => parent.child(&contents.names[at], None),
                (None, above) => paths[above - 1].child(&contents.names[at], None),
            });
        }
        self.note_inserted_scripts(command, asset, contents, &kept, &paths);
        self.warn_of_left_out(asset, contents, &kept, &paths);
    }

    fn note_inserted_scripts(
        &mut self,
        command: u32,
        asset: u64,
        contents: &AssetContents,
        kept: &[bool],
        paths: &[InstancePath],
    ) {
        let at = |script: &AssetScript| script.at as usize - 1;
        let of = |is_kept: bool| {
            let scripts = contents.scripts.iter().filter(move |it| kept[at(it)] == is_kept);
            scripts.map(move |it| &paths[at(it)]).collect::<Vec<_>>()
        };
        for (found, fate) in [(of(true), "inserts"), (of(false), "leaves out")] {
            if !found.is_empty() {
                let what = count_noun(found.len(), "script", "scripts");
                let named = name_paths(&found);
                let text = format!("It {fate} {what} of asset {asset}: {named}.");
                self.add_warning(WarningKind::Scripts, text);
            }
        }
        let mut left = MAX_SHOWN;
        for script in &contents.scripts {
            let (path, text) = (paths[at(script)].clone(), script.text.as_str());
            let is_kept = kept[at(script)];
            self.warn_of_script(&path, vector_luau::scan_script(text), is_kept);
            let is_shown = text.len() <= left;
            if is_shown {
                left -= text.len();
            } else {
                let text = format!("{path} is too long to show here; read it before it runs.");
                self.add_warning(WarningKind::Scripts, text);
            }
            let added = if is_kept { text.lines().count() as u32 } else { 0 };
            let hunks =
                if is_shown { vector_text_edit::diff_hunks("", text, CONTEXT) } else { Vec::new() };
            let left_out = !is_kept;
            self.inserted_scripts.push(ScriptDiff {
                command,
                path,
                left_out,
                added,
                removed: 0,
                hunks,
            });
        }
    }

    /// Warns of what a script of an asset does. Only what is inserted needs a second confirmation.
    fn warn_of_script(&mut self, path: &InstancePath, found: Vec<ScanFinding>, is_kept: bool) {
        if is_kept {
            self.warn_of(path, found);
            return;
        }
        for sentence in vector_luau::format_findings(found) {
            self.add_warning(WarningKind::Scripts, format!("{path} (left out): {sentence}"));
        }
    }

    /// Warns of what else is left out: links to packages, and what is below a script.
    fn warn_of_left_out(
        &mut self,
        asset: u64,
        contents: &AssetContents,
        kept: &[bool],
        paths: &[InstancePath],
    ) {
        let mut is_script = vec![false; contents.len()];
        for script in &contents.scripts {
            is_script[script.at as usize - 1] = true;
        }
        let others = (0..contents.len()).filter(|at| !kept[*at] && !is_script[*at]);
        let (links, below): (Vec<usize>, Vec<usize>) =
            others.partition(|at| contents.is_package_link(*at));
        if !links.is_empty() {
            let named: Vec<_> = links.iter().map(|at| &paths[*at]).collect();
            let text = format!(
                "Asset {asset} would be replaced by the newest version of its package, whatever it \
                 contains then. Its links are left out: {}.",
                name_paths(&named)
            );
            self.add_warning(WarningKind::Scripts, text);
        }
        if !below.is_empty() {
            let named: Vec<_> = below.iter().map(|at| &paths[*at]).collect();
            let text = format!("Below scripts that are left out: {}.", name_paths(&named));
            self.add_warning(WarningKind::Scripts, text);
        }
    }
}

/// Joins the first paths, and the count of the others.
fn name_paths(paths: &[&InstancePath]) -> String {
    let named: Vec<String> = paths.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
