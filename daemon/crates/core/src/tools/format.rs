//! `format`: formats a script with StyLua.

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::{StackSize, StyluaSettings};
use vector_place::count_noun;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, text_of};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "format",
    about: "Proposes a script's text formatted by StyLua with the project's stylua.toml; \
            `startLine` (1-based) and `endLine` limit it to the statements within.",
    schema: args::args_schema::<FormatArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FormatArgs {
    path: InstancePath,
    start_line: Option<BoundedNumber<1, 10_000_000>>,
    end_line: Option<BoundedNumber<1, 10_000_000>>,
}

fn plan(args: &FormatArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    let before = text_of(draft.scene(), node, &args.path)?.into_owned();
    let range = format_range(args, &before)?;
    // Planning runs on a large stack, because scripts are outlined there too.
    let style = draft.scene().style();
    let style = style.map(|it| StyluaSettings { file: it.file.clone(), text: it.text.clone() });
    let after = vector_luau::format_source(&before, style.as_ref(), range, StackSize::Large);
    let after = after.map_err(|error| Refusal(format!("{}: {error}", args.path)))?;
    let edits = vector_text_edit::diff_lines(&before, &after);
    let changed = !edits.is_empty();
    if changed {
        draft.edit_script(node, edits)?;
        draft.set_title(format!("Format {}", args.path.quoted_name()));
    } else {
        draft.note_text(node);
    }
    Ok(json!({ "path": args.path, "changed": changed }))
}

/// Returns the byte range of the requested lines; None for the whole script.
fn format_range(args: &FormatArgs, text: &str) -> Result<Option<std::ops::Range<usize>>, Refusal> {
    if args.start_line.is_none() && args.end_line.is_none() {
        return Ok(None);
    }
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let first = args.start_line.map_or(1, |line| line.get() as usize);
    let last = args.end_line.map_or(starts.len(), |line| line.get() as usize).min(starts.len());
    if first > last {
        return refuse!(
            "{} has {}; there is nothing at lines {first} to {last}.",
            args.path,
            count_noun(starts.len(), "line", "lines")
        );
    }
    let end = starts.get(last).map_or(text.len(), |next| next - 1);
    Ok(Some(starts[first - 1]..end))
}
