//! The sessions of the house: how one begins, and how it ends.
//!
//! A session that ends may be in the middle of a long plan. Its name stays taken until its thread has let
//! go of its workflows, and whoever wants it meanwhile waits for that, as does who took its access away,
//! and nobody else.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{SystemTime, UNIX_EPOCH};

use scene_schemas::api::{
    Failure, FailureKind, Hello, PROTOCOL, SessionId, SessionView, Sessions, Welcome,
};
use scene_schemas::entry::{Place, Seq, StudioPlace};
use vector_engine::Target;
use vector_engine::studio::StudioTarget;
use vector_place::Scene;

use super::views::{check_protocol, session_of};
use super::{AWAY, DaemonActor, EndingSession, MEMORIES, STACK, SessionThread, random_text};
use crate::server::{DaemonRequest, Reply, SessionSlot, TokenHash, failure};
use crate::session::{SessionActor, SessionDecider, SessionMessage};

impl DaemonActor {
    /// Ends the sessions whose plugin has not been heard of for long: what they hold of a place is
    /// told again when it comes back, and their workflows go on then.
    pub(super) fn close_idle_sessions(&mut self) {
        self.broadcast_message(|| SessionMessage::Tidy);
        let is_left = |session: &SessionId, _: &mut SessionThread| {
            self.event_hub
                .slot(session)
                .is_none_or(|seat| seat.silence_duration() >= self.idle_limit)
        };
        let left = self.sessions.extract_if(is_left).collect();
        self.close_sessions(left);
    }

    pub(super) fn close_sessions(&mut self, ended: Vec<(SessionId, SessionThread)>) {
        for (name, SessionThread { message_sender: words, thread, .. }) in ended {
            self.event_hub.remove(&name);
            self.ending_sessions
                .insert(name.clone(), EndingSession { thread, queued_requests: Vec::new() });
            // One that panicked hears nothing any more, and has let go as well.
            if words.send(SessionMessage::End).is_err() {
                self.finish_session(&name, thread);
            }
        }
    }

    /// A session has let go of its workflows: whoever waited for that has their turn.
    pub(super) fn finish_session(&mut self, name: &SessionId, thread: ThreadId) {
        // One that panicked may be followed by another of its name, which goes on.
        if self.ending_sessions.get(name).is_none_or(|it| it.thread != thread) {
            return;
        }
        let waiting =
            self.ending_sessions.remove(name).map(|it| it.queued_requests).unwrap_or_default();
        self.plugin_tokens.remove(name);
        self.answer_revoked(name);
        for ask in waiting {
            self.handle_request(ask);
        }
    }

    /// Who waits for the end of the session that has a workflow.
    pub(super) fn end_queue(&mut self, workflow: Seq) -> Option<&mut Vec<DaemonRequest>> {
        if self.ending_sessions.is_empty() {
            return None;
        }
        let started = self.ledger.record_at(workflow).ok().flatten()?;
        Some(&mut self.ending_sessions.get_mut(&session_of(&started)?)?.queued_requests)
    }

    /// Begins a session, once the one before it of that name has ended.
    pub(super) fn queue_hello(&mut self, hello: Box<Hello>, reply: Reply<Welcome>) {
        let given = match self.check_hello(&hello) {
            Ok(given) => given,
            Err(failure) => return drop(reply.send(Err(failure))),
        };
        if let Some(before) = self.ending_sessions.get_mut(&hello.session) {
            return before.queued_requests.push(DaemonRequest::Hello(hello, reply));
        }
        // Who has given up waiting says hello again.
        if !reply.is_closed() {
            drop(reply.send(self.accept_hello(*hello, given)));
        }
    }

    /// What shows that a plugin is paired whose hello is as it has to be.
    fn check_hello(&self, hello: &Hello) -> Result<TokenHash, Failure> {
        check_protocol(hello)?;
        let given = TokenHash::of_token(hello.credential.as_deref().unwrap_or_default());
        if !self.grants.is_paired(&given) {
            return Err(failure(
                FailureKind::Unpaired,
                "This plugin is not paired with Vector.",
                "Type the six digits that `vector pair` shows.",
            ));
        }
        self.check_window(&hello.session)?;
        Ok(given)
    }

    fn accept_hello(&mut self, hello: Hello, given: TokenHash) -> Result<Welcome, Failure> {
        let internal = |error: &dyn std::fmt::Display| {
            let message = format!("The session cannot begin: {error}.");
            failure(FailureKind::Internal, message, "Try again.")
        };
        let token = random_text(24).map_err(|error| internal(&error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let session = hello.session.clone();
        let place = StudioPlace { session: session.clone(), place: hello.place };
        let seat = self.event_hub.register(&session, self.epoch, TokenHash::of_token(&token));
        let cursor = self.event_hub.head();
        self.plugin_tokens.insert(session.clone(), given);
        match self.sessions.get_mut(&session) {
            // One that panicked hears nothing any more, and another takes its place.
            Some(known)
                if known.message_sender.send(SessionMessage::Hello(place.clone())).is_ok() =>
            {
                known.place = Place::Open(place);
            }
            _ => {
                let memories = self.home.join(MEMORIES);
                let opened =
                    (Target::Open(StudioTarget::new(place, memories)), Scene::empty_studio_place());
                self.start_session(&seat, opened).map_err(|error| internal(&error))?;
            }
        }
        Ok(Welcome {
            protocol: PROTOCOL,
            daemon: env!("CARGO_PKG_VERSION").to_owned(),
            epoch: self.epoch,
            token,
            cursor,
        })
    }

    /// Whether a plugin's window can be called so. What is open without a plugin is nobody's window.
    fn check_window(&self, session: &SessionId) -> Result<(), Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name = &session.0;
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(failure(
                FailureKind::BadRequest,
                "A session is called by 1 to 64 letters, digits and dashes.",
                "Update the plugin.",
            ));
        }
        if self.sessions.get(session).is_some_and(|known| known.place.studio_place().is_none()) {
            return Err(failure(
                FailureKind::BadRequest,
                format!("Session {session} is not of a window of Studio."),
                "Close the place in Studio, and open it again.",
            ));
        }
        Ok(())
    }

    /// Lets a session begin; the way to it.
    pub(super) fn start_session(
        &mut self,
        seat: &Arc<SessionSlot>,
        opened: (Target, Scene),
    ) -> std::io::Result<Sender<SessionMessage>> {
        let (words, heard) = channel();
        let place = opened.0.place();
        let name = place.session_id();
        let live = SessionActor::new(
            Arc::clone(&self.ledger),
            Arc::clone(&self.event_hub),
            name.clone(),
            Arc::clone(seat),
            opened,
            Arc::clone(&self.active_settings),
            Arc::clone(&self.model_selector),
            words.clone(),
        );
        let is_open = place.studio_place().is_some();
        let live = if is_open { live.with_projects(self.projects.clone()) } else { live };
        if is_open && let Ok(mut followers) = self.followers.lock() {
            followers.push(words.clone());
        }
        // Who lists the places may come before anything happens in this one.
        live.publish();
        let live = Arc::new(Mutex::new(live));
        seat.set_fast_decision(Arc::new(SessionDecider::new(&live, &words)));
        let session = thread::Builder::new().stack_size(STACK).name("session".to_owned());
        let ends = self.background_jobs.end_guard(name.clone());
        let thread = session.spawn(move || {
            let _ends = ends;
            // All that it has is dropped before.
            let (live, heard) = (live, heard);
            SessionActor::run(&live, &heard);
        })?;
        let session =
            SessionThread { message_sender: words.clone(), thread: thread.thread().id(), place };
        self.sessions.insert(name, session);
        Ok(words)
    }

    pub(super) fn list_sessions(&self) -> Sessions {
        let view = |(session, known): (&SessionId, &SessionThread)| {
            let seat = self.event_hub.slot(session)?;
            let size = seat.mirror_size();
            Some(SessionView {
                session: session.clone(),
                epoch: seat.epoch(),
                place: known.to_open_place(),
                connected: seat.silence_duration() < AWAY && !self.files.is_gone(session),
                instances: size.instances,
                version: size.version,
                project: size.project,
            })
        };
        let mut sessions: Vec<SessionView> = self.sessions.iter().filter_map(view).collect();
        sessions.sort_by(|a, b| a.session.cmp(&b.session));
        Sessions { sessions }
    }
}
