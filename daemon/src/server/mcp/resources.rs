//! Resources: the tree of each open place, its scripts, the pending proposals, and the log.
//!
//! Places are read by the same tools as in calls, so that reads are recorded. The list of scripts
//! is not recorded, because clients request it by themselves, without a call of the model.

use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use rmcp::model::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use scene_schemas::api::{
    AgentCallOutcome, AgentLog, CallView, ListedScript, LoggedCall, Sessions,
};
use scene_schemas::entry::Seq;
use serde_json::{Value as Json, json};

use super::{DaemonGate, McpAgent, protocol_error, results};

/// The characters of a path that have to be escaped in a URI.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']');

/// The message for a resource that is too long to be read completely.
const TOO_LONG: &str = "It is too long for a resource. Call read_script for a range of its lines, \
or list_children for a path further down.";

const LEDGER: &str = "vector://ledger";
const PROPOSALS: &str = "vector://proposals";
const PLACE: &str = "vector://place/";
const TREE: &str = "tree";
const SCRIPT: &str = "script";

/// The time within which a resource has to be read.
const SOON: Duration = Duration::from_secs(10);
/// The maximum number of instances in a tree.
const NODES: u64 = 500;
/// The maximum length of a script that is read completely, in bytes.
const LONGEST: u64 = 1_000_000;

/// Returns the templates of the URIs.
pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    let template = |end: &str, name: &str, about: &str| {
        ResourceTemplate::new(format!("{PLACE}{{session}}/{end}"), name).with_description(about)
    };
    vec![
        template("tree/{+path}", "tree", "What is below an instance, e.g. path game.Workspace")
            .with_mime_type("application/json"),
        template("script/{+path}", "script", "A script's text").with_mime_type("text/x-luau"),
        ResourceTemplate::new(format!("{PROPOSALS}/{{id}}"), "proposal")
            .with_description("A call's proposal, and what became of it"),
    ]
}

fn resource_uri(session: &str, kind: &str, path: &str) -> String {
    format!("{PLACE}{session}/{kind}/{}", utf8_percent_encode(path, ESCAPED))
}

/// The parsed form of a URI.
#[derive(Debug, PartialEq, Eq)]
enum ResourceName {
    Ledger,
    Proposals,
    Proposal(Seq),
    Tree { session: String, path: String },
    Script { session: String, path: String },
}

fn parse_uri(uri: &str) -> Option<ResourceName> {
    if uri == LEDGER {
        return Some(ResourceName::Ledger);
    }
    if let Some(id) = uri.strip_prefix(PROPOSALS) {
        return match id.strip_prefix('/') {
            Some(id) => id.parse().ok().map(Seq).map(ResourceName::Proposal),
            None => id.is_empty().then_some(ResourceName::Proposals),
        };
    }
    let mut parts = uri.strip_prefix(PLACE)?.splitn(3, '/');
    let (session, kind) = (parts.next()?.to_owned(), parts.next()?);
    let path = parts.next().unwrap_or("game");
    let path = percent_decode_str(path).decode_utf8().ok()?.into_owned();
    match kind {
        TREE => Some(ResourceName::Tree { session, path }),
        SCRIPT => Some(ResourceName::Script { session, path }),
        _ => None,
    }
}

impl<G: DaemonGate> McpAgent<G> {
    /// Lists the fixed resources, and the scripts of one place after the other.
    pub(super) async fn list_resources(
        &self,
        cursor: Option<String>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let open = self.gate.list_sessions().await.map_err(|failure| protocol_error(&failure))?;
        if cursor.is_none() {
            self.place_watch.note_listed(&open);
        }
        let bad = || ErrorData::invalid_params("The cursor is not one that was given.", None);
        let (at, from) = match cursor.as_deref() {
            None => (0, None),
            Some(cursor) => {
                let (at, from) = cursor.split_once(':').ok_or_else(bad)?;
                (at.parse::<usize>().map_err(|_| bad())?, Some(from).filter(|it| !it.is_empty()))
            }
        };
        let mut resources = if cursor.is_none() { fixed_resources(&open) } else { Vec::new() };
        let mut next = None;
        if let Some(place) = open.sessions.get(at) {
            // A place that cannot be read now is listed without scripts.
            let page = self.gate.list_scripts(&place.session, from.map(str::to_owned)).await.ok();
            let (found, cursor) = page.map(|page| (page.scripts, page.cursor)).unwrap_or_default();
            resources.extend(found.iter().map(|it| script_resource(&place.session.0, it)));
            next = match cursor {
                Some(cursor) => Some(format!("{at}:{cursor}")),
                None => (at + 1 < open.sessions.len()).then(|| format!("{}:", at + 1)),
            };
        }
        let mut listed = ListResourcesResult::with_all_items(resources);
        listed.next_cursor = next;
        Ok(listed)
    }

    /// Reads the resource of a URI.
    pub(super) async fn read_resource(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let text = match parse_uri(uri) {
            Some(ResourceName::Ledger) => {
                self.read_log().await.map(|log| results::truncate(results::log_lines(&log)))
            }
            Some(ResourceName::Proposals) => self.read_log().await.map(|log| pending_text(&log)),
            Some(ResourceName::Proposal(id)) => self
                .gate
                .wait_for_call(id, 0)
                .await
                .map(|view| {
                    results::status_result(&view).structured_content.unwrap_or_default().to_string()
                })
                .map_err(|failure| not_found(uri, &failure.message)),
            Some(ResourceName::Tree { session, path }) => {
                let args = json!({ "session": session, "parentPath": path, "maxNodes": NODES, "depth": 3 });
                let answer = self.call_read_tool("list_children", args, context).await;
                let whole = |answer: Json| {
                    let text = answer.to_string();
                    if results::is_short(&text) { Ok(text) } else { Err(TOO_LONG.to_owned()) }
                };
                answer.and_then(whole).map_err(|why| not_found(uri, &why))
            }
            Some(ResourceName::Script { session, path }) => {
                let args = json!({ "session": session, "path": path, "maxBytes": LONGEST });
                let answer = self.call_read_tool("read_script", args, context).await;
                let whole = |answer: Json| match (answer["text"].as_str(), &answer["truncated"]) {
                    (Some(text), Json::Null) if results::is_short(text) => Ok(text.to_owned()),
                    _ => Err(TOO_LONG.to_owned()),
                };
                answer.and_then(whole).map_err(|why| not_found(uri, &why))
            }
            None => Err(not_found(
                uri,
                "There is no such resource; resources/list and the templates list the available ones.",
            )),
        }?;
        let mut contents = ResourceContents::text(text, uri);
        if let ResourceContents::TextResourceContents { mime_type, .. } = &mut contents {
            *mime_type = Some(uri_mime_type(uri).to_owned());
        }
        Ok(ReadResourceResult::new(vec![contents]))
    }

    async fn read_log(&self) -> Result<AgentLog, ErrorData> {
        self.gate.read_log().await.map_err(|failure| protocol_error(&failure))
    }

    /// Calls a tool that reads. Returns its answer, or the reason there is none.
    async fn call_read_tool(
        &self,
        tool: &str,
        args: Json,
        context: &RequestContext<RoleServer>,
    ) -> Result<Json, String> {
        let args = args.as_object().cloned().unwrap_or_default();
        match self.call_tool(tool, args, SOON, context).await {
            Ok(CallView { outcome: AgentCallOutcome::Done { answer, .. }, .. }) => Ok(answer),
            Ok(CallView { outcome: AgentCallOutcome::Refused { reason, .. }, .. }) => Err(reason),
            Ok(view) => Err(results::describe_pending(&view)),
            Err(failure) => Err(format!("{} {}", failure.message, failure.hint)),
        }
    }
}

/// Returns the resources that do not depend on the contents of a place.
fn fixed_resources(open: &Sessions) -> Vec<Resource> {
    let mut all = vec![
        Resource::new(LEDGER, "ledger")
            .with_description("Recent calls by agents and their outcomes")
            .with_mime_type("text/plain"),
        Resource::new(PROPOSALS, "proposals")
            .with_description("Proposals that wait for the person's decision")
            .with_mime_type("text/plain"),
    ];
    all.extend(open.sessions.iter().map(|place| {
        let uri = resource_uri(&place.session.0, TREE, "game");
        Resource::new(uri, format!("{}: tree", place.place.name))
            .with_description("The instances of the place, from the top")
            .with_mime_type("application/json")
    }));
    all
}

fn script_resource(session: &str, ListedScript { path, class }: &ListedScript) -> Resource {
    Resource::new(resource_uri(session, SCRIPT, path), path.as_str())
        .with_description(class.as_str())
        .with_mime_type("text/x-luau")
}

/// Lists the calls with pending proposals.
fn pending_text(log: &AgentLog) -> String {
    let is_waiting = |it: &&LoggedCall| matches!(it.view.outcome, AgentCallOutcome::Pending { .. });
    let lines: String = log.unsettled.iter().filter(is_waiting).map(results::log_line).collect();
    if lines.is_empty() { "No proposal is pending.".to_owned() } else { lines }
}

fn uri_mime_type(uri: &str) -> &'static str {
    match parse_uri(uri) {
        Some(ResourceName::Tree { .. } | ResourceName::Proposal(_)) => "application/json",
        Some(ResourceName::Script { .. }) => "text/x-luau",
        _ => "text/plain",
    }
}

fn not_found(uri: &str, why: &str) -> ErrorData {
    ErrorData::resource_not_found(format!("{uri}: {why}"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_uris_round_trip_and_bad_ones_are_rejected() {
        for path in
            ["game", "game.Workspace[\"My.Part / 100%\"].Wall[2]", "game.Workspace[\"é#?\"]"]
        {
            let uri = resource_uri("window-1", SCRIPT, path);
            let (session, path) = ("window-1".to_owned(), path.to_owned());
            assert_eq!(parse_uri(&uri), Some(ResourceName::Script { session, path }), "{uri}");
            assert!(!uri.contains([' ', '"', '[', ']', '#', '?']), "{uri}");
        }
        assert_eq!(parse_uri("vector://proposals/12"), Some(ResourceName::Proposal(Seq(12))));
        let bad = [
            "",
            "vector://",
            "vector://proposals/x",
            "vector://place/a",
            "vector://place/a/b/c",
            "vector://place/a/tree/%ff",
            "file:///etc/passwd",
            "vector://proposalsx",
        ];
        for uri in bad {
            assert_eq!(parse_uri(uri), None, "{uri}");
        }
    }
}
