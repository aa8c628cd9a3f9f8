//! What a script yields for finding one's way in code: what it defines, what it requires, what it
//! gives to those who require it, and who uses which name.
//!
//! The reader is our own and has no tree: it goes over the tokens once, is some ten times as fast as a
//! parser that builds one, and stands on any text. Where a text is not Luau it says where, and reads
//! on. What Luau's grammar allows and it does not judge is not noticed here: [`super::check`] judges.
//! Scripts that require each other, and instances, are not known here.

mod called;
mod expression;
pub(super) mod lexer;
mod names;
mod reader;
mod statement;
mod step_names;
mod types;
mod way;
mod words;
mod yielded;

#[cfg(test)]
mod tests;

use super::DefinitionKind;

pub use self::called::called;
pub use self::names::{Binding, BindingKind, Names, Root, Use, UseKind};
pub use self::step_names::{Renaming, renamings};
pub use self::way::Way;
pub use self::words::{hash as word_hash, hashes as word_hashes, words};

/// Bytes of a script's text: from, and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
}

impl Span {
    /// The text that it has of a script.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Whether a byte is in it, or right behind it, where a cursor stands.
    pub fn touches(self, byte: u32) -> bool {
        (self.start..=self.end).contains(&byte)
    }
}

/// What is kept of a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// What it defines, at all levels, in order.
    pub definitions: Box<[Definition]>,
    /// What it requires, in order.
    pub requires: Box<[Require]>,
    /// What it switches on, moves or copies, in order: instances whose way is written out.
    pub wakes: Box<[Required]>,
    /// What it returns.
    pub returns: Returns,
    /// The members of the table that it returns, in order.
    pub members: Box<[Member]>,
    /// The hashes of the words in its names, sorted; see [`word_hash`].
    pub words: Box<[u32]>,
    /// The same of the names of its definitions.
    pub defined: Box<[u32]>,
    /// The first place that it could not be read at; what follows is known as far as it can be.
    pub trouble: Option<Trouble>,
}

/// Something that a script defines under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// Its name as the script says it: `spawn`, `Shop.open`, `Shop:buy`; see [`called`].
    pub name: Box<str>,
    /// What it is.
    pub kind: DefinitionKind,
    /// All of it, to the last token.
    pub span: Span,
    /// The last part of its name, where it is defined.
    pub named: Span,
    /// Whether another script that requires this one can use it.
    pub exported: bool,
}

impl Definition {
    /// The last part of its name.
    pub fn last_name(&self) -> &str {
        self.name.rsplit(['.', ':']).next().unwrap_or_default()
    }
}

/// A member of what a module returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Box<str>,
    /// Where it gets its value first.
    pub named: Span,
}

/// What a script returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Returns {
    /// Nothing.
    #[default]
    Nothing,
    /// A table, whose members are known as far as the script says them by name.
    Table,
    /// A function.
    Function,
    /// What another module returns: the number of a require. Wally's links are such modules.
    Require(u32),
    /// Something else.
    Other,
}

/// A call of `require`, or of `pcall` with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Require {
    /// What is required.
    pub what: Required,
    /// The whole call.
    pub span: Span,
    /// The local variable that holds it.
    pub local: Option<Box<str>>,
}

/// What is required, as the script says it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Required {
    /// An instance, by the way to it.
    Instance(Origin, Way),
    /// A path as a string: `./x`, `../x`, `@self/x`, `@alias`.
    Text(Box<str>),
    /// An asset, by its number.
    Asset(Box<str>),
    /// Something that only a running script knows.
    Computed,
}

/// Where the way to an instance begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The script.
    Script,
    /// `game`.
    Game,
    /// A service, by its class.
    Service(Box<str>),
}

/// A step on the way to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// To the parent.
    Parent,
    /// To the child of a name.
    Child(Box<str>),
    /// To the next instance above that has a name.
    Ancestor(Box<str>),
}

/// Why a place of a script could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// The byte.
    pub at: u32,
    /// What is wrong, in a person's words.
    pub what: &'static str,
}

/// Reads what is kept of a script.
pub fn read(source: &str) -> Script {
    reader::read(source).script(source)
}

/// Reads all names of a script, and what each of them means there. It is made anew for each question,
/// for it is larger than the script.
pub fn names(source: &str) -> Names {
    reader::read(source).into_names()
}
