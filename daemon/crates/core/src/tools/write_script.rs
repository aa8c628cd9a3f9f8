//! `write_script`: replaces a script's whole text.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "write_script",
    about: "Proposes a new full text for an existing script (open_or_create_script creates one).",
    schema: args::args_schema::<WriteScriptArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WriteScriptArgs {
    path: InstancePath,
    source: String,
}

fn plan(args: &WriteScriptArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    let before = draft.seen_text(node)?.into_owned();
    if let Some(line) = vector_text_edit::find_elision(args.source.lines(), &before) {
        return refuse!(
            "`source` contains the line `{}`, a placeholder for omitted code. Send the whole text, \
             or change single lines with apply_edit, replace_text or apply_patch.",
            line.trim()
        );
    }
    let source = vector_text_edit::match_line_ends(&before, &args.source);
    let edits = vector_text_edit::diff_lines(&before, &source);
    let changed = !edits.is_empty();
    if changed {
        draft.edit_seen(node, edits)?;
        draft.set_title(format!("Rewrite {}", args.path.quoted_name()));
    } else {
        draft.note_text(node);
    }
    let lines = draft.scene().script_text(node).map_or(0, |text| text.lines().count());
    Ok(json!({ "path": args.path, "changed": changed, "totalLines": lines }))
}
