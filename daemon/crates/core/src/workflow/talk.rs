//! The conversation of a task: its messages, and the state of the model.
//!
//! The model has not read user messages that arrive while a request is running or a call is being
//! settled. They are queued, and come after the model's next call in the prompt.

use scene_schemas::api::{FailureKind, Setting};
use scene_schemas::entry::{AttachmentSnapshot, Entry, Image, ModelRequestRecord, Replay, Seq};

use super::parts::is_merge;
use crate::prompt::attachment_text;

/// The source of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnSource {
    Model(String),
    /// A message of the model by a message tool. The arguments of the call contain the text.
    Aloud(String),
    /// A call of the model.
    Call(Seq),
    /// A message of the user, with its attachments.
    Person(String, Option<String>),
    /// An image that the user attached to the message before it.
    Image(Box<Image>),
    Vector(String),
}

/// The failure that stops requests to the model until the user resumes.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTrouble {
    pub code: FailureKind,
    pub message: String,
    /// Whether a retry may succeed later.
    pub is_retryable: bool,
    /// Advice on what to do next.
    pub hint: String,
    /// The setting that resolves the problem, if there is one.
    pub setting: Option<Setting>,
}

#[derive(Debug, Default)]
pub struct ModelConversation {
    turns: Vec<(Seq, TurnSource)>,
    /// Turns that the model has not read yet.
    queued: Vec<(Seq, TurnSource)>,
    /// The number of requests since the last message or resume of the user.
    requests: u32,
    last: Option<(Seq, ModelRequestRecord)>,
    trouble: Option<ModelTrouble>,
    /// The summary: its position, the last entry that it covers, and its text.
    summarised: Option<(Seq, Seq, String)>,
    /// Provider data to be sent back with the next call.
    replay: Option<Box<Replay>>,
    /// Bytes of a request per token, as counted by the provider.
    per_token: Option<f64>,
    /// The number of consecutive messages without a call.
    vain: u32,
    /// The position of the user's last message or resume.
    spoken: Option<Seq>,
}

/// Bytes per token, until a provider has counted.
const PER_TOKEN: f64 = 3.2;

impl ModelConversation {
    /// Returns the turns in prompt order.
    pub(super) fn turns(&self) -> impl Iterator<Item = &(Seq, TurnSource)> + Clone {
        self.turns.iter().chain(&self.queued)
    }

    /// Returns the number of requests since the last message or resume of the user.
    pub fn request_count(&self) -> u32 {
        self.requests
    }

    /// Returns the last request and its position.
    pub fn last_request(&self) -> Option<&(Seq, ModelRequestRecord)> {
        self.last.as_ref()
    }

    /// Returns the failure that stops requests to the model.
    pub fn trouble(&self) -> Option<&ModelTrouble> {
        self.trouble.as_ref()
    }

    /// Returns the summary: its position, the last entry that it covers, and its text.
    pub fn current_summary(&self) -> Option<(Seq, Seq, &str)> {
        self.summarised.as_ref().map(|(seq, until, text)| (*seq, *until, text.as_str()))
    }

    /// Estimates the number of tokens of a request.
    pub fn estimate_tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.per_token.unwrap_or(PER_TOKEN)).ceil() as u64
    }

    /// Returns the position of the user's last message or resume.
    pub(super) fn last_input(&self) -> Option<Seq> {
        self.spoken
    }

    /// Returns the number of consecutive messages without a call.
    pub(super) fn idle_messages(&self) -> u32 {
        self.vain
    }

    /// Whether there is a user message that the model has not read.
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    pub(super) fn take_replay(&mut self) -> Option<Box<Replay>> {
        self.replay.take()
    }

    /// Handles a message or resume of the user: clears the failure and the counters.
    pub(super) fn resume(&mut self, seq: Seq) {
        self.spoken = Some(seq);
        self.requests = 0;
        self.vain = 0;
        self.trouble = None;
    }

    /// Adds a message that the model sent by a message tool.
    pub(super) fn add_message(&mut self, seq: Seq, text: &str) {
        self.turns.push((seq, TurnSource::Aloud(text.to_owned())));
    }

    /// Adds the images of a user message.
    pub(super) fn add_images(&mut self, seq: Seq, attached: &[AttachmentSnapshot]) {
        let images = attached.iter().filter_map(AttachmentSnapshot::image);
        self.queued.extend(images.map(|it| (seq, TurnSource::Image(Box::new(it.clone())))));
    }

    pub(super) fn apply_entry(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::Said { text, .. } => self.turns.push((seq, TurnSource::Model(text.clone()))),
            Entry::Questioned { question, .. } => {
                self.turns.push((seq, TurnSource::Aloud(question.clone())));
            }
            Entry::Notified { text } => self.turns.push((seq, TurnSource::Vector(text.clone()))),
            // Its model did not make this call, and does not hear of it.
            Entry::Called { tool, .. } if is_merge(tool) => {}
            Entry::Called { .. } => {
                self.vain = 0;
                self.turns.push((seq, TurnSource::Call(seq)));
            }
            Entry::Asked { text, attached } => {
                self.queued
                    .push((seq, TurnSource::Person(text.clone(), attachment_text(attached))));
                self.add_images(seq, attached);
                self.resume(seq);
            }
            Entry::Requested { request } => {
                self.turns.append(&mut self.queued);
                self.requests += 1;
                self.last = Some((seq, request.as_ref().clone()));
            }
            Entry::Replied { tokens, replay, .. } => {
                self.vain += 1;
                self.replay.clone_from(replay);
                let bytes = self.last.as_ref().map(|(_, request)| request.bytes as f64);
                // Implausible token counts are ignored.
                let counted = tokens.filter(|it| it.prompt > 0).zip(bytes);
                let ratio = counted.map(|(tokens, bytes)| bytes / tokens.prompt as f64);
                if let Some(ratio) = ratio.filter(|ratio| (1.0..=16.0).contains(ratio)) {
                    self.per_token = Some(ratio);
                }
            }
            Entry::RequestFailed { code, message, retryable, hint, setting } => {
                self.trouble = Some(ModelTrouble {
                    code: *code,
                    message: message.clone(),
                    is_retryable: *retryable,
                    hint: hint.clone(),
                    setting: *setting,
                });
            }
            Entry::Resumed {} => self.resume(seq),
            Entry::Summarised { text, until, .. } => {
                self.summarised = Some((seq, *until, text.clone()));
            }
            Entry::Started { .. }
            | Entry::Context { .. }
            | Entry::Cleared {}
            | Entry::Disconnected { .. }
            | Entry::Erased { .. }
            | Entry::PermissionRequested { .. }
            | Entry::PermissionDecided { .. }
            | Entry::RuleAdded { .. }
            | Entry::RuleRevoked { .. }
            | Entry::Uploading { .. }
            | Entry::Uploaded { .. }
            | Entry::AssetUploading { .. }
            | Entry::AssetUploadAccepted { .. }
            | Entry::AssetUploaded { .. }
            | Entry::UploadFailed { .. }
            | Entry::GenerationStarting { .. }
            | Entry::GenerationAccepted { .. }
            | Entry::GenerationRefining { .. }
            | Entry::Generated { .. }
            | Entry::GenerationFailed { .. }
            | Entry::CloudRunStarted { .. }
            | Entry::CloudRunAccepted { .. }
            | Entry::CloudRunFinished { .. }
            | Entry::Commented { .. }
            | Entry::CommentsAnswered { .. }
            | Entry::ReviewStarted { .. }
            | Entry::Reviewed { .. }
            | Entry::ReviewFailed { .. }
            | Entry::PartStarted { .. }
            | Entry::PartEnded { .. }
            | Entry::Submitted { .. }
            | Entry::Noted { .. }
            | Entry::Answered { .. }
            | Entry::Refused { .. }
            | Entry::Planned { .. }
            | Entry::Proposed { .. }
            | Entry::Approved { .. }
            | Entry::Rejected { .. }
            | Entry::Withdrawn { .. }
            | Entry::Applying { .. }
            | Entry::Applied { .. }
            | Entry::Failed { .. }
            | Entry::Undone { .. }
            | Entry::Redone { .. }
            | Entry::Finished { .. } => {}
        }
    }
}
