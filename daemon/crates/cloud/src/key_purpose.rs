//! What keys of Roblox's cloud and of Meshy are for.

/// What a key is for. Each purpose has its own, so that a key has no more scopes than it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Downloading the files of assets.
    Assets,
    /// Uploading versions of places.
    Publish,
    /// Running Luau in a version of a place.
    Verify,
    /// Uploading files as assets.
    Upload,
    /// Generating models with Meshy.
    Meshy,
}

impl KeyPurpose {
    pub const ALL: [Self; 5] =
        [Self::Assets, Self::Publish, Self::Verify, Self::Upload, Self::Meshy];

    /// Returns the name of the key in the keychain.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assets => "roblox-assets",
            Self::Publish => "roblox-publish",
            Self::Verify => "roblox-verify",
            Self::Upload => "roblox-upload",
            Self::Meshy => "meshy",
        }
    }

    /// Returns the environment variable that holds the key.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Assets => "ROBLOX_ASSETS_API_KEY",
            Self::Publish => "ROBLOX_PUBLISH_API_KEY",
            Self::Verify => "ROBLOX_VERIFY_API_KEY",
            Self::Upload => "ROBLOX_UPLOAD_API_KEY",
            Self::Meshy => "MESHY_API_KEY",
        }
    }

    /// Returns the scopes of Open Cloud that the key needs. Empty for a key of Meshy, which has none.
    pub fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::Assets => &["legacy-asset:manage"],
            Self::Publish => &["universe-places:write"],
            Self::Verify => &[
                "universe-places:write",
                "universe.place.luau-execution-session:write",
                "universe.place.luau-execution-session:read",
            ],
            Self::Upload => &["asset:read", "asset:write"],
            Self::Meshy => &[],
        }
    }

    /// Describes what Vector does with the key.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Assets => "insert assets into files",
            Self::Publish => "publish places",
            Self::Verify => "run specs in the cloud",
            Self::Upload => "upload assets",
            Self::Meshy => "generate models",
        }
    }

    /// Describes where the key is made, and what it must be able to do.
    pub fn describe_key(self) -> String {
        match self {
            Self::Assets | Self::Publish | Self::Verify | Self::Upload => {
                let scopes = self.scopes().join(", ");
                let word = if self.scopes().len() == 1 { "scope" } else { "scopes" };
                format!("a key of Open Cloud with the {word} {scopes}")
            }
            Self::Meshy => "a key of Meshy, from https://www.meshy.ai/settings/api".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_of_their_own_and_say_what_they_are() {
        for (at, purpose) in KeyPurpose::ALL.into_iter().enumerate() {
            for other in &KeyPurpose::ALL[..at] {
                assert_ne!(purpose.name(), other.name());
                assert_ne!(purpose.variable(), other.variable());
            }
            let described = purpose.describe_key();
            assert!(purpose.scopes().iter().all(|it| described.contains(it)), "{described}");
            assert_eq!(purpose.scopes().is_empty(), !described.contains("scope"), "{described}");
        }
    }
}
