//! What a person attaches to a request: it is looked at before the request is taken, and written down
//! as it was then.
//!
//! The plugin says the text of a script once more before it sends what was selected in it, so that the
//! mirror is not behind. Nobody is asked here: a plugin that waits for its answer says nothing meanwhile.

use scene_schemas::api::{Attachment, Chat, Failure, FailureKind, Started};
use scene_schemas::entry::{Attached, Seq, Stance};
use scene_schemas::proposal::Mode;
use scene_schemas::{Fingerprint, InstanceId, Target};

use super::{Asked, Driver, Live, wrong};
use crate::core::scene::{Node, Scene};
use crate::core::workflow::Input;
use crate::engine::{asked, thread};
use crate::providers::Provider;
use crate::server::{Verb, failed};

/// More than this is refused.
const MAX_ATTACHED: usize = 20;
/// How many requests are remembered, for the case that one is made again.
const REMEMBERED: usize = 100;

impl Live {
    /// Takes a request with what was attached to it.
    pub(super) fn chat(
        &mut self,
        chat: Chat,
        mode: Mode,
        model: Option<&str>,
    ) -> Result<Started, Failure> {
        let known = self.requests.iter().find(|(name, _)| Some(name) == chat.request.as_ref());
        if let Some((_, workflow)) = known {
            return Ok(Started { workflow: *workflow });
        }
        let request = chat.request.clone();
        let started = self.said(chat, mode, model)?;
        if let Some(name) = request {
            self.requests.push_back((name, started.workflow));
            while self.requests.len() > REMEMBERED {
                self.requests.pop_front();
            }
        }
        Ok(started)
    }

    /// Begins a task with what a person says, or goes on with one.
    fn said(&mut self, chat: Chat, mode: Mode, model: Option<&str>) -> Result<Started, Failure> {
        // A person points at what is there, and not at what is proposed.
        let scene = self.engine.told();
        let attached = attached(scene, &chat.attached);
        // What the mirror misses is not asked for.
        let _ = scene.take_missing();
        let attached = attached?;
        let driver = match self.driver_of(model) {
            Driver::Missing { why, .. } => {
                let hint = "Mend that, or choose another model in the settings.";
                return Err(failed(FailureKind::Provider, why, hint));
            }
            driver => driver,
        };
        let Driver::Provider(Provider::Model(models)) = &driver else {
            let (place, stance) = (self.engine.place(), chat.stance);
            let follows = thread::planned(&self.ledger, &place, (&chat.text, stance))
                .map_err(|error| wrong(&error.into()))?;
            let asked = Asked { goal: chat.text, attached, stance, follows };
            return self.start(asked, driver, mode, |_| {});
        };
        let models = models.clone();
        let place = self.engine.place();
        let mut follows = thread::last(&self.ledger, &place, asked::now())
            .map_err(|error| wrong(&error.into()))?;
        let at_work = follows.filter(|it| self.engine.is_at_work(*it));
        if chat.begins {
            if let Some(workflow) = at_work {
                self.act(workflow, Verb::Cancel, None)?;
            }
            let cleared = thread::clear(&self.ledger, &place, asked::now());
            cleared.map_err(|error| wrong(&error.into()))?;
            follows = None;
        } else if let Some(workflow) = at_work {
            return self.says_more(workflow, chat, attached, driver);
        }
        let asked = Asked { goal: chat.text, attached, stance: chat.stance, follows };
        asked::fits(&models, &asked).map_err(|why| {
            failed(FailureKind::TooLarge, why, "Say it shorter, or choose another model.")
        })?;
        self.start(asked, driver, mode, |_| {})
    }

    /// Says more in a task that is at work: it is read with the next request, or answers the question
    /// that is open.
    fn says_more(
        &mut self,
        workflow: Seq,
        chat: Chat,
        attached: Vec<Attached>,
        driver: Driver,
    ) -> Result<Started, Failure> {
        self.engine.turn_to(workflow);
        let stance = self.engine.workflow().map_or(Stance::Act, |it| it.stance);
        if chat.stance != stance && chat.stance != Stance::Act {
            let message = "The task before is still at work.";
            return Err(failed(
                FailureKind::Settled,
                message,
                "Stop it first, on the page or with /stop.",
            ));
        }
        if let Some(job) = self.jobs.get_mut(&workflow) {
            job.stopped = false;
        }
        if self.engine.has_trouble() {
            // Whoever was not to be asked may not be the one who is chosen now.
            self.engine.drive(driver);
        }
        let said = Input::Asked { text: chat.text, attached };
        self.engine.input(said).map_err(|error| wrong(&error))?;
        Ok(Started { workflow })
    }
}

fn found(scene: &Scene, id: &InstanceId) -> Option<Node> {
    scene.by_id(id).filter(|node| scene.is_live(*node))
}

fn refused(message: String, hint: &str) -> Failure {
    failed(FailureKind::Settled, message, hint)
}

/// What was attached, as it is in the place.
fn attached(scene: &Scene, attachments: &[Attachment]) -> Result<Vec<Attached>, Failure> {
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
                quoted(scene, node, (target, hash, selected))
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
) -> Result<Attached, Failure> {
    let path = &target.path;
    let Some(text) = scene.source(node) else {
        let message = format!("{path} is no script, so no text of it can be attached.");
        return Err(refused(message, "Attach the instance itself."));
    };
    if Fingerprint::of(text.as_bytes()) != *hash {
        let message = if scene.has_draft(node) {
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
