//! Figures of models and tools: their times and failures. The meter resumes reading the ledger
//! where it stopped, and parses only the fields that it counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use scene_schemas::api::{
    CappedSpending, DurationSummary, FailureFigures, FailureKind, Figures, ModelFigures,
    ToolFigures, Usage, UsageFigures,
};
use scene_schemas::entry::{Approver, Place, Seq};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use vector_core::calendar::format_date;
use vector_engine::budget::{MessageUsage, SpendingMeter, day_number};
use vector_engine::model_request::unix_millis;
use vector_ledger::{Ledger, LedgerError, PartialRecord};
use vector_providers::config::SpendingCaps;

const READ_BATCH: usize = 1_000;

/// The figures, shared between threads. They grow with the ledger, by some hundred bytes per call.
#[derive(Debug, Default)]
pub struct UsageMeter {
    spending: Mutex<SpendingMeter>,
    work: Mutex<MeteredWork>,
}

impl UsageMeter {
    /// The total usage of all models.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn read_usage(&self, ledger: &Ledger) -> Result<Usage, LedgerError> {
        let mut spent = self.spending.lock().unwrap_or_else(PoisonError::into_inner);
        spent.read_new_replies(ledger)?;
        let mut usage = Usage { input: 0, output: 0, cost: None };
        for message in spent.messages() {
            let tokens = message.tokens.unwrap_or_default();
            usage.input += tokens.prompt;
            usage.output += tokens.generated;
            if let Some(dollars) = message.dollars {
                usage.cost = Some(usage.cost.unwrap_or(0.0) + dollars);
            }
        }
        Ok(usage)
    }

    /// What was spent of the caps that are set for a task, with its workers and scouts.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn read_spending(
        &self,
        ledger: &Ledger,
        caps: &SpendingCaps,
        task: Seq,
        place: &Place,
    ) -> Result<Vec<CappedSpending>, LedgerError> {
        let mut spent = self.spending.lock().unwrap_or_else(PoisonError::into_inner);
        spent.read_new_replies(ledger)?;
        Ok(spent.capped_spending(caps, Some(task), place, unix_millis()))
    }

    /// The figures since a day, counted from 1970.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn read_figures(&self, ledger: &Ledger, since: u64) -> Result<Figures, LedgerError> {
        let usage = {
            let mut spent = self.spending.lock().unwrap_or_else(PoisonError::into_inner);
            spent.read_new_replies(ledger)?;
            sum_usage(spent.messages(), since)
        };
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.read_new_entries(ledger)?;
        let (models, tools) = (work.model_figures(since), work.tool_figures(since));
        Ok(Figures { since: format_date(since), usage, models, tools })
    }
}

fn sum_usage(messages: &[MessageUsage], since: u64) -> Vec<UsageFigures> {
    let mut sums: BTreeMap<(u64, &str, &str), UsageFigures> = BTreeMap::new();
    for message in messages.iter().filter(|message| day_number(message.at) >= since) {
        let key = (day_number(message.at), message.model.as_str(), message.project.as_str());
        let sum = sums.entry(key).or_insert_with(|| UsageFigures {
            day: format_date(key.0),
            model: message.model.clone(),
            project: message.project.clone(),
            messages: 0,
            read: 0,
            cached: 0,
            written: 0,
            usd: 0.0,
            unpriced: 0,
        });
        let tokens = message.tokens.unwrap_or_default();
        sum.messages += 1;
        sum.read += tokens.prompt;
        sum.cached += tokens.cache_read;
        sum.written += tokens.generated;
        sum.usd += message.dollars.unwrap_or(0.0);
        sum.unpriced += u64::from(message.dollars.is_none());
    }
    sums.into_values().collect()
}

/// The calls of models and tools.
#[derive(Debug, Default)]
struct MeteredWork {
    last_read: Option<Seq>,
    model_calls: Vec<ModelCall>,
    tool_calls: Vec<ToolCall>,
    /// For each workflow: its driver, which is the model of a failure that names none, and the
    /// index of its unanswered request.
    workflows: HashMap<Seq, (String, Option<usize>)>,
    by_call: HashMap<Seq, usize>,
    by_proposal: HashMap<Seq, (usize, u64)>,
}

/// A request to a model, or one that could not be sent.
#[derive(Debug)]
struct ModelCall {
    at: u64,
    model: String,
    /// Time until the answer. None if there was no answer.
    duration: Option<u64>,
    failure: Option<FailureKind>,
}

/// A tool call and its results.
#[derive(Debug, Default)]
struct ToolCall {
    at: u64,
    tool: String,
    planning_time: Option<u64>,
    decision_time: Option<u64>,
    is_answered: bool,
    is_refused: bool,
    proposed: u32,
    applied: u32,
    rejected: u32,
    withdrawn: u32,
    failed: u32,
}

/// The counted fields of an entry.
#[derive(Debug, Deserialize)]
struct CountedEntry {
    entry: EntryKind,
    driver: Option<String>,
    model: Option<String>,
    request: Option<RequestFields>,
    code: Option<FailureKind>,
    tool: Option<String>,
    call: Option<Seq>,
    #[serde(default, deserialize_with = "deserialize_proposal")]
    proposal: Option<ProposalReference>,
    by: Option<Approver>,
}

#[derive(Debug, Deserialize)]
struct RequestFields {
    model: String,
}

/// The proposal that an entry refers to.
#[derive(Debug, Clone, Copy)]
enum ProposalReference {
    /// A proposal in another entry.
    ByPosition(Seq),
    /// A proposal in this entry, and the position of the proposal it was made from.
    Inline(Option<Seq>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EntryKind {
    Started,
    Requested,
    Replied,
    RequestFailed,
    Called,
    Questioned,
    Answered,
    Refused,
    Proposed,
    Approved,
    Rejected,
    Withdrawn,
    Applied,
    Failed,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum EntryField {
    From,
    #[serde(other)]
    Other,
}

/// Reads the position of a proposal, or of a whole proposal only its `from`.
fn deserialize_proposal<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ProposalReference>, D::Error> {
    struct ProposalVisitor;
    impl<'de> Visitor<'de> for ProposalVisitor {
        type Value = Option<ProposalReference>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a proposal, or its position")
        }

        fn visit_u64<E>(self, seq: u64) -> Result<Self::Value, E> {
            Ok(Some(ProposalReference::ByPosition(Seq(seq))))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut from = None;
            while let Some(field) = map.next_key()? {
                match field {
                    EntryField::From => from = map.next_value()?,
                    EntryField::Other => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(Some(ProposalReference::Inline(from)))
        }
    }
    deserializer.deserialize_any(ProposalVisitor)
}

impl MeteredWork {
    fn read_new_entries(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        loop {
            let after = self.last_read.unwrap_or(Seq(0));
            let new = ledger.read_as::<CountedEntry>(after, READ_BATCH)?;
            let Some(last) = new.last() else {
                return Ok(());
            };
            self.last_read = Some(last.seq);
            for part in new {
                self.count_entry(part);
            }
        }
    }

    fn count_entry(&mut self, part: PartialRecord<CountedEntry>) {
        let PartialRecord { seq, at, workflow, body } = part;
        match body.entry {
            EntryKind::Started => {
                let driver = body.driver.unwrap_or_default();
                self.workflows.insert(workflow, (driver, None));
            }
            EntryKind::Requested => {
                let model = body.request.map_or_else(String::new, |request| request.model);
                self.model_calls.push(ModelCall { at, model, duration: None, failure: None });
                if let Some((_, open)) = self.workflows.get_mut(&workflow) {
                    *open = Some(self.model_calls.len() - 1);
                }
            }
            EntryKind::Replied | EntryKind::RequestFailed => {
                self.record_answer(at, workflow, body.model, body.code);
            }
            EntryKind::Called => {
                self.by_call.insert(seq, self.tool_calls.len());
                let tool = body.tool.unwrap_or_default();
                self.tool_calls.push(ToolCall { at, tool, ..ToolCall::default() });
            }
            EntryKind::Questioned | EntryKind::Answered | EntryKind::Refused => {
                self.record_call_end(&body, seq, at);
            }
            EntryKind::Proposed => {
                let Some(index) = body.call.and_then(|call| self.by_call.get(&call)).copied()
                else {
                    return;
                };
                let call = &mut self.tool_calls[index];
                call.planning_time.get_or_insert(at.saturating_sub(call.at));
                let from = match body.proposal {
                    Some(ProposalReference::Inline(from)) => {
                        from.and_then(|from| self.by_proposal.get(&from))
                    }
                    _ => None,
                };
                // A part that the user selected replaces the whole proposal, so the whole does not
                // count as rejected.
                let whole = from.filter(|(whole, _)| *whole == index).map(|(_, at)| *at);
                if whole.is_some() {
                    call.rejected = call.rejected.saturating_sub(1);
                } else {
                    call.proposed += 1;
                }
                self.by_proposal.insert(seq, (index, whole.unwrap_or(at)));
            }
            _ => self.record_decision(&body, at),
        }
    }

    /// Records that a model answered or failed.
    fn record_answer(
        &mut self,
        at: u64,
        workflow: Seq,
        model: Option<String>,
        code: Option<FailureKind>,
    ) {
        let known = self.workflows.get_mut(&workflow);
        let (driver, open) =
            known.map_or((String::new(), None), |(driver, open)| (driver.clone(), open.take()));
        let index = open.unwrap_or_else(|| {
            // The request could not be sent.
            let model = model.unwrap_or(driver);
            self.model_calls.push(ModelCall { at, model, duration: None, failure: None });
            self.model_calls.len() - 1
        });
        let call = &mut self.model_calls[index];
        match code {
            Some(code) => call.failure = Some(code),
            None => call.duration = open.map(|_| at.saturating_sub(call.at)),
        }
    }

    /// Records that a call ended without a proposal, or led to a question.
    fn record_call_end(&mut self, body: &CountedEntry, seq: Seq, at: u64) {
        let Some(named) = body.call else {
            return;
        };
        // An entry written together with its call names it by 0. The time of such a call is not
        // known.
        let is_timed = named != Seq(0);
        let call = if is_timed { named } else { Seq(seq.0 - 1) };
        let Some(call) = self.by_call.get(&call).and_then(|index| self.tool_calls.get_mut(*index))
        else {
            return;
        };
        if is_timed {
            call.planning_time.get_or_insert(at.saturating_sub(call.at));
        }
        match body.entry {
            EntryKind::Answered => call.is_answered = true,
            EntryKind::Refused => call.is_refused = true,
            _ => {}
        }
    }

    /// Records the outcome of a proposal.
    fn record_decision(&mut self, body: &CountedEntry, at: u64) {
        let Some(ProposalReference::ByPosition(proposal)) = body.proposal else {
            return;
        };
        let Some((call, proposed)) = self.by_proposal.get(&proposal).copied() else {
            return;
        };
        let call = &mut self.tool_calls[call];
        let by_person = match body.entry {
            EntryKind::Approved => body.by == Some(Approver::Person),
            EntryKind::Rejected => {
                call.rejected += 1;
                true
            }
            EntryKind::Withdrawn => {
                call.withdrawn += 1;
                false
            }
            EntryKind::Applied => {
                call.applied += 1;
                false
            }
            EntryKind::Failed => {
                call.failed += 1;
                false
            }
            _ => false,
        };
        if by_person {
            call.decision_time = Some(at.saturating_sub(proposed));
        }
    }

    fn model_figures(&self, since: u64) -> Vec<ModelFigures> {
        let mut by_model: BTreeMap<&str, Vec<&ModelCall>> = BTreeMap::new();
        for call in self.model_calls.iter().filter(|ask| day_number(ask.at) >= since) {
            by_model.entry(&call.model).or_default().push(call);
        }
        let figures = |(model, calls): (&str, Vec<&ModelCall>)| {
            let mut failures: Vec<FailureFigures> = Vec::new();
            for code in calls.iter().filter_map(|call| call.failure) {
                match failures.iter_mut().find(|known| known.code == code) {
                    Some(known) => known.count += 1,
                    None => failures.push(FailureFigures { code, count: 1 }),
                }
            }
            failures.sort_by_key(|failure| std::cmp::Reverse(failure.count));
            ModelFigures {
                provider: model.split('/').next().unwrap_or(model).to_owned(),
                model: model.to_owned(),
                asked: calls.len() as u64,
                answered: calls.iter().filter(|call| call.duration.is_some()).count() as u64,
                failures,
                answering: summarize_times(calls.iter().filter_map(|call| call.duration)),
            }
        };
        by_model.into_iter().map(figures).collect()
    }

    fn tool_figures(&self, since: u64) -> Vec<ToolFigures> {
        let mut by_tool: BTreeMap<&str, Vec<&ToolCall>> = BTreeMap::new();
        for call in self.tool_calls.iter().filter(|call| day_number(call.at) >= since) {
            by_tool.entry(&call.tool).or_default().push(call);
        }
        let figures = |(tool, calls): (&str, Vec<&ToolCall>)| {
            let sum = |of: fn(&ToolCall) -> u32| calls.iter().map(|call| u64::from(of(call))).sum();
            ToolFigures {
                tool: tool.to_owned(),
                calls: calls.len() as u64,
                answered: sum(|call| call.is_answered.into()),
                refused: sum(|call| call.is_refused.into()),
                proposed: sum(|call| call.proposed),
                applied: sum(|call| call.applied),
                rejected: sum(|call| call.rejected),
                withdrawn: sum(|call| call.withdrawn),
                failed: sum(|call| call.failed),
                planning: summarize_times(calls.iter().filter_map(|call| call.planning_time)),
                deciding: summarize_times(calls.iter().filter_map(|call| call.decision_time)),
            }
        };
        by_tool.into_iter().map(figures).collect()
    }
}

/// Summarizes times. None if there are none.
fn summarize_times(all: impl Iterator<Item = u64>) -> Option<DurationSummary> {
    let mut all: Vec<u64> = all.collect();
    all.sort_unstable();
    // The smallest time that at least `percent` % of all times do not exceed.
    let at = |percent: usize| all.get((all.len() * percent).div_ceil(100).max(1) - 1).copied();
    Some(DurationSummary { count: all.len() as u64, median: at(50)?, p95: at(95)? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    /// Counts entries of workflow 1, each given by its position, time and body.
    fn counted(entries: &[(u64, u64, Json)]) -> MeteredWork {
        let mut work = MeteredWork::default();
        for (seq, at, entry) in entries {
            let body = serde_json::from_value(entry.clone()).unwrap();
            work.count_entry(PartialRecord { seq: Seq(*seq), at: *at, workflow: Seq(1), body });
        }
        work
    }

    fn begun(more: &[(u64, u64, Json)]) -> MeteredWork {
        let started = json!({ "entry": "started", "driver": "maker/usual", "place": {} });
        let mut all = vec![(1, 0, started)];
        all.extend_from_slice(more);
        counted(&all)
    }

    fn requested() -> Json {
        json!({ "entry": "requested", "request": { "model": "maker/model", "turns": 3 } })
    }

    #[test]
    fn models_are_timed_from_request_to_answer() {
        let unanswered = |code: &str| json!({ "entry": "request_failed", "code": code });
        let replied = json!({ "entry": "replied", "model": "maker/model" });
        let work = begun(&[
            (2, 100, requested()),
            (3, 350, replied.clone()),
            (4, 400, requested()),
            (5, 500, unanswered("provider")),
            (6, 600, requested()),
            (7, 1_600, replied),
            // A spending cap: no request was sent.
            (8, 1_700, unanswered("payment_required")),
        ]);
        let models = work.model_figures(0);
        assert_eq!(models.len(), 2);
        assert_eq!(
            (models[0].provider.as_str(), models[0].model.as_str()),
            ("maker", "maker/model")
        );
        assert_eq!((models[0].asked, models[0].answered), (3, 2));
        assert_eq!(
            models[0].answering,
            Some(DurationSummary { count: 2, median: 250, p95: 1_000 })
        );
        let failed = |code| vec![FailureFigures { code, count: 1 }];
        assert_eq!(models[0].failures, failed(FailureKind::Provider));
        assert_eq!((models[1].model.as_str(), models[1].answering), ("maker/usual", None));
        assert_eq!(models[1].failures, failed(FailureKind::PaymentRequired));
        assert!(work.model_figures(1).is_empty(), "another day");
    }

    #[test]
    fn tools_are_timed_if_their_call_time_is_known() {
        let called = |tool: &str| json!({ "entry": "called", "tool": tool, "args": {} });
        let proposed =
            |call: u64| json!({ "entry": "proposed", "call": call, "proposal": { "title": "x" } });
        let work = begun(&[
            (2, 10, called("read_script")),
            (3, 10, json!({ "entry": "answered", "call": 0, "answer": {} })),
            (4, 20, called("read_script")),
            (5, 50, json!({ "entry": "refused", "call": 4, "reason": "no" })),
            (6, 60, called("move_instance")),
            (7, 100, proposed(6)),
            (
                8,
                200,
                json!({ "entry": "withdrawn", "proposal": 7, "reason": "moved", "replanned": true }),
            ),
            (9, 250, proposed(6)),
            (10, 1_250, json!({ "entry": "approved", "proposal": 9, "by": "person" })),
            (11, 1_260, json!({ "entry": "applied", "proposal": 9, "ack": {} })),
            (12, 2_000, called("move_instance")),
            (13, 2_030, proposed(12)),
            (14, 2_030, json!({ "entry": "approved", "proposal": 13, "by": "mode" })),
            (15, 2_040, json!({ "entry": "failed", "proposal": 13, "reason": "full" })),
        ]);
        let tools = work.tool_figures(0);
        let [moves, reads] = &tools[..] else { panic!("{tools:?}") };
        assert_eq!((reads.tool.as_str(), reads.calls), ("read_script", 2));
        assert_eq!((reads.answered, reads.refused), (1, 1));
        assert_eq!(reads.planning, Some(DurationSummary { count: 1, median: 30, p95: 30 }));
        assert_eq!((moves.calls, moves.proposed, moves.applied), (2, 3, 1));
        assert_eq!((moves.withdrawn, moves.failed, moves.rejected), (1, 1, 0));
        assert_eq!(moves.planning, Some(DurationSummary { count: 2, median: 30, p95: 40 }));
        let by_person = Some(DurationSummary { count: 1, median: 1_000, p95: 1_000 });
        assert_eq!(moves.deciding, by_person, "a mode does not think");
    }

    #[test]
    fn choosing_part_of_a_proposal_is_no_rejection() {
        let called = json!({ "entry": "called", "tool": "replace_text", "args": {} });
        let proposed = |from: Json| {
            let proposal = json!({ "title": "x", "commands": [{ "from": 9 }], "from": from });
            json!({ "entry": "proposed", "call": 2, "proposal": proposal })
        };
        let rejected = |proposal: u64| json!({ "entry": "rejected", "proposal": proposal });
        let chosen = [
            (2, 0, called),
            (3, 10, proposed(Json::Null)),
            (4, 500, rejected(3)),
            (5, 500, proposed(json!(3))),
        ];
        let mut all = chosen.to_vec();
        all.push((6, 1_010, json!({ "entry": "approved", "proposal": 5, "by": "person" })));
        let tools = begun(&all).tool_figures(0);
        assert_eq!((tools[0].proposed, tools[0].rejected), (1, 0));
        let whole = Some(DurationSummary { count: 1, median: 1_000, p95: 1_000 });
        assert_eq!(tools[0].deciding, whole, "since the whole was there");
        let mut all = chosen.to_vec();
        all.push((6, 600, rejected(5)));
        assert_eq!(begun(&all).tool_figures(0)[0].rejected, 1);
    }

    #[test]
    fn summary_has_median_and_95th_percentile() {
        assert_eq!(summarize_times([].into_iter()), None);
        let all = summarize_times((1..=100).rev()).unwrap();
        assert_eq!((all.median, all.p95), (50, 95));
        let few = summarize_times([7, 9].into_iter()).unwrap();
        assert_eq!((few.median, few.p95), (7, 9));
    }
}
