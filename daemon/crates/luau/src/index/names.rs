//! Who uses which name in a script: the answer to what a name at a place means.
//!
//! Local variables and parameters are told apart exactly as Luau's scopes do. Members are known by what
//! their chain begins with; what a call gives is nobody's.

use super::{ByteSpan, RequireCall};

/// All names of a script.
#[derive(Debug, Default)]
pub struct ScriptNames {
    /// What is declared, in order.
    pub bindings: Vec<NameBinding>,
    /// Where names stand, declarations too, in order.
    pub uses: Vec<NameUse>,
    pub requires: Vec<RequireCall>,
    /// The binding that the script returns; none where it returns something else.
    pub returned_binding: Option<u32>,
    /// The table that it returns, which is in no variable.
    pub returned_table: Option<u32>,
}

/// A local variable, a parameter or a parameter of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameBinding {
    /// Where it is declared; empty for `self`, which stands nowhere.
    pub span: ByteSpan,
    pub kind: BindingKind,
    /// The require whose value it holds, wherever one asks.
    pub require: Option<u32>,
    /// The table that it was declared with.
    pub table: Option<u32>,
    /// Whether it holds what a require gave, and something else at another time.
    pub is_mixed: bool,
}

/// What declares a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingKind {
    /// `local`, also of functions.
    Local,
    Parameter,
    LoopVariable,
    /// The `self` of a method of what a binding holds.
    SelfParameter(Option<u32>),
    /// A parameter of a type or of a generic function.
    TypeParameter,
}

/// A name where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameUse {
    pub span: ByteSpan,
    pub kind: UseKind,
}

/// What a name means where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseKind {
    /// It declares a binding.
    Declaration(u32),
    Reference(u32),
    Global,
    /// A member, so many steps behind what the chain begins with, from 1.
    Member(NameRoot, u32),
    /// A key in a table that is written out.
    Key(u32),
    /// A type of the script's, or a built-in one.
    Type,
    /// It declares a type.
    TypeDeclaration,
    /// A type of another module, which a name stands for.
    ImportedType(NameRoot),
}

/// What a chain of members begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameRoot {
    /// A call's result, or anything else without a name.
    #[default]
    Nothing,
    Binding(u32),
    /// A global variable, which stands here.
    Global(ByteSpan),
    /// A call of `require` itself, by its number.
    Require(u32),
}

impl ScriptNames {
    /// The name that stands at a byte, or ends there.
    pub fn name_at(&self, byte: u32) -> Option<&NameUse> {
        let mut touching = self.uses.iter().filter(|it| it.span.has_cursor_at(byte));
        let first = touching.next()?;
        // Between two names that touch, the one that begins is meant.
        Some(touching.find(|it| it.span.start == byte).unwrap_or(first))
    }
}
