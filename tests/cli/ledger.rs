//! `vector ledger verify`: a ledger that somebody changed is not taken for whole.

use rusqlite::Connection;
use serde_json::Value as Json;
use vector_tests::binary::Home;
use vector_tests::places::Format;

use super::{ended, text, with_place};

fn verify(home: &Home, more: &[&str], code: i32) -> String {
    let run = home.run(&[&["ledger", "verify"], more].concat(), "");
    ended(&run, code);
    run.stdout
}

#[test]
fn ledger_is_verified_up_to_a_noted_head() {
    let (home, file) = with_place(Format::Rbxl);
    let call = r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game.Workspace","props":{"Name":"Park"}}}"#;
    let edit = || ended(&home.run(&["edit", &text(&file), "--ops", "-", "--yes"], call), 0);
    edit();
    let said = verify(&home, &[], 0);
    assert!(said.starts_with("The ledger is whole: ") && said.contains(" entries.\n"), "{said}");
    let head = said.lines().find_map(|line| line.strip_prefix("head ")).unwrap();
    edit();
    let json: Json = serde_json::from_str(&verify(&home, &["--head", head, "--json"], 0)).unwrap();
    assert_eq!(json["whole"], true);
    assert_ne!(json["head"], head);

    // What was erased is known as that.
    ended(&home.run(&["forget", "--place", &text(&file), "--yes"], ""), 0);
    let said = verify(&home, &["--head", head], 0);
    assert!(said.contains(" of them erased."), "{said}");

    let ledger = Connection::open(home.path().join("vector/ledger.sqlite")).unwrap();
    let change = "DROP TRIGGER entries_stay; UPDATE entries SET at = 1 WHERE seq = 2";
    ledger.execute_batch(change).unwrap();
    let said = verify(&home, &["--head", head], 1);
    assert!(said.contains("entry 2 is not the one that was linked here\n"), "{said}");
    assert!(said.contains("The ledger is not as it was written ("), "{said}");
}

#[test]
fn wrong_heads_and_missing_ledgers_are_refused() {
    let home = Home::new();
    let run = home.run(&["ledger", "verify"], "");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("there is no ledger in "), "{run:?}");
    let short = format!("4:{}", "0".repeat(63));
    for (head, says) in [
        ("4", "write it as POSITION:HASH"),
        ("x:00", "is not a position"),
        (short.as_str(), "a hash has 64 digits"),
    ] {
        let run = home.run(&["ledger", "verify", "--head", head], "");
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.stderr.contains(says), "{run:?}");
    }
}
