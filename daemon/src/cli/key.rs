//! `vector key`: manages the keys of providers and of Roblox's cloud in the system's keychain. A key is
//! never an argument, which a shell would remember, and is never displayed.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use console::Term;
use scene_schemas::refusal::did_you_mean;
use vector_cloud::KeyPurpose;
use vector_providers::catalogue::Catalogue;
use vector_providers::config;
use vector_providers::keys::{KeyStore, Keychain, SecretKey, SystemKeychain};

use super::ExitStatus;
use super::terminal::{print_line, print_stdout};

/// The maximum input length, in bytes. No key is longer.
const MOST: u64 = 16 << 10;

/// Manage API keys of model providers and of Roblox's cloud in the system's keychain.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector key set anthropic              # asks for the key without showing it
  pass show openai | vector key set openai
  vector key set roblox-assets          # to insert assets into files
  vector key list
Environment variables (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...) take precedence over the keychain.")]
pub(super) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Store a key, from a prompt or from stdin
    Set {
        /// The provider of the key, or its purpose for a key of Roblox's cloud
        provider: String,
    },
    /// List which keys there are, and where; never the keys themselves
    List,
    /// Remove a stored key
    Remove {
        /// The provider of the key, or its purpose for a key of Roblox's cloud
        provider: String,
    },
}

pub(super) fn run(args: &KeyArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let env = |name: &str| std::env::var(name).ok();
    let (catalogue, _) = config::load_config(home, None, &env).map_err(anyhow::Error::msg)?;
    match &args.command {
        KeyCommand::Set { provider } => {
            let known = find_known(&catalogue, provider)?;
            // Checked first, so that the user does not enter a key that cannot be stored.
            if !SystemKeychain.is_available() {
                return Err(no_keychain(&known));
            }
            let key = prompt_key(provider)?;
            if !key.is_usable() {
                bail!(
                    "that is not a key: it is empty, or contains spaces or other characters that \
                     are not allowed in a key"
                );
            }
            SystemKeychain.set(provider, &key).map_err(|error| keychain_error(&known, &error))?;
            print_line(&format!("Stored the key of {provider} in the keychain."));
            let set =
                known.variables.iter().find(|name| env(name).is_some_and(|it| !it.is_empty()));
            if let Some(name) = set {
                print_line(&format!("{name} is also set, and takes precedence."));
            }
        }
        KeyCommand::List => {
            print_stdout(&list_keys(&catalogue, &KeyStore::new(&env, &SystemKeychain)))?;
        }
        KeyCommand::Remove { provider } => {
            let known = find_known(&catalogue, provider)?;
            if !SystemKeychain.is_available() {
                return Err(no_keychain(&known));
            }
            let was_removed =
                SystemKeychain.remove(provider).map_err(|error| keychain_error(&known, &error))?;
            print_line(&if was_removed {
                format!("Removed the key of {provider}.")
            } else {
                format!("There was no key of {provider} in the keychain.")
            });
        }
    }
    Ok(ExitStatus::Done)
}

/// A key that can be stored: of a model provider, or of Roblox's cloud.
struct KnownKey<'a> {
    /// The environment variables that hold it, most preferred first.
    variables: Vec<&'a str>,
}

/// Finds a key by its name.
fn find_known<'a>(catalogue: &'a Catalogue, name: &str) -> anyhow::Result<KnownKey<'a>> {
    if let Some(purpose) = KeyPurpose::ALL.into_iter().find(|it| it.name() == name) {
        return Ok(KnownKey { variables: vec![purpose.variable()] });
    }
    let with_key = || catalogue.services.iter().filter(|service| !service.key_variables.is_empty());
    let Some(service) = catalogue.find_service(name) else {
        let providers = with_key().map(|service| service.name.as_str());
        let all: Vec<&str> = providers.chain(KeyPurpose::ALL.map(KeyPurpose::name)).collect();
        let near = did_you_mean(name, all.iter().copied());
        bail!("there is no provider `{name}`.{near} These take a key: {}.", all.join(", "));
    };
    if service.key_variables.is_empty() {
        let variable = config::provider_variable(name, "API_KEY");
        bail!(
            "{name} needs no key. If your server requires one, set {variable} in the environment."
        );
    }
    Ok(KnownKey { variables: service.key_variables.iter().map(String::as_str).collect() })
}

/// The error of a system without a keychain.
fn no_keychain(known: &KnownKey<'_>) -> anyhow::Error {
    let variable = known.variables.first().unwrap_or(&"its variable");
    anyhow::anyhow!(
        "there is no keychain: no Secret Service, such as GNOME's keyring or KDE's wallet, answers on \
         the session bus. Set {variable} in the environment instead"
    )
}

/// The error of a keychain that does not work.
fn keychain_error(known: &KnownKey<'_>, error: &str) -> anyhow::Error {
    let variable = known.variables.first().unwrap_or(&"its variable");
    anyhow::anyhow!(
        "the keychain cannot be used: {error}. Set {variable} in the environment instead"
    )
}

/// Asks for a key without showing it, or reads it from stdin.
pub(super) fn prompt_key(provider: &str) -> anyhow::Result<SecretKey> {
    if std::io::stdin().is_terminal() {
        let term = Term::stderr();
        term.write_str(&format!("Key of {provider} (hidden): "))?;
        return Ok(SecretKey::new(&term.read_secure_line()?));
    }
    let mut text = String::new();
    let stdin = std::io::stdin().lock();
    stdin.take(MOST).read_to_string(&mut text).context("stdin is not text")?;
    Ok(SecretKey::new(&text))
}

fn list_keys(catalogue: &Catalogue, keys: &KeyStore<'_>) -> String {
    let mut text = String::new();
    for service in catalogue.services.iter().filter(|service| !service.key_variables.is_empty()) {
        let state = match keys.find_credential(service) {
            Ok((_, found)) => format!("in {found}"),
            Err(why) => why,
        };
        text.push_str(&format!("{:<14} {state}\n", service.name));
    }
    for purpose in KeyPurpose::ALL {
        let state = match keys.find_key(purpose.name(), purpose.variable()) {
            Ok((_, found)) => format!("in {found}"),
            Err(why) => why,
        };
        text.push_str(&format!("{:<14} {state}\n", purpose.name()));
    }
    text
}
