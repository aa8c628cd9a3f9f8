//! What Studio tells for one plan, beside what the mirror keeps of the place: it counts for the call
//! that asked it, and is asked anew for the next.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::InstanceId;
use scene_schemas::command::AssetContents;
use scene_schemas::proposal::{ImplicitTarget, ImplicitTargetReason};
use scene_schemas::refusal::{Refusal, refuse};

use super::{Scene, SourceFile};

/// What was told for the call that is planned.
#[derive(Debug, Default)]
pub(super) struct StudioFacts {
    /// By its number, what an asset holds, or why that cannot be told.
    assets: BTreeMap<u64, Result<AssetContents, String>>,
    missing: RefCell<BTreeSet<u64>>,
    /// What is selected: at most a few of them, and how many there are.
    selection: Option<(Vec<InstanceId>, u32)>,
    is_selection_missing: Cell<bool>,
    /// Whom the call means, whatever is selected.
    implicit_target: Option<ImplicitTarget>,
}

/// What a call means that leaves out its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImplicitInstance {
    One(ImplicitTarget),
    /// Nobody can tell: so many are selected in Studio.
    Many(u32),
    /// The place is a file, where nothing is selected.
    File,
}

impl StudioFacts {
    /// The assets that were asked for and are not known.
    pub(super) fn missing_assets(&self) -> Vec<u64> {
        self.missing.take().into_iter().collect()
    }

    /// Whether the selection was asked for and is not known.
    pub(super) fn is_selection_missing(&self) -> bool {
        self.is_selection_missing.take()
    }
}

impl Scene {
    fn facts(&self) -> Option<&StudioFacts> {
        match &self.file {
            SourceFile::Studio(mirror) => Some(&mirror.facts),
            _ => None,
        }
    }

    /// Forgets what was told for the call before.
    pub fn forget_facts(&mut self) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts = StudioFacts::default();
        }
    }

    /// Says whom the next call means where it leaves out its path; none where the selection tells.
    pub fn set_implicit_target(&mut self, meant: Option<ImplicitTarget>) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.implicit_target = meant;
        }
    }

    /// Takes what is selected, and how many instances that are.
    pub fn set_selection(&mut self, ids: &[InstanceId], count: u32) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.selection = Some((ids.to_vec(), count));
        }
    }

    /// Whom a call means that leaves out its path. Where nobody has told what is selected, that is
    /// noted, and the plan is made again.
    ///
    /// # Errors
    /// What was meant is gone.
    pub fn implicit_instance(&self) -> Result<ImplicitInstance, Refusal> {
        let Some(facts) = self.facts() else {
            return Ok(ImplicitInstance::File);
        };
        if let Some(ImplicitTarget { target, by }) = &facts.implicit_target {
            let node = self.by_id(&target.id).filter(|node| self.is_live(*node));
            let node = node.or_else(|| self.resolve(&target.path).ok());
            return match node {
                Some(node) => {
                    Ok(ImplicitInstance::One(ImplicitTarget { target: self.target(node), by: *by }))
                }
                None => refuse!(
                    "{}, which was meant where the path was left out, is gone. Ask for it again.",
                    target.path
                ),
            };
        }
        let Some((ids, count)) = &facts.selection else {
            facts.is_selection_missing.set(true);
            return Ok(ImplicitInstance::Many(0));
        };
        let node = ids.first().and_then(|id| self.by_id(id)).filter(|node| self.is_live(*node));
        Ok(match node {
            Some(node) if *count == 1 => ImplicitInstance::One(ImplicitTarget {
                target: self.target(node),
                by: ImplicitTargetReason::Selected,
            }),
            _ => ImplicitInstance::Many(if *count == 1 { 0 } else { *count }),
        })
    }

    /// What an asset holds. Where nobody has told yet, that is noted, and the plan is made again.
    ///
    /// # Errors
    /// It cannot be told, or the place is a file.
    pub fn asset_contents(&self, asset: u64) -> Result<AssetContents, Refusal> {
        let Some(facts) = self.facts() else {
            return refuse!(
                "Only Roblox Studio can load an asset, and this place is a file. Open the place in \
                 Studio with Vector's plugin and ask for it there, or insert the asset in Studio by \
                 hand and save the file."
            );
        };
        match facts.assets.get(&asset) {
            Some(Ok(holds)) => Ok(holds.clone()),
            Some(Err(reason)) => refuse!("{reason}"),
            None => {
                facts.missing.borrow_mut().insert(asset);
                refuse!("Studio has not told what asset {asset} holds. Ask for it again.")
            }
        }
    }

    /// Takes what an asset holds, or why that cannot be told.
    pub fn set_asset_contents(&mut self, asset: u64, told: Result<AssetContents, String>) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.assets.insert(asset, told);
        }
    }
}
