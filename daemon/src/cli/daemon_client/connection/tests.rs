//! Requests to scripted servers: what is sent, and how each kind of answer is reported.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use scene_schemas::api::{Chat, SessionId, Sessions};
use scene_schemas::entry::InteractionMode;

use super::*;

/// Serves one connection for each script: each of its answers follows a request. Then the connection
/// is closed. Returns the requests.
fn serve(scripts: Vec<Vec<String>>) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        scripts.into_iter().flat_map(|answers| serve_connection(&listener, answers)).collect()
    });
    (port, server)
}

fn serve_connection(listener: &TcpListener, answers: Vec<String>) -> Vec<String> {
    let mut stream = listener.accept().unwrap().0;
    let mut requests = Vec::new();
    for answer in answers {
        requests.push(read_request(&mut stream));
        // The client may have stopped reading.
        let _ = stream.write_all(answer.as_bytes());
    }
    requests
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut request = String::new();
    loop {
        let mut part = [0; 4_096];
        let count = stream.read(&mut part).unwrap();
        request.push_str(std::str::from_utf8(&part[..count]).unwrap());
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return request;
        }
    }
}

fn json_answer(status: u16, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn connect(port: u16) -> DaemonConnection {
    let address = DaemonAddress { port, token: "secret".to_owned(), version: None };
    DaemonConnection { http: build_http().unwrap(), address, started: None }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(future)
}

fn list_sessions(port: u16) -> Result<Sessions, RequestError> {
    block_on(connect(port).send(&RouteRequest::new(RouteId::Sessions)))
}

/// The error of a request that is answered like this.
fn error_of(answer: String) -> RequestError {
    let (port, _server) = serve(vec![vec![answer]]);
    list_sessions(port).unwrap_err()
}

#[test]
fn request_is_sent_with_its_token_and_body() {
    let (port, server) = serve(vec![vec![json_answer(200, "{\"workflow\":7}")]]);
    let chat = Chat {
        selected: Vec::new(),
        confirmed: false,
        session: SessionId("window-1".to_owned()),
        epoch: 1,
        text: "Hello".to_owned(),
        attached: Vec::new(),
        interaction: InteractionMode::Ask,
        begins: false,
        workers: false,
        request: None,
    };
    let request = RouteRequest::new(RouteId::Chat).with_body(&chat);
    let answer: scene_schemas::api::WorkflowStarted =
        block_on(connect(port).send(&request)).unwrap();
    assert_eq!(answer.workflow.0, 7);
    let sent = server.join().unwrap().remove(0);
    assert!(sent.starts_with("POST /api/chat HTTP/1.1\r\n"), "{sent}");
    for line in [
        format!("host: 127.0.0.1:{port}"),
        "authorization: Bearer secret".to_owned(),
        "content-type: application/json".to_owned(),
    ] {
        assert!(sent.lines().any(|it| it == line), "{line}: {sent}");
    }
    assert!(sent.ends_with(&serde_json::to_string(&chat).unwrap()), "{sent}");
}

#[test]
fn chunked_answer_is_read() {
    let body = "{\"sessions\":[]}";
    let (first, second) = body.split_at(5);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let chunks = [chunk(first), chunk(second), chunk("")].concat();
    let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    let (port, _server) = serve(vec![vec![answer]]);
    assert_eq!(list_sessions(port).unwrap().sessions, []);
}

#[test]
fn refusals_are_distinguished_from_unknown_tokens() {
    let failure = |kind: &str| {
        format!("{{\"kind\":\"{kind}\",\"message\":\"It is gone.\",\"hint\":\"Look again.\"}}")
    };
    let refused = error_of(json_answer(404, &failure("not_found")));
    assert!(matches!(refused, RequestError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "It is gone. Look again.");
    let unknown = error_of(json_answer(401, &failure("unauthorized")));
    assert!(matches!(unknown, RequestError::Unauthorized(_)), "{unknown:?}");
}

#[test]
fn missing_and_foreign_answers_name_the_port_and_what_to_do() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = list_sessions(port).unwrap_err().to_string();
    let expected = format!("no answer on port {port}; restart `vector serve`: ");
    assert!(closed.starts_with(&expected) && closed.contains("refused"), "{closed}");
    for answer in [json_answer(500, "oops"), "SSH-2.0-OpenSSH_9.6\r\n".to_owned(), String::new()] {
        let error = error_of(answer);
        assert!(matches!(error, RequestError::Unreachable { .. }), "{error:?}");
    }
    let other = error_of(json_answer(200, "{\"places\":[]}"));
    assert!(matches!(other, RequestError::OtherVersion(_)), "{other:?}");
    let moved = "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let error = error_of(moved.to_owned());
    assert!(error.to_string().ends_with("another program answered"), "{error}");
}

#[test]
fn late_answer_and_large_body_are_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let request = RouteRequest::new(RouteId::Stop).with_timeout(Duration::from_millis(20));
    let late = block_on(connect(port).send::<Sessions>(&request)).unwrap_err();
    assert!(matches!(late, RequestError::TimedOut { .. }), "{late:?}");
    assert!(late.to_string().contains("may still complete"), "{late}");
    let large = request.with_body(&"x".repeat(MAX_BODY));
    let error = block_on(connect(port).send::<Sessions>(&large)).unwrap_err();
    assert!(
        matches!(error, RequestError::TooLarge { bytes } if bytes == MAX_BODY + 2),
        "{error:?}"
    );
}

#[test]
fn request_after_the_daemon_closed_its_connection_uses_another() {
    let answer = || json_answer(200, "{\"sessions\":[]}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = connect(listener.local_addr().unwrap().port());
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let list = || {
        let request = RouteRequest::new(RouteId::Sessions);
        let answer: Sessions = runtime.block_on(connection.send(&request)).unwrap();
        assert_eq!(answer.sessions, []);
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| serve_connection(&listener, vec![answer(), answer()]));
        list();
        list();
        assert_eq!(server.join().unwrap().len(), 2);
    });
    // The connection is closed now. The first turn reads that, the second tells the pool.
    runtime.block_on(async {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    });
    thread::scope(|scope| {
        let server = scope.spawn(|| serve_connection(&listener, vec![answer()]));
        list();
        assert_eq!(server.join().unwrap().len(), 1);
    });
}

#[test]
fn program_that_is_not_vector_gets_no_token() {
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(1 << 20));
    for (answer, expected) in [
        (json_answer(200, "{\"ok\":true}"), true),
        (json_answer(200, "{\"ok\":false}"), false),
        (json_answer(404, "{\"ok\":true}"), false),
        (endless, false),
    ] {
        let (port, server) = serve(vec![vec![answer]]);
        assert_eq!(block_on(is_vector_daemon(port)), expected);
        let sent = server.join().unwrap().remove(0);
        assert!(sent.starts_with("GET /health HTTP/1.1\r\n"), "{sent}");
        assert!(!sent.contains("authorization"), "{sent}");
    }
}

#[test]
fn running_daemon_is_recognised_by_its_answer() {
    let failure = |kind: &str| format!("{{\"kind\":\"{kind}\",\"message\":\"No.\",\"hint\":\"\"}}");
    for (kind, file, answer, expected) in [
        (TokenKind::Person, "token", json_answer(200, "{}"), false),
        (TokenKind::Person, "token", json_answer(401, &failure("unauthorized")), false),
        (TokenKind::Agent, "agent-token", json_answer(404, &failure("not_found")), true),
        (TokenKind::Agent, "agent-token", json_answer(401, &failure("unauthorized")), false),
        (TokenKind::Agent, "agent-token", json_answer(200, "<html>"), false),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (port, _server) = serve(vec![vec![answer]]);
        std::fs::write(home.path().join(file), format!("{port} secret\n")).unwrap();
        let found = block_on(DaemonConnection::find_running(home.path(), kind));
        assert_eq!(found.is_some(), expected, "{kind:?}");
    }
}
