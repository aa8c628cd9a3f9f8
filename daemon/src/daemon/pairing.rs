//! Pairing and access: the code that pairs a plugin, the links to the page, and the granting and
//! revoking of access.
//!
//! A code has six digits, so it must not be tried often. It is valid for ten minutes after it was
//! shown to the user, and void after five wrong tries. Codes after that have twelve digits, which
//! cannot be guessed, and wrong tries do not void them: a program that keeps trying codes cannot
//! prevent pairing. After a successful pairing, codes have six digits again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use scene_schemas::api::{
    About, Access, EnterPage, EnteredPage, Failure, FailureKind, MadeToken, MakeToken, PROTOCOL,
    PageLink, PairRequest, PairResponse, PairingCode, RevokeRequest, RevokeResult, SessionId,
    VERSION,
};

use super::access::DaemonRun;
use super::{DaemonActor, DaemonHandle, random_text};
use crate::event_hub::TokenHash;
use crate::failure::failure;
use crate::session::Answer;

/// The time for which a code or a link is valid.
const HOLDS: Duration = Duration::from_mins(10);
/// The number of wrong tries that voids a code.
const MAX_TRIES: usize = 5;
/// The number of digits of a code, and of one after wrong tries.
const DIGITS: usize = 6;
const MANY_DIGITS: usize = 12;

/// The maximum number of valid links; the oldest is removed.
const MAX_LINKS: usize = 8;
/// The number of random bytes in a link.
const LINK: usize = 24;

/// A source of the current time.
pub type ClockFn = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The latest code, its wrong tries, and the valid links.
pub(super) struct PairingCodes {
    code: TokenHash,
    expires_at: Instant,
    tries: usize,
    /// Whether a code was voided by wrong tries since the last successful pairing.
    is_guessed_at: bool,
    /// The unused links, and when each expires.
    links: Vec<(TokenHash, Instant)>,
    clock: ClockFn,
}

fn random_digits(count: usize) -> std::io::Result<String> {
    let mut chance = [0; 8];
    getrandom::fill(&mut chance).map_err(|error| std::io::Error::other(error.to_string()))?;
    let most = 10_u64.pow(count as u32);
    Ok(format!("{:0count$}", u64::from_le_bytes(chance) % most))
}

impl PairingCodes {
    /// Creates a code that is not shown to the user and has already expired.
    pub(super) fn new() -> std::io::Result<Self> {
        let clock: ClockFn = Arc::new(Instant::now);
        let (code, ends) = (TokenHash::of_token(&random_digits(DIGITS)?), clock());
        Ok(Self {
            code,
            expires_at: ends,
            tries: 0,
            is_guessed_at: false,
            links: Vec::new(),
            clock,
        })
    }

    /// Makes a code, which is shown to the user now.
    fn make_code(&mut self) -> std::io::Result<String> {
        let code = random_digits(if self.is_guessed_at { MANY_DIGITS } else { DIGITS })?;
        (self.code, self.tries, self.expires_at) =
            (TokenHash::of_token(&code), 0, (self.clock)() + HOLDS);
        Ok(code)
    }

    /// Makes a link to the page.
    fn make_link(&mut self) -> std::io::Result<String> {
        let (code, ends) = (random_text(LINK)?, (self.clock)() + HOLDS);
        let old = self.links.len().saturating_sub(MAX_LINKS - 1);
        self.links.drain(..old);
        self.links.push((TokenHash::of_token(&code), ends));
        Ok(code)
    }

    /// Uses up a link to the page. Returns false if it is not valid.
    fn follow_link(&mut self, code: &str) -> bool {
        let now = (self.clock)();
        self.links.retain(|(_, ends)| now < *ends);
        let known = self.links.len();
        self.links.retain(|(link, _)| !link.matches(code));
        self.links.len() < known
    }

    /// Checks a code that the user typed.
    ///
    /// # Errors
    /// The code is not valid. The flag says whether it was voided and has to be replaced.
    fn try_code(&mut self, typed: &str) -> Result<(), (Failure, bool)> {
        if (self.clock)() >= self.expires_at {
            let failure = failure(
                FailureKind::Unpaired,
                "The code has expired.",
                "Type the new code that `vector pair` shows.",
            );
            return Err((failure, false));
        }
        if self.code.matches(typed) {
            self.is_guessed_at = false;
            return Ok(());
        }
        if self.is_guessed_at {
            return Err((too_many_tries(), false));
        }
        self.tries += 1;
        if self.tries < MAX_TRIES {
            let failure = failure(
                FailureKind::Unpaired,
                "The code is wrong.",
                "Type the six digits that Vector printed last; `vector pair` shows new ones.",
            );
            return Err((failure, false));
        }
        self.is_guessed_at = true;
        Err((too_many_tries(), true))
    }
}

fn too_many_tries() -> Failure {
    failure(
        FailureKind::TooMany,
        format!(
            "{MAX_TRIES} wrong codes were tried, so codes of {DIGITS} digits are no longer valid."
        ),
        format!(
            "`vector pair` shows a code of {MANY_DIGITS} digits, which wrong attempts do not invalidate."
        ),
    )
}

/// Formats a code in groups of three digits.
fn format_code(code: &str) -> String {
    let groups: Vec<&str> =
        (0..code.len()).step_by(3).filter_map(|at| code.get(at..at + 3)).collect();
    groups.join(" ")
}

fn internal_failure(error: &std::io::Error) -> Failure {
    let message = format!("The code cannot be created or stored: {error}.");
    failure(FailureKind::Internal, message, "Try again.")
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl DaemonActor {
    #[must_use]
    pub fn with_clock(mut self, clock: ClockFn) -> Self {
        // The remaining time of the current code stays the same.
        let left = self.pairing.expires_at.saturating_duration_since((self.pairing.clock)());
        self.pairing.expires_at = clock() + left;
        self.pairing.clock = clock;
        self
    }

    /// Sets the run, whose tokens can be renewed.
    #[must_use]
    pub fn with_run(mut self, run: DaemonRun) -> Self {
        self.run = Some(run);
        self.publish_tokens();
        self
    }

    /// Publishes the tokens that are valid now: those of agents, from the run and the clients, and
    /// those of pages.
    pub(super) fn publish_tokens(&self) {
        let run = self.run.as_ref().and_then(DaemonRun::agent_secret);
        self.event_hub.set_run_token(run.clone());
        self.event_hub
            .set_agent_tokens(run.into_iter().chain(self.grants.client_secrets()).collect());
        self.event_hub.set_page_tokens(self.grants.page_secrets().collect());
        self.event_hub.mark_settings_changed();
    }

    /// Makes a code, and shows it on the daemon's terminal.
    ///
    /// # Errors
    /// The system provides no random numbers.
    pub fn print_code(&mut self) -> std::io::Result<()> {
        let code = self.pairing.make_code()?;
        self.announce_code(&code, "within ten minutes");
        Ok(())
    }

    fn announce_code(&mut self, code: &str, when: &str) {
        let code = format_code(code);
        (self.notify)(&format!("To pair a plugin, type {code} in its widget {when}."));
    }

    /// Checks a code as it was typed. Only its digits count.
    fn check_code(&mut self, typed: &str) -> Result<(), Failure> {
        let typed: String = typed.chars().filter(char::is_ascii_digit).collect();
        let Err((failure, is_over)) = self.pairing.try_code(&typed) else {
            return Ok(());
        };
        if is_over {
            self.change_code().map_err(|error| internal_failure(&error))?;
        }
        Err(failure)
    }

    /// Makes a link to the page. Returns its code, which is part of the page's address.
    ///
    /// # Errors
    /// The system provides no random numbers.
    pub fn page_link(&mut self) -> std::io::Result<String> {
        self.pairing.make_link()
    }

    /// Grants access to a page that shows the code of a link, or a pairing code.
    fn enter_page(&mut self, enter: &EnterPage) -> Result<EnteredPage, Failure> {
        let is_link = enter.code.len() == 2 * LINK;
        if is_link && !self.pairing.follow_link(&enter.code) {
            return Err(failure(
                FailureKind::Unpaired,
                "This link was used already, or has expired.",
                "`vector open` opens the page with a new one.",
            ));
        }
        if !is_link {
            self.check_code(&enter.code)?;
        }
        let (name, token) =
            self.grants.add_page(unix_millis()).map_err(|error| internal_failure(&error))?;
        self.publish_tokens();
        (self.notify)("The page was opened in a browser.");
        if !is_link {
            self.print_code().map_err(|error| internal_failure(&error))?;
        }
        Ok(EnteredPage { name, token })
    }

    fn pair_plugin(&mut self, pair: &PairRequest) -> Result<PairResponse, Failure> {
        self.check_code(&pair.code)?;
        let credential =
            self.grants.add_plugin(unix_millis()).map_err(|error| internal_failure(&error))?;
        self.event_hub.mark_settings_changed();
        (self.notify)("A plugin was paired.");
        // A code pairs only once.
        self.print_code().map_err(|error| internal_failure(&error))?;
        Ok(PairResponse { credential })
    }

    /// Makes a longer code that expires when the guessed one would have.
    fn change_code(&mut self) -> std::io::Result<()> {
        let ends = self.pairing.expires_at;
        let code = self.pairing.make_code()?;
        self.pairing.expires_at = ends;
        (self.notify)("Wrong codes were tried, so the code is now longer.");
        self.announce_code(&code, "while the previous one would have been valid");
        Ok(())
    }

    fn describe_daemon(&self) -> About {
        About {
            daemon: VERSION.to_owned(),
            protocol: PROTOCOL,
            process: std::process::id(),
            idle: self.run.as_ref().and_then(DaemonRun::idle_minutes),
        }
    }

    fn make_token(&mut self, name: &str) -> Result<MadeToken, Failure> {
        let made = self.grants.add_client(name, unix_millis())?;
        self.publish_tokens();
        Ok(made)
    }

    /// Revokes access, first in the files, so that a revocation that was reported survives a crash.
    /// Returns the result, and the sessions that have to end before the revocation is complete.
    fn revoke_access(
        &mut self,
        what: &RevokeRequest,
    ) -> (Result<RevokeResult, Failure>, HashSet<SessionId>) {
        let names = self.grants.revoke(what);
        let is_run = matches!(what, RevokeRequest::Run {} | RevokeRequest::All {});
        let changed = if is_run { self.renew_tokens() } else { Ok(()) };
        // If one part failed, the other is in effect.
        self.publish_tokens();
        let out = self.sessions.with_credential(|credential| !self.grants.is_paired(credential));
        let mut sessions: Vec<SessionId> =
            out.iter().filter(|session| self.sessions.contains(session)).cloned().collect();
        sessions.sort();
        for session in &sessions {
            self.close_session(session);
        }
        (changed.and(names).map(|names| RevokeResult { names, sessions }), out)
    }

    fn renew_tokens(&mut self) -> Result<(), Failure> {
        let Some(run) = &mut self.run else {
            return Err(failure(
                FailureKind::Settled,
                "There are no daemon tokens to renew.",
                "Start it with `vector serve`.",
            ));
        };
        let person = run.start().map_err(|error| internal_failure(&error))?;
        self.event_hub.set_human_token(person);
        Ok(())
    }
}

impl DaemonHandle {
    /// Pairs a plugin that sends the code.
    pub fn pair(&self, pair: PairRequest) -> Answer<PairResponse> {
        self.run(move |daemon| daemon.pair_plugin(&pair))
    }

    /// Makes a code that pairs a plugin.
    pub fn pairing_code(&self) -> Answer<PairingCode> {
        self.run(|daemon| {
            let code = daemon.pairing.make_code().map_err(|error| internal_failure(&error))?;
            Ok(PairingCode { code, seconds: HOLDS.as_secs() })
        })
    }

    /// Makes a link that opens the page once.
    pub fn page_link(&self) -> Answer<PageLink> {
        self.run(|daemon| {
            let code = daemon.page_link().map_err(|error| internal_failure(&error))?;
            Ok(PageLink { code, seconds: HOLDS.as_secs() })
        })
    }

    /// Grants access to a page for the code of a link, or for a pairing code. Returns its token.
    pub fn enter_page(&self, enter: EnterPage) -> Answer<EnteredPage> {
        self.run(move |daemon| daemon.enter_page(&enter))
    }

    pub fn about(&self) -> Answer<About> {
        self.run(|daemon| Ok(daemon.describe_daemon()))
    }

    /// Lists the granted access.
    pub fn access(&self) -> Answer<Access> {
        self.run(|daemon| Ok(daemon.grants.to_access()))
    }

    pub fn make_token(&self, make: MakeToken) -> Answer<MadeToken> {
        self.run(move |daemon| daemon.make_token(&make.name))
    }

    /// Revokes access. Returns when the sessions that used it have ended.
    ///
    /// # Errors
    /// No grant has that name, or the change cannot be stored.
    pub async fn revoke_access(&self, what: RevokeRequest) -> Result<RevokeResult, Failure> {
        let (revoked, ending) = self.run(move |daemon| Ok(daemon.revoke_access(&what))).await?;
        self.state.sessions.wait_until_ended(&ending).await;
        revoked
    }
}
