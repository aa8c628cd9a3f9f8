//! What the studio and the functions that the engine calls both hold.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use crate::http::Outcome;
use crate::options::SharedSettings;

/// Seconds of virtual time that a unit of work takes.
///
/// A unit is a safepoint of the VM (a call, a return, a turn of a loop), in scripts and in the engine
/// alike; what the engine does natively is charged by its bytes.
pub(crate) const UNIT: f64 = 1e-7;

/// After so many units in one resumption it is noted who works, and anew after each as many.
const NOTED: u64 = 50_000;

/// How often it is looked at the real clock, in units.
const LOOK: u64 = 4096;

/// What a resumption did.
#[derive(Clone, Debug, Default)]
pub struct Resumption {
    /// How much, in units: see the README.
    pub units: u64,
    /// Where it was each time that another 50,000 of them were done, as traces.
    pub traces: Vec<String>,
}

/// Channels.
pub(crate) struct Shared {
    pub(crate) sender: Sender<(i64, Outcome)>,
    pub(crate) receiver: Receiver<(i64, Outcome)>,
    pub(crate) settings: SharedSettings,
    pub(crate) meter: Rc<Meter>,
}

impl Shared {
    pub(crate) fn new(settings: SharedSettings, allowed: Duration) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender, receiver, settings, meter: Rc::new(Meter::new(allowed)) }
    }
}

/// How much the scripts do, in units of work and in real time.
pub(crate) struct Meter {
    /// Units of the outermost resumption that runs now, and of all before it.
    units: Cell<u64>,
    used: Cell<u64>,
    /// When that resumption began; none while none runs.
    began: Cell<Option<Instant>>,
    /// Whether it has had more than its time: nothing that catches the error goes on.
    exhausted: Cell<bool>,
    traces: RefCell<Vec<String>>,
    /// The most that the plugin did in one resumption, and the longest that it took.
    most: RefCell<Resumption>,
    longest: Cell<Duration>,
    /// The plugin's real time within the current frame, and the longest of any.
    frame: Cell<Duration>,
    longest_frame: Cell<Duration>,
    /// How long one resumption may run before it is taken for an endless loop, as in Studio.
    allowed: Duration,
}

/// What is to be done at a safepoint.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing.
    On,
    /// Say where the script is: [`Meter::note`].
    Noted,
    /// Stop it.
    Exhausted,
}

impl Meter {
    fn new(allowed: Duration) -> Self {
        Self {
            units: Cell::new(0),
            used: Cell::new(0),
            began: Cell::new(None),
            exhausted: Cell::new(false),
            traces: RefCell::default(),
            most: RefCell::default(),
            longest: Cell::default(),
            frame: Cell::default(),
            longest_frame: Cell::default(),
            allowed,
        }
    }

    /// A safepoint.
    pub(crate) fn step(&self) -> Look {
        let units = self.units.get() + 1;
        self.units.set(units);
        if units.is_multiple_of(LOOK) {
            self.exhausted.set(self.is_exhausted());
        }
        if self.exhausted.get() {
            Look::Exhausted
        } else if units.is_multiple_of(NOTED) {
            Look::Noted
        } else {
            Look::On
        }
    }

    fn is_exhausted(&self) -> bool {
        self.began.get().is_some_and(|began| began.elapsed() > self.allowed)
    }

    /// The units of this resumption so far.
    pub(crate) fn units(&self) -> u64 {
        self.units.get()
    }

    /// Takes back what was counted since [`Meter::units`] said this: Studio does it natively.
    pub(crate) fn rewind(&self, units: u64) {
        self.units.set(units);
    }

    /// Work that the engine does natively.
    pub(crate) fn charge(&self, units: usize) {
        self.units.set(self.units.get() + units as u64);
    }

    /// Where the script is that does so much.
    pub(crate) fn note(&self, trace: String) {
        if self.began.get().is_some() {
            self.traces.borrow_mut().push(trace);
        }
    }

    /// The outermost resumption begins.
    pub(crate) fn begin(&self) {
        self.used.set(self.used.get() + self.units.take());
        self.traces.borrow_mut().clear();
        self.exhausted.set(false);
        self.began.set(Some(Instant::now()));
    }

    /// It is over; `plugin` where it was the plugin's.
    pub(crate) fn end(&self, plugin: bool) {
        let Some(began) = self.began.take() else {
            return;
        };
        let (took, units) = (began.elapsed(), self.units.take());
        self.used.set(self.used.get() + units);
        if plugin {
            self.longest.set(self.longest.get().max(took));
            self.frame.set(self.frame.get() + took);
            self.longest_frame.set(self.longest_frame.get().max(self.frame.get()));
            if units > self.most.borrow().units {
                *self.most.borrow_mut() = Resumption { units, traces: self.traces.take() };
            }
        }
    }

    /// A new frame begins.
    pub(crate) fn begin_frame(&self) {
        self.frame.set(Duration::ZERO);
    }

    /// Forgets the longest and the most.
    pub(crate) fn reset(&self) {
        self.longest.take();
        self.longest_frame.take();
        self.most.take();
    }

    /// The virtual seconds that scripts have run, with what runs now.
    pub(crate) fn used(&self) -> f64 {
        (self.used.get() + self.units.get()) as f64 * UNIT
    }

    pub(crate) fn most(&self) -> Resumption {
        self.most.borrow().clone()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.longest.get()
    }

    pub(crate) fn longest_frame(&self) -> Duration {
        self.longest_frame.get()
    }
}
