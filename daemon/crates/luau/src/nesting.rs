//! Limits the nesting of scripts, so that recursive parsers do not overflow their stack.
//!
//! It reads the tokens of the parser's own lexer, so that both see the same brackets. Luau reads some
//! texts differently: what is a string for Luau may be deeply nested code for the parser. This module
//! is not a parser: its result is valid only for text that compiles, and other text must never be
//! parsed.

use std::ops::Range;

use full_moon::LuaVersion;
use full_moon::tokenizer::{InterpolatedStringKind, Lexer, LexerResult, Symbol, TokenType};

use super::lexer;

/// The capacity of a usual stack, in units of [`NestingWeight::stack`]: kilobytes in a test build.
const STACK_BUDGET: u32 = 1_300;

/// Maximum sum of all tokens, each weighted by [`NestingWeight::time`]. Shallow tokens are not
/// counted.
const WORK_BUDGET: u64 = 1 << 17;
const MIN_COUNTED_TIME: u32 = 8;

/// Maximum number of names and operators in a script to lint. selene compares each with all others:
/// 6,000 take three seconds in a test build.
pub(super) const MAX_NAMES: usize = 20_000;

/// The stack size of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackSize {
    /// The default of 2 MB.
    Usual,
    /// At least 64 MB.
    Large,
}

impl StackSize {
    /// The capacity as a multiple of the usual one. Deliberately less than the ratio of the sizes.
    fn capacity_factor(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Large => 16,
        }
    }
}

/// The purpose of parsing a script, which determines the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParsePurpose {
    /// Outlines or the security scan, which are fast.
    Outline,
    Lint,
    /// `StyLua`, which needs more stack and time.
    Format,
}

/// The reason a text that compiles must not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfitReason {
    /// A recursive parser could overflow its stack or take very long.
    TooDeep,
    /// Too many names and operators for the lints; see [`MAX_NAMES`].
    TooManyNames,
    /// The parser does not know the syntax in this range of bytes.
    UnknownSyntax(usize, usize),
}

/// Checks whether a script that compiles may be parsed. Where tokens alone are ambiguous, assumes
/// the deeper nesting.
pub(super) fn check_nesting(
    source: &str,
    reader: ParsePurpose,
    stack: StackSize,
) -> Result<(), UnfitReason> {
    check_tokens(source, reader, stack, |_| true)
}

/// Does the same, and checks that the parser reads the tokens that Luau reads. If they disagree about
/// what is code, the syntax tree is not that of the script.
pub(super) fn check_same_tokens(
    source: &str,
    tokens: &[lexer::Token],
    reader: ParsePurpose,
    stack: StackSize,
) -> Result<(), UnfitReason> {
    let mut tokens = tokens.iter().map(|it| it.start as usize..it.end as usize);
    check_tokens(source, reader, stack, |range| tokens.next().as_ref() == Some(range))
}

/// Checks the nesting, and each token of the parser by its range of bytes. The last one is the end
/// of the text.
fn check_tokens(
    source: &str,
    reader: ParsePurpose,
    stack: StackSize,
    mut is_expected: impl FnMut(&Range<usize>) -> bool,
) -> Result<(), UnfitReason> {
    let mut lexer = Lexer::new(source, LuaVersion::luau());
    let mut open = NestingTracker::for_parser(reader);
    while let Some(next) = lexer.consume() {
        let token = match next {
            LexerResult::Ok(token) => token,
            LexerResult::Fatal(errors) | LexerResult::Recovered(_, errors) => {
                let range = errors.first().map(full_moon::tokenizer::TokenizerError::range);
                let (start, end) = range.map_or((0, 0), |it| (it.0.bytes(), it.1.bytes()));
                return Err(UnfitReason::UnknownSyntax(start, end));
            }
        };
        let token = token.token();
        let (start, end) = (token.start_position().bytes(), token.end_position().bytes());
        if !is_expected(&(start..end)) {
            return Err(UnfitReason::UnknownSyntax(start, end));
        }
        open.track_token(token.token_type());
        if open.weight.stack > STACK_BUDGET * stack.capacity_factor() || open.work > WORK_BUDGET {
            return Err(UnfitReason::TooDeep);
        }
        if reader == ParsePurpose::Lint && open.names > MAX_NAMES {
            return Err(UnfitReason::TooManyNames);
        }
    }
    Ok(())
}

/// The cost of an open construct for a recursive parser, measured in the worst case.
#[derive(Debug, Clone, Copy, Default)]
struct NestingWeight {
    stack: u32,
    /// Twice the number of times that the construct doubles the time spent on its content: selene
    /// visits the content of an index or a branch several times, and `StyLua` tries several
    /// layouts.
    time: u32,
}

impl NestingWeight {
    fn add(&mut self, other: Self) {
        self.stack += other.stack;
        self.time += other.time;
    }

    fn subtract(&mut self, other: Self) {
        self.stack = self.stack.saturating_sub(other.stack);
        self.time = self.time.saturating_sub(other.time);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    Block,
    /// The block of a function expression.
    Function,
    Round,
    Curly,
    /// After a `[` that indexes a value.
    Index,
    /// After any other `[`.
    Key,
    /// After a `<`, which may open type arguments or be a comparison.
    Angle,
    /// An expression in an interpolated string.
    Text,
}

struct NestingFrame {
    kind: OpenKind,
    weight: NestingWeight,
    /// The weight of the operators in the current expression or type of this frame.
    operator_weight: NestingWeight,
    /// Number of `if` expressions that wait for these keywords.
    pending_then: usize,
    pending_else: usize,
}

impl OpenKind {
    fn weight_for(self, reader: ParsePurpose) -> NestingWeight {
        let (stack, heat) = match reader {
            ParsePurpose::Format => match self {
                Self::Block => (220, 0),
                Self::Function => (220, 1),
                Self::Round => (80, 2),
                Self::Curly => (80, 0),
                Self::Index | Self::Key => (60, 1),
                Self::Angle => (80, 1),
                Self::Text => (60, 0),
            },
            ParsePurpose::Lint | ParsePurpose::Outline => match self {
                Self::Block | Self::Round | Self::Curly | Self::Key => (60, 0),
                Self::Function => (70, 0),
                Self::Index => (40, 5),
                Self::Angle => (30, 0),
                Self::Text => (40, 2),
            },
        };
        NestingWeight { stack, time: heat }
    }
}

/// What may follow a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpectedNext {
    /// The next statement, or the continuation of a value.
    Value,
    /// The continuation of an expression or type.
    Open,
    /// Either of the two; only a parser can tell.
    Either,
}

struct NestingTracker {
    reader: ParsePurpose,
    /// Never empty: the first frame is the script.
    frames: Vec<NestingFrame>,
    /// The weight of all frames together.
    weight: NestingWeight,
    work: u64,
    /// Number of names and operators so far.
    names: usize,
    expected: ExpectedNext,
}

impl NestingTracker {
    fn for_parser(reader: ParsePurpose) -> Self {
        let (frames, weight) = (Vec::new(), NestingWeight::default());
        let mut open =
            Self { reader, frames, weight, work: 0, names: 0, expected: ExpectedNext::Value };
        open.push_frame(OpenKind::Block);
        open.expected = ExpectedNext::Value;
        open
    }

    fn track_token(&mut self, token: &TokenType) {
        match token {
            TokenType::Identifier { .. } => {
                self.names += 1;
                // Two adjacent values belong to two statements.
                if self.expected == ExpectedNext::Value {
                    self.begin_statement();
                }
                self.expected = ExpectedNext::Value;
            }
            TokenType::Number { .. } => {
                self.end_comparison();
                self.expected = ExpectedNext::Value;
            }
            TokenType::StringLiteral { .. } => self.expected = ExpectedNext::Value,
            TokenType::InterpolatedString { kind, .. } => {
                use InterpolatedStringKind::{Begin, End, Middle, Simple};
                if matches!(kind, Middle | End) {
                    self.close_frame(OpenKind::Text);
                }
                match kind {
                    Begin | Middle => self.push_frame(OpenKind::Text),
                    Simple | End => self.expected = ExpectedNext::Value,
                }
            }
            TokenType::Symbol { symbol } => self.track_symbol(*symbol),
            _ => {}
        }
        if self.weight.time > MIN_COUNTED_TIME && self.reader != ParsePurpose::Outline {
            self.work += 1 << (self.weight.time / 2).min(32);
        }
    }

    fn track_symbol(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::LeftParen => self.push_frame(OpenKind::Round),
            Symbol::LeftBrace => self.push_frame(OpenKind::Curly),
            Symbol::LeftBracket if self.expected == ExpectedNext::Open => {
                self.push_frame(OpenKind::Key);
            }
            Symbol::LeftBracket => self.push_frame(OpenKind::Index),
            Symbol::RightParen => self.close_frame(OpenKind::Round),
            Symbol::RightBrace => self.close_frame(OpenKind::Curly),
            Symbol::RightBracket => self.close_frame(OpenKind::Index),
            Symbol::LessThan => {
                self.add_operator(0);
                self.push_frame(OpenKind::Angle);
            }
            Symbol::GreaterThan | Symbol::GreaterThanEqual => self.track_greater(symbol),
            Symbol::Comma => {
                if !matches!(self.top_frame().kind, OpenKind::Block | OpenKind::Function) {
                    self.drop_operators();
                }
                self.expected = ExpectedNext::Open;
            }
            Symbol::Equal => {
                if self.reader != ParsePurpose::Format && self.top_frame().kind != OpenKind::Curly {
                    self.add_weight(NestingWeight { stack: 120, time: 0 });
                }
                self.expected = ExpectedNext::Open;
            }
            Symbol::Semicolon => {
                self.begin_statement();
                self.expected = ExpectedNext::Value;
            }
            Symbol::Colon
            | Symbol::Dot
            | Symbol::Pipe
            | Symbol::Ampersand
            | Symbol::AtSign
            | Symbol::In => self.expected = ExpectedNext::Open,
            Symbol::Nil | Symbol::True | Symbol::False => self.expected = ExpectedNext::Value,
            Symbol::QuestionMark => {
                self.add_operator(0);
                self.expected = ExpectedNext::Value;
            }
            Symbol::ThinArrow => {
                self.add_operator(if self.reader == ParsePurpose::Format { 2 } else { 0 });
                self.expected = ExpectedNext::Open;
            }
            // A value, or before a type a part of that type.
            Symbol::Ellipsis => self.expected = ExpectedNext::Either,
            _ => self.track_word(symbol),
        }
    }

    /// Tracks a keyword or an operator that cannot occur between the `<` and `>` of types.
    fn track_word(&mut self, symbol: Symbol) {
        self.end_comparison();
        match symbol {
            Symbol::If => self.track_condition(),
            Symbol::Then | Symbol::ElseIf | Symbol::Else => self.track_branch(symbol),
            Symbol::Function => {
                let is_value = self.expected != ExpectedNext::Value;
                if !is_value {
                    self.begin_statement();
                }
                self.push_frame(if is_value { OpenKind::Function } else { OpenKind::Block });
            }
            Symbol::Do | Symbol::Repeat => {
                self.begin_statement();
                self.push_frame(OpenKind::Block);
                self.expected = ExpectedNext::Value;
            }
            Symbol::End => self.close_frame(OpenKind::Block),
            Symbol::Until => {
                self.close_frame(OpenKind::Block);
                self.begin_statement();
                self.expected = ExpectedNext::Open;
            }
            Symbol::Local | Symbol::Break => {
                self.begin_statement();
                self.expected = ExpectedNext::Value;
            }
            Symbol::For | Symbol::While | Symbol::Return => {
                self.begin_statement();
                self.expected = ExpectedNext::Open;
            }
            _ => {
                self.add_operator(0);
                self.expected = ExpectedNext::Open;
            }
        }
    }

    fn track_condition(&mut self) {
        match self.expected {
            ExpectedNext::Open => {
                self.top_frame().pending_then += 1;
                self.add_operator(1);
            }
            ExpectedNext::Value => {
                self.begin_statement();
                self.push_frame(OpenKind::Block);
            }
            // An `if` expression has no `end`, so its frame stays open for too long.
            ExpectedNext::Either => self.push_frame(OpenKind::Block),
        }
        self.expected = ExpectedNext::Open;
    }

    fn track_branch(&mut self, symbol: Symbol) {
        self.expected = ExpectedNext::Open;
        let top = self.top_frame();
        let is_expression =
            if symbol == Symbol::Then { top.pending_then > 0 } else { top.pending_else > 0 };
        match symbol {
            Symbol::Then if is_expression => {
                top.pending_then -= 1;
                top.pending_else += 1;
            }
            Symbol::ElseIf if is_expression => {
                top.pending_else -= 1;
                top.pending_then += 1;
                self.add_operator(0);
            }
            Symbol::Else if is_expression => {
                top.pending_else -= 1;
                self.add_operator(1);
            }
            _ => {
                self.begin_statement();
                if symbol != Symbol::ElseIf {
                    self.expected = ExpectedNext::Value;
                }
            }
        }
    }

    fn track_greater(&mut self, symbol: Symbol) {
        self.expected = ExpectedNext::Open;
        if self.top_frame().kind == OpenKind::Angle {
            self.pop_frame();
            if symbol == Symbol::GreaterThan {
                self.expected = ExpectedNext::Either;
            }
        }
        self.add_operator(0);
    }

    fn push_frame(&mut self, kind: OpenKind) {
        let weight = kind.weight_for(self.reader);
        let grown = NestingWeight::default();
        self.frames.push(NestingFrame {
            kind,
            weight,
            operator_weight: grown,
            pending_then: 0,
            pending_else: 0,
        });
        self.weight.add(weight);
        self.expected = ExpectedNext::Open;
    }

    /// Closes the innermost frame of this kind. Frames still open inside it were opened by mistake.
    fn close_frame(&mut self, kind: OpenKind) {
        let same = match kind {
            OpenKind::Block => OpenKind::Function,
            OpenKind::Index => OpenKind::Key,
            other => other,
        };
        let is = |it: &NestingFrame| it.kind == kind || it.kind == same;
        let innermost = self.frames.iter().rposition(is).filter(|at| *at > 0);
        if let Some(at) = innermost {
            while self.frames.len() > at {
                self.pop_frame();
            }
        }
        self.expected = ExpectedNext::Value;
    }

    fn begin_statement(&mut self) {
        while self.top_frame().kind == OpenKind::Angle {
            self.pop_frame();
        }
        self.drop_operators();
        let top = self.top_frame();
        (top.pending_then, top.pending_else) = (0, 0);
    }

    /// Turns a `<` that is still open into a comparison, and its content into a part of the
    /// expression around it.
    fn end_comparison(&mut self) {
        while self.top_frame().kind == OpenKind::Angle {
            let grown = std::mem::take(&mut self.top_frame().operator_weight);
            self.pop_frame();
            self.top_frame().operator_weight.add(grown);
        }
    }

    fn pop_frame(&mut self) {
        self.drop_operators();
        if let Some(frame) = self.frames.pop() {
            self.weight.subtract(frame.weight);
        }
    }

    fn add_operator(&mut self, heat: u32) {
        self.names += 1;
        let stack = if self.reader == ParsePurpose::Format { 60 } else { 15 };
        self.add_weight(NestingWeight { stack, time: heat });
    }

    fn add_weight(&mut self, weight: NestingWeight) {
        self.weight.add(weight);
        self.top_frame().operator_weight.add(weight);
    }

    fn drop_operators(&mut self) {
        let grown = std::mem::take(&mut self.top_frame().operator_weight);
        self.weight.subtract(grown);
    }

    fn top_frame(&mut self) -> &mut NestingFrame {
        if self.frames.is_empty() {
            self.push_frame(OpenKind::Block);
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

#[cfg(test)]
mod tests;
