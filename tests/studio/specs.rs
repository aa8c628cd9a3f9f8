//! The plugin's own specs, which also run in a real Studio, in the simulated one.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use studio_sim::{Options, Signals, Studio, models};
use vector_tests::repository;
use vector_tests::requirement::Requirement;

use super::until;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn plugin_specs_pass_in_both_signal_modes() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = repository::root().join("plugin");
    copy(&plugin.join("src"), &folder.path().join("src"));
    copy(&plugin.join("specs"), &folder.path().join("specs"));
    // The plugin itself must not run beside them.
    fs::remove_file(folder.path().join("src/init.server.luau")).unwrap();
    let specs = models::plugin_from_folder(folder.path(), "VectorSpecs").unwrap();
    for signals in [Signals::Immediate, Signals::Deferred] {
        let studio = Studio::new(Options { signals, ..Options::default() }).unwrap();
        studio.load_plugin(&specs).unwrap();
        let line = |studio: &Studio| {
            let lines = studio.output().into_iter();
            lines.map(|line| line.text).find(|text| text.starts_with("VECTOR SPECS "))
        };
        until(&studio, "the specs end", |studio| line(studio).is_some());
        let text = line(&studio).unwrap();
        let results: Json = serde_json::from_str(&text["VECTOR SPECS ".len()..]).unwrap();
        let results = results.as_object().unwrap();
        assert!(results.len() >= 5, "{text}");
        for (name, result) in results {
            let failed = result["failed"].as_array().is_some_and(|failed| !failed.is_empty());
            assert!(!failed && result["raised"].is_null(), "{signals:?}, {name}: {result:#}");
            assert!(result["checks"].as_u64().unwrap() > 0, "{name}");
        }
    }
}

#[test]
fn built_specs_start_no_second_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("specs.rbxm");
    let project = repository::root().join("plugin/specs.project.json");
    let built = Command::new("rojo").arg("build").arg(&project).arg("-o").arg(&model).output();
    let Ok(built) = built else {
        Requirement::Rojo.skip("the plugin's specs as Rojo builds them (rojo is not on the PATH)");
        return;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let studio = Studio::new(Options::default()).unwrap();
    studio.load_plugin(&fs::read(model).unwrap()).unwrap();
    until(&studio, "the specs end", |studio| {
        studio.output().iter().any(|line| line.text.starts_with("VECTOR SPECS "))
    });
    studio.run_for(2.0);
    assert!(studio.widgets().is_empty(), "the plugin itself runs beside its specs");
}
