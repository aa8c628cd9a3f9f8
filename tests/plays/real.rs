//! The games of real places.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use vector_core::play::{PlayOutcome, PlayRequest};
use vector_place::Scene;
use vector_roblox_api::ApiFacts;
use vector_runtime::{PlayLimits, has_members, play_scene};
use vector_tests::cases::cases;

/// What is wrong in the places themselves: each error, as Roblox reports it too.
const THEIR_OWN: [(&str, &str); 2] = [
    // It uses a version of a package that has no `Lib`.
    ("slime-defense.rbxl", "dLib.import - Missing module Lib/Util"),
    // A package that is not in the place.
    ("slime-defense.rbxl", "Roact is not a valid member of Folder"),
];

/// The minimum share of the uses of Roblox's members that games have here, in percent.
const GOAL: usize = 95;

fn places() -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(cases()?.join("places")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files
        .retain(|file| file.extension().is_some_and(|it| it.to_string_lossy().starts_with("rbxl")));
    files.sort();
    Some(files)
}

fn read(file: &PathBuf) -> Scene {
    Scene::decode(&fs::read(file).unwrap()).unwrap()
}

fn play(scene: &Scene, request: &PlayRequest) -> PlayOutcome {
    play_scene(scene, request, PlayLimits::default(), Rc::new(|| false)).unwrap()
}

#[test]
fn real_places_are_played_without_faults_of_the_runtime() {
    let Some(files) = places() else { return };
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy();
        let scene = read(&file);
        let request = PlayRequest { seconds: 10.0, players: 2, ..PlayRequest::default() };
        let outcome = play(&scene, &request);
        println!(
            "{name}: {} scripts, {} errors, not known here: {:?}",
            outcome.scripts,
            outcome.errors.len(),
            outcome.missing.iter().map(|it| it.what.as_str()).collect::<BTreeSet<_>>()
        );
        assert_eq!(outcome.stopped, None, "{name}");
        for error in &outcome.errors {
            let is_theirs =
                THEIR_OWN.iter().any(|(of, text)| name == *of && error.message.contains(text));
            assert!(is_theirs, "{name}: {error:?}");
        }
        let again = play(&scene, &request);
        let json = |outcome: &PlayOutcome| outcome.to_json(&request, usize::MAX);
        assert_eq!(json(&outcome), json(&again), "{name} differs from run to run");
    }
}

/// Returns the names in a text that follow a point or a colon and are written as Roblox's members are.
/// Those of functions that the text defines are added to `own`.
fn used_members<'t>(text: &'t str, own: &mut BTreeSet<String>) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, mark) in text.match_indices(['.', ':']) {
        let name = &text[at + mark.len()..];
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let before = &text[..at];
        // Items of enums are left out.
        let word = before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).next();
        let is_item = word.is_some_and(|word| word.split('.').any(|part| part == "Enum"));
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) || is_item {
            continue;
        }
        let owner = before.rfind(char::is_whitespace).unwrap_or(0);
        if before[..owner].ends_with("function")
            || name[end..].trim_start().starts_with("= function")
        {
            own.insert(name[..end].to_owned());
        }
        found.push(&name[..end]);
    }
    found
}

#[test]
fn games_have_the_members_that_real_places_use() {
    let Some(files) = places() else { return };
    let facts = ApiFacts::get();
    let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for class in facts.classes.values() {
        for member in &class.members {
            owners.entry(&member.name).or_default().push(&class.name);
        }
    }
    let pairs: Vec<(&str, &str)> = owners
        .iter()
        .flat_map(|(name, classes)| classes.iter().map(|class| (*class, *name)))
        .collect();
    let has: BTreeSet<&str> = pairs
        .iter()
        .zip(has_members(&pairs).unwrap())
        .filter_map(|((_, name), has)| has.then_some(*name))
        .collect();
    let (mut uses, mut known, mut missing) = (0, 0, BTreeMap::<String, usize>::new());
    for file in files {
        let scene = read(&file);
        let nodes = scene.descendants(scene.root());
        let texts: Vec<_> = nodes.filter_map(|node| scene.script_text(node)).collect();
        // What scripts define themselves, and what values have that are no instances.
        let mut own: BTreeSet<String> =
            facts.datatypes.values().flat_map(|it| &it.members).map(|it| it.name.clone()).collect();
        for text in &texts {
            used_members(text, &mut own);
        }
        for text in &texts {
            for name in used_members(text, &mut BTreeSet::new()) {
                if owners.contains_key(name) && !own.contains(name) {
                    uses += 1;
                    known += usize::from(has.contains(name));
                    if !has.contains(name) {
                        *missing.entry(name.to_owned()).or_default() += 1;
                    }
                }
            }
        }
    }
    println!("{known} of {uses} uses; not here: {missing:?}");
    assert!(uses > 1_000, "{uses}");
    assert!(known * 100 >= uses * GOAL, "{known} of {uses}: {missing:?}");
}
