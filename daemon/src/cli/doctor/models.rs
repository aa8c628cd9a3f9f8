//! Checks of the model settings and of where the provider keys are stored. A key itself is never
//! shown.

use vector_providers::config;
use vector_providers::keys::{KeyStore, Keychain, SystemKeychain};
use vector_providers::model_choice::{self, ModelChoice};

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::cli::handover::{daemon_keys, missing_keys};

pub(super) fn check_models(site: &CheckSite) -> Vec<DoctorFinding> {
    let env = |name: &str| std::env::var(name).ok();
    let (catalogue, config) = match config::load_config(&site.home, None, &env) {
        Ok(loaded) => loaded,
        Err(error) => {
            let finding = DoctorFinding::problem("settings", error);
            return vec![finding.with_fix("correct the setting; `vector models` shows the result")];
        }
    };
    let file = site.home.join(config::FILE);
    let settings = if file.exists() { "read from" } else { "the defaults; to change them, create" };
    let mut found = vec![DoctorFinding::ok("settings", format!("{settings} {}", file.display()))];
    let keys = KeyStore::new(&env, &SystemKeychain);
    let mut without = Vec::new();
    for service in catalogue.services.iter().filter(|service| !service.key_variables.is_empty()) {
        match keys.find_credential(service) {
            Ok((_, at)) => found.push(DoctorFinding::ok(&service.name, format!("key in {at}"))),
            Err(_) => without.push(service.name.as_str()),
        }
    }
    if !without.is_empty() {
        let message = format!("no key for {}", without.join(", "));
        let fix = match without.first().and_then(|name| catalogue.find_service(name)) {
            Some(service) if !SystemKeychain.is_available() => format!(
                "set {} in the environment, or the variable of the provider you use",
                service.key_variables.first().map_or("its variable", String::as_str)
            ),
            _ => "vector key set PROVIDER, for the provider you use".to_owned(),
        };
        found.push(DoctorFinding::note("keys", message).with_fix(fix));
    }
    found.push(match model_choice::choose_model(None, None, &config, &catalogue, &keys) {
        Ok(ModelChoice::Offline(why)) => {
            DoctorFinding::note("answers", format!("the offline planner, {}", why.describe()))
        }
        Ok(ModelChoice::Model(chosen)) => {
            let (provider, model) = (&chosen.service.name, &chosen.model.id);
            DoctorFinding::ok(
                "answers",
                format!("{provider}/{model}, {}", chosen.reason.describe()),
            )
        }
        Err(error) => {
            DoctorFinding::problem("answers", error.to_string()).with_fix("vector models")
        }
    });
    found.extend(daemon_models(site));
    found
}

/// The model of the running daemon, whose keys may differ from those of this terminal.
fn daemon_models(site: &CheckSite) -> Option<DoctorFinding> {
    let (_, keys) = daemon_keys(&site.home)?;
    let lacking = missing_keys(&site.home, &keys);
    let message = format!("process {} answers with {}", keys.process, keys.answers);
    if lacking.is_empty() {
        return Some(DoctorFinding::ok("in the daemon", message));
    }
    let names: Vec<&str> = lacking.iter().map(|(_, variable)| variable.as_str()).collect();
    let warning = format!("{message}; it lacks {}, which this terminal has", names.join(", "));
    Some(DoctorFinding::note("in the daemon", warning).with_fix(
        "vector open, which hands the key \
                                                                 over",
    ))
}
