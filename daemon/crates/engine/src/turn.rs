//! Whose turn it is: several workflows are at work side by side in one place.
//!
//! Scene, target and what is on trial are the place's. A workflow has its driver and its lease. One at a
//! time has its turn, and all that is said and done then is its.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use scene_schemas::entry::{Entry, Place, Record, Seq};
use scene_schemas::proposal::Mode;
use vector_core::proposal::Blobs;
use vector_core::tools::Look;
use vector_core::workflow::{Input, Pending, State, Status, Workflow, decide};
use vector_ledger::{Append, Lease, Ledger, LedgerError};
use vector_place::Scene;

use crate::asked;
use crate::joined::Joined;
use crate::open;
use crate::spent::Spent;
use crate::{Asked, Driver, Engine, EngineError, Listener, Target};

/// A workflow at work.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) driver: Driver,
    /// Whether its entries may name ids of another epoch than the place's.
    pub(super) is_other_epoch: bool,
    /// The request that a model is being asked with.
    pub(super) asking: Option<Seq>,
    /// The call that waits for a look elsewhere, and what is looked at.
    pub(super) looking: Option<(Seq, Arc<Look>)>,
    _lease: Lease,
}

impl Engine {
    /// A place in which nothing is at work yet.
    pub fn idle(
        ledger: &Arc<Ledger>,
        (target, scene): (impl Into<Target>, Scene),
        listener: Listener,
    ) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            state: State::default(),
            workflow: Seq(0),
            tasks: BTreeMap::new(),
            scene,
            target: target.into(),
            trial: Vec::new(),
            blobs: Blobs::new(),
            seen: HashMap::new(),
            moves: 0,
            at_most: Mode::Dangerous,
            questions: open::Questions::default(),
            joined: Joined::default(),
            system: None,
            spent: Spent::default(),
            last: Seq(0),
            served: false,
            read_after: Seq(0),
            listener,
            unrecorded: Vec::new(),
        }
    }

    /// Begins a workflow, and gives it its turn.
    pub fn begin(
        &mut self,
        asked: impl Into<Asked>,
        driver: Driver,
        mode: Mode,
    ) -> Result<Seq, EngineError> {
        let asked = asked.into();
        self.recall(asked.follows)?;
        let context = self.chosen(&asked, &driver);
        let Asked { goal, attached, stance, follows } = asked;
        let started = Entry::Started {
            place: self.target.place(),
            goal,
            driver: driver.name(),
            mode,
            attached,
            stance,
            follows,
            guards: asked::guards(&driver),
            served: self.served,
        };
        let entries = std::iter::once(started).chain(context).collect();
        let batch = Append { workflow: None, entries, blobs: Vec::new() };
        let (records, lease) = self.ledger.start(batch)?;
        self.take_up(lease, driver);
        self.read(&records);
        Ok(self.workflow)
    }

    /// Goes on with a workflow that another process left behind, and gives it its turn.
    pub(super) fn resume(&mut self, lease: Lease, records: &[Record], driver: Driver) {
        self.take_up(lease, driver);
        for record in records {
            self.ids_are_new(record.seq);
            self.state.apply(record);
        }
    }

    fn take_up(&mut self, lease: Lease, driver: Driver) {
        self.workflow = lease.workflow();
        let task =
            Task { driver, is_other_epoch: false, asking: None, looking: None, _lease: lease };
        self.tasks.insert(self.workflow, task);
    }

    /// Goes on with a workflow of an open place that another process, or another epoch, left behind,
    /// and gives it its turn.
    pub fn resume_open(&mut self, lease: Lease, driver: Driver) -> Result<Seq, EngineError> {
        let workflow = lease.workflow();
        let records = self.ledger.workflow(workflow)?;
        self.recall(before(&records))?;
        self.resume(lease, &records, driver);
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.is_other_epoch = true;
        }
        self.retry_waiting();
        for gone in self.lost_meanwhile()? {
            self.input(Input::Lost(gone))?;
        }
        Ok(workflow)
    }

    /// The proposals of other workflows that those of this one stood on, and that were gone before it
    /// could be told.
    fn lost_meanwhile(&self) -> Result<Vec<Seq>, EngineError> {
        let all = self.workflow().into_iter().flat_map(Workflow::proposals);
        let pending = all.filter(|(_, it)| it.status.is_pending());
        let mut below: Vec<Seq> = pending.flat_map(|(_, it)| it.proposal.after.clone()).collect();
        below.sort_unstable();
        below.dedup();
        let mut lost = Vec::new();
        for seq in below {
            let Some(record) = self.ledger.record(seq)? else {
                continue;
            };
            let mut state = State::default();
            for record in self.ledger.workflow(record.workflow)? {
                state.apply(&record);
            }
            if state.proposal(seq).is_some_and(|(_, it)| is_gone(it)) {
                lost.push(seq);
            }
        }
        Ok(lost)
    }

    /// The workflows at work, in the order of their turns: whose call has asked Studio something goes
    /// first, as what was told counts for that call alone.
    pub fn turns(&self) -> Vec<Seq> {
        let mut turns: Vec<Seq> = self.tasks.keys().copied().collect();
        if let Some(first) = self.asks() {
            turns.sort_by_key(|workflow| *workflow != first);
        }
        turns
    }

    /// Gives a workflow its turn.
    pub fn turn_to(&mut self, workflow: Seq) {
        self.workflow = workflow;
    }

    /// Gives the workflow of a proposal its turn; false where none at work has it.
    pub fn turn_to_proposal(&mut self, proposal: Seq) -> bool {
        let found = self.proposal(proposal).map(|(workflow, _)| workflow);
        self.workflow = found.unwrap_or(self.workflow);
        found.is_some()
    }

    /// Does something in the turn of a workflow, and gives the turn back.
    pub(super) fn in_turn_of<T>(&mut self, workflow: Seq, act: impl FnOnce(&mut Self) -> T) -> T {
        let turn = std::mem::replace(&mut self.workflow, workflow);
        let done = act(self);
        self.workflow = turn;
        done
    }

    /// A proposal of any workflow at work, and whose it is.
    pub fn proposal(&self, proposal: Seq) -> Option<(Seq, &Pending)> {
        self.at_work().find_map(|(seq, workflow)| Some((seq, workflow.proposal(proposal)?)))
    }

    /// The proposals of all workflows at work, oldest first.
    pub(super) fn proposals(&self) -> Vec<(Seq, &Pending)> {
        let mut all: Vec<_> = self.at_work().flat_map(|(_, it)| it.proposals()).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        all
    }

    /// The proposals that nobody has decided upon, oldest first.
    pub fn undecided(&self) -> Vec<Seq> {
        let all = self.proposals().into_iter();
        all.filter(|(_, it)| it.status == Status::Waiting).map(|(seq, _)| seq).collect()
    }

    /// The first proposal that somebody said yes to and that is not done.
    pub(super) fn first_approved(&self) -> Option<Seq> {
        self.at_work().flat_map(|(_, it)| it.approved()).min()
    }

    /// The workflows that are being worked on.
    pub fn at_work(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.tasks.keys().filter_map(|seq| Some((*seq, self.state.workflow(*seq)?)))
    }

    /// The proposal that has to be decided before another.
    pub fn decided_before(&self, proposal: Seq) -> Option<Seq> {
        self.state.decided_before(proposal)
    }

    /// Whether a workflow is at work here.
    pub fn is_at_work(&self, workflow: Seq) -> bool {
        self.tasks.contains_key(&workflow)
    }

    /// The position of the last entry that was made here.
    pub fn last(&self) -> Seq {
        self.last
    }

    /// How the ledger names the place.
    pub fn place(&self) -> Place {
        self.target.place()
    }

    /// Who calls the tools in the workflow whose turn it is.
    pub(super) fn driver(&self) -> Option<&Driver> {
        self.tasks.get(&self.workflow).map(|task| &task.driver)
    }

    /// Reads the tasks that a conversation goes on with, as far as they are not known.
    fn recall(&mut self, follows: Option<Seq>) -> Result<(), EngineError> {
        let is_known = |workflow| self.state.workflow(workflow).is_some();
        for record in conversation(&self.ledger, follows, is_known)? {
            self.state.apply(&record);
        }
        Ok(())
    }

    /// Takes what has happened to a task that is over, and that another goes on with.
    pub fn heard_of(&mut self, records: &[Record]) {
        for record in records {
            self.state.apply(record);
        }
    }

    /// Whether a person has to say that the workflow whose turn it is goes on.
    pub fn has_trouble(&self) -> bool {
        self.workflow().is_some_and(|it| it.talk().trouble().is_some())
    }

    /// From now on somebody else answers in the workflow whose turn it is.
    pub fn drive(&mut self, driver: Driver) {
        if let Some(task) = self.tasks.get_mut(&self.workflow) {
            task.driver = driver;
        }
    }

    /// Lets go of a workflow that is over.
    pub fn end(&mut self, workflow: Seq) {
        if self.asks() == Some(workflow) {
            self.forget_questions();
        }
        self.tasks.remove(&workflow);
        self.state.keep(self.tasks.keys().copied());
        if self.tasks.is_empty() {
            self.drop_trial();
            self.forget_questions();
            self.state = State::default();
            self.blobs.clear();
            self.seen.clear();
        }
    }

    /// What stood on a proposal that is gone is withdrawn in the other workflows as well.
    pub(super) fn withdraw_elsewhere(&mut self, records: &[Record]) -> Result<(), EngineError> {
        for record in records {
            let (Entry::Rejected { proposal, .. } | Entry::Withdrawn { proposal, .. }) =
                record.entry
            else {
                continue;
            };
            let others: Vec<Seq> =
                self.tasks.keys().copied().filter(|it| *it != record.workflow).collect();
            for other in others {
                let entries = decide(&self.state, other, Input::Lost(proposal))?;
                self.in_turn_of(other, |engine| engine.append(entries, Vec::new()))?;
            }
        }
        Ok(())
    }
}

/// The records of the tasks that a conversation goes on with, oldest first, for a plan is handed on
/// from one to the next. What is known is not read, nor what stands before it.
pub(super) fn conversation(
    ledger: &Ledger,
    mut follows: Option<Seq>,
    is_known: impl Fn(Seq) -> bool,
) -> Result<Vec<Record>, LedgerError> {
    let mut tasks = Vec::new();
    while let Some(workflow) = follows.filter(|workflow| !is_known(*workflow)) {
        let records = ledger.workflow(workflow)?;
        follows = before(&records);
        tasks.push(records);
    }
    Ok(tasks.into_iter().rev().flatten().collect())
}

/// The task that one goes on with, by its first record.
fn before(records: &[Record]) -> Option<Seq> {
    let first = records.first()?;
    match &first.entry {
        // A task goes on with an earlier one, never with itself.
        Entry::Started { follows, .. } => follows.filter(|before| *before < first.seq),
        _ => None,
    }
}

/// Whether nothing can stand on a proposal any more.
fn is_gone(pending: &Pending) -> bool {
    matches!(pending.status, Status::Rejected(_) | Status::Withdrawn(_))
}
