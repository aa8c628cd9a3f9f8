//! State that the studio and the engine's native functions share.

use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use vector_runtime::Meter;

use crate::http::Outcome;
use crate::options::SharedSettings;

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
