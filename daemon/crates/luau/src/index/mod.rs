//! What a script yields for finding one's way in code: what it defines, what it requires, what it
//! gives to those who require it, and who uses which name.
//!
//! The reader is our own and has no tree: it goes over the tokens once, is some ten times as fast as a
//! parser that builds one, and stands on any text. Where a text is not Luau it says where, and reads
//! on. What Luau's grammar allows and it does not judge is not noticed here: [`super::check`] judges.
//! Scripts that require each other, and instances, are not known here.

mod display_name;
mod expression;
pub(super) mod lexer;
mod names;
mod path_rename;
mod reader;
mod script_summary;
mod statement;
mod step_chain;
mod types;
mod words;

#[cfg(test)]
mod tests;

use super::DefinitionKind;

pub use self::display_name::display_name;
pub use self::names::{BindingKind, NameBinding, NameRoot, NameUse, ScriptNames, UseKind};
pub use self::path_rename::{NameReplacement, find_replacements};
pub use self::step_chain::StepChain;
pub use self::words::{split_words, word_hash, word_hashes};

/// Bytes of a script's text: from, and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSpan {
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl ByteSpan {
    /// The text that it has of a script.
    pub fn text_in(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Whether a byte is in it, or right behind it, where a cursor stands.
    pub fn has_cursor_at(self, byte: u32) -> bool {
        (self.start..=self.end).contains(&byte)
    }
}

/// What is kept of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptSummary {
    /// What it defines, at all levels, in order.
    pub definitions: Box<[IndexedDefinition]>,
    /// What it requires, in order.
    pub requires: Box<[RequireCall]>,
    /// What it switches on, moves or copies, in order: instances whose way is written out.
    pub activations: Box<[RequireTarget]>,
    pub returns: ReturnedValue,
    /// The members of the table that it returns, in order.
    pub members: Box<[ModuleMember]>,
    /// The hashes of the words in its names, sorted; see [`word_hash`].
    pub word_hashes: Box<[u32]>,
    /// The same of the names of its definitions.
    pub definition_hashes: Box<[u32]>,
    /// The first place that it could not be read at; what follows is known as far as it can be.
    pub parse_error: Option<ParseError>,
}

/// Something that a script defines under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedDefinition {
    /// Its name as the script says it: `spawn`, `Shop.open`, `Shop:buy`; see [`called`].
    pub name: Box<str>,
    pub kind: DefinitionKind,
    /// All of it, to the last token.
    pub span: ByteSpan,
    /// The last part of its name, where it is defined.
    pub name_span: ByteSpan,
    /// Whether another script that requires this one can use it.
    pub is_exported: bool,
}

impl IndexedDefinition {
    /// The last part of its name.
    pub fn last_name(&self) -> &str {
        self.name.rsplit(['.', ':']).next().unwrap_or_default()
    }
}

/// A member of what a module returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleMember {
    pub name: Box<str>,
    /// Where it gets its value first.
    pub name_span: ByteSpan,
}

/// What a script returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnedValue {
    #[default]
    Nothing,
    /// A table, whose members are known as far as the script says them by name.
    Table,
    Function,
    /// What another module returns: the number of a require. Wally's links are such modules.
    Require(u32),
    Other,
}

/// A call of `require`, or of `pcall` with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequireCall {
    pub target: RequireTarget,
    pub span: ByteSpan,
    /// The local variable that holds it.
    pub local_name: Option<Box<str>>,
}

/// What is required, as the script says it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequireTarget {
    /// An instance, by the way to it.
    Instance(RouteOrigin, StepChain),
    /// A path as a string: `./x`, `../x`, `@self/x`, `@alias`.
    Text(Box<str>),
    /// An asset, by its number.
    Asset(Box<str>),
    /// Something that only a running script knows.
    Computed,
}

/// Where the way to an instance begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RouteOrigin {
    Script,
    Game,
    /// A service, by its class.
    Service(Box<str>),
}

/// A step on the way to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RouteStep {
    Parent,
    /// To the child of a name.
    Child(Box<str>),
    /// To the next instance above that has a name.
    Ancestor(Box<str>),
}

/// Why a place of a script could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    pub at: u32,
    /// What is wrong, in a person's words.
    pub message: &'static str,
}

/// Reads what is kept of a script.
pub fn summarize_script(source: &str) -> ScriptSummary {
    reader::read_source(source).into_summary(source)
}

/// Reads all names of a script, and what each of them means there. It is made anew for each question,
/// for it is larger than the script.
pub fn read_names(source: &str) -> ScriptNames {
    reader::read_source(source).into_names()
}
