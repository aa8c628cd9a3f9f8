//! Chooses the model: the user's choice for this run first, then the settings, then the first
//! provider that has a key.
//!
//! If a chosen model cannot be used, that is an error with its reason; no other model takes its
//! place. The offline planner answers only if it was chosen, or if there is no key at all.

use scene_schemas::refusal::did_you_mean;
use vector_core::prompt::ThinkingEffort;

use super::catalogue::{Catalogue, CatalogueModel, ProviderService};
use super::config::{ModelAction, ModelConfig, ValueOrigin};
use super::keys::{Credential, CredentialSource, KeyStore};

/// The name of the offline planner.
pub const OFFLINE: &str = "offline";

#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    Offline(ChoiceReason),
    Model(Box<ChosenModel>),
}

/// A chosen model, with everything that requests to it need.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenModel {
    pub service: ProviderService,
    pub model: CatalogueModel,
    pub credential: Credential,
    pub credential_source: CredentialSource,
    pub effort: Option<ThinkingEffort>,
    pub reason: ChoiceReason,
}

/// The reason a model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The user chose it for this run.
    Requested,
    /// The setting `routes`, which assigns models to actions.
    Route,
    Setting(ValueOrigin),
    /// It is the first provider with a key.
    FirstKey,
    NoKey,
}

impl ChoiceReason {
    /// Returns the reason as a phrase for messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Requested => "as you requested",
            Self::Route => "by the setting `routes`",
            Self::Setting(ValueOrigin::Home) => "by `model` in vector.toml",
            Self::Setting(ValueOrigin::Project) => "by `model` in the project's vector.toml",
            Self::Setting(ValueOrigin::Environment) => "by the variable VECTOR_MODEL",
            Self::FirstKey => "because it is the first provider with a key",
            Self::NoKey => "because no key is set",
        }
    }
}

/// The reason the chosen model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChoiceError(pub String);

/// Chooses a model. `said` is the user's choice for this run: `PROVIDER/MODEL`, `PROVIDER` or
/// `offline`.
pub fn choose_model(
    requested: Option<&str>,
    action: Option<ModelAction>,
    config: &ModelConfig,
    catalogue: &Catalogue,
    keys: &KeyStore<'_>,
) -> Result<ModelChoice, ChoiceError> {
    let route = || action.and_then(|action| config.routes.get(&action));
    let named = requested.map(|name| (name, ChoiceReason::Requested));
    let named = named.or_else(|| route().map(|name| (name.as_str(), ChoiceReason::Route)));
    let named = named.or_else(|| {
        let (name, origin) = config.model.as_ref()?;
        Some((name.as_str(), ChoiceReason::Setting(*origin)))
    });
    let effort = action.and_then(|action| config.efforts.get(&action).copied()).or(config.effort);
    match named {
        Some((OFFLINE, reason)) => Ok(ModelChoice::Offline(reason)),
        Some((name, reason)) => {
            let fail = |error: String| {
                let all = "`vector models` lists the usable models.";
                let why = reason.describe();
                ChoiceError(format!("{name}, chosen {why}, cannot be used: {error} {all}"))
            };
            let (service, model) = find_named_model(name, catalogue).map_err(fail)?;
            let missing = |error| fail(format!("{error}."));
            let (credential, found) = find_credential(service, keys).map_err(missing)?;
            Ok(ModelChoice::Model(Box::new(ChosenModel {
                service: service.clone(),
                model,
                credential,
                credential_source: found,
                effort,
                reason,
            })))
        }
        None => Ok(choose_first_keyed(catalogue, keys, effort)),
    }
}

/// Chooses the first provider that has a key, with its default model.
fn choose_first_keyed(
    catalogue: &Catalogue,
    keys: &KeyStore<'_>,
    effort: Option<ThinkingEffort>,
) -> ModelChoice {
    let chosen = catalogue.services.iter().find_map(|service| {
        let default = service.default_model.as_ref()?;
        let (credential, found) = find_credential(service, keys).ok()?;
        let model = catalogue.find_model(&service.name, default);
        let (service, reason) = (service.clone(), ChoiceReason::FirstKey);
        let is_keyed = credential != Credential::None;
        is_keyed.then_some(ChosenModel {
            service,
            model,
            credential,
            credential_source: found,
            effort,
            reason,
        })
    });
    chosen.map_or(ModelChoice::Offline(ChoiceReason::NoKey), |chosen| {
        ModelChoice::Model(Box::new(chosen))
    })
}

/// Returns the provider and the model of a name.
fn find_named_model<'a>(
    name: &str,
    catalogue: &'a Catalogue,
) -> Result<(&'a ProviderService, CatalogueModel), String> {
    let (provider, id) = name.split_once('/').map_or((name, None), |(one, two)| (one, Some(two)));
    let Some(service) = catalogue.find_service(provider) else {
        let known = catalogue.services.iter().map(|service| service.name.as_str());
        let near = did_you_mean(provider, known.chain([OFFLINE]));
        let file = match &catalogue.user_file {
            Some((file, true)) => {
                format!(" {} exists, but has no [providers.{provider}].", file.display())
            }
            Some((file, false)) => {
                format!(" To define it, create {} with [providers.{provider}].", file.display())
            }
            None => String::new(),
        };
        return Err(format!("there is no provider `{provider}`.{near}{file}"));
    };
    let Some(id) = id.filter(|id| !id.is_empty()).or(service.default_model.as_deref()) else {
        return Err(format!("{provider} has no default model: use {provider}/MODEL."));
    };
    Ok((service, catalogue.find_model(provider, id)))
}

/// Finds the credential for a provider, and checks that the provider can be used with it.
pub fn find_credential(
    service: &ProviderService,
    keys: &KeyStore<'_>,
) -> Result<(Credential, CredentialSource), String> {
    let (credential, found) = keys.find_credential(service)?;
    if service.base_url.contains("{region}") {
        return Err("no region: set AWS_REGION".to_owned());
    }
    let is_clear = service.base_url.starts_with("http://");
    if is_clear && matches!(credential, Credential::Key(_)) && !is_local(&service.base_url) {
        return Err(format!(
            "its key would be sent to {} unencrypted: use https://",
            service.base_url
        ));
    }
    Ok((credential, found))
}

/// Whether a URL points to this machine.
pub(super) fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Text before an `@` is not part of the host.
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::super::keys::{Keychain, MemoryKeychain, SecretKey};
    use super::*;

    struct Case {
        config: ModelConfig,
        catalogue: Catalogue,
        env: Vec<(&'static str, &'static str)>,
        chain: MemoryKeychain,
    }

    impl Case {
        fn new(env: &[(&'static str, &'static str)]) -> Self {
            Self {
                config: ModelConfig::default(),
                catalogue: Catalogue::from_user_file(None).unwrap(),
                env: env.to_vec(),
                chain: MemoryKeychain::default(),
            }
        }

        fn choose(
            &self,
            said: Option<&str>,
            action: Option<ModelAction>,
        ) -> Result<String, String> {
            let env = |name: &str| {
                self.env.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned())
            };
            let keys = KeyStore::new(&env, &self.chain);
            match choose_model(said, action, &self.config, &self.catalogue, &keys) {
                Ok(ModelChoice::Offline(reason)) => Ok(format!("offline {}", reason.describe())),
                Ok(ModelChoice::Model(chosen)) => {
                    let ChosenModel { service, model, reason, .. } = *chosen;
                    Ok(format!("{}/{} {}", service.name, model.id, reason.describe()))
                }
                Err(error) => Err(error.to_string()),
            }
        }
    }

    #[test]
    fn model_choice_order_is_request_route_setting_key() {
        let keys = [("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k"), ("NVIDIA_API_KEY", "k")];
        let mut case = Case::new(&keys);
        let first = "openai/gpt-5.2 because it is the first provider with a key";
        assert_eq!(case.choose(None, None).unwrap(), first);
        case.config.model = Some(("gemini/gemini-2.5-flash".to_owned(), ValueOrigin::Project));
        let set = "gemini/gemini-2.5-flash by `model` in the project's vector.toml";
        assert_eq!(case.choose(None, None).unwrap(), set);
        case.config.routes.insert(ModelAction::Plan, "nvidia".to_owned());
        assert_eq!(case.choose(None, Some(ModelAction::Edit)).unwrap(), set);
        let routed = case.choose(None, Some(ModelAction::Plan)).unwrap();
        assert!(routed.starts_with("nvidia/nvidia/llama"), "{routed}");
        let said = case.choose(Some("ollama/qwen3:8b"), Some(ModelAction::Plan)).unwrap();
        assert_eq!(said, "ollama/qwen3:8b as you requested");
        assert_eq!(case.choose(Some("offline"), None).unwrap(), "offline as you requested");
    }

    #[test]
    fn offline_planner_is_chosen_without_a_key() {
        let case = Case::new(&[]);
        assert_eq!(case.choose(None, None).unwrap(), "offline because no key is set");
        case.chain.set("anthropic", &SecretKey::new("k")).unwrap();
        assert!(case.choose(None, None).unwrap().starts_with("anthropic/"));
    }

    #[test]
    fn unusable_chosen_model_is_an_error() {
        let mut case = Case::new(&[("GEMINI_API_KEY", "k")]);
        case.config.model = Some(("openai".to_owned(), ValueOrigin::Home));
        let error = case.choose(None, None).unwrap_err();
        let expected = "openai, chosen by `model` in vector.toml, cannot be used: no key: \
                        `vector key set openai`, or set OPENAI_API_KEY. `vector models` lists the \
                        usable models.";
        assert_eq!(error, expected);
        let error = case.choose(Some("gemni"), None).unwrap_err();
        assert!(error.contains("Did you mean `gemini`?"), "{error}");
        let error = case.choose(Some("ollama"), None).unwrap_err();
        assert!(error.contains("ollama/MODEL"), "{error}");
    }

    #[test]
    fn key_is_never_sent_unencrypted_to_remote_hosts() {
        let mut case = Case::new(&[("OPENAI_API_KEY", "k")]);
        let service = case.catalogue.services.iter_mut().find(|it| it.name == "openai").unwrap();
        service.base_url = "http://api.example/v1".to_owned();
        let error = case.choose(Some("openai"), None).unwrap_err();
        assert!(error.contains("unencrypted"), "{error}");
        for (url, local) in [
            ("http://127.0.0.1:1/v1", true),
            ("http://localhost", true),
            ("http://[::1]:80/x", true),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1@evil.example", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_local(url), local, "{url}");
        }
    }
}
