//! Tests with shell scripts as checkers, which print the output of real ones.

use super::*;

fn script(path: &str, text: &str) -> CheckedScript {
    let (path, class) = (path.parse().unwrap(), "ModuleScript".to_owned());
    CheckedScript { path, class, file: None, text: Some(text.to_owned()) }
}

#[test]
fn both_report_line_formats_are_parsed() {
    let read = |line: &str| {
        parse_report_line(line)
            .map(|it| (it.file.to_owned(), it.at.line, it.at.column, it.message.to_owned()))
    };
    let plain = "0.luau:3:7-9: (W0) TypeError: Type 'string' could not be converted into 'number'";
    let message = "TypeError: Type 'string' could not be converted into 'number'".to_owned();
    assert_eq!(read(plain), Some(("0.luau".to_owned(), 3, 7, message)));
    let default = "/tmp/x/1.luau(2,5): LocalUnused: Variable 'a' is never used";
    let message = "LocalUnused: Variable 'a' is never used".to_owned();
    assert_eq!(read(default), Some(("1.luau".to_owned(), 2, 5, message)));
    for other in
        ["", "[INFO] a: b", "0.luau:x:1-2: a", "): ", "a(1): b", "0.luau(1,99999999999): a"]
    {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn siblings_with_one_name_stay_separate_in_the_sourcemap() {
    let scripts = [script("game.A.B[1]", ""), script("game.A.B[2]", "")];
    let map = build_sourcemap(&scripts, &[0, 1]);
    let names: Vec<&str> = map["children"][0]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["filePaths"][0].as_str().unwrap())
        .collect();
    assert_eq!((map["className"].as_str(), names), (Some("DataModel"), vec!["0.luau", "1.luau"]));
}

#[test]
fn command_lines_stay_below_the_limit() {
    let files: Vec<usize> = (0..10_000).collect();
    let base = ["analyze", "--formatter=plain"].map(OsString::from);
    let batches = batch_files(Path::new("/opt/luau-lsp"), &base, &files);
    assert!(batches.len() > 3, "{}", batches.len());
    assert_eq!(batches.concat(), files, "in order, each once");
    for batch in &batches {
        let line: usize = batch.iter().map(|at| script_file_name(*at).len() + 3).sum();
        assert!(line < MAX_COMMAND_LINE, "{line}");
    }
    // If nothing fits, files are passed one at a time.
    let base = [OsString::from("x".repeat(MAX_COMMAND_LINE))];
    assert_eq!(super::batch_files(Path::new("a"), &base, &[1, 2]), [[1], [2]]);
}

#[cfg(unix)]
mod programs {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn checker(folder: &Path, name: &str, body: &str) -> TypeChecker {
        let program = folder.join(name);
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        TypeChecker { program, definitions: None, timeout: Duration::from_secs(30) }
    }

    #[test]
    fn checker_output_is_parsed_but_not_trusted() {
        let home = tempfile::tempdir().unwrap();
        let body = "cat <<'END'\n\
            1.luau:1:7-9: (W0) TypeError: Type 'string' could not be converted into 'number'\n\
            caused by: something\n\
            0.luau:900:70-2: (W0) LocalUnused: Variable 'x' is never used\n\
            0.luau:1:1-4: (W0) TypeError: Unknown global 'game'\n\
            0.luau:1:1-4: (W0) SyntaxError: Expected 'end'\n\
            9.luau:1:1-1: (W0) TypeError: nobody's\n\
            ../../etc/passwd:1:1-1: (W0) TypeError: nobody's\n\
            END\nexit 1";
        let checker = checker(home.path(), "luau-analyze", body);
        let scripts = [script("game.A", "ab\n"), script("game.B", "local a: number = ''")];
        let found = checker.check_scripts(&scripts, &|| false).unwrap();
        let told: Vec<Vec<String>> =
            found.iter().map(|it| it.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(told[0], ["2:1: warning: Variable 'x' is never used (LocalUnused)"]);
        assert_eq!(
            told[1],
            ["1:7: error: Type 'string' could not be converted into 'number' (TypeError)"]
        );
        assert_eq!(found[1][0].notes, ["caused by: something"]);
    }

    #[test]
    fn luau_lsp_gets_sourcemap_and_script_texts() {
        let home = tempfile::tempdir().unwrap();
        let body = "grep -q '\"filePaths\":\\[\"0.luau\"\\]' sourcemap.json || exit 9\n\
            grep -q hello 0.luau || exit 8\n[ \"$1\" = analyze ] || exit 7";
        let found = checker(home.path(), "luau-lsp", body)
            .check_scripts(&[script("game.A", "hello")], &|| false);
        assert_eq!(found, Ok(vec![vec![]]));
    }

    /// A recursion over 10,000 levels would overflow the stack of a test.
    #[test]
    fn too_deep_scripts_are_reported_as_not_typed() {
        let home = tempfile::tempdir().unwrap();
        let checker = checker(home.path(), "luau-lsp", "[ ! -e 0.luau ] && [ -e 1.luau ]");
        let path = |n: usize| format!("game{}", ".A".repeat(n));
        let scripts = [script(&path(10_000), ""), script(&path(MAX_DEPTH - 1), "")];
        let found = checker.check_scripts(&scripts, &|| false).unwrap();
        assert_eq!(found[0][0].code, "not_typed");
        assert!(found[1].is_empty(), "{found:?}");
    }

    #[test]
    fn checker_gets_files_in_order_and_a_minimal_environment() {
        let home = tempfile::tempdir().unwrap();
        let body = format!(
            "echo \"$@\" >> {0}/given\necho \"$CARGO_MANIFEST_DIR|$(echo $PATH | head -c 1)\" >> {0}/env",
            home.path().display()
        );
        let checker = checker(home.path(), "luau-analyze", &body);
        let scripts: Vec<CheckedScript> = (0..4_000).map(|_| script("game.A", "")).collect();
        checker.check_scripts(&scripts, &|| false).unwrap();
        let given = fs::read_to_string(home.path().join("given")).unwrap();
        assert!(
            given.lines().count() > 1 && given.lines().all(|line| line.len() < MAX_COMMAND_LINE)
        );
        let names: Vec<&str> = given.split_whitespace().filter(|it| !it.starts_with('-')).collect();
        let expected: Vec<String> = (0..4_000).map(script_file_name).collect();
        assert_eq!(names, expected);
        let env = fs::read_to_string(home.path().join("env")).unwrap();
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a test has it");
        assert!(env.lines().all(|line| line == "|/"), "{env}");
    }

    #[test]
    fn findings_are_limited_to_a_thousand_per_script() {
        let home = tempfile::tempdir().unwrap();
        let body = "i=1; while [ $i -le 1500 ]; do echo \"0.luau:$i:1-2: (W0) TypeError: m$i\"; \
            i=$((i+1)); done; exit 1";
        let text = "a\n".repeat(1_500);
        let found = checker(home.path(), "luau-analyze", body)
            .check_scripts(&[script("game.A", &text)], &|| false);
        let found = found.unwrap();
        assert_eq!(found[0].len(), 1_001);
        assert!(found[0][0].message.starts_with("500 more findings"), "{}", found[0][0]);
        assert_eq!(found[0][1].at.line, 1);
    }

    #[test]
    fn failing_or_hanging_checker_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let scripts = [script("game.A", "")];
        let broken = checker(home.path(), "luau-lsp", "echo 'no such option' >&2; exit 3");
        let why = broken.check_scripts(&scripts, &|| false).unwrap_err();
        assert!(why.contains("ended with") && why.contains("no such option"), "{why}");
        let hangs = TypeChecker {
            timeout: Duration::from_millis(50),
            ..checker(home.path(), "luau-analyze", "exec sleep 60")
        };
        assert!(
            hangs.check_scripts(&scripts, &|| false).unwrap_err().contains("did not end"),
            "it was ended"
        );
        let patient = TypeChecker { timeout: Duration::from_mins(1), ..hangs.clone() };
        let why = patient.check_scripts(&scripts, &|| true).unwrap_err();
        assert!(why.contains("it was ended"), "{why}");
        let none = TypeChecker { program: home.path().join("none"), ..hangs };
        assert!(none.check_scripts(&scripts, &|| false).unwrap_err().contains("cannot be run"));
    }
}
