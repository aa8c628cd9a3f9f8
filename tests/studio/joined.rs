//! The shipped plugin in a place that Rojo syncs with a project which the daemon has open.

use std::fs;

use serde_json::json;
use studio_sim::{SharedSettings, Signals};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::{ask, click, eval, pair, studio, until, until_shown, until_there};

#[test]
fn card_names_the_rojo_file_and_studio_is_unchanged() {
    let home = Home::new();
    let project = home.path().join("game");
    fs::create_dir_all(project.join("src")).unwrap();
    let tree = json!({ "name": "game", "tree": {
        "$className": "DataModel", "ServerScriptService": { "$path": "src" } } });
    fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
    let file = project.join("src/Main.server.luau");
    fs::write(&file, "print(1)\n").unwrap();
    let daemon = Daemon::of_project(binary::vector(), home.path(), &project);
    let settings = SharedSettings::default();
    settings.set("VectorPort", Some(daemon.port.to_string()));
    let studio = studio(&settings, Signals::Deferred);
    pair(&studio, &daemon);
    ask(&studio, "replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
    until_there(&studio, "Approve");
    until_shown(&studio, "In files of Rojo: src/Main.server.luau");
    let before = studio.snapshot();
    click(&studio, "Approve");
    until(&studio, "written", |_| fs::read_to_string(&file).unwrap() == "print(2)\n");
    until(&studio, "settled", |studio| !super::has(studio, "Stop"));
    assert_eq!(studio.snapshot(), before, "Rojo brings it to Studio, and nobody else");
    assert_eq!(eval(&studio, "return game.ServerScriptService.Main.Source"), "print(1)\n");
    assert_eq!(studio.unrecorded_writes(), Vec::<String>::new());
    assert_eq!(studio.errors(), Vec::<String>::new());
}
