//! The configuration of a simulated Studio.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
