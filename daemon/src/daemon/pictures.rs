//! Requests for pictures: selects the session that renders one.

use scene_schemas::InstancePath;
use scene_schemas::api::{Failure, SessionId};
use scene_schemas::entry::Seq;
use vector_engine::render_input::PictureSubject;
use vector_render::ChangeSide;

use super::{DaemonActor, DaemonHandle};
use crate::session::{PictureOptions, SessionMessage};

/// The subject of a picture.
#[derive(Debug)]
pub enum PictureTarget {
    /// The changes of a proposal, before or after it.
    Proposal(Seq, ChangeSide),
    /// An open place, or the descendants of an instance in it.
    Place(SessionId, InstancePath),
}

impl DaemonHandle {
    /// Renders a picture as PNG.
    ///
    /// # Errors
    /// Its place is not open, or there is nothing to render.
    pub async fn render_picture(
        &self,
        target: PictureTarget,
        options: PictureOptions,
    ) -> Result<Vec<u8>, Failure> {
        match target {
            PictureTarget::Proposal(seq, side) => {
                let subject = PictureSubject::Proposal(seq, side);
                let find = move |daemon: &mut DaemonActor| daemon.session_of_entry(seq);
                self.forward(find, move |reply| SessionMessage::Picture(subject, options, reply))
                    .await
            }
            PictureTarget::Place(id, path) => {
                self.session(&id)?.render_picture(PictureSubject::Place(path), options).await
            }
        }
    }
}
