//! The configuration of a simulated Studio.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;

/// When a signal's handlers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// Immediately, while the signal fires.
    #[default]
    Immediate,
    /// At the end of the resumption.
    Deferred,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on dark.
    #[default]
    Dark,
    /// Dark text on light.
    Light,
}

impl Theme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dark => "Dark",
            Self::Light => "Light",
        }
    }
}

/// The user's answer to a permission request of the plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    #[default]
    Allowed,
    /// Denied until the user changes it under Manage Plugins.
    Denied,
    /// Not answered yet: Studio shows a dialog at the first attempt, which fails, and at every
    /// further one until the user answers.
    Asks,
}

impl Permission {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Allowed => "Allowed",
            Self::Denied => "Denied",
            Self::Asks => "Asks",
        }
    }
}

/// Questions about Studio's behaviour that only a real Studio can answer. A switch that is on gives
/// the worse answer.
#[expect(clippy::struct_excessive_bools, reason = "the questions are independent")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Undo, redo and cancelling a recording leave the texts of scripts as they are.
    pub undo_keeps_texts: bool,
    /// An instance is no longer in a weak table after the frame in which it was put there.
    pub weak_tables_lose_instances: bool,
    /// A label shows only the first 16 KiB of its text.
    pub labels_are_cut: bool,
    /// `Changed` also fires for the properties that are derived from the changed one.
    pub derived_changes: bool,
    /// The place has all services from the start.
    pub all_services: bool,
    /// A frame takes 1/15 s.
    pub slow_frames: bool,
    /// Each property that the plugin reads or writes, each connection and each call of a handler
    /// takes 1 µs more.
    pub slow_crossings: bool,
    /// Studio stands still for two seconds while `GetObjects` loads an asset.
    pub loading_blocks: bool,
    /// A method that needs a permission which was not given yet waits until the user answers the
    /// dialog, instead of failing at once. A property cannot wait.
    pub dialogs_wait: bool,
}

impl Switches {
    /// Every question has the worse answer.
    pub const HOSTILE: Self = Self {
        undo_keeps_texts: true,
        weak_tables_lose_instances: true,
        labels_are_cut: true,
        derived_changes: true,
        all_services: true,
        slow_frames: true,
        slow_crossings: true,
        loading_blocks: true,
        dialogs_wait: true,
    };

    /// The answers of the newest Studio whose report is in `answers/`; without any report, every
    /// question has the kinder answer.
    pub fn measured() -> Self {
        static MEASURED: LazyLock<Switches> = LazyLock::new(|| {
            let reports = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/answers"));
            let reports = reports.into_iter().flatten().flatten().map(|it| it.path());
            let newest =
                reports.filter(|it| it.extension().is_some_and(|it| it == "json")).max_by_key(
                    |it| version_parts(&it.file_stem().unwrap_or_default().to_string_lossy()),
                );
            let text = newest.and_then(|it| fs::read_to_string(it).ok());
            let report = text.and_then(|it| serde_json::from_str(&it).ok());
            report.map_or_else(Switches::default, |it| Switches::from_report(&it))
        });
        *MEASURED
    }

    /// The switches that a report of `vector doctor --studio` tells. A question without an answer
    /// has the kinder one.
    pub fn from_report(report: &Json) -> Self {
        let answers = report["answers"].as_array().map_or(&[][..], Vec::as_slice);
        let answer = |id: &str| {
            let found = answers.iter().find(|it| it["id"] == id);
            found.map_or(&Json::Null, |it| &it["value"])
        };
        let names = answer("changed_names").as_array();
        Self {
            undo_keeps_texts: answer("undo_text")["text"] == "after",
            weak_tables_lose_instances: answer("weak_tables").as_u64().is_some_and(|it| it < 100),
            labels_are_cut: answer("label_limit") == "cut",
            derived_changes: names.is_some_and(|it| it.iter().any(|it| it == "ExtentsCFrame")),
            all_services: answer("services").as_array().is_some_and(|it| it.len() > MANY_SERVICES),
            slow_frames: answer("frame_rate").as_f64().is_some_and(|it| it < LEAST_FRAME_RATE),
            slow_crossings: answer("cost_of_property_read")
                .as_f64()
                .is_some_and(|it| it > MOST_MICROSECONDS),
            // The probe knows no asset that every account may load.
            loading_blocks: false,
            // Nor does it make a user answer a dialog.
            dialogs_wait: false,
        }
    }

    /// The names of the switches in the engine, and whether each is on.
    pub(crate) fn named(self) -> [(&'static str, bool); 9] {
        let Self {
            undo_keeps_texts,
            weak_tables_lose_instances,
            labels_are_cut,
            derived_changes,
            all_services,
            slow_frames,
            slow_crossings,
            loading_blocks,
            dialogs_wait,
        } = self;
        [
            ("undoKeepsTexts", undo_keeps_texts),
            ("weakTablesLoseInstances", weak_tables_lose_instances),
            ("labelsAreCut", labels_are_cut),
            ("derivedChanges", derived_changes),
            ("allServices", all_services),
            ("slowFrames", slow_frames),
            ("slowCrossings", slow_crossings),
            ("loadingBlocks", loading_blocks),
            ("dialogsWait", dialogs_wait),
        ]
    }
}

/// A new place in the simulator has fewer services than this, and one with all has more.
const MANY_SERVICES: usize = 60;
/// The frames a second below which frames are slow.
const LEAST_FRAME_RATE: f64 = 40.0;
/// The microseconds of a read above which reads are slow: they take 1.0 here, and 2.1 if they are slow.
const MOST_MICROSECONDS: f64 = 1.5;

/// The numbers of a version, such as `0.741.0.7410726`, for comparing two.
fn version_parts(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The plugins' settings: they outlive the studio, and all windows share them.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings(Arc<Mutex<BTreeMap<String, String>>>);

impl SharedSettings {
    /// The value of a key, as JSON.
    pub fn get(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Sets the value of a key, as JSON, or removes it.
    pub fn set(&self, key: &str, json: Option<String>) {
        let mut settings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match json {
            Some(json) => settings.insert(key.to_owned(), json),
            None => settings.remove(key),
        };
    }

    pub fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// The initial state of a studio.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// When signal handlers run.
    pub signals: Signals,
    pub switches: Switches,
    pub theme: Theme,
    /// The bytes of an `.rbxl`; if None, the empty baseplate place without its plate.
    pub place: Option<&'a [u8]>,
    /// The size of every dock widget, in pixels.
    pub widget_size: (u32, u32),
    /// The plugin's settings; two studios with the same settings are two windows.
    pub settings: SharedSettings,
    /// The permission for HTTP requests.
    pub http: Permission,
    /// The permission for script changes.
    pub script_writes: Permission,
    /// Whether requests have a `Host` header. Studio may omit it for an IP address.
    pub send_host: bool,
    /// How long a request waits for its response, in real time.
    pub http_timeout: Duration,
    /// How long a script may run without yielding before it is stopped, in real time.
    pub script_timeout: Duration,
    /// The user's id and name.
    pub user: (u64, String),
    /// `game.PlaceId`; 0 for a place that was never published.
    pub place_id: u64,
    /// `game.GameId`.
    pub game_id: u64,
    /// `game.Name`.
    pub place_name: String,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            signals: Signals::default(),
            switches: Switches::measured(),
            theme: Theme::default(),
            place: None,
            widget_size: (360, 600),
            settings: SharedSettings::default(),
            http: Permission::Allowed,
            script_writes: Permission::Allowed,
            send_host: true,
            http_timeout: Duration::from_secs(30),
            script_timeout: Duration::from_secs(10),
            user: (1, "Player1".to_owned()),
            place_id: 0,
            game_id: 0,
            place_name: "Place1".to_owned(),
        }
    }
}
