//! What cards and results report about a project's files: which ones change, which ones stay, and
//! which ones another tool generates.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::Daemon;

const PROJECT: &str = r#"{
  "name": "game",
  "tree": {
    "$className": "DataModel",
    "ServerScriptService": { "Server": { "$path": "src/server" } },
    "ReplicatedStorage": { "Shared": { "$path": "src/shared" }, "Out": { "$path": "out" } }
  }
}"#;

/// A project with TypeScript, in a home.
fn project(home: &Home) -> PathBuf {
    let folder = home.path().join("game");
    for (name, text) in [
        ("default.project.json", PROJECT),
        ("src/server/Main.server.luau", "print(1)\n"),
        ("src/shared/Math.luau", "return {}\n"),
        ("out/ui/init.luau", "return 1\n"),
        ("ts/ui/index.ts", "export = 1\n"),
        (
            "tsconfig.json",
            r#"{ "compilerOptions": { "outDir": "out", "rootDir": "ts", "types": ["@rbxts/types"] } }"#,
        ),
    ] {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

fn edit(home: &Home, folder: &Path, calls: &[Json], flags: &[&str]) -> Output {
    let calls: Vec<String> = calls.iter().map(|call| format!("{call}\n")).collect();
    let folder = folder.display().to_string();
    home.run(&[&["edit", &folder, "--ops", "-"], flags].concat(), &calls.concat())
}

fn write(path: &str, source: &str) -> Json {
    json!({ "tool": "write_script", "args": { "path": path, "source": source } })
}

#[test]
fn project_folder_cards_and_results_name_the_files() {
    let home = Home::new();
    let folder = project(&home);
    let math = write("game.ReplicatedStorage.Shared.Math", "return { 1 }\n");
    let main = write("game.ServerScriptService.Server.Main", "print(2)\n");
    let run = edit(&home, &folder, &[math.clone(), main.clone()], &["--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(shown.contains("Files: src/server/Main.server.luau, src/shared/Math.luau"), "{shown}");
    let result = shown.lines().find(|line| line.starts_with("Applied")).unwrap();
    assert!(result.ends_with(": src/server/Main.server.luau, src/shared/Math.luau"), "{result}");
    // Each card names its own files, whatever is pending before it.
    let calls = [
        write("game.ReplicatedStorage.Shared.Math", "return 3\n"),
        write("game.ServerScriptService.Server.Main", "print(3)\n"),
    ];
    let run = edit(&home, &folder, &calls, &["--keep-going", "--dry-run", "--yes"]);
    let files: Vec<&str> = run.stdout.lines().filter(|line| line.contains("Files: ")).collect();
    assert_eq!(files.len(), 2, "{}", run.stdout);
    assert!(files[0].ends_with("Files: src/shared/Math.luau"), "{files:?}");
    assert!(files[1].ends_with("Files: src/server/Main.server.luau"), "{files:?}");
    let run = edit(&home, &folder, &calls, &["--out", "x.rbxl"]);
    assert!(run.code != 0 && run.stderr.contains("--out writes a place file"), "{}", run.stderr);
}

#[test]
fn card_names_files_that_stay_after_a_node_deletion() {
    let home = Home::new();
    let folder = project(&home);
    let delete =
        json!({ "tool": "delete_instance", "args": { "path": "game.ServerScriptService.Server" } });
    let run = edit(&home, &folder, &[delete], &["--yes"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("src/server stays on disk"), "{}", run.stdout);
    assert!(folder.join("src/server/Main.server.luau").is_file());
    // If the files are deleted with their instance, nothing stays.
    let delete = json!({ "tool": "delete_instance", "args": { "path": "game.ReplicatedStorage.Shared.Math" } });
    let run = edit(&home, &folder, &[delete], &["--yes"]);
    assert!(!run.stdout.contains("stays on disk"), "{}", run.stdout);
    assert!(!folder.join("src/shared/Math.luau").exists());
}

const GENERATED: &str = "out/ui/init.luau is written by roblox-ts (`rbxtsc`), which will overwrite this change. \
                         Change ts/ui/index.ts instead.";

/// A text without a card's frame and line breaks.
fn flat(text: &str) -> String {
    text.split(['\n', '│', '!', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn generated_file_card_names_source_and_requires_second_confirmation() {
    let home = Home::new();
    let folder = project(&home);
    let ui = write("game.ReplicatedStorage.Out.ui", "return 2\n");
    let run = edit(&home, &folder, std::slice::from_ref(&ui), &["--yes"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(flat(&run.stdout).contains(GENERATED), "{}", run.stdout);
    assert_eq!(fs::read_to_string(folder.join("out/ui/init.luau")).unwrap(), "return 1\n");
    let run = edit(&home, &folder, &[ui], &["--yes", "--force"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(folder.join("out/ui/init.luau")).unwrap(), "return 2\n");
}

#[test]
fn agent_is_first_sent_to_a_generated_files_source() {
    let home = Home::new();
    let folder = project(&home);
    let ledger = home.path().join("vector");
    let daemon = Daemon::of_project(binary::vector(), &ledger, &folder);
    let token = Daemon::agent_token(&ledger);
    let call = |id: &str| {
        let call = json!({
            "connection": "agent", "client": "agent", "id": id, "tool": "write_script",
            "args": { "path": "game.ReplicatedStorage.Out.ui", "source": "return 2\n" }, "hold": 60,
        });
        daemon.call("POST", "/api/agents/calls", Some(&token), &call).ok()
    };
    let first = call("1").to_string();
    assert!(first.contains(GENERATED) && first.contains("make the same call again"), "{first}");
    let second = call("2");
    assert!(second["outcome"]["proposal"].is_u64(), "{second}");
}
