//! `propose_changes`: combines several calls into one proposal.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::implicit_target::fill_default;
use super::{DefaultTarget, ToolAction, ToolSpec, args, find_tool};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "propose_changes",
    about: "Proposes several related changes as one card with a `title`, one approval and one undo \
            step. Each is a call of another tool; later ones see the results of earlier ones. \
            Returns {results} in the same order.",
    schema: args::args_schema::<ProposeChangesArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProposeChangesArgs {
    changes: Vec<ProposedCall>,
    title: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProposedCall {
    tool: String,
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, Json>>")]
    args: Json,
    // The line in a file of calls, for refusals. Models never set it.
    #[schemars(skip)]
    line: Option<usize>,
}

fn plan(args: ProposeChangesArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    if args.changes.is_empty() {
        return refuse!("`changes` is empty.");
    }
    draft.set_title(args.title);
    let mut results = Vec::with_capacity(args.changes.len());
    for (at, change) in args.changes.into_iter().enumerate() {
        let place = match change.line {
            Some(line) => format!("line {line}"),
            None => format!("change {}", at + 1),
        };
        let tool = change.tool;
        let result = run(&tool, change.args, draft, change.line.is_some())
            .map_err(|refusal| Refusal(format!("{place}: {tool}: {refusal}")))?;
        results.push(result);
    }
    Ok(json!({ "results": results }))
}

fn run(
    name: &str,
    args: Json,
    draft: &mut ProposalDraft<'_>,
    is_listed: bool,
) -> Result<Json, Refusal> {
    let args = args::without_session(args);
    let tool = find_tool(name)?;
    let (args, default_target) = fill_default(tool, args, draft.scene())?;
    draft.set_implicit_target(default_target);
    match tool.run {
        ToolAction::Read(read) => read(args, draft.scene()),
        ToolAction::Change(_) if name == TOOL.name => {
            refuse!("A proposal cannot contain another one; list its changes here.")
        }
        ToolAction::Change(change) => change(args, draft),
        ToolAction::Talk(talk) => talk(args).map(|_| Json::Null),
        ToolAction::Run(_) => {
            refuse!("`{name}` makes a proposal of its own. {}", call_outside(is_listed))
        }
        ToolAction::Fetch(_) | ToolAction::Look(_) | ToolAction::Delegate(_) => refuse!(
            "`{name}` changes nothing and cannot be part of a proposal. {}",
            call_outside(is_listed)
        ),
    }
}

fn call_outside(is_listed: bool) -> &'static str {
    if is_listed {
        "Put it into a separate file, or use --keep-going, which treats each line separately."
    } else {
        "Call it outside of propose_changes."
    }
}
