//! Git operations of a commit: one process per operation, on a separate index. No hooks are run.
//! The user's files are not touched, and their index only to mark the files as committed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use vector_files::disk::canonical_path;
use vector_ledger::Ledger;

use super::{CommitError, ErrorContext, FileHistory, GitPaths, TRAILER, refuse_commit};
use crate::merges::GIT_NOT_STARTED;

/// The prefix of a branch's full name.
pub(super) const HEADS: &str = "refs/heads/";

/// Joins names in the format of Git's `-z` options.
fn nul_separated<'f>(files: impl Iterator<Item = &'f String>) -> Vec<u8> {
    files.flat_map(|name| name.bytes().chain([0])).collect()
}

/// The settings of a filter that make Git run its programs, with the values that turn them off.
const FILTER_SETTINGS: [(&str, &str); 4] =
    [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];

/// A repository, with a separate index.
#[derive(Debug)]
pub(super) struct GitIndex {
    pub(super) root: PathBuf,
    /// The filters that are turned off.
    disabled_filters: Vec<String>,
    /// The folder of the index. It is deleted on drop.
    index_folder: tempfile::TempDir,
}

impl GitIndex {
    pub(super) fn open_repository(folder: &Path) -> Result<Self, CommitError> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["-c", "core.fsmonitor=false", "rev-parse", "--show-toplevel"])
            .output()
            .with_message(GIT_NOT_STARTED)?;
        if !output.status.success() {
            let folder = folder.display();
            let what = format!("{folder} is not in a Git repository; `git init` creates one");
            return Err(refuse_commit(what));
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        let root = PathBuf::from(stdout.trim_end_matches(['\n', '\r']));
        let root = canonical_path(&root).with_message(format!("{} is gone", root.display()))?;
        let scratch = tempfile::tempdir().with_message("no folder for an index")?;
        Ok(Self { root, disabled_filters: Vec::new(), index_folder: scratch })
    }

    /// Turns all filters off, so that no program named in the repository's configuration is run.
    /// Files are then compared as they are, not as the filters would commit them.
    pub(super) fn without_filters(mut self) -> Self {
        let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
        let found =
            self.run_git(&["config", "--null", "--name-only", "--get-regexp", pattern], b"");
        let found = found.unwrap_or_default();
        let names = found.split('\0').filter_map(|key| Some(key.rsplit_once('.')?.0.to_owned()));
        self.disabled_filters = names.collect::<BTreeSet<_>>().into_iter().collect();
        self
    }

    /// The configuration that turns filters off, after the settings already in the environment.
    fn filter_overrides(&self) -> Vec<(String, String)> {
        if self.disabled_filters.is_empty() {
            return Vec::new();
        }
        let before = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|it| it.parse().ok());
        let before: usize = before.unwrap_or(0);
        let keys = self.disabled_filters.iter().flat_map(|filter| {
            FILTER_SETTINGS.map(|(part, value)| (format!("{filter}.{part}"), value.to_owned()))
        });
        let mut variables: Vec<(String, String)> = Vec::new();
        let mut count = before;
        for (key, value) in keys {
            variables.push((format!("GIT_CONFIG_KEY_{count}"), key));
            variables.push((format!("GIT_CONFIG_VALUE_{count}"), value));
            count += 1;
        }
        variables.push(("GIT_CONFIG_COUNT".to_owned(), count.to_string()));
        variables
    }

    /// Runs Git with the separate index and `input` as its standard input.
    pub(super) fn run_git(&self, args: &[&str], input: &[u8]) -> Result<String, CommitError> {
        self.run_git_on(Some(&self.index_folder.path().join("index")), args, input)
    }

    /// The options of Git that keep programs of the repository from running.
    pub(super) fn safe_configuration(&self) -> [String; 4] {
        let no_hooks = self.index_folder.path().join("none");
        [
            "-c".to_owned(),
            // A hook would look at the user's index and files, which differ from the commit.
            format!("core.hooksPath={}", no_hooks.display()),
            "-c".to_owned(),
            // The setting may name a program, which Git would run to read the index.
            "core.fsmonitor=false".to_owned(),
        ]
    }

    /// Runs Git with an index. None uses the user's own.
    fn run_git_on(
        &self,
        index: Option<&Path>,
        args: &[&str],
        input: &[u8],
    ) -> Result<String, CommitError> {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&self.root)
            .args(self.safe_configuration())
            .args(args)
            .envs(self.filter_overrides())
            .envs(index.map(|index| ("GIT_INDEX_FILE", index)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_message(GIT_NOT_STARTED)?;
        if let Some(mut stdin) = child.stdin.take() {
            // If Git does not read its input, its exit status and error output say why.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().with_message("git did not end")?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(refuse_commit(format!("git {} failed: {}", args.join(" "), stderr.trim())));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The full name of a branch.
    pub(super) fn branch_reference(&self, branch: &str) -> Result<String, CommitError> {
        if branch.starts_with("refs/") {
            let name = branch.strip_prefix(HEADS).filter(|name| !name.is_empty());
            let name = name.unwrap_or("feature/doors");
            return Err(refuse_commit(format!(
                "{branch:?} is how Git itself names what a repository has, and a branch of that name \
                 would be mistaken for it; say the branch alone, such as {name:?}"
            )));
        }
        let reference = format!("{HEADS}{branch}");
        let checked = self.run_git(&["check-ref-format", "--branch", branch], b"");
        checked.with_message(format!("{branch:?} is not a branch name"))?;
        Ok(reference)
    }

    /// The parent of the new commit, if any, and whether the branch is new.
    pub(super) fn base_commit(&self, reference: &str) -> (Option<String>, bool) {
        let commit = |of: &str| {
            let name = format!("{of}^{{commit}}");
            let found = self.run_git(&["rev-parse", "--verify", "--quiet", &name], b"");
            found.ok().map(|it| it.trim().to_owned())
        };
        match commit(reference) {
            Some(tip) => (Some(tip), false),
            None => (commit("HEAD"), true),
        }
    }

    /// Fails if a branch may not be moved: it is checked out in another worktree, or an operation
    /// is in progress here.
    pub(super) fn check_branch_free(
        &self,
        branch: &str,
        reference: &str,
    ) -> Result<(), CommitError> {
        let format = "--format=%(refname) %(worktreepath)";
        let all = self.run_git(&["for-each-ref", format, "--", reference], b"")?;
        let own = |line: &str| line.strip_prefix(reference)?.strip_prefix(' ').map(str::to_owned);
        let Some(at) = all.lines().find_map(own).filter(|at| !at.is_empty()) else {
            return Ok(());
        };
        let real = canonical_path(Path::new(&at)).unwrap_or_else(|_| PathBuf::from(&at));
        if real != self.root {
            return Err(refuse_commit(format!(
                "{branch} is checked out in {at}, whose files would not be what it says any more; \
                 commit on another branch (--branch), and merge it there"
            )));
        }
        for (name, what) in [
            ("MERGE_HEAD", "merge"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
        ] {
            if self.run_git(&["rev-parse", "--verify", "--quiet", name], b"").is_ok() {
                return Err(refuse_commit(format!(
                    "a {what} on {branch} is not finished; finish it, or `git {what} --abort` it"
                )));
            }
        }
        Ok(())
    }

    /// Stages the files. Returns those that differ from the base, and those whose version in the
    /// base is not one that an accepted change was made on or left.
    pub(super) fn stage_files<'a>(
        &self,
        base: Option<&str>,
        files: &GitPaths<'a>,
        ledger: &Ledger,
    ) -> Result<(GitPaths<'a>, Vec<String>), CommitError> {
        self.run_git(&["read-tree", base.unwrap_or("--empty")], b"")?;
        let ignored = self.find_ignored(files.keys());
        let known = self.run_git(&["ls-files", "--stage", "-z"], b"")?;
        // `MODE OBJECT STAGE<tab>NAME`
        let known: BTreeMap<&str, &str> = known
            .split('\0')
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(details, name)| Some((name, details.split(' ').nth(1)?)))
            .collect();
        let wanted =
            files.keys().filter(|it| known.contains_key(it.as_str()) || !ignored.contains(*it));
        self.run_git(
            &["update-index", "--add", "--remove", "-z", "--stdin"],
            &nul_separated(wanted),
        )?;
        let changed = match base {
            Some(base) => {
                self.run_git(&["diff-index", "--cached", "--name-only", "-z", base], b"")?
            }
            None => self.run_git(&["ls-files", "-z"], b"")?,
        };
        let filtered = self.find_filtered(files.keys());
        let (mut staged, mut strange) = (GitPaths::new(), Vec::new());
        for (name, history) in changed.split('\0').filter_map(|name| files.get_key_value(name)) {
            let is_comparable = !filtered.contains(name);
            if is_comparable
                && !self.is_known_version(
                    name,
                    known.get(name.as_str()).copied(),
                    history,
                    ledger,
                )?
            {
                strange.push(name.clone());
            }
            staged.insert(name.clone(), history);
        }
        Ok((staged, strange))
    }

    /// Whether an object of the base is the file as it was before or after an accepted change.
    fn is_known_version(
        &self,
        name: &str,
        object: Option<&str>,
        history: &FileHistory,
        ledger: &Ledger,
    ) -> Result<bool, CommitError> {
        for state in &history.states {
            let (Some(hash), Some(object)) = (state, object) else {
                if state.is_none() && object.is_none() {
                    return Ok(true);
                }
                continue;
            };
            let bytes = match ledger.read_blob(hash)? {
                Some(bytes) => bytes,
                // The result of the last change exists only on disk.
                None => std::fs::read(self.root.join(name)).unwrap_or_default(),
            };
            // With its path, so that line endings are converted as Git stores them.
            let path = format!("--path={name}");
            if self.run_git(&["hash-object", "--stdin", &path], &bytes)?.trim() == object {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The files that cannot be compared with the base, because their filters are turned off.
    fn find_filtered<'f>(&self, files: impl Iterator<Item = &'f String>) -> BTreeSet<String> {
        if self.disabled_filters.is_empty() {
            return BTreeSet::new();
        }
        let found = self.run_git(&["check-attr", "-z", "--stdin", "filter"], &nul_separated(files));
        let found = found.unwrap_or_default();
        let fields: Vec<&str> = found.split('\0').collect();
        let all = fields.chunks_exact(3);
        let named = all.filter(|it| self.disabled_filters.contains(&format!("filter.{}", it[2])));
        named.map(|it| it[0].to_owned()).collect()
    }

    /// The files that Git ignores.
    fn find_ignored<'f>(&self, files: impl Iterator<Item = &'f String>) -> BTreeSet<String> {
        // `check-ignore` exits with 1 if nothing is ignored.
        let found = self.run_git(&["check-ignore", "-z", "--stdin"], &nul_separated(files));
        found.unwrap_or_default().split('\0').map(str::to_owned).collect()
    }

    /// The trailers of the proposals that are committed in the history of `base`.
    pub(super) fn committed_proposals(
        &self,
        base: Option<&str>,
    ) -> Result<BTreeSet<String>, CommitError> {
        let Some(base) = base else {
            return Ok(BTreeSet::new());
        };
        let format = format!("--format=%(trailers:key={TRAILER},valueonly)");
        let lines = self.run_git(&["log", &format, base], b"")?;
        Ok(lines.lines().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect())
    }

    /// The proposals that are committed on any branch, with their commit and branch.
    pub(super) fn proposals_on_branches(
        &self,
    ) -> Result<BTreeMap<String, (String, String)>, CommitError> {
        let format = format!("--format=%x00%h %S%n%(trailers:key={TRAILER},valueonly)");
        let log = self.run_git(&["log", "--branches", &format], b"")?;
        let mut found = BTreeMap::new();
        for (at, lines) in log.split('\0').filter_map(|it| it.split_once('\n')) {
            let Some((commit, branch)) = at.split_once(' ') else { continue };
            let branch = branch.strip_prefix(HEADS).unwrap_or(branch);
            for proposal in lines.lines().map(str::trim).filter(|it| !it.is_empty()) {
                found.insert(proposal.to_owned(), (commit.to_owned(), branch.to_owned()));
            }
        }
        Ok(found)
    }

    pub(super) fn write_commit(
        &self,
        base: Option<&str>,
        message: &str,
    ) -> Result<String, CommitError> {
        let tree = self.run_git(&["write-tree"], b"")?;
        let mut args = vec!["commit-tree", tree.trim(), "-F", "-"];
        if let Some(base) = base {
            args.extend(["-p", base]);
        }
        Ok(self.run_git(&args, message.as_bytes())?.trim().to_owned())
    }

    /// Moves the branch to the commit, if it is still at `before`. If the branch is checked out,
    /// also updates the user's index for the committed files. Returns a note if that fails.
    pub(super) fn move_branch(
        &self,
        reference: &str,
        commit: &str,
        before: Option<&str>,
        staged: &[String],
    ) -> Result<Option<String>, CommitError> {
        let zero = "0".repeat(commit.len());
        let before = before.unwrap_or(&zero);
        self.run_git(&["update-ref", "-m", "vector commit", reference, commit, before], b"")?;
        let head = self.run_git(&["symbolic-ref", "--quiet", "HEAD"], b"").unwrap_or_default();
        if head.trim() == reference {
            let args = ["--literal-pathspecs", "reset", "--quiet", "--pathspec-from-file=-"];
            let args = [&args[..], &["--pathspec-file-nul"]].concat();
            if let Err(why) = self.run_git_on(None, &args, &nul_separated(staged.iter())) {
                return Ok(Some(format!(
                    "the commit was made, but your index is out of date: {why}"
                )));
            }
        }
        Ok(None)
    }
}
