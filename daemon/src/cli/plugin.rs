//! `vector plugin`: installs and uninstalls the Studio plugin, or writes it to a file.
//!
//! It knows where Studio looks for plugins. `crate::plugin` builds the file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use super::ExitStatus;
use super::setup::{SetupRecord, WrittenPlugin, make_folders};
use super::terminal::print_line;
use crate::plugin;

/// The plugin's file name in Studio's folder.
pub(super) const PLUGIN_FILE: &str = "Vector.rbxm";

#[derive(Debug, Args)]
pub(super) struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Install the plugin in Studio's plugin folder
    Install {
        /// Studio's plugin folder, if it is not found automatically
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Remove the plugin from Studio's plugin folder
    Uninstall {
        /// Studio's plugin folder, if it is not found automatically
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Write the plugin to a file
    Build {
        /// The file to write
        #[arg(long, short, value_name = "FILE", default_value = PLUGIN_FILE)]
        out: PathBuf,
    },
}

pub(super) fn run(
    args: &PluginArgs,
    home: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<ExitStatus> {
    match &args.command {
        PluginCommand::Build { out } => {
            write_plugin(out)?;
            print_line(&format!("Wrote {}", out.display()));
        }
        PluginCommand::Install { folder } => {
            let (home, folder) = (home()?, plugin_folder(folder.as_deref())?);
            let mut record = SetupRecord::load(&home)?;
            let folders = make_folders(&folder, false)
                .with_context(|| format!("{} cannot be created", folder.display()))?;
            let file = folder.join(PLUGIN_FILE);
            write_plugin(&file)?;
            record.add_plugin(WrittenPlugin { file: std::path::absolute(&file)?, folders });
            record.save(&home)?;
            print_line(&format!("Installed the plugin at {}.", file.display()));
            print_line(
                "Restart Studio to load it. Then run `vector serve`, and type the code in the \
                 widget.",
            );
        }
        PluginCommand::Uninstall { folder } => {
            let (home, file) = (home()?, plugin_folder(folder.as_deref())?.join(PLUGIN_FILE));
            let mut record = SetupRecord::load(&home)?;
            let file = std::path::absolute(file)?;
            let is_there = file.exists();
            let known = record.take_plugin(&file);
            known.unwrap_or(WrittenPlugin { file: file.clone(), folders: vec![] }).remove()?;
            record.save(&home)?;
            let file = file.display();
            print_line(&if is_there {
                format!("Removed {file}.")
            } else {
                format!("{file} does not exist.")
            });
        }
    }
    Ok(ExitStatus::Done)
}

/// Writes the plugin atomically, so that Studio never loads a partial one.
pub(super) fn write_plugin(file: &Path) -> anyhow::Result<()> {
    let bytes = plugin::build_plugin().context("the plugin cannot be built")?;
    vector_files::write_file(file, &bytes)
        .with_context(|| format!("{} cannot be written", file.display()))
}

/// The path for the plugin. None if Studio was not found on this machine.
pub(super) fn find_plugin_file() -> anyhow::Result<Option<PathBuf>> {
    let has_studio = |folder: &PathBuf| folder.parent().is_some_and(Path::is_dir) || has_mac_app();
    Ok(default_folder()?.filter(has_studio).map(|folder| folder.join(PLUGIN_FILE)))
}

/// Whether Studio is among the applications of macOS, of all users or of this one.
fn has_mac_app() -> bool {
    const APP: &str = "Applications/RobloxStudio.app";

    let own = directories::BaseDirs::new().map(|folders| folders.home_dir().join(APP));
    cfg!(target_os = "macos")
        && (Path::new("/").join(APP).is_dir() || own.is_some_and(|app| app.is_dir()))
}

/// The given folder, or Studio's plugin folder on this machine.
pub(super) fn plugin_folder(requested: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(folder) = requested {
        return Ok(folder.to_owned());
    }
    match default_folder()? {
        Some(folder) => Ok(folder),
        None => bail!(
            "Studio's plugin folder was not found; give it with --folder DIR (under Wine it is \
             drive_c/users/NAME/AppData/Local/Roblox/Plugins in the prefix)"
        ),
    }
}

/// Studio's plugin folder. None if Studio runs in Wine and was not found.
fn default_folder() -> anyhow::Result<Option<PathBuf>> {
    let home = directories::BaseDirs::new().context("there is no home directory")?;
    Ok(if cfg!(windows) {
        Some(home.data_local_dir().join("Roblox").join("Plugins"))
    } else if cfg!(target_os = "macos") {
        Some(home.home_dir().join("Documents").join("Roblox").join("Plugins"))
    } else {
        wine_folder(home.home_dir(), home.data_dir())
    })
}

/// The plugin folder in a Wine prefix that contains Roblox: the prefix in `WINEPREFIX`, one of
/// Vinegar's or Grapejuice's, or the default one.
fn wine_folder(home: &Path, data: &Path) -> Option<PathBuf> {
    let set = env::var_os("WINEPREFIX").map(PathBuf::from);
    let managed = [
        home.join(".var/app/org.vinegarhq.Vinegar/data/vinegar/prefixes"),
        data.join("vinegar/prefixes"),
        home.join(".var/app/net.brinkervii.grapejuice/data/grapejuice/prefixes"),
        data.join("grapejuice/prefixes"),
    ];
    let prefixes = set.into_iter().chain(managed.iter().flat_map(|folder| list_prefixes(folder)));
    prefixes.chain([home.join(".wine")]).find_map(|prefix| roblox_folder(&prefix))
}

/// The prefixes in a folder. The one called `studio` is first: others may have only the player.
fn list_prefixes(folder: &Path) -> Vec<PathBuf> {
    let mut prefixes = list_folder(folder);
    prefixes.sort_by_key(|prefix| (!prefix.ends_with("studio"), prefix.clone()));
    prefixes
}

/// The plugin folder of a user in a prefix who has Roblox.
fn roblox_folder(prefix: &Path) -> Option<PathBuf> {
    list_folder(&prefix.join("drive_c").join("users")).into_iter().find_map(|user| {
        let roblox = user.join("AppData").join("Local").join("Roblox");
        roblox.is_dir().then(|| roblox.join("Plugins"))
    })
}

fn list_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studio_is_found_in_the_prefixes_of_vinegar_and_grapejuice() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        let mut expected = None;
        // From the least to the most preferred.
        for prefix in [
            home.path().join(".wine"),
            data.join("grapejuice/prefixes/player"),
            data.join("grapejuice/prefixes/studio"),
            data.join("vinegar/prefixes/studio"),
            home.path().join(".var/app/org.vinegarhq.Vinegar/data/vinegar/prefixes/studio"),
        ] {
            assert_eq!(wine_folder(home.path(), &data), expected);
            let roblox = prefix.join("drive_c/users/me/AppData/Local/Roblox");
            fs::create_dir_all(&roblox).unwrap();
            expected = Some(roblox.join("Plugins"));
        }
        assert_eq!(wine_folder(home.path(), &data), expected);
    }
}
