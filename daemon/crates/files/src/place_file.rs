//! Place and model files: `.rbxl`, `.rbxlx`, `.rbxm` and `.rbxmx`.
//!
//! A file is never changed in place. What is approved is performed on the scene, written to a
//! temporary file beside the target, synced, and renamed over it; so a reader sees the old file or
//! the new one, and a crash leaves one of them. Links stay links, permissions stay.

mod error;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::entry::{FilePlace, Seq};
use scene_schemas::proposal::{Ack, Proposal, RestorePatch};
use scene_schemas::{Fingerprint, FingerprintHasher};
use tempfile::NamedTempFile;

pub use self::error::PlaceError;

use vector_core::proposal::{BlobStore, InverseCommands, build_inverse};
use vector_place::{BytePatch, CodecError, Scene};

use crate::disk;
use crate::file_stamp::FileStamp;
use crate::memory_file::{self, MemoryFile};
use crate::perform::{PerformedCommands, PerformedProposal, effect_outcome, perform_proposals};

/// A place file that is open for an edit.
#[derive(Debug)]
pub struct PlaceFile {
    input: PathBuf,
    output: PathBuf,
    /// The hash of what the scene stands for.
    hash: Fingerprint,
    /// The hash of the file that is replaced; none where there is none yet.
    replaces: Option<Fingerprint>,
    /// Whether commands were planned in another epoch, so that only their paths count.
    by_path: bool,
    /// The project's memory beside the file that is written, where it can be read.
    memory: Option<MemoryFile>,
    /// How the place looked when it was read or written.
    stamp: FileStamp,
    /// Why it could not be read when somebody last looked.
    unreadable: Option<String>,
}

/// Reads a file, once: a large one is not copied. How it looked before that comes with it.
fn read_place_bytes(file: &Path) -> Result<(Arc<[u8]>, FileStamp), PlaceError> {
    let whole = || {
        let mut input = File::open(file)?;
        let metadata = input.metadata()?;
        let len = usize::try_from(metadata.len()).unwrap_or(0);
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
        if let Some(room) = Arc::get_mut(&mut bytes) {
            input.read_exact(room)?;
        }
        // What has no length of its own, such as a pipe, or grows while it is read.
        let mut rest = Vec::new();
        input.read_to_end(&mut rest)?;
        let bytes = if rest.is_empty() { bytes } else { [&bytes[..], &rest].concat().into() };
        Ok((bytes, FileStamp::from(&metadata)))
    };
    whole().map_err(|why| PlaceError::Read { file: display_path(file), why })
}

/// The hash of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash_place_file(file: &Path) -> Result<Fingerprint, PlaceError> {
    disk::hash_file(file).map_err(|why| PlaceError::Read { file: display_path(file), why })
}

/// Reads a place, to look at it.
pub fn load_scene(file: &Path) -> Result<Scene, PlaceError> {
    Scene::open(read_place_bytes(file)?.0)
        .map_err(|why| PlaceError::Open { file: display_path(file), why })
}

fn display_path(file: &Path) -> String {
    file.display().to_string()
}

/// The file behind links, by which the ledger names it; what does not exist yet is named by its folder's real name.
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
    /// Opens a place for an edit that is written to `out`, or to the place itself.
    ///
    /// # Errors
    /// It cannot be read, is not a place, or could not be written.
    pub fn open(input: &Path, out: Option<&Path>) -> Result<(Self, Scene), PlaceError> {
        let (bytes, stamp) = read_place_bytes(input)?;
        let hash = Fingerprint::hash_bytes(&bytes);
        let mut scene = Scene::open(bytes)
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
            // A link to nothing would be replaced by a file, and stay no link.
            Err(_) if output.is_symlink() => {
                return Err(PlaceError::NotAFile { file: display_path(&output) });
            }
            Err(_) => None,
        };
        disk::sweep_temporary(output.parent().unwrap_or(Path::new(".")));
        let memory = MemoryFile::beside_place(&output).ok();
        if let Some(memory) = &memory {
            memory.sweep_temporary();
            scene.load_memory(memory.text().to_owned());
        }
        let (by_path, away) = (false, None);
        Ok((
            Self { input, output, hash, replaces, by_path, memory, stamp, unreadable: away },
            scene,
        ))
    }

    /// The folder of the place, whose settings count for it.
    pub fn settings_folder(&self) -> &Path {
        self.input.parent().unwrap_or(Path::new("."))
    }

    /// Finds the instances of commands by their paths: for commands of another epoch.
    #[must_use]
    pub fn addressed_by_path(self, by_path: bool) -> Self {
        Self { by_path, ..self }
    }

    /// How the ledger names the place.
    pub fn ledger_place(&self) -> FilePlace {
        let is_elsewhere = self.output != self.input;
        FilePlace {
            file: display_path(&self.input),
            out: is_elsewhere.then(|| display_path(&self.output)),
            hash: self.hash.clone(),
            replaces: self.replaces.clone().filter(|_| is_elsewhere),
        }
    }

    /// The hash of the file that is replaced; none where there is none yet.
    pub fn replaced_hash(&self) -> Option<&Fingerprint> {
        self.replaces.as_ref()
    }

    /// The hash of what the scene stands for.
    pub fn hash(&self) -> &Fingerprint {
        &self.hash
    }

    /// The file that is written.
    pub fn output_file(&self) -> &Path {
        &self.output
    }

    /// Performs proposals on the scene, which stands for the file, and stores the result in a synced
    /// temporary file. Where a proposal cannot be performed it is left out, and so are those that
    /// stand on it. Where all of them take back what the file was made by, `back` leads to the bytes
    /// that it was made of.
    ///
    /// # Errors
    /// Nothing was stored, and the scene is as it was.
    pub fn prepare_proposals(
        &self,
        scene: &mut Scene,
        proposals: &[(Seq, Seq, &Proposal)],
        blobs: &BlobStore,
        back: Option<&RestorePatches>,
    ) -> Result<PreparedFile, PlaceError> {
        self.check_unchanged()?;
        let start = scene.journal_mark();
        let PerformedCommands { done, refused } =
            perform_proposals(scene, proposals, blobs, self.by_path);
        let back = back.filter(|_| refused.is_empty());
        let stored = (!done.is_empty()).then(|| self.store_scene(scene, done, back)).transpose();
        let prepared = stored.map(|stored| PreparedFile { stored, refused });
        if prepared.is_err() {
            scene.rollback(start);
        }
        prepared
    }

    fn store_scene(
        &self,
        scene: &mut Scene,
        done: Vec<PerformedProposal>,
        back: Option<&RestorePatches>,
    ) -> Result<StoredFile, PlaceError> {
        let file = display_path(&self.output);
        scene.rebuild_file().map_err(|why| self.encode_error(why))?;
        let mut after = hash_scene(scene);
        if let Some(back) = back.filter(|back| back.hash != after) {
            scene.apply_reverse_patches(&back.patches);
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
            // What the proposal made is called as the proposal calls it.
            scene.begin_scope(call);
            let outcomes = left.into_iter().map(|left| effect_outcome(scene, left)).collect();
            let InverseCommands { commands, witnesses, blobs } = build_inverse(scene, backs)
                .map_err(|refusal| PlaceError::Encode {
                    file: file.clone(),
                    why: CodecError::Write(refusal.0),
                })?;
            stored.blobs.extend(blobs.into_values());
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

    /// Stores the memory, where it is not what was read.
    fn store_memory(&self, scene: &Scene) -> Result<Option<memory_file::StoredMemory>, PlaceError> {
        let (Some(file), Some(text)) = (&self.memory, scene.memory()) else {
            return Ok(None);
        };
        if text == file.text() {
            return Ok(None);
        }
        check_memory(file)?;
        file.store_text(text).map(Some).map_err(|why| memory_error(file, why))
    }

    /// Writes a new file beside the target, with the target's permissions, down to the disk.
    fn write_beside<'a>(
        &self,
        runs: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<NamedTempFile, PlaceError> {
        disk::write_beside(&self.output, runs).map_err(|why| self.write_error(why))
    }

    fn write_error(&self, why: io::Error) -> PlaceError {
        let hint = match why.kind() {
            io::ErrorKind::PermissionDenied => {
                ". Allow writing there, or choose another place with --out"
            }
            kind => disk::error_hint(kind),
        };
        PlaceError::Write { file: display_path(&self.output), why, hint }
    }

    /// Opens the place once more, where it is the file that is written.
    ///
    /// # Errors
    /// It cannot be read, is no place any more, or could not be written.
    pub fn reopen(&self) -> Option<Result<(Self, Scene), PlaceError>> {
        (self.input == self.output).then(|| Self::open(&self.input, None))
    }

    /// Whether the place, which is written to itself, looks as it did when it was read.
    pub fn is_unchanged_on_disk(&self) -> bool {
        let is_same = FileStamp::of_file(&self.input).is_ok_and(|now| now == self.stamp);
        is_same && self.stamp.is_settled() && self.unreadable.is_none()
    }

    /// Reads what somebody else has made of the place, which is written to itself; the scene that it
    /// makes, where it is another one. A place that looks as it did is not read.
    pub fn follow_changes(&mut self) -> Option<Scene> {
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

    fn read_changed(&mut self) -> Result<Option<Scene>, PlaceError> {
        let failed = |why| PlaceError::Read { file: display_path(&self.input), why };
        let now = FileStamp::of_file(&self.input).map_err(failed)?;
        if now == self.stamp && now.is_settled() {
            return Ok(None);
        }
        if hash_place_file(&self.input)? == self.hash {
            self.stamp = now;
            return Ok(None);
        }
        let (opened, scene) = Self::open(&self.input, None)?;
        *self = opened;
        Ok(Some(scene))
    }

    /// Why the place cannot be read, as was seen when it was last followed; none where it can.
    pub fn unreadable_reason(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Reads the memory once more; what it says, where it can be read.
    pub fn read_memory(&mut self) -> Option<String> {
        self.memory = MemoryFile::beside_place(&self.output).ok();
        self.memory.as_ref().map(|memory| memory.text().to_owned())
    }

    /// Whether the files still are what was read.
    fn check_unchanged(&self) -> Result<(), PlaceError> {
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

    /// Writes the place as it was read, where another file is to be written: nobody should find what
    /// an earlier run left there.
    ///
    /// # Errors
    /// What was there is as it was.
    pub fn copy_unchanged(&self) -> Result<(), PlaceError> {
        let (bytes, _) = read_place_bytes(&self.input)?;
        if Fingerprint::hash_bytes(&bytes) != self.hash {
            return Err(PlaceError::Changed { file: display_path(&self.input) });
        }
        self.check_unchanged()?;
        self.replace_output(self.write_beside([&*bytes])?)
    }

    /// Writes a scene that a person's own command made, in one step as an edit does.
    ///
    /// # Errors
    /// What was there is as it was.
    pub fn write_scene(&self, scene: &mut Scene) -> Result<(), PlaceError> {
        self.check_unchanged()?;
        scene.rebuild_file().map_err(|why| self.encode_error(why))?;
        let temporary = self.write_beside(scene.byte_runs())?;
        self.check_unchanged()?;
        self.replace_output(temporary)
    }

    /// The error for a scene that cannot be written down.
    pub fn encode_error(&self, why: CodecError) -> PlaceError {
        PlaceError::Encode { file: display_path(&self.output), why }
    }

    fn replace_output(&self, temporary: NamedTempFile) -> Result<(), PlaceError> {
        disk::replace_file(temporary, &self.output).map_err(|why| self.write_error(why))
    }

    /// Puts the new file in the place of the old one. The last moment at which a change by somebody
    /// else is noticed.
    ///
    /// # Errors
    /// The old file is as it was.
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
            // Its look goes with it to the new name.
            let stamp = temporary.as_file().metadata().map(|it| FileStamp::from(&it));
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
            self.stamp = stamp.unwrap_or_else(|_| self.stamp.clone());
        }
        self.hash.clone_from(&stored.after);
        self.replaces = Some(stored.after);
        Ok(())
    }
}

/// Whether the memory still is what was read.
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

/// What leads back to the bytes that a file had.
#[derive(Debug)]
pub struct RestorePatches {
    /// One after the other.
    pub patches: Vec<BytePatch>,
    /// The hash of what they lead to.
    pub hash: Fingerprint,
}

/// What is ready to take the place of the old file.
#[derive(Debug)]
pub struct PreparedFile {
    /// The new file; none where no proposal could be performed.
    pub stored: Option<StoredFile>,
    /// The proposals that could not be performed, and why.
    pub refused: Vec<(Seq, String)>,
}

/// A new file on the disk that does not have its name yet.
#[derive(Debug)]
pub struct StoredFile {
    /// None where the file is what it is to become.
    temporary: Option<NamedTempFile>,
    memory: Option<memory_file::StoredMemory>,
    after: Fingerprint,
    /// What will be said of each proposal.
    pub acks: Vec<(Seq, Ack)>,
    /// What the inverse commands need.
    pub blobs: Vec<Vec<u8>>,
}
