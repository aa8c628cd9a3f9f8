//! Each command writes and prints the same bytes on Windows as on this system.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home, Output};
use vector_tests::cases;
use vector_tests::places::{self, Format};
use vector_tests::vectors::VALUES;

use super::is_for_windows;

/// What a run leaves: its output, and each file of its folder but for the ledger.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    output: Output,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Runs a command in a new folder with these files.
fn run(binary: &Path, files: &[(&str, &[u8])], args: &[&str], stdin: &str) -> Left {
    let home = Home::new();
    let folder = home.path().join("work");
    for (name, bytes) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    let mut command: Command = home.command_of(binary, args);
    command.current_dir(&folder);
    let output = binary::run_to_end(command, stdin);
    // The names of the two folders differ, and are replaced by one.
    let here = folder.display().to_string();
    let plain = |text: &str| text.replace(&here, "FOLDER").replace('\\', "/");
    let output =
        Output { code: output.code, stdout: plain(&output.stdout), stderr: plain(&output.stderr) };
    let mut left = BTreeMap::new();
    let mut open = vec![folder.clone()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(&folder).unwrap().to_owned();
                left.insert(name, fs::read(path).unwrap());
            }
        }
    }
    Left { output, files: left }
}

/// Runs a command with both binaries and compares what they leave. Returns the exit code.
#[track_caller]
fn same(files: &[(&str, &[u8])], args: &[&str], stdin: &str) -> i32 {
    let there = run(binary::vector(), files, args, stdin);
    let here = run(binary::native(), files, args, stdin);
    assert_eq!(there.output, here.output, "{args:?}");
    let names = |left: &Left| left.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&there), names(&here), "{args:?}");
    for (name, bytes) in &there.files {
        assert!(*bytes == here.files[name], "{args:?}: {} differs", name.display());
    }
    there.output.code
}

/// Calls that set an attribute to each value of the vectors, and that change, move, copy and delete
/// what every place has.
fn calls() -> String {
    let call = |tool: &str, args: Json| json!({ "tool": tool, "args": args }).to_string();
    let mut calls = vec![call(
        "create_instance",
        json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Größe" } }),
    )];
    for (n, value) in VALUES.iter().enumerate() {
        let value: Json = serde_json::from_str(value).unwrap();
        let name = format!("@A{n}");
        calls.push(call(
            "set_properties",
            json!({ "paths": ["game.Workspace[\"Größe\"]"], "props": { name: value } }),
        ));
    }
    let source = "local a = 1\r\nprint(a, 'ä')\r\n";
    calls.push(call(
        "create_instance",
        json!({ "className": "Script", "parentPath": "game.Workspace[\"Größe\"]",
                "props": { "Name": "CON", "Source": source } }),
    ));
    calls.push(call(
        "create_instance",
        json!({ "className": "Part", "parentPath": "game.Workspace[\"Größe\"]",
                "props": { "Name": "Lamp.", "Material": "Neon", "Position": [1, 2.5, 1e-7] } }),
    ));
    calls.push(call("delete_instance", json!({ "path": "game.Workspace[\"Größe\"].CON" })));
    calls.join("\n") + "\n"
}

/// The places of the cases, and the sample in each format, by file name.
fn all_places() -> Vec<(String, Vec<u8>)> {
    let formats = [Format::Rbxl, Format::Rbxlx, Format::Rbxm, Format::Rbxmx];
    let mut all: Vec<(String, Vec<u8>)> = formats
        .map(|format| (format!("sample.{}", format.extension()), places::sample(format)))
        .into();
    if let Some(folder) = cases::cases() {
        for entry in fs::read_dir(folder.join("places")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_some_and(|it| it.to_str().unwrap().starts_with("rbx")) {
                all.push((name, fs::read(path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn edits_write_the_same_bytes() {
    if !is_for_windows() {
        return;
    }
    let calls = calls();
    for (name, bytes) in all_places() {
        let args = ["edit", &name, "--ops", "-", "--keep-going", "--yes"];
        same(&[(&name, &bytes)], &args, &calls);
        let args =
            ["edit", &name, "--prompt", "grid 3x3 of neon parts", "--model", "offline", "--yes"];
        same(&[(&name, &bytes)], &args, "");
    }
}

#[test]
fn reading_commands_print_the_same() {
    if !is_for_windows() {
        return;
    }
    for (name, bytes) in all_places() {
        let file = [(&*name, &bytes[..])];
        for args in [["show", &name, "--depth", "3"], ["check", &name, "--format", "json"]] {
            same(&file, &args, "");
        }
        let is_xml = name.ends_with('x');
        let other = if is_xml { name.trim_end_matches('x').to_owned() } else { format!("{name}x") };
        let other = format!("other-{other}");
        same(&file, &["convert", &name, &other], "");
        same(&file, &["render", &name, "--output", "picture.png"], "");
        same(
            &[("a.rbxlx", &places::sample(Format::Rbxlx)), file[0]],
            &["diff", "a.rbxlx", &name],
            "",
        );
    }
}

#[test]
fn project_is_read_and_written_alike() {
    if !is_for_windows() {
        return;
    }
    let project = r#"{"name":"game","tree":{"$className":"DataModel",
        "ReplicatedStorage":{"$path":"src"}}}"#;
    let files: [(&str, &[u8]); 6] = [
        ("default.project.json", project.as_bytes()),
        ("src/One.luau", b"return 1\r\n"),
        ("src/Two.server.lua", b"print(2)\n"),
        ("src/Deep/init.luau", b"return {}\n"),
        ("src/Deep/T.csv", b"Key,Source,en\r\na,b,c\r\n"),
        ("src/data.json", b"{\"a\": [1, 2]}"),
    ];
    for args in [["sourcemap", "default.project.json"], ["show", "default.project.json"]] {
        assert_eq!(same(&files, &args, ""), 0, "{args:?}");
    }
    let call = |tool: &str, args: Json| format!("{}\n", json!({ "tool": tool, "args": args }));
    let calls = [
        call(
            "replace_text",
            json!({ "path": "game.ReplicatedStorage.One", "edits": [
            { "search": "return 1", "replace": "local x = 1\nreturn x" }] }),
        ),
        call(
            "create_instance",
            json!({ "className": "ModuleScript",
            "parentPath": "game.ReplicatedStorage.Deep",
            "props": { "Name": "Neu", "Source": "return 'ü'\n" } }),
        ),
        call("delete_instance", json!({ "path": "game.ReplicatedStorage.Two" })),
    ];
    let all = calls.concat();
    for calls in calls.iter().map(String::as_str).chain([&*all]) {
        let args = ["edit", "default.project.json", "--ops", "-", "--yes"];
        assert_eq!(same(&files, &args, calls), 0, "{calls}");
    }
}
