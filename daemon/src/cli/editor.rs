//! Runs the user's own editor on a text.

use std::io::Write;
use std::path::Path;
use std::process::Command as Process;
use std::{env, fs};

use anyhow::{Context, bail};

use super::terminal::print_status;

/// Opens the editor on a text, and returns the edited text.
pub(super) fn edit_text(text: &str, suffix: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("vector-")
        .suffix(suffix)
        .tempfile()
        .context("no temporary file for the editor")?;
    file.write_all(text.as_bytes()).context("the temporary file cannot be written")?;
    // Some systems do not let another process open a file that is still open here.
    let path = file.into_temp_path();
    open_editor(&path)?;
    let mut edited = fs::read_to_string(&path).context("the edited file is not valid text")?;
    // Most editors add a newline to the last line, which a script need not have.
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}

/// Keeps a text that the user typed and that could not be used in a file, and says where it is.
/// `what` names the text, such as "comments".
pub(super) fn keep_text(text: &str, what: &str, suffix: &str) {
    let prefix = format!("vector-{what}-");
    let file = tempfile::Builder::new().prefix(&prefix).suffix(suffix).tempfile();
    let kept = file.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.keep().map_err(|error| error.error)
    });
    match kept {
        Ok((_, path)) => print_status(&format!("Your {what} are in {}.", path.display())),
        Err(error) => print_status(&format!("Your {what} could not be kept: {error}.")),
    }
}

fn open_editor(path: &Path) -> anyhow::Result<()> {
    let line = editor_command();
    let mut arguments = line.split_whitespace();
    let Some(program) = arguments.next() else {
        bail!("no editor is set; set VISUAL or EDITOR");
    };
    let status = Process::new(program).args(arguments).arg(path).status().with_context(|| {
        format!("the editor `{program}` cannot be started; check VISUAL or EDITOR")
    })?;
    if !status.success() {
        bail!("the editor `{program}` exited with {status}, so nothing was changed");
    }
    Ok(())
}

fn editor_command() -> String {
    let from_env = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    from_env("VISUAL").or_else(|| from_env("EDITOR")).unwrap_or_else(|| usual.to_owned())
}
