//! A deploy: a commit of the files that accepted proposals have changed in a Rojo project.
//!
//! Accepting a proposal writes files, and nothing is committed until a person asks for it. Neither the
//! files nor what stands ready for a commit of the person's own is touched: the commit is made of an
//! index of its own. Who shows what is done is not known here.

mod git;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Place, Record, Seq};
use vector_core::shown::shown;
use vector_core::workflow::{State, Status};
use vector_ledger::{Ledger, LedgerError};
use vector_rojo_project::Journal;

use self::git::Git;

/// How many entries are read at once.
const READ: usize = 5_000;
/// The line of a message by which a proposal is known to have been committed.
const TRAILER: &str = "Vector-Proposal";
/// How many characters the first line of a message has at most.
const SUBJECT: usize = 72;

/// A proposal that changed files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Accepted {
    workflow: Seq,
    proposal: Seq,
    title: String,
    patch: String,
}

/// What accepted proposals have made of a file.
#[derive(Debug, Default)]
struct History {
    /// Its hashes, none where it was not there: what it was before the first change, and after each. A
    /// change on top of somebody else's begins anew.
    states: Vec<Option<Fingerprint>>,
    /// Who changed it.
    by: BTreeSet<Accepted>,
}

/// Files as Git names them.
type Files<'a> = BTreeMap<String, &'a History>;

/// What the ledger knows of a project's files.
#[derive(Debug, Default)]
struct Written {
    /// The goals of the runs.
    goals: BTreeMap<Seq, String>,
    /// The files.
    files: BTreeMap<PathBuf, History>,
}

/// Why nothing is committed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A sentence without its point, which says what to do.
    #[error("{0}")]
    Refused(String),
}

fn refused(why: impl Into<String>) -> DeployError {
    DeployError::Refused(why.into())
}

/// Says what went wrong before why.
trait Because<T> {
    fn because(self, what: impl Into<String>) -> Result<T, DeployError>;
}

impl<T, E: std::fmt::Display> Because<T> for Result<T, E> {
    fn because(self, what: impl Into<String>) -> Result<T, DeployError> {
        self.map_err(|why| refused(format!("{}: {why}", what.into())))
    }
}

/// What is told while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told<'t> {
    /// What is done now.
    Step(Step),
    /// The file that is looked at.
    File(&'t str),
    /// A file that is left out, and why.
    Left(&'t str, &'t str),
}

/// The steps, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// What was accepted is read from the ledger.
    Reading,
    /// The files are compared with what was accepted.
    Comparing,
    /// They are put into an index.
    Staging,
    /// The commit is made.
    Committing,
}

/// What a person wants.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'w> {
    /// The project file.
    pub project: &'w Path,
    /// The branch; one of our own where absent.
    pub branch: Option<&'w str>,
    /// The first line of the message; what was asked for last where absent.
    pub message: Option<&'w str>,
    /// Whether nothing is committed, so that no filter of the repository needs to run.
    pub is_dry: bool,
}

/// What would be committed.
#[derive(Debug)]
pub struct Ready {
    /// The branch.
    pub branch: String,
    /// Whether it is made.
    pub is_new: bool,
    /// The message.
    pub message: String,
    /// The files, as Git names them; none where nothing is to be committed.
    pub files: Vec<String>,
    /// The proposals that are not committed yet, and their titles.
    pub proposals: Vec<(Seq, String)>,
    git: Git,
    reference: String,
    base: Option<String>,
}

/// A commit that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// Its name.
    pub commit: String,
    /// What did not go well afterwards.
    pub note: Option<String>,
}

/// Finds out what is to be committed.
///
/// # Errors
/// Nothing can be committed.
pub fn prepare(
    ledger: &Ledger,
    wanted: Wanted<'_>,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Ready, DeployError> {
    tell(Told::Step(Step::Reading));
    let written = written(ledger, wanted.project)?;
    let git = Git::of(wanted.project.parent().unwrap_or(Path::new(".")))?;
    let git = if wanted.is_dry { git.without_filters() } else { git };
    tell(Told::Step(Step::Comparing));
    let mut ours = apart(&written, &git.root, tell)?;
    let newest = written.goals.keys().next_back().copied().unwrap_or(Seq(0));
    let own = format!("vector/{newest}");
    let branch = wanted.branch.unwrap_or(&own).to_owned();
    let reference = git.reference(&branch)?;
    git.check_free(&branch, &reference)?;
    tell(Told::Step(Step::Staging));
    let (base, is_new) = git.base(&reference);
    if branch == own {
        leave_committed(&mut ours, &git, base.as_deref(), tell)?;
    }
    let (staged, strange) = git.staged(base.as_deref(), &ours, ledger)?;
    if !strange.is_empty() {
        return Err(refused(format!(
            "{} has other versions of these files than what was accepted was made on:\n{}\nNothing is \
             committed, so that nobody's change is lost or taken along. Commit your own changes to them \
             first, or bring the two together (`git merge`); or deploy on another branch (--branch)",
            if is_new { "HEAD" } else { &branch },
            strange.iter().map(|name| format!("  {}", shown(name))).collect::<Vec<_>>().join("\n")
        )));
    }
    let files: Vec<String> = staged.keys().cloned().collect();
    let (message, proposals) = if files.is_empty() {
        (String::new(), Vec::new())
    } else {
        message(wanted.message, &written, &git, base.as_deref(), &staged)?
    };
    Ok(Ready { branch, is_new, message, files, proposals, git, reference, base })
}

impl Ready {
    /// Commits it.
    ///
    /// # Errors
    /// Nothing is committed.
    pub fn commit(&self, tell: &mut dyn FnMut(Told<'_>)) -> Result<Committed, DeployError> {
        tell(Told::Step(Step::Committing));
        let commit = self.git.commit(self.base.as_deref(), &self.message)?;
        let before = self.base.as_deref().filter(|_| !self.is_new);
        let note = self.git.point(&self.reference, &commit, before, &self.files)?;
        Ok(Committed { commit, note })
    }
}

fn for_each(ledger: &Ledger, mut each: impl FnMut(&Record)) -> Result<(), LedgerError> {
    let mut after = Seq(0);
    loop {
        let page = ledger.read(after, READ)?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = last.seq;
        page.iter().for_each(&mut each);
    }
}

/// What applied proposals have left of the files of a project, in the order in which they were applied.
fn written(ledger: &Ledger, project: &Path) -> Result<Written, DeployError> {
    let name = project.display().to_string();
    let (mut state, mut when) = (State::default(), BTreeMap::new());
    for_each(ledger, |record| {
        state.apply(record);
        if let Entry::Applied { proposal, .. } = &record.entry {
            when.insert(*proposal, record.seq);
        }
    })?;
    let mut steps: BTreeMap<Option<Seq>, (Accepted, Fingerprint)> = BTreeMap::new();
    let mut written = Written::default();
    for (seq, workflow) in state.workflows() {
        for (proposal, pending) in workflow.proposals() {
            let Status::Applied(ack) = &pending.status else { continue };
            let own = match &workflow.place {
                Place::Project(_) => Some(ack),
                // What was asked for in Studio may have gone to the files of its project.
                Place::Open(_) => ack.files.as_ref(),
                Place::File(_) => None,
            };
            let own = own.filter(|ack| ack.file.as_ref() == Some(&name));
            let Some(bytes) = own.and_then(|ack| ack.bytes.as_ref()) else { continue };
            written.goals.insert(seq, workflow.goal.clone());
            let (title, patch) = (pending.proposal.title.clone(), &pending.proposal.patch_id);
            let patch = patch.short().to_owned();
            let accepted = Accepted { workflow: seq, proposal, title, patch };
            steps.insert(when.get(&proposal).copied(), (accepted, bytes.patch.clone()));
        }
    }
    let memory = project.parent().unwrap_or(project).join(".vector");
    let mut last: Option<Fingerprint> = None;
    for (accepted, record) in steps.into_values() {
        // Proposals that were applied together have one record.
        let is_again = last.as_ref() == Some(&record);
        let journal = ledger.blob(&record)?.as_deref().and_then(Journal::read);
        last = Some(record);
        // What is remembered is the person's own business.
        let files = journal.into_iter().flat_map(|it| it.files);
        for file in files.filter(|file| !file.path.starts_with(&memory)) {
            let history = written.files.entry(file.path).or_default();
            history.by.insert(accepted.clone());
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

/// The files that are as they were left, and those that somebody has changed since; as Git names them.
fn apart<'a>(
    written: &'a Written,
    root: &Path,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Files<'a>, DeployError> {
    let (mut ours, mut others) = (BTreeMap::new(), Vec::new());
    for (file, history) in &written.files {
        let Ok(inside) = file.strip_prefix(root) else {
            return Err(refused(format!(
                "{} is not in the Git repository {}; commit it where it is",
                file.display(),
                root.display()
            )));
        };
        let names: Option<Vec<&str>> = inside.iter().map(|name| name.to_str()).collect();
        let name = names.ok_or_else(|| refused(format!("{} is no UTF-8 name", file.display())))?;
        let name = name.join("/");
        tell(Told::File(&name));
        let above = file.ancestors().skip(1).take_while(|folder| *folder != root);
        if let Some(other) = above.filter(|folder| folder.join(".git").exists()).last() {
            let why = format!(
                "is in another repository, {}, and is left out; commit it there.",
                shown(&other.display().to_string())
            );
            tell(Told::Left(&name, &why));
            continue;
        }
        if Some(&hash(file)?) == history.states.last() {
            ours.insert(name, history);
        } else {
            others.push(name);
        }
    }
    for name in others {
        let why = "has been changed since, not by an accepted proposal, and is left out; commit it yourself.";
        tell(Told::Left(&name, why));
    }
    Ok(ours)
}

/// Leaves out what is committed on a branch of the person's already.
fn leave_committed(
    ours: &mut Files<'_>,
    git: &Git,
    base: Option<&str>,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<(), DeployError> {
    let (done, found) = (git.committed(base)?, git.on_branches()?);
    ours.retain(|name, history| {
        let left = history.by.iter().map(trailer).filter(|it| !done.contains(it));
        let left: Option<Vec<_>> = left.map(|it| found.get(&it)).collect();
        // Those of one file are committed one behind the other.
        let Some((commit, branch)) = left.and_then(|it| it.last().copied()) else {
            return true;
        };
        let why = format!(
            "is committed as {commit} on {} already, and is left out unless you name another branch.",
            shown(branch)
        );
        tell(Told::Left(name, &why));
        false
    });
    Ok(())
}

/// The hash of a file; none where it is not there.
fn hash(file: &Path) -> Result<Option<Fingerprint>, DeployError> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(Fingerprint::of(&bytes))),
        // A folder of its way may be a file now.
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(why) => Err(why).because(format!("{} cannot be read", file.display())),
    }
}

/// The message: what was asked for, and which proposals of which runs are in it.
fn message(
    wanted: Option<&str>,
    written: &Written,
    git: &Git,
    base: Option<&str>,
    staged: &Files<'_>,
) -> Result<(String, Vec<(Seq, String)>), DeployError> {
    let done = git.committed(base)?;
    let all: BTreeSet<&Accepted> = staged.values().flat_map(|it| it.by.iter()).collect();
    let is_new = |it: &&&Accepted| !done.contains(&trailer(it));
    let new: Vec<&&Accepted> = all.iter().filter(is_new).collect();
    let goal = new.last().and_then(|it| written.goals.get(&it.workflow));
    let subject = match (wanted, goal) {
        (Some(message), _) => message.to_owned(),
        (None, Some(goal)) => goal.clone(),
        (None, None) => "Apply what was accepted".to_owned(),
    };
    let first = subject.lines().find(|line| !line.trim().is_empty()).unwrap_or("Vector").trim();
    let mut text: String = first.chars().take(SUBJECT).collect();
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
        let _ = writeln!(text, "{TRAILER}: {}", trailer(accepted));
    }
    let named = new.iter().map(|it| (it.proposal, it.title.clone()));
    Ok((text, named.collect()))
}

/// What tells a proposal from those of other ledgers.
fn trailer(accepted: &Accepted) -> String {
    format!("{} {}", accepted.proposal, accepted.patch)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    shown(&line).into_owned()
}
