//! The work of scripts, in units that are the same on every machine, and in real time.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Virtual seconds per unit of work.
///
/// A unit is a safepoint of the VM (a call, a return, an iteration of a loop), in scripts and in
/// the engine alike; the engine's native work is charged by its bytes.
pub(crate) const UNIT: f64 = 1e-7;

/// After this many units in one resumption, the running script is recorded, and again after each
/// further multiple.
const NOTED: u64 = 50_000;

/// How often the real clock is read, in units.
const LOOK: u64 = 256;

/// The work of a resumption.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    /// The amount in units: see the README.
    pub units: u64,
    /// A trace after each 50,000 units.
    pub traces: Vec<String>,
}

/// The work of the scripts, in units and in real time.
#[derive(Debug)]
pub struct Meter {
    /// The units of the current outermost resumption, and of all before it.
    units: Cell<u64>,
    used: Cell<u64>,
    /// The units at which the clock is read next, and the script recorded next. Native work may charge
    /// many units at once.
    next_look: Cell<u64>,
    next_note: Cell<u64>,
    /// The start of that resumption; None if none is running.
    began: Cell<Option<Instant>>,
    /// Whether its time is exhausted: a script that catches the error is stopped again.
    exhausted: Cell<bool>,
    traces: RefCell<Vec<String>>,
    /// The most work of one resumption of the plugin, and the longest time.
    most: RefCell<Resumption>,
    longest: Cell<Duration>,
    /// The plugin's real time within the current frame, and the longest of all frames.
    frame: Cell<Duration>,
    longest_frame: Cell<Duration>,
    /// The same in units.
    frame_units: Cell<u64>,
    most_frame_units: Cell<u64>,
    /// How long one resumption may run before it is considered an endless loop, as in Studio.
    allowed: Duration,
    stop: Option<StopSignal>,
    /// After how many units the clock is read again.
    look: u64,
    /// The same limit in units, if there is one.
    most_units: Option<u64>,
    /// Whether the stop signal also stops the engine's own work.
    stops_engine: Cell<bool>,
    /// Where the first script was stopped.
    stopped_at: RefCell<Option<String>>,
    /// The most memory that the VM had at a safepoint, in bytes. None if nobody asks.
    most_memory: Option<Cell<usize>>,
}

/// Tells whether scripts have to stop.
#[derive(Clone)]
pub(crate) struct StopSignal(Rc<dyn Fn() -> bool>);

impl StopSignal {
    pub(crate) fn new(is_set: impl Fn() -> bool + 'static) -> Self {
        Self(Rc::new(is_set))
    }

    pub(crate) fn is_set(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopSignal").field(&self.is_set()).finish()
    }
}

/// The action at a safepoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    On,
    /// Record the script's position with [`Meter::note`].
    Noted,
    Exhausted,
}

impl Meter {
    pub fn new(allowed: Duration) -> Self {
        Self {
            units: Cell::new(0),
            used: Cell::new(0),
            next_look: Cell::new(LOOK),
            next_note: Cell::new(NOTED),
            began: Cell::new(None),
            exhausted: Cell::new(false),
            traces: RefCell::default(),
            most: RefCell::default(),
            longest: Cell::default(),
            frame: Cell::default(),
            longest_frame: Cell::default(),
            frame_units: Cell::default(),
            most_frame_units: Cell::default(),
            allowed,
            stop: None,
            look: LOOK,
            most_units: None,
            stops_engine: Cell::new(false),
            stopped_at: RefCell::default(),
            most_memory: None,
        }
    }

    /// Also stops scripts when the signal is set.
    pub(crate) fn with_stop(self, stop: StopSignal) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Reads the clock at every unit: a call of the VM's own libraries between two may take long.
    pub(crate) fn with_every_look(self) -> Self {
        Self { look: 1, ..self }
    }

    /// Also stops a resumption after this much work.
    pub(crate) fn with_most_units(self, units: u64) -> Self {
        Self { most_units: Some(units), ..self }
    }

    /// Also measures the memory of the VM at every unit.
    pub(crate) fn with_memory(self) -> Self {
        Self { most_memory: Some(Cell::default()), ..self }
    }

    /// Measures the memory of the VM, if it is asked for.
    pub(crate) fn measure_memory(&self, used: impl FnOnce() -> usize) {
        if let Some(most) = &self.most_memory {
            most.set(most.get().max(used()));
        }
    }

    /// Returns the most memory that the VM had at a safepoint, in bytes. 0 if it was not measured.
    pub(crate) fn most_memory(&self) -> usize {
        self.most_memory.as_ref().map_or(0, Cell::get)
    }

    pub(crate) fn step(&self) -> Look {
        let units = self.units.get() + 1;
        self.units.set(units);
        if units >= self.next_look.get() {
            self.next_look.set(units + self.look);
            if self.is_exhausted() {
                self.exhaust();
            }
        }
        if self.exhausted.get() {
            Look::Exhausted
        } else if units >= self.next_note.get() {
            self.next_note.set(units - units % NOTED + NOTED);
            Look::Noted
        } else {
            Look::On
        }
    }

    fn is_exhausted(&self) -> bool {
        self.began.get().is_some_and(|began| began.elapsed() > self.allowed)
            || self.most_units.is_some_and(|most| self.units.get() > most)
            || self.is_stopped()
    }

    /// Whether the stop signal is set.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(StopSignal::is_set)
    }

    /// Sets whether the stop signal also stops the engine's own work, such as moving parts.
    pub(crate) fn set_stops_engine(&self, is_set: bool) {
        self.stops_engine.set(is_set);
    }

    /// Whether the engine has to stop now.
    pub(crate) fn stops_engine(&self) -> bool {
        self.stops_engine.get() && self.is_stopped()
    }

    /// Records where a script was stopped, if it is the first.
    pub(crate) fn note_stop(&self, trace: impl FnOnce() -> Option<String>) {
        let mut stopped_at = self.stopped_at.borrow_mut();
        if stopped_at.is_none() {
            *stopped_at = trace();
        }
    }

    /// Returns where the first script was stopped: its name and line.
    pub(crate) fn stopped_at(&self) -> Option<String> {
        self.stopped_at.borrow().clone()
    }

    /// Returns where a script was stopped, and forgets it.
    pub(crate) fn take_stopped_at(&self) -> Option<String> {
        self.stopped_at.take()
    }

    /// Ends the time of this resumption.
    pub(crate) fn exhaust(&self) {
        self.exhausted.set(true);
    }

    /// The units of this resumption so far.
    pub(crate) fn units(&self) -> u64 {
        self.units.get()
    }

    /// Discards the count since [`Meter::units`] returned `units`, because Studio does this work
    /// natively.
    pub(crate) fn rewind(&self, units: u64) {
        self.units.set(units);
        self.next_look.set(self.next_look.get().min(units + LOOK));
    }

    /// Charges native work of the engine.
    pub(crate) fn charge(&self, units: usize) {
        self.units.set(self.units.get() + units as u64);
    }

    /// Records the position of a script that does much work.
    pub(crate) fn note(&self, trace: String) {
        if self.began.get().is_some() {
            self.traces.borrow_mut().push(trace);
        }
    }

    /// Sets the units to 0. Returns what they were.
    fn restart(&self) -> u64 {
        self.next_look.set(LOOK);
        self.next_note.set(NOTED);
        self.units.take()
    }

    /// Begins the outermost resumption.
    pub(crate) fn begin(&self) {
        self.used.set(self.used.get() + self.restart());
        self.traces.borrow_mut().clear();
        self.exhausted.set(false);
        self.began.set(Some(Instant::now()));
    }

    /// Ends the outermost resumption; `plugin` tells whether it was the plugin's.
    pub(crate) fn end(&self, plugin: bool) {
        let Some(began) = self.began.take() else {
            return;
        };
        let (took, units) = (began.elapsed(), self.restart());
        self.used.set(self.used.get() + units);
        if plugin {
            self.longest.set(self.longest.get().max(took));
            self.frame.set(self.frame.get() + took);
            self.longest_frame.set(self.longest_frame.get().max(self.frame.get()));
            self.frame_units.set(self.frame_units.get() + units);
            self.most_frame_units.set(self.most_frame_units.get().max(self.frame_units.get()));
            if units > self.most.borrow().units {
                *self.most.borrow_mut() = Resumption { units, traces: self.traces.take() };
            }
        }
    }

    pub fn begin_frame(&self) {
        self.frame.set(Duration::ZERO);
        self.frame_units.set(0);
    }

    /// Resets the maximum times and the maximum work.
    pub fn reset(&self) {
        self.longest.take();
        self.longest_frame.take();
        self.most_frame_units.take();
        self.most.take();
    }

    /// The virtual seconds of all script work, including the current resumption.
    pub(crate) fn used(&self) -> f64 {
        (self.used.get() + self.units.get()) as f64 * UNIT
    }

    pub fn most(&self) -> Resumption {
        self.most.borrow().clone()
    }

    pub fn longest(&self) -> Duration {
        self.longest.get()
    }

    pub fn most_frame_units(&self) -> u64 {
        self.most_frame_units.get()
    }

    pub fn longest_frame(&self) -> Duration {
        self.longest_frame.get()
    }
}
