//! The last errors of a game that a task has seen: in the output of Studio, or of a playtest.

use scene_schemas::entry::Seq;

use super::{CallStatus, Workflow};

/// The tools whose answers list the errors of a game.
const PLAYING: [&str; 2] = ["playtest", "get_console_output"];

/// The errors in the newest answer that can have some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputErrors {
    /// The call that was answered.
    pub call: Seq,
    /// The first messages. Empty if the game ran without errors.
    pub messages: Vec<String>,
    /// The number of different errors that are known.
    pub count: usize,
}

impl Workflow {
    /// Returns the errors of the game as this task has seen them last. None if it has not looked.
    pub fn last_output_errors(&self, most: usize) -> Option<OutputErrors> {
        let newest = self.calls.iter().rev().find_map(|(seq, call)| match &call.status {
            CallStatus::Answered(answer) if PLAYING.contains(&call.tool.as_str()) => {
                Some((*seq, answer))
            }
            _ => None,
        });
        let (call, answer) = newest?;
        let errors = answer["errors"].as_array().map_or(&[][..], Vec::as_slice);
        let texts = errors.iter().filter_map(|it| it["message"].as_str());
        let messages = texts.take(most).map(str::to_owned).collect();
        let count = answer["errorsCount"].as_u64().map_or(errors.len(), |count| count as usize);
        Some(OutputErrors { call, messages, count })
    }
}
