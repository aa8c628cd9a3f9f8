//! Which proposal of a call was made from which, what stands for one by now, and why nothing does.

use std::iter;

use scene_schemas::entry::Seq;

use super::{CallStatus, PendingStatus, Workflow};
use crate::prompt::UNMERGED;

impl Workflow {
    /// Whether a person's choice or edit stands for a rejected proposal.
    pub fn is_revised(&self, proposal: Seq) -> bool {
        self.proposals.values().any(|it| it.proposal.from == Some(proposal))
    }

    /// The newest proposal that a call became.
    pub fn proposed_for(&self, call: Seq) -> Option<Seq> {
        self.proposals.iter().rev().find(|(_, it)| it.call == call).map(|(seq, _)| *seq)
    }

    /// The proposal of the same call that a person has made one from, by choices or edits, one after the
    /// other. What takes something back is made from another call's.
    pub fn revision_source(&self, proposal: Seq) -> Option<Seq> {
        let before = |it: &Seq| {
            let pending = self.proposals.get(it)?;
            let whole = pending.proposal.from.filter(|whole| whole < it)?;
            self.proposals.get(&whole).filter(|it| it.call == pending.call).map(|_| whole)
        };
        iter::successors(before(&proposal), before).last()
    }

    /// Why a proposal stands as it does, where that was said; and why it is not there again, where its
    /// call was to be planned again and was refused.
    pub fn status_reason(&self, proposal: Seq) -> Option<String> {
        let pending = self.proposals.get(&proposal)?;
        let reason = pending.status.reason()?;
        let is_newest = self.proposed_for(pending.call) == Some(proposal);
        let call = self.calls.get(&pending.call).filter(|_| is_newest);
        match (&pending.status, call.map(|call| &call.status)) {
            (PendingStatus::Withdrawn(_), Some(CallStatus::Refused(why))) => {
                // What follows is for a model.
                let why = why.split(UNMERGED).next().unwrap_or_default();
                Some(format!("{reason} {}", why.trim_end()))
            }
            _ => Some(reason.to_owned()),
        }
    }

    /// The proposal that stands for another now: a part of it, a changed form, or the same planned again.
    pub fn successor_of(&self, proposal: Seq) -> Option<Seq> {
        let call = self.proposals.get(&proposal)?.call;
        self.proposed_for(call).filter(|newest| *newest != proposal)
    }

    /// Whether a withdrawn proposal's call was planned again.
    pub fn is_replanned(&self, proposal: Seq) -> bool {
        let Some(pending) = self.proposals.get(&proposal) else {
            return false;
        };
        let status = self.calls.get(&pending.call).map(|call| &call.status);
        !matches!(status, Some(CallStatus::Proposed(now, _)) if *now == proposal)
    }
}
