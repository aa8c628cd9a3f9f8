//! A list of a thousand operations on a generated place, as `vector edit --ops` reads it.
//!
//! The mix is that of a long session: mostly properties, some creations and deletions, a few
//! scripts. The benchmark runs it; a test plans it, so that the benchmark keeps working.

use std::fmt::Write;

use rbx_dom_weak::WeakDom;
use scene_schemas::InstancePath;
use serde_json::{Value as Json, json};

use crate::generated::{VERSION, paths};

/// The targets of the operations. Each operation has its own model or script, so that none changes
/// the indices in another's path.
struct Places {
    models: Vec<InstancePath>,
    scripts: Vec<InstancePath>,
}

impl Places {
    fn of(place: &WeakDom) -> Self {
        Self { models: paths(place, "Model"), scripts: paths(place, "ModuleScript") }
    }

    /// One of several walls of this name in the `n`th model.
    fn wall(&self, n: usize) -> InstancePath {
        self.model(n).child("Wall", Some(2))
    }

    /// The `n`th of a thousand models, spread over the whole place.
    fn model(&self, n: usize) -> &InstancePath {
        &self.models[n * self.models.len() / 1_000]
    }

    fn script(&self, n: usize) -> &InstancePath {
        &self.scripts[n * self.scripts.len() / 60]
    }
}

/// Makes one operation: on the `n`th model, as the `nth` of its kind.
type Make = fn(&Places, n: usize, nth: usize) -> Json;

/// The kinds of operations, with the number of each.
const KINDS: [(usize, Make); 7] = [
    (400, set),
    (200, create),
    (100, rename),
    (100, move_away),
    (100, delete),
    (60, edit),
    (40, clone),
];

/// The list: one line of JSON per operation, with the kinds evenly distributed.
///
/// # Panics
/// The place has fewer than a thousand models, or fewer than 60 modules.
pub fn operations(place: &WeakDom) -> String {
    let places = Places::of(place);
    let (models, scripts) = (places.models.len(), places.scripts.len());
    assert!(models >= 1_000 && scripts >= 60, "{models} models and {scripts} modules are too few");
    let mut order: Vec<_> = KINDS
        .iter()
        .flat_map(|(count, make)| (0..*count).map(move |nth| (nth * 1_000 / count, nth, *make)))
        .collect();
    order.sort_by_key(|(at, ..)| *at);
    let mut text = String::new();
    for (n, (_, nth, make)) in order.into_iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", make(&places, n, nth));
    }
    text
}

fn op(tool: &str, args: Json) -> Json {
    json!({ "tool": tool, "args": args })
}

fn set(places: &Places, n: usize, nth: usize) -> Json {
    let props = match nth % 3 {
        0 => json!({ "Material": "Neon", "Transparency": 0.25 }),
        1 => json!({ "Color": "#ff8800", "@Checked": true }),
        _ => json!({ "Anchored": false, "Size": [4, 1, 2] }),
    };
    op("set_properties", json!({ "path": places.wall(n), "props": props }))
}

fn create(places: &Places, n: usize, nth: usize) -> Json {
    let props =
        json!({ "Name": format!("Added {nth}"), "Position": [0, 5, nth], "Anchored": true });
    let light = json!({ "className": "PointLight", "props": { "Brightness": 2 } });
    op(
        "create_instance",
        json!({
            "className": "Part",
            "parentPath": places.model(n),
            "props": props,
            "children": [light],
        }),
    )
}

fn rename(places: &Places, n: usize, nth: usize) -> Json {
    op("rename_instance", json!({ "path": places.wall(n), "newName": format!("Renamed {nth}") }))
}

fn move_away(places: &Places, n: usize, _: usize) -> Json {
    op("move_instance", json!({ "path": places.wall(n), "parentPath": "game.ReplicatedStorage" }))
}

fn delete(places: &Places, n: usize, _: usize) -> Json {
    op("delete_instance", json!({ "path": places.wall(n) }))
}

fn clone(places: &Places, n: usize, nth: usize) -> Json {
    op("clone_instance", json!({ "path": places.wall(n), "name": format!("Copy {nth}") }))
}

/// Half of the edits are by text, half by range.
fn edit(places: &Places, _: usize, nth: usize) -> Json {
    let path = places.script(nth);
    if nth.is_multiple_of(2) {
        let replaced = json!({ "path": path, "search": VERSION, "replace": "EDITION" });
        return op("replace_text", replaced);
    }
    let start = json!({ "line": 1, "character": 0 });
    let text = "-- Checked by hand.\n";
    op(
        "apply_edit",
        json!({ "path": path, "edits": [{ "start": start, "end": start, "text": text }] }),
    )
}
