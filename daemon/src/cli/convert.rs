//! `vector convert`: converts a place to another file format.
//!
//! The output's extension determines the format. Items that are not understood are left out, with a
//! note.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use vector_files::place_file;
use vector_place::FileFormat;

use super::ExitStatus;
use super::terminal::{Terminal, print_status};

/// Write a place or model in the format that the new file's name asks for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector convert place.rbxl place.rbxlx     # to keep it under version control
  vector convert model.rbxmx model.rbxm

What this version does not understand is named, and is not in the new file. A file that is there
already is only replaced with --force.")]
pub(super) struct ConvertArgs {
    /// The place or model
    input: PathBuf,
    /// The new file: .rbxl or .rbxm for binary, .rbxlx or .rbxmx for XML
    output: PathBuf,
    /// Replace the new file where it is there already
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &ConvertArgs) -> anyhow::Result<ExitStatus> {
    let extension = args.output.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let format = match extension.to_ascii_lowercase().as_str() {
        "rbxl" | "rbxm" => FileFormat::Binary,
        "rbxlx" | "rbxmx" => FileFormat::Xml,
        _ => bail!(
            "{} ends neither in .rbxl or .rbxm (binary) nor in .rbxlx or .rbxmx (XML), so its format \
             is not known",
            args.output.display()
        ),
    };
    if args.output.exists() && !args.force {
        bail!("{} is there already; --force replaces it", args.output.display());
    }
    let terminal = Terminal::for_command(false);
    let left_out = terminal.with_spinner("Converting", || {
        let (file, scene) = place_file::PlaceFile::open(&args.input, Some(&args.output))?;
        let mut converted = scene.convert_to(format).map_err(|error| file.encode_error(error))?;
        file.write_scene(&mut converted)?;
        anyhow::Ok(scene.unsupported_items())
    })?;
    for what in left_out {
        print_status(&format!("note: left out, because it is not understood: {what}"));
    }
    Ok(ExitStatus::Done)
}
