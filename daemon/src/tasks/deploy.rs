//! Deploys: uploads a place to Roblox, as a saved version and then as a published one.
//!
//! Each upload is a workflow of the ledger. The intention is recorded before anything is sent, with
//! the place file as a blob, so that an interrupted upload is found and an earlier version can be
//! published again. Roblox gives the same bytes the same version, so sending them twice makes no
//! second one. This module does not ask for approval, and does not know how progress is shown.

mod changes;
mod past;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use scene_schemas::Fingerprint;
use scene_schemas::entry::{
    Approver, Entry, FilePlace, Finish, Place, PlaceUpload, Seq, VersionKind,
};
use vector_cloud::{CloudFailure, PlaceFormat, PlaceVersionUpload};
use vector_files::place_file;
use vector_ledger::{AppendBatch, Ledger, LedgerError};
use vector_place::{FileFormat, Scene};
use vector_providers::config::scratch_place::ScratchPlace;
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;
use vector_rojo_project::RojoProject;

pub use self::changes::{VersionChanges, format_size};
pub use self::past::source_file;
pub use self::past::{PastUpload, UploadHistory, UploadOutcome};
use super::cloud::{find_publish_key, find_verify_key, upload_version};
use super::cloud_workflow::{CloudIntention, CloudWorkflow, begin_workflow};

/// What a version is uploaded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadPurpose {
    /// For players, or to be looked at in Studio.
    Deploy,
    /// To run specs in it, in a scratch place.
    Verify,
}

impl UploadPurpose {
    /// Returns the driver of the workflows of its uploads.
    pub fn driver(self) -> &'static str {
        match self {
            Self::Deploy => "deploy",
            Self::Verify => "verify",
        }
    }

    fn find_key(self) -> Result<SecretKey, String> {
        match self {
            Self::Deploy => find_publish_key(),
            Self::Verify => find_verify_key(),
        }
    }
}

/// A place on Roblox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeployTarget {
    pub universe: u64,
    pub place: u64,
}

impl From<ScratchPlace> for DeployTarget {
    fn from(ScratchPlace { universe, place }: ScratchPlace) -> Self {
        Self { universe, place }
    }
}

impl fmt::Display for DeployTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "place {} of universe {}", self.place, self.universe)
    }
}

/// The reason nothing was uploaded.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// One or more sentences, which say what to do.
    #[error("{0}")]
    Refused(String),
}

pub(super) fn refuse_deploy(why: impl Into<String>) -> DeployError {
    DeployError::Refused(why.into())
}

/// A place file that is uploaded.
#[derive(Debug, Clone)]
pub struct DeploySource {
    pub place: Place,
    pub format: FileFormat,
    pub bytes: Bytes,
    pub contents: Fingerprint,
    /// The earlier upload whose contents these are.
    pub earlier: Option<Seq>,
}

impl DeploySource {
    /// Reads a place file, or builds the place of a Rojo project.
    ///
    /// # Errors
    /// It cannot be read, or is a model.
    pub fn read(path: &Path, is_project: bool) -> Result<Self, DeployError> {
        if is_project {
            let opened = RojoProject::open(path, true);
            let (project, scene) = opened.map_err(|error| refuse_deploy(error.to_string()))?;
            return Self::of_scene(Place::Project(project.ledger_place()), scene.into_scene());
        }
        let file = place_file::real_path(path).map_err(|error| refuse_deploy(error.to_string()))?;
        let bytes = std::fs::read(&file).map_err(|error| {
            refuse_deploy(format!("{} cannot be read: {error}.", path.display()))
        })?;
        let hash = Fingerprint::hash_bytes(&bytes);
        let place = FilePlace { file: file.display().to_string(), out: None, hash, replaces: None };
        Self::check(Place::File(place), bytes, path)
    }

    /// Takes the contents of an earlier upload from the ledger.
    ///
    /// # Errors
    /// There is no such upload, or its contents were erased.
    pub fn earlier(ledger: &Ledger, seq: Seq) -> Result<(Self, DeployTarget), DeployError> {
        let history = UploadHistory::read(ledger)?;
        let Some(past) = history.uploads.iter().find(|past| past.seq == seq) else {
            let known = history.uploads.last().map_or_else(
                || "Nothing was uploaded yet.".to_owned(),
                |last| format!("The last one is {}; `vector deploy --list` lists them.", last.seq),
            );
            return Err(refuse_deploy(format!("There is no upload {seq}. {known}")));
        };
        let contents = ledger.read_blob(&past.upload.contents)?;
        let started = ledger.record_at(past.workflow)?.map(|record| record.entry);
        let (Some(bytes), Some(Entry::Started { place, .. })) = (contents, started) else {
            return Err(refuse_deploy(format!(
                "The contents of upload {seq} were erased from the ledger. Publish the place as it is, \
                 or restore it from Roblox's history of versions."
            )));
        };
        let source = Self::check(place, bytes, Path::new("the earlier version"))?;
        Ok((Self { earlier: Some(seq), ..source }, past.target()))
    }

    /// Takes a scene as the contents of a place.
    ///
    /// # Errors
    /// It cannot be encoded, or is a model.
    pub fn of_scene(place: Place, mut scene: Scene) -> Result<Self, DeployError> {
        let name = place.name();
        let encoded = scene.encode();
        let encoded = encoded.map_err(|error| {
            refuse_deploy(format!("The place of {name} cannot be built: {error}."))
        })?;
        Self::check(place, encoded, Path::new(&name))
    }

    fn check(place: Place, bytes: Vec<u8>, path: &Path) -> Result<Self, DeployError> {
        let scene = Scene::open(Arc::from(bytes.as_slice())).map_err(|error| {
            refuse_deploy(format!("{} cannot be read as a place: {error}.", path.display()))
        })?;
        if !scene.is_place() {
            return Err(refuse_deploy(format!(
                "{} is a model, not a place: it has no Workspace. Upload a place.",
                path.display()
            )));
        }
        let contents = Fingerprint::hash_bytes(&bytes);
        let format = scene.format();
        Ok(Self { place, format, bytes: Bytes::from(bytes), contents, earlier: None })
    }
}

pub(super) fn open_scene(bytes: &[u8]) -> Result<Scene, DeployError> {
    Scene::open(Arc::from(bytes))
        .map_err(|error| refuse_deploy(format!("The place cannot be read: {error}.")))
}

/// Returns the place of Roblox that a place was uploaded to last, or that its project file names.
pub fn choose_target(ledger: &Ledger, place: &Place) -> Result<Option<DeployTarget>, LedgerError> {
    let history = UploadHistory::read(ledger)?;
    let uploads = history.of_place(ledger, place)?;
    // One that was refused may have named a wrong place.
    if let Some(last) = uploads.iter().rev().find(|past| past.version().is_some()) {
        return Ok(Some(last.target()));
    }
    let Place::Project(project) = place else { return Ok(None) };
    let named = RojoProject::published_ids(Path::new(&project.project));
    Ok(named.map(|(universe, place)| DeployTarget { universe, place }))
}

/// What an upload would do.
#[derive(Debug, Clone)]
pub struct DeployPlan {
    pub target: DeployTarget,
    /// The version that was published last by this ledger.
    pub published: Option<PastUpload>,
    /// The version that has these contents already.
    pub existing: Option<PastUpload>,
    /// Whether the published version has these contents, as far as is known.
    pub is_published: bool,
    /// The differences from the published version, or what a first version contains.
    pub changes: VersionChanges,
    /// Whether the contents of the published version were erased, so that nothing is compared.
    pub is_erased: bool,
    /// Uploads to this place that Roblox may have, newest first.
    pub unclear: Vec<PastUpload>,
}

/// Determines what an upload would do. Uploads of stopped processes are recorded as failed.
///
/// # Errors
/// The ledger cannot be used, or the earlier version cannot be read.
pub fn plan_deploy(
    ledger: &Ledger,
    source: &DeploySource,
    target: DeployTarget,
) -> Result<DeployPlan, DeployError> {
    let mut history = UploadHistory::read(ledger)?;
    history.close_interrupted(ledger)?;
    let published = history.last_published(target).cloned();
    let before = match &published {
        Some(past) => ledger.read_blob(&past.upload.contents)?,
        None => None,
    };
    let is_erased = published.is_some() && before.is_none();
    let after = open_scene(&source.bytes)?;
    let changes = match &before {
        Some(before) => VersionChanges::between(&open_scene(before)?, &after),
        None => VersionChanges::of_first(&after),
    };
    Ok(DeployPlan {
        target,
        existing: history.with_contents(target, &source.contents).cloned(),
        is_published: history.is_published(target, &source.contents),
        published,
        changes,
        is_erased,
        unclear: history.unclear(target),
    })
}

/// Uploads a version that the person was shown. Returns its number.
///
/// # Errors
/// It was not uploaded, or that is not known. Publishing is refused for contents that were not saved, and
/// if another version was published after `compared`, the one that the contents were compared with.
pub fn deploy_version(
    ledger: &Ledger,
    source: &DeploySource,
    target: DeployTarget,
    approval: DeployApproval,
    cancel: &CancelSwitch,
) -> Result<u64, DeployError> {
    let DeployApproval { kind, by, compared } = approval;
    let purpose = UploadPurpose::Deploy;
    let wanted = VersionRequest { target, kind, by, compared, purpose, proposal: None };
    send_version(ledger, source, wanted, cancel)
}

/// What a person approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeployApproval {
    pub kind: VersionKind,
    pub by: Approver,
    /// The upload of the published version that the contents were compared with.
    pub compared: Option<Seq>,
}

/// A version that is to be uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VersionRequest {
    pub(super) target: DeployTarget,
    pub(super) kind: VersionKind,
    pub(super) by: Approver,
    /// The published version that the contents were compared with.
    pub(super) compared: Option<Seq>,
    pub(super) purpose: UploadPurpose,
    /// The proposal that the contents have and the place has not.
    pub(super) proposal: Option<Seq>,
}

/// Uploads a version for any purpose. Returns its number. What was saved meanwhile is not saved again.
///
/// # Errors
/// As [`deploy_version`].
pub(super) fn send_version(
    ledger: &Ledger,
    source: &DeploySource,
    request: VersionRequest,
    cancel: &CancelSwitch,
) -> Result<u64, DeployError> {
    let VersionRequest { target, kind, by, compared, purpose, proposal } = request;
    // What cannot be sent at all is not recorded.
    let key = purpose.find_key().map_err(refuse_deploy)?;
    let wanted = PlaceVersionUpload {
        universe: target.universe,
        place: target.place,
        kind: match kind {
            VersionKind::Saved => vector_cloud::VersionKind::Saved,
            VersionKind::Published => vector_cloud::VersionKind::Published,
        },
        format: match source.format {
            FileFormat::Binary => PlaceFormat::Binary,
            FileFormat::Xml => PlaceFormat::Xml,
        },
        bytes: source.bytes.clone(),
    };
    let request = wanted.request().map_err(|failure| refuse_deploy(failure.message))?;
    let upload = PlaceUpload {
        universe: target.universe,
        place: target.place,
        kind,
        contents: source.contents.clone(),
        size: source.bytes.len() as u64,
        by,
        earlier: source.earlier,
        proposal,
    };
    let begun = match begin_upload(ledger, source, upload, purpose, compared)? {
        VersionUploadStart::Begun(begun) => begun,
        VersionUploadStart::Existing(version) => return Ok(version),
    };
    let (seq, workflow) = (begun.seq, begun.lease.workflow());
    let sent = upload_version(&request, &wanted, &key, cancel);
    let (outcome, entries) = match sent {
        Ok(version) => {
            let summary = match kind {
                VersionKind::Saved => format!("Saved as version {version} of {target}."),
                VersionKind::Published => format!("Published version {version} of {target}."),
            };
            let finished = Entry::Finished { outcome: Finish::Done, summary: Some(summary) };
            (Ok(version), vec![Entry::Uploaded { upload: seq, version }, finished])
        }
        Err(CloudFailure { message, may_have_acted: is_unclear, .. }) => {
            let failed = Entry::UploadFailed { upload: seq, reason: message.clone(), is_unclear };
            let finished = Entry::Finished { outcome: Finish::Failed, summary: None };
            let why = describe_failure(&message, is_unclear, purpose);
            (Err(refuse_deploy(why)), vec![failed, finished])
        }
    };
    ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })?;
    outcome
}

fn describe_failure(message: &str, is_unclear: bool, purpose: UploadPurpose) -> String {
    let again = match purpose {
        UploadPurpose::Deploy => "Deploy",
        UploadPurpose::Verify => "Verify",
    };
    if is_unclear {
        return format!(
            "{message} Roblox may have the version all the same. {again} again: the same contents get the \
             same version."
        );
    }
    message.to_owned()
}

/// How an upload starts.
enum VersionUploadStart {
    Begun(CloudWorkflow),
    /// Nothing is sent: these contents are saved as this version.
    Existing(u64),
}

/// Records that an upload begins. Only one at a time goes to a place of Roblox.
fn begin_upload(
    ledger: &Ledger,
    source: &DeploySource,
    upload: PlaceUpload,
    purpose: UploadPurpose,
    compared: Option<Seq>,
) -> Result<VersionUploadStart, DeployError> {
    let target = DeployTarget { universe: upload.universe, place: upload.place };
    // Another process looks and begins only when this one has begun.
    let _lock = ledger.lock_applying()?;
    let mut history = UploadHistory::read(ledger)?;
    history.close_interrupted(ledger)?;
    let running = history.to_target(target).find(|past| past.outcome == UploadOutcome::Open);
    if let Some(running) = running {
        return Err(refuse_deploy(format!(
            "Upload {} to {target} is going on. Wait until it has ended.",
            running.seq
        )));
    }
    let existing = history.with_contents(target, &upload.contents).and_then(PastUpload::version);
    match (upload.kind, existing) {
        // The same request may have been sent twice.
        (VersionKind::Saved, Some(version)) => return Ok(VersionUploadStart::Existing(version)),
        (VersionKind::Published, None) => {
            return Err(refuse_deploy(format!(
                "These contents are not saved as a version of {target}. Save them first, look at the \
                 saved version in Studio, and then publish it."
            )));
        }
        (VersionKind::Saved, None) | (VersionKind::Published, Some(_)) => {}
    }
    let last = history.last_published(target);
    if upload.kind == VersionKind::Published && last.map(|past| past.seq) != compared {
        let version = last.and_then(PastUpload::version).unwrap_or_default();
        return Err(refuse_deploy(format!(
            "Version {version} of {target} was published after this one was compared. Look at what \
             changes now, and publish again."
        )));
    }
    let intention = CloudIntention {
        place: source.place.clone(),
        goal: upload.describe(),
        driver: purpose.driver(),
        entry: Entry::Uploading { upload: Box::new(upload) },
        blobs: vec![source.bytes.to_vec()],
    };
    Ok(VersionUploadStart::Begun(begin_workflow(ledger, intention)?))
}
