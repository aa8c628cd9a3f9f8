//! The parameters of history requests, and an export as JSON lines.

use std::str::FromStr;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use futures_util::stream;
use scene_schemas::InstancePath;
use scene_schemas::api::{Failure, FailureKind, HistoryOutcome, MAX_PAGE};
use scene_schemas::entry::Seq;
use vector_core::calendar;

use super::extract::{FromParameters, Parameters};
use crate::failure::failure;
use crate::history::{EntryFilter, HistoryQuery, LineStream, ScriptQuery};

/// The default number of days of the figures.
pub(super) const DEFAULT_DAYS: u64 = 30;
/// The default number of entries in a page.
const PAGE: u64 = 50;

impl FromParameters for ScriptQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let missing = |what: &str, hint: &str| failure(FailureKind::BadRequest, what, hint);
        let place = match parameters.text("session")? {
            Some(session) => Some(session),
            None => parameters.text("place")?,
        };
        let place = place.ok_or_else(|| {
            missing("No place is specified.", "Send its `session`, or `place` with its name.")
        })?;
        let path = parameters.text("path")?.ok_or_else(|| {
            missing("No script is specified.", "Send its `path`, e.g. game.Workspace.Main.")
        })?;
        let path = path.parse::<InstancePath>().map_err(|error| {
            let message = format!("`{path}` is not a path: {error}.");
            missing(&message, "Write it as game.Workspace[\"My Script\"].")
        })?;
        let seq = parameters.number("seq")?.filter(|seq| *seq > 0).map(Seq);
        Ok(Self { place, path, seq })
    }
}

impl FromParameters for HistoryQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        Ok(Self {
            before: parameters.number("before")?.map(Seq),
            limit: parameters.number("limit")?.unwrap_or(PAGE).clamp(1, MAX_PAGE) as usize,
            filter: EntryFilter::from_parameters(parameters)?,
        })
    }
}

impl FromParameters for EntryFilter {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let outcome =
            parameters.text("outcome")?.map(|it| it.parse::<OutcomeParameter>()).transpose()?;
        let day = parameters.text("day")?.map(|date| {
            calendar::parse_date(&date).ok_or_else(|| {
                let message = format!("`{date}` is not a date.");
                failure(FailureKind::BadRequest, message, "Write it as 2026-12-01, in UTC.")
            })
        });
        Ok(Self {
            place: parameters.text("place")?,
            path: parameters.text("path")?,
            tool: parameters.text("tool")?,
            kind: parameters.text("kind")?,
            outcome: outcome.map(|it| it.0),
            day: day.transpose()?,
            text: parameters.text("text")?,
            is_brief: match parameters.text("only")?.as_deref() {
                None | Some("") => false,
                Some("changes") => true,
                Some(other) => {
                    let message = format!("`{other}` is not a value of `only`.");
                    return Err(failure(
                        FailureKind::BadRequest,
                        message,
                        "Send `only=changes`, or omit it.",
                    ));
                }
            },
        })
    }
}

/// Streams lines as a response. After an error the connection breaks off, so the response is not
/// taken for complete.
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
