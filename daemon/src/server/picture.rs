//! Pictures over HTTP: their parameters, and a PNG as the response.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};
use scene_schemas::InstancePath;
use scene_schemas::api::{Failure, FailureKind};
use vector_render::{ChangeSide, LEAST_SIDE, ViewDirection};

use super::extract::{FromParameters, Parameters};
use crate::failure::failure;
use crate::session::PictureOptions;

/// Width and height in pixels if the request specifies none.
const DEFAULT_SIZE: u64 = 768;
/// The largest width and height that can be requested.
const MAX_SIZE: u64 = 2048;

pub(super) fn png_response(png: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(png));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("image/png"));
    response
}

impl FromParameters for PictureOptions {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let view = parameters.text("view")?.map_or(Ok(ViewDirection::default()), |name| {
            ViewDirection::from_name(&name)
                .ok_or_else(|| unknown_value("view", &name, "top, iso or front"))
        })?;
        let size = parameters.number("size")?.unwrap_or(DEFAULT_SIZE);
        if !(u64::from(LEAST_SIDE)..=MAX_SIZE).contains(&size) {
            let known = format!("{LEAST_SIDE} to {MAX_SIZE}");
            return Err(unknown_value("size", &size.to_string(), &known));
        }
        Ok(Self { view, size: size as u32 })
    }
}

/// A picture of a proposal.
#[derive(Debug)]
pub(super) struct ProposalPictureQuery {
    pub(super) side: ChangeSide,
    pub(super) options: PictureOptions,
}

impl FromParameters for ProposalPictureQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let side = parameters.text("when")?.map_or(Ok(ChangeSide::default()), |name| {
            ChangeSide::from_name(&name)
                .ok_or_else(|| unknown_value("when", &name, "before or after"))
        })?;
        Ok(Self { side, options: PictureOptions::from_parameters(parameters)? })
    }
}

/// A picture of a place.
#[derive(Debug)]
pub(super) struct PlacePictureQuery {
    /// The root for the whole place.
    pub(super) path: InstancePath,
    pub(super) options: PictureOptions,
}

impl FromParameters for PlacePictureQuery {
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure> {
        let path = parameters.text("path")?.map_or(Ok(InstancePath::root()), |text| {
            text.parse().map_err(|error| {
                let message = format!("`path` is not a path: {error}.");
                let hint = "Write it as game.Workspace[\"My.Part\"].";
                failure(FailureKind::BadRequest, message, hint)
            })
        })?;
        Ok(Self { path, options: PictureOptions::from_parameters(parameters)? })
    }
}

fn unknown_value(name: &str, sent: &str, known: &str) -> Failure {
    let message = format!("`{sent}` is not a valid {name} of a picture.");
    failure(FailureKind::BadRequest, message, format!("Omit it, or send {known}."))
}
