//! Deploys of a place that a daemon has open.

use std::fs;

use fake_cloud::{API_KEY, FakeCloud, Fault};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use scene_schemas::entry::Entry;
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::served::{PLACE, ServedPlace, UNIVERSE, refused};

/// The part of the address of every upload.
const UPLOADS: &str = "versionType=";

#[test]
fn what_was_shown_is_uploaded_and_nothing_else() {
    let home = Home::new();
    let place = home.path().join("game.rbxl");
    fs::write(&place, places::sample(Format::Rbxl)).unwrap();
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(30, &[PLACE]);
    let ledger = home.path().join("vector");
    let mut command = std::process::Command::new(binary::vector());
    command
        .args(["serve", "--port", "0"])
        .env("VECTOR_ROBLOX_CLOUD_URL", cloud.url())
        .env("ROBLOX_PUBLISH_API_KEY", API_KEY);
    let daemon = Daemon::run(command, &ledger);
    let human = Human::of(&daemon, &ledger);
    let session = human.open(&place).ok()["session"].as_str().unwrap().to_owned();
    let plan = |more: &str| {
        human.call("GET", &format!("/api/deploy?session={session}{more}"), &Json::Null)
    };
    let first = plan("").ok();
    assert_eq!((&first["target"], &first["uploads"]), (&Json::Null, &json!([])));
    let target = "&universe=30&place=40";
    assert_eq!(plan(target).ok()["target"]["published"], Json::Null);
    let upload = |kind: &str, contents: &Json| {
        let wanted = json!({
            "session": session, "universe": 30, "place": PLACE, "kind": kind, "contents": contents,
        });
        human.call("POST", "/api/deploy", &wanted)
    };
    refused(&upload("published", &first["contents"]), 409, "Save them first");
    assert_eq!(upload("saved", &first["contents"]).ok(), json!({ "version": 1 }));
    assert_eq!(upload("published", &first["contents"]).ok(), json!({ "version": 1 }));
    refused(
        &upload("published", &first["contents"]),
        409,
        "was published after this one was compared",
    );
    // The target is that of the last upload.
    let second = plan("").ok();
    assert_eq!(second["target"]["existing"]["version"], 1);
    assert_eq!(second["target"]["published"]["upload"]["kind"], "published");
    assert_eq!(second["uploads"].as_array().unwrap().len(), 2);
    let workspace = InstanceBuilder::new("Workspace");
    let other = WeakDom::new(InstanceBuilder::new("DataModel").with_child(workspace));
    fs::write(&place, places::encode(&other, Format::Rbxl)).unwrap();
    refused(&upload("saved", &first["contents"]), 409, "changed after it was shown");
    fs::write(&place, b"<roblox!").unwrap();
    refused(&plan(""), 409, "game.rbxl");
    refused(&human.call("GET", "/api/deploy?session=nobody", &Json::Null), 404, "");
    refused(&human.call("GET", "/api/deploy", &Json::Null), 400, "No place is specified");
    refused(&plan("&universe=x"), 400, "is not a number");
    refused(&plan("&universe=30&earlier=2"), 409, "Name both");
    // An earlier version is planned although the file is damaged.
    let number = second["uploads"][1]["seq"].to_string();
    let back = plan(&format!("&earlier={number}")).ok();
    assert_eq!(back["contents"], first["contents"]);
    assert_eq!(cloud.place_versions(PLACE).len(), 1);
    let log = home.run(&["log", "--json"], "");
    assert!(!log.stdout.contains(API_KEY));
}

/// The request for an upload of the place as it is.
fn upload_request(served: &ServedPlace, kind: &str) -> Json {
    let session = served.session();
    let plan =
        served.get(&format!("/api/deploy?session={session}&universe={UNIVERSE}&place={PLACE}"));
    let plan = plan.ok();
    let mut wanted = json!({
        "session": session, "universe": UNIVERSE, "place": PLACE, "kind": kind,
        "contents": plan["contents"],
    });
    if let Some(published) = plan["target"]["published"]["seq"].as_u64() {
        wanted["compared"] = published.into();
    }
    wanted
}

fn deploy(served: &ServedPlace, wanted: &Json) -> vector_tests::daemon::Answer {
    served.human().call("POST", "/api/deploy", wanted)
}

/// Starts an upload that gets no answer, kills the daemon, and starts it again.
fn kill_during(served: &mut ServedPlace, kind: &str, acts: bool) {
    let wanted = upload_request(served, kind);
    let before = served.sent(UPLOADS);
    served.cloud.fail_at(UPLOADS, Fault::Silence { acts });
    let unanswered = served.send("/api/deploy", &wanted);
    served.until("the upload", |it| (it.sent(UPLOADS) > before).then_some(()));
    served.kill();
    drop(unanswered);
    served.start();
}

#[test]
fn upload_of_a_killed_daemon_is_shown_and_not_doubled() {
    for acts in [false, true] {
        let mut served = ServedPlace::new(&places::sample(Format::Rbxl));
        kill_during(&mut served, "saved", acts);
        let session = served.session();
        let plan = served.get(&format!("/api/deploy?session={session}&universe=30&place=40")).ok();
        let unclear = plan["target"]["unclear"].as_array().unwrap();
        assert_eq!(unclear.len(), 1, "{acts}: {plan}");
        assert_eq!(plan["target"]["existing"], Json::Null);
        let wanted = upload_request(&served, "saved");
        assert_eq!(deploy(&served, &wanted).ok(), json!({ "version": 1 }), "{acts}");
        assert_eq!(
            served.cloud.place_versions(PLACE).len(),
            1,
            "{acts}: the same bytes are one version"
        );
        // While the version is published.
        kill_during(&mut served, "published", acts);
        assert_eq!(served.cloud.published_version(PLACE), acts.then_some(1));
        let session = served.session();
        let plan = served.get(&format!("/api/deploy?session={session}")).ok();
        assert_eq!(plan["target"]["is_published"], false, "{acts}: {plan}");
        assert_eq!(plan["target"]["unclear"].as_array().unwrap().len(), 1, "{acts}: {plan}");
        let wanted = upload_request(&served, "published");
        assert_eq!(deploy(&served, &wanted).ok(), json!({ "version": 1 }), "{acts}");
        assert_eq!(served.cloud.published_version(PLACE), Some(1));
        assert_eq!(served.count(|it| matches!(it, Entry::Uploading { .. })), 4);
    }
}

#[test]
fn upload_that_was_answered_survives_a_kill() {
    let mut served = ServedPlace::new(&places::sample(Format::Rbxl));
    let wanted = upload_request(&served, "saved");
    assert_eq!(deploy(&served, &wanted).ok(), json!({ "version": 1 }));
    served.kill();
    served.start();
    let session = served.session();
    let plan = served.get(&format!("/api/deploy?session={session}")).ok();
    assert_eq!(plan["target"]["existing"]["version"], 1, "{plan}");
    let wanted = upload_request(&served, "saved");
    assert_eq!(deploy(&served, &wanted).ok(), json!({ "version": 1 }));
    assert_eq!(served.sent(UPLOADS), 1, "what is saved is not sent again");
}

#[test]
fn lost_answer_of_an_upload_is_said_and_the_next_one_gets_its_version() {
    let served = ServedPlace::new(&places::sample(Format::Rbxl));
    // The client itself sends it three times.
    for _ in 0..3 {
        served.cloud.fail_at(UPLOADS, Fault::Truncate(4));
    }
    let wanted = upload_request(&served, "saved");
    refused(&deploy(&served, &wanted), 409, "may have the version all the same");
    let plan =
        served.get(&format!("/api/deploy?session={}&universe=30&place=40", served.session()));
    assert_eq!(plan.ok()["target"]["unclear"].as_array().unwrap().len(), 1);
    served.cloud.clear_faults();
    assert_eq!(deploy(&served, &wanted).ok(), json!({ "version": 1 }));
    assert_eq!(served.cloud.place_versions(PLACE).len(), 1);
}

#[test]
fn doubled_upload_is_sent_once() {
    let served = ServedPlace::new(&places::sample(Format::Rbxl));
    for kind in ["saved", "published"] {
        let wanted = upload_request(&served, kind);
        let before = served.sent(UPLOADS);
        let answers = served.post_twice("/api/deploy", &wanted);
        let done = answers.iter().filter(|it| it.status == 200).count();
        assert!(done >= 1, "{kind}");
        for answer in &answers {
            let says = answer.body.to_string();
            let is_known = answer.body == json!({ "version": 1 })
                || says.contains("is going on")
                || says.contains("was published after");
            assert!(is_known, "{kind}: {says}");
        }
        assert_eq!(served.sent(UPLOADS) - before, 1, "{kind}");
    }
    assert_eq!(served.cloud.place_versions(PLACE).len(), 1);
}
