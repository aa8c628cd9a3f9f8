//! The questions of the first `vector open`, at a terminal.

use std::fs;

use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::person::Person;
use vector_tests::places::{self, Format};

const KEY: &str = "sk-test-0123456789abcdef";
const PROVIDER: &str = "the offline planner answers):";

/// A home with a running daemon, and a place.
fn home() -> (Home, Daemon) {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), &home.path().join("vector"));
    fs::write(home.path().join("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
    (home, daemon)
}

fn open(home: &Home, args: &[&str]) -> Person {
    let mut command = home.command(&["open"]);
    // Without a browser, so that the address is printed.
    command.args(args).current_dir(home.path()).env("PATH", home.path());
    Person::runs(command)
}

fn settings(home: &Home) -> String {
    fs::read_to_string(home.path().join("vector/settings.json")).unwrap_or_default()
}

#[test]
fn first_run_asks_for_a_model_its_key_and_a_place() {
    let (home, _daemon) = home();
    let mut person = open(&home, &[]);
    let listed = person.answers(PROVIDER, "opnai");
    assert!(listed.contains("1  anthropic   claude-"), "{listed}");
    assert!(listed.contains("models on your machine, without a key"), "{listed}");
    let refused = person.answers(PROVIDER, "openai");
    assert!(refused.contains("There is no provider \"opnai\""), "{refused}");
    person.answers("Key of openai (hidden): ", "a key with blanks");
    let refused = person.answers("Key of openai (hidden): ", KEY);
    assert!(refused.contains("That is not a key"), "{refused}");
    let kept = person.answers("(empty: gpt-5.2):", "no such/model");
    assert!(kept.contains("keeps the key in memory until it stops"), "{kept}");
    let saved = person.answers("Studio):", "nowhere.rbxl");
    assert!(saved.contains("openai/no such/model answers"), "{saved}");
    let refused = person.answers("Studio):", "'place.rbxl'");
    assert!(refused.contains("There is no file or folder "), "{refused}");
    let (code, rest) = person.sees_the_end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("place.rbxl is open in the daemon"), "{rest}");
    assert!(rest.contains("/#in="), "{rest}");
    assert!(settings(&home).contains("openai/"), "{}", settings(&home));
    assert!(!(listed + &kept + &saved + &rest).contains(KEY));

    // Asked once.
    let (code, rest) = open(&home, &[]).sees_the_end();
    assert!(code == 0 && !rest.contains("provider"), "{rest}");
}

#[test]
fn questions_can_be_left_empty() {
    let (home, _daemon) = home();
    let mut person = open(&home, &["place.rbxl"]);
    person.answers(PROVIDER, "1");
    // Without a key, another provider can be chosen.
    person.answers("Key of anthropic (hidden): ", "");
    person.answers(PROVIDER, "");
    let (code, rest) = person.sees_the_end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("The offline planner answers"), "{rest}");
    // The place was named on the command line.
    assert!(!rest.contains("Place:"), "{rest}");
    assert!(rest.contains("place.rbxl is open in the daemon"), "{rest}");
    assert!(settings(&home).contains("mode"), "{}", settings(&home));
}

#[test]
fn end_of_input_saves_nothing() {
    let (home, _daemon) = home();
    let mut person = open(&home, &[]);
    person.answers(PROVIDER, "\u{4}");
    let (code, rest) = person.sees_the_end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("/#in="), "{rest}");
    assert_eq!(settings(&home), "");
    // A terminal that has a key needs no questions about models.
    let mut command = home.command(&["open", "place.rbxl"]);
    command.current_dir(home.path()).env("PATH", home.path()).env("OPENAI_API_KEY", KEY);
    let (code, rest) = Person::runs(command).sees_the_end();
    assert_eq!(code, 0, "{rest}");
    assert!(rest.contains("openai/gpt-5.2 answers, because it is the first provider"), "{rest}");
    assert!(!rest.contains("Which provider"), "{rest}");
}
