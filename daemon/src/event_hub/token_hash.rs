//! Tokens as the daemon keeps them: their hashes.

use scene_schemas::Fingerprint;
use subtle::ConstantTimeEq;

/// The hash of a token. It is compared in constant time.
#[derive(Debug, Clone)]
pub struct TokenHash(Fingerprint);

impl TokenHash {
    pub fn of_token(token: &str) -> Self {
        Self(Fingerprint::hash_bytes(token.as_bytes()))
    }

    /// Of this hash, as it was kept; none where it is none.
    pub fn from_hex(hash: &str) -> Option<Self> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self(Fingerprint(hash.to_owned())))
    }

    pub fn hash(&self) -> &str {
        &self.0.0
    }

    /// Whether it is of this token.
    pub fn matches(&self, token: &str) -> bool {
        self.equals(&Self::of_token(token))
    }

    /// Whether both are of one token.
    pub fn equals(&self, other: &Self) -> bool {
        self.hash().as_bytes().ct_eq(other.hash().as_bytes()).into()
    }
}
