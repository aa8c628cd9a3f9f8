//! What can be mentioned in a conversation about a place file or a project.

use std::cell::RefCell;
use std::env;
use std::mem;
use std::thread::JoinHandle;

use scene_schemas::api::{OfferedMention, SessionId};
use scene_schemas::entry::Place;
use vector_core::planning_scene::PlanningScene;
use vector_ledger::Ledger;

use super::chat_prompt::MentionSource;
use super::place_arg::PlaceArg;
use crate::daemon::TypedMention;
use crate::history::HistoryIndex;
use crate::session::{Mentionable, search_instances};

/// The mentions of a place that this command has open.
pub(super) struct FileMentions<'a> {
    at: PlaceArg<'a>,
    ledger: &'a Ledger,
    index: HistoryIndex,
    place: SessionId,
    /// The place, from the first `@` of a prompt on.
    scene: RefCell<SceneSlot>,
}

/// A place that is read on another thread, because a large one takes a while.
#[derive(Default)]
enum SceneSlot {
    #[default]
    Unread,
    Reading(JoinHandle<anyhow::Result<PlanningScene>>),
    Read(Box<PlanningScene>),
    /// It cannot be read; the next task reports why.
    Missing,
}

impl<'a> FileMentions<'a> {
    pub(super) fn new(at: PlaceArg<'a>, ledger: &'a Ledger, place: &Place) -> Self {
        let (index, place) = (HistoryIndex::default(), place.session_id());
        Self { at, ledger, index, place, scene: RefCell::default() }
    }

    /// Forgets the place, which a task may have changed.
    pub(super) fn forget_place(&self) {
        self.scene.take();
    }

    /// Runs `work` with the place, if it has been read. If it is `wanted`, waits until it is.
    fn with_scene<T: Default>(&self, wanted: bool, work: impl FnOnce(&PlanningScene) -> T) -> T {
        let mut slot = self.scene.borrow_mut();
        *slot = match mem::take(&mut *slot) {
            SceneSlot::Unread => match self.at.read_in_background() {
                Ok(reading) => SceneSlot::Reading(reading),
                Err(_) => SceneSlot::Missing,
            },
            other => other,
        };
        *slot = match mem::take(&mut *slot) {
            SceneSlot::Reading(reading) if wanted || reading.is_finished() => {
                match reading.join() {
                    Ok(Ok(scene)) => SceneSlot::Read(Box::new(scene)),
                    Ok(Err(_)) | Err(_) => SceneSlot::Missing,
                }
            }
            other => other,
        };
        match &*slot {
            SceneSlot::Read(scene) => work(scene),
            SceneSlot::Unread | SceneSlot::Reading(_) | SceneSlot::Missing => T::default(),
        }
    }
}

impl MentionSource for FileMentions<'_> {
    fn offer(&self, typed: &str, is_wanted: bool) -> Vec<OfferedMention> {
        let mention = TypedMention::new(typed);
        let instances = mention
            .instance_text()
            .map(|text| self.with_scene(is_wanted, |scene| search_instances(scene, text)));
        // In a terminal, paths of files are relative to its folder, as in a shell.
        let folder = env::current_dir().ok();
        let found =
            Mentionable { instances: instances.unwrap_or_default(), folder, is_in_studio: false };
        let offered = mention.offer(found, self.ledger, &self.index, self.place.clone());
        offered.unwrap_or_default()
    }
}
