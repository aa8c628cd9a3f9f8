//! The Rojo projects that the daemon has open: sessions without a plugin, whose files are followed.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{House, Word, random};
use crate::engine::{EngineError, Target, joined, recover};
use crate::server::Secret;
use crate::targets::rojo::{self, Heard, Project, Watch};

/// Why a project is not served.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// It cannot be read, or what was begun in it cannot be settled.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Its files cannot be followed, or there is no thread for it.
    #[error("{project} cannot be served: {why}")]
    Watch {
        /// The project.
        project: String,
        /// Why.
        why: String,
    },
}

impl House {
    /// Opens a project: its file, or its folder. What an earlier process left unfinished in it is
    /// settled first.
    ///
    /// # Errors
    /// It is not served.
    pub fn open_project(&mut self, path: &Path) -> Result<(), NotServed> {
        let shown = path.display().to_string();
        let failed = |why: String| NotServed::Watch { project: shown.clone(), why };
        let file = Project::locate(path).map_err(|why| failed(why.to_string()))?;
        let begun = joined::put_begun_back(&self.ledger, &file)?;
        for notice in begun.into_iter().chain(recover(&self.ledger, &file)?) {
            (self.say)(&format!("note: {notice}"));
        }
        let (mut project, scene) = Project::open(&file, false).map_err(EngineError::from)?;
        for fault in project.diagnostics() {
            (self.say)(&format!("warning: {fault}"));
        }
        let (name, session_words) = (project.name(), Arc::new(OnceLock::<Sender<Word>>::new()));
        let later = Arc::clone(&session_words);
        let followers = Arc::clone(&self.followers);
        // A session that has not begun, or has ended, needs to hear nothing.
        let hear = move |heard: Heard| {
            if let Ok(mut followers) = followers.lock() {
                followers.retain(|it| it.send(Word::Files(heard.clone())).is_ok());
            }
            if let Some(words) = later.get() {
                let _ = words.send(Word::Files(heard));
            }
        };
        let watch = Watch::start(&project.roots(), hear).map_err(|why| failed(why.to_string()))?;
        project.followed_by(watch.follower());
        let opened = (Target::from(project), scene);
        let Some(session) = opened.0.place().session() else {
            return Ok(());
        };
        // Nobody holds its token: a person decides with their own.
        let token = random(24).map_err(|why| failed(why.to_string()))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        self.epoch = (now as u64).max(self.epoch + 1);
        let seat = self.board.sit(&session, self.epoch, Secret::of(&token));
        seat.stays();
        let words = self.begin(&seat, opened).map_err(|why| failed(why.to_string()))?;
        let words = session_words.get_or_init(|| words);
        // What changed between the reading and this was told to nobody.
        let _ = words.send(Word::Files(Heard::All));
        self.watches.push(watch);
        self.projects.push(file);
        (self.say)(&format!("{name} is open: `vector chat --session` talks about it."));
        let syncs = match rojo::serving(rojo::PORT) {
            Some(serving) => format!(
                "Rojo {} serves {:?} on port {}: what is written to files reaches Studio through it.",
                serving.version,
                serving.project,
                rojo::PORT
            ),
            None => format!(
                "note: no `rojo serve` answers on port {}; Studio shows what is written to files once \
                 one is connected.",
                rojo::PORT
            ),
        };
        (self.say)(&syncs);
        Ok(())
    }
}
