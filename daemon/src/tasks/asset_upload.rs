//! Uploads of files as assets of a Roblox account, on record in the ledger.
//!
//! Each upload is a workflow. The intention is recorded before the file is sent, and the operation that
//! Roblox names before it is polled. So an interrupted upload is read to its end and not sent again, and a
//! file that was sent without an answer is not sent a second time unnoticed. This module does not ask for
//! approval.

mod past;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use scene_schemas::Fingerprint;
use scene_schemas::entry::{
    Approver, AssetAccount, AssetFile, AssetFileKind, AssetReview, Entry, FilePlace, Finish, Place,
    Seq,
};
use scene_schemas::permission::Permission;
use serde_json::json;
use vector_cloud::{
    AssetOperation, AssetOperationPath, AssetOwner, AssetUpload, CloudClient, CloudFailure,
    KeyPurpose, ModerationState, UploadFormat, UploadKind, UploadProgress, UploadedAsset,
};
use vector_core::tools::{UploadSource, UploadWish};
use vector_engine::fetch::{FetchResult, FetchWork};
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};
use vector_providers::http::CancelSwitch;
use vector_providers::keys::SecretKey;

pub use self::past::{AssetUploadState, AssetUploads, PastAssetUpload};
use super::cloud::{cloud_client, find_key, wait_for};
use super::cloud_workflow::{CloudIntention, CloudWorkflow, begin_workflow, close_interrupted};
use super::generate::{find_made, read_model_file};

/// The driver of the workflows of uploads.
const DRIVER: &str = "upload";
/// How long an operation is polled before it is left to a later run.
const MAX_POLL: Duration = Duration::from_mins(3);
/// The pause before the first poll and the longest one.
const POLL_PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];

/// The reason a file was not uploaded.
#[derive(Debug, thiserror::Error)]
pub enum AssetUploadError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// One or more sentences, which say what to do.
    #[error("{0}")]
    Refused(String),
}

fn refuse_upload(why: impl Into<String>) -> AssetUploadError {
    AssetUploadError::Refused(why.into())
}

/// A file that is to become an asset.
#[derive(Debug, Clone)]
pub struct AssetSource {
    pub file: AssetFile,
    format: UploadFormat,
    bytes: Bytes,
}

/// What the user says of an asset.
#[derive(Debug, Clone)]
pub struct AssetWishes {
    /// If absent, it is chosen by the extension of the file.
    pub kind: Option<AssetFileKind>,
    /// If absent, it is the name of the file without its extension.
    pub name: Option<String>,
    pub description: String,
    pub account: AssetAccount,
    pub by: Approver,
    /// The generation that made the file. None if it is a file of the user.
    pub generated: Option<Seq>,
}

impl AssetSource {
    /// Reads a file, and checks it against the limits of Roblox.
    ///
    /// # Errors
    /// It cannot be read, or Roblox does not take it.
    pub fn read(path: &Path, wishes: AssetWishes) -> Result<Self, AssetUploadError> {
        let shown = path.display();
        let bytes = std::fs::read(path)
            .map_err(|error| refuse_upload(format!("{shown} cannot be read: {error}.")))?;
        Self::check(path, bytes, wishes)
    }

    /// Checks the bytes of a file against the limits of Roblox. The path gives their name and format.
    ///
    /// # Errors
    /// Roblox does not take it.
    pub fn check(
        path: &Path,
        bytes: Vec<u8>,
        wishes: AssetWishes,
    ) -> Result<Self, AssetUploadError> {
        let shown = path.display();
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let Some(format) = UploadFormat::find_by_extension(extension) else {
            let known: Vec<&str> = UploadFormat::ALL.iter().map(|it| it.extension()).collect();
            return Err(refuse_upload(format!(
                "{shown} has no format that Roblox takes. Use one of: {}.",
                known.join(", ")
            )));
        };
        let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
        let file = AssetFile {
            file: shown.to_string(),
            kind: wishes.kind.unwrap_or_else(|| usual_kind(format)),
            name: wishes.name.unwrap_or_else(|| stem.to_owned()),
            description: wishes.description,
            account: wishes.account,
            contents: Fingerprint::hash_bytes(&bytes),
            size: bytes.len() as u64,
            by: wishes.by,
            generated: wishes.generated,
        };
        let source = Self { file, format, bytes: Bytes::from(bytes) };
        source.wanted().request().map_err(|failure| refuse_upload(failure.message))?;
        Ok(source)
    }

    fn wanted(&self) -> AssetUpload {
        let file = &self.file;
        AssetUpload {
            kind: match file.kind {
                AssetFileKind::Image => UploadKind::Image,
                AssetFileKind::Decal => UploadKind::Decal,
                AssetFileKind::Audio => UploadKind::Audio,
                AssetFileKind::Model => UploadKind::Model,
            },
            name: file.name.clone(),
            description: file.description.clone(),
            owner: match file.account {
                AssetAccount::User { id } => AssetOwner::User(id),
                AssetAccount::Group { id } => AssetOwner::Group(id),
            },
            // An upload that costs Robux fails instead of spending them.
            expected_price: 0,
            format: self.format,
            bytes: self.bytes.clone(),
        }
    }
}

/// The kind that a file of a format becomes unless the user says another.
fn usual_kind(format: UploadFormat) -> AssetFileKind {
    let kinds = [
        (UploadKind::Image, AssetFileKind::Image),
        (UploadKind::Audio, AssetFileKind::Audio),
        (UploadKind::Model, AssetFileKind::Model),
    ];
    let found = kinds.into_iter().find(|(kind, _)| kind.formats().contains(&format));
    found.map_or(AssetFileKind::Model, |(_, kind)| kind)
}

/// An asset that was made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeAsset {
    pub asset: u64,
    pub review: AssetReview,
}

/// Uploads a file, unless it was uploaded before: then the same asset is returned, or an interrupted upload
/// is read to its end. With `again`, it is uploaded in any case.
///
/// # Errors
/// No asset was made, or that is not known.
pub fn upload_asset(
    ledger: &Ledger,
    source: &AssetSource,
    again: bool,
    cancel: &CancelSwitch,
) -> Result<MadeAsset, AssetUploadError> {
    let begun = match begin_or_resume(ledger, source, again)? {
        UploadStart::Made(made) => return Ok(made),
        UploadStart::Begun(begun) => begun,
    };
    let key = find_upload_key().map_err(refuse_upload)?;
    let client = cloud_client().map_err(|failure| refuse_upload(failure.message))?;
    let cloud = UploadCloud { client, key, cancel };
    let (seq, workflow) = (begun.seq, begun.lease.workflow());
    let end = match &begun.operation {
        Some(operation) => cloud.poll(operation),
        None => cloud.send(ledger, &source.wanted(), seq, workflow)?,
    };
    let (result, entries) = settle(seq, end);
    ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })?;
    result
}

fn find_upload_key() -> Result<SecretKey, String> {
    let otherwise = "upload the file on the Creator Dashboard";
    find_key(KeyPurpose::Upload, "Roblox takes uploads", otherwise)
}

/// Performs the call of a model: asks for the permission first, and uploads when it is given.
///
/// # Errors
/// A sentence that says what to do.
pub(super) fn upload_for_call(
    work: &FetchWork,
    wish: &UploadWish,
    cancel: &CancelSwitch,
) -> Result<FetchResult, String> {
    let ledger = &*work.ledger;
    let history = AssetUploads::read(ledger).map_err(|error| error.to_string())?;
    let Some(account) = history.last_account() else {
        return Err(
            "It is not known whose asset it becomes. The user uploads the first file, with `vector assets \
             upload FILE --user ID` (or --group ID); later ones go to the same account."
                .to_owned(),
        );
    };
    let source = find_source(work, wish, account)?;
    let past = history.find_same(&source.file);
    let is_made = past.is_some_and(|past| matches!(past.state, AssetUploadState::Uploaded { .. }));
    let wanted = Permission::Upload(Box::new(source.file.clone()));
    if !is_made && work.permitted.as_ref() != Some(&wanted) {
        find_upload_key()?;
        return Ok(FetchResult::NeedsPermission(wanted));
    }
    let made = upload_asset(ledger, &source, false, cancel).map_err(|error| error.to_string())?;
    let review = match made.review {
        AssetReview::Approved => "approved",
        AssetReview::Reviewing => "reviewing",
        AssetReview::Rejected => "rejected",
        AssetReview::Unknown => "unknown",
    };
    Ok(FetchResult::Answer(json!({ "assetId": made.asset, "review": review })))
}

/// Reads what a model wants to upload: a file in the folder of the place, or the model of a generation.
fn find_source(
    work: &FetchWork,
    wish: &UploadWish,
    account: AssetAccount,
) -> Result<AssetSource, String> {
    let generated = match &wish.source {
        UploadSource::Generation(generation) => Some(*generation),
        UploadSource::File(_) => None,
    };
    let wishes = AssetWishes {
        kind: wish.kind,
        name: wish.name.clone(),
        description: String::new(),
        account,
        by: Approver::Person,
        generated,
    };
    let source = match &wish.source {
        UploadSource::File(file) => AssetSource::read(&find_own_file(work, file)?, wishes),
        UploadSource::Generation(generation) => {
            let read = || {
                let made = find_made(&work.ledger, *generation)?;
                read_model_file(&work.ledger, &made)
            };
            let bytes = read().map_err(|error| error.to_string())?;
            let path = PathBuf::from(format!("generation {generation}.glb"));
            AssetSource::check(&path, bytes, wishes)
        }
    };
    source.map_err(|error| error.to_string())
}

/// Finds a file in the folder of the place. A model names no other file of the user.
fn find_own_file(work: &FetchWork, file: &str) -> Result<PathBuf, String> {
    let Some(folder) = &work.folder else {
        return Err("The place is open in Studio and has no folder. The user uploads files with \
                    `vector assets upload`."
            .to_owned());
    };
    let found = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|error| format!("{} cannot be read: {error}.", path.display()))
    };
    let (folder, path) = (found(folder)?, found(&folder.join(file))?);
    if !path.starts_with(&folder) {
        return Err(format!(
            "{file} is not in the folder of the place. The user uploads other files with `vector assets \
             upload`."
        ));
    }
    Ok(path)
}

/// How an upload starts.
enum UploadStart {
    /// The file is an asset already.
    Made(MadeAsset),
    Begun(BegunAssetUpload),
}

/// An upload whose intention is recorded. The lease tells others that it goes on.
struct BegunAssetUpload {
    seq: Seq,
    lease: WorkflowLease,
    /// The operation of one that was interrupted.
    operation: Option<AssetOperationPath>,
}

/// Looks for an upload of the same file, and records a new one if there is none. Others wait meanwhile.
fn begin_or_resume(
    ledger: &Ledger,
    source: &AssetSource,
    again: bool,
) -> Result<UploadStart, AssetUploadError> {
    let _lock = ledger.lock_applying()?;
    let find = || -> Result<Option<PastAssetUpload>, LedgerError> {
        let history = AssetUploads::read(ledger)?;
        Ok(history.find_same(&source.file).filter(|_| !again).cloned())
    };
    let Some(past) = find()? else {
        // What cannot be sent at all is not recorded.
        find_upload_key().map_err(refuse_upload)?;
        return begin_upload(ledger, source).map(UploadStart::Begun);
    };
    let lease = match past.state {
        AssetUploadState::Uploaded { .. } => None,
        AssetUploadState::Unclear | AssetUploadState::Failed => {
            let lease = ledger.try_lease(past.workflow)?;
            Some(lease.ok_or_else(|| {
                let why = format!("Upload {} is going on. Wait until it has ended.", past.seq);
                refuse_upload(why)
            })?)
        }
    };
    // It may have ended until it was leased.
    let past = find()?.unwrap_or(past);
    match (&past.state, lease) {
        (AssetUploadState::Uploaded { asset, review }, _) => {
            Ok(UploadStart::Made(MadeAsset { asset: *asset, review: *review }))
        }
        (_, Some(lease)) if past.operation().is_some() => {
            let (seq, operation) = (past.seq, past.operation());
            Ok(UploadStart::Begun(BegunAssetUpload { seq, lease, operation }))
        }
        _ => {
            close_interrupted(ledger, past.workflow, past.seq)?;
            Err(refuse_upload(
                "An upload of this file got no answer, and Roblox may have it: look at \
                 https://create.roblox.com/dashboard/creations. --again uploads it once more.",
            ))
        }
    }
}

fn begin_upload(
    ledger: &Ledger,
    source: &AssetSource,
) -> Result<BegunAssetUpload, AssetUploadError> {
    let file = &source.file;
    let place = FilePlace {
        file: file.file.clone(),
        out: None,
        hash: file.contents.clone(),
        replaces: None,
    };
    let intention = CloudIntention {
        place: Place::File(place),
        goal: file.describe(),
        driver: DRIVER,
        entry: Entry::AssetUploading { file: Box::new(file.clone()) },
        blobs: Vec::new(),
    };
    let CloudWorkflow { seq, lease } = begin_workflow(ledger, intention)?;
    Ok(BegunAssetUpload { seq, lease, operation: None })
}

/// How an upload ended.
enum UploadEnd {
    Made(UploadedAsset),
    Failed { reason: String, is_unclear: bool },
}

impl UploadEnd {
    fn of_failure(failure: CloudFailure) -> Self {
        Self::Failed { is_unclear: failure.may_have_acted, reason: failure.message }
    }
}

/// Returns the result for the user, and the entries that record it.
fn settle(upload: Seq, end: UploadEnd) -> (Result<MadeAsset, AssetUploadError>, Vec<Entry>) {
    match end {
        UploadEnd::Made(made) => {
            let review = match made.moderation {
                ModerationState::Approved => AssetReview::Approved,
                ModerationState::Reviewing => AssetReview::Reviewing,
                ModerationState::Rejected => AssetReview::Rejected,
                ModerationState::Unknown => AssetReview::Unknown,
            };
            let summary = Some(format!("Uploaded as rbxassetid://{}.", made.asset));
            let uploaded = Entry::AssetUploaded { upload, asset: made.asset, review };
            let finished = Entry::Finished { outcome: Finish::Done, summary };
            (Ok(MadeAsset { asset: made.asset, review }), vec![uploaded, finished])
        }
        UploadEnd::Failed { reason, is_unclear } => {
            let failed = Entry::UploadFailed { upload, reason: reason.clone(), is_unclear };
            let finished = Entry::Finished { outcome: Finish::Failed, summary: None };
            (Err(refuse_upload(reason)), vec![failed, finished])
        }
    }
}

/// The cloud as an upload uses it.
struct UploadCloud<'c> {
    client: CloudClient,
    key: SecretKey,
    cancel: &'c CancelSwitch,
}

impl UploadCloud<'_> {
    /// Sends a file, records the operation, and polls it.
    fn send(
        &self,
        ledger: &Ledger,
        wanted: &AssetUpload,
        upload: Seq,
        workflow: Seq,
    ) -> Result<UploadEnd, AssetUploadError> {
        let request = match wanted.request() {
            Ok(request) => request,
            Err(failure) => return Ok(UploadEnd::of_failure(failure)),
        };
        let answer = wait_for(self.client.read(&request, Some(self.key.expose())), self.cancel);
        let answer = match answer {
            Ok(answer) => answer,
            Err(reason) => return Ok(UploadEnd::Failed { reason, is_unclear: true }),
        };
        let operation = match answer.and_then(|body| AssetOperation::read_started(&body)) {
            Ok(operation) => operation,
            Err(failure) => return Ok(UploadEnd::of_failure(failure)),
        };
        let path = operation.path.as_str().to_owned();
        let accepted = Entry::AssetUploadAccepted { upload, operation: path };
        let entries = vec![accepted];
        ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })?;
        Ok(match operation.progress {
            UploadProgress::Pending => self.poll(&operation.path),
            progress => end_of(progress),
        })
    }

    /// Polls an operation with growing pauses until it has ended.
    fn poll(&self, operation: &AssetOperationPath) -> UploadEnd {
        let (since, [mut pause, longest]) = (Instant::now(), POLL_PAUSES);
        loop {
            let waited = async {
                tokio::time::sleep(pause).await;
                self.client.read(&operation.request(), Some(self.key.expose())).await
            };
            let answer = match wait_for(waited, self.cancel) {
                Ok(answer) => answer,
                Err(reason) => return UploadEnd::Failed { reason, is_unclear: true },
            };
            match answer.and_then(|body| AssetOperation::read(&body)) {
                Ok(AssetOperation { progress: UploadProgress::Pending, .. }) => {}
                Ok(operation) => return end_of(operation.progress),
                // Roblox has the file, whatever the question for the operation comes to.
                Err(CloudFailure { message: reason, .. }) => {
                    return UploadEnd::Failed { reason, is_unclear: true };
                }
            }
            if since.elapsed() > MAX_POLL {
                let reason = format!(
                    "Roblox has not finished the upload after {} s. Run the same again later: it reads \
                     the result and does not send the file again.",
                    MAX_POLL.as_secs()
                );
                return UploadEnd::Failed { reason, is_unclear: true };
            }
            pause = (pause * 3 / 2).min(longest);
        }
    }
}

fn end_of(progress: UploadProgress) -> UploadEnd {
    match progress {
        UploadProgress::Completed(made) => UploadEnd::Made(made),
        UploadProgress::Failed { reason } => {
            let reason = reason.trim_end_matches('.');
            let reason = format!("Roblox made no asset: {reason}. Change the file, and try again.");
            UploadEnd::Failed { reason, is_unclear: false }
        }
        UploadProgress::Pending => UploadEnd::Failed {
            reason: "Roblox has not finished the upload.".to_owned(),
            is_unclear: true,
        },
    }
}
