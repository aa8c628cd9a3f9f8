//! Typed extractors: the values that handlers take from a checked request.

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use percent_encoding::percent_decode_str;
use scene_schemas::api::{EmptyBody, Failure, FailureKind, Route, SessionId};
use scene_schemas::entry::Seq;
use serde::de::DeserializeOwned;

use super::auth::Caller;
use super::response::ApiError;
use crate::failure::failure;

/// The result of the guard's checks.
#[derive(Debug, Clone)]
pub(super) struct CheckedRequest {
    pub(super) route: &'static Route,
    pub(super) caller: Caller,
}

impl CheckedRequest {
    fn of_parts(parts: &Parts) -> Result<&Self, Failure> {
        parts.extensions.get().ok_or_else(|| {
            let message = "The request was not checked.";
            failure(FailureKind::Internal, message, "Report this to Vector's developers.")
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CheckedRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of_parts(parts)?.clone())
    }
}

impl Caller {
    /// Checks that a calling plugin names its own session.
    pub(super) fn check_session(&self, session: &SessionId) -> Result<(), Failure> {
        match self {
            Self::Plugin(own) if own != session => Err(failure(
                FailureKind::Stale,
                format!("The token belongs to session {own}, not to {session}."),
                "Say hello again.",
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a terminal or the page calls, not a plugin: keys never pass through Studio.
    pub(super) fn check_terminal(&self) -> Result<(), Failure> {
        match self {
            Self::Human => Ok(()),
            Self::Anyone | Self::Plugin(_) | Self::Agent => Err(failure(
                FailureKind::Forbidden,
                "Keys can be handed over only from a terminal.",
                "Run `vector open` in a terminal that has the key.",
            )),
        }
    }
}

/// The body, parsed from JSON.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let CheckedRequest { route, .. } =
            CheckedRequest::from_request_parts(&mut parts, state).await?;
        // The guard has read the body within its limits.
        let body = to_bytes(body, usize::MAX).await;
        let body = body.map_err(|error| bad_body(route, &error))?;
        // A list of the fields' values would be accepted. An empty list is what Luau makes of an
        // empty object.
        let mut bytes = body.iter().filter(|byte| !byte.is_ascii_whitespace());
        if bytes.next() == Some(&b'[') && bytes.next() != Some(&b']') {
            return Err(bad_body(route, &"it is a list, not an object").into());
        }
        let parsed = serde_json::from_slice(&body);
        Ok(Self(parsed.map_err(|error| bad_body(route, &error))?))
    }
}

fn bad_body(route: &Route, error: &impl std::fmt::Display) -> Failure {
    failure(
        FailureKind::BadRequest,
        format!("The body is not valid for {}: {error}.", route.path),
        "Its schema is in openapi.json.",
    )
}

/// A body without content.
pub(super) type NoContent = JsonBody<EmptyBody>;

/// The `{id}` segment of the path, as text.
#[derive(Debug)]
pub(super) struct PathText(pub(super) String);

impl PathText {
    /// Returns the segment as it was sent. An id in another encoding is not recognized.
    fn of_parts(parts: &Parts) -> Result<&str, Failure> {
        let pattern = CheckedRequest::of_parts(parts)?.route.path.split('/');
        let mut segments = pattern.zip(parts.uri.path().split('/'));
        Ok(segments.find(|(pattern, _)| *pattern == "{id}").map_or("", |(_, segment)| segment))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(Self::of_parts(parts)?.to_owned()))
    }
}

/// A number in the path: the id of a proposal, a workflow, a checkpoint or an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryId(pub(super) Seq);

impl<S: Send + Sync> FromRequestParts<S> for EntryId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let id = PathText::of_parts(parts)?;
        let parsed = id.parse().map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{id}` is not a number."),
                "IDs of proposals, workflows and checkpoints are integers.",
            )
        })?;
        Ok(Self(Seq(parsed)))
    }
}

/// The session in the path. A plugin can name only its own.
#[derive(Debug)]
pub(super) struct PathSession(pub(super) SessionId);

impl<S: Send + Sync> FromRequestParts<S> for PathSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let session = SessionId(PathText::of_parts(parts)?.to_owned());
        CheckedRequest::of_parts(parts)?.caller.check_session(&session)?;
        Ok(Self(session))
    }
}

#[derive(Debug)]
pub(super) struct Parameters(String);

impl Parameters {
    fn raw(&self, name: &str) -> Option<&str> {
        let mut pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Returns a text parameter; None if it is absent or empty.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        let sent = self.raw(name).unwrap_or_default().replace('+', " ");
        let text = percent_decode_str(&sent).decode_utf8().map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{name}` is not UTF-8."),
                "Percent-encode it as UTF-8.",
            )
        })?;
        Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
    }

    /// Returns a number; None if it is absent.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(value) = self.raw(name) else {
            return Ok(None);
        };
        value.parse().map(Some).map_err(|_| {
            failure(
                FailureKind::BadRequest,
                format!("`{name}` is not a number."),
                "Omit it, or send a whole number.",
            )
        })
    }

    /// Returns how long the response may be held, in seconds.
    pub(super) fn hold(&self) -> Result<u64, Failure> {
        Ok(self.number("hold")?.unwrap_or(0))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

/// A value that is parsed from the query parameters.
pub(super) trait FromParameters: Sized {
    /// # Errors
    /// A parameter is missing or invalid.
    fn from_parameters(parameters: &Parameters) -> Result<Self, Failure>;
}

/// An extractor of a value that is parsed from the query parameters.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: FromParameters> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let parameters = Parameters::from_request_parts(parts, state).await?;
        Ok(Self(T::from_parameters(&parameters)?))
    }
}
