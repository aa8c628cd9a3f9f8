//! `insert_asset`: inserts a model from Roblox's catalogue with its contents.

use scene_schemas::command::AssetContents;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, reflection};

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
/// The maximum size of an asset that is inserted into a file. All of it is named in the proposal.
const MAX_FILE_INSTANCES: usize = 200_000;
/// The maximum bytes and number of an asset's scripts: what a person can read.
const MAX_TEXT: usize = 400_000;
const MAX_SCRIPTS: usize = 1_000;
/// The maximum depth of an asset. Paths of deeper instances would be too long.
const MAX_DEPTH: usize = 200;
/// Maximum number of roots listed in the answer.
const LISTED: usize = 50;

/// Returns the number of levels of an asset.
fn find_depth(contents: &AssetContents) -> usize {
    let mut depths: Vec<usize> = Vec::with_capacity(contents.len());
    for above in &contents.parents {
        let depth = (*above as usize).checked_sub(1).and_then(|above| depths.get(above));
        depths.push(depth.map_or(1, |depth| depth + 1));
    }
    depths.into_iter().max().unwrap_or(0)
}

fn plan(args: &InsertAssetArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let asset = args.asset_id.get();
    let (contents, blob) = draft.scene().asset_contents(asset)?;
    if contents.is_empty() || !contents.is_sound() {
        return refuse!("Asset {asset} contains nothing that can be inserted.");
    }
    let text: usize = contents.scripts.iter().map(|script| script.text.len()).sum();
    let most = if blob.is_some() { MAX_FILE_INSTANCES } else { MAX_STUDIO_INSTANCES };
    let scripts = contents.scripts.len();
    if contents.len() > most || text > MAX_TEXT || scripts > MAX_SCRIPTS {
        return refuse!(
            "Asset {asset} has {} instances, and {scripts} scripts of {text} bytes. At most {most}, \
             {MAX_SCRIPTS} and {MAX_TEXT} can be reviewed. Ask the user to insert it in Studio by hand.",
            contents.len()
        );
    }
    if find_depth(&contents) > MAX_DEPTH {
        return refuse!("Asset {asset} is nested more than {MAX_DEPTH} levels deep.");
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
