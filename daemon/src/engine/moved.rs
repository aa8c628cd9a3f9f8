//! Going on with files that somebody else has changed: they are read again, what still fits stays, and
//! the rest is planned anew.

use scene_schemas::entry::Seq;

use super::{Engine, EngineError, Target};
use crate::core::code;
use crate::core::workflow::Input;
use crate::targets::place::PlaceError;
use crate::targets::rojo::Heard;

impl Engine {
    /// Reads the files of a project anew, where somebody else has changed them. What waits is tried again
    /// on them, and what does not fit any more is planned again.
    ///
    /// # Errors
    /// The project cannot be read now; what is known of it stays.
    pub fn read_again(&mut self, heard: &Heard) -> Result<(), EngineError> {
        let Target::Project(project) = &mut self.target else {
            return Ok(());
        };
        let Some(scene) = project.follow(heard)? else {
            return Ok(());
        };
        self.drop_trial();
        let waiting: Vec<Seq> = self.proposals().into_iter().map(|(seq, _)| seq).collect();
        let taken = self.taken(&waiting);
        code::hand_over(&self.scene, &scene);
        self.scene = scene;
        self.retry_waiting();
        self.withdraw_changed(&taken)
    }

    /// Goes on with the file as somebody else left it: what is pending is planned again on it.
    pub(super) fn moved(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        let (target, scene) = match self.target.reopen() {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => return self.failed(proposals.to_vec(), error),
            None => {
                let file = self.target.output();
                return self.failed(proposals.to_vec(), PlaceError::Changed { file });
            }
        };
        let taken = self.taken(proposals);
        for seq in proposals {
            self.remember(*seq);
            // What a later one saw, it saw with this one done. One that cannot be done was refused.
            let _ = self.redo(&[*seq]);
        }
        self.moves += 1;
        self.trial.clear();
        code::hand_over(&self.scene, &scene);
        (self.target, self.scene) = (target, scene);
        if matches!(self.target, Target::Project(_)) {
            self.retry_waiting();
            if self.taken(proposals) == taken && self.still_fit(proposals) {
                return Ok(());
            }
        }
        let reason = "The file was changed by somebody else, and this is planned again on it.";
        let not_done = proposals.to_vec();
        self.input(Input::Moved { reason: reason.to_owned(), not_done }).map(drop)
    }
}
