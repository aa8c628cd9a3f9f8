//! `replace_text`: exact search and replace, in one script or in many.

use scene_schemas::InstancePath;
use scene_schemas::proposal::WarningKind;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, count};
use vector_text_edit::{EditError, Replacement, Stage};

use super::{Own, Run, Tool, args};
use crate::proposal::{Draft, text_of};

pub(super) const TOOL: Tool = Tool {
    name: "replace_text",
    about: "Proposes exact replacements in a script's text: `search` and `replace`, or `edits` in \
            order. `search` must occur once; with `all` every occurrence is replaced, and several \
            scripts (`paths`, `selector`) need it. Answers the matches per script.",
    schema: args::schema::<Args>,
    own: Own::Path,
    run: Run::Change(|json, draft| plan(args::read(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    /// e.g. LuaSourceContainer
    selector: Option<String>,
    search: Option<String>,
    replace: Option<String>,
    all: Option<bool>,
    edits: Option<Vec<Edit>>,
    rationale: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Edit {
    search: String,
    replace: String,
    all: Option<bool>,
}

fn plan(args: Args, draft: &mut Draft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::targets(draft.scene(), args.path.as_ref(), args.paths.as_deref(), selector)?;
    let one = args.path.is_some();
    let replacements = replacements(&args)?;
    if !one && !replacements.iter().all(|replacement| replacement.all) {
        return refuse!(
            "In many scripts `all: true` is needed, because each may have several matches."
        );
    }
    let (mut scripts, mut without, mut total) = (Vec::new(), Vec::new(), 0);
    for node in nodes {
        if selector.is_some() && draft.scene().source(node).is_none() {
            continue;
        }
        match replace(draft, node, &replacements)? {
            Ok(matches) => {
                total += matches;
                scripts.push(json!({ "path": draft.scene().path(node), "matches": matches }));
            }
            Err(error) if one => return Err(Refusal::new(error)),
            Err(_) => without.push(draft.scene().path(node).to_string()),
        }
    }
    if scripts.is_empty() {
        let search = replacements.first().map_or("", |replacement| &replacement.search);
        return refuse!(
            "{search:?} stands in none of the {}.",
            count(without.len(), "script", "scripts")
        );
    }
    if args.paths.is_some() && !without.is_empty() {
        let text = format!("No match in {}.", without.join(", "));
        draft.warn(WarningKind::NoMatch, text);
    }
    draft.title(args.rationale.unwrap_or_else(|| {
        let matches = count(total, "match", "matches");
        format!("Replace {matches} in {}", count(scripts.len(), "script", "scripts"))
    }));
    Ok(json!({ "scripts": scripts, "withoutMatch": without.len() }))
}

fn replacements(args: &Args) -> Result<Vec<Replacement>, Refusal> {
    let all = args.all.unwrap_or(false);
    match (&args.search, &args.replace, &args.edits) {
        (Some(search), Some(replace), None) => {
            Ok(vec![Replacement { search: search.clone(), replace: replace.clone(), all }])
        }
        (None, None, Some(edits)) if !edits.is_empty() => {
            let replacement = |edit: &Edit| Replacement {
                search: edit.search.clone(),
                replace: edit.replace.clone(),
                all: edit.all.unwrap_or(all),
            };
            Ok(edits.iter().map(replacement).collect())
        }
        _ => refuse!("Give either `search` and `replace`, or `edits` with at least one."),
    }
}

/// Drafts the replacements in one script; the inner error says that the text is not there.
fn replace(
    draft: &mut Draft<'_>,
    node: Node,
    replacements: &[Replacement],
) -> Result<Result<usize, EditError>, Refusal> {
    let path = draft.scene().path(node);
    let replaced = vector_text_edit::replace(&text_of(draft.scene(), node, &path)?, replacements);
    match replaced {
        Ok(replaced) => {
            let matches = replaced.counts.iter().sum();
            if replaced.stage > Stage::Exact {
                let text = format!("{path}: the text to replace fits but for white space.");
                draft.warn(WarningKind::Fuzzy, text);
            }
            draft.edit_script(node, replaced.edits)?;
            Ok(Ok(matches))
        }
        Err(error) => Ok(Err(error)),
    }
}
