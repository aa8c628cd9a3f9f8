//! `upload_asset`: uploads a file, or a generated model, as an asset of the user.

use scene_schemas::BoundedNumber;
use scene_schemas::entry::{AssetFileKind, Seq};
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "upload_asset",
    about: "Uploads a file of the place's folder, or what was generated, as an asset if the user agrees. \
            Returns {assetId, review}.",
    schema: args::args_schema::<UploadAssetArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, _| plan_upload(args::parse_args(json)?).map(FetchRequest::Upload)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UploadAssetArgs {
    file: Option<String>,
    generated: Option<BoundedNumber<1, 9_007_199_254_740_991>>,
    kind: Option<AssetFileKind>,
    name: Option<String>,
}

/// A file to upload, as a model names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadWish {
    pub source: UploadSource,
    /// If absent, it is chosen by the format of the file.
    pub kind: Option<AssetFileKind>,
    /// If absent, it is the name of the file without its extension, or the prompt.
    pub name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadSource {
    /// A path relative to the folder of the place.
    File(String),
    /// The model of a generation.
    Generation(Seq),
}

fn plan_upload(args: UploadAssetArgs) -> Result<UploadWish, Refusal> {
    let source = match (args.file, args.generated) {
        (Some(file), None) if !file.trim().is_empty() => UploadSource::File(file),
        (None, Some(generation)) => UploadSource::Generation(Seq(generation.get())),
        _ => {
            return refuse!(
                "Give `file`, a path in the folder of the place, or `generated`, the number that \
                 generate_asset returned."
            );
        }
    };
    Ok(UploadWish {
        source,
        kind: args.kind,
        name: args.name.filter(|name| !name.trim().is_empty()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn upload_has_one_source() {
        let plan = |json| plan_upload(args::parse_args(json).unwrap()).map_err(|refusal| refusal.0);
        let file = plan(json!({ "file": "tree.png", "kind": "decal", "name": " " })).unwrap();
        assert_eq!(file.source, UploadSource::File("tree.png".to_owned()));
        assert_eq!((file.kind, file.name), (Some(AssetFileKind::Decal), None));
        let made = plan(json!({ "generated": 7 })).unwrap();
        assert_eq!(made.source, UploadSource::Generation(Seq(7)));
        for wrong in [json!({}), json!({ "file": " " }), json!({ "file": "a", "generated": 1 })] {
            assert!(plan(wrong).unwrap_err().contains("`generated`"));
        }
    }
}
