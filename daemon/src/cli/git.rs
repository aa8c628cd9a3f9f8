//! `vector git`: Git integration for merging and comparing places.
//!
//! Git needs two programs: a merge driver, which is `vector merge`, and a text conversion, which is
//! implemented here.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use vector_files::place_file;
use vector_place::{Node, Scene};

use super::ExitStatus;
use super::setup::SetupRecord;
use super::style::{count_noun, terminal_line};
use super::terminal::{print_status, print_stdout};
use crate::merges::{self, WorkTree, count_blocking_conflicts};

/// Let Git merge and compare places with Vector.
#[derive(Debug, Args)]
pub(super) struct GitArgs {
    #[command(subcommand)]
    command: GitCommand,
}

#[derive(Debug, Subcommand)]
enum GitCommand {
    /// Set up this repository: a merge driver, a text form for `git diff`, and `.gitattributes`
    Install,
    /// Undo `install` in this repository. Attributes that are committed stay
    Uninstall,
    /// Print a place as text, as `git diff` compares it
    Textconv {
        /// The place or model
        place: PathBuf,
    },
    /// Pass a file through to `git add`, unless a merge of it has open conflicts
    #[command(hide = true)]
    CheckResolved {
        /// The path in the repository
        path: String,
    },
}

/// The attributes for place and model files. XML files are already text.
const ATTRIBUTES: [&str; 4] = [
    "*.rbxl merge=vector diff=vector",
    "*.rbxm merge=vector diff=vector",
    "*.rbxlx merge=vector",
    "*.rbxmx merge=vector",
];

pub(super) fn run(
    args: &GitArgs,
    home: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<ExitStatus> {
    match &args.command {
        GitCommand::Install => install_driver(&home()?),
        GitCommand::Uninstall => {
            let (home, tree) = (home()?, WorkTree::find_work_tree(Path::new("."))?);
            let mut record = SetupRecord::load(&home)?;
            let note = uninstall_driver(&tree)?;
            record.work_trees.retain(|top| *top != tree.top);
            record.save(&home)?;
            print_status("Git no longer uses Vector in this repository.");
            if let Some(note) = note {
                print_status(&format!("note: {note}"));
            }
            Ok(ExitStatus::Done)
        }
        GitCommand::Textconv { place } => {
            let scene = place_file::load_scene(place)?;
            print_stdout(&place_text(&scene))?;
            Ok(ExitStatus::Done)
        }
        GitCommand::CheckResolved { path } => check_resolved(path),
    }
}

/// The filter that Git runs before it takes a file whose merge has conflicts.
fn check_resolved(path: &str) -> anyhow::Result<ExitStatus> {
    let mut content = Vec::new();
    io::stdin().lock().read_to_end(&mut content).context("stdin cannot be read")?;
    if let Some(open) = count_blocking_conflicts(path, &content)? {
        bail!(
            "{path} has {}, and `git add` would choose OURS for all of them. Decide them one by one \
             with `vector merge --continue` or all at once with `vector merge --ours` or \
             `--theirs`, or keep the file as it is with `vector merge --as-is`",
            count_noun(open, "open merge conflict")
        );
    }
    io::stdout().lock().write_all(&content).context("stdout cannot be written")?;
    Ok(ExitStatus::Done)
}

fn install_driver(home: &Path) -> anyhow::Result<ExitStatus> {
    let tree = WorkTree::find_work_tree(Path::new("."))?;
    let mut record = SetupRecord::load(home)?;
    if !record.work_trees.contains(&tree.top) {
        record.work_trees.push(tree.top.clone());
        record.save(home)?;
    }
    let program = merges::program_command()?;
    tree.run_git(&["config", "merge.vector.name", "Roblox places, merged by Vector"])?;
    tree.run_git(&[
        "config",
        "merge.vector.driver",
        &format!("{program} merge %O %A %B --path %P"),
    ])?;
    tree.run_git(&["config", "diff.vector.textconv", &format!("{program} git textconv")])?;
    tree.configure_filter()?;
    let attributes = tree.top.join(".gitattributes");
    let added = add_lines(&attributes)?;
    print_status(&format!(
        "Git now merges and compares the places of this repository with Vector{}",
        if added { ". Commit .gitattributes so that this works for others too." } else { "." }
    ));
    Ok(ExitStatus::Done)
}

/// Removes Vector from a repository's configuration, and the attributes that `install` added if they
/// are not committed. Returns a note on what stays.
///
/// # Errors
/// Fails if a merge has open conflicts, which only Vector can finish.
pub(super) fn uninstall_driver(tree: &WorkTree) -> anyhow::Result<Option<String>> {
    if tree.has_merges()? {
        bail!(
            "a merge in {} has open conflicts; finish it with `vector merge --continue` or end it \
             with `git merge --abort`, and run the command again",
            tree.top.display()
        );
    }
    for section in ["merge.vector", "diff.vector"] {
        tree.remove_section(section)?;
    }
    tree.remove_filter()?;
    let attributes = tree.top.join(".gitattributes");
    if !tree.run_git(&["ls-files", "--", ":(top,literal).gitattributes"])?.is_empty() {
        return Ok(Some(format!(
            "{} is committed, so its lines for Vector stay; without Vector, Git treats such files as \
             before",
            attributes.display()
        )));
    }
    remove_lines(&attributes)?;
    Ok(None)
}

/// Removes the attribute lines from a file, and the file if nothing else is in it.
fn remove_lines(file: &Path) -> anyhow::Result<()> {
    let text = read_attributes(file)?;
    let is_own = |line: &&str| ATTRIBUTES.contains(&line.trim());
    let kept: String = text.split_inclusive('\n').filter(|line| !is_own(line)).collect();
    if kept.len() == text.len() {
        return Ok(());
    }
    let done = if kept.is_empty() {
        fs::remove_file(file)
    } else {
        vector_files::write_file(file, kept.as_bytes())
    };
    done.with_context(|| format!("{} cannot be written", file.display()))
}

/// The text of an attributes file; empty if it does not exist.
fn read_attributes(file: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text.with_context(|| format!("{} cannot be read", file.display())),
    }
}

/// Adds the missing attribute lines to a file. Returns whether there were any.
fn add_lines(file: &Path) -> anyhow::Result<bool> {
    let mut text = read_attributes(file)?;
    let missing: Vec<&str> =
        ATTRIBUTES.into_iter().filter(|line| !text.lines().any(|it| it.trim() == *line)).collect();
    if missing.is_empty() {
        return Ok(false);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for line in missing {
        text.push_str(line);
        text.push('\n');
    }
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(true)
}

/// A place as text: each instance, one line per property, and the lines of its script.
fn place_text(scene: &Scene) -> String {
    let mut text = String::new();
    for node in scene.descendants(scene.root()) {
        let _ = writeln!(text, "{} ({})", unindexed_path(scene, node), scene.class(node));
        for name in scene.stored_names(node) {
            if name == "Source" && scene.is_script(node) {
                continue;
            }
            if let Some(value) = scene.stored_value(node, name) {
                let _ = writeln!(text, "  {name} = {}", terminal_line(&value.to_brief()));
            }
        }
        for line in scene.script_text(node).unwrap_or_default().lines() {
            // Tabs are kept, as Git distinguishes them from spaces.
            let line: Vec<_> = line.split('\t').map(terminal_line).collect();
            let _ = writeln!(text, "  | {}", line.join("\t"));
        }
    }
    text
}

/// The path of an instance without sibling indices, which would change whenever a sibling is added
/// or removed.
fn unindexed_path(scene: &Scene, node: Node) -> String {
    let mut path = scene.path(node);
    for segment in &mut path.segments {
        segment.index = None;
    }
    terminal_line(&path.to_string()).into_owned()
}
