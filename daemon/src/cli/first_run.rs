//! The questions of the first `vector open` in a terminal: which provider's model answers, with
//! which key, and which place to open.
//!
//! Each question can be left empty, and none is asked again once the settings were saved.

use std::path::{Path, PathBuf};

use anyhow::Context;
use scene_schemas::api::{RouteId, Settings};
use vector_providers::catalogue::{Catalogue, ProviderService};
use vector_providers::config;
use vector_providers::keys::{KeyStore, Keychain, SystemKeychain};
use vector_providers::model_choice::{self, ModelChoice, OFFLINE};

use super::daemon_client::{DaemonClient, RouteRequest};
use super::handover::hand_over_key;
use super::key::prompt_key;
use super::terminal::{Terminal, print_status};
use crate::daemon::settings_store;

/// The questions of one first run.
struct FirstRun<'a> {
    terminal: Terminal,
    home: &'a Path,
    daemon: &'a DaemonClient,
    catalogue: Catalogue,
}

/// Whether nothing was chosen with this ledger yet, and a user is there to answer.
pub(super) fn is_first_run(home: &Path) -> bool {
    Terminal::for_command(false).can_ask() && !settings_store::has_settings(home)
}

/// Asks the questions and saves the answers. Returns the place to open, if `asks_for_place` and the
/// user named one. Ends early, without saving, if the user ends the input.
pub(super) fn ask(
    home: &Path,
    daemon: &DaemonClient,
    asks_for_place: bool,
) -> anyhow::Result<Option<PathBuf>> {
    let env = |name: &str| std::env::var(name).ok();
    let (catalogue, config) = config::load_config(home, None, &env).map_err(anyhow::Error::msg)?;
    let keys = KeyStore::new(&env, &SystemKeychain);
    let choice = model_choice::choose_model(None, None, &config, &catalogue, &keys);
    let run = FirstRun { terminal: Terminal::for_command(false), home, daemon, catalogue };
    let has_answered = match choice {
        Ok(ModelChoice::Model(chosen)) => {
            print_status(&format!(
                "{}/{} answers, {}.",
                chosen.service.name,
                chosen.model.id,
                chosen.reason.describe()
            ));
            run.save_model(None)?;
            true
        }
        Ok(ModelChoice::Offline(_)) => run.ask_model()?,
        // The page reports it where it is used.
        Err(_) => false,
    };
    if !has_answered || !asks_for_place {
        return Ok(None);
    }
    run.ask_place()
}

impl FirstRun<'_> {
    /// Asks for the provider, its key and the model. Returns false if the user ended the input.
    fn ask_model(&self) -> anyhow::Result<bool> {
        let services = &self.catalogue.services;
        print_status("Which provider's models do you use?");
        for (at, service) in services.iter().enumerate() {
            let about = match &service.default_model {
                _ if service.key_variables.is_empty() => {
                    "models on your machine, without a key".to_owned()
                }
                Some(model) => model.clone(),
                None => String::new(),
            };
            print_status(&format!("{:>4}  {:<11} {about}", at + 1, service.name));
        }
        loop {
            let question = "Number or name (empty: none yet, the offline planner answers):";
            let Some(answer) = self.terminal.ask_line(question)? else { return Ok(false) };
            let answer = answer.trim().to_lowercase();
            if answer.is_empty() {
                return self.save_model(None).map(|()| true);
            }
            let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let numbered = number.and_then(|at| services.get(at));
            let Some(service) = numbered.or_else(|| self.catalogue.find_service(&answer)) else {
                print_status(&format!("There is no provider {answer:?} in the list."));
                continue;
            };
            if !service.key_variables.is_empty() && !self.ask_key(service)? {
                continue;
            }
            return self.ask_name(service);
        }
    }

    /// Asks for the key of a provider, and keeps it. Returns false if the user gave none.
    fn ask_key(&self, service: &ProviderService) -> anyhow::Result<bool> {
        loop {
            let key = prompt_key(&service.name)?;
            if key.expose().is_empty() {
                return Ok(false);
            }
            if !key.is_usable() {
                print_status("That is not a key: it contains characters that no key has.");
                continue;
            }
            if SystemKeychain.is_available() {
                match SystemKeychain.set(&service.name, &key) {
                    Ok(()) => {
                        print_status("The key is in the keychain; `vector key remove` removes it.");
                        return Ok(true);
                    }
                    Err(error) => print_status(&format!("The keychain cannot be used: {error}.")),
                }
            }
            let variable = service.key_variables.first().context("the provider takes a key")?;
            hand_over_key(self.home, variable, &key)?;
            print_status(&format!(
                "Without a keychain, the daemon keeps the key in memory until it stops. For later, \
                 set {variable} in your shell's profile."
            ));
            return Ok(true);
        }
    }

    /// Asks for a model of a provider, and saves it. Returns false if the user ended the input.
    fn ask_name(&self, service: &ProviderService) -> anyhow::Result<bool> {
        let provider = &service.name;
        let known = self.catalogue.models.iter().filter(|model| model.provider == *provider);
        let known: Vec<&str> = known.map(|model| model.id.as_str()).collect();
        let question = match &service.default_model {
            Some(usual) => format!("Model, such as {} (empty: {usual}):", known.join(", ")),
            None => format!("Model that {provider} serves (empty: ask me later):"),
        };
        loop {
            let Some(answer) = self.terminal.ask_line(&question)? else { return Ok(false) };
            let name = match (answer.trim(), &service.default_model) {
                ("", None) => return self.save_model(None).map(|()| true),
                ("", Some(usual)) => usual.clone(),
                (name, _) => name.to_owned(),
            };
            let named = format!("{provider}/{}", name.trim_start_matches(&format!("{provider}/")));
            match self.save_model(Some(named)) {
                Ok(()) => return Ok(true),
                Err(error) => print_status(&format!("{error:#}")),
            }
        }
    }

    /// Saves the settings, with a model if one was chosen.
    fn save_model(&self, model: Option<String>) -> anyhow::Result<()> {
        let mut settings: Settings = self.daemon.call(&RouteRequest::new(RouteId::Settings))?;
        if let Some(model) = model {
            settings.model = model;
        }
        let change = RouteRequest::new(RouteId::ChangeSettings).with_body(&settings);
        let settings: Settings = self.daemon.call(&change)?;
        match settings.model.as_str() {
            OFFLINE => print_status("The offline planner answers; the page's settings change it."),
            model => print_status(&format!("{model} answers; the page's settings change it.")),
        }
        Ok(())
    }

    /// Asks for a place, unless one is open.
    fn ask_place(&self) -> anyhow::Result<Option<PathBuf>> {
        if !self.daemon.list_sessions()?.is_empty() {
            return Ok(None);
        }
        let question = "Place: a .rbxl or .rbxlx file, or the folder of a Rojo project (empty: the \
                        one that is open in Studio):";
        loop {
            let Some(answer) = self.terminal.ask_line(question)? else { return Ok(None) };
            // A path that was dragged into the terminal is quoted.
            let answer = answer.trim().trim_matches(['"', '\'']);
            if answer.is_empty() {
                print_status(
                    "`vector setup` installs the plugin in Studio, and registers Vector with MCP \
                     clients.",
                );
                return Ok(None);
            }
            let path = PathBuf::from(answer);
            if path.exists() {
                return Ok(Some(path));
            }
            let full = std::path::absolute(&path).unwrap_or(path);
            print_status(&format!("There is no file or folder {}.", full.display()));
        }
    }
}
