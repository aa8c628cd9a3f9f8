//! Detection of other sync tools: a `rojo serve` on this machine, or Rojo's plugin in an open
//! place.
//!
//! Detection is read-only: it never calls Rojo's routes that write.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use scene_schemas::Value;
use serde::Deserialize;
use serde::de::IgnoredAny;
use vector_place::{Node, Scene};

/// The default port of `rojo serve`.
pub const DEFAULT_PORT: u16 = 34872;

/// The time limit for Rojo's response; the server is on this machine.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(300);
/// Rojo's response has a few hundred bytes.
const MAX_RESPONSE_BYTES: u64 = 64 << 10;
/// The instance by which Rojo's plugin keeps other team members from syncing.
const LOCK_NAME: &str = "__Rojo_SessionLock";
/// The attribute of Workspace in which Rojo's plugin stores the URL it is connected to.
const CONNECTION_ATTRIBUTE: &str = "__Rojo_ConnectionUrl";

/// A `rojo serve` that responded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RojoServer {
    /// The name of the project.
    pub project: String,
    pub version: String,
    /// The version of the protocol between server and plugin.
    pub protocol: u64,
    /// The places that may sync with the server; empty if all may.
    pub place_ids: Vec<u64>,
}

/// Looks for a `rojo serve` on a port of this machine. Returns None if the port is closed, if
/// another program listens on it, or if there is no response within 300 ms.
pub fn find_server(port: u16) -> Option<RojoServer> {
    let until = Instant::now() + RESPONSE_TIMEOUT;
    let mut stream = TcpStream::connect_timeout(
        &SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        RESPONSE_TIMEOUT,
    )
    .ok()?;
    stream.set_write_timeout(Some(RESPONSE_TIMEOUT)).ok()?;
    // HTTP/1.0 has no chunked encoding, and the server closes the connection at the end.
    let request = format!("GET /api/rojo HTTP/1.0\r\nHost: localhost:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut part = [0; 4096];
    while (answer.len() as u64) < MAX_RESPONSE_BYTES {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut part).ok()? {
            0 => break,
            n => answer.extend_from_slice(&part[..n]),
        }
        if is_complete(&answer) {
            break;
        }
    }
    parse_server(&answer)
}

/// Whether a response has all the bytes that its header announces.
fn is_complete(answer: &[u8]) -> bool {
    split_response(answer).is_some_and(|(head, body)| {
        let length = header_field(&head, "content-length").and_then(|length| length.parse().ok());
        length.is_some_and(|length: usize| body.len() >= length)
    })
}

/// Splits a response into its header and body.
fn split_response(answer: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memmem::find(answer, b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&answer[..end]).into_owned(), &answer[end + 4..]))
}

fn header_field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = fields.filter(|(field, _)| field.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim())
}

/// Parses Rojo's response: MessagePack since 7.7.0, JSON before.
fn parse_server(answer: &[u8]) -> Option<RojoServer> {
    let (head, body) = split_response(answer)?;
    let is_ok = head.lines().next()?.split(' ').nth(1) == Some("200");
    let kind = header_field(&head, "content-type").filter(|_| is_ok)?;
    let info: ServerInfo = if kind.contains("msgpack") {
        rmp_serde::from_slice(body).ok()?
    } else if kind.contains("json") {
        serde_json::from_slice(body).ok()?
    } else {
        return None;
    };
    Some(RojoServer {
        project: info.project_name,
        version: info.server_version,
        protocol: info.protocol_version,
        place_ids: info.expected_place_ids.unwrap_or_default(),
    })
}

/// The part of Rojo's answer that is read. A server without a session is not Rojo.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerInfo {
    #[serde(rename = "sessionId")]
    _session_id: IgnoredAny,
    project_name: String,
    server_version: String,
    protocol_version: u64,
    #[serde(default)]
    expected_place_ids: Option<Vec<u64>>,
}

/// The traces of Rojo's plugin in a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncState {
    /// The lock instance, if a team member holds the lock or held it when the place was saved.
    pub lock: Option<Node>,
    /// The URL that the plugin is connected to, if it recorded one.
    pub connection: Option<String>,
}

/// Looks for the traces of Rojo's plugin in a place. Returns None if there are none.
pub fn find_sync_state(scene: &Scene) -> Option<SyncState> {
    let lock = find_lock(scene).filter(|lock| {
        scene.stored_value(*lock, "Value").is_some_and(|held| held != Value::Ref(None))
    });
    let workspace = scene.find_child(scene.root(), "Workspace");
    let connection = match workspace.and_then(|node| scene.attribute(node, CONNECTION_ATTRIBUTE)) {
        Some(Value::String(url)) if !url.is_empty() => Some(url),
        _ => None,
    };
    (lock.is_some() || connection.is_some()).then_some(SyncState { lock, connection })
}

fn find_lock(scene: &Scene) -> Option<Node> {
    let storage = scene.find_child(scene.root(), "ServerStorage")?;
    scene.find_child(storage, LOCK_NAME).filter(|lock| scene.class(*lock) == "ObjectValue")
}

/// Whether the lock of Rojo's plugin exists in a place. Does not read its value, so an open place
/// needs no request to Studio.
pub fn has_sync_lock(scene: &Scene) -> bool {
    find_lock(scene).is_some()
}

#[cfg(test)]
mod tests;
