//! The plugin's requests over real sockets, each on its own thread, and only to this machine.
//!
//! HTTP/1.1 with one request per connection. The engine, in Luau, does what Studio adds or refuses
//! before a request is sent. Redirects are not followed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) struct Request {
    pub(crate) id: i64,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A response, or the failure in the engine's words.
pub(crate) type Outcome = Result<Response, String>;

/// Sends a request; its outcome arrives on the channel, even if no one waits for it any more.
pub(crate) fn send(request: Request, done: Sender<(i64, Outcome)>) {
    thread::spawn(move || {
        let outcome = perform(&request).map_err(|error| message(&error));
        // The receiver may already be gone.
        let _ = done.send((request.id, outcome));
    });
}

fn message(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "HttpError: ConnectFail".to_owned(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "HttpError: Timedout".to_owned(),
        io::ErrorKind::InvalidInput => error.to_string(),
        _ => "HttpError: NetFail".to_owned(),
    }
}

/// Splits an address into host with port, and path.
fn parts(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some((host, format!("{slash}{path}")))
}

fn perform(request: &Request) -> io::Result<Response> {
    let invalid = |text: &str| io::Error::new(io::ErrorKind::InvalidInput, text.to_owned());
    let deadline = Instant::now() + request.timeout;
    let (host, path) = parts(&request.url).ok_or_else(|| invalid("HttpError: InvalidUrl"))?;
    let address = host.to_socket_addrs()?.find(|address| address.ip().is_loopback());
    let address =
        address.ok_or_else(|| invalid("the simulated Studio reaches only this machine"))?;
    let mut stream = TcpStream::connect_timeout(&address, request.timeout)?;
    let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let headers: String = headers.collect();
    let head = format!(
        "{} {path} HTTP/1.1\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        request.method,
        request.body.len(),
    );
    stream.set_write_timeout(Some(request.timeout))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&request.body)?;
    read(&mut BufReader::new(Deadline { stream, deadline }), request.method == "HEAD")
}

/// A stream with one deadline for all reads, however slowly the data arrives.
struct Deadline {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for Deadline {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn read(reader: &mut impl BufRead, no_body: bool) -> io::Result<Response> {
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let first = line(reader)?;
    let mut words = first.splitn(3, ' ').skip(1);
    let status: u16 = words.next().and_then(|word| word.parse().ok()).ok_or_else(broken)?;
    let reason = words.next().unwrap_or_default().to_owned();
    let mut headers = vec![];
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(broken)?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if (100..200).contains(&status) {
        return read(reader, no_body);
    }
    let header = |wanted: &str| {
        headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    let mut body = vec![];
    if no_body || status == 204 || status == 304 {
        // There is no body.
    } else if header("transfer-encoding").is_some_and(|it| it.contains("chunked")) {
        chunks(reader, &mut body)?;
    } else if let Some(length) = header("content-length") {
        let length: u64 = length.parse().map_err(|_| broken())?;
        reader.take(length).read_to_end(&mut body)?;
        if body.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    } else {
        reader.read_to_end(&mut body)?;
    }
    Ok(Response { status, reason, headers, body })
}

fn chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let size = line(reader)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let before = body.len();
        reader.take(size).read_to_end(body)?;
        if (body.len() - before) as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line(reader)?;
        if size == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, expected: Option<(u16, &str)>) {
        let read = read(&mut BufReader::new(raw.as_bytes()), false).ok();
        let got = read.map(|it| (it.status, String::from_utf8(it.body).unwrap()));
        assert_eq!(got, expected.map(|(status, body)| (status, body.to_owned())));
    }

    #[test]
    fn responses_are_parsed_in_all_forms() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi rest", Some((200, "hi")));
        check("HTTP/1.1 404 Not Found\r\n\r\nrest", Some((404, "rest")));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=1\r\nd\r\n0\r\n\r\n";
        check(chunked, Some((200, "abcd")));
        check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", Some((204, "")));
        check("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", None);
        check("nonsense", None);
    }

    #[test]
    fn urls_are_split_into_host_and_path() {
        let check = |url, host: &str, path: &str| {
            assert_eq!(parts(url), Some((host.to_owned(), path.to_owned())));
        };
        check("http://127.0.0.1:80/a?b", "127.0.0.1:80", "/a?b");
        check("http://localhost", "localhost:80", "/");
        check("http://localhost:1?a", "localhost:1", "/?a");
        assert_eq!(parts("https://localhost"), None);
    }
}
