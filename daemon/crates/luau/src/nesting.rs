//! How deep a script is nested, so that nothing that recurses is given what it cannot bear.
//!
//! It reads the very tokens that the parser of lints and formats reads, so that both see the same
//! brackets. It is no parser: what it says holds for texts that compile, and nobody may parse others.

use full_moon::LuaVersion;
use full_moon::tokenizer::{InterpolatedStringKind, Lexer, LexerResult, Symbol, TokenType};

/// What a usual stack bears, in the units of [`Weight::stack`]: kilobytes of a build for tests.
const STACK: u32 = 1_300;

/// How many tokens a script may count as, by [`Weight::heat`]; what is nested little is not counted.
const WORK: u64 = 1 << 17;
const COOL: u32 = 8;

/// How many names and operators lints are looked for in. selene compares each with all others: 6,000
/// take three seconds of a build for tests.
pub(super) const MAX_NAMES: usize = 20_000;

/// How large a stack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// That of any thread: 2 MB.
    Usual,
    /// At least 64 MB.
    Large,
}

impl Stack {
    /// How many times more it bears than the usual one: less than it is larger.
    fn times(self) -> u32 {
        match self {
            Self::Usual => 1,
            Self::Large => 16,
        }
    }
}

/// Who wants to have a script parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// Who makes outlines or scans for backdoors, and is quick.
    Outlines,
    /// selene.
    Lints,
    /// `StyLua`, which takes more of a stack, and of time.
    Formats,
}

/// Why a text that compiles must not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// A parser that recurses could leave the stack, or not end for long.
    TooDeep,
    /// It is too much for lints: see [`MAX_NAMES`].
    TooMuch,
    /// The parser does not know what stands at these bytes.
    Unknown(usize, usize),
}

/// Whether a script that compiles may be parsed; how many tokens it has, where it may. What cannot be
/// told from tokens alone counts as deeper than it is.
pub(super) fn look(source: &str, reader: Reader, stack: Stack) -> Result<usize, Unfit> {
    let mut lexer = Lexer::new(source, LuaVersion::luau());
    let mut open = Open::of(reader);
    let mut count = 0;
    while let Some(next) = lexer.consume() {
        let token = match next {
            LexerResult::Ok(token) => token,
            LexerResult::Fatal(errors) | LexerResult::Recovered(_, errors) => {
                let range = errors.first().map(full_moon::tokenizer::TokenizerError::range);
                let (start, end) = range.map_or((0, 0), |it| (it.0.bytes(), it.1.bytes()));
                return Err(Unfit::Unknown(start, end));
            }
        };
        open.see(token.token_type());
        count += usize::from(*token.token_type() != TokenType::Eof);
        if open.weight.stack > STACK * stack.times() || open.work > WORK {
            return Err(Unfit::TooDeep);
        }
        if reader == Reader::Lints && open.names > MAX_NAMES {
            return Err(Unfit::TooMuch);
        }
    }
    Ok(count)
}

/// What something that is open costs whoever recurses: measured, at the worst.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    /// Kilobytes.
    stack: u32,
    /// Half of it is how often the time doubles that is spent on what stands inside: selene looks
    /// several times at what an index or a branch holds, and `StyLua` tries what it holds in several
    /// layouts.
    heat: u32,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.stack += other.stack;
        self.heat += other.heat;
    }

    fn take(&mut self, other: Self) {
        self.stack = self.stack.saturating_sub(other.stack);
        self.heat = self.heat.saturating_sub(other.heat);
    }
}

/// What is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
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

struct Frame {
    kind: Kind,
    weight: Weight,
    /// Of the operators of the expression or type that stands in it now.
    grown: Weight,
    /// Expressions that began with `if` and wait for these words.
    then: usize,
    otherwise: usize,
}

impl Kind {
    fn weight(self, reader: Reader) -> Weight {
        let (stack, heat) = match reader {
            Reader::Formats => match self {
                Self::Block => (220, 0),
                Self::Function => (220, 1),
                Self::Round => (80, 2),
                Self::Curly => (80, 0),
                Self::Index | Self::Key => (60, 1),
                Self::Angle => (80, 1),
                Self::Text => (60, 0),
            },
            Reader::Lints | Reader::Outlines => match self {
                Self::Block | Self::Round | Self::Curly | Self::Key => (60, 0),
                Self::Function => (70, 0),
                Self::Index => (40, 5),
                Self::Angle => (30, 0),
                Self::Text => (40, 2),
            },
        };
        Weight { stack, heat }
    }
}

/// What may follow a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// A statement, or what goes on with a value.
    Value,
    /// What an expression or a type goes on with.
    Open,
    /// Either, and only a parser can tell.
    Either,
}

struct Open {
    reader: Reader,
    /// Never empty: the first one is the script.
    frames: Vec<Frame>,
    /// Of all frames together.
    weight: Weight,
    work: u64,
    /// Names and operators so far.
    names: usize,
    after: After,
}

impl Open {
    fn of(reader: Reader) -> Self {
        let (frames, weight) = (Vec::new(), Weight::default());
        let mut open = Self { reader, frames, weight, work: 0, names: 0, after: After::Value };
        open.open(Kind::Block);
        open.after = After::Value;
        open
    }

    fn see(&mut self, token: &TokenType) {
        match token {
            TokenType::Identifier { .. } => {
                self.names += 1;
                // Two values without a sign between them are of two statements.
                if self.after == After::Value {
                    self.settle();
                }
                self.after = After::Value;
            }
            TokenType::Number { .. } => {
                self.compares();
                self.after = After::Value;
            }
            TokenType::StringLiteral { .. } => self.after = After::Value,
            TokenType::InterpolatedString { kind, .. } => {
                use InterpolatedStringKind::{Begin, End, Middle, Simple};
                if matches!(kind, Middle | End) {
                    self.close(Kind::Text);
                }
                match kind {
                    Begin | Middle => self.open(Kind::Text),
                    Simple | End => self.after = After::Value,
                }
            }
            TokenType::Symbol { symbol } => self.symbol(*symbol),
            _ => {}
        }
        if self.weight.heat > COOL && self.reader != Reader::Outlines {
            self.work += 1 << (self.weight.heat / 2).min(32);
        }
    }

    fn symbol(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::LeftParen => self.open(Kind::Round),
            Symbol::LeftBrace => self.open(Kind::Curly),
            Symbol::LeftBracket if self.after == After::Open => self.open(Kind::Key),
            Symbol::LeftBracket => self.open(Kind::Index),
            Symbol::RightParen => self.close(Kind::Round),
            Symbol::RightBrace => self.close(Kind::Curly),
            Symbol::RightBracket => self.close(Kind::Index),
            Symbol::LessThan => {
                self.grow(0);
                self.open(Kind::Angle);
            }
            Symbol::GreaterThan | Symbol::GreaterThanEqual => self.greater(symbol),
            Symbol::Comma => {
                if !matches!(self.top().kind, Kind::Block | Kind::Function) {
                    self.shrink();
                }
                self.after = After::Open;
            }
            Symbol::Equal => {
                if self.reader != Reader::Formats && self.top().kind != Kind::Curly {
                    self.grown(Weight { stack: 120, heat: 0 });
                }
                self.after = After::Open;
            }
            Symbol::Semicolon => {
                self.settle();
                self.after = After::Value;
            }
            Symbol::Colon
            | Symbol::Dot
            | Symbol::Pipe
            | Symbol::Ampersand
            | Symbol::AtSign
            | Symbol::In => self.after = After::Open,
            Symbol::Nil | Symbol::True | Symbol::False => self.after = After::Value,
            Symbol::QuestionMark => {
                self.grow(0);
                self.after = After::Value;
            }
            Symbol::ThinArrow => {
                self.grow(if self.reader == Reader::Formats { 2 } else { 0 });
                self.after = After::Open;
            }
            // A value, and in front of a type a part of that.
            Symbol::Ellipsis => self.after = After::Either,
            _ => self.word(symbol),
        }
    }

    /// Takes a word, or an operator, that cannot stand between the `<` and the `>` of types.
    fn word(&mut self, symbol: Symbol) {
        self.compares();
        match symbol {
            Symbol::If => self.condition(),
            Symbol::Then | Symbol::ElseIf | Symbol::Else => self.branch(symbol),
            Symbol::Function => {
                let is_value = self.after != After::Value;
                if !is_value {
                    self.settle();
                }
                self.open(if is_value { Kind::Function } else { Kind::Block });
            }
            Symbol::Do | Symbol::Repeat => {
                self.settle();
                self.open(Kind::Block);
                self.after = After::Value;
            }
            Symbol::End => self.close(Kind::Block),
            Symbol::Until => {
                self.close(Kind::Block);
                self.settle();
                self.after = After::Open;
            }
            Symbol::Local | Symbol::Break => {
                self.settle();
                self.after = After::Value;
            }
            Symbol::For | Symbol::While | Symbol::Return => {
                self.settle();
                self.after = After::Open;
            }
            _ => {
                self.grow(0);
                self.after = After::Open;
            }
        }
    }

    fn condition(&mut self) {
        match self.after {
            After::Open => {
                self.top().then += 1;
                self.grow(1);
            }
            After::Value => {
                self.settle();
                self.open(Kind::Block);
            }
            // As an expression it has no `end`, and stays open for longer than it is.
            After::Either => self.open(Kind::Block),
        }
        self.after = After::Open;
    }

    fn branch(&mut self, symbol: Symbol) {
        self.after = After::Open;
        let top = self.top();
        let is_expression = if symbol == Symbol::Then { top.then > 0 } else { top.otherwise > 0 };
        match symbol {
            Symbol::Then if is_expression => {
                top.then -= 1;
                top.otherwise += 1;
            }
            Symbol::ElseIf if is_expression => {
                top.otherwise -= 1;
                top.then += 1;
                self.grow(0);
            }
            Symbol::Else if is_expression => {
                top.otherwise -= 1;
                self.grow(1);
            }
            _ => {
                self.settle();
                if symbol != Symbol::ElseIf {
                    self.after = After::Value;
                }
            }
        }
    }

    fn greater(&mut self, symbol: Symbol) {
        self.after = After::Open;
        if self.top().kind == Kind::Angle {
            self.pop();
            if symbol == Symbol::GreaterThan {
                self.after = After::Either;
            }
        }
        self.grow(0);
    }

    fn open(&mut self, kind: Kind) {
        let weight = kind.weight(self.reader);
        let grown = Weight::default();
        self.frames.push(Frame { kind, weight, grown, then: 0, otherwise: 0 });
        self.weight.add(weight);
        self.after = After::Open;
    }

    /// Ends the innermost of its kind. What is left open in it was opened by mistake.
    fn close(&mut self, kind: Kind) {
        let same = match kind {
            Kind::Block => Kind::Function,
            Kind::Index => Kind::Key,
            other => other,
        };
        let is = |it: &Frame| it.kind == kind || it.kind == same;
        let innermost = self.frames.iter().rposition(is).filter(|at| *at > 0);
        if let Some(at) = innermost {
            while self.frames.len() > at {
                self.pop();
            }
        }
        self.after = After::Value;
    }

    /// Begins a statement.
    fn settle(&mut self) {
        while self.top().kind == Kind::Angle {
            self.pop();
        }
        self.shrink();
        let top = self.top();
        (top.then, top.otherwise) = (0, 0);
    }

    /// A `<` that is still open has compared: what came behind it is of the expression around it.
    fn compares(&mut self) {
        while self.top().kind == Kind::Angle {
            let grown = std::mem::take(&mut self.top().grown);
            self.pop();
            self.top().grown.add(grown);
        }
    }

    fn pop(&mut self) {
        self.shrink();
        if let Some(frame) = self.frames.pop() {
            self.weight.take(frame.weight);
        }
    }

    /// Takes an operator.
    fn grow(&mut self, heat: u32) {
        self.names += 1;
        let stack = if self.reader == Reader::Formats { 60 } else { 15 };
        self.grown(Weight { stack, heat });
    }

    fn grown(&mut self, weight: Weight) {
        self.weight.add(weight);
        self.top().grown.add(weight);
    }

    fn shrink(&mut self) {
        let grown = std::mem::take(&mut self.top().grown);
        self.weight.take(grown);
    }

    fn top(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.open(Kind::Block);
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

#[cfg(test)]
mod tests;
