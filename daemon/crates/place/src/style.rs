//! The settings file beside the place that configures script formatting, as read by the caller.

use super::Scene;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyleFile {
    /// The file name, shown to the user who has to fix the file.
    pub file: String,
    /// The file's content, or the reason it cannot be read.
    pub text: Result<String, String>,
}

impl Scene {
    /// Returns the settings file; None if there is none.
    pub fn style(&self) -> Option<&StyleFile> {
        self.style.as_ref()
    }

    /// Sets the settings file. No edit of the place depends on it.
    pub fn set_style(&mut self, style: Option<StyleFile>) {
        self.style = style;
    }
}
