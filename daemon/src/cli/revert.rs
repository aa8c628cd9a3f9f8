//! `vector revert`: the way back from an applied proposal, as a proposal of its own.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::entry::Seq;
use serde_json::json;

use super::edit::{decide_all, listener};
use super::log::taken_back;
use super::terminal::{Terminal, say};
use super::{Decide, Exit};
use crate::core::prompt::Call;
use crate::engine::{Driver, Engine, REVERT, applied, recover};
use crate::ledger::Ledger;
use crate::targets::place::PlaceFile;

/// Take an applied proposal back. It shows what it will do and asks, as an edit does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector log                  # lists the proposals with their numbers
  vector revert 12
  vector revert 12 --yes --out before.rbxl")]
pub(super) struct Revert {
    /// The proposal's number, as `vector log` shows it
    proposal: u64,
    /// Write to this file and leave the place as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    decide: Decide,
}

pub(super) fn run(args: &Revert, home: &Path) -> anyhow::Result<Exit> {
    let ledger = Ledger::open(home)?;
    let terminal = Terminal::of(args.decide.json);
    let (title, ack) = applied(&ledger, Seq(args.proposal))??;
    if let Some(by) = taken_back(&ledger, Seq(args.proposal))? {
        bail!(
            "proposal {} was taken back already, by proposal {by}; `vector revert {by}` brings it \
             again",
            args.proposal
        );
    }
    let file = PathBuf::from(&ack.file);
    for notice in recover(&ledger, &file)? {
        say(&format!("note: {notice}"));
    }
    let opened =
        terminal.busy("Reading the place", || PlaceFile::open(&file, args.out.as_deref()))?;
    if *opened.0.hash() != ack.after {
        say(&format!(
            "note: {} was changed since proposal {} was applied; it is taken back only where \
             nothing else has touched the same things.",
            ack.file, args.proposal
        ));
    }
    let goal = format!("Revert proposal {}: {title}", args.proposal);
    let (mode, listener) = (args.decide.mode(), listener(args.decide.json));
    let mut engine = Engine::start(&ledger, opened, &goal, Driver::Calls, mode, listener)?;
    let arguments = json!({ "proposal": args.proposal });
    engine.call(vec![Call { tool: REVERT.to_owned(), args: arguments }])?;
    let exit = decide_all(&mut engine, &args.decide, &terminal, false)?;
    engine.leave();
    Ok(exit)
}
