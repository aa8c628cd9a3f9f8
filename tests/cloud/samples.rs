//! One request of every type that the crate has, with what its body and query may be by the OpenAPI file
//! of its service.

use fake_cloud::{API_KEY, FakeCloud, LuauOutcome, MESHY_KEY, MeshyOutcome};
use vector_cloud::{
    AssetDelivery, AssetOperation, AssetOperationPath, AssetOwner, AssetSearch, AssetUpload,
    BinaryInput, BinaryInputStart, CloudFailure, CloudRequest, CreatorFilter, KeyIntrospection,
    LuauLogPage, LuauTask, LuauTaskPath, LuauTaskStart, MeshyBalance, MeshyModel, MeshyPreview,
    MeshyRefine, MeshyTask, MeshyTaskId, PlaceFormat, PlaceVersionUpload, SearchPage,
    ThumbnailSearch, UploadFormat, UploadKind, VersionKind,
};

use super::sender::send;

pub(super) const UNIVERSE: u64 = 30;
pub(super) const PLACE: u64 = 40;
/// What the fake cloud names its first task, operation and model.
const TASK: &str =
    "universes/30/places/40/versions/1/luau-execution-sessions/session-1/tasks/task-1";
const OPERATION: &str = "operations/upload-0";
const MODEL: &str = "0193bfc5-ee4f-73f8-8525-000000000001";
const RBXL: &[u8] = b"<roblox!\x89\xff\r\n\x1a\n\0\0";

/// The type of a member of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberKind {
    Text,
    /// A number, or its digits as a text.
    Int64,
    Number,
    Bool,
    TextList,
}

/// A member of a body, with its path such as `creator.userId`.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberShape {
    pub(super) path: &'static str,
    pub(super) kind: MemberKind,
    pub(super) is_required: bool,
}

const fn required(path: &'static str, kind: MemberKind) -> MemberShape {
    MemberShape { path, kind, is_required: true }
}

const fn optional(path: &'static str, kind: MemberKind) -> MemberShape {
    MemberShape { path, kind, is_required: false }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum BodyShape {
    Empty,
    Json(&'static [MemberShape]),
    /// The content type of the bytes.
    Bytes(&'static str),
    /// The members of the part `request`, and the content type of the part `fileContent`.
    Form(&'static [MemberShape], &'static str),
}

/// What a service expects.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestShape {
    pub(super) method: &'static str,
    /// The host and the path, with `{}` for a segment that varies and `{+}` for several.
    pub(super) path: &'static str,
    pub(super) required_query: &'static [&'static str],
    pub(super) optional_query: &'static [&'static str],
    /// The header of the key, if the route needs one.
    pub(super) key_header: Option<&'static str>,
    pub(super) body: BodyShape,
}

/// A request that the fake cloud answers, after [`prepare`].
pub(super) struct SampleRequest {
    /// The type and the function that makes it.
    pub(super) name: &'static str,
    pub(super) request: CloudRequest,
    pub(super) key: Option<&'static str>,
    /// Reads the answer of the service.
    pub(super) read: fn(&[u8]) -> Result<(), CloudFailure>,
    pub(super) shape: RequestShape,
}

const INPUT_MEMBERS: &[MemberShape] = &[required("size", MemberKind::Int64)];
const TASK_MEMBERS: &[MemberShape] = &[
    required("script", MemberKind::Text),
    optional("timeout", MemberKind::Text),
    optional("binaryInput", MemberKind::Text),
    optional("enableBinaryOutput", MemberKind::Bool),
];
const ASSET_MEMBERS: &[MemberShape] = &[
    required("assetType", MemberKind::Text),
    required("displayName", MemberKind::Text),
    required("description", MemberKind::Text),
    optional("creationContext.creator.userId", MemberKind::Int64),
    optional("creationContext.creator.groupId", MemberKind::Int64),
    optional("creationContext.expectedPrice", MemberKind::Int64),
    optional("creationContext.assetPrivacy", MemberKind::Text),
];
const KEY_MEMBERS: &[MemberShape] = &[required("apiKey", MemberKind::Text)];
const PREVIEW_MEMBERS: &[MemberShape] = &[
    required("mode", MemberKind::Text),
    required("prompt", MemberKind::Text),
    optional("ai_model", MemberKind::Text),
    optional("model_type", MemberKind::Text),
    optional("topology", MemberKind::Text),
    optional("target_polycount", MemberKind::Number),
    optional("should_remesh", MemberKind::Bool),
    optional("target_formats", MemberKind::TextList),
    optional("moderation", MemberKind::Bool),
];
const REFINE_MEMBERS: &[MemberShape] = &[
    required("mode", MemberKind::Text),
    required("preview_task_id", MemberKind::Text),
    optional("enable_pbr", MemberKind::Bool),
    optional("texture_prompt", MemberKind::Text),
    optional("target_formats", MemberKind::TextList),
    optional("moderation", MemberKind::Bool),
];

const fn get(path: &'static str, key_header: Option<&'static str>) -> RequestShape {
    let (method, body) = ("GET", BodyShape::Empty);
    RequestShape { method, path, required_query: &[], optional_query: &[], key_header, body }
}

const fn post(path: &'static str, key_header: &'static str, body: BodyShape) -> RequestShape {
    RequestShape { method: "POST", body, ..get(path, Some(key_header)) }
}

/// Puts what the samples name into a fake cloud.
pub(super) fn prepare(cloud: &FakeCloud) {
    cloud.add_places(UNIVERSE, &[PLACE]);
    cloud.deliver(7, RBXL.to_vec());
    let states = vec!["COMPLETE"];
    cloud.add_luau_outcome(LuauOutcome { states, ..LuauOutcome::complete(Vec::new()) });
    cloud.add_meshy_outcome(MeshyOutcome { states: vec!["SUCCEEDED"], error: "" });
    let samples = samples();
    for name in ["PlaceVersionUpload::request", "BinaryInputStart::request", "AssetUpload::request"]
    {
        let sample = samples.iter().find(|it| it.name == name).unwrap();
        send(cloud, &sample.request, API_KEY).unwrap();
    }
    let task = LuauTaskStart { binary_input: None, ..task_start() };
    send(cloud, &task.request().unwrap(), API_KEY).unwrap();
    send(cloud, &preview().request().unwrap(), MESHY_KEY).unwrap();
    // Only a preview that has been seen to succeed can be refined.
    send(cloud, &model().task_request(), MESHY_KEY).unwrap();
    let input = binary_input();
    let upload = super::sender::run(cloud, async |client| {
        client.upload(&input.upload_location, bytes::Bytes::from_static(b"1234")).await
    });
    upload.unwrap();
}

fn binary_input() -> BinaryInput {
    let answer = r#"{"path":"universes/30/luau-execution-session-task-binary-inputs/input-1",
        "uploadUri":"https://storage.example.com/input-1?signature=a%2Fb"}"#;
    BinaryInputStart { universe: UNIVERSE, size: 4 }.read(answer.as_bytes()).unwrap()
}

fn task_start() -> LuauTaskStart {
    LuauTaskStart {
        universe: UNIVERSE,
        place: PLACE,
        version: Some(1),
        script: "return 1".to_owned(),
        timeout_seconds: 60,
        binary_input: Some(binary_input().path),
    }
}

fn preview() -> MeshyPreview {
    let (prompt, model) = ("a tree".to_owned(), MeshyModel::Meshy5);
    MeshyPreview { prompt, model, is_low_poly: false, polygons: Some(2_000) }
}

fn model() -> MeshyTaskId {
    MeshyTaskId::parse(MODEL).unwrap()
}

/// Returns the samples. The last deletes what others name.
pub(super) fn samples() -> Vec<SampleRequest> {
    let mut samples = store_samples();
    samples.push(key_sample());
    samples.extend(open_cloud_samples());
    samples.extend(meshy_samples());
    samples
}

fn store_samples() -> Vec<SampleRequest> {
    let search = AssetSearch {
        creator: Some(CreatorFilter::User(1)),
        only_free: true,
        page: Some("from-0".to_owned()),
        ..AssetSearch::new("tree")
    };
    let thumbnails = ThumbnailSearch { assets: &[1, 2] };
    vec![
        SampleRequest {
            name: "AssetSearch::request",
            request: search.request(),
            key: None,
            read: |body| SearchPage::read(body).map(drop),
            shape: RequestShape {
                required_query: &["searchCategoryType"],
                optional_query: &[
                    "query",
                    "userId",
                    "groupId",
                    "pageToken",
                    "maxPageSize",
                    "sortCategory",
                    "includeOnlyVerifiedCreators",
                    "maxPriceCents",
                    "searchView",
                ],
                ..get("apis.roblox.com/toolbox-service/v2/assets:search", None)
            },
        },
        SampleRequest {
            name: "ThumbnailSearch::request",
            request: thumbnails.request(),
            key: None,
            read: |body| ThumbnailSearch { assets: &[1, 2] }.read(body).map(drop),
            shape: RequestShape {
                required_query: &["assetIds", "size", "format"],
                optional_query: &["returnPolicy", "isCircular"],
                ..get("thumbnails.roblox.com/v1/assets", None)
            },
        },
        SampleRequest {
            name: "AssetDelivery::request",
            request: AssetDelivery { asset: 7 }.request(),
            key: Some(API_KEY),
            read: |body| AssetDelivery { asset: 7 }.read_location(body).map(drop),
            shape: get("apis.roblox.com/asset-delivery-api/v1/assetId/{}", Some("x-api-key")),
        },
    ]
}

fn key_sample() -> SampleRequest {
    SampleRequest {
        name: "KeyIntrospection::request",
        request: KeyIntrospection::of(API_KEY).request(),
        key: Some(API_KEY),
        read: |body| KeyIntrospection::of(API_KEY).read_details(body).map(drop),
        // The key is in the body.
        shape: RequestShape {
            key_header: None,
            ..post("apis.roblox.com/api-keys/v1/introspect", "", BodyShape::Json(KEY_MEMBERS))
        },
    }
}

fn open_cloud_samples() -> Vec<SampleRequest> {
    let place = PlaceVersionUpload {
        universe: UNIVERSE,
        place: PLACE,
        kind: VersionKind::Saved,
        format: PlaceFormat::Binary,
        bytes: RBXL.into(),
    };
    let upload = AssetUpload {
        kind: UploadKind::Model,
        name: "Tree".to_owned(),
        description: "A tree".to_owned(),
        owner: AssetOwner::User(1),
        expected_price: 0,
        format: UploadFormat::Glb,
        bytes: fake_cloud::sample_glb().into(),
    };
    let task = LuauTaskPath::parse(TASK).unwrap();
    let open_cloud = |name, request, read, shape| SampleRequest {
        name,
        request,
        key: Some(API_KEY),
        read,
        shape,
    };
    vec![
        open_cloud(
            "PlaceVersionUpload::request",
            place.request().unwrap(),
            read_place_version,
            RequestShape {
                required_query: &["versionType"],
                ..post(
                    "apis.roblox.com/universes/v1/{}/places/{}/versions",
                    "x-api-key",
                    BodyShape::Bytes("application/octet-stream"),
                )
            },
        ),
        open_cloud(
            "BinaryInputStart::request",
            BinaryInputStart { universe: UNIVERSE, size: 4 }.request().unwrap(),
            |body| BinaryInputStart { universe: UNIVERSE, size: 4 }.read(body).map(drop),
            post(
                "apis.roblox.com/cloud/v2/universes/{}/luau-execution-session-task-binary-inputs",
                "x-api-key",
                BodyShape::Json(INPUT_MEMBERS),
            ),
        ),
        open_cloud(
            "LuauTaskStart::request",
            task_start().request().unwrap(),
            |body| LuauTask::read_started(body).map(drop),
            post(
                "apis.roblox.com/cloud/v2/universes/{}/places/{}/versions/{}/\
                 luau-execution-session-tasks",
                "x-api-key",
                BodyShape::Json(TASK_MEMBERS),
            ),
        ),
        open_cloud(
            "LuauTaskPath::task_request",
            task.task_request(),
            |body| LuauTask::read(body).map(drop),
            RequestShape {
                optional_query: &["view"],
                ..get("apis.roblox.com/cloud/v2/universes/{+}", Some("x-api-key"))
            },
        ),
        open_cloud(
            "LuauTaskPath::logs_request",
            task.logs_request(Some("from-0")),
            |body| LuauLogPage::read(body).map(drop),
            RequestShape {
                optional_query: &["view", "maxPageSize", "pageToken"],
                ..get("apis.roblox.com/cloud/v2/universes/{+}/logs", Some("x-api-key"))
            },
        ),
        open_cloud(
            "AssetUpload::request",
            upload.request().unwrap(),
            |body| AssetOperation::read_started(body).map(drop),
            post(
                "apis.roblox.com/assets/v1/assets",
                "x-api-key",
                BodyShape::Form(ASSET_MEMBERS, "model/gltf-binary"),
            ),
        ),
        open_cloud(
            "AssetOperationPath::request",
            AssetOperationPath::parse(OPERATION).unwrap().request(),
            |body| AssetOperation::read(body).map(drop),
            get("apis.roblox.com/assets/v1/operations/{}", Some("x-api-key")),
        ),
    ]
}

fn read_place_version(body: &[u8]) -> Result<(), CloudFailure> {
    let upload = PlaceVersionUpload {
        universe: UNIVERSE,
        place: PLACE,
        kind: VersionKind::Saved,
        format: PlaceFormat::Binary,
        bytes: RBXL.into(),
    };
    upload.read_version(body).map(drop)
}

fn meshy_samples() -> Vec<SampleRequest> {
    let refine =
        MeshyRefine { preview: model(), has_pbr: true, texture_prompt: Some("bark".to_owned()) };
    let tasks = "api.meshy.ai/openapi/v2/text-to-3d";
    let header = "authorization";
    let meshy = |name, request, read, shape| SampleRequest {
        name,
        request,
        key: Some(MESHY_KEY),
        read,
        shape,
    };
    vec![
        meshy(
            "MeshyBalance::request",
            MeshyBalance.request(),
            |body| MeshyBalance.read(body).map(drop),
            get("api.meshy.ai/openapi/v1/balance", Some(header)),
        ),
        meshy(
            "MeshyPreview::request",
            preview().request().unwrap(),
            |body| MeshyTaskId::read_started(body).map(drop),
            post(tasks, header, BodyShape::Json(PREVIEW_MEMBERS)),
        ),
        meshy(
            "MeshyRefine::request",
            refine.request().unwrap(),
            |body| MeshyTaskId::read_started(body).map(drop),
            post(tasks, header, BodyShape::Json(REFINE_MEMBERS)),
        ),
        meshy(
            "MeshyTaskId::task_request",
            model().task_request(),
            |body| MeshyTask::read(body).map(drop),
            get("api.meshy.ai/openapi/v2/text-to-3d/{}", Some(header)),
        ),
        meshy(
            "MeshyTaskId::delete_request",
            model().delete_request(),
            |_| Ok(()),
            RequestShape {
                method: "DELETE",
                ..get("api.meshy.ai/openapi/v2/text-to-3d/{}", Some(header))
            },
        ),
    ]
}
