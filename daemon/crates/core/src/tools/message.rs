//! `message`: sends a message to the user.

use scene_schemas::entry::Phase;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "message",
    about: "Sends the user a message: at the start, in between (update), or at the end (final).",
    schema: args::args_schema::<MessageArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        let MessageArgs { text, phase, answers } = args::parse_args(json)?;
        plan_message(text, phase, answers.unwrap_or_default())
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MessageArgs {
    /// The text of the message.
    text: String,
    /// The stage of the task.
    phase: Phase,
    /// If the message asks something: 2 to 6 short answers for the user to choose from.
    answers: Option<Vec<String>>,
}

/// Maximum number of offered answers, and maximum characters of each: the plugin shows them as
/// buttons.
const MAX_ANSWERS: usize = 6;
const MAX_ANSWER: usize = 90;

pub(super) fn plan_message(
    text: String,
    phase: Phase,
    answers: Vec<String>,
) -> Result<ModelAction, Refusal> {
    if text.trim().is_empty() {
        return refuse!("`text` is empty.");
    }
    if answers.len() == 1 || answers.len() > MAX_ANSWERS {
        return refuse!("`answers` must have 2 to {MAX_ANSWERS} answers, or be left out.");
    }
    let is_short = |it: &String| !it.trim().is_empty() && it.chars().count() <= MAX_ANSWER;
    if let Some(answer) = answers.iter().find(|it| !is_short(it)) {
        return refuse!("The answer {answer:?} is empty or longer than {MAX_ANSWER} characters.");
    }
    Ok(ModelAction::Said { text, phase, answers })
}

#[cfg(test)]
mod tests {
    use super::{ModelAction, Phase, plan_message};

    #[test]
    fn suggested_answers_are_limited_in_number_and_length() {
        let say = |answers: &[&str]| {
            plan_message(
                "Which?".into(),
                Phase::Final,
                answers.iter().map(ToString::to_string).collect(),
            )
        };
        assert!(
            matches!(say(&["Red", "Blue"]), Ok(ModelAction::Said { answers, .. }) if answers.len() == 2)
        );
        assert!(say(&[]).is_ok());
        assert!(say(&["Red"]).is_err() && say(&["Red"; 7]).is_err());
        assert!(say(&["Red", " "]).is_err() && say(&["Red", &"x".repeat(91)]).is_err());
    }
}
