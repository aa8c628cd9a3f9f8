//! Data from outside the scene for a call: a web page, diagnostics, specs, a picture. The engine
//! supplies the request as [`FetchWork`] and records the answer as the call's entry.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scene_schemas::InstancePath;
use serde_json::{Value as Json, json};
use vector_core::play::{PlayRequest, PlayedTwice};
use vector_core::specs::SpecsRequest;
use vector_core::tools::{DiagnosticsRequest, FetchRequest};
use vector_engine::fetch::{CodeOutcome, FetchResult, FetchWork, FinishedRun, RunScene};
use vector_engine::settings;
use vector_luau::{FindingSeverity, SourceFinding};
use vector_place::Scene;
use vector_providers::http::CancelSwitch;
use vector_render::{SolidSet, ViewDirection, ViewFrame, draw_solids};
use vector_runtime::{PlayLimits, RunLimits, SpecLimits, play_scene, run_script, run_specs};

use super::check::{self, CheckedScript, ScriptLinters};
use super::{asset, asset_upload, cloud, generate, web};

/// The message for a fetch that ended because its task was cancelled.
pub(super) const CANCELLED_MESSAGE: &str = "It was ended: the task was cancelled.";

const NO_COPY: &str = "The code did not run, because there is no copy of the place.";

/// What each of the two games of a check may use: somebody waits for it.
const CHECK_LIMITS: PlayLimits =
    PlayLimits { real: Duration::from_secs(5), memory: 256 << 20, steps: 20_000_000 };

/// Width and height of the pictures for a model, in pixels. Larger ones cost more and show little
/// more.
const PICTURE_SIDE: u32 = 512;

/// Performs a fetch and waits for the result.
///
/// # Errors
/// A sentence that says what to do instead.
pub fn perform_fetch(work: &FetchWork, cancel: &CancelSwitch) -> Result<FetchResult, String> {
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let answer = match &*work.request {
        FetchRequest::Page(address) => web::read_page(address, cancel).map(Json::from),
        FetchRequest::Diagnostics(wanted) => fetch_diagnostics(work, wanted, cancel),
        FetchRequest::Specs(request) => {
            return run_specs_on_copy(work, request, cancel)
                .map(|run| FetchResult::Run(Box::new(run)));
        }
        FetchRequest::StoreSearch(search) => cloud::search_store(search, cancel),
        FetchRequest::Asset(asset) => {
            return asset::fetch_asset(*asset, cancel).map(FetchResult::Asset);
        }
        FetchRequest::Generate(request) => {
            return generate::generate_for_call(work, request, cancel);
        }
        FetchRequest::Upload(wish) => return asset_upload::upload_for_call(work, wish, cancel),
        FetchRequest::Picture { of, solids, view } => fetch_picture(of, solids, *view),
        FetchRequest::Run(request) => {
            let limits = RunLimits::default();
            let run = run_code(work, cancel, |scene, is_cancelled| {
                run_script(scene, request, limits, is_cancelled).map(CodeOutcome::Run)
            });
            return run.map(|run| FetchResult::Run(Box::new(run)));
        }
        FetchRequest::Play(request) => {
            let limits = PlayLimits::default();
            let run = run_code(work, cancel, |scene, is_cancelled| {
                play_scene(scene, request, limits, is_cancelled).map(CodeOutcome::Play)
            });
            return run.map(|run| FetchResult::Run(Box::new(run)));
        }
        FetchRequest::Review(_) | FetchRequest::Task(_) => {
            return Err("Only a place that is open in the daemon has other models.".to_owned());
        }
        // Studio performs it.
        FetchRequest::PlayInStudio(_) => return Err(NO_COPY.to_owned()),
        FetchRequest::Check(request) => {
            return check_proposal(work, request, cancel)
                .map(|run| FetchResult::Run(Box::new(run)));
        }
    };
    answer.map(FetchResult::Answer)
}

/// Runs code on the copy of the scene that came with the fetch.
fn run_code(
    work: &FetchWork,
    cancel: &CancelSwitch,
    run: impl FnOnce(&Scene, Rc<dyn Fn() -> bool>) -> Result<CodeOutcome, String>,
) -> Result<FinishedRun, String> {
    let Some(RunScene { scene, state, .. }) = &work.run_scene else {
        return Err(NO_COPY.to_owned());
    };
    let own = cancel.clone();
    let outcome = run(scene, Rc::new(move || own.is_cancelled()));
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let outcome = outcome.map_err(|error| format!("The code could not be run: {error}"))?;
    Ok(FinishedRun { outcome, missing: scene.take_missing(), state: state.clone() })
}

/// Plays the game on the copies of the scene without the proposal and with it, at the same time.
fn check_proposal(
    work: &FetchWork,
    request: &PlayRequest,
    cancel: &CancelSwitch,
) -> Result<FinishedRun, String> {
    let Some(RunScene { scene, state, proposed: Some(proposed) }) = &work.run_scene else {
        return Err(NO_COPY.to_owned());
    };
    let play = |scene: &Scene, cancel: CancelSwitch| {
        let played =
            play_scene(scene, request, CHECK_LIMITS, Rc::new(move || cancel.is_cancelled()));
        played.map(|outcome| (outcome, scene.take_missing()))
    };
    let (first, own) = (scene.fork(), cancel.clone());
    let (before, after) = thread::scope(|scope| {
        let before = scope.spawn(move || play(&first, own));
        let after = play(proposed, cancel.clone());
        (before.join(), after)
    });
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let before = before.unwrap_or_else(|_| Err("an internal error".to_owned()));
    let failed = |error: String| format!("the runtime failed: {error}.");
    let ((before, mut missing), (after, also)) = (before.map_err(failed)?, after.map_err(failed)?);
    missing.join(also);
    let outcome = CodeOutcome::Check(Box::new(PlayedTwice { before, after }));
    Ok(FinishedRun { outcome, missing, state: state.clone() })
}

fn fetch_diagnostics(
    work: &FetchWork,
    wanted: &DiagnosticsRequest,
    cancel: &CancelSwitch,
) -> Result<Json, String> {
    let found = work.folder.as_deref().map(settings::find_selene_settings).transpose();
    let found = found.map_err(|why| format!("{why}. Fix it and try again."))?.flatten();
    let (linters, setting_findings) =
        ScriptLinters::from_settings(found.as_ref().map(|found| &found.settings));
    let scripts: Vec<CheckedScript> = wanted
        .scripts
        .iter()
        .map(|it| CheckedScript {
            path: it.path.clone(),
            class: it.class.clone(),
            file: work.files.get(&it.path).cloned(),
            text: it.text.clone(),
        })
        .collect();
    let mut lists = check::check_scripts(&scripts, &linters, &|| cancel.is_cancelled());
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let untyped = check::add_types(&scripts, &mut lists, &|| cancel.is_cancelled()).err();
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let file = found.map(|found| found.file.display().to_string()).unwrap_or_default();
    let settings = setting_findings.iter().map(|it| (json!({ "file": file }), it));
    let in_scripts = scripts
        .iter()
        .zip(&lists)
        .flat_map(|(script, found)| found.iter().map(move |it| (script_json(script), it)));
    let all: Vec<(Json, &SourceFinding)> =
        settings.chain(in_scripts).filter(|(_, it)| it.severity >= wanted.least).collect();
    let of = |severity| all.iter().filter(|(_, it)| it.severity == severity).count();
    let counts = json!({
        "errors": of(FindingSeverity::Error),
        "warnings": of(FindingSeverity::Warning),
        "notes": of(FindingSeverity::Note),
    });
    let end = (wanted.skip + wanted.limit).min(all.len());
    let page = all.iter().take(end).skip(wanted.skip).map(|(place, it)| finding_json(place, it));
    let mut answer = json!({
        "findings": page.collect::<Vec<_>>(),
        "counts": counts,
        "scripts": scripts.len(),
    });
    if let Some(why) = untyped {
        answer["types"] = why.into();
    }
    if end < all.len() {
        answer["cursor"] = end.to_string().into();
    }
    Ok(answer)
}

fn script_json(script: &CheckedScript) -> Json {
    let mut named = json!({ "path": script.path });
    if let Some(file) = &script.file {
        named["file"] = file.as_str().into();
    }
    named
}

fn finding_json(place: &Json, finding: &SourceFinding) -> Json {
    let mut object = place.clone();
    object["line"] = finding.at.line.into();
    object["column"] = finding.at.column.into();
    object["severity"] = finding.severity.name().into();
    object["code"] = finding.code.as_str().into();
    object["message"] = finding.message.as_str().into();
    if !finding.notes.is_empty() {
        object["notes"] = json!(finding.notes);
    }
    object
}

/// Runs specs on the copy of the scene that came with the fetch.
fn run_specs_on_copy(
    work: &FetchWork,
    request: &SpecsRequest,
    cancel: &CancelSwitch,
) -> Result<FinishedRun, String> {
    let Some(RunScene { scene, state, .. }) = &work.run_scene else {
        return Err(NO_COPY.to_owned());
    };
    let total_time = Duration::from_secs(request.seconds);
    let limits = SpecLimits { total_time, ..SpecLimits::default() };
    let run = run_specs(scene.fork(), &request.specs, limits, &|| cancel.is_cancelled());
    if cancel.is_cancelled() {
        return Err(CANCELLED_MESSAGE.to_owned());
    }
    let outcome = CodeOutcome::Specs(run.results);
    Ok(FinishedRun { outcome, missing: run.missing, state: state.clone() })
}

/// Draws a picture and returns it in base64, with notes on what it shows.
fn fetch_picture(
    of: &InstancePath,
    solids: &SolidSet,
    view: ViewDirection,
) -> Result<Json, String> {
    let frame = ViewFrame::enclose_solids(&[solids], view);
    let frame = frame.ok_or_else(|| format!("There is nothing to see in {of}."))?;
    let png = draw_solids(solids, (PICTURE_SIDE, PICTURE_SIDE), frame)
        .to_png()
        .map_err(|refusal| refusal.0)?;
    let mut answer = json!({
        "shown": of, "view": view.name(), "parts": solids.all.len(), "png": STANDARD.encode(png),
    });
    let notes = solids.omission_notes();
    if !notes.is_empty() {
        answer["notes"] = json!(notes);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use vector_core::tools::FetchScript;
    use vector_place::FileFormat;

    use vector_engine::PlanState;
    use vector_ledger::Ledger;

    use super::*;

    #[test]
    fn fetch_ends_when_its_task_is_cancelled() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let endless = "return function() it('a', function() while true do end end) end";
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        let spec = scene.create(root, "ModuleScript", "A.spec");
        scene.set_source(spec, endless.to_owned());
        let wanted = SpecsRequest { specs: vec![spec], seconds: 100 };
        let state = PlanState::without_proposals(&scene);
        let looking = FetchWork {
            request: Arc::new(FetchRequest::Specs(wanted)),
            folder: None,
            files: HashMap::new(),
            run_scene: Some(RunScene { scene, state, proposed: None }),
            permitted: None,
            ledger: Arc::clone(&ledger),
        };
        let cancel = CancelSwitch::new();
        let own = cancel.clone();
        let began = std::time::Instant::now();
        let look = std::thread::spawn(move || perform_fetch(&looking, &own));
        cancel.cancel();
        assert_eq!(look.join().unwrap().unwrap_err(), CANCELLED_MESSAGE);
        assert!(began.elapsed().as_secs() < 4, "{:?}", began.elapsed());
        let script = FetchScript {
            path: "game.A".parse().unwrap(),
            class: "ModuleScript".to_owned(),
            text: Some("print(x)".to_owned()),
        };
        let wanted = DiagnosticsRequest {
            scripts: vec![script],
            least: FindingSeverity::Note,
            skip: 0,
            limit: 9,
        };
        let looking = FetchWork {
            request: Arc::new(FetchRequest::Diagnostics(Box::new(wanted))),
            folder: None,
            files: HashMap::new(),
            run_scene: None,
            permitted: None,
            ledger,
        };
        assert_eq!(perform_fetch(&looking, &cancel).unwrap_err(), CANCELLED_MESSAGE);
    }
}
