//! The ledger's folder, and the ledger in it, which is not changed and keeps nobody waiting.

use std::path::Path;

use vector_ledger::health::{self, Health};
use vector_ledger::private::{OWN, is_open};

use super::Site;
use super::finding::{Finding, quoted};

pub(super) fn check(site: &Site) -> Vec<Finding> {
    let home = &site.home;
    if !home.exists() {
        let says = format!("{} is not there yet; the first task makes it", home.display());
        return vec![Finding::note("folder", says)];
    }
    let mut found = vec![folder(home)];
    if cfg!(unix) {
        found.push(modes(home));
    }
    found.push(ledger(home));
    found
}

fn folder(home: &Path) -> Finding {
    let shown = home.display();
    // Nothing tells for sure but a file, which goes again at once.
    match tempfile::tempfile_in(home) {
        Ok(_) => Finding::ok("folder", shown.to_string()),
        Err(error) => Finding::problem("folder", format!("{shown} cannot be written: {error}"))
            .mended("see that you may write there, or choose another with --home DIR"),
    }
}

fn modes(home: &Path) -> Finding {
    if !is_open(home) {
        return Finding::ok("modes", "the folder is for you alone");
    }
    let open: Vec<&str> = OWN.into_iter().filter(|name| is_open(&home.join(name))).collect();
    if open.is_empty() {
        let says = "others may look into the folder, but not into what Vector keeps there";
        return Finding::note("modes", says).mended(format!("chmod go= {}", quoted(home)));
    }
    let says = format!("others may read what Vector keeps in the folder: {}", open.join(", "));
    Finding::problem("modes", says).mended(format!("chmod -R go= {}", quoted(home)))
}

fn ledger(home: &Path) -> Finding {
    match health::look(home) {
        Ok(None) => Finding::note("ledger", "there is none yet; the first task makes it"),
        Ok(Some(Health { format: None, .. })) => {
            Finding::note("ledger", "it is empty; the first task makes it")
        }
        Ok(Some(Health { format: Some(format), head, size, faults })) if faults.is_empty() => {
            let says = format!("sound: {head} entries, {}, format {format}", bytes(size));
            Finding::ok("ledger", says)
        }
        Ok(Some(Health { faults, .. })) => {
            Finding::problem("ledger", format!("it is damaged: {}", faults.join("; ")))
                .mended(format!("restore {} from a backup, or move it aside", quoted(home)))
        }
        Err(error) => Finding::problem("ledger", error.to_string()),
    }
}

fn bytes(size: u64) -> String {
    if size < 1 << 20 {
        format!("{} KB", size.div_ceil(1 << 10))
    } else {
        format!("{:.1} MB", size as f64 / f64::from(1 << 20))
    }
}
