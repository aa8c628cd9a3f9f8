//! `message`: a word to the person.

use scene_schemas::entry::Phase;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Talk, Tool, args};
use crate::core::refusal::{Refusal, refuse};

pub(super) const TOOL: Tool = Tool {
    name: "message",
    about: "Says something to the person: at the start, on the way (update), or at the end (final).",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Talk(|json| {
        let Args { text, phase } = args::read(json)?;
        said(text, phase)
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What you say.
    text: String,
    /// When.
    phase: Phase,
}

pub(super) fn said(text: String, phase: Phase) -> Result<Talk, Refusal> {
    if text.trim().is_empty() {
        return refuse!("`text` is empty.");
    }
    Ok(Talk::Said { text, phase })
}
