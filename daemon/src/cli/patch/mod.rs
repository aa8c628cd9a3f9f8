//! `vector patch`: runs the edit engine on a text file, or case by case for other tools.
//!
//! An edit after which a Luau script would no longer compile is refused.

mod edit_file;
mod jsonl;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use serde_json::json;
use vector_files::text_file::TextFile;
use vector_text_edit::{MatchStage, PatchResult, TextReplacement};

use self::edit_file::EditFile;
use super::style::{count_noun, terminal_line};
use super::terminal::{print_status, print_stdout, stdout_style};
use super::{ExitStatus, hunks};

const CONTEXT: usize = 3;

/// Edit a text file with a patch, replacements or ranges; nothing is written unless all edits fit.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(group = ArgGroup::new("what").required(true).args(["patch", "replace", "edits", "jsonl"]))]
#[command(after_help = "\
A patch is a unified diff or a `*** Begin Patch` block; text around it, as models add it, is ignored.
An edit that does not fit, or fits several places, is refused, and the nearest lines are shown. An edit
that fits only if white space or context is ignored needs --force. Files named .luau and .lua must
compile afterwards if they did before.

E.json contains replacements, [{\"search\": ..., \"replace\": ..., \"all\": true}], or ranges as in the
Language Server Protocol, [{\"start\": {\"line\": 0, \"character\": 0}, \"end\": ..., \"text\": ...}].

Examples:
  vector patch src/Main.server.luau --patch fix.diff
  git diff | vector patch src/Main.server.luau --patch - --check
  vector patch src/Main.server.luau --replace 'wait(1)' 'task.wait(1)' --all
  vector patch --jsonl < cases.jsonl

Exit codes: 0 done, 1 refused or failed, 2 usage, 3 needs --force.")]
pub(super) struct PatchArgs {
    /// The file
    #[arg(required_unless_present = "jsonl")]
    file: Option<PathBuf>,
    /// A file with a patch; - for stdin
    #[arg(long = "patch", id = "patch", value_name = "P.diff")]
    diff: Option<PathBuf>,
    /// A text that occurs exactly once, and its replacement
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], allow_hyphen_values = true)]
    replace: Option<Vec<String>>,
    /// With --replace: replace every occurrence
    #[arg(long, requires = "replace")]
    all: bool,
    /// A file with replacements or ranges; - for stdin
    #[arg(long, value_name = "E.json")]
    edits: Option<PathBuf>,
    /// Only check whether the edits fit, without writing
    #[arg(long, conflicts_with = "jsonl")]
    check: bool,
    /// Also apply edits that fit only approximately
    #[arg(long, conflicts_with = "jsonl")]
    force: bool,
    /// Print the result as a JSON object
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,
    /// Read one case per line on stdin, and print one answer per line (docs/patch.md)
    #[arg(long, conflicts_with = "file")]
    jsonl: bool,
    /// Check the Luau syntax of files with other extensions too
    #[arg(long)]
    luau: bool,
}

pub(super) fn run(args: &PatchArgs) -> anyhow::Result<ExitStatus> {
    if let Some(file) = &args.file {
        return patch_file(file, args);
    }
    jsonl::run(args.luau)?;
    Ok(ExitStatus::Done)
}

fn patch_file(file: &Path, args: &PatchArgs) -> anyhow::Result<ExitStatus> {
    let target = TextFile::read_file(file)?;
    let before = target.text();
    let result = compute_edits(file, before, args)
        .and_then(|patched| Ok((vector_text_edit::apply_edits(before, &patched.edits)?, patched)))
        .and_then(|(after, patched)| {
            check_luau(file, before, &after, args.luau)?;
            Ok((after, patched))
        });
    let (after, patched) = match result {
        Err(error) if args.json => {
            print_stdout(&format!(
                "{}\n",
                json!({ "outcome": "reject", "reason": error.to_string() })
            ))?;
            return Ok(ExitStatus::Failed);
        }
        result => result?,
    };
    let must_wait = patched.should_review && !args.force;
    if !must_wait && !args.check {
        target.write_text(&after)?;
    }
    let is_written = !must_wait && !args.check;
    if args.json {
        let outcome = json!({
            "outcome": "ok",
            "confirm": patched.should_review,
            "stage": patched.stage.name(),
            "offset": patched.offset,
            "written": is_written,
        });
        print_stdout(&format!("{outcome}\n"))?;
    } else {
        let lines = hunks::hunk_lines(
            &vector_text_edit::diff_hunks(before, &after, CONTEXT),
            stdout_style(),
            true,
        );
        print_stdout(&(lines.join("\n") + "\n"))?;
        print_status(&edit_summary(file, before, &after, is_written));
    }
    if !must_wait {
        return Ok(ExitStatus::Done);
    }
    if !args.json {
        print_status(&format!(
            "The edit fits only approximately: {}. --force applies it.",
            patched.list_doubts().join(", ")
        ));
    }
    Ok(ExitStatus::NotApproved)
}

fn edit_summary(file: &Path, before: &str, after: &str, is_written: bool) -> String {
    let vector_text_edit::LineCounts { added, removed } =
        vector_text_edit::line_counts(before, after);
    let done = if is_written { "Edited" } else { "Not written:" };
    let (added, removed) =
        (count_noun(added as usize, "line"), count_noun(removed as usize, "line"));
    format!(
        "{done} {}: {added} added, {removed} removed",
        terminal_line(&file.display().to_string())
    )
}

fn check_luau(file: &Path, before: &str, after: &str, always: bool) -> anyhow::Result<()> {
    let is_script = file.extension().is_some_and(|it| it == "luau" || it == "lua");
    if (is_script || always)
        && let Some(error) = vector_luau::new_errors(before, after).first()
    {
        bail!("the script would no longer compile: {error}");
    }
    Ok(())
}

/// Computes the requested edits.
fn compute_edits(file: &Path, text: &str, args: &PatchArgs) -> anyhow::Result<PatchResult> {
    if let Some(diff) = &args.diff {
        let patch = read_file(diff)?;
        let name = file.to_string_lossy().replace('\\', "/");
        return Ok(vector_text_edit::apply_patch(text, &patch, &[&name])?);
    }
    let replacements = match (&args.replace, &args.edits) {
        (Some(both), _) => {
            let [search, replace] = both.as_slice() else { bail!("--replace needs OLD and NEW") };
            let (search, replace) = (search.clone(), replace.clone());
            vec![TextReplacement { search, replace, should_replace_all: args.all }]
        }
        (None, Some(file)) => {
            let json = read_file(file)?;
            match serde_json::from_str(&json)
                .context("the edits are neither replacements nor ranges")?
            {
                EditFile::Replacements(edits) => {
                    edits.iter().map(edit_file::SearchEdit::to_replacement).collect()
                }
                EditFile::Ranges(edits) => {
                    vector_text_edit::check_limits(&edits)?;
                    return Ok(PatchResult::from_exact(vector_text_edit::fit_edits(text, &edits)?));
                }
            }
        }
        (None, None) => bail!("no edit was given"),
    };
    let replaced = vector_text_edit::apply_replacements(text, &replacements)?;
    let confirm = replaced.stage > MatchStage::Exact;
    Ok(PatchResult {
        stage: replaced.stage,
        should_review: confirm,
        ..PatchResult::from_exact(replaced.edits)
    })
}

fn read_file(file: &Path) -> anyhow::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("stdin is not valid text")?;
        return Ok(text);
    }
    fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}
