//! `vector merge`: two places that come from one, made one again; as a person calls it, and as Git
//! does.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use super::style::count;
use super::terminal::{Terminal, print, say};
use super::{Exit, sentence};
use crate::core::scene::merge::{Conflict, merge};
use crate::targets::place;

/// Merge two places that come from one: what THEIRS changed since BASE is done to OURS.
#[derive(Debug, Args)]
#[command(after_help = "\
Instances are known again by their unique ids, and otherwise by class, name and place. Properties,
attributes, tags and the lines of scripts are merged each for themselves; what does not go together
stays as OURS has it and is printed, one JSON object a line.

Examples:
  vector merge base.rbxl ours.rbxl theirs.rbxl --out merged.rbxl
  vector git install          # Git merges and compares places with Vector

Exit codes: 0 merged, 1 merged with conflicts, 2 trouble, and nothing was written.")]
pub(super) struct Merge {
    /// The place that both come from
    base: PathBuf,
    /// The place that is changed
    ours: PathBuf,
    /// The place whose changes are taken
    theirs: PathBuf,
    /// Write to this file and leave OURS as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// As with `git merge-file`, 1 means conflicts; so all trouble is 2.
const CONFLICTS: Exit = Exit::Failed;
const TROUBLE: Exit = Exit::Usage;

pub(super) fn run(args: &Merge) -> Exit {
    merged(args).unwrap_or_else(|error| {
        say(&format!("error: {}", sentence(&error)));
        TROUBLE
    })
}

fn merged(args: &Merge) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(true);
    let conflicts = terminal.busy("Merging", || {
        let (base, theirs) = (place::load(&args.base)?, place::load(&args.theirs)?);
        let (file, mut ours) = place::PlaceFile::open(&args.ours, args.out.as_deref())?;
        let conflicts = merge(&base, &mut ours, &theirs);
        file.write(&mut ours)?;
        anyhow::Ok(conflicts)
    })?;
    if conflicts.is_empty() {
        return Ok(Exit::Done);
    }
    let lines = conflicts.iter().map(|it| format!("{}\n", object(it)));
    print(&lines.collect::<String>())?;
    say(&format!("{}: ours was kept", count(conflicts.len(), "conflict")));
    Ok(CONFLICTS)
}

fn object(conflict: &Conflict) -> Json {
    match conflict {
        Conflict::Property { path, class, property, values: [base, ours, theirs] } => json!({
            "conflict": "property",
            "path": path,
            "class": class,
            "property": property,
            "base": base,
            "ours": ours,
            "theirs": theirs,
        }),
        Conflict::Script { path, class, text } => {
            json!({ "conflict": "script", "path": path, "class": class, "text": text })
        }
        Conflict::Deleted { path, class, by_ours } => {
            let by = if *by_ours { "ours" } else { "theirs" };
            json!({ "conflict": "deleted", "path": path, "class": class, "by": by })
        }
        Conflict::Moved { path, class, theirs } => {
            json!({ "conflict": "moved", "path": path, "class": class, "theirs": theirs })
        }
    }
}
