//! The connections: each is taken, spoken HTTP/1.1 with, and ended, with as little kept of it as can be.
//!
//! Hyper is used as it is and not through `axum::serve`, which first reads a few bytes to tell HTTP/2
//! apart: they make hyper's buffer grow to twice its size, on every connection that is held.

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

/// How long the head of a request may be on its way, and a connection may say nothing.
pub(super) const HEAD: Duration = Duration::from_mins(1);
/// The longest head, in bytes, and the most that is read of a body at once.
const MAX_HEAD: usize = 32 << 10;
/// What a header has beside its name and its value: a colon, a blank and the end of the line.
const HEADER_END: usize = 4;
/// How long those that are open are waited for in the end.
const ENDS: Duration = Duration::from_secs(5);
/// How long nobody is taken after no connection could be, when files ran out for example.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until `ends` is there; then those that are open end with what they are answered.
pub(super) async fn serve_connections(
    listener: TcpListener,
    app: &AppState,
    head: Duration,
    ends: impl Future<Output = ()> + Send,
) {
    let mut http = Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(MAX_HEAD);
    let (router, port) = (build_router(app), app.port);
    // Each connection listens here for the end, and is counted by it.
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
            // Whoever came went again.
            Err(error) if is_client_error(&error) => {}
            Err(_) => tokio::select! {
                () = sleep(PAUSE) => {}
                () = &mut ends => break,
            },
        }
    }
    drop((listener, open));
    // Nobody listens any more when all have ended. A client that holds a stream may not.
    let _ = closing.send(());
    let _ = tokio::time::timeout(ENDS, closing.closed()).await;
}

/// Whether a connection could not be taken because of itself; the next one may be.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// How long the head of a request is, as it was sent.
fn head_size<B>(request: &hyper::Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_END);
    target + headers.sum::<usize>()
}

/// Checks what comes before the route: the size of the head, and the server that its first line names.
fn check_head<B>(request: &hyper::Request<B>, port: u16) -> Result<(), Failure> {
    // Hyper bounds what it buffers, which may be more than the head.
    if head_size(request) > MAX_HEAD {
        let message = format!("The head of the request is longer than {MAX_HEAD} bytes.");
        let hint = "Send fewer or shorter headers, and what is long in the body.";
        return Err(failure(FailureKind::TooLarge, message, hint));
    }
    auth::check_target(request.uri(), port)
}

/// Answers what comes over one connection.
async fn serve_connection(
    http: Builder,
    stream: TcpStream,
    router: Router,
    port: u16,
    mut closing: watch::Receiver<()>,
) {
    // An answer is one write as a rule; a stream's events must not wait for each other.
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
    // Whoever breaks the connection off, or does not speak HTTP, hears nothing of it from here.
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

    /// A server, for as long as `run` speaks with it; then it ends, and has to end by itself.
    fn serving(head: Duration, run: impl FnOnce(SocketAddr, oneshot::Sender<()>)) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let event_hub = Arc::new(EventHub::new(TokenHash::of_token("token")));
        let (daemon, _home) = DaemonHandle::without_daemon(&event_hub);
        let mcp = Arc::new(McpHttp::new(&event_hub, &daemon, Path::new("no such file"), HEAD));
        let app = AppState {
            port: address.port(),
            event_hub: Arc::clone(&event_hub),
            daemon,
            mcp,
            body_timeout: head,
        };
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
    fn a_head_that_does_not_come_ends_its_connection_alone() {
        serving(Duration::from_millis(200), |address, _end| {
            let slow = connect(address, "GET /health HTTP/1.1\r\nHost: ");
            let host = format!("Host: {address}\r\nConnection: close\r\n\r\n");
            let quick = connect(address, &format!("GET /health HTTP/1.1\r\n{host}"));
            assert!(all(quick).starts_with("HTTP/1.1 200"));
            assert!(!all(slow).contains("200"));
        });
    }

    #[test]
    fn a_head_without_end_is_refused() {
        serving(HEAD, |address, _end| {
            let mut stream = connect(address, "GET /health HTTP/1.1\r\n");
            let line = format!("X: {}\r\n", "a".repeat(1_000));
            while stream.write_all(line.as_bytes()).is_ok() {}
        });
    }

    #[test]
    fn a_head_over_the_limit_is_refused_and_one_below_is_not() {
        serving(HEAD, |address, _end| {
            let ask = |bytes: usize| {
                let host = format!("Host: {address}\r\nConnection: close\r\n");
                let long = format!("X: {}\r\n\r\n", "a".repeat(bytes));
                let said = format!("GET /health HTTP/1.1\r\n{host}{long}");
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(SOON)).unwrap();
                // It may be refused before all of it was sent.
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

    /// A byte comes in time, again and again, and the body never ends.
    #[test]
    fn a_body_that_does_not_come_ends_its_connection() {
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
                    .expect("it is answered although the body is not there");
                assert_eq!(&answer, b"HTTP/1.1 408", "{path}");
            });
        }
    }

    #[test]
    fn what_is_held_is_answered_at_the_end() {
        serving(HEAD, |address, end| {
            let head = format!("Host: {address}\r\nAuthorization: Bearer token\r\n\r\n");
            let held = connect(address, &format!("GET /api/stream?hold=15 HTTP/1.1\r\n{head}"));
            let mut idle = connect(address, &format!("GET /health HTTP/1.1\r\n{head}"));
            // It has been taken when it is answered, and the one before it too.
            idle.read_exact(&mut [0; 15]).unwrap();
            end.send(()).unwrap();
            assert!(all(held).starts_with("HTTP/1.1 200"));
            all(idle);
        });
    }
}
