//! Meshy: a model from its text to its file, what it costs, and what becomes of each refusal.

use fake_cloud::{FakeCloud, Fault, MESHY_KEY, MeshyOutcome, sample_glb};
use vector_cloud::{
    CloudFailure, CloudFailureKind, MESHY_TEST_KEY, MeshyBalance, MeshyModel, MeshyPreview,
    MeshyRefine, MeshyState, MeshyTask, MeshyTaskId,
};

use super::sender::{run, send};

fn preview() -> MeshyPreview {
    MeshyPreview {
        prompt: "a tree".to_owned(),
        model: MeshyModel::Meshy6,
        is_low_poly: false,
        polygons: Some(2_000),
    }
}

fn start(cloud: &FakeCloud, wanted: &MeshyPreview, key: &str) -> Result<MeshyTaskId, CloudFailure> {
    MeshyTaskId::read_started(&send(cloud, &wanted.request()?, key)?)
}

fn read(cloud: &FakeCloud, id: &MeshyTaskId) -> MeshyTask {
    MeshyTask::read(&send(cloud, &id.task_request(), MESHY_KEY).unwrap()).unwrap()
}

fn balance(cloud: &FakeCloud) -> u64 {
    MeshyBalance.read(&send(cloud, &MeshyBalance.request(), MESHY_KEY).unwrap()).unwrap()
}

#[test]
fn model_is_previewed_refined_and_downloaded() {
    let cloud = FakeCloud::start(Vec::new());
    let first = balance(&cloud);
    let wanted = preview();
    let id = start(&cloud, &wanted, MESHY_KEY).unwrap();
    assert_eq!(balance(&cloud), first - u64::from(wanted.credits()));
    let refine = MeshyRefine { preview: id.clone(), has_pbr: true, texture_prompt: None };
    let early = send(&cloud, &refine.request().unwrap(), MESHY_KEY).unwrap_err();
    assert!(early.message.contains("The preview task has not succeeded"), "{early}");
    let states = [(); 4].map(|()| read(&cloud, &id)).map(|it| (it.state, it.progress));
    let done = (MeshyState::Succeeded, 100);
    assert_eq!(states, [(MeshyState::Pending, 0), (MeshyState::InProgress, 66), done, done]);
    let refined = send(&cloud, &refine.request().unwrap(), MESHY_KEY).unwrap();
    let refined = MeshyTaskId::read_started(&refined).unwrap();
    assert_eq!(balance(&cloud), first - 20 - u64::from(MeshyRefine::CREDITS));
    for _ in 0..2 {
        assert!(!read(&cloud, &refined).state.is_final());
    }
    let task = read(&cloud, &refined);
    assert_eq!((task.state, task.consumed_credits), (MeshyState::Succeeded, Some(10)));
    let location = task.glb_location.unwrap();
    let file = run(&cloud, async |it| it.download(&location, 1 << 20).await).unwrap();
    assert_eq!(file, sample_glb());
    let length = u32::from_le_bytes(file[8..12].try_into().unwrap());
    assert!(file.starts_with(b"glTF") && length as usize == file.len());
    let picture = task.thumbnail_location.unwrap();
    assert!(run(&cloud, async |it| it.download(&picture, 1 << 20).await).is_ok());
    let requests = cloud.requests();
    let seen = requests.iter().rfind(|it| it.target.contains("assets.meshy.ai")).unwrap();
    assert!(!seen.has_key, "the key does not leave Meshy");
    let started = requests.iter().find(|it| it.method == "POST").unwrap();
    assert!(started.headers.contains(&"authorization".to_owned()), "{:?}", started.headers);
    assert!(!started.headers.contains(&"x-api-key".to_owned()), "{:?}", started.headers);
}

#[test]
fn failed_and_canceled_tasks_say_so() {
    let cloud = FakeCloud::start(Vec::new());
    let states = vec!["IN_PROGRESS", "FAILED"];
    cloud.add_meshy_outcome(MeshyOutcome { states, error: "The prompt is not allowed" });
    cloud.add_meshy_outcome(MeshyOutcome { states: vec!["CANCELED"], error: "" });
    let failed = start(&cloud, &preview(), MESHY_KEY).unwrap();
    read(&cloud, &failed);
    let task = read(&cloud, &failed);
    assert_eq!(task.state, MeshyState::Failed);
    assert_eq!(
        (task.error.as_deref(), task.glb_location),
        (Some("The prompt is not allowed"), None)
    );
    let canceled = start(&cloud, &preview(), MESHY_KEY).unwrap();
    assert_eq!(read(&cloud, &canceled).state, MeshyState::Canceled);
    let deleted = start(&cloud, &preview(), MESHY_KEY).unwrap();
    assert_eq!(send(&cloud, &deleted.delete_request(), MESHY_KEY).unwrap(), b"");
    let again = send(&cloud, &deleted.delete_request(), MESHY_KEY).unwrap_err();
    assert_eq!(again.kind, CloudFailureKind::NotFound);
    let tasks = cloud.meshy_tasks();
    let deleted: Vec<bool> = tasks.iter().map(|it| it.is_deleted).collect();
    assert_eq!(deleted, [false, false, true]);
}

#[test]
fn refusals_say_what_to_do_and_cost_nothing() {
    let cloud = FakeCloud::start(Vec::new());
    let refused = |key: &str, kind: CloudFailureKind, said: &str| {
        let failure = start(&cloud, &preview(), key).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(said), "{said} is not in {failure}");
        assert!(!failure.message.contains(key), "{failure}");
    };
    refused("msy_other", CloudFailureKind::Unauthorized, "`vector key set meshy`");
    cloud.set_meshy_balance(19);
    refused(MESHY_KEY, CloudFailureKind::PaymentRequired, "choose the model meshy-5");
    let cheap = MeshyPreview { model: MeshyModel::Meshy5, ..preview() };
    start(&cloud, &cheap, MESHY_KEY).unwrap();
    assert_eq!(cloud.meshy_balance(), 14);
    let free = start(&cloud, &preview(), MESHY_TEST_KEY).unwrap();
    assert_eq!((cloud.meshy_balance(), free.as_str().is_empty()), (14, false));
    cloud.set_meshy_balance(1_000);
    for _ in 2..10 {
        start(&cloud, &preview(), MESHY_KEY).unwrap();
    }
    let too_many = CloudFailureKind::TooMany { retry_after: None };
    refused(MESHY_KEY, too_many, "Wait until one has finished");
    assert_eq!(cloud.meshy_balance(), 1_000 - 8 * 20);
    let limited = || Fault::Answer {
        status: 429,
        body: r#"{"message":"RateLimitExceeded"}"#.to_owned(),
        headers: Vec::new(),
    };
    for _ in 0..3 {
        cloud.fail_next(limited());
    }
    refused(MESHY_KEY, too_many, "Meshy takes only some requests a second");
    let echo = format!("the key {MESHY_KEY} may not do this");
    cloud.fail_next(Fault::status(403, &echo));
    refused(MESHY_KEY, CloudFailureKind::Forbidden, "Your plan of Meshy");
}

#[test]
fn start_whose_answer_is_lost_is_paid_once() {
    let cloud = FakeCloud::start(Vec::new());
    cloud.fail_next(Fault::Truncate(3));
    let lost = start(&cloud, &preview(), MESHY_KEY).unwrap_err();
    assert!(lost.message.contains("may have been completed"), "{lost}");
    assert_eq!((cloud.meshy_tasks().len(), cloud.meshy_balance()), (1, 980));
}
