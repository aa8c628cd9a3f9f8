//! The settings that sessions follow while they work: a change takes effect at once.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scene_schemas::api::Settings;
use scene_schemas::proposal::Mode;

/// The user's settings, shared with the sessions.
#[derive(Debug)]
pub(crate) struct ActiveSettings {
    dry_run: AtomicBool,
    mode: AtomicU8,
    /// The time for which proposals of disconnected agents stay pending, in seconds; 0 for no
    /// limit.
    pending_seconds: AtomicU64,
    /// Empty if the user has chosen no model.
    model: Mutex<String>,
}

/// The default of that time.
const PENDING: Duration = Duration::from_hours(7 * 24);

impl ActiveSettings {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let chosen = Self {
            dry_run: AtomicBool::default(),
            mode: AtomicU8::default(),
            pending_seconds: AtomicU64::new(PENDING.as_secs()),
            model: Mutex::default(),
        };
        chosen.update(settings);
        chosen
    }

    pub(crate) fn update(&self, settings: &Settings) {
        self.dry_run.store(settings.dry_run, Ordering::Relaxed);
        self.mode.store(settings.mode as u8, Ordering::Relaxed);
        self.lock_model().clone_from(&settings.model);
    }

    pub(crate) fn set_pending_limit(&self, limit: Option<Duration>) {
        let seconds = limit.map_or(0, |limit| limit.as_secs().max(1));
        self.pending_seconds.store(seconds, Ordering::Relaxed);
    }

    /// The time for which proposals of disconnected agents stay pending; None for no limit.
    pub(crate) fn pending_limit(&self) -> Option<Duration> {
        let seconds = self.pending_seconds.load(Ordering::Relaxed);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Whether proposals are shown and never applied.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run.load(Ordering::Relaxed)
    }

    /// Which proposals may be applied without the user's approval.
    pub(crate) fn mode(&self) -> Mode {
        let mode = self.mode.load(Ordering::Relaxed);
        let modes = [Mode::Auto, Mode::Dangerous];
        let chosen = modes.into_iter().find(|it| *it as u8 == mode && !self.is_dry_run());
        chosen.unwrap_or(Mode::Confirm)
    }

    /// The model that the user has chosen; None for the default, the first of the list.
    pub(crate) fn model(&self) -> Option<String> {
        Some(self.lock_model().clone()).filter(|model| !model.is_empty())
    }

    fn lock_model(&self) -> MutexGuard<'_, String> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
