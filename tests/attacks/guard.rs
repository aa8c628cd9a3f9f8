//! Attacks on the daemon's HTTP interface: forged origins and hosts, malformed heads and bodies,
//! other paths and methods, and wrong tokens.

use std::io::{Read, Write};

use scene_schemas::api::{MAX_BODY, ROUTES, Token};

use super::Outcome::{Http, Instead, Line};
use super::attacks;
use super::ground::{Ground, Seen, is_route, reads, routes};

/// The settings that would give an attacker the most at once.
const DANGER: &str = "{\"mode\":\"dangerous\",\"dry_run\":false,\"model\":\"offline\"}";

/// Calls every route with each of these values of a header.
fn each_of(ground: &Ground, name: &str, values: &[&str]) -> Vec<Seen> {
    let port = ground.port().to_string();
    let values = values.iter().map(|value| value.replace("PORT", &port));
    values.flat_map(|value| ground.each(&[(name, &value)])).collect()
}

/// Tries to change the settings at each of these request targets.
fn put_at(ground: &Ground, targets: &[&str]) -> Vec<Seen> {
    let put = |target: &&str| ground.ask("PUT", target, Some(&ground.person), DANGER);
    targets.iter().map(put).collect()
}

/// Calls the settings route with each of these `Authorization` values.
fn authorized(ground: &Ground, values: &[String]) -> Vec<Seen> {
    let settings = ROUTES.iter().find(|it| it.path == "/api/settings").unwrap();
    values.iter().map(|value| ground.with(settings, &[("Authorization", value)])).collect()
}

/// Tries to change the settings with these extra header lines and this body.
fn put_with(ground: &Ground, lines: &str, body: &str) -> Seen {
    let lines = format!("Content-Type: application/json\r\n{lines}");
    ground.line(format!("{}{body}", ground.head("PUT /api/settings", &lines)).as_bytes())
}

fn chunked(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

attacks! { served: true;
    a_foreign_host: WebPage, "every route, under the name `evil.example`" => Http(403, "forbidden"),
        |ground| ground.each(&[("Host", "evil.example")]);
    a_rebound_name: WebPage, "every route, under names that resolve to this machine or look like it"
        => Http(403, "forbidden"),
        |ground| each_of(ground, "Host", &[
            "evil.test:PORT", "127.0.0.1.evil.test:PORT", "localhost.evil.test:PORT",
            "127.0.0.1:PORT.evil.test", "127.0.0.1:PORT@evil.test", "evil.test@127.0.0.1:PORT",
            "localhost:PORT:PORT", "0.0.0.0:PORT", "127.1:PORT", "2130706433:PORT",
        ]);
    a_host_without_our_port: WebPage, "every route, at this machine but another port or none"
        => Http(403, "forbidden"),
        |ground| each_of(ground, "Host", &["127.0.0.1", "localhost", "localhost:1", "[::1]:80", "127.0.0.1:0PORT"]);
    two_hosts: WebPage, "every route, with our name and a foreign one" => Http(400, "bad_request"),
        |ground| {
            let own = format!("127.0.0.1:{}", ground.port());
            ground.each(&[("Host", "evil.example"), ("Host", &own)])
        };
    no_host_and_no_token: Process, "asks who is there, with no host" => Http(403, "forbidden"),
        |ground| vec![ground.send("GET", "/health", &[], "")];
    a_foreign_origin: WebPage, "every route, from its own page" => Http(403, "forbidden"),
        |ground| each_of(ground, "Origin", &["https://evil.example", "http://evil.test:PORT"]);
    a_null_origin: WebPage, "every route, from a frame in a sandbox" => Http(403, "forbidden"),
        |ground| ground.each(&[("Origin", "null")]);
    an_origin_that_is_nearly_ours: WebPage, "every route, from other pages of this machine"
        => Http(403, "forbidden"),
        |ground| each_of(ground, "Origin", &[
            "http://localhost:3000", "http://127.0.0.1", "https://127.0.0.1:PORT", "http://127.0.0.2:PORT",
            "http://localhost:PORT.evil.test", "http://evil.test/http://localhost:PORT", "file://",
            "chrome-extension://localhost:PORT", "http://localhost:PORT/",
        ]);
    two_origins: WebPage, "every route, with our origin and its own" => Http(400, "bad_request"),
        |ground| {
            let own = format!("http://127.0.0.1:{}", ground.port());
            ground.each(&[("Origin", &own), ("Origin", "https://evil.example")])
        };
    a_request_that_the_browser_calls_foreign: WebPage,
        "every route as pictures, scripts and links ask, which name no origin" => Http(403, "forbidden"),
        |ground| each_of(ground, "Sec-Fetch-Site", &["cross-site", "same-site", "anything"]);
    a_form_s_body: WebPage, "each route with a body, as the three kinds that a form can send"
        => Http(415, "unsupported_media_type"),
        |ground| {
            let kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];
            kinds.iter().flat_map(|kind| ground.each_with_body(&[("Content-Type", kind)])).collect()
        };
    a_body_of_no_kind: WebPage, "each route with a body, which says nothing of its kind"
        => Http(415, "unsupported_media_type"), |ground| ground.each_with_body(&[("Content-Type", "")]);
    a_body_of_two_kinds: WebPage, "each route with a body that is text and JSON by its headers"
        => Http(415, "unsupported_media_type"),
        |ground| {
            let both = [("Content-Type", "text/plain"), ("Content-Type", "application/json")];
            ground.each_with_body(&both)
        };
    a_kind_that_only_names_json: WebPage, "each route with a body whose kind only has JSON in its name"
        => Http(415, "unsupported_media_type"),
        |ground| {
            let kinds = ["text/plain; a=application/json", "application/jsonp", "application/json, text/plain"];
            kinds.iter().flat_map(|kind| ground.each_with_body(&[("Content-Type", kind)])).collect()
        };
    another_method: Process, "every path by every method that it does not have"
        => Http(405, "method_not_allowed"),
        |ground| {
            let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "GRAB"];
            let all = ROUTES.iter().flat_map(|route| methods.map(|method| (route, method)));
            let wrong = all.filter(|(route, method)| !is_route(method, route.path) && *method != "HEAD");
            wrong.map(|(route, method)| {
                ground.ask(method, &ground.path_of(route), Some(&ground.person), "")
            }).collect()
        };
    a_get_that_would_change_something: WebPage, "what decides, cancels and restores, by GET and a token"
        => Http(405, "method_not_allowed"),
        |ground| {
            let changing = ROUTES.iter().filter(|it| !reads(it) && !is_route("GET", it.path));
            changing.map(|route| {
                let target = format!("{}?decision=approve&_method=POST", ground.path_of(route));
                ground.ask("GET", &target, Some(&ground.person), "")
            }).collect()
        };
    a_method_in_a_header: WebPage, "POST of the settings that calls itself PUT"
        => Http(405, "method_not_allowed"),
        |ground| vec![put_as_post(ground)];
    a_preflight: WebPage, "asks whether it may send JSON, a token, and reach a private network"
        => Http(405, "method_not_allowed"),
        |ground| ROUTES.iter().map(|route| {
            let host = format!("127.0.0.1:{}", ground.port());
            ground.send("OPTIONS", &ground.path_of(route), &[
                ("Host", &host), ("Origin", "https://evil.example"),
                ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Headers", "authorization,content-type"),
                ("Access-Control-Request-Private-Network", "true"),
                ("Access-Control-Request-Local-Network", "true"),
            ], "")
        }).collect();
    a_websocket: WebPage, "turns each GET into a WebSocket, for which no origin is asked by browsers"
        => Http(401, "unauthorized"),
        |ground| routes(Token::Human).filter(|it| reads(it)).map(|route| ground.with(route, &[
            ("Authorization", ""), ("Connection", "Upgrade"), ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ])).collect();
    another_protocol: Process, "speaks HTTP/2, TLS, SMTP and nothing at all" => Line,
        |ground| [
            &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..],
            b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"EHLO evil\r\nMAIL FROM:<a@b>\r\n",
            b"\0\0\0\0\0\0\0\0\r\n\r\n", b"\r\n\r\n\r\n\r\n",
        ].map(|bytes| ground.cut(bytes)).into();
    a_proxy_s_request: WebPage, "names a foreign server in the request line, and us as host"
        => Http(403, "forbidden"),
        |ground| {
            let mut seen = put_at(ground, &["http://evil.test/api/settings", "http://evil.test:80/api/settings",
                "https://127.0.0.1/api/settings", "http://127.0.0.1.evil.test/api/settings"]);
            seen.push(ground.ask("CONNECT", "evil.test:443", Some(&ground.person), ""));
            seen
        };
    a_tunnel: Process, "has the daemon connect to somebody else" => Http(404, "not_found"),
        |ground| {
            let own = format!("127.0.0.1:{}", ground.port());
            vec![ground.ask("CONNECT", &own, Some(&ground.person), "")]
        };
    a_path_written_otherwise: Process, "the settings' path with slashes, dots, escapes, cases and ends"
        => Http(404, "not_found"),
        |ground| put_at(ground, &["/api//settings", "//api/settings", "/api/settings/", "/API/settings",
            "/api/./settings", "/api/../api/settings", "/%2e%2e/api/settings", "/api/%73ettings",
            "/api%2fsettings", "/api/settings%00", "/api/settings;x=1", "/api/settings.json", "/mcp/",
            "/MCP", "//mcp", "/mcp/../api/settings", "*"]);
    a_number_written_otherwise: Process, "decides upon what no number names" => Http(400, "bad_request"),
        |ground| ["x", "-1", "1e3", "0x1", "%31", "1%2f..%2f2", "18446744073709551616", "1%00", "1,2"].map(|id| {
            let body = ground.decision(ground.proposal, &serde_json::json!({ "say": "approve" })).to_string();
            ground.ask("POST", &format!("/api/proposals/{id}/decide"), Some(&ground.person), &body)
        }).into();
    a_route_that_is_not_there: Process, "files of the server, and what other servers have"
        => Http(404, "not_found"),
        |ground| ["/index.html", "/assets/token", "/assets/..%2ftoken", "/page/token", "/token", "/api/token", "/../token", "/.git/config", "/api",
            "/openapi.json", "/metrics", "/debug", "/favicon.ico"].map(|path| {
                ground.ask("GET", path, Some(&ground.person), "")
            }).into();
    a_body_that_is_too_large: Process, "sends one byte more than a body may have" => Http(413, "too_large"),
        |ground| {
            let large = " ".repeat(MAX_BODY + 1);
            vec![ground.ask("PUT", "/api/settings", Some(&ground.person), &large)]
        };
    a_large_body_in_pieces: Process, "sends the same without saying how long it is" => Http(413, "too_large"),
        |ground| {
            let large = chunked(&" ".repeat(MAX_BODY + 1));
            vec![put_with(ground, "Transfer-Encoding: chunked\r\n", &large)]
        };
    a_body_where_none_belongs: Process, "gives each GET a body, in which another request stands"
        => Http(413, "too_large"),
        |ground| {
            let inner = ground.head("PUT /api/settings", "Content-Type: application/json\r\n");
            let get = ROUTES.iter().filter(|it| reads(it) && it.path != "/mcp");
            get.map(|route| ground.ask("GET", &ground.path_of(route), ground.token(route), &inner)).collect()
        };
    a_body_that_breaks_off: Process, "promises more of a body than it sends" => Line,
        |ground| {
            let head = ground.head("PUT /api/settings", "Content-Type: application/json\r\nContent-Length: 500\r\n");
            vec![ground.cut(format!("{head}{DANGER}").as_bytes())]
        };
    two_lengths: Process, "says two lengths, so that a second request hides in the first" => Line,
        |ground| {
            let inner = ground.head("PUT /api/settings", &format!("Content-Length: {}\r\n", DANGER.len()));
            let both = [("4", "400"), ("400", "4"), ("4", "+4"), ("4, 400", "4")];
            both.map(|(one, other)| put_with(ground,
                &format!("Content-Length: {one}\r\nContent-Length: {other}\r\n"),
                &format!("null{inner}{DANGER}"))).into()
        };
    a_length_that_is_none: Process, "says lengths that are not numbers" => Line,
        |ground| ["-1", "0x10", "1e2", "18446744073709551616", "5 5", "٤"].map(|length| {
            put_with(ground, &format!("Content-Length: {length}\r\n"), DANGER)
        }).into();
    a_length_and_pieces: Process, "says a length and pieces, so that two readers disagree"
        => Http(400, "bad_request"),
        |ground| {
            let hidden = ground.head("PUT /api/settings", "Content-Type: application/json\r\n");
            let body = format!("0\r\n\r\n{hidden}");
            vec![put_with(ground, "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", &body)]
        };
    pieces_of_another_kind: Process, "says that the body is packed in ways that we do not read" => Line,
        |ground| ["gzip, chunked, identity", "xchunked", "chunked, gzip"].map(|coding| {
            put_with(ground, &format!("Transfer-Encoding: {coding}\r\n"), &chunked(DANGER))
        }).into();
    a_header_that_is_none: Process, "hides headers behind spaces, lone ends of lines and zeros" => Line,
        |ground| ["Origin : x\r\n", "A: b\r\n c: d\r\n", "A: b\0c\r\n", "A\0: b\r\n", ": b\r\n", "A: b\rOrigin: x\r\n"]
            .map(|lines| put_with(ground, &format!("{lines}Content-Length: {}\r\n", DANGER.len()), DANGER)).into();
    a_head_without_end: Process, "sends a head of 100 KB" => Line,
        |ground| vec![put_with(ground, &format!("X: {}\r\n", "a".repeat(100_000)), "")];
    a_head_of_40_kb: Process, "sends a head of 40 KB, where 32 KB are the limit" => Http(413, "too_large"),
        |ground| vec![put_with(ground, &format!("X: {}\r\n", "a".repeat(40_000)), "")];
    a_body_that_drips: Process, "sends a body byte by byte, and never ends (the end: `server::listener::tests::unfinished_body_is_answered_with_request_timeout`)"
        => Instead("the others are answered meanwhile, and after a minute its connection ends"),
        |ground| {
            let mut slow = ground.connect();
            let head = format!("POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
                Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n ", ground.port(), ground.person);
            slow.write_all(head.as_bytes()).unwrap();
            ground.person("GET", "/api/settings", &serde_json::Value::Null).ok();
            vec![Seen::Instead]
        };
    many_slow_heads: Process,
        "keeps 100 connections open with half a head each (their end: `server::listener::tests::slow_request_head_ends_only_its_own_connection`)"
        => Instead("the others are answered meanwhile"),
        |ground| {
            let mut slow: Vec<_> = (0..100).map(|_| ground.connect()).collect();
            for it in &mut slow {
                it.write_all(b"GET /health HTTP/1.1\r\nHost: ").unwrap();
            }
            ground.person("GET", "/api/settings", &serde_json::Value::Null).ok();
            for mut it in slow {
                it.set_nonblocking(true).unwrap();
                assert!(it.read(&mut [0; 1]).is_err(), "half a head is answered");
            }
            vec![Seen::Instead]
        };
    json_that_is_deep: Process, "sends lists in lists, 100,000 deep" => Http(400, "bad_request"),
        |ground| {
            let deep = "[".repeat(100_000);
            routes(Token::Human).filter(|it| it.has_body())
                .map(|route| ground.ask(route.method.as_str(), &ground.path_of(route), Some(&ground.person), &deep))
                .collect()
        };
    json_that_says_it_twice: Process, "says a field twice, or one that there is not" => Http(400, "bad_request"),
        |ground| ["{\"mode\":\"confirm\",\"mode\":\"dangerous\",\"model\":\"offline\"}",
            "{\"mode\":\"dangerous\",\"model\":\"offline\",\"sudo\":true}", "{\"mode\":\"DANGEROUS\",\"model\":\"offline\"}",
            "{\"mode\":\"dangerous\",\"model\":\"offline\"}{}", "{\"mode\":\"dangerous\",\"model\":\"offline\"}\0"]
            .map(|body| ground.ask("PUT", "/api/settings", Some(&ground.person), body)).into();
    no_token: WebPage, "every route that takes a token, without one" => Http(401, "unauthorized"),
        |ground| ROUTES.iter().filter(|it| it.token != Token::None)
            .map(|route| ground.with(route, &[("Authorization", "")])).collect();
    a_token_in_the_address: Process, "puts the person's token into the query, where logs would keep it"
        => Http(401, "unauthorized"),
        |ground| ["token", "access_token", "authorization", "Authorization", "bearer"].map(|name| {
            let target = format!("/api/settings?{name}={}", ground.person);
            ground.ask("PUT", &target, None, DANGER)
        }).into();
    a_token_elsewhere: Process, "puts the person's token into cookies and headers of its own"
        => Http(401, "unauthorized"),
        |ground| ["Cookie", "X-Authorization", "Proxy-Authorization", "X-Token", "Mcp-Session-Id"].map(|name| {
            let settings = ROUTES.iter().find(|it| it.path == "/api/settings").unwrap();
            let value = format!("Bearer {}; token={}", ground.person, ground.person);
            ground.with(settings, &[("Authorization", ""), (name, &value)])
        }).into();
    a_token_of_another_scheme: Process, "the person's token, not as a bearer's" => Http(401, "unauthorized"),
        |ground| ["Basic", "Token", "bearer", "BEARER", "Bearer:", ""].map(|scheme| {
            authorized(ground, &[format!("{scheme} {}", ground.person)]).remove(0)
        }).into();
    a_token_that_is_nearly_right: Process, "the person's token but for one character, or with one more"
        => Http(401, "unauthorized"),
        |ground| {
            let token = ground.person.clone();
            let mut all: Vec<String> = (0..token.len()).map(|at| {
                let other = if &token[at..=at] == "0" { "1" } else { "0" };
                format!("Bearer {}{other}{}", &token[..at], &token[at + 1..])
            }).collect();
            all.extend([format!("Bearer {token}0"), format!("Bearer 0{token}"), format!("Bearer {}", &token[1..]),
                format!("Bearer {}", token.to_uppercase()), format!("Bearer {token}{token}"),
                format!("Bearer {token} {token}"), "Bearer".to_owned(), "Bearer *".to_owned()]);
            authorized(ground, &all)
        };
    the_hash_of_a_token: Process, "the hash that is kept of a plugin's pairing, as a token"
        => Http(401, "unauthorized"),
        |ground| {
            let kept = std::fs::read_to_string(ground.ledger().join("paired")).unwrap();
            let hashes: Vec<String> = kept.lines().filter(|it| !it.is_empty()).map(|it| format!("Bearer {it}")).collect();
            authorized(ground, &hashes)
        };
    two_tokens: Process, "a wrong token and the right one" => Http(400, "bad_request"),
        |ground| {
            let bearer = format!("Bearer {}", ground.person);
            ground.each(&[("Authorization", "Bearer x"), ("Authorization", &bearer)])
        };
    tokens_of_a_daemon_that_has_ended: Process, "the tokens of the person, the plugin and the agents, after a restart"
        => Http(401, "unauthorized"),
        |ground| {
            let old = [ground.person.clone(), ground.plugin.clone(), ground.agent.clone()];
            ground.serve();
            ground.note();
            old.iter().flat_map(|token| {
                let bearer = format!("Bearer {token}");
                let all = ROUTES.iter().filter(|it| it.token != Token::None);
                all.map(|route| ground.with(route, &[("Authorization", &bearer)])).collect::<Vec<_>>()
            }).collect()
        };
    a_person_s_token_for_a_plugin_s_routes: Process, "speaks for Studio with the person's token"
        => Http(401, "unauthorized"),
        |ground| {
            let bearer = format!("Bearer {}", ground.person);
            routes(Token::Plugin).map(|route| ground.with(route, &[("Authorization", &bearer)])).collect()
        };
    other_addresses: Process, "asks from outside: every other address of the loopback network, and IPv6"
        => Instead("nobody listens there"),
        |ground| {
            for address in ["127.0.0.2", "127.255.255.254", "[::1]"] {
                let to = format!("{address}:{}", ground.port());
                assert!(std::net::TcpStream::connect(&to).is_err(), "{to}");
            }
            vec![Seen::Instead]
        };
}

fn put_as_post(ground: &Ground) -> Seen {
    let host = format!("127.0.0.1:{}", ground.port());
    let bearer = format!("Bearer {}", ground.person);
    let headers = [
        ("Host", host.as_str()),
        ("Authorization", &bearer),
        ("Content-Type", "application/json"),
        ("X-HTTP-Method-Override", "PUT"),
        ("X-HTTP-Method", "PUT"),
    ];
    ground.send("POST", "/api/settings", &headers, DANGER)
}
