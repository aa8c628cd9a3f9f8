//! The reader: statements, and what they declare and define.

use super::super::DefinitionKind;
use super::expression::{Value, What};
use super::lexer::{Kind, Token};
use super::names::{BindingKind, Root, UseKind};
use super::reader::{Holder, Reader, span};

impl Reader<'_> {
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
    pub(super) fn statement(&mut self) -> bool {
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
                self.turns += 1;
                self.expression(None);
                self.expect(Kind::Do, "`do` is missing");
                self.closed_block();
                self.turns -= 1;
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
        match self.text(self.token()) {
            "export" if next == Kind::Name && self.is_type_at(self.at + 1) => {
                let start = self.advance();
                self.type_statement(start, true);
            }
            "type" if self.is_type_at(self.at) => {
                let start = self.token();
                self.type_statement(start, false);
            }
            "const" if matches!(next, Kind::Function | Kind::Name) => self.local(),
            "continue"
                if !matches!(
                    next,
                    Kind::Sign(b'(' | b'.' | b'[' | b'{' | b'=' | b':' | b',')
                        | Kind::Compound
                        | Kind::Text
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
        self.turns += 1;
        while self.statement() {}
        self.expect(Kind::Until, "`until` is missing");
        self.expression(None);
        self.turns -= 1;
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
        self.turns += 1;
        for name in names {
            self.declare(name, BindingKind::Loop);
        }
        self.closed_block();
        self.turns -= 1;
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
        if let Some(What::Tried(require)) = values.last().map(|(_, value)| value.what) {
            values.push((None, Value::plain(What::Require(require))));
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
            self.lead(number, value.path);
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
        match bound {
            Some(bound) if fields == 0 => self.change(bound, What::Function),
            Some(bound) if fields == 1 => self.members.push((bound, last)),
            _ => {}
        }
        let own = (fields == 1).then_some(bound).flatten();
        self.body(is_method.then_some(BindingKind::Own(own)), last);
        let kind = if is_method { DefinitionKind::Method } else { DefinitionKind::Function };
        self.define(called, kind, (start, last));
    }

    /// Parameters, types and block of a function; `own` is what the `self` of a method is.
    pub(super) fn body(&mut self, own: Option<BindingKind>, at: Token) {
        let scope = self.open_scope();
        self.turns += 1;
        self.generics();
        if let Some(kind) = own {
            self.declare_self(at, kind);
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
        self.turns -= 1;
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
            for (variable, ..) in &variables {
                self.changed(variable, What::Other);
            }
            return;
        }
        if !self.sign(b'=') {
            if !variables.iter().all(|(value, ..)| value.is_call) {
                self.trouble("this is neither a call nor an assignment");
            }
            return;
        }
        let mut variables = variables.into_iter();
        let last = loop {
            let variable = variables.next();
            let holder = variable.as_ref().and_then(|(variable, from, to)| {
                variable.is_variable.then(|| self.hold(Holder::Variable(*from, *to)))
            });
            let value = self.expression(holder);
            if let Some((variable, ..)) = &variable {
                self.assigned(variable, &value, holder, start);
            }
            if !self.sign(b',') {
                break value.what;
            }
        };
        // The last call may give several values.
        let mut next = match last {
            What::Tried(require) => Value::plain(What::Require(require)),
            _ => Value::default(),
        };
        for (variable, ..) in variables {
            self.assigned(&variable, &next, None, start);
            next = Value::default();
        }
    }

    fn assigned(&mut self, variable: &Value, value: &Value, holder: Option<u32>, start: Token) {
        self.note_wake(variable);
        let last = variable.last.unwrap_or(start);
        self.bind_function((holder, DefinitionKind::Function), value, (start, last));
        let Root::Bound(bound) = variable.root else {
            return;
        };
        if variable.fields == 1 && variable.last.is_some() {
            self.members.push((bound, last));
        } else {
            self.changed(variable, value.what);
        }
    }

    fn changed(&mut self, variable: &Value, what: What) {
        if let Root::Bound(bound) = variable.root
            && variable.fields == 0
        {
            self.change(bound, what);
        }
    }
}
