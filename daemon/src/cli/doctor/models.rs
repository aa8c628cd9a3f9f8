//! The settings, and where the keys of providers are; never a key.

use vector_providers::choose::{self, Choice};
use vector_providers::config;
use vector_providers::keys::{Keychain, Keys, System};

use super::Site;
use super::finding::Finding;
use crate::cli::handover::{daemon_keys, lacking};

pub(super) fn check(site: &Site) -> Vec<Finding> {
    let env = |name: &str| std::env::var(name).ok();
    let (catalogue, config) = match config::load(&site.home, None, &env) {
        Ok(loaded) => loaded,
        Err(error) => {
            let finding = Finding::problem("settings", error);
            return vec![finding.mended("change it there; `vector models` shows what holds then")];
        }
    };
    let file = site.home.join(config::FILE);
    let settings = if file.exists() { "read from" } else { "the usual ones; yours would be in" };
    let mut found = vec![Finding::ok("settings", format!("{settings} {}", file.display()))];
    let keys = Keys::new(&env, &System);
    let mut without = Vec::new();
    for service in catalogue.services.iter().filter(|service| !service.keys.is_empty()) {
        match keys.of(service) {
            Ok((_, at)) => found.push(Finding::ok(&service.name, format!("key in {at}"))),
            Err(_) => without.push(service.name.as_str()),
        }
    }
    if !without.is_empty() {
        let says = format!("no key of {}", without.join(", "));
        let mend = match without.first().and_then(|name| catalogue.service(name)) {
            Some(service) if !System.is_there() => format!(
                "set {} in the environment, or the variable of the provider that you use",
                service.keys.first().map_or("its variable", String::as_str)
            ),
            _ => "vector key set PROVIDER, for the one that you use".to_owned(),
        };
        found.push(Finding::note("keys", says).mended(mend));
    }
    found.push(match choose::choose(None, None, &config, &catalogue, &keys) {
        Ok(Choice::Offline(why)) => {
            Finding::note("answers", format!("the offline planner, {}", why.text()))
        }
        Ok(Choice::Model(chosen)) => {
            let (provider, model) = (&chosen.service.name, &chosen.model.id);
            Finding::ok("answers", format!("{provider}/{model}, {}", chosen.reason.text()))
        }
        Err(error) => Finding::problem("answers", error.to_string()).mended("vector models"),
    });
    found.extend(daemon(site));
    found
}

/// What the daemon that runs has: it need not be what this terminal has.
fn daemon(site: &Site) -> Option<Finding> {
    let (_, keys) = daemon_keys(&site.home)?;
    let lacking = lacking(&site.home, &keys);
    let says = format!("process {} answers with {}", keys.process, keys.answers);
    if lacking.is_empty() {
        return Some(Finding::ok("in the daemon", says));
    }
    let names: Vec<&str> = lacking.iter().map(|(_, variable)| variable.as_str()).collect();
    let says = format!("{says}; it lacks {}, which this terminal has", names.join(", "));
    Some(Finding::note("in the daemon", says).mended("vector open, which hands it over"))
}
