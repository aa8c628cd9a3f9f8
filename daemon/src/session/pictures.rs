//! Pictures of a session. Their input is gathered on the session's thread, and they are drawn on a
//! separate one, so that a large picture delays nothing else.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use scene_schemas::api::{Failure, FailureKind};
use scene_schemas::entry::Seq;
use vector_engine::EngineError;
use vector_engine::render_input::{DrawInput, PictureSubject};
use vector_render::BeforeAfter;

use super::{PictureOptions, Reply, SessionActor, engine_failure};
use crate::event_hub::AWAY;
use crate::failure::failure;

/// The number of rounds of questions to Studio before a picture is refused.
const MAX_ROUNDS: usize = 16;
/// The number of pictures that may wait for Studio at once.
const MAX_WAITING: usize = 32;

/// One picture is drawn at a time, across all sessions.
static PEN: Mutex<()> = Mutex::new(());

/// A picture that waits for answers of Studio.
#[derive(Debug)]
pub(super) struct DrawRequest {
    subject: PictureSubject,
    options: PictureOptions,
    rounds: usize,
    reply: Reply<Vec<u8>>,
}

/// The pictures that wait for answers of Studio, and the input of the last drawing.
#[derive(Debug, Default)]
pub(super) struct PendingPictures {
    requests: Vec<DrawRequest>,
    /// Both sides of a proposal as of a ledger position: usually both are requested.
    last_sides: Option<(Seq, Seq, Arc<BeforeAfter>)>,
}

impl PendingPictures {
    /// Discards the last input, as the place may have changed.
    pub(super) fn invalidate(&mut self) {
        self.last_sides = None;
    }
}

impl SessionActor {
    pub(super) fn queue_picture(
        &mut self,
        of: PictureSubject,
        options: PictureOptions,
        reply: Reply<Vec<u8>>,
    ) {
        if self.pictures.requests.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} pictures of this place are being rendered.");
            let hint = "Wait until they are done.";
            return drop(reply.send(Err(failure(FailureKind::TooMany, message, hint))));
        }
        self.pictures.requests.push(DrawRequest { subject: of, options, rounds: 0, reply });
    }

    /// Draws the pictures whose input is complete.
    pub(super) fn draw_pending(&mut self) {
        for mut wanted in std::mem::take(&mut self.pictures.requests) {
            if wanted.reply.is_closed() {
                continue;
            }
            wanted.rounds += 1;
            let is_away = self.engine.studio().is_some() && self.slot.silence_duration() > AWAY;
            match self.gather_drawing(&wanted.subject) {
                Ok(Some(drawing)) => draw_picture(drawing, wanted.options, wanted.reply),
                Ok(None) if is_away || wanted.rounds > MAX_ROUNDS => {
                    let message = "Studio does not send the place's appearance.";
                    let hint = "Check that its plugin is connected, then try again.";
                    let failure = failure(FailureKind::NotFound, message, hint);
                    let _ = wanted.reply.send(Err(failure));
                }
                Ok(None) => self.pictures.requests.push(wanted),
                Err(error) => drop(wanted.reply.send(Err(no_picture(&error)))),
            }
        }
    }

    /// Returns the input of a picture, reusing the last one if it still applies.
    fn gather_drawing(&mut self, of: &PictureSubject) -> Result<Option<DrawInput>, EngineError> {
        let now = self.engine.last_position();
        if let (PictureSubject::Proposal(seq, when), Some((last, at, sides))) =
            (of, &self.pictures.last_sides)
            && (seq, &now) == (last, at)
        {
            return Ok(Some(DrawInput::Side(Arc::clone(sides), *when)));
        }
        let drawing = self.engine.gather_drawing(of)?;
        if let (PictureSubject::Proposal(seq, _), Some(DrawInput::Side(sides, _))) = (of, &drawing)
        {
            self.pictures.last_sides = Some((*seq, now, Arc::clone(sides)));
        }
        Ok(drawing)
    }
}

fn no_picture(error: &EngineError) -> Failure {
    match error {
        EngineError::Refused(refusal) => {
            let hint = "Request another picture, or try again after the place has changed.";
            failure(FailureKind::NotFound, refusal.0.clone(), hint)
        }
        error => engine_failure(error),
    }
}

fn draw_picture(
    drawing: DrawInput,
    PictureOptions { view, size }: PictureOptions,
    reply: Reply<Vec<u8>>,
) {
    let draw = move || {
        // A panic leaves nothing behind in the empty lock.
        let _pen = PEN.lock().unwrap_or_else(PoisonError::into_inner);
        if reply.is_closed() {
            return;
        }
        let drawn = drawing.draw(view, (size, size)).and_then(|picture| picture.to_png());
        let drawn = drawn.map_err(|refusal| no_picture(&EngineError::Refused(refusal)));
        let _ = reply.send(drawn);
    };
    // If no thread can be started, the reply is dropped, which reports a failure.
    let _ = thread::Builder::new().name("picture".to_owned()).spawn(draw);
}
