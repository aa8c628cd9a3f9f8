//! Hashes of tokens: the form in which the daemon keeps tokens in memory and in stored grants.

use scene_schemas::Fingerprint;
use subtle::ConstantTimeEq;

/// The hash of a token. Comparisons take constant time.
#[derive(Debug, Clone)]
pub struct TokenHash(Fingerprint);

impl TokenHash {
    pub fn of_token(token: &str) -> Self {
        Self(Fingerprint::hash_bytes(token.as_bytes()))
    }

    /// Parses a stored hash. None if it is not a valid hash.
    pub fn from_hex(hash: &str) -> Option<Self> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self(Fingerprint(hash.to_owned())))
    }

    pub fn hash(&self) -> &str {
        &self.0.0
    }

    pub fn matches(&self, token: &str) -> bool {
        self.equals(&Self::of_token(token))
    }

    /// Whether both hashes are of the same token.
    pub fn equals(&self, other: &Self) -> bool {
        self.hash().as_bytes().ct_eq(other.hash().as_bytes()).into()
    }
}
