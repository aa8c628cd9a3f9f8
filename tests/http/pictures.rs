//! Pictures over HTTP: of a proposal before and after, of a place file, and of a Studio place that
//! must send its geometry first.

use std::fs;
use std::thread;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin, get};
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::{daemon, flow};

/// A daemon with the sample place, and its user.
struct Bench {
    _home: Home,
    _daemon: Daemon,
    human: Human,
    opened: Json,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxl");
        fs::write(&file, places::sample(Format::Rbxl)).unwrap();
        let daemon = Daemon::start(binary::vector(), home.path());
        let human = Human::of(&daemon, home.path());
        let opened = human.open(&file).ok();
        Self { _home: home, _daemon: daemon, human, opened }
    }

    fn propose(&mut self, request: &str) -> u64 {
        self.human.ask(&self.opened, request);
        self.human.card()
    }

    fn of_proposal(&self, proposal: u64, query: &str) -> Result<Vec<u8>, Answer> {
        self.human.picture(&format!("/api/proposals/{proposal}/picture?size=96&{query}"))
    }

    fn of_place(&self, query: &str) -> Result<Vec<u8>, Answer> {
        let session = self.opened["session"].as_str().unwrap();
        self.human.picture(&format!("/api/sessions/{session}/picture?size=96&{query}"))
    }
}

#[track_caller]
fn refused(picture: Result<Vec<u8>, Answer>, status: u16, said: &str) {
    let answer = picture.err().unwrap_or_else(|| panic!("{said}: a picture came"));
    assert_eq!(answer.status, status, "{}", answer.body);
    assert!(answer.body["message"].as_str().unwrap().contains(said), "{}", answer.body);
    assert!(!answer.body["hint"].as_str().unwrap().is_empty());
}

#[test]
fn before_and_after_pictures_survive_later_decisions() {
    let mut bench = Bench::new();
    let card = bench.propose("set Color = \"#33bbff\" on #Lamp");
    assert_eq!(bench.human.shown(card)["has_geometry"], true);
    let sides = |bench: &Bench| {
        ["when=before", "when=after"].map(|when| bench.of_proposal(card, when).unwrap())
    };
    let waiting = sides(&bench);
    assert_ne!(waiting[0], waiting[1]);
    assert_eq!(bench.of_proposal(card, "").unwrap(), waiting[1], "after it, from the corner");
    assert_ne!(bench.of_proposal(card, "view=top").unwrap(), waiting[1]);
    // A proposal of another request does not change its pictures.
    let next = bench.propose("set Color = \"#000000\" on #Lamp");
    assert_eq!(sides(&bench), waiting);
    assert_eq!(bench.of_proposal(next, "when=before").unwrap(), waiting[0]);
    bench.human.decide(next, &json!({ "say": "reject" })).ok();
    bench.human.approve(card).ok();
    bench.human.until_status(card, "applied");
    assert_eq!(sides(&bench), waiting);
}

#[test]
fn proposal_without_parts_has_no_picture() {
    let mut bench = Bench::new();
    let card = bench.propose("rename game.Workspace.Lamp to Lantern");
    assert_eq!(bench.human.shown(card)["has_geometry"], false);
    refused(bench.of_proposal(card, ""), 404, "has no visible effect");
    refused(bench.of_proposal(1, ""), 404, "not a proposal");
    refused(bench.of_proposal(9_999, ""), 404, "Entry 9999");
    bench.of_place("").unwrap();
}

#[test]
fn place_picture_shows_the_place_as_it_is_and_refuses_bad_options() {
    let mut bench = Bench::new();
    let alone = bench.of_place("").unwrap();
    assert_ne!(bench.of_place("path=game.Workspace.Tower").unwrap(), alone);
    assert_ne!(bench.of_place("view=front").unwrap(), alone);
    bench.propose("delete #Lamp");
    assert_eq!(bench.of_place("").unwrap(), alone, "without what waits");
    refused(bench.of_place("view=back"), 400, "not a valid view");
    refused(bench.of_place("path=Workspace"), 400, "not a path");
    refused(bench.of_place("path=game.Nothing"), 404, "game.Nothing");
    refused(bench.of_place("path=game.Lighting"), 404, "no parts to render");
    refused(bench.of_proposal(2, "when=never"), 400, "not a valid when");
    let place = bench.opened["session"].as_str().unwrap();
    for size in ["63", "2049", "0"] {
        let path = format!("/api/sessions/{place}/picture?size={size}");
        refused(bench.human.picture(&path), 400, "not a valid size");
    }
    refused(bench.human.picture("/api/sessions/nobody/picture"), 404, "not open");
}

#[test]
fn studio_is_asked_once_for_geometry_of_its_parts() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    let path = "/api/sessions/window-1/picture?size=96";
    refused(get(daemon.port, path, &plugin.token).map(|it| it.1), 404, "still sending the place");
    plugin.tell_place();
    let (port, token) = (daemon.port, plugin.token.clone());
    let asks = thread::spawn(move || get(port, path, &token));
    let told = plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["work"] == "query").cloned()
    });
    let names = json!(["CFrame", "Color", "Shape", "Size", "Transparency"]);
    assert_eq!(told["query"]["of"], json!([{ "id": "studio:2", "names": names }]));
    let size = json!({ "__t": "Vector3", "x": 4, "y": 9, "z": 2 });
    let known = json!([{ "id": "studio:2", "values": { "Size": size } }]);
    let answer = json!({ "answer": "properties", "known": known });
    plugin.say(json!([{ "part": "answered", "work": told["number"], "answer": answer }])).ok();
    let (kind, picture) = asks.join().unwrap().unwrap();
    assert_eq!(kind, "image/png");
    // Studio's answer is cached: the same picture needs no second request.
    assert_eq!(get(daemon.port, path, &plugin.token).unwrap().1, picture);
    plugin.chat("set Transparency = 0.5 on game.Workspace.Wall").ok();
    let card = flow::proposal(&mut plugin);
    let side = |when: &str| {
        let path = format!("/api/proposals/{card}/picture?size=96&when={when}");
        get(daemon.port, &path, &plugin.token).unwrap().1
    };
    assert_ne!(side("before"), side("after"));
}
