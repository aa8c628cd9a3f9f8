//! Facts that Studio reported for a single plan, beside the mirrored place. They are valid only for
//! the call that requested them, and requested again for the next.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::InstanceId;
use scene_schemas::command::AssetContents;
use scene_schemas::refusal::{Refusal, refuse};

use super::{Node, Scene, SourceFile};

/// The facts for the call being planned.
#[derive(Debug, Clone, Default)]
pub(super) struct StudioFacts {
    /// By asset number, the contents of the asset, or the reason why they are not available.
    assets: BTreeMap<u64, Result<AssetContents, String>>,
    missing: RefCell<BTreeSet<u64>>,
    /// The selected instances (at most a few of them) and the number of all selected instances.
    selection: Option<(Vec<InstanceId>, u32)>,
    is_selection_missing: Cell<bool>,
}

/// What is selected in Studio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudioSelection {
    One(Node),
    /// Not a single instance: this many are selected. 0 if the selection is empty or not known, or
    /// the selected instance is gone.
    Many(u32),
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

    /// Records the selected instances, and how many are selected in total.
    pub fn set_selection(&mut self, ids: &[InstanceId], count: u32) {
        if let SourceFile::Studio(mirror) = &mut self.file {
            mirror.facts.selection = Some((ids.to_vec(), count));
        }
    }

    /// Returns what is selected in Studio. An unknown selection is recorded as missing, so that the
    /// call is replanned once it is known. A file has no selection.
    pub fn selection(&self) -> StudioSelection {
        let Some(facts) = self.facts() else {
            return StudioSelection::Many(0);
        };
        let Some((ids, count)) = &facts.selection else {
            facts.is_selection_missing.set(true);
            return StudioSelection::Many(0);
        };
        let node = ids.first().and_then(|id| self.by_id(id)).filter(|node| self.is_live(*node));
        match (node, *count) {
            (Some(node), 1) => StudioSelection::One(node),
            (None, 1) => StudioSelection::Many(0),
            (_, count) => StudioSelection::Many(count),
        }
    }

    /// Returns the contents of an asset. Unknown contents are recorded as missing, so that the call
    /// is replanned once they are known.
    ///
    /// # Errors
    /// The contents are not available or not known yet, or the place is a file.
    pub fn asset_contents(&self, asset: u64) -> Result<AssetContents, Refusal> {
        let Some(facts) = self.facts() else {
            return refuse!("This place is not open in Studio.");
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
