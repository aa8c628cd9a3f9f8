//! State of merges with open conflicts on disk: copies of the three places and the decisions made
//! so far.
//!
//! The state of a merge that Git started is kept in the repository's Git folder, per worktree. The
//! state of any other merge is kept next to the output file. The copies preserve the merge inputs,
//! even if the original files change. A terminal and the page may decide at the same time, so the
//! decisions are read again before each change.

mod git;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use scene_schemas::api::{MergeView, RecordedConflict};
use serde::{Deserialize, Serialize};

pub use self::git::{NOT_STARTED as GIT_NOT_STARTED, WorkTree, program_command};
use crate::parallel::run_both;
use vector_files::disk::canonical_path;
use vector_files::place_file::{self, PlaceError, PlaceFile};
use vector_files::write_file;
use vector_place::Scene;
use vector_place::merge::{MergeConflict, OpenMerge, to_view};

/// Suffix of the state folder next to the output file.
const FOLDER_SUFFIX: &str = ".vector-merge";
const STATE_FILE: &str = "state.json";
/// Locked during changes to the state.
const LOCK_FILE: &str = "lock";
/// Format version of the state file.
const STATE_VERSION: u32 = 1;

/// The state of a merge, apart from the three places.
#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    version: u32,
    /// The output file: relative to the top of the repository, or as a full path.
    file: PathBuf,
    /// The file's hash as the merge left it.
    written: Fingerprint,
    conflicts: Vec<RecordedConflict>,
}

/// A path that Git merges, and its work tree.
#[derive(Debug)]
struct GitPath {
    tree: WorkTree,
    path: String,
}

/// A merge with conflicts.
#[derive(Debug)]
pub struct MergeState {
    folder: PathBuf,
    /// None if Git did not start the merge.
    in_git: Option<GitPath>,
    file: PathBuf,
    written_hash: Fingerprint,
    conflicts: Vec<RecordedConflict>,
}

/// The three places of a merge.
#[derive(Debug)]
pub struct MergeInputs {
    pub base: PathBuf,
    /// The place that is merged into.
    pub ours: PathBuf,
    /// The place that is merged in.
    pub theirs: PathBuf,
}

/// The places of a merge as they were read.
#[derive(Debug)]
pub struct MergePlaces {
    pub base: Scene,
    pub ours: Scene,
    pub theirs: Scene,
    /// The file of ours.
    pub file: PlaceFile,
}

impl MergeInputs {
    /// Reads the places. Ours will be written to `out`, or back to its own file.
    ///
    /// # Errors
    /// Fails if a place cannot be read.
    pub fn read_places(&self, out: Option<&Path>) -> Result<MergePlaces, PlaceError> {
        let read_others = || {
            let base = place_file::load_scene(&self.base)?;
            place_file::load_scene(&self.theirs).map(|theirs| (base, theirs))
        };
        let (ours, others) = run_both(|| PlaceFile::open(&self.ours, out), read_others);
        let ((base, theirs), (file, ours)) = (others?, ours?);
        let ours = ours.into_scene();
        // A side that is still the base needs no comparison.
        let [has_ours, has_theirs] = [&ours, &theirs].map(|side| !side.is_same_file(&base));
        let hash = |scene: Scene, is_compared: bool| {
            if is_compared {
                scene.hash_instances();
            }
            scene
        };
        let (base, (ours, theirs)) = run_both(
            || hash(base, has_ours || has_theirs),
            || (hash(ours, has_ours), hash(theirs, has_theirs)),
        );
        Ok(MergePlaces { base, ours, theirs, file })
    }
}

impl MergeState {
    fn merge_inputs(&self) -> MergeInputs {
        let file = |name| self.folder.join(name);
        MergeInputs { base: file("base"), ours: file("ours"), theirs: file("theirs") }
    }

    /// Copies the places of a merge before it starts. `in_git` is the path that Git merges.
    ///
    /// # Errors
    /// Fails if a place cannot be read or the copies cannot be written.
    pub fn prepare_state(
        inputs: &MergeInputs,
        output: &Path,
        in_git: Option<&str>,
    ) -> anyhow::Result<Self> {
        let (folder, file, in_git) = match in_git {
            Some(path) => {
                let tree = WorkTree::find_work_tree(Path::new("."))?;
                let (folder, file) = (tree.merge_folder(path)?, tree.top.join(path));
                (folder, file, Some(GitPath { tree, path: path.to_owned() }))
            }
            None => (state_folder(output), place_file::real_path(output)?, None),
        };
        let (written, conflicts) = (Fingerprint::hash_bytes(b""), Vec::new());
        let state = Self { folder, in_git, file, written_hash: written, conflicts };
        let failed = || format!("{} cannot be written", state.folder.display());
        fs::create_dir_all(&state.folder).with_context(failed)?;
        let kept = state.merge_inputs();
        let pairs =
            [(&inputs.base, kept.base), (&inputs.ours, kept.ours), (&inputs.theirs, kept.theirs)];
        for (from, to) in pairs {
            fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
        }
        Ok(state)
    }

    /// Records the conflicts of a merge after its output was written.
    ///
    /// # Errors
    /// Fails if the state cannot be written, or Git does not accept the filter.
    pub fn save_conflicts(
        mut self,
        output: &Path,
        conflicts: &[MergeConflict],
    ) -> anyhow::Result<Self> {
        self.written_hash = place_file::hash_place_file(output)?;
        let kept = |conflict| RecordedConflict { conflict: to_view(conflict), choice: None };
        self.conflicts = conflicts.iter().map(kept).collect();
        self.save()?;
        if let Some(GitPath { tree, path }) = &self.in_git {
            tree.block_path(path)?;
        }
        Ok(self)
    }

    /// Applies `change` to the decisions, after reading those that others have made meanwhile.
    ///
    /// # Errors
    /// Fails if `change` fails, the merge is over, or the state cannot be written.
    pub fn update_decisions(
        &mut self,
        change: impl FnOnce(&mut [RecordedConflict]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let failed = || format!("the merge of {} is over, or cannot be changed", self.name());
        let lock = File::create(self.folder.join(LOCK_FILE)).with_context(failed)?;
        lock.lock().with_context(failed)?;
        let Some(stored) = read_state_file(&self.folder)? else {
            bail!("the merge of {} is over", self.name());
        };
        self.conflicts = stored.conflicts;
        change(&mut self.conflicts)?;
        self.save()
    }

    fn save(&self) -> anyhow::Result<()> {
        let state = StateFile {
            version: STATE_VERSION,
            file: self.in_git.as_ref().map_or_else(|| self.file.clone(), |it| (&it.path).into()),
            written: self.written_hash.clone(),
            conflicts: self.conflicts.clone(),
        };
        let text = serde_json::to_string_pretty(&state)?;
        let file = self.folder.join(STATE_FILE);
        write_file(&file, text.as_bytes())
            .with_context(|| format!("{} cannot be written", file.display()))
    }

    /// Deletes the copies without notifying Git.
    ///
    /// # Errors
    /// Fails if they cannot be deleted.
    pub fn discard(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} cannot be deleted", self.folder.display()))
            }
            _ => Ok(()),
        }
    }

    /// The name of the file for messages: its path in the repository, or its full path.
    pub fn name(&self) -> String {
        self.in_git.as_ref().map_or_else(|| self.file.display().to_string(), |it| it.path.clone())
    }

    pub fn conflicts(&self) -> &[RecordedConflict] {
        &self.conflicts
    }

    /// Whether Git started the merge.
    pub fn is_in_git(&self) -> bool {
        self.in_git.is_some()
    }

    /// The number of conflicts without a decision.
    pub fn open_count(&self) -> usize {
        self.conflicts.iter().filter(|it| it.choice.is_none()).count()
    }

    /// The ID of the merge, derived from its folder. Stable as long as the folder exists.
    pub fn merge_id(&self) -> String {
        let folder = canonical_path(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let hash = Fingerprint::hash_bytes(folder.as_os_str().as_encoded_bytes()).to_string();
        hash.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
    }

    /// The merge as the page shows it.
    pub fn to_view(&self) -> MergeView {
        MergeView {
            id: self.merge_id(),
            file: self.file.display().to_string(),
            in_git: self.is_in_git(),
            is_file_changed: self.is_file_changed(),
            conflicts: self.conflicts.clone(),
        }
    }

    /// Whether the file differs from what the merge left.
    pub fn is_file_changed(&self) -> bool {
        place_file::hash_place_file(&self.file).ok().is_none_or(|hash| hash != self.written_hash)
    }

    /// Merges the copies again with all decisions and writes the result to the file.
    ///
    /// # Errors
    /// Fails if a place cannot be read or written, or a decision cannot be applied.
    pub fn write_result(&self) -> anyhow::Result<()> {
        let kept = self.merge_inputs();
        let MergePlaces { base, mut ours, theirs, file } = kept.read_places(Some(&self.file))?;
        let mut merge = OpenMerge::new(&base, &mut ours, &theirs);
        // Compared as JSON, where NaN is equal to itself.
        let found = merge.conflicts().iter().map(|it| serde_json::to_value(to_view(it)));
        let kept = self.conflicts.iter().map(|it| serde_json::to_value(&it.conflict));
        if found.collect::<Result<Vec<_>, _>>()? != kept.collect::<Result<Vec<_>, _>>()? {
            bail!(
                "{}: this version of Vector finds other conflicts than the one that merged; finish with \
                 that one, or merge again",
                self.name()
            );
        }
        for (at, kept) in self.conflicts.iter().enumerate() {
            if let Some(choice) = &kept.choice {
                let chosen = merge.apply_choice(&mut ours, at, choice);
                chosen.map_err(|refusal| anyhow::anyhow!("conflict {}: {}", at + 1, refusal.0))?;
            }
        }
        Ok(file.write_scene(&mut ours)?)
    }

    /// Deletes the state of the merge and lets Git take the file as resolved.
    ///
    /// # Errors
    /// Fails if the copies cannot be deleted, or Git does not accept the file.
    pub fn finish_merge(&self) -> anyhow::Result<()> {
        if let Some(GitPath { tree, path }) = &self.in_git {
            tree.unblock_path(path)?;
        }
        self.discard()?;
        self.in_git.as_ref().map_or(Ok(()), |it| it.tree.stage_path(&it.path))
    }
}

fn state_folder(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(FOLDER_SUFFIX);
    output.with_file_name(name)
}

/// Reads the state file in a folder. None if the folder does not hold a merge.
fn read_state_file(folder: &Path) -> anyhow::Result<Option<StateFile>> {
    let file = folder.join(STATE_FILE);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context(format!("{} cannot be read", file.display())),
    };
    let state: StateFile = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the state of a merge", file.display()))?;
    if state.version != STATE_VERSION {
        bail!(
            "{} was written by another version of Vector; finish the merge with that one, or start it \
             again",
            file.display()
        );
    }
    Ok(Some(state))
}

/// Reads the merge in a folder. None if the folder does not hold one.
fn read_merge(folder: PathBuf, tree: Option<&WorkTree>) -> anyhow::Result<Option<MergeState>> {
    let Some(StateFile { file, written, conflicts, .. }) = read_state_file(&folder)? else {
        return Ok(None);
    };
    let in_git =
        tree.map(|tree| GitPath { tree: tree.clone(), path: file.to_string_lossy().into_owned() });
    let file = tree.map_or_else(|| file.clone(), |tree| tree.top.join(&file));
    Ok(Some(MergeState { folder, in_git, file, written_hash: written, conflicts }))
}

/// Finds the open merges of the repositories that contain these folders, and the merges kept
/// directly in these folders, sorted by file.
///
/// # Errors
/// Fails if a state cannot be read.
pub fn find_merges<'f>(
    within: impl IntoIterator<Item = &'f Path>,
) -> anyhow::Result<Vec<MergeState>> {
    let (mut found, mut trees) = (Vec::new(), BTreeMap::new());
    for folder in within {
        if git::can_have_merges(folder)
            && let Ok(tree) = WorkTree::find_work_tree(folder)
        {
            trees.insert(tree.top.clone(), tree);
        }
        for folder in list_folders(folder) {
            if folder.to_string_lossy().ends_with(FOLDER_SUFFIX) {
                found.extend(read_merge(folder, None)?);
            }
        }
    }
    for tree in trees.values() {
        for folder in list_folders(&tree.merges_folder()?) {
            let Some(state) = read_merge(folder, Some(tree))? else { continue };
            let path = state.name();
            if tree.is_unmerged(&path)? {
                found.push(state);
            } else {
                // The merge was aborted, or finished without Vector.
                tree.unblock_path(&path)?;
                state.discard()?;
            }
        }
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    found.dedup_by(|a, b| a.folder == b.folder);
    Ok(found)
}

/// Finds the open merges of a file.
///
/// # Errors
/// Fails if a state cannot be read.
pub fn find_file_merges(file: &Path) -> anyhow::Result<Vec<MergeState>> {
    let real = place_file::real_path(file)?;
    let mut found = find_merges(real.parent())?;
    found.retain(|state| {
        state.file == real || place_file::real_path(&state.file).is_ok_and(|it| it == real)
    });
    Ok(found)
}

fn list_folders(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Returns the number of open conflicts that stop Git from taking the file now. None if Git may
/// take it.
///
/// # Errors
/// Fails if the state cannot be read.
pub fn count_blocking_conflicts(path: &str, content: &[u8]) -> anyhow::Result<Option<usize>> {
    let tree = WorkTree::find_work_tree(Path::new("."))?;
    let Some(state) = read_merge(tree.merge_folder(path)?, Some(&tree))? else {
        return Ok(None);
    };
    let hash = Fingerprint::hash_bytes(content);
    let inputs = state.merge_inputs();
    // Taking one side as a whole is also a decision, and `git merge --abort` restores one.
    let is_one_side = [inputs.ours, inputs.theirs, inputs.base]
        .iter()
        .any(|file| place_file::hash_place_file(file).is_ok_and(|side| side == hash));
    let is_decided = hash != state.written_hash && is_one_side;
    Ok((!is_decided && tree.is_unmerged(path)?).then_some(state.open_count()))
}
