//! `vector sourcemap` on the command line.

use std::path::Path;

use tempfile::TempDir;
use vector_tests::binary;

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "default.project.json",
        r#"{ "name": "Game", "tree": { "$className": "DataModel",
            "ServerScriptService": { "$path": "src" },
            "ReplicatedStorage": { "Again": { "$path": "src/Main.server.luau" } } } }"#,
    );
    write("src/Main.server.luau", "print(1)");
    write("src/Main.meta.json", r#"{ "properties": { "Disabled": true } }"#);
    write("src/Words.txt", "words");
    write("src/bad.json", "{");
    folder
}

fn run(project: &Path, args: &[&str]) -> binary::Output {
    let mut all = vec!["sourcemap", project.to_str().unwrap()];
    all.extend(args);
    binary::run(&all, "")
}

#[test]
fn sourcemap_matches_rojo_and_reports_problems() {
    let folder = project();
    let output = run(folder.path(), &[]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let expected = r#"{"name":"Game","className":"DataModel","filePaths":["default.project.json"],"children":[{"name":"ReplicatedStorage","className":"ReplicatedStorage","children":[{"name":"Again","className":"Script","filePaths":["src/Main.server.luau","src/Main.meta.json"]}]},{"name":"ServerScriptService","className":"ServerScriptService","children":[{"name":"Main","className":"Script","filePaths":["src/Main.server.luau","src/Main.meta.json"]}]}]}"#;
    assert_eq!(output.stdout.trim_end(), expected);
    assert!(output.stderr.starts_with("src/bad.json: it is not JSON"), "{}", output.stderr);
    assert!(output.stderr.contains("(Rojo stops here)"), "{}", output.stderr);
}

#[test]
fn sourcemap_shows_owners_and_maps_files_and_paths() {
    let folder = project();
    let owners = run(folder.path(), &["--owners"]).stdout;
    let line = "game.ServerScriptService.Words\tStringValue\tsrc/Words.txt\tRojo\n";
    assert!(owners.contains(line), "{owners}");
    assert!(
        owners.contains("game.ReplicatedStorage\tReplicatedStorage\tdefault.project.json\tRojo; ")
    );
    let file = folder.path().join("src/Main.server.luau");
    let both = run(folder.path(), &["--file", file.to_str().unwrap(), "--json"]).stdout;
    let paths: Vec<String> = both
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(paths, ["game.ReplicatedStorage.Again", "game.ServerScriptService.Main"]);
    let files = run(folder.path(), &["--path", "game.ServerScriptService.Main"]).stdout;
    assert_eq!(files, "src/Main.server.luau\nsrc/Main.meta.json\n");
}

#[test]
fn unmappable_project_or_file_is_reported() {
    let folder = project();
    let nothing = run(&folder.path().join("src"), &[]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.contains("default.project.json"), "{}", nothing.stderr);
    let none = run(folder.path(), &["--file", "elsewhere.luau"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("--owners"), "{}", none.stderr);
    std::fs::write(folder.path().join("default.project.json"), "{ nonsense").unwrap();
    let wrong = run(folder.path(), &[]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("cannot be read: it is not JSON"), "{}", wrong.stderr);
    assert_eq!(wrong.stdout, "");
}

#[test]
fn sourcemap_is_written_to_the_output_file() {
    let folder = project();
    let output = folder.path().join("sourcemap.json");
    let ran = run(folder.path(), &["--output", output.to_str().unwrap(), "--absolute"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    let text = std::fs::read_to_string(output).unwrap();
    let real = std::fs::canonicalize(folder.path()).unwrap();
    assert!(text.contains(&format!("{}/src/Main.server.luau", real.display())), "{text}");
}
