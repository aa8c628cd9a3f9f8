//! Merges with open conflicts, as they are kept on disk: copies of the three places, and what was
//! decided so far.
//!
//! A merge that Git asked for is kept in the repository's own folder, by worktree; any other beside the
//! file that was written. The copies are what was merged, whatever happens to the files meanwhile.
//! A terminal and the page may decide at once: what was decided is read anew before it is changed.

mod git;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use scene_schemas::Fingerprint;
use scene_schemas::api::{MergeView, RecordedConflict};
use serde::{Deserialize, Serialize};

pub use self::git::{WorkTree, program_command};
use vector_files::place_file;
use vector_files::write_file;
use vector_place::merge::{MergeConflict, OpenMerge, to_view};

/// The name of the folder beside a file ends so.
const FOLDER_SUFFIX: &str = ".vector-merge";
const STATE_FILE: &str = "state.json";
/// Whoever changes the state has this file locked.
const LOCK_FILE: &str = "lock";
/// The form of the state file.
const STATE_VERSION: u32 = 1;

/// What is kept of a merge, beside the three places.
#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    version: u32,
    /// The file that the merge wrote: from the top of the repository, or by its full path.
    file: PathBuf,
    /// Its hash as the merge left it.
    written: Fingerprint,
    conflicts: Vec<RecordedConflict>,
}

/// A path that Git merges, and where.
#[derive(Debug)]
struct GitPath {
    tree: WorkTree,
    path: String,
}

/// A merge with conflicts.
#[derive(Debug)]
pub struct MergeState {
    folder: PathBuf,
    /// None where Git does not know of the merge.
    in_git: Option<GitPath>,
    /// The file that the merge wrote.
    file: PathBuf,
    written_hash: Fingerprint,
    conflicts: Vec<RecordedConflict>,
}

/// The three places of a merge.
#[derive(Debug)]
pub struct MergeInputs {
    /// What both come from.
    pub base: PathBuf,
    /// The one that is merged into.
    pub ours: PathBuf,
    /// The one that is merged.
    pub theirs: PathBuf,
}

impl MergeState {
    fn merge_inputs(&self) -> MergeInputs {
        let file = |name| self.folder.join(name);
        MergeInputs { base: file("base"), ours: file("ours"), theirs: file("theirs") }
    }

    /// Copies the places of a merge that is about to be made. `in_git` is the path that Git merges.
    ///
    /// # Errors
    /// They cannot be read, or there is no room.
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

    /// Keeps the conflicts of a merge that was written.
    ///
    /// # Errors
    /// There is no room, or Git does not take the filter.
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

    /// Changes what was decided, on what others have decided meanwhile.
    ///
    /// # Errors
    /// What `change` says; or the merge is gone, or there is no room.
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

    /// Takes the copies away, without a word to Git.
    ///
    /// # Errors
    /// They cannot be deleted.
    pub fn discard(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} cannot be deleted", self.folder.display()))
            }
            _ => Ok(()),
        }
    }

    /// The file as a person calls it.
    pub fn name(&self) -> String {
        self.in_git.as_ref().map_or_else(|| self.file.display().to_string(), |it| it.path.clone())
    }

    /// Its conflicts, in order.
    pub fn conflicts(&self) -> &[RecordedConflict] {
        &self.conflicts
    }

    /// Whether Git asked for the merge.
    pub fn is_in_git(&self) -> bool {
        self.in_git.is_some()
    }

    /// How many conflicts nobody has decided.
    pub fn open_count(&self) -> usize {
        self.conflicts.iter().filter(|it| it.choice.is_none()).count()
    }

    /// What the state is known by as long as it is there.
    pub fn merge_id(&self) -> String {
        let folder = fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
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

    /// Whether the file is no longer what the merge left.
    pub fn is_file_changed(&self) -> bool {
        place_file::hash_place_file(&self.file).ok().is_none_or(|hash| hash != self.written_hash)
    }

    /// Writes the file with all decisions, in a merge made anew of the copies.
    ///
    /// # Errors
    /// A place cannot be read or written, or a decision is not possible.
    pub fn write_result(&self) -> anyhow::Result<()> {
        let kept = self.merge_inputs();
        let (base, theirs) =
            (place_file::load_scene(&kept.base)?, place_file::load_scene(&kept.theirs)?);
        let (file, mut ours) = place_file::PlaceFile::open(&kept.ours, Some(&self.file))?;
        let mut merge = OpenMerge::new(&base, &mut ours, &theirs);
        // As JSON: what is no number is like itself there.
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

    /// Forgets the merge; Git takes the file as resolved.
    ///
    /// # Errors
    /// The copies cannot be deleted, or Git does not take the file.
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

/// What is kept in a folder; none where that is no merge.
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

/// The merge that is kept in a folder; none where there is none.
fn read_merge(folder: PathBuf, tree: Option<&WorkTree>) -> anyhow::Result<Option<MergeState>> {
    let Some(StateFile { file, written, conflicts, .. }) = read_state_file(&folder)? else {
        return Ok(None);
    };
    let in_git =
        tree.map(|tree| GitPath { tree: tree.clone(), path: file.to_string_lossy().into_owned() });
    let file = tree.map_or_else(|| file.clone(), |tree| tree.top.join(&file));
    Ok(Some(MergeState { folder, in_git, file, written_hash: written, conflicts }))
}

/// All open merges of the repositories that these folders are in, and those beside files of the
/// folders; by file.
///
/// # Errors
/// A state cannot be read.
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
                // The merge was aborted, or ended without Vector.
                tree.unblock_path(&path)?;
                state.discard()?;
            }
        }
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    found.dedup_by(|a, b| a.folder == b.folder);
    Ok(found)
}

/// The open merge of a file.
///
/// # Errors
/// A state cannot be read.
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

/// Why Git may not take a file now: how many of its conflicts are open. None where it may.
///
/// # Errors
/// The state cannot be read.
pub fn count_blocking_conflicts(path: &str, content: &[u8]) -> anyhow::Result<Option<usize>> {
    let tree = WorkTree::find_work_tree(Path::new("."))?;
    let Some(state) = read_merge(tree.merge_folder(path)?, Some(&tree))? else {
        return Ok(None);
    };
    let hash = Fingerprint::hash_bytes(content);
    let inputs = state.merge_inputs();
    // One side as a whole is a decision too, and what `git merge --abort` puts back.
    let is_one_side = [inputs.ours, inputs.theirs, inputs.base]
        .iter()
        .any(|file| place_file::hash_place_file(file).is_ok_and(|side| side == hash));
    let is_decided = hash != state.written_hash && is_one_side;
    Ok((!is_decided && tree.is_unmerged(path)?).then_some(state.open_count()))
}
