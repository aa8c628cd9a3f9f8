//! Data that a tool needs and that neither the scene nor Studio provides. The shell obtains it and
//! answers the call. No fetch changes a place.

use scene_schemas::InstancePath;
use scene_schemas::entry::Seq;
use scene_schemas::generation::GenerationRequest;
use scene_schemas::playtest::Playtest;
use scene_schemas::refusal::{Refusal, refuse};
use vector_luau::FindingSeverity;
use vector_place::{Node, Scene};
use vector_render::{SolidSet, ViewDirection};

use crate::play::PlayRequest;
use crate::proposal::text_of;
use crate::run::RunRequest;
use crate::specs::SpecsRequest;

use super::search_assets::StoreSearch;
use super::start_task::TaskWish;
use super::upload_asset::UploadWish;

/// A request to the shell.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchRequest {
    /// A web page, by its address.
    Page(String),
    /// The diagnostics of scripts.
    Diagnostics(Box<DiagnosticsRequest>),
    Specs(SpecsRequest),
    /// A script to run on a copy of the scene.
    Run(RunRequest),
    /// A game to play on a copy of the scene.
    Play(PlayRequest),
    /// A game to play in Studio.
    PlayInStudio(Playtest),
    /// A game to play with a proposal and without it.
    Check(PlayRequest),
    StoreSearch(StoreSearch),
    /// The file of an asset, by its number. The call is planned again with it.
    Asset(u64),
    /// A model to generate, which costs credits. The shell says what a person has to permit, and does it
    /// when the call is planned again with that permission.
    Generate(GenerationRequest),
    /// A file to upload as an asset, with a permission as for a generation.
    Upload(UploadWish),
    /// A review of a pending proposal by a model, with a permission as for a generation. The session
    /// begins it.
    Review(Seq),
    /// A task for Vector's own model, with a permission as for a generation. The session begins it.
    Task(TaskWish),
    /// A rendered image of the place.
    Picture {
        of: InstancePath,
        /// The parts to render.
        solids: Box<SolidSet>,
        view: ViewDirection,
    },
}

impl FetchRequest {
    /// Whether the request runs code on a copy of the scene. The call is planned again with the
    /// result, because the code may have read what is not known.
    pub fn runs_code(&self) -> bool {
        match self {
            Self::Run(_) | Self::Play(_) | Self::Specs(_) | Self::Check(_) => true,
            Self::Page(_)
            | Self::Diagnostics(_)
            | Self::PlayInStudio(_)
            | Self::StoreSearch(_)
            | Self::Asset(_)
            | Self::Generate(_)
            | Self::Upload(_)
            | Self::Review(_)
            | Self::Task(_)
            | Self::Picture { .. } => false,
        }
    }

    /// Returns what the session of the place does itself, because it has the models.
    pub fn session_work(&self) -> Option<SessionWork> {
        match self {
            Self::Review(proposal) => Some(SessionWork::Review(*proposal)),
            Self::Task(wish) => Some(SessionWork::Task(wish.clone())),
            Self::Page(_)
            | Self::Diagnostics(_)
            | Self::Specs(_)
            | Self::Run(_)
            | Self::Play(_)
            | Self::PlayInStudio(_)
            | Self::Check(_)
            | Self::StoreSearch(_)
            | Self::Asset(_)
            | Self::Generate(_)
            | Self::Upload(_)
            | Self::Picture { .. } => None,
        }
    }

    /// Whether the request is to play the game in Studio, which needs a permission.
    pub(crate) fn is_playtest_in_studio(&self) -> bool {
        matches!(self, Self::PlayInStudio(_))
    }
}

/// What an agent asks for and the session of the place does, in a task of its own.
#[derive(Debug, Clone)]
pub enum SessionWork {
    /// A review of a pending proposal.
    Review(Seq),
    Task(TaskWish),
}

/// A request to check scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticsRequest {
    pub scripts: Vec<FetchScript>,
    /// The minimum severity to report.
    pub least: FindingSeverity,
    /// The number of findings to report, and the number to skip before them.
    pub limit: usize,
    pub skip: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchScript {
    pub path: InstancePath,
    pub class: String,
    /// The text; None if it is not UTF-8.
    pub text: Option<String>,
}

/// Returns the scripts that `paths` or `root` select. A root selects all scripts below it, in tree
/// order.
pub(super) fn scripts_to_fetch(
    scene: &Scene,
    paths: Option<&[InstancePath]>,
    root: Option<&InstancePath>,
) -> Result<Vec<Node>, Refusal> {
    let roots = match (paths, root) {
        (Some(_), Some(_)) => return refuse!("Give `paths` or `root`, not both."),
        (Some(paths), None) => {
            let nodes = paths.iter().map(|path| {
                let node = scene.resolve(path)?;
                text_of(scene, node, path).map(|_| node)
            });
            nodes.collect::<Result<Vec<_>, _>>()?
        }
        (None, Some(path)) => vec![scene.resolve(path)?],
        (None, None) => vec![scene.root()],
    };
    let alone = paths.is_some();
    let mut seen = std::collections::HashSet::new();
    let all =
        roots.iter().flat_map(|root| scene.subtree(*root).take(if alone { 1 } else { usize::MAX }));
    Ok(all.filter(|node| scene.is_script(*node) && seen.insert(*node)).collect())
}
