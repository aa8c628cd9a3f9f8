//! Tests with a local server, names that resolve to any address, and addresses that must not be
//! requested.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Response as Answer, header as names};
use axum::routing::get;

use super::*;

/// Starts a local server. Returns its port and a counter of its requests.
async fn served() -> (u16, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let answer = |status: u16, pairs: &[(HeaderName, &str)], body: Vec<u8>| {
        let mut answer = Answer::builder().status(status);
        for (name, value) in pairs {
            answer = answer.header(name, *value);
        }
        answer.body(Body::from(body)).unwrap()
    };
    let to = move |place: &str| answer(302, &[(names::LOCATION, place)], vec![]);
    let typed =
        move |kind: &str, body: &[u8]| answer(200, &[(names::CONTENT_TYPE, kind)], body.to_vec());
    let html = "<title>T</title><p>Hello</p><script>x</script>";
    let long = vec![b'a'; MAX_BODY + 10];
    let router = Router::new()
        .route(
            "/page",
            get(move || async move { typed("text/html; charset=utf-8", html.as_bytes()) }),
        )
        .route(
            "/latin",
            get(move || async move { typed("text/plain; charset=ISO-8859-1", b"caf\xe9") }),
        )
        .route("/json", get(move || async move { typed("application/ld+json", b"{\"a\": 1}") }))
        .route("/none", get(move || async move { answer(200, &[], b"plain".to_vec()) }))
        .route("/null", get(move || async move { answer(200, &[], b"a\0b".to_vec()) }))
        .route("/picture", get(move || async move { typed("image/png", b"abc") }))
        .route(
            "/packed",
            get(move || async move { answer(200, &[(names::CONTENT_ENCODING, "gzip")], vec![]) }),
        )
        .route("/long", get(move || async move { typed("text/plain", &long) }))
        .route("/gone", get(move || async move { answer(410, &[], vec![]) }))
        .route("/on", get(move || async move { to("page?a=b") }))
        .route("/round", get(move || async move { to("/round") }))
        .route("/nowhere", get(move || async move { answer(301, &[], vec![]) }))
        .route("/inside", get(move || async move { to("http://192.168.0.1/admin") }))
        .route("/metadata", get(move || async move { to("http://inner.test/latest/meta-data") }))
        .route("/file", get(move || async move { to("file:///etc/passwd") }))
        .route("/never", get(std::future::pending::<String>));
    let counted = Arc::clone(&asked);
    let router =
        router.layer(axum::middleware::map_request(move |request: axum::extract::Request| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::ready(request)
        }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (port, asked)
}

/// The names and addresses of these tests.
fn lookup() -> NameLookup {
    Arc::new(|name| {
        let found: Vec<IpAddr> = match name.as_str() {
            "here.test" => vec![[10, 0, 0, 1].into(), [127, 0, 0, 1].into()],
            "inner.test" => vec![[169, 254, 169, 254].into()],
            "mapped.test" => vec!["::ffff:10.0.0.1".parse().unwrap()],
            "both.test" => vec![[192, 168, 1, 1].into(), "fd00::1".parse().unwrap()],
            _ => vec![],
        };
        Box::pin(std::future::ready(Ok(found)))
    })
}

fn web(reach: AddressPolicy) -> PageReader {
    PageReader::with_lookup(reach, lookup(), Duration::from_secs(5)).unwrap()
}

#[tokio::test]
async fn pages_are_fetched_as_text() {
    let (port, _) = served().await;
    let web = web(AddressPolicy::PublicAndLoopback);
    let read = async |path: &str| {
        web.fetch_page(&format!("http://here.test:{port}{path}"), &CancelSwitch::new())
            .await
            .unwrap()
    };
    let page = read("/page#part").await;
    assert_eq!((page.page.title.as_str(), page.page.text.as_str()), ("T", "Hello"));
    assert!(page.fenced_text().contains(&format!("data from http://here.test:{port}/page#part.")));
    assert_eq!(read("/latin").await.page.text, "café");
    assert_eq!(read("/json").await.page.text, "{\"a\": 1}");
    assert_eq!(read("/none").await.page.text, "plain");
    let followed = read("/on").await;
    assert_eq!(followed.address, format!("http://here.test:{port}/page?a=b"));
    let long = read("/long").await.page;
    assert_eq!((long.text.len(), long.is_cut), (MAX_TEXT, true));
    let literal = format!("http://127.0.0.1:{port}/none");
    assert_eq!(web.fetch_page(&literal, &CancelSwitch::new()).await.unwrap().page.text, "plain");
}

#[tokio::test]
async fn unreadable_pages_are_refused_with_a_reason() {
    let (port, _) = served().await;
    let web = web(AddressPolicy::PublicAndLoopback);
    for (path, part) in [
        ("/gone", "answered 410"),
        ("/picture", "is image/png, and only text"),
        ("/packed", "packed as gzip"),
        ("/null", "is binary"),
        ("/round", "redirects more than 5 times"),
        ("/inside", "192.168.0.1 is in a private network"),
        ("/metadata", "inner.test is link-local"),
        ("/file", "file: is neither"),
    ] {
        let address = format!("http://127.0.0.1:{port}{path}");
        let error = web.fetch_page(&address, &CancelSwitch::new()).await.unwrap_err().to_string();
        assert!(error.contains(part), "{path}: {error}");
    }
    // A redirect without a target leads to itself.
    let address = format!("http://127.0.0.1:{port}/nowhere");
    assert!(web.fetch_page(&address, &CancelSwitch::new()).await.is_err());
    let error = web.fetch_page("http://nobody.test/", &CancelSwitch::new()).await.unwrap_err();
    assert!(matches!(error, WebError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn only_public_addresses_are_requested() {
    let (port, asked) = served().await;
    let web = web(AddressPolicy::Public);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::]",
        "0.0.0.0",
        "10.1.2.3",
        "172.31.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[2001::1]",
        "[fec0::1]",
        "here.test",
        "inner.test",
        "mapped.test",
        "both.test",
    ] {
        let error =
            web.fetch_page(&format!("http://{host}/page"), &CancelSwitch::new()).await.unwrap_err();
        assert!(matches!(error, WebError::NotPublic { .. }), "{host}: {error:?}");
    }
    for (address, part) in [
        (format!("http://here.test:{port}/page"), "neither 80 nor 443"),
        ("https://8.8.8.8:22/".into(), "port 22 is neither 80 nor 443"),
        ("ftp://8.8.8.8/".into(), "ftp: is neither http: nor https:"),
        ("https://me:secret@8.8.8.8/".into(), "a name or password"),
        ("example.com".into(), "relative URL without a base"),
        ("https://".into(), "empty host"),
        ("javascript:alert(1)".into(), "neither http: nor https:"),
        (String::new(), "relative URL without a base"),
    ] {
        let error = web.fetch_page(&address, &CancelSwitch::new()).await.unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("secret"), "{address}: {error}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn public_addresses_are_distinguished_from_others() {
    for ip in [
        "8.8.8.8",
        "172.15.0.1",
        "172.32.0.1",
        "100.128.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
    ] {
        assert_eq!(non_public_reason(ip.parse().unwrap()), None, "{ip}");
    }
    for ip in [
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "198.19.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "240.0.0.1",
        "64:ff9b:1::1",
        "100::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "2001:20::1",
    ] {
        assert!(non_public_reason(ip.parse().unwrap()).is_some(), "{ip}");
    }
}

#[tokio::test]
async fn fetch_ends_on_timeout_or_cancellation() {
    let (port, _) = served().await;
    let address = format!("http://127.0.0.1:{port}/never");
    let quick = Duration::from_millis(50);
    let hasty = PageReader::with_lookup(AddressPolicy::PublicAndLoopback, lookup(), quick).unwrap();
    let error = hasty.fetch_page(&address, &CancelSwitch::new()).await.unwrap_err();
    assert!(matches!(error, WebError::Slow { .. }), "{error:?}");
    let (cancel, web) = (CancelSwitch::new(), web(AddressPolicy::PublicAndLoopback));
    let thrown = cancel.clone();
    let (ended, ()) = tokio::join!(web.fetch_page(&address, &cancel), async { thrown.cancel() });
    assert_eq!(ended, Err(WebError::Cancelled));
    assert_eq!(web.fetch_page(&address, &cancel).await, Err(WebError::Cancelled));
}
