//! `vector check` and `vector test`: the findings, their output, and the exit codes.

use std::fs;
use std::path::Path;

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use serde_json::Value as Json;
use vector_tests::binary::{Home, Output};
use vector_tests::places::{self, Format};

/// A place with these ModuleScripts in ReplicatedStorage.
fn place(home: &Home, scripts: &[(&str, &str)]) -> String {
    let mut storage = InstanceBuilder::new("ReplicatedStorage").with_name("ReplicatedStorage");
    for (name, source) in scripts {
        let script = InstanceBuilder::new("ModuleScript").with_name(*name);
        storage = storage.with_child(script.with_property("Source", *source));
    }
    let dom = WeakDom::new(InstanceBuilder::new("DataModel").with_child(storage));
    let file = home.path().join("place.rbxl");
    fs::write(&file, places::encode(&dom, Format::Rbxl)).unwrap();
    file.display().to_string()
}

#[track_caller]
fn ended(output: &Output, code: i32) {
    assert_eq!(output.code, code, "{}\n{}", output.stdout, output.stderr);
}

const SCRIPTS: [(&str, &str); 3] = [
    ("Broken", "local x = 1\nlocal y = ) 2\n"),
    ("Clean", "return {}\n"),
    ("Suspicious", "local a = 1\nif a == 1 then\nend\nprint(gone)\n"),
];

#[test]
fn findings_are_printed_for_humans() {
    let home = Home::new();
    let file = place(&home, &SCRIPTS);
    let output = home.run(&["check", &file, "--no-types"], "");
    ended(&output, 1);
    let expected = "\
error[syntax]: Expected identifier when parsing expression, got ')'
 --> game.ReplicatedStorage.Broken:2:11
  |
2 | local y = ) 2
  |           ^
";
    assert!(output.stdout.starts_with(expected), "{}", output.stdout);
    assert!(output.stdout.contains("error[undefined_variable]: `gone` is not defined"));
    assert!(
        output.stderr.ends_with("2 errors, 1 warning in 2 of 3 scripts\n"),
        "{}",
        output.stderr
    );
    let one = home.run(&["check", &file, "game.ReplicatedStorage.Clean", "--no-types"], "");
    ended(&one, 0);
    assert_eq!((one.stdout.as_str(), one.stderr.as_str()), ("", "1 script: nothing found\n"));
    let again = home.run(&["check", &file, "--no-types"], "");
    assert_eq!(again, output, "twice the same");
}

#[test]
fn warning_alone_exits_with_success() {
    let home = Home::new();
    let file = place(&home, &[("A", "local a = 1\nif a == 1 then\nend\n")]);
    ended(&home.run(&["check", &file, "--no-types"], ""), 0);
    let errors = home.run(&["check", &file, "--no-types", "--severity", "error"], "");
    assert_eq!(errors.stdout, "");
}

#[test]
fn json_has_one_finding_per_line() {
    let home = Home::new();
    let file = place(&home, &SCRIPTS);
    let output = home.run(&["check", &file, "--no-types", "--format", "json"], "");
    ended(&output, 1);
    let found: Vec<Json> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0]["path"], "game.ReplicatedStorage.Broken");
    let place =
        ["line", "column", "endLine", "endColumn"].map(|key| found[0][key].as_u64().unwrap());
    assert_eq!(place, [2, 11, 2, 12]);
    assert_eq!((&found[0]["severity"], &found[0]["finder"]), (&"error".into(), &"compiler".into()));
}

#[test]
fn sarif_has_the_fields_its_schema_requires() {
    let home = Home::new();
    let file = place(&home, &SCRIPTS);
    let output = home.run(&["check", &file, "--no-types", "--format", "sarif"], "");
    ended(&output, 1);
    let log: Json = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let location = &result["locations"][0];
        let region = &location["physicalLocation"]["region"];
        assert!(
            region["startLine"].as_u64() >= Some(1) && region["startColumn"].as_u64() >= Some(1)
        );
        let uri = location["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("file:///") && uri.ends_with("place.rbxl"), "{uri}");
    }
    let script = &results[0]["locations"][0]["logicalLocations"][0];
    assert_eq!(script["fullyQualifiedName"], "game.ReplicatedStorage.Broken");
}

#[test]
fn project_settings_are_applied() {
    let home = Home::new();
    let file = place(&home, &[("A", "local unused = 1\n"), ("B", "print(describe)\n")]);
    let settings = home.path().join("selene.toml");
    fs::write(&settings, "std = \"roblox+testez\"\nexclude = [\"ReplicatedStorage/A\"]\n").unwrap();
    let output = home.run(&["check", &file, "--no-types"], "");
    ended(&output, 1);
    assert!(
        output.stdout.contains("the standard library `testez` is not known"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("`describe` is not defined"));
    assert!(!output.stdout.contains("ReplicatedStorage.A"), "it is left out");
    fs::write(home.path().join("testez.yml"), "---\nglobals:\n  describe:\n    args: []\n")
        .unwrap();
    ended(&home.run(&["check", &file, "--no-types"], ""), 0);
    fs::write(&settings, "std = [").unwrap();
    let output = home.run(&["check", &file, "--no-types"], "");
    ended(&output, 1);
    assert!(output.stdout.contains("selene.toml is not TOML"), "{}", output.stdout);
}

#[test]
fn check_failure_exits_with_two() {
    let home = Home::new();
    let none = home.path().join("none.rbxl").display().to_string();
    ended(&home.run(&["check", &none], ""), 2);
    let file = place(&home, &SCRIPTS);
    let wrong = home.run(&["check", &file, "game.Nobody"], "");
    ended(&wrong, 2);
    assert!(wrong.stderr.contains("error: "), "{}", wrong.stderr);
    fs::write(home.path().join("selene.toml"), [0xff, 0xfe]).unwrap();
    let unread = home.run(&["check", &file], "");
    ended(&unread, 2);
    assert!(unread.stderr.contains("selene.toml"), "{}", unread.stderr);
}

#[test]
fn missing_type_checker_is_noted() {
    let home = Home::new();
    let file = place(&home, &[("A", "return 1\n")]);
    let output = home.command(&["check", &file]).env("PATH", "").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("note: Types are not checked: no luau-lsp"), "{said}");
}

#[cfg(unix)]
#[test]
fn type_errors_come_from_an_installed_checker() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let file = place(&home, &[("A", "local a: number = ''\nreturn a\n")]);
    let program = home.path().join("luau-lsp");
    let body = "#!/bin/sh\necho \"0.luau:1:7-7: (W0) TypeError: not a number\"\nexit 1\n";
    fs::write(&program, body).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["check", &file]);
    let output = command.env("VECTOR_TYPE_CHECKER", program).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("error[TypeError]: not a number\n"), "{printed}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn specs_run_headlessly() {
    let home = Home::new();
    let module = "return function(a, b) return a + b end";
    let spec = "return function()\nlocal add = require(script.Parent.Add)\n\
                it('adds', function() expect(add(1, 2)).to.equal(3) end)\n\
                it('fails', function() print('hello') expect(add(1, 1)).to.equal(3) end)\n\
                it('moves', function() script.Parent.Add:SetAttribute('Price', Vector3.one) end)\n\
                it('asks', function() settings() end)\nend";
    let file = place(&home, &[("Add", module), ("Add.spec", spec)]);
    let output = home.run(&["test", &file], "");
    ended(&output, 1);
    let path = "game.ReplicatedStorage[\"Add.spec\"]";
    let expected = format!(
        "{path}\n  ✓ adds\n  ✗ fails\n    {path}:4: expected 3 (number), got 2 (number)\n    hello\n  \
         ✓ moves\n  ? asks\n    {path}:6: not known: it uses settings(), which Roblox has and Vector's \
         runtime has not\n"
    );
    assert_eq!(output.stdout, expected);
    assert_eq!(output.stderr, "2 passed, 1 failed, 1 not known\n");
    let lines = home.run(&["test", &file, "--json"], "").stdout;
    let first: Json = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["case"], &first["outcome"]), (&"adds".into(), &"passed".into()));
    ended(&home.run(&["test", &file, "--timeout", "99999999999"], ""), 2);
    let none = place(&home, &[("Add", module)]);
    ended(&home.run(&["test", &none], ""), 2);
    assert!(Path::new(&none).is_file());
}

/// The answers to calls on a place file, in order.
fn answers(home: &Home, file: &str, calls: &[&str]) -> Vec<Json> {
    answers_in(home, &[file], calls)
}

/// The answers to calls, in order. Types are not checked, whatever is installed.
fn answers_in(home: &Home, place: &[&str], calls: &[&str]) -> Vec<Json> {
    let ops = home.path().join("ops.jsonl");
    fs::write(&ops, calls.join("\n")).unwrap();
    let ops = ops.display().to_string();
    let mut arguments = vec!["edit"];
    arguments.extend(place);
    arguments.extend(["--ops", &ops, "--keep-going", "--yes", "--json"]);
    let mut command = home.command(&arguments);
    let output = command.env("PATH", "").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines = stdout.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let told = lines.filter_map(|line| line.get("answer").or_else(|| line.get("reason")).cloned());
    let told: Vec<Json> = told.collect();
    assert!(!told.is_empty(), "{stdout}");
    told
}

/// In a project, exclude patterns apply to its files, and findings name the files.
#[test]
fn diagnostics_in_a_project_name_its_files() {
    let home = Home::new();
    let folder = home.path().join("game");
    for (name, text) in [
        (
            "default.project.json",
            r#"{"name":"game","tree":{"$className":"DataModel","ReplicatedStorage":{"$path":"src"}}}"#,
        ),
        ("selene.toml", "std = \"roblox\"\nexclude = [\"src/vendor/*\"]\n"),
        ("src/a.luau", "return gone"),
        ("src/vendor/b.luau", "return gone"),
        ("src/c/init.luau", "return gone"),
    ] {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let project = folder.display().to_string();
    let calls = [r#"{"tool":"get_diagnostics","args":{}}"#];
    let told = answers_in(&home, &["--project", &project], &calls);
    let found = told[0]["findings"].as_array().unwrap();
    let mut files: Vec<&str> = found.iter().map(|it| it["file"].as_str().unwrap()).collect();
    files.sort_unstable();
    assert_eq!(files, ["src/a.luau", "src/c/init.luau"], "{told:?}");
}

#[test]
fn diagnostics_tests_and_format_run_as_tool_calls() {
    let home = Home::new();
    let spec = "return function() it('a', function() error('x') end) end";
    let suspicious = ("Suspicious", "local a = 1\nif a == 1 then print(\"x\") end\nprint(gone)\n");
    let file = place(&home, &[SCRIPTS[0], suspicious, ("A.spec", spec)]);
    let told = answers(&home, &file, &[r#"{"tool":"get_diagnostics","args":{"limit":1}}"#]);
    assert_eq!(told[0]["findings"][0]["code"], "syntax", "{told:?}");
    assert_eq!((&told[0]["counts"]["errors"], &told[0]["cursor"]), (&2.into(), &"1".into()));
    assert!(told[0]["types"].as_str().unwrap().starts_with("Types are not checked"), "{told:?}");
    let told = answers(&home, &file, &[r#"{"tool":"run_tests","args":{}}"#]);
    assert_eq!(told[0]["failed"], 1, "{told:?}");
    let failure = told[0]["specs"][0]["failures"][0]["failure"].as_str().unwrap();
    assert!(failure.ends_with(":1: x"), "{failure}");
    fs::write(home.path().join("stylua.toml"), "quote_style = \"ForceSingle\"").unwrap();
    let path = r#"{"tool":"format","args":{"path":"game.ReplicatedStorage.Suspicious"}}"#;
    let told = answers(&home, &file, &[path]);
    assert_eq!(told[0]["changed"], true, "{told:?}");
    let text = home.run(&["source", &file, "game.ReplicatedStorage.Suspicious"], "").stdout;
    assert_eq!(text, "local a = 1\nif a == 1 then\n\tprint('x')\nend\nprint(gone)\n");
}
