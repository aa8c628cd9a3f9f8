//! `apply_patch`: applies a unified diff to a script.

use scene_schemas::InstancePath;
use scene_schemas::proposal::WarningKind;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, text_of};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "apply_patch",
    about: "Proposes edits of a script as a unified diff, or as `*** Begin Patch` with one `*** \
            Update File`. Headers, if any, name the script. Hunks are located by their lines; one \
            that fits several places needs its line number. Applies all hunks or none.",
    schema: args::args_schema::<ApplyPatchArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ApplyPatchArgs {
    path: InstancePath,
    patch: String,
}

fn plan(args: &ApplyPatchArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    let path = draft.scene().path(node);
    let before = text_of(draft.scene(), node, &path)?.into_owned();
    let (name, full) = (draft.scene().name(node).to_owned(), path.to_string());
    let slashed = path.segments.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join("/");
    let patched = vector_text_edit::apply_patch(&before, &args.patch, &[&full, &name, &slashed]);
    let patched = patched.map_err(Refusal::new)?;
    for doubt in patched.list_doubts() {
        draft.add_warning(WarningKind::Fuzzy, format!("{path}: {doubt}."));
    }
    let stage = patched.stage.name();
    draft.edit_script(node, patched.edits)?;
    draft.set_title(format!("Edit {}", path.quoted_name()));
    let lines = draft.scene().script_text(node).map_or(0, |text| text.lines().count());
    Ok(json!({ "path": path, "stage": stage, "offset": patched.offset, "totalLines": lines }))
}
