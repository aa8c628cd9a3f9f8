//! `vector render`: draws a place, or the changes of a proposal, as a PNG.
//!
//! An existing file is overwritten only if it is a PNG.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_core::workflow::PendingStatus;
use vector_engine::proposal_solids::{
    ProposalSolids, SolidGathering, picture_roots, proposal_solids, reverted_solids,
};
use vector_engine::render_input::DrawInput;
use vector_files::write_file;
use vector_ledger::Ledger;
use vector_place::{EditedNodes, Scene};
use vector_render::{
    BeforeAfter, ChangeSide, LEAST_SIDE, MOST_SIDE, Picture, ViewDirection, gather_solids,
};

use super::place_arg::read_place;
use super::terminal::{Terminal, print_status};
use super::{ExitStatus, resolve_path};
use crate::tasks::ledger_proposal::{LedgerProposal, fetch_blobs, read_workflow};

/// The first bytes of a PNG file.
const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The argument that means stdout.
const STDOUT: &str = "-";

/// Render a picture of a place: its parts from above, from a corner or from the front.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector render game.rbxl -o game.png
  vector render game.rbxl game.Workspace.Lobby -o lobby.png --view top --size 2048
  vector render game.rbxl -o 12.png --proposal 12     # before and after, side by side
  vector render game.rbxl -o - | display

Boxes, wedges, balls and cylinders are drawn exactly, meshes and unions as their bounding boxes. Omissions
are listed on stderr. With --proposal, added parts have a green outline, changed parts an amber one, and
removed parts are red; `vector log` lists the proposal numbers.")]
pub(super) struct RenderArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// The instance to draw, with its descendants [default: the Workspace, or the whole model]
    #[arg(default_value = "game", hide_default_value = true)]
    path: InstancePath,
    /// The output file; - for stdout. An existing file is replaced only if it is a PNG
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The direction of view
    #[arg(long, value_enum, default_value_t = ViewName::Iso)]
    view: ViewName,
    /// The size in pixels, such as 1024 or 1280x720
    #[arg(long, value_name = "SIZE", default_value = "1024")]
    size: PictureSize,
    /// Draw the changes of this proposal, by its number in `vector log`
    #[arg(long, value_name = "NUMBER", conflicts_with = "path")]
    proposal: Option<u64>,
    /// With --proposal: which side to draw
    #[arg(long, value_enum, default_value_t = ProposalSide::Both, requires = "proposal")]
    when: ProposalSide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ViewName {
    /// From above, X to the right
    Top,
    /// From the corner at +X, +Y and +Z
    Iso,
    /// From the side that Roblox calls the front: towards +Z, X to the left
    Front,
}

impl ViewName {
    fn to_view(self) -> ViewDirection {
        match self {
            Self::Top => ViewDirection::Top,
            Self::Iso => ViewDirection::Iso,
            Self::Front => ViewDirection::Front,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProposalSide {
    /// The place before it
    Before,
    /// The place with it
    After,
    /// Both, side by side
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PictureSize(u32, u32);

impl FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (width, height) = text.split_once(['x', 'X']).unwrap_or((text, text));
        let side = |text: &str| {
            let side = text.trim().parse().ok();
            side.filter(|side| (LEAST_SIDE..=MOST_SIDE).contains(side)).ok_or_else(|| {
                format!(
                    "a side must have {LEAST_SIDE} to {MOST_SIDE} pixels; write 1024 or \
                         1280x720"
                )
            })
        };
        Ok(Self(side(width)?, side(height)?))
    }
}

pub(super) fn run(
    args: &RenderArgs,
    home: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<ExitStatus> {
    check_output(&args.output)?;
    let mut scene = read_place(&args.place)?.scene;
    let terminal = Terminal::for_command(false);
    let (picture, notes) = match args.proposal {
        Some(number) => {
            let sides = load_sides(&mut scene, args, Seq(number), &home()?)?;
            terminal.with_spinner("Drawing", || render_proposal(sides.compare()?, args))?
        }
        None => terminal.with_spinner("Drawing", || render_scene(&scene, args))?,
    };
    // The process is about to end, so freeing a large scene would only take time.
    std::mem::forget(scene);
    write_png(&args.output, &picture.to_png()?)?;
    for note in notes {
        print_status(&format!("note: {note}"));
    }
    Ok(ExitStatus::Done)
}

fn render_scene(scene: &Scene, args: &RenderArgs) -> anyhow::Result<(Picture, Vec<String>)> {
    let solids = gather_solids(scene, resolve_path(scene, &args.path)?);
    let notes = solids.omission_notes();
    let PictureSize(width, height) = args.size;
    let picture = DrawInput::Place(solids).draw(args.view.to_view(), (width, height));
    Ok((picture.with_context(|| format!("{} cannot be drawn", args.path))?, notes))
}

fn render_proposal(
    sides: &BeforeAfter,
    args: &RenderArgs,
) -> anyhow::Result<(Picture, Vec<String>)> {
    let PictureSize(width, height) = args.size;
    let one = |when| sides.draw_side(when, args.view.to_view(), (width, height));
    let picture = match args.when {
        ProposalSide::Before => one(ChangeSide::Before)?,
        ProposalSide::After => one(ChangeSide::After)?,
        ProposalSide::Both => one(ChangeSide::Before)?.join_beside(&one(ChangeSide::After)?),
    };
    let shown =
        if args.when == ProposalSide::Before { ChangeSide::Before } else { ChangeSide::After };
    Ok((picture, sides.side_of(shown).omission_notes()))
}

/// The place before and after a proposal of the ledger.
fn load_sides(
    scene: &mut PlanningScene,
    args: &RenderArgs,
    seq: Seq,
    home: &Path,
) -> anyhow::Result<ProposalSolids> {
    let ledger = Ledger::open(home)?;
    let (state, workflow) = read_workflow(&ledger, seq)?;
    let found = LedgerProposal::find(&state, workflow, seq, &args.place)?;
    let pending = found.pending;
    let mut blobs = BlobStore::new();
    let sides = if let PendingStatus::Applied(ack) = &pending.status {
        fetch_blobs(&ledger, &ack.inverse, &mut blobs)?;
        let gathering = SolidGathering::complete(scene, picture_roots(scene, &ack.inverse));
        reverted_solids(scene, &blobs, seq, ack, gathering, EditedNodes::default())
    } else {
        found.apply_earlier(&ledger, scene, &mut blobs)?;
        fetch_blobs(&ledger, &pending.proposal.commands, &mut blobs)?;
        let (call, proposal) = (pending.call, &pending.proposal);
        let gathering = SolidGathering::complete(scene, picture_roots(scene, &proposal.commands));
        proposal_solids(scene, &blobs, call, proposal, gathering, EditedNodes::default())
    };
    sides.with_context(|| format!("proposal {seq} cannot be drawn"))
}

/// Checks that the output may be written. Only a PNG file is overwritten.
fn check_output(output: &Path) -> anyhow::Result<()> {
    if output == Path::new(STDOUT) {
        if io::stdout().is_terminal() {
            bail!("a terminal cannot show a PNG; name a file with -o, or pipe stdout to a program");
        }
        return Ok(());
    }
    if output.is_dir() {
        bail!("{} is a folder; give a file name", output.display());
    }
    let mut front = Vec::new();
    match File::open(output) {
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error).with_context(|| write_error(output)),
        Ok(file) => file.take(SIGNATURE.len() as u64).read_to_end(&mut front)?,
    };
    if !front.is_empty() && front != SIGNATURE {
        bail!(
            "{} exists and is not a PNG, so it is not replaced; choose another file",
            output.display()
        );
    }
    let end = output.extension().and_then(|end| end.to_str()).unwrap_or("png");
    if !end.eq_ignore_ascii_case("png") {
        bail!("{} has the extension .{end}, but only PNG is supported; use .png", output.display());
    }
    Ok(())
}

fn write_error(output: &Path) -> String {
    format!("{} cannot be written", output.display())
}

fn write_png(output: &Path, png: &[u8]) -> anyhow::Result<()> {
    if output != Path::new(STDOUT) {
        // The original error names a temporary file, which means nothing to the user.
        let written = write_file(output, png).map_err(|error| io::Error::from(error.kind()));
        return written.with_context(|| write_error(output));
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(png).and_then(|()| stdout.flush()) {
        // A closed pipe is not an error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("stdout cannot be written")
        }
        _ => Ok(()),
    }
}
