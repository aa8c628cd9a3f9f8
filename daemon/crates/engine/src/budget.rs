//! Model spending: a running total that is read from the ledger, and the caps that the user has
//! set.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Known;

use scene_schemas::api::{CappedSpending, FailureKind, Setting, SpendingScope};
use scene_schemas::entry::{Entry, Place, Record, Seq, Tokens};
use scene_schemas::review::TaskRole;
use vector_core::workflow::ModelTrouble;
use vector_ledger::{Ledger, LedgerError};
use vector_providers::config::{FILE, SpendingCaps};

#[derive(Debug, Clone, PartialEq)]
pub struct MessageUsage {
    /// The time in milliseconds since 1970.
    pub at: u64,
    pub workflow: Seq,
    /// The task whose cap it counts for: that of the lead, for its workers and scouts.
    pub task: Seq,
    /// The project that pays for it: the folder of a file or project, or the open place.
    pub project: String,
    pub model: String,
    /// None if the provider did not report it.
    pub tokens: Option<Tokens>,
    /// In US dollars; None if unknown.
    pub dollars: Option<f64>,
}

/// All model spending that was read from the ledger so far.
#[derive(Debug)]
pub struct SpendingMeter {
    last_read: Seq,
    payers: HashMap<Seq, TaskPayer>,
    messages: Vec<MessageUsage>,
}

/// Who pays for the messages of a workflow.
#[derive(Debug, Clone)]
struct TaskPayer {
    task: Seq,
    project: String,
}

impl Default for SpendingMeter {
    fn default() -> Self {
        Self { last_read: Seq(0), payers: HashMap::new(), messages: Vec::new() }
    }
}

impl SpendingMeter {
    /// Reads the replies since the last call.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn read_new_replies(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        for record in ledger.replies_after(self.last_read)? {
            self.last_read = record.seq;
            let TaskPayer { task, project } = match self.payers.entry(record.workflow) {
                Known::Occupied(known) => known.get().clone(),
                Known::Vacant(new) => {
                    let started = ledger.record_at(record.workflow)?;
                    new.insert(task_payer(record.workflow, started.as_ref())).clone()
                }
            };
            if let Entry::Replied { model, tokens, cost, .. } = record.entry {
                let (at, workflow, dollars) = (record.at, record.workflow, cost);
                let paid = MessageUsage { at, workflow, task, project, model, tokens, dollars };
                self.messages.push(paid);
            }
        }
        Ok(())
    }

    /// Returns all messages, oldest first.
    pub fn messages(&self) -> &[MessageUsage] {
        &self.messages
    }

    /// Returns what is known to be spent in a workflow alone, in US dollars.
    pub fn workflow_dollars(&self, workflow: Seq) -> f64 {
        self.sum_dollars(|it| it.workflow == workflow)
    }

    /// Sums the known costs, in US dollars, of the messages that `of` selects.
    fn sum_dollars(&self, of: impl Fn(&MessageUsage) -> bool) -> f64 {
        let known = self.messages.iter().filter(|it| of(it)).filter_map(|it| it.dollars);
        // The sum of no numbers is -0.0.
        known.sum::<f64>() + 0.0
    }

    /// Returns what was spent of the caps that are set. `now` is in milliseconds since 1970. Days are
    /// UTC days. A task that has not begun is None.
    pub fn capped_spending(
        &self,
        caps: &SpendingCaps,
        task: Option<Seq>,
        place: &Place,
        now: u64,
    ) -> Vec<CappedSpending> {
        let (today, project) = (day_number(now), project_name(place));
        let counts = |of, it: &MessageUsage| match of {
            SpendingScope::Task => Some(it.task) == task,
            SpendingScope::Project => it.project == project,
            SpendingScope::Day => day_number(it.at) == today,
        };
        let scopes = [
            (SpendingScope::Task, caps.workflow),
            (SpendingScope::Project, caps.project),
            (SpendingScope::Day, caps.day),
        ];
        let of = |(of, cap): (SpendingScope, Option<f64>)| {
            let cap = cap?;
            Some(CappedSpending { of, spent: self.sum_dollars(|it| counts(of, it)), cap })
        };
        scopes.into_iter().filter_map(of).collect()
    }
}

/// Returns the cap that forbids a request, as trouble to report; None if no cap is passed. `estimate`
/// is the estimated cost of the request, in US dollars.
pub fn find_exceeded_cap(spending: &[CappedSpending], estimate: f64) -> Option<ModelTrouble> {
    let is_passed = |it: &&CappedSpending| it.spent >= it.cap || it.spent + estimate > it.cap;
    let CappedSpending { of, spent, cap } = *spending.iter().find(is_passed)?;
    let phrase = of.as_phrase();
    let message = if spent >= cap {
        format!("${spent:.2} was spent {phrase}, and the cap is ${cap:.2}.")
    } else {
        format!(
            "The next request may cost ${estimate:.2}, ${spent:.2} was spent {phrase}, and the cap is \
             ${cap:.2}."
        )
    };
    let setting = match of {
        SpendingScope::Task => "workflow_usd",
        SpendingScope::Project => "project_usd",
        SpendingScope::Day => "day_usd",
    };
    Some(ModelTrouble {
        code: FailureKind::PaymentRequired,
        message,
        is_retryable: true,
        hint: format!(
            "Raise caps.{setting} in {FILE} and the cap in the settings (the lower one applies), or \
             choose another model, then continue."
        ),
        setting: Some(Setting::Model),
    })
}

/// Returns the number of days since 1970.
pub fn day_number(at: u64) -> u64 {
    at / 86_400_000
}

fn task_payer(workflow: Seq, started: Option<&Record>) -> TaskPayer {
    match started.map(|it| &it.entry) {
        Some(Entry::Started { place, role, .. }) => {
            TaskPayer { task: paying_task(workflow, *role), project: project_name(place) }
        }
        _ => TaskPayer { task: workflow, project: String::new() },
    }
}

/// Returns the task whose cap the messages of a workflow count for.
pub fn paying_task(workflow: Seq, role: TaskRole) -> Seq {
    role.assigned_part().map_or(workflow, |part| part.lead)
}

/// Returns the name under which a place's spending is summed: the folder of a file or project, or
/// the place that is open in Studio.
fn project_name(place: &Place) -> String {
    let folder_of = |file: &str| {
        let folder = std::path::Path::new(file).parent();
        folder.map_or(String::new(), |folder| folder.display().to_string())
    };
    match place {
        Place::File(file) => folder_of(&file.file),
        Place::Project(project) => folder_of(&project.project),
        Place::Open(open) if open.place.place_id > 0 => {
            format!("{} (place {})", open.place.name, open.place.place_id)
        }
        Place::Open(open) => format!("{} ({})", open.place.name, open.session),
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::{FilePlace, InteractionMode};
    use scene_schemas::proposal::Mode;
    use scene_schemas::review::TaskRole;
    use vector_ledger::AppendBatch;

    use super::*;

    fn place(file: &str) -> Place {
        let hash = Fingerprint::hash_bytes(b"place");
        Place::File(FilePlace { file: file.to_owned(), out: None, hash, replaces: None })
    }

    /// Begins a workflow in a place and records a paid model reply in it.
    fn pay(ledger: &Ledger, file: &str, dollars: f64) -> Seq {
        let started = Entry::Started {
            place: place(file),
            goal: "a goal".to_owned(),
            driver: "maker/model".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            interaction: InteractionMode::Act,
            follows: None,
            guards: None,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        };
        let model = "maker/model".to_owned();
        let paid = Entry::Replied { model, tokens: None, cost: Some(dollars), replay: None };
        let batch = AppendBatch { workflow: None, entries: vec![started, paid], blobs: Vec::new() };
        ledger.append(batch).unwrap()[0].seq
    }

    #[test]
    fn spending_caps_apply_per_task_project_and_day() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let first = pay(&ledger, "/game/a.rbxl", 1.0);
        pay(&ledger, "/game/b.rbxl", 2.0);
        pay(&ledger, "/other/c.rbxl", 4.0);
        let mut spent = SpendingMeter::default();
        spent.read_new_replies(&ledger).unwrap();
        spent.read_new_replies(&ledger).unwrap();
        assert_eq!(spent.messages().len(), 3, "each is read once");
        let now = spent.messages()[0].at;
        let over_with = |caps: SpendingCaps, now: u64, estimate: f64| {
            let of = spent.capped_spending(&caps, Some(first), &place("/game/a.rbxl"), now);
            find_exceeded_cap(&of, estimate).map(|trouble| trouble.message)
        };
        let over = |caps: SpendingCaps, now: u64| over_with(caps, now, 0.0);
        let task = |cap| SpendingCaps { workflow: Some(cap), ..SpendingCaps::default() };
        let project = |cap| SpendingCaps { project: Some(cap), ..SpendingCaps::default() };
        let today = |cap| SpendingCaps { day: Some(cap), ..SpendingCaps::default() };
        assert_eq!(over(task(1.01), now), None);
        assert_eq!(
            over(task(1.0), now).unwrap(),
            "$1.00 was spent in this task, and the cap is $1.00."
        );
        assert_eq!(over_with(task(1.5), now, 0.5), None);
        assert_eq!(
            over_with(task(1.5), now, 0.51).unwrap(),
            "The next request may cost $0.51, $1.00 was spent in this task, and the cap is $1.50."
        );
        assert_eq!(over(project(3.01), now), None);
        assert!(over(project(3.0), now).unwrap().contains("on this project"));
        assert_eq!(over(today(7.01), now), None);
        assert!(over(today(7.0), now).unwrap().contains("$7.00 was spent today"));
        assert_eq!(over(today(7.0), now + 2 * 86_400_000), None, "another day");
    }
}
