//! Tests of the transport against local servers that stall, break off, redirect, or ask to wait.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::*;
use crate::keys::{Credential, SecretKey};
use crate::request::SentImages;
use crate::wire::WireFormat;

const KEY: &str = "sk-never-shown";

/// The action of a server for one connection, after the request was read.
type Act = Box<dyn FnOnce(TcpStream) + Send>;

/// Starts a server that performs one action for each connection. Returns its URL and the received
/// requests.
fn server(acts: Vec<Act>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for act in acts {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = tell.send(request_of(&mut stream));
            thread::spawn(move || act(stream));
        }
    });
    (url, told)
}

/// Reads a request to the end of its body.
fn request_of(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let count = stream.read(&mut piece).unwrap();
        read.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(count > 0, "the request ended in its head: {text}");
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.unwrap().parse().unwrap() {
            return String::from_utf8(read).unwrap();
        }
    }
}

/// Answers, and closes the connection.
fn answer(text: &'static str) -> Act {
    Box::new(move |mut stream| stream.write_all(text.as_bytes()).unwrap())
}

/// Sends a text, then stays silent until the client disconnects.
fn hold(text: &'static str) -> Act {
    Box::new(move |mut stream| {
        stream.write_all(text.as_bytes()).unwrap();
        let _ = stream.read(&mut [0; 1]);
    })
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone";
const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";

/// Keeps the bytes that it receives. Every status except 200 is retryable, after `retry-after-ms`.
#[derive(Debug, Default)]
struct Kept {
    status: u16,
    after: Option<Duration>,
    text: String,
    fed: Option<mpsc::Sender<()>>,
}

impl ResponseReader for Kept {
    fn read_head(&mut self, status: u16, headers: &[(String, String)]) {
        self.status = status;
        let after = headers.iter().find(|(name, _)| name == "retry-after-ms");
        self.after = after.map(|(_, ms)| Duration::from_millis(ms.parse().unwrap()));
    }

    fn read_bytes(&mut self, bytes: &[u8]) -> bool {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        if let Some(fed) = &self.fed {
            let _ = fed.send(());
        }
        true
    }

    fn read_end(&mut self, cut: Option<&str>) -> RetryVerdict {
        RetryVerdict {
            is_ok: self.status == 200 && cut.is_none(),
            is_retryable: self.status >= 500 || cut.is_some(),
            retry_after: self.after,
            is_context_overflow: self.status == 400,
            reason: cut.map_or_else(|| format!("{}: {}", self.status, self.text), str::to_owned),
        }
    }
}

/// Limits that are short enough for tests.
const SHORT: WaitLimits = WaitLimits {
    first_byte: Duration::from_secs(20),
    stall: Duration::from_secs(20),
    notice_delays: [Duration::from_secs(15), Duration::from_secs(16)],
    retries: 3,
    first_pause: Duration::from_millis(1),
};

struct Ran {
    result: Result<HttpAnswer<Kept>, HttpError>,
    notices: Vec<HttpNotice>,
}

impl Ran {
    /// Everything that could be shown to a user.
    fn shown(&self) -> String {
        let error = self.result.as_ref().err().map(ToString::to_string);
        format!("{:?} {error:?} {:?}", self.result, self.notices)
    }
}

fn run(url: &str, waits: &WaitLimits, cancel: &CancelSwitch, fed: Option<mpsc::Sender<()>>) -> Ran {
    let request = ModelHttpRequest {
        url: format!("{url}/v1/messages"),
        wire: WireFormat::Anthropic,
        credential: Credential::Key(SecretKey::new(KEY)),
        body: b"{\"a\":1}".to_vec(),
        images: SentImages::default(),
    };
    let http = HttpClient::new(url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut notices = Vec::new();
    let reader = || Kept { fed: fed.clone(), ..Kept::default() };
    let mut notice = |it| notices.push(it);
    let result =
        runtime.block_on(http.send_with_retries(&request, waits, cancel, reader, &mut notice));
    Ran { result, notices }
}

fn sent(url: &str) -> Ran {
    run(url, &SHORT, &CancelSwitch::new(), None)
}

#[test]
fn request_is_sent_with_key_and_answered() {
    let (url, told) = server(vec![answer(OK)]);
    let answered = sent(&url).result.unwrap();
    assert!(answered.verdict.is_ok && answered.attempts == 1, "{answered:?}");
    assert_eq!((answered.reader.status, answered.reader.text.as_str()), (200, "done"));
    let request = told.recv().unwrap();
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("x-api-key: {KEY}\r\n")), "{request}");
    assert!(request.contains("anthropic-version: 2023-06-01\r\n"), "{request}");
    assert!(request.ends_with("{\"a\":1}"), "{request}");
}

#[test]
fn silence_before_first_byte_times_out_and_is_retried() {
    let (url, _told) = server(vec![hold(""), answer(OK)]);
    let waits = WaitLimits { first_byte: Duration::from_millis(300), ..SHORT };
    let ran = run(&url, &waits, &CancelSwitch::new(), None);
    assert_eq!(ran.result.as_ref().unwrap().attempts, 2);
    assert!(
        matches!(&ran.notices[..], [HttpNotice::Retrying { attempt: 1, .. }]),
        "{:?}",
        ran.notices
    );
    let (url, _told) = server(vec![hold("")]);
    let waits = WaitLimits { retries: 0, ..waits };
    let error = run(&url, &waits, &CancelSwitch::new(), None).result.unwrap_err();
    assert!(matches!(error, HttpError::TimedOut { .. }), "{error}");
    assert!(error.to_string().contains("first_byte_seconds"), "{error}");
}

#[test]
fn retry_after_delay_is_obeyed() {
    let busy = "HTTP/1.1 529 Busy\r\nretry-after-ms: 400\r\nContent-Length: 4\r\n\
                Connection: close\r\n\r\nbusy";
    let (url, _told) = server(vec![answer(busy), answer(OK)]);
    let begun = std::time::Instant::now();
    let ran = sent(&url);
    assert!(begun.elapsed() >= Duration::from_millis(400), "{:?}", begun.elapsed());
    let [HttpNotice::Retrying { attempt: 1, delay: after, reason }] = &ran.notices[..] else {
        panic!("{:?}", ran.notices)
    };
    assert!(*after >= Duration::from_millis(400), "{after:?}");
    assert_eq!(reason, "529: busy");
    assert!(ran.result.unwrap().verdict.is_ok);
}

#[test]
fn exhausted_retries_report_last_reason() {
    let busy = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy";
    let (url, told) = server((0..4).map(|_| answer(busy)).collect());
    let ran = sent(&url);
    let answered = ran.result.unwrap();
    assert_eq!((answered.attempts, answered.verdict.reason.as_str()), (4, "503: busy"));
    assert_eq!(told.iter().count(), 4);
}

#[test]
fn context_overflow_is_not_retried() {
    let long = "HTTP/1.1 400 Bad\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlong";
    let (url, _told) = server(vec![answer(long)]);
    let answered = sent(&url).result.unwrap();
    assert!(answered.verdict.is_context_overflow && answered.attempts == 1, "{answered:?}");
}

#[test]
fn broken_connection_is_retried_with_a_new_reader() {
    let (url, _told) = server(vec![answer(BEGUN), answer(OK)]);
    let ran = sent(&url);
    let [HttpNotice::Retrying { reason, .. }] = &ran.notices[..] else {
        panic!("{:?}", ran.notices)
    };
    assert!(reason.starts_with("the connection broke"), "{reason}");
    let answered = ran.result.unwrap();
    // The text from before the break is gone with its reader.
    assert_eq!((answered.reader.text.as_str(), answered.attempts), ("done", 2));
}

#[test]
fn stall_is_announced_and_then_times_out() {
    let (url, _told) = server(vec![hold(BEGUN)]);
    let (first, second) = (Duration::from_millis(50), Duration::from_millis(100));
    let stall = Duration::from_millis(300);
    let waits = WaitLimits { stall, notice_delays: [first, second], retries: 0, ..SHORT };
    let ran = run(&url, &waits, &CancelSwitch::new(), None);
    assert_eq!(ran.notices, [HttpNotice::Stalled(first), HttpNotice::Stalled(second)]);
    let answered = ran.result.unwrap();
    assert!(answered.verdict.reason.starts_with("no data arrived for"), "{answered:?}");
    assert_eq!(answered.reader.text, "half");
}

#[test]
fn request_can_be_cancelled_at_any_time() {
    // Before the request, while the server is silent, within an answer, and in a retry pause.
    let cancel = CancelSwitch::new();
    cancel.cancel();
    let (url, _told) = server(vec![]);
    assert_eq!(run(&url, &SHORT, &cancel, None).result.unwrap_err(), HttpError::Cancelled);
    let busy = "HTTP/1.1 503 Busy\r\nretry-after-ms: 60000\r\nContent-Length: 0\r\n\
                Connection: close\r\n\r\n";
    for (act, wait_for_bytes) in [(hold(""), false), (hold(BEGUN), true), (answer(busy), false)] {
        let (url, told) = server(vec![act]);
        let cancel = CancelSwitch::new();
        let (fed, came) = mpsc::channel();
        let switch = cancel.clone();
        let thrower = thread::spawn(move || {
            told.recv().unwrap();
            if wait_for_bytes {
                came.recv().unwrap();
            }
            switch.cancel();
        });
        let begun = std::time::Instant::now();
        let ran = run(&url, &SHORT, &cancel, Some(fed));
        assert_eq!(ran.result.unwrap_err(), HttpError::Cancelled);
        assert!(begun.elapsed() < Duration::from_secs(10));
        thrower.join().unwrap();
    }
}

#[test]
fn redirects_are_not_followed() {
    let (thief, seen) = server(vec![answer(OK)]);
    let text = format!("HTTP/1.1 307 Moved\r\nLocation: {thief}/v1\r\nContent-Length: 0\r\n\r\n");
    let (url, _told) = server(vec![answer(text.leak())]);
    let error = sent(&url).result.unwrap_err();
    assert!(matches!(error, HttpError::Redirected { status: 307, .. }), "{error}");
    assert!(error.to_string().contains("base_url"), "{error}");
    assert!(seen.try_recv().is_err());
}

#[test]
fn refused_connection_names_the_address_without_retry() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let ran = sent(&url);
    assert!(ran.notices.is_empty(), "{:?}", ran.notices);
    let error = ran.result.unwrap_err().to_string();
    assert!(error.starts_with("127.0.0.1:") && error.contains("refused"), "{error}");
}

#[test]
fn error_texts_never_contain_the_key() {
    let echo = format!(
        "HTTP/1.1 401 No\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        14 + KEY.len()
    );
    let echo: &'static str = format!("{echo}no such key: {KEY}!").leak();
    let busy: &'static str = echo.replace("401 No", "503 No").leak();
    let acts = vec![answer(busy), answer(busy), answer(BEGUN), answer(echo)];
    let (url, _told) = server(acts);
    let ran = sent(&url);
    assert_eq!(ran.notices.len(), 3);
    let answered = ran.result.as_ref().unwrap();
    assert_eq!(answered.verdict.reason, "401: no such key: ***!");
    // The reader has to scrub what it keeps itself.
    let shown = ran.shown().replace(&answered.reader.text, "");
    assert!(!shown.contains(KEY) && shown.contains("***"), "{shown}");
}
