//! The table of a play-test's steps, as a model or a file writes it.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value as Json;

use super::{FailingService, MoveGoal, PlayAction, PlayStep};

/// Maximum number of steps of a play-test.
const MAX_STEPS: usize = 200;

// A step of a play-test. Its description is not part of the schema: models pay for each word.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepArgs {
    #[serde(rename = "do")]
    action: StepKind,
    player: Option<String>,
    /// Path from game or player.
    target: Option<String>,
    to: Option<[f64; 3]>,
    /// key: KeyCode; chat: text; expect: Luau expression.
    text: Option<String>,
    seconds: Option<f64>,
    #[serde(default)]
    #[schemars(schema_with = "any_values")]
    args: Option<Vec<Json>>,
}

fn any_values(_: &mut SchemaGenerator) -> Schema {
    let items = json_schema!({ "type": ["string", "number", "boolean", "object"] });
    let mut schema = json_schema!({ "type": "array" });
    schema.insert("items".to_owned(), items.into());
    schema
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum StepKind {
    Join,
    Leave,
    Move,
    Touch,
    Click,
    Key,
    Chat,
    Fire,
    Wait,
    Expect,
    Fail,
    Recover,
}

impl StepKind {
    /// Returns which of `target`, `to`, `text`, `seconds` and `args` a step can use.
    fn uses(self) -> &'static [&'static str] {
        match self {
            Self::Join | Self::Leave => &[],
            Self::Move => &["target", "to"],
            Self::Touch | Self::Click | Self::Fail | Self::Recover => &["target"],
            Self::Key | Self::Chat | Self::Expect => &["text"],
            Self::Fire => &["target", "args"],
            Self::Wait => &["seconds"],
        }
    }
}

/// Reads the steps of a play-test.
///
/// # Errors
/// A step lacks something, or has what it cannot use; the refusal names it by its number, from 1.
pub fn read_steps(rows: Vec<StepArgs>) -> Result<Vec<PlayStep>, Refusal> {
    if rows.len() > MAX_STEPS {
        return refuse!("There are {} steps; at most {MAX_STEPS} are possible.", rows.len());
    }
    let numbered = rows.into_iter().zip(1..);
    numbered
        .map(|(row, number)| {
            read_step(row).map_err(|Refusal(why)| Refusal(format!("Step {number}: {why}")))
        })
        .collect()
}

fn read_step(row: StepArgs) -> Result<PlayStep, Refusal> {
    let StepArgs { action: kind, player, target, to, text, seconds, args } = row;
    let given = [
        ("target", target.is_some()),
        ("to", to.is_some()),
        ("text", text.is_some()),
        ("seconds", seconds.is_some()),
        ("args", args.is_some()),
    ];
    for (name, is_given) in given {
        if is_given && !kind.uses().contains(&name) {
            return refuse!("`{name}` is not for this step.");
        }
    }
    let needed = |target: Option<String>| match target {
        Some(target) if !target.trim().is_empty() => Ok(target),
        _ => refuse!("`target` is missing: the path of an instance."),
    };
    let said = |what: &str| match text {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => refuse!("`text` has to be {what}."),
    };
    let action = match kind {
        StepKind::Join => PlayAction::Join,
        StepKind::Leave => PlayAction::Leave,
        StepKind::Move => PlayAction::Move(match (to, target) {
            (Some(_), Some(_)) => return refuse!("Give `target` or `to`, not both."),
            (Some(to), None) if to.iter().all(|it| it.is_finite()) => MoveGoal::Position(to),
            (Some(_), None) => return refuse!("`to` has to be three numbers."),
            (None, target) => MoveGoal::Part(needed(target)?),
        }),
        StepKind::Touch => PlayAction::Touch(needed(target)?),
        StepKind::Click => PlayAction::Click(target),
        StepKind::Key => PlayAction::Key(said("the name of a KeyCode, such as E")?),
        StepKind::Chat => PlayAction::Chat(said("what is said")?),
        StepKind::Fire => PlayAction::Fire(needed(target)?, args.unwrap_or_default()),
        StepKind::Wait => match seconds {
            Some(seconds) if (0.0..=MAX_WAIT).contains(&seconds) => PlayAction::Wait(seconds),
            _ => return refuse!("`seconds` has to be a number from 0 to {MAX_WAIT}."),
        },
        StepKind::Expect => PlayAction::Expect(said("a Luau expression that has to be true")?),
        StepKind::Fail | StepKind::Recover => {
            let name = needed(target)?;
            let Some(service) = FailingService::ALL.into_iter().find(|it| it.class() == name)
            else {
                return refuse!("`target` has to be DataStoreService or MemoryStoreService.");
            };
            PlayAction::Fail(service, kind == StepKind::Fail)
        }
    };
    Ok(PlayStep { player, action })
}

/// The longest wait, in seconds.
const MAX_WAIT: f64 = 600.0;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: Json) -> Result<Vec<PlayStep>, String> {
        let rows = serde_json::from_value(json).map_err(|error| error.to_string())?;
        read_steps(rows).map_err(|Refusal(why)| why)
    }

    #[test]
    fn steps_are_read() {
        let steps = read(json!([
            { "do": "join", "player": "Ada" },
            { "do": "move", "to": [1, 2, 3] },
            { "do": "fire", "target": "ReplicatedStorage.Buy", "args": ["Sword", 2] },
            { "do": "fail", "target": "DataStoreService" },
        ]))
        .unwrap();
        let actions: Vec<PlayAction> = steps.iter().map(|step| step.action.clone()).collect();
        assert_eq!(
            actions,
            [
                PlayAction::Join,
                PlayAction::Move(MoveGoal::Position([1.0, 2.0, 3.0])),
                PlayAction::Fire(
                    "ReplicatedStorage.Buy".to_owned(),
                    vec![json!("Sword"), json!(2)]
                ),
                PlayAction::Fail(FailingService::DataStore, true),
            ]
        );
        assert_eq!(steps[0].player.as_deref(), Some("Ada"));
    }

    #[test]
    fn refusal_names_the_step_and_what_it_lacks() {
        for (row, why) in [
            (json!({ "do": "touch" }), "`target` is missing"),
            (json!({ "do": "wait", "seconds": -1 }), "a number from 0 to 600"),
            (json!({ "do": "wait" }), "a number from 0 to 600"),
            (json!({ "do": "key" }), "KeyCode"),
            (json!({ "do": "touch", "target": "A", "args": [1] }), "`args` is not for this step"),
            (json!({ "do": "fail", "target": "HttpService" }), "DataStoreService or"),
            (json!({ "do": "chat", "text": "hi", "to": [0, 0, 0] }), "`to` is not for this step"),
            (json!({ "do": "move", "target": "A", "to": [0, 0, 0] }), "not both"),
            (json!({ "do": "expect", "text": " " }), "Luau expression"),
        ] {
            let error = read(json!([{ "do": "join" }, row])).unwrap_err();
            assert!(error.starts_with("Step 2: ") && error.contains(why), "{error}");
        }
        assert!(read(json!([{ "do": "jump" }])).unwrap_err().contains("unknown variant"));
    }
}
