//! Turns the state of the index reader into a script summary or a table of names.

use super::super::lexer::TokenKind;
use super::expression::ValueKind;
use super::names::{NameRoot, ScriptNames};
use super::reader::{SourceReader, token_span};
use super::words;
use super::{ByteSpan, ModuleMember, ReturnedValue, ScriptSummary};

impl SourceReader<'_> {
    /// Builds the summary of the script.
    pub(super) fn into_summary(mut self, source: &str) -> ScriptSummary {
        let (returns, members) = self.returned_value();
        let mut definitions = std::mem::take(&mut self.definitions);
        definitions.sort_by_key(|definition| definition.span.start);
        for definition in &mut definitions {
            let is_member = || members.binary_search(&definition.name_span).is_ok();
            definition.is_exported = definition.is_exported || is_member();
        }
        let member = |named: &ByteSpan| {
            let text = named.text_in(source);
            let name = text.trim_matches(['"', '\'']).into();
            ModuleMember { name, name_span: *named }
        };
        let mut members: Vec<ModuleMember> = members.iter().map(member).collect();
        members.sort_by(|a, b| (&a.name, a.name_span).cmp(&(&b.name, b.name_span)));
        members.dedup_by(|a, b| a.name == b.name);
        members.sort_by_key(|member| member.name_span);
        let word_hashes = sorted_hashes(self.name_ids.keys().copied());
        let texts = self.tokens.iter().filter(|it| it.kind == TokenKind::Text);
        let spelled = texts.filter_map(|it| words::spelled_name(self.token_text(*it)));
        let names = self.name_ids.keys().copied().chain(spelled);
        let name_hashes = sort_hashes(names.map(words::name_hash).collect());
        let defined = sorted_hashes(definitions.iter().map(|it| &*it.name));
        ScriptSummary {
            definitions: definitions.into_boxed_slice(),
            requires: self.names.requires.into_boxed_slice(),
            activations: self.activations.into_boxed_slice(),
            returns,
            members: members.into_boxed_slice(),
            word_hashes,
            definition_hashes: defined,
            name_hashes,
            parse_error: self.parse_error,
        }
    }

    /// Builds the table of all names in the script.
    pub(super) fn into_names(mut self) -> ScriptNames {
        if let Some(value) = &self.return_value {
            match (value.kind, value.root) {
                (ValueKind::Table(table), _) => self.names.returned_table = Some(table),
                (_, NameRoot::Binding(bound)) if value.member_count == 0 => {
                    self.names.returned_binding = Some(bound);
                }
                _ => {}
            }
        }
        self.names
    }

    /// The kind of the returned value, and the sorted positions of its members' names.
    fn returned_value(&self) -> (ReturnedValue, Vec<ByteSpan>) {
        let Some(value) = &self.return_value else {
            return (ReturnedValue::Nothing, Vec::new());
        };
        let keys = |table: u32| self.tables[table as usize].iter().map(|key| token_span(*key));
        match (value.kind, value.root) {
            (ValueKind::Table(table), _) => (ReturnedValue::Table, keys(table).collect()),
            (ValueKind::Function, _) => (ReturnedValue::Function, Vec::new()),
            (ValueKind::Require(require), _) => (ReturnedValue::Require(require), Vec::new()),
            (ValueKind::Other, NameRoot::Binding(bound)) if value.member_count == 0 => {
                let binding = self.names.bindings[bound as usize];
                if let Some(require) = binding.require {
                    return (ReturnedValue::Require(require), Vec::new());
                }
                let given = self.members.iter().filter(|(of, _)| *of == bound);
                let given = given.map(|(_, member)| token_span(*member));
                let mut members: Vec<ByteSpan> =
                    binding.table.into_iter().flat_map(keys).chain(given).collect();
                members.sort_unstable();
                let is_table = binding.table.is_some() || !members.is_empty();
                (if is_table { ReturnedValue::Table } else { ReturnedValue::Other }, members)
            }
            _ => (ReturnedValue::Other, Vec::new()),
        }
    }
}

/// The hashes of the words in names, sorted and deduplicated.
fn sorted_hashes<'a>(names: impl Iterator<Item = &'a str>) -> Box<[u32]> {
    sort_hashes(names.flat_map(words::word_hashes).collect())
}

fn sort_hashes(mut all: Vec<u32>) -> Box<[u32]> {
    all.sort_unstable();
    all.dedup();
    all.into_boxed_slice()
}
