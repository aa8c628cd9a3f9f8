//! Checks of the keys of Roblox's cloud: whether each is accepted, and has the scopes that it needs.

use vector_cloud::{CloudFailureKind, KeyPurpose};
use vector_providers::keys::{KeyStore, SystemKeychain};

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::tasks::cloud::try_key;

pub(super) fn check_cloud(_: &CheckSite) -> Vec<DoctorFinding> {
    KeyPurpose::ALL.into_iter().map(check_purpose).collect()
}

fn check_purpose(purpose: KeyPurpose) -> DoctorFinding {
    let env = |name: &str| std::env::var(name).ok();
    let keys = KeyStore::new(&env, &SystemKeychain);
    let (name, variable) = (purpose.name(), purpose.variable());
    let (scopes, task) = (purpose.scopes().join(", "), purpose.describe());
    let set_again = format!("vector key set {name}, or set {variable}");
    let Ok((key, found)) = keys.find_key(name, variable) else {
        let fix = format!("{set_again}: a key of Open Cloud with the scope {scopes}");
        return DoctorFinding::note(name, format!("no key to {task}")).with_fix(fix);
    };
    match try_key(purpose, &key) {
        Ok(()) => DoctorFinding::ok(name, format!("the key in {found} can {task}")),
        Err(failure) => match failure.kind {
            CloudFailureKind::Unauthorized => {
                let message = format!("the key in {found} is wrong or revoked");
                DoctorFinding::problem(name, message).with_fix(set_again)
            }
            CloudFailureKind::Forbidden => {
                let message = format!("the key in {found} lacks the scope {scopes}");
                let fix = "add the scope at https://create.roblox.com/dashboard/credentials";
                DoctorFinding::problem(name, message).with_fix(fix)
            }
            CloudFailureKind::Conflict
            | CloudFailureKind::Invalid
            | CloudFailureKind::NotFound
            | CloudFailureKind::TooMany { .. }
            | CloudFailureKind::Server
            | CloudFailureKind::Unreachable
            | CloudFailureKind::Unreadable => {
                let why = &failure.message;
                DoctorFinding::note(name, format!("the key in {found} was not checked: {why}"))
            }
        },
    }
}
