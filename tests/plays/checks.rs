//! Cards that say whether the game still runs.

use std::fs;

use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Scene};
use vector_tests::binary::{Home, Output};

/// A place with one script, and a module that it needs.
struct Place {
    folder: tempfile::TempDir,
    home: Home,
}

const SHOP: &str = "local prices = require(game.ReplicatedStorage.Prices)
task.wait(0.5)
print(prices.Sword.Value)
";

impl Place {
    fn new(script: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut scene = Scene::empty(FileFormat::Xml);
        let root = scene.root();
        scene.create(root, "Workspace", "Workspace");
        let storage = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
        let prices = scene.create(storage, "ModuleScript", "Prices");
        scene.set_source(prices, "return { Sword = { Value = 10 } }\n".to_owned());
        let scripts = scene.create(root, "ServerScriptService", "ServerScriptService");
        if let Some(text) = script {
            let shop = scene.create(scripts, "Script", "Shop");
            scene.set_source(shop, text.to_owned());
        }
        fs::write(folder.path().join("shop.rbxlx"), scene.encode().unwrap()).unwrap();
        Self { folder, home: Home::new() }
    }

    /// Makes a call. Nobody approves, unless the arguments say so.
    fn edit(&self, call: &Json, args: &[&str]) -> Output {
        let place = self.folder.path().join("shop.rbxlx").display().to_string();
        let args = [&["edit", place.as_str(), "--ops", "-"], args].concat();
        self.home.run(&args, &call.to_string())
    }

    /// Returns what the card of a call says of the game.
    fn runs(&self, call: &Json) -> Vec<String> {
        let shown = self.edit(call, &["--dry-run"]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let mut lines = shown.stdout.lines().map(|line| line.trim_start_matches('│'));
        let Some(first) = lines.by_ref().find(|line| line.starts_with(" runs:")) else {
            return Vec::new();
        };
        let errors = lines.take_while(|line| line.starts_with("   ") && !line.is_empty());
        std::iter::once(first).chain(errors).map(|line| line.trim().to_owned()).collect()
    }
}

fn replace(path: &str, search: &str, replace: &str) -> Json {
    json!({ "tool": "replace_text", "args": { "path": path, "search": search, "replace": replace } })
}

#[test]
fn change_that_breaks_a_script_elsewhere_names_its_line() {
    let place = Place::new(Some(SHOP));
    let renamed = replace("game.ReplicatedStorage.Prices", "Sword", "Blade");
    assert_eq!(
        place.runs(&renamed),
        [
            "runs: 1 new error, ServerScriptService.Shop:3",
            "ServerScriptService.Shop:3: attempt to index nil with 'Value' (Server)",
        ]
    );
    let dearer = replace("game.ReplicatedStorage.Prices", "10", "20");
    assert_eq!(place.runs(&dearer), ["runs: no new errors"]);
    let deleted = json!({ "tool": "delete_instance",
        "args": { "path": "game.ReplicatedStorage.Prices" } });
    assert_eq!(place.runs(&deleted)[0], "runs: 1 new error, ServerScriptService.Shop:1");
}

#[test]
fn errors_from_before_are_not_held_against_a_change() {
    let place = Place::new(Some("print('on')\nprint(workspace.Moon.Name)\n"));
    let above = replace("game.ServerScriptService.Shop", "print('on')", "local a = 1\nprint(a)");
    assert_eq!(place.runs(&above), ["runs: no new errors, 1 as before"]);
    let corrected = replace("game.ServerScriptService.Shop", "workspace.Moon", "workspace");
    assert_eq!(place.runs(&corrected), ["runs: no new errors, 1 gone"]);
}

#[test]
fn errors_whose_words_differ_each_time_are_not_new() {
    let script = "print('on')\ntask.spawn(function() error({}) end)\n\
                  error('at ' .. os.clock() .. ' ' .. tostring({}))\n";
    let place = Place::new(Some(script));
    let call = replace("game.ServerScriptService.Shop", "print('on')", "print('off')\nprint('on')");
    assert_eq!(place.runs(&call), ["runs: no new errors, 2 as before"]);
}

#[test]
fn game_that_needs_what_is_not_known_is_not_called_sound() {
    let place = Place::new(Some("print('on')\n"));
    let call = replace(
        "game.ServerScriptService.Shop",
        "print('on')",
        "print(game:GetService('AssetService'):CreateEditableImageAsync(Content.none))",
    );
    let runs = place.runs(&call);
    assert!(
        runs[0].starts_with("runs: not known: ServerScriptService.Shop:1 uses AssetService"),
        "{runs:?}"
    );
    let endless = replace("game.ServerScriptService.Shop", "print('on')", "while true do end");
    assert_eq!(place.runs(&endless)[0], "runs: 1 new error, ServerScriptService.Shop:1");
}

#[test]
fn place_without_scripts_and_lists_with_yes_are_not_played() {
    let part = json!({ "tool": "create_instance",
        "args": { "className": "Part", "parentPath": "game.Workspace" } });
    assert_eq!(Place::new(None).runs(&part), [""; 0]);
    let place = Place::new(Some(SHOP));
    assert_eq!(place.runs(&part), ["runs: no new errors"]);
    assert!(!place.edit(&part, &["--dry-run", "--no-play"]).stdout.contains("runs:"));
    let broken = replace("game.ReplicatedStorage.Prices", "Sword", "Blade");
    let applied = place.edit(&broken, &["--yes"]);
    assert_eq!(applied.code, 0, "{}", applied.stderr);
    assert!(!applied.stdout.contains("runs:"), "{}", applied.stdout);
}

#[test]
fn change_with_new_errors_is_not_approved_by_the_mode() {
    let place = Place::new(Some("print('on')\n"));
    let script = |text: &str| {
        json!({ "tool": "create_instance", "args": {
            "className": "Script", "parentPath": "game.ServerScriptService",
            "props": { "Name": "Door", "Source": text },
        } })
    };
    let broken = place.edit(&script("print(workspace.Door.Name)\n"), &["--mode", "auto"]);
    assert_eq!(broken.code, 3, "{}", broken.stderr);
    assert!(broken.stdout.contains("runs: 1 new error, ServerScriptService.Door:1"));
    let sound = place.edit(&script("print(workspace.Name)\n"), &["--mode", "auto"]);
    assert_eq!(sound.code, 0, "{}", sound.stderr);
}
