//! Granted access, as stored in the ledger's folder: paired plugins, clients with their own tokens,
//! and pages that the user has opened; and the tokens of a run of the daemon.
//!
//! Of lasting grants only hashes are stored. The tokens of a run are in files that only their owner
//! can read, and are deleted with the run. The server decides which token may do what.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::api::{Access, Failure, FailureKind, Grant, MadeToken, RevokeRequest, VERSION};
use vector_files::write_private;

use crate::daemon::random_text;
use crate::event_hub::TokenHash;
use crate::failure::failure;

/// The file with the token of the user's terminals on this machine, valid while the daemon runs.
pub const TOKEN: &str = "token";
/// The file with the token of the agents that the user starts on this machine, valid as long.
pub const AGENT_TOKEN: &str = "agent-token";
/// The file of plugins. Each line is a hash and the time of pairing.
const PLUGINS: &str = "paired";
/// The file of clients. Each line is a hash, the time of creation, and a name.
const CLIENTS: &str = "clients";
/// The file of pages in browsers, in the format of the plugins.
const PAGES: &str = "pages";
/// The prefixes of the generated names of plugins and pages.
const PLUGIN: &str = "plugin-";
const PAGE: &str = "page-";
/// The number of digits of the hash in the name of a plugin or a page.
const DIGITS: usize = 8;
/// The maximum number of pages; the oldest is removed.
const MAX_PAGES: usize = 16;
/// The number of random bytes in a token.
const CHANCE: usize = 24;
/// The maximum length of a client's name.
const MAX_NAME: usize = 40;

/// A grant of access.
#[derive(Debug, Clone)]
struct GrantRecord {
    name: String,
    made: Option<u64>,
    secret: TokenHash,
}

impl GrantRecord {
    /// Creates a grant with a generated name.
    fn without_name(kind: &str, secret: TokenHash, made: Option<u64>) -> Self {
        let name = format!("{kind}{}", &secret.hash()[..DIGITS]);
        Self { name, made, secret }
    }

    /// Parses a line of a file. None if it is damaged.
    fn parse_line(line: &str, kind: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let secret = TokenHash::from_hex(words.next()?)?;
        let made = words.next().and_then(|made| made.parse().ok());
        Some(match words.next() {
            Some(name) => Self { name: name.to_owned(), made, secret },
            None => Self::without_name(kind, secret, made),
        })
    }

    fn format_line(&self, with_name: bool) -> String {
        let (hash, made) = (self.secret.hash(), self.made.unwrap_or_default());
        match (with_name, self.made) {
            (true, _) => format!("{hash} {made} {}\n", self.name),
            (false, Some(made)) => format!("{hash} {made}\n"),
            (false, None) => format!("{hash}\n"),
        }
    }

    fn to_grant(&self) -> Grant {
        Grant { name: self.name.clone(), made: self.made.filter(|made| *made > 0) }
    }
}

#[derive(Debug)]
pub struct GrantStore {
    home: PathBuf,
    plugins: Vec<GrantRecord>,
    clients: Vec<GrantRecord>,
    pages: Vec<GrantRecord>,
}

impl GrantStore {
    /// Loads the grants that are stored in a folder.
    ///
    /// # Errors
    /// A file exists but cannot be read.
    pub fn load(home: &Path) -> io::Result<Self> {
        let kept = |file: &str, kind: &str| read_grants(&home.join(file), kind);
        Ok(Self {
            home: home.to_owned(),
            plugins: kept(PLUGINS, PLUGIN)?,
            clients: kept(CLIENTS, PLUGIN)?,
            pages: kept(PAGES, PAGE)?,
        })
    }

    /// Lists all grants, without their hashes.
    pub fn to_access(&self) -> Access {
        Access {
            plugins: self.plugins.iter().map(GrantRecord::to_grant).collect(),
            clients: self.clients.iter().map(GrantRecord::to_grant).collect(),
            pages: self.pages.iter().map(GrantRecord::to_grant).collect(),
        }
    }

    /// Returns the hashes of the clients' tokens.
    pub(crate) fn client_secrets(&self) -> impl Iterator<Item = TokenHash> {
        self.clients.iter().map(|client| client.secret.clone())
    }

    /// Returns the hashes of the pages' tokens.
    pub(crate) fn page_secrets(&self) -> impl Iterator<Item = TokenHash> {
        self.pages.iter().map(|page| page.secret.clone())
    }

    /// Whether the credential is that of a paired plugin.
    pub(crate) fn is_paired(&self, credential: &TokenHash) -> bool {
        // Compare all, so that the time reveals nothing.
        self.plugins.iter().fold(false, |known, it| known | it.secret.equals(credential))
    }

    /// Grants access to a plugin. Returns its credential.
    ///
    /// # Errors
    /// The grant cannot be stored, and access is not granted.
    pub(crate) fn add_plugin(&mut self, at: u64) -> io::Result<String> {
        let credential = random_text(CHANCE)?;
        let mut plugins = self.plugins.clone();
        plugins.push(GrantRecord::without_name(PLUGIN, TokenHash::of_token(&credential), Some(at)));
        self.store_plugins(plugins)?;
        Ok(credential)
    }

    /// Grants access to a page. Returns its name and its token.
    ///
    /// # Errors
    /// The grant cannot be stored, and access is not granted.
    pub(crate) fn add_page(&mut self, at: u64) -> io::Result<(String, String)> {
        let token = random_text(CHANCE)?;
        let known = self.pages.len().saturating_sub(MAX_PAGES - 1);
        let mut pages = self.pages[known..].to_vec();
        let page = GrantRecord::without_name(PAGE, TokenHash::of_token(&token), Some(at));
        let name = page.name.clone();
        pages.push(page);
        self.store_pages(pages)?;
        Ok((name, token))
    }

    /// Creates a token for a client.
    ///
    /// # Errors
    /// The name is invalid or taken, or the token cannot be stored.
    pub fn add_client(&mut self, name: &str, at: u64) -> Result<MadeToken, Failure> {
        check_token_name(name)?;
        if self.clients.iter().any(|client| client.name == name) {
            return Err(failure(
                FailureKind::Settled,
                format!("A token for {name} already exists, and only its hash is stored."),
                format!("Revoke it first with `vector sessions revoke {name}`."),
            ));
        }
        let token = random_text(CHANCE).map_err(|error| write_failed(&error))?;
        let mut clients = self.clients.clone();
        let name = name.to_owned();
        clients.push(GrantRecord {
            name: name.clone(),
            made: Some(at),
            secret: TokenHash::of_token(&token),
        });
        self.store_clients(clients).map_err(|error| write_failed(&error))?;
        Ok(MadeToken { name, token })
    }

    /// Revokes access. Returns the names of the revoked grants.
    ///
    /// # Errors
    /// No grant has that name, or the change cannot be stored.
    pub fn revoke(&mut self, what: &RevokeRequest) -> Result<Vec<String>, Failure> {
        let part = |known: &[GrantRecord], is_kind: bool| -> (Vec<GrantRecord>, Vec<GrantRecord>) {
            known.iter().cloned().partition(|known| match what {
                RevokeRequest::Named { name } => known.name == *name,
                RevokeRequest::Plugins {} | RevokeRequest::Pages {} => is_kind,
                RevokeRequest::Run {} => false,
                RevokeRequest::All {} => true,
            })
        };
        let (mut gone, plugins) = part(&self.plugins, matches!(what, RevokeRequest::Plugins {}));
        let (clients_gone, clients) = part(&self.clients, false);
        let (pages_gone, pages) = part(&self.pages, matches!(what, RevokeRequest::Pages {}));
        if !gone.is_empty() {
            self.store_plugins(plugins).map_err(|error| write_failed(&error))?;
        }
        if !clients_gone.is_empty() {
            self.store_clients(clients).map_err(|error| write_failed(&error))?;
        }
        if !pages_gone.is_empty() {
            self.store_pages(pages).map_err(|error| write_failed(&error))?;
        }
        gone.extend(clients_gone.into_iter().chain(pages_gone));
        match what {
            RevokeRequest::Named { name } if gone.is_empty() => Err(failure(
                FailureKind::NotFound,
                format!("{name} has no access."),
                "`vector sessions` lists who has access.",
            )),
            _ => Ok(gone.into_iter().map(|it| it.name).collect()),
        }
    }

    fn store_plugins(&mut self, plugins: Vec<GrantRecord>) -> io::Result<()> {
        write_grants(&self.home.join(PLUGINS), &plugins, false)?;
        self.plugins = plugins;
        Ok(())
    }

    fn store_pages(&mut self, pages: Vec<GrantRecord>) -> io::Result<()> {
        write_grants(&self.home.join(PAGES), &pages, false)?;
        self.pages = pages;
        Ok(())
    }

    fn store_clients(&mut self, clients: Vec<GrantRecord>) -> io::Result<()> {
        write_grants(&self.home.join(CLIENTS), &clients, true)?;
        self.clients = clients;
        Ok(())
    }
}

fn read_grants(file: &Path, kind: &str) -> io::Result<Vec<GrantRecord>> {
    match fs::read_to_string(file) {
        Ok(text) => {
            Ok(text.lines().filter_map(|line| GrantRecord::parse_line(line, kind)).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn write_grants(file: &Path, known: &[GrantRecord], with_names: bool) -> io::Result<()> {
    let text: String = known.iter().map(|it| it.format_line(with_names)).collect();
    write_private(file, text.as_bytes())
}

fn check_token_name(name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_fine = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain);
    // A leading dash would make it an option of the command line.
    let is_taken = [PLUGIN, PAGE, "-"].iter().any(|start| name.starts_with(start));
    if is_fine && !is_taken {
        return Ok(());
    }
    Err(failure(
        FailureKind::BadRequest,
        format!("`{name}` is not a name for a token."),
        format!(
            "Use 1 to {MAX_NAME} letters, digits, dots, dashes and underscores, and do not begin \
             with a dash; names that begin with `{PLUGIN}` and `{PAGE}` are reserved for plugins \
             and pages."
        ),
    ))
}

fn write_failed(error: &io::Error) -> Failure {
    let message = format!("The access list cannot be saved: {error}.");
    failure(
        FailureKind::Internal,
        message,
        "Make sure that Vector can write to its folder, then try again.",
    )
}

/// A run of the daemon: its port, its idle limit and its tokens.
#[derive(Debug)]
pub struct DaemonRun {
    home: PathBuf,
    port: u16,
    idle: Option<u64>,
    agent: Option<TokenHash>,
}

impl DaemonRun {
    /// Creates a run that listens on a port, and ends after `idle` minutes without a request.
    pub fn new(home: &Path, port: u16, idle: Option<u64>) -> Self {
        Self { home: home.to_owned(), port, idle, agent: None }
    }

    /// Creates new tokens, and writes them to files that only the machine's user can read: the port,
    /// the token, and the daemon's version. Returns the hash of the user's token.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn start(&mut self) -> io::Result<TokenHash> {
        let (person, agent) = (random_text(CHANCE)?, random_text(CHANCE)?);
        let keep = |file: &str, token: &str| {
            let text = format!("{} {token} {VERSION}\n", self.port);
            write_private(&self.home.join(file), text.as_bytes())
        };
        keep(AGENT_TOKEN, &agent)?;
        keep(TOKEN, &person)?;
        self.agent = Some(TokenHash::of_token(&agent));
        Ok(TokenHash::of_token(&person))
    }

    /// Deletes the files of the tokens.
    pub fn delete_tokens(home: &Path) {
        for token in [TOKEN, AGENT_TOKEN] {
            let _ = fs::remove_file(home.join(token));
        }
    }

    pub(crate) fn idle_minutes(&self) -> Option<u64> {
        self.idle
    }

    /// Returns the hash of the agents' token.
    pub(crate) fn agent_secret(&self) -> Option<TokenHash> {
        self.agent.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revoke(grants: &mut GrantStore, what: RevokeRequest) -> Vec<String> {
        grants.revoke(&what).unwrap()
    }

    #[test]
    fn grants_survive_reload_and_revoked_ones_do_not() {
        let home = tempfile::tempdir().unwrap();
        let mut grants = GrantStore::load(home.path()).unwrap();
        let credential = TokenHash::of_token(&grants.add_plugin(7).unwrap());
        let other = TokenHash::of_token(&grants.add_plugin(8).unwrap());
        let token = grants.add_client("ci", 9).unwrap().token;
        let mut again = GrantStore::load(home.path()).unwrap();
        assert_eq!(again.to_access(), grants.to_access());
        assert!(again.is_paired(&credential) && again.is_paired(&other));
        assert!(again.client_secrets().all(|it| it.matches(&token)));
        let name = again.to_access().plugins[0].name.clone();
        assert_eq!(revoke(&mut again, RevokeRequest::Named { name: name.clone() }), [name]);
        assert!(!again.is_paired(&credential) && again.is_paired(&other));
        assert_eq!(revoke(&mut again, RevokeRequest::Run {}), [""; 0]);
        assert_eq!(revoke(&mut again, RevokeRequest::Plugins {}).len(), 1);
        assert_eq!(revoke(&mut again, RevokeRequest::All {}), ["ci"]);
        let nobody = GrantStore::load(home.path()).unwrap().to_access();
        assert_eq!(nobody, Access { plugins: vec![], clients: vec![], pages: vec![] });
    }

    #[test]
    fn oldest_page_is_dropped_at_the_limit() {
        let home = tempfile::tempdir().unwrap();
        let mut grants = GrantStore::load(home.path()).unwrap();
        let tokens: Vec<String> =
            (0..=MAX_PAGES as u64).map(|at| grants.add_page(at).unwrap().1).collect();
        let mut again = GrantStore::load(home.path()).unwrap();
        let is_in =
            |grants: &GrantStore, token: &String| grants.page_secrets().any(|it| it.matches(token));
        assert!(!is_in(&again, &tokens[0]) && tokens[1..].iter().all(|it| is_in(&again, it)));
        let name = again.to_access().pages[0].name.clone();
        assert_eq!(revoke(&mut again, RevokeRequest::Named { name: name.clone() }), [name]);
        assert!(!is_in(&again, &tokens[1]) && is_in(&again, &tokens[2]));
        assert_eq!(revoke(&mut again, RevokeRequest::Plugins {}), [""; 0]);
        assert_eq!(revoke(&mut again, RevokeRequest::Pages {}).len(), MAX_PAGES - 1);
    }

    #[test]
    fn grant_files_contain_no_tokens() {
        let home = tempfile::tempdir().unwrap();
        let mut grants = GrantStore::load(home.path()).unwrap();
        let told = [
            grants.add_plugin(7).unwrap(),
            grants.add_page(8).unwrap().1,
            grants.add_client("ci", 9).unwrap().token,
        ];
        for file in [PLUGINS, CLIENTS, PAGES] {
            let text = fs::read_to_string(home.path().join(file)).unwrap();
            assert!(told.iter().all(|it| it.len() == 2 * CHANCE && !text.contains(it)), "{text}");
        }
    }

    #[test]
    fn pairing_without_a_time_still_counts() {
        let home = tempfile::tempdir().unwrap();
        let text = format!("{}\nno hash at all\n", TokenHash::of_token("old").hash());
        fs::write(home.path().join(PLUGINS), text).unwrap();
        let grants = GrantStore::load(home.path()).unwrap();
        assert!(
            grants.is_paired(&TokenHash::of_token("old"))
                && !grants.is_paired(&TokenHash::of_token("new"))
        );
        assert_eq!(grants.to_access().plugins[0].made, None);
    }

    #[test]
    fn client_names_must_be_valid_and_unique() {
        let home = tempfile::tempdir().unwrap();
        let mut grants = GrantStore::load(home.path()).unwrap();
        for name in ["", "a b", "a\n", "plugin-1", "page-1", "--all", "\u{e9}", &"x".repeat(41)] {
            assert_eq!(
                grants.add_client(name, 1).unwrap_err().kind,
                FailureKind::BadRequest,
                "{name}"
            );
        }
        grants.add_client("claude.desktop_1", 1).unwrap();
        let again = grants.add_client("claude.desktop_1", 1).unwrap_err();
        assert_eq!(again.kind, FailureKind::Settled);
        let unknown = grants.revoke(&RevokeRequest::Named { name: "ci".to_owned() }).unwrap_err();
        assert_eq!(unknown.kind, FailureKind::NotFound);
    }
}
