//! The README's tour, run line by line in a clone, on a terminal and with the built binary.

use std::ffi::OsString;
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

/// Someone who takes the tour.
pub(crate) struct Tourist<'a> {
    /// The folder of the clone, which is created.
    pub(crate) clone: &'a Path,
    /// The folder that contains the program `vector`.
    pub(crate) bin: &'a Path,
    /// The variables of the terminal, without PATH.
    pub(crate) variables: &'a [(OsString, OsString)],
}

impl Tourist<'_> {
    fn command(&self, line: &str) -> Command {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.clone).env_clear();
        command.envs(self.variables.iter().cloned()).env("PATH", path);
        command.env("VECTOR_PORT", "0").env("TERM", "xterm-256color");
        command
    }

    /// Takes the tour, line by line.
    pub(crate) fn take_tour(&self) {
        clone_samples(self.clone);
        let lines = tour();
        assert_eq!(lines[0], "cargo install --path daemon", "it begins with the installation");
        for line in &lines[1..] {
            let step = STEPS.iter().find(|step| line.starts_with(step.line));
            let mut person = Person::runs(self.command(line));
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
}

impl Drop for Tourist<'_> {
    /// Stops the daemon that the tour has started, even if a line of it fails.
    fn drop(&mut self) {
        let _ = self.command("vector stop").output();
    }
}

#[test]
fn every_readme_tour_line_runs_in_a_clone() {
    if !has_git() {
        return;
    }
    let home = Home::new();
    let clone = home.path().canonicalize().unwrap().join("clone");
    let plain = home.command::<&str>(&[]);
    let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let variables: Vec<_> = variables.map(|(name, it)| (name.into(), it.into())).collect();
    let bin = binary::vector().parent().unwrap();
    Tourist { clone: &clone, bin, variables: &variables }.take_tour();
}
