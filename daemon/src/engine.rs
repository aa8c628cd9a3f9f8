//! The engine: the one loop that does what a workflow wants.
//!
//! It turns inputs into durable entries, plans calls on the scene, asks the provider, and hands
//! approved proposals to the target. Whom it asks for a decision is not its business: it says that
//! one is due.

mod recover;

use scene_schemas::entry::{Approver, Entry, Finish, Record, Seq};
use scene_schemas::proposal::{Mode, Proposal};
use scene_schemas::{Command, Fingerprint};
use serde_json::Value as Json;

use crate::core::Refusal;
use crate::core::prompt::Call;
use crate::core::proposal::{Blobs, Draft, attempt, relocated, witness};
use crate::core::refusal::refuse;
use crate::core::scene::{Mark, Patch, Scene};
use crate::core::tools::{self, Plan};
use crate::core::workflow::{CALLS, Input, State, Status, Want, Workflow, decide};
use crate::ledger::{Append, Lease, Ledger, LedgerError};
use crate::providers::{Provider, ProviderError};
use crate::targets::place::{PlaceError, PlaceFile, WayBack};

pub use self::recover::recover;

/// The call by which a person takes a proposal back; no model can make it.
pub const REVERT: &str = "revert";

/// What stops the engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The place cannot be read or written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The provider gave no answer.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// An input does not fit.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What the engine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// A person's decision.
    Decision(Seq),
    /// Nothing more.
    Nothing,
}

/// Who calls the tools.
#[derive(Debug)]
pub enum Driver {
    /// A provider.
    Provider(Provider),
    /// A person's list of calls; done when they are.
    Calls,
}

impl Driver {
    /// Its name in the ledger.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Provider(provider) => provider.name(),
            Self::Calls => CALLS,
        }
    }
}

/// Told of every entry once it is durable.
pub type Listener<'a> = Box<dyn FnMut(&Record) + 'a>;

/// A workflow at work.
pub struct Engine<'a> {
    ledger: &'a Ledger,
    state: State,
    workflow: Seq,
    _lease: Option<Lease>,
    driver: Driver,
    scene: Scene,
    file: PlaceFile,
    /// The pending proposals that are done in the scene on trial, each with the moment before it.
    trial: Vec<(Seq, Mark)>,
    blobs: Blobs,
    listener: Listener<'a>,
}

impl<'a> Engine<'a> {
    /// Begins a workflow in a place.
    pub fn start(
        ledger: &'a Ledger,
        (file, scene): (PlaceFile, Scene),
        goal: &str,
        driver: Driver,
        mode: Mode,
        listener: Listener<'a>,
    ) -> Result<Self, EngineError> {
        let started = Entry::Started {
            place: file.place(),
            goal: goal.to_owned(),
            driver: driver.name().to_owned(),
            mode,
        };
        let batch = Append { workflow: None, entries: vec![started], blobs: Vec::new() };
        let (records, lease) = ledger.start(batch)?;
        let workflow = records.first().map_or(Seq(0), |record| record.seq);
        let mut engine = Self {
            ledger,
            state: State::default(),
            workflow,
            _lease: Some(lease),
            driver,
            scene,
            file,
            trial: Vec::new(),
            blobs: Blobs::new(),
            listener,
        };
        engine.read(&records);
        Ok(engine)
    }

    /// Goes on with a workflow that another process left behind.
    fn resume(
        ledger: &'a Ledger,
        lease: Lease,
        state: State,
        (file, scene): (PlaceFile, Scene),
        listener: Listener<'a>,
    ) -> Self {
        Self {
            ledger,
            state,
            workflow: lease.workflow(),
            _lease: Some(lease),
            driver: Driver::Calls,
            scene,
            file,
            trial: Vec::new(),
            blobs: Blobs::new(),
            listener,
        }
    }

    /// Ends without tidying up, for a process that ends as well: what a large scene holds need not be
    /// given back piece by piece.
    pub fn leave(self) {
        std::mem::forget((self.scene, self.state));
    }

    /// The workflow's position.
    pub fn seq(&self) -> Seq {
        self.workflow
    }

    /// The workflow as it is read from the ledger.
    pub fn workflow(&self) -> Option<&Workflow> {
        self.state.workflow(self.workflow)
    }

    /// The place file.
    pub fn file(&self) -> &PlaceFile {
        &self.file
    }

    /// The scene with all pending proposals.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    fn read(&mut self, records: &[Record]) {
        for record in records {
            self.state.apply(record);
            (self.listener)(record);
        }
    }

    /// Decides what an input means, makes it durable, and only then acts on it.
    pub fn input(&mut self, input: Input) -> Result<Vec<Record>, EngineError> {
        self.input_with(input, Vec::new())
    }

    fn input_with(
        &mut self,
        input: Input,
        blobs: Vec<Vec<u8>>,
    ) -> Result<Vec<Record>, EngineError> {
        let entries = decide(&self.state, self.workflow, input)?;
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Append { workflow: Some(self.workflow), entries, blobs };
        let records = self.ledger.append(batch)?;
        self.read(&records);
        self.drop_what_is_gone();
        Ok(records)
    }

    /// Takes back what is no longer pending, and all that stood on it.
    fn drop_what_is_gone(&mut self) {
        let Some(workflow) = self.state.workflow(self.workflow) else {
            return;
        };
        let is_pending =
            |seq: Seq| workflow.proposal(seq).is_some_and(|pending| pending.status.is_pending());
        if let Some(at) = self.trial.iter().position(|(seq, _)| !is_pending(*seq)) {
            self.scene.rollback(self.trial[at].1);
            self.trial.truncate(at);
        }
    }

    /// Adds calls that a person wrote down.
    pub fn call(&mut self, calls: Vec<Call>) -> Result<(), EngineError> {
        self.input(Input::Called(calls)).map(drop)
    }

    /// Works until somebody has to decide, or nothing is left.
    pub fn run(&mut self) -> Result<Due, EngineError> {
        loop {
            let want = self.workflow().and_then(Workflow::wants);
            match want {
                None => return Ok(Due::Nothing),
                Some(Want::Ask(proposal)) => return Ok(Due::Decision(proposal)),
                Some(Want::ApproveByMode(proposal)) => {
                    self.approve(proposal, Approver::Mode, false)?;
                }
                Some(Want::Plan { call, tool, args }) => self.plan(call, &tool, &args)?,
                Some(Want::Apply(proposals)) => self.apply(&proposals)?,
                Some(Want::Reply) => self.reply()?,
            }
        }
    }

    /// A yes to what was seen.
    pub fn approve(&mut self, proposal: Seq, by: Approver, twice: bool) -> Result<(), EngineError> {
        let patch_id = match self.workflow().and_then(|workflow| workflow.proposal(proposal)) {
            Some(pending) => pending.proposal.patch_id.clone(),
            None => return Err(Refusal(format!("There is no proposal {proposal}.")).into()),
        };
        self.input(Input::Approve { proposal, patch_id, by, twice }).map(drop)
    }

    fn reply(&mut self) -> Result<(), EngineError> {
        let prompt = self.workflow().map(Workflow::prompt);
        let input = if let (Driver::Provider(provider), Some(prompt)) = (&self.driver, prompt) {
            Input::Replied(provider.reply(&prompt)?)
        } else {
            let refused = self.workflow().is_some_and(|it| it.refusals().next().is_some());
            Input::Finish { outcome: if refused { Finish::Failed } else { Finish::Done } }
        };
        self.input(input).map(drop)
    }

    /// The base of the next plan: the file, and the pending proposals on top of it.
    fn base(&self) -> Fingerprint {
        if self.trial.is_empty() {
            return self.file.hash().clone();
        }
        let mut text = self.file.hash().to_string();
        for (seq, _) in &self.trial {
            let pending = self.workflow().and_then(|workflow| workflow.proposal(*seq));
            text.push('\n');
            text.push_str(pending.map_or("", |pending| &pending.proposal.patch_id.0));
        }
        Fingerprint::of(text.as_bytes())
    }

    fn plan(&mut self, call: Seq, tool: &str, args: &Json) -> Result<(), EngineError> {
        let base = self.base();
        let mark = self.scene.mark();
        let is_revert = tool == REVERT && matches!(self.driver, Driver::Calls);
        let result = if is_revert {
            self.plan_revert(call, args, &base)?
        } else {
            tools::plan(call, tool, args, &mut self.scene, &base, &self.blobs)
        };
        let after = self.trial.iter().map(|(seq, _)| *seq).collect();
        let records = self.input(Input::Planned { call, result, after })?;
        self.keep_trial(&records, mark);
        Ok(())
    }

    /// What was just proposed stays done on trial; what was not goes back.
    fn keep_trial(&mut self, records: &[Record], mark: Mark) {
        let proposed = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
        match proposed {
            Some(record) => self.trial.push((record.seq, mark)),
            None => self.scene.rollback(mark),
        }
    }

    /// Replaces a proposal by what a person made of it. The old one stands where that is refused.
    pub fn revise(
        &mut self,
        old: Seq,
        draft: impl FnOnce(&mut Draft<'_>) -> Result<(), Refusal>,
    ) -> Result<Seq, EngineError> {
        let Some(at) = self.trial.iter().position(|(seq, _)| *seq == old) else {
            return Err(Refusal(format!("Proposal {old} is no longer pending.")).into());
        };
        let (call, title) = match self.workflow().and_then(|workflow| workflow.proposal(old)) {
            Some(pending) => (pending.call, pending.proposal.title.clone()),
            None => return Err(Refusal(format!("There is no proposal {old}.")).into()),
        };
        let mark = self.trial[at].1;
        let dropped: Vec<Seq> = self.trial.split_off(at).into_iter().map(|(seq, _)| seq).collect();
        self.scene.rollback(mark);
        let base = self.base();
        self.scene.begin(call);
        let revised = {
            let mut drafted = Draft::new(&mut self.scene, &self.blobs);
            let done = draft(&mut drafted);
            // A call that was edited names itself; a part keeps the name of the whole.
            drafted.title(title);
            match done {
                Ok(()) if drafted.is_empty() => refuse!("Nothing of proposal {old} is left."),
                Ok(()) => drafted.finish(&base),
                Err(refusal) => Err(refusal),
            }
        };
        let outcome = revised
            .map_err(EngineError::from)
            .and_then(|by| self.input(Input::Revise { proposal: old, by: Box::new(by) }));
        match outcome {
            Ok(records) => {
                self.keep_trial(&records, mark);
                Ok(self.trial.last().map_or(old, |(seq, _)| *seq))
            }
            Err(error) => {
                self.scene.rollback(mark);
                self.redo(&dropped)?;
                Err(error)
            }
        }
    }

    /// Does pending proposals on trial once more.
    fn redo(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        for seq in proposals {
            let Some(workflow) = self.state.workflow(self.workflow) else {
                return Ok(());
            };
            let Some(pending) = workflow.proposal(*seq) else {
                continue;
            };
            let mark = self.scene.mark();
            self.scene.begin(pending.call);
            for command in &pending.proposal.commands {
                attempt(&mut self.scene, command, &self.blobs)?;
            }
            self.trial.push((*seq, mark));
        }
        Ok(())
    }

    /// Hands approved proposals to the target.
    fn apply(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        if let Some((_, mark)) = self.trial.first() {
            self.scene.rollback(*mark);
            self.trial.clear();
        }
        self.load_blobs(proposals)?;
        let Some(workflow) = self.state.workflow(self.workflow) else {
            return Ok(());
        };
        let approved: Vec<(Seq, Seq, &Proposal)> = proposals
            .iter()
            .filter_map(|seq| workflow.proposal(*seq).map(|it| (*seq, it.call, &it.proposal)))
            .collect();
        let back = way_back(self.ledger, self.file.hash(), &approved)?;
        let start = self.scene.mark();
        let prepared =
            match self.file.prepare(&mut self.scene, &approved, &self.blobs, back.as_ref()) {
                Ok(prepared) => prepared,
                Err(error) => return self.failed(proposals.to_vec(), error),
            };
        for (seq, reason) in prepared.refused {
            self.input(Input::Failed { proposals: vec![seq], reason })?;
        }
        let Some(mut stored) = prepared.stored else {
            return Ok(());
        };
        let (seqs, acks): (Vec<Seq>, Vec<_>) = stored.acks.drain(..).unzip();
        let before = acks.first().and_then(|ack| ack.before.clone());
        let file = self.file.output().display().to_string();
        let applying = Input::Applying { proposals: seqs.clone(), file, before, acks };
        let blobs = std::mem::take(&mut stored.blobs);
        if let Err(error) = self.input_with(applying, blobs) {
            self.scene.rollback(start);
            return Err(error);
        }
        if let Err(error) = self.file.commit(stored) {
            self.scene.rollback(start);
            return self.failed(seqs, error);
        }
        self.scene.settle();
        self.input(Input::Applied(seqs)).map(drop)
    }

    fn failed(&mut self, proposals: Vec<Seq>, error: PlaceError) -> Result<(), EngineError> {
        self.input(Input::Failed { proposals, reason: error.to_string() })?;
        Err(error.into())
    }

    /// Fetches the removed subtrees that these proposals bring back.
    fn load_blobs(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        let Some(workflow) = self.state.workflow(self.workflow) else {
            return Ok(());
        };
        let wanted: Vec<Fingerprint> = proposals
            .iter()
            .filter_map(|seq| workflow.proposal(*seq))
            .flat_map(|pending| restored(&pending.proposal.commands))
            .collect();
        self.fetch(wanted)
    }

    fn fetch(&mut self, hashes: Vec<Fingerprint>) -> Result<(), EngineError> {
        for hash in hashes {
            if !self.blobs.contains_key(&hash)
                && let Some(bytes) = self.ledger.blob(&hash)?
            {
                self.blobs.insert(hash, bytes);
            }
        }
        Ok(())
    }

    /// Plans the way back from an applied proposal.
    fn plan_revert(
        &mut self,
        call: Seq,
        args: &Json,
        base: &Fingerprint,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let Some(seq) = args.get("proposal").and_then(Json::as_u64).map(Seq) else {
            return Ok(refuse!(
                "`proposal` is the position of a proposal; `vector log` lists them."
            ));
        };
        let (title, ack) = match applied(self.ledger, seq)? {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let place = self.file.place().file;
        if ack.file != place {
            return Ok(refuse!("Proposal {seq} changed {}, which is not {place}.", ack.file));
        }
        self.fetch(restored(&ack.inverse))?;
        let is_as_left = ack.after == *self.file.hash();
        self.scene.begin(call);
        let mut draft = Draft::new(&mut self.scene, &self.blobs);
        draft.title(format!("Revert proposal {seq}: {title}"));
        draft.goes_back();
        let witnesses = ack.witnesses.into_iter().chain(std::iter::repeat(None));
        for (command, left) in ack.inverse.into_iter().zip(witnesses) {
            if let Err(refusal) = go_back(&mut draft, command, left.as_ref(), is_as_left) {
                let why = for_person(&refusal.0);
                return Ok(refuse!("Proposal {seq} cannot be taken back: {why}"));
            }
        }
        Ok(draft.finish(base).map(|mut proposal| {
            proposal.from = Some(seq);
            Plan::Propose(Box::new(proposal), Json::Null)
        }))
    }
}

/// Drafts a command of an inverse. The file may have moved on, and so may its numbers; paths,
/// fingerprints and witnesses tell whether it means what it meant.
fn go_back(
    draft: &mut Draft<'_>,
    command: Command,
    left: Option<&Fingerprint>,
    is_as_left: bool,
) -> Result<(), Refusal> {
    let goes = matches!(command, Command::Delete { .. });
    let is_known = is_as_left && draft.scene().locate(command.target()).is_ok();
    let command = relocated(draft.scene(), command)?;
    if let Some(left) = left
        && (goes || !is_known)
        && witness(draft.scene(), &command)? != *left
    {
        return refuse!(
            "{} is not what was left there. Take back what has changed it since, or change it by \
             hand.",
            command.target().path
        );
    }
    draft.push(command).map(drop)
}

/// A refusal that was worded for a model, for a person who takes something back.
fn for_person(refusal: &str) -> String {
    refusal
        .replace("list_children shows", "`vector show` shows")
        .replace("; say which one:", ", and which of them is meant is not known:")
        .replace(
            "since this was planned; ask for the change again",
            "since. Take that back first, or change it by hand",
        )
        .replace(
            "since this was planned; read it again",
            "since. Take that back first, or change it by hand",
        )
        .replace("; ask for the change again so that you see what it touches", "")
        .replace("; ask for the change again", "")
}

/// What leads back to the bytes that a file had, where these proposals take back all that has made
/// the file what it is since; nothing otherwise.
fn way_back(
    ledger: &Ledger,
    file: &Fingerprint,
    proposals: &[(Seq, Seq, &Proposal)],
) -> Result<Option<WayBack>, EngineError> {
    let mut back = WayBack { patches: Vec::new(), hash: file.clone() };
    let mut left: Vec<Option<Seq>> = proposals.iter().map(|(.., it)| it.from).collect();
    while let Some(first) = left.first().copied() {
        let Some(Ok((_, ack))) = first.map(|seq| applied(ledger, seq)).transpose()? else {
            return Ok(None);
        };
        let Some(bytes) = ack.bytes.as_ref().filter(|_| back.hash == ack.after) else {
            return Ok(None);
        };
        let Some(patch) = ledger.blob(&bytes.patch)?.as_deref().and_then(Patch::read) else {
            return Ok(None);
        };
        let together = applied_together(ledger, first.unwrap_or(Seq(0)), &ack)?;
        if !together.iter().all(|seq| left.contains(&Some(*seq))) {
            return Ok(None);
        }
        left.retain(|seq| seq.is_none_or(|seq| !together.contains(&seq)));
        back.patches.push(patch);
        back.hash = bytes.hash.clone();
    }
    Ok(Some(back))
}

/// The proposals that were applied in one step with another.
fn applied_together(
    ledger: &Ledger,
    seq: Seq,
    ack: &scene_schemas::proposal::Ack,
) -> Result<Vec<Seq>, EngineError> {
    let Some(record) = ledger.record(seq)? else {
        return Ok(Vec::new());
    };
    let mut state = State::default();
    for record in ledger.workflow(record.workflow)? {
        state.apply(&record);
    }
    let is_together = |status: &Status| match status {
        Status::Applied(other) => (&other.after, &other.bytes) == (&ack.after, &ack.bytes),
        _ => false,
    };
    let proposals = state.workflow(record.workflow).into_iter().flat_map(Workflow::proposals);
    Ok(proposals.filter(|(_, it)| is_together(&it.status)).map(|(seq, _)| seq).collect())
}

/// The blobs that commands need.
fn restored(commands: &[Command]) -> Vec<Fingerprint> {
    let blob = |command: &Command| match command {
        Command::Restore { blob, .. } => Some(blob.clone()),
        _ => None,
    };
    commands.iter().filter_map(blob).collect()
}

/// The title and ack of a proposal that was applied.
pub fn applied(
    ledger: &Ledger,
    seq: Seq,
) -> Result<Result<(String, scene_schemas::proposal::Ack), Refusal>, EngineError> {
    let Some(record) = ledger.record(seq)? else {
        return Ok(refuse!("The ledger has no entry {seq}; `vector log` lists what it has."));
    };
    let mut state = State::default();
    for record in ledger.workflow(record.workflow)? {
        state.apply(&record);
    }
    let pending = state.workflow(record.workflow).and_then(|workflow| workflow.proposal(seq));
    Ok(match pending.map(|pending| (&pending.proposal, &pending.status)) {
        Some((proposal, Status::Applied(ack))) => {
            Ok((proposal.title.clone(), ack.as_ref().clone()))
        }
        Some(_) => {
            refuse!("Proposal {seq} was never applied, so there is nothing to take back.")
        }
        None => refuse!("Entry {seq} is not a proposal; `vector log` lists the proposals."),
    })
}
