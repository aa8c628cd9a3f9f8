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

/// Convert a place or model between the binary and the XML format.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector convert place.rbxl place.rbxlx     # to keep it under version control
  vector convert model.rbxmx model.rbxm

Items that this version does not understand are listed, and left out of the new file. An existing file
is replaced only with --force.")]
pub(super) struct ConvertArgs {
    /// The place or model
    input: PathBuf,
    /// The new file: .rbxl or .rbxm for binary, .rbxlx or .rbxmx for XML
    output: PathBuf,
    /// Replace the new file if it already exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &ConvertArgs) -> anyhow::Result<ExitStatus> {
    let extension = args.output.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let format = match extension.to_ascii_lowercase().as_str() {
        "rbxl" | "rbxm" => FileFormat::Binary,
        "rbxlx" | "rbxmx" => FileFormat::Xml,
        _ => bail!(
            "the format of {} is not known: its name must end in .rbxl or .rbxm (binary), or .rbxlx \
             or .rbxmx (XML)",
            args.output.display()
        ),
    };
    if args.output.exists() && !args.force {
        bail!("{} already exists; --force replaces it", args.output.display());
    }
    let terminal = Terminal::for_command(false);
    let left_out = terminal.with_spinner("Converting", || {
        let (file, scene) = place_file::PlaceFile::open(&args.input, Some(&args.output))?;
        let mut converted = scene.convert_to(format).map_err(|error| file.encode_error(error))?;
        file.write_scene(&mut converted)?;
        anyhow::Ok(scene.unsupported_items())
    })?;
    for what in left_out {
        print_status(&format!(
            "note: left out, because this version does not understand it: {what}"
        ));
    }
    Ok(ExitStatus::Done)
}
