//! Who answers in a daemon: the models of its settings, with the keys that it has.
//!
//! A key is the daemon's own by its environment or the keychain, or was handed over by a person's terminal.
//! What was handed over stays in memory: it is in no file, no log and no answer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use scene_schemas::api::{HandKeys, ProviderKey, ProviderKeys};

use super::catalogue::Catalogue;
use super::choose::{Choice, OFFLINE, choose, usable};
use super::client::{Models, models_by};
use super::config::{self, Action};
use super::keys::{Found, Keys, Secret, System};

/// Says who answers, wherever that is set.
pub trait Who: Send + Sync {
    /// Who answers; none is the offline planner. `said` is whom a person has chosen.
    ///
    /// # Errors
    /// A sentence: a setting that is wrong, or why the one who was chosen cannot be asked.
    fn answers(&self, said: Option<&str>) -> Result<Option<Models>, String>;

    /// Whom a person can choose, the one first who answers where nobody has chosen.
    fn names(&self) -> Vec<String>;

    /// Which providers can be asked; never a key.
    fn keys(&self) -> ProviderKeys {
        ProviderKeys { answers: OFFLINE.to_owned(), ..ProviderKeys::default() }
    }

    /// Takes keys that are missing; whether there were any.
    fn take_keys(&self, _handed: HandKeys) -> bool {
        false
    }
}

/// The offline planner, and nobody else.
#[derive(Debug)]
pub struct OnlyOffline;

impl Who for OnlyOffline {
    fn answers(&self, said: Option<&str>) -> Result<Option<Models>, String> {
        match said {
            None | Some(OFFLINE) => Ok(None),
            Some(name) => Err(format!("{name} cannot be asked here; the offline planner can.")),
        }
    }

    fn names(&self) -> Vec<String> {
        vec![OFFLINE.to_owned()]
    }
}

/// The models of a home, by its settings, the daemon's environment, the system's keychain and the keys that
/// were handed over.
#[derive(Debug)]
pub struct OfHome {
    home: PathBuf,
    /// The last ones, whose connections are kept.
    last: Mutex<Option<Models>>,
    /// The keys that were handed over, by their variables.
    handed: Mutex<BTreeMap<String, Secret>>,
}

/// What goes with a key of AWS, and comes from one place with it or not at all.
const AWS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
];

/// The variables that may hold a key, or go with one.
pub fn key_variables(catalogue: &Catalogue) -> Vec<String> {
    let services = catalogue.services.iter();
    let own = services.clone().map(|service| config::variable(&service.name, "API_KEY"));
    let mut names: Vec<String> =
        services.flat_map(|it| it.keys.iter().cloned()).chain(own).collect();
    names.extend(AWS.map(str::to_owned));
    names.sort_unstable();
    names.dedup();
    names
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

impl OfHome {
    /// Of this home.
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), last: Mutex::default(), handed: Mutex::default() }
    }

    /// What a variable holds: the daemon's own counts before what was handed over.
    fn variable(&self, name: &str) -> Option<String> {
        environment(name).or_else(|| {
            let handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
            handed.get(name).map(|key| key.expose().to_owned())
        })
    }
}

impl Who for OfHome {
    fn answers(&self, said: Option<&str>) -> Result<Option<Models>, String> {
        let env = |name: &str| self.variable(name);
        let keys = Keys::new(&env, &System).of_daemon(std::process::id());
        let models = models_by(&self.home, None, said, (&env, &keys))?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(models), Some(kept)) = (&models, last.as_ref())
            && models.is_same(kept)
        {
            return Ok(Some(kept.clone()));
        }
        last.clone_from(&models);
        Ok(models)
    }

    fn names(&self) -> Vec<String> {
        let env = |name: &str| self.variable(name);
        let Ok((catalogue, config)) = config::load(&self.home, None, &env) else {
            return vec![OFFLINE.to_owned()];
        };
        let keys = Keys::new(&env, &System);
        let first = match choose(None, Some(Action::Edit), &config, &catalogue, &keys) {
            Ok(Choice::Model(chosen)) => format!("{}/{}", chosen.service.name, chosen.model.id),
            Ok(Choice::Offline(_)) => OFFLINE.to_owned(),
            // What was chosen and cannot be asked stays chosen: asking says why.
            Err(_) => config.model.as_ref().map_or(OFFLINE, |(name, _)| name).to_owned(),
        };
        let usable = catalogue.models.iter().filter(|model| {
            let service = catalogue.service(&model.provider);
            service.is_some_and(|service| usable(service, &keys).is_ok())
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

    fn keys(&self) -> ProviderKeys {
        let process = std::process::id();
        let env = |name: &str| self.variable(name);
        let (catalogue, config) = match config::load(&self.home, None, &env) {
            Ok(loaded) => loaded,
            Err(error) => return ProviderKeys { process, answers: error, providers: Vec::new() },
        };
        let keys = Keys::new(&env, &System).of_daemon(process);
        let answers = match choose(None, None, &config, &catalogue, &keys) {
            Ok(Choice::Offline(why)) => format!("the offline planner, {}", why.text()),
            Ok(Choice::Model(chosen)) => {
                let (provider, model) = (&chosen.service.name, &chosen.model.id);
                format!("{provider}/{model}, {}", chosen.reason.text())
            }
            Err(error) => error.to_string(),
        };
        let takes_key = |service: &&super::catalogue::Service| !service.keys.is_empty();
        let services = catalogue.services.iter().filter(takes_key);
        let providers = services.map(|service| {
            let usable = usable(service, &keys);
            let says = match &usable {
                Ok((_, Found::Variable(name))) if environment(name).is_none() => {
                    format!(
                        "{name}, handed over by a terminal; kept in memory until this daemon ends"
                    )
                }
                Ok((_, found)) => format!("key in {found}"),
                Err(why) => why.clone(),
            };
            ProviderKey { provider: service.name.clone(), is_usable: usable.is_ok(), says }
        });
        ProviderKeys { process, answers, providers: providers.collect() }
    }

    fn take_keys(&self, given: HandKeys) -> bool {
        let Ok((catalogue, _)) = config::load(&self.home, None, &|name| self.variable(name)) else {
            return false;
        };
        let known = key_variables(&catalogue);
        let has_aws = environment(AWS[0]).is_some();
        let mut handed = self.handed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = false;
        for (name, key) in given.keys {
            let is_missing = environment(&name).is_none();
            let is_alone = has_aws && AWS.contains(&name.as_str());
            let key = Secret::new(&key);
            if known.contains(&name) && is_missing && !is_alone && key.is_usable() {
                is_new |= handed.insert(name, key.clone()) != Some(key);
            }
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_keys_are_taken_and_none_is_shown() {
        let home = tempfile::tempdir().unwrap();
        let models = "[providers.house]\nwire = \"openai_chat\"\nbase_url = \"http://127.0.0.1:1\"\n\
                      keys = [\"VECTOR_TEST_HOUSE_KEY\"]\n";
        std::fs::write(home.path().join("models.toml"), models).unwrap();
        let who = OfHome::new(home.path());
        let house = |who: &OfHome| {
            who.keys().providers.into_iter().find(|it| it.provider == "house").unwrap()
        };
        assert!(
            !house(&who).is_usable && house(&who).says.contains("VECTOR_TEST_HOUSE_KEY is set")
        );
        let hand = |name: &str, key: &str| {
            let keys = [(name.to_owned(), key.to_owned())].into();
            let handed = HandKeys { keys };
            assert!(!format!("{handed:?}").contains(key), "a key is shown");
            who.take_keys(handed)
        };
        assert!(!hand("VECTOR_MODEL", "house/toy"), "it is no key");
        assert!(!hand("VECTOR_TEST_HOUSE_KEY", "no key at all"));
        assert!(hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-1"));
        assert!(!hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-1"), "it is known");
        assert!(house(&who).is_usable && house(&who).says.contains("handed over by a terminal"));
        assert!(!format!("{who:?} {:?}", who.keys()).contains("sk-secret-1"));
        assert!(hand("VECTOR_TEST_HOUSE_KEY", "sk-secret-2"), "the newest counts");
    }
}
