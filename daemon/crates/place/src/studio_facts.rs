//! Facts that Studio reported for a single plan, beside the mirrored place. They are valid only for
//! the call that requested them, and requested again for the next.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::InstanceId;
use scene_schemas::command::AssetContents;
use scene_schemas::proposal::{ImplicitTarget, ImplicitTargetReason};
use scene_schemas::refusal::{Refusal, refuse};

use super::{Scene, SourceFile};

/// The facts for the call being planned.
#[derive(Debug, Default)]
pub(super) struct StudioFacts {
    /// By asset number, the contents of the asset, or the reason why they are not available.
    assets: BTreeMap<u64, Result<AssetContents, String>>,
    missing: RefCell<BTreeSet<u64>>,
    /// The selected instances (at most a few of them) and the number of all selected instances.
    selection: Option<(Vec<InstanceId>, u32)>,
    is_selection_missing: Cell<bool>,
    /// The instance that the call refers to, which overrides the selection.
    implicit_target: Option<ImplicitTarget>,
}

/// The instance that a call without a path refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImplicitInstance {
    One(ImplicitTarget),
    /// Not a single instance: this many are selected in Studio. 0 if the selection is empty or not
    /// known, or the selected instance is gone.
    Many(u32),
    /// The place is a file, which has no selection.
    File,
}

impl StudioFacts {
    /// Returns and clears the assets that were requested but are not known.
    pub(super) fn missing_assets(&self) -> Vec<u64> {
        self.missing.take().into_iter().collect()
    }

    /// Returns and clears whether the selection was requested but is not known.
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

    /// Clears the facts of the previous call.
    pub fn forget_facts(&mut self) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts = StudioFacts::default();
        }
    }

    /// Sets the instance that the next call refers to if it has no path. None to use the selection.
    pub fn set_implicit_target(&mut self, target: Option<ImplicitTarget>) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.implicit_target = target;
        }
    }

    /// Records the selected instances, and how many are selected in total.
    pub fn set_selection(&mut self, ids: &[InstanceId], count: u32) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.selection = Some((ids.to_vec(), count));
        }
    }

    /// Returns the instance that a call without a path refers to. An unknown selection is recorded
    /// as missing, so that the call is replanned once it is known.
    ///
    /// # Errors
    /// The implicit target no longer exists.
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

    /// Returns the contents of an asset. Unknown contents are recorded as missing, so that the call
    /// is replanned once they are known.
    ///
    /// # Errors
    /// The contents are not available or not known yet, or the place is a file.
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

    /// Records the contents of an asset, or the reason why they are not available.
    pub fn set_asset_contents(&mut self, asset: u64, contents: Result<AssetContents, String>) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.assets.insert(asset, contents);
        }
    }
}
