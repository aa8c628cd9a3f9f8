//! The uploads of files that the ledger records.

use scene_schemas::entry::{AssetAccount, AssetFile, AssetReview, Entry, Record, Seq};
use vector_cloud::AssetOperationPath;
use vector_ledger::{Ledger, LedgerError};

/// What became of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssetUploadState {
    Uploaded {
        asset: u64,
        review: AssetReview,
    },
    /// It is not known whether there is an asset: Vector was stopped, or there was no answer.
    Unclear,
    Failed,
}

/// An upload of a file that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAssetUpload {
    pub seq: Seq,
    pub workflow: Seq,
    pub file: AssetFile,
    pub state: AssetUploadState,
    operation: Option<String>,
}

impl PastAssetUpload {
    /// Returns the operation of an upload whose end is not known.
    pub fn operation(&self) -> Option<AssetOperationPath> {
        let operation =
            self.operation.as_deref().filter(|_| self.state == AssetUploadState::Unclear);
        AssetOperationPath::parse(operation?).ok()
    }
}

/// The uploads of files in a ledger, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssetUploads {
    pub uploads: Vec<PastAssetUpload>,
}

impl AssetUploads {
    /// Reads the uploads of a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self, LedgerError> {
        let mut history = Self::default();
        for record in ledger.uploads()? {
            history.add(record);
        }
        Ok(history)
    }

    fn add(&mut self, record: Record) {
        let Record { seq, workflow, entry, .. } = record;
        match entry {
            Entry::AssetUploading { file } => self.uploads.push(PastAssetUpload {
                seq,
                workflow,
                file: *file,
                state: AssetUploadState::Unclear,
                operation: None,
            }),
            Entry::AssetUploadAccepted { upload, operation } => {
                if let Some(past) = self.find(upload) {
                    past.operation = Some(operation);
                }
            }
            Entry::AssetUploaded { upload, asset, review } => {
                if let Some(past) = self.find(upload) {
                    past.state = AssetUploadState::Uploaded { asset, review };
                }
            }
            Entry::UploadFailed { upload, is_unclear: false, .. } => {
                if let Some(past) = self.find(upload) {
                    past.state = AssetUploadState::Failed;
                }
            }
            _ => {}
        }
    }

    fn find(&mut self, upload: Seq) -> Option<&mut PastAssetUpload> {
        self.uploads.iter_mut().rev().find(|past| past.seq == upload)
    }

    /// Returns the newest upload of the same contents as the same kind to the same account that has an
    /// asset, or whose end is not known.
    pub fn find_same(&self, file: &AssetFile) -> Option<&PastAssetUpload> {
        let is_same = |past: &&PastAssetUpload| {
            let own = &past.file;
            own.contents == file.contents
                && own.kind == file.kind
                && own.account == file.account
                && past.state != AssetUploadState::Failed
        };
        self.uploads.iter().rev().find(is_same)
    }

    /// Returns the account of the newest asset.
    pub fn last_account(&self) -> Option<AssetAccount> {
        let is_made =
            |past: &&PastAssetUpload| matches!(past.state, AssetUploadState::Uploaded { .. });
        self.uploads.iter().rev().find(is_made).map(|past| past.file.account)
    }
}
