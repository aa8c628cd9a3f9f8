//! `vector deploy`: a commit of the files that accepted proposals have changed in a Rojo project.
//!
//! Accepting a proposal writes files, and nothing is committed until this is asked for. Neither the
//! files nor what stands ready for a commit of the person's own is touched: the commit is made of an
//! index of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Place, Seq};

use super::Exit;
use super::log::for_each;
use super::style::safe;
use super::terminal::{print, say};
use crate::core::workflow::{State, Status};
use crate::ledger::Ledger;
use crate::targets::rojo::{Journal, Project};

/// Commit what accepted proposals have changed in a Rojo project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector deploy                        # on a branch of its own, vector/NUMBER
  vector deploy --branch main -m 'Faster rounds'
  vector deploy --dry-run              # what would be committed

Files that somebody has changed since are left out and named. Where the branch has another version of a
file than the accepted changes were made on, nothing is committed. No hooks are run, and nothing is pushed.

Exit codes: 0 committed, or nothing to commit; 1 failed; 2 usage.")]
pub(super) struct Deploy {
    /// The project file, or a folder that has one
    #[arg(default_value = ".")]
    project: PathBuf,
    /// The branch, which is made where there is none; by default vector/ and the last run's number
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The first line of the message; what was asked for last where absent
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Say what would be committed, and commit nothing
    #[arg(long)]
    dry_run: bool,
}

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

pub(super) fn run(args: &Deploy, home: &Path) -> anyhow::Result<Exit> {
    let project = Project::locate(&args.project)?;
    let ledger = Ledger::open(home)?;
    let written = written(&ledger, &project)?;
    let folder = project.parent().unwrap_or(Path::new("."));
    let git = Git::of(folder)?;
    let (ours, others) = apart(&written, &git.root)?;
    for path in &others {
        say(&format!(
            "note: {} has been changed since by somebody else, and is left out; commit it yourself.",
            safe(path)
        ));
    }
    let newest = written.goals.keys().next_back().copied().unwrap_or(Seq(0));
    let branch = args.branch.clone().unwrap_or_else(|| format!("vector/{newest}"));
    let reference = git.reference(&branch)?;
    git.check_free(&branch, &reference)?;
    let (base, is_new) = git.base(&reference);
    let (staged, strange) = git.staged(base.as_deref(), &ours, &ledger)?;
    if !strange.is_empty() {
        bail!(
            "{} has other versions of these files than what was accepted was made on:\n{}\nNothing is \
             committed, so that nobody's change is lost or taken along. Commit your own changes to them \
             first, or bring the two together (`git merge`); or deploy on another branch (--branch)",
            if is_new { "HEAD" } else { &branch },
            strange.iter().map(|name| format!("  {}", safe(name))).collect::<Vec<_>>().join("\n")
        );
    }
    if staged.is_empty() {
        say("Nothing is to be committed: what was accepted is committed already, or taken back.");
        return Ok(Exit::Done);
    }
    let message = message(args, &written, &git, base.as_deref(), &staged)?;
    if args.dry_run {
        print(&format!("On {branch}:\n{}\n\n{message}", list(&staged)))?;
        return Ok(Exit::Done);
    }
    let commit = git.commit(base.as_deref(), &message)?;
    git.point(&reference, &commit, base.as_deref().filter(|_| !is_new), &staged)?;
    let short = commit.get(..10).unwrap_or(&commit);
    print(&format!("Committed on {branch} as {short}:\n{}\n", list(&staged)))?;
    Ok(Exit::Done)
}

/// What applied proposals have left of the files of a project, in the order in which they were applied.
fn written(ledger: &Ledger, project: &Path) -> anyhow::Result<Written> {
    let name = project.display().to_string();
    let (mut state, mut when) = (State::default(), BTreeMap::new());
    for_each(ledger, |record| {
        state.apply(record);
        if let Entry::Applied { proposal, .. } = &record.entry {
            when.insert(*proposal, record.seq);
        }
        Ok(())
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
fn apart<'a>(written: &'a Written, root: &Path) -> anyhow::Result<(Files<'a>, Vec<String>)> {
    let (mut ours, mut others) = (BTreeMap::new(), Vec::new());
    for (file, history) in &written.files {
        let Ok(inside) = file.strip_prefix(root) else {
            bail!(
                "{} is not in the Git repository {}; commit it where it is",
                file.display(),
                root.display()
            );
        };
        let names: Option<Vec<&str>> = inside.iter().map(|name| name.to_str()).collect();
        let name = names.with_context(|| format!("{} is no UTF-8 name", file.display()))?.join("/");
        let above = file.ancestors().skip(1).take_while(|folder| *folder != root);
        if let Some(other) = above.filter(|folder| folder.join(".git").exists()).last() {
            say(&format!(
                "note: {} is in another repository, {}, and is left out; commit it there.",
                safe(&name),
                safe(&other.display().to_string())
            ));
            continue;
        }
        if Some(&hash(file)?) == history.states.last() {
            ours.insert(name, history);
        } else {
            others.push(name);
        }
    }
    Ok((ours, others))
}

/// The hash of a file; none where it is not there.
fn hash(file: &Path) -> anyhow::Result<Option<Fingerprint>> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(Fingerprint::of(&bytes))),
        // A folder of its way may be a file now.
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(why) => Err(why).context(format!("{} cannot be read", file.display())),
    }
}

/// The message: what was asked for, and which proposals of which runs are in it.
fn message(
    args: &Deploy,
    written: &Written,
    git: &Git,
    base: Option<&str>,
    staged: &Files<'_>,
) -> anyhow::Result<String> {
    let done = git.committed(base)?;
    let all: BTreeSet<&Accepted> = staged.values().flat_map(|it| it.by.iter()).collect();
    let is_new = |it: &&&Accepted| !done.contains(&trailer(it));
    let new: Vec<&&Accepted> = all.iter().filter(is_new).collect();
    let goal = new.last().and_then(|it| written.goals.get(&it.workflow));
    let subject = match (&args.message, goal) {
        (Some(message), _) => message.clone(),
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
    Ok(text)
}

/// What tells a proposal from those of other ledgers.
fn trailer(accepted: &Accepted) -> String {
    format!("{} {}", accepted.proposal, accepted.patch)
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    safe(&line).into_owned()
}

fn list(staged: &Files<'_>) -> String {
    staged.keys().map(|name| format!("  {}", safe(name))).collect::<Vec<_>>().join("\n")
}

/// Names as Git reads them.
fn names<'f>(files: impl Iterator<Item = &'f String>) -> Vec<u8> {
    files.flat_map(|name| name.bytes().chain([0])).collect()
}

/// A repository, and an index of our own.
struct Git {
    root: PathBuf,
    /// The folder of the index, which goes with the value.
    scratch: tempfile::TempDir,
}

impl Git {
    fn of(folder: &Path) -> anyhow::Result<Self> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["rev-parse", "--show-toplevel"])
            .output()
            .context("git cannot be started; is it installed?")?;
        if !output.status.success() {
            bail!("{} is in no Git repository; `git init` makes one", folder.display());
        }
        let said = String::from_utf8_lossy(&output.stdout);
        let root = PathBuf::from(said.trim_end_matches(['\n', '\r']));
        let root = root.canonicalize().with_context(|| format!("{} is gone", root.display()))?;
        Ok(Self { root, scratch: tempfile::tempdir().context("no folder for an index")? })
    }

    /// Runs git with our own index, and gives it something to read.
    fn run(&self, args: &[&str], input: &[u8]) -> anyhow::Result<String> {
        self.run_on(Some(&self.scratch.path().join("index")), args, input)
    }

    /// Runs git with an index, or the person's own.
    fn run_on(&self, index: Option<&Path>, args: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let mut child = Command::new("git")
            .arg("-C")
            .arg(&self.root)
            // A hook would look at the person's index and files, which are not what is committed.
            .arg("-c")
            .arg(format!("core.hooksPath={}", self.scratch.path().join("none").display()))
            .args(args)
            .envs(index.map(|index| ("GIT_INDEX_FILE", index)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("git cannot be started; is it installed?")?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that does not read has its reasons, which it says.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().context("git did not end")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("git {} failed: {}", args.join(" "), said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A branch, by its whole name.
    fn reference(&self, branch: &str) -> anyhow::Result<String> {
        let reference = format!("refs/heads/{branch}");
        let checked = self.run(&["check-ref-format", &reference], b"");
        checked.with_context(|| format!("{branch:?} is no name for a branch"))?;
        Ok(reference)
    }

    /// The commit that comes before, where there is any, and whether the branch is new.
    fn base(&self, reference: &str) -> (Option<String>, bool) {
        let commit = |of: &str| {
            let name = format!("{of}^{{commit}}");
            let found = self.run(&["rev-parse", "--verify", "--quiet", &name], b"");
            found.ok().map(|it| it.trim().to_owned())
        };
        match commit(reference) {
            Some(tip) => (Some(tip), false),
            None => (commit("HEAD"), true),
        }
    }

    /// Whether a branch may be moved: it is checked out nowhere else, and here nothing is half done.
    fn check_free(&self, branch: &str, reference: &str) -> anyhow::Result<()> {
        let format = "--format=%(refname) %(worktreepath)";
        let all = self.run(&["for-each-ref", format, "--", reference], b"")?;
        let own = |line: &str| line.strip_prefix(reference)?.strip_prefix(' ').map(str::to_owned);
        let Some(at) = all.lines().find_map(own).filter(|at| !at.is_empty()) else {
            return Ok(());
        };
        let real = Path::new(&at).canonicalize().unwrap_or_else(|_| PathBuf::from(&at));
        if real != self.root {
            bail!(
                "{branch} is checked out in {at}, whose files would not be what it says any more; \
                 deploy on another branch (--branch), and merge it there"
            );
        }
        for (name, what) in [
            ("MERGE_HEAD", "merge"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
        ] {
            if self.run(&["rev-parse", "--verify", "--quiet", name], b"").is_ok() {
                bail!(
                    "a {what} on {branch} is not finished; finish it, or `git {what} --abort` it"
                );
            }
        }
        Ok(())
    }

    /// Puts the files into the index: those that differ from the base; and those of which the base has
    /// a version that no accepted change was made on.
    fn staged<'a>(
        &self,
        base: Option<&str>,
        files: &Files<'a>,
        ledger: &Ledger,
    ) -> anyhow::Result<(Files<'a>, Vec<String>)> {
        self.run(&["read-tree", base.unwrap_or("--empty")], b"")?;
        let ignored = self.ignored(files.keys());
        let known = self.run(&["ls-files", "--stage", "-z"], b"")?;
        // `MODE OBJECT STAGE<tab>NAME`
        let known: BTreeMap<&str, &str> = known
            .split('\0')
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(about, name)| Some((name, about.split(' ').nth(1)?)))
            .collect();
        let wanted =
            files.keys().filter(|it| known.contains_key(it.as_str()) || !ignored.contains(*it));
        self.run(&["update-index", "--add", "--remove", "-z", "--stdin"], &names(wanted))?;
        let changed = match base {
            Some(base) => self.run(&["diff-index", "--cached", "--name-only", "-z", base], b"")?,
            None => self.run(&["ls-files", "-z"], b"")?,
        };
        let (mut staged, mut strange) = (Files::new(), Vec::new());
        for (name, history) in changed.split('\0').filter_map(|name| files.get_key_value(name)) {
            if !self.is_known(name, known.get(name.as_str()).copied(), history, ledger)? {
                strange.push(name.clone());
            }
            staged.insert(name.clone(), history);
        }
        Ok((staged, strange))
    }

    /// Whether an object of the base is a file as it was before or after an accepted change.
    fn is_known(
        &self,
        name: &str,
        object: Option<&str>,
        history: &History,
        ledger: &Ledger,
    ) -> anyhow::Result<bool> {
        for state in &history.states {
            let (Some(hash), Some(object)) = (state, object) else {
                if state.is_none() && object.is_none() {
                    return Ok(true);
                }
                continue;
            };
            let bytes = match ledger.blob(hash)? {
                Some(bytes) => bytes,
                // What the last change left is on the disk alone.
                None => std::fs::read(self.root.join(name)).unwrap_or_default(),
            };
            // By its path, so that line ends are as Git keeps them.
            let path = format!("--path={name}");
            if self.run(&["hash-object", "--stdin", &path], &bytes)?.trim() == object {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What Git is told to leave alone, of these.
    fn ignored<'f>(&self, files: impl Iterator<Item = &'f String>) -> BTreeSet<String> {
        // It ends with 1 where nothing is ignored.
        let found = self.run(&["check-ignore", "-z", "--stdin"], &names(files));
        found.unwrap_or_default().split('\0').map(str::to_owned).collect()
    }

    /// The proposals that are committed already.
    fn committed(&self, base: Option<&str>) -> anyhow::Result<BTreeSet<String>> {
        let Some(base) = base else {
            return Ok(BTreeSet::new());
        };
        let format = format!("--format=%(trailers:key={TRAILER},valueonly)");
        let lines = self.run(&["log", &format, base], b"")?;
        Ok(lines.lines().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect())
    }

    fn commit(&self, base: Option<&str>, message: &str) -> anyhow::Result<String> {
        let tree = self.run(&["write-tree"], b"")?;
        let mut args = vec!["commit-tree", tree.trim(), "-F", "-"];
        if let Some(base) = base {
            args.extend(["-p", base]);
        }
        Ok(self.run(&args, message.as_bytes())?.trim().to_owned())
    }

    /// Lets the branch name the commit, where it still is what it was. Where it is the one that is
    /// checked out, these files are what it says, and nothing of them is left to commit.
    fn point(
        &self,
        reference: &str,
        commit: &str,
        before: Option<&str>,
        staged: &Files<'_>,
    ) -> anyhow::Result<()> {
        let zero = "0".repeat(commit.len());
        let before = before.unwrap_or(&zero);
        self.run(&["update-ref", "-m", "vector deploy", reference, commit, before], b"")?;
        let head = self.run(&["symbolic-ref", "--quiet", "HEAD"], b"").unwrap_or_default();
        if head.trim() == reference {
            let args = ["--literal-pathspecs", "reset", "--quiet", "--pathspec-from-file=-"];
            let args = [&args[..], &["--pathspec-file-nul"]].concat();
            if let Err(why) = self.run_on(None, &args, &names(staged.keys())) {
                say(&format!("note: the commit is made, and your index is behind it: {why:#}"));
            }
        }
        Ok(())
    }
}
