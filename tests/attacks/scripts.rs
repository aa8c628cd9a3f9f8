//! Hostile scripts by family: those that the scan flags, those that it is known to miss, and those
//! that are out of its scope.
//!
//! Each file is a family. A line `--@ NAME` begins a script. `«U+202E»` denotes that character,
//! `«150 spaces»` and `«200 lines»` that many spaces or line breaks.

use std::collections::BTreeMap;
use std::fs;

use vector_place::Scene;
use vector_tests::{cases, repository};

/// The families whose scripts reach code or the network outside the place, or hide that they do.
pub(super) const FLAGGED: [&str; 12] = [
    "require",
    "http",
    "environment",
    "hidden_text",
    "hidden_code",
    "assets",
    "players",
    "debug",
    "remotes",
    "chat",
    "far_command",
    "switches",
];
/// Scripts that do the same and are not flagged.
const MISSES: &str = "misses";
/// Scripts that do harm within the game. No scan can tell them from ordinary game code.
const IN_GAME: &str = "in_game";

/// Returns the scripts of a family, by name.
pub(super) fn scripts(family: &str) -> Vec<(String, String)> {
    let text = repository::read(&format!("tests/attacks/scripts/{family}.luau"));
    let scripts = text.split("--@ ").skip(1).map(|script| {
        let (name, source) = script.split_once('\n').unwrap();
        (format!("{family}: {name}"), expand(source))
    });
    scripts.collect()
}

fn expand(source: &str) -> String {
    let mut parts = source.split('«');
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (sign, rest) = part.split_once('»').unwrap();
        match sign.split_once(' ') {
            Some((count, "spaces")) => text.push_str(&" ".repeat(count.parse().unwrap())),
            Some((count, "lines")) => text.push_str(&"\n".repeat(count.parse().unwrap())),
            _ => {
                let code = u32::from_str_radix(sign.strip_prefix("U+").unwrap(), 16).unwrap();
                text.push(char::from_u32(code).unwrap());
            }
        }
        text.push_str(rest);
    }
    text
}

/// Returns the scripts that violate the expectation: those not flagged if `is_flagged`, otherwise
/// those flagged.
fn others(family: &str, is_flagged: bool) -> Vec<String> {
    let all = scripts(family).into_iter().filter(|(name, source)| {
        assert_eq!(vector_luau::compile_errors(source), [], "{name} does not compile");
        vector_luau::scan_script(source).is_empty() == is_flagged
    });
    all.map(|(name, _)| name).collect()
}

#[test]
fn hostile_scripts_are_flagged() {
    let missed: Vec<String> = FLAGGED.iter().flat_map(|family| others(family, true)).collect();
    assert_eq!(missed, [""; 0], "not flagged");
}

#[test]
fn what_is_missed_is_named() {
    // A script that is flagged by now belongs in its own family.
    assert_eq!(others(MISSES, false), [""; 0], "flagged");
    assert_eq!(others(IN_GAME, false), [""; 0], "flagged");
    assert!(scripts(MISSES).len() <= 7);
}

#[test]
fn the_corpus_covers_each_family() {
    let count = |family: &str| (family.to_owned(), scripts(family).len());
    let counts: BTreeMap<String, usize> = FLAGGED.iter().map(|it| count(it)).collect();
    for (family, least) in [
        ("require", 72),
        ("http", 45),
        ("environment", 7),
        ("hidden_text", 15),
        ("hidden_code", 4),
        ("assets", 10),
        ("players", 6),
        ("debug", 2),
        ("remotes", 4),
        ("chat", 3),
        ("far_command", 6),
    ] {
        assert!(counts[family] >= least, "{family}: {}", counts[family]);
    }
    let reaching: usize = counts.values().sum::<usize>() + scripts(MISSES).len();
    assert!(reaching >= 180 && scripts(IN_GAME).len() >= 20, "{reaching}");
}

/// At most two in a hundred scripts of real places are flagged.
#[test]
fn clean_scripts_are_passed_over() {
    let Some(cases) = cases::cases() else { return };
    let (mut count, mut flagged) = (0, Vec::new());
    for entry in fs::read_dir(cases.join("places")).unwrap() {
        let file = entry.unwrap().path();
        if !file.extension().is_some_and(|it| it == "rbxl" || it == "rbxlx") {
            continue;
        }
        let scene = Scene::decode(&fs::read(&file).unwrap()).unwrap();
        for node in scene.descendants(scene.root()) {
            let Some(source) = scene.script_text(node).filter(|it| !it.is_empty()) else {
                continue;
            };
            count += 1;
            if let Some(first) = vector_luau::scan_script(&source).first() {
                flagged.push(format!("{}: {first}", scene.path(node)));
            }
        }
    }
    let list = flagged.join("\n");
    eprintln!("{} of {count} clean scripts are flagged\n{list}", flagged.len());
    assert!(count > 0 && flagged.len() * 50 <= count, "{} of {count}:\n{list}", flagged.len());
}
