//! The scan of a downloaded asset: what its files show, and what its scripts reach when they run in
//! the sandbox of the runtime. It must not decide what happens to the asset.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use scene_schemas::command::AssetFinding;
use vector_core::asset_scan::{DownloadedAsset, scan_asset};
use vector_place::AssetModel;
use vector_providers::http::CancelSwitch;
use vector_runtime::{WatchLimits, watch_model};

/// Stack of the thread that scans: the parser recurses.
const STACK: usize = 64 << 20;

/// What the scripts of an asset may use: somebody waits for the card.
const LIMITS: WatchLimits =
    WatchLimits { real: Duration::from_secs(3), memory: 128 << 20, steps: 10_000_000 };

const NOT_RUN: &str = "The scripts of the asset could not be run to see what they reach.";

/// Scans a downloaded asset. One that is not a model is refused when it is planned.
pub(super) fn scan_download(file: Vec<u8>, cancel: &CancelSwitch) -> DownloadedAsset {
    let findings = thread::scope(|scope| {
        let scan = || find_all(&file, cancel);
        let spawned = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, scan);
        spawned.ok().and_then(|scan| scan.join().ok().flatten())
    });
    DownloadedAsset { file, findings }
}

/// All findings of an asset, in the order of its instances; None if it is not a model.
fn find_all(file: &[u8], cancel: &CancelSwitch) -> Option<Vec<AssetFinding>> {
    let model = AssetModel::read(file).ok()?;
    let mut found = scan_asset(&model);
    let cancel = cancel.clone();
    let is_cancelled: Rc<dyn Fn() -> bool> = Rc::new(move || cancel.is_cancelled());
    if let Ok(accesses) = watch_model(&model, LIMITS, &is_cancelled) {
        let texts = accesses.iter().map(|it| (it.at + 1, it.to_string()));
        found.extend(texts.map(|(at, text)| AssetFinding { at, text }));
    } else {
        found.extend(name_scripts(&model, NOT_RUN));
    }
    // What the text shows comes first.
    found.sort_by_key(|it| it.at);
    Some(found)
}

/// The same finding for every script of a model: any of them may be the one that is kept.
fn name_scripts(model: &AssetModel, text: &str) -> Vec<AssetFinding> {
    let scripts = model.contents().scripts.iter();
    scripts.map(|script| AssetFinding { at: script.at, text: text.to_owned() }).collect()
}
