//! Events: long polls and a stream.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use scene_schemas::api::{Failure, MAX_HOLD, StreamPage};
use scene_schemas::entry::Seq;

use super::super::extract::{FromParameters, Parameters, Query};
use super::super::{long_poll, page};
use crate::event_hub::EventHub;

/// The cursor at which a reader begins, and the time for which the response may be held.
#[derive(Debug)]
pub(in super::super) struct StreamQuery {
    cursor: Option<Seq>,
    /// The time limit of a held response, in seconds.
    hold: u64,
}

impl FromParameters for StreamQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        Ok(Self {
            cursor: parameters.number("cursor")?.map(Seq),
            hold: parameters.number("hold")?.unwrap_or(MAX_HOLD),
        })
    }
}

pub(in super::super) async fn events(
    State(event_hub): State<Arc<EventHub>>,
    Query(query): Query<StreamQuery>,
) -> Json<StreamPage> {
    let cursor = query.cursor.unwrap_or(Seq(0));
    Json(long_poll::poll_events(&event_hub, cursor, query.hold).await)
}

pub(in super::super) async fn event_stream(
    State(event_hub): State<Arc<EventHub>>,
    Query(query): Query<StreamQuery>,
) -> Response<Body> {
    let cursor = query.cursor.unwrap_or_else(|| event_hub.head());
    long_poll::stream_events(event_hub, cursor)
}

pub(in super::super) async fn page_stream(
    State(event_hub): State<Arc<EventHub>>,
    Query(query): Query<StreamQuery>,
) -> Response<Body> {
    let cursor = query.cursor.unwrap_or_else(|| event_hub.head());
    page::page_stream(event_hub, cursor)
}
