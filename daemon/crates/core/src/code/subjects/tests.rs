//! Tests of the subjects on small places and on the shared ones.

use std::path::PathBuf;

use vector_roblox_api::ApiFacts;

use super::super::tests::place;
use super::*;

fn labels(subjects: &[Subject]) -> Vec<&'static str> {
    subjects.iter().map(|it| it.label()).collect()
}

#[track_caller]
fn check(request: &str, expected: &[Subject]) {
    assert_eq!(labels(&named_subjects(request)), labels(expected), "{request}");
}

#[test]
fn words_of_a_request_name_subjects() {
    check("make the shop cheaper", &[Subject::Shop]);
    check(
        "Players lose their coins when they rejoin",
        &[Subject::Leaderstats, Subject::DataSaving],
    );
    // The longest phrase wins: a data store is not a shop.
    check("why is my data store throttled?", &[Subject::DataSaving]);
    check("the store sells two game passes", &[Subject::Shop]);
    check("add checkpoints and abilities", &[Subject::Spawning, Subject::Combat]);
    check("rename this variable", &[]);
    check("", &[]);
}

#[test]
fn catalogue_follows_the_order_of_subjects_and_is_singular() {
    for (facts, subject) in CATALOGUE.iter().zip(Subject::ALL) {
        assert_eq!(facts.subject, subject);
        for phrase in entries(facts.words).chain(entries(facts.request_words)) {
            let parts: Vec<String> = split_words(phrase).collect();
            assert_eq!(parts.join(" "), phrase, "is split differently in a request");
            assert_eq!(phrase_length(&parts, phrase), Some(parts.len()));
        }
    }
}

#[test]
fn names_of_the_catalogue_are_in_the_engine() {
    let facts = ApiFacts::get();
    let members = facts.classes.values().chain(facts.datatypes.values());
    let members: std::collections::HashSet<&str> =
        members.flat_map(|it| it.members.iter().map(|it| it.name.as_str())).collect();
    let is_class =
        |name: &str| facts.classes.contains_key(name) || facts.datatypes.contains_key(name);
    let mut unknown: Vec<&str> = Vec::new();
    for it in &CATALOGUE {
        let is_known = |name: &&str| is_class(name) || members.contains(*name);
        unknown.extend(entries(it.api).filter(|name| !is_known(name)));
        let classes = entries(it.classes).chain(entries(it.containers));
        unknown.extend(classes.filter(|name| !facts.classes.contains_key(*name)));
    }
    assert!(unknown.is_empty(), "{unknown:?}");
}

fn game() -> Scene {
    place(&[
        (
            "ServerScriptService/Main",
            "Script",
            "local store = game:GetService(\"DataStoreService\"):GetDataStore(\"v1\")\n\
             game:BindToClose(function() end)\n",
        ),
        (
            "ServerScriptService/Setup",
            "Script",
            "local folder = Instance.new('Folder')\nfolder.Name = 'leaderstats'\n",
        ),
        ("ReplicatedStorage/ShopItems", "ModuleScript", "return { sword = 1 }"),
        ("ReplicatedStorage/Shops/Prices", "ModuleScript", "return {}"),
        ("ReplicatedStorage/Maths", "ModuleScript", "return { DataStores = 1 }"),
        // A name in a comment or a sentence does not count.
        (
            "ReplicatedStorage/Notes",
            "ModuleScript",
            "-- DataStoreService\nreturn 'use GetDataStore'",
        ),
    ])
}

fn found(scene: &Scene, subject: Subject) -> Vec<String> {
    let index = CodeIndex::new(scene);
    let matches = find_subjects(&index, scene, &[subject]);
    let told = |it: &SubjectScript| {
        format!("{} {} {}", scene.name(it.node), it.points, it.evidence.to_phrase())
    };
    matches[0].scripts.iter().map(told).collect()
}

#[test]
fn scripts_of_a_subject_are_found_by_what_they_use_and_are_called() {
    let scene = game();
    assert_eq!(found(&scene, Subject::DataSaving), ["Main 9 uses DataStoreService"]);
    assert_eq!(found(&scene, Subject::Leaderstats), ["Setup 3 uses leaderstats"]);
    // A folder alone is too little.
    assert_eq!(found(&scene, Subject::Shop), ["ShopItems 4 named \"shop\""]);
    assert_eq!(found(&scene, Subject::Vehicles), [] as [&str; 0]);
}

#[test]
fn instances_and_containers_belong_to_their_subjects() {
    let mut scene = Scene::empty(vector_place::FileFormat::Binary);
    let world = scene.create(scene.root(), "Workspace", "Workspace");
    let spawn = scene.create(world, "SpawnLocation", "Start");
    let tool = scene.create(world, "Tool", "Pickaxe");
    let handle = scene.create(tool, "Folder", "Code");
    let script = scene.create(handle, "Script", "Swing");
    scene.set_source(script, "print(1)".to_owned());
    let index = CodeIndex::new(&scene);
    let matches = find_subjects(&index, &scene, &[Subject::Spawning, Subject::Combat]);
    assert_eq!((&matches[0].scripts[..], &matches[0].instances[..]), (&[][..], &[spawn][..]));
    assert_eq!(matches[1].instances, [tool]);
    assert_eq!(matches[1].scripts[0].evidence, SubjectEvidence::Inside("Tool".to_owned()));
    assert_eq!(matches[1].scripts[0].node, script);
}

/// Returns a shared place; None if `VECTOR_CASES` is not set.
fn shared_place(name: &str) -> Option<Scene> {
    let Some(cases) = std::env::var_os("VECTOR_CASES") else {
        eprintln!("skipped: VECTOR_CASES does not say where the shared places are");
        return None;
    };
    let bytes = std::fs::read(PathBuf::from(cases).join("places").join(name)).unwrap();
    Some(Scene::decode(&bytes).unwrap())
}

/// Checks that the scripts with these names are among the first of a subject.
#[track_caller]
fn check_place(scene: &Scene, subject: Subject, first: usize, names: &[&str]) {
    let found = found(scene, subject);
    let best: Vec<&String> = found.iter().take(first).collect();
    for name in names {
        let is_name = |it: &&&String| it.split(' ').next() == Some(name);
        assert!(best.iter().any(|it| is_name(&it)), "{} lacks {name}: {found:#?}", subject.label());
    }
}

#[test]
fn real_places_have_the_scripts_of_their_subjects() {
    let Some(slime) = shared_place("slime-defense.rbxl") else { return };
    check_place(&slime, Subject::Combat, 4, &["WeaponServer", "WeaponClient"]);
    check_place(&slime, Subject::Shop, 3, &["GamePass"]);
    check_place(&slime, Subject::DataSaving, 2, &["profiles"]);
    check_place(&slime, Subject::Quests, 2, &["Badge"]);
    check_place(&slime, Subject::Chat, 2, &["ChatCommand"]);
    let Some(gravity) = shared_place("gravity-controller.rbxl") else { return };
    check_place(&gravity, Subject::Movement, 6, &["GravityController", "Camera"]);
    check_place(&gravity, Subject::Sound, 1, &["RbxCharacterSounds"]);
    let Some(obby) = shared_place("difficulty-chart-obby.rbxlx") else { return };
    assert_eq!(found(&obby, Subject::Vehicles), [] as [&str; 0]);
}
