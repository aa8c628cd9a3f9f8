//! `vector ledger`: the record as a whole. It changes no entry.

use std::path::Path;
use std::str::FromStr;

use clap::{Args, Subcommand};
use scene_schemas::entry::Seq;
use serde_json::json;
use vector_ledger::{ChainHash, ChainHead, ChainReport, FILE, Ledger};

use super::ExitStatus;
use super::terminal::{Terminal, print_line};

/// Check the ledger, the record of everything that was proposed, decided and applied.
#[derive(Debug, Args)]
pub(super) struct LedgerArgs {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// Check that no entry was changed, removed or put in since it was written
    Verify(VerifyLedgerArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector ledger verify
  vector ledger verify --head 1234:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

Note the head that is printed in another place: with --head, a later check also finds whether anything up to
it was cut off or replaced.

Exit codes: 0 whole, 1 not whole or not readable, 2 usage.")]
struct VerifyLedgerArgs {
    /// A head that an earlier check has printed
    #[arg(long, value_name = "POSITION:HASH", value_parser = parse_head)]
    head: Option<ChainHead>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn parse_head(text: &str) -> Result<ChainHead, String> {
    let (seq, link) = text.split_once(':').ok_or("write it as POSITION:HASH")?;
    let seq = seq.parse().map_err(|_| format!("{seq:?} is not a position"))?;
    let link = ChainHash::from_str(link).map_err(|error| error.to_string())?;
    Ok(ChainHead { seq: Seq(seq), link })
}

pub(super) fn run(args: &LedgerArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let LedgerCommand::Verify(args) = &args.command;
    if !home.join(FILE).exists() {
        anyhow::bail!("there is no ledger in {}. --home names another folder", home.display());
    }
    let terminal = Terminal::for_command(args.json);
    let verify = || Ledger::open(home)?.verify_chain(args.head);
    let report = terminal.with_spinner("Checking the ledger", verify)?;
    if args.json {
        print_line(&report_json(&report).to_string());
    } else {
        for line in describe_report(&report) {
            print_line(&line);
        }
    }
    Ok(if report.is_whole() { ExitStatus::Done } else { ExitStatus::Failed })
}

fn report_json(report: &ChainReport) -> serde_json::Value {
    let faults = report.faults.iter().map(|it| json!({ "entry": it.seq, "problem": it.problem }));
    json!({
        "whole": report.is_whole(),
        "entries": report.entries,
        "erased": report.erased,
        "head": format!("{}:{}", report.head.seq, report.head.link),
        "faults": faults.collect::<Vec<_>>(),
        "damaged_blobs": report.damaged_blobs,
    })
}

fn describe_report(report: &ChainReport) -> Vec<String> {
    let entries = match report.entries {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    let mut lines: Vec<String> = report
        .faults
        .iter()
        .map(|fault| format!("entry {} {}", fault.seq, fault.problem))
        .chain(report.damaged_blobs.iter().map(|hash| format!("blob {hash} is damaged")))
        .collect();
    lines.push(if report.is_whole() {
        let erased = match report.erased {
            0 => String::new(),
            erased => format!(", {erased} of them erased"),
        };
        format!("The ledger is whole: {entries}{erased}.")
    } else {
        format!(
            "The ledger is not as it was written ({entries}). Restore a copy of it, or find out who has \
             changed the file."
        )
    });
    lines.push(format!("head {}:{}", report.head.seq, report.head.link));
    lines
}
