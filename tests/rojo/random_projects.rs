//! Random projects and random changes of them: Vector reads what Rojo reads, and a partial reread
//! gives the same result as a full one.

use std::path::{Path, PathBuf};

use random_draws::RandomDraws;
use tempfile::TempDir;
use vector_rojo_project::{ProjectInstance, ProjectTree, TreeUpdate};

use super::oracle::{differences, rojo};

/// Only a few names, so that collisions occur.
const STEMS: [&str; 6] = ["a", "b", "init", "A", "Ünï code", "a.spec"];

/// File name suffixes, and texts that fit them.
const KINDS: [(&str, &[&str]); 24] = [
    (".luau", &["return 1", "return 2\r\n", ""]),
    (".lua", &["return {}"]),
    (".server.luau", &["print(1)"]),
    (".server.lua", &[""]),
    (".client.luau", &["-- c"]),
    (".plugin.lua", &["-- p"]),
    (".luau", &["local a = require(script.Parent)\nreturn a"]),
    (".txt", &["text", "t\r\n"]),
    (".json", &["{ \"a\": [1, { \"b\": null }] }", "1"]),
    (".toml", &["a = 1\n[b]\nc = 'd'", ""]),
    (".yaml", &["a: [1, b]\n", "x"]),
    (".csv", &["Key,Source,en\na,b,c", "Key\n"]),
    (
        ".model.json",
        &[
            r#"{ "className": "Model", "children": [{ "className": "Part", "name": "P" }] }"#,
            r#"{ "className": "Folder", "id": "model" }"#,
            "",
        ],
    ),
    (".model.jsonc", &["{ className: 'Folder', }", r#"{ "className": "Tool" }"#]),
    (
        ".meta.json",
        &[
            r#"{ "properties": { "Archivable": false } }"#,
            r#"{ "attributes": { "N": 1 }, "ignoreUnknownInstances": true }"#,
            r#"{ "id": "meta" }"#,
            "{}",
        ],
    ),
    (".meta.jsonc", &["{ /* c */ \"attributes\": { \"M\": true, }, }"]),
    (
        ".project.json",
        &[
            r#"{ "tree": { "$className": "Model", "K": { "$className": "Folder" } } }"#,
            r#"{ "name": "Named", "tree": { "$className": "Folder", "X": { "$path": { "optional": "b" } } } }"#,
        ],
    ),
    (".rs", &["fn main() {}"]),
    (
        ".rbxmx",
        &[
            r#"<roblox version="4"><Item class="Model" referent="A"><Properties><string name="Name">M</string><Ref name="PrimaryPart">B</Ref></Properties><Item class="Part" referent="B"><Properties><string name="Name">P</string></Properties></Item></Item></roblox>"#,
        ],
    ),
    ("", &["no end"]),
    (".jsonc", &["[] // c"]),
    (".server.txt", &["x"]),
    (".client.lua", &[""]),
    (".yml", &["- 1\n- 2"]),
];

/// Invalid texts; Rojo refuses every project that contains one.
const WRONG: [&str; 4] = ["{", "\u{0}", "a: [", "<roblox"];

const ROOTS: [&str; 4] = [
    r#"{ "name": "Game", "tree": { "$path": "src" } }"#,
    r#"{ "name": "Game", "emitLegacyScripts": false, "tree": { "$className": "DataModel",
        "ReplicatedStorage": { "$path": { "optional": "src" } },
        "Lighting": { "Ref": { "$className": "ObjectValue", "$attributes": { "Rojo_Target_Value": "meta" } } },
        "Workspace": { "Twice": { "$path": { "optional": "src/a" } } } } }"#,
    r#"{ "name": "Game", "globIgnorePaths": ["**/*.spec.luau", "src/b/**"], "tree": { "$className": "Folder", "S": { "$path": "src" } } }"#,
    r#"{ "name": "Game", "syncRules": [{ "pattern": "**/a.*", "use": "text", "exclude": "**/*.luau" }], "tree": { "$className": "Folder", "S": { "$path": "src", "A": { "$className": "Part" } } } }"#,
];

pub(super) struct Project {
    folder: TempDir,
    pub(super) root: PathBuf,
    pub(super) draws: RandomDraws,
    /// Whether files may be invalid.
    wrong: bool,
    /// Whether a link exists. There is at most one, because Rojo loops forever on two that cross.
    links: bool,
}

impl Project {
    pub(super) fn new(seed: u64, wrong: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let mut project =
            Self { folder, root, draws: RandomDraws::from_seed(seed), wrong, links: false };
        std::fs::create_dir(project.root.join("src")).unwrap();
        let text = project.draws.pick(&ROOTS);
        std::fs::write(project.root.join("default.project.json"), text).unwrap();
        for _ in 0..project.draws.below(40) {
            project.write();
        }
        project
    }

    /// Picks a folder below `src`, and creates it if it is missing.
    fn somewhere(&mut self, changed: &mut Vec<PathBuf>) -> PathBuf {
        let mut at = self.root.join("src");
        for _ in 0..self.draws.below(4) {
            at.push(self.draws.pick(&["a", "b", "deep", "init"]));
            if at.is_file() {
                at.pop();
            } else if !at.exists() {
                std::fs::create_dir(&at).unwrap();
                changed.push(at.clone());
            }
        }
        at
    }

    fn write(&mut self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        let mut file = self.somewhere(&mut changed);
        let stem = match self.draws.below(12) {
            0 if file != self.root.join("src") => "default",
            1 | 2 => "init",
            _ => self.draws.pick(&STEMS),
        };
        let (end, texts) =
            if stem == "default" { KINDS[16] } else { KINDS[self.draws.below(KINDS.len())] };
        let text = match self.draws.below(12) {
            0 if self.wrong => self.draws.pick(&WRONG),
            _ => self.draws.pick(texts),
        };
        file.push(format!("{stem}{end}"));
        // The folder may already contain a folder of this name.
        if !file.is_dir() {
            std::fs::write(&file, text).unwrap();
            changed.push(file);
        }
        changed
    }

    /// Everything below `src`, sorted.
    fn entries(&self) -> Vec<PathBuf> {
        fn list(folder: &Path, all: &mut Vec<PathBuf>) {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            for entry in entries {
                if entry.is_dir() && !entry.is_symlink() {
                    list(&entry, all);
                }
                all.push(entry);
            }
        }
        let mut all = Vec::new();
        list(&self.root.join("src"), &mut all);
        all.sort();
        all
    }

    /// Makes a random change, and returns the paths that a watcher would report.
    fn change(&mut self) -> Vec<PathBuf> {
        let entries = self.entries();
        if entries.is_empty() || self.draws.below(3) == 0 {
            return self.write();
        }
        let entry = entries[self.draws.below(entries.len())].clone();
        match self.draws.below(6) {
            0 if entry.is_dir() => {
                std::fs::remove_dir_all(&entry).unwrap();
                vec![entry]
            }
            0 | 1 if entry.is_file() => {
                std::fs::remove_file(&entry).unwrap();
                vec![entry]
            }
            2 => {
                let to = entries[self.draws.below(entries.len())].with_file_name("b");
                if to.exists() || to.starts_with(&entry) {
                    return Vec::new();
                }
                std::fs::rename(&entry, &to).unwrap();
                vec![entry, to]
            }
            #[cfg(unix)]
            4 if entry.is_dir() => {
                let to = entries[self.draws.below(entries.len())].clone();
                let link = entry.join(self.draws.pick(&["b", "l.luau", "a.meta.json", "k"]));
                if link.symlink_metadata().is_ok() || link.starts_with(&to) || self.links {
                    return Vec::new();
                }
                self.links = true;
                std::os::unix::fs::symlink(&to, &link).unwrap();
                vec![link]
            }
            3 => {
                let file = self.root.join("default.project.json");
                std::fs::write(&file, self.draws.pick(&ROOTS)).unwrap();
                vec![file]
            }
            _ if entry.is_file() => {
                let mut text = std::fs::read(&entry).unwrap();
                text.push(b'\n');
                std::fs::write(&entry, text).unwrap();
                vec![entry]
            }
            _ => Vec::new(),
        }
    }
}

#[test]
fn random_projects_are_read_as_rojo_reads_them() {
    if !rojo() {
        return;
    }
    let mut taken = 0;
    for seed in 0..80 {
        let project = Project::new(seed, seed % 4 == 0);
        let tree = match ProjectTree::read(&project.root) {
            Ok(tree) => tree,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        taken += usize::from(tree.diagnostics.is_empty());
        let wrong = differences(&project.root, &tree);
        let at = project.folder.path().display().to_string();
        assert!(wrong.is_empty(), "seed {seed} ({at}): {}", wrong.join("\n"));
    }
    assert!(taken > 20, "only {taken} projects of 80 were without faults");
}

/// Compares an update with the instances before and after it.
fn check(before: &[ProjectInstance], after: &ProjectTree, changed: &TreeUpdate) {
    let key = |number: &u32| after.instances[*number as usize].key.as_str();
    let was = |key: &str| before.iter().find(|it| it.key == key);
    for number in &changed.added {
        assert!(was(key(number)).is_none(), "{} was there before", key(number));
    }
    for instance in &after.instances {
        let told = changed.added.iter().chain(&changed.changed).any(|it| key(it) == instance.key);
        let same = was(&instance.key).is_some_and(|was| {
            was.name == instance.name
                && was.class == instance.class
                && was.origin == instance.origin
                && was.ignores_unknown == instance.ignores_unknown
                && was.properties.get("Source") == instance.properties.get("Source")
        });
        assert!(told || same, "nobody told that {} changed", instance.key);
    }
    for instance in before {
        let stays = after.instances.iter().any(|it| it.key == instance.key);
        let told = changed.removed.contains(&instance.key);
        assert_eq!(told, !stays, "{}", instance.key);
    }
}

#[test]
fn partial_update_matches_a_full_read() {
    let rounds = if cfg!(debug_assertions) { 100 } else { 3000 };
    for seed in 0..rounds {
        let mut project = Project::new(seed, true);
        let Ok(mut tree) = ProjectTree::read(&project.root) else { continue };
        for step in 0..12 {
            let mut paths = Vec::new();
            for _ in 0..=project.draws.below(3) {
                paths.extend(project.change());
            }
            let was = tree.instances.clone();
            let changed = tree.update(&paths);
            let whole = ProjectTree::read(&project.root);
            assert_eq!(changed.is_ok(), whole.is_ok(), "seed {seed}, step {step}");
            let (Ok(changed), Ok(whole)) = (changed, whole) else { continue };
            let at = format!("seed {seed}, step {step}, {paths:?}");
            assert_eq!(tree.instances, whole.instances, "{at}");
            assert_eq!(tree.diagnostics, whole.diagnostics, "{at}");
            for number in 0..whole.instances.len() as u32 {
                assert_eq!(tree.instance_files(number), whole.instance_files(number), "{at}");
            }
            assert!(!changed.is_full_reload, "{at}");
            check(&was, &tree, &changed);
        }
    }
}
