//! Supersession of proposals: which proposal was derived from which, which one replaces another,
//! and why none does.

use std::iter;

use scene_schemas::entry::Seq;

use super::{CallStatus, PendingStatus, Workflow};
use crate::prompt::UNMERGED;

impl Workflow {
    /// Whether a user's selection or edit replaces a rejected proposal.
    pub fn is_revised(&self, proposal: Seq) -> bool {
        self.proposals.values().any(|it| it.proposal.from == Some(proposal))
    }

    /// Returns the newest proposal of a call.
    pub fn proposed_for(&self, call: Seq) -> Option<Seq> {
        self.proposals.iter().rev().find(|(_, it)| it.call == call).map(|(seq, _)| *seq)
    }

    /// Returns the original proposal from which the user derived one by selections or edits,
    /// possibly in several steps. It belongs to the same call; an inverse is derived from another
    /// call's proposal.
    pub fn revision_source(&self, proposal: Seq) -> Option<Seq> {
        let before = |it: &Seq| {
            let pending = self.proposals.get(it)?;
            let whole = pending.proposal.from.filter(|whole| whole < it)?;
            self.proposals.get(&whole).filter(|it| it.call == pending.call).map(|_| whole)
        };
        iter::successors(before(&proposal), before).last()
    }

    /// Returns the reason for a proposal's status. If its call was to be replanned and was refused,
    /// adds the reason for that.
    pub fn status_reason(&self, proposal: Seq) -> Option<String> {
        let pending = self.proposals.get(&proposal)?;
        let reason = pending.status.reason()?;
        let is_newest = self.proposed_for(pending.call) == Some(proposal);
        let call = self.calls.get(&pending.call).filter(|_| is_newest);
        match (&pending.status, call.map(|call| &call.status)) {
            (PendingStatus::Withdrawn(_), Some(CallStatus::Refused(why))) => {
                // The rest of the text is meant for a model.
                let why = why.split(UNMERGED).next().unwrap_or_default();
                Some(format!("{reason} The new plan was refused: {}", why.trim_end()))
            }
            _ => Some(reason.to_owned()),
        }
    }

    /// Returns the proposal that replaces another: a part, an edited form, or the replanned one.
    pub fn successor_of(&self, proposal: Seq) -> Option<Seq> {
        let call = self.proposals.get(&proposal)?.call;
        self.proposed_for(call).filter(|newest| *newest != proposal)
    }

    /// Whether the call of a withdrawn proposal has been planned again.
    pub fn is_replanned(&self, proposal: Seq) -> bool {
        let Some(pending) = self.proposals.get(&proposal) else {
            return false;
        };
        let status = self.calls.get(&pending.call).map(|call| &call.status);
        !matches!(status, Some(CallStatus::Proposed(now, _)) if *now == proposal)
    }
}
