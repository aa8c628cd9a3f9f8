//! The README's pictures of cards and their question in a terminal are up to date.

use std::ffi::OsStr;

use anstyle_svg::{Term, WIN10_CONSOLE};
use vector_tests::binary::Home;
use vector_tests::person::{Person, left_to_see};
use vector_tests::{printed, repository};

/// Each picture, and the tool calls whose card it shows.
const PICTURES: [(&str, &str); 2] =
    [("docs/card.svg", "samples/lava.jsonl"), ("docs/runs.svg", "samples/rename.jsonl")];

#[test]
fn card_pictures_are_up_to_date() {
    for (picture, calls) in PICTURES {
        check_picture(picture, calls);
    }
}

fn check_picture(picture: &str, calls: &str) {
    let home = Home::new();
    let out = home.path().join("out.rbxlx");
    let edit = ["edit", "samples/obby.rbxlx", "--ops", calls, "--out"].map(OsStr::new);
    let mut command = home.command(&edit);
    command.arg(&out).current_dir(repository::root());
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    let mut person = Person::runs(command);
    let question = "[q]uit [?]";
    let shown = person.answers(question, "q") + question;
    person.sees_the_end();
    let typed = format!("\x1b[2m$\x1b[0m vector edit samples/obby.rbxlx --ops {calls}");
    let screen = format!("{typed}\n{shown}\n");
    printed::check(picture, &Term::new().palette(WIN10_CONSOLE).render_svg(&screen));
}

#[test]
fn picture_omits_erased_terminal_output() {
    let slow = "⠁ Working (1s)   \r\x1b[2K⠂ Working (2s)   \r\x1b[2K\x1b[1mProposal 3\x1b[0m\r\n│ rest\r\n";
    assert_eq!(left_to_see(slow), "\x1b[1mProposal 3\x1b[0m\n│ rest\n");
}
