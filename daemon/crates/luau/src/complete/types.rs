//! The type of an expression before a position, as far as its tokens tell.

use vector_roblox_api::{ApiFacts, Member, MemberKind};

use crate::highlight::GLOBALS;
use crate::lexer::{Token, TokenKind, string_content};

/// Maximum number of locals and parentheses through which a type is followed.
const MAX_LOCALS: usize = 8;
/// The methods that return an instance of the class that they are given.
const CLASS_METHODS: [&str; 5] = [
    "FindFirstAncestorOfClass",
    "FindFirstAncestorWhichIsA",
    "FindFirstChildOfClass",
    "FindFirstChildWhichIsA",
    "GetService",
];

/// A type whose members are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownType {
    /// An instance of a class.
    Class(&'static str),
    /// A value of a datatype.
    Value(&'static str),
    /// The name of a datatype, which has constructors.
    Static(&'static str),
    /// A library of Luau or Roblox.
    Library(&'static str),
    /// `Enum` itself, which has all enums.
    Enums,
    Enum(&'static str),
}

/// Reads types from the tokens before a position.
pub(super) struct TypeReader<'a> {
    pub(super) text: &'a str,
}

/// A step from a value to another.
#[derive(Debug, Clone, Copy)]
enum MemberStep<'a> {
    Field(&'a str),
    Method(&'a str, Option<&'a str>),
    /// A call of the value itself, with its first argument if that is a string.
    Call(Option<&'a str>),
}

/// The type that the steps so far lead to.
#[derive(Debug, Clone, Copy)]
struct ReachedType {
    known: KnownType,
    /// The function of a datatype that was named but is not called yet.
    function: Option<&'static Member>,
}

impl<'a> TypeReader<'a> {
    fn token_text(&self, token: Token) -> &'a str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// Returns the type of the expression that ends with these tokens.
    pub(super) fn type_before(&self, tokens: &[Token]) -> Option<KnownType> {
        self.type_within(tokens, MAX_LOCALS)
    }

    fn type_within(&self, tokens: &[Token], locals: usize) -> Option<KnownType> {
        let mut rest = tokens;
        let mut steps = Vec::new();
        let root = loop {
            let (last, head) = rest.split_last()?;
            match last.kind {
                TokenKind::Name => {
                    let name = self.token_text(*last);
                    match head.split_last() {
                        Some((dot, before)) if dot.kind == TokenKind::Symbol(b'.') => {
                            steps.push(MemberStep::Field(name));
                            rest = before;
                        }
                        _ => break self.name_type(name, head, locals),
                    }
                }
                TokenKind::Symbol(b')') => {
                    let open = opening(head)?;
                    let (before, inner) = (&head[..open], &head[open + 1..]);
                    let is_called = before.last().is_some_and(|it| {
                        matches!(it.kind, TokenKind::Name | TokenKind::Symbol(b')' | b']'))
                    });
                    if !is_called {
                        break self.type_within(inner, locals.checked_sub(1)?);
                    }
                    let argument = inner.first().filter(|it| it.kind == TokenKind::Text);
                    let argument = argument.and_then(|it| string_content(self.token_text(*it)));
                    match before {
                        [front @ .., colon, name] if colon.kind == TokenKind::Symbol(b':') => {
                            steps.push(MemberStep::Method(self.token_text(*name), argument));
                            rest = front;
                        }
                        _ => {
                            steps.push(MemberStep::Call(argument));
                            rest = before;
                        }
                    }
                }
                _ => return None,
            }
        };
        let root = ReachedType { known: root?, function: None };
        let reached = steps.iter().rev().try_fold(root, Self::step)?;
        // A function that is not called has no members.
        reached.function.is_none().then_some(reached.known)
    }

    /// Takes a step from a value.
    fn step(from: ReachedType, step: &MemberStep<'a>) -> Option<ReachedType> {
        let facts = ApiFacts::get();
        let ReachedType { known: from, function } = from;
        let typed = |known: Option<KnownType>| Some(ReachedType { known: known?, function: None });
        match (from, step) {
            (KnownType::Static(of), MemberStep::Call(argument)) => match function {
                Some(_) if of == "Instance" => typed(argument.and_then(KnownType::of_class)),
                Some(made) => typed(KnownType::by_name(made.returns.first().map_or(of, |it| it))),
                None => None,
            },
            (KnownType::Static(of), MemberStep::Field(name)) => {
                let members = &facts.datatypes.get(of)?.members;
                let member = members.iter().find(|it| it.name == *name)?;
                match member.kind {
                    MemberKind::Constant => typed(KnownType::by_name(member.value_type.as_ref()?)),
                    MemberKind::Constructor | MemberKind::Function => {
                        Some(ReachedType { known: from, function: Some(member) })
                    }
                    MemberKind::Property
                    | MemberKind::Method
                    | MemberKind::Event
                    | MemberKind::Callback => None,
                }
            }
            (KnownType::Class(class), MemberStep::Field(name)) => {
                match facts.member(class, name).map(|(_, member)| member) {
                    Some(member) if member.kind == MemberKind::Event => {
                        typed(KnownType::by_name("RBXScriptSignal"))
                    }
                    Some(member) => typed(KnownType::by_name(member.value_type.as_ref()?)),
                    // A service is a child of `game`.
                    None if class == "DataModel" => typed(KnownType::of_class(name)),
                    None => None,
                }
            }
            (KnownType::Class(_), MemberStep::Method(name, Some(argument)))
                if CLASS_METHODS.contains(name) =>
            {
                typed(KnownType::of_class(argument))
            }
            (KnownType::Class(class), MemberStep::Method(name, _)) => {
                let (_, member) = facts.member(class, name)?;
                typed(KnownType::by_name(member.returns.first()?))
            }
            (KnownType::Value(of), MemberStep::Field(name) | MemberStep::Method(name, _)) => {
                let member = facts.datatypes.get(of)?.members.iter().find(|it| it.name == *name)?;
                let result = member.value_type.as_ref().or_else(|| member.returns.first());
                typed(KnownType::by_name(result?))
            }
            (KnownType::Enums, MemberStep::Field(name)) => {
                typed(facts.enums.get(*name).map(|it| KnownType::Enum(&it.name)))
            }
            (KnownType::Enum(_), MemberStep::Field(_)) => typed(KnownType::by_name("EnumItem")),
            (
                KnownType::Class(_)
                | KnownType::Value(_)
                | KnownType::Library(_)
                | KnownType::Enums
                | KnownType::Enum(_),
                MemberStep::Call(_),
            )
            | (
                KnownType::Static(_)
                | KnownType::Library(_)
                | KnownType::Enums
                | KnownType::Enum(_),
                MemberStep::Method(..),
            )
            | (KnownType::Library(_), MemberStep::Field(_)) => None,
        }
    }

    /// Returns the type of a name: a local above it, or a global.
    fn name_type(&self, name: &'a str, above: &[Token], locals: usize) -> Option<KnownType> {
        for (at, token) in above.iter().enumerate().rev() {
            if token.kind != TokenKind::Name || self.token_text(*token) != name {
                continue;
            }
            let before = at.checked_sub(1).and_then(|it| above.get(it)).map(|it| it.kind);
            let after = above.get(at + 1).map(|it| it.kind);
            match (before, after) {
                (_, Some(TokenKind::Symbol(b':'))) if is_annotation(&above[..=at]) => {
                    let annotated = above.get(at + 2)?;
                    return KnownType::by_name(self.token_text(*annotated));
                }
                (Some(TokenKind::Local), Some(TokenKind::Symbol(b'='))) => {
                    let value = &above[at + 2..];
                    return self.type_within(first_expression(value), locals.checked_sub(1)?);
                }
                (Some(TokenKind::Local), _) => return None,
                _ => {}
            }
        }
        match name {
            "game" => KnownType::of_class("DataModel"),
            "workspace" => KnownType::of_class("Workspace"),
            "script" => KnownType::of_class("LuaSourceContainer"),
            "Enum" => Some(KnownType::Enums),
            name => match ApiFacts::get().datatypes.get(name) {
                Some(facts) => Some(KnownType::Static(&facts.name)),
                None => GLOBALS.iter().find(|it| **it == name).map(|it| KnownType::Library(it)),
            },
        }
    }
}

impl KnownType {
    fn of_class(name: &str) -> Option<Self> {
        ApiFacts::get().classes.get(name).map(|it| KnownType::Class(&it.name))
    }

    /// Returns a type by its name in the reference.
    fn by_name(name: &str) -> Option<Self> {
        let name = name.trim_end_matches('?');
        let facts = ApiFacts::get();
        let datatype = || facts.datatypes.get(name).map(|it| KnownType::Value(&it.name));
        let item = || name.starts_with("Enum.").then_some(KnownType::Value("EnumItem"));
        Self::of_class(name).or_else(datatype).or_else(item)
    }
}

/// Whether a colon after these tokens begins a type: after a local, or a parameter of a function.
pub(super) fn is_annotation(before: &[Token]) -> bool {
    let [head @ .., name] = before else {
        return false;
    };
    if name.kind != TokenKind::Name {
        return false;
    }
    match head.last().map(|it| it.kind) {
        Some(TokenKind::Local | TokenKind::For) => true,
        Some(TokenKind::Symbol(b'(' | b',')) => is_in_parameters(head),
        _ => false,
    }
}

/// Whether the innermost open parenthesis begins the parameters of a function.
fn is_in_parameters(tokens: &[Token]) -> bool {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token.kind {
            TokenKind::Symbol(b')' | b'}' | b']') => depth += 1,
            TokenKind::Symbol(b'(' | b'{' | b'[') if depth > 0 => depth -= 1,
            TokenKind::Symbol(b'(') => {
                // `function(`, `function name(`, `function a.b:name(`
                let names = |it: &&Token| {
                    matches!(it.kind, TokenKind::Name | TokenKind::Symbol(b'.' | b':'))
                };
                let head = tokens[..at].iter().rev().find(|it| !names(it));
                return head.is_some_and(|it| it.kind == TokenKind::Function);
            }
            TokenKind::Symbol(b'{' | b'[') => return false,
            _ => {}
        }
    }
    false
}

/// Returns the position of the parenthesis that is closed after these tokens.
fn opening(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0_u32;
    tokens.iter().enumerate().rev().find_map(|(at, token)| {
        match token.kind {
            TokenKind::Symbol(b')') => depth += 1,
            TokenKind::Symbol(b'(') if depth == 0 => return Some(at),
            TokenKind::Symbol(b'(') => depth -= 1,
            _ => {}
        }
        None
    })
}

/// Returns the tokens of the first expression that consists of names, members and calls.
fn first_expression(tokens: &[Token]) -> &[Token] {
    let mut depth = 0_u32;
    let mut wants_operand = true;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol(b'(' | b'{' | b'[') => {
                depth += 1;
                wants_operand = false;
            }
            TokenKind::Symbol(b')' | b'}' | b']') if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            TokenKind::Symbol(b'.' | b':') => wants_operand = true,
            TokenKind::Name if wants_operand => wants_operand = false,
            _ => return &tokens[..at],
        }
    }
    tokens
}
