//! Playtests in Studio over MCP: the call outlasts the client's wait, and is not made twice.

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Daemon, Plugin};

use super::place;
use super::stdio::StdioClient;

fn play(client: &mut StdioClient, seconds: u32) -> Json {
    let args = json!({ "session": "window", "inStudio": true, "seconds": seconds });
    let call = client.call("playtest", &args);
    client.answer(call)["structuredContent"].clone()
}

fn status(client: &mut StdioClient, id: &Json, wait: u32) -> Json {
    let call = client.call("proposal_status", &json!({ "id": id, "wait": wait }));
    client.answer(call)["structuredContent"].clone()
}

/// Permits what a call asks, and returns the work that the plugin gets.
fn permit(plugin: &mut Plugin<'_>, call: &Json, answer: &str) -> Json {
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    let waiting = workflows["workflows"].as_array().unwrap().iter();
    let workflow = waiting.clone().find(|it| it["state"] == "waiting").unwrap()["seq"].clone();
    let path = format!("/api/workflows/{workflow}/permission");
    plugin.call("POST", &path, &json!({ "call": call, "answer": answer })).ok();
    plugin.until(|polled| {
        let mut work = polled["work"].as_array()?.iter();
        work.find(|it| it["work"] == "playtest").cloned()
    })
}

#[test]
fn playtest_outlasts_the_wait_and_is_not_played_again_after_a_restart() {
    let home = Home::new();
    let file = place(&home);
    let daemon = Daemon::of_place(binary::vector(), home.path(), &file);
    let port = daemon.port;
    let mut plugin = Plugin::pair(&daemon, "window");
    plugin.tell_place();
    let mut client = StdioClient::start(&home, &file, 1);
    let asked = play(&mut client, 60);
    assert_eq!(asked["status"], "pending", "{asked}");
    assert!(asked["text"].as_str().unwrap().contains("Play the game in Studio?"), "{asked}");

    // The wait of the call is over, and the person still can permit it.
    let work = permit(&mut plugin, &asked["id"], "once");
    let still = status(&mut client, &asked["id"], 1);
    assert_eq!(still["status"], "working", "{still}");
    let answer = json!({ "answer": "played", "ended": "ended", "seconds": 3, "output": {} });
    plugin.say(json!([{ "part": "answered", "work": work["number"], "answer": answer }])).ok();
    let done = status(&mut client, &asked["id"], 50);
    assert_eq!(done["status"], "answered", "{done}");
    assert!(done["text"].as_str().unwrap().contains("\"ok\":true"), "{done}");

    // One game for one permission, also if Vector ends before the game does.
    let asked = play(&mut client, 60);
    permit(&mut plugin, &asked["id"], "once");
    let credential = plugin.credential.clone();
    daemon.kill();
    let daemon = Daemon::start_on(binary::vector(), home.path(), port);
    let mut plugin = Plugin::hello(&daemon, "window", &credential);
    plugin.tell_place();
    let token = Daemon::agent_token(home.path());
    let path = format!("/api/agents/calls/{}?hold=50", asked["id"]);
    let lost = daemon.call("GET", &path, Some(&token), &Json::Null).ok();
    assert_eq!(lost["outcome"]["state"], "refused", "{lost}");
    assert!(lost["outcome"]["reason"].as_str().unwrap().contains("the result is lost"), "{lost}");
    let polled = plugin.poll();
    assert_eq!(polled["work"], json!([]), "nothing is played");
}
