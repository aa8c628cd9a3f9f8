//! Assets on a card: their contents, and their scripts, which neither the user nor the model wrote.
//!
//! Free models are the usual carrier of backdoors. Every script is listed, shown and scanned. They
//! are not checked like edits: a script does not have to compile to be flagged.

use scene_schemas::InstanceId;
use scene_schemas::command::AssetContents;
use scene_schemas::proposal::{Change, Row, ScriptDiff, WarningKind};
use scene_schemas::refusal::Refusal;
use vector_place::{Node, Scene, count_noun};

use super::{CONTEXT, Command, ProposalDraft};

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

impl ProposalDraft<'_> {
    /// Drafts the insertion of an asset with these contents, and returns its roots.
    pub fn insert_asset(
        &mut self,
        asset: u64,
        parent: Node,
        holds: AssetContents,
    ) -> Result<Vec<Node>, Refusal> {
        let id = InstanceId::new_in_proposal(self.scene.next_new_number());
        let expect = self.expected_fingerprint(parent);
        let roots: Vec<usize> = (0..holds.len()).filter(|at| holds.parents[*at] == 0).collect();
        for at in &roots {
            self.check_name(parent, &holds.names[*at]);
        }
        let parent = self.scene.target(parent);
        self.push_command(Command::Insert {
            id: id.clone(),
            asset,
            parent,
            contents: holds,
            expect,
        })?;
        Ok(roots.into_iter().filter_map(|at| find_inserted(self.scene, &id, at)).collect())
    }

    /// Records the contents of an asset that the command just inserted.
    pub(super) fn note_insert(
        &mut self,
        command: u32,
        id: &InstanceId,
        asset: u64,
        holds: &AssetContents,
    ) {
        let nodes: Vec<Option<Node>> =
            (0..holds.len()).map(|k| find_inserted(self.scene, id, k)).collect();
        for (at, node) in nodes.iter().enumerate() {
            let Some(node) = *node else { continue };
            self.created_ids.insert(self.scene.id(node));
            self.judge_name(&holds.names[at]);
            let change = if holds.parents[at] == 0 {
                let count = self.scene.subtree(node).count() as u32;
                Change::Inserted { asset, count }
            } else {
                Change::Created { props: Vec::new() }
            };
            if at < MAX_ROWS && self.rows.len() < super::MAX_ROWS {
                let (path, class) = (self.scene.path(node), holds.class_of(at).to_owned());
                self.rows.push(Row { command, member: None, change, path, class });
            } else {
                self.more_rows += 1;
            }
        }
        let scripts = holds.scripts.iter().filter_map(|script| {
            let node = nodes.get(script.at as usize - 1).copied().flatten()?;
            Some((node, script.text.as_str()))
        });
        self.note_inserted_scripts(command, asset, &scripts.collect::<Vec<_>>());
    }

    fn note_inserted_scripts(&mut self, command: u32, asset: u64, scripts: &[(Node, &str)]) {
        if scripts.is_empty() {
            return;
        }
        let path = |node: &Node| self.scene.path(*node).to_string();
        let named: Vec<_> = scripts.iter().take(MAX_NAMED).map(|(node, _)| path(node)).collect();
        let more = match scripts.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = count_noun(scripts.len(), "script", "scripts");
        let text = format!("Asset {asset} contains {what}: {}{more}.", named.join(", "));
        self.add_warning(WarningKind::Scripts, text);
        let mut left = MAX_SHOWN;
        for (node, text) in scripts {
            let path = self.scene.path(*node);
            self.warn_of(&path, vector_luau::scan_script(text));
            let is_shown = text.len() <= left;
            if is_shown {
                left -= text.len();
            } else {
                let text = format!("{path} is too long to show here; read it before it runs.");
                self.add_warning(WarningKind::Scripts, text);
            }
            let added = text.lines().count() as u32;
            let hunks =
                if is_shown { vector_text_edit::diff_hunks("", text, CONTEXT) } else { Vec::new() };
            self.inserted_scripts.push(ScriptDiff { command, path, added, removed: 0, hunks });
        }
    }
}
