//! Commits the files of a Rojo project that accepted proposals changed.
//!
//! Accepting a proposal writes files. Nothing is committed until the user requests it. The commit
//! is made from a separate index, so neither the files nor the user's own staged changes are
//! touched. This module does not know how progress is shown.

mod git;
mod push;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Place, Record, Seq};
use vector_core::safe_line::safe_line;
use vector_core::workflow::{LedgerState, PendingStatus};
use vector_ledger::{Ledger, LedgerError};
use vector_rojo_project::StepJournal;

use self::git::GitIndex;
pub use self::push::{GitPrompts, PushedBranch};

const READ_BATCH: usize = 5_000;
/// The trailer of a commit message that marks a proposal as committed.
const TRAILER: &str = "Vector-Proposal";
/// The maximum length of a message's first line, in characters.
const MAX_SUBJECT_CHARS: usize = 72;

/// A proposal that changed files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct AcceptedProposal {
    workflow: Seq,
    proposal: Seq,
    title: String,
    patch: String,
}

/// The effect of accepted proposals on a file.
#[derive(Debug, Default)]
struct FileHistory {
    /// The file's hashes before the first change and after each change. None means that the file
    /// did not exist. A change on top of a foreign change starts the list over.
    states: Vec<Option<Fingerprint>>,
    proposals: BTreeSet<AcceptedProposal>,
}

/// Files by their names in Git.
type GitPaths<'a> = BTreeMap<String, &'a FileHistory>;

/// The recorded changes of a project's files.
#[derive(Debug, Default)]
struct ProjectHistory {
    /// The goals of the workflows.
    goals: BTreeMap<Seq, String>,
    files: BTreeMap<PathBuf, FileHistory>,
}

/// The reason nothing was committed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A sentence without its final period, which says what to do.
    #[error("{0}")]
    Refused(String),
}

fn refuse_commit(why: impl Into<String>) -> CommitError {
    CommitError::Refused(why.into())
}

/// Puts a description of the failure before its cause.
trait ErrorContext<T> {
    fn with_message(self, what: impl Into<String>) -> Result<T, CommitError>;
}

impl<T, E: std::fmt::Display> ErrorContext<T> for Result<T, E> {
    fn with_message(self, what: impl Into<String>) -> Result<T, CommitError> {
        self.map_err(|why| refuse_commit(format!("{}: {why}", what.into())))
    }
}

/// A progress report of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitProgress<'t> {
    Step(CommitStep),
    /// The file being examined.
    File(&'t str),
    /// A file that is left out, and the reason.
    Skipped(&'t str, &'t str),
}

/// The steps of a commit, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitStep {
    /// Reading the accepted proposals from the ledger.
    Reading,
    /// Comparing the files with the accepted proposals.
    Comparing,
    /// Adding the files to an index.
    Staging,
    Committing,
    Pushing,
}

/// The options of a commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitOptions<'w> {
    pub project: &'w Path,
    /// The branch. If absent, a branch of Vector is used.
    pub branch: Option<&'w str>,
    /// The first line of the message. If absent, the goal of the newest uncommitted proposal's
    /// workflow.
    pub message: Option<&'w str>,
    /// Whether nothing will be committed, so that the repository's filters need not run.
    pub is_dry_run: bool,
}

/// The contents of the commit to be made.
#[derive(Debug)]
pub struct PreparedCommit {
    pub branch: String,
    /// Whether the branch will be created.
    pub is_new: bool,
    pub message: String,
    /// The files by their names in Git. Empty if there is nothing to commit.
    pub files: Vec<String>,
    /// The proposals that are not committed yet, and their titles.
    pub proposals: Vec<(Seq, String)>,
    /// The remotes that the branch can be pushed to, the usual one first.
    pub remotes: Vec<String>,
    git: GitIndex,
    reference: String,
    base: Option<String>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeCommit {
    pub commit: String,
    /// A problem after the commit was made.
    pub note: Option<String>,
}

/// Determines what to commit.
///
/// # Errors
/// Fails if nothing can be committed.
pub fn prepare_commit(
    ledger: &Ledger,
    wanted: CommitOptions<'_>,
    on_progress: &mut dyn FnMut(CommitProgress<'_>),
) -> Result<PreparedCommit, CommitError> {
    on_progress(CommitProgress::Step(CommitStep::Reading));
    let written = read_history(ledger, wanted.project)?;
    let git = GitIndex::open_repository(wanted.project.parent().unwrap_or(Path::new(".")))?;
    let git = if wanted.is_dry_run { git.without_filters() } else { git };
    on_progress(CommitProgress::Step(CommitStep::Comparing));
    let mut ours = select_unchanged(&written, &git.root, on_progress)?;
    let newest = written.goals.keys().next_back().copied().unwrap_or(Seq(0));
    let own = format!("vector/{newest}");
    let branch = wanted.branch.unwrap_or(&own).to_owned();
    let reference = git.branch_reference(&branch)?;
    git.check_branch_free(&branch, &reference)?;
    on_progress(CommitProgress::Step(CommitStep::Staging));
    let (base, is_new) = git.base_commit(&reference);
    if branch == own {
        exclude_committed(&mut ours, &git, base.as_deref(), on_progress)?;
    }
    let (staged, strange) = git.stage_files(base.as_deref(), &ours, ledger)?;
    if !strange.is_empty() {
        return Err(refuse_commit(format!(
            "{} has other versions of these files than the accepted changes were based on:\n{}\nNothing is \
             committed, so that nobody's change is lost or taken along. Commit your own changes to them \
             first, or bring the two together (`git merge`); or commit on another branch (--branch)",
            if is_new { "HEAD" } else { &branch },
            strange
                .iter()
                .map(|name| format!("  {}", safe_line(name)))
                .collect::<Vec<_>>()
                .join("\n")
        )));
    }
    let files: Vec<String> = staged.keys().cloned().collect();
    let (message, proposals) = if files.is_empty() {
        (String::new(), Vec::new())
    } else {
        commit_message(wanted.message, &written, &git, base.as_deref(), &staged)?
    };
    let remotes = git.remotes(&branch);
    Ok(PreparedCommit { branch, is_new, message, files, proposals, remotes, git, reference, base })
}

impl PreparedCommit {
    /// Commits the prepared files to the branch.
    ///
    /// # Errors
    /// Fails if nothing could be committed.
    pub fn commit(
        &self,
        on_progress: &mut dyn FnMut(CommitProgress<'_>),
    ) -> Result<MadeCommit, CommitError> {
        on_progress(CommitProgress::Step(CommitStep::Committing));
        let commit = self.git.write_commit(self.base.as_deref(), &self.message)?;
        let before = self.base.as_deref().filter(|_| !self.is_new);
        let note = self.git.move_branch(&self.reference, &commit, before, &self.files)?;
        Ok(MadeCommit { commit, note })
    }

    /// Pushes a commit that was made, or the branch as it was. Empty `remote` stands for the usual one.
    /// None if there is nothing to push: no commit was made and the branch does not exist.
    ///
    /// # Errors
    /// Nothing was pushed. The commit stays.
    pub fn push(
        &self,
        commit: Option<&str>,
        remote: &str,
        prompts: GitPrompts,
        on_progress: &mut dyn FnMut(CommitProgress<'_>),
    ) -> Result<Option<PushedBranch>, CommitError> {
        let existing = self.base.as_deref().filter(|_| !self.is_new);
        let Some(commit) = commit.or(existing) else {
            return Ok(None);
        };
        on_progress(CommitProgress::Step(CommitStep::Pushing));
        let usual = self.remotes.first().map_or("origin", String::as_str);
        let remote = if remote.is_empty() { usual } else { remote };
        self.git.push_branch(remote, commit, &self.reference, prompts).map(Some)
    }
}

fn for_each_record(ledger: &Ledger, mut each: impl FnMut(&Record)) -> Result<(), LedgerError> {
    let mut after = Seq(0);
    loop {
        let page = ledger.read(after, READ_BATCH)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.seq;
        page.iter().for_each(&mut each);
    }
}

/// Reads the changes that applied proposals made to a project's files, in the order in which they
/// were applied.
fn read_history(ledger: &Ledger, project: &Path) -> Result<ProjectHistory, CommitError> {
    let name = project.display().to_string();
    let (mut state, mut when) = (LedgerState::default(), BTreeMap::new());
    for_each_record(ledger, |record| {
        state.apply_record(record);
        if let Entry::Applied { proposal, .. } = &record.entry {
            when.insert(*proposal, record.seq);
        }
    })?;
    let mut steps: BTreeMap<Option<Seq>, (AcceptedProposal, Fingerprint)> = BTreeMap::new();
    let mut written = ProjectHistory::default();
    for (seq, workflow) in state.workflows() {
        for (proposal, pending) in workflow.proposals() {
            let PendingStatus::Applied(ack) = &pending.status else { continue };
            let own = match &workflow.place {
                Place::Project(_) => Some(ack),
                // A request in Studio may have changed the files of the place's project.
                Place::Open(_) => ack.files.as_ref(),
                Place::File(_) => None,
            };
            let own = own.filter(|ack| ack.file.as_ref() == Some(&name));
            let Some(bytes) = own.and_then(|ack| ack.bytes.as_ref()) else { continue };
            written.goals.insert(seq, workflow.goal.clone());
            let (title, patch) =
                (pending.proposal.title_with_path().into_owned(), &pending.proposal.patch_id);
            let patch = patch.short_hex().to_owned();
            let accepted = AcceptedProposal { workflow: seq, proposal, title, patch };
            steps.insert(when.get(&proposal).copied(), (accepted, bytes.patch.clone()));
        }
    }
    let memory = project.parent().unwrap_or(project).join(".vector");
    let mut last: Option<Fingerprint> = None;
    for (accepted, record) in steps.into_values() {
        // Proposals that were applied together share one journal.
        let is_again = last.as_ref() == Some(&record);
        let journal = ledger.read_blob(&record)?.as_deref().and_then(StepJournal::from_bytes);
        last = Some(record);
        // The files in the memory folder are for the user to commit.
        let files = journal.into_iter().flat_map(|it| it.files);
        for file in files.filter(|file| !file.path.starts_with(&memory)) {
            let history = written.files.entry(file.path).or_default();
            history.proposals.insert(accepted.clone());
            if is_again {
                continue;
            }
            let [before, after] = [file.before, file.after].map(|kept| kept.map(|it| it.hash));
            if history.states.last() != Some(&before) {
                history.states = vec![before];
            }
            history.states.push(after);
        }
    }
    Ok(written)
}

/// Selects the files that are as the proposals left them, by their names in Git. Files that were
/// changed since are reported as skipped.
fn select_unchanged<'a>(
    written: &'a ProjectHistory,
    root: &Path,
    on_progress: &mut dyn FnMut(CommitProgress<'_>),
) -> Result<GitPaths<'a>, CommitError> {
    let (mut ours, mut others) = (BTreeMap::new(), Vec::new());
    for (file, history) in &written.files {
        let Ok(inside) = file.strip_prefix(root) else {
            return Err(refuse_commit(format!(
                "{} is not in the Git repository {}; commit it where it is",
                file.display(),
                root.display()
            )));
        };
        let names: Option<Vec<&str>> = inside.iter().map(|name| name.to_str()).collect();
        let name = names
            .ok_or_else(|| refuse_commit(format!("{} is not a UTF-8 name", file.display())))?;
        let name = name.join("/");
        on_progress(CommitProgress::File(&name));
        let above = file.ancestors().skip(1).take_while(|folder| *folder != root);
        if let Some(other) = above.filter(|folder| folder.join(".git").exists()).last() {
            let why = format!(
                "is in another repository, {}, and is left out; commit it there.",
                safe_line(&other.display().to_string())
            );
            on_progress(CommitProgress::Skipped(&name, &why));
            continue;
        }
        if Some(&hash_file(file)?) == history.states.last() {
            ours.insert(name, history);
        } else {
            others.push(name);
        }
    }
    for name in others {
        let why = "has been changed since, not by an accepted proposal, and is left out; commit it yourself.";
        on_progress(CommitProgress::Skipped(&name, why));
    }
    Ok(ours)
}

/// Leaves out files that are already committed on one of the user's branches.
fn exclude_committed(
    ours: &mut GitPaths<'_>,
    git: &GitIndex,
    base: Option<&str>,
    on_progress: &mut dyn FnMut(CommitProgress<'_>),
) -> Result<(), CommitError> {
    let (done, found) = (git.committed_proposals(base)?, git.proposals_on_branches()?);
    ours.retain(|name, history| {
        let left = history.proposals.iter().map(proposal_trailer).filter(|it| !done.contains(it));
        let left: Option<Vec<_>> = left.map(|it| found.get(&it)).collect();
        // The proposals of a file are committed one after another, so the last one is the newest.
        let Some((commit, branch)) = left.and_then(|it| it.last().copied()) else {
            return true;
        };
        let why = format!(
            "is committed as {commit} on {} already, and is left out unless you name another branch.",
            safe_line(branch)
        );
        on_progress(CommitProgress::Skipped(name, &why));
        false
    });
    Ok(())
}

/// The hash of a file. None if the file does not exist.
fn hash_file(file: &Path) -> Result<Option<Fingerprint>, CommitError> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(Fingerprint::hash_bytes(&bytes))),
        // A folder on the path may have become a file.
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(why) => Err(why).with_message(format!("{} cannot be read", file.display())),
    }
}

/// Builds the message: the goal, and the proposals of each workflow that the commit contains.
fn commit_message(
    wanted: Option<&str>,
    written: &ProjectHistory,
    git: &GitIndex,
    base: Option<&str>,
    staged: &GitPaths<'_>,
) -> Result<(String, Vec<(Seq, String)>), CommitError> {
    let done = git.committed_proposals(base)?;
    let all: BTreeSet<&AcceptedProposal> =
        staged.values().flat_map(|it| it.proposals.iter()).collect();
    let is_new = |it: &&&AcceptedProposal| !done.contains(&proposal_trailer(it));
    let new: Vec<&&AcceptedProposal> = all.iter().filter(is_new).collect();
    let goal = new.last().and_then(|it| written.goals.get(&it.workflow));
    let subject = match (wanted, goal) {
        (Some(message), _) => message.to_owned(),
        (None, Some(goal)) => goal.clone(),
        (None, None) => "Apply what was accepted".to_owned(),
    };
    let first = subject.lines().find(|line| !line.trim().is_empty()).unwrap_or("Vector").trim();
    let mut text: String = one_line(first).chars().take(MAX_SUBJECT_CHARS).collect();
    text.push('\n');
    let mut run = None;
    for accepted in &new {
        if run != Some(accepted.workflow) {
            run = Some(accepted.workflow);
            let goal = written.goals.get(&accepted.workflow).map_or("", String::as_str);
            let _ = write!(text, "\nRun {}: {}\n", accepted.workflow, one_line(goal));
        }
        let _ = writeln!(text, "- proposal {}: {}", accepted.proposal, one_line(&accepted.title));
    }
    text.push('\n');
    for accepted in &new {
        let _ = writeln!(text, "{TRAILER}: {}", proposal_trailer(accepted));
    }
    let named = new.iter().map(|it| (it.proposal, it.title.clone()));
    Ok((text, named.collect()))
}

/// The trailer value. The patch distinguishes a proposal from those of other ledgers.
fn proposal_trailer(accepted: &AcceptedProposal) -> String {
    format!("{} {}", accepted.proposal, accepted.patch)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    safe_line(&line).into_owned()
}
