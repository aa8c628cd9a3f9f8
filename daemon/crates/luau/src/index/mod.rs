//! The index of a script: what it defines, requires and returns, and where each name is used.
//!
//! The reader is handwritten and builds no tree. It passes over the tokens once, is about ten times
//! as fast as a parser that builds a tree, and accepts any text. Where a text is not Luau, it
//! records the position and continues. It does not detect every violation of the grammar;
//! [`compile_errors`](super::compile_errors) does. It must not know instances, nor which scripts
//! require each other.

mod display_name;
mod expression;
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
pub use self::words::{name_hash, split_words, word_hash, word_hashes};

/// A range of bytes in the text of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSpan {
    pub start: u32,
    /// The end of the range, exclusive.
    pub end: u32,
}

impl ByteSpan {
    /// The text of this range in a script.
    pub fn text_in(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Whether a cursor at a byte offset touches the range: inside it or right after it.
    pub fn has_cursor_at(self, byte: u32) -> bool {
        (self.start..=self.end).contains(&byte)
    }
}

/// The index of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptSummary {
    /// The definitions at all levels, in order.
    pub definitions: Box<[IndexedDefinition]>,
    /// The calls of `require`, in order.
    pub requires: Box<[RequireCall]>,
    /// The instances that the script enables, moves or clones, in order, if their route is written
    /// out.
    pub activations: Box<[RequireTarget]>,
    pub returns: ReturnedValue,
    /// The members of the returned table, in order.
    pub members: Box<[ModuleMember]>,
    /// The sorted hashes of the words in all names; see [`word_hash`].
    pub word_hashes: Box<[u32]>,
    /// The same for the names of definitions.
    pub definition_hashes: Box<[u32]>,
    /// The sorted hashes of whole names, and of texts that spell one, such as a service's; see
    /// [`name_hash`].
    pub name_hashes: Box<[u32]>,
    /// The first position that could not be read. What follows is read as far as possible.
    pub parse_error: Option<ParseError>,
}

/// A named definition in a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedDefinition {
    /// The name as written in the script: `spawn`, `Shop.open`, `Shop:buy`; see [`display_name()`].
    pub name: Box<str>,
    pub kind: DefinitionKind,
    /// The whole definition, up to its last token.
    pub span: ByteSpan,
    /// The last part of the name, where it is defined.
    pub name_span: ByteSpan,
    /// Whether a script that requires this one can use it.
    pub is_exported: bool,
}

impl ScriptSummary {
    /// Whether the script contains a name, in its code or as a whole text.
    pub fn has_name(&self, hash: u32) -> bool {
        self.name_hashes.binary_search(&hash).is_ok()
    }
}

impl IndexedDefinition {
    /// The last part of the name.
    pub fn last_name(&self) -> &str {
        self.name.rsplit(['.', ':']).next().unwrap_or_default()
    }
}

/// A member of the table that a module returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleMember {
    pub name: Box<str>,
    /// The first assignment of the member.
    pub name_span: ByteSpan,
}

/// The value that a script returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReturnedValue {
    #[default]
    Nothing,
    /// A table, whose members are known if the script names them.
    Table,
    Function,
    /// The value of another module, by the number of the require. Wally's link modules are of this
    /// kind.
    Require(u32),
    Other,
}

/// A call of `require`, direct or through `pcall`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequireCall {
    pub target: RequireTarget,
    pub span: ByteSpan,
    /// The local variable that holds the result.
    pub local_name: Option<Box<str>>,
}

/// The target of a require, as the script specifies it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequireTarget {
    /// An instance, by its route.
    Instance(RouteOrigin, StepChain),
    /// A path as a string: `./x`, `../x`, `@self/x`, `@alias`.
    Text(Box<str>),
    /// An asset, by its id.
    Asset(Box<str>),
    /// A target that is known only at run time.
    Computed,
}

/// The first instance of a route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RouteOrigin {
    Script,
    Game,
    /// A service, by its class.
    Service(Box<str>),
}

/// A step of a route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RouteStep {
    Parent,
    /// To the child with this name.
    Child(Box<str>),
    /// To the nearest ancestor with this name.
    Ancestor(Box<str>),
}

/// A position that could not be read, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    pub at: u32,
    /// The reason, in words for the user.
    pub message: &'static str,
}

/// Builds the index of a script.
pub fn summarize_script(source: &str) -> ScriptSummary {
    reader::read_source(source).into_summary(source)
}

/// Reads all names of a script and what each of them refers to. The result is not cached, because
/// it is larger than the script.
pub fn read_names(source: &str) -> ScriptNames {
    reader::read_source(source).into_names()
}
