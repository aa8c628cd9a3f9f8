//! `ask_clarification`: asks the user a question. Their reply is the answer to the call.

use scene_schemas::entry::Phase;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::message::plan_message;
use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "ask_clarification",
    about: "Asks the user a question and waits for the answer: if a request has very different \
            readings, or to confirm the plan of a far-reaching change.",
    schema: args::args_schema::<AskClarificationArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| plan(args::parse_args(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskClarificationArgs {
    /// The question to the user.
    question: String,
    /// 2 to 6 short answers for the user to choose from, the recommended one first; other answers
    /// are possible.
    options: Option<Vec<String>>,
}

fn plan(args: AskClarificationArgs) -> Result<ModelAction, Refusal> {
    match plan_message(args.question, Phase::Update, args.options.unwrap_or_default()) {
        Ok(ModelAction::Said { text, answers, .. }) => {
            Ok(ModelAction::Question { question: text, answers })
        }
        Ok(talk) => Ok(talk),
        Err(Refusal(reason)) => {
            let reason = reason.replace("`text`", "`question`").replace("`answers`", "`options`");
            refuse!("{reason}")
        }
    }
}
