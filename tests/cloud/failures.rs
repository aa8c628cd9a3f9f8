//! Every failure of every service becomes sentences that say what failed and what to do next.

use fake_cloud::{FakeCloud, Fault};
use vector_cloud::{CloudFailure, CloudFailureKind, CloudRequest, RetryPolicy};

use super::samples::{SampleRequest, prepare, samples};
use super::sender::run;

/// The message of the service, which may repeat a key.
const DETAIL: &str = "Something else";
/// How often a request is sent at most.
const ATTEMPTS: usize = 3;

/// A way to fail, with what comes of it.
struct FailureCase {
    name: &'static str,
    fault: Fault,
    kind: CloudFailureKind,
    /// What the message says of it.
    says: &'static str,
    /// Whether the service may have acted.
    is_open: bool,
}

fn case(
    name: &'static str,
    fault: Fault,
    kind: CloudFailureKind,
    says: &'static str,
    is_open: bool,
) -> FailureCase {
    FailureCase { name, fault, kind, says, is_open }
}

fn status_case(status: u16, kind: CloudFailureKind, says: &'static str) -> FailureCase {
    case(says, Fault::status(status, DETAIL), kind, says, status >= 500)
}

fn cases() -> Vec<FailureCase> {
    use CloudFailureKind::{
        Conflict, Forbidden, Invalid, NotFound, PaymentRequired, Server, TooMany, Unauthorized,
        Unreachable, Unreadable,
    };
    let limited = TooMany { retry_after: Some(std::time::Duration::from_secs(90)) };
    let redirect = Fault::Answer {
        status: 302,
        body: String::new(),
        headers: vec![("location", "https://example.com/".to_owned())],
    };
    let garbage =
        Fault::Answer { status: 200, body: "<html>oh</html>".to_owned(), headers: Vec::new() };
    vec![
        status_case(400, Invalid, "answered 400 (Something else)."),
        status_case(401, Unauthorized, "answered 401 (Something else)."),
        status_case(402, PaymentRequired, "answered 402 (Something else)."),
        status_case(403, Forbidden, "answered 403 (Something else)."),
        status_case(404, NotFound, "answered 404 (Something else)."),
        status_case(409, Conflict, "answered 409 (Something else)."),
        status_case(429, TooMany { retry_after: None }, "answered 429 (Something else)."),
        case("429 with headers", Fault::too_many(90), limited, "Try again in 90 s.", false),
        status_case(500, Server, "answered 500 (Something else)."),
        status_case(502, Server, "answered 502 (Something else)."),
        status_case(503, Server, "answered 503 (Something else)."),
        case("truncated", Fault::Truncate(2), Unreachable, "cannot be reached", true),
        case("redirect", redirect, Unreadable, "does not follow redirects", true),
        case("garbage", garbage, Unreadable, "cannot be read", true),
    ]
}

/// Whether a sentence says what to do.
fn is_next_step(sentence: &str) -> bool {
    const STEPS: [&str; 14] = [
        "Buy", "Change", "Check", "Choose", "Close", "Make", "Open", "Read", "Scale", "Set",
        "Start", "Try", "Update", "Wait",
    ];
    STEPS.contains(&sentence.split(' ').next().unwrap_or_default())
        || sentence.contains("; try again")
}

fn check_message(sample: &SampleRequest, case: &FailureCase, failure: &CloudFailure) {
    let (message, about) = (&failure.message, format!("{}, {}", sample.name, case.name));
    let CloudRequest { host, retry, .. } = &sample.request;
    assert_eq!(failure.kind, case.kind, "{about}: {message}");
    assert!(message.contains(host), "{about}: {message}");
    assert!(message.contains(case.says), "{about}: {message}");
    let sentences: Vec<&str> = message.split(". ").collect();
    let has_step = sentences.iter().skip(1).any(|it| is_next_step(it));
    assert!(has_step && message.ends_with('.'), "{about} says nothing to do: {message}");
    assert!(!message.contains("  ") && message.chars().count() < 500, "{about}: {message}");
    let is_open = case.is_open && *retry == RetryPolicy::Unprocessed;
    let says_open = message.contains("may have been completed");
    assert_eq!(says_open, is_open, "{about}: {message}");
    let key = sample.key.unwrap_or("no key");
    assert!(!message.contains(key), "{about}: {message}");
}

/// Lets a sample fail in every way.
fn fail_sample(sample: &SampleRequest) {
    let cloud = FakeCloud::start(Vec::new());
    prepare(&cloud);
    for case in cases() {
        // An answer that has no body cannot be cut or be other than expected.
        let is_empty = sample.name == "MeshyTaskId::delete_request";
        if is_empty && ["truncated", "garbage"].contains(&case.name) {
            continue;
        }
        for _ in 0..ATTEMPTS {
            cloud.fail_next(case.fault.clone());
        }
        let before = cloud.requests().len();
        let answer = run(&cloud, async |it| it.read(&sample.request, sample.key).await);
        let failure = answer.and_then(|body| (sample.read)(&body)).unwrap_err();
        let sent = cloud.requests().len() - before;
        cloud.clear_faults();
        check_message(sample, &case, &failure);
        let is_limit = matches!(failure.kind, CloudFailureKind::TooMany { retry_after: None });
        let is_repeated = failure.kind.is_passing()
            && case.name != "429 with headers"
            && (is_limit || sample.request.retry == RetryPolicy::Idempotent);
        let expected = if is_repeated { ATTEMPTS } else { 1 };
        assert_eq!(sent, expected, "{}, {}", sample.name, case.name);
    }
}

#[test]
fn every_failure_says_what_failed_and_what_to_do() {
    let samples = samples();
    // Most of the time is spent in the pauses before another attempt.
    std::thread::scope(|scope| {
        for sample in &samples {
            scope.spawn(|| fail_sample(sample));
        }
    });
}

#[test]
fn key_in_the_words_of_a_service_is_hidden() {
    let samples = samples();
    let cloud = FakeCloud::start(Vec::new());
    for sample in samples.iter().filter(|it| it.key.is_some()) {
        let key = sample.key.unwrap();
        cloud.fail_next(Fault::status(400, &format!("the key {key} is of another account")));
        let answer = run(&cloud, async |it| it.read(&sample.request, sample.key).await);
        let failure = answer.unwrap_err();
        assert!(failure.message.contains("the key *** is of another account"), "{failure}");
        assert!(!format!("{failure:?} {:?}", sample.request).contains(key), "{failure:?}");
    }
}
