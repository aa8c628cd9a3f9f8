//! `insert_asset`: inserts a model from Roblox's catalogue with all its contents.

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::Node;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "insert_asset",
    about: "Proposes to insert an asset of Roblox's catalogue, or one of the user's, in Studio. The user \
            sees the scripts in it. Returns {path, paths, count, scripts}.",
    schema: args::args_schema::<InsertAssetArgs>,
    own: DefaultTarget::ParentOrWorkspace,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InsertAssetArgs {
    /// The number in rbxassetid://123
    asset_id: BoundedNumber<1, 9_007_199_254_740_991>,
    parent_path: InstancePath,
}

/// Maximum size of an asset, given by what a card and a message to Studio can hold.
const MAX_INSTANCES: usize = 20_000;
const MAX_TEXT: usize = 400_000;
/// Maximum number of roots listed in the answer.
const LISTED: usize = 50;

fn plan(args: &InsertAssetArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let asset = args.asset_id.get();
    let holds = draft.scene().asset_contents(asset)?;
    if holds.is_empty() || !holds.is_sound() {
        return refuse!("Studio reports that asset {asset} contains nothing that can be inserted.");
    }
    let text: usize = holds.scripts.iter().map(|script| script.text.len()).sum();
    if holds.len() > MAX_INSTANCES || text > MAX_TEXT {
        return refuse!(
            "Asset {asset} has {} instances and {text} bytes of scripts, but a card can show at \
             most {MAX_INSTANCES} and {MAX_TEXT}. Ask the user to insert it in Studio by hand.",
            holds.len()
        );
    }
    let parent = draft.parent_or_models(&args.parent_path)?;
    let (count, scripts) = (holds.len(), holds.scripts.len());
    let roots: Vec<Node> = draft.insert_asset(asset, parent, holds)?;
    let paths: Vec<_> = roots.iter().take(LISTED).map(|root| draft.scene().path(*root)).collect();
    let first = paths.first().cloned().unwrap_or_default();
    draft.set_title(format!("Insert asset {asset} as {}", first.quoted_name()));
    Ok(json!({ "path": first, "paths": paths, "count": count, "scripts": scripts }))
}
