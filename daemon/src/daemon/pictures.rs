//! Pictures at the desk: which session a picture is of.

use scene_schemas::api::{Failure, SessionId};
use vector_engine::render_input::PictureSubject;

use super::views::plugin_away;
use super::{DaemonActor, SessionMessage};
use crate::server::{PictureOptions, PictureTarget, Reply};

impl DaemonActor {
    /// Passes the wish for a picture on to the session that it is of.
    pub(super) fn request_picture(
        &self,
        of: PictureTarget,
        asked: PictureOptions,
        reply: Reply<Vec<u8>>,
    ) {
        match self.find_picture(of) {
            Ok((session, of)) => {
                self.send_to_session(&session, |_| SessionMessage::Picture(of, asked, reply));
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    fn find_picture(&self, of: PictureTarget) -> Result<(SessionId, PictureSubject), Failure> {
        match of {
            PictureTarget::Proposal(seq, when) => {
                Ok((self.session_of_entry(seq)?, PictureSubject::Proposal(seq, when)))
            }
            PictureTarget::Place(session, path) => {
                self.sessions.get(&session).ok_or_else(plugin_away)?;
                Ok((session, PictureSubject::Place(path)))
            }
        }
    }
}
