//! Checks of the installed MCP clients: whether each has an entry for Vector, and whether the
//! program in it exists.

use std::path::Path;

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::cli::setup;

pub(super) fn check_clients(_: &CheckSite) -> Vec<DoctorFinding> {
    let entries = match setup::installed_entries() {
        Ok(entries) => entries,
        Err(error) => return vec![DoctorFinding::problem("clients", format!("{error:#}"))],
    };
    if entries.is_empty() {
        let none = "no supported client was found; other MCP clients do not need this setup";
        return vec![DoctorFinding::note("clients", none).with_fix("vector setup --client NAME")];
    }
    let finding = |(name, file, found): setup::ClientEntry| {
        let file = file.display();
        match found {
            Err(why) => DoctorFinding::problem(name, format!("{file} {why}"))
                .with_fix("fix the file by hand, then vector setup"),
            Ok(None) => DoctorFinding::note(name, format!("{file} has no entry for Vector"))
                .with_fix("vector setup"),
            Ok(Some(command)) if is_executable_present(&command) => {
                DoctorFinding::ok(name, format!("starts {command}"))
            }
            Ok(Some(command)) => DoctorFinding::problem(
                name,
                format!("{file} starts {command:?}, which does not exist"),
            )
            .with_fix("vector setup"),
        }
    };
    entries.into_iter().map(finding).collect()
}

/// Whether a command can be started: as a file, or as a name found in `PATH`.
fn is_executable_present(command: &str) -> bool {
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
