//! `final_message`: sends the closing message to the user.

use scene_schemas::entry::Phase;
use schemars::JsonSchema;
use serde::Deserialize;

use super::message::plan_message;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "final_message",
    about: "Sends the user the closing message: what was done and what is left.",
    schema: args::args_schema::<FinalMessageArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        let FinalMessageArgs { text, answers } = args::parse_args(json)?;
        plan_message(text, Phase::Final, answers.unwrap_or_default())
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FinalMessageArgs {
    /// The text of the message.
    text: String,
    /// If the message asks something: 2 to 6 short answers for the user to choose from.
    answers: Option<Vec<String>>,
}
