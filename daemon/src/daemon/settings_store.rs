//! What the daemon keeps beside the ledger of what a person has chosen.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use scene_schemas::api::Settings;
use scene_schemas::proposal::Mode;
use vector_files::write_private;

const SETTINGS: &str = "settings.json";

/// What a person has chosen; what cannot be read counts as nothing chosen. Where no model was chosen
/// its name is empty.
pub(crate) fn load_settings(home: &Path) -> Settings {
    let kept = fs::read_to_string(home.join(SETTINGS)).ok();
    let kept = kept.and_then(|text| serde_json::from_str::<Settings>(&text).ok());
    kept.unwrap_or_else(|| Settings {
        mode: Mode::Confirm,
        dry_run: false,
        model: String::new(),
        models: Vec::new(),
    })
}

/// Keeps what a person has chosen.
pub(crate) fn save_settings(home: &Path, settings: &Settings) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(settings).unwrap_or_default();
    write_private(&home.join(SETTINGS), text.as_bytes())
}

/// What a person has chosen, for those at work: it counts from that moment on.
#[derive(Debug)]
pub(crate) struct ActiveSettings {
    dry_run: AtomicBool,
    mode: AtomicU8,
    /// How long what a disconnected agent proposed waits for a decision, in seconds; 0 is without end.
    pending_seconds: AtomicU64,
}

/// How long that is where nobody says otherwise.
const PENDING: Duration = Duration::from_hours(7 * 24);

impl ActiveSettings {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let chosen = Self {
            dry_run: AtomicBool::default(),
            mode: AtomicU8::default(),
            pending_seconds: AtomicU64::new(PENDING.as_secs()),
        };
        chosen.update(settings);
        chosen
    }

    pub(crate) fn update(&self, settings: &Settings) {
        self.dry_run.store(settings.dry_run, Ordering::Relaxed);
        self.mode.store(settings.mode as u8, Ordering::Relaxed);
    }

    pub(crate) fn set_pending_limit(&self, limit: Option<Duration>) {
        let seconds = limit.map_or(0, |limit| limit.as_secs().max(1));
        self.pending_seconds.store(seconds, Ordering::Relaxed);
    }

    /// How long what a disconnected agent proposed waits for a decision; none where that has no end.
    pub(crate) fn pending_limit(&self) -> Option<Duration> {
        let seconds = self.pending_seconds.load(Ordering::Relaxed);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    /// Whether proposals are shown and never applied.
    pub(crate) fn is_dry_run(&self) -> bool {
        self.dry_run.load(Ordering::Relaxed)
    }

    /// Which proposals may go without a person's yes.
    pub(crate) fn mode(&self) -> Mode {
        let mode = self.mode.load(Ordering::Relaxed);
        let modes = [Mode::Auto, Mode::Dangerous];
        let chosen = modes.into_iter().find(|it| *it as u8 == mode && !self.is_dry_run());
        chosen.unwrap_or(Mode::Confirm)
    }
}
