//! Keys of Open Cloud, and the refusals of its gateway.

use axum::body::Body;
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::json;

use super::{CloudState, FakeCloud, header_text, json_answer, lock_state};

/// A key that has every scope. It is as long as those of Open Cloud.
pub const API_KEY: &str = "fake-cloud-key-of-nobody-\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
    0123456789abcdef";

impl FakeCloud {
    /// Lets a key expire.
    pub fn expire_key(&self, key: &str) {
        lock_state(&self.state).expired_keys.insert(key.to_owned());
    }

    /// Accepts a key that has these scopes alone.
    pub fn add_key(&self, key: &str, scopes: &[&'static str]) {
        lock_state(&self.state).keys.insert(key.to_owned(), scopes.to_vec());
    }
}

/// A refusal in the form of the gateway.
pub(super) fn refuse(status: StatusCode, message: &str) -> Response<Body> {
    json_answer(status, &json!({ "errors": [{ "code": 0, "message": message }] }))
}

impl CloudState {
    /// Checks that a request has a key with a scope.
    pub(super) fn check_key(
        &self,
        headers: &HeaderMap,
        scope: &str,
    ) -> Result<(), Box<Response<Body>>> {
        if headers.contains_key("authorization") {
            let message = "Authorization is not the header of a key";
            return Err(Box::new(refuse(StatusCode::BAD_REQUEST, message)));
        }
        let refusal = match header_text(headers, "x-api-key") {
            API_KEY => return Ok(()),
            "" => refuse(StatusCode::UNAUTHORIZED, "Authentication required to access Asset."),
            other => match self.keys.get(other) {
                Some(scopes) if scopes.contains(&scope) => return Ok(()),
                Some(_) => refuse(StatusCode::FORBIDDEN, "Insufficient scope"),
                None => refuse(StatusCode::UNAUTHORIZED, "Invalid API Key"),
            },
        };
        Err(Box::new(refusal))
    }
}
