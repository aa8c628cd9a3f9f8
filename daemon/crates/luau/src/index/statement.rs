//! The reader: statements, and what they declare and define.

use super::super::DefinitionKind;
use super::expression::{ValueInfo, ValueKnowledge};
use super::lexer::{Token, TokenKind};
use super::names::{BindingKind, NameRoot, UseKind};
use super::reader::{SourceReader, ValueHolder, token_span};

impl SourceReader<'_> {
    fn read_block(&mut self) {
        if !self.enter_level() {
            return;
        }
        let scope = self.open_scope();
        self.blocks += 1;
        while self.read_statement() {}
        self.blocks -= 1;
        self.close_scope(scope);
        self.leave_level();
    }

    /// Reads a statement; false at what closes a block.
    pub(super) fn read_statement(&mut self) -> bool {
        let (start, holders) = (self.at, self.holders.len());
        match self.peek_kind() {
            TokenKind::Eof
            | TokenKind::End
            | TokenKind::Else
            | TokenKind::ElseIf
            | TokenKind::Until => return false,
            TokenKind::Local => self.read_local(),
            TokenKind::Function => self.read_function(),
            TokenKind::If => self.if_statement(),
            TokenKind::Do => {
                self.advance();
                self.closed_block();
            }
            TokenKind::While => {
                self.advance();
                self.turns += 1;
                self.read_expression(None);
                self.expect_kind(TokenKind::Do, "`do` is missing");
                self.closed_block();
                self.turns -= 1;
            }
            TokenKind::Repeat => self.read_repeat(),
            TokenKind::For => self.for_loop(),
            TokenKind::Return => self.return_statement(),
            TokenKind::Break | TokenKind::Sign(b';') => {
                self.advance();
            }
            TokenKind::Sign(b'@') => self.read_attribute(),
            TokenKind::Name if self.read_contextual() => {}
            TokenKind::Name | TokenKind::Sign(b'(') => self.read_assignment(),
            _ => {
                self.note_trouble("no statement begins so");
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
    fn read_contextual(&mut self) -> bool {
        let next = self.peek_second();
        match self.token_text(self.current_token()) {
            "export" if next == TokenKind::Name && self.is_type_at(self.at + 1) => {
                let start = self.advance();
                self.type_statement(start, true);
            }
            "type" if self.is_type_at(self.at) => {
                let start = self.current_token();
                self.type_statement(start, false);
            }
            "const" if matches!(next, TokenKind::Function | TokenKind::Name) => self.read_local(),
            "continue"
                if !matches!(
                    next,
                    TokenKind::Sign(b'(' | b'.' | b'[' | b'{' | b'=' | b':' | b',')
                        | TokenKind::Compound
                        | TokenKind::Text
                ) =>
            {
                self.advance();
            }
            _ => return false,
        }
        true
    }

    fn is_type_at(&self, at: usize) -> bool {
        let kind = |n: usize| self.tokens.get(at + n).map_or(TokenKind::Eof, |token| token.kind);
        self.tokens.get(at).is_some_and(|token| self.token_text(*token) == "type")
            && match kind(1) {
                TokenKind::Name => matches!(kind(2), TokenKind::Sign(b'=' | b'<')),
                TokenKind::Function => kind(2) == TokenKind::Name,
                _ => false,
            }
    }

    fn type_statement(&mut self, start: Token, exported: bool) {
        self.advance();
        let is_function = self.take_kind(TokenKind::Function);
        let Some(name) = self.name() else {
            return self.note_trouble("a type has a name");
        };
        self.note_use(name, UseKind::TypeDeclared);
        let scope = self.open_scope();
        if is_function {
            self.read_body(None, name);
        } else {
            self.read_generics();
            self.expect_kind(TokenKind::Sign(b'='), "`=` is missing");
            self.type_of();
        }
        self.close_scope(scope);
        self.define_name(self.token_text(name).to_owned(), DefinitionKind::Type, start, name);
        if let Some(definition) = self.definitions.last_mut() {
            definition.exported = exported;
        }
    }

    pub(super) fn read_attribute(&mut self) {
        self.advance();
        if self.name().is_none() && self.take_sign(b'[') {
            self.skip_block();
            self.expect_kind(TokenKind::Sign(b']'), "`]` is missing");
        }
    }

    fn closed_block(&mut self) {
        self.read_block();
        self.expect_kind(TokenKind::End, "`end` is missing");
    }

    fn if_statement(&mut self) {
        loop {
            self.advance();
            self.read_expression(None);
            self.expect_kind(TokenKind::Then, "`then` is missing");
            self.read_block();
            if self.peek_kind() != TokenKind::ElseIf {
                break;
            }
        }
        if self.take_kind(TokenKind::Else) {
            self.read_block();
        }
        self.expect_kind(TokenKind::End, "`end` is missing");
    }

    /// What a `repeat` declares is visible in its condition.
    fn read_repeat(&mut self) {
        self.advance();
        if !self.enter_level() {
            self.take_kind(TokenKind::Until);
            return;
        }
        let scope = self.open_scope();
        self.blocks += 1;
        self.turns += 1;
        while self.read_statement() {}
        self.expect_kind(TokenKind::Until, "`until` is missing");
        self.read_expression(None);
        self.turns -= 1;
        self.blocks -= 1;
        self.close_scope(scope);
        self.leave_level();
    }

    fn for_loop(&mut self) {
        self.advance();
        let names = self.typed_names();
        if !self.take_sign(b'=') {
            self.expect_kind(TokenKind::In, "`in` is missing");
        }
        self.read_expressions();
        self.expect_kind(TokenKind::Do, "`do` is missing");
        let scope = self.open_scope();
        self.turns += 1;
        for name in names {
            self.declare_name(name, BindingKind::Loop);
        }
        self.closed_block();
        self.turns -= 1;
        self.close_scope(scope);
    }

    fn return_statement(&mut self) {
        let is_outermost = self.blocks == 1;
        self.advance();
        let closes = [
            TokenKind::Eof,
            TokenKind::End,
            TokenKind::Else,
            TokenKind::ElseIf,
            TokenKind::Until,
            TokenKind::Sign(b';'),
        ];
        let value =
            if closes.contains(&self.peek_kind()) { None } else { Some(self.read_expressions()) };
        if is_outermost {
            self.returned = value;
        }
    }

    fn typed_names(&mut self) -> Vec<Token> {
        let mut names = Vec::new();
        while let Some(name) = self.name() {
            names.push(name);
            if self.take_sign(b':') {
                self.type_of();
            }
            if !self.take_sign(b',') {
                break;
            }
        }
        names
    }

    fn read_local(&mut self) {
        let start = self.advance();
        if self.take_kind(TokenKind::Function) {
            let Some(name) = self.name() else {
                return self.note_trouble("a function has a name");
            };
            self.declare_name(name, BindingKind::Local);
            self.read_body(None, name);
            let text = self.token_text(name).to_owned();
            return self.define_name(text, DefinitionKind::LocalFunction, start, name);
        }
        let first = self.at;
        let names = self.typed_names();
        if names.is_empty() {
            return self.note_trouble("a variable has a name");
        }
        let mut values = Vec::new();
        if self.take_sign(b'=') {
            let mut at = first;
            for number in 0.. {
                let name = names.get(number);
                let holder = name.map(|name| {
                    while self.tokens[at].start != name.start {
                        at += 1;
                    }
                    self.add_holder(ValueHolder::Variable(at, at + 1))
                });
                let value = self.read_expression(holder);
                values.push((holder, value));
                if !self.take_sign(b',') {
                    break;
                }
            }
        }
        if let Some(ValueKnowledge::Tried(require)) = values.last().map(|(_, value)| value.what) {
            values.push((None, ValueInfo::unlinked(ValueKnowledge::Require(require))));
        }
        self.declare_locals(start, &names, values);
    }

    fn declare_locals(
        &mut self,
        start: Token,
        names: &[Token],
        values: Vec<(Option<u32>, ValueInfo)>,
    ) {
        let mut values = values.into_iter();
        for name in names {
            let number = self.declare_name(*name, BindingKind::Local);
            let Some((holder, value)) = values.next() else {
                continue;
            };
            let is_kept = match value.what {
                ValueKnowledge::Table(_) => !value.is_call,
                ValueKnowledge::Require(_) => value.is_call,
                _ => false,
            };
            if is_kept && self.blocks == 1 {
                self.define_name(
                    self.token_text(*name).to_owned(),
                    DefinitionKind::Local,
                    start,
                    *name,
                );
            }
            self.bind_function(holder, DefinitionKind::LocalFunction, &value, (start, *name));
            let binding = &mut self.names.bindings[number as usize];
            match value.what {
                ValueKnowledge::Table(table) => binding.table = Some(table),
                ValueKnowledge::Require(require) => {
                    binding.require = Some(require);
                    let local = self.token_text(*name);
                    let require = &mut self.names.requires[require as usize];
                    require.local.get_or_insert_with(|| local.into());
                }
                _ => {}
            }
            self.set_route(number, value.path);
        }
    }

    fn read_function(&mut self) {
        let (start, first) = (self.advance(), self.at);
        let Some(name) = self.name() else {
            return self.note_trouble("a function has a name");
        };
        let bound = self.find_binding(name, false);
        self.note_use(name, bound.map_or(UseKind::Global, UseKind::Bound));
        let root = bound.map_or(NameRoot::Global(token_span(name)), NameRoot::Bound);
        let (mut last, mut fields, mut is_method) = (name, 0, false);
        while !is_method && matches!(self.peek_kind(), TokenKind::Sign(b'.' | b':')) {
            is_method = self.advance().kind == TokenKind::Sign(b':');
            let Some(field) = self.name() else {
                self.note_trouble("a function has a name");
                break;
            };
            fields += 1;
            self.note_use(field, UseKind::Member(root, fields));
            last = field;
        }
        let called = self.variable_text(first, self.at);
        match bound {
            Some(bound) if fields == 0 => self.change_value(bound, ValueKnowledge::Function),
            Some(bound) if fields == 1 => self.members.push((bound, last)),
            _ => {}
        }
        let own = (fields == 1).then_some(bound).flatten();
        self.read_body(is_method.then_some(BindingKind::Own(own)), last);
        let kind = if is_method { DefinitionKind::Method } else { DefinitionKind::Function };
        self.define_name(called, kind, start, last);
    }

    /// Parameters, types and block of a function; `own` is what the `self` of a method is.
    pub(super) fn read_body(&mut self, own: Option<BindingKind>, at: Token) {
        let scope = self.open_scope();
        self.turns += 1;
        self.read_generics();
        if let Some(kind) = own {
            self.declare_self(at, kind);
        }
        self.expect_kind(TokenKind::Sign(b'('), "`(` is missing");
        loop {
            if let Some(name) = self.name() {
                self.declare_name(name, BindingKind::Parameter);
            } else if !self.take_kind(TokenKind::Dots) {
                break;
            }
            if self.take_sign(b':') {
                self.type_of();
            }
            if !self.take_sign(b',') {
                break;
            }
        }
        self.expect_kind(TokenKind::Sign(b')'), "`)` is missing");
        if self.take_sign(b':') {
            self.type_of();
        }
        self.closed_block();
        self.turns -= 1;
        self.close_scope(scope);
    }

    /// An assignment or a call.
    fn read_assignment(&mut self) {
        let (start, mut first) = (self.current_token(), self.at);
        let mut variables = Vec::new();
        loop {
            let value = self.read_suffixed();
            variables.push((value, first, self.at));
            if !self.take_sign(b',') {
                break;
            }
            first = self.at;
        }
        if self.take_kind(TokenKind::Compound) {
            self.read_expression(None);
            for (variable, ..) in &variables {
                self.mark_changed(variable, ValueKnowledge::Other);
            }
            return;
        }
        if !self.take_sign(b'=') {
            if !variables.iter().all(|(value, ..)| value.is_call) {
                self.note_trouble("this is neither a call nor an assignment");
            }
            return;
        }
        let mut variables = variables.into_iter();
        let last = loop {
            let variable = variables.next();
            let holder = variable.as_ref().and_then(|(variable, from, to)| {
                variable.is_variable.then(|| self.add_holder(ValueHolder::Variable(*from, *to)))
            });
            let value = self.read_expression(holder);
            if let Some((variable, ..)) = &variable {
                self.assign_value(variable, &value, holder, start);
            }
            if !self.take_sign(b',') {
                break value.what;
            }
        };
        // The last call may give several values.
        let mut next = match last {
            ValueKnowledge::Tried(require) => ValueInfo::unlinked(ValueKnowledge::Require(require)),
            _ => ValueInfo::default(),
        };
        for (variable, ..) in variables {
            self.assign_value(&variable, &next, None, start);
            next = ValueInfo::default();
        }
    }

    fn assign_value(
        &mut self,
        variable: &ValueInfo,
        value: &ValueInfo,
        holder: Option<u32>,
        start: Token,
    ) {
        self.note_wake(variable);
        let last = variable.last.unwrap_or(start);
        self.bind_function(holder, DefinitionKind::Function, value, (start, last));
        let NameRoot::Bound(bound) = variable.root else {
            return;
        };
        if variable.fields == 1 && variable.last.is_some() {
            self.members.push((bound, last));
        } else {
            self.mark_changed(variable, value.what);
        }
    }

    fn mark_changed(&mut self, variable: &ValueInfo, what: ValueKnowledge) {
        if let NameRoot::Bound(bound) = variable.root
            && variable.fields == 0
        {
            self.change_value(bound, what);
        }
    }
}
