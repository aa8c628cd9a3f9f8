//! Place and model files: `.rbxl`, `.rbxlx`, `.rbxm` and `.rbxmx`.
//!
//! A file is never changed in place. Approved proposals are performed on the scene, and the result
//! is written to a temporary file next to the target, synced, and renamed over it. A reader sees
//! the old file or the new one, and a crash leaves one of the two. Symbolic links and permissions
//! are kept.

mod error;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::entry::{FilePlace, Seq};
use scene_schemas::proposal::{Ack, Proposal, RestorePatch};
use scene_schemas::{Command, Fingerprint, FingerprintHasher};
use tempfile::NamedTempFile;

pub use self::error::PlaceError;

use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, InverseCommands, SET_MANY_FROM, build_inverse};
use vector_place::{BytePatch, CodecError, Scene};

use crate::disk;
use crate::file_stamp::FileStamp;
use crate::held::name_holder;
use crate::memory_file::{self, MemoryFile};
use crate::perform::{PerformedCommands, PerformedProposal, effect_outcome, perform_proposals};

/// A place file that is open for an edit.
#[derive(Debug)]
pub struct PlaceFile {
    input: PathBuf,
    output: PathBuf,
    /// The hash of the file content that the scene represents.
    hash: Fingerprint,
    /// The hash of the file to be replaced; None if it does not exist yet.
    replaces: Option<Fingerprint>,
    /// Whether commands were planned in another epoch, so that only their paths are valid.
    by_path: bool,
    /// The project memory next to the output file; None if it cannot be read.
    memory: Option<MemoryFile>,
    /// The stamp of the place file when it was last read or written.
    stamp: FileStamp,
    /// Whether the file was old when the stamp was taken, so that no other version has it.
    is_stamp_unique: bool,
    /// Why the last attempt to read the place file failed; None if it succeeded.
    unreadable: Option<String>,
}

/// Reads a file, and its stamp from before the read. The content is read straight into its final
/// buffer, so that a large file is not copied.
fn read_place_bytes(file: &Path) -> Result<(Arc<[u8]>, FileStamp), PlaceError> {
    let whole = || {
        let mut input = File::open(file)?;
        let stamp = FileStamp::of_open_file(&input)?;
        let len = usize::try_from(stamp.size()).unwrap_or(0);
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
        if let Some(room) = Arc::get_mut(&mut bytes) {
            input.read_exact(room)?;
        }
        // A pipe has no length, and a file may grow while it is read.
        let mut rest = Vec::new();
        input.read_to_end(&mut rest)?;
        let bytes = if rest.is_empty() { bytes } else { [&bytes[..], &rest].concat().into() };
        Ok((bytes, stamp))
    };
    whole().map_err(|why| read_error(file, why))
}

/// Hashes a place file.
///
/// # Errors
/// The file cannot be read.
pub fn hash_place_file(file: &Path) -> Result<Fingerprint, PlaceError> {
    disk::hash_file(file).map_err(|why| read_error(file, why))
}

/// Reads a place file for viewing only.
pub fn load_scene(file: &Path) -> Result<Scene, PlaceError> {
    Scene::open(read_place_bytes(file)?.0)
        .map_err(|why| PlaceError::Open { file: display_path(file), why })
}

fn read_error(file: &Path, why: io::Error) -> PlaceError {
    PlaceError::Read { file: display_path(file), why: name_holder(file, why) }
}

fn display_path(file: &Path) -> String {
    file.display().to_string()
}

/// The path behind links, by which the ledger names the file. A file that does not exist yet is
/// named by the real path of its folder.
pub fn real_path(file: &Path) -> Result<PathBuf, PlaceError> {
    let failed = |why| PlaceError::Read { file: display_path(file), why };
    if let Ok(found) = disk::canonical_path(file) {
        return Ok(found);
    }
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = file.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
    Ok(disk::canonical_path(folder).map_err(failed)?.join(name))
}

impl PlaceFile {
    /// Opens a place for an edit, to be written to `out` or back to the place itself.
    ///
    /// # Errors
    /// The file cannot be read, is not a place, or could not be written.
    pub fn open(input: &Path, out: Option<&Path>) -> Result<(Self, PlanningScene), PlaceError> {
        let (bytes, stamp) = read_place_bytes(input)?;
        let is_stamp_unique = stamp.is_old();
        let hash = Fingerprint::hash_bytes(&bytes);
        let scene = Scene::open(bytes)
            .map_err(|why| PlaceError::Open { file: display_path(input), why })?;
        let input = real_path(input)?;
        let output = match out {
            None => input.clone(),
            Some(out) => real_path(out).map_err(|error| match error {
                PlaceError::Read { file, why } => PlaceError::Output { file, why },
                other => other,
            })?,
        };
        let replaces = match fs::metadata(&output) {
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(PlaceError::ReadOnly { file: display_path(&output) });
            }
            Ok(metadata) if !metadata.is_file() => {
                return Err(PlaceError::NotAFile { file: display_path(&output) });
            }
            Ok(_) if output == input => Some(hash.clone()),
            Ok(_) => Some(self::hash_place_file(&output)?),
            // Replacing a broken link would turn it into a regular file.
            Err(_) if output.is_symlink() => {
                return Err(PlaceError::NotAFile { file: display_path(&output) });
            }
            Err(_) => None,
        };
        disk::sweep_temporary(output.parent().unwrap_or(Path::new(".")));
        let memory = MemoryFile::beside_place(&output).ok();
        if let Some(memory) = &memory {
            memory.sweep_temporary();
        }
        let text = memory.as_ref().map(|memory| memory.text().to_owned());
        let (by_path, away) = (false, None);
        Ok((
            Self {
                input,
                output,
                hash,
                replaces,
                by_path,
                memory,
                stamp,
                is_stamp_unique,
                unreadable: away,
            },
            PlanningScene::new(scene, text).with_set_many_from(SET_MANY_FROM),
        ))
    }

    /// The folder of the place, whose settings apply to it.
    pub fn settings_folder(&self) -> &Path {
        self.input.parent().unwrap_or(Path::new("."))
    }

    /// Sets whether instances are found by path, for commands that were planned in another epoch.
    #[must_use]
    pub fn addressed_by_path(self, by_path: bool) -> Self {
        Self { by_path, ..self }
    }

    /// How the ledger identifies the place.
    pub fn ledger_place(&self) -> FilePlace {
        let is_elsewhere = self.output != self.input;
        FilePlace {
            file: display_path(&self.input),
            out: is_elsewhere.then(|| display_path(&self.output)),
            hash: self.hash.clone(),
            replaces: self.replaces.clone().filter(|_| is_elsewhere),
        }
    }

    /// The hash of the file to be replaced; None if it does not exist yet.
    pub fn replaced_hash(&self) -> Option<&Fingerprint> {
        self.replaces.as_ref()
    }

    /// The hash of the file content that the scene represents.
    pub fn hash(&self) -> &Fingerprint {
        &self.hash
    }

    pub fn output_file(&self) -> &Path {
        &self.output
    }

    /// Performs proposals on the scene and stores the result in a synced temporary file. Skips a
    /// proposal that cannot be performed and all proposals that depend on it. If all proposals
    /// together revert the file to an earlier state, `back` holds the patches to the exact bytes of
    /// that state.
    ///
    /// # Errors
    /// Nothing was stored, and the scene is unchanged.
    pub fn prepare_proposals(
        &self,
        scene: &mut PlanningScene,
        proposals: &[(Seq, Seq, &Proposal)],
        blobs: &BlobStore,
        back: Option<&RestorePatches>,
    ) -> Result<PreparedFile, PlaceError> {
        self.check_unchanged()?;
        let start = scene.journal_mark();
        let PerformedCommands { done, refused } =
            perform_proposals(scene, proposals, blobs, self.by_path);
        let back = back.filter(|_| refused.is_empty());
        // The ledger has the tables of the proposals.
        let recorded =
            proposals.iter().flat_map(|(.., it)| &it.commands).filter_map(Command::table);
        let recorded: HashSet<&Fingerprint> = recorded.collect();
        let stored = (!done.is_empty()).then(|| self.store_scene(scene, done, back, &recorded));
        let stored = stored.transpose();
        let prepared = stored.map(|stored| PreparedFile { stored, refused });
        if prepared.is_err() {
            scene.rollback(start);
        }
        prepared
    }

    fn store_scene(
        &self,
        scene: &mut PlanningScene,
        done: Vec<PerformedProposal>,
        back: Option<&RestorePatches>,
        recorded_tables: &HashSet<&Fingerprint>,
    ) -> Result<StoredFile, PlaceError> {
        let file = display_path(&self.output);
        scene.scene_mut().rebuild_file().map_err(|why| self.encode_error(why))?;
        let mut after = hash_scene(scene);
        if let Some(back) = back.filter(|back| back.hash != after) {
            scene.scene_mut().apply_reverse_patches(&back.patches);
            after = hash_scene(scene);
            if after != back.hash {
                return Err(self.encode_error(CodecError::Damaged));
            }
        }
        let way_back = scene.reverse_patch().to_bytes();
        let bytes =
            RestorePatch { patch: Fingerprint::hash_bytes(&way_back), hash: self.hash.clone() };
        let is_same = self.replaces.as_ref() == Some(&after);
        let temporary = (!is_same).then(|| self.write_beside(scene.byte_runs())).transpose()?;
        let mut stored = StoredFile {
            temporary,
            memory: self.store_memory(scene)?,
            after,
            acks: Vec::new(),
            blobs: vec![way_back],
        };
        for PerformedProposal { seq, call, effects: left, undo_steps: backs } in done {
            // From here on, `new:K` refers to what this proposal created.
            scene.begin_scope(call);
            let outcomes = left.into_iter().map(|left| effect_outcome(scene, left)).collect();
            let InverseCommands { commands, witnesses, blobs } =
                build_inverse(scene.scene_mut(), backs).map_err(|refusal| PlaceError::Encode {
                    file: file.clone(),
                    why: CodecError::Write(refusal.0),
                })?;
            stored.blobs.extend(blobs.into_values());
            let tables = commands.iter().filter_map(Command::table);
            let new = tables.filter(|table| !recorded_tables.contains(table));
            stored.blobs.extend(new.filter_map(|table| scene.take_blob(table)));
            let ack = Ack {
                file: Some(file.clone()),
                before: self.replaces.clone(),
                after: Some(stored.after.clone()),
                outcomes,
                inverse: commands,
                witnesses,
                bytes: Some(bytes.clone()),
                files: None,
            };
            stored.acks.push((seq, ack));
        }
        Ok(stored)
    }

    /// Stores the memory in a temporary file, if it differs from what was read.
    fn store_memory(
        &self,
        scene: &PlanningScene,
    ) -> Result<Option<memory_file::StoredMemory>, PlaceError> {
        let (Some(file), Some(text)) = (&self.memory, scene.memory()) else {
            return Ok(None);
        };
        if text == file.text() {
            return Ok(None);
        }
        check_memory(file)?;
        file.store_text(text).map(Some).map_err(|why| memory_error(file, why))
    }

    /// Writes a temporary file next to the output, with the output's permissions, and syncs it.
    fn write_beside<'a>(
        &self,
        runs: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<NamedTempFile, PlaceError> {
        disk::write_beside(&self.output, runs).map_err(|why| self.write_error(why))
    }

    fn write_error(&self, why: io::Error) -> PlaceError {
        let hint = match why.kind() {
            io::ErrorKind::PermissionDenied => {
                ". Allow writing there, or choose another file to write"
            }
            kind => disk::error_hint(kind),
        };
        PlaceError::Write { file: display_path(&self.output), why, hint }
    }

    /// Opens the place again; None if it is written to another file.
    ///
    /// # Errors
    /// The file cannot be read, is not a place any more, or could not be written.
    pub fn reopen(&self) -> Option<Result<(Self, PlanningScene), PlaceError>> {
        (self.input == self.output).then(|| Self::open(&self.input, None))
    }

    /// Whether the place file on disk has the stamp from when it was read or written. Only for a
    /// place that is written to itself.
    pub fn is_unchanged_on_disk(&self) -> bool {
        let is_same = FileStamp::of_file(&self.input).is_ok_and(|now| now == self.stamp);
        is_same && self.stamp.is_settled() && self.unreadable.is_none()
    }

    /// Reads the changes that another program made to the place file. Returns the new scene, or
    /// None if the content is the same or cannot be read. Does not read a file whose stamp is
    /// unchanged. Only for a place that is written to itself.
    pub fn follow_changes(&mut self) -> Option<PlanningScene> {
        match self.read_changed() {
            Ok(scene) => {
                self.unreadable = None;
                scene
            }
            Err(error) => {
                self.unreadable = Some(error.to_string());
                None
            }
        }
    }

    fn read_changed(&mut self) -> Result<Option<PlanningScene>, PlaceError> {
        let failed = |why| PlaceError::Read { file: display_path(&self.input), why };
        let now = FileStamp::of_file(&self.input).map_err(failed)?;
        let is_unique = now.is_old();
        if now == self.stamp && now.is_settled() {
            return Ok(None);
        }
        if hash_place_file(&self.input)? == self.hash {
            (self.stamp, self.is_stamp_unique) = (now, is_unique);
            return Ok(None);
        }
        let (opened, scene) = Self::open(&self.input, None)?;
        *self = opened;
        Ok(Some(scene))
    }

    /// Why the place could not be read when it was last followed; None if it could.
    pub fn unreadable_reason(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Reads the memory again. Returns its text; None if it cannot be read.
    pub fn read_memory(&mut self) -> Option<String> {
        self.memory = MemoryFile::beside_place(&self.output).ok();
        self.memory.as_ref().map(|memory| memory.text().to_owned())
    }

    /// Whether the place file is sure to be the one that was read or written, and is replaced.
    fn is_certainly_unchanged(&self) -> bool {
        self.input == self.output
            && self.replaces.as_ref() == Some(&self.hash)
            && self.is_stamp_unique
            && FileStamp::of_file(&self.output).is_ok_and(|now| now == self.stamp)
    }

    /// Fails if the output file is not the one that was read.
    fn check_unchanged(&self) -> Result<(), PlaceError> {
        if self.is_certainly_unchanged() {
            return Ok(());
        }
        let now = match hash_place_file(&self.output) {
            Ok(hash) => Some(hash),
            Err(PlaceError::Read { why, .. }) if why.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now == self.replaces {
            return Ok(());
        }
        Err(PlaceError::Changed { file: display_path(&self.output) })
    }

    /// Writes an unchanged copy of the place to the output file, so that the output of an earlier
    /// run is not mistaken for the result of this one.
    ///
    /// # Errors
    /// The output file is unchanged.
    pub fn copy_unchanged(&self) -> Result<(), PlaceError> {
        let (bytes, _) = read_place_bytes(&self.input)?;
        if Fingerprint::hash_bytes(&bytes) != self.hash {
            return Err(PlaceError::Changed { file: display_path(&self.input) });
        }
        self.check_unchanged()?;
        self.replace_output(self.write_beside([&*bytes])?)
    }

    /// Atomically writes a scene that was changed by a user's own command, without a proposal.
    ///
    /// # Errors
    /// The output file is unchanged.
    pub fn write_scene(&self, scene: &mut Scene) -> Result<(), PlaceError> {
        self.check_unchanged()?;
        scene.rebuild_file().map_err(|why| self.encode_error(why))?;
        let temporary = self.write_beside(scene.byte_runs())?;
        self.check_unchanged()?;
        self.replace_output(temporary)
    }

    /// The error for a scene that cannot be encoded.
    pub fn encode_error(&self, why: CodecError) -> PlaceError {
        PlaceError::Encode { file: display_path(&self.output), why }
    }

    fn replace_output(&self, temporary: NamedTempFile) -> Result<(), PlaceError> {
        disk::replace_file(temporary, &self.output).map_err(|why| self.write_error(why))
    }

    /// Replaces the old file with the new one. Checks one last time that no other program has
    /// changed the old file.
    ///
    /// # Errors
    /// The old file is unchanged.
    pub fn commit(&mut self, stored: StoredFile) -> Result<(), PlaceError> {
        self.check_unchanged()?;
        let remembered = match (&mut self.memory, stored.memory) {
            (Some(file), Some(text)) => {
                check_memory(file)?;
                Some(file.replace(text).map_err(|why| memory_error(file, why))?)
            }
            _ => None,
        };
        if let Some(temporary) = stored.temporary {
            let stamp = FileStamp::of_open_file(temporary.as_file());
            if let Err(error) = self.replace_output(temporary) {
                if let (Some(file), Some(before)) = (&mut self.memory, remembered) {
                    file.restore_text(before).map_err(|why| PlaceError::MemoryAhead {
                        file: display_path(&self.output),
                        memory: display_path(file.path()),
                        error: error.to_string(),
                        why,
                    })?;
                }
                return Err(error);
            }
            if let Ok(stamp) = stamp {
                // Only the rename may have changed it since.
                let now = FileStamp::of_file(&self.output).ok();
                self.stamp = now.filter(|now| now.is_same_version(&stamp)).unwrap_or(stamp);
                self.is_stamp_unique = false;
            }
        }
        self.hash.clone_from(&stored.after);
        self.replaces = Some(stored.after);
        Ok(())
    }
}

/// Fails if the memory file is not as it was read.
fn check_memory(file: &MemoryFile) -> Result<(), PlaceError> {
    match file.is_unchanged() {
        Ok(true) => Ok(()),
        Ok(false) => Err(PlaceError::Changed { file: display_path(file.path()) }),
        Err(why) => Err(PlaceError::Read { file: display_path(file.path()), why }),
    }
}

fn memory_error(file: &MemoryFile, why: io::Error) -> PlaceError {
    PlaceError::Write { file: display_path(file.path()), hint: disk::error_hint(why.kind()), why }
}

fn hash_scene(scene: &Scene) -> Fingerprint {
    let mut hashing = FingerprintHasher::default();
    for run in scene.byte_runs() {
        hashing.update(run);
    }
    hashing.finish()
}

/// The patches that restore the exact bytes of an earlier file.
#[derive(Debug)]
pub struct RestorePatches {
    /// In the order of application.
    pub patches: Vec<BytePatch>,
    /// The hash of the restored bytes.
    pub hash: Fingerprint,
}

/// The result of [`PlaceFile::prepare_proposals`].
#[derive(Debug)]
pub struct PreparedFile {
    /// The new file; None if no proposal could be performed.
    pub stored: Option<StoredFile>,
    /// The proposals that could not be performed, each with its reason.
    pub refused: Vec<(Seq, String)>,
}

/// New contents in temporary files, ready to replace the old ones.
#[derive(Debug)]
pub struct StoredFile {
    /// None if the file already has the new content.
    temporary: Option<NamedTempFile>,
    memory: Option<memory_file::StoredMemory>,
    after: Fingerprint,
    /// The acknowledgement of each proposal.
    pub acks: Vec<(Seq, Ack)>,
    /// The blobs that the inverse commands refer to.
    pub blobs: Vec<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use vector_place::FileFormat;

    use super::*;

    #[test]
    fn change_with_the_old_time_and_length_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("place.rbxl");
        let mut scene = Scene::empty(FileFormat::Binary);
        let folder_node = scene.create(scene.root(), "Folder", "One");
        fs::write(&file, scene.encode().unwrap()).unwrap();
        let (mut place, _) = PlaceFile::open(&file, None).unwrap();
        assert!(!place.is_certainly_unchanged(), "it was changed just now");
        // The same for a file that was old when it was opened.
        place.is_stamp_unique = true;
        assert!(place.is_certainly_unchanged());
        assert!(place.check_unchanged().is_ok());
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        scene.rename(folder_node, "Two");
        let changed = scene.encode().unwrap();
        let overwrite = || {
            fs::write(&file, &changed).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        };
        overwrite();
        // The clock of the file system may not have moved since the file was opened.
        while FileStamp::of_file(&file).unwrap() == place.stamp {
            overwrite();
        }
        assert!(!place.is_certainly_unchanged());
        place.is_stamp_unique = true;
        assert!(matches!(place.check_unchanged(), Err(PlaceError::Changed { .. })));
    }
}
