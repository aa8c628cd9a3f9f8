//! `playtest`: plays the game on a copy of the place, headlessly.

use scene_schemas::playtest::{Playtest, PlaytestMode};
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use super::args::BoundedInt;
use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::planning_scene::PlanningScene;
use crate::play::{PlayOutcome, PlayRequest, StepArgs, read_steps};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "playtest",
    about: "Plays the game on a copy of the place, in simulated time. Reports errors with script and \
            line, output, remotes, changes. Physics: only falling, walking, touching.",
    schema: args::args_schema::<PlaytestArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, scene| plan_play(args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlaytestArgs {
    #[serde(default)]
    seconds: BoundedInt<1, 300, 5>,
    #[serde(default)]
    players: BoundedInt<0, 8, 1>,
    steps: Option<Vec<StepArgs>>,
    /// Real engine and data; the user is asked; no steps.
    in_studio: Option<bool>,
}

/// Whether a call is to play the game in Studio.
pub fn plays_in_studio(tool: &str, args: &Json) -> bool {
    tool == TOOL.name && args["inStudio"] == true
}

/// Maximum number of entries of each list in an answer.
const MOST: usize = 40;

fn plan_play(args: PlaytestArgs, scene: &PlanningScene) -> Result<FetchRequest, Refusal> {
    if args.in_studio == Some(true) {
        return plan_studio_play(&args, scene).map(FetchRequest::PlayInStudio);
    }
    Ok(FetchRequest::Play(PlayRequest {
        seconds: args.seconds.get() as f64,
        players: args.players.get() as u32,
        steps: read_steps(args.steps.unwrap_or_default())?,
        ..PlayRequest::default()
    }))
}

fn plan_studio_play(args: &PlaytestArgs, scene: &PlanningScene) -> Result<Playtest, Refusal> {
    if !scene.is_open_in_studio() {
        return refuse!(
            "This place is not open in Studio. Without `inStudio` the game is played on a copy."
        );
    }
    if args.steps.as_ref().is_some_and(|steps| !steps.is_empty()) {
        return refuse!(
            "In Studio no steps can be played. Leave out `steps`, or play on the copy: without \
             `inStudio`."
        );
    }
    let mode = match args.players.get() {
        0 => PlaytestMode::Run,
        1 => PlaytestMode::Play,
        more => {
            return refuse!(
                "In Studio at most 1 player can join, not {more}. Set `players` to 0 or 1, or play on \
                 the copy: without `inStudio`."
            );
        }
    };
    Ok(Playtest { mode, seconds: args.seconds.get() as u32 })
}

/// Returns the answer of a play-test.
pub fn play_answer(request: &PlayRequest, outcome: &PlayOutcome) -> Json {
    outcome.to_json(request, MOST)
}
