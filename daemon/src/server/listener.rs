//! Connections: accepts them, serves HTTP/1.1 on them, and keeps little memory for each.
//!
//! Hyper is used directly and not through `axum::serve`, which first reads a few bytes to detect
//! HTTP/2. These make hyper's buffer grow to twice its size, on every connection that is open.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use scene_schemas::api::{Failure, FailureKind};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;
use tower_service::Service;

use super::response::ApiError;
use super::router::build_router;
use super::{AppState, auth};
use crate::failure::failure;

/// The time within which the head of a request has to arrive, and for which a connection may be
/// idle.
pub(super) const HEAD: Duration = Duration::from_mins(1);
/// The maximum size of a head, in bytes, and of a single read of a body.
const MAX_HEAD: usize = 32 << 10;
/// The bytes of a header beside its name and value: a colon, a space and the line ending.
const HEADER_END: usize = 4;
/// The time for which open connections are waited for at the end.
const ENDS: Duration = Duration::from_secs(5);
/// The pause after a connection could not be accepted, for example because there are too many open
/// files.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until `ends` completes. Open connections then end after their current
/// response.
pub(super) async fn serve_connections(
    listener: TcpListener,
    app: &AppState,
    head: Duration,
    ends: impl Future<Output = ()> + Send,
) {
    let mut http = Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD);
    let (router, port) = (build_router(app), app.port);
    // Each connection holds a receiver, which notifies it of the end and counts it.
    let (closing, open) = watch::channel(());
    let mut ends = pin!(ends);
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = &mut ends => break,
        };
        match taken {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(serve_connection(http.clone(), stream, router, port, open.clone()));
            }
            // The client disconnected before it was accepted.
            Err(error) if is_client_error(&error) => {}
            Err(_) => tokio::select! {
                () = sleep(PAUSE) => {}
                () = &mut ends => break,
            },
        }
    }
    drop((listener, open));
    // `closed` completes when all connections have ended. A client that holds a stream may not end
    // in time.
    let _ = closing.send(());
    let _ = tokio::time::timeout(ENDS, closing.closed()).await;
}

/// Whether accepting failed because of that connection only, so that the next may succeed.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Returns the size of a request's head as it was sent.
fn head_size<B>(request: &hyper::Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_END);
    target + headers.sum::<usize>()
}

/// Checks what precedes the routing: the size of the head, and the authority in the request target.
fn check_head<B>(request: &hyper::Request<B>, port: u16) -> Result<(), Failure> {
    // Hyper limits its buffer, which may be larger than the limit on the head.
    if head_size(request) > MAX_HEAD {
        let message = format!("The head of the request exceeds {MAX_HEAD} bytes.");
        let hint = "Send fewer or shorter headers, and long values in the body.";
        return Err(failure(FailureKind::TooLarge, message, hint));
    }
    auth::check_target(request.uri(), port)
}

/// Serves the requests of one connection.
async fn serve_connection(
    http: Builder,
    stream: TcpStream,
    router: Router,
    port: u16,
    mut closing: watch::Receiver<()>,
) {
    // A response is usually one write, and the events of a stream must not be delayed.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut router = router.clone();
        async move {
            match check_head(&request, port) {
                Ok(()) => router.call(request.map(Body::new)).await,
                Err(failure) => Ok::<_, Infallible>(ApiError(failure).into_response()),
            }
        }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    // Errors of a connection, such as a disconnection or a request that is not HTTP, are ignored.
    tokio::select! {
        _ = &mut connection => return,
        _ = closing.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::path::Path;
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::super::mcp::McpHttp;
    use super::*;
    use crate::daemon::DaemonHandle;
    use crate::event_hub::{EventHub, TokenHash};

    const SOON: Duration = Duration::from_secs(20);

    /// Runs a server while `run` uses it. The server must then end by itself.
    fn serving(head: Duration, run: impl FnOnce(SocketAddr, oneshot::Sender<()>)) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let event_hub = Arc::new(EventHub::new(TokenHash::of_token("token")));
        let (daemon, _home) = DaemonHandle::for_tests(&event_hub);
        let mcp = Arc::new(McpHttp::new(&event_hub, &daemon, Path::new("no such file"), HEAD));
        let app = AppState::new(address.port(), Arc::clone(&event_hub), daemon, mcp, head);
        let (end, ended) = oneshot::channel();
        let ends = async move {
            let _ = ended.await;
            event_hub.close();
        };
        let served =
            runtime.spawn(async move { serve_connections(listener, &app, head, ends).await });
        run(address, end);
        let over = runtime.block_on(async { tokio::time::timeout(SOON, served).await });
        over.expect("it ends").unwrap();
    }

    fn connect(address: SocketAddr, said: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
    }

    fn all(mut stream: TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("the connection ends");
        text
    }

    #[test]
    fn slow_request_head_ends_only_its_own_connection() {
        serving(Duration::from_millis(200), |address, _end| {
            let slow = connect(address, "GET /health HTTP/1.1\r\nHost: ");
            let host = format!("Host: {address}\r\nConnection: close\r\n\r\n");
            let quick = connect(address, &format!("GET /health HTTP/1.1\r\n{host}"));
            assert!(all(quick).starts_with("HTTP/1.1 200"));
            assert!(!all(slow).contains("200"));
        });
    }

    #[test]
    fn endless_request_head_ends_its_connection() {
        serving(HEAD, |address, _end| {
            let mut stream = connect(address, "GET /health HTTP/1.1\r\n");
            let line = format!("X: {}\r\n", "a".repeat(1_000));
            while stream.write_all(line.as_bytes()).is_ok() {}
        });
    }

    #[test]
    fn only_request_heads_over_the_limit_are_refused() {
        serving(HEAD, |address, _end| {
            let ask = |bytes: usize| {
                let host = format!("Host: {address}\r\nConnection: close\r\n");
                let long = format!("X: {}\r\n\r\n", "a".repeat(bytes));
                let said = format!("GET /health HTTP/1.1\r\n{host}{long}");
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(SOON)).unwrap();
                // The request may be refused before all of it was sent.
                let _ = stream.write_all(said.as_bytes());
                let mut text = String::new();
                let _ = stream.read_to_string(&mut text);
                text
            };
            assert!(ask(30 << 10).starts_with("HTTP/1.1 200"));
            for bytes in [MAX_HEAD, 40_000, 60_000] {
                let text = ask(bytes);
                assert!(!text.starts_with("HTTP/1.1 200"), "{bytes}: {text}");
            }
            let refused = ask(MAX_HEAD);
            assert!(
                refused.starts_with("HTTP/1.1 413") && refused.contains("too_large"),
                "{refused}"
            );
        });
    }

    /// The body arrives byte by byte, each in time, and never ends.
    #[test]
    fn unfinished_body_is_answered_with_request_timeout() {
        for path in ["/api/chat", "/mcp"] {
            serving(Duration::from_millis(300), |address, _end| {
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer token\r\n\
                     Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                     Content-Length: 100000\r\n\r\n"
                );
                let mut slow = connect(address, &head);
                let mut writer = slow.try_clone().unwrap();
                std::thread::spawn(move || {
                    while writer.write_all(b" ").is_ok() {
                        std::thread::yield_now();
                        if writer.take_error().is_ok_and(|it| it.is_some()) {
                            break;
                        }
                        std::thread::park_timeout(Duration::from_millis(20));
                    }
                });
                let mut answer = [0; 12];
                slow.read_exact(&mut answer)
                    .expect("it is answered although the body does not exist");
                assert_eq!(&answer, b"HTTP/1.1 408", "{path}");
            });
        }
    }

    #[test]
    fn held_request_is_answered_at_shutdown() {
        serving(HEAD, |address, end| {
            let head = format!("Host: {address}\r\nAuthorization: Bearer token\r\n\r\n");
            let held = connect(address, &format!("GET /api/stream?hold=15 HTTP/1.1\r\n{head}"));
            let mut idle = connect(address, &format!("GET /health HTTP/1.1\r\n{head}"));
            // Once this is answered, the connection before it was accepted as well.
            idle.read_exact(&mut [0; 15]).unwrap();
            end.send(()).unwrap();
            assert!(all(held).starts_with("HTTP/1.1 200"));
            all(idle);
        });
    }
}
