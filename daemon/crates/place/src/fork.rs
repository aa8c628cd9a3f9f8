//! Independent copies of a scene.

use std::cell::OnceCell;

use super::Scene;
use super::change::EditJournal;

impl Scene {
    /// Returns a copy that keeps its content while this scene changes, such as for code that runs
    /// meanwhile. The bytes of a file are shared. The edits so far are permanent in the copy.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            file: self.file.clone(),
            tree: self.tree.clone(),
            edits: self.edits.clone(),
            bases: self.bases.clone(),
            deleted: self.deleted.clone(),
            renamed: self.renamed.clone(),
            asset_previews: self.asset_previews.clone(),
            ids: self.ids.clone(),
            created: self.created.clone(),
            created_by_id: self.created_by_id.clone(),
            scope: self.scope,
            planned_number: self.planned_number,
            journal: EditJournal::default(),
            last_key: self.last_key,
            last_storable: self.last_storable,
            storable: self.storable.clone(),
            scripts: self.scripts.clone(),
            saved_pieces: self.saved_pieces.clone(),
            built_pieces: self.built_pieces.clone(),
            counted: self.counted.clone(),
            texts: self.texts.clone(),
            hashes: OnceCell::new(),
        }
    }
}
