//! The ledger's entries: everything that ever happens is one of these, and all state is a reading
//! of them.
//!
//! Entries are appended, never changed. Where they are kept is not known here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{FailureKind, OpenPlace, SessionId, Setting};
use crate::command::{Fingerprint, Target};
pub use crate::context::{ContextScript, ExcludedScript, TaskContext};
pub use crate::interaction_mode::InteractionMode;
use crate::proposal::{Ack, Conflict, Mode, Proposal};

/// A position in the ledger, from 1. It names what stands there: workflow, call, proposal.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl std::fmt::Display for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What happened. The position and the time stand beside it, in [`Record`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "snake_case", deny_unknown_fields)]
pub enum Entry {
    /// A workflow began: one task in one place. Its position is the workflow's name.
    Started {
        /// The place.
        place: Place,
        /// What the person asked for.
        goal: String,
        /// Who calls the tools: a provider's name, or `calls` for a person's list.
        driver: String,
        /// Which proposals go without a person's yes.
        mode: Mode,
        /// What they attached.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<AttachmentSnapshot>,
        /// How far the model may go.
        #[serde(default, skip_serializing_if = "InteractionMode::is_act")]
        stance: InteractionMode,
        /// The task before it in the same conversation, where it goes on with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<Seq>,
        /// What a model is held to; none where no model calls the tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guards: Option<Guards>,
        /// Whether it is a daemon's, and the next one goes on with it where this one ends before it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        served: bool,
    },
    /// Vector has chosen the scripts that a model is told of at the beginning.
    Context {
        /// Which, and why.
        context: Box<TaskContext>,
    },
    /// The person said something more while the work went on, or answered a question.
    Asked {
        /// What they said.
        text: String,
        /// What they attached.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<AttachmentSnapshot>,
    },
    /// A model is about to be asked; written before anything is sent.
    Requested {
        /// What it is sent, so that it can be rebuilt exactly.
        request: Box<ModelRequestRecord>,
    },
    /// The model has answered; what it said and called stands behind this.
    Replied {
        /// The model: `PROVIDER/MODEL`.
        model: String,
        /// What that took, where the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<Tokens>,
        /// In US dollars, where the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// A part of its message that goes back as it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Box<Replay>>,
    },
    /// The model could not be asked, or did not answer; nothing goes on before a person says so.
    Unanswered {
        /// What kind of failure.
        code: FailureKind,
        /// What happened.
        message: String,
        /// Whether the same may well succeed later.
        retryable: bool,
        /// What to do next.
        hint: String,
        /// The setting that mends it, where one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<Setting>,
    },
    /// A person said that it goes on.
    Resumed {},
    /// The conversation ends with this task: what is asked next begins a new one.
    Cleared {},
    /// The client that calls the tools has ended, or its connection broke. It calls nothing more in this
    /// workflow; a person still decides upon what it proposed.
    Disconnected {
        /// What the client calls itself.
        client: String,
    },
    /// A person had the texts of this workflow erased: what was asked, said, called, proposed and changed.
    /// When, by whom and with which outcome it was decided stays, and so do hashes and costs.
    Erased {},
    /// Vector told the model something that no call is answered with.
    Told {
        /// What.
        text: String,
    },
    /// Older messages are not sent any more; this stands for them.
    Summarised {
        /// What stands for them.
        text: String,
        /// The last entry that it stands for.
        until: Seq,
        /// How many messages that are.
        turns: u32,
    },
    /// The model said something.
    Said {
        /// What it said.
        text: String,
        /// When in its work.
        phase: Phase,
        /// Where it asks something: the answers that it offers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// The model called a tool. Its position is the call's name.
    Called {
        /// The tool.
        tool: String,
        /// Its arguments as they were sent.
        #[schemars(with = "serde_json::Value")]
        args: serde_json::Value,
        /// The name that the provider gave the call, where it gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Why it cannot run, whatever it means: its arguments are no JSON, or were cut off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        flaw: Option<String>,
    },
    /// The call is a question to the person. What they say next answers it.
    Questioned {
        /// Which call.
        call: Seq,
        /// What is asked.
        question: String,
        /// The answers that are offered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// A call was answered without touching the place.
    Answered {
        /// Which call. As it is stored, 0 is the entry right before this one: both were written at once.
        call: Seq,
        /// The answer.
        #[schemars(with = "serde_json::Value")]
        answer: serde_json::Value,
    },
    /// A call was refused; nothing was proposed.
    Refused {
        /// Which call; 0 as in an answer.
        call: Seq,
        /// What is wrong and what to do next.
        reason: String,
        /// What was changed by somebody else meanwhile, where it is that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Box<Conflict>>,
    },
    /// The plan of the workflow changed.
    Planned {
        /// Which call.
        call: Seq,
        /// All steps.
        steps: Vec<Step>,
        /// A remark.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    /// A change waits for a decision. Its position is the proposal's name.
    Proposed {
        /// The call that it answers.
        call: Seq,
        /// What the model is told besides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<serde_json::Value>")]
        answer: Option<serde_json::Value>,
        /// The change.
        proposal: Box<Proposal>,
    },
    /// A person, or a mode that a person chose, said yes.
    Approved {
        /// To which proposal.
        proposal: Seq,
        /// To which content.
        patch_id: Fingerprint,
        /// Who said it.
        by: Approver,
    },
    /// A person said no, or chose a part instead.
    Rejected {
        /// To which proposal.
        proposal: Seq,
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A proposal lost its base or its run and can no longer be decided.
    Withdrawn {
        /// Which proposal.
        proposal: Seq,
        /// Why.
        reason: String,
        /// Whether its call is planned again.
        again: bool,
    },
    /// The target is about to replace the file, or Studio is told to act; written before either is
    /// touched, so that a crash between the two can be told.
    Applying {
        /// Which proposals, in order.
        proposals: Vec<Seq>,
        /// The file that is replaced, or the session that acts.
        file: String,
        /// Its hash before; none where there is no such file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Fingerprint>,
        /// What the target will say when it is done, one for each proposal.
        acks: Vec<Ack>,
    },
    /// The target did it.
    Applied {
        /// Which proposal.
        proposal: Seq,
        /// What it did.
        ack: Box<Ack>,
    },
    /// The target did not do it; the place is as it was.
    Failed {
        /// Which proposal.
        proposal: Seq,
        /// Why, and what to do next.
        reason: String,
    },
    /// A person has undone in Studio what was applied.
    Undone {
        /// Which proposal.
        proposal: Seq,
        /// What of it stays in files, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// A person has redone it.
    Redone {
        /// Which proposal.
        proposal: Seq,
        /// What of it is not in files, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// The workflow is over.
    Finished {
        /// How it ended.
        outcome: Finish,
        /// The model's last word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
}

/// An entry where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The position.
    pub seq: Seq,
    /// When it was appended, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The workflow that it belongs to: the position of its `started`.
    pub workflow: Seq,
    /// What happened.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a model is held to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// More scripts, or more subtrees, than this are touched only after the person has confirmed it.
    pub scope: u32,
    /// Whether what behaves needs a script before the work is done.
    pub needs_script: bool,
    /// How many messages a model may write before a person says that it goes on.
    pub turns: u32,
}

/// What a model is sent. Together with the entries before it, it gives the request byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRequestRecord {
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// How hard it is to think, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How long the answer may become, in tokens, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// The blob with the rules, the memory bank's extract and the tools.
    pub system: Fingerprint,
    /// The summary that stands for what is not sent any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Seq>,
    /// How many messages are sent.
    pub turns: u32,
    /// How long the request is, in bytes.
    pub bytes: u64,
    /// How many tokens that is taken to be.
    pub estimate: u64,
    /// How many the model can read.
    pub window: u64,
    /// The hash of the request.
    pub body: Fingerprint,
}

/// What a message took, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// All that was read.
    pub prompt: u64,
    /// All that was written, thoughts included.
    pub generated: u64,
    /// Of what was read: from a cache.
    #[serde(default)]
    pub cache_read: u64,
    /// Of what was read: put into a cache.
    #[serde(default)]
    pub cache_write: u64,
}

/// A part of a model's message that goes back as it came: signed thoughts, reasoning that only the
/// provider can read. Nobody else looks into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The provider that sent it. It goes back to nobody else.
    pub provider: String,
    /// The model that sent it. Another one may refuse the signature.
    pub model: String,
    /// What it is, in the words of the provider's wire.
    #[schemars(with = "serde_json::Value")]
    pub content: serde_json::Value,
}

/// Where a workflow works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Place {
    /// In a file.
    File(FilePlace),
    /// In a place that is open in Studio.
    Open(StudioPlace),
    /// In the files of a Rojo project.
    Project(ProjectPlace),
}

impl Place {
    /// Its name, for a person.
    pub fn name(&self) -> String {
        match self {
            Self::File(FilePlace { file, out: Some(out), .. }) => format!("{file} → {out}"),
            Self::File(FilePlace { file, .. }) => file.clone(),
            Self::Open(StudioPlace { place, .. }) => format!("{} (open in Studio)", place.name),
            Self::Project(project) => project.project.clone(),
        }
    }

    /// The session that it is to the daemon, where that has it open: a file by what is written.
    pub fn session_id(&self) -> SessionId {
        let named = |kind: &str, file: &str| {
            SessionId(format!("{kind}-{}", Fingerprint::hash_bytes(file.as_bytes()).short_hex()))
        };
        match self {
            Self::File(place) => named("file", place.out.as_ref().unwrap_or(&place.file)),
            Self::Open(open) => open.session.clone(),
            Self::Project(project) => named("project", &project.project),
        }
    }

    /// The file, where it is one.
    pub fn file_place(&self) -> Option<&FilePlace> {
        match self {
            Self::File(file) => Some(file),
            Self::Open(_) | Self::Project(_) => None,
        }
    }

    /// The open place, where it is one.
    pub fn studio_place(&self) -> Option<&StudioPlace> {
        match self {
            Self::Open(open) => Some(open),
            Self::File(_) | Self::Project(_) => None,
        }
    }
}

/// A Rojo project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectPlace {
    /// The project file.
    pub project: String,
    /// A hash over all of its files as they were read.
    pub hash: Fingerprint,
}

/// A place that is open in Studio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudioPlace {
    /// The window.
    pub session: SessionId,
    /// What is open there.
    pub place: OpenPlace,
}

/// A place as a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePlace {
    /// The file that was read.
    pub file: String,
    /// The file that is written; the same where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// The hash of the file that was read.
    pub hash: Fingerprint,
    /// Where another file is written: its hash before; none where there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Fingerprint>,
}

/// Something of the place that a person attached to what they ask for, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AttachmentSnapshot {
    /// An instance.
    Instance {
        /// Which.
        target: Target,
        /// Its class.
        class: String,
    },
    /// Text that was selected in a script.
    Text {
        /// The script.
        target: Target,
        /// The hash of the script's text.
        hash: Fingerprint,
        /// The line where it begins, from 1; none where the text stands in several places.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
        /// What was selected.
        selected: String,
    },
    /// A file of this machine.
    File {
        /// Where, as it was named.
        path: String,
        /// The hash of its text.
        hash: Fingerprint,
        /// Its text.
        text: String,
    },
    /// What a folder of this machine holds.
    Folder {
        /// Where, as it was named.
        path: String,
        /// The names in it; those of folders end with a slash.
        names: Vec<String>,
        /// How many there are besides.
        #[serde(default)]
        more: u32,
    },
    /// A page of the web.
    Page {
        /// Its address.
        address: String,
        /// What it says, fenced as data.
        text: String,
    },
    /// What is wrong with the scripts of the place.
    Problems {
        /// How many scripts were looked at.
        scripts: u32,
        /// The first findings, the errors before the rest, each a line.
        findings: Vec<String>,
        /// How many there are besides.
        #[serde(default)]
        more: u32,
    },
}

impl AttachmentSnapshot {
    /// What it is, in a person's words.
    pub fn describe(&self) -> String {
        match self {
            Self::Instance { target, class } => format!("{} ({class})", target.path),
            Self::File { path, text, .. } => format!("{path} ({} bytes)", text.len()),
            Self::Folder { path, names, more } => {
                format!("{path} ({} names)", names.len() + *more as usize)
            }
            Self::Page { address, text } => format!("{address} ({} bytes)", text.len()),
            Self::Problems { scripts, findings, more } => {
                let findings = findings.len() + *more as usize;
                format!("problems of {scripts} scripts ({findings} findings)")
            }
            Self::Text { target, line, selected, .. } => {
                let lines = selected.lines().count().max(1) as u32;
                match (line, lines) {
                    (Some(line), 1) => format!("line {line} of {}", target.path),
                    (Some(line), n) => {
                        format!("lines {line} to {} of {}", line + n - 1, target.path)
                    }
                    (None, 1) => format!("a line of {}", target.path),
                    (None, n) => format!("{n} lines of {}", target.path),
                }
            }
        }
    }
}

/// When in its work a model says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// What it is about to do.
    Start,
    /// How far it is.
    Update,
    /// What it has done.
    Final,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it is.
    pub text: String,
    /// Whether it is done.
    pub done: bool,
}

/// Who said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// A person, at a card.
    Person,
    /// A person, to this card and all that follow in this run.
    PersonForAll,
    /// The mode that a person chose.
    Mode,
    /// `--yes` on the command line.
    Yes,
}

/// How a workflow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// Everything that was asked for.
    Done,
    /// A person did not approve.
    NotApproved,
    /// Something went wrong.
    Failed,
}
