//! Which room may name which: the layout of the house as a table.
//!
//! A new room needs a row here, and the row is where its place is argued about.

use std::collections::BTreeMap;

use super::Violation;
use super::paths::{Path, paths};
use super::source::{Source, line_of};

/// A room, and the rooms that it may name. `core` stands for all of its rooms, `*` for everything.
const ARROWS: [(&str, &[&str]); 28] = [
    ("core", &["core"]),
    ("core::calendar", &[]),
    ("core::refusal", &[]),
    ("core::edit", &[]),
    ("core::erase", &[]),
    ("core::luau", &[]),
    ("core::memory", &["core::refusal"]),
    ("core::mention", &[]),
    ("core::page", &[]),
    ("core::policy", &[]),
    ("core::prompt", &[]),
    ("core::shown", &[]),
    // There is one merge of texts, and a merge of places asks it about scripts.
    ("core::scene", &["core::refusal", "core::edit"]),
    // Scripts that know each other: the tools ask it, and the working set is chosen by it.
    ("core::code", &["core::scene", "core::luau", "core::refusal"]),
    // What parts look like; whoever proposes and whoever asks for a picture is not known there.
    ("core::picture", &["core::scene", "core::refusal"]),
    ("core::proposal", &["core::scene", "core::edit", "core::luau", "core::code", "core::refusal"]),
    (
        "core::tools",
        &[
            "core::code",
            "core::picture",
            "core::proposal",
            "core::scene",
            "core::edit",
            "core::luau",
            "core::memory",
            "core::refusal",
        ],
    ),
    ("core::xml_call", &["core::prompt", "core::refusal"]),
    // Of proposals: what an agent is told of a change is its preview as text.
    (
        "core::workflow",
        &["core::tools", "core::policy", "core::prompt", "core::proposal", "core::refusal"],
    ),
    ("providers", &["core"]),
    ("targets", &["core"]),
    ("ledger", &["core"]),
    ("server", &["core"]),
    ("config", &["core"]),
    // What the binary carries, as a model file.
    ("plugin", &["core"]),
    ("engine", &["core", "providers", "targets", "server", "ledger", "config"]),
    ("cli", &["*"]),
    ("main", &["*"]),
];

/// The names of our other crates, none of which `scene-schemas` may know.
const OURS: [&str; 2] = ["vector_daemon", "vector_tests"];

/// What `core/mod.rs` gives another name: `Refusal` is a thing of the room `refusal`.
pub(super) type Exports = BTreeMap<String, String>;

/// Reads the names that `core/mod.rs` re-exports.
pub(super) fn exports(core: &str) -> Exports {
    let source = Source::new("daemon/src/core/mod.rs", core, false);
    let exported = paths(&source.code).into_iter().filter_map(|(_, segments)| {
        let (room, name) = (segments.first()?, segments.last()?);
        Some(((*name).to_owned(), (*room).to_owned()))
    });
    exported.collect()
}

/// The arrows of a file that point where none may.
pub(super) fn arrows(source: &Source, exports: &Exports) -> Vec<Violation> {
    let violation = |at, what| Violation {
        path: source.path.clone(),
        line: line_of(&source.code, at),
        rule: "arrows",
        what,
    };
    let named = if source.test { vec![] } else { paths(&source.code) };
    if source.path.starts_with("scene-schemas/") {
        return named
            .iter()
            .filter(|(_, segments)| OURS.contains(&segments[0]))
            .map(|(at, segments)| {
                violation(*at, format!("`scene-schemas` names `{}`", segments[0]))
            })
            .collect();
    }
    let Some(module) = module(&source.path) else {
        return vec![];
    };
    let room = room(&module, exports);
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == room) else {
        let unknown = format!("the room `{room}` has no row in tests/tidy/arrows.rs");
        return if room == "lib" { vec![] } else { vec![violation(0, unknown)] };
    };
    named
        .iter()
        .filter_map(|path| {
            let target = target(path, &module, exports)?;
            (!may(&room, allowed, &target))
                .then(|| violation(path.0, format!("`{room}` may not name `{target}`")))
        })
        .collect()
}

/// The module that a file of the daemon is.
fn module(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix("daemon/src/")?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    Some(path.split('/').map(str::to_owned).collect())
}

/// The room that a module, or what stands in it, belongs to.
fn room(module: &[String], exports: &Exports) -> String {
    match module {
        [core, name, ..] if core == "core" => {
            format!("core::{}", exports.get(name).unwrap_or(name))
        }
        [name, ..] => name.clone(),
        [] => "lib".to_owned(),
    }
}

/// The room that a path leads to; none for what is not of this crate.
fn target((_, segments): &Path<'_>, module: &[String], exports: &Exports) -> Option<String> {
    let mut at = match segments[0] {
        "crate" | "vector_daemon" => vec![],
        "self" | "super" if module == ["main"] || module == ["lib"] => vec![],
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    for segment in segments {
        match *segment {
            "crate" | "self" | "vector_daemon" => {}
            "super" => {
                at.pop();
            }
            name => at.push(name.to_owned()),
        }
    }
    Some(room(&at, exports))
}

fn may(room: &str, allowed: &[&str], target: &str) -> bool {
    let covers = |allowed: &&str| {
        matches!(*allowed, "*")
            || *allowed == target
            || *allowed == "core" && target.starts_with("core::")
    };
    room == target || allowed.iter().any(covers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::expect;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let exports = exports("pub mod scene;\npub use refusal::Refusal;\n");
        expect(&arrows(&Source::new(path, text, false), &exports), expected);
    }

    #[test]
    fn an_arrow_that_runs_the_wrong_way_is_refused() {
        let scene = "daemon/src/core/scene/read.rs";
        check(scene, "use crate::core::refusal::refuse;", &[]);
        check(scene, "use crate::core::{Refusal, scene::Node};", &[]);
        check(scene, "use super::Scene;", &[]);
        check(scene, "use crate::core::{\n    luau, tools::Tool};", &["2: arrows", "2: arrows"]);
        check(scene, "use super::super::tools::TOOLS;", &["1: arrows"]);
        check(scene, "\nfn f(x: crate::core::policy::Mode) {}", &["2: arrows"]);
        check(scene, "use crate::core::*;", &["1: arrows"]);
        check(scene, "use crate::core;", &["1: arrows"]);
        check(scene, "use crate::ledger::Ledger;", &["1: arrows"]);
        check("daemon/src/core/workflow/mod.rs", "use crate::core::scene::Scene;", &["1: arrows"]);
    }

    #[test]
    fn the_rooms_of_the_shell_do_not_know_each_other() {
        check("daemon/src/ledger/mod.rs", "use crate::core::workflow::State;", &[]);
        check("daemon/src/ledger/mod.rs", "use crate::targets::place;", &["1: arrows"]);
        check("daemon/src/providers/mod.rs", "use crate::engine;", &["1: arrows"]);
        check("daemon/src/engine/mod.rs", "use crate::{ledger, providers, targets};", &[]);
        check("daemon/src/engine/mod.rs", "use crate::server::Board;", &[]);
        check("daemon/src/server/mod.rs", "use crate::ledger::Ledger;", &["1: arrows"]);
        check("daemon/src/cli/edit.rs", "use crate::engine::run;", &[]);
        check("daemon/src/main.rs", "use vector_daemon::cli;", &[]);
        check("daemon/src/attic.rs", "", &["1: arrows"]);
    }

    #[test]
    fn the_shared_words_know_nothing_of_ours() {
        let path = "scene-schemas/src/path.rs";
        check(path, "use crate::value::Value;", &[]);
        check(path, "use vector_daemon::core::Refusal;", &["1: arrows"]);
    }

    #[test]
    fn tests_may_look_anywhere() {
        let text = "#[cfg(test)]\nmod tests {\n    use crate::core::tools::TOOLS;\n}\n";
        check("daemon/src/core/scene/read.rs", text, &[]);
    }
}
