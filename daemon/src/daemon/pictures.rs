//! Pictures at the desk: which session a picture is of.

use scene_schemas::api::{Failure, SessionId};
use vector_engine::pictured::Pictured;

use super::views::away;
use super::{House, Word};
use crate::server::{PictureAsked, PictureOf, Reply};

impl House {
    /// Passes the wish for a picture on to the session that it is of.
    pub(super) fn picture(&self, of: PictureOf, asked: PictureAsked, reply: Reply<Vec<u8>>) {
        match self.pictured(of) {
            Ok((session, of)) => self.tell(&session, |_| Word::Picture(of, asked, reply)),
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    fn pictured(&self, of: PictureOf) -> Result<(SessionId, Pictured), Failure> {
        match of {
            PictureOf::Proposal(seq, when) => {
                Ok((self.session_of_entry(seq)?, Pictured::Proposal(seq, when)))
            }
            PictureOf::Place(session, path) => {
                self.sessions.get(&session).ok_or_else(away)?;
                Ok((session, Pictured::Place(path)))
            }
        }
    }
}
