//! What Studio tells for one plan, beside what the mirror keeps of the place: it counts for the call
//! that asked it, and is asked anew for the next.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::command::AssetContents;

use super::{File, Scene};
use crate::core::refusal::{Refusal, refuse};

/// What was told for the call that is planned.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// By its number, what an asset holds, or why that cannot be told.
    assets: BTreeMap<u64, Result<AssetContents, String>>,
    missing: RefCell<BTreeSet<u64>>,
}

impl Facts {
    /// The assets that were asked for and are not known.
    pub(super) fn missing_assets(&self) -> Vec<u64> {
        self.missing.take().into_iter().collect()
    }
}

impl Scene {
    fn facts(&self) -> Option<&Facts> {
        match &self.file {
            File::Open(mirror) => Some(&mirror.facts),
            _ => None,
        }
    }

    /// Forgets what was told for the call before.
    pub fn forget_facts(&mut self) {
        if let File::Open(mirror) = &mut self.file {
            mirror.facts = Facts::default();
        }
    }

    /// What an asset holds. Where nobody has told yet, that is noted, and the plan is made again.
    ///
    /// # Errors
    /// It cannot be told, or the place is a file.
    pub fn asset(&self, asset: u64) -> Result<AssetContents, Refusal> {
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
    pub fn know_asset(&mut self, asset: u64, told: Result<AssetContents, String>) {
        if let File::Open(mirror) = &mut self.file {
            mirror.facts.assets.insert(asset, told);
        }
    }
}
