//! The Rojo projects that the daemon has open: sessions without a plugin, whose files are followed.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, OnceLock};

use scene_schemas::api::Opened;

use super::opened::NotOpened;
use super::{House, Word};
use crate::engine::{EngineError, Target, joined, recover};
use crate::targets::place::PlaceError;
use crate::targets::rojo::{self, Heard, Project, Watch};

impl House {
    /// Opens a project: its file, or its folder. What an earlier process left unfinished in it is
    /// settled first.
    ///
    /// # Errors
    /// It is not opened.
    pub fn open_project(&mut self, path: &Path) -> Result<Opened, NotOpened> {
        let shown = path.display().to_string();
        let failed = |why: String| NotOpened::NotServed { file: shown.clone(), why };
        let file = Project::locate(path).map_err(|why| EngineError::from(PlaceError::from(why)))?;
        if let Some(opened) = self.known(&file) {
            return Ok(opened);
        }
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
        let (opened, words) = self.begin_here(opened).map_err(|why| failed(why.to_string()))?;
        let words = session_words.get_or_init(|| words);
        // What changed between the reading and this was told to nobody.
        let _ = words.send(Word::Files(Heard::All));
        self.watches.push(watch);
        for session in self.sessions.values().filter(|it| it.place.open().is_some()) {
            let _ = session.words.send(Word::Beside(file.clone()));
        }
        self.projects.push(file);
        (self.say)(&format!(
            "{name} is open: `vector chat --session {}` talks about it.",
            opened.session
        ));
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
        Ok(opened)
    }
}
