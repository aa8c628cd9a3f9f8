//! The state that Vector keeps in a repository while a place has open conflicts.
//!
//! Git treats a file as resolved as soon as it is added, and a place has no room for conflict
//! markers. While a place has open conflicts, a filter for that file alone makes `git add` refuse
//! it. The filter is named in `info/attributes`, which is not committed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use vector_files::write_file;

/// The filter's name in the repository's Git configuration.
const FILTER: &str = "vector-unresolved";
/// The folder of merges inside the Git folder.
const MERGES_PATH: &str = "vector/merge";

/// What is said where Git does not start.
pub const NOT_STARTED: &str = "git cannot be started; install it, or add its folder to your PATH";

/// Runs Git in a folder and returns its output without the last newline, or what it says has failed.
///
/// # Errors
/// Fails if Git cannot be started.
fn ask_git(folder: &Path, args: &[&str]) -> anyhow::Result<Result<String, String>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        // The setting may name a program, which Git would run to read the index.
        .args(["-c", "core.fsmonitor=false"])
        .args(args)
        .output()
        .context(NOT_STARTED)?;
    if !output.status.success() {
        return Ok(Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(Ok(printed.strip_suffix('\n').unwrap_or(&printed).to_owned()))
}

fn run_git(folder: &Path, args: &[&str]) -> anyhow::Result<String> {
    ask_git(folder, args)?.or_else(|failure| bail!("git {} failed: {failure}", args.join(" ")))
}

/// Whether the repository that contains a folder may hold merges. Checked without running Git, as
/// the answer is mostly no.
pub(super) fn can_have_merges(folder: &Path) -> bool {
    if std::env::var_os("GIT_DIR").is_some() {
        return true;
    }
    let Ok(folder) = std::path::absolute(folder) else { return true };
    let Some(found) = folder.ancestors().map(|it| it.join(".git")).find(|it| it.exists()) else {
        return false;
    };
    // A worktree has a `.git` file, which names its Git folder.
    let named = fs::read_to_string(&found).ok();
    let named = named.as_deref().and_then(|text| text.trim_end().strip_prefix("gitdir: "));
    let own = named.map_or(found.clone(), |named| found.with_file_name(named));
    own.join(MERGES_PATH).is_dir()
}

/// The shell command by which Git starts this program.
pub fn program_command() -> anyhow::Result<String> {
    let program = std::env::current_exe().context("the program's own file is not known")?;
    Ok(format!("'{}'", program.display().to_string().replace('\'', "'\\''")))
}

/// A Git work tree.
#[derive(Debug, Clone)]
pub struct WorkTree {
    pub top: PathBuf,
}

impl WorkTree {
    /// Finds the work tree that contains a folder.
    ///
    /// # Errors
    /// Fails if the folder is not in a work tree, or Git cannot be started.
    pub fn find_work_tree(folder: &Path) -> anyhow::Result<Self> {
        match ask_git(folder, &["rev-parse", "--show-toplevel"])? {
            Ok(top) => Ok(Self { top: PathBuf::from(top) }),
            Err(failure) => {
                let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
                bail!(
                    "{} is not in a Git repository; change to one and run the command again: \
                     {failure}",
                    folder.display()
                )
            }
        }
    }

    /// Runs Git at the top of the work tree and returns its output.
    pub fn run_git(&self, args: &[&str]) -> anyhow::Result<String> {
        run_git(&self.top, args)
    }

    /// The path of a file in the Git folder.
    fn git_path(&self, name: &str) -> anyhow::Result<PathBuf> {
        Ok(self.top.join(self.run_git(&["rev-parse", "--git-path", name])?))
    }

    /// The folder that holds the merges of this work tree.
    pub(super) fn merges_folder(&self) -> anyhow::Result<PathBuf> {
        self.git_path(MERGES_PATH)
    }

    /// The folder that holds the merge of a path.
    pub(super) fn merge_folder(&self, path: &str) -> anyhow::Result<PathBuf> {
        let name = Fingerprint::hash_bytes(path.as_bytes()).to_string();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Ok(self.merges_folder()?.join(&name[..name.len().min(24)]))
    }

    /// Whether the index still lists a path as unmerged.
    pub(super) fn is_unmerged(&self, path: &str) -> anyhow::Result<bool> {
        let path = format!(":(top,literal){path}");
        Ok(!self.run_git(&["ls-files", "--unmerged", "--", &path])?.is_empty())
    }

    /// Stages a path as it is in the work tree.
    pub(super) fn stage_path(&self, path: &str) -> anyhow::Result<()> {
        self.run_git(&["add", "--", &format!(":(top,literal){path}")]).map(drop)
    }

    /// Configures the filter.
    ///
    /// # Errors
    /// Fails if Git does not accept the configuration.
    pub fn configure_filter(&self) -> anyhow::Result<()> {
        let clean = format!("{} git check-resolved %f", program_command()?);
        self.run_git(&["config", &format!("filter.{FILTER}.clean"), &clean])?;
        // A required filter needs both directions.
        self.run_git(&["config", &format!("filter.{FILTER}.smudge"), "cat"])?;
        self.run_git(&["config", &format!("filter.{FILTER}.required"), "true"])?;
        Ok(())
    }

    /// Removes the filter, and the empty folder of merges.
    ///
    /// # Errors
    /// Fails if Git does not accept the configuration.
    pub fn remove_filter(&self) -> anyhow::Result<()> {
        self.remove_section(&format!("filter.{FILTER}"))?;
        let merges = self.merges_folder()?;
        // Folders that are not empty stay.
        let _ = fs::remove_dir(&merges);
        let _ = merges.parent().map(fs::remove_dir);
        Ok(())
    }

    /// Removes a section of the repository's configuration, if it is there.
    ///
    /// # Errors
    /// Fails if Git does not accept it.
    pub fn remove_section(&self, section: &str) -> anyhow::Result<()> {
        let pattern = format!("^{}\\.", section.replace('.', "\\."));
        // Fails if there is none.
        if self.run_git(&["config", "--local", "--get-regexp", &pattern]).is_err() {
            return Ok(());
        }
        self.run_git(&["config", "--local", "--remove-section", section]).map(drop)
    }

    /// Whether a merge has open conflicts.
    ///
    /// # Errors
    /// Fails if Git's folder is not found.
    pub fn has_merges(&self) -> anyhow::Result<bool> {
        let folder = self.merges_folder()?;
        Ok(fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()))
    }

    /// Makes Git refuse to add a path.
    pub(super) fn block_path(&self, path: &str) -> anyhow::Result<()> {
        self.configure_filter()?;
        let line = attribute_line(path);
        self.change_attributes(|lines| {
            if !lines.contains(&line) {
                lines.push(line.clone());
            }
        })
    }

    /// Allows Git to add a path again.
    pub(super) fn unblock_path(&self, path: &str) -> anyhow::Result<()> {
        let line = attribute_line(path);
        self.change_attributes(|lines| lines.retain(|it| *it != line))
    }

    fn change_attributes(&self, change: impl FnOnce(&mut Vec<String>)) -> anyhow::Result<()> {
        let file = self.git_path("info/attributes")?;
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).context(format!("{} cannot be read", file.display())),
        };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        let mut after = lines.join("\n");
        if !after.is_empty() {
            after.push('\n');
        }
        if after == text {
            return Ok(());
        }
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        write_file(&file, after.as_bytes())
            .with_context(|| format!("{} cannot be written", file.display()))
    }
}

/// The `gitattributes` line for a path: a pattern from the top of the repository, quoted as in C.
fn attribute_line(path: &str) -> String {
    let mut pattern = String::from("\"/");
    for c in path.chars() {
        match c {
            // The pattern needs a backslash, and the quotes need each backslash doubled.
            '*' | '?' | '[' => pattern.extend(['\\', '\\', c]),
            '\\' => pattern.push_str("\\\\\\\\"),
            '"' => pattern.push_str("\\\""),
            '\t' => pattern.push_str("\\t"),
            '\n' => pattern.push_str("\\n"),
            c => pattern.push(c),
        }
    }
    format!("{pattern}\" filter={FILTER}")
}

#[cfg(test)]
mod tests {
    use super::attribute_line;

    #[test]
    fn attribute_pattern_escapes_special_characters() {
        assert_eq!(attribute_line("a/b.rbxl"), "\"/a/b.rbxl\" filter=vector-unresolved");
        assert_eq!(
            attribute_line("a [1]*\"\\.rbxl"),
            "\"/a \\\\[1]\\\\*\\\"\\\\\\\\.rbxl\" filter=vector-unresolved"
        );
    }
}
