//! The reader: where it is, what is visible there, and what things are called.
//!
//! It recurses for what is nested, to a depth that any stack bears; what is deeper is skipped. Each
//! token is looked at a fixed number of times, whatever the text.

use rustc_hash::FxHashMap;

use super::super::DefinitionKind;
use super::expression::{Path, Value, What};
use super::lexer::{Kind, Token, lex};
use super::names::{Binding, BindingKind, Names, Use, UseKind};
use super::{Definition, Require, Required, Span, Trouble, called};

/// How deep blocks, brackets and types may be nested in all: as Luau itself has it.
const DEEP: u32 = 200;

/// Names of definitions are made of so many bytes, and then cut as [`super::called`] does.
const LONG: usize = 400;

const TOO_DEEP: &str = "it is nested too deeply here, and what is inside is not known";

/// Reads a script's text.
pub(super) fn read(source: &str) -> Reader<'_> {
    let mut reader = Reader {
        source,
        tokens: lex(source),
        at: 0,
        depth: 0,
        blocks: 0,
        ids: FxHashMap::default(),
        visible: Vec::new(),
        hidden: Vec::new(),
        names: Names::default(),
        held: Vec::new(),
        turns: 0,
        risks: Vec::new(),
        risky: Vec::new(),
        wakes: Vec::new(),
        members: Vec::new(),
        definitions: Vec::new(),
        tables: Vec::new(),
        holders: Vec::new(),
        returned: None,
        trouble: None,
    };
    reader.blocks = 1;
    loop {
        while reader.statement() {}
        if reader.peek() == Kind::Eof {
            reader.settle();
            return reader;
        }
        reader.trouble("this closes nothing");
        reader.advance();
    }
}

pub(super) struct Reader<'a> {
    pub(super) source: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) depth: u32,
    /// How many blocks are open; one in the outermost.
    pub(super) blocks: u32,
    /// The numbers of names.
    pub(super) ids: FxHashMap<&'a str, u32>,
    /// By the number of a name: the binding that it means now, as a value and as a type.
    visible: Vec<[Option<u32>; 2]>,
    /// What was visible before, of what the open scopes hide.
    hidden: Vec<(u32, [Option<u32>; 2])>,
    pub(super) names: Names,
    /// For each binding, what it holds.
    pub(super) held: Vec<Held>,
    /// How many functions and loops are open: what is in them may run again, and later.
    pub(super) turns: u32,
    /// Bindings that were relied on where they may hold something else by then, each with what the
    /// way to it relied on before.
    risks: Vec<(u32, Option<u32>)>,
    /// The requires that rely on such, by the numbers of both.
    pub(super) risky: Vec<(u32, u32)>,
    /// What is switched on, moved or copied, by the ways to it.
    pub(super) wakes: Vec<Required>,
    /// The members that were given to bindings by name, in order.
    pub(super) members: Vec<(u32, Token)>,
    pub(super) definitions: Vec<Definition>,
    /// The keys of tables that are written out.
    pub(super) tables: Vec<Vec<Token>>,
    /// What the tables and functions that are being read are called.
    pub(super) holders: Vec<Holder>,
    /// What the outermost block returns.
    pub(super) returned: Option<Value>,
    pub(super) trouble: Option<Trouble>,
}

/// What a value is called after that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The variable that these tokens spell.
    Variable(usize, usize),
    /// A field of the table that another holder stands for.
    Field(Option<u32>, Token),
}

/// What a binding holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// The way to the instance.
    path: Option<Path>,
    /// How many functions and loops are open where it is declared.
    turns: u32,
    /// Whether it gets another value somewhere.
    is_changed: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn peek(&self) -> Kind {
        self.tokens[self.at].kind
    }

    pub(super) fn peek_second(&self) -> Kind {
        self.tokens.get(self.at + 1).map_or(Kind::Eof, |token| token.kind)
    }

    pub(super) fn token(&self) -> Token {
        self.tokens[self.at]
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// Goes on; the last token stays where it is.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    pub(super) fn take(&mut self, kind: Kind) -> bool {
        let is_next = self.peek() == kind;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn sign(&mut self, sign: u8) -> bool {
        self.take(Kind::Sign(sign))
    }

    pub(super) fn expect(&mut self, kind: Kind, what: &'static str) {
        if !self.take(kind) {
            self.trouble(what);
        }
    }

    pub(super) fn name(&mut self) -> Option<Token> {
        (self.peek() == Kind::Name).then(|| self.advance())
    }

    /// Whether a word that is a keyword at some places only is next.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.peek() == Kind::Name && self.text(self.token()) == word
    }

    /// Notes the first place that cannot be read.
    pub(super) fn trouble(&mut self, what: &'static str) {
        let at = self.token().start;
        self.trouble.get_or_insert(Trouble { at, what });
    }

    /// Goes a level down; false, and what is inside is behind, where that is too deep.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth == DEEP {
            self.trouble(TOO_DEEP);
            self.skip();
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Goes to what closes what is open here.
    pub(super) fn skip(&mut self) {
        let mut open = 0_u32;
        loop {
            match self.peek() {
                Kind::Eof => return,
                Kind::Sign(b'(' | b'[' | b'{')
                | Kind::Function
                | Kind::Do
                | Kind::Repeat
                | Kind::TextBegin => {
                    open += 1;
                }
                Kind::Sign(b')' | b']' | b'}') | Kind::End | Kind::Until | Kind::TextEnd => {
                    let Some(less) = open.checked_sub(1) else { return };
                    open = less;
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn id(&mut self, token: Token) -> u32 {
        let next = self.ids.len() as u32;
        let text = self.text(token);
        let id = *self.ids.entry(text).or_insert(next);
        if id == next {
            self.visible.push([None; 2]);
        }
        id
    }

    /// The binding that a name means here, as a value or as a type.
    pub(super) fn bound(&mut self, token: Token, is_type: bool) -> Option<u32> {
        let id = self.id(token);
        self.visible[id as usize][usize::from(is_type)]
    }

    pub(super) fn note(&mut self, token: Token, kind: UseKind) {
        if !matches!(kind, UseKind::Declared(_) | UseKind::Bound(_) | UseKind::Global) {
            // Its words are the script's too.
            self.id(token);
        }
        self.names.uses.push(Use { span: span(token), kind });
    }

    pub(super) fn open_scope(&self) -> usize {
        self.hidden.len()
    }

    pub(super) fn close_scope(&mut self, scope: usize) {
        for (id, before) in self.hidden.drain(scope..).rev() {
            self.visible[id as usize] = before;
        }
    }

    /// Declares a name, which hides what it meant before.
    pub(super) fn declare(&mut self, token: Token, kind: BindingKind) -> u32 {
        let number = self.names.bindings.len() as u32;
        let binding =
            Binding { span: span(token), kind, require: None, table: None, is_mixed: false };
        self.names.bindings.push(binding);
        self.held.push(Held { turns: self.turns, ..Held::default() });
        let id = self.id(token);
        let is_type = usize::from(kind == BindingKind::Type);
        self.hidden.push((id, self.visible[id as usize]));
        self.visible[id as usize][is_type] = Some(number);
        self.note(token, UseKind::Declared(number));
        number
    }

    /// The way to the instance that a binding holds from now on.
    pub(super) fn lead(&mut self, bound: u32, path: Option<Path>) {
        self.held[bound as usize].path = path;
    }

    /// The way to the instance that a binding holds here.
    pub(super) fn path_of(&mut self, bound: u32) -> Option<Path> {
        let held = &self.held[bound as usize];
        let mut path = held.path.clone()?;
        if held.turns < self.turns {
            self.risks.push((bound, path.risk));
            path.risk = Some(self.risks.len() as u32 - 1);
        }
        Some(path)
    }

    /// A binding has another value from now on, and what runs later and was read before sees that.
    pub(super) fn change(&mut self, bound: u32, what: What) {
        let held = &mut self.held[bound as usize];
        (held.path, held.is_changed) = (None, true);
        let binding = &mut self.names.bindings[bound as usize];
        match what {
            What::Table(table) => {
                binding.table.get_or_insert(table);
                self.forget_require(bound);
            }
            What::Require(_) if binding.table.is_some() => binding.is_mixed = true,
            What::Require(require) if binding.require.is_none() && !binding.is_mixed => {
                binding.require = Some(require);
            }
            _ => self.forget_require(bound),
        }
    }

    /// What a binding holds depends on when one asks.
    fn forget_require(&mut self, bound: u32) {
        let binding = &mut self.names.bindings[bound as usize];
        binding.is_mixed |= binding.require.take().is_some();
    }

    /// What relied on a binding that got another value is not known.
    fn settle(&mut self) {
        let mut is_wrong: Vec<bool> = Vec::with_capacity(self.risks.len());
        for (bound, before) in &self.risks {
            let is_changed = self.held[*bound as usize].is_changed;
            is_wrong.push(is_changed || before.is_some_and(|at| is_wrong[at as usize]));
        }
        for (require, risk) in &self.risky {
            if is_wrong[*risk as usize] {
                self.names.requires[*require as usize].what = Required::Computed;
            }
        }
    }

    /// `self`, which a method declares and nobody writes.
    pub(super) fn declare_self(&mut self, at: Token, kind: BindingKind) {
        let number = self.names.bindings.len() as u32;
        let here = Span { start: at.start, end: at.start };
        self.names.bindings.push(Binding {
            span: here,
            kind,
            require: None,
            table: None,
            is_mixed: false,
        });
        self.held.push(Held { turns: self.turns, ..Held::default() });
        let next = self.ids.len() as u32;
        let id = *self.ids.entry("self").or_insert(next);
        if id == next {
            self.visible.push([None; 2]);
        }
        self.hidden.push((id, self.visible[id as usize]));
        self.visible[id as usize][0] = Some(number);
    }

    pub(super) fn define(
        &mut self,
        name: String,
        kind: DefinitionKind,
        (start, named): (Token, Token),
    ) {
        let end = self.tokens[self.at.saturating_sub(1)].end;
        let span = Span { start: start.start, end };
        let named = Span { start: named.start, end: named.end };
        let name = called(&name).into_boxed_str();
        self.definitions.push(Definition { name, kind, span, named, exported: false });
    }

    /// What a holder is called.
    pub(super) fn called(&self, holder: Option<u32>) -> Option<String> {
        match *self.holders.get(holder? as usize)? {
            Holder::Variable(from, to) => Some(self.spelled(from, to)),
            Holder::Field(table, key) => {
                let key = self.text(key);
                Some(match self.called(table) {
                    Some(table) if table.len() + key.len() < LONG => format!("{table}.{key}"),
                    _ => key[..key.floor_char_boundary(LONG)].to_owned(),
                })
            }
        }
    }

    /// A variable as it is written, without comments and white space, but for what is in brackets.
    pub(super) fn spelled(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        let mut at = from;
        if self.tokens[to - 1].end - self.tokens[from].start > LONG as u32 {
            // Nobody calls anything so.
            let start = self.tokens[from].start as usize;
            let end = self.source.floor_char_boundary(start + LONG);
            return self.source.get(start..end).unwrap_or_default().to_owned();
        }
        while at < to {
            let token = self.tokens[at];
            text.push_str(self.text(token));
            at += 1;
            if token.kind == Kind::Sign(b'[') && at < to {
                let close = self.closing(at, to);
                let (start, end) = (self.tokens[at].start, self.tokens[close - 1].end);
                text.push_str(self.source.get(start as usize..end as usize).unwrap_or_default());
                at = close;
            }
        }
        text
    }

    /// The bracket that closes the one before a token.
    fn closing(&self, from: usize, to: usize) -> usize {
        let mut open = 1_u32;
        for at in from..to {
            match self.tokens[at].kind {
                Kind::Sign(b'[') => open += 1,
                Kind::Sign(b']') => open -= 1,
                _ => {}
            }
            if open == 0 {
                return at.max(from + 1);
            }
        }
        to
    }

    /// A function that has got a name by the value that was just read.
    pub(super) fn bind_function(
        &mut self,
        (holder, kind): (Option<u32>, DefinitionKind),
        value: &Value,
        at: (Token, Token),
    ) {
        if value.what == What::Function
            && let Some(name) = self.called(holder)
        {
            self.define(name, kind, at);
        }
    }

    pub(super) fn hold(&mut self, holder: Holder) -> u32 {
        self.holders.push(holder);
        self.holders.len() as u32 - 1
    }
}

pub(super) fn span(token: Token) -> Span {
    Span { start: token.start, end: token.end }
}

/// A call of `require` that was just read.
pub(super) fn require(what: Required, start: Token, end: Token) -> Require {
    Require { what, span: Span { start: start.start, end: end.end }, local: None }
}
