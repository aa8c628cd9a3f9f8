//! A play-test's outcome as JSON, for models and for programs.

use serde_json::{Value as Json, json};

use super::{PlayChange, PlayError, PlayOutcome, PlayRequest};

impl PlayOutcome {
    /// Returns the outcome as JSON; of long lists the first `most` entries.
    pub fn to_json(&self, request: &PlayRequest, most: usize) -> Json {
        let mut json = json!({
            "ok": self.is_ok(request),
            "seconds": round(self.seconds),
            "scripts": self.scripts,
        });
        let mut put = |name, rows, count| put_rows(&mut json, name, rows, count);
        put("errors", self.errors.iter().take(most).map(error_json).collect(), self.errors.len());
        let steps = self.steps.iter().zip(1..).map(|(step, number)| match &step.failure {
            None => json!({ "step": number, "at": round(step.at), "ok": true }),
            Some(why) => {
                json!({ "step": number, "at": round(step.at), "ok": false, "why": why })
            }
        });
        put("steps", steps.collect(), self.steps.len());
        let output = self.output.iter().filter(|it| it.line.kind != "error");
        let count = output.clone().count();
        let lines = output.take(most).map(|it| {
            json!({
                "at": round(it.at), "peer": it.peer, "kind": it.line.kind, "text": it.line.text,
            })
        });
        put("output", lines.collect(), count);
        let remotes = self.remotes.iter().take(most).map(|it| {
            json!({
                "path": it.path, "class": it.class, "fromClients": it.from_clients,
                "fromServer": it.from_server, "lastArguments": it.last,
            })
        });
        put("remotes", remotes.collect(), self.remotes.len());
        let requests = self.requests.iter().take(most).map(|it| {
            json!({ "at": round(it.at), "peer": it.peer, "what": it.what, "arguments": it.args })
        });
        put("requests", requests.collect(), self.requests.len());
        let changes = self.changes.iter().take(most).map(change_json);
        put("changes", changes.collect(), self.change_count as usize);
        let missing = self.missing.iter().take(most).map(|it| match &it.position {
            Some(at) => json!({ "what": it.what, "script": at.script, "line": at.line }),
            None => json!({ "what": it.what }),
        });
        put("notInRuntime", missing.collect(), self.missing.len());
        if let Some(why) = &self.stopped {
            json["stopped"] = why.as_str().into();
        }
        json
    }
}

fn error_json(error: &PlayError) -> Json {
    let mut json = json!({
        "at": round(error.at), "peer": error.peer, "message": error.message,
    });
    if let Some(at) = &error.position {
        json["script"] = at.script.as_str().into();
        json["line"] = at.line.into();
    }
    // The innermost call is the position itself.
    if error.stack.len() > 1 {
        json["stack"] = json!(error.stack);
    }
    if error.times > 1 {
        json["times"] = error.times.into();
    }
    json
}

fn change_json(change: &PlayChange) -> Json {
    let mut json = json!({ "kind": change.kind, "path": change.path, "class": change.class });
    if !change.names.is_empty() {
        json["properties"] = json!(change.names);
    }
    json
}

/// Adds the rows of a list that has `count` entries. The count is added if it has more.
pub(super) fn put_rows(json: &mut Json, name: &str, rows: Vec<Json>, count: usize) {
    if count > rows.len() {
        json[format!("{name}Count")] = count.into();
    }
    if !rows.is_empty() {
        json[name] = rows.into();
    }
}

/// Rounds seconds to milliseconds.
pub(super) fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}
