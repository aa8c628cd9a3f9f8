//! How deep a script is nested, so that nothing that recurses is given what it cannot bear.
//!
//! It reads the very tokens that the parser of lints and formats reads, so that both see the same
//! brackets. It is no parser: what it says holds for texts that compile, and nobody may parse others.

use full_moon::LuaVersion;
use full_moon::tokenizer::{InterpolatedStringKind, Lexer, LexerResult, Symbol, TokenType};

/// What a usual stack bears, in the units of [`Weight::stack`]: kilobytes of a build for tests.
const STACK_BUDGET: u32 = 1_300;

/// How many tokens a script may count as, by [`Weight::heat`]; what is nested little is not counted.
const WORK_BUDGET: u64 = 1 << 17;
const MIN_COUNTED_TIME: u32 = 8;

/// How many names and operators lints are looked for in. selene compares each with all others: 6,000
/// take three seconds of a build for tests.
pub(super) const MAX_NAMES: usize = 20_000;

/// How large a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackSize {
    /// That of any thread: 2 MB.
    Usual,
    /// At least 64 MB.
    Large,
}

impl StackSize {
    /// How many times more it bears than the usual one: less than it is larger.
    fn capacity_factor(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Large => 16,
        }
    }
}

/// Who wants to have a script parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParsePurpose {
    /// Who makes outlines or scans for backdoors, and is quick.
    Outline,
    Lint,
    /// `StyLua`, which takes more of a stack, and of time.
    Format,
}

/// Why a text that compiles must not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfitReason {
    /// A parser that recurses could leave the stack, or not end for long.
    TooDeep,
    /// It is too much for lints: see [`MAX_NAMES`].
    TooManyNames,
    /// The parser does not know what stands at these bytes.
    UnknownSyntax(usize, usize),
}

/// Whether a script that compiles may be parsed; how many tokens it has, where it may. What cannot be
/// told from tokens alone counts as deeper than it is.
pub(super) fn check_nesting(
    source: &str,
    reader: ParsePurpose,
    stack: StackSize,
) -> Result<usize, UnfitReason> {
    let mut lexer = Lexer::new(source, LuaVersion::luau());
    let mut open = NestingTracker::for_parser(reader);
    let mut count = 0;
    while let Some(next) = lexer.consume() {
        let token = match next {
            LexerResult::Ok(token) => token,
            LexerResult::Fatal(errors) | LexerResult::Recovered(_, errors) => {
                let range = errors.first().map(full_moon::tokenizer::TokenizerError::range);
                let (start, end) = range.map_or((0, 0), |it| (it.0.bytes(), it.1.bytes()));
                return Err(UnfitReason::UnknownSyntax(start, end));
            }
        };
        open.track_token(token.token_type());
        count += usize::from(*token.token_type() != TokenType::Eof);
        if open.weight.stack > STACK_BUDGET * stack.capacity_factor() || open.work > WORK_BUDGET {
            return Err(UnfitReason::TooDeep);
        }
        if reader == ParsePurpose::Lint && open.names > MAX_NAMES {
            return Err(UnfitReason::TooManyNames);
        }
    }
    Ok(count)
}

/// What something that is open costs whoever recurses: measured, at the worst.
#[derive(Debug, Clone, Copy, Default)]
struct NestingWeight {
    stack: u32,
    /// Half of it is how often the time doubles that is spent on what stands inside: selene looks
    /// several times at what an index or a branch holds, and `StyLua` tries what it holds in several
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
    /// The block of a function that is a value.
    Function,
    Round,
    Curly,
    /// Behind a `[` that belongs to a value.
    Index,
    /// Behind any other `[`.
    Key,
    /// Behind a `<`, which may open types or compare.
    Angle,
    /// An expression in a string.
    Text,
}

struct NestingFrame {
    kind: OpenKind,
    weight: NestingWeight,
    /// Of the operators of the expression or type that stands in it now.
    operator_weight: NestingWeight,
    /// Expressions that began with `if` and wait for these words.
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
    /// A statement, or what goes on with a value.
    Value,
    /// What an expression or a type goes on with.
    Open,
    /// Either, and only a parser can tell.
    Either,
}

struct NestingTracker {
    reader: ParsePurpose,
    /// Never empty: the first one is the script.
    frames: Vec<NestingFrame>,
    /// Of all frames together.
    weight: NestingWeight,
    work: u64,
    /// Names and operators so far.
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
                // Two values without a sign between them are of two statements.
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
            // A value, and in front of a type a part of that.
            Symbol::Ellipsis => self.expected = ExpectedNext::Either,
            _ => self.track_word(symbol),
        }
    }

    /// Takes a word, or an operator, that cannot stand between the `<` and the `>` of types.
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
            // As an expression it has no `end`, and stays open for longer than it is.
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

    /// Ends the innermost of its kind. What is left open in it was opened by mistake.
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

    /// A `<` that is still open has compared: what came behind it is of the expression around it.
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
