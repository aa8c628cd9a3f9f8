//! The reader: statements, and what is visible where.
//!
//! It recurses for what is nested, to a depth that any stack bears; what is deeper is skipped. Each
//! token is looked at a fixed number of times, whatever the text.

use rustc_hash::FxHashMap;

use super::super::DefinitionKind;
use super::expression::{Path, Value, What};
use super::lexer::{Kind, Token, lex};
use super::names::{Binding, BindingKind, Names, Root, Use, UseKind};
use super::words;
use super::{Definition, Member, Require, Returns, Script, Span, Trouble};

/// How deep blocks, brackets and types may be nested in all: as Luau itself has it.
const DEEP: u32 = 200;

/// Longer names of definitions are cut, in bytes.
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
        paths: Vec::new(),
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
    blocks: u32,
    /// The numbers of names.
    ids: FxHashMap<&'a str, u32>,
    /// By the number of a name: the binding that it means now, as a value and as a type.
    visible: Vec<[Option<u32>; 2]>,
    /// What was visible before, of what the open scopes hide.
    hidden: Vec<(u32, [Option<u32>; 2])>,
    pub(super) names: Names,
    /// For each binding, the way to the instance that it holds.
    pub(super) paths: Vec<Option<Path>>,
    /// The members that were given to bindings by name, in order.
    members: Vec<(u32, Token)>,
    definitions: Vec<Definition>,
    /// The keys of tables that are written out.
    pub(super) tables: Vec<Vec<Token>>,
    /// What the tables and functions that are being read are called.
    pub(super) holders: Vec<Holder>,
    /// What the outermost block returns.
    returned: Option<Value>,
    trouble: Option<Trouble>,
}

/// What a value is called after that is about to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// The variable that these tokens spell.
    Variable(usize, usize),
    /// A field of the table that another holder stands for.
    Field(Option<u32>, Token),
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
    fn skip(&mut self) {
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
        let binding = Binding { span: span(token), kind, require: None, table: None };
        self.names.bindings.push(binding);
        self.paths.push(None);
        let id = self.id(token);
        let is_type = usize::from(kind == BindingKind::Type);
        self.hidden.push((id, self.visible[id as usize]));
        self.visible[id as usize][is_type] = Some(number);
        self.note(token, UseKind::Declared(number));
        number
    }

    /// `self`, which a method declares and nobody writes.
    fn declare_self(&mut self, at: Token, of: Option<u32>) {
        let number = self.names.bindings.len() as u32;
        let here = Span { start: at.start, end: at.start };
        let kind = BindingKind::Own(of);
        self.names.bindings.push(Binding { span: here, kind, require: None, table: None });
        self.paths.push(None);
        let next = self.ids.len() as u32;
        let id = *self.ids.entry("self").or_insert(next);
        if id == next {
            self.visible.push([None; 2]);
        }
        self.hidden.push((id, self.visible[id as usize]));
        self.visible[id as usize][0] = Some(number);
    }

    fn define(&mut self, name: String, kind: DefinitionKind, (start, named): (Token, Token)) {
        let end = self.tokens[self.at.saturating_sub(1)].end;
        let span = Span { start: start.start, end };
        let named = Span { start: named.start, end: named.end };
        let name = name.into_boxed_str();
        self.definitions.push(Definition { name, kind, span, named, exported: false });
    }

    /// What a holder is called.
    fn called(&self, holder: Option<u32>) -> Option<String> {
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
    fn spelled(&self, from: usize, to: usize) -> String {
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

    fn block(&mut self) {
        if !self.enter() {
            return;
        }
        let scope = self.open_scope();
        self.blocks += 1;
        while self.statement() {}
        self.blocks -= 1;
        self.close_scope(scope);
        self.leave();
    }

    /// Reads a statement; false at what closes a block.
    fn statement(&mut self) -> bool {
        let (start, holders) = (self.at, self.holders.len());
        match self.peek() {
            Kind::Eof | Kind::End | Kind::Else | Kind::ElseIf | Kind::Until => return false,
            Kind::Local => self.local(),
            Kind::Function => self.function(),
            Kind::If => self.if_statement(),
            Kind::Do => {
                self.advance();
                self.closed_block();
            }
            Kind::While => {
                self.advance();
                self.expression(None);
                self.expect(Kind::Do, "`do` is missing");
                self.closed_block();
            }
            Kind::Repeat => self.repeat(),
            Kind::For => self.for_loop(),
            Kind::Return => self.return_statement(),
            Kind::Break | Kind::Sign(b';') => {
                self.advance();
            }
            Kind::Sign(b'@') => self.attribute(),
            Kind::Name if self.contextual() => {}
            Kind::Name | Kind::Sign(b'(') => self.assignment(),
            _ => {
                self.trouble("no statement begins so");
                self.advance();
            }
        }
        self.holders.truncate(holders);
        // Whatever happens, it goes on.
        if self.at == start {
            self.advance();
        }
        true
    }

    /// `type`, `export type`, `const`, `continue`.
    fn contextual(&mut self) -> bool {
        let next = self.peek_second();
        let third = self.tokens.get(self.at + 2).map_or(Kind::Eof, |token| token.kind);
        match self.text(self.token()) {
            "export" if next == Kind::Name && self.is_type_at(self.at + 1) => {
                let start = self.advance();
                self.type_statement(start, true);
            }
            "type" if self.is_type_at(self.at) => {
                let start = self.token();
                self.type_statement(start, false);
            }
            "const" if next == Kind::Function => self.local(),
            "const" if next == Kind::Name => self.local(),
            "continue"
                if !matches!(
                    (next, third),
                    (Kind::Sign(b'(' | b'.' | b'[' | b'{' | b'=' | b':' | b','), _)
                        | (Kind::Compound | Kind::Text, _)
                ) =>
            {
                self.advance();
            }
            _ => return false,
        }
        true
    }

    fn is_type_at(&self, at: usize) -> bool {
        let kind = |n: usize| self.tokens.get(at + n).map_or(Kind::Eof, |token| token.kind);
        self.tokens.get(at).is_some_and(|token| self.text(*token) == "type")
            && match kind(1) {
                Kind::Name => matches!(kind(2), Kind::Sign(b'=' | b'<')),
                Kind::Function => kind(2) == Kind::Name,
                _ => false,
            }
    }

    fn type_statement(&mut self, start: Token, exported: bool) {
        self.advance();
        let is_function = self.take(Kind::Function);
        let Some(name) = self.name() else {
            return self.trouble("a type has a name");
        };
        self.note(name, UseKind::TypeDeclared);
        let scope = self.open_scope();
        if is_function {
            self.body(None, name);
        } else {
            self.generics();
            self.expect(Kind::Sign(b'='), "`=` is missing");
            self.type_of();
        }
        self.close_scope(scope);
        self.define(self.text(name).to_owned(), DefinitionKind::Type, (start, name));
        if let Some(definition) = self.definitions.last_mut() {
            definition.exported = exported;
        }
    }

    pub(super) fn attribute(&mut self) {
        self.advance();
        if self.name().is_none() && self.sign(b'[') {
            self.skip();
            self.expect(Kind::Sign(b']'), "`]` is missing");
        }
    }

    fn closed_block(&mut self) {
        self.block();
        self.expect(Kind::End, "`end` is missing");
    }

    fn if_statement(&mut self) {
        loop {
            self.advance();
            self.expression(None);
            self.expect(Kind::Then, "`then` is missing");
            self.block();
            if self.peek() != Kind::ElseIf {
                break;
            }
        }
        if self.take(Kind::Else) {
            self.block();
        }
        self.expect(Kind::End, "`end` is missing");
    }

    /// What a `repeat` declares is visible in its condition.
    fn repeat(&mut self) {
        self.advance();
        if !self.enter() {
            self.take(Kind::Until);
            return;
        }
        let scope = self.open_scope();
        self.blocks += 1;
        while self.statement() {}
        self.expect(Kind::Until, "`until` is missing");
        self.expression(None);
        self.blocks -= 1;
        self.close_scope(scope);
        self.leave();
    }

    fn for_loop(&mut self) {
        self.advance();
        let names = self.typed_names();
        if !self.sign(b'=') {
            self.expect(Kind::In, "`in` is missing");
        }
        self.expressions();
        self.expect(Kind::Do, "`do` is missing");
        let scope = self.open_scope();
        for name in names {
            self.declare(name, BindingKind::Loop);
        }
        self.closed_block();
        self.close_scope(scope);
    }

    fn return_statement(&mut self) {
        let is_outermost = self.blocks == 1;
        self.advance();
        let closes =
            [Kind::Eof, Kind::End, Kind::Else, Kind::ElseIf, Kind::Until, Kind::Sign(b';')];
        let value = if closes.contains(&self.peek()) { None } else { Some(self.expressions()) };
        if is_outermost {
            self.returned = value;
        }
    }

    fn typed_names(&mut self) -> Vec<Token> {
        let mut names = Vec::new();
        while let Some(name) = self.name() {
            names.push(name);
            if self.sign(b':') {
                self.type_of();
            }
            if !self.sign(b',') {
                break;
            }
        }
        names
    }

    fn local(&mut self) {
        let start = self.advance();
        if self.take(Kind::Function) {
            let Some(name) = self.name() else {
                return self.trouble("a function has a name");
            };
            self.declare(name, BindingKind::Local);
            self.body(None, name);
            let text = self.text(name).to_owned();
            return self.define(text, DefinitionKind::LocalFunction, (start, name));
        }
        let first = self.at;
        let names = self.typed_names();
        if names.is_empty() {
            return self.trouble("a variable has a name");
        }
        let mut values = Vec::new();
        if self.sign(b'=') {
            let mut at = first;
            for number in 0.. {
                let name = names.get(number);
                let holder = name.map(|name| {
                    while self.tokens[at].start != name.start {
                        at += 1;
                    }
                    self.hold(Holder::Variable(at, at + 1))
                });
                let value = self.expression(holder);
                values.push((holder, value));
                if !self.sign(b',') {
                    break;
                }
            }
        }
        self.locals(start, &names, values);
    }

    fn locals(&mut self, start: Token, names: &[Token], values: Vec<(Option<u32>, Value)>) {
        let mut values = values.into_iter();
        for name in names {
            let number = self.declare(*name, BindingKind::Local);
            let Some((holder, value)) = values.next() else {
                continue;
            };
            let is_kept = match value.what {
                What::Table(_) => !value.is_call,
                What::Require(_) => value.is_call,
                _ => false,
            };
            if is_kept && self.blocks == 1 {
                self.define(self.text(*name).to_owned(), DefinitionKind::Local, (start, *name));
            }
            self.bind_function((holder, DefinitionKind::LocalFunction), &value, (start, *name));
            let binding = &mut self.names.bindings[number as usize];
            match value.what {
                What::Table(table) => binding.table = Some(table),
                What::Require(require) => {
                    binding.require = Some(require);
                    let local = self.text(*name);
                    let require = &mut self.names.requires[require as usize];
                    require.local.get_or_insert_with(|| local.into());
                }
                _ => {}
            }
            self.paths[number as usize] = value.path;
        }
    }

    fn function(&mut self) {
        let (start, first) = (self.advance(), self.at);
        let Some(name) = self.name() else {
            return self.trouble("a function has a name");
        };
        let bound = self.bound(name, false);
        self.note(name, bound.map_or(UseKind::Global, UseKind::Bound));
        let root = bound.map_or(Root::Global(span(name)), Root::Bound);
        let (mut last, mut fields, mut is_method) = (name, 0, false);
        while !is_method && matches!(self.peek(), Kind::Sign(b'.' | b':')) {
            is_method = self.advance().kind == Kind::Sign(b':');
            let Some(field) = self.name() else {
                self.trouble("a function has a name");
                break;
            };
            fields += 1;
            self.note(field, UseKind::Member(root, fields));
            last = field;
        }
        let called = self.spelled(first, self.at);
        if let Some(bound) = bound.filter(|_| fields == 1) {
            self.members.push((bound, last));
        }
        let own = (fields == 1).then_some(bound).flatten();
        self.body(is_method.then_some(own), last);
        let kind = if is_method { DefinitionKind::Method } else { DefinitionKind::Function };
        self.define(called, kind, (start, last));
    }

    /// Parameters, types and block of a function; `own` is given for a method: what it is one of.
    pub(super) fn body(&mut self, own: Option<Option<u32>>, at: Token) {
        let scope = self.open_scope();
        self.generics();
        if let Some(of) = own {
            self.declare_self(at, of);
        }
        self.expect(Kind::Sign(b'('), "`(` is missing");
        loop {
            if let Some(name) = self.name() {
                self.declare(name, BindingKind::Parameter);
            } else if !self.take(Kind::Dots) {
                break;
            }
            if self.sign(b':') {
                self.type_of();
            }
            if !self.sign(b',') {
                break;
            }
        }
        self.expect(Kind::Sign(b')'), "`)` is missing");
        if self.sign(b':') {
            self.type_of();
        }
        self.closed_block();
        self.close_scope(scope);
    }

    /// An assignment or a call.
    fn assignment(&mut self) {
        let (start, mut first) = (self.token(), self.at);
        let mut variables = Vec::new();
        loop {
            let value = self.suffixed();
            variables.push((value, first, self.at));
            if !self.sign(b',') {
                break;
            }
            first = self.at;
        }
        if self.take(Kind::Compound) {
            self.expression(None);
            return;
        }
        if !self.sign(b'=') {
            if !variables.iter().all(|(value, ..)| value.is_call) {
                self.trouble("this is neither a call nor an assignment");
            }
            return;
        }
        let mut variables = variables.into_iter();
        loop {
            let variable = variables.next();
            let holder = variable.as_ref().and_then(|(variable, from, to)| {
                variable.is_variable.then(|| self.hold(Holder::Variable(*from, *to)))
            });
            let value = self.expression(holder);
            if let Some((variable, ..)) = &variable {
                self.assigned(variable, &value, holder, start);
            }
            if !self.sign(b',') {
                break;
            }
        }
    }

    fn assigned(&mut self, variable: &Value, value: &Value, holder: Option<u32>, start: Token) {
        let last = variable.last.unwrap_or(start);
        self.bind_function((holder, DefinitionKind::Function), value, (start, last));
        let Root::Bound(bound) = variable.root else {
            return;
        };
        if variable.fields == 1 && variable.last.is_some() {
            self.members.push((bound, last));
        } else if variable.fields == 0 {
            // What it holds now depends on when one asks.
            let binding = &mut self.names.bindings[bound as usize];
            self.paths[bound as usize] = None;
            match value.what {
                What::Table(table) => _ = binding.table.get_or_insert(table),
                What::Require(require) if binding.require.is_none() => {
                    binding.require = Some(require);
                }
                _ => binding.require = None,
            }
        }
    }

    /// What is kept of the script.
    pub(super) fn script(mut self, source: &str) -> Script {
        let (returns, members) = self.returns();
        let mut definitions = std::mem::take(&mut self.definitions);
        definitions.sort_by_key(|definition| definition.span.start);
        for definition in &mut definitions {
            let is_member = || members.binary_search(&definition.named).is_ok();
            definition.exported = definition.exported || is_member();
        }
        let member = |named: &Span| {
            let text = named.of(source);
            let name = text.trim_matches(['"', '\'']).into();
            Member { name, named: *named }
        };
        let mut members: Vec<Member> = members.iter().map(member).collect();
        members.sort_by(|a, b| (&a.name, a.named).cmp(&(&b.name, b.named)));
        members.dedup_by(|a, b| a.name == b.name);
        members.sort_by_key(|member| member.named);
        let mut words: Vec<u32> =
            self.ids.keys().flat_map(|name| words::parts(name).map(words::hash)).collect();
        words.sort_unstable();
        words.dedup();
        Script {
            definitions: definitions.into_boxed_slice(),
            requires: self.names.requires.into_boxed_slice(),
            returns,
            members: members.into_boxed_slice(),
            words: words.into_boxed_slice(),
            trouble: self.trouble,
        }
    }

    /// All names of the script.
    pub(super) fn into_names(mut self) -> Names {
        if let Some(value) = &self.returned {
            match (value.what, value.root) {
                (What::Table(table), _) => self.names.returned_table = Some(table),
                (_, Root::Bound(bound)) if value.fields == 0 => self.names.returned = Some(bound),
                _ => {}
            }
        }
        self.names
    }

    /// What the script returns, and where its members get their values, sorted.
    fn returns(&self) -> (Returns, Vec<Span>) {
        let Some(value) = &self.returned else {
            return (Returns::Nothing, Vec::new());
        };
        let keys = |table: u32| self.tables[table as usize].iter().map(|key| span(*key));
        match (value.what, value.root) {
            (What::Table(table), _) => (Returns::Table, keys(table).collect()),
            (What::Function, _) => (Returns::Function, Vec::new()),
            (What::Require(require), _) => (Returns::Require(require), Vec::new()),
            (What::Other, Root::Bound(bound)) if value.fields == 0 => {
                let binding = self.names.bindings[bound as usize];
                if let Some(require) = binding.require {
                    return (Returns::Require(require), Vec::new());
                }
                let given = self.members.iter().filter(|(of, _)| *of == bound);
                let given = given.map(|(_, member)| span(*member));
                let mut members: Vec<Span> =
                    binding.table.into_iter().flat_map(keys).chain(given).collect();
                members.sort_unstable();
                let is_table = binding.table.is_some() || !members.is_empty();
                (if is_table { Returns::Table } else { Returns::Other }, members)
            }
            _ => (Returns::Other, Vec::new()),
        }
    }
}

pub(super) fn span(token: Token) -> Span {
    Span { start: token.start, end: token.end }
}

/// A call of `require` that was just read.
pub(super) fn require(what: super::Required, start: Token, end: Token) -> Require {
    Require { what, span: Span { start: start.start, end: end.end }, local: None }
}
