//! The text of a script at any time, derived from known texts by applying the recorded changes
//! forwards and backwards. Each text is identified by its hash, so no text is invented if someone
//! else changed the script in between.

use std::collections::HashMap;

use scene_schemas::api::{ScriptAtTime, ScriptVersion};
use scene_schemas::command::Command;
use scene_schemas::entry::{Entry, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::text::TextEdit;
use scene_schemas::{Fingerprint, InstancePath, Value};
use vector_ledger::{Ledger, LedgerError};
use vector_rojo_project::StepJournal;

use super::cache::ScriptChange;

#[derive(Debug, Clone, Default)]
pub(super) struct ScriptStep {
    title: String,
    /// The hash of the text that the edits apply to.
    before: Option<Fingerprint>,
    /// The hash of the resulting text.
    after: Option<Fingerprint>,
    edits: Vec<Vec<TextEdit>>,
    inverse_edits: Vec<Vec<TextEdit>>,
    /// The initial text, if the change created the script.
    created_text: Option<String>,
    /// Whether the change deleted the script.
    is_deleted: bool,
    /// The blob of the journal of changed files, if the change is in a project.
    journal_blob: Option<Fingerprint>,
}

impl ScriptStep {
    /// The effect of a proposal on a script.
    pub(super) fn from_proposal(proposal: &Proposal, ack: &Ack, path: &InstancePath) -> Self {
        let mut step = Self { title: proposal.title.clone(), ..Self::default() };
        let in_files = ack.files.as_deref().unwrap_or(ack);
        step.journal_blob = in_files.bytes.as_ref().map(|bytes| bytes.patch.clone());
        let own = proposal.commands.iter().enumerate().filter(|(at, _)| !proposal.is_in_files(*at));
        own.for_each(|(_, command)| step.apply_command(command, path));
        step.apply_inverse(&ack.inverse, path);
        if let (Some(files), Some(ack)) = (&proposal.files, &ack.files) {
            files.commands.iter().for_each(|command| step.apply_command(command, path));
            step.apply_inverse(&ack.inverse, path);
        }
        step
    }

    fn apply_command(&mut self, command: &Command, path: &InstancePath) {
        match command {
            Command::EditScript { target, edits, .. }
                if target.path == *path
                    && let Some(made) = &mut self.created_text =>
            {
                // A text created by the same proposal has no expected hash.
                if let Ok(text) = vector_text_edit::apply_edits(made, edits) {
                    self.after = Some(Fingerprint::hash_bytes(text.as_bytes()));
                    *made = text;
                }
            }
            Command::EditScript { target, edits, expect } if target.path == *path => {
                self.before.get_or_insert_with(|| expect.clone());
                self.edits.push(edits.clone());
            }
            Command::Create { parent, name, props, .. }
                if parent.path.child(name, None) == *path =>
            {
                let text = match props.get("Source") {
                    Some(Some(Value::String(text))) => text.clone(),
                    _ => String::new(),
                };
                self.after = Some(Fingerprint::hash_bytes(text.as_bytes()));
                self.created_text = Some(text);
                self.is_deleted = false;
            }
            Command::Delete { target, .. } if path.segments.starts_with(&target.path.segments) => {
                (self.is_deleted, self.after) = (true, None);
            }
            _ => {}
        }
    }

    fn apply_inverse(&mut self, inverse: &[Command], path: &InstancePath) {
        for command in inverse {
            if let Command::EditScript { target, edits, expect } = command
                && target.path == *path
            {
                // The first inverse edit starts from the text that all the edits left.
                if self.inverse_edits.is_empty() && !self.is_deleted {
                    self.after = Some(expect.clone());
                }
                self.inverse_edits.push(edits.clone());
            }
        }
    }

    fn to_inverse(&self) -> Self {
        Self {
            title: self.title.clone(),
            before: self.after.clone(),
            after: self.before.clone().filter(|_| self.created_text.is_none()),
            edits: self.inverse_edits.clone(),
            inverse_edits: self.edits.clone(),
            created_text: None,
            is_deleted: self.created_text.is_some(),
            journal_blob: None,
        }
    }
}

#[derive(Debug, Default)]
struct KnownTexts(HashMap<Fingerprint, String>);

impl KnownTexts {
    fn insert_text(&mut self, text: String) {
        self.0.insert(Fingerprint::hash_bytes(text.as_bytes()), text);
    }

    fn get(&self, hash: Option<&Fingerprint>) -> Option<&String> {
        self.0.get(hash?)
    }

    /// Derives one text from another by edits, if the result has the hash `to`. Returns whether it
    /// added a text.
    fn derive_text(
        &mut self,
        from: Option<&Fingerprint>,
        edits: &[Vec<TextEdit>],
        to: Option<&Fingerprint>,
    ) -> bool {
        let (Some(from), Some(to)) = (self.get(from), to) else {
            return false;
        };
        if self.0.contains_key(to) || edits.is_empty() {
            return false;
        }
        let gone = edits
            .iter()
            .try_fold(from.clone(), |text, edits| vector_text_edit::apply_edits(&text, edits));
        // A different result means that someone else changed the text in between, or that the edits
        // belong to another text.
        let Some(text) = gone.ok().filter(|text| Fingerprint::hash_bytes(text.as_bytes()) == *to)
        else {
            return false;
        };
        self.0.insert(to.clone(), text);
        true
    }
}

/// The recorded changes and known texts of a script.
#[derive(Debug, Default)]
pub(super) struct ScriptTimeline {
    changes: Vec<ScriptChange>,
    steps: Vec<ScriptStep>,
    texts: KnownTexts,
    /// The current text, if the place is open.
    current_text: Option<String>,
}

impl ScriptTimeline {
    /// Reads the changes of a script, oldest first, and derives its texts. `now` holds its current
    /// texts in the place and in its file. `reads` are calls that were answered with its text.
    pub(super) fn read_changes(
        ledger: &Ledger,
        path: &InstancePath,
        changes: Vec<ScriptChange>,
        now: Vec<String>,
        reads: &[Seq],
    ) -> Result<Self, LedgerError> {
        let mut script = Self::default();
        let mut done: HashMap<Seq, ScriptStep> = HashMap::new();
        for change in changes {
            let step = match ledger.record_at(change.seq)?.map(|record| record.entry) {
                Some(Entry::Applied { proposal, ack }) => match ledger.record_at(proposal)? {
                    Some(record) => match record.entry {
                        Entry::Proposed { proposal, .. } => {
                            ScriptStep::from_proposal(&proposal, &ack, path)
                        }
                        _ => continue,
                    },
                    None => continue,
                },
                Some(Entry::Undone { proposal, .. }) => match done.get(&proposal) {
                    Some(step) => step.to_inverse(),
                    None => continue,
                },
                Some(Entry::Redone { proposal, .. }) => match done.get(&proposal) {
                    Some(step) => step.clone(),
                    None => continue,
                },
                _ => continue,
            };
            if change.kind == "applied" {
                done.insert(change.proposal, step.clone());
            }
            if step.after.is_some() || step.is_deleted || step.before.is_some() {
                script.changes.push(change);
                script.steps.push(step);
            }
        }
        let left = script.steps.last().and_then(|step| step.after.clone());
        let is_left = |text: &&String| Some(Fingerprint::hash_bytes(text.as_bytes())) == left;
        script.current_text = now.iter().find(is_left).or(now.first()).cloned();
        for text in now {
            script.texts.insert_text(text);
        }
        script.add_stored_texts(ledger, reads)?;
        script.propagate();
        Ok(script)
    }

    /// Adds texts that the ledger has whole.
    fn add_stored_texts(&mut self, ledger: &Ledger, reads: &[Seq]) -> Result<(), LedgerError> {
        self.texts.insert_text(String::new());
        for step in &self.steps {
            step.created_text.iter().for_each(|text| self.texts.insert_text(text.clone()));
            for hash in step.before.iter().chain(&step.after) {
                if self.texts.get(Some(hash)).is_none()
                    && let Some(text) =
                        ledger.read_blob(hash)?.and_then(|it| String::from_utf8(it).ok())
                {
                    self.texts.insert_text(text);
                }
            }
        }
        let files: Vec<Fingerprint> =
            self.steps.iter().filter_map(|it| it.journal_blob.clone()).collect();
        for hash in files {
            let journal = ledger.read_blob(&hash)?.as_deref().and_then(StepJournal::from_bytes);
            for before in journal.iter().flat_map(StepJournal::required_blobs) {
                let text = ledger.read_blob(before)?.and_then(|it| String::from_utf8(it).ok());
                // In a scene, a file's lines end in LF.
                let text = text.map(|text| text.replace("\r\n", "\n"));
                if let Some(text) = text.filter(|text| self.is_recorded(text)) {
                    self.texts.insert_text(text);
                }
            }
        }
        for read in reads {
            if let Some(Entry::Answered { answer, .. }) =
                ledger.record_at(*read)?.map(|it| it.entry)
                && let Some(text) = answer["text"].as_str()
                && answer["fingerprint"] == Fingerprint::hash_bytes(text.as_bytes()).0.as_str()
            {
                self.texts.insert_text(text.to_owned());
            }
        }
        Ok(())
    }

    /// Whether a change was made on this text, or resulted in it.
    fn is_recorded(&self, text: &str) -> bool {
        let hash = Some(Fingerprint::hash_bytes(text.as_bytes()));
        self.steps.iter().any(|step| step.before == hash || step.after == hash)
    }

    /// Derives texts from known ones until nothing more is found.
    fn propagate(&mut self) {
        let mut is_news = true;
        while is_news {
            is_news = false;
            for step in self.steps.iter().rev() {
                is_news |= self.texts.derive_text(
                    step.after.as_ref(),
                    &step.inverse_edits,
                    step.before.as_ref(),
                );
            }
            for step in &self.steps {
                is_news |=
                    self.texts.derive_text(step.before.as_ref(), &step.edits, step.after.as_ref());
            }
        }
    }

    pub(super) fn has_history(&self) -> bool {
        self.current_text.is_some() || !self.steps.is_empty()
    }

    /// The text right after a position, or now.
    pub(super) fn text_at(&self, path: InstancePath, seq: Option<Seq>) -> ScriptAtTime {
        let version = |(change, step): (&ScriptChange, &ScriptStep)| ScriptVersion {
            seq: change.seq,
            at: change.at,
            kind: change.kind.to_owned(),
            proposal: change.proposal,
            title: step.title.clone(),
            hash: step.after.clone(),
            is_known: step.is_deleted || self.texts.get(step.after.as_ref()).is_some(),
        };
        let mut at = ScriptAtTime {
            path,
            text: None,
            hash: None,
            seq: None,
            proposal: None,
            before: None,
            note: None,
            versions: self.changes.iter().zip(&self.steps).rev().map(version).collect(),
        };
        let last = match seq {
            Some(seq) => self.changes.iter().rposition(|change| change.seq <= seq),
            None => self.steps.len().checked_sub(1),
        };
        match (last, &self.current_text) {
            (last, Some(now)) if seq.is_none() && !self.is_change_result(last, now) => {
                at.text = Some(now.clone());
                at.note = last.map(|last| {
                    let by = self.changes[last].proposal;
                    format!("It was changed by others since proposal {by} was applied.")
                });
            }
            (Some(last), _) => self.fill_after_change(last, &mut at),
            (None, _) => self.fill_initial(&mut at),
        }
        let hash = at.text.as_ref().map(|text| Fingerprint::hash_bytes(text.as_bytes()));
        at.hash = hash.or(at.hash);
        at
    }

    /// Whether a text is the result of a change.
    fn is_change_result(&self, change: Option<usize>, text: &str) -> bool {
        let after = change.and_then(|change| self.steps[change].after.as_ref());
        after == Some(&Fingerprint::hash_bytes(text.as_bytes()))
    }

    fn fill_after_change(&self, change: usize, at: &mut ScriptAtTime) {
        let (step, ScriptChange { seq, proposal, .. }) =
            (&self.steps[change], &self.changes[change]);
        (at.seq, at.proposal) = (Some(*seq), Some(*proposal));
        at.hash.clone_from(&step.after);
        at.text = self.texts.get(step.after.as_ref()).cloned();
        at.before = match step.created_text {
            Some(_) => None,
            None => self.texts.get(step.before.as_ref()).cloned(),
        };
        if step.is_deleted {
            at.note = Some(format!("Entry {seq} took it away."));
        } else if at.text.is_none() {
            at.note = Some(self.explain_missing_text(change));
        }
    }

    /// Fills in the text before the first change.
    fn fill_initial(&self, at: &mut ScriptAtTime) {
        let Some((step, change)) = self.steps.first().zip(self.changes.first()) else {
            at.text.clone_from(&self.current_text);
            at.note = Some("No change of it is on record.".to_owned());
            return;
        };
        let seq = change.seq;
        if step.created_text.is_some() {
            at.note = Some(format!("It was not there before entry {seq}."));
            return;
        }
        at.hash.clone_from(&step.before);
        at.text = self.texts.get(step.before.as_ref()).cloned();
        at.note = Some(match at.text {
            Some(_) => format!("As entry {seq} found it; who changed it before is not on record."),
            None => self.explain_missing_text(0),
        });
    }

    /// Explains why the result of a change is not known.
    fn explain_missing_text(&self, change: usize) -> String {
        let is_known = |step: &ScriptStep| self.texts.get(step.after.as_ref()).is_some();
        let later = self.steps.iter().skip(change + 1).position(is_known);
        match later.map(|later| self.changes[change + 1 + later].seq) {
            Some(seq) => format!(
                "Its text at that time is not recorded, and others have changed it since. \
                 It is known from entry {seq} on."
            ),
            None if self.current_text.is_some() => "Its text at that time is not recorded, \
                                           and others have changed it since."
                .to_owned(),
            None => "The ledger has the changes and not the text. Open the place and ask again: what it \
                     says now leads back."
                .to_owned(),
        }
    }
}
