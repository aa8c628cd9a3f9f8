//! Merges with open conflicts, as they are kept on disk: copies of the three places, and what was
//! decided so far.
//!
//! A merge that Git asked for is kept in the repository's own folder, by worktree; any other beside the
//! file that was written. The copies are what was merged, whatever happens to the files meanwhile.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scene_schemas::Fingerprint;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::cli::git_state;
use crate::core::scene::Scene;
use crate::core::scene::merge::{ConflictChoice, OpenMerge};
use crate::targets::place;

/// The name of the folder beside a file ends so.
const BESIDE: &str = ".vector-merge";
const STATE: &str = "state.json";
/// The form of the state file.
const VERSION: u32 = 1;

/// What is kept of a merge, beside the three places.
#[derive(Debug, Serialize, Deserialize)]
struct StateFile {
    version: u32,
    /// The file that the merge wrote: from the top of the repository, or by its full path.
    file: PathBuf,
    /// Its hash as the merge left it.
    written: Fingerprint,
    conflicts: Vec<KeptConflict>,
}

/// A conflict, and what was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptConflict {
    /// As `vector merge` prints it.
    pub(super) conflict: Json,
    pub(super) choice: Option<ConflictChoice>,
}

/// A merge with conflicts.
#[derive(Debug)]
pub(super) struct MergeState {
    folder: PathBuf,
    /// The path in the repository; none where Git does not know of the merge.
    in_git: Option<String>,
    /// The file that the merge wrote.
    pub(super) file: PathBuf,
    written: Fingerprint,
    pub(super) conflicts: Vec<KeptConflict>,
}

/// The three places of a merge.
pub(super) struct Inputs {
    pub(super) base: PathBuf,
    pub(super) ours: PathBuf,
    pub(super) theirs: PathBuf,
}

impl MergeState {
    fn inputs(&self) -> Inputs {
        let file = |name| self.folder.join(name);
        Inputs { base: file("base"), ours: file("ours"), theirs: file("theirs") }
    }

    /// Copies the places of a merge that is about to be made. `in_git` is the path that Git merges.
    pub(super) fn prepare(
        inputs: &Inputs,
        output: &Path,
        in_git: Option<&str>,
    ) -> anyhow::Result<Self> {
        let (folder, file) = match in_git {
            Some(path) => (git_state::merge_folder(path)?, git_state::top()?.join(path)),
            None => (beside(output), place::real(output)?),
        };
        let state = Self {
            folder,
            in_git: in_git.map(str::to_owned),
            file,
            written: Fingerprint::of(b""),
            conflicts: Vec::new(),
        };
        let failed = || format!("{} cannot be written", state.folder.display());
        fs::create_dir_all(&state.folder).with_context(failed)?;
        let kept = state.inputs();
        let pairs =
            [(&inputs.base, kept.base), (&inputs.ours, kept.ours), (&inputs.theirs, kept.theirs)];
        for (from, to) in pairs {
            fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
        }
        Ok(state)
    }

    /// Keeps the conflicts of a merge that was written.
    pub(super) fn keep(mut self, output: &Path, conflicts: Vec<Json>) -> anyhow::Result<Self> {
        self.written = place::hash(output)?;
        let kept = |conflict| KeptConflict { conflict, choice: None };
        self.conflicts = conflicts.into_iter().map(kept).collect();
        self.save()?;
        if let Some(path) = &self.in_git {
            git_state::block(path)?;
        }
        Ok(self)
    }

    /// Stores what was decided so far.
    pub(super) fn save(&self) -> anyhow::Result<()> {
        let state = StateFile {
            version: VERSION,
            file: self.in_git.as_ref().map_or_else(|| self.file.clone(), PathBuf::from),
            written: self.written.clone(),
            conflicts: self.conflicts.clone(),
        };
        let text = serde_json::to_string_pretty(&state)?;
        let file = self.folder.join(STATE);
        // A reader sees the old state or the new one.
        let write = || {
            let mut temporary = tempfile::NamedTempFile::new_in(&self.folder)?;
            io::Write::write_all(&mut temporary, text.as_bytes())?;
            temporary.persist(&file).map_err(|error| error.error)?;
            io::Result::Ok(())
        };
        write().with_context(|| format!("{} cannot be written", file.display()))
    }

    /// Takes the copies away, without a word to Git.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} cannot be deleted", self.folder.display()))
            }
            _ => Ok(()),
        }
    }

    /// The file as a person calls it.
    pub(super) fn name(&self) -> String {
        self.in_git.clone().unwrap_or_else(|| self.file.display().to_string())
    }

    pub(super) fn is_in_git(&self) -> bool {
        self.in_git.is_some()
    }

    /// How many conflicts nobody has decided.
    pub(super) fn open(&self) -> usize {
        self.conflicts.iter().filter(|it| it.choice.is_none()).count()
    }

    /// Whether the file is no longer what the merge left.
    pub(super) fn is_file_changed(&self) -> bool {
        place::hash(&self.file).ok().is_none_or(|hash| hash != self.written)
    }

    /// Does something with the merge, made anew of the copies.
    pub(super) fn with_merge<T>(
        &self,
        work: impl FnOnce(&mut OpenMerge<'_>, &mut Scene, &place::PlaceFile) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let kept = self.inputs();
        let (base, theirs) = (place::load(&kept.base)?, place::load(&kept.theirs)?);
        let (file, mut ours) = place::PlaceFile::open(&kept.ours, Some(&self.file))?;
        let mut merge = OpenMerge::new(&base, &mut ours, &theirs);
        work(&mut merge, &mut ours, &file)
    }

    /// Writes the file with all decisions.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        self.with_merge(|merge, ours, file| {
            for (at, kept) in self.conflicts.iter().enumerate() {
                if let Some(choice) = &kept.choice {
                    let chosen = merge.choose(ours, at, choice);
                    chosen
                        .map_err(|refusal| anyhow::anyhow!("conflict {}: {}", at + 1, refusal.0))?;
                }
            }
            Ok(file.write(ours)?)
        })
    }

    /// Forgets the merge; Git takes the file as resolved.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        if let Some(path) = &self.in_git {
            git_state::unblock(path)?;
        }
        self.remove()?;
        self.in_git.as_ref().map_or(Ok(()), |path| git_state::stage(path))
    }
}

fn beside(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(BESIDE);
    output.with_file_name(name)
}

/// Reads the merge that is kept in a folder; none where there is none.
fn read(folder: PathBuf, top: Option<&Path>) -> anyhow::Result<Option<MergeState>> {
    let file = folder.join(STATE);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context(format!("{} cannot be read", file.display())),
    };
    let state: StateFile = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the state of a merge", file.display()))?;
    if state.version != VERSION {
        anyhow::bail!(
            "{} was written by another version of Vector; finish the merge with that one, or start it \
             again",
            file.display()
        );
    }
    let in_git = top.map(|_| state.file.to_string_lossy().into_owned());
    Ok(Some(MergeState {
        folder,
        in_git,
        file: top.map_or_else(|| state.file.clone(), |top| top.join(&state.file)),
        written: state.written,
        conflicts: state.conflicts,
    }))
}

/// All open merges: those of this repository, and those beside files of this folder. With `file`, the
/// one of that file.
pub(super) fn all(file: Option<&Path>) -> anyhow::Result<Vec<MergeState>> {
    let mut found = Vec::new();
    if let Ok(top) = git_state::top() {
        for folder in folders(&git_state::merges_folder()?) {
            let Some(state) = read(folder, Some(&top))? else { continue };
            let path = state.name();
            if git_state::is_unmerged(&path)? {
                found.push(state);
            } else {
                // The merge was aborted, or ended without Vector.
                git_state::unblock(&path)?;
                state.remove()?;
            }
        }
    }
    let own = |folder: &PathBuf| folder.to_string_lossy().ends_with(BESIDE);
    for folder in folders(Path::new(".")).into_iter().filter(own) {
        found.extend(read(folder, None)?);
    }
    if let Some(file) = file {
        let real = place::real(file)?;
        found.retain(|state| {
            state.file == real || place::real(&state.file).ok().as_ref() == Some(&real)
        });
        if found.is_empty() {
            found.extend(read(beside(file), None)?);
        }
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(found)
}

fn folders(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Why Git may not take a file now: how many of its conflicts are open. None where it may.
pub(in crate::cli) fn open_in_git(path: &str, content: &[u8]) -> anyhow::Result<Option<usize>> {
    let folder = git_state::merge_folder(path)?;
    let Some(state) = read(folder, Some(&git_state::top()?))? else {
        return Ok(None);
    };
    let hash = Fingerprint::of(content);
    let inputs = state.inputs();
    // One side as a whole is a decision too, and what `git merge --abort` puts back.
    let is_one_side = [inputs.ours, inputs.theirs, inputs.base]
        .iter()
        .any(|file| place::hash(file).is_ok_and(|side| side == hash));
    let is_decided = hash != state.written && is_one_side;
    Ok((!is_decided && git_state::is_unmerged(path)?).then_some(state.open()))
}
