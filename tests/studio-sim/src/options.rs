//! How a studio is set up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// When a signal's handlers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// At once, inside of what fired the signal.
    #[default]
    Immediate,
    /// At the end of the resumption.
    Deferred,
}

/// Studio's own look.
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

/// What the person answered when Studio asked whether the plugin may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    #[default]
    Allowed,
    /// It may not, until the person changes it under Manage Plugins.
    Denied,
}

/// The settings that plugins keep: they outlive the studio, and all windows share them.
#[derive(Clone, Debug, Default)]
pub struct SharedSettings(Arc<Mutex<BTreeMap<String, String>>>);

impl SharedSettings {
    /// The value of a key, as JSON.
    pub fn get(&self, key: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Sets or removes the value of a key, as JSON.
    pub fn set(&self, key: &str, json: Option<String>) {
        let mut settings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match json {
            Some(json) => settings.insert(key.to_owned(), json),
            None => settings.remove(key),
        };
    }

    /// All keys.
    pub fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// What a studio starts with.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// When handlers run.
    pub signals: Signals,
    /// The look of Studio.
    pub theme: Theme,
    /// The bytes of an `.rbxl`; without one, the empty baseplate without its plate.
    pub place: Option<&'a [u8]>,
    /// The size of every dock widget, in pixels.
    pub widget_size: (u32, u32),
    /// The plugin's settings; give two studios the same to open two windows.
    pub settings: SharedSettings,
    /// Whether the plugin may make requests.
    pub http: Permission,
    /// Whether the plugin may change scripts.
    pub script_writes: Permission,
    /// Whether requests carry a `Host` header. Studio may send none for an address.
    pub send_host: bool,
    /// How long a request waits for its answer, in real time.
    pub http_timeout: Duration,
    /// How long a script may run without giving the frame back before it is stopped, in real time.
    pub script_timeout: Duration,
    /// The user's number and name.
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
