//! `vector merge`: two places that come from one, made one again; as a person calls it, and as Git
//! does. Conflicts are kept until each of them is decided.

mod columns;
mod decide;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::api::{ConflictChoice, ConflictView, MergeSide};
use serde_json::json;
use vector_files::place_file;
use vector_place::merge::{merge, view};

use self::decide::{brief, decide};
use super::style::{Paint, count, safe};
use super::terminal::{Terminal, print, say, stdout_style};
use super::{Exit, sentence};
use crate::merges::{self, Inputs, MergeState};

/// Merge two places that come from one, and decide its conflicts.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(
    override_usage = "vector merge BASE OURS THEIRS [--out FILE] [--json]
       vector merge --list [--file FILE] [--json]
       vector merge --continue [--file FILE]
       vector merge --ours|--theirs [CONFLICT]... [--file FILE]
       vector merge --as-is [--file FILE]",
    after_help = "\
What THEIRS changed since BASE is done to OURS. Instances are matched by their unique ids, and otherwise
by class, name and place. Properties, attributes, tags and the lines of scripts are merged each for
themselves. Where both sides changed the same thing, the file keeps what OURS has, the conflict is listed
(with --json as one JSON object a line), and the merge stays open until every conflict is decided.

Examples:
  vector merge base.rbxl ours.rbxl theirs.rbxl --out merged.rbxl
  vector git install               # let Git merge places with Vector; then, after `git merge`:
  vector merge --list              # the conflicts, by number
  vector merge --continue          # decide them one by one: base, ours and theirs side by side
  vector merge --theirs 2          # take theirs for conflict 2
  vector merge --ours              # take ours for all that is open

Exit codes: 0 merged, 1 conflicts are open, 2 an error, and nothing was written."
)]
pub(super) struct Merge {
    /// BASE, OURS and THEIRS; with --ours and --theirs: conflicts, by number or path (default: all)
    #[arg(value_name = "PLACE|CONFLICT")]
    operands: Vec<String>,
    /// Write to this file and leave OURS as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The path that Git merges
    #[arg(long, value_name = "PATH", hide = true)]
    path: Option<String>,
    /// List the conflicts of open merges
    #[arg(long, group = "action")]
    list: bool,
    /// Decide open conflicts on the terminal, then write the file
    #[arg(long = "continue", group = "action")]
    proceed: bool,
    /// Take what OURS has
    #[arg(long, group = "action")]
    ours: bool,
    /// Take what THEIRS has
    #[arg(long, group = "action")]
    theirs: bool,
    /// Take the file as it is, and close the merge
    #[arg(long, group = "action")]
    as_is: bool,
    /// Only the merge of this file
    #[arg(long, value_name = "FILE", requires = "action")]
    file: Option<PathBuf>,
    /// Write the file although it was changed since the merge
    #[arg(long, requires = "action")]
    force: bool,
    /// Print the conflicts as one JSON object a line
    #[arg(long, conflicts_with_all = ["proceed", "ours", "theirs", "as_is"])]
    json: bool,
}

/// As with `git merge-file`, 1 means conflicts; so all trouble is 2.
const CONFLICTS: Exit = Exit::Failed;
const TROUBLE: Exit = Exit::Usage;

pub(super) fn run(args: &Merge) -> Exit {
    let is_action = args.list || args.proceed || args.ours || args.theirs || args.as_is;
    let ended = if is_action { resolve(args) } else { merged(args) };
    ended.unwrap_or_else(|error| {
        say(&format!("error: {}", sentence(&error)));
        TROUBLE
    })
}

fn merged(args: &Merge) -> anyhow::Result<Exit> {
    let [base, ours, theirs] = args.operands.as_slice() else {
        bail!(
            "a merge needs three places, BASE OURS THEIRS; `vector merge --list` shows the conflicts \
             of open merges"
        );
    };
    let inputs = Inputs { base: base.into(), ours: ours.into(), theirs: theirs.into() };
    let output = args.out.as_deref().unwrap_or(&inputs.ours);
    let terminal = Terminal::of(true);
    let (conflicts, state) = terminal.busy("Merging", || {
        let (base, theirs) = (place_file::load(&inputs.base)?, place_file::load(&inputs.theirs)?);
        let (file, mut ours) = place_file::PlaceFile::open(&inputs.ours, args.out.as_deref())?;
        let conflicts = merge(&base, &mut ours, &theirs);
        // The copies are made before OURS is written.
        let state = (!conflicts.is_empty() && is_kept(args, output))
            .then(|| MergeState::prepare(&inputs, output, args.path.as_deref()))
            .transpose()?;
        if let Err(error) = file.write(&mut ours) {
            state.map_or(Ok(()), |state| state.remove())?;
            return Err(error.into());
        }
        let state = state.map(|state| state.keep(output, &conflicts)).transpose()?;
        anyhow::Ok((conflicts, state))
    })?;
    if conflicts.is_empty() {
        return Ok(Exit::Done);
    }
    match &state {
        Some(state) if !args.json => print(&listing(std::slice::from_ref(state)))?,
        _ => {
            for conflict in &conflicts {
                print(&(serde_json::to_string(&view(conflict))? + "\n"))?;
            }
        }
    }
    say(&format!(
        "{}: the file has OURS until they are decided. `vector merge --continue` decides them one by one, \
         `vector merge --ours` or `--theirs` all at once; `vector open {}` shows them on the page.",
        count(conflicts.len(), "conflict"),
        state.as_ref().map_or_else(|| "FILE".to_owned(), MergeState::name)
    ));
    Ok(CONFLICTS)
}

/// Whether a merge with conflicts is kept. An older configuration of Git gives a temporary file without
/// saying what it stands for.
fn is_kept(args: &Merge, output: &Path) -> bool {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let is_anonymous = args.path.is_none() && name.starts_with(".merge_file_");
    if is_anonymous {
        say(
            "note: the conflicts cannot be kept; run `vector git install` again in this repository.",
        );
    }
    !is_anonymous
}

fn resolve(args: &Merge) -> anyhow::Result<Exit> {
    let mut states = match &args.file {
        Some(file) => merges::of_file(file)?,
        None => merges::all([Path::new(".")])?,
    };
    if args.json {
        let all = states.iter().flat_map(|state| {
            let numbered = state.conflicts().iter().zip(1..);
            numbered.map(|(kept, number)| (state.name(), kept, number))
        });
        for (file, kept, number) in all {
            let object = json!({ "number": number, "file": file, "conflict": kept.conflict,
                "choice": kept.choice });
            print(&format!("{object}\n"))?;
        }
        return Ok(if states.is_empty() { Exit::Done } else { CONFLICTS });
    }
    if states.is_empty() {
        say("No merge has open conflicts here.");
        return Ok(if args.list { Exit::Done } else { TROUBLE });
    }
    if args.list {
        print(&listing(&states))?;
        return Ok(CONFLICTS);
    }
    if args.as_is {
        for state in &states {
            state.finish()?;
            say(&format!("{}: taken as it is.{}", state.name(), staged(state)));
        }
        return Ok(Exit::Done);
    }
    if args.proceed {
        decide(&mut states, &Terminal::of(false))?;
    } else {
        let choice = if args.ours { ConflictChoice::Ours } else { ConflictChoice::Theirs };
        choose(&mut states, &args.operands, &choice)?;
    }
    let mut open = 0;
    for state in &states {
        open += state.open();
        if state.open() == 0 {
            close(state, args.force)?;
        }
    }
    if open == 0 {
        return Ok(Exit::Done);
    }
    say(&format!("{} still open; `vector merge --list` shows what.", count(open, "conflict")));
    Ok(CONFLICTS)
}

/// Takes one side for the conflicts that are named, or for all that are open.
fn choose(
    states: &mut [MergeState],
    selectors: &[String],
    choice: &ConflictChoice,
) -> anyhow::Result<()> {
    let is_number = |it: &&String| it.parse::<usize>().is_ok();
    if let (Some(number), true) = (selectors.iter().find(is_number), states.len() > 1) {
        bail!(
            "{} merges are open here, and each has its own numbers: say with --file which of them has \
             conflict {number}",
            states.len()
        );
    }
    let mut found = vec![false; selectors.len()];
    // Nothing is decided where one of them is not there.
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
            "there is no conflict `{selector}`; name one by its number in `vector merge --list`, or by \
             the path of its instance"
        );
    }
    for (state, its) in states.iter_mut().zip(chosen) {
        state.change(|conflicts| {
            for at in its {
                conflicts[at].choice = Some(choice.clone());
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes the file of a merge whose conflicts are all decided.
fn close(state: &MergeState, force: bool) -> anyhow::Result<()> {
    let name = state.name();
    if state.is_file_changed() && !force {
        bail!(
            "{name} was changed since the merge, so it was not written. All choices are kept: \
             `vector merge --continue --force` writes the merge over it, `vector merge --as-is` takes \
             the file as it is"
        );
    }
    state.write()?;
    state.finish()?;
    let decided = count(state.conflicts().len(), "conflict");
    say(&format!("{name}: merged, with {decided} decided.{}", staged(state)));
    Ok(())
}

fn staged(state: &MergeState) -> &'static str {
    if state.is_in_git() {
        " It is staged; `git commit` (or `git rebase --continue`) goes on."
    } else {
        ""
    }
}

/// The conflicts of merges, a line each, by number.
fn listing(states: &[MergeState]) -> String {
    let style = stdout_style();
    let mut text = String::new();
    for state in states {
        let (all, open) = (state.conflicts().len(), state.open());
        let title = format!("{}: {}, {open} open", safe(&state.name()), count(all, "conflict"));
        text.push_str(&style.paint(Paint::Bold, title));
        text.push('\n');
        for (kept, number) in state.conflicts().iter().zip(1..) {
            let (status, paint) = match &kept.choice {
                None => ("open", Paint::Changed),
                Some(ConflictChoice::Ours) => ("ours", Paint::Added),
                Some(ConflictChoice::Theirs) => ("theirs", Paint::Added),
                Some(ConflictChoice::Hunks(_)) => ("hunks", Paint::Added),
            };
            let status = style.paint(paint, format!("{status:<6}"));
            let path = kept.conflict.path().to_string();
            let what = style.paint(Paint::Dim, safe(&summary(&kept.conflict)));
            text.push_str(&format!("{number:>4}  {status}  {}  {what}\n", safe(&path)));
        }
    }
    text
}

/// What a conflict is about, in a few words.
fn summary(conflict: &ConflictView) -> String {
    match conflict {
        ConflictView::Property { property, base, ours, theirs, .. } => {
            let [base, ours, theirs] = [base, ours, theirs].map(|side| brief(side.as_ref()));
            format!("{property}: base {base}, ours {ours}, theirs {theirs}")
        }
        ConflictView::Script { hunks, .. } => format!("script: {}", count(hunks.len(), "hunk")),
        ConflictView::Deleted { by: MergeSide::Ours, .. } => {
            "ours deleted it, theirs changed it or refers to it".to_owned()
        }
        ConflictView::Deleted { by: MergeSide::Theirs, .. } => {
            "theirs deleted it, ours changed it or refers to it".to_owned()
        }
        ConflictView::Moved { theirs, .. } => format!("theirs moved it to {theirs}"),
    }
}
