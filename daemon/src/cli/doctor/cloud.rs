//! Checks of the keys of Roblox's cloud: whether each is accepted, and has the scopes that it needs.

use vector_cloud::KeyPurpose;
use vector_providers::keys::{KeyStore, SystemKeychain};

use super::CheckSite;
use super::finding::DoctorFinding;
use crate::tasks::cloud::{KeyCheck, check_key};

pub(super) fn check_cloud(_: &CheckSite) -> Vec<DoctorFinding> {
    KeyPurpose::ALL.into_iter().map(check_purpose).collect()
}

fn check_purpose(purpose: KeyPurpose) -> DoctorFinding {
    let env = |name: &str| std::env::var(name).ok();
    let keys = KeyStore::new(&env, &SystemKeychain);
    let (name, variable) = (purpose.name(), purpose.variable());
    let task = purpose.describe();
    let set_again = format!("vector key set {name}, or set {variable}");
    let Ok((key, found)) = keys.find_key(name, variable) else {
        let fix = format!("{set_again}: {}", purpose.describe_key());
        return DoctorFinding::note(name, format!("no key to {task}")).with_fix(fix);
    };
    match check_key(purpose, &key) {
        KeyCheck::Valid => DoctorFinding::ok(name, format!("the key in {found} can {task}")),
        KeyCheck::Unusable(state) => {
            let message = format!("the key in {found} is {state}");
            DoctorFinding::problem(name, message).with_fix(set_again)
        }
        KeyCheck::MissingScopes(missing) => {
            let noun = if missing.len() == 1 { "scope" } else { "scopes" };
            let message = format!("the key in {found} lacks the {noun} {}", missing.join(", "));
            let fix = format!("add the {noun} at https://create.roblox.com/dashboard/credentials");
            DoctorFinding::problem(name, message).with_fix(fix)
        }
        KeyCheck::Unknown(why) => {
            DoctorFinding::note(name, format!("the key in {found} was not checked: {why}"))
        }
    }
}
