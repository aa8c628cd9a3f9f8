//! What a person attaches to a request: it is looked at before the request is taken, and written down
//! as it was then.
//!
//! The plugin says the text of a script once more before it sends what was selected in it, so that the
//! mirror is not behind. Nobody is asked here: a plugin that waits for its answer says nothing meanwhile.

use std::collections::HashMap;

use scene_schemas::api::{Attachment, Chat, Failure, FailureKind, WorkflowStarted};
use scene_schemas::entry::{AttachmentSnapshot, InteractionMode, Seq};
use scene_schemas::proposal::Mode;
use scene_schemas::{Fingerprint, InstanceId, Target};
use vector_core::mention::find_mentions;
use vector_core::workflow::WorkflowInput;
use vector_engine::conversation;
use vector_engine::model_request;
use vector_place::{Node, Scene};
use vector_providers::ProviderKind;
use vector_providers::http::CancelSwitch;

use super::{FoundInstance, Reply, WorkflowAction};
use super::{SessionActor, SessionMessage, ToolDriver, UserRequest, engine_failure};
use crate::failure::failure;
use crate::tasks::mentions::{FileAccess, RequestMentions, RequestPlace, gather_mentions};

/// More than this is refused.
const MAX_ATTACHED: usize = 20;
/// How many requests are remembered, for the case that one is made again.
const REMEMBERED: usize = 100;

/// The stack of whoever reads what is pointed at: parsers recurse.
const STACK: usize = 64 << 20;

/// A request, and how it is to be done.
#[derive(Debug)]
pub(in super::super) struct SessionRequest {
    chat: Chat,
    mode: Mode,
    /// The model that is asked; none is the offline planner.
    model: Option<String>,
}

/// Requests whose mentions are being read, by their names, and who made them again meanwhile.
pub(super) type PendingMentions = HashMap<String, Vec<Reply<WorkflowStarted>>>;

impl SessionActor {
    /// Takes a request with what was attached to it. What it points at is read first, beside the session where
    /// that takes long.
    pub(super) fn start_chat(&mut self, chat: Chat, reply: Reply<WorkflowStarted>) {
        let (mode, model) = (self.active_settings.mode(), self.active_settings.model());
        let request = SessionRequest { chat, mode, model };
        let name = request.chat.request.as_ref();
        if let Some((_, workflow)) =
            self.recent_requests.iter().find(|(known, _)| Some(known) == name)
        {
            let _ = reply.send(Ok(WorkflowStarted { workflow: *workflow }));
            return;
        }
        if let Some(waiting) = name.and_then(|name| self.pending_mentions.get_mut(name)) {
            waiting.push(reply);
            return;
        }
        match self.find_mentions(&request.chat) {
            Err(failure) => drop(reply.send(Err(failure))),
            Ok(mentions) if mentions.is_ready() => {
                let read = mentions.read_pending(&CancelSwitch::new());
                self.handle_mentions(request, read, reply);
            }
            Ok(mentions) => {
                if let Some(name) = name {
                    self.pending_mentions.insert(name.clone(), Vec::new());
                }
                let words = self.message_sender.clone();
                let read = move || {
                    let read = mentions.read_pending(&CancelSwitch::new());
                    let _ =
                        words.send(SessionMessage::MentionsRead(Box::new(request), read, reply));
                };
                // Where no thread can be had, the reply is dropped, which says so.
                let _ = std::thread::Builder::new().stack_size(STACK).spawn(read);
            }
        }
    }

    /// What a request points at was read, or cannot be.
    pub(super) fn handle_mentions(
        &mut self,
        SessionRequest { chat, mode, model }: SessionRequest,
        read: Result<Vec<AttachmentSnapshot>, String>,
        reply: Reply<WorkflowStarted>,
    ) {
        let name = chat.request.clone();
        let started = match read {
            Ok(mentioned) => self.begin_request(chat, mentioned, mode, model.as_deref()),
            Err(why) => Err(not_attached(why)),
        };
        if let Some(name) = name {
            for waiting in self.pending_mentions.remove(&name).unwrap_or_default() {
                let _ = waiting.send(started.clone());
            }
            if let Ok(started) = &started {
                self.recent_requests.push_back((name, started.workflow));
                while self.recent_requests.len() > REMEMBERED {
                    self.recent_requests.pop_front();
                }
            }
        }
        let _ = reply.send(started);
    }

    /// What a request points at.
    fn find_mentions(&mut self, chat: &Chat) -> Result<RequestMentions, Failure> {
        let folder = self
            .engine
            .settings_folder()
            .or_else(|| Some(self.engine.linked_project()?.project_folder().to_owned()));
        let place = RequestPlace {
            file_access: FileAccess::Folder(folder.as_deref()),
            folder: folder.as_deref(),
            has_chips: !chat.attached.is_empty(),
            is_studio: self.engine.studio().is_some(),
        };
        // A person points at what is there, and not at what is proposed. That costs nothing where nobody points.
        if find_mentions(&chat.text).is_empty() {
            return Ok(RequestMentions::default());
        }
        let scene = self.engine.mirror_scene();
        let gathered = gather_mentions(&chat.text, scene, place);
        // What the mirror misses is not asked for.
        let _ = scene.take_missing();
        gathered.map_err(not_attached)
    }

    /// Begins a task with what a person says, or goes on with one.
    fn begin_request(
        &mut self,
        chat: Chat,
        mentioned: Vec<AttachmentSnapshot>,
        mode: Mode,
        model: Option<&str>,
    ) -> Result<WorkflowStarted, Failure> {
        // A person points at what is there, and not at what is proposed.
        let scene = self.engine.mirror_scene();
        let attached = resolve_attachments(scene, &chat.attached);
        // What the mirror misses is not asked for.
        let _ = scene.take_missing();
        let mut attached = attached?;
        attached.extend(mentioned);
        let driver = match self.driver_of(model) {
            ToolDriver::Missing { why, .. } => {
                let hint = "Fix that, or choose another model in the settings.";
                return Err(failure(FailureKind::Provider, why, hint));
            }
            driver => driver,
        };
        let ToolDriver::Provider(ProviderKind::Model(models)) = &driver else {
            let (place, stance) = (self.engine.place(), chat.stance);
            let follows = conversation::find_plan(&self.ledger, &place, &chat.text, stance)
                .map_err(|error| engine_failure(&error.into()))?;
            let asked = UserRequest { goal: chat.text, attached, stance, follows };
            return self.start_workflow(asked, driver, mode, |_| {});
        };
        let models = models.clone();
        let place = self.engine.place();
        let mut follows =
            conversation::last_task(&self.ledger, &place, model_request::unix_millis())
                .map_err(|error| engine_failure(&error.into()))?;
        let at_work = follows.filter(|it| self.engine.is_active(*it));
        if chat.begins {
            if let Some(workflow) = at_work {
                self.act_on_workflow(workflow, WorkflowAction::Cancel, None)?;
            }
            let cleared = conversation::clear_conversation(
                &self.ledger,
                &place,
                model_request::unix_millis(),
            );
            cleared.map_err(|error| engine_failure(&error.into()))?;
            follows = None;
        } else if let Some(workflow) = at_work {
            return self.continue_task(workflow, chat, attached, driver);
        }
        let asked = UserRequest { goal: chat.text, attached, stance: chat.stance, follows };
        model_request::check_first_message(&models, &asked).map_err(|why| {
            failure(FailureKind::TooLarge, why, "Say it shorter, or choose another model.")
        })?;
        self.start_workflow(asked, driver, mode, |_| {})
    }

    /// Says more in a task that is at work: it is read with the next request, or answers the question
    /// that is open.
    fn continue_task(
        &mut self,
        workflow: Seq,
        chat: Chat,
        attached: Vec<AttachmentSnapshot>,
        driver: ToolDriver,
    ) -> Result<WorkflowStarted, Failure> {
        self.engine.select_workflow(workflow);
        let stance = self.engine.current_workflow().map_or(InteractionMode::Act, |it| it.stance);
        if chat.stance != stance && chat.stance != InteractionMode::Act {
            let message = "The task before is still at work.";
            return Err(failure(
                FailureKind::Settled,
                message,
                "Stop it first, on the page or with /stop.",
            ));
        }
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.is_stopped = false;
        }
        if self.engine.has_trouble() {
            // Whoever was not to be asked may not be the one who is chosen now.
            self.engine.set_driver(driver);
        }
        let said = WorkflowInput::Asked { text: chat.text, attached };
        self.engine.handle_input(said).map_err(|error| engine_failure(&error))?;
        Ok(WorkflowStarted { workflow })
    }
}

/// Why a request was not taken: something that it points at cannot be attached.
fn not_attached(why: String) -> Failure {
    let hint = "Take it out of the text, or write it in `backticks` where it is only a word.";
    failure(FailureKind::BadRequest, why, hint)
}

fn find_instance(scene: &Scene, id: &InstanceId) -> Option<Node> {
    scene.by_id(id).filter(|node| scene.is_live(*node))
}

fn attachment_refused(message: String, hint: &str) -> Failure {
    failure(FailureKind::Settled, message, hint)
}

/// What was attached, as it is in the place.
fn resolve_attachments(
    scene: &Scene,
    attachments: &[Attachment],
) -> Result<Vec<AttachmentSnapshot>, Failure> {
    if attachments.len() > MAX_ATTACHED {
        let message = format!("At most {MAX_ATTACHED} things can be attached to one request.");
        return Err(attachment_refused(message, "Take some off."));
    }
    let one = |attachment: &Attachment| {
        let (Attachment::Instance { id } | Attachment::Text { id, .. }) = attachment;
        let Some(node) = find_instance(scene, id) else {
            let message = "Something that you attached is not in the place any more.".to_owned();
            return Err(attachment_refused(
                message,
                "Take it off, and select what you mean again.",
            ));
        };
        let target = scene.target(node);
        match attachment {
            Attachment::Instance { .. } => {
                Ok(AttachmentSnapshot::Instance { target, class: scene.class(node).to_owned() })
            }
            Attachment::Text { hash, selected, .. } => {
                quote_selection(scene, node, target, hash, selected)
            }
        }
    };
    attachments.iter().map(one).collect()
}

/// Text that was selected in a script, where it stands there still.
fn quote_selection(
    scene: &Scene,
    node: Node,
    target: Target,
    hash: &Fingerprint,
    selected: &str,
) -> Result<AttachmentSnapshot, Failure> {
    let path = &target.path;
    let Some(text) = scene.script_text(node) else {
        let message = format!("{path} is not a script, so its text cannot be attached.");
        return Err(attachment_refused(message, "Attach the instance itself."));
    };
    if Fingerprint::hash_bytes(text.as_bytes()) != *hash {
        let message = if scene.has_draft(node) {
            format!("{path} has an unsaved draft that has changed since you selected this.")
        } else {
            format!("{path} has changed since you selected this.")
        };
        return Err(attachment_refused(message, "Select it again."));
    }
    let mut places = text.match_indices(selected);
    let Some((at, _)) = places.next().filter(|_| !selected.is_empty()) else {
        let message = format!("The text that you attached is not in {path}.");
        return Err(attachment_refused(message, "Select it again."));
    };
    let line = text[..at].matches('\n').count() as u32 + 1;
    let line = places.next().is_none().then_some(line);
    Ok(AttachmentSnapshot::Text { target, hash: hash.clone(), line, selected: selected.to_owned() })
}

/// How many instances are offered.
const OFFERED: usize = 12;

/// The instances whose names have what was typed in them, scripts first, and short paths before long ones. What
/// stands before a full stop has to stand in the path.
pub(super) fn search_instances(scene: &Scene, typed: &str) -> Vec<FoundInstance> {
    let typed = typed.to_lowercase();
    let name = typed.rsplit('.').next().unwrap_or_default();
    let fits = |node: &Node| scene.name(*node).to_lowercase().contains(name);
    let mut found: Vec<(bool, usize, FoundInstance)> = scene
        .subtree(scene.root())
        .filter(|node| *node != scene.root() && fits(node))
        .map(|node| (node, scene.path(node)))
        .filter(|(_, path)| {
            name.len() == typed.len() || path.to_string().to_lowercase().contains(&typed)
        })
        .map(|(node, path)| {
            let found =
                FoundInstance { path: path.to_string(), class: scene.class(node).to_owned() };
            (!scene.is_script(node), found.path.len(), found)
        })
        .collect();
    found.sort_by(|(a, b, c), (d, e, f)| (a, b, &c.path).cmp(&(d, e, &f.path)));
    found.into_iter().map(|(_, _, found)| found).take(OFFERED).collect()
}
