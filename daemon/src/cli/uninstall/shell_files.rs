//! Completion scripts and man pages in the folders that `vector completions --help` and
//! `vector man --help` name.
//!
//! A file of that name that Vector did not generate is not ours.

use std::fs;
use std::path::{Path, PathBuf};

use directories::BaseDirs;

/// The completion scripts that are there.
pub(super) fn completion_scripts(folders: &BaseDirs) -> Vec<PathBuf> {
    let scripts = [
        (folders.data_dir().join("bash-completion/completions/vector"), "_vector()"),
        (folders.home_dir().join(".zfunc/_vector"), "#compdef vector"),
        (folders.config_dir().join("fish/completions/vector.fish"), "complete -c vector"),
    ];
    let ours = scripts.into_iter().filter(|(file, generated)| contains(file, generated));
    ours.map(|(file, _)| file).collect()
}

/// The profiles of PowerShell that contain the completion, among other lines.
pub(super) fn completing_profiles(folders: &BaseDirs) -> Vec<PathBuf> {
    let documents = folders.home_dir().join("Documents");
    let shells = [
        documents.join("PowerShell"),
        documents.join("WindowsPowerShell"),
        folders.config_dir().join("powershell"),
    ];
    let profiles = shells.map(|shell| shell.join("Microsoft.PowerShell_profile.ps1"));
    let completes = |file: &PathBuf| contains(file, "-CommandName 'vector'");
    profiles.into_iter().filter(completes).collect()
}

/// The user's folder of man pages.
pub(super) fn man_folder(folders: &BaseDirs) -> PathBuf {
    folders.data_dir().join("man/man1")
}

/// Vector's man pages in a folder: of the program, and of its commands.
pub(super) fn man_pages(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_named = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        let stem = name.and_then(|name| name.strip_suffix(".1"));
        stem.is_some_and(|stem| stem == "vector" || stem.starts_with("vector-"))
    };
    let mut pages: Vec<PathBuf> =
        files.filter(is_named).filter(|file| contains(file, ".TH vector")).collect();
    pages.sort();
    pages
}

fn contains(file: &Path, text: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|content| content.contains(text))
}
