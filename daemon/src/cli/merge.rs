//! `vector merge`: merges two places with a common ancestor, for users and as Git's merge driver.
//! Conflicts are kept until each of them is decided.

mod columns;
mod decide;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::api::{ConflictChoice, ConflictView, MergeSide};
use serde_json::json;
use vector_place::merge::{merge_scenes, to_view};

use self::decide::{brief_value, decide_conflicts};
use super::style::{PaintKind, count_noun, terminal_line};
use super::terminal::{Terminal, print_status, print_stdout, stdout_style};
use super::{ExitStatus, error_sentence};
use crate::merges::{self, MergeInputs, MergePlaces, MergeState};

/// Merge two places that have a common ancestor, and resolve the conflicts.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(
    override_usage = "vector merge BASE OURS THEIRS [--out FILE] [--json]
       vector merge --list [--file FILE] [--json]
       vector merge --continue [--file FILE]
       vector merge --ours|--theirs [CONFLICT]... [--file FILE]
       vector merge --as-is [--file FILE]",
    after_help = "\
Applies the changes from BASE to THEIRS to OURS. Instances are matched by their unique IDs, otherwise by
class, name and position. Properties, attributes, tags and the lines of scripts are merged individually.
If both sides changed the same thing, the file keeps the version of OURS, the conflict is listed (with
--json as one JSON object per line), and the merge stays open until every conflict is decided.

Examples:
  vector merge base.rbxl ours.rbxl theirs.rbxl --out merged.rbxl
  vector git install               # let Git merge places with Vector; then, after `git merge`:
  vector merge --list              # the conflicts, by number
  vector merge --continue          # decide them one by one: base, ours and theirs side by side
  vector merge --theirs 2          # take theirs for conflict 2
  vector merge --ours              # take ours for all open conflicts

Exit codes: 0 merged, 1 open conflicts, 2 error, nothing was written."
)]
pub(super) struct MergeArgs {
    /// BASE, OURS and THEIRS; with --ours and --theirs: conflicts, by number or path (default: all)
    #[arg(value_name = "PLACE|CONFLICT")]
    operands: Vec<String>,
    /// Write to this file and leave OURS unchanged
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The path that Git merges
    #[arg(long, value_name = "PATH", hide = true)]
    path: Option<String>,
    /// List the conflicts of open merges
    #[arg(long, group = "action")]
    list: bool,
    /// Decide open conflicts in the terminal, then write the file
    #[arg(long = "continue", group = "action")]
    proceed: bool,
    /// Take the version of OURS
    #[arg(long, group = "action")]
    ours: bool,
    /// Take the version of THEIRS
    #[arg(long, group = "action")]
    theirs: bool,
    /// Keep the file as it is, and close the merge
    #[arg(long, group = "action")]
    as_is: bool,
    /// Only the merge of this file
    #[arg(long, value_name = "FILE", requires = "action")]
    file: Option<PathBuf>,
    /// Write the file even if it was changed since the merge
    #[arg(long, requires = "action")]
    force: bool,
    /// Print the conflicts as one JSON object per line
    #[arg(long, conflicts_with_all = ["proceed", "ours", "theirs", "as_is"])]
    json: bool,
}

/// As with `git merge-file`, exit code 1 means conflicts, so every failure is 2.
const CONFLICTS: ExitStatus = ExitStatus::Failed;
const TROUBLE: ExitStatus = ExitStatus::Usage;

pub(super) fn run(args: &MergeArgs) -> ExitStatus {
    let is_action = args.list || args.proceed || args.ours || args.theirs || args.as_is;
    let ended = if is_action { resolve_conflicts(args) } else { run_merge(args) };
    ended.unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

fn run_merge(args: &MergeArgs) -> anyhow::Result<ExitStatus> {
    let [base, ours, theirs] = args.operands.as_slice() else {
        bail!(
            "a merge needs three places, BASE OURS THEIRS; `vector merge --list` shows the conflicts \
             of open merges"
        );
    };
    let inputs = MergeInputs { base: base.into(), ours: ours.into(), theirs: theirs.into() };
    let output = args.out.as_deref().unwrap_or(&inputs.ours);
    let terminal = Terminal::for_command(true);
    let (conflicts, state) = terminal.with_spinner("Merging", || {
        let MergePlaces { base, mut ours, theirs, file } =
            inputs.read_places(args.out.as_deref())?;
        let conflicts = merge_scenes(&base, &mut ours, &theirs);
        // Copied before OURS is overwritten.
        let state = (!conflicts.is_empty() && can_keep_conflicts(args, output))
            .then(|| MergeState::prepare_state(&inputs, output, args.path.as_deref()))
            .transpose()?;
        if let Err(error) = file.write_scene(&mut ours) {
            state.map_or(Ok(()), |state| state.discard())?;
            return Err(error.into());
        }
        let state = state.map(|state| state.save_conflicts(output, &conflicts)).transpose()?;
        anyhow::Ok((conflicts, state))
    })?;
    if conflicts.is_empty() {
        return Ok(ExitStatus::Done);
    }
    match &state {
        Some(state) if !args.json => print_stdout(&list_conflicts(std::slice::from_ref(state)))?,
        _ => {
            for conflict in &conflicts {
                print_stdout(&(serde_json::to_string(&to_view(conflict))? + "\n"))?;
            }
        }
    }
    print_status(&format!(
        "{}: the file has the version of OURS until they are decided. Decide them one by one with \
         `vector merge --continue`, all at once with `vector merge --ours` or `--theirs`, or on the \
         page with `vector open {}`.",
        count_noun(conflicts.len(), "conflict"),
        state.as_ref().map_or_else(|| "FILE".to_owned(), MergeState::name)
    ));
    Ok(CONFLICTS)
}

/// Whether the conflicts of a merge can be kept. An older Git configuration passes a temporary file
/// without the path it belongs to.
fn can_keep_conflicts(args: &MergeArgs, output: &Path) -> bool {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let is_anonymous = args.path.is_none() && name.starts_with(".merge_file_");
    if is_anonymous {
        print_status(
            "note: the conflicts cannot be stored; run `vector git install` again in this \
             repository.",
        );
    }
    !is_anonymous
}

fn resolve_conflicts(args: &MergeArgs) -> anyhow::Result<ExitStatus> {
    let mut states = match &args.file {
        Some(file) => merges::find_file_merges(file)?,
        None => merges::find_merges([Path::new(".")])?,
    };
    if args.json {
        let all = states.iter().flat_map(|state| {
            let numbered = state.conflicts().iter().zip(1..);
            numbered.map(|(kept, number)| (state.name(), kept, number))
        });
        for (file, kept, number) in all {
            let object = json!({ "number": number, "file": file, "conflict": kept.conflict,
                "choice": kept.choice });
            print_stdout(&format!("{object}\n"))?;
        }
        return Ok(if states.is_empty() { ExitStatus::Done } else { CONFLICTS });
    }
    if states.is_empty() {
        print_status("There are no open conflicts here.");
        return Ok(if args.list { ExitStatus::Done } else { TROUBLE });
    }
    if args.list {
        print_stdout(&list_conflicts(&states))?;
        return Ok(CONFLICTS);
    }
    if args.as_is {
        for state in &states {
            state.finish_merge()?;
            print_status(&format!("{}: kept as it is.{}", state.name(), git_note(state)));
        }
        return Ok(ExitStatus::Done);
    }
    if args.proceed {
        decide_conflicts(&mut states, &Terminal::for_command(false))?;
    } else {
        let choice = if args.ours { ConflictChoice::Ours } else { ConflictChoice::Theirs };
        choose_side(&mut states, &args.operands, &choice)?;
    }
    let mut open = 0;
    for state in &states {
        open += state.open_count();
        if state.open_count() == 0 {
            finish_merge(state, args.force)?;
        }
    }
    if open == 0 {
        return Ok(ExitStatus::Done);
    }
    print_status(&format!(
        "{} still open; `vector merge --list` shows the conflicts.",
        count_noun(open, "conflict")
    ));
    Ok(CONFLICTS)
}

/// Takes one side for the selected conflicts, or for all open ones.
fn choose_side(
    states: &mut [MergeState],
    selectors: &[String],
    choice: &ConflictChoice,
) -> anyhow::Result<()> {
    let is_number = |it: &&String| it.parse::<usize>().is_ok();
    if let (Some(number), true) = (selectors.iter().find(is_number), states.len() > 1) {
        bail!(
            "{} merges are open here, and each has its own numbers: use --file to choose the one \
             with conflict {number}",
            states.len()
        );
    }
    let mut found = vec![false; selectors.len()];
    // Checked first: if a selected conflict does not exist, nothing is decided.
    let mut chosen = Vec::new();
    for state in states.iter() {
        let mut its = Vec::new();
        for (at, kept) in state.conflicts().iter().enumerate() {
            let path = kept.conflict.path().to_string();
            let mut is_meant = selectors.is_empty() && kept.choice.is_none();
            for (selector, found) in selectors.iter().zip(&mut found) {
                if selector.parse() == Ok(at + 1) || *selector == path {
                    (*found, is_meant) = (true, true);
                }
            }
            if is_meant {
                its.push(at);
            }
        }
        chosen.push(its);
    }
    if let Some((selector, _)) = selectors.iter().zip(&found).find(|(_, found)| !**found) {
        bail!(
            "there is no conflict `{selector}`; give its number in `vector merge --list`, or the \
             path of its instance"
        );
    }
    for (state, its) in states.iter_mut().zip(chosen) {
        state.update_decisions(|conflicts| {
            for at in its {
                conflicts[at].choice = Some(choice.clone());
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes the file of a merge whose conflicts are all decided.
fn finish_merge(state: &MergeState, force: bool) -> anyhow::Result<()> {
    let name = state.name();
    if state.is_file_changed() && !force {
        bail!(
            "{name} was changed since the merge, so it was not written. All choices are kept: \
             `vector merge --continue --force` overwrites it with the merge, `vector merge --as-is` \
             keeps the file as it is"
        );
    }
    state.write_result()?;
    state.finish_merge()?;
    let decided = count_noun(state.conflicts().len(), "conflict");
    print_status(&format!("{name}: merged, with {decided} decided.{}", git_note(state)));
    Ok(())
}

fn git_note(state: &MergeState) -> &'static str {
    if state.is_in_git() {
        " It is staged; continue with `git commit` (or `git rebase --continue`)."
    } else {
        ""
    }
}

/// Lists the conflicts of merges by number, one per line.
fn list_conflicts(states: &[MergeState]) -> String {
    let style = stdout_style();
    let mut text = String::new();
    for state in states {
        let (all, open) = (state.conflicts().len(), state.open_count());
        let title = format!(
            "{}: {}, {open} open",
            terminal_line(&state.name()),
            count_noun(all, "conflict")
        );
        text.push_str(&style.paint(PaintKind::Bold, title));
        text.push('\n');
        for (kept, number) in state.conflicts().iter().zip(1..) {
            let (status, paint) = match &kept.choice {
                None => ("open", PaintKind::Changed),
                Some(ConflictChoice::Ours) => ("ours", PaintKind::Added),
                Some(ConflictChoice::Theirs) => ("theirs", PaintKind::Added),
                Some(ConflictChoice::Hunks(_)) => ("hunks", PaintKind::Added),
            };
            let status = style.paint(paint, format!("{status:<6}"));
            let path = kept.conflict.path().to_string();
            let what =
                style.paint(PaintKind::Dim, terminal_line(&conflict_summary(&kept.conflict)));
            text.push_str(&format!("{number:>4}  {status}  {}  {what}\n", terminal_line(&path)));
        }
    }
    text
}

/// A short description of a conflict.
fn conflict_summary(conflict: &ConflictView) -> String {
    match conflict {
        ConflictView::Property { property, base, ours, theirs, .. } => {
            let [base, ours, theirs] = [base, ours, theirs].map(|side| brief_value(side.as_ref()));
            format!("{property}: base {base}, ours {ours}, theirs {theirs}")
        }
        ConflictView::Script { hunks, .. } => {
            format!("script: {}", count_noun(hunks.len(), "hunk"))
        }
        ConflictView::Deleted { by: MergeSide::Ours, .. } => {
            "ours deleted it, theirs changed it or refers to it".to_owned()
        }
        ConflictView::Deleted { by: MergeSide::Theirs, .. } => {
            "theirs deleted it, ours changed it or refers to it".to_owned()
        }
        ConflictView::Moved { theirs, .. } => format!("theirs moved it to {theirs}"),
    }
}
