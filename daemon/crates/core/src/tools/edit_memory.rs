//! `edit_memory`: edits the project's memory.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args, compact_schema};
use crate::memory::{self, MemoryChange, MemorySection};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "edit_memory",
    about: "Proposes changes to the project's memory, which later tasks receive (`charter`: its purpose). \
            Lasting facts only, in short entries. `add` takes `text`, \
            `remove` the exact `entry`, `replace` both.",
    schema: args::args_schema::<EditMemoryArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditMemoryArgs {
    #[schemars(transform = compact_schema::drop_descriptions)]
    changes: Vec<MemoryEdit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryEdit {
    /// The kind of change.
    action: MemoryAction,
    /// The section to change.
    section: MemorySection,
    /// The current entry, to replace or remove it.
    entry: Option<String>,
    /// The new entry, to add or replace it. One line or a few.
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum MemoryAction {
    /// Add a new entry.
    Add,
    /// Replace the text of an entry.
    Replace,
    /// Remove an entry.
    Remove,
}

fn plan(
    EditMemoryArgs { changes }: EditMemoryArgs,
    draft: &mut ProposalDraft<'_>,
) -> Result<Json, Refusal> {
    if changes.is_empty() {
        return refuse!("`changes` is empty.");
    }
    let changes: Vec<MemoryChange> =
        changes.into_iter().map(to_change).collect::<Result<_, _>>()?;
    let after = memory::edit_memory(draft.memory_text()?, &changes)?;
    draft.edit_memory(&after)?;
    Ok(json!({ "changed": changes.len(), "bytes": after.len() }))
}

fn to_change(
    MemoryEdit { action, section, entry, text }: MemoryEdit,
) -> Result<MemoryChange, Refusal> {
    Ok(match (action, entry, text) {
        (MemoryAction::Add, None, Some(text)) => MemoryChange::Add { section, text },
        (MemoryAction::Replace, Some(entry), Some(text)) => {
            MemoryChange::Replace { section, entry, text }
        }
        (MemoryAction::Remove, Some(entry), None) => MemoryChange::Remove { section, entry },
        (MemoryAction::Add, ..) => return refuse!("`add` takes `text`, not `entry`."),
        (MemoryAction::Replace, ..) => return refuse!("`replace` takes `entry` and `text`."),
        (MemoryAction::Remove, ..) => return refuse!("`remove` takes `entry`, not `text`."),
    })
}
