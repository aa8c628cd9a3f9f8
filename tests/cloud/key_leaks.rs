//! Privacy of the keys of Roblox's cloud: none reaches a log, the ledger, an answer, a page or the
//! arguments of a process, also if the service repeats it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use fake_cloud::{
    FakeCloud, Fault, LuauOutcome, MESHY_KEY, MeshyOutcome, StoreAsset, UploadOutcome,
};
use serde_json::{Value as Json, json};
use vector_cloud::KeyPurpose;
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::Format;
use vector_tests::secrets::{ArgumentWatch, LOUD, find_in_files};

use super::file_uploads::PIXEL;
use super::insert::{TREE, tree};
use super::verify::{GOOD, complete, passed, place_of};

const UNIVERSE: u64 = 30;
const PLACE: u64 = 40;
const SCRATCH: u64 = 41;

/// What all keys of these tests contain, so that a part of one is found too.
const SECRET: &str = "0secret9876543210";

/// The key for a purpose. As those of Open Cloud, it has characters that JSON may escape.
const fn key(purpose: KeyPurpose) -> &'static str {
    match purpose {
        KeyPurpose::Assets => "assets+0secret9876543210/0123456789abcdef==",
        KeyPurpose::Publish => "publish+0secret9876543210/0123456789abcdef==",
        KeyPurpose::Verify => "verify+0secret9876543210/0123456789abcdef==",
        KeyPurpose::Upload => "upload+0secret9876543210/0123456789abcdef==",
        KeyPurpose::Meshy => MESHY_KEY,
    }
}

/// A cloud that knows a key for each purpose, and a home with a place file and a picture.
struct LeakBench {
    cloud: FakeCloud,
    home: Home,
    place: PathBuf,
    picture: PathBuf,
}

impl LeakBench {
    fn new() -> Self {
        let home = Home::new();
        let place = home.path().join("game.rbxl");
        fs::write(&place, place_of(&[("Add.spec", GOOD)])).unwrap();
        let picture = home.path().join("Oak.png");
        fs::write(&picture, PIXEL).unwrap();
        let cloud = FakeCloud::start(vec![StoreAsset::model(TREE, "Oak")]);
        cloud.add_places(UNIVERSE, &[PLACE]);
        cloud.add_places(UNIVERSE + 1, &[SCRATCH]);
        cloud.deliver(TREE, tree(Format::Rbxm));
        for purpose in KeyPurpose::ALL {
            cloud.add_key(key(purpose), purpose.scopes());
        }
        Self { cloud, home, place, picture }
    }

    /// Lets the next request be refused by a service that repeats its key, with and without JSON's
    /// escapes.
    fn echo_next(&self, purpose: KeyPurpose) {
        let key = key(purpose);
        let escaped = key.replace('/', "\\/");
        let body =
            format!(r#"{{"errors":[{{"message":"no {key} and {escaped}, Bearer {key}"}}]}}"#);
        self.cloud.fail_next(Fault::Answer { status: 403, body, headers: Vec::new() });
    }

    /// Lets a request of each purpose be refused in the order of [`Self::commands`], and what the
    /// services answer after that repeat the key as well.
    fn echo_everywhere(&self) {
        for purpose in
            [KeyPurpose::Assets, KeyPurpose::Upload, KeyPurpose::Publish, KeyPurpose::Verify]
        {
            self.echo_next(purpose);
        }
        self.cloud.add_upload_outcome(UploadOutcome {
            error: Some(key(KeyPurpose::Upload)),
            ..UploadOutcome::default()
        });
        let verify = key(KeyPurpose::Verify);
        let failed = LuauOutcome::failed("SCRIPT_ERROR", verify);
        let (states, logs) = (vec!["FAILED"], vec![["ERROR", verify]]);
        self.cloud.add_luau_outcome(LuauOutcome { states, logs, ..failed });
        self.cloud.add_luau_outcome(complete(passed()));
        let error = key(KeyPurpose::Meshy);
        self.cloud.add_meshy_outcome(MeshyOutcome { states: vec!["FAILED"], error });
        self.cloud.add_meshy_outcome(MeshyOutcome { states: vec!["SUCCEEDED"], error });
    }

    /// The commands that use keys, with their exit codes: each is refused once, and then some fail
    /// otherwise before they succeed.
    fn commands(&self) -> Vec<(Vec<String>, i32)> {
        let [place, picture] = [&self.place, &self.picture].map(|it| it.display().to_string());
        let insert = format!("assets insert {place} {TREE} --yes --no-play");
        let upload = format!("assets upload {picture} --user 1 --yes");
        let deploy = format!("deploy {place} --universe {UNIVERSE} --place-id {PLACE} --yes");
        let publish = format!("{deploy} --publish --confirm-publish {PLACE}");
        let verify = format!("verify {place} --scratch {}/{SCRATCH} --yes", UNIVERSE + 1);
        let generate = format!("assets generate well --no-colors --out {picture}.glb --yes");
        let commands = [
            (insert.clone(), 1),
            (upload.clone(), 1),
            (deploy.clone(), 1),
            (verify.clone(), 2),
            (insert, 0),
            (upload.clone(), 1),
            (upload, 0),
            (deploy, 0),
            (publish, 0),
            (verify.clone(), 2),
            (verify, 0),
            ("assets search oak".to_owned(), 0),
            ("doctor".to_owned(), 0),
            ("log --json".to_owned(), 0),
            ("deploy --list --json".to_owned(), 0),
            (generate.clone(), 1),
            (generate, 0),
        ];
        let words = |line: String| line.split(' ').map(str::to_owned).collect();
        commands.map(|(line, code)| (words(line), code)).into()
    }

    /// Asserts that no file below the home has a key.
    #[track_caller]
    fn assert_no_file_has_a_key(&self) {
        assert_eq!(find_in_files(self.home.path(), &[SECRET]), Vec::<PathBuf>::new());
    }
}

/// How often something printed says where a key was repeated.
fn count_hidden(printed: &str) -> usize {
    assert!(!printed.contains(SECRET), "{printed}");
    printed.matches("***").count()
}

#[test]
fn key_of_the_environment_is_in_no_output_file_or_process() {
    let bench = LeakBench::new();
    bench.echo_everywhere();
    let watch = ArgumentWatch::start(&[SECRET]);
    let mut hidden = Vec::new();
    for (args, code) in bench.commands() {
        let mut command = bench.home.command(&args);
        command.envs(LOUD).env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url());
        command.envs(KeyPurpose::ALL.map(|it| (it.variable(), key(it))));
        let output = binary::run_to_end(command, "");
        let printed = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, code, "{args:?}: {printed}");
        hidden.push(count_hidden(&printed));
    }
    assert_eq!(watch.end(), [""; 0]);
    // The refusals repeat a key three times.
    assert_eq!(hidden[..4], [3, 3, 3, 3], "{hidden:?}");
    // What Roblox made of the file; the error of a script, with its logs; what Meshy says of the prompt.
    assert_eq!((hidden[5], hidden[9], hidden[15]), (1, 2, 1), "{hidden:?}");
    // The ledger has the refusals of places, of uploads and of runs.
    assert!(hidden[13] > 5, "{hidden:?}");
    bench.assert_no_file_has_a_key();
}

#[cfg(target_os = "linux")]
#[test]
fn key_of_the_keychain_is_in_no_output_file_or_process() {
    let bench = LeakBench::new();
    bench.echo_everywhere();
    // The shell has the keys in variables, and prints them itself: its arguments are seen by all.
    let mut variables: Vec<(&str, String)> =
        KeyPurpose::ALL.map(|it| (it.variable(), key(it).to_owned())).into();
    variables.extend(LOUD.map(|(name, value)| (name, value.to_owned())));
    variables.push(("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url()));
    let mut script = String::new();
    for purpose in KeyPurpose::ALL {
        let (name, variable) = (purpose.name(), purpose.variable());
        script.push_str(&format!(
            "printf %s \"${variable}\" | $V key set {name}\nunset {variable}\n"
        ));
    }
    script.push_str("$V key list\n");
    for (args, code) in bench.commands() {
        script.push_str(&format!("$V {}; echo \"code $? of {code}\"\n", args.join(" ")));
    }
    let watch = ArgumentWatch::start(&[SECRET]);
    let printed = crate::cli::keyring::in_session(&bench.home, true, &variables, &script);
    let leaks = watch.end();
    let Some(printed) = printed else { return };
    assert_eq!(leaks, [""; 0]);
    let codes = printed.lines().filter_map(|it| it.strip_prefix("code ")?.split_once(" of "));
    let codes: Vec<(&str, &str)> = codes.collect();
    assert_eq!(codes.len(), bench.commands().len(), "{printed}");
    assert!(codes.iter().all(|(got, expected)| got == expected), "{codes:?} {printed}");
    assert_eq!(printed.matches("in the keychain\n").count(), 5, "{printed}");
    assert!(count_hidden(&printed) > 20, "{printed}");
    bench.assert_no_file_has_a_key();
}

#[test]
fn key_of_the_daemon_is_in_no_log_answer_page_or_file() {
    let bench = LeakBench::new();
    let ledger = bench.home.path().join("vector");
    let watch = ArgumentWatch::start(&[SECRET]);
    // A wrapper that copies the daemon's output to files.
    let mut command = Command::new("bash");
    let wrapper =
        "exec \"$0\" serve --port 0 \"$@\" 2> >(tee printed.err >&2) > >(tee printed.out)";
    command
        .args(["-c", wrapper])
        .arg(binary::vector())
        .current_dir(bench.home.path())
        .env("VECTOR_ROBLOX_CLOUD_URL", bench.cloud.url())
        .envs(LOUD)
        .envs(KeyPurpose::ALL.map(|it| (it.variable(), key(it))));
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let opened = human.open(&bench.place).ok();
    let session = opened["session"].as_str().unwrap();
    let mut agent = Agent::new(&daemon, &ledger, "test");
    let args = json!({ "assetId": TREE, "session": session });
    bench.echo_next(KeyPurpose::Assets);
    let refused = agent.call("insert_asset", &args).to_string();
    assert_eq!(count_hidden(&refused), 3, "{refused}");
    let card = agent.propose("insert_asset", &args);
    let target = format!("session={session}&universe={UNIVERSE}&place={PLACE}");
    let plan = human.call("GET", &format!("/api/deploy?{target}"), &Json::Null).ok();
    let upload = json!({
        "session": session, "universe": UNIVERSE, "place": PLACE, "kind": "saved",
        "contents": plan["contents"],
    });
    bench.echo_next(KeyPurpose::Publish);
    let failed = human.call("POST", "/api/deploy", &upload);
    assert!(failed.status >= 400 && count_hidden(&failed.body.to_string()) == 3, "{failed:?}");
    human.call("POST", "/api/deploy", &upload).ok();
    human.decide(card, &json!({ "say": "approve" })).ok();
    for route in ["/api/proposals", "/api/stream?cursor=0&hold=0", "/api/workflows", "/api/history"]
    {
        count_hidden(&human.call("GET", route, &Json::Null).ok().to_string());
    }
    for part in [
        "store?text=oak",
        &format!("proposal?of={card}"),
        &format!("deploy?{target}"),
        "history",
        "usage",
        "settings",
    ] {
        count_hidden(&human.page(&format!("/page/{part}")));
    }
    assert_eq!(watch.end(), [""; 0]);
    daemon.kill();
    let printed = fs::read_to_string(bench.home.path().join("printed.out")).unwrap();
    assert!(printed.contains("Vector serves on"), "{printed}");
    bench.assert_no_file_has_a_key();
}
