//! Measures the rule on labelled requests, and tests the advice about workers.

use std::fmt::Write as _;

use super::*;
use crate::code::CodeIndex;

const REQUESTS: &str = include_str!("requests.tsv");

/// A request with the tier that a person gave it.
struct Labelled<'a> {
    set: &'a str,
    tier: TaskTier,
    place: &'a str,
    attached: Option<&'a str>,
    text: &'a str,
}

fn tier_named(name: &str) -> TaskTier {
    let is_it = |tier: &TaskTier| tier.label().eq_ignore_ascii_case(name);
    TaskTier::ALL.into_iter().find(is_it).unwrap_or_else(|| panic!("no tier {name:?}"))
}

fn labelled() -> Vec<Labelled<'static>> {
    let lines = REQUESTS.lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let [set, tier, place, attached, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("a line needs five columns: {line}");
        };
        let attached = (attached != "-").then_some(attached);
        Labelled { set, tier: tier_named(tier), place, attached, text }
    };
    lines.map(read).collect()
}

/// Builds a place of scripts by path, class and text.
fn place(scripts: &[(&str, &str, &str)]) -> Scene {
    crate::code::built_place(scripts)
}

/// An obby with few scripts.
fn obby() -> Scene {
    let mut scene = place(&[
        (
            "ServerScriptService/Checkpoints",
            "Script",
            "player.RespawnLocation = stage\nplayer.leaderstats.Stage.Value = 1\n",
        ),
        ("ServerScriptService/KillBricks", "Script", "humanoid:TakeDamage(100)\n"),
        ("ServerScriptService/Leaderstats", "Script", "folder.Name = 'leaderstats'\n"),
        ("StarterPlayer/StarterPlayerScripts/Music", "LocalScript", "sound:Play()\n"),
    ]);
    let world = scene.create(scene.root(), "Workspace", "Workspace");
    for name in ["Stage1", "Stage2"] {
        scene.create(world, "SpawnLocation", name);
    }
    scene
}

/// A simulator with modules on both sides.
fn simulator() -> Scene {
    let systems = ["Pets", "Eggs", "Shop", "Coins", "Zones", "Rebirths", "Rewards", "Trading"];
    let mut all: Vec<(String, &str, String)> = Vec::new();
    for name in systems {
        let code = format!("local {name} = {{}}\n-- what {name} do\n").repeat(40);
        all.push((format!("ReplicatedStorage/Modules/{name}"), "ModuleScript", code.clone()));
        all.push((
            format!("ServerScriptService/Services/{name}Service"),
            "ModuleScript",
            format!("remote.OnServerEvent:Connect(print)\n{code}"),
        ));
        all.push((
            format!("StarterPlayer/StarterPlayerScripts/Controllers/{name}Controller"),
            "ModuleScript",
            format!("remote:FireServer()\n{code}"),
        ));
        let screen = format!("StarterGui/Main/{name}");
        all.push((screen, "LocalScript", "button.MouseButton1Click:Connect(print)".to_owned()));
    }
    let saves = "local store = game:GetService('DataStoreService'):GetDataStore('v1')\n";
    all.push(("ServerScriptService/DataManager".to_owned(), "Script", saves.to_owned()));
    let all: Vec<_> =
        all.iter().map(|(path, class, text)| (path.as_str(), *class, text.as_str())).collect();
    place(&all)
}

/// A place with its index.
struct IndexedPlace {
    name: &'static str,
    scene: Scene,
    index: CodeIndex,
}

fn places() -> [IndexedPlace; 3] {
    let indexed = |name, scene: Scene| IndexedPlace { name, index: CodeIndex::new(&scene), scene };
    [indexed("baseplate", place(&[])), indexed("obby", obby()), indexed("simulator", simulator())]
}

fn find_tier(place: &IndexedPlace, request: &Labelled<'_>) -> TierFindings {
    let attached = request.attached.map(|path| {
        let found = place.scene.resolve(&path.parse().unwrap());
        found.unwrap_or_else(|why| panic!("{path}: {why:?}"))
    });
    let request = TierRequest {
        text: request.text,
        attached: attached.into_iter().collect(),
        is_ask: false,
        window_bytes: Some(500_000),
    };
    estimate_tier(&place.index, &place.scene, &request)
}

/// How many requests of each tier got each tier.
type Confusion = [[usize; TaskTier::ALL.len()]; TaskTier::ALL.len()];

fn describe(confusion: &Confusion) -> String {
    let mut text = format!("{:>14}", "labelled");
    for tier in TaskTier::ALL {
        let _ = write!(text, "{:>15}", tier.label());
    }
    for (tier, row) in TaskTier::ALL.iter().zip(confusion) {
        let _ = write!(text, "\n{:>14}", tier.label());
        for count in row {
            let _ = write!(text, "{count:>15}");
        }
    }
    text
}

#[test]
fn tiers_of_labelled_requests_are_right() {
    let places = places();
    for (set, least) in [("tune", 0.9), ("held", 0.85), ("fresh", 0.75)] {
        let (mut confusion, mut wrong) = (Confusion::default(), String::new());
        for request in labelled().iter().filter(|it| it.set == set) {
            let place = places.iter().find(|it| it.name == request.place).unwrap();
            let found = find_tier(place, request);
            confusion[request.tier as usize][found.tier as usize] += 1;
            if found.tier != request.tier {
                let (is, label) = (found.tier.label(), request.tier.label());
                let _ = writeln!(wrong, "{label} -> {is}: {} {:?}", request.text, found.reasons);
            }
        }
        let all: usize = confusion.iter().flatten().sum();
        let right: usize = (0..confusion.len()).map(|at| confusion[at][at]).sum();
        let far: usize = (0..confusion.len())
            .flat_map(|at| (0..confusion.len()).map(move |to| (at, to)))
            .filter(|(at, to)| at.abs_diff(*to) > 1)
            .map(|(at, to)| confusion[at][to])
            .sum();
        let table = describe(&confusion);
        println!(
            "{set}: {right} of {all} are right, {far} are off by more than one\n{table}\n{wrong}"
        );
        assert!(all >= 24, "{set} has only {all} requests");
        assert!(right as f64 >= least * all as f64, "{set}: {right} of {all}\n{table}\n{wrong}");
        assert!(far * 20 <= all, "{set}: {far} of {all} are off by more than one\n{wrong}");
    }
}

fn advice(place: &IndexedPlace, text: &str, window: Option<u64>) -> TeamAdvice {
    let request = TierRequest { text, window_bytes: window, ..TierRequest::default() };
    estimate_tier(&place.index, &place.scene, &request).team
}

#[test]
fn workers_are_for_parts_that_do_not_meet() {
    let [baseplate, obby, simulator] = places();
    let workers = |place: &IndexedPlace, text: &str| advice(place, text, None).workers;
    // All of the code, in parts by service and folder.
    assert_eq!(workers(&simulator, "Add strict types to every script in the game"), 4);
    assert_eq!(workers(&simulator, "Audit all scripts for security problems"), 4);
    // One feature that crosses client and server.
    let trading = "Add pet trading between two players with a confirmation screen";
    assert_eq!(workers(&simulator, trading), 0);
    assert!(advice(&simulator, trading, None).reason.contains("client and server"));
    // A whole game has features that are built apart.
    let game = "make a complete game with vehicles, a shop, rounds, pets and saving";
    assert_eq!(workers(&baseplate, game), 4);
    assert_eq!(workers(&baseplate, "make a complete game"), 0);
    // What is small is never shared out.
    assert_eq!(workers(&obby, "make the kill bricks red"), 0);
    assert_eq!(workers(&obby, "refactor every script"), 2);
}

#[test]
fn code_that_no_context_holds_is_shared_out() {
    let [.., simulator] = places();
    let text = "redo the trading window, the menu buttons, the tweens and the animations";
    let few = advice(&simulator, text, Some(1_000_000));
    let much = advice(&simulator, text, Some(10_000));
    assert_eq!((few.workers, much.workers), (0, 4), "{few:?} {much:?}");
    assert!(much.reason.contains("at once"), "{much:?}");
}

#[test]
fn estimate_depends_on_the_place_and_on_what_may_be_done() {
    let [baseplate, _, simulator] = places();
    let tier = |place: &IndexedPlace, text: &str, is_ask: bool| {
        let request = TierRequest { text, is_ask, ..TierRequest::default() };
        estimate_tier(&place.index, &place.scene, &request).tier
    };
    let text = "refactor every script";
    assert_eq!(tier(&simulator, text, false), TaskTier::Architectural);
    assert_eq!(tier(&baseplate, text, false), TaskTier::Complex);
    assert_eq!(tier(&baseplate, "a door that opens for the owner", false), TaskTier::Simple);
    assert_eq!(tier(&baseplate, "a door that opens for the owner", true), TaskTier::Trivial);
    assert_eq!(tier(&baseplate, "", false), TaskTier::Trivial);
}

#[test]
fn reasons_name_subjects_and_the_size_of_their_code() {
    let [.., simulator] = places();
    let request = TierRequest {
        text: "save the coins of players and show them in a gui",
        ..TierRequest::default()
    };
    let found = estimate_tier(&simulator.index, &simulator.scene, &request);
    assert_eq!(found.tier, TaskTier::Complex);
    let expected = [
        "names data saving; leaderstats and currency; user interface",
        "has 2 parts",
        "needs client and server",
    ];
    assert_eq!(found.reasons[..3], expected, "{found:?}");
    assert!(found.reasons[3].starts_with("about ") && found.script_count > 2, "{found:?}");
    assert!(found.script_bytes > 1_000, "{found:?}");
}
