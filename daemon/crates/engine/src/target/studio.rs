//! A place that is open in Studio: the work for the plugin, and the interpretation of its results.
//!
//! Work stays queued until it is answered. Before a proposal is sent, its effect is recorded from
//! the mirror: the actions, their predicted results, and their inverse. This module does not know
//! how the plugin is reached.

mod created_ids;
mod observation;
mod request_questions;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use scene_schemas::Refusal;
use scene_schemas::api::{
    Action, ActionResult, Apply, PluginAnswer, PluginQuery, PropertyQuery, Work,
};
use scene_schemas::command::Props;
use scene_schemas::entry::{Place, Seq, StudioPlace};
use scene_schemas::playtest::Playtest;
use scene_schemas::proposal::{Ack, Outcome, Proposal, Warning, WarningKind};
use scene_schemas::refusal::refuse;
use scene_schemas::{Command, Fingerprint, InstanceId, Target, Value};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, build_inverse, perform_command, try_command};
use vector_files::memory_file::MemoryFile;
use vector_place::{MissingFacts, Node, Scene, reflection};

use self::created_ids::{CreatedIds, created_instances, use_studio_ids, visit_reference};
pub(crate) use self::observation::{ObservedState, observe_proposal};
pub use self::request_questions::AwaitedAnswer;
use self::request_questions::RequestQuestions;
use super::{CompletedPlan, LiveDriver, PlanContext, TargetDriver};
use crate::EngineError;

/// How many instances one question may cover.
const MAX_INSTANCES: usize = 1_000;
/// The longest text that fits into a message, in bytes.
const MAX_TEXT: usize = 600_000;

/// An open place, and the work that its plugin has not answered.
#[derive(Debug, Clone)]
pub struct StudioTarget {
    place: StudioPlace,
    next: u64,
    work: Vec<Work>,
    /// The questions that the requests of persons ask. Boxed to keep targets small.
    request_questions: Box<RequestQuestions>,
    /// The calls whose playtests are queued, each with the number of its work.
    playtests: Vec<(u64, Seq)>,
    /// The queued proposals whose effect the mirror showed in part before they were queued.
    partly_shown: BTreeSet<Seq>,
    created_ids: Box<CreatedIds>,
    /// The results that the plugin has reported so far of the proposal that it applied.
    first_results: Option<(Seq, Vec<ActionResult>)>,
    /// The folder with the memory files of open places.
    memory_folder: PathBuf,
}

/// A proposal as actions for Studio.
#[derive(Debug)]
pub struct PreparedActions {
    pub actions: Vec<Action>,
    /// The predicted ack, with the ids that the proposal uses.
    pub ack: Ack,
}

impl StudioTarget {
    /// Creates a target without work. `memory_folder` holds the memory files of open places.
    pub fn new(place: StudioPlace, memory_folder: PathBuf) -> Self {
        Self {
            place,
            next: 1,
            work: Vec::new(),
            request_questions: Box::default(),
            playtests: Vec::new(),
            partly_shown: BTreeSet::new(),
            created_ids: Box::default(),
            first_results: None,
            memory_folder,
        }
    }

    /// Returns the path of the place's memory file. All unpublished places have place id 0, so
    /// their file is named after the Studio session.
    pub fn memory_file(&self) -> PathBuf {
        let name = match self.place.place.place_id {
            0 => {
                let window = Fingerprint::hash_bytes(self.place.session.0.as_bytes());
                format!("window-{}.md", window.short_hex())
            }
            id => format!("place-{id}.md"),
        };
        self.memory_folder.join(name)
    }

    /// Replaces the description of the open place.
    pub fn update_place(&mut self, place: StudioPlace) {
        self.place = place;
    }

    pub fn studio_place(&self) -> &StudioPlace {
        &self.place
    }

    pub(crate) fn created_ids(&self) -> &CreatedIds {
        &self.created_ids
    }

    pub(crate) fn created_ids_mut(&mut self) -> &mut CreatedIds {
        &mut self.created_ids
    }

    /// Returns the unanswered work, in order.
    pub fn work(&self) -> &[Work] {
        &self.work
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub fn request(&mut self, wanted: PluginQuery) -> u64 {
        let number = self.next_number();
        self.work.push(Work::Query { number, query: wanted });
        number
    }

    /// Asks something for a person's request.
    pub fn request_for_person(&mut self, wanted: PluginQuery) -> AwaitedAnswer {
        let number = self.request(wanted);
        self.request_questions.add(number)
    }

    /// Drops the questions of requests whose answers nobody waits for any more.
    pub(crate) fn drop_abandoned(&mut self) {
        for number in self.request_questions.take_abandoned() {
            self.take_answer(number);
        }
    }

    /// Returns the unanswered questions of plans, in order.
    pub fn plan_questions(&self) -> impl Iterator<Item = &PluginQuery> {
        self.work.iter().filter(|work| self.is_plan_question(work)).filter_map(|work| match work {
            Work::Query { query, .. } => Some(query),
            Work::Apply { .. } | Work::Playtest { .. } | Work::EndPlaytest { .. } => None,
        })
    }

    /// Passes on the answer to a question of a person's request. Returns false if it is none.
    pub(crate) fn answer_request(&mut self, number: u64, answer: &PluginAnswer) -> bool {
        let is_its = self.request_questions.answer(number, answer);
        if is_its {
            self.take_answer(number);
        }
        is_its
    }

    /// Requests missing facts, in chunks.
    pub(crate) fn request_missing(&mut self, missing: MissingFacts) {
        for of in missing.properties.chunks(MAX_INSTANCES) {
            let of: Vec<PropertyQuery> = of.to_vec();
            self.request(PluginQuery::Properties { of });
        }
        for ids in missing.sources.chunks(MAX_INSTANCES) {
            self.request(PluginQuery::Sources { ids: ids.to_vec() });
        }
        if missing.is_selection_missing {
            self.request(PluginQuery::Selection {});
        }
        for asset in missing.assets {
            self.request(PluginQuery::Asset { asset });
        }
    }

    /// Whether a question of a plan is not yet answered.
    pub fn has_open_question(&self) -> bool {
        self.work.iter().any(|work| self.is_plan_question(work))
    }

    fn is_plan_question(&self, work: &Work) -> bool {
        matches!(work, Work::Query { number, .. } if !self.request_questions.contains(*number))
    }

    /// Removes an answered question and returns it. None if it is not queued.
    pub fn take_answer(&mut self, answered: u64) -> Option<PluginQuery> {
        let is_it = |work: &Work| matches!(work, Work::Query { number, .. } if *number == answered);
        let at = self.work.iter().position(is_it)?;
        match self.work.remove(at) {
            Work::Query { query: wanted, .. } => Some(wanted),
            Work::Apply { .. } | Work::Playtest { .. } | Work::EndPlaytest { .. } => None,
        }
    }

    /// Drops all questions of plans: they are no longer needed, or will be asked again.
    pub fn forget_questions(&mut self) {
        let work = std::mem::take(&mut self.work);
        self.work = work.into_iter().filter(|work| !self.is_plan_question(work)).collect();
    }

    /// Drops all questions, also those of requests: the plugin has forgotten them.
    pub(crate) fn reset_questions(&mut self) {
        self.request_questions.clear();
        self.forget_questions();
    }

    /// Queues a playtest for a call.
    pub(crate) fn queue_playtest(&mut self, call: Seq, playtest: Playtest) {
        let number = self.next_number();
        self.playtests.push((number, call));
        self.work.push(Work::Playtest { number, playtest });
    }

    /// Removes an answered playtest, or the end of one that was answered. Returns the call of the
    /// playtest.
    pub(crate) fn take_playtest(&mut self, answered: u64) -> Option<Seq> {
        self.work.retain(|work| match work {
            Work::Playtest { number, .. } | Work::EndPlaytest { number, .. } => *number != answered,
            Work::Apply { .. } | Work::Query { .. } => true,
        });
        let at = self.playtests.iter().position(|(number, _)| *number == answered)?;
        Some(self.playtests.remove(at).1)
    }

    /// Ends the playtests of the calls for which `is_due` does not hold.
    pub(crate) fn retain_playtests(&mut self, is_due: impl Fn(Seq) -> bool) {
        let ended = self.playtests.extract_if(.., |(_, call)| !is_due(*call));
        for (playtest, _) in ended.collect::<Vec<_>>() {
            self.take_playtest(playtest);
            let number = self.next_number();
            self.work.push(Work::EndPlaytest { number, playtest });
        }
    }

    /// Drops all playtests, which the plugin has forgotten. Returns their calls.
    pub(crate) fn forget_playtests(&mut self) -> Vec<Seq> {
        self.work.retain(|work| !matches!(work, Work::Playtest { .. } | Work::EndPlaytest { .. }));
        std::mem::take(&mut self.playtests).into_iter().map(|(_, call)| call).collect()
    }

    /// Queues an approved proposal for Studio.
    pub fn queue_apply(&mut self, proposal: Seq, approved: &Proposal, actions: Vec<Action>) {
        let apply = Apply {
            number: self.next_number(),
            proposal,
            patch_id: approved.patch_id.clone(),
            recording: recording_name(proposal),
            title: approved.title.clone(),
            actions: join_sets(actions),
        };
        self.work.push(Work::Apply { apply });
    }

    /// Notes that the mirror shows the effect of a queued proposal in part.
    pub(crate) fn mark_partly_shown(&mut self, proposal: Seq) {
        self.partly_shown.insert(proposal);
    }

    /// Whether a proposal was marked by [`StudioTarget::mark_partly_shown`]. Removes the mark.
    pub(crate) fn take_partly_shown(&mut self, proposal: Seq) -> bool {
        self.partly_shown.remove(&proposal)
    }

    /// Whether a proposal is queued and not yet acknowledged.
    pub fn is_dispatched(&self, wanted: Seq) -> bool {
        let is_it = |work: &Work| matches!(work, Work::Apply { apply } if apply.proposal == wanted);
        self.work.iter().any(is_it)
    }

    /// Adds reported results to those of the earlier reports, `from` in number. A report may arrive
    /// twice. Returns all results; None if more follow, or if an earlier report is missing.
    pub fn join_results(
        &mut self,
        proposal: Seq,
        results: Vec<ActionResult>,
        from: u32,
        more: bool,
    ) -> Option<Vec<ActionResult>> {
        let earlier = self.first_results.take().filter(|(of, _)| *of == proposal);
        let mut all = earlier.map(|(_, results)| results).unwrap_or_default();
        let is_gap = all.len() < from as usize;
        if !is_gap {
            all.truncate(from as usize);
            all.extend(results);
        }
        if more || is_gap {
            self.first_results = Some((proposal, all));
            return None;
        }
        Some(all)
    }

    /// Removes an acknowledged proposal from the queue.
    pub fn remove_acknowledged(&mut self, proposal: Seq, patch_id: &Fingerprint) {
        let is_it = |work: &Work| {
            matches!(work, Work::Apply { apply }
                if apply.proposal == proposal && apply.patch_id == *patch_id)
        };
        self.work.retain(|work| !is_it(work));
    }

    /// Removes all queued proposals except those for which `is_due` holds.
    pub fn retain_proposals(&mut self, is_due: impl Fn(Seq) -> bool) {
        self.work.retain(|work| match work {
            Work::Apply { apply } => is_due(apply.proposal),
            Work::Query { .. } | Work::Playtest { .. } | Work::EndPlaytest { .. } => true,
        });
    }
}

impl TargetDriver for StudioTarget {
    fn place(&self) -> Place {
        Place::Open(self.place.clone())
    }

    /// Only identifies the session, because each command carries its own expectations.
    fn plan_base(&self) -> Fingerprint {
        Fingerprint::hash_bytes(format!("studio:{}", self.place.session).as_bytes())
    }

    fn live(&self) -> Option<&dyn LiveDriver> {
        Some(self)
    }

    fn live_mut(&mut self) -> Option<&mut dyn LiveDriver> {
        Some(self)
    }

    fn read_memory(&mut self) -> Option<String> {
        read_memory(self.memory_file()).ok()
    }

    fn complete_plan(
        &mut self,
        proposal: Proposal,
        context: PlanContext<'_>,
    ) -> Result<Result<CompletedPlan, Refusal>, EngineError> {
        let what = "Serve the project with Vector (`vector serve --project PATH`), and edits go to the files.";
        let proposal = warn_rojo_sync(proposal, context.scene, what);
        Ok(Ok(CompletedPlan { proposal, generated: Vec::new() }))
    }
}

impl LiveDriver for StudioTarget {
    fn studio(&self) -> &StudioTarget {
        self
    }

    fn studio_mut(&mut self) -> &mut StudioTarget {
        self
    }
}

/// Warns of changes to scripts in a place that Rojo syncs with a project that is not known to be
/// open in Vector. `advice` ends the warning.
pub(super) fn warn_rojo_sync(mut proposal: Proposal, scene: &Scene, advice: &str) -> Proposal {
    let is_of_scripts = |command: &Command| match command {
        Command::EditScript { .. } => true,
        Command::Create { class, .. } => reflection::is_script(class),
        _ => false,
    };
    if proposal.commands.iter().any(is_of_scripts) && vector_rojo_project::has_sync_lock(scene) {
        let text =
            format!("Rojo syncs this place and overwrites what it owns with its files. {advice}");
        proposal.warnings.push(Warning { kind: WarningKind::Rojo, text });
    }
    proposal
}

/// Reads the memory in a file. Empty if the file does not exist.
///
/// # Errors
/// The file exists but cannot be read, or is not valid text.
pub fn read_memory(file: PathBuf) -> io::Result<String> {
    MemoryFile::at_path(file).map(|memory| memory.text().to_owned())
}

/// Replaces the memory in a file.
///
/// # Errors
/// The file cannot be written, and is unchanged.
pub fn write_memory(file: PathBuf, text: &str) -> io::Result<()> {
    let mut memory = MemoryFile::at_path(file)?;
    memory.replace(memory.store_text(text)?).map(drop)
}

/// Returns the name of a proposal's recording in Studio's undo history.
fn recording_name(proposal: Seq) -> String {
    format!("Vector {proposal}")
}

/// Returns the proposal that a recording was made for.
pub fn parse_recording(recording: &str) -> Option<Seq> {
    recording.strip_prefix("Vector ")?.parse().ok().map(Seq)
}

/// Performs a proposal on the mirror, without its file part, and builds the actions for Studio. The
/// caller rolls the mirror back: it is updated when Studio reports the change.
///
/// # Errors
/// The proposal is stale, or Studio cannot perform it.
pub fn prepare_actions(
    scene: &mut PlanningScene,
    call: Seq,
    proposal: &Proposal,
    blobs: &BlobStore,
) -> Result<PreparedActions, Refusal> {
    scene.begin_scope(call);
    let (mut actions, mut nodes, mut backs) = (Vec::new(), Vec::new(), Vec::new());
    for (at, command) in proposal.commands.iter().enumerate() {
        if proposal.is_in_files(at) {
            nodes.push(None);
            continue;
        }
        // Instances that files create use up numbers too, though they are not created here.
        if let Some(k) = command.new_instance_number() {
            scene.scene_mut().set_next_number(k);
        }
        let over = fingerprint_scope(scene, command);
        let done = perform_command(scene, command, blobs)?;
        actions.extend(to_action(scene, command, done.node, over)?);
        nodes.push(Some(done.node));
        backs.extend(done.backs);
    }
    let left = proposal.commands.iter().zip(nodes);
    let outcome = |(command, node)| match node {
        Some(node) => command_outcome(scene, command, node),
        None => Outcome { id: None, fingerprint: None },
    };
    let outcomes = left.map(outcome).collect();
    let commands = build_inverse(scene.scene_mut(), backs)?.commands;
    let ack = Ack {
        file: None,
        before: None,
        after: None,
        outcomes,
        inverse: commands,
        witnesses: Vec::new(),
        bytes: None,
        files: None,
    };
    Ok(PreparedActions { actions, ack })
}

/// Builds the actions of a proposal whose effect the mirror shows, at least in part, so that it
/// cannot be performed as a whole. The plugin remembers whether it applied the proposal. The caller
/// rolls the mirror back.
///
/// # Errors
/// A script is neither as before the proposal nor as the proposal leaves it.
pub fn repeat_actions(
    scene: &mut PlanningScene,
    call: Seq,
    proposal: &Proposal,
    predicted: &Ack,
    blobs: &BlobStore,
) -> Result<Vec<Action>, Refusal> {
    scene.begin_scope(call);
    let mut actions = Vec::new();
    for (at, (command, outcome)) in proposal.commands.iter().zip(&predicted.outcomes).enumerate() {
        if proposal.is_in_files(at) {
            continue;
        }
        if let Some(k) = command.new_instance_number() {
            scene.scene_mut().set_next_number(k);
        }
        let over = fingerprint_scope(scene, command);
        let performed = try_command(scene, command, blobs);
        let id = match command {
            Command::Restore { id, .. } => id,
            _ => &command.target().id,
        };
        let node = performed.clone().ok().or_else(|| scene.by_id(id));
        if let (Command::EditScript { .. }, Err(refusal)) = (command, performed)
            && node.and_then(|node| scene.text_fingerprint(node)) != outcome.fingerprint
        {
            return Err(refusal);
        }
        let node = node.unwrap_or_else(|| scene.root());
        actions.extend(to_action(scene, command, node, over)?);
    }
    Ok(actions)
}

/// Returns what a command leaves behind.
fn command_outcome(scene: &PlanningScene, command: &Command, node: Node) -> Outcome {
    if !scene.is_live(node) {
        return Outcome { id: None, fingerprint: None };
    }
    Outcome { id: Some(scene.id(node)), fingerprint: fingerprint_after(scene, command, node) }
}

fn fingerprint_after(scene: &PlanningScene, command: &Command, node: Node) -> Option<Fingerprint> {
    match command {
        Command::Set { props, .. } => {
            Some(scene.fingerprint(node, props.keys().map(String::as_str)))
        }
        Command::EditScript { .. } => scene.text_fingerprint(node),
        Command::EditMemory { .. } => {
            scene.memory().map(|text| Fingerprint::hash_bytes(text.as_bytes()))
        }
        _ => Some(scene.fingerprint(node, [])),
    }
}

/// Returns the properties that a command's fingerprint covers, with the types of their current
/// values.
fn fingerprint_scope(scene: &Scene, command: &Command) -> BTreeMap<String, String> {
    let Command::Set { target, props, .. } = command else {
        return BTreeMap::new();
    };
    let node = scene.by_id(&target.id);
    let names = props.keys().filter(|name| *name != "Name");
    let typed = |name: &String| {
        let value = node.and_then(|node| scene.value(node, name));
        (name.clone(), value.map_or("", |value| value.type_name()).to_owned())
    };
    names.map(typed).collect()
}

/// Converts a command to an action for Studio, with Studio's ids for instances of earlier proposals.
/// The mirror must have performed it. None for the memory, which Studio does not hold.
fn to_action(
    scene: &Scene,
    command: &Command,
    node: Node,
    over: BTreeMap<String, String>,
) -> Result<Option<Action>, Refusal> {
    let mut action = match command.clone() {
        Command::Create { id, parent, class, name, props, expect } => {
            let (props, _) = split_properties(props);
            check_length(&props)?;
            Action::Create { id, parent, class, name, props, expect }
        }
        Command::Clone { id, source, parent, name, count, expect } => {
            Action::Clone { id, source, parent, name, count, expect }
        }
        Command::Set { target, props, expect } => {
            let (props, reset) = split_properties(props);
            Action::Set { target, props, reset, over, expect, more: None }
        }
        Command::Move { target, parent, expect, .. } => Action::Move { target, parent, expect },
        Command::Delete { target, count, expect } => Action::Delete { target, count, expect },
        Command::Restore { id, blob: None, parent, .. } => {
            Action::Restore { target: Target { id, path: scene.path(node) }, parent }
        }
        Command::Restore { blob: Some(_), parent, .. } => refuse!(
            "Instances that were deleted in a file cannot be restored in Studio, below {}.",
            parent.path
        )?,
        Command::Insert { id, asset, parent, contents, left_out, sandbox, expect, .. } => {
            let contents = contents.fingerprint();
            Action::Insert { id, asset, parent, contents, left_out, sandbox, expect }
        }
        Command::SetMany { target, .. } => refuse!(
            "Many instances below {} were changed in a file; Studio changes them one by one.",
            target.path
        )?,
        Command::EditMemory { .. } => return Ok(None),
        Command::EditScript { target, expect, .. } => {
            let text = scene.script_text(node).unwrap_or_default().into_owned();
            if text.len() > MAX_TEXT {
                return refuse!(
                    "{} would have {} bytes, and a message to Studio can hold at most {MAX_TEXT}. Split the script.",
                    target.path,
                    text.len()
                );
            }
            let after = Fingerprint::hash_bytes(text.as_bytes());
            Action::Write { target, expect, text, after }
        }
    };
    use_studio_ids(scene, &mut action);
    Ok(Some(action))
}

/// Joins adjacent actions that set the same properties of several instances. The plugin reads all
/// actions at once, and the properties, repeated for each of ten thousand instances, would be most of
/// what it reads.
fn join_sets(actions: Vec<Action>) -> Vec<Action> {
    let mut joined: Vec<Action> = Vec::with_capacity(actions.len());
    for action in actions {
        let same = match (joined.last_mut(), &action) {
            (
                Some(Action::Set { props, reset, over, more, .. }),
                Action::Set {
                    target, props: next, reset: next_reset, over: next_over, expect, ..
                },
            ) if (&*props, &*reset, &*over) == (next, next_reset, next_over) => {
                expect.as_ref().map(|expect| (more.get_or_insert_default(), target, expect))
            }
            _ => None,
        };
        if let Some((more, target, expect)) = same {
            more.ids.push(target.id.clone());
            more.paths.push(target.path.clone());
            more.expects.push(expect.clone());
        } else {
            joined.push(action);
        }
    }
    joined
}

fn check_length(props: &BTreeMap<String, Value>) -> Result<(), Refusal> {
    match props.get("Source") {
        Some(Value::String(text)) if text.len() > MAX_TEXT => refuse!(
            "The script would have {} bytes, and a message to Studio can hold at most {MAX_TEXT}. Split it.",
            text.len()
        ),
        _ => Ok(()),
    }
}

/// Splits properties into new values and the names of those that are reset to their default.
fn split_properties(props: Props) -> (BTreeMap<String, Value>, Vec<String>) {
    let (mut values, mut reset) = (BTreeMap::new(), Vec::new());
    for (name, value) in props {
        match value {
            Some(value) => drop(values.insert(name, value)),
            None => reset.push(name),
        }
    }
    (values, reset)
}

/// Replaces the ids in a predicted ack by the ids that Studio gave to created instances.
pub fn resolve_ack(
    mut predicted: Ack,
    call: Seq,
    proposal: &Proposal,
    acted: &[ActionResult],
) -> Ack {
    let created = created_instances(proposal, acted);
    let names = created.into_iter().flat_map(|(k, real)| {
        let in_other = InstanceId(format!("new:{call}.{k}"));
        [(InstanceId::new_in_proposal(k), real.clone()), (in_other, real)]
    });
    let names: BTreeMap<InstanceId, InstanceId> = names.collect();
    let named = |id: &mut InstanceId| {
        if let Some(real) = names.get(id) {
            *id = real.clone();
        }
    };
    let outcomes = predicted.outcomes.iter_mut().enumerate();
    let of_studio = outcomes.filter(|(at, _)| !proposal.is_in_files(*at));
    for ((_, outcome), acted) in of_studio.zip(acted) {
        outcome.id = acted.ids.first().cloned();
        if acted.fingerprint.is_some() {
            outcome.fingerprint.clone_from(&acted.fingerprint);
        }
    }
    predicted.inverse.iter_mut().for_each(|command| visit_ids(command, &named));
    predicted
}

fn visit_ids(command: &mut Command, change: &impl Fn(&mut InstanceId)) {
    match command {
        Command::Create { parent, .. }
        | Command::Restore { parent, .. }
        | Command::Insert { parent, .. } => change(&mut parent.id),
        Command::Clone { source, parent, .. } => {
            change(&mut source.id);
            change(&mut parent.id);
        }
        Command::Set { target, props, .. } => {
            change(&mut target.id);
            props.values_mut().flatten().for_each(|value| visit_reference(value, change));
        }
        Command::Move { target, parent, .. } => {
            change(&mut target.id);
            change(&mut parent.id);
        }
        Command::Delete { target, .. } | Command::EditScript { target, .. } => {
            change(&mut target.id);
        }
        // Studio performs no commands over many instances, and the memory is that of the place
        // itself, whose id never changes.
        Command::SetMany { .. } | Command::EditMemory { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_adjacent_sets_of_the_same_values_are_joined() {
        let set = |n: u32, value: bool, expect: Option<&str>| Action::Set {
            target: Target {
                id: InstanceId(format!("studio:{n}")),
                path: format!("game.Workspace.Part{n}").parse().unwrap(),
            },
            props: BTreeMap::from([("Anchored".to_owned(), Value::Bool(value))]),
            reset: Vec::new(),
            over: BTreeMap::new(),
            expect: expect.map(|text| Fingerprint::hash_bytes(text.as_bytes())),
            more: None,
        };
        let is_joined = |actions: &[Action]| {
            let ids = |action: &Action| match action {
                Action::Set { more: Some(more), .. } => {
                    assert!(
                        more.ids.len() == more.paths.len() && more.ids.len() == more.expects.len()
                    );
                    more.ids.len()
                }
                _ => 0,
            };
            join_sets(actions.to_vec()).iter().map(ids).collect::<Vec<_>>()
        };
        let all = [
            set(1, true, Some("a")),
            set(2, true, Some("b")),
            set(3, true, Some("c")),
            set(4, false, Some("d")),
            set(5, true, Some("e")),
            // Without a fingerprint it is joined to none before it.
            set(6, true, None),
            set(7, true, Some("f")),
        ];
        assert_eq!(is_joined(&all), [2, 0, 0, 1]);
        assert_eq!(is_joined(&[]), [0; 0]);
    }
}
