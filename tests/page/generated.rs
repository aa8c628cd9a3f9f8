//! A model that is generated, uploaded and inserted: the price and the upload are permitted on the page,
//! and the insertion is a proposal.

use std::time::{Duration, Instant};

use fake_cloud::{API_KEY, FakeCloud, MESHY_KEY, MeshyOutcome};
use rbx_dom_weak::{InstanceBuilder, WeakDom};

use super::*;

/// A picture of one pixel.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82";

const BUTTON: &str = "#log .permission button[data-answer=once]";

/// A daemon that serves a sample place, and uses a cloud with the keys that models need.
fn generating_bench(cloud: &FakeCloud) -> Bench {
    let home = Home::new();
    let file = home.path().join("place.rbxlx");
    fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
    let variables = store::cloud_variables(cloud).into_iter();
    let keys = [("MESHY_API_KEY", MESHY_KEY), ("ROBLOX_UPLOAD_API_KEY", API_KEY)];
    let keys = keys.map(|(name, key)| (name, key.to_owned()));
    let variables: Vec<_> = variables.chain(keys).collect();
    let mut command = std::process::Command::new(binary::vector());
    command.args(["serve", "--port", "0", "--place"]).arg(&file);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let daemon = Daemon::run(command, &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    Bench { home, daemon: Some(daemon), human, file, calls: 0, variables }
}

/// Waits for the answer to a call that was permitted.
fn answer(bench: &Bench, call: &Json) -> Json {
    let token = Daemon::agent_token(&ledger(&bench.home));
    let path = format!("/api/agents/calls/{}?hold=60", call["call"]);
    bench.daemon().call("GET", &path, Some(&token), &Json::Null).ok()["outcome"].clone()
}

#[test]
fn model_is_generated_seen_uploaded_and_inserted() {
    let Some(stage) = Stage::set() else { return };
    let cloud = FakeCloud::start(Vec::new());
    let quick = || MeshyOutcome { states: vec!["SUCCEEDED"], error: "" };
    cloud.add_meshy_outcome(quick());
    cloud.add_meshy_outcome(quick());
    let mut bench = generating_bench(&cloud);
    let wanted = json!({ "prompt": "a well <b>with</b> moss" });
    let asked = bench.call("generate_asset", &wanted);
    assert_eq!(asked["outcome"]["state"], "needs_permission", "{asked}");
    assert!(cloud.meshy_tasks().is_empty());
    let browser = stage.browser();
    bench.enter(&browser);
    browser.go(&format!("{}#/now/{}", bench.address(), asked["workflow"]));
    browser.until_shown("#log .permission", "“a well <b>with</b> moss”? It costs 30 credits");
    let labels = browser
        .is("[...document.querySelectorAll('#log .permission button')].map(it => it.textContent)");
    assert_eq!(labels, json!(["Yes, this time", "No"]));
    browser.click(BUTTON);
    browser.until_shown("#log", "You permitted it, this time.");
    let made = answer(&bench, &asked);
    assert_eq!((&made["answer"]["triangles"], &made["answer"]["credits"]), (&json!(1), &json!(30)));
    let generated = made["answer"]["generated"].as_u64().unwrap();
    assert_eq!(cloud.meshy_balance(), 970);
    // The same again costs nothing, and nobody is asked.
    let again = bench.call("generate_asset", &wanted);
    let again = again["outcome"].clone();
    assert_eq!(
        (&again["answer"]["generated"], &again["answer"]["credits"]),
        (&json!(generated), &json!(0))
    );

    // Whose asset it becomes says the person with the first upload.
    let upload = json!({ "generated": generated, "name": "Well" });
    let refused = bench.call("upload_asset", &upload);
    let refused = refused["outcome"].clone();
    assert!(refused["reason"].as_str().unwrap().contains("--user ID"), "{refused}");
    let picture = bench.home.path().join("first.png");
    fs::write(&picture, PIXEL).unwrap();
    let mut first = bench.home.command(&["assets", "upload", "--user", "123", "--yes"]);
    first.arg(&picture).env("VECTOR_ROBLOX_CLOUD_URL", cloud.url());
    first.env("ROBLOX_UPLOAD_API_KEY", API_KEY);
    assert_eq!(binary::run_to_end(first, "").code, 0);

    let asked = bench.call("upload_asset", &upload);
    assert_eq!(asked["outcome"]["state"], "needs_permission", "{asked}");
    browser.until_shown("#log .permission", "Upload Well as a new model of user 123");
    browser.until("document.querySelector('#log .permission figure[data-state=there] img')");
    browser.click(BUTTON);
    let made = answer(&bench, &asked);
    let asset = made["answer"]["assetId"].as_u64().unwrap();
    let uploads = cloud.uploads();
    assert_eq!((uploads.len(), uploads[1].bytes.as_ref()), (2, &fake_cloud::sample_glb()[..]));
    assert_eq!(uploads[1].asset_type, "Model");

    // A file outside of the folder of the place is not the model's.
    let outside = json!({ "file": "../../etc/hostname", "kind": "image" });
    let refused = bench.call("upload_asset", &outside);
    let refused = refused["outcome"].clone();
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("not in the folder") || reason.contains("cannot be read"), "{reason}");

    let well = InstanceBuilder::new("Model")
        .with_name("Well")
        .with_child(InstanceBuilder::new("MeshPart").with_name("Mesh"));
    let workspace = InstanceBuilder::new("Workspace").with_child(well);
    let game = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    cloud.deliver(asset, places::encode(&game, Format::Rbxm));
    bench.call("insert_asset", &json!({ "assetId": asset }));
    browser.until_shown("#log .card .title", &format!("Insert asset {asset} as Well"));
    assert_eq!(cloud.meshy_balance(), 970);
}

#[test]
fn permitted_generation_goes_on_after_a_restart_of_the_daemon() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_meshy_outcome(MeshyOutcome { states: vec!["IN_PROGRESS"; 1_000], error: "" });
    let mut bench = generating_bench(&cloud);
    let asked = bench.call("generate_asset", &json!({ "prompt": "a well", "colors": false }));
    let path = format!("/api/workflows/{}/permission", asked["workflow"]);
    let permit = json!({ "call": asked["call"], "answer": "once" });
    bench.human.call("POST", &path, &permit).ok();
    let log = || bench.home.run(&["log", "--json"], "").stdout;
    let limit = Instant::now() + Duration::from_mins(1);
    while !log().contains("generation_accepted") {
        assert!(Instant::now() < limit, "no task was started");
    }
    let port = bench.kill();
    bench.start_on(port);
    cloud.finish_meshy_tasks();
    let wanted = json!({ "prompt": "a well", "colors": false });
    let again = bench.call("generate_asset", &wanted);
    let made = again["outcome"].clone();
    assert_eq!(made["answer"]["triangles"], 1, "{made}");
    assert_eq!((cloud.meshy_tasks().len(), cloud.meshy_balance()), (1, 980));
}
