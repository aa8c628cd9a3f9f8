//! What Vector keeps in a repository while the conflicts of a place are open.
//!
//! Git takes whatever stands in the work tree as resolved when it is added, and a place has no room for
//! conflict markers. So for as long as a place has open conflicts, and for that file alone, a filter
//! stands before `git add` that refuses it. It is named in `info/attributes`, which is not committed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;

/// The filter's name in the configuration of the repository.
const FILTER: &str = "vector-unresolved";

/// Runs Git; what it prints.
pub(super) fn git(args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(args).output().context("git cannot be started")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git {} failed: {}", args.join(" "), said.trim());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(printed.strip_suffix('\n').unwrap_or(&printed).to_owned())
}

/// The top of the work tree.
pub(super) fn top() -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(git(&["rev-parse", "--show-toplevel"])?))
}

/// Where the merges of this work tree are kept.
pub(super) fn merges_folder() -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(git(&["rev-parse", "--git-path", "vector/merge"])?))
}

/// Where the merge of a path is kept.
pub(super) fn merge_folder(path: &str) -> anyhow::Result<PathBuf> {
    let name = Fingerprint::of(path.as_bytes()).to_string();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    Ok(merges_folder()?.join(&name[..name.len().min(24)]))
}

/// Whether Git still has all versions of a path.
pub(super) fn is_unmerged(path: &str) -> anyhow::Result<bool> {
    let path = format!(":(top,literal){path}");
    Ok(!git(&["ls-files", "--unmerged", "--", &path])?.is_empty())
}

/// Lets Git take a path as it stands in the work tree.
pub(super) fn stage(path: &str) -> anyhow::Result<()> {
    git(&["add", "--", &format!(":(top,literal){path}")]).map(drop)
}

/// How Git starts this program: it hands the line to a shell.
pub(super) fn program() -> anyhow::Result<String> {
    let program = std::env::current_exe().context("the program's own file is not known")?;
    Ok(format!("'{}'", program.display().to_string().replace('\'', "'\\''")))
}

/// Sets the filter up.
pub(super) fn configure_filter() -> anyhow::Result<()> {
    let clean = format!("{} git check-resolved %f", program()?);
    git(&["config", &format!("filter.{FILTER}.clean"), &clean])?;
    // A filter that has to work needs both ways.
    git(&["config", &format!("filter.{FILTER}.smudge"), "cat"])?;
    git(&["config", &format!("filter.{FILTER}.required"), "true"])?;
    Ok(())
}

/// Lets Git refuse to add a path.
pub(super) fn block(path: &str) -> anyhow::Result<()> {
    configure_filter()?;
    let line = attribute(path);
    change_attributes(|lines| {
        if !lines.contains(&line) {
            lines.push(line.clone());
        }
    })
}

/// Lets Git add a path again.
pub(super) fn unblock(path: &str) -> anyhow::Result<()> {
    let line = attribute(path);
    change_attributes(|lines| lines.retain(|it| *it != line))
}

/// The line of a path, as `gitattributes` has it: a pattern from the top, quoted as in C.
fn attribute(path: &str) -> String {
    let mut pattern = String::from("\"/");
    for c in path.chars() {
        match c {
            // A backslash for the pattern, and each written as two in quotes.
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

fn change_attributes(change: impl FnOnce(&mut Vec<String>)) -> anyhow::Result<()> {
    let file = PathBuf::from(git(&["rev-parse", "--git-path", "info/attributes"])?);
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
    replace(&file, &after).with_context(|| format!("{} cannot be written", file.display()))
}

/// A reader sees the old text or the new one.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut temporary, text.as_bytes())?;
    temporary.persist(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::attribute;

    #[test]
    fn a_path_is_a_pattern_that_is_that_path_alone() {
        assert_eq!(attribute("a/b.rbxl"), "\"/a/b.rbxl\" filter=vector-unresolved");
        assert_eq!(
            attribute("a [1]*\"\\.rbxl"),
            "\"/a \\\\[1]\\\\*\\\"\\\\\\\\.rbxl\" filter=vector-unresolved"
        );
    }
}
