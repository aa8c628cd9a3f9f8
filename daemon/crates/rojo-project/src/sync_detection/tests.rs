//! Tests with responses of Rojo and of other servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use rbx_types::{Ref, Variant};
use vector_place::{FileFormat, reference_of};

use super::*;

/// Starts a server that gives one response and ends.
fn server(answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(&answer);
    });
    port
}

fn answer(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&[0xa0 | text.len() as u8], text.as_bytes()].concat()
}

fn expected() -> RojoServer {
    RojoServer {
        project: "Game".to_owned(),
        version: "7.7.1".to_owned(),
        protocol: 5,
        place_ids: vec![1, 70_000],
    }
}

#[test]
fn message_pack_response_of_rojo_is_parsed() {
    let mut body = vec![0x86];
    body.extend([text("sessionId"), text("abc"), text("serverVersion"), text("7.7.1")].concat());
    body.extend([text("protocolVersion"), vec![5]].concat());
    body.extend([text("projectName"), text("Game"), text("gameId"), vec![0xc0]].concat());
    body.extend([text("expectedPlaceIds"), vec![0x92, 1, 0xce, 0, 1, 0x11, 0x70]].concat());
    assert_eq!(find_server(server(answer("application/msgpack", &body))), Some(expected()));
    for cut in 0..body.len() {
        assert_eq!(serving_of(&answer("application/msgpack", &body[..cut])), None, "{cut}");
    }
}

fn serving_of(answer: &[u8]) -> Option<RojoServer> {
    parse_server(answer)
}

#[test]
fn json_response_of_older_rojo_is_parsed() {
    let body = br#"{"sessionId":"abc","serverVersion":"7.7.1","protocolVersion":5,
        "projectName":"Game","expectedPlaceIds":[1,70000]}"#;
    assert_eq!(find_server(server(answer("application/json", body))), Some(expected()));
}

#[test]
fn responses_of_other_servers_are_ignored() {
    assert_eq!(find_server(server(answer("application/json", b"{\"name\":1}"))), None);
    assert_eq!(find_server(server(answer("text/html", b"<html>"))), None);
    assert_eq!(find_server(server(b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec())), None);
    assert_eq!(find_server(server(Vec::new())), None);
    assert_eq!(parse_server(&answer("application/msgpack", &[0x91; 10_000])), None);
    assert_eq!(parse_server(&answer("application/msgpack", &[0xdf, 0xff, 0xff, 0xff, 0xff])), None);
    // The port is closed.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    assert_eq!(find_server(port), None);
}

#[test]
fn silent_server_is_not_waited_for() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let start = Instant::now();
    assert_eq!(find_server(listener.local_addr().unwrap().port()), None);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn rojo_plugin_traces_in_a_place_are_found() {
    let mut scene = Scene::empty(FileFormat::Xml);
    let root = scene.root();
    assert_eq!(find_sync_state(&scene), None);
    let storage = scene.create(root, "ServerStorage", "ServerStorage");
    let lock = scene.create(storage, "ObjectValue", "__Rojo_SessionLock");
    assert_eq!(find_sync_state(&scene), None);
    scene.set_known_property(lock, "Value", Variant::Ref(Ref::none()));
    assert_eq!(find_sync_state(&scene), None);
    scene.set_known_property(lock, "Value", Variant::Ref(reference_of(storage)));
    assert_eq!(find_sync_state(&scene), Some(SyncState { lock: Some(lock), connection: None }));
    let workspace = scene.create(root, "Workspace", "Workspace");
    let mut attributes = rbx_types::Attributes::new();
    attributes.insert(CONNECTION_ATTRIBUTE.to_owned(), "http://localhost:34872".into());
    scene.set_known_property(workspace, "Attributes", attributes.into());
    let seen = find_sync_state(&scene).unwrap();
    assert_eq!(seen.connection.as_deref(), Some("http://localhost:34872"));
}
