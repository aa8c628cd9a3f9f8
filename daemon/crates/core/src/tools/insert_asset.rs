//! `insert_asset`: inserts a model from Roblox's catalogue with its contents.

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
    about: "Proposes to insert a model of the Creator Store or of the user. Its scripts are left out \
            unless the user keeps them. Returns {paths, count, leftOut}.",
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

/// The maximum size of an asset that Studio reports: what a message can hold.
const MAX_STUDIO_INSTANCES: usize = 20_000;
/// The maximum size of an asset that is inserted into a file.
const MAX_FILE_INSTANCES: usize = 500_000;
/// The maximum size of an asset's scripts in total: what a card can show.
const MAX_TEXT: usize = 400_000;
/// Maximum number of roots listed in the answer.
const LISTED: usize = 50;

fn plan(args: &InsertAssetArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let asset = args.asset_id.get();
    let (contents, blob) = draft.scene().asset_contents(asset)?;
    if contents.is_empty() || !contents.is_sound() {
        return refuse!("Asset {asset} contains nothing that can be inserted.");
    }
    let text: usize = contents.scripts.iter().map(|script| script.text.len()).sum();
    let most = if blob.is_some() { MAX_FILE_INSTANCES } else { MAX_STUDIO_INSTANCES };
    if contents.len() > most || text > MAX_TEXT {
        return refuse!(
            "Asset {asset} has {} instances and {text} bytes of scripts, and a card can show at \
             most {most} and {MAX_TEXT}. Ask the user to insert it in Studio by hand.",
            contents.len()
        );
    }
    let parent = draft.parent_or_models(&args.parent_path)?;
    let left_out = contents.scripts_and_links();
    let count = contents.without(&left_out).len();
    let roots: Vec<Node> = draft.insert_asset(asset, parent, contents, left_out.clone(), blob)?;
    let paths: Vec<_> = roots.iter().take(LISTED).map(|root| draft.scene().path(*root)).collect();
    let title = match paths.first() {
        Some(first) => format!("Insert asset {asset} as {}", first.quoted_name()),
        None => format!("Insert asset {asset}"),
    };
    draft.set_title(title);
    Ok(json!({
        "path": paths.first(), "paths": paths, "count": count, "leftOut": left_out.len(),
    }))
}
