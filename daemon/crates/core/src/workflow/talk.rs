//! The conversation of a task: who said what, and how it stands with the model.
//!
//! What the person says while a model is asked, or while a call is being settled, the model has not
//! read when it makes its next call; it stands behind that in what the model is sent.

use scene_schemas::api::{FailureKind, Setting};
use scene_schemas::entry::{Entry, ModelRequestRecord, Replay, Seq};

use crate::prompt::attachment_text;

/// Who has said something.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TurnSource {
    Model(String),
    /// The model, by a call that says nothing else: its arguments hold the words.
    Aloud(String),
    /// The model, by a call.
    Call(Seq),
    /// The person, and what they attached.
    Person(String, Option<String>),
    Vector(String),
}

/// Why the model is not asked any more before a person says so.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTrouble {
    /// What kind of failure.
    pub code: FailureKind,
    pub message: String,
    /// Whether the same may well succeed later.
    pub is_retryable: bool,
    /// What to do next.
    pub hint: String,
    /// The setting that mends it, where one does.
    pub setting: Option<Setting>,
}

#[derive(Debug, Default)]
pub struct ModelConversation {
    turns: Vec<(Seq, TurnSource)>,
    /// What the model has not read yet.
    queued: Vec<(Seq, TurnSource)>,
    /// How many messages the model was asked for since a person last said something.
    requests: u32,
    last: Option<(Seq, ModelRequestRecord)>,
    trouble: Option<ModelTrouble>,
    /// The summary, and the last entry that it stands for.
    summarised: Option<(Seq, Seq, String)>,
    /// What goes back with the call that comes next.
    replay: Option<Box<Replay>>,
    /// Bytes of a request for one token, as the provider counted it.
    per_token: Option<f64>,
    /// How many messages in a row called nothing.
    vain: u32,
    /// Where a person last said something, or that it goes on.
    spoken: Option<Seq>,
}

/// Bytes of a request for one token, until a provider has counted.
const PER_TOKEN: f64 = 3.2;

impl ModelConversation {
    /// What was said, in the order in which the model is sent it.
    pub(super) fn turns(&self) -> impl Iterator<Item = &(Seq, TurnSource)> + Clone {
        self.turns.iter().chain(&self.queued)
    }

    /// How many messages the model was asked for since a person last said that it goes on.
    pub fn request_count(&self) -> u32 {
        self.requests
    }

    /// The last request, and where it stands.
    pub fn last_request(&self) -> Option<&(Seq, ModelRequestRecord)> {
        self.last.as_ref()
    }

    /// Why the model is not asked any more.
    pub fn trouble(&self) -> Option<&ModelTrouble> {
        self.trouble.as_ref()
    }

    /// The summary: where it stands, the last entry that it stands for, and its text.
    pub fn current_summary(&self) -> Option<(Seq, Seq, &str)> {
        self.summarised.as_ref().map(|(seq, until, text)| (*seq, *until, text.as_str()))
    }

    /// How many tokens so many bytes of a request are taken to be.
    pub fn estimate_tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.per_token.unwrap_or(PER_TOKEN)).ceil() as u64
    }

    /// Where a person last said something, or that it goes on.
    pub(super) fn last_input(&self) -> Option<Seq> {
        self.spoken
    }

    /// How many messages in a row called nothing.
    pub(super) fn idle_messages(&self) -> u32 {
        self.vain
    }

    /// Whether the person has said something that the model has not read.
    pub(super) fn has_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    pub(super) fn take_replay(&mut self) -> Option<Box<Replay>> {
        self.replay.take()
    }

    /// A person has said something: what went wrong is forgotten.
    pub(super) fn resume(&mut self, seq: Seq) {
        self.spoken = Some(seq);
        self.requests = 0;
        self.vain = 0;
        self.trouble = None;
    }

    /// The model has said something by a call.
    pub(super) fn add_message(&mut self, seq: Seq, text: &str) {
        self.turns.push((seq, TurnSource::Aloud(text.to_owned())));
    }

    pub(super) fn apply_entry(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::Said { text, .. } => self.turns.push((seq, TurnSource::Model(text.clone()))),
            Entry::Questioned { question, .. } => {
                self.turns.push((seq, TurnSource::Aloud(question.clone())));
            }
            Entry::Told { text } => self.turns.push((seq, TurnSource::Vector(text.clone()))),
            Entry::Called { .. } => {
                self.vain = 0;
                self.turns.push((seq, TurnSource::Call(seq)));
            }
            Entry::Asked { text, attached } => {
                self.queued
                    .push((seq, TurnSource::Person(text.clone(), attachment_text(attached))));
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
                // A model that counts nothing, or wildly, is not believed.
                let counted = tokens.filter(|it| it.prompt > 0).zip(bytes);
                let ratio = counted.map(|(tokens, bytes)| bytes / tokens.prompt as f64);
                if let Some(ratio) = ratio.filter(|ratio| (1.0..=16.0).contains(ratio)) {
                    self.per_token = Some(ratio);
                }
            }
            Entry::Unanswered { code, message, retryable, hint, setting } => {
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
            | Entry::Erased {}
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
