//! The page over HTTP: its login, its content security, and the escaping of foreign text.

use std::process::Command;

use scene_schemas::api::{ROUTES, Token};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};

use super::daemon;

/// Opens the page as the user, and returns its token.
fn entered(home: &Home, daemon: &Daemon) -> String {
    let token = enter(daemon, &link(home)).ok()["token"].clone();
    token.as_str().unwrap().to_owned()
}

/// The code in the address that `vector open` prints.
fn link(home: &Home) -> String {
    let mut open = Command::new(binary::vector());
    let printed = open.args(["open", "--print", "--home"]).arg(home.path()).output().unwrap();
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let address = String::from_utf8(printed.stdout).unwrap();
    address.trim().split_once("/#in=").expect("a code is behind it").1.to_owned()
}

fn enter(daemon: &Daemon, code: &str) -> Answer {
    daemon.call("POST", "/api/page", None, &json!({ "code": code }))
}

fn kind(answer: &Answer) -> &str {
    answer.body["kind"].as_str().unwrap_or_default()
}

fn head(daemon: &Daemon, extra: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut head = vec![("Host".to_owned(), format!("127.0.0.1:{}", daemon.port))];
    head.extend(extra.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    head
}

/// Requests a part of the page.
fn part(daemon: &Daemon, token: &str, path: &str) -> String {
    let bearer = format!("Bearer {token}");
    daemon.text("GET", path, &head(daemon, &[("Authorization", &bearer)]), b"")
}

#[test]
fn link_opens_page_once_and_its_token_survives_restart() {
    let (home, daemon) = daemon();
    let code = link(&home);
    let token = enter(&daemon, &code).ok()["token"].as_str().unwrap().to_owned();
    assert_eq!(kind(&enter(&daemon, &code)), "unpaired", "a link opens once");
    daemon.call("GET", "/api/settings", Some(&token), &Json::Null).ok();
    daemon.kill();
    let again = Daemon::start(binary::vector(), home.path());
    again.call("GET", "/api/proposals", Some(&token), &Json::Null).ok();
    let access = again.call("GET", "/api/access", Some(&token), &Json::Null).ok();
    let name = access["pages"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("page-"), "{access}");
    let revoke = json!({ "what": "named", "name": name });
    again.call("POST", "/api/access/revoke", Some(&token), &revoke).ok();
    let gone = again.call("GET", "/api/proposals", Some(&token), &Json::Null);
    assert_eq!((gone.status, kind(&gone)), (401, "unauthorized"));
}

#[test]
fn address_printed_by_serve_opens_the_page() {
    let (_home, daemon) = daemon();
    let address = daemon.line("Review page: ");
    let start = format!("Review page: http://127.0.0.1:{}/#in=", daemon.port);
    enter(&daemon, address.strip_prefix(&start).unwrap()).ok();
}

#[test]
fn pairing_code_opens_page_once_and_cannot_be_guessed() {
    let (_home, daemon) = daemon();
    let code = daemon.code();
    enter(&daemon, &format!("{} {}", &code[..3], &code[3..])).ok();
    assert_eq!(kind(&enter(&daemon, &code)), "unpaired", "a code opens once");
    let next = daemon.code();
    let wrong = if next == "000000" { "000001" } else { "000000" };
    let kinds: Vec<String> = (0..5).map(|_| kind(&enter(&daemon, wrong)).to_owned()).collect();
    assert_eq!(kinds.last().unwrap(), "too_many", "{kinds:?}");
    // Plugins and pages share one limit of attempts.
    let pair = daemon.call("POST", "/api/pair", None, &json!({ "code": next }));
    assert_eq!(kind(&pair), "too_many");
    // The longer code that is printed afterwards opens the page.
    enter(&daemon, &daemon.code()).ok();
}

#[test]
fn page_token_is_refused_on_plugin_routes() {
    let (home, daemon) = daemon();
    let token = entered(&home, &daemon);
    for route in ROUTES.iter().filter(|route| route.token == Token::Plugin) {
        let path = route.path.replace("{id}", "1");
        let answer = daemon.call(route.method.as_str(), &path, Some(&token), &json!({}));
        assert_eq!((answer.status, kind(&answer)), (401, "unauthorized"), "{path}");
    }
}

#[test]
fn page_shell_has_no_inline_code_or_foreign_assets() {
    let (_home, daemon) = daemon();
    let shell = daemon.text("GET", "/", &head(&daemon, &[]), b"");
    let policy = shell.lines().find(|it| it.starts_with("content-security-policy")).unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    let body = shell.split_once("\r\n\r\n").unwrap().1;
    assert!(
        !body.contains("style=") && !body.contains("onclick") && !body.contains("http"),
        "{body}"
    );
    let files = body.split('"').filter(|it| it.starts_with("/assets/"));
    let files: std::collections::BTreeSet<&str> = files.collect();
    assert!(files.len() > 2, "{body}");
    for file in files {
        let answer = daemon.text("GET", file, &head(&daemon, &[]), b"");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("nosniff"), "{file}");
    }
    // Links from other sites may open it, but no site may frame it or fetch it.
    let from = |kind: &str| {
        let head = head(&daemon, &[("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", kind)]);
        daemon.text("GET", "/", &head, b"").split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(["document", "iframe", "empty", "script"].map(from), ["200", "403", "403", "403"]);
}

#[test]
fn hostile_request_text_is_escaped_on_the_page() {
    let (home, daemon) = daemon();
    let token = entered(&home, &daemon);
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let said = "<img src=x onerror=alert(1)> \u{202e}</textarea><script>alert(2)</script> & \"";
    let task = plugin.chat(said).ok()["workflow"].as_u64().unwrap();
    plugin.until(|polled| {
        let events = polled["events"].as_array().unwrap();
        events.iter().any(|it| it["event"]["event"] == "done").then_some(())
    });
    for path in
        [format!("/page/talk?of={task}"), format!("/page/head?of={task}"), "/page/rail".to_owned()]
    {
        let html = part(&daemon, &token, &path);
        assert!(html.starts_with("HTTP/1.1 200"), "{path}: {html}");
        assert!(html.contains("&lt;img src=x"), "{path}: {html}");
        assert!(!html.contains("<img") && !html.contains("<script"), "{path}: {html}");
    }
}

#[test]
fn conversation_opened_late_is_shown_whole() {
    let (home, daemon) = daemon();
    let token = entered(&home, &daemon);
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let task =
        plugin.chat("rename game.Workspace.Wall to Tower").ok()["workflow"].as_u64().unwrap();
    let proposal = plugin.until(|polled| {
        let events = polled["events"].as_array().unwrap();
        events.iter().find_map(|it| it["event"]["proposal"].as_u64())
    });
    let talk = daemon.call("GET", &format!("/api/talks/{task}"), Some(&token), &Json::Null).ok();
    let told = |name: &str| {
        talk["events"].as_array().unwrap().iter().any(|it| it["event"]["event"] == name)
    };
    assert!(told("asked") && told("tool_parsed") && told("proposal_mapped"), "{talk}");
    assert_eq!(talk["head"]["tasks"], json!([task]));
    let html = part(&daemon, &token, &format!("/page/talk?of={task}"));
    assert!(html.contains(&format!("data-proposal=\"{proposal}\"")), "{html}");
    for bad in ["", "?of=x", "?of=-1"] {
        assert!(part(&daemon, &token, &format!("/page/talk{bad}")).starts_with("HTTP/1.1 400"));
    }
    assert!(part(&daemon, &token, "/page/talk?of=999999").starts_with("HTTP/1.1 404"));
    assert!(
        part(&daemon, &token, &format!("/page/talk?of={proposal}")).starts_with("HTTP/1.1 404")
    );
}
