//! What an inserted asset uses that may not load: Roblox is asked, and the card names it. No failure
//! stops the insertion.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use fake_cloud::{API_KEY, Fault, SeenRequest};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use rbx_types::{Content, ContentId};
use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::insert::{Bench, TREE, daemon};

const MESH: u64 = 501;
const TEXTURE: u64 = 502;
const FACE: u64 = 503;
const SONG: u64 = 504;
const BADGE: u64 = 505;
/// The first bytes of a file, which nobody reads.
const FILE: &[u8] = b"version 4.00";

const RESTRICTED: &str = "which Roblox does not give to your key: it is private or restricted";
const MISSING: &str = "which Roblox does not have";
const BLOCKED: &str = "whose thumbnail Roblox blocks";

fn encode(model: InstanceBuilder) -> Vec<u8> {
    let workspace = InstanceBuilder::new("Workspace").with_child(model);
    let game = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(game), Format::Rbxm)
}

fn decal(name: &str, asset: u64) -> InstanceBuilder {
    let address = format!("http://www.roblox.com/asset/?id={asset}");
    let texture = ContentId::from(address.as_str());
    InstanceBuilder::new("Decal").with_name(name).with_property("Texture", texture)
}

/// A model that uses a mesh, a texture, a picture twice, a sound, a file of the engine and, in a script,
/// another picture.
fn tree() -> Vec<u8> {
    let uri = |asset: u64| Content::from_uri(format!("rbxassetid://{asset}"));
    let leaves = InstanceBuilder::new("MeshPart")
        .with_name("Leaves")
        .with_property("MeshContent", uri(MESH))
        .with_property("TextureContent", uri(TEXTURE));
    let song = |name: &str, address: String| {
        InstanceBuilder::new("Sound")
            .with_name(name)
            .with_property("SoundId", ContentId::from(address.as_str()))
    };
    let spread = InstanceBuilder::new("Script")
        .with_name("Spread")
        .with_property("Source", "require(123456)\n")
        .with_child(decal("Badge", BADGE));
    let model = InstanceBuilder::new("Model").with_name("Tree").with_children([
        spread,
        leaves,
        decal("Face", FACE),
        decal("Back", FACE),
        song("Song", format!("rbxassetid://{SONG}")),
        song("Click", "rbxasset://sounds/click.ogg".to_owned()),
    ]);
    encode(model)
}

/// A model with a picture of each of these assets.
fn gallery(assets: impl Iterator<Item = u64>) -> Vec<u8> {
    let pictures = assets.map(|asset| decal(&format!("D{asset}"), asset));
    encode(InstanceBuilder::new("Model").with_name("Gallery").with_children(pictures))
}

/// A bench whose cloud delivers this model and, unless a test says otherwise, all that `tree` uses.
fn bench_with(model: Vec<u8>) -> Bench {
    let bench = Bench::new(Format::Rbxl);
    bench.cloud.deliver(TREE, model);
    for asset in [MESH, TEXTURE, FACE, SONG, BADGE] {
        bench.cloud.show(asset, FILE.to_vec());
        bench.cloud.deliver(asset, FILE.to_vec());
    }
    bench
}

/// Inserts the asset without a question. Returns what was printed, on one line.
fn insert(bench: &Bench) -> String {
    let before = fs::read(&bench.place).unwrap();
    let output = bench.insert(&bench.place, TREE, Some(API_KEY));
    let shown = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.code, 0, "{shown}");
    assert_ne!(fs::read(&bench.place).unwrap(), before, "{shown}");
    assert!(!shown.contains(API_KEY), "{shown}");
    shown.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The requests after the download of the model.
fn asked(bench: &Bench) -> Vec<SeenRequest> {
    let seen = bench.cloud.requests();
    for request in &seen {
        let is_delivery = request.target.starts_with("/apis.roblox.com/asset-delivery-api/");
        assert_eq!(request.has_key, is_delivery, "{}", request.target);
    }
    seen.into_iter().skip(2).collect()
}

/// The assets that asset delivery was asked for.
fn delivered(asked: &[SeenRequest]) -> Vec<u64> {
    let assets = asked.iter().filter_map(|it| it.target.split_once("/v1/assetId/"));
    assets.map(|(_, asset)| asset.parse().unwrap()).collect()
}

#[track_caller]
fn says(shown: &str, said: &str) {
    assert!(shown.contains(said), "{said} is not in {shown}");
}

#[test]
fn content_that_does_not_load_is_named() {
    let bench = bench_with(tree());
    for (asset, state) in [(MESH, "Error"), (TEXTURE, ""), (FACE, "Blocked"), (SONG, "Pending")] {
        bench.cloud.set_thumbnail_state(asset, state);
    }
    bench.cloud.withhold(MESH, 403);
    bench.cloud.withhold(TEXTURE, 404);
    let shown = insert(&bench);
    says(&shown, &format!("Workspace.Tree.Leaves: Its MeshContent is asset 501, {RESTRICTED}"));
    says(&shown, "Ask its creator to grant it to yours, or use another asset.");
    says(&shown, &format!("Workspace.Tree.Leaves: Its TextureContent is asset 502, {MISSING}"));
    says(&shown, "Workspace.Tree.Face: Its ");
    says(&shown, &format!("is asset 503, {BLOCKED}"));
    assert!(!shown.contains("Tree.Back:") && !shown.contains("asset 504"), "{shown}");
    assert!(!shown.contains("not checked") && !shown.contains("asset 505"), "{shown}");
    let asked = asked(&bench);
    let thumbnails = "/thumbnails.roblox.com/v1/assets?assetIds=501%2C502%2C503%2C504%2C505&";
    assert!(asked[0].target.starts_with(thumbnails), "{}", asked[0].target);
    assert_eq!(delivered(&asked), [MESH, TEXTURE, FACE]);
    assert_eq!(asked.len(), 4);
}

#[test]
fn asset_that_is_delivered_needs_no_thumbnail() {
    let bench = bench_with(tree());
    bench.cloud.set_thumbnail_state(MESH, "Error");
    bench.cloud.set_thumbnail_state(TEXTURE, "");
    bench.cloud.set_thumbnail_state(FACE, "Error");
    bench.cloud.withhold(FACE, 401);
    let shown = insert(&bench);
    says(&shown, &format!("is asset 503, {RESTRICTED}"));
    assert!(!shown.contains("asset 501") && !shown.contains("asset 502"), "{shown}");
    assert_eq!(delivered(&asked(&bench)), [MESH, TEXTURE, FACE]);
}

#[test]
fn model_that_uses_no_assets_sends_nothing_more() {
    let engine = ContentId::from("rbxasset://textures/face.png");
    let face = InstanceBuilder::new("Decal").with_property("Texture", engine);
    let bench = bench_with(encode(InstanceBuilder::new("Model").with_child(face)));
    let shown = insert(&bench);
    assert!(!shown.contains("not checked"), "{shown}");
    assert_eq!(asked(&bench), []);
}

/// The warnings of a card, in their order.
fn warnings(shown: &Json) -> Vec<(String, String)> {
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let all = shown["proposal"]["warnings"].as_array().unwrap().iter();
    all.map(|it| (text(&it["kind"]), text(&it["text"]))).collect()
}

#[test]
fn content_is_shown_after_scripts_and_needs_no_second_confirmation() {
    let bench = bench_with(tree());
    bench.cloud.set_thumbnail_state(MESH, "Error");
    bench.cloud.withhold(MESH, 403);
    bench.cloud.set_thumbnail_state(BADGE, "Error");
    bench.cloud.withhold(BADGE, 404);
    let (daemon, human, opened) = daemon(&bench);
    let mut agent = Agent::new(&daemon, &bench.home.path().join("vector"), "test");
    let args = json!({
        "assetId": TREE, "parentPath": "game.Workspace", "session": opened["session"],
    });
    let card = agent.propose("insert_asset", &args);
    let shown = human.shown(card);
    assert_eq!(shown["needs_twice"], false, "{shown}");
    let found = warnings(&shown);
    let first = found.iter().position(|(kind, _)| kind == "content").unwrap();
    assert!(first > 0 && found[..first].iter().all(|(kind, _)| kind == "scripts"), "{found:#?}");
    let content: Vec<&str> = found[first..].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(content.len(), 2, "{found:#?}");
    assert!(content[0].starts_with("game.Workspace.Tree.Spread.Badge (left out): "), "{found:#?}");
    assert!(content[1].starts_with("game.Workspace.Tree.Leaves: "), "{found:#?}");
    // The card of the kept script has them too, and nobody is asked again.
    let sent = bench.cloud.requests().len();
    let kept = human.decide(card, &json!({ "say": "keep", "scripts": [0] })).ok();
    let shown = human.shown(kept["proposal"].as_u64().unwrap());
    let found = warnings(&shown);
    let content = found.iter().filter(|(kind, _)| kind == "content");
    let content: Vec<&str> = content.map(|(_, text)| text.as_str()).collect();
    assert!(content[0].starts_with("game.Workspace.Tree.Spread.Badge: "), "{found:#?}");
    assert!(content[1].starts_with("game.Workspace.Tree.Leaves: "), "{found:#?}");
    assert_eq!(bench.cloud.requests().len(), sent);
}

const NEXT: &str = "What does not load is named in Studio's Output when you open the place.";

#[test]
fn thumbnails_that_are_not_answered_become_one_finding() {
    let garbage = Fault::Answer { status: 200, body: "<html>".to_owned(), headers: Vec::new() };
    for (fault, why) in [
        (
            Fault::too_many(90),
            "thumbnails.roblox.com answered 429 (Too many requests). Try again in 90 s.",
        ),
        (garbage, "The answer of thumbnails.roblox.com cannot be read"),
        (Fault::Silence { acts: false }, "it did not answer within 5 s"),
    ] {
        let bench = bench_with(tree());
        bench.cloud.fail_at("thumbnails", fault);
        let shown = insert(&bench);
        says(
            &shown,
            "Leaves: Its MeshContent, asset 501, and 4 more of the model were not checked.",
        );
        says(&shown, why);
        says(&shown, NEXT);
        assert_eq!(asked(&bench).len(), 1, "{why}");
    }
}

#[test]
fn delivery_that_fails_is_not_asked_further() {
    for (fault, why) in [
        (Fault::too_many(90), "apis.roblox.com answered 429"),
        (Fault::Silence { acts: false }, "it did not answer within 5 s"),
    ] {
        let bench = bench_with(tree());
        for asset in [MESH, TEXTURE, FACE, SONG] {
            bench.cloud.set_thumbnail_state(asset, "Error");
        }
        bench.cloud.withhold(MESH, 403);
        bench.cloud.fail_at("assetId/502", fault);
        bench.cloud.set_thumbnail_state(SONG, "Blocked");
        let shown = insert(&bench);
        says(&shown, &format!("asset 501, {RESTRICTED}"));
        says(&shown, &format!("asset 504, {BLOCKED}"));
        says(&shown, "Its TextureContent, asset 502, and 1 more of the model were not checked.");
        says(&shown, why);
        assert_eq!(delivered(&asked(&bench)), [MESH, TEXTURE], "{why}");
    }
}

#[test]
fn refusal_of_one_asset_does_not_stop_the_others() {
    let bench = bench_with(tree());
    for asset in [MESH, TEXTURE] {
        bench.cloud.set_thumbnail_state(asset, "Error");
    }
    bench.cloud.withhold(TEXTURE, 404);
    bench.cloud.fail_at("assetId/501", Fault::status(400, "The asset ID is not valid."));
    let shown = insert(&bench);
    says(&shown, &format!("asset 502, {MISSING}"));
    says(&shown, "Its MeshContent, asset 501, was not checked.");
    says(&shown, "apis.roblox.com answered 400 (The asset ID is not valid).");
}

#[test]
fn number_of_requests_and_findings_is_limited() {
    let bench = bench_with(gallery(1..=57));
    (1..=57).for_each(|asset| bench.cloud.show(asset, FILE.to_vec()));
    let shown = insert(&bench);
    says(&shown, "The model uses 7 more assets, which Vector did not check.");
    says(&shown, "Vector checks up to 50 assets of a model, and up to 10 without a thumbnail.");
    let sent = asked(&bench);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].target.matches("%2C").count(), 49, "{}", sent[0].target);
    let bench = bench_with(gallery(1..=57));
    let shown = insert(&bench);
    assert_eq!(shown.matches(MISSING).count(), 10, "{shown}");
    says(&shown, "asset 11, and 46 more of the model were not checked.");
    let sent = asked(&bench);
    assert_eq!(delivered(&sent), (1..=10).collect::<Vec<u64>>());
    assert_eq!(sent.len(), 11);
}

#[test]
fn cancelled_insertion_does_not_wait_for_roblox() {
    let bench = bench_with(tree());
    bench.cloud.fail_at("thumbnails", Fault::Silence { acts: false });
    let (_daemon, mut human, opened) = daemon(&bench);
    let workflow = human.ask(&opened, &format!("insert asset {TREE}"));
    let end = Instant::now() + Duration::from_mins(1);
    while asked(&bench).is_empty() {
        assert!(Instant::now() < end, "nothing is asked: {:?}", bench.cloud.requests());
        thread::sleep(Duration::from_millis(10));
    }
    human.call("POST", &format!("/api/workflows/{workflow}/cancel"), &json!({})).ok();
    let proposals = |human: &Human| human.call("GET", "/api/proposals", &Json::Null).ok();
    assert_eq!(proposals(&human)["proposals"], json!([]));
    // The next one is not held up.
    human.ask(&opened, &format!("insert asset {TREE}"));
    let card = human.card();
    assert!(warnings(&human.shown(card)).iter().all(|(kind, _)| kind == "scripts"));
}
