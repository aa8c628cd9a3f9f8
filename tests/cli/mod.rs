//! The command line as a user sees it: the files it writes, its output, and its exit codes.

#[cfg(unix)]
mod asked;
mod bad_input;
mod check;
mod commit;
mod completions;
mod daemon;
mod doctor;
mod estimated;
#[cfg(unix)]
mod first_run;
mod forget;
mod full_disk;
mod jest;
#[cfg(target_os = "linux")]
pub(crate) mod keyring;
mod killed;
mod ledger;
mod markdown;
mod merge;
mod models;
mod patch;
mod reviewed;
mod setup;
#[cfg(unix)]
pub(crate) mod tour;

use std::fs;
use std::path::PathBuf;

use rbx_dom_weak::{Instance, InstanceBuilder, WeakDom, ustr};
use rbx_types::Variant;
use scene_schemas::entry::{Entry, Record};
use vector_tests::binary::{Home, Output};
use vector_tests::places::{self, Format};

/// A home with a sample place in it.
pub(crate) fn with_place(format: Format) -> (Home, PathBuf) {
    let home = Home::new();
    let file = home.path().join(format!("place.{}", format.extension()));
    fs::write(&file, places::sample(format)).unwrap();
    (home, file)
}

/// A place with this many parts, named by their numbers, none of which is anchored.
fn many_parts(count: usize) -> Vec<u8> {
    let parts = (0..count).map(|n| {
        let part = InstanceBuilder::new("Part").with_name(format!("Part{n}"));
        part.with_property("Anchored", false)
    });
    let workspace = InstanceBuilder::new("Workspace").with_children(parts);
    let root = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(root), Format::Rbxl)
}

/// The names of the parts that are not anchored.
fn unanchored(file: &std::path::Path) -> Vec<String> {
    let dom = places::decode(&fs::read(file).unwrap());
    let is_loose =
        |it: &&Instance| it.properties.get(&ustr("Anchored")) == Some(&Variant::Bool(false));
    dom.descendants().filter(is_loose).map(|it| it.name.clone()).collect()
}

pub(crate) fn text(file: &std::path::Path) -> String {
    file.display().to_string()
}

#[track_caller]
fn ended(output: &Output, code: i32) {
    assert_eq!(output.code, code, "{}\n{}", output.stdout, output.stderr);
}

const GRID: &str = "grid 2x2 of neon parts in game.Workspace";

#[test]
fn edit_changes_a_place_and_revert_restores_it() {
    for format in [Format::Rbxl, Format::Rbxlx] {
        let (home, file) = with_place(format);
        let before = home.path().join("before");
        fs::copy(&file, &before).unwrap();
        let edited = home.run(&["edit", &text(&file), "--prompt", GRID, "--yes"], "");
        ended(&edited, 0);
        assert!(edited.stdout.contains("+ Part Cell_2_2"), "{}", edited.stdout);
        ended(&home.run(&["diff", &text(&before), &text(&file)], ""), 1);
        let log = home.run(&["log", "--json"], "").stdout;
        let applied: Vec<String> = log
            .lines()
            .filter_map(|line| match serde_json::from_str::<Record>(line).unwrap().entry {
                Entry::Applied { proposal, .. } => Some(proposal.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(applied.len(), 5, "{log}");
        for proposal in applied.iter().rev() {
            ended(&home.run(&["revert", proposal, "--yes"], ""), 0);
        }
        ended(&home.run(&["diff", &text(&before), &text(&file)], ""), 0);
        let again = home.run(&["revert", &applied[0], "--yes"], "");
        ended(&again, 1);
    }
}

#[test]
fn single_read_call_is_answered() {
    let (home, file) = with_place(Format::Rbxlx);
    let run = |calls: &str, more: &[&str]| {
        let place = text(&file);
        let args = [&["edit", &place, "--ops", "-", "--dry-run"], more].concat();
        home.run(&args, calls)
    };
    let diagnostics = "{\"tool\":\"get_diagnostics\",\"args\":{}}\n";
    let answered = run(diagnostics, &[]);
    ended(&answered, 0);
    assert!(answered.stdout.contains("\"findings\""), "{}", answered.stdout);
    let render = "{\"tool\":\"render_scene\",\"args\":{}}\n";
    for more in [&[][..], &["--keep-going"]] {
        let drawn = run(render, more);
        ended(&drawn, 0);
        assert!(drawn.stdout.contains("\"picture\": \"not sent\""), "{}", drawn.stdout);
        assert!(drawn.stdout.len() < 5_000, "{} bytes", drawn.stdout.len());
    }
    let both = run(&format!("{diagnostics}{render}"), &[]);
    ended(&both, 1);
    assert!(both.stderr.contains("--keep-going"), "{}", both.stderr);
}

#[test]
fn run_is_reverted_as_a_whole() {
    for format in Format::ALL {
        let (home, file) = with_place(format);
        let place = text(&file);
        let before = home.path().join("before");
        fs::copy(&file, &before).unwrap();
        let folder = r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game","props":{"Name":"F"}}}"#;
        let part = r#"{"tool":"create_instance","args":{"className":"Part","parentPath":"game.F","props":{"Name":"P"}}}"#;
        let set =
            r#"{"tool":"set_properties","args":{"path":"game.F.P","props":{"Transparency":0.5}}}"#;
        let rename = r#"{"tool":"rename_instance","args":{"path":"game.F","newName":"G"}}"#;
        let delete = r#"{"tool":"delete_instance","args":{"path":"game.G"}}"#;
        let (first, ops) = if place.contains(".rbxl") {
            let first = folder.replace(r#""game""#, r#""game.Workspace""#);
            (first, [part, set, rename, delete].map(|op| op.replace("game.", "game.Workspace.")))
        } else {
            (folder.to_owned(), [part, set, rename, delete].map(str::to_owned))
        };
        let edit = ["edit", &place, "--ops", "-", "--yes", "--keep-going"];
        ended(&home.run(&edit, &first), 0);
        let with_folder = home.path().join("with-folder");
        fs::copy(&file, &with_folder).unwrap();
        // The part that is set is deleted in the same run. The revert has to restore it first.
        let edited = home.run(&edit, &ops.join("\n"));
        ended(&edited, 0);
        ended(&home.run(&["diff", &text(&before), &place], ""), 0);
        let run = &number(&edited);
        ended(&home.run(&["revert", run, "--yes"], ""), 0);
        ended(&home.run(&["diff", &text(&with_folder), &place], ""), 0);
        let again = home.run(&["revert", run, "--yes"], "");
        ended(&again, 1);
        assert!(again.stderr.contains("nothing to revert"), "{}", again.stderr);
        ended(&home.run(&["revert", "1", "--yes"], ""), 0);
        ended(&home.run(&["diff", &text(&before), &place], ""), 0);
    }
}

#[test]
fn models_are_edited_like_places() {
    for format in [Format::Rbxm, Format::Rbxmx] {
        let (home, file) = with_place(format);
        let call =
            r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game"}}"#;
        ended(&home.run(&["edit", &text(&file), "--ops", "-", "--yes"], call), 0);
        let shown = home.run(&["show", &text(&file), "--depth", "1"], "");
        assert!(shown.stdout.contains("Folder"), "{}", shown.stdout);
    }
}

#[test]
fn unapproved_edits_are_not_written_without_a_terminal() {
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let asked = home.run(&["edit", &text(&file), "--prompt", "delete Part"], "");
    ended(&asked, 3);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    let auto = home.run(&["edit", &text(&file), "--prompt", "delete Part", "--mode", "auto"], "");
    ended(&auto, 3);
    assert!(fs::read(&file).unwrap() == before);
    ended(&home.run(&["edit", &text(&file), "--prompt", GRID, "--mode", "auto"], ""), 0);
    let delete = ["edit", &text(&file), "--prompt", "delete #Cell_1_1", "--mode", "dangerous"];
    ended(&home.run(&delete, ""), 0);
}

#[test]
fn second_confirmation_requires_force() {
    let (home, file) = with_place(Format::Rbxl);
    let source = "return loadstring(\\\"return 1\\\")\\n";
    let call = format!(
        r#"{{"tool":"create_instance","args":{{"className":"Script","parentPath":"game.Workspace","props":{{"Source":"{source}"}}}}}}"#
    );
    let run = |more: &[&str]| {
        let place = text(&file);
        let mut args = vec!["edit", &place, "--ops", "-"];
        args.extend(more);
        home.run(&args, &call)
    };
    ended(&run(&["--yes"]), 3);
    ended(&run(&["--mode", "dangerous"]), 3);
    ended(&run(&["--yes", "--force"]), 0);
}

#[test]
fn json_output_is_exactly_the_ledger_entries() {
    let (home, file) = with_place(Format::Rbxl);
    let run = home.run(&["edit", &text(&file), "--prompt", GRID, "--yes", "--json"], "");
    ended(&run, 0);
    let records: Vec<Record> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(matches!(records[0].entry, Entry::Started { .. }));
    assert!(matches!(records.last().unwrap().entry, Entry::Finished { .. }));
    let log = home.run(&["log", "--json"], "");
    assert_eq!(log.stdout, run.stdout);
}

#[test]
fn dry_run_leaves_no_trace() {
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let dry = home.run(&["edit", &text(&file), "--prompt", GRID, "--dry-run"], "");
    ended(&dry, 0);
    assert!(dry.stdout.contains("Cell_2_2"), "{}", dry.stdout);
    assert!(fs::read(&file).unwrap() == before);
    assert_eq!(home.run(&["log", "--json"], "").stdout, "");
}

#[test]
fn call_list_is_one_proposal_unless_keep_going() {
    let calls = "\
{\"tool\":\"create_instance\",\"args\":{\"className\":\"Folder\",\"parentPath\":\"game.Workspace\",\"props\":{\"Name\":\"A\"}}}

{\"tool\":\"rename_instance\",\"args\":{\"path\":\"game.Workspace.Nope\",\"newName\":\"B\"}}
{\"tool\":\"create_instance\",\"args\":{\"className\":\"Part\",\"parentPath\":\"game.Workspace.A\"}}
";
    let (home, file) = with_place(Format::Rbxl);
    let before = fs::read(&file).unwrap();
    let whole = home.run(&["edit", &text(&file), "--ops", "-", "--yes"], calls);
    ended(&whole, 1);
    assert!(whole.stderr.contains("line 3"), "{}", whole.stderr);
    assert!(fs::read(&file).unwrap() == before);
    let each = home.run(&["edit", &text(&file), "--ops", "-", "--yes", "--keep-going"], calls);
    ended(&each, 1);
    let shown = home.run(&["show", &text(&file), "game.Workspace.A"], "");
    assert!(shown.stdout.contains("Part"), "{}", shown.stdout);
}

#[test]
fn source_prints_a_script_byte_for_byte() {
    let (home, file) = with_place(Format::Rbxl);
    let call = |source: &str| {
        format!(
            r#"{{"tool":"create_instance","args":{{"className":"Script","parentPath":"game.Workspace","props":{{"Name":"S","Source":{}}}}}}}"#,
            serde_json::to_string(source).unwrap()
        )
    };
    let source = "-- größe\r\nreturn 1";
    ended(&home.run(&["edit", &text(&file), "--ops", "-", "--yes"], &call(source)), 0);
    let printed = home.run(&["source", &text(&file), "game.Workspace.S"], "");
    assert_eq!(printed.stdout, source);
}

#[cfg(unix)]
#[test]
fn edit_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (home, file) = with_place(Format::Rbxl);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let link = home.path().join("link.rbxl");
    symlink(&file, &link).unwrap();
    ended(&home.run(&["edit", &text(&link), "--prompt", GRID, "--yes"], ""), 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    let leftovers = fs::read_dir(home.path()).unwrap().filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".vector-")
    });
    assert_eq!(leftovers.count(), 0);
}

fn number(output: &Output) -> String {
    let hint = output.stdout.split("vector revert ").nth(1).unwrap();
    hint.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn revert_counts_only_for_the_file_it_wrote() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let before = home.path().join("before.rbxl");
    fs::copy(&file, &before).unwrap();
    let edited = home.run(&["edit", &place, "--prompt", "grid 1x1 of neon parts", "--yes"], "");
    ended(&edited, 0);
    let out = text(&home.path().join("out.rbxl"));
    ended(&home.run(&["revert", &number(&edited), "--yes", "--out", &out], ""), 0);
    ended(&home.run(&["diff", &text(&before), &out], ""), 0);
    ended(&home.run(&["diff", &text(&before), &place], ""), 1);
    ended(&home.run(&["revert", &number(&edited), "--yes"], ""), 0);
    ended(&home.run(&["diff", &text(&before), &place], ""), 0);
    ended(&home.run(&["revert", &number(&edited), "--yes"], ""), 1);
}

#[test]
fn call_without_changes_makes_no_proposal() {
    let (home, file) = with_place(Format::Rbxlx);
    let call = r#"{"tool":"create_instance","args":{"className":"Script","parentPath":"game.Workspace","props":{"Name":"S","Source":"local a = 1\n"}}}"#;
    ended(&home.run(&["edit", &text(&file), "--ops", "-", "--yes"], call), 0);
    let before = fs::read(&file).unwrap();
    for edits in [
        "[]",
        r#"[{"start":{"line":0,"character":0},"end":{"line":0,"character":5},"text":"local"}]"#,
    ] {
        let call = format!(
            r#"{{"tool":"apply_edit","args":{{"path":"game.Workspace.S","edits":{edits}}}}}"#
        );
        let run = home.run(&["edit", &text(&file), "--ops", "-", "--json"], &call);
        ended(&run, 0);
        assert!(!run.stdout.contains("\"proposed\""), "{}", run.stdout);
    }
    assert!(fs::read(&file).unwrap() == before);
    // With `--out`, the output file is written although nothing has changed, and replaces an old
    // one.
    let out = home.path().join("out.rbxlx");
    fs::write(&out, "old").unwrap();
    let call = r#"{"tool":"apply_edit","args":{"path":"game.Workspace.S","edits":[]}}"#;
    let edit = ["edit", &text(&file), "--ops", "-", "--out", &text(&out)];
    ended(&home.run(&edit, call), 0);
    assert!(fs::read(&out).unwrap() == before);
}

#[test]
fn dry_run_exits_as_the_run_would() {
    let (home, file) = with_place(Format::Rbxl);
    let call = r#"{"tool":"create_instance","args":{"className":"Script","parentPath":"game.Workspace","props":{"Name":"S","Source":"loadstring('')()\n"}}}"#;
    let run = |how: &[&str]| {
        let place = text(&file);
        let mut args = vec!["edit", &place, "--ops", "-", "--dry-run"];
        args.extend(how);
        home.run(&args, call).code
    };
    assert_eq!([run(&[]), run(&["--yes", "--force"])], [0, 0]);
    assert_eq!([run(&["--yes"]), run(&["--mode", "auto"]), run(&["--mode", "dangerous"])], [3; 3]);
}

#[test]
fn call_list_may_contain_propose_changes() {
    let (home, file) = with_place(Format::Rbxl);
    let folder =
        r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game.Workspace"}}"#;
    let call = format!(
        r#"{{"tool":"propose_changes","args":{{"title":"Two folders","changes":[{folder},{folder}]}}}}"#
    );
    let run = home.run(&["edit", &text(&file), "--ops", "-", "--yes"], &call);
    ended(&run, 0);
    assert!(run.stdout.contains("Two folders"), "{}", run.stdout);
}

#[test]
fn concurrent_edits_of_one_place_are_all_applied() {
    const WRITERS: usize = 6;
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    let begun: Vec<_> = (0..WRITERS)
        .map(|n| {
            let prompt = format!("grid 2x2 of neon parts named G{n}");
            let mut command = home.command(&["edit", &place, "--prompt", &prompt, "--yes"]);
            let piped = std::process::Stdio::piped;
            command.stdin(std::process::Stdio::null()).stdout(piped()).stderr(piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in begun {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    let tree = home.run(&["show", &place, "--depth", "9"], "").stdout;
    assert!((0..WRITERS).all(|n| tree.contains(&format!("G{n}"))), "{tree}");
    assert_eq!(tree.matches("Cell_2_2").count(), WRITERS, "{tree}");
}

#[test]
fn failed_run_is_recorded_as_ended() {
    let (home, file) = with_place(Format::Rbxl);
    let args = ["edit", &text(&file), "--prompt", "dance", "--model", "offline"];
    ended(&home.run(&args, ""), 1);
    let log = home.run(&["log"], "").stdout;
    assert!(!log.contains("not finished"), "{log}");
}

#[test]
fn refusal_does_not_recommend_the_mode_in_use() {
    let (home, file) = with_place(Format::Rbxl);
    let prompt = "set Transparency = 0.5 on Part";
    let args = ["edit", &text(&file), "--prompt", prompt, "--mode", "auto"];
    let refused = home.run(&args, "");
    ended(&refused, 3);
    assert!(!refused.stderr.contains("--mode auto"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--yes approves every card"), "{}", refused.stderr);
}

#[test]
fn dry_run_numbers_no_proposal() {
    let (home, file) = with_place(Format::Rbxl);
    let args = ["edit", &text(&file), "--prompt", "add a part", "--dry-run"];
    let shown = home.run(&args, "");
    ended(&shown, 0);
    assert!(!shown.stdout.contains("Proposal"), "{}", shown.stdout);
    assert!(shown.stdout.contains("A dry run"), "{}", shown.stdout);
}

#[test]
fn revert_dry_run_shows_the_change_and_writes_nothing() {
    let (home, file) = with_place(Format::Rbxl);
    let done = home.run(&["edit", &text(&file), "--prompt", "add a part named New", "--yes"], "");
    ended(&done, 0);
    let (log, bytes) = (home.run(&["log", "--json"], "").stdout, fs::read(&file).unwrap());
    let shown = home.run(&["revert", &number(&done), "--dry-run"], "");
    ended(&shown, 0);
    assert!(shown.stdout.contains("New"), "{}", shown.stdout);
    assert!(shown.stderr.contains("dry run"), "{}", shown.stderr);
    assert_eq!(home.run(&["log", "--json"], "").stdout, log);
    assert!(fs::read(&file).unwrap() == bytes);
}

/// Asserts which of two parts' proposals the log lists.
#[track_caller]
fn check_log(home: &Home, args: &[&str], expected: [bool; 2]) {
    let log = home.run(&[&["log"], args].concat(), "").stdout;
    let lines = || log.lines().filter(|line| line.contains("additive"));
    let has = |name: &str| lines().any(|line| line.contains(name));
    assert_eq!([has("Alpha"), has("Beta")], expected, "{args:?}: {log}");
}

#[test]
fn log_lists_entries_that_match_its_filters() {
    let (home, file) = with_place(Format::Rbxl);
    let place = text(&file);
    for prompt in ["add a part named Alpha", "add a folder named Beta"] {
        ended(&home.run(&["edit", &place, "--prompt", prompt, "--yes"], ""), 0);
    }
    let alpha = home.run(&["log", "Alpha"], "").stdout;
    let number = alpha.lines().find(|line| line.contains("applied")).unwrap();
    let number = number.split_whitespace().next().unwrap().to_owned();
    ended(&home.run(&["revert", &number, "--yes"], ""), 0);
    check_log(&home, &[], [true, true]);
    check_log(&home, &["beta"], [false, true]);
    check_log(&home, &["--path", "game.Workspace"], [true, true]);
    check_log(&home, &["--path", "game.Workspace.Alpha"], [true, false]);
    check_log(&home, &["--path", "game.Workspace.Beta"], [false, true]);
    check_log(&home, &["--outcome", "applied"], [false, true]);
    check_log(&home, &["--outcome", "reverted"], [true, false]);
    check_log(&home, &["--outcome", "rejected"], [false, false]);
    check_log(&home, &["--place", &place], [true, true]);
    check_log(&home, &["--place", "other.rbxl"], [false, false]);
    check_log(&home, &["--limit", "1", "beta"], [false, true]);
}

#[test]
fn render_refuses_a_file_name_that_is_not_png() {
    let (home, file) = with_place(Format::Rbxl);
    let picture = home.path().join("x.jpg");
    let refused = home.run(&["render", &text(&file), "-o", &text(&picture)], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("use .png"), "{}", refused.stderr);
    assert!(!picture.exists());
    let nowhere = home.run(&["render", &text(&file), "-o", "/no-such-folder/x.png"], "");
    ended(&nowhere, 1);
    assert!(!nowhere.stderr.contains(".tmp"), "{}", nowhere.stderr);
}

#[test]
fn usage_line_omits_options_that_are_set() {
    let home = Home::new();
    let usage = home.run(&["edit"], "");
    ended(&usage, 2);
    assert!(!usage.stderr.contains("--home <DIR>"), "{}", usage.stderr);
}

#[test]
fn unknown_provider_error_names_the_models_file() {
    let (home, file) = with_place(Format::Rbxl);
    let args = ["edit", &text(&file), "--prompt", "add a part", "--model", "house/toy"];
    let without = home.run(&args, "");
    ended(&without, 1);
    assert!(without.stderr.contains("models.toml with [providers.house]"), "{}", without.stderr);
    assert!(without.stderr.contains("To define it, create"), "{}", without.stderr);
    let folder = home.path().join("vector");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("models.toml"), "").unwrap();
    let with = home.run(&args, "");
    assert!(with.stderr.contains("models.toml exists, but has no"), "{}", with.stderr);
}
