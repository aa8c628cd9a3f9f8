//! Name resolution within a script: what a name at a position refers to.
//!
//! Local variables and parameters are resolved exactly as in Luau's scopes. Members are identified
//! by the root of their chain. Members of a call's result are not resolved.

use super::{ByteSpan, RequireCall};

#[derive(Debug, Default)]
pub struct ScriptNames {
    /// The declarations, in order.
    pub bindings: Vec<NameBinding>,
    /// All uses of names including declarations, in order.
    pub uses: Vec<NameUse>,
    pub requires: Vec<RequireCall>,
    /// The binding that the script returns; None if it returns something else.
    pub returned_binding: Option<u32>,
    /// The number of the returned table, if it is not held by a variable.
    pub returned_table: Option<u32>,
}

/// A local variable, a parameter or a type parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameBinding {
    /// The declaration; empty for the implicit `self`.
    pub span: ByteSpan,
    pub kind: BindingKind,
    /// The require whose value the binding always holds.
    pub require: Option<u32>,
    /// The table that the binding was declared with.
    pub table: Option<u32>,
    /// Whether it holds the value of a require at some times and another value at others.
    pub is_mixed: bool,
}

/// The kind of a declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingKind {
    /// A `local`, including `local function`.
    Local,
    Parameter,
    LoopVariable,
    /// The implicit `self` of a method, with the binding that holds the method's table.
    SelfParameter(Option<u32>),
    /// A type parameter of a type or of a generic function.
    TypeParameter,
}

/// An occurrence of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameUse {
    pub span: ByteSpan,
    pub kind: UseKind,
}

/// The meaning of an occurrence of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UseKind {
    Declaration(u32),
    Reference(u32),
    Global,
    /// A member: the root of its chain, and its position in the chain, from 1.
    Member(NameRoot, u32),
    /// A key in a table constructor.
    Key(u32),
    /// A type of the script, or a built-in one.
    Type,
    TypeDeclaration,
    /// A type of another module, with the name that holds the module.
    ImportedType(NameRoot),
}

/// The root of a chain of members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameRoot {
    /// The result of a call, or any other expression without a name.
    #[default]
    Nothing,
    Binding(u32),
    /// A global variable, and its position.
    Global(ByteSpan),
    /// A call of `require` itself, by its number.
    Require(u32),
}

impl ScriptNames {
    /// The name at a byte offset, or ending there.
    pub fn name_at(&self, byte: u32) -> Option<&NameUse> {
        let mut touching = self.uses.iter().filter(|it| it.span.has_cursor_at(byte));
        let first = touching.next()?;
        // Between two adjacent names, prefer the one that begins here.
        Some(touching.find(|it| it.span.start == byte).unwrap_or(first))
    }
}
