//! An open place that Rojo syncs with a project which is open as well: what Rojo owns goes to the
//! project's files, the rest to Studio, and both or neither is done.
//!
//! Files come first, because they can be put back without anybody's help: Studio is given its part when
//! they are written, and where it does not do it, they become what they were. What is written is ahead of
//! Studio until Rojo has synced it; until then it is laid over the mirror, so that nobody plans on what
//! is no more.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Ack, InFiles, Proposal, Warning, WarningKind};
use scene_schemas::value::canonical_json;
use scene_schemas::{Command, Fingerprint};

use super::open::ask;
use super::{Engine, EngineError, Target, recover};
use crate::core::Refusal;
use crate::core::proposal::{Blobs, attempt, parted, relocated};
use crate::core::refusal::refuse;
use crate::core::scene::{Mark, Scene, reflection};
use crate::core::workflow::{Input, Status};
use crate::targets::place::PlaceError;
use crate::targets::rojo::{self, Heard, Journal, Progress, Project};

/// The projects beside an open place, and what was written to their files.
#[derive(Debug, Default)]
pub(super) struct Joined {
    beside: Vec<Beside>,
    /// The moment before what is ahead was laid over the mirror.
    laid: Option<Mark>,
    ahead: Vec<Ahead>,
}

/// A project.
#[derive(Debug)]
struct Beside {
    project: Project,
    scene: Scene,
    /// Whether the open place is synced with it, as far as could be seen.
    is_joined: bool,
}

/// What was written to files, and Studio has not shown yet.
#[derive(Debug)]
struct Ahead {
    call: Seq,
    commands: Vec<Command>,
}

impl Joined {
    /// Nothing is known of the open place any more.
    pub(super) fn began_anew(&mut self) {
        self.laid = None;
        self.beside.iter_mut().for_each(|beside| beside.is_joined = false);
    }
}

impl Engine {
    /// Says that a project is open as well, with which the open place may be synced.
    pub fn know_project(&mut self, (project, scene): (Project, Scene)) {
        self.joined.beside.push(Beside { project, scene, is_joined: false });
    }

    /// The project that the open place is synced with.
    pub fn joined(&self) -> Option<&Project> {
        let mut beside = self.joined.beside.iter();
        beside.find(|beside| beside.is_joined).map(|beside| &beside.project)
    }

    /// Looks which project the open place is synced with, before anything is planned in it.
    pub fn look_for_project(&mut self) {
        let place = self.studio().map(|studio| studio.place().place.place_id);
        let Some(place) = place.filter(|_| self.joined().is_none() && self.scene.is_whole()) else {
            return;
        };
        let open = &self.scene;
        let is_of = |beside: &&mut Beside| beside.project.is_of(place, open, &beside.scene);
        if let Some(beside) = self.joined.beside.iter_mut().find(is_of) {
            beside.is_joined = true;
        }
    }

    /// Says of a proposal in an open place what of it goes to files.
    ///
    /// # Errors
    /// Neither files nor Studio can do it alone.
    pub(super) fn part_files(
        &mut self,
        call: Seq,
        proposal: Proposal,
    ) -> Result<Proposal, Refusal> {
        if !matches!(self.target, Target::Open(_)) {
            return Ok(proposal);
        }
        let Some(at) = self.joined.beside.iter().position(|beside| beside.is_joined) else {
            return Ok(self.warned_of_rojo(proposal));
        };
        let beside = &mut self.joined.beside[at];
        let mark = beside.scene.mark();
        let in_files = self.files_of(at, call, &proposal);
        self.joined.beside[at].scene.rollback(mark);
        let Some(in_files) = in_files? else {
            return Ok(proposal);
        };
        let own = serde_json::to_value(&in_files.commands).unwrap_or_default();
        let text = format!("{}\n{}", proposal.patch_id, canonical_json(&own));
        let patch_id = Fingerprint::of(text.as_bytes());
        Ok(Proposal { patch_id, files: Some(in_files), ..proposal })
    }

    /// What of a proposal goes to files, which is done in the project's scene afterwards, on top of all
    /// that waits.
    fn files_of(
        &mut self,
        at: usize,
        call: Seq,
        proposal: &Proposal,
    ) -> Result<Option<InFiles>, Refusal> {
        let waiting: Vec<(Seq, Vec<Command>)> = self
            .trial
            .iter()
            .filter_map(|(seq, _)| self.proposal(*seq))
            .filter_map(|(_, it)| Some((it.call, it.proposal.files.as_ref()?.commands.clone())))
            .collect();
        let Beside { project, scene, .. } = &mut self.joined.beside[at];
        for (call, commands) in waiting {
            scene.begin(call);
            for command in commands {
                let command = relocated(scene, command)?;
                attempt(scene, &command, &self.blobs)?;
            }
        }
        let before = project.changes(scene)?;
        scene.begin(call);
        let holder = |node| project.holder(node);
        let parted = parted(&proposal.commands, &self.scene, scene, &holder, &self.blobs)?;
        if parted.owned.is_empty() {
            return Ok(None);
        }
        let after = project.changes(scene)?;
        let is_new = |(name, hash): &(&String, _)| before.get(*name) != Some(*hash);
        let files = after.iter().filter(is_new).map(|(name, _)| name.clone()).collect();
        let (owned, commands) = (parted.owned, parted.commands);
        Ok(Some(InFiles { project: project.name(), owned, commands, files }))
    }

    /// Warns of a change of scripts in a place that Rojo syncs, while its project is not known here.
    fn warned_of_rojo(&self, mut proposal: Proposal) -> Proposal {
        let is_of_scripts = |command: &Command| match command {
            Command::EditScript { .. } => true,
            Command::Create { class, .. } => reflection::is_script(class),
            _ => false,
        };
        if proposal.commands.iter().any(is_of_scripts) && rojo::is_locked(&self.scene) {
            let text = "Rojo syncs this place, and what it owns is overwritten by its files. Let Vector \
                        know the project (`vector serve --project PATH`), and edits go to the files.";
            let warning = Warning { kind: WarningKind::Rojo, text: text.to_owned() };
            proposal.warnings.push(warning);
        }
        proposal
    }

    /// Writes what of an approved proposal goes to files, once it is on record; false where that was not
    /// done, which is on record then, and nothing was changed.
    pub(super) fn write_files(
        &mut self,
        (seq, call): (Seq, Seq),
        proposal: &Proposal,
        mut ack: Ack,
        session: String,
    ) -> Result<bool, EngineError> {
        let wanted = proposal.files.as_ref();
        let is_it = |it: &Beside| wanted.is_some_and(|files| files.project == it.project.name());
        let Some((at, files)) = self.joined.beside.iter().position(is_it).zip(wanted) else {
            let reason = "Its files belong to a project that is not served any more. Serve it \
                          (`vector serve --project PATH`), and ask again.";
            return self.not_written(seq, reason.to_owned());
        };
        let own = Proposal {
            commands: files.commands.clone(),
            files: None,
            after: Vec::new(),
            ..proposal.clone()
        };
        let Beside { project, scene, .. } = &mut self.joined.beside[at];
        let start = scene.mark();
        let prepared = project.prepare(scene, &[(seq, call, &own)], &self.blobs, None);
        let mut prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error @ PlaceError::Changed { .. }) => return self.moved_on(seq, at, &error),
            Err(error) => return self.not_written(seq, error.to_string()),
        };
        let Some(mut stored) = prepared.stored.take() else {
            let reason = prepared.refused.pop().map(|(_, reason)| reason).unwrap_or_default();
            return self.planned_again(seq, reason, Vec::new());
        };
        let blobs = std::mem::take(&mut stored.blobs);
        ack.files = stored.acks.pop().map(|(_, ack)| Box::new(ack));
        let acks = vec![ack];
        let applying = Input::Applying { proposals: vec![seq], file: session, before: None, acks };
        if let Err(error) = self.input_with(applying, blobs) {
            self.joined.beside[at].scene.rollback(start);
            return Err(error);
        }
        let Beside { project, scene, .. } = &mut self.joined.beside[at];
        match project.commit(stored, scene) {
            Ok(read) => {
                if let Some(read) = read {
                    *scene = read;
                }
                Ok(true)
            }
            Err(error) => {
                scene.rollback(start);
                match error {
                    PlaceError::Changed { .. } => self.moved_on(seq, at, &error),
                    error => self.not_written(seq, error.to_string()),
                }
            }
        }
    }

    /// Goes on with the files as somebody else left them.
    fn moved_on(&mut self, seq: Seq, at: usize, why: &PlaceError) -> Result<bool, EngineError> {
        let reason = format!("{why} It is planned again on what is there now.");
        // A project that cannot be read now is read again before anything is written.
        let _ = self.follow(at, &Heard::All);
        self.planned_again(seq, reason, vec![seq])
    }

    fn planned_again(
        &mut self,
        seq: Seq,
        reason: String,
        not_done: Vec<Seq>,
    ) -> Result<bool, EngineError> {
        let is_begun = self.proposal(seq).is_some_and(|(_, it)| it.status.is_pending());
        let not_done = if is_begun { Vec::new() } else { not_done };
        self.input(Input::Moved { reason, not_done })?;
        Ok(false)
    }

    fn not_written(&mut self, seq: Seq, reason: String) -> Result<bool, EngineError> {
        self.input(Input::Failed { proposals: vec![seq], reason })?;
        Ok(false)
    }

    /// Notes that a proposal is done of which Studio does nothing.
    pub(super) fn done_in_files(
        &mut self,
        (seq, call): (Seq, Seq),
        proposal: &Proposal,
    ) -> Result<(), EngineError> {
        let status = self.proposal(seq).map(|(_, it)| it.status.clone());
        if let Some(Status::Applying(ack)) = status {
            self.input(Input::Acted { proposal: seq, ack })?;
            self.is_ahead(call, proposal);
            self.retry_waiting();
        }
        Ok(())
    }

    /// Notes what is written to files and Studio has to be synced with.
    pub(super) fn is_ahead(&mut self, call: Seq, proposal: &Proposal) {
        if proposal.files.is_none() {
            return;
        }
        let commands = proposal.commands.iter().enumerate();
        let own = commands.filter(|(at, _)| proposal.is_in_files(*at)).map(|(_, command)| command);
        // Texts are laid over as the files say them.
        let is_laid = |command: &&Command| !matches!(command, Command::EditScript { .. });
        let commands = own.filter(is_laid).cloned().collect();
        self.drop_trial();
        self.joined.ahead.push(Ahead { call, commands });
    }

    /// Lays over the mirror what is written to files and Studio does not show: what was made, moved and
    /// deleted here, until it shows that or something else, and the texts of all scripts that Rojo owns.
    /// False where something has to be asked first.
    pub(super) fn lay_ahead(&mut self) -> bool {
        self.look_for_project();
        if self.joined.laid.is_some() || self.joined().is_none() {
            return true;
        }
        let mark = self.scene.mark();
        let mut ahead = std::mem::take(&mut self.joined.ahead);
        for Ahead { call, commands } in &mut ahead {
            self.scene.begin(*call);
            let mut stays = Vec::with_capacity(commands.len());
            for command in commands.iter() {
                stays.push(lay(&mut self.scene, *call, command, &self.blobs));
                let missing = self.scene.take_missing();
                if let (false, Target::Open(studio)) = (missing.is_empty(), &mut self.target) {
                    ask(studio, missing);
                    self.scene.rollback(mark);
                    self.joined.ahead = ahead;
                    return false;
                }
            }
            let mut stays = stays.into_iter();
            commands.retain(|_| stays.next() == Some(true));
        }
        ahead.retain(|it| !it.commands.is_empty());
        self.joined.ahead = ahead;
        self.joined.laid = Some(mark);
        if let Some(beside) = self.joined.beside.iter().find(|beside| beside.is_joined) {
            lay_texts(&mut self.scene, &beside.scene);
        }
        true
    }

    /// Takes back what was laid over the mirror, on which nothing is on trial.
    pub(super) fn lift_ahead(&mut self) {
        if let Some(mark) = self.joined.laid.take() {
            self.scene.rollback(mark);
        }
    }

    /// How far the files of a proposal had got when an earlier process stopped: whether they are done.
    /// Otherwise they are what they were before, and what becomes of the proposal is on record.
    pub(super) fn are_files_done(
        &mut self,
        seq: Seq,
        predicted: &Ack,
    ) -> Result<bool, EngineError> {
        let Some(step) = self.step(predicted)? else {
            return Ok(true);
        };
        match step.progress() {
            Progress::Done => Ok(true),
            Progress::NotBegun | Progress::Begun => {
                let files = self.take_files_back(predicted);
                let reason = format!(
                    "Vector was stopped while it wrote the files of this, and it is planned again.{files}"
                );
                self.input(Input::Moved { reason, not_done: vec![seq] })?;
                Ok(false)
            }
            Progress::Diverged(files) => {
                let files: Vec<String> = files.iter().map(|it| it.display().to_string()).collect();
                self.not_written(
                    seq,
                    format!(
                        "Vector was stopped while it wrote this, and somebody has changed {} since: \
                         look whether it is there, and ask for it again where it is not.",
                        files.join(", ")
                    ),
                )
            }
        }
    }

    /// The record of what a proposal did to files.
    fn step(&self, ack: &Ack) -> Result<Option<Journal>, EngineError> {
        let record = ack.files.as_ref().and_then(|ack| ack.bytes.as_ref());
        let bytes = record.map(|it| self.ledger.blob(&it.patch)).transpose()?.flatten();
        Ok(bytes.as_deref().and_then(Journal::read))
    }

    /// Puts files back where Studio did not do its part; what to say where that cannot be done whole.
    pub(super) fn take_files_back(&mut self, ack: &Ack) -> String {
        let step = match self.step(ack) {
            Ok(None) => return String::new(),
            Ok(Some(step)) => recover::put_back(&self.ledger, &step),
            Err(error) => Err(error),
        };
        for at in 0..self.joined.beside.len() {
            // A project that cannot be read now is read again before anything is written.
            let _ = self.follow(at, &Heard::All);
        }
        match step {
            Ok(()) => " Its files are what they were.".to_owned(),
            Err(error) => format!(" Not all of its files could be put back: {error}."),
        }
    }

    /// Follows in files what a person undoes in Studio, or does again there.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn undo_files(&mut self, proposal: Seq, again: bool) -> Result<(), EngineError> {
        let Some(record) = self.ledger.record(proposal)? else {
            return Ok(());
        };
        let state = super::settled::read(&self.ledger, record.workflow)?;
        let pending = state.workflow(record.workflow).and_then(|it| it.proposal(proposal));
        let Some(pending) = pending else {
            return Ok(());
        };
        match (&pending.status, &pending.proposal.files) {
            (Status::Applied(ack) | Status::Applying(ack), Some(_)) if !again => {
                self.drop_trial();
                self.joined.ahead.retain(|it| it.call != pending.call);
                self.take_files_back(ack);
            }
            (Status::Undone(_), Some(files)) if again => {
                let own = Proposal {
                    commands: files.commands.clone(),
                    files: None,
                    ..pending.proposal.clone()
                };
                let beside = &mut self.joined.beside;
                let found = beside.iter_mut().find(|it| it.project.name() == files.project);
                let Some(Beside { project, scene, .. }) = found else {
                    return Ok(());
                };
                let each = [(proposal, pending.call, &own)];
                let prepared = project.prepare(scene, &each, &self.blobs, None)?;
                if let Some(stored) = prepared.stored
                    && let Some(read) = project.commit(stored, scene)?
                {
                    *scene = read;
                }
                self.is_ahead(pending.call, &pending.proposal);
            }
            _ => {}
        }
        Ok(())
    }

    /// Follows the files of the projects beside an open place: what waits for a yes is tried again on
    /// them, and what would change a file that is another one now is planned again.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn follow_beside(&mut self, heard: &Heard) -> Result<(), EngineError> {
        for at in 0..self.joined.beside.len() {
            // A project that cannot be read now is read again before anything is written.
            if self.follow(at, heard).unwrap_or(false) {
                self.withdraw_of(at)?;
                self.retry_waiting();
            }
        }
        Ok(())
    }

    fn follow(&mut self, at: usize, heard: &Heard) -> Result<bool, PlaceError> {
        let beside = &mut self.joined.beside[at];
        let Some(scene) = beside.project.follow(heard)? else {
            return Ok(false);
        };
        beside.scene = scene;
        Ok(true)
    }

    /// Has planned again what was planned on files that are others now.
    fn withdraw_of(&mut self, at: usize) -> Result<(), EngineError> {
        let name = self.joined.beside[at].project.name();
        let waiting: Vec<(Seq, Vec<Command>)> = self
            .proposals()
            .into_iter()
            .filter(|(_, it)| it.status == Status::Waiting)
            .filter_map(|(seq, it)| Some((seq, it.proposal.files.as_ref()?)))
            .filter(|(_, files)| files.project == name)
            .map(|(seq, files)| (seq, files.commands.clone()))
            .collect();
        for (seq, commands) in waiting {
            let Beside { scene, .. } = &mut self.joined.beside[at];
            let mark = scene.mark();
            let fits = fits(scene, commands, &self.blobs);
            scene.rollback(mark);
            let Some((workflow, _)) = self.proposal(seq).filter(|_| fits.is_err()) else {
                continue;
            };
            let reason = "A file that this changes was changed, and it is planned again.";
            let moved = Input::Moved { reason: reason.to_owned(), not_done: Vec::new() };
            self.in_turn_of(workflow, |engine| engine.input(moved))?;
        }
        Ok(())
    }
}

/// Whether commands can be done as they were planned. Only a text says what it was, so nothing else
/// counts as unchanged.
fn fits(scene: &mut Scene, commands: Vec<Command>, blobs: &Blobs) -> Result<(), Refusal> {
    for command in commands {
        if matches!(command, Command::Delete { .. } | Command::Set { .. }) {
            return refuse!("{} may be another by now.", command.target().path);
        }
        let command = relocated(scene, command)?;
        attempt(scene, &command, blobs)?;
    }
    Ok(())
}

/// Lays the texts of files over the mirror, where it shows others.
fn lay_texts(open: &mut Scene, files: &Scene) {
    let scripts = files.subtree(files.root()).filter(|node| files.is_script(*node));
    for script in scripts {
        let Ok(shown) = open.resolve(&files.path(script)) else {
            continue;
        };
        let text = files.source(script).unwrap_or_default();
        let is_other = || open.source_if_known(shown).as_deref() != Some(&*text);
        if open.class(shown) == files.class(script) && is_other() {
            open.set_source(shown, text.into_owned());
        }
    }
}

/// Lays a command over the mirror; false where Studio shows it, or something else that was done there.
fn lay(scene: &mut Scene, call: Seq, command: &Command, blobs: &Blobs) -> bool {
    let Ok(command) = relocated(scene, command.clone()) else {
        return false;
    };
    if let Command::Create { id, parent, name, .. }
    | Command::Clone { id, parent, name, .. }
    | Command::Restore { id, parent, name, .. } = &command
        && let Ok(parent) = scene.locate(parent)
        && let Some(made) = scene.child(parent, name)
    {
        let k = id.0.strip_prefix("new:").and_then(|k| k.parse().ok());
        let real = scene.id(made);
        if let Some(k) = k {
            scene.known_as(call, k, &real);
        }
        return false;
    }
    attempt(scene, &command, blobs).is_ok()
}
