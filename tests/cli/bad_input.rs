//! Bad input: stderr has one sentence that names the error and its location, the file is untouched,
//! and nothing panics.

use std::fs;

use vector_tests::binary::Home;
use vector_tests::places::{self, Format};

use super::{text, with_place};

/// Asserts that a call is refused with this message.
#[track_caller]
fn refused(calls: &str, said: &str) {
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let run = home.run(&["edit", &text(&file), "--ops", "-", "--yes"], calls);
    assert_eq!(run.code, 1, "{calls}\n{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(said), "{calls}\n{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(fs::read(&file).unwrap() == before);
}

fn call(tool: &str, args: &str) -> String {
    format!("{{\"tool\":\"{tool}\",\"args\":{args}}}\n")
}

fn set(props: &str) -> String {
    call("set_properties", &format!("{{\"selector\":\"Part\",\"props\":{props}}}"))
}

#[test]
fn invalid_calls_are_refused() {
    refused("", "contains no calls");
    refused("{\"tool\":\n", "line 1: it is not JSON");
    refused("\n\n[1]\n", "line 3: a call must be an object");
    refused("{\"args\":{}}\n", "`tool` is missing");
    refused("{\"tool\":\"x\",\"arg\":{}}\n", "unknown field `arg`");
    refused(&call("set_propertis", "{}"), "`set_properties`");
    refused(&call("list_children", "{}"), "parentPath");
    refused(&call("list_children", "{\"parentPath\":\"Workspace\"}"), "begin with `game`");
    refused(&call("list_children", "{\"parentPath\":\"game\",\"depth\":0}"), "from 1 to 64");
    refused(
        &call("create_instance", "{\"className\":\"Prt\",\"parentPath\":\"game.Workspace\"}"),
        "`Part`",
    );
    refused(&set("{\"Sise\":1}"), "`Size`");
    refused(&set("{\"Material\":\"Wod\"}"), "`Wood`");
    refused(&set("{\"Size\":[1,2]}"), "3 numbers are needed");
    refused(&set("{\"Size\":[1,2,NaN]}"), "it is not JSON");
    refused(&set("{\"Size\":[1,2,1e999]}"), "not JSON");
    refused(&set("{\"Size\":{\"__t\":\"Vector3\",\"x\":\"inf\",\"y\":0,\"z\":0}}"), "finite");
    refused(&call("delete_instance", "{\"selector\":\"Part[\"}"), "selector");
    refused(&call("delete_instance", "{\"path\":\"game\"}"), "`game` itself");
    let long = format!("\"{}\"", "x".repeat(200_000));
    let script =
        "{\"className\":\"Script\",\"parentPath\":\"game.Workspace\",\"props\":{\"Source\":";
    refused(&call("create_instance", &format!("{script}{long}}}}}")), "Studio cannot hold");
    let deep = "{\"a\":".repeat(5_000);
    refused(&deep, "it is not JSON");
}

/// Asserts that a file that is not a place is refused with this message.
#[track_caller]
fn unreadable(bytes: &[u8], said: &str) {
    let home = Home::new();
    let file = home.path().join("place.rbxl");
    fs::write(&file, bytes).unwrap();
    for args in [vec!["show"], vec!["edit", "--prompt", "delete Part", "--yes"]] {
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        args.insert(1, text(&file));
        let run = home.run(&args, "");
        assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("place.rbxl cannot be opened"), "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    assert!(fs::read(&file).unwrap() == bytes);
}

#[test]
fn files_that_are_not_places_are_refused() {
    unreadable(b"", "it is empty");
    unreadable(b"hello", "neither a binary nor an XML place");
    unreadable(b"<!doctype html><p>404", "web page");
    unreadable(b"<roblox version=\"4\"><Item class=\"Part\">", "ends before an `</Item>`");
    unreadable(b"<roblox!\x89\xff\r\n\x1a\n\0\0", "is truncated");
    let nested = format!("<roblox version=\"4\">{}", "<Item class=\"Folder\">".repeat(30_000));
    unreadable(nested.as_bytes(), "ends before an `</Item>`");
}

#[test]
fn truncated_or_corrupt_place_is_read_or_refused() {
    for format in Format::ALL {
        let whole = places::sample(format);
        let home = Home::new();
        let file = home.path().join("place");
        for at in (1..whole.len()).step_by(whole.len() / 12) {
            let mut bent = whole.clone();
            bent[at] ^= 0x55;
            for bytes in [&whole[..at], &bent] {
                fs::write(&file, bytes).unwrap();
                let run = home.run(&["show", &text(&file)], "");
                assert!(matches!(run.code, 0 | 1), "{format:?} at {at}: {}", run.stderr);
                assert!(!run.stderr.contains("panicked"), "{format:?} at {at}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn deep_nesting_does_not_crash() {
    let home = Home::new();
    let file = home.path().join("deep.rbxlx");
    let depth = 15_000;
    let (open, close) = ("<Item class=\"Folder\"><Properties></Properties>", "</Item>");
    let xml =
        format!("<roblox version=\"4\">{}{}</roblox>", open.repeat(depth), close.repeat(depth));
    fs::write(&file, xml).unwrap();
    let call = "{\"tool\":\"set_properties\",\"args\":{\"selector\":\"Folder:not(:has(> Folder))\",\"props\":{\"@A\":1}}}";
    let run = home.run(&["edit", &text(&file), "--ops", "-", "--yes"], call);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn unusable_files_and_arguments_are_refused() {
    let (home, file) = with_place(Format::Rbxl);
    let missing = home.run(&["edit", "nowhere.rbxl", "--prompt", "delete Part"], "");
    assert_eq!(missing.code, 1);
    assert!(missing.stderr.contains("nowhere.rbxl cannot be read"), "{}", missing.stderr);
    let out = home.path().join("no such folder").join("out.rbxl");
    let args = ["edit", &text(&file), "--prompt", "delete Part", "--yes", "--out", &text(&out)];
    let nowhere = home.run(&args, "");
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.stderr.contains("out.rbxl"), "{}", nowhere.stderr);
    assert_eq!(home.run(&["revert", "999", "--yes"], "").code, 1);
    assert_eq!(home.run(&["revert", "x"], "").code, 2);
    assert_eq!(home.run(&["edit", &text(&file)], "").code, 2);
    assert_eq!(home.run(&["diff", &text(&file), "nowhere.rbxl"], "").code, 2);
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let read_only = home.run(&["edit", &text(&file), "--prompt", "delete Part", "--yes"], "");
    assert_eq!(read_only.code, 1);
    assert!(read_only.stderr.contains("read-only"), "{}", read_only.stderr);
}

#[test]
fn characters_invalid_in_xml_are_refused() {
    let (home, file) = with_place(Format::Rbxlx);
    let before = fs::read(&file).unwrap();
    let rename = |name: &str| {
        let args = serde_json::json!({ "path": "game.Workspace.Baseplate", "newName": name });
        serde_json::json!({ "tool": "rename_instance", "args": args }).to_string()
    };
    for bad in ["a\u{0}b", "a\u{1b}[1m", "\u{c}", "\u{fffe}", "\u{ffff}"] {
        let run = home.run(&["edit", &text(&file), "--ops", "-", "--yes"], &rename(bad));
        assert_eq!(run.code, 1, "{bad:?}");
        assert!(run.stderr.contains("XML file cannot hold"), "{}", run.stderr);
        assert!(fs::read(&file).unwrap() == before);
    }
    let fine = rename("\u{7f}\u{fffd}\t");
    assert_eq!(home.run(&["edit", &text(&file), "--ops", "-", "--yes"], &fine).code, 0);
    assert_eq!(home.run(&["show", &text(&file)], "").code, 0);
}

#[cfg(unix)]
#[test]
fn output_replaces_no_folder_or_dangling_link() {
    let (home, file) = with_place(Format::Rbxl);
    let link = home.path().join("link.rbxl");
    std::os::unix::fs::symlink("nowhere.rbxl", &link).unwrap();
    let folder = home.path().join("folder.rbxl");
    fs::create_dir(&folder).unwrap();
    for out in [&link, &folder] {
        let args = ["edit", &text(&file), "--prompt", "grid 2x2", "--yes", "--out", &text(out)];
        let run = home.run(&args, "");
        assert_eq!(run.code, 1);
        assert!(run.stderr.contains("is not a file"), "{}", run.stderr);
    }
    assert!(link.is_symlink() && folder.is_dir());
    let nowhere = text(&home.path().join("missing").join("out.rbxl"));
    let run = home.run(&["edit", &text(&file), "--prompt", "grid 2x2", "--out", &nowhere], "");
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
}
