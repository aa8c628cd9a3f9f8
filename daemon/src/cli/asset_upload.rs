//! `vector assets upload`: makes an asset of a file, after it was approved.
//!
//! `crate::tasks::asset_upload` does the work. This module asks, and prints the results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use scene_schemas::entry::{Approver, AssetAccount, AssetFile, AssetFileKind, AssetReview};
use serde_json::json;
use vector_ledger::Ledger;

use super::assets::choice_parser;
use super::style::terminal_line;
use super::terminal::{Terminal, confirm_question, escape_line_ends, print_line, print_status};
use super::{ExitStatus, interrupt};
use crate::tasks::asset_upload::{
    AssetSource, AssetUploadState, AssetUploads, AssetWishes, MadeAsset, PastAssetUpload,
    upload_asset,
};
use crate::tasks::deploy::format_size;

/// The file is uploaded with an API key of yours, with the scopes asset:read and asset:write:
/// `vector key set roblox-upload` stores it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector assets upload tree.png --user 123
  vector assets upload tree.glb --group 45 --name 'Oak tree'
  vector assets upload steps.ogg --user 123 --yes --json # in CI

Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.")]
pub(super) struct UploadArgs {
    /// The file: an image (png, jpg, bmp, tga), a sound (mp3, ogg, wav, flac) or a model (fbx, gltf,
    /// glb, rbxm, rbxmx)
    file: PathBuf,
    /// What it becomes [default: by the extension of the file]
    #[arg(long, value_parser = choice_parser(AssetFileKind::ALL, AssetFileKind::name))]
    kind: Option<AssetFileKind>,
    /// The name of the asset [default: that of the file]
    #[arg(long)]
    name: Option<String>,
    /// The description of the asset
    #[arg(long, default_value = "")]
    description: String,
    /// The user that it belongs to, by ID [default: the account of the last upload]
    #[arg(long, value_name = "ID", conflicts_with = "group")]
    user: Option<u64>,
    /// The group that it belongs to, by ID
    #[arg(long, value_name = "ID")]
    group: Option<u64>,
    /// Upload it without asking
    #[arg(long, short)]
    yes: bool,
    /// Upload it although the same file was uploaded before
    #[arg(long)]
    again: bool,
    /// Print the asset as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &UploadArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Ledger::open(home)?;
    let history = AssetUploads::read(&ledger)?;
    let named = args.user.map(|id| AssetAccount::User { id });
    let named = named.or_else(|| args.group.map(|id| AssetAccount::Group { id }));
    let Some(account) = named.or_else(|| history.last_account()) else {
        bail!(
            "say whose asset it becomes: --user ID or --group ID. The number is in the address of your \
             profile or group; later uploads use it again"
        );
    };
    let wishes = AssetWishes {
        kind: args.kind,
        name: args.name.clone(),
        description: args.description.clone(),
        account,
        by: if args.yes { Approver::Yes } else { Approver::Person },
        generated: None,
    };
    let source = AssetSource::read(&args.file, wishes)?;
    match history.find_same(&source.file).filter(|_| !args.again) {
        Some(PastAssetUpload { state: AssetUploadState::Uploaded { .. }, .. }) => {
            print_status("The same file is uploaded already; --again uploads it once more.");
        }
        Some(past) if past.operation().is_some() => {
            print_status(&format!(
                "Reading the end of upload {}, which was interrupted.",
                past.seq
            ));
        }
        Some(_) => {}
        None => {
            print_status(&render_card(&source.file));
            let otherwise = "--yes uploads it without asking";
            let question = "Upload it? [y/N]";
            if !args.yes && !confirm_question(question, "Nothing was uploaded", otherwise)? {
                return Ok(ExitStatus::NotApproved);
            }
        }
    }
    let cancel = interrupt::cancel_switch();
    let terminal = Terminal::for_command(args.json);
    let upload = || upload_asset(&ledger, &source, args.again, &cancel);
    let made = terminal.with_spinner("Uploading", upload)?;
    print_asset(args, made);
    Ok(match made.review {
        AssetReview::Rejected => ExitStatus::Failed,
        AssetReview::Approved | AssetReview::Reviewing | AssetReview::Unknown => ExitStatus::Done,
    })
}

fn render_card(file: &AssetFile) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "Upload {} as a new {}", terminal_line(&file.file), file.kind.name());
    let _ = writeln!(text, "  name         {}", terminal_line(&file.name));
    if !file.description.is_empty() {
        let _ = writeln!(text, "  description  {}", terminal_line(&file.description));
    }
    let _ = writeln!(text, "  belongs to   {}", file.account);
    let _ = writeln!(text, "  size         {}", format_size(file.size));
    text.push_str(
        "An upload cannot be undone: the asset can be archived, not deleted. Roblox reviews it.",
    );
    match file.kind {
        AssetFileKind::Image | AssetFileKind::Decal => text.push_str(
            " If it is restricted, an experience needs a grant to load it, and a grant cannot be taken back.",
        ),
        AssetFileKind::Audio => {
            text.push_str(" Roblox counts the sounds that an account uploads in a month.");
        }
        AssetFileKind::Model => {}
    }
    text
}

fn print_asset(args: &UploadArgs, made: MadeAsset) {
    let MadeAsset { asset, review } = made;
    if args.json {
        let line = json!({ "asset": asset, "review": review });
        print_line(&escape_line_ends(&line.to_string()));
        return;
    }
    print_line(&format!("rbxassetid://{asset}"));
    match review {
        AssetReview::Reviewing => {
            print_status("Roblox reviews it; others see it only after that.");
        }
        AssetReview::Rejected => print_status("Roblox has rejected it; it cannot be used."),
        AssetReview::Approved | AssetReview::Unknown => {}
    }
}
