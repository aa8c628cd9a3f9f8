//! `edit_memory`: what the project remembers.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args, lean};
use crate::memory::{self, Change, Section};
use crate::proposal::Draft;

pub(super) const TOOL: Tool = Tool {
    name: "edit_memory",
    about: "Proposes changes of the project's memory, a file that later tasks are given: what it \
            is for (charter), conventions, key paths, decisions, and what is left. For what lasts, \
            in short entries; not for what the place itself shows. `add` takes `text`, `remove` \
            the `entry` as it is, `replace` both.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Change(|json, draft| plan(args::read(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(transform = lean::wordless)]
    changes: Vec<One>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// What is done.
    action: Action,
    /// In which section.
    section: Section,
    /// The entry as it is; to replace or remove it.
    entry: Option<String>,
    /// The entry as it is to be; to add or replace it. One line or a few.
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Action {
    /// Write a new entry.
    Add,
    /// Write an entry anew.
    Replace,
    /// Take an entry out.
    Remove,
}

fn plan(Args { changes }: Args, draft: &mut Draft<'_>) -> Result<Json, Refusal> {
    if changes.is_empty() {
        return refuse!("`changes` is empty.");
    }
    let changes: Vec<Change> = changes.into_iter().map(change).collect::<Result<_, _>>()?;
    let after = memory::edit(draft.memory()?, &changes)?;
    draft.edit_memory(&after)?;
    Ok(json!({ "changed": changes.len(), "bytes": after.len() }))
}

fn change(One { action, section, entry, text }: One) -> Result<Change, Refusal> {
    Ok(match (action, entry, text) {
        (Action::Add, None, Some(text)) => Change::Add { section, text },
        (Action::Replace, Some(entry), Some(text)) => Change::Replace { section, entry, text },
        (Action::Remove, Some(entry), None) => Change::Remove { section, entry },
        (Action::Add, ..) => return refuse!("add takes `text`, and no `entry`."),
        (Action::Replace, ..) => return refuse!("replace takes `entry` and `text`."),
        (Action::Remove, ..) => return refuse!("remove takes `entry`, and no `text`."),
    })
}
