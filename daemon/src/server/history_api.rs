//! Looking back, at the desk: what of the past a person wants to know, as it stands behind a path.

use std::io;
use std::str::FromStr;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use futures_util::stream;
use scene_schemas::InstancePath;
use scene_schemas::api::{
    Failure, FailureKind, Figures, History, HistoryOutcome, HistoryRecord, MAX_PAGE, ScriptAtTime,
    WorkflowStarted,
};
use scene_schemas::entry::Seq;
use tokio::sync::mpsc;
use vector_core::calendar;

use super::daemon_handle::Reply;
use super::failure::failure;

/// Of how many days figures are where nobody says it.
pub(super) const DAYS: u64 = 30;
/// How many entries a page has where nobody says it.
const PAGE: u64 = 50;

/// Entries as JSON lines, some at a time; an error is the last of them.
pub type LineStream = mpsc::Receiver<Result<Vec<u8>, io::Error>>;

/// What of the past somebody wants.
#[derive(Debug)]
pub enum HistoryRequest {
    History(HistoryQuery, Reply<History>),
    Entry(Seq, Reply<HistoryRecord>),
    /// All of what has happened that fits.
    Export(EntryFilter, Reply<LineStream>),
    /// What models and tools took in so many days.
    Figures(u64, Reply<Figures>),
    /// What a script said.
    Script(ScriptQuery, Reply<ScriptAtTime>),
    /// The way back from a proposal.
    Revert(Seq, Reply<WorkflowStarted>),
}

/// Which page of what has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Before this position; the newest where absent.
    pub before: Option<Seq>,
    pub limit: usize,
    pub filter: EntryFilter,
}

/// Which entries; all of what is named has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Of this place: its name, or its session.
    pub place: Option<String>,
    /// That touch an instance with this in its path.
    pub path: Option<String>,
    /// About calls of this tool.
    pub tool: Option<String>,
    pub kind: Option<String>,
    /// About what became this by now.
    pub outcome: Option<HistoryOutcome>,
    /// Of this day, from 1970-01-01 UTC.
    pub day: Option<u64>,
    /// With this in what was asked, said or proposed.
    pub text: Option<String>,
    /// Only what was asked, and each change once, by its proposal.
    pub is_brief: bool,
}

/// Which script, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptQuery {
    /// The place: its session, or its name.
    pub place: String,
    pub path: InstancePath,
    /// Right after this position; now where absent.
    pub seq: Option<Seq>,
}

impl ScriptQuery {
    pub(super) fn from_parameters(asked: &impl Parameters) -> Result<Self, Failure> {
        let missing = |what: &str, hint: &str| failure(FailureKind::BadRequest, what, hint);
        let place = match asked.text_parameter("session")? {
            Some(session) => Some(session),
            None => asked.text_parameter("place")?,
        };
        let place = place.ok_or_else(|| {
            missing("The place is not said.", "Give its `session`, or `place` with its name.")
        })?;
        let path = asked.text_parameter("path")?.ok_or_else(|| {
            missing("The script is not said.", "Give its `path`, as game.Workspace.Main.")
        })?;
        let path = path.parse::<InstancePath>().map_err(|error| {
            let message = format!("`{path}` is not a path: {error}.");
            missing(&message, "Write it as game.Workspace[\"My Script\"].")
        })?;
        let seq = asked.number_parameter("seq")?.filter(|seq| *seq > 0).map(Seq);
        Ok(Self { place, path, seq })
    }
}

/// What stands behind a path.
pub(super) trait Parameters {
    /// A text; none where it is not there.
    fn text_parameter(&self, name: &str) -> Result<Option<String>, Failure>;
    /// A number; none where it is not there.
    fn number_parameter(&self, name: &str) -> Result<Option<u64>, Failure>;
}

impl HistoryQuery {
    pub(super) fn from_parameters(asked: &impl Parameters) -> Result<Self, Failure> {
        Ok(Self {
            before: asked.number_parameter("before")?.map(Seq),
            limit: asked.number_parameter("limit")?.unwrap_or(PAGE).clamp(1, MAX_PAGE) as usize,
            filter: EntryFilter::from_parameters(asked)?,
        })
    }
}

impl EntryFilter {
    pub(super) fn from_parameters(asked: &impl Parameters) -> Result<Self, Failure> {
        let outcome = asked
            .text_parameter("outcome")?
            .map(|it| it.parse::<OutcomeParameter>())
            .transpose()?;
        let day = asked.text_parameter("day")?.map(|date| {
            calendar::parse_date(&date).ok_or_else(|| {
                let message = format!("`{date}` is not a date.");
                failure(FailureKind::BadRequest, message, "Write it as 2026-12-01, in UTC.")
            })
        });
        Ok(Self {
            place: asked.text_parameter("place")?,
            path: asked.text_parameter("path")?,
            tool: asked.text_parameter("tool")?,
            kind: asked.text_parameter("kind")?,
            outcome: outcome.map(|it| it.0),
            day: day.transpose()?,
            text: asked.text_parameter("text")?,
            is_brief: match asked.text_parameter("only")?.as_deref() {
                None | Some("") => false,
                Some("changes") => true,
                Some(other) => {
                    let message = format!("History cannot be cut down to only `{other}`.");
                    return Err(failure(
                        FailureKind::BadRequest,
                        message,
                        "Give `only=changes`, or leave it out.",
                    ));
                }
            },
        })
    }
}

/// Lines as an answer. Where they end early, so does the connection, without saying that all is there.
pub(super) fn stream_response(lines: LineStream) -> Response<Body> {
    let next = |mut lines: LineStream| async { lines.recv().await.map(|some| (some, lines)) };
    let mut response = Response::new(Body::from_stream(stream::unfold(lines, next)));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

struct OutcomeParameter(HistoryOutcome);

impl FromStr for OutcomeParameter {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Self, Failure> {
        let found = HistoryOutcome::ALL.into_iter().find(|it| it.as_str() == name);
        found.map(Self).ok_or_else(|| {
            let all = HistoryOutcome::ALL.map(HistoryOutcome::as_str).join(", ");
            let message = format!("`{name}` is not an outcome.");
            failure(FailureKind::BadRequest, message, format!("It is one of: {all}."))
        })
    }
}
