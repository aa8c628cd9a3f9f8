//! The settings that sessions follow while they work: a change takes effect at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scene_schemas::api::{Settings, SpendingLimits};
use scene_schemas::proposal::Mode;
use vector_core::proposal::LARGE_CHANGE;

/// The user's settings, shared with the sessions.
#[derive(Debug)]
pub(crate) struct ActiveSettings(Mutex<SettingValues>);

#[derive(Debug)]
struct SettingValues {
    is_dry_run: bool,
    has_play_check: bool,
    mode: Mode,
    /// Empty if the user has chosen no model.
    model: String,
    /// How long proposals of disconnected agents stay pending; None for no limit.
    pending_limit: Option<Duration>,
    /// The share of a place, in percent, from which a change of it is large.
    large_change: u32,
    limits: SpendingLimits,
}

/// The default of that time.
const PENDING: Duration = Duration::from_hours(7 * 24);

/// How a request is to be worked on, as the settings were when it came.
#[derive(Debug, Clone)]
pub(crate) struct RequestSettings {
    pub(crate) mode: Mode,
    /// The chosen model; None for the default.
    pub(crate) model: Option<String>,
}

impl SettingValues {
    fn mode(&self) -> Mode {
        if self.is_dry_run { Mode::Confirm } else { self.mode }
    }

    fn model(&self) -> Option<String> {
        Some(self.model.clone()).filter(|model| !model.is_empty())
    }
}

impl ActiveSettings {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        Self(Mutex::new(SettingValues {
            is_dry_run: settings.dry_run,
            has_play_check: settings.play_check,
            mode: settings.mode,
            model: settings.model.clone(),
            pending_limit: Some(PENDING),
            large_change: LARGE_CHANGE,
            limits: settings.limits,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, SettingValues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(&self, settings: &Settings) {
        let mut values = self.lock();
        values.is_dry_run = settings.dry_run;
        values.has_play_check = settings.play_check;
        values.mode = settings.mode;
        values.model.clone_from(&settings.model);
        values.limits = settings.limits;
    }

    pub(crate) fn set_pending_limit(&self, limit: Option<Duration>) {
        self.lock().pending_limit = limit.map(|limit| limit.max(Duration::from_secs(1)));
    }

    /// The time for which proposals of disconnected agents stay pending; None for no limit.
    pub(crate) fn pending_limit(&self) -> Option<Duration> {
        self.lock().pending_limit
    }

    /// The share of a place, in percent, from which a change of it is large.
    pub(crate) fn large_change(&self) -> u32 {
        self.lock().large_change
    }

    pub(crate) fn set_large_change(&self, percent: u32) {
        self.lock().large_change = percent;
    }

    /// The spending limits that the user has chosen.
    pub(crate) fn limits(&self) -> SpendingLimits {
        self.lock().limits
    }

    /// Whether proposals are shown and never applied.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.lock().is_dry_run
    }

    /// Whether the game is played with each proposal.
    pub(crate) fn has_play_check(&self) -> bool {
        self.lock().has_play_check
    }

    /// Which proposals may be applied without the user's approval.
    pub(crate) fn mode(&self) -> Mode {
        self.lock().mode()
    }

    /// The model that the user has chosen; None for the default, the first of the list.
    pub(crate) fn model(&self) -> Option<String> {
        self.lock().model()
    }

    pub(crate) fn for_request(&self) -> RequestSettings {
        let values = self.lock();
        RequestSettings { mode: values.mode(), model: values.model() }
    }
}
