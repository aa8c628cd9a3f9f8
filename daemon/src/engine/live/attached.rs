//! What a person attaches to a request: it is looked at before the request is taken, and written down
//! as it was then.
//!
//! The mirror may be a moment behind. Where a text is not what the person says that it was, Studio is
//! asked once before anybody is told that it has changed.

use scene_schemas::api::{
    Answer, Attachment, Chat, Failure, FailureKind, ScenePart, ScriptText, Started, Wanted,
};
use scene_schemas::entry::Attached;
use scene_schemas::proposal::Mode;
use scene_schemas::{Fingerprint, InstanceId, Target};

use super::{Asked, Driver, Live};
use crate::core::scene::{Node, Scene};
use crate::providers::Provider;
use crate::server::{Reply, failed};

/// More than this is refused.
const MAX_ATTACHED: usize = 20;

/// A request that waits until Studio has told the texts that it quotes.
pub(super) struct Quoting {
    chat: Chat,
    mode: Mode,
    reply: Reply<Started>,
    /// The number of the question.
    asked: u64,
}

impl Live {
    /// Takes a request, or asks Studio first for the texts that it quotes.
    pub(super) fn chat(&mut self, chat: Chat, mode: Mode, reply: Reply<Started>) {
        if self.quoting.is_some() {
            let message = "Another request is being looked at in this place.";
            let _ =
                reply.send(Err(failed(FailureKind::Settled, message, "Ask again in a moment.")));
            return;
        }
        if let Some((studio, scene)) = &mut self.idle {
            let unsure = unsure(scene, &chat.attached);
            if !unsure.is_empty() {
                let asked = studio.ask(Wanted::Sources { ids: unsure });
                self.quoting = Some(Quoting { chat, mode, reply, asked });
                return;
            }
        }
        self.begin_chat(chat, mode, reply, &[]);
    }

    /// Hears whether Studio tells the texts that a request waits for.
    pub(super) fn told_quoted(&mut self, part: &ScenePart) {
        let ScenePart::Answered { work, answer } = part else {
            return;
        };
        let Some(Quoting { chat, mode, reply, .. }) =
            self.quoting.take_if(|quoting| quoting.asked == *work)
        else {
            return;
        };
        let texts = match answer {
            Answer::Sources { scripts } => scripts.as_slice(),
            _ => &[],
        };
        if let Some((studio, scene)) = &mut self.idle {
            studio.answered(*work);
            scene.know_sources(texts);
        }
        self.begin_chat(chat, mode, reply, texts);
    }

    /// The plugin began anew, and will not answer.
    pub(super) fn drop_quoting(&mut self) {
        if let Some(quoting) = self.quoting.take() {
            let message = format!("Session {} began anew.", self.session);
            let _ =
                quoting.reply.send(Err(failed(FailureKind::Stale, message, "Ask for it again.")));
        }
    }

    fn begin_chat(&mut self, chat: Chat, mode: Mode, reply: Reply<Started>, told: &[ScriptText]) {
        let attached = match &self.idle {
            Some((_, scene)) => attached(scene, &chat.attached, told),
            // Something is at work, and the request is refused for that.
            None => Ok(Vec::new()),
        };
        let driver = Driver::Provider(Provider::Offline);
        let started = attached.and_then(|attached| {
            self.start(Asked { goal: chat.text, attached }, driver, mode, |_| {})
        });
        let _ = reply.send(started);
    }
}

/// The scripts whose texts are not known to be those that were quoted.
fn unsure(scene: &mut Scene, attachments: &[Attachment]) -> Vec<InstanceId> {
    let mut ids: Vec<InstanceId> = Vec::new();
    for attachment in attachments {
        if let Attachment::Text { id, hash, .. } = attachment
            && let Some(node) = found(scene, id)
            && scene.text_fingerprint(node).is_some_and(|now| now != *hash)
            && !ids.contains(id)
        {
            ids.push(id.clone());
        }
    }
    // What the mirror misses is asked for here.
    let _ = scene.take_missing();
    ids
}

fn found(scene: &Scene, id: &InstanceId) -> Option<Node> {
    scene.by_id(id).filter(|node| scene.is_live(*node))
}

fn refused(message: String, hint: &str) -> Failure {
    failed(FailureKind::Settled, message, hint)
}

/// What was attached, as it is in the place.
fn attached(
    scene: &Scene,
    attachments: &[Attachment],
    told: &[ScriptText],
) -> Result<Vec<Attached>, Failure> {
    if attachments.len() > MAX_ATTACHED {
        let message = format!("At most {MAX_ATTACHED} things can be attached to one request.");
        return Err(refused(message, "Take some off."));
    }
    let one = |attachment: &Attachment| {
        let (Attachment::Instance { id } | Attachment::Text { id, .. }) = attachment;
        let Some(node) = found(scene, id) else {
            let message = "Something that you attached is not in the place any more.".to_owned();
            return Err(refused(message, "Take it off, and select what you mean again."));
        };
        let target = scene.target(node);
        match attachment {
            Attachment::Instance { .. } => {
                Ok(Attached::Instance { target, class: scene.class(node).to_owned() })
            }
            Attachment::Text { hash, selected, .. } => {
                let told = told.iter().find(|text| text.id == *id);
                quoted(scene, node, (target, hash, selected), told)
            }
        }
    };
    attachments.iter().map(one).collect()
}

/// Text that was selected in a script, where it stands there still.
fn quoted(
    scene: &Scene,
    node: Node,
    (target, hash, selected): (Target, &Fingerprint, &str),
    told: Option<&ScriptText>,
) -> Result<Attached, Failure> {
    let path = &target.path;
    let Some(text) = scene.source(node) else {
        let message = format!("{path} is no script, so no text of it can be attached.");
        return Err(refused(message, "Attach the instance itself."));
    };
    if Fingerprint::of(text.as_bytes()) != *hash {
        let message = if told.is_some_and(|told| told.is_dirty) {
            format!("{path} has an unsaved draft that has changed since you selected this.")
        } else {
            format!("{path} has changed since you selected this.")
        };
        return Err(refused(message, "Select it again."));
    }
    let mut places = text.match_indices(selected);
    let Some((at, _)) = places.next().filter(|_| !selected.is_empty()) else {
        let message = format!("What you attached does not stand in {path}.");
        return Err(refused(message, "Select it again."));
    };
    let line = text[..at].matches('\n').count() as u32 + 1;
    let line = places.next().is_none().then_some(line);
    Ok(Attached::Text { target, hash: hash.clone(), line, selected: selected.to_owned() })
}
