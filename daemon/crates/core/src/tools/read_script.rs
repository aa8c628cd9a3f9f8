//! `read_script`: returns a script's text.

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Scene, count_noun};

use super::args::BoundedInt;
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::text_of;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "read_script",
    about: "Reads a script's text, whole or from `startLine` (1-based) to `endLine`. If \
            `truncated`, continue at `nextLine`.",
    schema: args::args_schema::<ReadScriptArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadScriptArgs {
    path: InstancePath,
    start_line: Option<BoundedNumber<1, 10_000_000>>,
    end_line: Option<BoundedNumber<1, 10_000_000>>,
    #[serde(default)]
    max_bytes: BoundedInt<64, 1_000_000, 65_536>,
}

fn plan(args: &ReadScriptArgs, scene: &Scene) -> Result<Json, Refusal> {
    let node = scene.resolve(&args.path)?;
    let text = text_of(scene, node, &args.path)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let start = args.start_line.map_or(1, |line| line.get() as usize);
    let end = args.end_line.map_or(lines.len(), |line| line.get() as usize).min(lines.len());
    if start > lines.len().max(1) || start > end.max(1) {
        return refuse!(
            "{} has {}; there is nothing at lines {start} to {end}.",
            args.path,
            count_noun(lines.len(), "line", "lines")
        );
    }
    let budget = args.max_bytes.get() as usize;
    let mut part = String::new();
    let mut last = start - 1;
    for line in lines.iter().take(end).skip(start - 1) {
        if part.len() + line.len() > budget {
            break;
        }
        part.push_str(line);
        last += 1;
    }
    let stuck = last < start && !lines.is_empty();
    if stuck {
        part.push_str(args::truncate_bytes(lines[start - 1], budget));
        last = start;
    }
    let mut answer = json!({
        "path": scene.path(node),
        "class": scene.class(node),
        "text": part,
        "startLine": start,
        "endLine": last,
        "totalLines": lines.len(),
        "fingerprint": scene.text_fingerprint(node),
    });
    if last < end || stuck {
        answer["truncated"] = true.into();
        answer["nextLine"] = (last + 1).into();
    }
    Ok(answer)
}
