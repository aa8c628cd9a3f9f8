//! The start and the end of sessions.

use std::collections::HashSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use scene_schemas::api::{
    Failure, FailureKind, Hello, PROTOCOL, SessionId, SessionView, Sessions, VERSION, Welcome,
};
use scene_schemas::entry::{Place, StudioPlace};
use vector_core::planning_scene::PlanningScene;
use vector_engine::Target;
use vector_engine::studio::StudioTarget;
use vector_place::Scene;

use super::handle::DaemonHandle;
use super::session_registry::OpenSession;
use super::views::check_protocol;
use super::{AWAY, DaemonActor, MEMORIES, STACK, random_text};
use crate::event_hub::{SessionSlot, TokenHash};
use crate::failure::failure;
use crate::session::{Answer, SessionActor, SessionHandle, SessionMessage};

impl DaemonActor {
    /// Closes the sessions whose plugin has been silent for too long. A plugin that comes back
    /// sends the place again, and the workflows continue.
    pub(super) fn close_idle_sessions(&mut self) {
        self.send_to_all(|| SessionMessage::Tidy);
        for (session, _) in self.sessions.list() {
            let slot = self.event_hub.slot(&session);
            if slot.is_none_or(|slot| slot.silence_duration() >= self.idle_limit) {
                self.close_session(&session);
            }
        }
    }

    /// Sends a message to all open sessions.
    pub(super) fn send_to_all(&self, message: impl Fn() -> SessionMessage) {
        self.sessions.send_to_all(message);
    }

    pub(super) fn close_session(&self, session: &SessionId) {
        // The slot goes first: a plugin without one receives `stale`, and says hello again.
        self.event_hub.remove(session);
        let Some(ended) = self.sessions.begin_end(session) else {
            return;
        };
        // A session that panicked receives no messages, and has already released its workflows.
        if !ended.handle.send(SessionMessage::End) {
            self.sessions.finish(session, ended.thread);
        }
    }

    /// Begins a session. None if the previous session with that id is still ending.
    fn begin_session(&mut self, hello: Hello) -> Result<Option<Welcome>, Failure> {
        let credential = self.check_hello(&hello)?;
        if self.sessions.is_ending(&hello.session) {
            return Ok(None);
        }
        self.accept_hello(hello, credential).map(Some)
    }

    /// Checks a hello. Returns the credential of the paired plugin.
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
            let message = format!("The session cannot start: {error}.");
            failure(FailureKind::Internal, message, "Try again.")
        };
        let token = random_text(24).map_err(|error| internal(&error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let session = hello.session.clone();
        let place = StudioPlace { session: session.clone(), place: hello.place };
        let slot = self.event_hub.register(&session, self.epoch, TokenHash::of_token(&token));
        let cursor = self.event_hub.head();
        match self.sessions.get(&session) {
            // A session that panicked receives no messages, and is replaced.
            Some(known) if known.handle.send(SessionMessage::Hello(place.clone())) => {
                self.sessions.update(&session, Place::Open(place), given);
            }
            _ => {
                let memories = self.home.join(MEMORIES);
                let target = Target::Studio(StudioTarget::new(place, memories));
                let opened = (target, Scene::empty_studio_place().into());
                self.start_session(&slot, opened, Some(given)).map_err(|error| internal(&error))?;
            }
        }
        Ok(Welcome {
            protocol: PROTOCOL,
            daemon: VERSION.to_owned(),
            update: crate::versions::plugin_hint(&hello.plugin),
            epoch: self.epoch,
            token,
            cursor,
        })
    }

    /// Checks the session id of a plugin. It must not be that of a file or project.
    fn check_window(&self, session: &SessionId) -> Result<(), Failure> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name = &session.0;
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            return Err(failure(
                FailureKind::BadRequest,
                "The ID of a session has 1 to 64 letters, digits and dashes.",
                "Update the plugin.",
            ));
        }
        if self.sessions.get(session).is_some_and(|known| known.place.studio_place().is_none()) {
            return Err(failure(
                FailureKind::BadRequest,
                format!("Session {session} does not belong to a Studio window."),
                "Close the place in Studio, then open it again.",
            ));
        }
        Ok(())
    }

    /// Starts the thread of a session.
    pub(super) fn start_session(
        &mut self,
        slot: &Arc<SessionSlot>,
        opened: (Target, PlanningScene),
        credential: Option<TokenHash>,
    ) -> std::io::Result<SessionHandle> {
        let (message_sender, messages) = channel();
        let place = opened.0.place();
        let name = place.session_id();
        let actor = SessionActor::new(
            Arc::clone(&self.ledger),
            Arc::clone(&self.event_hub),
            name.clone(),
            Arc::clone(slot),
            opened,
            Arc::clone(&self.active_settings),
            Arc::clone(&self.model_selector),
            message_sender.clone(),
        );
        let is_open = place.studio_place().is_some();
        let actor = if is_open { actor.with_projects(self.projects.clone()) } else { actor };
        if is_open && let Ok(mut followers) = self.followers.lock() {
            followers.push(message_sender.clone());
        }
        // Publish now, as the places may be listed before anything happens in this one.
        actor.publish();
        let actor = Arc::new(Mutex::new(Some(actor)));
        let settings = Arc::clone(&self.active_settings);
        let handle = SessionHandle::new(Arc::clone(&actor), settings, message_sender);
        let builder = thread::Builder::new().stack_size(STACK).name("session".to_owned());
        let ends = self.sessions.end_guard(name.clone());
        let thread = builder.spawn(move || {
            let _ends = ends;
            // Both are dropped before the guard, with everything they own.
            let (actor, messages) = (actor, messages);
            SessionActor::run(&actor, &messages);
        })?;
        let thread = thread.thread().id();
        let session = OpenSession { handle: handle.clone(), thread, place, credential };
        self.sessions.insert(name, session);
        Ok(handle)
    }

    pub(super) fn list_sessions(&self) -> Sessions {
        let view = |(session, known): (SessionId, OpenSession)| {
            let slot = self.event_hub.slot(&session)?;
            let size = slot.mirror_size();
            Some(SessionView {
                epoch: slot.epoch(),
                place: known.to_open_place(),
                in_studio: known.place.studio_place().is_some(),
                connected: slot.silence_duration() < AWAY && !self.files.is_gone(&session),
                instances: size.instances,
                version: size.version,
                project: size.project,
                session,
            })
        };
        let sessions: Vec<SessionView> =
            self.sessions.list().into_iter().filter_map(view).collect();
        Sessions { sessions }
    }
}

impl DaemonHandle {
    /// Begins the session of a Studio window, once the previous one with that id has ended.
    ///
    /// # Errors
    /// The plugin is not paired, or its protocol version is not supported.
    pub async fn hello(&self, hello: Hello) -> Result<Welcome, Failure> {
        loop {
            let own = hello.clone();
            let result = self.run_with_reply(move |daemon, reply| {
                // A client that has gone begins no session.
                if !reply.is_closed() {
                    let _ = reply.send(daemon.begin_session(own));
                }
            });
            if let Some(welcome) = result.await? {
                return Ok(welcome);
            }
            self.state.sessions.wait_until_ended(&HashSet::from([hello.session.clone()])).await;
        }
    }

    pub fn list_sessions(&self) -> Answer<Sessions> {
        self.run(|daemon| Ok(daemon.list_sessions()))
    }
}
