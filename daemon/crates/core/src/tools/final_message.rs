//! `final_message`: the last word to the person.

use scene_schemas::entry::Phase;
use schemars::JsonSchema;
use serde::Deserialize;

use super::message::said;
use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "final_message",
    about: "Says the last word to the person: what was done and what is left.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Talk(|json| {
        let Args { text, answers } = args::read(json)?;
        said(text, Phase::Final, answers.unwrap_or_default())
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What you say.
    text: String,
    /// Where you ask something: 2 to 6 short answers for the person to choose from.
    answers: Option<Vec<String>>,
}
