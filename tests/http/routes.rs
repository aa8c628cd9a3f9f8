//! Every route from the table: methods, tokens, `Host`, `Origin`, content type, size and bad JSON.
//! The default is refusal.

use scene_schemas::api::{MAX_BODY, Method, ROUTES, Route, Token, VERSION};
use serde_json::{Value as Json, json};
use vector_tests::daemon::{Answer, Daemon, Plugin};
use vector_tests::human::Human;

use super::daemon;

const GARBAGE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";

/// The path of a route, with a value for `{id}`.
fn path(route: &Route, plugin: &Plugin<'_>) -> String {
    let id = if route.path.contains("sessions") { plugin.session.as_str() } else { "1" };
    route.path.replace("{id}", id)
}

fn headers(daemon: &Daemon, extra: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut headers = vec![("Host".to_owned(), format!("127.0.0.1:{}", daemon.port))];
    for (name, value) in extra {
        headers.retain(|(known, _)| known != name);
        if !value.is_empty() {
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    headers
}

/// Calls a route with the body `{}`; `extra` replaces or adds to valid headers.
fn with(plugin: &Plugin<'_>, route: &Route, extra: &[(&str, &str)]) -> Answer {
    let bearer = format!("Bearer {}", plugin.token);
    let mut all = vec![("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    all.retain(|(name, _)| !extra.iter().any(|(other, _)| other == name));
    all.extend(extra);
    let headers = headers(plugin.daemon, &all);
    let body: &[u8] = if route.has_body() { b"{}" } else { b"" };
    plugin.daemon.raw(route.method.as_str(), &path(route, plugin), &headers, body)
}

fn kind(answer: &Answer) -> &str {
    answer.body["kind"].as_str().unwrap_or_default()
}

/// Whether the handler was reached: it answers, or complains about the empty body or a missing
/// object.
fn was_reached(answer: &Answer) -> bool {
    // The SDK makes MCP's own refusals.
    matches!(answer.status, 200 | 400 | 404 | 406 | 409) && kind(answer) != "unauthorized"
}

/// Whether the route stops the daemon, which another test covers.
fn ends(route: &Route) -> bool {
    route.path == "/api/stop"
}

/// Whether the route is MCP, whose messages the SDK parses.
fn is_mcp(route: &Route) -> bool {
    route.path == "/mcp"
}

#[track_caller]
fn refused(route: &Route, answer: &Answer, status: u16, expected: &str) {
    let got = (answer.status, kind(answer));
    assert_eq!(got, (status, expected), "{} {}", route.method.as_str(), route.path);
    assert!(answer.body["message"].as_str().is_some_and(|it| it.ends_with('.')), "{route:?}");
    assert!(answer.body["hint"].as_str().is_some_and(|it| !it.is_empty()), "{route:?}");
}

fn held(route: &Route) -> bool {
    route.path.starts_with("/api/stream") || route.path == "/page/stream"
}

#[test]
fn every_route_refuses_unauthorized_callers() {
    let (home, daemon) = daemon();
    let plugin = Plugin::pair(&daemon, "window-1");
    let human = std::fs::read_to_string(home.path().join("token")).unwrap();
    let human = human.split_whitespace().nth(1).unwrap().to_owned();
    let agent = Daemon::agent_token(home.path());
    let garbage = format!("Bearer {GARBAGE}");
    for route in ROUTES {
        let foreign = format!("localhost:{}", daemon.port + 1);
        refused(route, &with(&plugin, route, &[("Host", "evil.example")]), 403, "forbidden");
        refused(route, &with(&plugin, route, &[("Host", &foreign)]), 403, "forbidden");
        refused(
            route,
            &with(&plugin, route, &[("Origin", "http://evil.example")]),
            403,
            "forbidden",
        );
        refused(route, &with(&plugin, route, &[("Origin", "null")]), 403, "forbidden");
        refused(route, &with(&plugin, route, &[("Authorization", &garbage)]), 401, "unauthorized");
        if route.has_body() {
            for kind in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
            {
                let answer = with(&plugin, route, &[("Content-Type", kind)]);
                refused(route, &answer, 415, "unsupported_media_type");
            }
        }
        if route.token == Token::None {
            continue;
        }
        refused(route, &with(&plugin, route, &[("Authorization", "")]), 401, "unauthorized");
        let basic = [("Authorization", "Basic dmVjdG9yOg==")];
        refused(route, &with(&plugin, route, &basic), 401, "unauthorized");
        if !held(route) && !ends(route) {
            assert!(was_reached(&with(&plugin, route, &[])), "{route:?}");
            // A plugin may omit `Host` for an IP address.
            assert!(was_reached(&with(&plugin, route, &[("Host", "")])), "{route:?}");
            let own = format!("http://127.0.0.1:{}", daemon.port);
            assert!(was_reached(&with(&plugin, route, &[("Origin", &own)])), "{route:?}");
        }
        let bearer = format!("Bearer {agent}");
        let by_agent = || with(&plugin, route, &[("Authorization", &bearer)]);
        match route.token {
            Token::Client => assert!(was_reached(&by_agent()), "{route:?}"),
            _ => refused(route, &by_agent(), 401, "unauthorized"),
        }
        let bearer = format!("Bearer {human}");
        let by_human = |route| with(&plugin, route, &[("Authorization", &bearer)]);
        match route.token {
            Token::Plugin => refused(route, &by_human(route), 401, "unauthorized"),
            _ if held(route) || ends(route) => {}
            _ => assert!(was_reached(&by_human(route)), "{route:?}"),
        }
    }
}

#[test]
fn every_route_refuses_invalid_requests() {
    let (_home, daemon) = daemon();
    let plugin = Plugin::pair(&daemon, "window-1");
    let bearer = format!("Bearer {}", plugin.token);
    let all = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let headers = headers(&daemon, &all);
    for route in ROUTES {
        let path = path(route, &plugin);
        for method in ["DELETE", "PATCH", "PUT", "POST", "GET"] {
            let is_known =
                ROUTES.iter().any(|it| it.path == route.path && it.method.as_str() == method);
            if !is_known {
                let answer = daemon.raw(method, &path, &headers, b"");
                refused(route, &answer, 405, "method_not_allowed");
            }
        }
        if is_mcp(route) {
            continue;
        }
        if route.has_body() {
            for body in ["", "{", "[1]", "\"x\"", "{\"no_such_field\":1}", "null", "\u{0}"] {
                // Not `[]`: Luau does not distinguish an empty list from an empty object, so it is
                // accepted.
                let answer = daemon.raw(route.method.as_str(), &path, &headers, body.as_bytes());
                refused(route, &answer, 400, "bad_request");
            }
            let large = vec![b' '; MAX_BODY + 1];
            let answer = daemon.raw(route.method.as_str(), &path, &headers, &large);
            refused(route, &answer, 413, "too_large");
        } else if route.method == Method::Get {
            let answer = daemon.raw("GET", &path, &headers, b"{}");
            refused(route, &answer, 413, "too_large");
        }
    }
    for path in [
        "/index.html",
        "/assets",
        "/assets/page",
        "/page/nothing",
        "/api",
        "/api/nothing",
        "/health/",
        "/api//hello",
        "/api/proposals/1/2",
    ] {
        let answer = daemon.raw("GET", path, &headers, b"");
        assert_eq!((answer.status, kind(&answer)), (404, "not_found"), "{path}");
    }
    for id in ["x", "-1", "18446744073709551616", "%00", "1e3"] {
        let answer = daemon.raw("GET", &format!("/api/proposals/{id}"), &headers, b"");
        assert_eq!((answer.status, kind(&answer)), (400, "bad_request"), "{id}");
    }
}

#[test]
fn unknown_parameters_are_refused() {
    let (home, daemon) = daemon();
    let human = Human::of(&daemon, home.path());
    let get = |path: &str| human.call("GET", path, &Json::Null);
    for path in ["/api/stream?since=0", "/api/stream?cursor=0&hold=0&x", "/api/sessions?x=1"] {
        let answer = get(path);
        assert_eq!((answer.status, kind(&answer)), (400, "bad_request"), "{path}: {answer:?}");
    }
    get("/api/stream?cursor=0&hold=0").ok();
    get("/api/sessions?").ok();
    get("/api/history?limit=5").ok();
}

#[test]
fn pairing_code_works_once_and_cannot_be_guessed() {
    let (_home, daemon) = daemon();
    let code = daemon.code();
    let pair = |code: &str| daemon.call("POST", "/api/pair", None, &json!({ "code": code }));
    let wrong = if code == "000000" { "000001" } else { "000000" };
    assert_eq!(kind(&pair(wrong)), "unpaired");
    let credential = pair(&format!("{} {}", &code[..3], &code[3..])).ok()["credential"].clone();
    assert!(credential.as_str().unwrap().chars().all(|c| c.is_ascii_alphanumeric()));
    assert_eq!(kind(&pair(&code)), "unpaired", "a code pairs once");
    let next = daemon.code();
    let wrong = if next == "000000" { "000001" } else { "000000" };
    // The old code above was the first wrong attempt at the new one.
    for _ in 0..3 {
        assert_eq!(kind(&pair(wrong)), "unpaired");
    }
    assert_eq!(kind(&pair(wrong)), "too_many");
    let answer = pair(&next);
    assert_eq!((answer.status, kind(&answer)), (429, "too_many"), "also with the right code");
    pair(&daemon.code()).ok();
    let hello_of = |version: &str, credential: &Json, protocol: u32, session: &str| {
        let hello = json!({
            "protocol": protocol, "plugin": version, "credential": credential,
            "session": session, "place": { "name": "Test", "place_id": 0 },
        });
        daemon.call("POST", "/api/hello", None, &hello)
    };
    let hello = |credential: &Json, protocol: u32, session: &str| {
        hello_of(VERSION, credential, protocol, session)
    };
    assert_eq!(hello(&credential, 1, "w").ok()["update"], Json::Null);
    for (version, says) in [("0.0.9", "`vector plugin install`"), ("99.0.0", "`vector stop`")] {
        let update = hello_of(version, &credential, 1, "w").ok()["update"].clone();
        assert!(update.as_str().unwrap().contains(says), "{update}");
    }
    let unknown = hello(&json!(GARBAGE), 1, "w");
    assert_eq!((unknown.status, kind(&unknown)), (401, "unpaired"));
    for (protocol, says) in [(0, "Update the plugin"), (2, "Update Vector")] {
        let answer = hello(&credential, protocol, "w");
        assert_eq!((answer.status, kind(&answer)), (426, "protocol"));
        assert!(answer.body["hint"].as_str().unwrap().starts_with(says), "{}", answer.body);
    }
    for session in ["", "a b", "../x", &"x".repeat(65)] {
        assert_eq!(kind(&hello(&credential, 1, session)), "bad_request", "{session}");
    }
}
