//! `vector forget`: it erases prompts and sources from the ledger's files, and keeps the decisions
//! with their times and costs.

use std::fs;
use std::path::Path;

use scene_schemas::entry::{Entry, Record};
use vector_tests::binary::Home;
use vector_tests::places::Format;

use super::{ended, text, with_place};

/// Words that occur nowhere else.
const SECRETS: [&str; 3] = ["Xylophonist", "quagmire_of_gold", "Zebrawood"];

fn call(name: &str, source: &str) -> String {
    format!(
        r#"{{"tool":"create_instance","args":{{"className":"ModuleScript","parentPath":"game.ServerScriptService","props":{{"Name":"{name}","Source":"{source}"}}}}}}"#
    )
}

/// A script that is long enough to be stored in a blob.
fn long(word: &str) -> String {
    let lines: Vec<String> = (0..6_000).map(|at| format!("-- {word} {at}\\n")).collect();
    lines.concat()
}

/// Whether any file of the ledger contains this word, including packed blobs.
fn is_anywhere(home: &Home, word: &str) -> bool {
    let folder = home.path().join("vector");
    let plain = fs::read_dir(&folder).unwrap().flatten().any(|entry| {
        let is_ledger = entry.file_name().to_string_lossy().starts_with("ledger.sqlite");
        is_ledger && has(&fs::read(entry.path()).unwrap(), word.as_bytes())
    });
    let ledger = rusqlite::Connection::open(folder.join("ledger.sqlite")).unwrap();
    let mut blobs = ledger.prepare("SELECT packed, bytes FROM blobs").unwrap();
    let mut blobs = blobs.query([]).unwrap();
    let mut packed = false;
    while let Some(row) = blobs.next().unwrap() {
        let bytes: Vec<u8> = row.get(1).unwrap();
        let is_packed: bool = row.get(0).unwrap();
        let bytes = if is_packed { zstd::decode_all(&bytes[..]).unwrap() } else { bytes };
        packed |= has(&bytes, word.as_bytes());
    }
    plain || packed
}

fn has(bytes: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(bytes, word).is_some()
}

fn records(home: &Home) -> Vec<Record> {
    let log = home.run(&["log", "--json"], "");
    ended(&log, 0);
    log.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn edit(home: &Home, file: &Path, calls: &str) {
    ended(&home.run(&["edit", &text(file), "--ops", "-", "--yes"], calls), 0);
}

/// A home with two places. In the first one, a script was created and overwritten, both with long
/// sources.
fn with_two() -> (Home, std::path::PathBuf, std::path::PathBuf) {
    let (home, file) = with_place(Format::Rbxlx);
    let other = home.path().join("other.rbxlx");
    fs::copy(&file, &other).unwrap();
    edit(&home, &file, &call(SECRETS[0], &long(SECRETS[1])));
    let path = format!("game.ServerScriptService.{}", SECRETS[0]);
    let over = format!(
        r#"{{"tool":"write_script","args":{{"path":"{path}","source":"{}"}}}}"#,
        long(SECRETS[2])
    );
    edit(&home, &file, &over);
    edit(&home, &other, &call("Kept", "return 'kept words'"));
    (home, file, other)
}

#[test]
fn forgotten_text_is_in_no_ledger_file() {
    let (home, file, other) = with_two();
    for word in SECRETS {
        assert!(is_anywhere(&home, word), "{word} is not there before");
    }
    let before = records(&home);
    let ledger = home.path().join("vector/ledger.sqlite");
    let size = fs::metadata(&ledger).unwrap().len();
    let dry = home.run(&["forget", "--place", &text(&file), "--dry-run"], "");
    ended(&dry, 0);
    assert!(dry.stdout.contains("2 tasks would be erased"), "{}", dry.stdout);
    assert!(dry.stdout.contains("2 proposals"), "{}", dry.stdout);
    assert_eq!(records(&home), before);
    // The user cannot be asked, and that does not count as a yes.
    ended(&home.run(&["forget", "--place", &text(&file)], ""), 3);
    assert_eq!(records(&home), before);
    let forgotten = home.run(&["forget", "--place", &text(&file), "--yes"], "");
    ended(&forgotten, 0);
    assert!(!forgotten.stderr.contains("could not be made smaller"), "{}", forgotten.stderr);
    for word in SECRETS {
        assert!(!is_anywhere(&home, word), "{word} is still there");
    }
    assert!(is_anywhere(&home, "kept words"), "the other place is not meant");
    assert!(fs::metadata(&ledger).unwrap().len() < size, "the file shrinks");
    // Decisions, hashes and times are unchanged.
    let after = records(&home);
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((old.seq, old.at, old.workflow), (new.seq, new.at, new.workflow));
        match (&old.entry, &new.entry) {
            (Entry::Approved { .. }, new) => assert_eq!(&old.entry, new),
            (Entry::Proposed { proposal: old, .. }, Entry::Proposed { proposal: new, .. }) => {
                assert_eq!(
                    (&old.patch_id, &old.base, old.class),
                    (&new.patch_id, &new.base, new.class)
                );
            }
            (Entry::Applied { ack: old, .. }, Entry::Applied { ack: new, .. }) => {
                assert_eq!((&old.before, &old.after), (&new.before, &new.after));
            }
            (old, new) => assert_eq!(std::mem::discriminant(old), std::mem::discriminant(new)),
        }
    }
    let marks = after[before.len()..].iter().filter(|it| matches!(it.entry, Entry::Erased { .. }));
    assert_eq!((marks.count(), after.len()), (2, before.len() + 2));
    // All readers of the ledger still work, and new entries can be appended.
    let log = home.run(&["log"], "");
    ended(&log, 0);
    assert!(log.stdout.contains("(erased)"), "{}", log.stdout);
    ended(&home.run(&["usage"], ""), 0);
    ended(&home.run(&["doctor"], ""), 0);
    edit(&home, &file, &call("Later", "return 1"));
    edit(&home, &other, &call("Later", "return 1"));
    let again = home.run(&["forget", "--place", &text(&file), "--before", "2000-01-01"], "");
    ended(&again, 2);
    let nothing = home.run(&["forget", "--before", "2000-01-01", "--yes"], "");
    ended(&nothing, 0);
    assert!(nothing.stderr.contains("There is nothing to erase"), "{}", nothing.stderr);
}

#[test]
fn only_proposals_that_were_not_erased_can_be_reverted() {
    let (home, file, other) = with_two();
    let proposals: Vec<String> = records(&home)
        .iter()
        .filter(|it| matches!(it.entry, Entry::Proposed { .. }))
        .map(|it| it.seq.to_string())
        .collect();
    let first = records(&home)[0].seq.to_string();
    ended(&home.run(&["forget", "--conversation", &first, "--yes"], ""), 0);
    let bytes = fs::read(&file).unwrap();
    let refused = home.run(&["revert", &proposals[0], "--yes"], "");
    ended(&refused, 1);
    assert!(refused.stderr.contains("were erased"), "{}", refused.stderr);
    assert_eq!(fs::read(&file).unwrap(), bytes);
    // A later task has its own texts, and can be reverted.
    ended(&home.run(&["revert", &proposals[1], "--yes"], ""), 0);
    ended(&home.run(&["revert", &proposals[2], "--yes"], ""), 0);
    let shown = home.run(&["show", &text(&other), "--depth", "3"], "").stdout;
    assert!(!shown.contains("Kept"), "{shown}");
}

#[test]
fn forget_erases_everything_before_a_day() {
    let (home, ..) = with_two();
    ended(&home.run(&["forget", "--before", "2999-13-01", "--yes"], ""), 1);
    ended(&home.run(&["forget", "--before", "2999-12-31", "--yes"], ""), 0);
    for word in SECRETS.iter().chain(&["kept words"]) {
        assert!(!is_anywhere(&home, word), "{word} is still there");
    }
}
