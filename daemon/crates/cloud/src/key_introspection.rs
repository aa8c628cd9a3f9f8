//! What Open Cloud says of an API key: whether it is valid, and which scopes it has.

use bytes::Bytes;
use serde_json::{Value as Json, json};

use super::failure::CloudFailure;
use super::request::{APIS, CloudRequest, RequestBody, RetryPolicy};

/// A question about a key, which changes nothing. The key is in the body of the request and not in its
/// headers.
#[derive(Clone, Copy)]
pub struct KeyIntrospection<'a> {
    key: &'a str,
}

/// A key as Open Cloud knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDetails {
    pub is_enabled: bool,
    pub is_expired: bool,
    /// The scopes, such as `universe-places:write`.
    pub scopes: Vec<String>,
}

impl<'a> KeyIntrospection<'a> {
    pub fn of(key: &'a str) -> Self {
        Self { key }
    }
}

impl KeyIntrospection<'_> {
    pub fn request(self) -> CloudRequest {
        // As bytes, because `Debug` does not show them.
        let bytes = Bytes::from(json!({ "apiKey": self.key }).to_string());
        let body = RequestBody::Bytes { content_type: "application/json", bytes };
        let request = CloudRequest::post(APIS, "/api-keys/v1/introspect", body);
        CloudRequest { is_key_in_body: true, retry: RetryPolicy::Idempotent, ..request }
    }

    /// Reads the answer of the cloud.
    ///
    /// # Errors
    /// The answer does not say whether the key is enabled, or has no scopes.
    pub fn read_details(self, body: &[u8]) -> Result<KeyDetails, CloudFailure> {
        let answer: Json = serde_json::from_slice(body)
            .map_err(|error| CloudFailure::unreadable(APIS, &error.to_string()))?;
        let (Some(is_enabled), Some(scopes)) =
            (answer["enabled"].as_bool(), answer["scopes"].as_array())
        else {
            return Err(CloudFailure::unreadable(APIS, "it does not say what the key may do"));
        };
        let named = scopes.iter().flat_map(|scope| {
            let name = scope["name"].as_str().unwrap_or_default();
            let operations = scope["operations"].as_array().into_iter().flatten();
            operations.filter_map(Json::as_str).map(move |operation| format!("{name}:{operation}"))
        });
        let is_expired = answer["expired"].as_bool().unwrap_or_default();
        Ok(KeyDetails { is_enabled, is_expired, scopes: named.collect() })
    }
}

impl KeyDetails {
    /// Returns the scopes that the key lacks.
    pub fn missing_scopes(&self, needed: &[&'static str]) -> Vec<&'static str> {
        let has = |scope: &str| self.scopes.iter().any(|own| own == scope);
        needed.iter().copied().filter(|scope| !has(scope)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_and_compared() {
        let body = br#"{"name":"k","authorizedUserId":234,"scopes":[
            {"name":"universe-places","operations":["write"],"universeIds":["*"]},
            {"name":"asset","operations":["read","write"],"userIds":["*"]}],
            "enabled":true,"expired":false,"expirationTimeUtc":"2026-01-01T12:00:00.000Z"}"#;
        let details = KeyIntrospection::of("k").read_details(body).unwrap();
        assert_eq!(details.scopes, ["universe-places:write", "asset:read", "asset:write"]);
        assert_eq!((details.is_enabled, details.is_expired), (true, false));
        assert_eq!(details.missing_scopes(&["asset:read", "asset:manage"]), ["asset:manage"]);
        for body in ["", "[]", "{}", r#"{"enabled":true}"#, r#"{"enabled":"yes","scopes":[]}"#] {
            let failure = KeyIntrospection::of("k").read_details(body.as_bytes()).unwrap_err();
            assert!(failure.message.contains("cannot be read"), "{body}: {failure}");
        }
    }

    #[test]
    fn key_is_in_the_body_and_not_shown() {
        let request = KeyIntrospection::of("secret-key").request();
        assert_eq!(request.target(), "/api-keys/v1/introspect");
        assert!(!format!("{request:?}").contains("secret-key"), "{request:?}");
        let RequestBody::Bytes { bytes, .. } = request.body else { panic!("it has bytes") };
        assert_eq!(bytes.as_ref(), br#"{"apiKey":"secret-key"}"#);
    }
}
