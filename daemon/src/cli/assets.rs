//! `vector assets`: finds assets of Roblox's Creator Store, inserts them into files, and uploads files as
//! assets.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::json;
use vector_cloud::{AssetKind, AssetSearch, AssetSummary, CreatorFilter, SearchPage, SearchSort};
use vector_core::prompt::ToolCall;

use super::asset_generate::{self, GenerateArgs};
use super::asset_upload::{self, UploadArgs};
use super::edit::{EditRequest, EditTask};
use super::interrupt;
use super::place_arg::PlaceArg;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line};
use super::terminal::{print_line, print_status, print_stdout, stdout_style};
use super::{DecideArgs, ExitStatus};
use crate::tasks::cloud::find_assets;

/// Find assets in Roblox's Creator Store, insert them into a place or a project, and upload files
#[derive(Debug, Args)]
pub(super) struct AssetsArgs {
    #[command(subcommand)]
    command: AssetsCommand,
}

#[derive(Debug, Subcommand)]
enum AssetsCommand {
    /// Search the Creator Store; no key is needed
    Search(SearchArgs),
    /// Insert an asset into a place, a model or a Rojo project, without the scripts that you do not
    /// keep
    Insert(InsertArgs),
    /// Upload an image, a sound or a model as a new asset
    Upload(UploadArgs),
    /// Generate a model from a text, for credits of Meshy
    Generate(GenerateArgs),
}

/// The asset is downloaded with an API key of yours, with the scope legacy-asset:manage:
/// `vector key set roblox-assets` stores it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector assets insert game.rbxl 1818
  vector assets insert . 1818 --into game.ReplicatedStorage

Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.")]
struct InsertArgs {
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx; or a Rojo project: its file or its
    /// folder
    place: PathBuf,
    /// The number of the asset, as in rbxassetid://123
    asset: u64,
    /// The path of the instance that it is inserted into [default: game.Workspace, or the top of a
    /// model]
    #[arg(long, value_name = "PATH")]
    into: Option<String>,
    /// Write to this file and leave the place unchanged
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show what would be done; nothing is written or recorded
    #[arg(long)]
    dry_run: bool,
    /// Do not play the game to find out whether a change brings new errors
    #[arg(long)]
    no_play: bool,
    #[command(flatten)]
    decide: DecideArgs,
}

#[derive(Debug, Args)]
struct SearchArgs {
    /// What to search for
    text: String,
    /// The kind of asset
    #[arg(long, default_value = AssetKind::Model.name())]
    #[arg(value_parser = choice_parser(AssetKind::ALL, AssetKind::name))]
    kind: AssetKind,
    /// Only assets of this user, by ID
    #[arg(long, value_name = "ID", conflicts_with = "group")]
    user: Option<u64>,
    /// Only assets of this group, by ID
    #[arg(long, value_name = "ID")]
    group: Option<u64>,
    /// Also assets of creators that Roblox has not verified
    #[arg(long)]
    any_creator: bool,
    /// Only assets that cost nothing
    #[arg(long)]
    free: bool,
    /// The order of the results; `created` and `updated` list the newest first
    #[arg(long, default_value = SearchSort::Relevance.name())]
    #[arg(value_parser = choice_parser(SearchSort::ALL, SearchSort::name))]
    sort: SearchSort,
    /// The number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// The next page, as the page before names it
    #[arg(long, value_name = "PAGE")]
    page: Option<String>,
    /// Print the page as one line of JSON
    #[arg(long)]
    json: bool,
}

/// A parser of one of these values, by its name.
pub(super) fn choice_parser<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.map(name));
    names.try_map(move |chosen| {
        all.into_iter().find(|it| name(*it) == chosen).ok_or("it is not one of the values")
    })
}

pub(super) fn run(args: &AssetsArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    match &args.command {
        AssetsCommand::Search(args) => search_store(args),
        AssetsCommand::Insert(args) => insert_asset(args, home),
        AssetsCommand::Upload(args) => asset_upload::run(args, home),
        AssetsCommand::Generate(args) => asset_generate::run(args, home),
    }
}

fn insert_asset(args: &InsertArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let at = PlaceArg::from_args(Some(&args.place), None)?;
    let mut call = json!({ "assetId": args.asset });
    let mut goal = format!("Insert asset {}", args.asset);
    if let Some(parent) = &args.into {
        call["parentPath"] = json!(parent);
        let _ = write!(goal, " into {parent}");
    }
    let request = EditRequest::Calls(vec![ToolCall::new("insert_asset", call)]);
    let (out, dry_run, decide) = (args.out.as_deref(), args.dry_run, &args.decide);
    EditTask { at, out, dry_run, is_played: !args.no_play, decide, goal, request }.run(home)
}

fn search_store(args: &SearchArgs) -> anyhow::Result<ExitStatus> {
    let creator =
        args.user.map(CreatorFilter::User).or_else(|| args.group.map(CreatorFilter::Group));
    let search = AssetSearch {
        text: args.text.clone(),
        kind: args.kind,
        creator,
        only_verified: !args.any_creator,
        only_free: args.free,
        sort: args.sort,
        limit: args.limit,
        page: args.page.clone(),
    };
    let page = find_assets(&search, &interrupt::cancel_switch()).map_err(anyhow::Error::msg)?;
    if args.json {
        print_line(&serde_json::to_string(&page)?);
        return Ok(ExitStatus::Done);
    }
    if page.assets.is_empty() {
        let more = if args.any_creator {
            String::new()
        } else {
            " --any-creator also searches those of creators that Roblox has not verified."
                .to_owned()
        };
        print_status(&format!("Nothing was found.{more}"));
    } else {
        print_stdout(&render_page(&page, stdout_style()))?;
    }
    if let Some(suggestion) = &page.suggestion {
        print_status(&format!("Did you mean `{}`?", terminal_line(suggestion)));
    }
    if let Some(next) = &page.next_page {
        print_status(&format!("More: the same with --page {}", terminal_line(next)));
    }
    Ok(ExitStatus::Done)
}

/// Renders the assets, two lines each: the number and the name, and what the store says about it.
fn render_page(page: &SearchPage, style: TextStyle) -> String {
    let width = page.assets.iter().map(|it| it.id.to_string().len()).max().unwrap_or(0);
    let mut text = String::new();
    for asset in &page.assets {
        let name = style.paint(PaintKind::Bold, terminal_line(&asset.name));
        let _ = writeln!(text, "{:>width$}  {name}", asset.id);
        let about = style.paint(PaintKind::Dim, describe_asset(asset));
        let _ = writeln!(text, "{:width$}  {about}", "");
    }
    text
}

fn describe_asset(asset: &AssetSummary) -> String {
    let mut parts = Vec::new();
    if let Some(creator) = &asset.creator {
        let verified = if asset.is_creator_verified { " (verified)" } else { "" };
        parts.push(format!("by {}{verified}", terminal_line(creator)));
    }
    let price = asset.price.as_ref().map(ToString::to_string);
    parts.extend(price.map(|price| terminal_line(&price).into_owned()));
    if let Some(votes) = asset.votes {
        parts.push(format!("{} up, {} down", votes.up, votes.down));
    }
    let counts = asset.counts;
    let count = |n: u64, noun: &str| count_noun(usize::try_from(n).unwrap_or(usize::MAX), noun);
    parts.extend(counts.triangles.map(|it| count(it, "triangle")));
    if counts.has_scripts {
        let number = counts.scripts.filter(|it| *it > 0);
        parts.push(number.map_or_else(|| "scripts".to_owned(), |it| count(it, "script")));
    }
    parts.extend(asset.seconds.map(|it| format!("{it:.0} s")));
    parts.join(", ")
}
