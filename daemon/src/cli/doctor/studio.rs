//! The plugin in Studio's folder, and whether any was paired.

use std::fs;
use std::path::Path;

use super::Site;
use super::finding::Finding;
use crate::cli::plugin::{FILE, studio};
use crate::cli::sessions::read;
use crate::cli::style::count;
use crate::plugin;

pub(super) fn check(site: &Site) -> Vec<Finding> {
    vec![installed(), paired(&site.home)]
}

fn installed() -> Finding {
    let Ok(folder) = studio(None) else {
        let says = "Studio's folder of plugins was not found (under Wine it is \
                    drive_c/users/NAME/AppData/Local/Roblox/Plugins in the prefix)";
        return Finding::note("plugin", says).mended("vector plugin install --folder DIR");
    };
    let file = folder.join(FILE);
    let shown = file.display();
    match (fs::read(&file), plugin::build()) {
        (Err(error), _) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::note("plugin", format!("not installed at {shown}"))
                .mended("vector plugin install")
        }
        (Err(error), _) => Finding::problem("plugin", format!("{shown} cannot be read: {error}")),
        (_, Err(error)) => Finding::problem("plugin", format!("it cannot be built: {error}")),
        (Ok(there), Ok(ours)) if there == ours => {
            Finding::ok("plugin", format!("this version, at {shown}"))
        }
        (Ok(_), Ok(_)) => Finding::problem("plugin", format!("{shown} is of another version"))
            .mended("vector plugin install, and start Studio anew"),
    }
}

fn paired(home: &Path) -> Finding {
    match read(home) {
        Ok(grants) => {
            let access = grants.shown();
            let (plugins, clients) = (access.plugins.len(), access.clients.len());
            let clients = match clients {
                0 => String::new(),
                n => format!("; {} with a token", count(n, "client")),
            };
            if plugins == 0 {
                return Finding::note("pairing", format!("no plugin is paired{clients}"))
                    .mended("vector pair");
            }
            Finding::ok("pairing", format!("{}{clients}", count(plugins, "plugin")))
        }
        Err(error) => Finding::problem("pairing", format!("{error:#}"))
            .mended("see that the file is yours, or remove it and pair again"),
    }
}
