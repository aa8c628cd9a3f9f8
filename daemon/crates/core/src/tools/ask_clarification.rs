//! `ask_clarification`: a question to the person, whose answer is the call's.

use scene_schemas::entry::Phase;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::message::said;
use super::{Own, Run, Talk, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "ask_clarification",
    about: "Asks the person a question and waits for the answer: where a request can be meant in ways \
            that differ much, or where a change reaches far and its plan is to be confirmed.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Talk(|json| plan(args::read(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What you ask.
    question: String,
    /// 2 to 6 short answers for the person to choose from, the one that you would take first; they
    /// can say something else too.
    options: Option<Vec<String>>,
}

fn plan(args: Args) -> Result<Talk, Refusal> {
    match said(args.question, Phase::Update, args.options.unwrap_or_default()) {
        Ok(Talk::Said { text, answers, .. }) => Ok(Talk::Question { question: text, answers }),
        Ok(talk) => Ok(talk),
        Err(Refusal(reason)) => {
            let reason = reason.replace("`text`", "`question`").replace("`answers`", "`options`");
            refuse!("{reason}")
        }
    }
}
