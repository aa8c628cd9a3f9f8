//! Reading the snapshot of a place, beside a typed parse of the same bytes; the memory of the
//! mirrored place; and tools that read it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use scene_schemas::api::{NodeColumns, ScenePart, SceneUpdate, ScriptText};
use scene_schemas::entry::Seq;
use scene_schemas::{Fingerprint, InstanceId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_core::tools;
use vector_place::Scene;

/// Number of instances per message.
const CHUNK: usize = 8_000;
const RUNS: usize = 15;
/// Number of places held at once to measure the memory of one.
const PLACES: u64 = 8;

/// The snapshot of a place as a plugin sends it, in several messages: models with some parts and a
/// script each.
fn messages(instances: usize) -> Vec<Vec<u8>> {
    let mut parts = vec![ScenePart::Begin { total: instances as u32 }];
    let mut messages = Vec::new();
    let classes = ["Workspace", "Model", "Part", "Script"].map(str::to_owned).to_vec();
    let mut nodes = NodeColumns { classes: classes.clone(), ..NodeColumns::default() };
    let mut scripts = Vec::new();
    let (mut model, mut version) = (1, 0);
    let mut send = |parts: Vec<ScenePart>| {
        version += 1;
        let update = SceneUpdate { epoch: 1, version, parts };
        messages.push(serde_json::to_vec(&update).unwrap());
    };
    for n in 0..instances {
        let (parent, class, name) = match n {
            0 => (0, 0, "Workspace".to_owned()),
            n if n % 20 == 1 => (1, 1, format!("Model{n}")),
            n if n % 20 == 2 => (model, 3, "Main".to_owned()),
            _ => (model, 2, format!("Part{}", n % 7)),
        };
        if class == 1 {
            model = n as u32 + 1;
        }
        let id = InstanceId(format!("studio:0_{}", n + 1_000));
        if class == 3 {
            let text = format!("local part = script.Parent\nprint(part.Name, {n})\n");
            scripts.push(ScriptText { id: id.clone(), text, is_dirty: false });
        }
        nodes.ids.push(id);
        nodes.parents.push(parent);
        nodes.class.push(class);
        nodes.names.push(name);
        if nodes.ids.len() == CHUNK {
            parts.push(ScenePart::Nodes { nodes: std::mem::take(&mut nodes) });
            nodes.classes.clone_from(&classes);
            send(std::mem::take(&mut parts));
        }
    }
    parts.push(ScenePart::Nodes { nodes });
    parts.push(ScenePart::End {});
    send(parts);
    for scripts in scripts.chunks(4_000) {
        send(vec![ScenePart::Sources { scripts: scripts.to_vec() }]);
    }
    messages
}

fn take_in(messages: &[Vec<u8>]) -> Scene {
    let mut scene = Scene::empty_studio_place();
    for message in messages {
        let update: SceneUpdate = serde_json::from_slice(message).unwrap();
        update.parts.iter().for_each(|part| scene.update_mirror(part).unwrap());
    }
    scene
}

/// The same message type, with deserialization derived by serde.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is only read")]
struct Derived {
    epoch: u64,
    version: u64,
    parts: Vec<DerivedPart>,
}

#[derive(Deserialize)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
#[expect(dead_code, reason = "it is only read")]
enum DerivedPart {
    Begin { total: u32 },
    Nodes { nodes: NodeColumns },
    End {},
    Sources { scripts: Vec<ScriptText> },
}

fn parsed<T: DeserializeOwned>(messages: &[Vec<u8>]) -> Vec<T> {
    messages.iter().map(|message| serde_json::from_slice(message).unwrap()).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed<T>(run: impl Fn() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.unwrap_or(0_u64) * 1_024
}

pub(crate) fn snapshot(instances: usize) {
    let messages = messages(instances);
    let bytes: usize = messages.iter().map(Vec::len).sum();
    let largest = messages.iter().map(Vec::len).max().unwrap_or(0);
    println!(
        "\na snapshot of {instances} instances: {} messages, {:.1} MB, the largest {} KB",
        messages.len(),
        bytes as f64 / 1e6,
        largest / 1_000
    );
    let scene = take_in(&messages);
    // The first place includes one-time allocations. Each further place adds only its own memory.
    let before = resident();
    let others: Vec<Scene> = (0..PLACES).map(|_| take_in(&messages)).collect();
    let held = resident().saturating_sub(before) / PLACES;
    drop(others);
    assert_eq!(scene.mirrored_count() as usize, instances);
    // The three alternate, so that other load on the machine affects them alike.
    let (mut derived, mut parse, mut all) = (vec![], vec![], vec![]);
    for _ in 0..RUNS {
        derived.push(timed(|| parsed::<Derived>(&messages)));
        parse.push(timed(|| parsed::<SceneUpdate>(&messages)));
        all.push(timed(|| take_in(&messages)));
    }
    let [derived, parse, all] = [derived, parse, all].map(|it| median(it).as_secs_f64() * 1e3);
    println!("  parse, derived by serde  {derived:>8.2} ms");
    println!("  parse, ours              {parse:>8.2} ms");
    println!("  parse and take in        {all:>8.2} ms");
    println!("  ratio to the derived one {:>8.2} (goal 1.5)", all / derived);
    println!("  ratio to ours            {:>8.2}", all / parse);
    println!("  memory, sources too  {:>8.1} bytes an instance (goal 130 besides values)", {
        held as f64 / instances as f64
    });
    let path = "game.Workspace.Model50001.Part3[1]".parse().unwrap();
    let find = || scene.resolve(&path).unwrap();
    find();
    let start = Instant::now();
    (0..100_000).for_each(|_| {
        black_box(find());
    });
    println!("  a path found in      {:>8.3} µs (goal 1)", start.elapsed().as_secs_f64() * 10.0);
}

pub(crate) fn tools(instances: usize) {
    let mut scene = PlanningScene::from(take_in(&messages(instances)));
    let base = Fingerprint::hash_bytes(b"bench");
    println!("\nread tools on {instances} mirrored instances, 2,000 calls each");
    let model = |n: usize| format!("game.Workspace.Model{}", 1 + 20 * (n * 37 % (instances / 20)));
    let calls: [(&str, &dyn Fn(usize) -> serde_json::Value); 4] = [
        ("list_children", &|n| json!({ "parentPath": model(n) })),
        ("list_children", &|_| json!({ "parentPath": "game.Workspace" })),
        ("read_script", &|n| json!({ "path": format!("{}.Main", model(n)) })),
        ("find_instances", &|n| json!({ "root": model(n), "selector": "Part" })),
    ];
    for (tool, args) in calls {
        let mut times: Vec<Duration> = (0..2_000)
            .map(|n| {
                let args = args(n);
                let start = Instant::now();
                let plan = tools::plan_call(
                    Seq(1),
                    tool,
                    &args,
                    &mut scene,
                    &base,
                    &BlobStore::new(),
                    None,
                );
                let time = start.elapsed();
                plan.unwrap_or_else(|refusal| panic!("{tool}: {refusal}"));
                assert!(scene.take_missing().is_empty(), "{tool} asks Studio");
                time
            })
            .collect();
        times.sort_unstable();
        let at = |share: f64| times[(times.len() as f64 * share) as usize].as_secs_f64() * 1e6;
        println!(
            "  {tool:<16} {:<60} p50 {:>8.1} µs  p99 {:>8.1} µs (goal 1000)",
            args(1).to_string(),
            at(0.5),
            at(0.99)
        );
    }
}
