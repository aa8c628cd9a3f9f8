//! Luau execution: a task from its start to its logs, its binary input, and its limits.

use bytes::Bytes;
use fake_cloud::{API_KEY, FakeCloud, Fault, LuauOutcome, TaskPathShape};
use serde_json::json;
use vector_cloud::{
    BinaryInputStart, CloudFailure, CloudFailureKind, LuauErrorCode, LuauLogLevel, LuauLogPage,
    LuauTask, LuauTaskPath, LuauTaskStart, LuauTaskState,
};

use super::sender::{run, send};

const UNIVERSE: u64 = 30;
const PLACE: u64 = 40;

fn cloud() -> FakeCloud {
    let cloud = FakeCloud::start(Vec::new());
    cloud.add_places(UNIVERSE, &[PLACE]);
    cloud
}

fn script(text: &str) -> LuauTaskStart {
    LuauTaskStart {
        universe: UNIVERSE,
        place: PLACE,
        version: None,
        script: text.to_owned(),
        timeout_seconds: 60,
        binary_input: None,
    }
}

fn start(cloud: &FakeCloud, task: &LuauTaskStart) -> Result<LuauTask, CloudFailure> {
    LuauTask::read_started(&send(cloud, &task.request()?, API_KEY)?)
}

fn read(cloud: &FakeCloud, path: &LuauTaskPath) -> LuauTask {
    LuauTask::read(&send(cloud, &path.task_request(), API_KEY).unwrap()).unwrap()
}

fn logs(cloud: &FakeCloud, path: &LuauTaskPath) -> LuauLogPage {
    LuauLogPage::read(&send(cloud, &path.logs_request(None), API_KEY).unwrap()).unwrap()
}

#[test]
fn task_of_every_path_shape_is_followed_to_its_logs() {
    let cloud = cloud();
    for shape in TaskPathShape::ALL {
        cloud.add_luau_outcome(LuauOutcome {
            shape,
            logs: vec![["OUTPUT", "one"], ["ERROR", "two"]],
            ..LuauOutcome::complete(vec![json!({ "passes": 3 })])
        });
        let started = start(&cloud, &script("return 1")).unwrap();
        assert_eq!(started.state, LuauTaskState::Queued);
        assert!(logs(&cloud, &started.path).messages.is_empty(), "{shape:?}: not finished yet");
        assert_eq!(read(&cloud, &started.path).state, LuauTaskState::Processing);
        let done = read(&cloud, &started.path);
        assert_eq!(
            (done.state, done.results),
            (LuauTaskState::Complete, vec![json!({ "passes": 3 })])
        );
        assert_eq!(read(&cloud, &started.path).state, LuauTaskState::Complete);
        let logs = logs(&cloud, &started.path);
        let found: Vec<(LuauLogLevel, &str)> =
            logs.messages.iter().map(|it| (it.level, it.text.as_str())).collect();
        assert_eq!(found, [(LuauLogLevel::Output, "one"), (LuauLogLevel::Error, "two")]);
    }
    let started = cloud.luau_tasks();
    assert_eq!(started.len(), TaskPathShape::ALL.len());
    assert_eq!((started[0].version, started[0].timeout.as_str()), (None, "60s"));
}

#[test]
fn logs_of_several_pages_are_read_in_their_order() {
    let cloud = cloud();
    let logs = vec![["INFO", "line"]; 10_001];
    let states = vec!["COMPLETE"];
    cloud.add_luau_outcome(LuauOutcome { states, logs, ..LuauOutcome::complete(Vec::new()) });
    let started = start(&cloud, &script("")).unwrap();
    assert!(started.state.is_final());
    let (mut found, mut page) = (0, None::<String>);
    loop {
        let request = started.path.logs_request(page.as_deref());
        let listed = LuauLogPage::read(&send(&cloud, &request, API_KEY).unwrap()).unwrap();
        found += listed.messages.len();
        page = listed.next_page;
        if page.is_none() {
            break;
        }
    }
    assert_eq!(found, 10_001);
}

#[test]
fn failed_task_says_why() {
    let cloud = cloud();
    cloud.add_luau_outcome(LuauOutcome::failed("SCRIPT_ERROR", "TaskScript:1: oh"));
    let path = start(&cloud, &script("error('oh')")).unwrap().path;
    read(&cloud, &path);
    let failed = read(&cloud, &path);
    let error = failed.error.unwrap();
    assert_eq!(failed.state, LuauTaskState::Failed);
    assert_eq!(
        (error.code, error.message.as_str()),
        (LuauErrorCode::ScriptError, "TaskScript:1: oh")
    );
}

#[test]
fn pinned_task_gets_its_binary_input() {
    let cloud = cloud();
    let unknown = start(&cloud, &LuauTaskStart { version: Some(7), ..script("") }).unwrap_err();
    assert!(unknown.message.contains("Check the ids"), "{unknown}");
    let bytes = Bytes::from(vec![0_u8, 255, 10, 13]);
    let announced = BinaryInputStart { universe: UNIVERSE, size: bytes.len() };
    let answer = send(&cloud, &announced.request().unwrap(), API_KEY).unwrap();
    let input = announced.read(&answer).unwrap();
    let wrong = Bytes::from_static(b"longer");
    let failure =
        run(&cloud, async |it| it.upload(&input.upload_location, wrong).await).unwrap_err();
    assert!(failure.message.contains("not the one that was announced"), "{failure}");
    assert!(!failure.message.contains("signature"), "{failure}");
    let task = LuauTaskStart { binary_input: Some(input.path.clone()), ..script("return 1") };
    let early = start(&cloud, &task).unwrap_err();
    assert!(early.message.contains("binary input, which is valid for 15 minutes"), "{early}");
    cloud.fail_next(Fault::status(503, "Slow down"));
    let location = &input.upload_location;
    run(&cloud, async |it| it.upload(location, bytes.clone()).await).unwrap();
    start(&cloud, &task).unwrap();
    let tasks = cloud.luau_tasks();
    assert_eq!(tasks[0].binary_input, Some(bytes));
    let keys: Vec<bool> =
        cloud.requests().iter().filter(|it| it.method == "PUT").map(|it| it.has_key).collect();
    assert_eq!(keys, [false; 3], "the key does not leave Roblox");
}

#[test]
fn eleventh_unfinished_task_is_refused_until_one_finishes() {
    let cloud = cloud();
    let states = vec!["QUEUED", "CANCELLED"];
    cloud.add_luau_outcome(LuauOutcome { states, ..LuauOutcome::complete(Vec::new()) });
    let first = start(&cloud, &script("")).unwrap().path;
    for _ in 1..10 {
        start(&cloud, &script("")).unwrap();
    }
    let refused = start(&cloud, &script("")).unwrap_err();
    // The limit of requests has some left, so its reset is not the delay.
    assert_eq!(refused.kind, CloudFailureKind::TooMany { retry_after: None });
    assert!(refused.message.contains("at most 10 unfinished tasks"), "{refused}");
    assert_eq!(read(&cloud, &first).state, LuauTaskState::Cancelled);
    start(&cloud, &script("")).unwrap();
}

#[test]
fn start_whose_answer_is_lost_is_not_sent_again() {
    let cloud = cloud();
    for fault in [Fault::Truncate(5), Fault::status(502, "Bad gateway")] {
        let before = cloud.requests().len();
        cloud.fail_next(fault);
        let lost = start(&cloud, &script("")).unwrap_err();
        assert!(lost.message.contains("may have been completed"), "{lost}");
        assert_eq!(cloud.requests().len() - before, 1);
    }
    cloud.fail_next(Fault::too_many(1));
    start(&cloud, &script("")).unwrap();
    cloud.fail_next(Fault::too_many(90));
    let later = start(&cloud, &script("")).unwrap_err();
    assert!(later.message.contains("Try again in 90 s"), "{later}");
    assert_eq!(cloud.luau_tasks().len(), 2, "the truncated answer was to a task that started");
    cloud.add_key("key-that-only-publishes", &["universe-places:write"]);
    let request = script("").request().unwrap();
    let refused = send(&cloud, &request, "key-that-only-publishes").unwrap_err();
    assert!(refused.message.contains("luau-execution-session:write"), "{refused}");
}
