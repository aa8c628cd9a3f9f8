//! The core of the index reader: position, scopes and the names of definitions.
//!
//! It recurses into nested code, down to a depth that is safe on any stack, and skips deeper code.
//! Each token is visited a bounded number of times, whatever the text.

use rustc_hash::FxHashMap;

use super::super::DefinitionKind;
use super::super::lexer::{Token, TokenKind, tokenize};
use super::expression::{InstanceRoute, ValueInfo, ValueKind};
use super::names::{BindingKind, NameBinding, NameUse, ScriptNames, UseKind};
use super::{ByteSpan, IndexedDefinition, ParseError, RequireCall, RequireTarget, display_name};

/// Maximum total nesting of blocks, brackets and types. Luau has the same limit.
const MAX_DEPTH: u32 = 200;

/// Maximum length in bytes of a composed definition name, which [`display_name()`] then shortens.
const MAX_NAME_BYTES: usize = 400;

const TOO_DEEP: &str = "it is nested too deeply here, and what is inside is not known";

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
    /// Number of open blocks; 1 in the outermost.
    pub(super) block_depth: u32,
    /// The id of each name.
    pub(super) name_ids: FxHashMap<&'a str, u32>,
    /// For each name id, the visible bindings: as a value and as a type.
    visible: Vec<[Option<u32>; 2]>,
    /// The bindings that the open scopes shadow, to be restored when they close.
    shadowed: Vec<(u32, [Option<u32>; 2])>,
    pub(super) names: ScriptNames,
    /// The value of each binding.
    pub(super) binding_values: Vec<BindingValue>,
    /// Number of open functions and loops, whose code may run again or later.
    pub(super) rerun_depth: u32,
    /// Bindings whose value was used where it may have changed before the code runs, each with the
    /// assumption that its own route relies on.
    assumptions: Vec<(u32, Option<u32>)>,
    /// The requires that rely on assumptions, as pairs of both numbers.
    pub(super) require_assumptions: Vec<(u32, u32)>,
    /// The instances that are enabled, moved or cloned, by their routes.
    pub(super) activations: Vec<RequireTarget>,
    /// The named members that were assigned to bindings, in order.
    pub(super) members: Vec<(u32, Token)>,
    pub(super) definitions: Vec<IndexedDefinition>,
    /// The keys of each table constructor.
    pub(super) tables: Vec<Vec<Token>>,
    /// The holders of the tables and functions that are being read.
    pub(super) holders: Vec<ValueHolder>,
    /// The value that the outermost block returns.
    pub(super) return_value: Option<ValueInfo>,
    pub(super) parse_error: Option<ParseError>,
}

/// What the next value is assigned to, and thus named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueHolder {
    /// The variable that this range of tokens spells.
    Variable(usize, usize),
    /// A field of the table that another holder names.
    Field(Option<u32>, Token),
}

/// The value of a binding.
#[derive(Debug, Default)]
pub(super) struct BindingValue {
    /// The route to the instance.
    route: Option<InstanceRoute>,
    /// Number of open functions and loops at the declaration.
    rerun_depth: u32,
    /// Whether it is assigned again anywhere.
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

    /// Moves to the next token and returns the current one. Stays at the last token.
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

    pub(super) fn expect_kind(&mut self, kind: TokenKind, message: &'static str) {
        if !self.take_kind(kind) {
            self.record_error(message);
        }
    }

    pub(super) fn take_name(&mut self) -> Option<Token> {
        (self.peek_kind() == TokenKind::Name).then(|| self.advance())
    }

    /// Whether the next token is this contextual keyword.
    pub(super) fn is_at_word(&self, word: &str) -> bool {
        self.peek_kind() == TokenKind::Name && self.token_text(self.current_token()) == word
    }

    /// Records an error at the current position. Only the first one is kept.
    pub(super) fn record_error(&mut self, message: &'static str) {
        let at = self.current_token().start;
        self.parse_error.get_or_insert(ParseError { at, message });
    }

    /// Enters a nesting level. If it is too deep, skips its content and returns false.
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

    /// Skips to the token that closes the current level.
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

    /// The binding of a name here, as a value or as a type.
    pub(super) fn find_binding(&mut self, token: Token, is_type: bool) -> Option<u32> {
        let id = self.name_id(token);
        self.visible[id as usize][usize::from(is_type)]
    }

    pub(super) fn record_use(&mut self, token: Token, kind: UseKind) {
        if !matches!(kind, UseKind::Declaration(_) | UseKind::Reference(_) | UseKind::Global) {
            // Assign an id so that the words of the name are indexed.
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

    /// Declares a name, shadowing its previous meaning.
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

    /// Sets the route to the instance that a binding holds from here on.
    pub(super) fn set_route(&mut self, bound: u32, path: Option<InstanceRoute>) {
        self.binding_values[bound as usize].route = path;
    }

    /// The route to the instance that a binding holds here.
    pub(super) fn binding_route(&mut self, bound: u32) -> Option<InstanceRoute> {
        let held = &self.binding_values[bound as usize];
        let mut path = held.route.clone()?;
        if held.rerun_depth < self.rerun_depth {
            self.assumptions.push((bound, path.assumption));
            path.assumption = Some(self.assumptions.len() as u32 - 1);
        }
        Some(path)
    }

    /// Records that a binding is assigned again. Code that was read earlier but runs later sees the
    /// new value.
    pub(super) fn change_value(&mut self, bound: u32, value: ValueKind) {
        let held = &mut self.binding_values[bound as usize];
        (held.route, held.is_changed) = (None, true);
        let binding = &mut self.names.bindings[bound as usize];
        match value {
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

    /// Forgets the require of a binding, because its value depends on when it is read.
    fn clear_require(&mut self, bound: u32) {
        let binding = &mut self.names.bindings[bound as usize];
        binding.is_mixed |= binding.require.take().is_some();
    }

    /// Marks the targets of requires as computed if they rely on a binding that is assigned again.
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

    /// Declares the implicit `self` of a method.
    pub(super) fn declare_self(&mut self, at: Token, kind: BindingKind) {
        let number = self.names.bindings.len() as u32;
        let span = ByteSpan { start: at.start, end: at.start };
        self.names.bindings.push(NameBinding {
            span,
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

    /// The name of a holder.
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

    /// The text of a variable without comments and white space, except for what is in brackets.
    pub(super) fn variable_text(&self, from: usize, to: usize) -> String {
        let mut text = String::new();
        let mut at = from;
        if self.tokens[to - 1].end - self.tokens[from].start > MAX_NAME_BYTES as u32 {
            // Too long for a real name, so truncate it.
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

    /// The bracket that closes the one before `from`.
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

    /// Defines a function if the value that was just read is one and has a name.
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

/// The record of a `require` call that was just read.
pub(super) fn build_require_call(target: RequireTarget, start: Token, end: Token) -> RequireCall {
    RequireCall { target, span: ByteSpan { start: start.start, end: end.end }, local_name: None }
}
