//! The reader: what is kept of what was read.

use super::expression::What;
use super::names::{Names, Root};
use super::reader::{Reader, span};
use super::words;
use super::{Member, Returns, Script, Span};

impl Reader<'_> {
    /// What is kept of the script.
    pub(super) fn script(mut self, source: &str) -> Script {
        let (returns, members) = self.returns();
        let mut definitions = std::mem::take(&mut self.definitions);
        definitions.sort_by_key(|definition| definition.span.start);
        for definition in &mut definitions {
            let is_member = || members.binary_search(&definition.named).is_ok();
            definition.exported = definition.exported || is_member();
        }
        let member = |named: &Span| {
            let text = named.of(source);
            let name = text.trim_matches(['"', '\'']).into();
            Member { name, named: *named }
        };
        let mut members: Vec<Member> = members.iter().map(member).collect();
        members.sort_by(|a, b| (&a.name, a.named).cmp(&(&b.name, b.named)));
        members.dedup_by(|a, b| a.name == b.name);
        members.sort_by_key(|member| member.named);
        let words = hashes(self.ids.keys().copied());
        let defined = hashes(definitions.iter().map(|it| &*it.name));
        Script {
            definitions: definitions.into_boxed_slice(),
            requires: self.names.requires.into_boxed_slice(),
            wakes: self.wakes.into_boxed_slice(),
            returns,
            members: members.into_boxed_slice(),
            words,
            defined,
            trouble: self.trouble,
        }
    }

    /// All names of the script.
    pub(super) fn into_names(mut self) -> Names {
        if let Some(value) = &self.returned {
            match (value.what, value.root) {
                (What::Table(table), _) => self.names.returned_table = Some(table),
                (_, Root::Bound(bound)) if value.fields == 0 => self.names.returned = Some(bound),
                _ => {}
            }
        }
        self.names
    }

    /// What the script returns, and where its members get their values, sorted.
    fn returns(&self) -> (Returns, Vec<Span>) {
        let Some(value) = &self.returned else {
            return (Returns::Nothing, Vec::new());
        };
        let keys = |table: u32| self.tables[table as usize].iter().map(|key| span(*key));
        match (value.what, value.root) {
            (What::Table(table), _) => (Returns::Table, keys(table).collect()),
            (What::Function, _) => (Returns::Function, Vec::new()),
            (What::Require(require), _) => (Returns::Require(require), Vec::new()),
            (What::Other, Root::Bound(bound)) if value.fields == 0 => {
                let binding = self.names.bindings[bound as usize];
                if let Some(require) = binding.require {
                    return (Returns::Require(require), Vec::new());
                }
                let given = self.members.iter().filter(|(of, _)| *of == bound);
                let given = given.map(|(_, member)| span(*member));
                let mut members: Vec<Span> =
                    binding.table.into_iter().flat_map(keys).chain(given).collect();
                members.sort_unstable();
                let is_table = binding.table.is_some() || !members.is_empty();
                (if is_table { Returns::Table } else { Returns::Other }, members)
            }
            _ => (Returns::Other, Vec::new()),
        }
    }
}

/// The hashes of the words in names, sorted, each once.
fn hashes<'a>(names: impl Iterator<Item = &'a str>) -> Box<[u32]> {
    let mut all: Vec<u32> = names.flat_map(words::hashes).collect();
    all.sort_unstable();
    all.dedup();
    all.into_boxed_slice()
}
