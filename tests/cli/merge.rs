//! Merging and converting places on the command line and from Git.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value as Json;
use vector_place::diff::diff_scenes;
use vector_place::{FileFormat as Kind, Scene};
use vector_tests::binary::{Home, is_for_windows, vector};
use vector_tests::cases::cases;
use vector_tests::places::{self, Format};
use vector_tests::requirement::has_git;

use super::{ended, text};

/// The sample place, changed by these calls.
fn changed(home: &Home, name: &str, format: Format, ops: &str) -> PathBuf {
    let file = home.path().join(format!("{name}.{}", format.extension()));
    fs::write(&file, places::sample(format)).unwrap();
    ended(&home.run(&["edit", &text(&file), "--ops", "-", "--yes"], ops), 0);
    file
}

fn set(class: &str, property: &str, value: &str) -> String {
    let (selector, props) = (class, format!("{{\"{property}\": {value}}}"));
    format!(
        "{{\"tool\": \"set_properties\", \"args\": {{\"selector\": \"{selector}\", \"props\": {props}}}}}\n"
    )
}

#[test]
fn changes_of_both_sides_are_merged() {
    for format in Format::ALL {
        let home = Home::new();
        let base = home.path().join(format!("base.{}", format.extension()));
        fs::write(&base, places::sample(format)).unwrap();
        let ours = changed(&home, "ours", format, &set("Part", "CastShadow", "false"));
        let theirs = changed(&home, "theirs", format, &set("Part", "Transparency", "0.25"));
        let both = set("Part", "CastShadow", "false") + &set("Part", "Transparency", "0.25");
        let wanted = changed(&home, "wanted", format, &both);
        let before = fs::read(&ours).unwrap();
        let (out, paths) = (home.path().join("merged"), [&base, &ours, &theirs].map(|it| text(it)));
        let [base, own, theirs] = paths.each_ref().map(String::as_str);
        ended(&home.run(&["merge", base, own, theirs, "--out", &text(&out)], ""), 0);
        ended(&home.run(&["diff", &text(&out), &text(&wanted)], ""), 0);
        assert!(fs::read(&ours).unwrap() == before, "ours was to stay as it is");

        let other = changed(&home, "other", format, &set("Part", "CastShadow", "false"));
        let run = home.run(&["merge", &text(&wanted), own, &text(&other)], "");
        ended(&run, 0);
        let run = home.run(&["merge", base, own, "nothing.rbxl"], "");
        ended(&run, 2);
        assert!(run.stderr.contains("nothing.rbxl cannot be read"), "{}", run.stderr);
    }
}

#[test]
fn merge_conflicts_are_reported_as_text_and_json() {
    let (home, format) = (Home::new(), Format::Rbxl);
    let base = home.path().join("base.rbxl");
    fs::write(&base, places::sample(format)).unwrap();
    let ours = changed(&home, "ours", format, &set("Part", "Transparency", "0.5"));
    let theirs = changed(&home, "theirs", format, &set("Part", "Transparency", "0.25"));
    let before = fs::read(&ours).unwrap();
    let run = home.run(&["merge", &text(&base), &text(&ours), &text(&theirs)], "");
    ended(&run, 1);
    assert!(run.stdout.contains("open    game.Workspace"), "{}", run.stdout);
    fs::write(&ours, before).unwrap();
    let run = home.run(&["merge", &text(&base), &text(&ours), &text(&theirs), "--json"], "");
    ended(&run, 1);
    let conflicts: Vec<Json> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!conflicts.is_empty());
    for conflict in conflicts {
        assert_eq!(conflict["conflict"], "property");
        assert_eq!(conflict["property"], "Transparency");
        let values = [&conflict["ours"]["value"], &conflict["theirs"]["value"]];
        assert_eq!(values, [&Json::from(0.5), &Json::from(0.25)]);
    }
}

#[test]
fn convert_round_trip_preserves_the_place() {
    for (from, to) in [(Format::Rbxl, Format::Rbxlx), (Format::Rbxmx, Format::Rbxm)] {
        let home = Home::new();
        let file =
            |name: &str, format: Format| home.path().join(format!("{name}.{}", format.extension()));
        let (first, second, third) = (file("a", from), file("b", to), file("c", from));
        fs::write(&first, places::sample(from)).unwrap();
        ended(&home.run(&["convert", &text(&first), &text(&second)], ""), 0);
        ended(&home.run(&["convert", &text(&second), &text(&third)], ""), 0);
        ended(&home.run(&["diff", &text(&first), &text(&second)], ""), 0);
        ended(&home.run(&["diff", &text(&first), &text(&third)], ""), 0);
        let again = home.run(&["convert", &text(&first), &text(&second)], "");
        ended(&again, 1);
        assert!(again.stderr.contains("--force replaces it"), "{}", again.stderr);
        ended(&home.run(&["convert", &text(&first), "place.txt"], ""), 1);
    }
}

#[test]
fn real_places_convert_without_differences() {
    let Some(cases) = cases() else { return };
    for entry in fs::read_dir(cases.join("places")).unwrap() {
        let file = entry.unwrap().path();
        if !file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbx")) {
            continue;
        }
        let scene = Scene::decode(&fs::read(&file).unwrap()).unwrap();
        for format in [Kind::Binary, Kind::Xml] {
            let other = scene.convert_to(format).unwrap();
            assert_eq!(diff_scenes(&scene, &other), [], "{}", file.display());
        }
    }
}

/// A Git repository with Vector as its merge driver. None if Git is not installed.
struct Repository(Home);

impl Repository {
    fn new() -> Option<Self> {
        if !has_git() {
            return None;
        }
        let repository = Self(Home::new());
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.git(&["config", "user.name", "A"]);
        repository.git(&["config", "user.email", "a@example.com"]);
        Some(repository)
    }

    fn try_git(&self, args: &[&str]) -> (bool, String) {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.0.path()).env("HOME", self.0.path());
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        let (ended_well, said) = self.try_git(args);
        assert!(ended_well, "git {args:?}: {said}");
        said
    }

    /// Runs Vector in the repository, as a user does.
    fn vector(&self, args: &[&str]) -> (i32, String) {
        let mut command = Command::new(vector());
        command.args(args).current_dir(self.0.path()).env("HOME", self.0.path());
        command.env("VECTOR_HOME", self.0.path().join("vector"));
        let output = command.env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
    }

    /// A repository in which the branches `main` and `other` set different reflectances on the
    /// parts of a place.
    fn with_conflict() -> Option<Self> {
        let repository = Self::new()?;
        let folder = repository.0.path();
        assert_eq!(repository.vector(&["git", "install"]).0, 0);
        fs::write(folder.join(".gitignore"), "/vector\n").unwrap();
        fs::write(folder.join("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "--message", "start"]);
        repository.git(&["checkout", "--quiet", "-b", "other"]);
        repository.edit(&(set("Part", "Reflectance", "0.5") + &set("Part", "CastShadow", "false")));
        repository.git(&["checkout", "--quiet", "main"]);
        repository.edit(&set("Part", "Reflectance", "1"));
        Some(repository)
    }

    /// Merges `other`, which leads to a conflict.
    fn merge_other(&self) {
        let (ended_well, said) = self.try_git(&["merge", "other"]);
        assert!(!ended_well && said.contains("CONFLICT"), "{said}");
        assert!(said.contains("Reflectance: base 0, ours 1, theirs 0.5"), "{said}");
    }

    /// The `CastShadow` and `Reflectance` of the parts of the place.
    fn values(&self) -> Vec<[String; 2]> {
        let scene = Scene::decode(&fs::read(self.0.path().join("place.rbxl")).unwrap()).unwrap();
        let parts = scene.descendants(scene.root()).filter(|node| scene.class(*node) == "Part");
        let value = |node, it| scene.value(node, it).unwrap().to_brief();
        parts.map(|node| ["CastShadow", "Reflectance"].map(|it| value(node, it))).collect()
    }

    /// Whether no state of a merge remains.
    fn is_clean(&self) -> bool {
        let git = self.0.path().join(".git");
        let attributes = fs::read_to_string(git.join("info/attributes")).unwrap_or_default();
        let merges = fs::read_dir(git.join("vector/merge")).into_iter().flatten().count();
        !attributes.contains("vector-unresolved") && merges == 0
    }

    fn edit(&self, ops: &str) {
        let file = self.0.path().join("place.rbxl");
        ended(&self.0.run(&["edit", &text(&file), "--ops", "-", "--yes"], ops), 0);
        self.git(&["commit", "--quiet", "--all", "--message", "edit"]);
    }
}

#[test]
fn git_merges_and_diffs_places() {
    let Some(repository) = Repository::new() else {
        return;
    };
    let folder = repository.0.path();
    for _ in 0..2 {
        let (code, said) = repository.vector(&["git", "install"]);
        assert_eq!(code, 0, "{said}");
    }
    let attributes = fs::read_to_string(folder.join(".gitattributes")).unwrap();
    assert_eq!(attributes.lines().count(), 4, "{attributes}");
    fs::write(folder.join(".gitignore"), "/vector\n").unwrap();
    fs::write(folder.join("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
    repository.git(&["add", "."]);
    repository.git(&["commit", "--quiet", "--message", "start"]);
    repository.git(&["checkout", "--quiet", "-b", "other"]);
    repository.edit(&set("Part", "Transparency", "0.25"));
    let shown = repository.git(&["diff", "main", "--", "place.rbxl"]);
    assert!(shown.contains("+  Transparency = 0.25"), "{shown}");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.edit(&set("Part", "CastShadow", "false"));
    repository.git(&["merge", "--quiet", "other", "--message", "merge"]);
    let merged = Scene::decode(&fs::read(folder.join("place.rbxl")).unwrap()).unwrap();
    let parts = merged.descendants(merged.root()).filter(|node| merged.class(*node) == "Part");
    let values =
        |node| ["CastShadow", "Transparency"].map(|it| merged.value(node, it).unwrap().to_brief());
    assert!(parts.map(values).all(|values| values == ["false", "0.25"]));

    repository.git(&["checkout", "--quiet", "other"]);
    repository.edit(&set("Part", "Reflectance", "0.5"));
    repository.git(&["checkout", "--quiet", "main"]);
    repository.edit(&set("Part", "Reflectance", "1"));
    let (ended_well, said) = repository.try_git(&["merge", "other"]);
    assert!(!ended_well && said.contains("CONFLICT"), "{said}");
}

#[test]
fn git_refuses_places_with_open_conflicts() {
    let Some(repository) = Repository::with_conflict() else {
        return;
    };
    repository.merge_other();
    let merged = repository.values();
    assert!(merged.iter().all(|it| *it == ["false", "1"]), "{merged:?}");
    for add in [&["add", "place.rbxl"][..], &["add", "--all"], &["commit", "--all", "-m", "m"]] {
        let (ended_well, said) = repository.try_git(add);
        assert!(!ended_well && said.contains("place.rbxl has"), "{add:?}: {said}");
        assert!(said.contains("vector merge --continue"), "{said}");
    }
    assert!(repository.git(&["status", "--porcelain"]).contains("UU place.rbxl"));
    let (code, said) = repository.vector(&["merge", "--list"]);
    assert!(code == 1 && said.contains("   1  open") && said.contains("Reflectance"), "{said}");
    // Without a terminal, no question can be asked, so all conflicts stay open.
    let (code, said) = repository.vector(&["merge", "--continue"]);
    assert!(code == 1 && said.contains("still open"), "{said}");
    let (code, said) = repository.vector(&["merge", "--ours", "1"]);
    let is_all = merged.len() == 1;
    assert_eq!(code, i32::from(!is_all), "{said}");
    let (_, said) = repository.vector(&["merge", "--theirs", "99"]);
    assert!(said.contains("there is no conflict `99`") || is_all, "{said}");
    if !is_all {
        let (code, said) = repository.vector(&["merge", "--theirs"]);
        assert!(code == 0 && said.contains("It is staged"), "{said}");
    }
    let values = repository.values();
    assert_eq!(values.iter().filter(|it| it[1] == "1").count(), 1, "{values:?}");
    assert!(values.iter().all(|it| it[0] == "false"), "{values:?}");
    assert!(repository.is_clean());
    repository.git(&["commit", "--quiet", "--message", "merge"]);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(repository.vector(&["merge", "--list"]).0, 0);
}

#[test]
fn aborted_merge_leaves_no_conflicts_behind() {
    let Some(repository) = Repository::with_conflict() else {
        return;
    };
    repository.merge_other();
    repository.git(&["merge", "--abort"]);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    repository.edit(&set("Part", "Transparency", "0.5"));
    let (code, said) = repository.vector(&["merge", "--list"]);
    assert!(code == 0 && said.contains("There are no open conflicts"), "{said}");
    assert!(repository.is_clean());
    // The same after a checkout of the file of one side.
    repository.merge_other();
    repository.git(&["checkout", "--theirs", "place.rbxl"]);
    repository.git(&["add", "place.rbxl"]);
    repository.git(&["commit", "--quiet", "--message", "merge"]);
    assert!(repository.values().iter().all(|it| it[1] == "0.5"));
    assert_eq!(repository.vector(&["merge", "--list"]).0, 0);
    assert!(repository.is_clean());
}

#[test]
fn file_changed_since_the_merge_is_not_overwritten() {
    let Some(repository) = Repository::with_conflict() else {
        return;
    };
    repository.merge_other();
    let place = repository.0.path().join("place.rbxl");
    let file = text(&place);
    ended(
        &repository.0.run(&["edit", &file, "--ops", "-", "--yes"], &set("Part", "Locked", "true")),
        0,
    );
    let before = fs::read(&place).unwrap();
    let (ended_well, said) = repository.try_git(&["add", "place.rbxl"]);
    assert!(!ended_well, "{said}");
    let (code, said) = repository.vector(&["merge", "--theirs"]);
    assert!(code == 2 && said.contains("was changed since the merge"), "{said}");
    assert!(fs::read(&place).unwrap() == before);
    let (code, said) = repository.vector(&["merge", "--as-is"]);
    assert!(code == 0 && said.contains("kept as it is"), "{said}");
    assert!(fs::read(&place).unwrap() == before && repository.is_clean());
    repository.git(&["commit", "--quiet", "--message", "merge"]);
}

#[test]
fn rebase_waits_for_place_conflicts() {
    let Some(repository) = Repository::with_conflict() else {
        return;
    };
    let (ended_well, _) = repository.try_git(&["rebase", "other"]);
    assert!(!ended_well);
    assert!(!repository.try_git(&["add", "place.rbxl"]).0);
    let (code, said) = repository.vector(&["merge", "--theirs", "--file", "place.rbxl"]);
    assert_eq!(code, 0, "{said}");
    repository.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    assert!(repository.values().iter().all(|it| *it == ["false", "1"]));
}

#[test]
fn conflicts_outside_git_are_kept_beside_the_file() {
    let (home, format) = (Home::new(), Format::Rbxl);
    let base = home.path().join("base.rbxl");
    fs::write(&base, places::sample(format)).unwrap();
    let both = set("Part", "Transparency", "0.25") + &set("Part", "CastShadow", "false");
    let ours = changed(&home, "ours", format, &set("Part", "Transparency", "0.5"));
    let theirs = changed(&home, "theirs", format, &both);
    let out = home.path().join("out.rbxl");
    let [base, own, other, merged] = [&base, &ours, &theirs, &out].map(|it| text(it));
    ended(&home.run(&["merge", &base, &own, &other, "--out", &merged], ""), 1);
    let listed = home.run(&["merge", "--list", "--json", "--file", &merged], "");
    ended(&listed, 1);
    for line in listed.stdout.lines() {
        let it: Json = serde_json::from_str(line).unwrap();
        assert_eq!((&it["conflict"]["conflict"], &it["choice"]), (&"property".into(), &Json::Null));
    }
    ended(&home.run(&["merge", "--theirs", "--file", &merged], ""), 0);
    ended(&home.run(&["diff", &merged, &other], ""), 0);
    assert!(!home.path().join("out.rbxl.vector-merge").exists());
    ended(&home.run(&["merge", "--theirs", "--file", &merged], ""), 2);
}

#[test]
fn missing_git_is_not_taken_for_a_missing_repository() {
    let home = Home::new();
    let install = |path: Option<&str>| {
        let mut command = Command::new(vector());
        command.args(["git", "install"]).current_dir(home.path());
        command.env("VECTOR_HOME", home.path().join("vector"));
        command.env("GIT_CEILING_DIRECTORIES", home.path().parent().unwrap());
        path.map(|path| command.env("PATH", path));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = install(Some(""));
    assert!(
        said.contains("git cannot be started; install it") && !said.contains("repository"),
        "{said}"
    );
    if has_git() && !is_for_windows() {
        let said = install(None);
        assert!(said.contains("is not in a Git repository; change to one"), "{said}");
    }
}
