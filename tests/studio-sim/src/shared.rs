//! What the studio and the functions that the engine calls both hold.

use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use crate::http::Outcome;
use crate::options::SharedSettings;

/// Channels and meters.
pub(crate) struct Shared {
    pub(crate) sender: Sender<(i64, Outcome)>,
    pub(crate) receiver: Receiver<(i64, Outcome)>,
    pub(crate) settings: SharedSettings,
    /// When the outermost resumption that runs now began.
    pub(crate) resumed: Option<Instant>,
    /// The longest resumption of the plugin so far, and its time within the current frame.
    pub(crate) longest: Duration,
    pub(crate) frame: Duration,
    pub(crate) longest_frame: Duration,
    /// All the time that scripts have run, of anybody.
    pub(crate) used: Duration,
    /// How long one resumption may run before it is taken for an endless loop, as in Studio.
    pub(crate) allowed: Duration,
}

impl Shared {
    pub(crate) fn new(settings: SharedSettings, allowed: Duration) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            sender,
            receiver,
            settings,
            resumed: None,
            longest: Duration::ZERO,
            frame: Duration::ZERO,
            longest_frame: Duration::ZERO,
            used: Duration::ZERO,
            allowed,
        }
    }

    /// The outermost resumption is over.
    pub(crate) fn ended(&mut self, plugin: bool) {
        let Some(began) = self.resumed.take() else {
            return;
        };
        let took = began.elapsed();
        self.used += took;
        if plugin {
            self.longest = self.longest.max(took);
            self.frame += took;
            self.longest_frame = self.longest_frame.max(self.frame);
        }
    }

    /// The time that scripts have run, with what runs now.
    pub(crate) fn used(&self) -> Duration {
        self.used + self.resumed.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Whether what runs now has had more than its time.
    pub(crate) fn exhausted(&self) -> bool {
        self.resumed.is_some_and(|began| began.elapsed() > self.allowed)
    }
}
