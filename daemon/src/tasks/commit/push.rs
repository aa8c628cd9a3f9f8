//! Pushing a branch with plain Git, and the address at which its pull request is opened.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use url::Url;

use super::git::{GitIndex, HEADS};
use super::{CommitError, ErrorContext, refuse_commit};
use crate::merges::GIT_NOT_STARTED;

/// How long a push may take that cannot ask anybody.
const MAX_PUSH: Duration = Duration::from_mins(5);
/// How often it is looked whether a push has ended.
const PUSH_PAUSE: Duration = Duration::from_millis(20);

/// A branch that was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedBranch {
    pub remote: String,
    /// Where a pull request for the branch is opened, if the host says so or is a known one.
    pub pull_request: Option<String>,
}

/// Whether Git may ask for a user name or a passphrase in the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitPrompts {
    Allowed,
    Off,
}

impl GitIndex {
    /// Returns the names of the remotes; the one that Git pushes the branch to comes first.
    pub(super) fn remotes(&self, branch: &str) -> Vec<String> {
        let lines = |args: &[&str]| {
            let found = self.run_git(args, b"").unwrap_or_default();
            found.lines().map(|it| it.trim().to_owned()).collect::<Vec<_>>()
        };
        let mut names = lines(&["remote"]);
        let keys = [
            format!("branch.{branch}.pushRemote"),
            "remote.pushDefault".to_owned(),
            format!("branch.{branch}.remote"),
        ];
        let set = keys.iter().filter_map(|key| lines(&["config", "--get", key]).pop());
        let wanted: Vec<String> = set.chain(["origin".to_owned()]).collect();
        if let Some(at) =
            wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted))
        {
            names[..=at].rotate_right(1);
        }
        names
    }

    /// Pushes a commit as the branch. A branch of the remote that has other commits is left as it is.
    pub(super) fn push_branch(
        &self,
        remote: &str,
        commit: &str,
        reference: &str,
        prompts: GitPrompts,
    ) -> Result<PushedBranch, CommitError> {
        let branch = reference.strip_prefix(HEADS).unwrap_or(reference);
        let remotes = self.remotes(branch);
        if !remotes.iter().any(|it| it == remote) {
            let known = if remotes.is_empty() {
                "the repository has none; `git remote add origin ADDRESS` adds one".to_owned()
            } else {
                format!("there is {}", remotes.join(", "))
            };
            return Err(refuse_commit(format!("there is no remote {remote:?}: {known}")));
        }
        let refspec = format!("{commit}:{reference}");
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(&self.root)
            .args(self.safe_configuration())
            .args(["push", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"])
            .args(["--", remote, &refspec])
            // The words of Git are looked at below.
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        if prompts == GitPrompts::Off {
            command.env("GIT_TERMINAL_PROMPT", "0");
            // The user's own command for SSH stays; it may name a key.
            let is_own =
                ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|it| std::env::var_os(it).is_some())
                    || self.run_git(&["config", "--get", "core.sshCommand"], b"").is_ok();
            if !is_own {
                command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
            }
        }
        let limit = (prompts == GitPrompts::Off).then_some(MAX_PUSH);
        let (is_pushed, said) = run_with_limit(command, limit)?;
        if !is_pushed {
            return Err(refuse_commit(push_refusal(remote, branch, &said)));
        }
        let named = said.lines().filter_map(|line| line.strip_prefix("remote:")).find_map(web_link);
        let pull_request = named.or_else(|| {
            let address = self.run_git(&["remote", "get-url", "--push", "--", remote], b"").ok()?;
            pull_request_page(address.trim(), branch)
        });
        Ok(PushedBranch { remote: remote.to_owned(), pull_request })
    }
}

/// Runs Git and returns whether it succeeded, and what it said. It is stopped after a limit.
fn run_with_limit(
    mut command: Command,
    limit: Option<Duration>,
) -> Result<(bool, String), CommitError> {
    // A file, because a pipe that nobody reads meanwhile fills up.
    let mut said = tempfile::tempfile().with_message("no file for what Git says")?;
    let error_output = said.try_clone().with_message("no file for what Git says")?;
    command.stdout(Stdio::null()).stderr(error_output);
    let mut child = command.spawn().with_message(GIT_NOT_STARTED)?;
    let since = Instant::now();
    let status = loop {
        let limit = limit.filter(|limit| since.elapsed() > *limit);
        if let Some(limit) = limit {
            let _ = child.kill();
            let _ = child.wait();
            return Err(refuse_commit(format!(
                "the push was stopped after {} s without an end. The commit is made; push it with `git \
                 push`, which can ask you",
                limit.as_secs()
            )));
        }
        match child.try_wait().with_message("git did not end")? {
            Some(status) => break status,
            None => thread::sleep(PUSH_PAUSE),
        }
    };
    let mut text = Vec::new();
    said.seek(SeekFrom::Start(0)).with_message("what Git said is gone")?;
    said.read_to_end(&mut text).with_message("what Git said is gone")?;
    Ok((status.success(), String::from_utf8_lossy(&text).into_owned()))
}

/// Says why a push failed and what to do.
fn push_refusal(remote: &str, branch: &str, said: &str) -> String {
    let next = if said.contains("[rejected]") || said.contains("non-fast-forward") {
        format!(
            "{branch} of {remote} has commits that this repository does not have; push to another branch \
             (--branch), or fetch and merge them"
        )
    } else {
        format!(
            "check the address (`git remote -v`) and your access with `git push {remote} {branch}`"
        )
    };
    let is_telling = |line: &&str| {
        ["fatal:", "error:", "remote:", " ! "].iter().any(|start| line.starts_with(start))
    };
    let reasons: Vec<&str> = said.lines().filter(is_telling).map(str::trim).take(5).collect();
    let reasons = if reasons.is_empty() { said.trim().to_owned() } else { reasons.join("; ") };
    format!("{branch} was not pushed to {remote}: {reasons}. Nothing is lost; {next}")
}

/// Returns the first web address in a line that a host printed.
fn web_link(line: &str) -> Option<String> {
    let word = line.split_whitespace().find(|word| word.starts_with("https://"))?;
    let address = Url::parse(word).ok()?;
    (address.host_str().is_some() && address.username().is_empty()).then(|| address.to_string())
}

/// Returns the page of a well-known host that opens a pull request for a branch. `address` is that of
/// the remote, as a web address or in the form `git@HOST:PATH`.
fn pull_request_page(address: &str, branch: &str) -> Option<String> {
    let (host, path) = if let Ok(url) = Url::parse(address) {
        (url.host_str()?.to_owned(), url.path().to_owned())
    } else {
        let (user_and_host, path) = address.split_once(':')?;
        (user_and_host.rsplit('@').next()?.to_owned(), path.to_owned())
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut page = Url::parse(&format!("https://{host}/")).ok()?;
    let mut segments: Vec<&str> = path.split('/').collect();
    match host.as_str() {
        "github.com" => segments.extend(["compare"].into_iter().chain([branch])),
        "codeberg.org" | "gitea.com" => segments.extend(["compare", branch]),
        "gitlab.com" => segments.extend(["-", "merge_requests", "new"]),
        "bitbucket.org" => segments.extend(["pull-requests", "new"]),
        _ => return None,
    }
    page.path_segments_mut().ok()?.clear().extend(segments);
    match host.as_str() {
        "github.com" => page.set_query(Some("expand=1")),
        "gitlab.com" => {
            page.query_pairs_mut().append_pair("merge_request[source_branch]", branch);
        }
        "bitbucket.org" => {
            page.query_pairs_mut().append_pair("source", branch);
        }
        _ => {}
    }
    Some(page.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn push_that_does_not_end_is_stopped() {
        let mut endless = Command::new("sleep");
        endless.arg("600");
        let limit = Duration::from_secs(1);
        let since = Instant::now();
        let refusal = run_with_limit(endless, Some(limit)).unwrap_err().to_string();
        assert!(refusal.contains("stopped after 1 s without an end"), "{refusal}");
        assert!(since.elapsed() >= limit && since.elapsed() < Duration::from_mins(5));
        let mut quick = Command::new("sh");
        quick.args(["-c", "echo said >&2; exit 1"]);
        let ended = run_with_limit(quick, Some(Duration::from_mins(5))).unwrap();
        assert_eq!(ended, (false, "said\n".to_owned()));
    }

    #[test]
    fn page_of_a_pull_request_is_known_for_common_hosts() {
        for (address, expected) in [
            (
                "https://github.com/a/game.git",
                Some("https://github.com/a/game/compare/vector%2F7?expand=1"),
            ),
            (
                "git@github.com:a/game.git",
                Some("https://github.com/a/game/compare/vector%2F7?expand=1"),
            ),
            (
                "ssh://git@gitlab.com/a/b/game.git",
                Some(
                    "https://gitlab.com/a/b/game/-/merge_requests/new?merge_request%5Bsource_branch%5D=vector%2F7",
                ),
            ),
            (
                "https://codeberg.org/a/game/",
                Some("https://codeberg.org/a/game/compare/vector%2F7"),
            ),
            (
                "git@bitbucket.org:a/game.git",
                Some("https://bitbucket.org/a/game/pull-requests/new?source=vector%2F7"),
            ),
            ("https://git.example.com/a/game.git", None),
            ("/srv/game.git", None),
            ("../game", None),
            ("", None),
        ] {
            assert_eq!(pull_request_page(address, "vector/7").as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn only_secure_addresses_of_a_host_become_links() {
        let line = " Create a pull request for 'x' by visiting: https://host.example/a/pull/new/x";
        assert_eq!(web_link(line).as_deref(), Some("https://host.example/a/pull/new/x"));
        for line in ["", " javascript:alert(1)", " http://host/x", " https://", " https://u@host/x"]
        {
            assert_eq!(web_link(line), None, "{line}");
        }
    }

    #[test]
    fn refusals_name_the_next_step() {
        let rejected = "To ../remote\n ! [rejected]  abc -> main (fetch first)\nerror: failed to push\nhint: x";
        let said = push_refusal("origin", "main", rejected);
        assert!(said.contains("has commits that this repository does not have"), "{said}");
        assert!(said.contains("error: failed to push") && !said.contains("hint"), "{said}");
        let unreachable = push_refusal("origin", "main", "fatal: '/x' does not appear to be one\n");
        assert!(unreachable.contains("git remote -v"), "{unreachable}");
    }
}
