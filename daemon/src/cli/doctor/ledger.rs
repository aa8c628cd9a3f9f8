//! Checks of the ledger's folder and of the ledger in it, without changing the ledger or blocking
//! other processes.

use std::path::Path;

use vector_ledger::health::{self, LedgerHealth};
use vector_ledger::private_files::own_files;
use vector_system::is_open_to_others;

use super::CheckSite;
use super::finding::{DoctorFinding, shell_quote};

pub(super) fn check_ledger(site: &CheckSite) -> Vec<DoctorFinding> {
    let home = &site.home;
    if !home.exists() {
        let message = format!("{} does not exist yet; the first task creates it", home.display());
        return vec![DoctorFinding::note("folder", message)];
    }
    vec![check_folder(home), check_access(home), ledger_finding(home)]
}

fn check_folder(home: &Path) -> DoctorFinding {
    let shown = home.display();
    // The only reliable check is to create a file, which is deleted immediately.
    match tempfile::tempfile_in(home) {
        Ok(_) => DoctorFinding::ok("folder", shown.to_string()),
        Err(error) => {
            DoctorFinding::problem("folder", format!("{shown} cannot be written: {error}"))
                .with_fix("make the folder writable, or choose another with --home DIR")
        }
    }
}

fn check_access(home: &Path) -> DoctorFinding {
    if !is_open_to_others(home) {
        return DoctorFinding::ok("access", "only you can access the folder");
    }
    let is_open = |name: &&str| is_open_to_others(&home.join(name));
    let open: Vec<&str> = own_files().filter(is_open).collect();
    let folder = shell_quote(home);
    let fix = |option: &str| {
        if cfg!(windows) {
            let user = std::env::var("USERNAME").unwrap_or_default();
            format!("icacls {folder} /inheritance:r /grant:r \"{user}:(OI)(CI)F\"{option}")
        } else {
            format!("chmod{option} go= {folder}")
        }
    };
    if open.is_empty() {
        let message = "other users can list the folder, but not read Vector's files in it";
        return DoctorFinding::note("access", message).with_fix(fix(""));
    }
    let message = format!("other users can read Vector's files in the folder: {}", open.join(", "));
    DoctorFinding::problem("access", message).with_fix(fix(if cfg!(windows) {
        " /T"
    } else {
        " -R"
    }))
}

fn ledger_finding(home: &Path) -> DoctorFinding {
    match health::inspect_ledger(home) {
        Ok(None) => DoctorFinding::note("ledger", "there is none yet; the first task creates it"),
        Ok(Some(LedgerHealth { format: None, .. })) => {
            DoctorFinding::note("ledger", "it is empty; the first task fills it")
        }
        Ok(Some(LedgerHealth { format: Some(format), head, size, faults }))
            if faults.is_empty() =>
        {
            let message =
                format!("intact: {head} entries, {}, format {format}", format_bytes(size));
            DoctorFinding::ok("ledger", message)
        }
        Ok(Some(LedgerHealth { faults, .. })) => {
            DoctorFinding::problem("ledger", format!("it is damaged: {}", faults.join("; ")))
                .with_fix(format!("restore {} from a backup, or move it aside", shell_quote(home)))
        }
        Err(error) => DoctorFinding::problem("ledger", error.to_string()),
    }
}

fn format_bytes(size: u64) -> String {
    if size < 1 << 20 {
        format!("{} KB", size.div_ceil(1 << 10))
    } else {
        format!("{:.1} MB", size as f64 / f64::from(1 << 20))
    }
}
