//! Selects the models of a daemon, by its settings and the keys that it has.
//!
//! A key comes from the daemon's environment, from the keychain, or from the user's terminal, which
//! hands it over. Handed-over keys stay in memory: they never appear in a file, a log or a
//! response.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use scene_schemas::api::{KeyHandover, ProviderKey, ProviderKeys};

use super::catalogue::Catalogue;
use super::client::{TaskModels, load_models_with};
use super::config::editor_link::EditorTemplate;
use super::config::{self, ModelAction, SpendingCaps};
use super::keys::{CredentialSource, KeyStore, SecretKey, SystemKeychain};
use super::model_choice::{ModelChoice, OFFLINE, choose_model, find_credential};

/// Selects the models for a task.
pub trait ModelSelector: Send + Sync {
    /// Selects the models; None is the offline planner. `said` is the user's choice.
    ///
    /// # Errors
    /// A sentence about a wrong setting, or about the reason the chosen model cannot be used.
    fn select_models(&self, requested: Option<&str>) -> Result<Option<TaskModels>, String>;

    /// Lists the models that the user can choose, beginning with the default.
    fn list_choices(&self) -> Vec<String>;

    /// Returns the configured spending caps.
    fn spending_caps(&self) -> SpendingCaps {
        SpendingCaps::default()
    }

    /// Returns how files are opened in the user's editor.
    fn editor(&self) -> EditorTemplate {
        EditorTemplate::default()
    }

    /// Returns whether a proposal in the folder `project` can be approved only after a review.
    ///
    /// # Errors
    /// The settings cannot be read. The text says what is wrong, where, and what to do.
    fn is_review_required(&self, _project: Option<&Path>) -> Result<bool, String> {
        Ok(false)
    }

    /// Returns which providers can be used, without the keys themselves.
    fn provider_keys(&self) -> ProviderKeys {
        ProviderKeys { answers: OFFLINE.to_owned(), ..ProviderKeys::default() }
    }

    /// Accepts keys that were missing. Returns whether any of them was new.
    fn accept_keys(&self, _handed: KeyHandover) -> bool {
        false
    }
}

/// A selector that only offers the offline planner.
#[derive(Debug)]
pub struct OfflineSelector;

impl ModelSelector for OfflineSelector {
    fn select_models(&self, requested: Option<&str>) -> Result<Option<TaskModels>, String> {
        match requested {
            None | Some(OFFLINE) => Ok(None),
            Some(name) => Err(format!("{name} is not available here; the offline planner is.")),
        }
    }

    fn list_choices(&self) -> Vec<String> {
        vec![OFFLINE.to_owned()]
    }
}

/// Selects models by the settings in Vector's folder, the daemon's environment, the system's
/// keychain and the handed-over keys.
#[derive(Debug)]
pub struct HomeModelSelector {
    home: PathBuf,
    /// The models selected last. Their connections are reused.
    cached_models: Mutex<Option<TaskModels>>,
    /// The handed-over keys, by variable.
    handed_keys: Mutex<BTreeMap<String, SecretKey>>,
}

/// Variables that belong to an AWS key. They are accepted only if the daemon has no AWS key itself,
/// so that parts of different keys are never mixed.
const AWS_VARIABLES: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
];

/// Returns the variables that may hold a key or belong to one.
pub fn key_variables(catalogue: &Catalogue) -> Vec<String> {
    let services = catalogue.services.iter();
    let own = services.clone().map(|service| config::provider_variable(&service.name, "API_KEY"));
    let mut names: Vec<String> =
        services.flat_map(|it| it.key_variables.iter().cloned()).chain(own).collect();
    names.extend(AWS_VARIABLES.map(str::to_owned));
    names.sort_unstable();
    names.dedup();
    names
}

fn env_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

impl HomeModelSelector {
    pub fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            cached_models: Mutex::default(),
            handed_keys: Mutex::default(),
        }
    }

    /// Returns the value of a variable. The daemon's environment overrides handed-over keys.
    fn find_variable(&self, name: &str) -> Option<String> {
        env_variable(name).or_else(|| {
            let stored_keys = self.handed_keys.lock().unwrap_or_else(PoisonError::into_inner);
            stored_keys.get(name).map(|key| key.expose().to_owned())
        })
    }
}

impl ModelSelector for HomeModelSelector {
    fn select_models(&self, requested: Option<&str>) -> Result<Option<TaskModels>, String> {
        let env = |name: &str| self.find_variable(name);
        let keys = KeyStore::new(&env, &SystemKeychain).for_daemon(std::process::id());
        let models = load_models_with(&self.home, None, requested, &env, &keys)?;
        let mut last = self.cached_models.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(models), Some(kept)) = (&models, last.as_ref())
            && models.is_same(kept)
        {
            return Ok(Some(kept.clone()));
        }
        last.clone_from(&models);
        Ok(models)
    }

    fn spending_caps(&self) -> SpendingCaps {
        let env = |name: &str| self.find_variable(name);
        let config = config::load_config(&self.home, None, &env);
        config.map_or_else(|_| SpendingCaps::default(), |(_, config)| config.caps)
    }

    fn editor(&self) -> EditorTemplate {
        let env = |name: &str| self.find_variable(name);
        let config = config::load_config(&self.home, None, &env);
        config.map_or_else(|_| EditorTemplate::default(), |(_, config)| config.editor)
    }

    fn is_review_required(&self, project: Option<&Path>) -> Result<bool, String> {
        let is_home = |folder: &&Path| folder.canonicalize().ok() == self.home.canonicalize().ok();
        let project = project.filter(|folder| !is_home(folder));
        config::read_review_required(&self.home, project, &|name| self.find_variable(name))
    }

    fn list_choices(&self) -> Vec<String> {
        let env = |name: &str| self.find_variable(name);
        let Ok((catalogue, config)) = config::load_config(&self.home, None, &env) else {
            return vec![OFFLINE.to_owned()];
        };
        let keys = KeyStore::new(&env, &SystemKeychain);
        let first = match choose_model(None, Some(ModelAction::Edit), &config, &catalogue, &keys) {
            Ok(ModelChoice::Model(chosen)) => {
                format!("{}/{}", chosen.service.name, chosen.model.id)
            }
            Ok(ModelChoice::Offline(_)) => OFFLINE.to_owned(),
            // A chosen model that cannot be used stays the default. Using it reports the reason.
            Err(_) => config.model.as_ref().map_or(OFFLINE, |(name, _)| name).to_owned(),
        };
        let usable = catalogue.models.iter().filter(|model| {
            let service = catalogue.find_service(&model.provider);
            service.is_some_and(|service| find_credential(service, &keys).is_ok())
        });
        let usable = usable.map(|model| format!("{}/{}", model.provider, model.id));
        let mut names = vec![first];
        for name in usable.chain([OFFLINE.to_owned()]) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn provider_keys(&self) -> ProviderKeys {
        let process = std::process::id();
        let env = |name: &str| self.find_variable(name);
        let (catalogue, config) = match config::load_config(&self.home, None, &env) {
            Ok(loaded) => loaded,
            Err(error) => return ProviderKeys { process, answers: error, providers: Vec::new() },
        };
        let keys = KeyStore::new(&env, &SystemKeychain).for_daemon(process);
        let answers = match choose_model(None, None, &config, &catalogue, &keys) {
            Ok(ModelChoice::Offline(why)) => format!("the offline planner, {}", why.describe()),
            Ok(ModelChoice::Model(chosen)) => {
                let (provider, model) = (&chosen.service.name, &chosen.model.id);
                format!("{provider}/{model}, {}", chosen.reason.describe())
            }
            Err(error) => error.to_string(),
        };
        let takes_key =
            |service: &&super::catalogue::ProviderService| !service.key_variables.is_empty();
        let services = catalogue.services.iter().filter(takes_key);
        let providers = services.map(|service| {
            let usable = find_credential(service, &keys);
            let status = match &usable {
                Ok((_, CredentialSource::Variable(name))) if env_variable(name).is_none() => {
                    format!(
                        "{name}, handed over by a terminal; kept in memory until this daemon stops"
                    )
                }
                Ok((_, found)) => format!("key in {found}"),
                Err(why) => why.clone(),
            };
            ProviderKey { provider: service.name.clone(), is_usable: usable.is_ok(), says: status }
        });
        ProviderKeys { process, answers, providers: providers.collect() }
    }

    fn accept_keys(&self, handover: KeyHandover) -> bool {
        let Ok((catalogue, _)) =
            config::load_config(&self.home, None, &|name| self.find_variable(name))
        else {
            return false;
        };
        let known = key_variables(&catalogue);
        let has_aws = env_variable(AWS_VARIABLES[0]).is_some();
        let mut stored_keys = self.handed_keys.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        for (name, key) in handover.keys {
            let is_missing = env_variable(&name).is_none();
            let is_alone = has_aws && AWS_VARIABLES.contains(&name.as_str());
            let key = SecretKey::new(&key);
            if known.contains(&name) && is_missing && !is_alone && key.is_usable() {
                is_new |= stored_keys.insert(name, key.clone()) != Some(key);
            }
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_provider_keys_are_accepted_and_none_is_shown() {
        let home = tempfile::tempdir().unwrap();
        let models = "[providers.house]\nwire = \"openai_chat\"\nbase_url = \"http://127.0.0.1:1\"\n\
                      keys = [\"VECTOR_TEST_HOUSE_KEY\"]\n";
        std::fs::write(home.path().join("models.toml"), models).unwrap();
        let who = HomeModelSelector::new(home.path());
        let house = |who: &HomeModelSelector| {
            who.provider_keys().providers.into_iter().find(|it| it.provider == "house").unwrap()
        };
        assert!(
            !house(&who).is_usable && house(&who).says.contains("VECTOR_TEST_HOUSE_KEY is set")
        );
        let hand = |name: &str, key: &str| {
            let keys = [(name.to_owned(), key.to_owned())].into();
            let handed = KeyHandover { keys };
            assert!(!format!("{handed:?}").contains(key), "a key is shown");
            who.accept_keys(handed)
        };
        assert!(!hand("VECTOR_MODEL", "house/toy"), "it is no key");
        assert!(!hand("VECTOR_TEST_HOUSE_KEY", "no key at all"));
        assert!(hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-1"));
        assert!(!hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-1"), "it is known");
        assert!(house(&who).is_usable && house(&who).says.contains("handed over by a terminal"));
        assert!(!format!("{who:?} {:?}", who.provider_keys()).contains("sk-secret-1"));
        assert!(hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-2"), "the newest counts");
    }
}
