//! `playtest`: plays the game on a copy of the place, headlessly.

use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::args::BoundedInt;
use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::play::{PlayOutcome, PlayRequest, StepArgs, read_steps};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "playtest",
    about: "Plays the game on a copy of the place, in simulated time. Reports errors with script and \
            line, output, remotes, changes. Physics: only falling, walking, touching.",
    schema: args::args_schema::<PlaytestArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, _| plan_play(args::parse_args(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlaytestArgs {
    #[serde(default)]
    seconds: BoundedInt<1, 300, 5>,
    #[serde(default)]
    players: BoundedInt<0, 8, 1>,
    steps: Option<Vec<StepArgs>>,
}

/// Maximum number of entries of each list in an answer.
const MOST: usize = 40;

fn plan_play(args: PlaytestArgs) -> Result<FetchRequest, Refusal> {
    Ok(FetchRequest::Play(PlayRequest {
        seconds: args.seconds.get() as f64,
        players: args.players.get() as u32,
        steps: read_steps(args.steps.unwrap_or_default())?,
        ..PlayRequest::default()
    }))
}

/// Returns the answer of a play-test.
pub fn play_answer(request: &PlayRequest, outcome: &PlayOutcome) -> Json {
    outcome.to_json(request, MOST)
}
