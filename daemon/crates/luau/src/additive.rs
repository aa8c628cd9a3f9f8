//! Whether an edit of a script is purely additive: comments, and declarations that nothing uses
//! yet.
//!
//! Decides on tokens and the syntax tree, never on characters. If the parser, the compiler or this
//! module is in doubt, the answer is false. It knows only scripts, not proposals or modes.

use std::collections::HashSet;

use full_moon::LuaVersion;
use full_moon::ast::{Ast, BinOp, Expression, Field, LastStmt, Stmt, UnOp};
use full_moon::node::Node;
use full_moon::tokenizer::{Position, Symbol, TokenReference, TokenType};
use mlua::chunk::Compiler;

use super::lexer::{LexedSource, Token, TokenKind, tokenize_with_comments};
use super::nesting::{self, ParsePurpose, StackSize};

/// The beginnings, after the dashes, of comments that tools obey: Luau's modes, selene, `StyLua`.
const DIRECTIVES: [&str; 4] = ["!", "selene:", "# selene:", "stylua:"];

/// Functions that can access variables by name at run time.
const REACH_BY_NAME: [&str; 3] = ["getfenv", "setfenv", "loadstring"];

/// Globals that a new declaration must not shadow, because later edits may use them.
const GLOBALS: [&str; 62] = [
    "_G",
    "_VERSION",
    "Axes",
    "BrickColor",
    "CFrame",
    "CatalogSearchParams",
    "Color3",
    "ColorSequence",
    "ColorSequenceKeypoint",
    "DateTime",
    "Enum",
    "Faces",
    "Font",
    "Instance",
    "NumberRange",
    "NumberSequence",
    "OverlapParams",
    "PhysicalProperties",
    "Random",
    "Ray",
    "RaycastParams",
    "Rect",
    "Region3",
    "SharedTable",
    "TweenInfo",
    "UDim",
    "UDim2",
    "Vector2",
    "Vector3",
    "assert",
    "bit32",
    "buffer",
    "coroutine",
    "debug",
    "delay",
    "error",
    "game",
    "getmetatable",
    "ipairs",
    "math",
    "next",
    "os",
    "pairs",
    "pcall",
    "plugin",
    "print",
    "rawget",
    "rawset",
    "require",
    "script",
    "select",
    "setmetatable",
    "shared",
    "spawn",
    "string",
    "table",
    "task",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "workspace",
];

/// Whether an edit only adds to a script, that is, whether all of the following hold:
///
/// - All tokens, comments and white space of the old text remain, in the same order.
/// - Every other token belongs to a complete declaration in the outermost block, after all old
///   statements except a closing `return`.
/// - A declaration is a `local function`, a `local` whose values are constants, or a type. A
///   constant consists of literals, arithmetic on numbers, joined strings, tables of constants, and
///   functions. It calls, indexes and reads nothing, so nothing runs and nothing can fail.
/// - The declared names do not occur in the old text and are not globals.
/// - Only comments are added to scripts that use `getfenv`, `setfenv` or `loadstring`.
/// - No added comment is an instruction to a tool, such as `--!native`.
///
/// A script without any text counts as new: any edit of it is additive.
pub fn is_additive_edit(before: &str, after: &str) -> bool {
    if before == after || before.trim_ascii().is_empty() {
        return true;
    }
    // A cheap check that rules out most edits before anything is parsed.
    is_subsequence(before, after) && check_addition(before, after).is_some()
}

/// Whether the bytes of `before` are a subsequence of those of `after`.
fn is_subsequence(before: &str, after: &str) -> bool {
    let mut after = after.bytes();
    before.bytes().all(|byte| after.any(|other| other == byte))
}

fn check_addition(before: &str, after: &str) -> Option<()> {
    let (old, new) = (ScriptPieces::read(before)?, ScriptPieces::read(after)?);
    let added = new.code.len().checked_sub(old.code.len())?;
    let (head, tail) = old.code.split_at(old.code_before_return);
    let behind = old.code_before_return + added;
    let is_same = |old: &[SourcePiece<'_>], new: &[SourcePiece<'_>]| {
        old.iter().map(|it| it.text).eq(new.iter().map(|it| it.text))
    };
    if !is_same(head, &new.code[..old.code_before_return]) || !is_same(tail, &new.code[behind..]) {
        return None;
    }
    let declared = &new.code[old.code_before_return..behind];
    check_preserved(&old, &new, declared)?;
    if added > 0 {
        check_declarations(&old, &new, declared)?;
    }
    has_inert_comments(after, &new).then_some(())
}

/// A token, a comment, or a piece of white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SourcePiece<'a> {
    kind: PieceKind,
    text: &'a str,
    start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Name,
    Code,
    Comment,
    Space,
}

/// The pieces of a script and its syntax tree.
struct ScriptPieces<'a> {
    pieces: Vec<SourcePiece<'a>>,
    code: Vec<SourcePiece<'a>>,
    /// Number of code pieces before the closing `return`.
    code_before_return: usize,
    ast: Ast,
}

impl<'a> ScriptPieces<'a> {
    /// Reads a script. Returns None unless Luau certainly reads it in the same way.
    fn read(source: &'a str) -> Option<Self> {
        if has_ambiguous_bytes(source) || compile_bytecode(source).is_none() {
            return None;
        }
        let lexed = tokenize_with_comments(source);
        nesting::check_same_tokens(source, &lexed.tokens, ParsePurpose::Outline, StackSize::Usual)
            .ok()?;
        let pieces = split_pieces(source, &lexed)?;
        let code: Vec<_> = pieces
            .iter()
            .filter(|it| matches!(it.kind, PieceKind::Name | PieceKind::Code))
            .copied()
            .collect();
        let ast = full_moon::parse_fallible(source, LuaVersion::luau()).into_result().ok()?;
        let head = match ast.nodes().last_stmt() {
            Some(last @ LastStmt::Return(_)) => {
                let start = last.start_position()?.bytes();
                code.iter().position(|it| it.start == start)?
            }
            Some(_) => return None,
            None => code.len(),
        };
        Some(Self { pieces, code, code_before_return: head, ast })
    }
}

/// Whether the text contains characters that end a line or a string for Luau but not for the
/// parser, or the other way round. For example, Luau runs what follows a carriage return, where the
/// parser takes it for the rest of a comment.
fn has_ambiguous_bytes(source: &str) -> bool {
    let mut bytes = source.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let is_odd = match byte {
            b'\r' => bytes.peek() != Some(&b'\n'),
            b'\n' | b'\t' => false,
            _ => byte.is_ascii_control(),
        };
        if is_odd {
            return true;
        }
    }
    source.starts_with("#!") || source.starts_with('\u{feff}')
}

/// Splits a text into pieces that together are the whole text. White space is split into single
/// characters. Returns None if there is anything else between the tokens and comments.
fn split_pieces<'a>(source: &'a str, lexed: &LexedSource) -> Option<Vec<SourcePiece<'a>>> {
    let token_piece = |it: &Token| {
        let kind = if it.kind == TokenKind::Name { PieceKind::Name } else { PieceKind::Code };
        (it.start as usize..it.end as usize, kind)
    };
    let comments = lexed.comments.iter().map(|it| (it.clone(), PieceKind::Comment));
    let mut ranges: Vec<_> = lexed.tokens.iter().map(token_piece).chain(comments).collect();
    ranges.sort_unstable_by_key(|(range, _)| range.start);
    let mut pieces = Vec::with_capacity(ranges.len());
    let mut at = 0;
    for (range, kind) in ranges {
        let spaces = source.get(at..range.start).filter(|spaces| spaces.is_ascii())?;
        let space = |(offset, _)| SourcePiece {
            kind: PieceKind::Space,
            text: &spaces[offset..=offset],
            start: at + offset,
        };
        pieces.extend(spaces.char_indices().map(space));
        at = range.end;
        // The end of the text is an empty token.
        if !range.is_empty() {
            pieces.push(SourcePiece { kind, start: range.start, text: source.get(range)? });
        }
    }
    Some(pieces)
}

/// Compiles a text to bytecode. Returns None if it does not compile.
fn compile_bytecode(source: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    Compiler::new().compile(source).ok()
}

/// Whether the compiler sees comments where the parser does: blanking them must not change the
/// bytecode.
fn has_inert_comments(source: &str, outline: &ScriptPieces<'_>) -> bool {
    let mut bare = source.as_bytes().to_vec();
    let comments = outline.pieces.iter().filter(|it| it.kind == PieceKind::Comment);
    // Directives such as modes are comments that the compiler obeys, so keep them.
    for comment in comments.filter(|it| !is_directive(it.text)) {
        let signs = &mut bare[comment.start..comment.start + comment.text.len()];
        signs.iter_mut().filter(|it| **it != b'\n').for_each(|it| *it = b' ');
    }
    compile_bytecode(source) == compile_bytecode(&bare)
}

fn is_directive(comment: &str) -> bool {
    let text = comment.trim_start_matches('-');
    DIRECTIVES.iter().any(|it| text.starts_with(it) || text.trim_start().starts_with(it))
}

/// Checks that everything in the old text remains in the new one, and that the only other additions
/// besides the declarations are white space and comments that no tool obeys.
fn check_preserved(
    old: &ScriptPieces<'_>,
    new: &ScriptPieces<'_>,
    declared: &[SourcePiece<'_>],
) -> Option<()> {
    let own =
        declared.first().map_or(0, |it| it.start)..declared.last().map_or(0, |it| it.start + 1);
    let mut left = old.pieces.iter().peekable();
    for piece in &new.pieces {
        let is_code = matches!(piece.kind, PieceKind::Name | PieceKind::Code);
        if is_code && own.contains(&piece.start) {
            continue;
        }
        let is_next = left.peek().is_some_and(|it| it.kind == piece.kind && it.text == piece.text);
        if is_next {
            left.next();
        } else if is_code || piece.kind == PieceKind::Comment && is_directive(piece.text) {
            return None;
        }
    }
    left.next().is_none().then_some(())
}

/// Checks that these tokens are complete declarations of new names, after the old statements.
fn check_declarations(
    old: &ScriptPieces<'_>,
    new: &ScriptPieces<'_>,
    declared: &[SourcePiece<'_>],
) -> Option<()> {
    let (first, last) = (declared.first()?.start, declared.last()?.start);
    let names: HashSet<&str> =
        old.code.iter().filter(|it| it.kind == PieceKind::Name).map(|it| it.text).collect();
    if REACH_BY_NAME.iter().any(|it| names.contains(it)) {
        return None;
    }
    let start = |stmt: &Stmt| stmt.start_position().map(Position::bytes);
    let starts: Vec<usize> = new.ast.nodes().stmts().map(start).collect::<Option<_>>()?;
    let old_starts: Vec<usize> = old.ast.nodes().stmts().map(start).collect::<Option<_>>()?;
    let kept = starts.iter().take_while(|it| **it < first).count();
    if kept != old_starts.len() || starts.get(kept) != Some(&first) {
        return None;
    }
    // The closing `return` must be the old one, not a part of the added declarations.
    let closing = match new.ast.nodes().last_stmt() {
        Some(last) => last.start_position()?.bytes(),
        None => usize::MAX,
    };
    if closing <= last || new.code.iter().any(|it| it.start > last && it.start < closing) {
        return None;
    }
    let mut fresh: HashSet<String> = HashSet::new();
    for stmt in new.ast.nodes().stmts().skip(kept) {
        for name in declared_names(stmt)? {
            let name = name.token().to_string();
            if names.contains(name.as_str())
                || GLOBALS.contains(&name.as_str())
                || !fresh.insert(name)
            {
                return None;
            }
        }
    }
    Some(())
}

/// The names that a statement declares; None if it does anything else as well.
fn declared_names(stmt: &Stmt) -> Option<Vec<&TokenReference>> {
    match stmt {
        Stmt::LocalFunction(it) if it.attributes().next().is_none() => Some(vec![it.name()]),
        Stmt::LocalAssignment(it) if it.expressions().iter().all(is_constant) => {
            Some(it.names().iter().collect())
        }
        Stmt::TypeDeclaration(it) => Some(vec![it.type_name()]),
        Stmt::ExportedTypeDeclaration(it) => Some(vec![it.type_declaration().type_name()]),
        _ => None,
    }
}

fn is_constant(value: &Expression) -> bool {
    constant_kind(value).is_some()
}

/// The type of a constant, as far as operators need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConstantKind {
    Number,
    Text,
    Other,
}

/// The kind of a value that is known before the script runs and whose evaluation runs no code. None
/// for all other values.
fn constant_kind(value: &Expression) -> Option<ConstantKind> {
    use ConstantKind::{Number, Other, Text};
    match value {
        Expression::Number(_) => Some(Number),
        Expression::String(_) => Some(Text),
        Expression::InterpolatedString(it) if it.expressions().next().is_none() => Some(Text),
        Expression::Function(_) => Some(Other),
        Expression::Symbol(token) => match token.token_type() {
            TokenType::Symbol { symbol: Symbol::True | Symbol::False | Symbol::Nil } => Some(Other),
            _ => None,
        },
        Expression::Parentheses { expression, .. }
        | Expression::TypeAssertion { expression, .. } => constant_kind(expression),
        Expression::UnaryOperator { unop, expression } => {
            match (unop, constant_kind(expression)?) {
                (UnOp::Minus(_), Number) => Some(Number),
                (UnOp::Not(_), _) => Some(Other),
                _ => None,
            }
        }
        Expression::BinaryOperator { lhs, binop, rhs } => {
            match (binop, constant_kind(lhs)?, constant_kind(rhs)?) {
                (
                    BinOp::Plus(_)
                    | BinOp::Minus(_)
                    | BinOp::Star(_)
                    | BinOp::Slash(_)
                    | BinOp::DoubleSlash(_)
                    | BinOp::Percent(_)
                    | BinOp::Caret(_),
                    Number,
                    Number,
                ) => Some(Number),
                (BinOp::TwoDots(_), Number | Text, Number | Text) => Some(Text),
                _ => None,
            }
        }
        Expression::TableConstructor(table) => {
            table.fields().iter().all(is_constant_field).then_some(Other)
        }
        _ => None,
    }
}

fn is_constant_field(field: &Field) -> bool {
    match field {
        Field::NameKey { value, .. } | Field::NoKey(value) => is_constant(value),
        // Other keys may be NaN or nil, which fail at run time.
        Field::ExpressionKey { key, value, .. } => {
            matches!(key, Expression::String(_) | Expression::Number(_)) && is_constant(value)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
