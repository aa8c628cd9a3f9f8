//! Model requests and fetches of a session. They run elsewhere, so that decisions, cancellations
//! and reports of the plugin never wait for them.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scene_schemas::api::{Event, EventRecord, SessionId};
use scene_schemas::entry::Seq;
use vector_engine::fetch::FetchWork;
use vector_engine::model_request::ModelRequest;
use vector_providers::client::ClientEvent;
use vector_providers::http::{CancelSwitch, HttpError, HttpNotice};

use super::SessionMessage;
use crate::event_hub::EventHub;
use crate::tasks::fetch;
use crate::tasks::read_queue::{compute_queue, network_queue};

/// The interval at which a model's text is emitted: three times a second.
const GATHERED: Duration = Duration::from_millis(333);

/// A running request. Dropping it cancels it.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    cancel: CancelSwitch,
    /// The call that a fetch is for; None for a model request.
    call: Option<Seq>,
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Sends a message to the session when the request ends, also if the reader of the answer panics.
struct ReplyGuard {
    message_sender: Sender<SessionMessage>,
    message: Option<SessionMessage>,
}

impl ReplyGuard {
    /// Replaces the message that reports a lost reader, and sends the new one.
    fn replace_message(mut self, message: SessionMessage) {
        self.message = Some(message);
    }
}

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        // A session that has ended receives nothing.
        if let Some(message) = self.message.take() {
            let _ = self.message_sender.send(message);
        }
    }
}

/// The error if the reader of the answer panicked.
const LOST: &str = "reading the answer failed with an internal error";

/// Emits transient events to the watchers of a workflow.
#[derive(Clone)]
struct ProgressWatchers {
    event_hub: Arc<EventHub>,
    session: SessionId,
    workflow: Seq,
}

impl ProgressWatchers {
    fn emit(&self, event: Event) {
        let record = EventRecord { seq: self.workflow, at: 0, workflow: self.workflow, event };
        self.event_hub.publish(Some(&self.session), record, true);
    }

    fn emit_notice(&self, notice: &HttpNotice) {
        match notice {
            HttpNotice::Stalled(silence) => {
                self.emit(Event::Stalled { seconds: silence.as_secs() as u32 });
            }
            HttpNotice::Retrying { delay: after, reason, .. } => {
                // Discard the text of the failed attempt.
                self.emit(Event::AssistantStart {});
                let (reason, seconds) = (reason.clone(), after.as_secs() as u32);
                self.emit(Event::Retrying { reason, seconds });
            }
        }
    }
}

impl ActiveRequest {
    /// Whether this is the fetch for a call.
    pub(super) fn is_for(&self, call: Seq) -> bool {
        self.call == Some(call)
    }

    /// Fetches something when it is the client's turn. The result is sent to the session as a
    /// message.
    pub(super) fn fetch(
        work: FetchWork,
        workflow: Seq,
        call: Seq,
        client: &str,
        message_sender: Sender<SessionMessage>,
    ) -> Self {
        let cancel = CancelSwitch::new();
        let own = cancel.clone();
        let lost = format!("{}: {LOST}, or too much data is waiting to be read.", work.title());
        let lost = SessionMessage::Fetched(workflow, call, Err(lost));
        let guard = ReplyGuard { message_sender, message: Some(lost) };
        let queue = if work.is_network_bound() { network_queue() } else { compute_queue() };
        // If the queue is full, the closure is dropped, and its guard reports that.
        queue.push(client, move || {
            let seen = fetch::perform_fetch(&work, &own);
            guard.replace_message(SessionMessage::Fetched(workflow, call, seen));
        });
        Self { cancel, call: Some(call) }
    }

    /// Sends a request to a model. The answer is sent to the session as a message.
    pub(super) fn send_request(
        request: ModelRequest,
        workflow: Seq,
        event_hub: Arc<EventHub>,
        session: SessionId,
        message_sender: Sender<SessionMessage>,
    ) -> Self {
        let cancel = CancelSwitch::new();
        let watchers = ProgressWatchers { event_hub, session, workflow };
        let models = request.models.clone();
        let own = cancel.clone();
        let lost = Box::new(Err(HttpError::SetupFailed(LOST.to_owned())));
        let lost = SessionMessage::ModelReplied(workflow, Box::new(request.clone()), lost);
        let guard = ReplyGuard { message_sender, message: Some(lost) };
        models.spawn(async move {
            let text = Arc::new(Mutex::new(String::new()));
            let answer = {
                let (more, notice_watchers) = (Arc::clone(&text), watchers.clone());
                let on_event = move |event: ClientEvent| match event {
                    ClientEvent::Text(piece) => {
                        more.lock().unwrap_or_else(PoisonError::into_inner).push_str(&piece);
                    }
                    ClientEvent::Reasoning(_) => {}
                    ClientEvent::Notice(notice) => {
                        more.lock().unwrap_or_else(PoisonError::into_inner).clear();
                        notice_watchers.emit_notice(&notice);
                    }
                };
                let answer = request.client.send_request(&request.request, &own, on_event);
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
                                watchers.emit(Event::AssistantUpdate { text: piece });
                            }
                        }
                    }
                }
            };
            guard.replace_message(SessionMessage::ModelReplied(
                workflow,
                Box::new(request),
                Box::new(answer),
            ));
        });
        Self { cancel, call: None }
    }
}
