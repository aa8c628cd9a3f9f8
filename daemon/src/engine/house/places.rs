//! The place and model files that the daemon has open. Somebody else may change one at any time: it is
//! looked at before anything is said of it, and a watch has that done soon after it has changed.

use std::fs;
use std::path::Path;

use scene_schemas::api::Opened;

use super::opened::{NotOpened, deep};
use super::{House, Word};
use crate::engine::{EngineError, recover};
use crate::targets::place::{self, PlaceFile};
use crate::targets::rojo::Watch;

impl House {
    /// Opens a place or model file, which is written in place. What an earlier process left unfinished in
    /// it is settled first.
    ///
    /// # Errors
    /// It is not opened.
    pub fn open_place(&mut self, path: &Path) -> Result<Opened, NotOpened> {
        // Whatever else it is, reading it may never end.
        match fs::metadata(path) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                return Err(NotOpened::Missing(path.to_owned()));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Err(NotOpened::NoFile(path.to_owned()));
            }
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(NotOpened::ReadOnly(path.to_owned()));
            }
            // Why it cannot be read is said by whoever reads it.
            _ => {}
        }
        let file = place::real(path).map_err(|error| NotOpened::Engine(error.into()))?;
        if let Some(opened) = self.known(&file) {
            return Ok(opened);
        }
        let failed = |why: String| NotOpened::NotServed { file: file.display().to_string(), why };
        let ledger = &self.ledger;
        let read = deep(|| Ok((recover(ledger, &file)?, PlaceFile::open(&file, None)?)));
        let read: Result<_, EngineError> = read.map_err(|why| failed(why.to_string()))?;
        let (notices, (target, scene)) = read?;
        for notice in notices {
            (self.say)(&format!("note: {notice}"));
        }
        let (opened, words) =
            self.begin_here((target.into(), scene)).map_err(|why| failed(why.to_string()))?;
        // A session that has ended needs to hear nothing.
        let hear = move |heard| drop(words.send(Word::Files(heard)));
        match Watch::start(std::slice::from_ref(&file), hear) {
            Ok(watch) => self.watches.push(watch),
            Err(why) => (self.say)(&format!(
                "note: {why}. What others change in it is seen when you next ask or decide something."
            )),
        }
        (self.say)(&format!(
            "{} is open: `vector chat --session {}` talks about it.",
            opened.name, opened.session
        ));
        Ok(opened)
    }
}
