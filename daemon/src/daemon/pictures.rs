//! Requests for pictures: selects the session that renders one.

use scene_schemas::InstancePath;
use scene_schemas::api::{Failure, SessionId};
use scene_schemas::entry::Seq;
use vector_engine::render_input::PictureSubject;
use vector_render::ChangeSide;

use super::DaemonHandle;
use crate::session::PictureOptions;

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
        let (session, subject) = match target {
            PictureTarget::Proposal(seq, side) => {
                (self.session_of_entry(seq).await?, PictureSubject::Proposal(seq, side))
            }
            PictureTarget::Place(id, path) => (self.session(&id)?, PictureSubject::Place(path)),
        };
        session.render_picture(subject, options).await
    }
}
