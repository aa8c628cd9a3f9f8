//! Looking back. What takes long to read is read on a thread of its own: the house answers others
//! meanwhile.

use std::sync::Arc;
use std::thread;

use scene_schemas::api::HistoryEntry;

use super::House;
use super::views::{broken, missing};
use crate::server::Past;

impl House {
    pub(super) fn look_back(&mut self, past: Past) {
        let (ledger, seen) = (Arc::clone(&self.ledger), Arc::clone(&self.seen));
        let board = Arc::clone(&self.board);
        // A session that is not open any more is nobody's to ask.
        let if_open = move |entry: &mut HistoryEntry| {
            entry.session.take_if(|session| board.seat(session).is_none());
        };
        match past {
            Past::History(wanted, reply) => drop(thread::spawn(move || {
                let mut page = seen.page(&ledger, &wanted).map_err(|error| broken(&error));
                page.iter_mut().flat_map(|page| &mut page.entries).for_each(if_open);
                let _ = reply.send(page);
            })),
            Past::Entry(seq, reply) => drop(thread::spawn(move || {
                let entry = seen.entry(&ledger, seq).map_err(|error| broken(&error));
                let mut entry = entry.and_then(|found| found.ok_or_else(|| missing(seq)));
                entry.iter_mut().for_each(|entry| if_open(&mut entry.line));
                let _ = reply.send(entry);
            })),
        }
    }
}
