//! String interner for names and classes, which repeat often.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Interned texts, numbered from 0 in order of first use.
#[derive(Debug, Clone, Default)]
pub(super) struct TextInterner {
    text: String,
    /// End offset of each text; each text starts at the end of the one before it.
    ends: Vec<u32>,
    table: HashTable<u32>,
}

fn hash(text: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(text)
}

impl TextInterner {
    /// Returns the number of a text; interns it if it is new.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        let Self { text: all, ends, table } = self;
        let entry = table.entry(
            hash(text),
            |id| text_slice(all, ends, *id) == text,
            |id| hash(text_slice(all, ends, *id)),
        );
        let new = ends.len() as u32;
        let id = *entry.or_insert(new).get();
        if id == new {
            all.push_str(text);
            ends.push(all.len() as u32);
        }
        id
    }

    /// Returns the number of a text; None if it was never interned.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        self.table.find(hash(text), |id| self.get(*id) == text).copied()
    }

    pub(super) fn get(&self, id: u32) -> &str {
        text_slice(&self.text, &self.ends, id)
    }

    /// Returns the number of interned texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn text_slice<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let end = ends.get(id as usize).map_or(0, |end| *end as usize);
    let start = match id {
        0 => 0,
        id => ends.get(id as usize - 1).map_or(end, |start| *start as usize),
    };
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_one_number() {
        let mut interner = TextInterner::default();
        assert_eq!(interner.find("Part"), None);
        let numbers = ["Part", "", "Wall", "Part", "", "Ärger"].map(|it| interner.intern(it));
        assert_eq!(numbers, [0, 1, 2, 0, 1, 3]);
        assert_eq!(interner.find("Wall"), Some(2));
        assert_eq!([0, 1, 2, 3].map(|id| interner.get(id)), ["Part", "", "Wall", "Ärger"]);
        assert_eq!(interner.get(9), "");
        assert_eq!(interner.len(), 4);
    }
}
