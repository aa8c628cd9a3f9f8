//! Who is let in: the code that pairs a plugin, the ways to the page, and what was granted and is taken
//! back.
//!
//! A code has six digits, so it must not be tried often: it holds for ten minutes from when a person was
//! told one, and after five wrong tries it is void. The codes after that have twelve digits, which
//! nobody can guess, and which wrong tries cannot void: a program that tries codes again and again keeps
//! nobody from pairing. Once somebody has paired, codes have six digits again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use scene_schemas::api::{
    About, Access, EnterPage, EnteredPage, Failure, FailureKind, MadeToken, MakeToken, PROTOCOL,
    PageLink, PairRequest, PairResponse, PairingCode, RevokeRequest, RevokeResult, SessionId,
};

use super::access::DaemonRun;
use super::{DaemonActor, DaemonHandle, random_text};
use crate::event_hub::TokenHash;
use crate::failure::failure;
use crate::session::Answer;

/// How long a code holds.
const HOLDS: Duration = Duration::from_mins(10);
/// Wrong tries before the code is another one.
const MAX_TRIES: usize = 5;
/// How many digits a code has, and one after that was guessed at.
const DIGITS: usize = 6;
const MANY_DIGITS: usize = 12;

/// How many ways to the page hold at once; the oldest gives way.
const MAX_LINKS: usize = 8;
/// How many bytes of chance a way to the page is made of.
const LINK: usize = 24;

/// Tells what time it is.
pub type ClockFn = Arc<dyn Fn() -> Instant + Send + Sync>;

/// The code that a person has been told last, and who tried it.
pub(super) struct PairingCodes {
    code: TokenHash,
    expires_at: Instant,
    tries: usize,
    /// Whether a code was guessed at since somebody has paired.
    is_guessed_at: bool,
    /// The ways to the page that nobody has gone yet, and until when each holds.
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
    /// One whose code nobody was told.
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

    /// Makes a code, which a person is told now.
    fn make_code(&mut self) -> std::io::Result<String> {
        let code = random_digits(if self.is_guessed_at { MANY_DIGITS } else { DIGITS })?;
        (self.code, self.tries, self.expires_at) =
            (TokenHash::of_token(&code), 0, (self.clock)() + HOLDS);
        Ok(code)
    }

    /// Makes a way to the page.
    fn make_link(&mut self) -> std::io::Result<String> {
        let (code, ends) = (random_text(LINK)?, (self.clock)() + HOLDS);
        let old = self.links.len().saturating_sub(MAX_LINKS - 1);
        self.links.drain(..old);
        self.links.push((TokenHash::of_token(&code), ends));
        Ok(code)
    }

    /// Goes a way to the page, which is gone then; false where there is none.
    fn follow_link(&mut self, code: &str) -> bool {
        let now = (self.clock)();
        self.links.retain(|(_, ends)| now < *ends);
        let known = self.links.len();
        self.links.retain(|(link, _)| !link.matches(code));
        self.links.len() < known
    }

    /// Checks a code that somebody typed.
    ///
    /// # Errors
    /// It is not the one that holds; the flag says whether that is another one from now on.
    fn try_code(&mut self, typed: &str) -> Result<(), (Failure, bool)> {
        if (self.clock)() >= self.expires_at {
            let failure = failure(
                FailureKind::Unpaired,
                "The code has expired.",
                "`vector pair` shows a new one; type that.",
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
                "That is not the code.",
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
        format!("{MAX_TRIES} wrong codes were tried, so codes of {DIGITS} digits are void."),
        format!("`vector pair` shows one of {MANY_DIGITS} digits, which wrong tries cannot void."),
    )
}

/// A code as a person reads it.
fn format_code(code: &str) -> String {
    let groups: Vec<&str> =
        (0..code.len()).step_by(3).filter_map(|at| code.get(at..at + 3)).collect();
    groups.join(" ")
}

fn internal_failure(error: &std::io::Error) -> Failure {
    let message = format!("It cannot be created or stored: {error}.");
    failure(FailureKind::Internal, message, "Try again.")
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl DaemonActor {
    /// Takes the time of pairings from this clock.
    #[must_use]
    pub fn with_clock(mut self, clock: ClockFn) -> Self {
        // A code that was told holds as long by the one as by the other.
        let left = self.pairing.expires_at.saturating_duration_since((self.pairing.clock)());
        self.pairing.expires_at = clock() + left;
        self.pairing.clock = clock;
        self
    }

    /// Is this run, whose tokens it makes anew when a person says so.
    #[must_use]
    pub fn with_run(mut self, run: DaemonRun) -> Self {
        self.run = Some(run);
        self.publish_tokens();
        self
    }

    /// From now on these, and no others, are tokens of agents, the run's and the clients' own, and of pages.
    pub(super) fn publish_tokens(&self) {
        let run = self.run.as_ref().and_then(DaemonRun::agent_secret);
        self.event_hub.set_run_token(run.clone());
        self.event_hub
            .set_agent_tokens(run.into_iter().chain(self.grants.client_secrets()).collect());
        self.event_hub.set_page_tokens(self.grants.page_secrets().collect());
        self.event_hub.mark_settings_changed();
    }

    /// Makes a code, and tells whoever looks at the terminal of the daemon.
    ///
    /// # Errors
    /// The system has no chance to give.
    pub fn print_code(&mut self) -> std::io::Result<()> {
        let code = self.pairing.make_code()?;
        self.announce_code(&code, "within ten minutes");
        Ok(())
    }

    fn announce_code(&mut self, code: &str, when: &str) {
        let code = format_code(code);
        (self.notify)(&format!("To pair a plugin, type {code} in its widget {when}."));
    }

    /// Takes the six digits as they were typed.
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

    /// Makes a way to the page, as its address on this machine shows it.
    ///
    /// # Errors
    /// The system has no chance to give.
    pub fn page_link(&mut self) -> std::io::Result<String> {
        self.pairing.make_link()
    }

    /// Lets a page in that shows the code of its link, or the six digits.
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
        // A code pairs once.
        self.print_code().map_err(|error| internal_failure(&error))?;
        Ok(PairResponse { credential })
    }

    /// Makes another code that holds no longer than the one that was guessed at.
    fn change_code(&mut self) -> std::io::Result<()> {
        let ends = self.pairing.expires_at;
        let code = self.pairing.make_code()?;
        self.pairing.expires_at = ends;
        (self.notify)("Wrong codes were tried, so the code is a longer one now.");
        self.announce_code(&code, "while the one before would have held");
        Ok(())
    }

    fn describe_daemon(&self) -> About {
        About {
            daemon: env!("CARGO_PKG_VERSION").to_owned(),
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

    /// Takes access away, from the files first: after a crash, what was reported as revoked is. Returns the
    /// result, and the sessions that have to end before it counts.
    fn revoke_access(
        &mut self,
        what: &RevokeRequest,
    ) -> (Result<RevokeResult, Failure>, HashSet<SessionId>) {
        let names = self.grants.revoke(what);
        let is_run = matches!(what, RevokeRequest::Run {} | RevokeRequest::All {});
        let changed = if is_run { self.renew_tokens() } else { Ok(()) };
        // Where some of it failed, the rest holds.
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
    /// Pairs a plugin that shows the code.
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

    /// Gives a page its token for the code of a link, or for the six digits.
    pub fn enter_page(&self, enter: EnterPage) -> Answer<EnteredPage> {
        self.run(move |daemon| daemon.enter_page(&enter))
    }

    pub fn about(&self) -> Answer<About> {
        self.run(|daemon| Ok(daemon.describe_daemon()))
    }

    /// Who has access.
    pub fn access(&self) -> Answer<Access> {
        self.run(|daemon| Ok(daemon.grants.to_access()))
    }

    pub fn make_token(&self, make: MakeToken) -> Answer<MadeToken> {
        self.run(move |daemon| daemon.make_token(&make.name))
    }

    /// Takes access away. Returns when nobody who had it is at work any more.
    ///
    /// # Errors
    /// Nobody has access under that name, or it cannot be stored.
    pub async fn revoke_access(&self, what: RevokeRequest) -> Result<RevokeResult, Failure> {
        let (revoked, ending) = self.run(move |daemon| Ok(daemon.revoke_access(&what))).await?;
        self.state.sessions.wait_until_ended(&ending).await;
        revoked
    }
}
