//! Pictures of a session. Their input is gathered on the session's thread, in slices between which
//! it does other work, and they are drawn on a separate one, so that a large picture delays nothing
//! else.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use scene_schemas::api::{Failure, FailureKind};
use scene_schemas::entry::Seq;
use vector_engine::EngineError;
use vector_engine::proposal_solids::ProposalSolids;
use vector_engine::render_input::{DrawInput, DrawingProgress, DrawingStep, PictureSubject};

use super::{PictureOptions, Reply, SessionActor, engine_failure};
use crate::event_hub::AWAY;
use crate::failure::failure;

/// The number of rounds of questions to Studio before a picture is refused.
const MAX_ROUNDS: usize = 16;
/// The number of pictures that may wait for Studio at once.
const MAX_WAITING: usize = 32;

/// One picture is drawn at a time, across all sessions.
static PEN: Mutex<()> = Mutex::new(());

/// A picture whose input is not complete.
#[derive(Debug)]
pub(super) struct DrawRequest {
    subject: PictureSubject,
    options: PictureOptions,
    progress: DrawingProgress,
    /// The number of rounds of questions to Studio.
    rounds: usize,
    reply: Reply<Vec<u8>>,
}

/// The pictures whose input is not complete, and the input of the last drawing.
#[derive(Debug, Default)]
pub(super) struct PendingPictures {
    requests: Vec<DrawRequest>,
    /// Both sides of a proposal as of a ledger position: usually both are requested.
    last_sides: Option<(Seq, Seq, Arc<ProposalSolids>)>,
    /// Whether a picture can be continued without an answer of Studio.
    has_more: bool,
}

impl PendingPictures {
    /// Discards the last input, as the place may have changed.
    pub(super) fn invalidate(&mut self) {
        self.last_sides = None;
    }

    /// Whether a picture can be continued without an answer of Studio.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
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
        let progress = DrawingProgress::default();
        let request = DrawRequest { subject: of, options, progress, rounds: 0, reply };
        self.pictures.requests.push(request);
    }

    /// Gathers a slice of the input of a picture, and draws those whose input is complete.
    pub(super) fn draw_pending(&mut self) {
        self.pictures.has_more = false;
        for mut wanted in std::mem::take(&mut self.pictures.requests) {
            if wanted.reply.is_closed() {
                continue;
            }
            if self.pictures.has_more {
                // One slice at a time.
                self.pictures.requests.push(wanted);
                continue;
            }
            let is_away = self.engine.studio().is_some() && self.slot.silence_duration() > AWAY;
            match self.gather_drawing(&wanted.subject, &mut wanted.progress) {
                Ok(DrawingStep::Ready(drawing)) => {
                    draw_picture(drawing, wanted.options, wanted.reply);
                }
                Ok(DrawingStep::Unfinished) => {
                    self.pictures.has_more = true;
                    self.pictures.requests.push(wanted);
                }
                Ok(DrawingStep::WaitsForStudio) if is_away || wanted.rounds >= MAX_ROUNDS => {
                    let message = "Studio does not send the place's appearance.";
                    let hint = "Check that its plugin is connected, then try again.";
                    let failure = failure(FailureKind::NotFound, message, hint);
                    let _ = wanted.reply.send(Err(failure));
                }
                Ok(DrawingStep::WaitsForStudio) => {
                    wanted.rounds += 1;
                    self.pictures.requests.push(wanted);
                }
                Err(error) => drop(wanted.reply.send(Err(no_picture(&error)))),
            }
        }
    }

    /// Continues the input of a picture, reusing the last one if it still applies.
    fn gather_drawing(
        &mut self,
        of: &PictureSubject,
        progress: &mut DrawingProgress,
    ) -> Result<DrawingStep, EngineError> {
        let now = self.engine.last_position();
        if let (PictureSubject::Proposal(seq, when), Some((last, at, sides))) =
            (of, &self.pictures.last_sides)
            && (seq, &now) == (last, at)
        {
            return Ok(DrawingStep::Ready(DrawInput::Side(Arc::clone(sides), *when)));
        }
        let step = self.engine.gather_drawing(of, progress)?;
        if let (PictureSubject::Proposal(seq, _), DrawingStep::Ready(DrawInput::Side(sides, _))) =
            (of, &step)
        {
            self.pictures.last_sides = Some((*seq, now, Arc::clone(sides)));
        }
        Ok(step)
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
