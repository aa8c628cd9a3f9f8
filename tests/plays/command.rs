//! `vector play` on places and projects.

use std::fs;

use rbx_types::{CFrame, Matrix3, Vector3};
use scene_schemas::Value;
use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Scene};
use vector_tests::binary::{Home, Output};

/// A shop whose server trusts what clients send, and a coin that gives ten.
fn shop() -> Scene {
    let mut scene = Scene::empty(FileFormat::Xml);
    let root = scene.root();
    let workspace = scene.create(root, "Workspace", "Workspace");
    let coin = scene.create(workspace, "Part", "Coin");
    scene.set_property(coin, "Anchored", Some(&Value::Bool(true))).unwrap();
    let at = CFrame::new(Vector3::new(20.0, 3.0, 0.0), Matrix3::identity());
    scene.set_property(coin, "CFrame", Some(&Value::CFrame(at))).unwrap();
    let storage = scene.create(root, "ReplicatedStorage", "ReplicatedStorage");
    scene.create(storage, "RemoteEvent", "Buy");
    let scripts = scene.create(root, "ServerScriptService", "ServerScriptService");
    let script = scene.create(scripts, "Script", "Shop");
    scene.set_source(script, SHOP.to_owned());
    scene
}

const SHOP: &str = "local coins = {}
workspace.Coin.Touched:Connect(function(hit)
	local player = game.Players:GetPlayerFromCharacter(hit.Parent)
	if player then
		coins[player] = (coins[player] or 0) + 10
		player:SetAttribute('Coins', coins[player])
		print(player.Name, 'has', coins[player])
	end
end)
game.ReplicatedStorage.Buy.OnServerEvent:Connect(function(player, price)
	coins[player] -= price
	player:SetAttribute('Coins', coins[player])
end)
";

struct Folder {
    folder: tempfile::TempDir,
    home: Home,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, format) in [("shop.rbxl", FileFormat::Binary), ("shop.rbxlx", FileFormat::Xml)] {
            let bytes = shop().convert_to(format).unwrap().encode().unwrap();
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let project = json!({
            "name": "shop",
            "tree": {
                "$className": "DataModel",
                "Workspace": { "Coin": {
                    "$className": "Part",
                    "$properties": {
                        "Anchored": true,
                        "CFrame": { "CFrame": {
                            "position": [20, 3, 0],
                            "orientation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
                        } },
                    },
                } },
                "ReplicatedStorage": { "Buy": { "$className": "RemoteEvent" } },
                "ServerScriptService": { "Shop": { "$path": "Shop.server.luau" } },
            },
        });
        fs::write(folder.path().join("default.project.json"), project.to_string()).unwrap();
        fs::write(folder.path().join("Shop.server.luau"), SHOP).unwrap();
        Self { folder, home: Home::new() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn play(&self, place: &str, args: &[&str], stdin: &str) -> Output {
        let place = self.path(place);
        self.home.run(&[&["play", place.as_str()], args].concat(), stdin)
    }
}

#[test]
fn errors_are_found_in_files_and_projects() {
    let folder = Folder::new();
    let steps = json!([
        { "do": "touch", "target": "Workspace.Coin" },
        { "do": "wait", "seconds": 0.1 },
        { "do": "expect", "text": "game.Players.Player1:GetAttribute('Coins') == 10" },
        { "do": "fire", "target": "ReplicatedStorage.Buy", "args": ["free"] },
    ]);
    for place in ["shop.rbxl", "shop.rbxlx", "default.project.json", "."] {
        let played = folder.play(place, &["--steps", "-"], &steps.to_string());
        assert_eq!(played.code, 1, "{place}: {}", played.stderr);
        assert_eq!(
            played.stdout,
            "   0.22 Server   Player1 has 10
   0.22 ✓ The player touches Workspace.Coin
   0.22 ✓ wait 0.1 s
   0.32 ✓ Server: game.Players.Player1:GetAttribute('Coins') == 10
   0.32 ✓ The player fires ReplicatedStorage.Buy
remote ReplicatedStorage.Buy: 1 from clients
✗ ServerScriptService.Shop:11 attempt to perform arithmetic (sub) on number and string
    Server, after 0.33 s
",
            "{place}"
        );
        assert!(played.stderr.contains("Played 5 s with 1 player and 1 script: 1 error"));
    }
}

#[test]
fn json_has_the_outcome_and_is_the_same_each_time() {
    let folder = Folder::new();
    let play = || folder.play("shop.rbxl", &["--json", "--seconds", "1", "--players", "2"], "");
    let played = play();
    assert_eq!((played.code, played.stdout.lines().count()), (0, 1), "{}", played.stderr);
    let json: Json = serde_json::from_str(&played.stdout).unwrap();
    assert_eq!(json, json!({ "ok": true, "seconds": 1.0, "scripts": 1 }));
    assert_eq!(played.stdout, play().stdout);
}

#[test]
fn step_that_fails_is_an_error() {
    let folder = Folder::new();
    let steps = r#"[{ "do": "expect", "text": "workspace:FindFirstChild('Moon')" }]"#;
    let file = folder.path("steps.json");
    fs::write(&file, steps).unwrap();
    let played = folder.play("shop.rbxl", &["--steps", &file, "--json"], "");
    assert_eq!(played.code, 1);
    let json: Json = serde_json::from_str(&played.stdout).unwrap();
    assert_eq!((&json["ok"], &json["steps"][0]["why"]), (&json!(false), &json!("it is nil")));
    assert!(played.stderr.contains("no errors, 1 step failed"), "{}", played.stderr);
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    let folder = Folder::new();
    let none = folder.path("none.json");
    for (args, stdin, why) in [
        (&["--steps", "-"][..], "[{ \"do\": \"jump\" }]", "stdin is not a list of steps in JSON"),
        (&["--steps", "-"], "[{ \"do\": \"touch\" }]", "Step 1: `target` is missing"),
        (&["--steps", "-"], "{}", "stdin is not a list of steps"),
        (&["--steps", &none], "", "none.json cannot be read"),
        (&["--seconds", "0"], "", "--seconds has to be more than 0"),
        (&["--seconds", "nan"], "", "--seconds has to be more than 0"),
        (&["--players", "9"], "", "9 is not in 0..=8"),
    ] {
        let played = folder.play("shop.rbxl", args, stdin);
        assert!(played.code == 2 && played.stderr.contains(why), "{args:?}: {}", played.stderr);
    }
    let played = folder.play("missing.rbxl", &[], "");
    assert!(played.code == 2 && played.stderr.contains("missing.rbxl"), "{}", played.stderr);
}
