//! What can be mentioned in a conversation about a place file or a project.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::{env, mem, thread};

use scene_schemas::api::{OfferedMention, SessionId};
use scene_schemas::entry::Place;
use vector_core::planning_scene::PlanningScene;
use vector_ledger::Ledger;

use super::chat_prompt::{MentionSource, SUGGESTION_TIME, WANTED_TIME};
use super::place_arg::PlaceArg;
use crate::daemon::{FileList, TypedMention};
use crate::history::{EntryFilter, HistoryIndex, HistoryQuery};
use crate::session::{Mentionable, search_instances};

/// The stack of the thread that reads a place: parsers recurse.
const STACK: usize = 64 << 20;

/// The mentions of a place that this command has open.
pub(super) struct FileMentions<'a> {
    at: PlaceArg<'a>,
    ledger: &'a Arc<Ledger>,
    index: Arc<HistoryIndex>,
    place: SessionId,
    /// What was read for this prompt, from its first `@` on.
    slot: RefCell<ReadSlot>,
}

/// What a place has to mention. It is read on another thread, because a large one takes a while.
struct PlaceMentions {
    /// None if the place cannot be read; the next task reports why.
    scene: Option<PlanningScene>,
    files: FileList,
}

#[derive(Default)]
enum ReadSlot {
    #[default]
    Unread,
    Reading(Receiver<PlaceMentions>),
    Read(Box<PlaceMentions>),
    Failed,
}

impl<'a> FileMentions<'a> {
    pub(super) fn new(at: PlaceArg<'a>, ledger: &'a Arc<Ledger>, place: &Place) -> Self {
        let (index, place) = (Arc::default(), place.session_id());
        Self { at, ledger, index, place, slot: RefCell::default() }
    }

    fn start_reading(&self) -> ReadSlot {
        let read_scene = self.at.scene_reader();
        let (ledger, index) = (Arc::clone(self.ledger), Arc::clone(&self.index));
        let work = move || {
            let files = env::current_dir().map(|it| FileList::read(&it)).unwrap_or_default();
            // The first page takes long if the ledger is long.
            let newest = HistoryQuery { before: None, limit: 1, filter: EntryFilter::default() };
            let _ = index.read_page(&ledger, &newest);
            PlaceMentions { scene: read_scene().ok(), files }
        };
        let (sender, reading) = mpsc::channel();
        let thread = thread::Builder::new().name("mentions".to_owned()).stack_size(STACK);
        let send = move || {
            // Nobody waits for it after the prompt.
            let _ = sender.send(work());
        };
        match thread.spawn(send) {
            Ok(_) => ReadSlot::Reading(reading),
            Err(_) => ReadSlot::Failed,
        }
    }
}

impl MentionSource for FileMentions<'_> {
    fn offer(&self, typed: &str, wanted: bool) -> Option<Vec<OfferedMention>> {
        let mut slot = self.slot.borrow_mut();
        if matches!(*slot, ReadSlot::Unread) {
            *slot = self.start_reading();
        }
        *slot = match mem::take(&mut *slot) {
            ReadSlot::Reading(reading) => {
                match reading.recv_timeout(if wanted { WANTED_TIME } else { SUGGESTION_TIME }) {
                    Ok(read) => ReadSlot::Read(Box::new(read)),
                    Err(RecvTimeoutError::Timeout) => ReadSlot::Reading(reading),
                    Err(RecvTimeoutError::Disconnected) => ReadSlot::Failed,
                }
            }
            other => other,
        };
        let read = match &*slot {
            ReadSlot::Read(read) => read,
            ReadSlot::Failed => return Some(Vec::new()),
            ReadSlot::Unread | ReadSlot::Reading(_) => return None,
        };
        let mention = TypedMention::new(typed);
        let instances = read.scene.as_ref().zip(mention.instance_text());
        let instances = instances.map(|(scene, text)| search_instances(scene, text));
        let found =
            Mentionable { instances: instances.unwrap_or_default(), ..Mentionable::default() };
        let place = self.place.clone();
        Some(mention.offer(found, &read.files, self.ledger, &self.index, place).unwrap_or_default())
    }

    fn end_prompt(&self) {
        self.slot.take();
    }
}
