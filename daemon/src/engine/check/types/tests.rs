//! Checkers that are scripts of a shell, and print what real ones printed.

use super::*;

fn script(path: &str, text: &str) -> Script {
    let (path, class) = (path.parse().unwrap(), "ModuleScript".to_owned());
    Script { path, class, file: None, text: Some(text.to_owned()) }
}

#[test]
fn lines_of_both_forms_are_read() {
    let read = |line: &str| {
        said(line).map(|it| (it.file.to_owned(), it.at.line, it.at.column, it.message.to_owned()))
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
fn siblings_of_one_name_are_two_in_the_map() {
    let scripts = [script("game.A.B[1]", ""), script("game.A.B[2]", "")];
    let files = HashMap::from([("0.luau".to_owned(), 0), ("1.luau".to_owned(), 1)]);
    let map = sourcemap(&scripts, &files);
    let names: Vec<&str> = map["children"][0]["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["filePaths"][0].as_str().unwrap())
        .collect();
    assert_eq!((map["className"].as_str(), names), (Some("DataModel"), vec!["0.luau", "1.luau"]));
}

#[cfg(unix)]
mod programs {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn checker(folder: &Path, name: &str, body: &str) -> Checker {
        let program = folder.join(name);
        fs::write(&program, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Checker { program, definitions: None, time: Duration::from_secs(30) }
    }

    #[test]
    fn what_is_printed_is_read_and_never_trusted() {
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
        let found = checker.check(&scripts).unwrap();
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
    fn an_lsp_has_the_map_and_the_texts() {
        let home = tempfile::tempdir().unwrap();
        let body = "grep -q '\"filePaths\":\\[\"0.luau\"\\]' sourcemap.json || exit 9\n\
            grep -q hello 0.luau || exit 8\n[ \"$1\" = analyze ] || exit 7";
        let found = checker(home.path(), "luau-lsp", body).check(&[script("game.A", "hello")]);
        assert_eq!(found, Ok(vec![vec![]]));
    }

    #[test]
    fn one_that_fails_or_hangs_is_said() {
        let home = tempfile::tempdir().unwrap();
        let scripts = [script("game.A", "")];
        let broken = checker(home.path(), "luau-lsp", "echo 'no such option' >&2; exit 3");
        let why = broken.check(&scripts).unwrap_err();
        assert!(why.contains("ended with") && why.contains("no such option"), "{why}");
        let hangs = Checker {
            time: Duration::from_millis(50),
            ..checker(home.path(), "luau-analyze", "exec sleep 60")
        };
        assert!(hangs.check(&scripts).unwrap_err().contains("did not end"), "it was ended");
        let none = Checker { program: home.path().join("none"), ..hangs };
        assert!(none.check(&scripts).unwrap_err().contains("cannot be run"));
    }
}
