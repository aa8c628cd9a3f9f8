//! Commands that only read a place also read a project.

use std::fs;
use std::path::PathBuf;

use vector_tests::binary::{Home, Output};

struct Bench {
    home: Home,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let folder = home.path().join("game");
        fs::create_dir_all(folder.join("src")).unwrap();
        let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel",
            "ReplicatedStorage": { "$path": "src" } } }"#;
        fs::write(folder.join("default.project.json"), tree).unwrap();
        fs::write(folder.join("src/Config.luau"), "return { Speed = 16 }\n").unwrap();
        let spec = "return function()\n\tit(\"is fast\", function()\n\t\t\
                    expect(require(script.Parent.Config).Speed).to.equal(16)\n\tend)\nend\n";
        fs::write(folder.join("src/Config.spec.luau"), spec).unwrap();
        Self { home, folder }
    }

    fn run(&self, command: &str, more: &[&str]) -> Output {
        let folder = self.folder.display().to_string();
        self.home.run(&[&[command, folder.as_str()], more].concat(), "")
    }
}

#[test]
fn project_can_be_shown_checked_tested_and_diffed() {
    let bench = Bench::new();
    let shown = bench.run("show", &["--depth", "3"]);
    assert!(shown.stdout.contains("Config"), "{}{}", shown.stdout, shown.stderr);
    let source = bench.run("source", &["game.ReplicatedStorage.Config"]);
    assert_eq!(source.stdout, "return { Speed = 16 }\n", "{}", source.stderr);
    let tested = bench.run("test", &[]);
    assert_eq!(tested.code, 0, "{}{}", tested.stdout, tested.stderr);
    let itself = bench.folder.join("default.project.json").display().to_string();
    assert_eq!(bench.run("diff", &[&itself]).code, 0);
    assert_eq!(bench.run("check", &["--no-types"]).code, 0);
    fs::write(bench.folder.join("src/Config.luau"), "return {\n").unwrap();
    let wrong = bench.run("check", &["--no-types", "--format", "json"]);
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert!(wrong.stdout.contains(r#""file":"src/Config.luau""#), "{}", wrong.stdout);
}

#[test]
fn missing_project_is_reported() {
    let bench = Bench::new();
    fs::remove_file(bench.folder.join("default.project.json")).unwrap();
    let none = bench.run("show", &[]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("there is no Rojo project at"), "{}", none.stderr);
}
