//! A file of settings that stands beside the place, as the shell has read it: how scripts are formatted.

use super::Scene;

/// A file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyleFile {
    /// Its name, for who has to mend it.
    pub file: String,
    /// What it says, or why it cannot be read.
    pub text: Result<String, String>,
}

impl Scene {
    /// The settings, where there are some.
    pub fn style(&self) -> Option<&StyleFile> {
        self.style.as_ref()
    }

    /// Says what they are. No change of the place depends on it.
    pub fn set_style(&mut self, style: Option<StyleFile>) {
        self.style = style;
    }
}
