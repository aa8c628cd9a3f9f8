//! Finds what Vector put on this machine, without changing anything.

use std::fs;
use std::path::{Path, PathBuf};

use vector_cloud::KeyPurpose;
use vector_ledger::private_files::{LEDGER_FILES, STATE_FILES, USER_FILES};
use vector_providers::config;
use vector_providers::keys::{Keychain, SystemKeychain};

use super::program::Program;
use super::shell_files;
use super::trace::{Trace, format_size};
use crate::cli::setup::{RECORD_FILE, SetupRecord, WrittenPlugin};
use crate::cli::{plugin, serve};

pub(super) struct Found {
    /// What is to be removed, in this order.
    pub(super) traces: Vec<Trace>,
    /// What stays, and how to remove it.
    pub(super) staying: Vec<String>,
}

impl Found {
    /// Finds everything of the ledger in `home`. The ledger itself stays, unless `with_ledger`.
    pub(super) fn on_this_machine(home: &Path, with_ledger: bool) -> anyhow::Result<Self> {
        let record = SetupRecord::load(home)?;
        let mut found = Self { traces: vec![], staying: vec![] };
        found.traces.extend(record.written.iter().cloned().map(Trace::ClientEntry));
        found.traces.extend(find_plugins(&record)?.into_iter().map(Trace::Plugin));
        found.traces.extend(record.work_trees.into_iter().map(Trace::WorkTree));
        found.add_shell_files();
        found.add_keys(home);
        found.add_data(home, with_ledger);
        match Program::detect()? {
            Program::Own(file) => found.traces.push(Trace::Program(file)),
            Program::Packaged { file, removal } => {
                found.staying.push(format!("the program {}: {removal}", file.display()));
            }
            Program::Built(file) => {
                found.staying.push(format!("the program {}, which Cargo built", file.display()));
            }
        }
        Ok(found)
    }

    fn add_shell_files(&mut self) {
        let Some(folders) = directories::BaseDirs::new() else { return };
        self.traces.extend(
            shell_files::completion_scripts(&folders).into_iter().map(Trace::CompletionScript),
        );
        let folder = shell_files::man_folder(&folders);
        let files = shell_files::man_pages(&folder);
        if !files.is_empty() {
            self.traces.push(Trace::ManPages { folder, files });
        }
        for file in shell_files::completing_profiles(&folders) {
            self.staying.push(format!(
                "the completion of vector in {}, among lines of yours: delete it there",
                file.display()
            ));
        }
    }

    fn add_keys(&mut self, home: &Path) {
        if !SystemKeychain.is_available() {
            return;
        }
        let env = |name: &str| std::env::var(name).ok();
        let catalogue = match config::load_config(home, None, &env) {
            Ok((catalogue, _)) => catalogue,
            Err(why) => return self.staying.push(format!("keys in the keychain, if any: {why}")),
        };
        let services = catalogue.services.iter().filter(|it| !it.key_variables.is_empty());
        let names = services.map(|service| service.name.as_str());
        for name in names.chain(KeyPurpose::ALL.map(KeyPurpose::name)) {
            match SystemKeychain.get(name) {
                Ok(None) => {}
                Ok(Some(_)) => self.traces.push(Trace::Key(name.to_owned())),
                Err(why) => {
                    return self.staying.push(format!("keys in the keychain, if any: {why}"));
                }
            }
        }
    }

    /// Adds the files in the ledger's folder.
    fn add_data(&mut self, home: &Path, with_ledger: bool) {
        let folder = || home.to_owned();
        // The record is deleted with the last thing on it, and the lock when everything is done.
        let is_last = |name: &&str| [RECORD_FILE, serve::LOCK].contains(name);
        let state = STATE_FILES.into_iter().filter(|name| !is_last(name));
        let files = existing(home, state);
        if !files.is_empty() {
            self.traces.push(Trace::State { folder: folder(), files });
        }
        let files = existing(home, LEDGER_FILES);
        if !files.is_empty() {
            let bytes = files.iter().map(|file| size(file)).sum();
            if with_ledger {
                self.traces.push(Trace::Ledger { folder: folder(), files, bytes });
            } else {
                self.staying.push(format!(
                    "the ledger in {} ({}): --ledger removes it too",
                    home.display(),
                    format_size(bytes)
                ));
            }
        }
        for file in existing(home, USER_FILES) {
            self.staying.push(format!("{}, which you wrote: delete it", file.display()));
        }
    }
}

/// The plugins on record, and one in Studio's usual folder.
fn find_plugins(record: &SetupRecord) -> anyhow::Result<Vec<WrittenPlugin>> {
    let known = record.plugin.iter().chain(&record.installed_plugins);
    let mut plugins: Vec<WrittenPlugin> = known.cloned().collect();
    if let Some(file) = plugin::find_plugin_file()?
        && file.exists()
        && !plugins.iter().any(|plugin| plugin.file == file)
    {
        plugins.push(WrittenPlugin { file, folders: vec![] });
    }
    Ok(plugins)
}

fn existing(folder: &Path, names: impl IntoIterator<Item = &'static str>) -> Vec<PathBuf> {
    let files = names.into_iter().map(|name| folder.join(name));
    files.filter(|file| fs::symlink_metadata(file).is_ok()).collect()
}

/// The size of a file, or of all files in a folder, in bytes.
fn size(file: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(file) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(file).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}
