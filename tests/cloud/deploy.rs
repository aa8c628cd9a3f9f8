//! `vector deploy`: a place is saved as a version of Roblox, and published after a second yes.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fake_cloud::{API_KEY, FakeCloud, Fault};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use scene_schemas::entry::{Entry, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home, Output};
use vector_tests::places::{self, Format};

const UNIVERSE: u64 = 30;
const PLACE: u64 = 40;

/// A cloud with a place, and a home with a place file.
struct Bench {
    cloud: FakeCloud,
    home: Home,
    place: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let place = home.path().join("game.rbxl");
        fs::write(&place, places::sample(Format::Rbxl)).unwrap();
        let cloud = FakeCloud::start(Vec::new());
        cloud.add_places(UNIVERSE, &[PLACE]);
        Self { cloud, home, place }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(&[&["deploy"], args].concat());
        command.env("VECTOR_ROBLOX_CLOUD_URL", self.cloud.url());
        command.env("ROBLOX_PUBLISH_API_KEY", API_KEY);
        command
    }

    /// Runs a deploy whose key nobody must see.
    fn run(&self, args: &[&str]) -> Output {
        let output = binary::run_to_end(self.command(args), "");
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(API_KEY), "{text}");
        }
        output
    }

    /// Deploys the place file to the place of the cloud.
    fn deploy(&self, more: &[&str]) -> Output {
        let place = self.place.display().to_string();
        self.run(&[&[place.as_str(), "--universe", "30", "--place-id", "40"], more].concat())
    }

    #[track_caller]
    fn done(&self, more: &[&str]) -> Output {
        let output = self.deploy(more);
        assert_eq!(output.code, 0, "{}", output.stderr);
        output
    }

    /// The numbers of the versions on Roblox, each with whether it has been published.
    fn versions(&self) -> Vec<(u64, bool)> {
        self.cloud.place_versions(PLACE).iter().map(|it| (it.number, it.is_published)).collect()
    }

    fn edit(&self, prompt: &str) {
        let place = self.place.display().to_string();
        let edited = self.home.run(&["edit", &place, "--prompt", prompt, "--yes"], "");
        assert_eq!(edited.code, 0, "{}", edited.stderr);
    }

    /// The uploads, as `--list` gives them.
    fn listed(&self) -> Vec<Json> {
        let listed = self.run(&["--list", "--json"]);
        assert_eq!(listed.code, 0, "{}", listed.stderr);
        listed.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        let ledger = Ledger::open(&self.home.path().join("vector")).unwrap();
        let records = ledger.read(Seq(0), 10_000).unwrap();
        records.into_iter().map(|record| record.entry).collect()
    }
}

#[test]
fn place_is_saved_with_one_yes_and_published_with_a_second() {
    let bench = Bench::new();
    let asked = bench.deploy(&[]);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(asked.stderr.contains("there is no terminal to ask on"), "{}", asked.stderr);
    assert!(asked.stderr.contains("Nothing was published to it"), "{}", asked.stderr);
    assert_eq!(bench.cloud.requests(), []);
    let saved = bench.done(&["--yes"]);
    assert_eq!(saved.stdout, "Saved as version 1 of place 40 of universe 30.\n");
    assert_eq!(bench.versions(), [(1, false)]);
    let alone = bench.deploy(&["--yes", "--publish"]);
    assert_eq!(alone.code, 3, "one yes does not publish: {}", alone.stderr);
    let elsewhere = bench.deploy(&["--yes", "--publish", "--confirm-publish", "41"]);
    assert_eq!(elsewhere.code, 1, "{}", elsewhere.stderr);
    assert_eq!(bench.versions(), [(1, false)]);
    let published = bench.done(&["--yes", "--publish", "--confirm-publish", "40"]);
    assert!(published.stderr.contains("saved as version 1 already"), "{}", published.stderr);
    assert_eq!(published.stdout, "Published version 1 of place 40 of universe 30.\n");
    assert_eq!(bench.versions(), [(1, true)]);
    // What is published is not uploaded again.
    let sent = bench.cloud.requests().len();
    let again = bench.done(&["--yes", "--publish", "--confirm-publish", "40"]);
    assert!(again.stderr.contains("Nothing to upload"), "{}", again.stderr);
    assert_eq!(bench.cloud.requests().len(), sent);
    let kinds: Vec<Json> = bench.listed().iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, [json!("saved"), json!("published")]);
}

#[cfg(unix)]
#[test]
fn second_yes_is_the_id_of_the_place() {
    use vector_tests::person::Person;
    for (answer, is_published) in [("y", false), ("41", false), ("40", true)] {
        let bench = Bench::new();
        let place = bench.place.display().to_string();
        let args = [place.as_str(), "--universe", "30", "--place-id", "40", "--publish"];
        let mut person = Person::runs(bench.command(&args));
        person.answers("Save it as a version?", "y");
        person.answers("type the place's ID, 40:", answer);
        let (code, _) = person.sees_the_end();
        assert_eq!(code, if is_published { 0 } else { 3 }, "{answer}");
        assert_eq!(bench.versions(), [(1, is_published)], "{answer}");
    }
}

#[test]
fn card_shows_what_changed_since_the_published_version() {
    let bench = Bench::new();
    bench.done(&["--yes", "--publish", "--confirm-publish", "40"]);
    bench.edit("create a Part named Beacon in game.Workspace");
    // The place and its target are known from the last upload.
    let place = bench.place.display().to_string();
    let shown = bench.run(&[&place, "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for expected in
        ["Since version 1, published ", "1 instance added", "+ game.Workspace.Beacon (Part)"]
    {
        assert!(shown.stderr.contains(expected), "{expected}: {}", shown.stderr);
    }
    assert_eq!(bench.versions(), [(1, true)]);
}

#[test]
fn instances_that_an_upload_does_not_update_are_named() {
    let bench = Bench::new();
    let union = InstanceBuilder::new("UnionOperation").with_name("Arch");
    let skin = InstanceBuilder::new("SurfaceAppearance").with_name("Skin");
    let part = InstanceBuilder::new("MeshPart").with_name("Body").with_child(skin);
    let workspace = InstanceBuilder::new("Workspace").with_child(union).with_child(part);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    fs::write(&bench.place, places::encode(&WeakDom::new(game), Format::Rbxl)).unwrap();
    let shown = bench.done(&["--dry-run"]);
    for expected in [
        "an upload does not change these on Roblox",
        "game.Workspace.Arch (UnionOperation)",
        "game.Workspace.Body.Skin (SurfaceAppearance)",
    ] {
        assert!(shown.stderr.contains(expected), "{expected}: {}", shown.stderr);
    }
    assert!(!shown.stderr.contains("(MeshPart)"), "{}", shown.stderr);
}

#[test]
fn earlier_version_is_published_again() {
    let bench = Bench::new();
    let first = fs::read(&bench.place).unwrap();
    let publish = ["--yes", "--publish", "--confirm-publish", "40"];
    bench.done(&publish);
    bench.edit("create a Part named Beacon in game.Workspace");
    bench.done(&publish);
    let uploads = bench.listed();
    let number = uploads[0]["upload"].to_string();
    let back = bench.run(&[&["--again", number.as_str()], &publish[..]].concat());
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(back.stderr.contains("- game.Workspace.Beacon (Part)"), "{}", back.stderr);
    assert_eq!(bench.cloud.published_version(PLACE), Some(3));
    let versions = bench.cloud.place_versions(PLACE);
    assert_eq!(versions[2].bytes, first);
    // Somebody may have published from Studio since, so it can be done once more.
    let once_more = bench.run(&[&["--again", number.as_str()], &publish[..]].concat());
    assert!(once_more.stdout.contains("Published version 3"), "{}", once_more.stderr);
    // The file on disk is as it was.
    assert_ne!(fs::read(&bench.place).unwrap(), first);
    let place = bench.place.display().to_string();
    let erased = bench.home.run(&["forget", "--place", &place, "--yes"], "");
    assert_eq!(erased.code, 0, "{}", erased.stderr);
    let shown = bench.deploy(&["--dry-run"]);
    assert!(
        shown.stderr.contains("cannot be compared: its contents were erased"),
        "{}",
        shown.stderr
    );
    let gone = bench.run(&["--again", number.as_str(), "--yes"]);
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains("were erased"), "{}", gone.stderr);
    let unknown = bench.run(&["--again", "1", "--yes"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("There is no upload 1"), "{}", unknown.stderr);
}

#[test]
fn project_is_built_and_uploaded_to_the_place_that_it_names() {
    let bench = Bench::new();
    let folder = bench.home.path().join("game");
    fs::create_dir_all(folder.join("src")).unwrap();
    let project = r#"{ "name": "Game", "gameId": 30, "placeId": 40, "tree": {
        "$className": "DataModel", "Workspace": { "Wall": { "$className": "Part" } },
        "ServerScriptService": { "$path": "src" } } }"#;
    fs::write(folder.join("default.project.json"), project).unwrap();
    fs::write(folder.join("src/Main.server.luau"), "print('hello')\n").unwrap();
    let done = bench.run(&[&folder.display().to_string(), "--yes"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let versions = bench.cloud.place_versions(PLACE);
    let built = bench.home.path().join("built.rbxl");
    fs::write(&built, &versions[0].bytes).unwrap();
    let text = bench
        .home
        .run(&["source", &built.display().to_string(), "game.ServerScriptService.Main"], "");
    assert_eq!(text.stdout, "print('hello')\n", "{}", text.stderr);
    // The same files give the same bytes, so nothing is uploaded again.
    let again = bench.run(&[&folder.display().to_string(), "--yes"]);
    assert!(again.stderr.contains("Nothing to upload"), "{}", again.stderr);
}

#[test]
fn refusals_of_roblox_are_recorded_and_say_what_to_do() {
    let bench = Bench::new();
    let refused = |more: &[&str], says: &str| {
        let output = bench.deploy(&[&["--yes"], more].concat());
        assert_eq!(output.code, 1, "{}", output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    };
    bench.cloud.set_open_in_studio(PLACE, true);
    refused(&[], "Close the place in Studio");
    bench.cloud.set_open_in_studio(PLACE, false);
    for _ in 0..4 {
        bench.cloud.fail_next(Fault::status(502, "Bad gateway"));
    }
    refused(&[], "Roblox may have the version all the same");
    let mut keyless = bench.command(&[
        &bench.place.display().to_string(),
        "--universe",
        "30",
        "--place-id",
        "40",
        "--yes",
    ]);
    keyless.env_remove("ROBLOX_PUBLISH_API_KEY");
    let output = binary::run_to_end(keyless, "");
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("universe-places:write"), "{}", output.stderr);
    let unknown = bench.run(&[&bench.place.display().to_string(), "--yes", "--dry-run"]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    let failed: Vec<bool> = bench
        .entries()
        .into_iter()
        .filter_map(|entry| match entry {
            Entry::UploadFailed { is_unclear, .. } => Some(is_unclear),
            _ => None,
        })
        .collect();
    assert_eq!(failed, [false, true], "without a key nothing is begun");
    assert_eq!(bench.versions(), []);
    bench.done(&["--yes"]);
    assert_eq!(bench.versions(), [(1, false)]);
}

#[test]
fn way_back_is_open_after_an_upload_that_may_have_arrived() {
    let bench = Bench::new();
    let publish = ["--yes", "--publish", "--confirm-publish", "40"];
    let first = fs::read(&bench.place).unwrap();
    bench.done(&publish);
    bench.edit("create a Part named Beacon in game.Workspace");
    bench.done(&["--yes"]);
    // The answer is lost; that a later attempt is refused says nothing about the first.
    bench.cloud.fail_next(Fault::Truncate(4));
    bench.cloud.fail_next(Fault::status(403, "Not now"));
    let unclear = bench.deploy(&publish);
    assert_eq!(unclear.code, 1);
    assert!(unclear.stderr.contains("may have the version all the same"), "{}", unclear.stderr);
    assert_eq!(bench.cloud.published_version(PLACE), Some(2));
    fs::write(&bench.place, &first).unwrap();
    let back = bench.done(&publish);
    assert!(back.stderr.contains("interrupted or got no answer"), "{}", back.stderr);
    assert!(back.stdout.contains("Published version 3"), "{}{}", back.stdout, back.stderr);
    assert_eq!(bench.cloud.place_versions(PLACE)[2].bytes, first);
}

#[test]
fn place_of_a_refused_upload_is_not_used_again() {
    let bench = Bench::new();
    let place = bench.place.display().to_string();
    let wrong = bench.run(&[&place, "--universe", "30", "--place-id", "41", "--yes"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("Check the ids"), "{}", wrong.stderr);
    let unnamed = bench.run(&[&place, "--yes"]);
    assert!(unnamed.stderr.contains("say where to upload it"), "{}", unnamed.stderr);
    bench.done(&["--yes"]);
    let named = bench.run(&[&place, "--yes", "--json"]);
    let line: Json = serde_json::from_str(&named.stdout).unwrap();
    assert_eq!((&line["place"], &line["version"]), (&json!(40), &json!(1)), "{}", named.stderr);
}

#[test]
fn bad_places_are_refused_before_anything_is_sent() {
    let bench = Bench::new();
    let refused = |bytes: &[u8], says: &str| {
        fs::write(&bench.place, bytes).unwrap();
        let output = bench.deploy(&["--yes"]);
        assert_eq!(output.code, 1, "{}", output.stderr);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    };
    refused(b"", "game.rbxl");
    refused(b"<roblox!", "game.rbxl");
    let model = InstanceBuilder::new("DataModel").with_child(InstanceBuilder::new("Part"));
    refused(&places::encode(&WeakDom::new(model), Format::Rbxl), "is a model, not a place");
    fs::remove_file(&bench.place).unwrap();
    let gone = bench.deploy(&["--yes"]);
    assert_eq!(gone.code, 1, "{}", gone.stderr);
    let alone = bench.run(&[&Path::new("nowhere.rbxl").display().to_string()]);
    assert_eq!(alone.code, 1, "{}", alone.stderr);
    assert_eq!(bench.cloud.requests(), []);
}

#[test]
fn killed_upload_is_found_and_uploaded_once() {
    let bench = Bench::new();
    // A server that takes the request and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = bench.place.display().to_string();
    let mut command = bench.command(&[&place, "--universe", "30", "--place-id", "40", "--yes"]);
    command.env("VECTOR_ROBLOX_CLOUD_URL", format!("http://{}", silent.local_addr().unwrap()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut stream, _) = silent.accept().unwrap();
    let mut first = [0; 4];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"POST");
    // Another process must wait while the upload goes on.
    let second = bench.deploy(&["--yes"]);
    assert_eq!(second.code, 1, "{}", second.stderr);
    assert!(second.stderr.contains("is going on"), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = bench.done(&["--yes"]);
    assert!(done.stderr.contains("was interrupted"), "{}", done.stderr);
    assert_eq!(bench.versions(), [(1, false)]);
    let outcomes: Vec<Json> = bench.listed().iter().map(|it| it["version"].clone()).collect();
    assert_eq!(outcomes, [Json::Null, json!(1)]);
    let begun = bench.entries().iter().filter(|it| matches!(it, Entry::Uploading { .. })).count();
    assert_eq!(begun, 2);
}

#[test]
fn ids_of_16_digits_are_not_rounded() {
    let bench = Bench::new();
    let place = bench.place.display().to_string();
    let [universe, id] = ["9007199254740993", "9007199254740995"];
    bench.cloud.add_places(9_007_199_254_740_993, &[9_007_199_254_740_995]);
    let saved = bench.run(&[&place, "--universe", universe, "--place-id", id, "--yes"]);
    let expected = format!("Saved as version 1 of place {id} of universe {universe}.\n");
    assert_eq!(saved.stdout, expected, "{}", saved.stderr);
    let listed = &bench.listed()[0];
    assert_eq!(
        (listed["universe"].to_string(), listed["place"].to_string()),
        (universe.to_owned(), id.to_owned())
    );
}

#[cfg(unix)]
#[test]
fn escape_codes_of_a_file_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let place = bench.home.path().join("game\u{1b}]0;title\u{7}.rbxl");
    fs::copy(&bench.place, &place).unwrap();
    let place = place.display().to_string();
    let saved = bench.run(&[&place, "--universe", "30", "--place-id", "40", "--yes"]);
    assert_eq!(saved.code, 0, "{}", saved.stderr);
    let listed = bench.run(&["--list"]);
    for text in [&saved.stdout, &saved.stderr, &listed.stdout] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
