//! The download of an asset and its scan: what its files show, what its scripts reach when they run in
//! the sandbox of the runtime, and what it uses that may not load. It must not decide what happens to
//! the asset.

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::command::{AssetContents, AssetFinding, AssetFindingKind};
use vector_core::asset_limits::{AssetSource, check_asset_limits};
use vector_core::asset_scan::{DownloadedAsset, name_scripts, scan_asset};
use vector_place::{AssetModel, ContentUses};
use vector_providers::http::CancelSwitch;
use vector_runtime::{ModelAccess, WatchLimits, watch_model};

use super::{asset_content, cloud};

/// Stack of the thread that scans: the parser recurses.
const STACK: usize = 64 << 20;

/// How long the scan of the files may take: somebody waits for the card.
const SCAN_TIME: Duration = Duration::from_secs(10);

/// What the scripts of an asset may use.
const LIMITS: WatchLimits =
    WatchLimits { real: Duration::from_secs(3), memory: 128 << 20, steps: 10_000_000 };

const NOT_RUN: &str = "The scripts of the asset could not be run to see what they reach.";

/// Downloads an asset and scans it.
///
/// # Errors
/// It cannot be downloaded, in a sentence that says what to do.
pub(super) fn fetch_asset(asset: u64, cancel: &CancelSwitch) -> Result<DownloadedAsset, String> {
    let key = cloud::find_assets_key()?;
    let file = cloud::download_asset(asset, &key, cancel)?;
    Ok(scan_download(file, cancel, |uses| asset_content::find_unresolved(uses, &key, cancel)))
}

/// Scans a downloaded asset, and has `check_content` find what it uses that may not load. One that is not
/// a model or is too large is refused when it is planned.
fn scan_download(
    file: Vec<u8>,
    cancel: &CancelSwitch,
    check_content: impl FnOnce(&ContentUses) -> Vec<AssetFinding>,
) -> DownloadedAsset {
    let model = AssetModel::read(&file).ok();
    let model = model.filter(|it| check_asset_limits(it.contents(), AssetSource::File).is_ok());
    let findings = model.map(|model| {
        let uses = model.content_uses();
        let mut found = scan_apart(model, |model| find_all(&model, cancel));
        found.extend(check_content(&uses));
        found
    });
    DownloadedAsset { file, findings }
}

/// Scans a model on a thread of its own. If that fails, every script of the model has a finding that
/// says so.
fn scan_apart(
    model: AssetModel,
    scan: impl FnOnce(AssetModel) -> Vec<AssetFinding> + Send,
) -> Vec<AssetFinding> {
    // The thread owns the model, which is lost with it.
    let contents = model.contents().clone();
    let scan = move || scan(model);
    let scanned = thread::scope(|scope| {
        let spawned = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, scan);
        let scan = spawned.map_err(|error| format!("its thread could not be started: {error}"))?;
        scan.join().map_err(|_| "the scan failed inside Vector".to_owned())
    });
    scanned.unwrap_or_else(|why: String| {
        let text = format!("The asset could not be scanned: {why}. Read all of it.");
        name_scripts(&contents, &text)
    })
}

/// All findings of a model, in the order of its instances.
fn find_all(model: &AssetModel, cancel: &CancelSwitch) -> Vec<AssetFinding> {
    let end = Instant::now() + SCAN_TIME;
    let mut found = scan_asset(model, &|| cancel.is_cancelled() || Instant::now() > end);
    let cancel = cancel.clone();
    let is_cancelled: Rc<dyn Fn() -> bool> = Rc::new(move || cancel.is_cancelled());
    let watched = watch_model(model, LIMITS, &is_cancelled);
    found.extend(describe_accesses(model.contents(), watched));
    // What the text shows comes first.
    found.sort_by_key(|it| it.at);
    found
}

/// What the scripts of a model reached when they ran, or at every script that none of them ran.
fn describe_accesses(
    contents: &AssetContents,
    watched: Result<Vec<ModelAccess>, String>,
) -> Vec<AssetFinding> {
    let Ok(accesses) = watched else { return name_scripts(contents, NOT_RUN) };
    let finding = |it: &ModelAccess| AssetFinding {
        at: it.at + 1,
        text: it.to_string(),
        kind: AssetFindingKind::Code,
    };
    accesses.iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use vector_place::{FileFormat, Scene};

    use super::*;

    /// A model file with scripts of this text.
    fn file(count: usize, text: &str) -> Vec<u8> {
        let mut scene = Scene::empty(FileFormat::Binary);
        let root = scene.root();
        let kit = scene.create(root, "Model", "Kit");
        for _ in 0..count {
            let script = scene.create(kit, "Script", "Main");
            scene.set_source(script, text.to_owned());
        }
        scene.encode().unwrap()
    }

    fn none(_: &ContentUses) -> Vec<AssetFinding> {
        Vec::new()
    }

    #[test]
    fn asset_that_is_too_large_to_plan_is_not_scanned() {
        let cancel = CancelSwitch::new();
        assert_eq!(scan_download(file(1_001, "require(7)"), &cancel, none).findings, None);
        assert!(scan_download(file(2, "require(7)"), &cancel, none).findings.is_some());
    }

    #[test]
    fn content_follows_what_was_found_in_scripts() {
        let found = |_: &ContentUses| {
            let (at, text) = (1, "Its Texture is asset 7.".to_owned());
            vec![AssetFinding { at, text, kind: AssetFindingKind::Content }]
        };
        let file = file(1, "require(7)");
        let findings = scan_download(file, &CancelSwitch::new(), found).findings.unwrap();
        let kinds: Vec<AssetFindingKind> = findings.iter().map(|it| it.kind).collect();
        assert!(kinds.len() > 1 && kinds[0] == AssetFindingKind::Code, "{findings:?}");
        assert_eq!(
            kinds.iter().position(|it| *it == AssetFindingKind::Content),
            Some(kinds.len() - 1)
        );
    }

    #[test]
    fn scan_that_panics_says_so_at_every_script() {
        let model = AssetModel::read(&file(2, "require(7)")).unwrap();
        let found = scan_apart(model, |_| panic!("a failure of the scan"));
        let named: Vec<u32> = found.iter().map(|it| it.at).collect();
        assert_eq!(named, [2, 3]);
        let text = "The asset could not be scanned: the scan failed inside Vector. Read all of it.";
        assert!(found.iter().all(|it| it.text == text));
    }

    #[test]
    fn scripts_that_could_not_be_run_are_named() {
        let model = AssetModel::read(&file(2, "print(1)")).unwrap();
        let found = describe_accesses(model.contents(), Err("the runtime failed".to_owned()));
        let named: Vec<(u32, &str)> = found.iter().map(|it| (it.at, it.text.as_str())).collect();
        assert_eq!(named, [(2, NOT_RUN), (3, NOT_RUN)]);
        assert_eq!(describe_accesses(model.contents(), Ok(Vec::new())), []);
    }

    #[test]
    fn cancelled_scan_says_so_at_every_script() {
        let cancel = CancelSwitch::new();
        cancel.cancel();
        let found = scan_download(file(2, "print(1)"), &cancel, none).findings.unwrap();
        let at: Vec<u32> =
            found.iter().filter(|it| it.text.contains("was ended")).map(|it| it.at).collect();
        assert_eq!(at, [2, 3]);
    }
}
