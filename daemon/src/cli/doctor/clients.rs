//! The MCP clients that are installed: whether they know Vector, and start one that is there.

use std::path::Path;

use super::Site;
use super::finding::Finding;
use crate::cli::setup;

pub(super) fn check(_: &Site) -> Vec<Finding> {
    let entries = match setup::entries() {
        Ok(entries) => entries,
        Err(error) => return vec![Finding::problem("clients", format!("{error:#}"))],
    };
    if entries.is_empty() {
        let none = "no client was found; agents that speak MCP need none of it to be in order";
        return vec![Finding::note("clients", none).mended("vector setup --client NAME")];
    }
    let finding = |(name, file, found): setup::Entry| {
        let file = file.display();
        match found {
            Err(why) => Finding::problem(name, format!("{file} {why}"))
                .mended("mend the file by hand, then vector setup"),
            Ok(None) => Finding::note(name, format!("{file} has no entry for Vector"))
                .mended("vector setup"),
            Ok(Some(command)) if is_there(&command) => {
                Finding::ok(name, format!("starts {command}"))
            }
            Ok(Some(command)) => {
                Finding::problem(name, format!("{file} starts {command:?}, which is not there"))
                    .mended("vector setup")
            }
        }
    };
    entries.into_iter().map(finding).collect()
}

/// Whether a client can start it: a file, or a name that is looked up.
fn is_there(command: &str) -> bool {
    let path = Path::new(command);
    if path.components().count() > 1 {
        return path.is_file();
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = |folder: std::path::PathBuf| {
        let file = folder.join(command);
        file.is_file() || file.with_extension("exe").is_file()
    };
    !command.is_empty() && std::env::split_paths(&folders).any(found)
}
