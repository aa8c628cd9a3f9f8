//! Attachments of a request: they are resolved before the request is accepted, and recorded with
//! their text at that time.
//!
//! The plugin sends the text of a script again before it sends a selection in it, so that the
//! mirror is up to date. Nothing is asked of the plugin for its own requests: it reports nothing
//! while it waits for the answer. The requests of others can ask it for the selection, the open
//! script and the output.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use scene_schemas::api::{Attachment, Chat, Failure, FailureKind, FoundInstance, WorkflowStarted};
use scene_schemas::entry::{AttachmentSnapshot, InteractionMode, Seq};
use scene_schemas::playtest::StudioOutput;
use scene_schemas::{Fingerprint, InstanceId, InstancePath, Refusal, Target};
use vector_core::mention::find_mentions;
use vector_core::workflow::{ModelTrouble, WorkflowInput};
use vector_engine::conversation;
use vector_engine::model_request;
use vector_place::{Node, Scene};
use vector_providers::ProviderKind;
use vector_providers::http::CancelSwitch;

use super::{Reply, RequestSettings, WorkflowAction};
use super::{SessionActor, SessionMessage, ToolDriver, UserRequest, engine_failure};
use crate::failure::failure;
use crate::tasks::attached_file;
use crate::tasks::mentions::{
    FileAccess, ReadMentions, RequestMentions, RequestPlace, StudioAccess, gather_mentions,
};

/// The maximum number of attachments. Requests with more are refused.
const MAX_ATTACHED: usize = 20;
/// The longest texts of an attached output, in bytes.
const MAX_OUTPUT: usize = 400_000;
/// The longest name of an attached file, in bytes: what file systems allow.
const MAX_NAME: usize = 255;
/// The number of requests that are remembered in case they are sent again.
const REMEMBERED: usize = 100;

/// The stack of the thread that reads mentions: parsers recurse.
const STACK: usize = 64 << 20;

/// A request, with the settings at the time it arrived.
#[derive(Debug)]
pub(crate) struct SessionRequest {
    pub(super) chat: Chat,
    pub(super) settings: RequestSettings,
    /// Whether the plugin made it. It answers no question before it has the reply.
    pub(super) is_from_plugin: bool,
}

/// What a place has to mention.
#[derive(Debug, Default)]
pub(crate) struct Mentionable {
    pub(crate) instances: Vec<FoundInstance>,
    /// The folder whose files can be mentioned.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) is_in_studio: bool,
}

/// Requests whose mentions are being read, by their ids, with the replies to repeated requests.
pub(super) type PendingMentions = HashMap<String, Vec<Reply<WorkflowStarted>>>;

impl SessionActor {
    /// Handles a request. Its mentions are read first, on a separate thread if that takes long.
    pub(super) fn start_chat(&mut self, request: SessionRequest, reply: Reply<WorkflowStarted>) {
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
        match self.find_mentions(&request) {
            Err(failure) => drop(reply.send(Err(failure))),
            Ok(mentions) if mentions.is_ready() => {
                let read = mentions.read_pending(&CancelSwitch::new());
                self.handle_mentions(request, read, reply);
            }
            Ok(mentions) => {
                if let Some(name) = name {
                    self.pending_mentions.insert(name.clone(), Vec::new());
                }
                let message_sender = self.message_sender.clone();
                let read = move || {
                    let read = mentions.read_pending(&CancelSwitch::new());
                    let _ = message_sender.send(SessionMessage::MentionsRead(
                        Box::new(request),
                        read,
                        reply,
                    ));
                };
                // If no thread can be started, the reply is dropped, which reports a failure.
                let _ = std::thread::Builder::new().stack_size(STACK).spawn(read);
            }
        }
    }

    /// Starts a request whose mentions were read, or refuses it.
    pub(super) fn handle_mentions(
        &mut self,
        SessionRequest { mut chat, settings, .. }: SessionRequest,
        read: Result<ReadMentions, String>,
        reply: Reply<WorkflowStarted>,
    ) {
        let name = chat.request.clone();
        let started = match read {
            Ok(ReadMentions { attached, from_studio }) => {
                chat.attached.extend(from_studio);
                self.begin_request(chat, attached, settings)
            }
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

    /// Finds the mentions of a request.
    fn find_mentions(&mut self, request: &SessionRequest) -> Result<RequestMentions, Failure> {
        let SessionRequest { chat, is_from_plugin, .. } = request;
        let folder = self.mention_folder();
        let studio = match self.engine.studio() {
            None => StudioAccess::Closed,
            Some(_) if *is_from_plugin => StudioAccess::Busy,
            Some(_) if self.is_studio_away() => StudioAccess::Away,
            Some(_) => StudioAccess::Open,
        };
        let place = RequestPlace {
            file_access: FileAccess::Folder(folder.as_deref()),
            folder: folder.as_deref(),
            has_chips: chat.attached.iter().any(is_from_studio),
            has_output: chat.attached.iter().any(|it| matches!(it, Attachment::Output { .. })),
            studio,
            ledger: &self.ledger,
        };
        // Mentions refer to the actual place, without proposals. The scene is built only if there
        // are any.
        if find_mentions(&chat.text).is_empty() {
            return Ok(RequestMentions::default());
        }
        let scene = self.engine.mirror_scene();
        let gathered = gather_mentions(&chat.text, scene, place);
        // Missing parts of the mirror are not requested.
        let _ = scene.take_missing();
        let mut gathered = gathered.map_err(not_attached)?;
        gathered.ask_studio(|wanted| self.engine.ask_studio_for_person(wanted));
        Ok(gathered)
    }

    /// Returns the folder whose files a request may mention, and whose settings apply to the place.
    pub(super) fn mention_folder(&self) -> Option<PathBuf> {
        let linked = || Some(self.engine.linked_project()?.project_folder().to_owned());
        self.engine.settings_folder().or_else(linked)
    }

    /// Returns what the place has to mention for a text typed after `@`.
    pub(super) fn find_mentionable(&mut self, typed: &str) -> Mentionable {
        // Mentions refer to the actual place, without proposals.
        let instances = search_instances(self.engine.mirror_scene(), typed);
        let (folder, is_in_studio) = (self.mention_folder(), self.engine.studio().is_some());
        Mentionable { instances, folder, is_in_studio }
    }

    /// Whether there is one instance at a path, as far as that is known.
    pub(super) fn check_instance(&mut self, path: &InstancePath) -> Result<(), Refusal> {
        let scene = self.engine.mirror_scene();
        let found = scene.resolve(path).map(|_| ());
        // Missing parts of the mirror are not requested.
        let _ = scene.take_missing();
        // Studio may have instances that it has not sent yet. The call itself waits for them.
        if scene.is_tree_complete() { found } else { Ok(()) }
    }

    /// Begins a task with a request, or continues the running one.
    fn begin_request(
        &mut self,
        chat: Chat,
        mentioned: Vec<AttachmentSnapshot>,
        RequestSettings { mode, model }: RequestSettings,
    ) -> Result<WorkflowStarted, Failure> {
        // Attachments refer to the actual place, without proposals.
        let scene = self.engine.mirror_scene();
        let attached = resolve_attachments(scene, &chat.attached);
        // Missing parts of the mirror are not requested.
        let _ = scene.take_missing();
        let mut attached = attached?;
        attached.extend(mentioned);
        let driver = match self.driver_of(model.as_deref()) {
            ToolDriver::Missing { why, .. } => {
                let hint = "Fix the problem, or choose another model in the settings.";
                return Err(failure(FailureKind::Provider, why, hint));
            }
            driver => driver,
        };
        check_images(&driver, &attached)?;
        let ToolDriver::Provider(ProviderKind::Model(_)) = &driver else {
            let (place, interaction) = (self.engine.place(), chat.interaction);
            let follows = conversation::find_plan(&self.ledger, &place, &chat.text, interaction)
                .map_err(|error| engine_failure(&error.into()))?;
            let goal = chat.text;
            let request =
                UserRequest { goal, attached, interaction, follows, ..UserRequest::default() };
            return self.start_workflow(request, driver, mode);
        };
        let place = self.engine.place();
        let follows = conversation::last_task(&self.ledger, &place, model_request::unix_millis())
            .map_err(|error| engine_failure(&error.into()))?;
        let at_work = follows.filter(|it| self.engine.is_active(*it));
        if let Some(workflow) = at_work.filter(|_| !chat.begins) {
            return self.continue_task(workflow, chat, attached, driver);
        }
        let role = chat.role();
        let Chat { text: goal, interaction, begins, confirmed, mut selected, .. } = chat;
        selected.truncate(MAX_ATTACHED);
        let request =
            UserRequest { goal, attached, interaction, selected, ..UserRequest::default() };
        let mut request = UserRequest { role, ..request };
        let driver = self.engine.route_task(&request, driver);
        check_images(&driver, &request.attached)?;
        // A request that cannot be sent ends nothing.
        self.check_first_request(&driver, &request)?;
        if !confirmed {
            self.check_estimate(&driver, &request)?;
        }
        if begins {
            if let Some(workflow) = at_work {
                self.act_on_workflow(workflow, WorkflowAction::Cancel, None)?;
            }
            let cleared = conversation::clear_conversation(
                &self.ledger,
                &place,
                model_request::unix_millis(),
            );
            cleared.map_err(|error| engine_failure(&error.into()))?;
        } else {
            request.follows = follows;
        }
        self.start_workflow(request, driver, mode)
    }

    /// Checks that the first request of a task fits into the model's window and passes no cap.
    pub(super) fn check_first_request(
        &mut self,
        driver: &ToolDriver,
        request: &UserRequest,
    ) -> Result<(), Failure> {
        model_request::check_first_message(driver, request).map_err(|why| {
            failure(FailureKind::TooLarge, why, "Make it shorter, or choose another model.")
        })?;
        let ToolDriver::Provider(ProviderKind::Model(models)) = driver else {
            return Ok(());
        };
        self.engine.set_spending_limits(self.active_settings.limits());
        let passed = self.engine.check_first_cost(models, request);
        match passed.map_err(|error| engine_failure(&error.into()))? {
            None => Ok(()),
            Some(ModelTrouble { code, message, hint, .. }) => Err(failure(code, message, &hint)),
        }
    }

    /// Adds a message to an active task. It is part of the next request to the model, or the answer
    /// to an open question.
    fn continue_task(
        &mut self,
        workflow: Seq,
        chat: Chat,
        attached: Vec<AttachmentSnapshot>,
        driver: ToolDriver,
    ) -> Result<WorkflowStarted, Failure> {
        let interaction =
            self.engine.workflow(workflow).map_or(InteractionMode::Act, |it| it.interaction);
        if chat.interaction != interaction && chat.interaction != InteractionMode::Act {
            let message = "The previous task is still running.";
            return Err(failure(
                FailureKind::Settled,
                message,
                "Stop it first, on the page or with /stop.",
            ));
        }
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.is_stopped = false;
        }
        if self.engine.has_trouble(workflow) {
            // The user may have chosen another model since the failure.
            self.engine.set_driver(workflow, driver);
        }
        let input = WorkflowInput::Asked { text: chat.text, attached };
        self.engine.handle_input(workflow, input).map_err(|error| engine_failure(&error))?;
        Ok(WorkflowStarted { workflow })
    }
}

/// Checks that the models of a request read the images that are attached to it.
fn check_images(driver: &ToolDriver, attached: &[AttachmentSnapshot]) -> Result<(), Failure> {
    model_request::check_images(driver, attached).map_err(|why| {
        failure(FailureKind::BadRequest, why, "Your text is still there: remove the image.")
    })
}

/// The failure for a request with a mention that cannot be attached.
fn not_attached(why: String) -> Failure {
    let hint = "Remove it from the text, or write it in `backticks` if it is only a word.";
    failure(FailureKind::BadRequest, why, hint)
}

/// Whether the attachment is a part of the place.
fn is_from_studio(attachment: &Attachment) -> bool {
    match attachment {
        Attachment::Instance { .. } | Attachment::Text { .. } => true,
        Attachment::File { .. } | Attachment::Output { .. } => false,
    }
}

fn find_instance(scene: &Scene, id: &InstanceId) -> Option<Node> {
    scene.by_id(id).filter(|node| scene.is_live(*node))
}

fn attachment_refused(message: String, hint: &str) -> Failure {
    failure(FailureKind::Settled, message, hint)
}

/// Resolves attachments in the current place.
pub(super) fn resolve_attachments(
    scene: &Scene,
    attachments: &[Attachment],
) -> Result<Vec<AttachmentSnapshot>, Failure> {
    if attachments.len() > MAX_ATTACHED {
        let message = format!("At most {MAX_ATTACHED} things can be attached to one request.");
        return Err(attachment_refused(message, "Remove some."));
    }
    let find = |id: &InstanceId| {
        find_instance(scene, id).ok_or_else(|| {
            let message = "Something that you attached is no longer in the place.".to_owned();
            attachment_refused(message, "Remove it, and select the instance again.")
        })
    };
    let one = |attachment: &Attachment| match attachment {
        Attachment::Instance { id } => {
            let node = find(id)?;
            let (target, class) = (scene.target(node), scene.class(node).to_owned());
            Ok(AttachmentSnapshot::Instance { target, class })
        }
        Attachment::Text { id, hash, selected } => {
            let node = find(id)?;
            quote_selection(scene, node, scene.target(node), hash, selected)
        }
        Attachment::Output { output } if text_size(output) > MAX_OUTPUT => {
            let message = format!("The output has more than {MAX_OUTPUT} bytes.");
            Err(attachment_refused(message, "Attach its newest messages only."))
        }
        Attachment::Output { output } => Ok(AttachmentSnapshot::Output { output: output.clone() }),
        Attachment::File { name, .. } if name.trim().is_empty() || name.len() > MAX_NAME => {
            let message = format!("The name of a file is empty, or longer than {MAX_NAME} bytes.");
            Err(attachment_refused(message, "Rename the file, and attach it again."))
        }
        Attachment::File { name, data } => {
            let bytes = BASE64_STANDARD.decode(data).map_err(|_| {
                let message = format!("{name} did not arrive whole.");
                attachment_refused(message, "Attach it again.")
            })?;
            attached_file::snapshot(name, bytes)
                .map_err(|why| attachment_refused(why, "Remove it, or attach another file."))
        }
    };
    attachments.iter().map(one).collect()
}

fn text_size(output: &StudioOutput) -> usize {
    output.messages.iter().map(|it| it.text.len()).sum()
}

/// Quotes the selected text of a script, if the script still contains it.
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

/// The maximum number of search results.
const OFFERED: usize = 12;

/// Returns the instances whose names contain the typed text, scripts first, then by the length of
/// the path. Text before a dot must be in the path too.
pub(crate) fn search_instances(scene: &Scene, typed: &str) -> Vec<FoundInstance> {
    let typed = typed.to_lowercase();
    let name = typed.rsplit('.').next().unwrap_or_default();
    let fits = |node: Node| {
        scene.name(node).to_lowercase().contains(name)
            && (name.len() == typed.len()
                || scene.path(node).to_string().to_lowercase().contains(&typed))
    };
    let nodes = scene.subtree(scene.root()).filter(|node| *node != scene.root() && fits(*node));
    let found = nodes.enumerate().map(|(position, node)| {
        (!scene.is_script(node), names_length(scene, node), position, node)
    });
    let mut found: Vec<_> = found.collect();
    if found.len() > OFFERED {
        found.select_nth_unstable(OFFERED);
        found.truncate(OFFERED);
    }
    found.sort_unstable();
    let view =
        |node| FoundInstance { target: scene.target(node), class: scene.class(node).to_owned() };
    found.into_iter().map(|(_, _, _, node)| view(node)).collect()
}

/// Returns the length of an instance's name and those of its ancestors.
fn names_length(scene: &Scene, node: Node) -> usize {
    let ancestors = std::iter::successors(Some(node), |at| scene.parent(*at));
    ancestors.map(|at| scene.name(at).len() + 1).sum()
}
