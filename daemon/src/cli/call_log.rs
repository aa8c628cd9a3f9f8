//! One line for each call of a model or an agent: what it read, and what was refused.
//!
//! Proposals have their own cards, and messages are shown as text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use scene_schemas::entry::{Entry, Record, Seq};
use vector_core::tools::{self, ToolAction};
use vector_core::workflow::brief_json;

/// The calls of a run, collected from its entries.
#[derive(Debug, Clone, Default)]
pub(super) struct CallLog(Arc<Mutex<CallLogState>>);

#[derive(Debug, Default)]
struct CallLogState {
    calls: HashMap<Seq, (String, String)>,
    /// Lines that were not shown yet, with the positions of their entries.
    lines: Vec<(Seq, String)>,
}

impl CallLog {
    pub(super) fn read_record(&self, record: &Record) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &record.entry {
            Entry::Called { tool, args, .. } => {
                log.calls.insert(record.seq, (tool.clone(), brief_json(args)));
            }
            Entry::Answered { call, .. } => {
                let call = find_call(&log, *call, record.seq);
                if let Some((_, (tool, brief))) = call
                    && is_shown_tool(&tool)
                {
                    log.lines.push((record.seq, format_answered_call(&tool, &brief)));
                }
            }
            Entry::Refused { call, reason, .. } => {
                if let Some((_, (tool, _))) = find_call(&log, *call, record.seq) {
                    log.lines.push((record.seq, format_refused_call(&tool, reason)));
                }
            }
            _ => {}
        }
    }

    /// Takes the lines that were not shown yet.
    pub(super) fn take_lines(&self) -> Vec<String> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut log.lines).into_iter().map(|(_, line)| line).collect()
    }
}

/// Finds the call that an entry refers to. A call that is answered immediately is right before its
/// answer, which refers to it by 0.
fn find_call(log: &CallLogState, call: Seq, entry: Seq) -> Option<(Seq, (String, String))> {
    let call = if call == Seq(0) { Seq(entry.0.checked_sub(1)?) } else { call };
    log.calls.get(&call).map(|found| (call, found.clone()))
}

/// Whether an answered call is worth a line: it read something.
fn is_shown_tool(tool: &str) -> bool {
    tools::find_tool(tool)
        .is_ok_and(|tool| !matches!(tool.run, ToolAction::Talk(_) | ToolAction::Change(_)))
}

/// Whether a call only sends a message, which is shown as text or as a plan.
pub(super) fn is_talk_tool(tool: &str) -> bool {
    tools::find_tool(tool).is_ok_and(|tool| matches!(tool.run, ToolAction::Talk(_)))
}

pub(super) fn format_answered_call(tool: &str, brief: &str) -> String {
    format!("· {tool} {brief}").trim_end().to_owned()
}

/// Formats a refused call with the first line of the reason.
pub(super) fn format_refused_call(tool: &str, reason: &str) -> String {
    let reason = reason.lines().next().unwrap_or_default();
    let reason = reason.strip_prefix(&format!("{tool}: ")).unwrap_or(reason);
    format!("· {tool}: refused: {reason}")
}

#[cfg(test)]
mod tests {
    use scene_schemas::entry::Record;
    use serde_json::{Value as Json, json};

    use super::*;

    fn record(seq: u64, entry: Entry) -> Record {
        Record { seq: Seq(seq), workflow: Seq(1), at: 0, entry }
    }

    fn call(seq: u64, tool: &str, args: Json) -> Record {
        let (tool, id, flaw) = (tool.to_owned(), None, None);
        record(seq, Entry::Called { tool, args, id, flaw })
    }

    #[test]
    fn reads_and_refusals_are_logged_as_one_line_each() {
        let log = CallLog::default();
        log.read_record(&call(
            2,
            "read_script",
            json!({ "path": "game.ServerScriptService.Stages" }),
        ));
        log.read_record(&record(
            3,
            Entry::Answered { call: Seq(2), answer: json!({ "text": "x" }) },
        ));
        log.read_record(&call(4, "create_instance", json!({ "parentPath": "game.Nope" })));
        let reason = "create_instance: There is no game.Nope.\nMore of it.".to_owned();
        log.read_record(&record(5, Entry::Refused { call: Seq(4), reason, conflict: None }));
        log.read_record(&call(6, "start_plan", json!({ "steps": ["a"] })));
        log.read_record(&record(
            7,
            Entry::Answered { call: Seq(6), answer: json!({ "steps": 1 }) },
        ));
        let expected = [
            "· read_script game.ServerScriptService.Stages",
            "· create_instance: refused: There is no game.Nope.",
        ];
        assert_eq!(log.take_lines(), expected);
        assert_eq!(log.take_lines(), [""; 0], "each is shown once");
    }
}
