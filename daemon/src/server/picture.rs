//! Pictures over HTTP: what is asked for behind the path, and a PNG for an answer.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use scene_schemas::InstancePath;
use scene_schemas::api::{EmptyBody, Failure, FailureKind};
use vector_render::{ChangeSide, LEAST_SIDE, ViewDirection};

use super::daemon_handle::{DaemonHandle, DaemonRequest, PictureOptions, PictureTarget};
use super::failure::{self, failure};

/// How wide and high a picture is where nobody says.
const USUAL: u64 = 768;
/// How wide and high one is at most that is asked for over HTTP.
const MOST: u64 = 2048;

/// Asks for a picture, and answers.
pub(super) async fn picture_response(
    desk: &DaemonHandle,
    of: PictureTarget,
    asked: PictureOptions,
) -> Response<Body> {
    match desk.request(|reply| DaemonRequest::Picture(of, asked, reply)).await {
        Ok(png) => {
            let mut response = Response::new(Body::from(png));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
            response
        }
        Err(failure) => failure::json_response::<EmptyBody>(Err(failure)),
    }
}

/// How a picture is to be.
pub(super) fn parse_options(
    view: Option<String>,
    size: Option<u64>,
) -> Result<PictureOptions, Failure> {
    let view = view.map_or(Ok(ViewDirection::default()), |name| {
        ViewDirection::from_name(&name)
            .ok_or_else(|| unknown_value("view", &name, "top, iso or front"))
    })?;
    let size = size.unwrap_or(USUAL);
    if !(u64::from(LEAST_SIDE)..=MOST).contains(&size) {
        let known = format!("{LEAST_SIDE} to {MOST}");
        return Err(unknown_value("size", &size.to_string(), &known));
    }
    Ok(PictureOptions { view, size: size as u32 })
}

/// Which side of a proposal.
pub(super) fn parse_side(name: Option<String>) -> Result<ChangeSide, Failure> {
    name.map_or(Ok(ChangeSide::default()), |name| {
        ChangeSide::from_name(&name).ok_or_else(|| unknown_value("when", &name, "before or after"))
    })
}

/// What of a place; all of it where nothing is said.
pub(super) fn parse_path(path: Option<String>) -> Result<InstancePath, Failure> {
    path.map_or(Ok(InstancePath::root()), |text| {
        text.parse().map_err(|error| {
            let message = format!("`path` is not a path: {error}.");
            failure(FailureKind::BadRequest, message, "Write it as game.Workspace[\"My.Part\"].")
        })
    })
}

fn unknown_value(name: &str, sent: &str, known: &str) -> Failure {
    let message = format!("`{sent}` is not a {name} of a picture.");
    failure(FailureKind::BadRequest, message, format!("Leave it out, or give {known}."))
}
