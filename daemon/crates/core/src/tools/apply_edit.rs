//! `apply_edit`: edits of text ranges in a script, with positions as in the Language Server
//! Protocol.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use scene_schemas::text::TextEdit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args, compact_schema};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "apply_edit",
    about: "Proposes edits of a script by range: `text` replaces the range from `start` up to \
            `end`. Lines and UTF-16 characters are zero-based, in the current text; no overlaps; at \
            most 20 edits and 2000 inserted characters.",
    schema: args::args_schema::<ApplyEditArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ApplyEditArgs {
    pub(super) path: InstancePath,
    #[schemars(transform = compact_schema::drop_descriptions)]
    pub(super) edits: Vec<TextEdit>,
}

fn plan(args: ApplyEditArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    vector_text_edit::check_limits(&args.edits).map_err(Refusal::new)?;
    let before = draft.seen_text(node)?.into_owned();
    let edits = vector_text_edit::fit_edits(&before, &args.edits).map_err(Refusal::new)?;
    let changed = vector_text_edit::apply_edits(&before, &edits).map_err(Refusal::new)? != before;
    if changed {
        draft.edit_seen(node, edits)?;
        draft.set_title(format!("Edit {}", args.path.quoted_name()));
    } else {
        draft.note_text(node);
    }
    let lines = draft.scene().script_text(node).map_or(0, |text| text.lines().count());
    Ok(json!({ "path": args.path, "changed": changed, "totalLines": lines }))
}
