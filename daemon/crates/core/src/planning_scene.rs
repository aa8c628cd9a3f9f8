//! The scene that calls are planned on, with what a plan knows beside the place: the project's
//! memory, its formatting settings, the implicit target of the call, and the index of its code.
//!
//! The memory is stored beside the place, but changed and rolled back with it: a [`PlanningMark`]
//! covers both. A planning scene derefs to its [`Scene`] for reading; the tree is changed through
//! [`PlanningScene::scene_mut`]. This module must not know tools, proposals or files.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::Arc;

use scene_schemas::Fingerprint;
use scene_schemas::command::{AssetContents, AssetFinding};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::ImplicitTarget;
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{
    AssetChoice, AssetModel, EditedNodes, InstanceTable, JournalMark, Node, Scene, SceneState,
};

use crate::asset_scan::DownloadedAsset;
use crate::code::{CodeIndex, TextReaders};
use crate::proposal::{BlobStore, LARGE_CHANGE};

/// The settings file beside the place that configures script formatting, as read by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StyleFile {
    /// The file name, shown to the user who has to fix the file.
    pub file: String,
    /// The file's content, or the reason it cannot be read.
    pub text: Result<String, String>,
}

/// A position in the journals of a scene and of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct PlanningMark {
    scene: JournalMark,
    memory: usize,
}

/// A scene, and what is planned with beside its tree.
#[derive(Debug)]
pub struct PlanningScene {
    scene: Scene,
    memory: MemoryJournal,
    style: Option<StyleFile>,
    implicit_target: Option<ImplicitTarget>,
    index: RefCell<CodeIndex>,
    /// The tables that commands name, by hash.
    tables: RefCell<HashMap<Fingerprint, KnownTable>>,
    assets: KnownAssets,
    /// The number of instances from which one command sets them all; None if the target performs
    /// only commands over single instances.
    set_many_from: Option<usize>,
    /// The share of the place, in percent, from which a change of it is large.
    large_change: u32,
}

/// The most assets of one call: each may be large.
const MAX_ASSETS: usize = 8;

/// Assets as files, for a place that is not open in Studio.
#[derive(Debug)]
struct KnownAssets {
    /// For a call, which is planned again with it: the file of an asset, by its hash, or why there is
    /// none.
    by_number: BTreeMap<(Seq, u64), Result<Fingerprint, String>>,
    /// The call that is planned.
    call: Seq,
    /// The asset that was requested but is not known.
    missing: Cell<Option<u64>>,
    models: RefCell<HashMap<Fingerprint, KnownModel>>,
}

#[derive(Debug)]
struct KnownModel {
    model: AssetModel,
    bytes: Vec<u8>,
    /// What was found in it when it was downloaded.
    findings: Option<Vec<AssetFinding>>,
}

impl KnownAssets {
    fn new() -> Self {
        Self {
            by_number: BTreeMap::new(),
            call: Seq(0),
            missing: Cell::new(None),
            models: RefCell::default(),
        }
    }

    /// Reads a model that is in the ledger, unless it is known.
    fn read_model(&self, hash: &Fingerprint, blobs: &BlobStore) -> Result<(), Refusal> {
        if self.models.borrow().contains_key(hash) {
            return Ok(());
        }
        let Some(bytes) = blobs.get(hash) else {
            return refuse!("The asset is no longer in the ledger (blob {}).", hash.short_hex());
        };
        let model = AssetModel::read(bytes)
            .map_err(|refusal| Refusal(format!("The asset in the ledger {refusal}")))?;
        let known = KnownModel { model, bytes: bytes.clone(), findings: None };
        self.models.borrow_mut().insert(hash.clone(), known);
        Ok(())
    }
}

/// A table of instances.
#[derive(Debug)]
struct KnownTable {
    table: Arc<InstanceTable>,
    /// Its bytes, until they are taken.
    bytes: Option<Vec<u8>>,
    found: Option<FoundRows>,
}

/// The listed instances in a state of the scene in which they are as a command expects.
#[derive(Debug)]
struct FoundRows {
    state: SceneState,
    /// Whether the command restores the listed values, and does not replace them.
    restores: bool,
    nodes: Arc<[Node]>,
}

/// The text of the project's memory, with the edits of it.
#[derive(Debug, Default)]
struct MemoryJournal {
    /// None if it is not known.
    text: Option<String>,
    /// The texts before each edit, oldest first.
    steps: Vec<Option<String>>,
}

impl MemoryJournal {
    fn set_text(&mut self, text: String) {
        self.steps.push(self.text.replace(text));
    }

    /// Undoes every edit from this number on.
    fn rollback(&mut self, edits: usize) {
        if edits < self.steps.len()
            && let Some(before) = self.steps.drain(edits..).next()
        {
            self.text = before;
        }
    }
}

impl From<Scene> for PlanningScene {
    fn from(scene: Scene) -> Self {
        Self::new(scene, None)
    }
}

impl Deref for PlanningScene {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl PlanningScene {
    /// Creates a planning scene. `memory` is the text of the project's memory, None if it is not
    /// known.
    pub fn new(scene: Scene, memory: Option<String>) -> Self {
        Self {
            scene,
            memory: MemoryJournal { text: memory, steps: Vec::new() },
            style: None,
            implicit_target: None,
            index: RefCell::default(),
            tables: RefCell::default(),
            assets: KnownAssets::new(),
            set_many_from: None,
            large_change: LARGE_CHANGE,
        }
    }

    /// Lets one command set this many instances or more. Only for a place file, whose instances
    /// keep their numbers.
    #[must_use]
    pub fn with_set_many_from(self, count: usize) -> Self {
        Self { set_many_from: Some(count), ..self }
    }

    pub fn set_many_from(&self) -> Option<usize> {
        self.set_many_from
    }

    /// Returns the share of the place, in percent, from which a change of it is large.
    pub fn large_change(&self) -> u32 {
        self.large_change
    }

    pub fn set_large_change(&mut self, percent: u32) {
        self.large_change = percent;
    }

    /// Whether one command sets this many instances.
    pub fn sets_many(&self, count: usize) -> bool {
        self.set_many_from.is_some_and(|from| count >= from)
    }

    /// Adds a table for a command to name. Returns its hash.
    pub fn add_table(&self, table: InstanceTable) -> Fingerprint {
        let bytes = table.encode();
        let hash = Fingerprint::hash_bytes(&bytes);
        let known = KnownTable { table: Arc::new(table), bytes: Some(bytes), found: None };
        self.tables.borrow_mut().insert(hash.clone(), known);
        hash
    }

    /// Remembers the instances of a table, in order, that are as a command expects in the current
    /// state of the scene.
    pub(crate) fn remember_rows(&self, table: &Fingerprint, restores: bool, nodes: Arc<[Node]>) {
        if let Some(known) = self.tables.borrow_mut().get_mut(table) {
            known.found = Some(FoundRows { state: self.scene.state(), restores, nodes });
        }
    }

    /// Returns the instances of a table if it is remembered that they are as a command expects in
    /// the current state of the scene.
    pub(crate) fn found_rows(&self, table: &Fingerprint, restores: bool) -> Option<Arc<[Node]>> {
        let tables = self.tables.borrow();
        let found = tables.get(table)?.found.as_ref()?;
        let is_now = found.state == self.scene.state() && found.restores == restores;
        is_now.then(|| Arc::clone(&found.nodes))
    }

    /// Returns the table that a command names.
    ///
    /// # Errors
    /// It is not in the ledger any more, or damaged.
    pub fn table(
        &self,
        hash: &Fingerprint,
        blobs: &BlobStore,
    ) -> Result<Arc<InstanceTable>, Refusal> {
        if let Some(known) = self.tables.borrow().get(hash) {
            return Ok(Arc::clone(&known.table));
        }
        let Some(bytes) = blobs.get(hash) else {
            return refuse!(
                "The list of the changed instances is no longer in the ledger (blob {}).",
                hash.short_hex()
            );
        };
        let Some(table) = InstanceTable::decode(bytes) else {
            return refuse!(
                "The list of the changed instances in the ledger is damaged (blob {}).",
                hash.short_hex()
            );
        };
        let table = Arc::new(table);
        let known = KnownTable { table: Arc::clone(&table), bytes: None, found: None };
        self.tables.borrow_mut().insert(hash.clone(), known);
        Ok(table)
    }

    /// Returns the bytes of a table or an asset that was added or read; None if there is none.
    pub fn take_blob(&self, hash: &Fingerprint) -> Option<Vec<u8>> {
        if let Some(known) = self.tables.borrow_mut().get_mut(hash) {
            return Some(known.bytes.take().unwrap_or_else(|| known.table.encode()));
        }
        self.assets.models.borrow().get(hash).map(|known| known.bytes.clone())
    }

    /// Whether tables or assets were added or read.
    pub fn has_blobs(&self) -> bool {
        !self.tables.borrow().is_empty() || !self.assets.models.borrow().is_empty()
    }

    /// Drops the tables and assets that are not needed, and returns their hashes. They are read again
    /// for a command that names them after all.
    pub fn drop_blobs(&self, is_needed: impl Fn(&Fingerprint) -> bool) -> Vec<Fingerprint> {
        let (mut tables, mut models) = (self.tables.borrow_mut(), self.assets.models.borrow_mut());
        let is_planned =
            |hash: &Fingerprint| self.assets.by_number.values().any(|it| it.as_ref() == Ok(hash));
        let tables = tables.extract_if(|hash, _| !is_needed(hash)).map(|(hash, _)| hash);
        let models = models.extract_if(|hash, _| !is_needed(hash) && !is_planned(hash));
        tables.chain(models.map(|(hash, _)| hash)).collect()
    }

    /// Returns the contents of an asset, and for a file the hash of the asset. Unknown contents are
    /// recorded as missing, so that the call is planned again once they are known.
    ///
    /// # Errors
    /// The contents are not available, or not known yet.
    pub fn asset_contents(
        &self,
        asset: u64,
    ) -> Result<(AssetContents, Option<Fingerprint>), Refusal> {
        if self.scene.is_open_in_studio() {
            return Ok((self.scene.asset_contents(asset)?, None));
        }
        let hash = match self.assets.by_number.get(&(self.assets.call, asset)) {
            Some(Ok(hash)) => hash.clone(),
            Some(Err(reason)) => return refuse!("{reason}"),
            None => {
                self.assets.missing.set(Some(asset));
                return refuse!("Asset {asset} has not been downloaded. Ask for it again.");
            }
        };
        match self.assets.models.borrow().get(&hash) {
            Some(known) => {
                let contents = known.model.contents().clone();
                let findings = known.findings.clone();
                Ok((AssetContents { findings, ..contents }, Some(hash)))
            }
            None => refuse!("Asset {asset} is no longer known. Ask for it again."),
        }
    }

    /// Adds an asset as it was downloaded for a call, or the reason why it was not.
    pub fn add_asset(&mut self, call: Seq, asset: u64, file: Result<DownloadedAsset, String>) {
        let count = self.assets.by_number.keys().filter(|(of, _)| *of == call).count();
        let file = if count < MAX_ASSETS {
            file
        } else {
            Err(format!(
                "One call can insert at most {MAX_ASSETS} assets. Split it into several calls."
            ))
        };
        let read = file.and_then(|DownloadedAsset { file: bytes, findings }| {
            let model =
                AssetModel::read(&bytes).map_err(|refusal| format!("Asset {asset} {refusal}"))?;
            let hash = Fingerprint::hash_bytes(&bytes);
            let known = KnownModel { model, bytes, findings };
            self.assets.models.borrow_mut().insert(hash.clone(), known);
            Ok(hash)
        });
        self.assets.by_number.insert((call, asset), read);
    }

    /// Uses an asset of the ledger for a call, which is planned again and gets the same, with what was
    /// found in it.
    ///
    /// # Errors
    /// It is not in the ledger any more, or damaged.
    pub fn reuse_asset(
        &mut self,
        call: Seq,
        asset: u64,
        hash: &Fingerprint,
        blobs: &BlobStore,
        findings: Option<&Vec<AssetFinding>>,
    ) -> Result<(), Refusal> {
        self.assets.read_model(hash, blobs)?;
        if let Some(known) = self.assets.models.borrow_mut().get_mut(hash)
            && known.findings.is_none()
        {
            known.findings = findings.cloned();
        }
        self.assets.by_number.insert((call, asset), Ok(hash.clone()));
        Ok(())
    }

    /// Returns and clears the asset that was requested but is not known.
    pub fn take_missing_asset(&self) -> Option<u64> {
        self.assets.missing.take()
    }

    /// Forgets what is known of assets for all calls.
    pub fn forget_all_assets(&mut self) {
        self.assets.by_number.clear();
    }

    /// Forgets what is known of assets for a call that is not planned any more.
    pub fn forget_assets(&mut self, call: Seq) {
        self.assets.by_number.retain(|(of, _), _| *of != call);
    }

    /// Inserts an asset as the last children of `parent`. Calls `after` when each root is inserted.
    ///
    /// # Errors
    /// The asset is not in the ledger any more, its contents are others, or the file cannot hold them.
    pub fn insert_model(
        &mut self,
        hash: &Fingerprint,
        blobs: &BlobStore,
        contents: &AssetContents,
        choice: AssetChoice<'_>,
        parent: Node,
        after: impl FnMut(&Scene, Node),
    ) -> Result<(), Refusal> {
        self.assets.read_model(hash, blobs)?;
        let models = self.assets.models.borrow();
        match models.get(hash) {
            Some(KnownModel { model, .. }) if model.contents().has_same_instances(contents) => {
                self.scene.insert_model(model, choice, parent, after)
            }
            _ => refuse!("The recorded contents of the asset are damaged."),
        }
    }

    /// Replaces the scene by one that was read again, and all that belongs to it. The code index
    /// keeps its analyzed texts, so that only texts that differ are read again.
    pub fn replace_with(&mut self, mut read: Self) {
        read.scene.follow_states(&self.scene);
        let (index, mut tables) = (self.index.take().into_unlinked(), self.tables.take());
        let assets = std::mem::replace(&mut self.assets, KnownAssets::new());
        for known in tables.values_mut() {
            known.found = None;
        }
        let (index, tables) = (RefCell::new(index), RefCell::new(tables));
        *self = Self { index, tables, assets, large_change: self.large_change, ..read };
    }

    /// Returns the scene for changes to the tree. Its own rollback does not cover the memory.
    pub fn scene_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }

    pub fn into_scene(self) -> Scene {
        self.scene
    }

    /// Makes `new:K` ids refer to the instances created by this proposal from now on.
    pub fn begin_scope(&mut self, scope: Seq) {
        self.assets.call = scope;
        self.scene.begin_scope(scope);
    }

    /// Returns the current position in the journals, for [`PlanningScene::rollback`].
    pub fn journal_mark(&self) -> PlanningMark {
        PlanningMark { scene: self.scene.journal_mark(), memory: self.memory.steps.len() }
    }

    /// Returns the state that the scene had at the mark.
    pub fn state_at(&self, mark: PlanningMark) -> SceneState {
        self.scene.state_at(mark.scene)
    }

    /// Undoes every edit of the scene and the memory since the mark.
    pub fn rollback(&mut self, mark: PlanningMark) {
        self.scene.rollback(mark.scene);
        self.memory.rollback(mark.memory);
    }

    /// Returns the instances that the edits since the mark affected.
    pub fn edited_since(&self, mark: PlanningMark) -> EditedNodes {
        self.scene.edited_since(mark.scene)
    }

    /// Marks the last built file as saved, and makes the edits so far permanent.
    pub fn forget_history(&mut self) {
        self.scene.forget_history();
        self.memory.steps.clear();
    }

    /// Returns the project's memory: empty if there is none yet, None if it is not known.
    pub fn memory(&self) -> Option<&str> {
        self.memory.text.as_deref()
    }

    /// Sets the memory as it was read, without journalling it.
    pub fn load_memory(&mut self, text: String) {
        self.memory.text = Some(text);
    }

    pub fn set_memory(&mut self, text: String) {
        self.memory.set_text(text);
    }

    /// Returns the settings file; None if there is none.
    pub fn style(&self) -> Option<&StyleFile> {
        self.style.as_ref()
    }

    pub fn set_style(&mut self, style: Option<StyleFile>) {
        self.style = style;
    }

    /// Returns the instance that a call without a path refers to, which overrides the selection.
    pub fn implicit_target(&self) -> Option<&ImplicitTarget> {
        self.implicit_target.as_ref()
    }

    /// Sets the instance that the next call refers to if it has no path. None to use the selection.
    pub fn set_implicit_target(&mut self, target: Option<ImplicitTarget>) {
        self.implicit_target = target;
    }

    /// Runs a query on the up-to-date code index.
    pub fn with_index<R>(&self, ask: impl FnOnce(&CodeIndex) -> R) -> R {
        self.query_index(CodeIndex::refresh, ask)
    }

    /// Runs a query on the code index using only known texts. In a place that is open in Studio, no
    /// text is requested.
    pub fn with_known_texts<R>(&self, ask: impl FnOnce(&CodeIndex) -> R) -> R {
        self.query_index(CodeIndex::update_known, ask)
    }

    fn query_index<R>(
        &self,
        update: impl FnOnce(&mut CodeIndex, &Scene),
        ask: impl FnOnce(&CodeIndex) -> R,
    ) -> R {
        // The index is taken out meanwhile, because a query may make another one.
        let mut index = self.index.take();
        update(&mut index, &self.scene);
        let result = ask(&index);
        self.index.replace(index);
        result
    }

    /// Sets the functions that read many texts of the scene at once.
    pub fn set_readers(&self, readers: TextReaders) {
        self.index.borrow_mut().set_readers(readers);
    }

    /// Evaluates a predicate on each of many texts, in order.
    pub fn match_texts(&self, texts: &[&str], holds: &(dyn Fn(&str) -> bool + Sync)) -> Vec<bool> {
        self.index.borrow().match_texts(texts, holds)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use vector_place::{FileFormat, Node};

    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum EditStep {
        Create(u8),
        Rename(u8),
        Write(u8),
        Delete(u8),
        Remember(u8),
        Mark,
        RollBack(u8),
    }

    fn any_step() -> impl Strategy<Value = EditStep> {
        prop_oneof![
            any::<u8>().prop_map(EditStep::Create),
            any::<u8>().prop_map(EditStep::Rename),
            any::<u8>().prop_map(EditStep::Write),
            any::<u8>().prop_map(EditStep::Delete),
            any::<u8>().prop_map(EditStep::Remember),
            Just(EditStep::Mark),
            any::<u8>().prop_map(EditStep::RollBack),
        ]
    }

    fn place(memory: Option<&str>) -> PlanningScene {
        let mut scene = Scene::empty(FileFormat::Binary);
        let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
        for name in ["A", "B"] {
            let script = scene.create(storage, "ModuleScript", name);
            scene.set_source(script, format!("return \"{name}\"\n"));
        }
        PlanningScene::new(scene, memory.map(str::to_owned))
    }

    /// Applies an edit. The number chooses the instance and the text.
    fn edit(scene: &mut PlanningScene, step: EditStep) {
        let nth = |n: u8| {
            let all: Vec<Node> = scene.descendants(scene.root()).collect();
            all.get(usize::from(n) % all.len().max(1)).copied()
        };
        match step {
            EditStep::Create(n) => {
                let parent = nth(n).unwrap_or(scene.root());
                scene.scene_mut().create(parent, "ModuleScript", &format!("New{n}"));
            }
            EditStep::Rename(n) => {
                if let Some(node) = nth(n) {
                    scene.scene_mut().rename(node, &format!("Renamed{n}"));
                }
            }
            EditStep::Write(n) => {
                if let Some(node) = nth(n) {
                    scene.scene_mut().set_source(node, format!("return {n}\n"));
                }
            }
            EditStep::Delete(n) => {
                if let Some(node) = nth(n) {
                    scene.scene_mut().delete(node);
                }
            }
            EditStep::Remember(n) => scene.set_memory(format!("remember {n}\n")),
            EditStep::Mark | EditStep::RollBack(_) => {}
        }
    }

    fn describe(scene: &PlanningScene) -> (Vec<String>, Option<&str>) {
        let line = |node| {
            let text = scene.stored_value(node, "Source");
            format!("{} {} {text:?}", scene.path(node), scene.class(node))
        };
        (scene.subtree(scene.root()).map(line).collect(), scene.memory())
    }

    #[track_caller]
    fn check_same_as_replay(scene: &PlanningScene, memory: Option<&str>, edits: &[EditStep]) {
        let mut replayed = place(memory);
        for step in edits {
            edit(&mut replayed, *step);
        }
        assert_eq!(describe(scene), describe(&replayed));
    }

    proptest! {
        #[test]
        fn rollback_to_any_mark_equals_a_replay_up_to_it(
            steps in vec(any_step(), 0..60),
            is_memory_known in any::<bool>(),
        ) {
            let memory = is_memory_known.then_some("");
            let mut scene = place(memory);
            let (mut edits, mut marks) = (Vec::new(), Vec::new());
            for step in steps {
                match step {
                    EditStep::Mark => marks.push((scene.journal_mark(), edits.len())),
                    EditStep::RollBack(n) if !marks.is_empty() => {
                        let at = usize::from(n) % marks.len();
                        let (mark, count) = marks[at];
                        marks.truncate(at);
                        scene.rollback(mark);
                        edits.truncate(count);
                        check_same_as_replay(&scene, memory, &edits);
                    }
                    step => {
                        edit(&mut scene, step);
                        edits.push(step);
                    }
                }
            }
            while let Some((mark, count)) = marks.pop() {
                scene.rollback(mark);
                check_same_as_replay(&scene, memory, &edits[..count]);
            }
        }
    }

    #[test]
    fn forgotten_edits_stay() {
        let mut scene = place(None);
        let start = scene.journal_mark();
        scene.set_memory("a\n".to_owned());
        scene.forget_history();
        scene.rollback(start);
        assert_eq!(scene.memory(), Some("a\n"));
        let mark = scene.journal_mark();
        scene.set_memory("b\n".to_owned());
        scene.set_memory("c\n".to_owned());
        scene.rollback(mark);
        assert_eq!(scene.memory(), Some("a\n"));
    }

    #[test]
    fn query_of_the_index_may_make_another() {
        let scene = place(None);
        let counts = scene.with_index(|outer| {
            let inner = scene.with_index(|inner| inner.script_nodes().len());
            [outer.script_nodes().len(), inner]
        });
        assert_eq!(counts, [2, 2]);
    }
}
