//! A scripted model provider on this machine. It answers each request with the next reply, with the
//! pieces, pauses and end that the reply specifies, and records the requests.
//!
//! It uses plain sockets, because an HTTP server could not break the rules of HTTP. At a
//! reply's gate it waits until the test opens the gate. It never sleeps.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;

/// Longer than any machine needs. A wait that takes this long fails its test.
const PATIENCE: Duration = Duration::from_mins(1);

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The body is complete.
    Whole,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing more is sent until the client disconnects.
    Hang,
    /// Nothing is sent at all until the client disconnects.
    Silent,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The headers besides `Transfer-Encoding`.
    pub(crate) headers: Vec<(String, String)>,
    /// The body, in the pieces in which the client receives it.
    pub(crate) pieces: Vec<Vec<u8>>,
    /// The piece before which the reply waits until the test opens its gate. 0 is before the head.
    pub(crate) gate: Option<usize>,
    pub(crate) end: End,
}

impl Reply {
    /// A JSON body in one piece, with a status.
    pub(crate) fn plain(status: u16, text: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            pieces: vec![text.as_bytes().to_vec()],
            gate: None,
            end: End::Whole,
        }
    }
}

/// A received request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// The headers, with lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    /// The body. Null if it is not JSON.
    pub(crate) body: Json,
}

impl Request {
    /// The value of a header, or an empty string if it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value)
    }
}

/// What one of several models says: how its requests are recognised, and its replies.
#[derive(Debug, Clone)]
pub(crate) struct RoleScript {
    /// A text of the first message. The first script with a text that is found is used.
    pub(crate) needle: &'static str,
    /// By the number of messages that the model has written before.
    pub(crate) replies: Vec<Reply>,
}

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    roles: Vec<RoleScript>,
    requests: Vec<Request>,
    /// Number of replies being sent, and the maximum at the same time.
    busy: usize,
    busiest: usize,
    /// Number of replies that have reached their gate, and of gates opened.
    at_gate: usize,
    opened: usize,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl State {
    /// Takes the reply to a request.
    fn reply_to(&mut self, request: &Request) -> Reply {
        let none = || Reply::plain(400, r#"{"error":{"message":"The script is at its end."}}"#);
        if self.roles.is_empty() {
            return self.replies.pop_front().unwrap_or_else(none);
        }
        let messages = request.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let by = |role: &'static str| messages.iter().filter(move |it| it["role"] == role);
        let first = by("user").next().map_or(String::new(), |it| it["content"].to_string());
        let script = self.roles.iter().find(|it| first.contains(it.needle));
        let reply = script.and_then(|it| it.replies.get(by("assistant").count()).cloned());
        reply.unwrap_or_else(none)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Waits until a condition holds.
    fn until(&self, what: &str, is_so: impl Fn(&State) -> bool) {
        let (state, waited) =
            self.changed.wait_timeout_while(self.lock(), PATIENCE, |state| !is_so(state)).unwrap();
        drop(state);
        assert!(!waited.timed_out(), "{what} never happened");
    }
}

/// A provider. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    port: u16,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts a provider that gives these replies, one per request, and refuses all further
    /// requests.
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        Self::run(State { replies: replies.into(), ..State::default() })
    }

    /// Starts a provider that plays several models. A request that is sent again gets the same reply.
    pub(crate) fn by_role(roles: Vec<RoleScript>) -> Self {
        Self::run(State { roles, ..State::default() })
    }

    fn run(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.lock().closed {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A client that disconnects does not make the server fail.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Self { port, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The requests received so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// Number of replies not yet requested.
    pub(crate) fn left(&self) -> usize {
        self.shared.lock().replies.len()
    }

    /// The maximum number of requests in flight at the same time.
    pub(crate) fn busiest(&self) -> usize {
        self.shared.lock().busiest
    }

    /// Waits until `count` replies have reached their gate.
    pub(crate) fn wait_at_gate(&self, count: usize) {
        self.shared.until("a reply at its gate", |state| state.at_gate >= count);
    }

    /// Gives a reply a gate: before its head, or in its middle.
    pub(crate) fn hold_back(&self, at: usize, middle: bool) {
        let mut state = self.shared.lock();
        let reply = &mut state.replies[at];
        reply.gate = Some(if middle { reply.pieces.len() / 2 } else { 0 });
    }

    /// Lets one more reply through its gate.
    pub(crate) fn open(&self) {
        self.shared.lock().opened += 1;
        self.shared.changed.notify_all();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(mut state) = self.shared.state.lock() {
            state.closed = true;
            state.opened = usize::MAX;
        }
        self.shared.changed.notify_all();
        // Wake the accepting thread.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

/// Serves one connection until it is closed.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = request(&mut reader)? {
        let reply = {
            let mut state = shared.lock();
            let reply = state.reply_to(&request);
            state.requests.push(request);
            state.busy += 1;
            state.busiest = state.busiest.max(state.busy);
            reply
        };
        shared.changed.notify_all();
        give(stream, &mut reader, &reply, shared)?;
        if reply.end != End::Whole {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a request to the end of its body. None if the client has disconnected.
fn request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Request { method, path, headers, body }))
}

/// A request in flight. It ends just before the last piece of its reply is sent, because the client
/// may then send the next request, or when the test holds the reply back.
struct Flight<'a>(Option<&'a Shared>);

impl Flight<'_> {
    fn end(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.lock().busy -= 1;
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

fn give(
    mut stream: &TcpStream,
    reader: &mut impl Read,
    reply: &Reply,
    shared: &Shared,
) -> io::Result<()> {
    let mut flight = Flight(Some(shared));
    let pass = |at: usize, flight: &mut Flight<'_>| {
        if reply.gate == Some(at) {
            flight.end();
            let mut state = shared.lock();
            let turn = state.at_gate;
            state.at_gate += 1;
            drop(state);
            shared.changed.notify_all();
            shared.until("an open gate", |state| state.opened > turn);
        }
    };
    pass(0, &mut flight);
    if reply.end == End::Silent {
        flight.end();
        return reader.read(&mut [0; 1]).map(drop);
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\nTransfer-Encoding: chunked\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let last = reply.pieces.iter().rposition(|piece| !piece.is_empty());
    if last.is_none() {
        flight.end();
    }
    stream.write_all(head.as_bytes())?;
    // Each piece is sent as its own chunk, so the client receives it as such however the system
    // groups the bytes.
    for (at, piece) in reply.pieces.iter().enumerate().filter(|(_, piece)| !piece.is_empty()) {
        if at > 0 {
            pass(at, &mut flight);
        }
        if Some(at) == last {
            flight.end();
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk)?;
    }
    match reply.end {
        End::Whole => stream.write_all(b"0\r\n\r\n"),
        End::Cut => stream.shutdown(std::net::Shutdown::Both),
        End::Hang | End::Silent => reader.read(&mut [0; 1]).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Sends a body, and reads until the connection ends or no more data is expected.
    fn ask(server: &Server, body: &Json) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST /v1/x?a=b HTTP/1.1\r\nX-Key: k\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut read, mut piece) = (Vec::new(), [0; 256]);
        loop {
            let count = stream.read(&mut piece).unwrap_or(0);
            read.extend_from_slice(&piece[..count]);
            if count == 0 || read.ends_with(b"0\r\n\r\n") {
                return String::from_utf8(read).unwrap();
            }
        }
    }

    fn pieces(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn server_gives_replies_in_order_and_then_refuses() {
        let cut = Reply { pieces: pieces(&["ab", "c"]), end: End::Cut, ..Reply::plain(200, "") };
        let headers = vec![("location".to_owned(), "http://else/".to_owned())];
        let server = Server::start(vec![
            cut,
            Reply { headers, ..Reply::plain(307, "") },
            Reply::plain(200, "{}"),
        ]);
        let first = ask(&server, &json!({ "n": 1 }));
        assert!(first.ends_with("\r\n\r\n2\r\nab\r\n1\r\nc\r\n"), "{first}");
        assert!(ask(&server, &json!({})).contains("307 Scripted\r\n"));
        assert!(ask(&server, &json!({})).ends_with("\r\n\r\n2\r\n{}\r\n0\r\n\r\n"));
        assert!(ask(&server, &json!({})).starts_with("HTTP/1.1 400 "));
        let requests = server.requests();
        assert_eq!((requests.len(), server.left(), server.busiest()), (4, 0, 1));
        assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/v1/x?a=b"));
        assert_eq!((requests[0].header("x-key"), &requests[0].body), ("k", &json!({ "n": 1 })));
    }

    #[test]
    fn server_waits_at_its_gates() {
        let gated = |gate| Reply { pieces: pieces(&["a", "b"]), gate, ..Reply::plain(200, "") };
        let server = Server::start(vec![gated(Some(1)), gated(Some(0))]);
        for round in 1..=2 {
            thread::scope(|scope| {
                let asked = scope.spawn(|| ask(&server, &json!({})));
                server.wait_at_gate(round);
                assert!(!asked.is_finished());
                server.open();
                assert!(asked.join().unwrap().contains("1\r\na\r\n1\r\nb\r\n0\r\n"));
            });
        }
    }
}
