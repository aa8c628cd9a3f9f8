//! The reader: where it is, what is visible there, and what things are called.
//!
//! It recurses for what is nested, to a depth that any stack bears; what is deeper is skipped. Each
//! token is looked at a fixed number of times, whatever the text.

use rustc_hash::FxHashMap;

use super::super::DefinitionKind;
use super::expression::{InstanceRoute, ValueInfo, ValueKind};
use super::lexer::{Token, TokenKind, tokenize};
use super::names::{BindingKind, NameBinding, NameUse, ScriptNames, UseKind};
use super::{ByteSpan, IndexedDefinition, ParseError, RequireCall, RequireTarget, display_name};

/// How deep blocks, brackets and types may be nested in all: as Luau itself has it.
const MAX_DEPTH: u32 = 200;

/// Names of definitions are made of so many bytes, and then cut as [`super::called`] does.
const MAX_NAME_BYTES: usize = 400;

const TOO_DEEP: &str = "it is nested too deeply here, and what is inside is not known";

/// Reads a script's text.
pub(super) fn read_source(source: &str) -> SourceReader<'_> {
    let mut reader = SourceReader {
        source,
        tokens: tokenize(source),
        at: 0,
        depth: 0,
        block_depth: 0,
        name_ids: FxHashMap::default(),
        visible: Vec::new(),
        shadowed: Vec::new(),
        names: ScriptNames::default(),
        binding_values: Vec::new(),
        rerun_depth: 0,
        assumptions: Vec::new(),
        require_assumptions: Vec::new(),
        activations: Vec::new(),
        members: Vec::new(),
        definitions: Vec::new(),
        tables: Vec::new(),
        holders: Vec::new(),
        return_value: None,
        parse_error: None,
    };
    reader.block_depth = 1;
    loop {
        while reader.read_statement() {}
        if reader.peek_kind() == TokenKind::Eof {
            reader.invalidate_assumptions();
            return reader;
        }
        reader.record_error("this closes nothing");
        reader.advance();
    }
}

pub(super) struct SourceReader<'a> {
    pub(super) source: &'a str,
    pub(super) tokens: Vec<Token>,
    pub(super) at: usize,
    pub(super) depth: u32,
    /// How many blocks are open; one in the outermost.
    pub(super) block_depth: u32,
    /// The numbers of names.
    pub(super) name_ids: FxHashMap<&'a str, u32>,
    /// By the number of a name: the binding that it means now, as a value and as a type.
    visible: Vec<[Option<u32>; 2]>,
    /// What was visible before, of what the open scopes hide.
    shadowed: Vec<(u32, [Option<u32>; 2])>,
    pub(super) names: ScriptNames,
    /// For each binding, what it holds.
    pub(super) binding_values: Vec<BindingValue>,
    /// How many functions and loops are open: what is in them may run again, and later.
    pub(super) rerun_depth: u32,
    /// Bindings that were relied on where they may hold something else by then, each with what the
    /// way to it relied on before.
    assumptions: Vec<(u32, Option<u32>)>,
    /// The requires that rely on such, by the numbers of both.
    pub(super) require_assumptions: Vec<(u32, u32)>,
    /// What is switched on, moved or copied, by the ways to it.
    pub(super) activations: Vec<RequireTarget>,
    /// The members that were given to bindings by name, in order.
    pub(super) members: Vec<(u32, Token)>,
    pub(super) definitions: Vec<IndexedDefinition>,
    /// The keys of tables that are written out.
    pub(super) tables: Vec<Vec<Token>>,
    /// What the tables and functions that are being read are called.
    pub(super) holders: Vec<ValueHolder>,
    /// What the outermost block returns.
    pub(super) return_value: Option<ValueInfo>,
    pub(super) parse_error: Option<ParseError>,
}

/// What a value is called after that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueHolder {
    /// The variable that these tokens spell.
    Variable(usize, usize),
    /// A field of the table that another holder stands for.
    Field(Option<u32>, Token),
}

/// What a binding holds.
#[derive(Debug, Default)]
pub(super) struct BindingValue {
    /// The way to the instance.
    route: Option<InstanceRoute>,
    /// How many functions and loops are open where it is declared.
    rerun_depth: u32,
    /// Whether it gets another value somewhere.
    is_changed: bool,
}

impl<'a> SourceReader<'a> {
    pub(super) fn peek_kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    pub(super) fn peek_second(&self) -> TokenKind {
        self.tokens.get(self.at + 1).map_or(TokenKind::Eof, |token| token.kind)
    }

    pub(super) fn current_token(&self) -> Token {
        self.tokens[self.at]
    }

    pub(super) fn token_text(&self, token: Token) -> &'a str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// Goes on; the last token stays where it is.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.current_token();
        if token.kind != TokenKind::Eof {
            self.at += 1;
        }
        token
    }

    pub(super) fn take_kind(&mut self, kind: TokenKind) -> bool {
        let is_next = self.peek_kind() == kind;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn take_symbol(&mut self, sign: u8) -> bool {
        self.take_kind(TokenKind::Symbol(sign))
    }

    pub(super) fn expect_kind(&mut self, kind: TokenKind, what: &'static str) {
        if !self.take_kind(kind) {
            self.record_error(what);
        }
    }

    pub(super) fn take_name(&mut self) -> Option<Token> {
        (self.peek_kind() == TokenKind::Name).then(|| self.advance())
    }

    /// Whether a word that is a keyword at some places only is next.
    pub(super) fn is_at_word(&self, word: &str) -> bool {
        self.peek_kind() == TokenKind::Name && self.token_text(self.current_token()) == word
    }

    /// Notes the first place that cannot be read.
    pub(super) fn record_error(&mut self, what: &'static str) {
        let at = self.current_token().start;
        self.parse_error.get_or_insert(ParseError { at, message: what });
    }

    /// Goes a level down; false, and what is inside is behind, where that is too deep.
    pub(super) fn enter_level(&mut self) -> bool {
        if self.depth == MAX_DEPTH {
            self.record_error(TOO_DEEP);
            self.skip_to_close();
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave_level(&mut self) {
        self.depth -= 1;
    }

    /// Goes to what closes what is open here.
    pub(super) fn skip_to_close(&mut self) {
        let mut open = 0_u32;
        loop {
            match self.peek_kind() {
                TokenKind::Eof => return,
                TokenKind::Symbol(b'(' | b'[' | b'{')
                | TokenKind::Function
                | TokenKind::Do
                | TokenKind::Repeat
                | TokenKind::TextBegin => {
                    open += 1;
                }
                TokenKind::Symbol(b')' | b']' | b'}')
                | TokenKind::End
                | TokenKind::Until
                | TokenKind::TextEnd => {
                    let Some(less) = open.checked_sub(1) else { return };
                    open = less;
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn name_id(&mut self, token: Token) -> u32 {
        let next = self.name_ids.len() as u32;
        let text = self.token_text(token);
        let id = *self.name_ids.entry(text).or_insert(next);
        if id == next {
            self.visible.push([None; 2]);
        }
        id
    }

    /// The binding that a name means here, as a value or as a type.
    pub(super) fn find_binding(&mut self, token: Token, is_type: bool) -> Option<u32> {
        let id = self.name_id(token);
        self.visible[id as usize][usize::from(is_type)]
    }

    pub(super) fn record_use(&mut self, token: Token, kind: UseKind) {
        if !matches!(kind, UseKind::Declaration(_) | UseKind::Reference(_) | UseKind::Global) {
            // Its words are the script's too.
            self.name_id(token);
        }
        self.names.uses.push(NameUse { span: token_span(token), kind });
    }

    pub(super) fn open_scope(&self) -> usize {
        self.shadowed.len()
    }

    pub(super) fn close_scope(&mut self, scope: usize) {
        for (id, before) in self.shadowed.drain(scope..).rev() {
            self.visible[id as usize] = before;
        }
    }

    /// Declares a name, which hides what it meant before.
    pub(super) fn declare_name(&mut self, token: Token, kind: BindingKind) -> u32 {
        let number = self.names.bindings.len() as u32;
        let binding = NameBinding {
            span: token_span(token),
            kind,
            require: None,
            table: None,
            is_mixed: false,
        };
        self.names.bindings.push(binding);
        self.binding_values
            .push(BindingValue { rerun_depth: self.rerun_depth, ..BindingValue::default() });
        let id = self.name_id(token);
        let is_type = usize::from(kind == BindingKind::TypeParameter);
        self.shadowed.push((id, self.visible[id as usize]));
        self.visible[id as usize][is_type] = Some(number);
        self.record_use(token, UseKind::Declaration(number));
        number
    }

    /// The way to the instance that a binding holds from now on.
    pub(super) fn set_route(&mut self, bound: u32, path: Option<InstanceRoute>) {
        self.binding_values[bound as usize].route = path;
    }

    /// The way to the instance that a binding holds here.
    pub(super) fn binding_route(&mut self, bound: u32) -> Option<InstanceRoute> {
        let held = &self.binding_values[bound as usize];
        let mut path = held.route.clone()?;
        if held.rerun_depth < self.rerun_depth {
            self.assumptions.push((bound, path.assumption));
            path.assumption = Some(self.assumptions.len() as u32 - 1);
        }
        Some(path)
    }

    /// A binding has another value from now on, and what runs later and was read before sees that.
    pub(super) fn change_value(&mut self, bound: u32, what: ValueKind) {
        let held = &mut self.binding_values[bound as usize];
        (held.route, held.is_changed) = (None, true);
        let binding = &mut self.names.bindings[bound as usize];
        match what {
            ValueKind::Table(table) => {
                binding.table.get_or_insert(table);
                self.clear_require(bound);
            }
            ValueKind::Require(_) if binding.table.is_some() => binding.is_mixed = true,
            ValueKind::Require(require) if binding.require.is_none() && !binding.is_mixed => {
                binding.require = Some(require);
            }
            _ => self.clear_require(bound),
        }
    }

    /// What a binding holds depends on when one asks.
    fn clear_require(&mut self, bound: u32) {
        let binding = &mut self.names.bindings[bound as usize];
        binding.is_mixed |= binding.require.take().is_some();
    }

    /// What relied on a binding that got another value is not known.
    fn invalidate_assumptions(&mut self) {
        let mut is_wrong: Vec<bool> = Vec::with_capacity(self.assumptions.len());
        for (bound, before) in &self.assumptions {
            let is_changed = self.binding_values[*bound as usize].is_changed;
            is_wrong.push(is_changed || before.is_some_and(|at| is_wrong[at as usize]));
        }
        for (require, risk) in &self.require_assumptions {
            if is_wrong[*risk as usize] {
                self.names.requires[*require as usize].target = RequireTarget::Computed;
            }
        }
    }

    /// `self`, which a method declares and nobody writes.
    pub(super) fn declare_self(&mut self, at: Token, kind: BindingKind) {
        let number = self.names.bindings.len() as u32;
        let here = ByteSpan { start: at.start, end: at.start };
        self.names.bindings.push(NameBinding {
            span: here,
            kind,
            require: None,
            table: None,
            is_mixed: false,
        });
        self.binding_values
            .push(BindingValue { rerun_depth: self.rerun_depth, ..BindingValue::default() });
        let next = self.name_ids.len() as u32;
        let id = *self.name_ids.entry("self").or_insert(next);
        if id == next {
            self.visible.push([None; 2]);
        }
        self.shadowed.push((id, self.visible[id as usize]));
        self.visible[id as usize][0] = Some(number);
    }

    pub(super) fn define_name(
        &mut self,
        name: String,
        kind: DefinitionKind,
        start: Token,
        named: Token,
    ) {
        let end = self.tokens[self.at.saturating_sub(1)].end;
        let span = ByteSpan { start: start.start, end };
        let named = ByteSpan { start: named.start, end: named.end };
        let name = display_name(&name).into_boxed_str();
        self.definitions.push(IndexedDefinition {
            name,
            kind,
            span,
            name_span: named,
            is_exported: false,
        });
    }

    /// What a holder is called.
    pub(super) fn holder_name(&self, holder: Option<u32>) -> Option<String> {
        match *self.holders.get(holder? as usize)? {
            ValueHolder::Variable(from, to) => Some(self.variable_text(from, to)),
            ValueHolder::Field(table, key) => {
                let key = self.token_text(key);
                Some(match self.holder_name(table) {
                    Some(table) if table.len() + key.len() < MAX_NAME_BYTES => {
                        format!("{table}.{key}")
                    }
                    _ => key[..key.floor_char_boundary(MAX_NAME_BYTES)].to_owned(),
                })
            }
        }
    }

    /// A variable as it is written, without comments and white space, but for what is in brackets.
    pub(super) fn variable_text(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        let mut at = from;
        if self.tokens[to - 1].end - self.tokens[from].start > MAX_NAME_BYTES as u32 {
            // Nobody calls anything so.
            let start = self.tokens[from].start as usize;
            let end = self.source.floor_char_boundary(start + MAX_NAME_BYTES);
            return self.source.get(start..end).unwrap_or_default().to_owned();
        }
        while at < to {
            let token = self.tokens[at];
            text.push_str(self.token_text(token));
            at += 1;
            if token.kind == TokenKind::Symbol(b'[') && at < to {
                let close = self.closing_bracket(at, to);
                let (start, end) = (self.tokens[at].start, self.tokens[close - 1].end);
                text.push_str(self.source.get(start as usize..end as usize).unwrap_or_default());
                at = close;
            }
        }
        text
    }

    /// The bracket that closes the one before a token.
    fn closing_bracket(&self, from: usize, to: usize) -> usize {
        let mut open = 1_u32;
        for at in from..to {
            match self.tokens[at].kind {
                TokenKind::Symbol(b'[') => open += 1,
                TokenKind::Symbol(b']') => open -= 1,
                _ => {}
            }
            if open == 0 {
                return at.max(from + 1);
            }
        }
        to
    }

    /// A function that has got a name by the value that was just read.
    pub(super) fn define_function(
        &mut self,
        holder: Option<u32>,
        kind: DefinitionKind,
        value: &ValueInfo,
        at: (Token, Token),
    ) {
        if value.kind == ValueKind::Function
            && let Some(name) = self.holder_name(holder)
        {
            self.define_name(name, kind, at.0, at.1);
        }
    }

    pub(super) fn add_holder(&mut self, holder: ValueHolder) -> u32 {
        self.holders.push(holder);
        self.holders.len() as u32 - 1
    }
}

pub(super) fn token_span(token: Token) -> ByteSpan {
    ByteSpan { start: token.start, end: token.end }
}

/// A call of `require` that was just read.
pub(super) fn build_require_call(what: RequireTarget, start: Token, end: Token) -> RequireCall {
    RequireCall {
        target: what,
        span: ByteSpan { start: start.start, end: end.end },
        local_name: None,
    }
}
