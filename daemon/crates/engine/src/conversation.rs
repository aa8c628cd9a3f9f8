//! Finds the conversation that a request continues.
//!
//! A conversation is a chain of tasks of one place. It is over when it was cleared, or after a long
//! silence.

use scene_schemas::entry::{Entry, Finish, InteractionMode, Place, Record, Seq};
use vector_core::prompt::is_build_request;
use vector_ledger::{AppendBatch, Ledger, LedgerError};
use vector_providers::model_choice::OFFLINE;

/// The silence after which a conversation is over, in milliseconds.
const EXPIRY: u64 = 30 * 24 * 60 * 60 * 1000;

/// How many of the newest tasks are scanned. Each connection of an agent is one.
const MAX_TASKS_SCANNED: usize = 5_000;

/// Returns the last task of the conversation that continues in a place; None if a new one begins.
/// `now` is in milliseconds since 1970.
///
/// # Errors
/// The ledger cannot be read.
pub fn last_task(ledger: &Ledger, place: &Place, now: u64) -> Result<Option<Seq>, LedgerError> {
    for started in ledger.recent_starts(MAX_TASKS_SCANNED)? {
        let Entry::Started { place: own, guards: Some(_), role, .. } = &started.entry else {
            continue;
        };
        // What a person says next is not for a reviewer.
        if !role.is_own_task() || !is_same_place(own, place) {
            continue;
        }
        let records = ledger.workflow_records(started.workflow)?;
        let is_cleared =
            records.iter().any(|it| matches!(it.entry, Entry::Cleared {} | Entry::Erased { .. }));
        let spoken = records.last().map_or(0, |record| record.at);
        let is_over = is_cleared || now.saturating_sub(spoken) > EXPIRY;
        return Ok((!is_over).then_some(started.workflow));
    }
    Ok(None)
}

/// Returns the plan that a "build it" request to the offline planner refers to: the offline
/// planner's last task in this place, if that is a finished plan. The offline planner has no
/// conversations, so it continues nothing else.
///
/// # Errors
/// The ledger cannot be read.
pub fn find_plan(
    ledger: &Ledger,
    place: &Place,
    request: &str,
    interaction: InteractionMode,
) -> Result<Option<Seq>, LedgerError> {
    if interaction != InteractionMode::Act || !is_build_request(request) {
        return Ok(None);
    }
    let is_its = |it: &Record| match &it.entry {
        Entry::Started { place: own, driver, .. } => driver == OFFLINE && is_same_place(own, place),
        _ => false,
    };
    let Some(last) = ledger.recent_starts(MAX_TASKS_SCANNED)?.into_iter().find(is_its) else {
        return Ok(None);
    };
    let is_plan = matches!(last.entry, Entry::Started { interaction: InteractionMode::Plan, .. });
    let is_made = |it: &Record| matches!(it.entry, Entry::Finished { outcome: Finish::Done, .. });
    let is_made = is_plan && ledger.workflow_records(last.workflow)?.iter().any(is_made);
    Ok(is_made.then_some(last.workflow))
}

/// Ends the conversation of a place. Returns false if there is none.
///
/// # Errors
/// The ledger cannot be read or written.
pub fn clear_conversation(ledger: &Ledger, place: &Place, now: u64) -> Result<bool, LedgerError> {
    let Some(workflow) = last_task(ledger, place, now)? else {
        return Ok(false);
    };
    let entries = vec![Entry::Cleared {}];
    ledger.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })?;
    Ok(true)
}

/// Whether two places are the same: the same file or project, or the same published place in
/// Studio, in any window.
pub fn is_same_place(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::File(one), Place::File(other)) => output_path(one) == output_path(other),
        (Place::Project(one), Place::Project(other)) => one.project == other.project,
        (Place::Open(one), Place::Open(other)) if one.place.place_id > 0 => {
            one.place.place_id == other.place.place_id
        }
        // Studio gives every unpublished file the same name, so the session decides.
        (Place::Open(one), Place::Open(other)) => {
            one.session == other.session && one.place == other.place
        }
        _ => false,
    }
}

fn output_path(place: &scene_schemas::entry::FilePlace) -> &str {
    place.out.as_deref().unwrap_or(&place.file)
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::api::{OpenPlace, SessionId};
    use scene_schemas::entry::{FilePlace, Guards, InteractionMode, ProjectPlace, StudioPlace};
    use scene_schemas::proposal::Mode;
    use scene_schemas::review::TaskRole;

    use super::*;

    fn file(name: &str) -> Place {
        let hash = Fingerprint::hash_bytes(name.as_bytes());
        Place::File(FilePlace { file: name.to_owned(), out: None, hash, replaces: None })
    }

    fn open(session: &str, place_id: u64) -> Place {
        let place = OpenPlace { name: "Place1".to_owned(), place_id };
        Place::Open(StudioPlace { session: SessionId(session.to_owned()), place })
    }

    fn talk(ledger: &Ledger, place: Place, guards: Option<Guards>) -> (Seq, u64) {
        let started = Entry::Started {
            place,
            goal: "a goal".to_owned(),
            driver: "maker/model".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            interaction: InteractionMode::Act,
            follows: None,
            guards,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        };
        let batch = AppendBatch { workflow: None, entries: vec![started], blobs: Vec::new() };
        let records = ledger.append(batch).unwrap();
        (records[0].seq, records[0].at)
    }

    #[test]
    fn conversation_belongs_to_its_place_and_ends() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let guards = || Some(Guards { scope: 8, needs_script: true, turns: 50 });
        let (own, at) = talk(&ledger, file("a.rbxl"), guards());
        // A workflow without guards had no model, so it is not part of a conversation.
        talk(&ledger, file("a.rbxl"), None);
        let last = |place: &Place, now: u64| last_task(&ledger, place, now).unwrap();
        assert_eq!(last(&file("a.rbxl"), at), Some(own));
        assert_eq!(last(&file("b.rbxl"), at), None);
        assert_eq!(last(&file("a.rbxl"), at + EXPIRY), Some(own));
        assert_eq!(last(&file("a.rbxl"), at + EXPIRY + 1), None, "30 days later");
        let project = |project: &str, hash: &str| {
            let (project, hash) = (project.to_owned(), Fingerprint::hash_bytes(hash.as_bytes()));
            Place::Project(ProjectPlace { project, hash })
        };
        let (in_project, _) = talk(&ledger, project("a.project.json", "before"), guards());
        assert_eq!(last(&project("a.project.json", "after"), at), Some(in_project));
        assert_eq!(last(&project("b.project.json", "before"), at), None);
        let (published, _) = talk(&ledger, open("window-1", 7), guards());
        assert_eq!(last(&open("window-2", 7), at), Some(published));
        let (unpublished, _) = talk(&ledger, open("window-1", 0), guards());
        assert_eq!(last(&open("window-1", 0), at), Some(unpublished));
        assert_eq!(last(&open("window-2", 0), at), None, "another file of the same name");
        assert!(clear_conversation(&ledger, &file("a.rbxl"), at).unwrap());
        assert_eq!(last(&file("a.rbxl"), at), None);
        assert!(!clear_conversation(&ledger, &file("a.rbxl"), at).unwrap());
    }
}
