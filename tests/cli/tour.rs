//! The README's tour, run line by line in a clone, on a terminal and with the built binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use vector_tests::binary::{self, Home};
use vector_tests::person::Person;
use vector_tests::repository;
use vector_tests::requirement::has_git;

/// A line of the tour that asks questions or does not exit with 0.
struct Step {
    /// The beginning of the line.
    line: &'static str,
    /// The last words of each question, and the answer.
    answers: &'static [(&'static str, &'static str)],
    code: i32,
}

const APPROVE: (&str, &str) = ("[q]uit [?]", "y");

const STEPS: [Step; 9] = [
    Step { line: "vector edit samples/obby.rbxlx", answers: &[APPROVE], code: 0 },
    Step { line: "vector edit new.rbxlx", answers: &[APPROVE], code: 0 },
    Step { line: "vector diff", answers: &[], code: 1 },
    Step { line: "vector revert", answers: &[APPROVE], code: 0 },
    Step { line: "vector run", answers: &[("all of it [?]", "y")], code: 0 },
    Step { line: "vector chat", answers: &[("> ", "/quit")], code: 0 },
    Step { line: "vector edit samples/project", answers: &[APPROVE], code: 0 },
    Step { line: "vector open", answers: &[("planner answers): ", "")], code: 0 },
    Step { line: "vector mcp", answers: &[("", "\u{4}")], code: 0 },
];

/// The commands of the tour, without their comments.
fn tour() -> Vec<String> {
    let readme = repository::read("README.md");
    let section = readme.split("\n## A tour\n").nth(1).expect("the README has a tour");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines = block.expect("the tour is a block of commands").lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split("  #").next().unwrap_or(line).trim().to_owned())
        .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Creates a clone as far as the tour needs one: the samples in a Git repository.
fn clone_samples(folder: &Path) {
    copy(&repository::root().join("samples"), &folder.join("samples"));
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=A person", "-c", "user.email=person@example.com"];
        let mut command = Command::new("git");
        command.arg("-C").arg(folder).args(identity).args(args);
        assert!(command.status().is_ok_and(|status| status.success()), "{args:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "Begin"]);
}

/// Stops the daemon that the tour has started, even if a line of the tour fails.
struct Daemons<'a>(&'a Home);

impl Drop for Daemons<'_> {
    fn drop(&mut self) {
        self.0.run(&["stop"], "");
    }
}

#[test]
fn every_readme_tour_line_runs_in_a_clone() {
    let home = Home::new();
    let folder = home.path().canonicalize().unwrap().join("clone");
    if !has_git() {
        return;
    }
    clone_samples(&folder);
    let bin = binary::vector().parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let _daemons = Daemons(&home);
    let lines = tour();
    assert_eq!(lines[0], "cargo install --path daemon", "the tour begins with the installation");
    for line in &lines[1..] {
        let step = STEPS.iter().find(|step| line.starts_with(step.line));
        let plain = home.command::<&str>(&[]);
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&folder).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", &path).env("VECTOR_PORT", "0").env("TERM", "xterm-256color");
        let mut person = Person::runs(command);
        let mut shown = format!("$ {line}\n");
        for (question, answer) in step.map_or(&[][..], |step| step.answers) {
            shown += &person.answers(question, answer);
        }
        let (code, rest) = person.sees_the_end();
        assert_eq!(code, step.map_or(0, |step| step.code), "{shown}{rest}");
    }
    for step in &STEPS {
        assert!(lines.iter().any(|line| line.starts_with(step.line)), "{} is gone", step.line);
    }
}
