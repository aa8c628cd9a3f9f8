//! `generate_asset`: has a model generated from a text.

use scene_schemas::BoundedNumber;
use scene_schemas::generation::GenerationRequest;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "generate_asset",
    about: "Has Meshy generate a 3D model if the user agrees to the price. Takes minutes. Returns \
            {generated} for upload_asset.",
    schema: args::args_schema::<GenerateAssetArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, _| {
        plan_generation(args::parse_args(json)?).map(FetchRequest::Generate)
    }),
};

/// The length limit of a prompt, in characters, which is Meshy's.
const MAX_PROMPT: usize = 600;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GenerateAssetArgs {
    prompt: String,
    low_poly: Option<bool>,
    /// Not together with lowPoly
    polygons: Option<BoundedNumber<100, 300_000>>,
    colors: Option<bool>,
}

fn plan_generation(args: GenerateAssetArgs) -> Result<GenerationRequest, Refusal> {
    let prompt = args.prompt.trim();
    let length = prompt.chars().count();
    if prompt.is_empty() || length > MAX_PROMPT {
        return refuse!("`prompt` has {length} characters; give 1 to {MAX_PROMPT}.");
    }
    let is_low_poly = args.low_poly.unwrap_or(false);
    if is_low_poly && args.polygons.is_some() {
        return refuse!(
            "Give `lowPoly` or `polygons`, not both: Meshy chooses the number for lowPoly."
        );
    }
    Ok(GenerationRequest {
        prompt: prompt.to_owned(),
        is_low_poly,
        polygons: args.polygons.map(|it| it.get() as u32),
        has_colors: args.colors.unwrap_or(true),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generation_needs_a_prompt_and_one_way_to_choose_its_faces() {
        let plan = |json| {
            let parsed = args::parse_args(json).map_err(|refusal| refusal.0)?;
            plan_generation(parsed).map_err(|refusal| refusal.0)
        };
        let made = plan(json!({ "prompt": " an oak ", "polygons": 900 })).unwrap();
        assert_eq!((made.prompt.as_str(), made.polygons), ("an oak", Some(900)));
        assert!(made.has_colors && !made.is_low_poly);
        let plain = plan(json!({ "prompt": "x", "lowPoly": true, "colors": false })).unwrap();
        assert!(plain.is_low_poly && !plain.has_colors);
        for prompt in [" ".to_owned(), "ä".repeat(601)] {
            assert!(plan(json!({ "prompt": prompt })).unwrap_err().contains("1 to 600"));
        }
        assert!(plan(json!({ "prompt": "ä".repeat(600) })).is_ok());
        let both = plan(json!({ "prompt": "x", "lowPoly": true, "polygons": 900 }));
        assert!(both.unwrap_err().contains("not both"));
        assert!(plan(json!({ "prompt": "x", "polygons": 99 })).is_err());
    }
}
