//! Signs a request with AWS Signature Version 4, for users without a Bedrock API key.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>. It
//! covers only what a POST without a query needs. It must not read the clock: the caller passes the
//! time.

use std::fmt::Write as _;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use vector_core::calendar::UtcMoment;

use super::keys::SecretKey;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

pub(super) struct SigningRequest<'a> {
    pub(super) method: &'a str,
    /// As in the `Host` header.
    pub(super) host: &'a str,
    /// The path as it is sent, percent-encoded.
    pub(super) path: &'a str,
    /// Other headers to sign: lower-case names, sorted.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
    /// In seconds since 1970.
    pub(super) signed_at: u64,
}

/// The AWS key, and the scope of the signature.
pub(super) struct SigningKey<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a SecretKey,
    pub(super) session: Option<&'a SecretKey>,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// Returns the headers that have to be added to the request.
pub(super) fn sign_request(
    request: &SigningRequest<'_>,
    key: &SigningKey<'_>,
) -> Vec<(String, String)> {
    let time = amz_timestamp(request.signed_at);
    let day = &time[..8];
    let mut added = vec![("x-amz-date".to_owned(), time.clone())];
    let session = key.session.map(|it| ("x-amz-security-token".to_owned(), it.expose().to_owned()));
    added.extend(session);
    let mut headers: Vec<(&str, &str)> = request.headers.to_vec();
    headers.push(("host", request.host));
    headers.extend(added.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    headers.sort_unstable();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}:{}", value.trim())).collect();
    let lines = lines.join("\n");
    let body = to_hex(&Sha256::digest(request.body));
    let path = escape_twice(request.path);
    let canonical = format!("{}\n{path}\n\n{lines}\n\n{names}\n{body}", request.method);
    let scope = format!("{day}/{}/{}/aws4_request", key.region, key.service);
    let canonical = to_hex(&Sha256::digest(canonical));
    let text = format!("{ALGORITHM}\n{time}\n{scope}\n{canonical}");
    let signature = to_hex(&hmac_sha256(&derive_day_key(key, day), &text));
    let id = key.id;
    let authorization = format!(
        "{ALGORITHM} Credential={id}/{scope}, SignedHeaders={names}, Signature={signature}"
    );
    added.push(("authorization".to_owned(), authorization));
    added
}

/// Derives the signing key of a day, a region and a service.
fn derive_day_key(key: &SigningKey<'_>, day: &str) -> Vec<u8> {
    let first = format!("AWS4{}", key.secret.expose());
    [day, key.region, key.service, "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, text| hmac_sha256(&key, text))
}

fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC accepts keys of any length, so this cannot fail. An empty signature would be rejected.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Percent-encodes the encoded path once more, as all services except S3 require.
fn escape_twice(path: &str) -> String {
    path.split('/').map(escape_segment).collect::<Vec<_>>().join("/")
}

/// Percent-encodes all characters of a path segment that are not unreserved.
pub(super) fn escape_segment(segment: &str) -> String {
    let escape = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    segment.bytes().map(escape).collect()
}

/// Formats a time as `20150830T123600Z`.
fn amz_timestamp(at: u64) -> String {
    let UtcMoment { year, month, day, hour, minute, second } = UtcMoment::from_seconds(at);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2015-08-30T12:36:00Z, the time of AWS's test suite.
    const AT: u64 = 1_440_938_160;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn signature(
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
        session: Option<&str>,
    ) -> String {
        let (secret, session) = (SecretKey::new(SECRET), session.map(SecretKey::new));
        let (host, body) = ("example.amazonaws.com", body.as_bytes());
        let request = SigningRequest { method, host, path: "/", headers, body, signed_at: AT };
        let (id, region, service) = ("AKIDEXAMPLE", "us-east-1", "service");
        let key = SigningKey { id, secret: &secret, session: session.as_ref(), region, service };
        let added = sign_request(&request, &key);
        assert_eq!(added[0], ("x-amz-date".to_owned(), "20150830T123600Z".to_owned()));
        let (name, value) = added.last().unwrap();
        assert_eq!(name, "authorization");
        value
            .strip_prefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, ",
            )
            .unwrap()
            .to_owned()
    }

    /// Cases of AWS's own suite, `aws-sig-v4-test-suite`.
    #[test]
    fn signatures_match_the_aws_test_suite() {
        assert_eq!(
            signature("GET", &[], "", None),
            "SignedHeaders=host;x-amz-date, Signature=\
             5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
        assert_eq!(
            signature("POST", &[], "", None),
            "SignedHeaders=host;x-amz-date, Signature=\
             5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
        let form = [("content-type", "application/x-www-form-urlencoded")];
        assert_eq!(
            signature("POST", &form, "Param1=value1", None),
            "SignedHeaders=content-type;host;x-amz-date, Signature=\
             ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
        );
        let session = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMic\
             RXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPk\
             yQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scq\
             Kmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
        assert_eq!(
            signature("POST", &[], "", Some(session)),
            "SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=\
             85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"
        );
    }

    /// The example of AWS's page on deriving a signing key.
    #[test]
    fn day_key_matches_the_aws_example() {
        let secret = SecretKey::new(SECRET);
        let (id, region, service) = ("AKIDEXAMPLE", "us-east-1", "iam");
        let key = SigningKey { id, secret: &secret, session: None, region, service };
        let expected = "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9";
        assert_eq!(to_hex(&derive_day_key(&key, "20150830")), expected);
    }

    #[test]
    fn path_escapes_are_escaped_twice() {
        assert_eq!(escape_segment("us.a-v1:0"), "us.a-v1%3A0");
        assert_eq!(escape_twice("/model/a%3A0/converse-stream"), "/model/a%253A0/converse-stream");
    }

    #[test]
    fn timestamps_follow_the_calendar() {
        for (at, expected) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_251_199, "20240229T235959Z"),
            (1_767_225_600, "20260101T000000Z"),
        ] {
            assert_eq!(amz_timestamp(at), expected);
        }
    }
}
