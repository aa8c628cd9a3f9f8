//! A model that is asked for a session: somewhere else, so that a decision, a cancel and what the
//! plugin says are never behind it.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scene_schemas::api::{Event, EventRecord, SessionId};
use scene_schemas::entry::Seq;
use vector_engine::asked::Ask;
use vector_engine::look::Looking;
use vector_providers::client::Heard;
use vector_providers::http::{Cancel, HttpError, Notice};

use super::Word;
use crate::server::Board;
use crate::tasks::fetch;
use crate::tasks::read_queue::{computing, fetching};

/// What a model says is told this often: three times a second.
const GATHERED: Duration = Duration::from_millis(333);

/// A request on its way. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Asking {
    cancel: Cancel,
    /// The call that it is for; none of a model.
    call: Option<Seq>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Sees to it that a session hears of a request, whatever becomes of whoever reads the answer.
struct Tell {
    words: Sender<Word>,
    word: Option<Word>,
}

impl Tell {
    /// Says something else than what would be said of a reader that is lost.
    fn with(mut self, word: Word) {
        self.word = Some(word);
    }
}

impl Drop for Tell {
    fn drop(&mut self) {
        // A session that is gone has nobody to tell.
        if let Some(word) = self.word.take() {
            let _ = self.words.send(word);
        }
    }
}

/// What is said where whoever reads is lost.
const LOST: &str = "reading the answer failed within Vector";

/// Says things of the moment to those who watch a workflow.
#[derive(Clone)]
struct Watchers {
    board: Arc<Board>,
    session: SessionId,
    workflow: Seq,
}

impl Watchers {
    fn say(&self, event: Event) {
        let record = EventRecord { seq: self.workflow, at: 0, workflow: self.workflow, event };
        self.board.publish(Some(&self.session), record, true);
    }

    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::Stalled(silence) => {
                self.say(Event::Stalled { seconds: silence.as_secs() as u32 });
            }
            Notice::Again { after, reason, .. } => {
                // What came of the try that failed is void.
                self.say(Event::AssistantStart {});
                let (reason, seconds) = (reason.clone(), after.as_secs() as u32);
                self.say(Event::Retrying { reason, seconds });
            }
        }
    }
}

impl Asking {
    /// Whether something is looked at for this call.
    pub(super) fn is_for(&self, call: Seq) -> bool {
        self.call == Some(call)
    }

    /// Looks at something when it is the client's turn. What is seen is a word to the session.
    pub(super) fn look(
        looking: Looking,
        (workflow, call): (Seq, Seq),
        client: &str,
        words: Sender<Word>,
    ) -> Self {
        let cancel = Cancel::new();
        let own = cancel.clone();
        let lost = format!("{}: {LOST}, or too much waits to be read.", looking.title());
        let lost = Word::Looked(workflow, call, Err(lost));
        let tell = Tell { words, word: Some(lost) };
        let queue = if looking.is_fetched() { fetching() } else { computing() };
        // Where it cannot wait, what was to be done is dropped, and says so.
        queue.push(client, move || {
            let seen = fetch::take(&looking, &own);
            tell.with(Word::Looked(workflow, call, seen));
        });
        Self { cancel, call: Some(call) }
    }

    /// Sends a request. What comes of it is a word to the session.
    pub(super) fn send(
        ask: Ask,
        workflow: Seq,
        (board, session): (Arc<Board>, SessionId),
        words: Sender<Word>,
    ) -> Self {
        let cancel = Cancel::new();
        let watchers = Watchers { board, session, workflow };
        let models = ask.models.clone();
        let own = cancel.clone();
        let lost = Box::new(Err(HttpError::Unable(LOST.to_owned())));
        let lost = Word::Replied(workflow, Box::new(ask.clone()), lost);
        let tell = Tell { words, word: Some(lost) };
        models.spawn(async move {
            let text = Arc::new(Mutex::new(String::new()));
            let answer = {
                let (more, telling) = (Arc::clone(&text), watchers.clone());
                let hear = move |heard: Heard| match heard {
                    Heard::Text(piece) => {
                        more.lock().unwrap_or_else(PoisonError::into_inner).push_str(&piece);
                    }
                    Heard::Reasoning(_) => {}
                    Heard::Notice(notice) => {
                        more.lock().unwrap_or_else(PoisonError::into_inner).clear();
                        telling.notice(&notice);
                    }
                };
                let answer = ask.client.ask(&ask.request, &own, hear);
                tokio::pin!(answer);
                let mut gathered = tokio::time::interval(GATHERED);
                loop {
                    tokio::select! {
                        answer = &mut answer => break answer,
                        _ = gathered.tick() => {
                            let piece = {
                                let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
                                std::mem::take(&mut *text)
                            };
                            if !piece.is_empty() {
                                watchers.say(Event::AssistantUpdate { text: piece });
                            }
                        }
                    }
                }
            };
            tell.with(Word::Replied(workflow, Box::new(ask), Box::new(answer)));
        });
        Self { cancel, call: None }
    }
}
