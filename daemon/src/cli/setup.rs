//! `vector setup`: registers Vector with MCP clients and installs the Studio plugin, or undoes
//! both.
//!
//! The files belong to other programs: each is read as its program reads it, one entry is added,
//! and every other byte stays. A record of the changes allows `--remove` to restore the original
//! bytes. This module does not know what MCP clients can call.

mod change;
mod clients;
mod file_format;
mod files;
mod report;
mod setup_record;
mod toml;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::api::PORT;
use serde_json::{Value as Json, json};

use self::change::{ClientTarget, FileChange};
use self::clients::{McpClient, UserMachine};
use self::files::ConfigFile;
pub(super) use self::files::make_folders;
use self::report::ClientReport;
pub(super) use self::setup_record::{RECORD_FILE, SetupRecord, WrittenEntry, WrittenPlugin};
use super::daemon_client::DaemonClient;
use super::handover::hand_over_keys;
use super::terminal::{print_line, print_status};
use super::{ExitStatus, pair, plugin};

/// Register Vector with MCP clients, and install the Studio plugin.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_help = "\
Examples:
  vector setup --dry-run                # shows what it would write, without writing
  vector setup                          # for each client that is installed
  vector setup --client cursor --project .
  vector setup --remove                 # undoes the setup
Run it again after moving the binary. Files that it cannot parse are not changed.")]
pub(super) struct SetupArgs {
    /// A client, even if it was not found; can be repeated
    #[arg(long, value_enum, value_name = "NAME")]
    client: Vec<McpClient>,
    /// Undo the changes of setup
    #[arg(long)]
    remove: bool,
    /// Show what would be written, without writing
    #[arg(long)]
    dry_run: bool,
    /// Replace an entry `vector` that another program wrote; with --remove, remove it
    #[arg(long)]
    force: bool,
    /// Do not install or remove the Studio plugin
    #[arg(long)]
    no_plugin: bool,
    /// A place or model that clients work on, instead of the place that is open in Studio
    #[arg(long, value_name = "FILE", conflicts_with = "remove")]
    place: Option<PathBuf>,
    /// A Rojo project that clients work on: its file or its folder
    #[arg(long, value_name = "DIR", conflicts_with = "remove")]
    project: Option<PathBuf>,
    /// The port of the daemon that clients start, and that pairs with Studio
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
    /// Print only one JSON object per client on stdout
    #[arg(long)]
    json: bool,
}

/// Runs the setup. `is_said` is true if the user specified the ledger's folder.
pub(super) fn run(args: &SetupArgs, home: &Path, is_said: bool) -> anyhow::Result<ExitStatus> {
    let home = std::path::absolute(home).context("the ledger's folder is not known")?;
    let words = server_command(args, is_said.then_some(home.as_path()))?;
    let env = |name: &str| std::env::var_os(name);
    let mut work = SetupRun::new(args, UserMachine::detect(&env)?, home, words)?;
    work.set_up_clients()?;
    // Removing a single client leaves the plugin in place.
    let is_studio_meant = !args.remove || args.client.is_empty();
    if is_studio_meant && !args.no_plugin {
        work.set_up_studio()?;
    }
    if !args.json {
        let is_plugin_there = work.record.plugin.is_some();
        print_line(&closing_line(args, work.has_failed, is_plugin_there));
        if is_plugin_there && !args.dry_run && !args.remove {
            show_code(&work.home, args.port);
        }
    }
    Ok(if work.has_failed { ExitStatus::Failed } else { ExitStatus::Done })
}

/// Removes the entry that setup wrote into a client's file. The error says why it is still there.
pub(super) fn remove_entry(home: &Path, written: &WrittenEntry) -> anyhow::Result<()> {
    let args = SetupArgs {
        client: vec![],
        remove: true,
        dry_run: false,
        force: false,
        no_plugin: true,
        place: None,
        project: None,
        port: PORT,
        json: false,
    };
    let env = |name: &str| std::env::var_os(name);
    let mut work = SetupRun::new(&args, UserMachine::detect(&env)?, home.to_owned(), vec![])?;
    let (stored, change) =
        work.plan_change(written.client, &written.file).map_err(anyhow::Error::msg)?;
    work.write_change(&written.file, &stored, &change)?.map_err(anyhow::Error::msg)
}

/// A client, its file, and the command of Vector's entry in it, if there is one.
pub(super) type ClientEntry = (&'static str, PathBuf, Result<Option<String>, String>);

/// The entries of all installed clients.
pub(super) fn installed_entries() -> anyhow::Result<Vec<ClientEntry>> {
    let env = |name: &str| std::env::var_os(name);
    let machine = UserMachine::detect(&env)?;
    let here = McpClient::all().iter().filter(|client| client.is_installed(&machine));
    let entry = |client: &McpClient| {
        let file = client.config_file(&machine);
        let read = || -> Result<Option<String>, String> {
            let stored = ConfigFile::read(&file)?;
            let Some(text) = stored.text()? else { return Ok(None) };
            let entry = client.file_format().find_entry(text)?.entry;
            let command = |entry: Json| entry["command"].as_str().unwrap_or_default().to_owned();
            Ok(entry.map(command))
        };
        let found = read();
        (client.name(), file, found)
    };
    Ok(here.map(entry).collect())
}

/// The arguments with which a client starts Vector.
fn server_command(args: &SetupArgs, home: Option<&Path>) -> anyhow::Result<Vec<String>> {
    let mut arguments = vec!["mcp".to_owned()];
    let there = |file: &Path| {
        let file = std::path::absolute(file).with_context(|| file.display().to_string())?;
        if !file.exists() {
            bail!("{} does not exist; give the file that clients should work on", file.display());
        }
        Ok(file)
    };
    let place = args.place.as_deref().map(there).transpose()?;
    let project = args.project.as_deref().map(there).transpose()?;
    let home = home.map(Path::to_owned);
    for (flag, file) in [("--place", place), ("--project", project), ("--home", home)] {
        if let Some(file) = file {
            arguments.extend([flag.to_owned(), path_text(&file)?]);
        }
    }
    if args.port != PORT {
        arguments.extend(["--port".to_owned(), args.port.to_string()]);
    }
    Ok(arguments)
}

/// A path as text, for files that cannot hold anything else.
fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().with_context(|| {
        format!("{} is not a UTF-8 path, which clients cannot read; rename it", path.display())
    })?;
    Ok(text.to_owned())
}

/// The closing message, which says what to do next.
fn closing_line(args: &SetupArgs, has_failed: bool, is_plugin_there: bool) -> String {
    let next = if args.dry_run {
        "Nothing was written. To write it, run the command without --dry-run."
    } else if has_failed {
        "The files with errors were not changed. Fix them and run the command again."
    } else if args.remove {
        "Restart Studio and any running MCP clients."
    } else if is_plugin_there {
        "Restart Studio and any running MCP clients. Decide on their proposals in Vector's widget \
         in Studio, or with `vector review`."
    } else {
        "Restart any running MCP clients. Decide on their proposals with `vector review`."
    };
    format!("\n{next}")
}

/// Shows the code for pairing the plugin. Starts a daemon for it if none is running.
fn show_code(home: &Path, port: u16) {
    let code = DaemonClient::connect_or_start(home, port).and_then(|daemon| {
        daemon.report_start();
        pair::pairing_line(&daemon)
    });
    hand_over_keys(home);
    match code {
        Ok(code) => print_line(&code),
        Err(error) => print_status(&format!(
            "note: no pairing code for Studio yet: {error:#}. `vector serve` prints one, and \
             `vector pair` a new one."
        )),
    }
}

/// The state of a setup.
struct SetupRun<'a> {
    args: &'a SetupArgs,
    machine: UserMachine<'a>,
    home: PathBuf,
    command: String,
    words: Vec<String>,
    record: SetupRecord,
    has_failed: bool,
}

impl<'a> SetupRun<'a> {
    fn new(
        args: &'a SetupArgs,
        machine: UserMachine<'a>,
        home: PathBuf,
        words: Vec<String>,
    ) -> anyhow::Result<Self> {
        let program =
            std::env::current_exe().context("the path of the vector program is not known")?;
        let (command, record) = (path_text(&program)?, SetupRecord::load(&home)?);
        Ok(Self { args, machine, home, command, words, record, has_failed: false })
    }

    fn set_up_clients(&mut self) -> anyhow::Result<()> {
        let mut missing = vec![];
        for (client, file) in self.client_files() {
            let is_meant =
                self.args.client.contains(&client) || self.record.find_written(&file).is_some();
            if is_meant || client.is_installed(&self.machine) {
                self.set_up_client(client, &file)?;
            } else {
                missing.push(client);
            }
        }
        if self.args.json {
            for client in missing {
                print_line(&json!({ "client": client, "outcome": "not_found" }).to_string());
            }
        } else if !missing.is_empty() && !self.args.remove {
            let names: Vec<&str> = missing.iter().map(|client| client.name()).collect();
            let arguments: Vec<String> =
                missing.iter().map(|client| client.argument_name()).collect();
            print_line(&format!(
                "Not found: {} (use --client {} to write it anyway).",
                names.join(", "),
                arguments.join("|")
            ));
        }
        Ok(())
    }

    /// The files to change. For a removal, also files at a client's former location.
    fn client_files(&self) -> Vec<(McpClient, PathBuf)> {
        let is_meant =
            |client: McpClient| self.args.client.is_empty() || self.args.client.contains(&client);
        let clients = McpClient::all().iter().copied().filter(|client| is_meant(*client));
        let mut targets: Vec<_> = clients.map(|it| (it, it.config_file(&self.machine))).collect();
        let written =
            self.record.written.iter().filter(|it| self.args.remove && is_meant(it.client));
        for written in written {
            if !targets.iter().any(|(_, file)| *file == written.file) {
                targets.push((written.client, written.file.clone()));
            }
        }
        targets
    }

    fn set_up_client(&mut self, client: McpClient, file: &Path) -> anyhow::Result<()> {
        let (done, diff) = match self.plan_change(client, file) {
            Err(why) => (Err(why), None),
            Ok((stored, change)) if self.args.dry_run => {
                (Ok(change.outcome), Some(report::format_diff(file, stored.text(), &change)))
            }
            Ok((stored, change)) => {
                (self.write_change(file, &stored, &change)?.map(|()| change.outcome), None)
            }
        };
        self.has_failed |= done.is_err();
        let client_report = ClientReport { client, file, outcome: done, diff };
        if self.args.json {
            print_line(&client_report.to_json().to_string());
            return Ok(());
        }
        client_report.show()
    }

    /// Reads a client's file and plans its change.
    fn plan_change(
        &self,
        client: McpClient,
        file: &Path,
    ) -> Result<(ConfigFile, FileChange), String> {
        let stored = ConfigFile::read(file)?;
        let target = ClientTarget {
            client,
            file,
            text: stored.text()?,
            missing: stored.missing_folders(),
            written: self.record.find_written(file),
            entry: client.file_format().build_entry(&self.command, &self.words),
            force: self.args.force,
        };
        let change = if self.args.remove { target.plan_removal() } else { target.plan_install() }?;
        Ok((stored, change))
    }

    /// Writes a change. The record is saved first: a record without the change does no harm.
    fn write_change(
        &mut self,
        file: &Path,
        stored: &ConfigFile,
        change: &FileChange,
    ) -> anyhow::Result<Result<(), String>> {
        let before = self.record.clone();
        let folders = self.record.find_written(file).and_then(|it| it.made_file.clone());
        self.record.set_entry(file, change.written.clone());
        let is_same = stored.text() == Ok(change.text.as_deref());
        if is_same {
            if self.record != before {
                self.record.save(&self.home)?;
            }
            return Ok(Ok(()));
        }
        if !self.args.remove {
            self.record.save(&self.home)?;
        }
        let done = stored.write(change.text.as_deref(), &folders.unwrap_or_default());
        if done.is_err() {
            self.record.written = before.written;
        }
        if done.is_err() || self.args.remove {
            self.record.save(&self.home)?;
        }
        Ok(done)
    }

    fn set_up_studio(&mut self) -> anyhow::Result<()> {
        let done = if self.args.remove { self.remove_plugin()? } else { self.install_plugin()? };
        let Some((outcome, file)) = done else {
            return Ok(());
        };
        if self.args.json {
            let file = file.map(|file| file.display().to_string());
            print_line(&json!({ "plugin": file, "outcome": outcome }).to_string());
            return Ok(());
        }
        let verb = if self.args.dry_run { "would be" } else { "is" };
        let line = match file.map(|file| file.display().to_string()) {
            Some(file) if self.args.remove => format!("the plugin at {file} {verb} removed"),
            Some(file) => format!("the plugin {verb} installed at {file}"),
            None => "not found on this machine (`vector plugin install --folder DIR` installs the \
                 plugin in a folder of your choice)"
                .to_owned(),
        };
        print_line(&format!("Studio: {line}"));
        Ok(())
    }

    fn install_plugin(&mut self) -> anyhow::Result<Option<(&'static str, Option<PathBuf>)>> {
        let Some(file) = plugin::find_plugin_file()? else {
            return Ok(Some(("not_found", None)));
        };
        let is_new = !file.exists();
        if !self.args.dry_run {
            let folder = file.parent().unwrap_or(&file);
            let folders = make_folders(folder, false)
                .with_context(|| format!("{} cannot be created", folder.display()))?;
            plugin::write_plugin(&file)?;
            if is_new {
                self.record.plugin = Some(WrittenPlugin { file: file.clone(), folders });
                self.record.save(&self.home)?;
            }
        }
        Ok(Some((if is_new { "added" } else { "updated" }, Some(file))))
    }

    /// Removes the plugin, if setup installed it.
    fn remove_plugin(&mut self) -> anyhow::Result<Option<(&'static str, Option<PathBuf>)>> {
        let Some(plugin) = self.record.plugin.clone() else {
            return Ok(None);
        };
        if !self.args.dry_run {
            plugin.remove()?;
            self.record.plugin = None;
            self.record.save(&self.home)?;
        }
        Ok(Some(("removed", Some(plugin.file))))
    }
}
