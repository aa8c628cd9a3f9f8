//! `replace_text`: exact search and replace, in one script or in many.

use scene_schemas::InstancePath;
use scene_schemas::proposal::WarningKind;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, count_noun};
use vector_text_edit::{EditError, MatchStage, TextReplacement};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, text_of};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "replace_text",
    about: "Proposes exact replacements in a script's text: `search` and `replace`, or `edits` in \
            order. `search` must match once; `all` replaces every match and is required for several \
            scripts (`paths`, `selector`). Returns the matches per script.",
    schema: args::args_schema::<ReplaceTextArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReplaceTextArgs {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    /// e.g. LuaSourceContainer
    selector: Option<String>,
    search: Option<String>,
    replace: Option<String>,
    all: Option<bool>,
    edits: Option<Vec<SearchEdit>>,
    rationale: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchEdit {
    search: String,
    replace: String,
    all: Option<bool>,
}

fn plan(args: ReplaceTextArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::resolve_targets(draft, args.path.as_ref(), args.paths.as_deref(), selector)?;
    let one = args.path.is_some();
    let replacements = parse_replacements(&args)?;
    if !one && !replacements.iter().all(|replacement| replacement.should_replace_all) {
        return refuse!("Several scripts need `all: true`, because each may have several matches.");
    }
    let (mut scripts, mut changed, mut without, mut total) =
        (Vec::new(), Vec::new(), Vec::new(), 0);
    for node in nodes {
        if selector.is_some() && draft.scene().script_text(node).is_none() {
            continue;
        }
        match replace_in_script(draft, node, &replacements)? {
            Ok(matches) => {
                total += matches;
                changed.push(node);
                scripts.push(json!({ "path": draft.scene().path(node), "matches": matches }));
            }
            Err(error) if one => return Err(Refusal::new(error)),
            Err(_) => {
                draft.note_text(node);
                without.push(draft.scene().path(node).to_string());
            }
        }
    }
    if scripts.is_empty() {
        let search = replacements.first().map_or("", |replacement| &replacement.search);
        return refuse!(
            "None of the {} contains {search:?}.",
            count_noun(without.len(), "script", "scripts")
        );
    }
    if args.paths.is_some() && !without.is_empty() {
        let text = format!("No match in {}.", without.join(", "));
        draft.add_warning(WarningKind::NoMatch, text);
    }
    draft.set_title(args.rationale.unwrap_or_else(|| {
        let matches = count_noun(total, "match", "matches");
        match changed.as_slice() {
            [only] => format!("Replace {matches} in {}", draft.scene().path(*only).quoted_name()),
            changed => format!("Replace {matches} in {} scripts", changed.len()),
        }
    }));
    Ok(json!({ "scripts": scripts, "withoutMatch": without.len() }))
}

fn parse_replacements(args: &ReplaceTextArgs) -> Result<Vec<TextReplacement>, Refusal> {
    let all = args.all.unwrap_or(false);
    match (&args.search, &args.replace, &args.edits) {
        (Some(search), Some(replace), None) => Ok(vec![TextReplacement {
            search: search.clone(),
            replace: replace.clone(),
            should_replace_all: all,
        }]),
        (None, None, Some(edits)) if !edits.is_empty() => {
            let replacement = |edit: &SearchEdit| TextReplacement {
                search: edit.search.clone(),
                replace: edit.replace.clone(),
                should_replace_all: edit.all.unwrap_or(all),
            };
            Ok(edits.iter().map(replacement).collect())
        }
        _ => refuse!("Give either `search` and `replace`, or `edits` with at least one."),
    }
}

/// Drafts the replacements in one script. The inner error reports that the text was not found.
fn replace_in_script(
    draft: &mut ProposalDraft<'_>,
    node: Node,
    replacements: &[TextReplacement],
) -> Result<Result<usize, EditError>, Refusal> {
    let path = draft.scene().path(node);
    let replaced =
        vector_text_edit::apply_replacements(&text_of(draft.scene(), node, &path)?, replacements);
    match replaced {
        Ok(replaced) => {
            let matches = replaced.counts.iter().sum();
            if replaced.stage > MatchStage::Exact {
                let text = format!(
                    "{path}: the text to replace matches only if white space is \
                                    ignored."
                );
                draft.add_warning(WarningKind::Fuzzy, text);
            }
            draft.edit_script(node, replaced.edits)?;
            Ok(Ok(matches))
        }
        Err(error) => Ok(Err(error)),
    }
}
