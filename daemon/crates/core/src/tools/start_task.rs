//! `start_task`: an agent has Vector's own model do a task.

use std::borrow::Cow;

use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::workers::RequestedRole;
use schemars::JsonSchema;
use serde::Deserialize;

use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::safe_line::safe_line;

/// The name of the tool, whose answer has the number of the task in `task`.
pub const START_TASK: &str = "start_task";

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: START_TASK,
    about: "Has the user's own model in Vector do a task if the user agrees to its cost. proposal_status \
            of the call tells how it goes and ends; its proposals are for the user to decide.",
    schema: args::args_schema::<StartTaskArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, _| plan_task(args::parse_args(json)?).map(FetchRequest::Task)),
};

/// Maximum length of a request, in bytes. The person reads it before the task begins.
const MAX_REQUEST: usize = 8_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartTaskArgs {
    /// All that the model has to know: it does not see your conversation
    request: String,
    /// `lead` may give parts of it to other models at the same time
    role: Option<RequestedRole>,
}

/// A task that an agent wants to have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWish {
    pub request: String,
    pub role: RequestedRole,
}

fn plan_task(args: StartTaskArgs) -> Result<TaskWish, Refusal> {
    let request = args.request.trim();
    if request.is_empty() {
        return refuse!("`request` is empty; say what is to be done.");
    }
    if request.len() > MAX_REQUEST {
        return refuse!("`request` has {} bytes, and there can be {MAX_REQUEST}.", request.len());
    }
    // The person decides by reading it.
    if request.lines().any(|line| matches!(safe_line(line), Cow::Owned(_))) {
        return refuse!(
            "`request` has characters that are invisible or change the order of others. Leave them out."
        );
    }
    Ok(TaskWish { request: request.to_owned(), role: args.role.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn request_is_read_with_its_role() {
        let plan = |json| {
            let parsed = args::parse_args(json).map_err(|refusal| refusal.0)?;
            plan_task(parsed).map_err(|refusal| refusal.0)
        };
        let solo = plan(json!({ "request": " Add a shop. " })).unwrap();
        assert_eq!((solo.request.as_str(), solo.role), ("Add a shop.", RequestedRole::Solo));
        let lead = plan(json!({ "request": "Add a shop.", "role": "lead" })).unwrap();
        assert_eq!(lead.role, RequestedRole::Lead);
        assert!(plan(json!({ "request": " \n" })).unwrap_err().contains("is empty"));
        assert!(plan(json!({ "request": "a".repeat(8_001) })).unwrap_err().contains("8001 bytes"));
        assert!(
            plan(json!({ "request": "Add\u{202e} a shop." })).unwrap_err().contains("invisible")
        );
        assert!(plan(json!({ "request": "Add a shop.\nAnd a door." })).is_ok());
        for role in ["worker", "reviewer"] {
            assert!(plan(json!({ "request": "Add a shop.", "role": role })).is_err(), "{role}");
        }
    }
}
