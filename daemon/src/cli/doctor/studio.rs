//! Checks of the plugin in Studio's folder, and of whether a plugin was paired.
//!
//! They only read files, and do not connect to Studio.

use std::fs;
use std::path::Path;

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::cli::plugin::{PLUGIN_FILE, plugin_folder};
use crate::cli::sessions::read_grants;
use crate::cli::style::count_noun;
use crate::plugin;

pub(super) fn check_studio(site: &CheckSite) -> Vec<DoctorFinding> {
    vec![check_plugin(), check_pairing(&site.home)]
}

fn check_plugin() -> DoctorFinding {
    let Ok(folder) = plugin_folder(None) else {
        let message = "Studio's plugin folder was not found (under Wine it is \
                       drive_c/users/NAME/AppData/Local/Roblox/Plugins in the prefix)";
        return DoctorFinding::note("plugin", message)
            .with_fix("vector plugin install --folder DIR");
    };
    let file = folder.join(PLUGIN_FILE);
    let shown = file.display();
    match (fs::read(&file), plugin::build_plugin()) {
        (Err(error), _) if error.kind() == std::io::ErrorKind::NotFound => {
            DoctorFinding::note("plugin", format!("not installed at {shown}"))
                .with_fix("vector plugin install")
        }
        (Err(error), _) => {
            DoctorFinding::problem("plugin", format!("{shown} cannot be read: {error}"))
        }
        (_, Err(error)) => DoctorFinding::problem("plugin", format!("it cannot be built: {error}")),
        (Ok(there), Ok(ours)) if there == ours => {
            DoctorFinding::ok("plugin", format!("this version, at {shown}"))
        }
        (Ok(_), Ok(_)) => {
            DoctorFinding::problem("plugin", format!("{shown} is a different version"))
                .with_fix("vector plugin install, and restart Studio")
        }
    }
}

fn check_pairing(home: &Path) -> DoctorFinding {
    match read_grants(home) {
        Ok(grants) => {
            let access = grants.to_access();
            let (plugins, clients) = (access.plugins.len(), access.clients.len());
            let clients = match clients {
                0 => String::new(),
                n => format!("; {} with a token", count_noun(n, "client")),
            };
            if plugins == 0 {
                return DoctorFinding::note("pairing", format!("no plugin is paired{clients}"))
                    .with_fix("vector pair");
            }
            DoctorFinding::ok("pairing", format!("{}{clients}", count_noun(plugins, "plugin")))
        }
        Err(error) => DoctorFinding::problem("pairing", format!("{error:#}"))
            .with_fix("make the file readable, or remove it and pair again"),
    }
}
