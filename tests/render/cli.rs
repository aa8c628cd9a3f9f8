//! `vector render` on the command line: its pictures, its messages, and its refusals.

use std::fs;
use std::path::{Path, PathBuf};

use vector_tests::binary::{Home, Output};
use vector_tests::places::{self, Format};

use super::decoded;

/// A home with the sample place.
fn with_place(format: Format) -> (Home, PathBuf) {
    let home = Home::new();
    let file = home.path().join(format!("place.{}", format.extension()));
    fs::write(&file, places::sample(format)).unwrap();
    (home, file)
}

fn render(home: &Home, file: &Path, out: &Path, more: &[&str]) -> Output {
    let (file, out) = (file.display().to_string(), out.display().to_string());
    let size: &[&str] = if more.contains(&"--size") { &[] } else { &["--size", "128"] };
    let args = [&["render", &file, "-o", &out], size, more].concat();
    let run = home.run(&args, "");
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    run
}

/// Asserts that the command is refused with this message, and writes nothing.
#[track_caller]
fn refused(home: &Home, file: &Path, out: &Path, more: &[&str], said: &str) {
    let before = fs::read(out).ok();
    let run = render(home, file, out, more);
    assert!(matches!(run.code, 1 | 2), "{more:?}: {}", run.code);
    assert!(run.stderr.contains(said), "{more:?}\n{}", run.stderr);
    assert!(fs::read(out).ok() == before, "{more:?}");
}

#[test]
fn place_is_drawn_alike_in_every_format() {
    let mut pictures = Vec::new();
    for format in [Format::Rbxl, Format::Rbxlx] {
        let (home, file) = with_place(format);
        let out = home.path().join("out.png");
        let run = render(&home, &file, &out, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        assert!(run.stderr.contains("note: Terrain is not drawn."), "{}", run.stderr);
        assert!(run.stderr.contains("2 parts (meshes, unions)"), "{}", run.stderr);
        // An existing picture of the same name is replaced.
        assert_eq!(render(&home, &file, &out, &[]).code, 0);
        pictures.push(decoded(&fs::read(&out).unwrap()));
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().flatten().collect();
        assert!(left.iter().all(|it| !it.file_name().to_string_lossy().contains(".tmp")));
    }
    assert!(pictures[0] == pictures[1]);
    assert_eq!(pictures[0].0, (128, 128));
}

#[test]
fn view_size_and_path_can_be_chosen() {
    let (home, file) = with_place(Format::Rbxl);
    let out = home.path().join("out.png");
    let drawn = |more: &[&str]| {
        let run = render(&home, &file, &out, more);
        assert_eq!(run.code, 0, "{}", run.stderr);
        decoded(&fs::read(&out).unwrap())
    };
    let tower = drawn(&["game.Workspace.Tower"]);
    let views = ["top", "iso", "front"].map(|view| drawn(&["--view", view]));
    assert!(views[0] != views[1] && views[1] != views[2] && views[2] != views[0]);
    assert!(tower != views[1]);
    let place = file.display().to_string();
    let sized = ["render", &place, "-o", "-", "--size", "96x64"];
    let output = home.command(&sized).output().unwrap();
    assert!(output.status.success());
    assert_eq!(decoded(&output.stdout).0, (96, 64));
}

#[test]
fn invalid_render_arguments_are_refused() {
    let (home, file) = with_place(Format::Rbxl);
    let out = home.path().join("out.png");
    for size in ["63", "4097", "0", "x", "100x", "1e3", "99999999999"] {
        refused(&home, &file, &out, &["--size", size], "64 to 4096 pixels");
    }
    refused(&home, &file, &out, &["--view", "back"], "possible values: top, iso, front");
    refused(&home, &file, &out, &["game.Nowhere"], "`vector show` shows");
    refused(&home, &file, &out, &["Workspace"], "begin with `game`");
    refused(&home, &file, &out, &["game.Lighting"], "game.Lighting cannot be drawn");
    refused(&home, &file, &out, &["--when", "after"], "--proposal");
    refused(&home, &file, &out, &["--proposal", "x"], "--proposal");
    refused(&home, &file, &out, &["--proposal", "7"], "the ledger has no entry 7");
    refused(&home, &file, home.path(), &[], "is a folder");
    let nowhere = home.path().join("nowhere/out.png");
    refused(&home, &file, &nowhere, &[], "out.png cannot be written");
    fs::write(&out, "-- a script").unwrap();
    refused(&home, &file, &out, &[], "is not a PNG");
    refused(&home, &file, &file, &[], "is not a PNG");
    refused(&home, &home.path().join("none.rbxl"), &nowhere, &[], "none.rbxl");
    fs::write(home.path().join("bad.rbxl"), "no place").unwrap();
    refused(&home, &home.path().join("bad.rbxl"), &nowhere, &[], "bad.rbxl cannot be opened");
}

/// Makes an edit, and returns the number of its proposal.
fn edit(home: &Home, file: &Path, request: &str, more: &[&str]) -> u64 {
    let file = file.display().to_string();
    let args = [&["edit", &file, "--prompt", request, "--json"], more].concat();
    let run = home.run(&args, "");
    let mut proposed = run.stdout.lines().filter(|line| line.contains("\"proposed\""));
    let record: serde_json::Value = serde_json::from_str(proposed.next_back().unwrap()).unwrap();
    record["seq"].as_u64().unwrap()
}

#[test]
fn proposal_is_drawn_before_and_after() {
    let (home, file) = with_place(Format::Rbxl);
    let out = home.path().join("out.png");
    let drawn = |number: u64, when: &str| {
        let number = number.to_string();
        let run = render(&home, &file, &out, &["--proposal", &number, "--when", when]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        decoded(&fs::read(&out).unwrap())
    };
    let place = fs::read(&file).unwrap();
    let waiting = edit(&home, &file, "set Color = \"#33bbff\" on #Lamp", &[]);
    assert!(fs::read(&file).unwrap() == place);
    let (before, after) = (drawn(waiting, "before"), drawn(waiting, "after"));
    assert!(before.1 != after.1);
    let both = drawn(waiting, "both");
    assert_eq!(both.0, (258, 128));
    assert!(fs::read(&file).unwrap() == place, "nothing is done to the place");
    // For an applied proposal, both pictures still show the place as it was when proposed.
    let applied = edit(&home, &file, "set Color = \"#33bbff\" on #Lamp", &["--yes"]);
    assert!(fs::read(&file).unwrap() != place);
    assert!(drawn(applied, "before") == before);
    assert!(drawn(applied, "after") == after);
    let name = edit(&home, &file, "rename game.Workspace.Lamp to Lantern", &[]).to_string();
    refused(&home, &file, &out, &["--proposal", &name], "has no visible effect");
    let other = home.path().join("other.rbxl");
    fs::copy(&file, &other).unwrap();
    refused(&home, &other, &out, &["--proposal", &applied.to_string()], "name that place");
    refused(&home, &file, &out, &["--proposal", "1"], "is not a proposal");
}
