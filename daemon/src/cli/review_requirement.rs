//! Required reviews in commands that work on files without the daemon: nothing reviews there, so they
//! approve nothing where `review.required` is on.

use std::path::Path;

use anyhow::bail;
use vector_providers::model_selector::{HomeModelSelector, ModelSelector};

/// Why nothing can be approved, and what to do instead.
pub(super) const NO_REVIEWER: &str = "`review.required` is on: a proposal is approved only after a \
model has reviewed it, and this command has no reviewer. Open the place with `vector open`, and ask on \
the page or with `vector chat --session`.";

/// Reads whether proposals in the folder `project` need a review.
///
/// # Errors
/// The settings cannot be read.
pub(super) fn is_review_required(home: &Path, project: Option<&Path>) -> anyhow::Result<bool> {
    let project =
        project.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    HomeModelSelector::new(home).is_review_required(project).map_err(anyhow::Error::msg)
}

/// Refuses a run whose proposals could never be approved, before it costs anything.
///
/// # Errors
/// Reviews are required, or the settings cannot be read.
pub(super) fn refuse_unreviewed(home: &Path, project: Option<&Path>) -> anyhow::Result<()> {
    if is_review_required(home, project)? {
        bail!("{NO_REVIEWER} With --dry-run, this command shows what it would do.");
    }
    Ok(())
}
