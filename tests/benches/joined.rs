//! The time from a request to its card in an open place of many scripts: with and without a Rojo
//! project that is served beside Studio and whose files hold all of them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Daemon, Plugin};

use super::wake::percentile;

const SCRIPTS: usize = 10_000;
const PER_FOLDER: usize = 100;
const ROUNDS: usize = 60;

fn text(n: usize) -> String {
    let line = format!("local value{n} = require(script.Parent.Module{n})\n");
    format!("--!strict\n{}return value{n}\n", line.repeat(28))
}

fn write(project: &Path) {
    let tree = json!({ "name": "game", "tree": {
        "$className": "DataModel", "ServerScriptService": { "$path": "src" } } });
    fs::create_dir_all(project).unwrap();
    fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
    for n in 0..SCRIPTS {
        let folder = project.join(format!("src/Folder{}", n / PER_FOLDER));
        if n % PER_FOLDER == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(format!("Module{n}.luau")), text(n)).unwrap();
    }
}

/// Sends the daemon a snapshot with one part and all scripts.
fn tell(plugin: &mut Plugin<'_>) {
    let mut ids = vec!["studio:1".to_owned(), "studio:2".to_owned(), "studio:3".to_owned()];
    let mut names =
        vec!["Workspace".to_owned(), "Wall".to_owned(), "ServerScriptService".to_owned()];
    let (mut parents, mut class) = (vec![0, 1, 0], vec![0, 1, 2]);
    let mut scripts = Vec::new();
    let mut folder = 0;
    for n in 0..SCRIPTS {
        if n % PER_FOLDER == 0 {
            ids.push(format!("studio:f{n}"));
            names.push(format!("Folder{}", n / PER_FOLDER));
            parents.push(3);
            class.push(3);
            folder = ids.len();
        }
        let id = format!("studio:m{n}");
        scripts.push(json!({ "id": id, "text": text(n) }));
        ids.push(id);
        names.push(format!("Module{n}"));
        parents.push(folder);
        class.push(4);
    }
    let classes = ["Workspace", "Part", "ServerScriptService", "Folder", "ModuleScript"];
    let total = ids.len();
    let nodes = json!({
        "classes": classes, "ids": ids, "parents": parents, "class": class, "names": names });
    plugin
        .say(json!([
            { "part": "begin", "total": total },
            { "part": "nodes", "nodes": nodes },
            { "part": "end" },
        ]))
        .ok();
    for scripts in scripts.chunks(500) {
        plugin.say(json!([{ "part": "sources", "scripts": scripts }])).ok();
    }
}

fn rounds(with_project: bool) -> Vec<Duration> {
    let home = Home::new();
    let project = home.path().join("game");
    write(&project);
    let daemon = if with_project {
        Daemon::of_project(binary::vector(), home.path(), &project)
    } else {
        Daemon::start(binary::vector(), home.path())
    };
    let mut plugin = Plugin::pair(&daemon, "bench");
    tell(&mut plugin);
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        // Change something else in the place meanwhile.
        let name = format!("Wall{round}");
        plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": name }])).ok();
        let n = round * 97;
        let request = format!(
            "replace \"return value{n}\" with \"return nil\" in \
             game.ServerScriptService.Folder{}.Module{n}",
            n / PER_FOLDER
        );
        let began = Instant::now();
        plugin.chat(&request).ok();
        let seq = plugin.until(|polled| {
            let events = polled["events"].as_array().unwrap().iter().map(|it| &it["event"]);
            let mut mapped = events.filter(|it| it["event"] == "proposal_mapped");
            mapped.next_back()?["proposal"].as_u64()
        });
        taken.push(began.elapsed());
        let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
        assert_eq!(shown["proposal"]["files"].is_object(), with_project, "{shown}");
        plugin.decide(seq, json!({ "say": "reject", "reason": "no" })).ok();
    }
    taken
}

pub(crate) fn run() {
    println!(
        "\na request for one script of {SCRIPTS} until its card is there: {ROUNDS} rounds, ms"
    );
    for (name, with_project) in [("Studio alone", false), ("with its Rojo project", true)] {
        let mut taken = rounds(with_project);
        let [half, most] = [0.5, 0.99].map(|share| percentile(&mut taken, share) / 1_000.0);
        println!("  {name:<22} p50 {half:>7.2} p99 {most:>7.2}");
    }
}
