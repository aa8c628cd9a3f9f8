//! `insert_asset` on files: the asset is downloaded with a key, pinned, and inserted without its
//! scripts.

use std::fs;
use std::path::{Path, PathBuf};

use fake_cloud::{API_KEY, FakeCloud, Fault};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{CFrame, Matrix3, Variant, Vector3};
use scene_schemas::entry::{Entry, Record};
use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

/// The number of the asset in these tests.
pub(super) const TREE: u64 = 4_711;
const BACKDOOR: &str = "local key = getfenv()\nrequire(123456)\n";

/// A model with a part that a weld refers to, a script with a module below it, and a link to a
/// package.
pub(super) fn tree(format: Format) -> Vec<u8> {
    let trunk = InstanceBuilder::new("Part")
        .with_name("Trunk")
        .with_property("Size", Vector3::new(2.0, 8.0, 2.0))
        .with_property("CFrame", CFrame::new(Vector3::new(1.0, 4.0, 1.0), Matrix3::identity()));
    let part = trunk.referent();
    let spread =
        InstanceBuilder::new("Script").with_name("Spread").with_property("Source", BACKDOOR);
    let helper = InstanceBuilder::new("ModuleScript")
        .with_name("Helper")
        .with_property("Source", "return {}\n");
    let model = InstanceBuilder::new("Model")
        .with_name("Tree")
        .with_property("PrimaryPart", part)
        .with_child(trunk)
        .with_child(spread.with_child(helper))
        .with_child(InstanceBuilder::new("PackageLink"));
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), format)
}

/// A cloud, and a home with a sample place.
pub(super) struct Bench {
    pub(super) cloud: FakeCloud,
    pub(super) home: Home,
    pub(super) place: PathBuf,
}

impl Bench {
    pub(super) fn new(format: Format) -> Self {
        let home = Home::new();
        let place = home.path().join("place").with_extension(format.extension());
        fs::write(&place, places::sample(format)).unwrap();
        let cloud = FakeCloud::start(Vec::new());
        cloud.deliver(TREE, tree(Format::Rbxm));
        Self { cloud, home, place }
    }

    /// Inserts an asset into a place or project, below the Workspace.
    pub(super) fn insert(&self, target: &Path, asset: u64, key: Option<&str>) -> Output {
        self.insert_below(target, "Workspace", asset, key)
    }

    /// Reverts the newest proposal.
    pub(super) fn revert_last(&self) -> Output {
        let log = self.home.run(&["log", "--json"], "").stdout;
        let mut records = log.lines().map(|line| serde_json::from_str::<Record>(line).unwrap());
        let is_proposal = |record: &Record| matches!(record.entry, Entry::Proposed { .. });
        let last = records.rfind(is_proposal).unwrap().seq.to_string();
        self.home.run(&["revert", &last, "--yes"], "")
    }

    fn insert_below(&self, target: &Path, parent: &str, asset: u64, key: Option<&str>) -> Output {
        let call = json!({ "tool": "insert_asset", "args": {
            "assetId": asset, "parentPath": format!("game.{parent}"),
        } });
        let target = target.display().to_string();
        let mut command = self.home.command(&["edit", &target, "--ops", "-", "--yes"]);
        command.env("VECTOR_ROBLOX_CLOUD_URL", self.cloud.url());
        command.envs(key.map(|key| ("ROBLOX_ASSETS_API_KEY", key)));
        binary::run_to_end(command, &call.to_string())
    }
}

/// The children of an instance with this path below the root, by name.
fn names_below(bytes: &[u8], path: &[&str]) -> Vec<String> {
    let dom = places::decode(bytes);
    let mut at = dom.root();
    for name in path {
        let children = at.children().iter().filter_map(|it| dom.get_by_ref(*it));
        at = children.into_iter().find(|it| it.name == *name).unwrap_or_else(|| panic!("{name}"));
    }
    at.children().iter().filter_map(|it| dom.get_by_ref(*it)).map(|it| it.name.clone()).collect()
}

#[test]
fn asset_is_inserted_into_every_file_without_its_scripts() {
    for format in Format::ALL {
        let bench = Bench::new(format);
        let before = fs::read(&bench.place).unwrap();
        let is_place = matches!(format, Format::Rbxl | Format::Rbxlx);
        let below = if is_place { "Workspace" } else { "Baseplate" };
        let output = bench.insert_below(&bench.place, below, TREE, Some(API_KEY));
        assert_eq!(output.code, 0, "{format:?}: {}{}", output.stdout, output.stderr);
        let shown = format!("{}{}", output.stdout, output.stderr);
        for said in
            ["leaves out 2 scripts of asset 4711", "left out", "newest version of its package"]
        {
            assert!(shown.contains(said), "{format:?}: {said} is not in {shown}");
        }
        let after = fs::read(&bench.place).unwrap();
        assert_eq!(names_below(&after, &[below, "Tree"]), ["Trunk"], "{format:?}");
        let dom = places::decode(&after);
        let all = || dom.descendants();
        let model = all().find(|it| it.name == "Tree").unwrap();
        let trunk = all().find(|it| it.name == "Trunk").unwrap();
        assert_eq!(trunk.properties[&"Size".into()], Variant::Vector3(Vector3::new(2.0, 8.0, 2.0)));
        let primary = &model.properties[&"PrimaryPart".into()];
        assert_eq!(*primary, Variant::Ref(trunk.referent()), "{format:?}");
        let sent = bench.cloud.requests();
        let keys: Vec<bool> = sent.iter().map(|it| it.has_key).collect();
        assert_eq!(keys, [true, false], "the key goes to Roblox and not to the server of files");
        let reverted = bench.revert_last();
        assert_eq!(reverted.code, 0, "{}{}", reverted.stdout, reverted.stderr);
        assert_eq!(
            fs::read(&bench.place).unwrap(),
            before,
            "{format:?}: revert restores the bytes"
        );
    }
}

#[test]
fn xml_asset_is_inserted_into_a_binary_place_and_a_project() {
    let bench = Bench::new(Format::Rbxl);
    bench.cloud.deliver(TREE, tree(Format::Rbxmx));
    let output = bench.insert(&bench.place, TREE, Some(API_KEY));
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    assert_eq!(names_below(&fs::read(&bench.place).unwrap(), &["Workspace", "Tree"]), ["Trunk"]);
    let project = bench.home.path().join("project");
    fs::create_dir_all(project.join("models")).unwrap();
    fs::write(
        project.join("default.project.json"),
        r#"{"name":"It","tree":{"$className":"DataModel","Workspace":{"$path":"models"}}}"#,
    )
    .unwrap();
    let output = bench.insert(&project, TREE, Some(API_KEY));
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
    let shown =
        bench.home.run(&["show", &project.display().to_string(), "--depth", "9"], "").stdout;
    assert!(shown.contains("Trunk") && !shown.contains("Spread"), "{shown}");
    let reverted = bench.revert_last();
    assert_eq!(reverted.code, 0, "{}{}", reverted.stdout, reverted.stderr);
    assert_eq!(fs::read_dir(project.join("models")).unwrap().count(), 0);
}

#[test]
fn failed_download_changes_nothing_and_says_what_to_do() {
    let bench = Bench::new(Format::Rbxl);
    let before = fs::read(&bench.place).unwrap();
    let png = b"\x89PNG\r\n\x1a\n and so on".to_vec();
    bench.cloud.deliver(1, png);
    bench.cloud.deliver(2, b"nothing that Roblox knows".to_vec());
    bench.cloud.deliver(3, places::sample(Format::Rbxl));
    bench.cloud.deliver(4, tree(Format::Rbxm)[..200].to_vec());
    let refused = |asset: u64, key: Option<&str>, said: &str| {
        let output = bench.insert(&bench.place, asset, key);
        let message = format!("{}{}", output.stdout, output.stderr);
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_ne!(output.code, 0, "{message}");
        assert!(message.contains(said), "{said} is not in {message}");
        assert!(!message.contains(API_KEY), "{message}");
        assert_eq!(fs::read(&bench.place).unwrap(), before);
    };
    refused(TREE, None, "only with an API key of yours");
    refused(TREE, Some("wrong"), "answered 401 (Invalid API Key)");
    refused(9, Some(API_KEY), "answered 404 (Request asset was not found)");
    refused(1, Some(API_KEY), "Asset 1 is an image and not a model");
    refused(2, Some(API_KEY), "Asset 2 cannot be read as a model");
    refused(3, Some(API_KEY), "Asset 3 is a place and not a model");
    refused(4, Some(API_KEY), "Asset 4 cannot be read as a model");
    bench.cloud.fail_next(Fault::status(403, "User is not authorized to access Asset."));
    refused(TREE, Some(API_KEY), "may lack the scope legacy-asset:manage");
    let elsewhere = r#"{"location":"https://example.com/file"}"#;
    bench.cloud.fail_next(Fault::Answer {
        status: 200,
        body: elsewhere.to_owned(),
        headers: Vec::new(),
    });
    refused(TREE, Some(API_KEY), "not on a server of Roblox");
    // What passes is tried again: the answer breaks off, then the file.
    bench.cloud.fail_next(Fault::Truncate(10));
    let output = bench.insert(&bench.place, TREE, Some(API_KEY));
    assert_eq!(output.code, 0, "{}{}", output.stdout, output.stderr);
}

/// A daemon that uses a cloud, with the bench's place or project.
pub(super) fn daemon(bench: &Bench) -> (Daemon, Human, Json) {
    let ledger = bench.home.path().join("vector");
    let mut command = std::process::Command::new(binary::vector());
    command
        .args(["serve", "--port", "0"])
        .env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url())
        .env("ROBLOX_ASSETS_API_KEY", API_KEY);
    let is_project = bench.place.is_dir();
    if is_project {
        command.arg("--project").arg(&bench.place);
    }
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let opened = if is_project {
        human.call("GET", "/api/sessions", &Json::Null).ok()["sessions"][0].clone()
    } else {
        human.open(&bench.place).ok()
    };
    (daemon, human, opened)
}

#[test]
fn kept_script_stays_kept_when_the_call_is_planned_again() {
    let bench = Bench::new(Format::Rbxlx);
    let (daemon, mut human, opened) = daemon(&bench);
    let ledger = bench.home.path().join("vector");
    let mut agent = Agent::new(&daemon, &ledger, "test");
    let session = &opened["session"];
    let stand = json!({
        "className": "Part", "parentPath": "game.Workspace", "session": session,
        "props": { "Name": "Stand", "Size": [1, 1, 1] },
    });
    let stand = agent.propose("create_instance", &stand);
    let args = json!({
        "assetId": TREE, "parentPath": "game.Workspace.Stand", "session": session,
    });
    let card = agent.propose("insert_asset", &args);
    let shown = human.shown(card);
    assert_eq!(
        shown["needs_twice"], false,
        "what is left out needs no second confirmation: {shown}"
    );
    let scripts = shown["proposal"]["preview"]["scripts"].as_array().unwrap();
    let left: Vec<&Json> = scripts.iter().map(|it| &it["left_out"]).collect();
    assert_eq!(left, [&json!(true), &json!(true)]);
    // Keeping the module keeps the script that it is in.
    let kept = human.decide(card, &json!({ "say": "keep", "scripts": [1] })).ok();
    let card = kept["proposal"].as_u64().unwrap();
    let shown = human.shown(card);
    assert_eq!(shown["needs_twice"], true, "{shown}");
    assert!(shown["proposal"].to_string().contains("getfenv"), "{shown}");
    // What it is inserted into changes: the call is planned again, with the asset as it was shown.
    bench.cloud.deliver(TREE, b"something else".to_vec());
    let size = json!({ "part": "property", "command": 0, "property": "Size", "value": [2, 1, 2] });
    let larger = human.decide(stand, &json!({ "say": "edit", "edits": [size] })).ok();
    let card = human.successor(card);
    let shown = human.shown(card);
    assert_eq!(shown["needs_twice"], true, "{shown}");
    human.approve(larger["proposal"].as_u64().unwrap()).ok();
    human.decide(card, &json!({ "say": "approve", "twice": true })).ok();
    human.until_status(card, "applied");
    let dom = places::decode(&fs::read(&bench.place).unwrap());
    let spread = dom.descendants().find(|it| it.name == "Spread").unwrap();
    assert_eq!(spread.properties[&"Source".into()], Variant::String(BACKDOOR.to_owned()));
    assert_eq!(spread.children().len(), 1, "the module is below it");
}

#[test]
fn proposal_outlives_a_restart_with_the_asset_as_it_was_shown() {
    let bench = Bench::new(Format::Rbxl);
    let (first, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let kept = human.decide(card, &json!({ "say": "keep", "scripts": [0] })).ok();
    let card = kept["proposal"].as_u64().unwrap();
    first.kill();
    // The store has another model by now, and cannot be reached either.
    bench.cloud.deliver(TREE, b"something else".to_vec());
    let sent = bench.cloud.requests().len();
    let (_second, mut human, _) = daemon(&bench);
    let pending = human.until_found("/api/proposals", |found| {
        let all = found["proposals"].as_array()?;
        let last = all.last()?["seq"].as_u64()?;
        (last > card).then_some(last)
    });
    assert!(human.shown(pending)["proposal"].to_string().contains("getfenv"));
    human.decide(pending, &json!({ "say": "approve", "twice": true })).ok();
    human.until_status(pending, "applied");
    let after = fs::read(&bench.place).unwrap();
    assert_eq!(names_below(&after, &["Workspace", "Tree"]), ["Trunk", "Spread"]);
    assert!(names_below(&after, &["Workspace", "Tree", "Spread"]).is_empty());
    assert_eq!(bench.cloud.requests().len(), sent, "nothing is downloaded again");
}

/// A model file with two roots, of which one has an instance of a class that nobody knows.
fn two_roots() -> Vec<u8> {
    let rock = InstanceBuilder::new("Part").with_name("Rock");
    let strange = InstanceBuilder::new("QuantumScript").with_name("Strange");
    let bush = InstanceBuilder::new("Model").with_name("Bush").with_child(strange);
    let bush = bush.with_child(InstanceBuilder::new("Part").with_name("Leaves"));
    let workspace = InstanceBuilder::new("Workspace").with_child(rock).with_child(bush);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), Format::Rbxm)
}

#[test]
fn every_root_is_inserted_and_unknown_classes_are_left_out() {
    let bench = Bench::new(Format::Rbxl);
    bench.cloud.deliver(TREE, two_roots());
    let before = fs::read(&bench.place).unwrap();
    let (_daemon, mut human, opened) = daemon(&bench);
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    let shown = human.shown(card)["proposal"].to_string();
    assert!(shown.contains("QuantumScript"), "what is left out is named: {shown}");
    human.approve(card).ok();
    human.until_status(card, "applied");
    let after = fs::read(&bench.place).unwrap();
    assert_eq!(names_below(&after, &["Workspace", "Bush"]), ["Leaves"]);
    let roots = names_below(&after, &["Workspace"]);
    assert!(roots.contains(&"Rock".to_owned()), "{roots:?}");
    let reverted = bench.revert_last();
    assert_eq!(reverted.code, 0, "{}", reverted.stderr);
    assert_eq!(
        names_below(&fs::read(&bench.place).unwrap(), &["Workspace"]),
        names_below(&before, &["Workspace"])
    );
}

#[cfg(unix)]
mod at_a_terminal {
    use vector_tests::person::Person;

    use super::*;

    /// Answers the questions about a card whose scripts are left out, and keeps the first.
    fn keep_the_first(mut person: Person) {
        let card = person.answers("[i]nsert scripts [?]", "?");
        assert!(card.contains("left out"), "{card}");
        person.answers("[i]nsert scripts [?]", "i");
        let script = person.answers("Insert game.Workspace.Tree.Spread? [y]es [n]o", "y");
        assert!(script.contains("local key = getfenv()"), "{script}");
        person.answers("Insert game.Workspace.Tree.Spread.Helper? [y]es [n]o", "n");
        person.answers("Run kept scripts in a sandbox?", "n");
        let card = person.answers("[?]", "y");
        assert!(card.contains("It inserts 1 script of asset 4711"), "{card}");
        person.answers("Type yes to apply it despite that", "yes");
        let (code, shown) = person.sees_the_end();
        assert_eq!(code, 0, "{shown}");
    }

    fn has_the_first(bench: &Bench) {
        let after = fs::read(&bench.place).unwrap();
        assert_eq!(names_below(&after, &["Workspace", "Tree"]), ["Trunk", "Spread"]);
        assert!(names_below(&after, &["Workspace", "Tree", "Spread"]).is_empty());
    }

    #[test]
    fn script_is_kept_where_the_asset_is_inserted() {
        let bench = Bench::new(Format::Rbxl);
        let target = bench.place.display().to_string();
        let mut command = bench.home.command(&["assets", "insert", &target, "4711"]);
        command
            .env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url())
            .env("ROBLOX_ASSETS_API_KEY", API_KEY);
        keep_the_first(Person::runs(command));
        has_the_first(&bench);
    }

    #[test]
    fn script_is_kept_in_a_review() {
        let bench = Bench::new(Format::Rbxl);
        let (daemon, _human, opened) = daemon(&bench);
        let ledger = bench.home.path().join("vector");
        let mut agent = Agent::new(&daemon, &ledger, "test");
        let args = json!({
            "assetId": TREE, "parentPath": "game.Workspace", "session": opened["session"],
        });
        agent.propose("insert_asset", &args);
        keep_the_first(Person::runs(bench.home.command(&["review", "--once"])));
        has_the_first(&bench);
    }
}

#[test]
fn without_a_parent_a_model_takes_the_asset_at_its_top() {
    for (format, parent) in [
        (Format::Rbxl, &["Workspace"][..]),
        (Format::Rbxlx, &["Workspace"]),
        (Format::Rbxm, &[]),
        (Format::Rbxmx, &[]),
    ] {
        let bench = Bench::new(format);
        let target = bench.place.display().to_string();
        let mut command = bench.home.command(&["assets", "insert", &target, "4711", "--yes"]);
        command
            .env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url())
            .env("ROBLOX_ASSETS_API_KEY", API_KEY);
        let output = binary::run_to_end(command, "");
        assert_eq!(output.code, 0, "{format:?}: {}{}", output.stdout, output.stderr);
        let names = names_below(&fs::read(&bench.place).unwrap(), parent);
        assert_eq!(names.last().map(String::as_str), Some("Tree"), "{format:?}: {names:?}");
    }
}

/// A model whose payload is in an attribute and whose number only a run shows.
fn lamp() -> Vec<u8> {
    let mut attributes = rbx_types::Attributes::new();
    attributes.insert("Code".to_owned(), Variant::String("8765432177".to_owned()));
    let decode = "local text = ''\n\
                  for c in script.Parent:GetAttribute('Code'):gmatch('.') do text = c .. text end\n\
                  require(tonumber(text))\n";
    let note = InstanceBuilder::new("StringValue")
        .with_name("Note")
        .with_property("Value", "require(7712345678)()");
    let glow = InstanceBuilder::new("Script").with_name("Glow").with_property("Source", decode);
    let model = InstanceBuilder::new("Model")
        .with_name("Beacon")
        .with_property("Attributes", attributes)
        .with_child(note)
        .with_child(glow);
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), Format::Rbxm)
}

#[test]
fn card_names_what_the_model_holds_and_what_its_scripts_reach() {
    let bench = Bench::new(Format::Rbxlx);
    bench.cloud.deliver(TREE, lamp());
    let (daemon, human, opened) = daemon(&bench);
    let ledger = bench.home.path().join("vector");
    let mut agent = Agent::new(&daemon, &ledger, "test");
    let args = json!({
        "assetId": TREE, "parentPath": "game.Workspace", "session": opened["session"],
    });
    let card = agent.propose("insert_asset", &args);
    let warnings = |shown: &Json| {
        let all = shown["proposal"]["warnings"].as_array().unwrap().iter();
        all.map(|it| it["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let shown = human.shown(card);
    assert_eq!(shown["needs_twice"], false, "{shown}");
    let holds = "game.Workspace.Beacon.Note: Its Value is code, which requires the asset 7712345678, \
                 code from outside the place.";
    let reaches = "When run, line 3 requires the asset 7712345678, code from outside.";
    let left_out = format!("game.Workspace.Beacon.Glow (left out): {reaches}");
    let texts = warnings(&shown);
    assert!(texts.iter().any(|it| it == holds), "{texts:#?}");
    assert!(texts.contains(&left_out), "{texts:#?}");
    // What was found stays on the card of the kept script.
    let kept = human.decide(card, &json!({ "say": "keep", "scripts": [0] })).ok();
    let shown = human.shown(kept["proposal"].as_u64().unwrap());
    assert_eq!(shown["needs_twice"], true, "{shown}");
    let texts = warnings(&shown);
    assert!(texts.contains(&format!("game.Workspace.Beacon.Glow: {reaches}")), "{texts:#?}");
    assert!(texts.iter().any(|it| it == holds), "{texts:#?}");
}
