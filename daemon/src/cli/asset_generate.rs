//! `vector assets generate`: has a model generated from a text, after its price was approved.
//!
//! `crate::tasks::generate` does the work. This module asks, writes the files, and prints the results.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::entry::Seq;
use scene_schemas::generation::GenerationRequest;
use scene_schemas::permission::Permission;
use serde_json::json;
use vector_ledger::Ledger;

use super::style::terminal_line;
use super::terminal::{Terminal, confirm_question, escape_line_ends, print_line, print_status};
use super::{ExitStatus, interrupt};
use crate::tasks::deploy::format_size;
use crate::tasks::generate::{
    GenerationEnd, Generations, PastGeneration, cancel_generation, generate_model,
    offer_generation, read_model, read_model_file,
};

/// Width and height of the picture, in pixels.
const PICTURE_SIDE: u32 = 800;
/// The most characters of a file's name that is taken from the text.
const MAX_STEM: usize = 40;

/// Meshy generates it with an API key of yours: `vector key set meshy` stores it. The price in credits is
/// shown before anything is spent. A model of the same text is not paid twice.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
  vector assets generate 'a mossy stone well' --out well.glb
  vector assets generate 'a mossy stone well' --low-poly --no-colors
  vector assets generate --list

The file becomes an asset with `vector assets upload well.glb`.
Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.")]
pub(super) struct GenerateArgs {
    /// What it is a model of, in 1 to 600 characters
    #[arg(required_unless_present_any = ["list", "cancel"])]
    text: Option<String>,
    /// Few, large faces; Meshy chooses their number
    #[arg(long, conflicts_with = "polygons")]
    low_poly: bool,
    /// The number of polygons, from 100 to 300000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=300_000))]
    polygons: Option<u32>,
    /// Only the shape, which costs less
    #[arg(long)]
    no_colors: bool,
    /// The file that the model is written to, as GLB [default: the first words of the text]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a picture of the model to this file too, as PNG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Generate another one although there is a model of the same text
    #[arg(long)]
    again: bool,
    /// Generate it without asking
    #[arg(long, short)]
    yes: bool,
    /// List what was generated
    #[arg(long, conflicts_with_all = ["text", "cancel"])]
    list: bool,
    /// Cancel this generation; its credits are not paid back
    #[arg(long, value_name = "N", conflicts_with = "text")]
    cancel: Option<u64>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &GenerateArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Ledger::open(home)?;
    if let Some(generation) = args.cancel {
        cancel_generation(&ledger, Seq(generation), &interrupt::cancel_switch())?;
        print_status(&format!("Generation {generation} is cancelled."));
        return Ok(ExitStatus::Done);
    }
    let history = Generations::read(&ledger)?;
    let Some(text) = &args.text else {
        print_list(args, &history);
        return Ok(ExitStatus::Done);
    };
    let request = GenerationRequest {
        prompt: text.trim().to_owned(),
        is_low_poly: args.low_poly,
        polygons: args.polygons,
        has_colors: !args.no_colors,
    };
    let offer = offer_generation(&history, request).map_err(anyhow::Error::msg)?;
    // Before anything is paid.
    let out = args.out.clone().unwrap_or_else(|| file_name(text));
    for file in args.picture.iter().chain([&out]) {
        check_free(file)?;
    }
    match history.find_same(&offer.request) {
        Some(PastGeneration { end: None, seq, .. }) => {
            print_status(&format!("Going on with generation {seq}, which is paid already."));
        }
        Some(past) if !args.again => print_status(&format!(
            "Generation {} has made a model of the same text; --again generates another.",
            past.seq
        )),
        Some(_) | None => {
            let question = Permission::Generate(Box::new(offer.clone())).question();
            print_status(&terminal_line(&question));
            let question = "Spend the credits? [y/N]";
            let otherwise = "--yes generates it without asking";
            if !args.yes && !confirm_question(question, "Nothing was generated", otherwise)? {
                return Ok(ExitStatus::NotApproved);
            }
        }
    }
    let cancel = interrupt::cancel_switch();
    let terminal = Terminal::for_command(args.json);
    let made = terminal.with_spinner("Generating, which takes some minutes", || {
        generate_model(&ledger, &offer, args.again, &cancel)
    })?;
    write_new(&out, &read_model_file(&ledger, &made)?)?;
    let model = read_model(&ledger, &made)?;
    if let Some(file) = &args.picture {
        let picture =
            model.draw((PICTURE_SIDE, PICTURE_SIDE)).context("the model has no extent")?;
        write_new(file, &picture.to_png().map_err(anyhow::Error::msg)?)?;
    }
    let triangles = model.triangles.len();
    if args.json {
        let line = json!({
            "generation": made.generation, "file": out, "triangles": triangles,
            "credits": made.credits, "size": made.size,
        });
        print_line(&escape_line_ends(&line.to_string()));
    } else {
        print_line(&format!("{}", out.display()));
        print_status(&format!(
            "Generation {}: {triangles} triangles, {}, {} credits. `vector assets upload` makes an asset \
             of the file.",
            made.generation,
            format_size(made.size),
            made.credits
        ));
    }
    Ok(ExitStatus::Done)
}

/// Returns the name of the file for a text: its first words.
fn file_name(text: &str) -> PathBuf {
    let mut stem = String::new();
    for word in text.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if stem.chars().count() + word.chars().count() >= MAX_STEM {
            break;
        }
        if !stem.is_empty() {
            stem.push('-');
        }
        stem.push_str(&word.to_lowercase());
    }
    if stem.is_empty() {
        stem.push_str("model");
    }
    PathBuf::from(format!("{stem}.glb"))
}

fn check_free(file: &Path) -> anyhow::Result<()> {
    if file.symlink_metadata().is_ok() {
        bail!("{} exists already; choose another file", file.display());
    }
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => bail!("there is no folder {}", folder.display()),
        Some(_) | None => Ok(()),
    }
}

fn write_new(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).open(file)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().with_context(|| {
        format!("{} cannot be written; run the same again, which pays nothing", file.display())
    })
}

fn print_list(args: &GenerateArgs, history: &Generations) {
    if args.json {
        for past in &history.all {
            let line = json!({
                "generation": past.seq, "prompt": past.offer.request.prompt,
                "state": state_name(past), "credits": past.credits(),
            });
            print_line(&escape_line_ends(&line.to_string()));
        }
        return;
    }
    if history.all.is_empty() {
        print_status("Nothing has been generated yet.");
        return;
    }
    for past in &history.all {
        let mut line = String::new();
        let (state, credits) = (state_name(past), past.credits());
        let prompt = terminal_line(&past.offer.request.prompt);
        let _ = write!(line, "{:>6}  {state:<9} {credits:>4} credits  {prompt}", past.seq.0);
        print_line(&line);
    }
}

fn state_name(past: &PastGeneration) -> &'static str {
    match &past.end {
        Some(GenerationEnd::Made { .. }) => "made",
        Some(GenerationEnd::Failed { .. }) => "failed",
        None => "unfinished",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_named_by_the_first_words() {
        let name = |text: &str| file_name(text).display().to_string();
        assert_eq!(name("A mossy, Stone well!"), "a-mossy-stone-well.glb");
        assert_eq!(name("../../etc/passwd"), "etc-passwd.glb");
        assert_eq!(name("…"), "model.glb");
        assert!(name(&"word ".repeat(100)).len() < 50);
        assert_eq!(name(&"x".repeat(100)), "model.glb");
    }
}
