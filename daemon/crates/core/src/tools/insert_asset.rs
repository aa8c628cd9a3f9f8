//! `insert_asset`: inserts a model from Roblox's catalogue with its contents.

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, reflection};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::asset_limits::{AssetSource, check_asset_limits};
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

/// Maximum number of roots listed in the answer.
const LISTED: usize = 50;

fn plan(args: &InsertAssetArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let asset = args.asset_id.get();
    let (contents, blob) = draft.scene().asset_contents(asset)?;
    if contents.is_empty() || !contents.is_sound() {
        return refuse!("Asset {asset} contains nothing that can be inserted.");
    }
    let source = if blob.is_some() { AssetSource::File } else { AssetSource::Studio };
    if let Err(reason) = check_asset_limits(&contents, source) {
        return refuse!("Asset {asset} {reason}");
    }
    let parent = draft.parent_or_models(&args.parent_path)?;
    let mut left_out = contents.list_scripts_and_links();
    if blob.is_some() {
        // A class that is not known may be one of scripts. Studio knows its classes.
        let is_unknown = |at: &usize| reflection::find_class(contents.class_of(*at)).is_none();
        left_out.extend((0..contents.len()).filter(is_unknown).map(|at| at as u32 + 1));
        left_out.sort_unstable();
        left_out.dedup();
    }
    let count = contents.remove_left_out(&left_out).len();
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
