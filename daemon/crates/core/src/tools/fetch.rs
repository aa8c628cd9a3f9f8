//! What tools want that is neither in the scene nor Studio's to tell: the shell looks, and what it finds
//! is the call's answer. None of it changes a place.

use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use vector_luau::FindingSeverity;
use vector_place::{Node, Scene, SceneSnapshot};
use vector_render::{SolidSet, ViewDirection};

use crate::proposal::text_of;

/// Something to look at.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchRequest {
    /// A page of the web, by its address.
    Page(String),
    /// What is wrong with scripts.
    Diagnostics(Box<DiagnosticsRequest>),
    Specs(Box<SpecsRequest>),
    /// What a place looks like.
    Picture {
        of: InstancePath,
        /// The parts in it.
        solids: Box<SolidSet>,
        view: ViewDirection,
    },
}

/// Scripts to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticsRequest {
    pub scripts: Vec<FetchScript>,
    /// What is below this is left out.
    pub least: FindingSeverity,
    /// How many findings are told, and how many before them are passed over.
    pub limit: usize,
    pub skip: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchScript {
    pub path: InstancePath,
    pub class: String,
    /// Its text; none where it is not UTF-8.
    pub text: Option<String>,
}

/// Specs to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecsRequest {
    pub still: Arc<SceneSnapshot>,
    /// The specs' numbers in it.
    pub specs: Vec<u32>,
    /// How long they may take, in seconds.
    pub seconds: u64,
}

/// Whether an instance is a spec by its class and name.
pub fn is_spec(scene: &Scene, node: Node) -> bool {
    scene.class(node) == "ModuleScript" && scene.name(node).strip_suffix(".spec").is_some()
}

/// The scripts that `paths` and `root` name: each with all below it, in the order of the tree.
pub(super) fn scripts_to_fetch(
    scene: &Scene,
    paths: Option<&[InstancePath]>,
    root: Option<&InstancePath>,
) -> Result<Vec<Node>, Refusal> {
    let roots = match (paths, root) {
        (Some(_), Some(_)) => return refuse!("Either `paths` or `root` is needed, not both."),
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
