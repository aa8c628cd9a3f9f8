//! Reads statements for the index, and what they declare and define.

use super::super::DefinitionKind;
use super::super::lexer::{Token, TokenKind};
use super::expression::{ValueInfo, ValueKind};
use super::names::{BindingKind, NameRoot, UseKind};
use super::reader::{SourceReader, ValueHolder, token_span};

impl SourceReader<'_> {
    fn read_block(&mut self) {
        if !self.enter_level() {
            return;
        }
        let scope = self.open_scope();
        self.block_depth += 1;
        while self.read_statement() {}
        self.block_depth -= 1;
        self.close_scope(scope);
        self.leave_level();
    }

    /// Reads a statement. Returns false at a token that closes a block.
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
            TokenKind::If => self.read_if_statement(),
            TokenKind::Do => {
                self.advance();
                self.read_closed_block();
            }
            TokenKind::While => {
                self.advance();
                self.rerun_depth += 1;
                self.read_expression(None);
                self.expect_kind(TokenKind::Do, "`do` is missing");
                self.read_closed_block();
                self.rerun_depth -= 1;
            }
            TokenKind::Repeat => self.read_repeat(),
            TokenKind::For => self.read_for_loop(),
            TokenKind::Return => self.read_return(),
            TokenKind::Break | TokenKind::Symbol(b';') => {
                self.advance();
            }
            TokenKind::Symbol(b'@') => self.read_attribute(),
            TokenKind::Name if self.read_contextual_keyword() => {}
            TokenKind::Name | TokenKind::Symbol(b'(') => self.read_assignment(),
            _ => {
                self.record_error("no statement begins so");
                self.advance();
            }
        }
        self.holders.truncate(holders);
        // Always make progress.
        if self.at == start {
            self.advance();
        }
        true
    }

    /// Reads statements with contextual keywords: `type`, `export type`, `const`, `continue`.
    fn read_contextual_keyword(&mut self) -> bool {
        let next = self.peek_second();
        match self.token_text(self.current_token()) {
            "export" if next == TokenKind::Name && self.is_type_declaration(self.at + 1) => {
                let start = self.advance();
                self.read_type_declaration(start, true);
            }
            "type" if self.is_type_declaration(self.at) => {
                let start = self.current_token();
                self.read_type_declaration(start, false);
            }
            "const" if matches!(next, TokenKind::Function | TokenKind::Name) => self.read_local(),
            "continue"
                if !matches!(
                    next,
                    TokenKind::Symbol(b'(' | b'.' | b'[' | b'{' | b'=' | b':' | b',')
                        | TokenKind::CompoundAssign
                        | TokenKind::Text
                ) =>
            {
                self.advance();
            }
            _ => return false,
        }
        true
    }

    fn is_type_declaration(&self, at: usize) -> bool {
        let kind = |n: usize| self.tokens.get(at + n).map_or(TokenKind::Eof, |token| token.kind);
        self.tokens.get(at).is_some_and(|token| self.token_text(*token) == "type")
            && match kind(1) {
                TokenKind::Name => matches!(kind(2), TokenKind::Symbol(b'=' | b'<')),
                TokenKind::Function => kind(2) == TokenKind::Name,
                _ => false,
            }
    }

    fn read_type_declaration(&mut self, start: Token, exported: bool) {
        self.advance();
        let is_function = self.take_kind(TokenKind::Function);
        let Some(name) = self.take_name() else {
            return self.record_error("a type has a name");
        };
        self.record_use(name, UseKind::TypeDeclaration);
        let scope = self.open_scope();
        if is_function {
            self.read_body(None, name);
        } else {
            self.read_generics();
            self.expect_kind(TokenKind::Symbol(b'='), "`=` is missing");
            self.read_type();
        }
        self.close_scope(scope);
        self.define_name(self.token_text(name).to_owned(), DefinitionKind::Type, start, name);
        if let Some(definition) = self.definitions.last_mut() {
            definition.is_exported = exported;
        }
    }

    pub(super) fn read_attribute(&mut self) {
        self.advance();
        if self.take_name().is_none() && self.take_symbol(b'[') {
            self.skip_to_close();
            self.expect_kind(TokenKind::Symbol(b']'), "`]` is missing");
        }
    }

    fn read_closed_block(&mut self) {
        self.read_block();
        self.expect_kind(TokenKind::End, "`end` is missing");
    }

    fn read_if_statement(&mut self) {
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

    /// Reads a `repeat` loop. Its declarations are visible in its condition.
    fn read_repeat(&mut self) {
        self.advance();
        if !self.enter_level() {
            self.take_kind(TokenKind::Until);
            return;
        }
        let scope = self.open_scope();
        self.block_depth += 1;
        self.rerun_depth += 1;
        while self.read_statement() {}
        self.expect_kind(TokenKind::Until, "`until` is missing");
        self.read_expression(None);
        self.rerun_depth -= 1;
        self.block_depth -= 1;
        self.close_scope(scope);
        self.leave_level();
    }

    fn read_for_loop(&mut self) {
        self.advance();
        let names = self.read_typed_names();
        if !self.take_symbol(b'=') {
            self.expect_kind(TokenKind::In, "`in` is missing");
        }
        self.read_expressions();
        self.expect_kind(TokenKind::Do, "`do` is missing");
        let scope = self.open_scope();
        self.rerun_depth += 1;
        for name in names {
            self.declare_name(name, BindingKind::LoopVariable);
        }
        self.read_closed_block();
        self.rerun_depth -= 1;
        self.close_scope(scope);
    }

    fn read_return(&mut self) {
        let is_outermost = self.block_depth == 1;
        self.advance();
        let closes = [
            TokenKind::Eof,
            TokenKind::End,
            TokenKind::Else,
            TokenKind::ElseIf,
            TokenKind::Until,
            TokenKind::Symbol(b';'),
        ];
        let value =
            if closes.contains(&self.peek_kind()) { None } else { Some(self.read_expressions()) };
        if is_outermost {
            self.return_value = value;
        }
    }

    fn read_typed_names(&mut self) -> Vec<Token> {
        let mut names = Vec::new();
        while let Some(name) = self.take_name() {
            names.push(name);
            if self.take_symbol(b':') {
                self.read_type();
            }
            if !self.take_symbol(b',') {
                break;
            }
        }
        names
    }

    fn read_local(&mut self) {
        let start = self.advance();
        if self.take_kind(TokenKind::Function) {
            let Some(name) = self.take_name() else {
                return self.record_error("a function has a name");
            };
            self.declare_name(name, BindingKind::Local);
            self.read_body(None, name);
            let text = self.token_text(name).to_owned();
            return self.define_name(text, DefinitionKind::LocalFunction, start, name);
        }
        let first = self.at;
        let names = self.read_typed_names();
        if names.is_empty() {
            return self.record_error("a variable has a name");
        }
        let mut values = Vec::new();
        if self.take_symbol(b'=') {
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
                if !self.take_symbol(b',') {
                    break;
                }
            }
        }
        if let Some(ValueKind::TriedRequire(require)) = values.last().map(|(_, value)| value.kind) {
            values.push((None, ValueInfo::from_kind(ValueKind::Require(require))));
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
            let is_kept = match value.kind {
                ValueKind::Table(_) => !value.is_call,
                ValueKind::Require(_) => value.is_call,
                _ => false,
            };
            if is_kept && self.block_depth == 1 {
                self.define_name(
                    self.token_text(*name).to_owned(),
                    DefinitionKind::Local,
                    start,
                    *name,
                );
            }
            self.define_function(holder, DefinitionKind::LocalFunction, &value, (start, *name));
            let binding = &mut self.names.bindings[number as usize];
            match value.kind {
                ValueKind::Table(table) => binding.table = Some(table),
                ValueKind::Require(require) => {
                    binding.require = Some(require);
                    let local = self.token_text(*name);
                    let require = &mut self.names.requires[require as usize];
                    require.local_name.get_or_insert_with(|| local.into());
                }
                _ => {}
            }
            self.set_route(number, value.route);
        }
    }

    fn read_function(&mut self) {
        let (start, first) = (self.advance(), self.at);
        let Some(name) = self.take_name() else {
            return self.record_error("a function has a name");
        };
        let bound = self.find_binding(name, false);
        self.record_use(name, bound.map_or(UseKind::Global, UseKind::Reference));
        let root = bound.map_or(NameRoot::Global(token_span(name)), NameRoot::Binding);
        let (mut last, mut fields, mut is_method) = (name, 0, false);
        while !is_method && matches!(self.peek_kind(), TokenKind::Symbol(b'.' | b':')) {
            is_method = self.advance().kind == TokenKind::Symbol(b':');
            let Some(field) = self.take_name() else {
                self.record_error("a function has a name");
                break;
            };
            fields += 1;
            self.record_use(field, UseKind::Member(root, fields));
            last = field;
        }
        let called = self.variable_text(first, self.at);
        match bound {
            Some(bound) if fields == 0 => self.change_value(bound, ValueKind::Function),
            Some(bound) if fields == 1 => self.members.push((bound, last)),
            _ => {}
        }
        let own = (fields == 1).then_some(bound).flatten();
        self.read_body(is_method.then_some(BindingKind::SelfParameter(own)), last);
        let kind = if is_method { DefinitionKind::Method } else { DefinitionKind::Function };
        self.define_name(called, kind, start, last);
    }

    /// Reads the parameters, types and block of a function. `own` is the kind of `self` in a
    /// method.
    pub(super) fn read_body(&mut self, own: Option<BindingKind>, at: Token) {
        let scope = self.open_scope();
        self.rerun_depth += 1;
        self.read_generics();
        if let Some(kind) = own {
            self.declare_self(at, kind);
        }
        self.expect_kind(TokenKind::Symbol(b'('), "`(` is missing");
        loop {
            if let Some(name) = self.take_name() {
                self.declare_name(name, BindingKind::Parameter);
            } else if !self.take_kind(TokenKind::Ellipsis) {
                break;
            }
            if self.take_symbol(b':') {
                self.read_type();
            }
            if !self.take_symbol(b',') {
                break;
            }
        }
        self.expect_kind(TokenKind::Symbol(b')'), "`)` is missing");
        if self.take_symbol(b':') {
            self.read_type();
        }
        self.read_closed_block();
        self.rerun_depth -= 1;
        self.close_scope(scope);
    }

    /// Reads an assignment or a call.
    fn read_assignment(&mut self) {
        let (start, mut first) = (self.current_token(), self.at);
        let mut variables = Vec::new();
        loop {
            let value = self.read_suffixed();
            variables.push((value, first, self.at));
            if !self.take_symbol(b',') {
                break;
            }
            first = self.at;
        }
        if self.take_kind(TokenKind::CompoundAssign) {
            self.read_expression(None);
            for (variable, ..) in &variables {
                self.change_variable(variable, ValueKind::Other);
            }
            return;
        }
        if !self.take_symbol(b'=') {
            if !variables.iter().all(|(value, ..)| value.is_call) {
                self.record_error("this is neither a call nor an assignment");
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
            if !self.take_symbol(b',') {
                break value.kind;
            }
        };
        // The last call may return further values for the remaining variables.
        let mut next = match last {
            ValueKind::TriedRequire(require) => ValueInfo::from_kind(ValueKind::Require(require)),
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
        self.record_activation(variable);
        let last = variable.last_name.unwrap_or(start);
        self.define_function(holder, DefinitionKind::Function, value, (start, last));
        let NameRoot::Binding(bound) = variable.root else {
            return;
        };
        if variable.member_count == 1 && variable.last_name.is_some() {
            self.members.push((bound, last));
        } else {
            self.change_variable(variable, value.kind);
        }
    }

    fn change_variable(&mut self, variable: &ValueInfo, value: ValueKind) {
        if let NameRoot::Binding(bound) = variable.root
            && variable.member_count == 0
        {
            self.change_value(bound, value);
        }
    }
}
