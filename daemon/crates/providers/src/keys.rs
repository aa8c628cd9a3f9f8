//! API keys: where they are read from, and the type that holds them.
//!
//! The environment overrides the keychain, so that a shell or a CI job can use its own key. The
//! keychain is Keychain Services on macOS, the Credential Manager on Windows, and elsewhere the
//! Secret Service. A key prints as `***`, and is never written to a file.

#[cfg(any(target_os = "macos", target_os = "windows"))]
mod native;
#[cfg(not(any(target_os = "macos", target_os = "windows")))]
mod secret_service;

use std::fmt;

use super::catalogue::ProviderService;
use super::config::EnvReader;

/// An API key. Only [`SecretKey::expose`] returns its text.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(String);

impl SecretKey {
    /// Creates a key. White space around it, as from pasting, is removed.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Returns the key, for the header of a request and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the key can be sent in a header.
    pub fn is_usable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }

    /// Replaces this key in a text. A server's message may repeat what it received.
    pub fn scrub_text(&self, text: &str) -> String {
        // A shorter key would match by chance.
        if self.0.len() < 6 { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The credential that authenticates a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    None,
    /// A key that is sent in a header.
    Key(SecretKey),
    /// An AWS key, which signs requests and is not sent.
    Aws {
        id: String,
        secret: SecretKey,
        /// The session token of a temporary key.
        session: Option<SecretKey>,
        /// The region that is signed for.
        region: String,
    },
}

impl Credential {
    /// Returns everything that must never be shown.
    pub fn secret_keys(&self) -> Vec<&SecretKey> {
        match self {
            Self::None => vec![],
            Self::Key(key) => vec![key],
            Self::Aws { secret, session, .. } => {
                std::iter::once(secret).chain(session.as_ref()).collect()
            }
        }
    }

    /// Removes all secrets from a body. A body without secrets stays unchanged, even if it is not
    /// UTF-8.
    pub fn scrub_bytes(&self, body: Vec<u8>) -> Vec<u8> {
        let text = String::from_utf8_lossy(&body);
        let scrubbed = self.scrub_text(&text);
        if scrubbed == text { body } else { scrubbed.into_bytes() }
    }

    /// Removes all secrets from a text.
    pub fn scrub_text(&self, text: &str) -> String {
        self.secret_keys()
            .into_iter()
            .fold(text.to_owned(), |text, secret| secret.scrub_text(&text))
    }
}

/// The place a credential was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    Variable(String),
    Keychain,
    NotNeeded,
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable {name}"),
            Self::Keychain => f.write_str("the keychain"),
            Self::NotNeeded => f.write_str("no key needed, but it must be running"),
        }
    }
}

pub trait Keychain {
    /// Whether this system has a keychain. It may still be locked.
    fn is_available(&self) -> bool {
        true
    }
    /// Returns the key of a provider; None if there is none. The error says why the keychain cannot
    /// be read.
    fn get(&self, provider: &str) -> Result<Option<SecretKey>, String>;
    /// Stores a key, replacing the previous one.
    fn set(&self, provider: &str, key: &SecretKey) -> Result<(), String>;
    /// Removes a key. Returns false if there was none.
    fn remove(&self, provider: &str) -> Result<bool, String>;
}

/// The available keys: from the environment, then from a keychain.
pub struct KeyStore<'a> {
    env: EnvReader<'a>,
    keychain: &'a dyn Keychain,
    holder: KeyHolder,
}

/// The process that uses the keys. The hint for a missing key depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyHolder {
    /// A command in a terminal.
    Terminal,
    /// A running daemon, with its process id.
    Daemon(u32),
}

impl<'a> KeyStore<'a> {
    pub fn new(env: EnvReader<'a>, keychain: &'a dyn Keychain) -> Self {
        Self { env, keychain, holder: KeyHolder::Terminal }
    }

    /// Uses the keys for a daemon with this process id.
    #[must_use]
    pub fn for_daemon(self, process: u32) -> Self {
        Self { holder: KeyHolder::Daemon(process), ..self }
    }

    pub fn keychain(&self) -> &dyn Keychain {
        self.keychain
    }

    /// Finds the credential for a provider. The error is a sentence about what is missing and where
    /// to set it.
    pub fn find_credential(
        &self,
        service: &ProviderService,
    ) -> Result<(Credential, CredentialSource), String> {
        for name in &service.key_variables {
            if let Some(key) = self.key_from_variable(name)? {
                return Ok((Credential::Key(key), CredentialSource::Variable(name.clone())));
            }
        }
        if service.wire.descriptor().uses_aws_credentials
            && let Some(found) = self.aws_credential(service)?
        {
            return Ok(found);
        }
        if service.key_variables.is_empty() {
            // A self-hosted server may need a key all the same.
            let own = super::config::provider_variable(&service.name, "API_KEY");
            let key = self.key_from_variable(&own)?;
            return Ok(key.map_or((Credential::None, CredentialSource::NotNeeded), |key| {
                (Credential::Key(key), CredentialSource::Variable(own))
            }));
        }
        let key = self.key_from_keychain(&service.name, &service.key_variables[0])?;
        Ok((Credential::Key(key), CredentialSource::Keychain))
    }

    /// Finds a key that is not one of a provider, by its variable and its name in the keychain. The
    /// error is a sentence about what is missing and where to set it.
    pub fn find_key(
        &self,
        name: &str,
        variable: &str,
    ) -> Result<(SecretKey, CredentialSource), String> {
        if let Some(key) = self.key_from_variable(variable)? {
            return Ok((key, CredentialSource::Variable(variable.to_owned())));
        }
        Ok((self.key_from_keychain(name, variable)?, CredentialSource::Keychain))
    }

    fn key_from_keychain(&self, name: &str, variable: &str) -> Result<SecretKey, String> {
        match self.keychain.get(name) {
            Ok(Some(key)) => Ok(key),
            Ok(None) => Err(self.missing_key_hint(name, variable, true)),
            Err(_) if !self.keychain.is_available() => {
                Err(self.missing_key_hint(name, variable, false))
            }
            Err(error) => {
                Err(format!("{} (keychain: {error})", self.missing_key_hint(name, variable, false)))
            }
        }
    }

    /// Returns the hint for a missing key.
    fn missing_key_hint(&self, name: &str, variable: &str, has_keychain: bool) -> String {
        let keychain =
            if has_keychain { format!("`vector key set {name}`, or ") } else { String::new() };
        match self.holder {
            KeyHolder::Terminal => format!("no key: {keychain}set {variable}"),
            KeyHolder::Daemon(process) => format!(
                "the running daemon (process {process}) has no key: {keychain}run `vector open` in \
                 a terminal where {variable} is set; it hands the key over"
            ),
        }
    }

    fn key_from_variable(&self, name: &str) -> Result<Option<SecretKey>, String> {
        let key =
            (self.env)(name).map(|text| SecretKey::new(&text)).filter(|key| !key.0.is_empty());
        match key {
            Some(key) if !key.is_usable() => Err(format!(
                "{name} contains characters that are not allowed in a key; set it again"
            )),
            key => Ok(key),
        }
    }

    fn aws_credential(
        &self,
        service: &ProviderService,
    ) -> Result<Option<(Credential, CredentialSource)>, String> {
        let Some(id) = self.key_from_variable("AWS_ACCESS_KEY_ID")? else {
            return Ok(None);
        };
        let Some(secret) = self.key_from_variable("AWS_SECRET_ACCESS_KEY")? else {
            return Err("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not".to_owned());
        };
        let session = self.key_from_variable("AWS_SESSION_TOKEN")?;
        // If the URL contains a region, requests must be signed for that region, wherever else one
        // is set.
        let host = service.base_url.strip_prefix("https://bedrock-runtime.");
        let named = host.and_then(|host| host.split('.').next()).map(str::to_owned);
        let region = named
            .filter(|region| !region.contains('{'))
            .or_else(|| (self.env)("VECTOR_BEDROCK_REGION"))
            .or_else(|| (self.env)("AWS_REGION"))
            .or_else(|| (self.env)("AWS_DEFAULT_REGION"))
            .filter(|region| !region.is_empty())
            .ok_or("no region: set AWS_REGION")?;
        let credential = Credential::Aws { id: id.0, secret, session, region };
        Ok(Some((credential, CredentialSource::Variable("AWS_ACCESS_KEY_ID".to_owned()))))
    }
}

/// The keychain of this system.
pub struct SystemKeychain;

/// The name of the entries in the system's keychain.
const SERVICE: &str = "vector";

/// A keychain in memory.
#[cfg(test)]
#[derive(Default)]
pub(super) struct MemoryKeychain(std::cell::RefCell<std::collections::BTreeMap<String, SecretKey>>);

#[cfg(test)]
impl Keychain for MemoryKeychain {
    fn get(&self, provider: &str) -> Result<Option<SecretKey>, String> {
        Ok(self.0.borrow().get(provider).cloned())
    }

    fn set(&self, provider: &str, key: &SecretKey) -> Result<(), String> {
        self.0.borrow_mut().insert(provider.to_owned(), key.clone());
        Ok(())
    }

    fn remove(&self, provider: &str) -> Result<bool, String> {
        Ok(self.0.borrow_mut().remove(provider).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Catalogue;
    use super::*;

    struct Broken;

    impl Keychain for Broken {
        fn get(&self, _provider: &str) -> Result<Option<SecretKey>, String> {
            Err("it is locked".to_owned())
        }

        fn set(&self, _provider: &str, _key: &SecretKey) -> Result<(), String> {
            Err("it is locked".to_owned())
        }

        fn remove(&self, _provider: &str) -> Result<bool, String> {
            Err("it is locked".to_owned())
        }
    }

    fn of(
        provider: &str,
        env: &[(&str, &str)],
        chain: &dyn Keychain,
    ) -> Result<(Credential, CredentialSource), String> {
        let catalogue = Catalogue::from_user_file(None).unwrap();
        let env = |name: &str| {
            env.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned())
        };
        KeyStore::new(&env, chain).find_credential(catalogue.find_service(provider).unwrap())
    }

    const KEY: &str = "sk-very-secret";

    #[test]
    fn scrubbed_body_loses_only_the_key() {
        let credential = Credential::Key(SecretKey::new("sk-0123456789"));
        let echo = b"{\"error\":\"Authorization: Bearer sk-0123456789\"}".to_vec();
        let kept = String::from_utf8(credential.scrub_bytes(echo)).unwrap();
        assert_eq!(kept, "{\"error\":\"Authorization: Bearer ***\"}");
        let other = vec![0xff, b'a', 0xfe];
        assert_eq!(credential.scrub_bytes(other.clone()), other);
    }

    #[test]
    fn key_is_never_shown() {
        let aws = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", KEY)];
        let aws = [aws.as_slice(), &[("AWS_SESSION_TOKEN", KEY), ("AWS_REGION", "eu-west-1")]];
        for (provider, env) in
            [("openai", vec![("OPENAI_API_KEY", KEY)]), ("bedrock", aws.concat())]
        {
            let (credential, found) = of(provider, &env, &MemoryKeychain::default()).unwrap();
            let shown = format!("{credential:?} {credential:#?} {found}");
            assert!(!shown.contains("secret-") && !shown.contains(KEY), "{shown}");
            assert!(shown.contains("***"), "{shown}");
            assert_eq!(credential.scrub_text(&format!("no {KEY}!")), "no ***!");
        }
    }

    #[test]
    fn environment_overrides_keychain() {
        let chain = MemoryKeychain::default();
        chain.set("openai", &SecretKey::new("from-chain")).unwrap();
        let (key, found) = of("openai", &[("OPENAI_API_KEY", " from-env\n")], &chain).unwrap();
        assert_eq!(
            (key, found.to_string().as_str()),
            (Credential::Key(SecretKey::new("from-env")), "the variable OPENAI_API_KEY")
        );
        let (key, found) = of("openai", &[("OPENAI_API_KEY", "")], &chain).unwrap();
        assert_eq!(
            (key, found),
            (Credential::Key(SecretKey::new("from-chain")), CredentialSource::Keychain)
        );
        assert!(chain.remove("openai").unwrap());
        let error = of("openai", &[], &chain).unwrap_err();
        assert_eq!(error, "no key: `vector key set openai`, or set OPENAI_API_KEY");
    }

    #[test]
    fn failing_keychain_reports_reason_and_variable() {
        let error = of("gemini", &[], &Broken).unwrap_err();
        assert!(error.contains("GEMINI_API_KEY") && error.contains("locked"), "{error}");
        assert!(of("gemini", &[("GOOGLE_API_KEY", KEY)], &Broken).is_ok());
    }

    #[test]
    fn local_providers_need_no_key() {
        let (key, found) = of("ollama", &[], &Broken).unwrap();
        assert_eq!((key, found), (Credential::None, CredentialSource::NotNeeded));
        let (key, _) = of("lmstudio", &[("VECTOR_LMSTUDIO_API_KEY", KEY)], &Broken).unwrap();
        assert_eq!(key, Credential::Key(SecretKey::new(KEY)));
    }

    #[test]
    fn aws_credentials_need_secret_and_region() {
        let env = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", KEY)];
        let error = of("bedrock", &env, &MemoryKeychain::default()).unwrap_err();
        assert!(error.contains("AWS_REGION"), "{error}");
        let error = of("bedrock", &env[..1], &MemoryKeychain::default()).unwrap_err();
        assert!(error.contains("AWS_SECRET_ACCESS_KEY"), "{error}");
        let with = [env.as_slice(), &[("AWS_REGION", "eu-west-1")]].concat();
        let (key, _) = of("bedrock", &with, &MemoryKeychain::default()).unwrap();
        assert!(matches!(key, Credential::Aws { region, .. } if region == "eu-west-1"));
        let both = [with.as_slice(), &[("AWS_BEARER_TOKEN_BEDROCK", "b")]].concat();
        let (key, _) = of("bedrock", &both, &MemoryKeychain::default()).unwrap();
        assert_eq!(key, Credential::Key(SecretKey::new("b")));
    }

    #[test]
    fn key_invalid_in_a_header_is_refused() {
        let error = of("openai", &[("OPENAI_API_KEY", "a b\u{e9}")], &Broken).unwrap_err();
        assert!(error.contains("OPENAI_API_KEY") && !error.contains("a b"), "{error}");
    }
}
