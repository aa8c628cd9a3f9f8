//! Reads expressions for the index, and infers what is known of their values without running them.

use super::super::DefinitionKind;
use super::super::lexer::{Token, TokenKind, string_content};
use super::names::{NameRoot, UseKind};
use super::reader::{SourceReader, ValueHolder, build_require_call, token_span};
use super::{RequireTarget, RouteOrigin, RouteStep, StepChain};

/// Longer names, in bytes, are not service names.
const MAX_SERVICE_NAME: usize = 100;

/// The route to an instance.
#[derive(Debug, Clone)]
pub(super) struct InstanceRoute {
    origin: RouteOrigin,
    steps: StepChain,
    /// The number of the assumption that the route relies on; None if it relies on none.
    pub(super) assumption: Option<u32>,
}

impl InstanceRoute {
    fn new(origin: RouteOrigin) -> Self {
        Self { origin, steps: StepChain::default(), assumption: None }
    }

    fn push_step(self, step: RouteStep) -> Option<Self> {
        Some(Self { steps: self.steps.push_step(step)?, ..self })
    }
}

/// The first three arguments of a call, and the number of arguments.
#[derive(Debug, Default)]
struct CallArguments {
    first: ValueInfo,
    second: ValueInfo,
    third: ValueInfo,
    count: u32,
}

/// The static knowledge of a value.
#[derive(Debug, Default)]
pub(super) struct ValueInfo {
    pub(super) kind: ValueKind,
    /// The root of its chain of members.
    pub(super) root: NameRoot,
    /// Number of members in the chain.
    pub(super) member_count: u32,
    /// The last member, if it is accessed by name; the name itself if there are no members.
    pub(super) last_name: Option<Token>,
    /// The route to the instance that the value is, if known.
    pub(super) route: Option<InstanceRoute>,
    /// Whether it is a name or a member of one, so that a definition can be named after it.
    pub(super) is_variable: bool,
    pub(super) is_call: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ValueKind {
    #[default]
    Other,
    Text(Token),
    Number(Token),
    Function,
    Table(u32),
    Require(u32),
    /// The success flag of a protected require; the next value is the result of the require.
    TriedRequire(u32),
}

impl ValueInfo {
    pub(super) fn from_kind(kind: ValueKind) -> Self {
        Self { kind, ..Self::default() }
    }

    fn is_global(&self, reader: &SourceReader<'_>, name: &str) -> bool {
        self.member_count == 0
            && matches!(self.root, NameRoot::Global(span) if span.text_in(reader.source) == name)
    }
}

impl SourceReader<'_> {
    /// Reads a list of expressions. Returns the value of the first if it is the only one.
    pub(super) fn read_expressions(&mut self) -> ValueInfo {
        let mut value = self.read_expression(None);
        while self.take_symbol(b',') {
            self.read_expression(None);
            value = ValueInfo::default();
        }
        value
    }

    /// Reads an expression whose value is named after `holder`.
    pub(super) fn read_expression(&mut self, holder: Option<u32>) -> ValueInfo {
        if !self.enter_level() {
            return ValueInfo::default();
        }
        let mut value = self.read_operand(holder);
        while self.is_operator() {
            self.advance();
            self.read_operand(None);
            value = ValueInfo::default();
        }
        self.leave_level();
        value
    }

    fn is_operator(&self) -> bool {
        matches!(
            self.peek_kind(),
            TokenKind::And
                | TokenKind::Or
                | TokenKind::Concat
                | TokenKind::Comparison
                | TokenKind::GreaterOrEqual
                | TokenKind::FloorDivide
                | TokenKind::Symbol(b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'<' | b'>')
        )
    }

    fn read_operand(&mut self, holder: Option<u32>) -> ValueInfo {
        let mut is_plain = true;
        while matches!(self.peek_kind(), TokenKind::Not | TokenKind::Symbol(b'-' | b'#')) {
            self.advance();
            is_plain = false;
        }
        let mut value = self.read_primary(holder);
        while self.take_kind(TokenKind::TypeCast) {
            self.read_type();
        }
        if !is_plain {
            value = ValueInfo::default();
        }
        value
    }

    fn read_primary(&mut self, holder: Option<u32>) -> ValueInfo {
        let token = self.current_token();
        match token.kind {
            TokenKind::Name => self.read_suffixed(),
            TokenKind::Symbol(b'(') => self.read_parenthesized(holder),
            TokenKind::Symbol(b'{') => self.read_table(holder),
            TokenKind::Function => {
                self.advance();
                self.read_body(None, token);
                ValueInfo::from_kind(ValueKind::Function)
            }
            TokenKind::Symbol(b'@') => {
                self.read_attribute();
                if self.enter_level() {
                    let value = self.read_primary(holder);
                    self.leave_level();
                    return value;
                }
                ValueInfo::default()
            }
            TokenKind::Text => {
                self.advance();
                ValueInfo::from_kind(ValueKind::Text(token))
            }
            TokenKind::Number => {
                self.advance();
                ValueInfo::from_kind(ValueKind::Number(token))
            }
            TokenKind::True | TokenKind::False | TokenKind::Nil | TokenKind::Ellipsis => {
                self.advance();
                ValueInfo::default()
            }
            TokenKind::TextBegin => self.read_interpolated(),
            TokenKind::If => self.read_if_expression(),
            _ => {
                self.record_error("an expression is missing");
                ValueInfo::default()
            }
        }
    }

    fn read_interpolated(&mut self) -> ValueInfo {
        self.advance();
        loop {
            self.read_expression(None);
            if !self.take_kind(TokenKind::TextMiddle) {
                break;
            }
        }
        self.expect_kind(TokenKind::TextEnd, "the string is not closed");
        ValueInfo::default()
    }

    fn read_if_expression(&mut self) -> ValueInfo {
        loop {
            self.advance();
            self.read_expression(None);
            self.expect_kind(TokenKind::Then, "`then` is missing");
            self.read_expression(None);
            if self.peek_kind() != TokenKind::ElseIf {
                break;
            }
        }
        self.expect_kind(TokenKind::Else, "`else` is missing");
        self.read_expression(None);
        ValueInfo::default()
    }

    /// Reads a parenthesized expression and its suffixes.
    fn read_parenthesized(&mut self, holder: Option<u32>) -> ValueInfo {
        let start = self.advance();
        let mut value = self.read_expression(holder);
        self.expect_kind(TokenKind::Symbol(b')'), "`)` is missing");
        value.is_variable = false;
        self.read_suffixes(value, start)
    }

    /// Reads a name or a parenthesized expression, and its suffixes.
    pub(super) fn read_suffixed(&mut self) -> ValueInfo {
        if self.peek_kind() == TokenKind::Symbol(b'(') {
            return self.read_parenthesized(None);
        }
        let name = self.advance();
        let bound = self.find_binding(name, false);
        self.record_use(name, bound.map_or(UseKind::Global, UseKind::Reference));
        let path = match bound {
            Some(bound) => self.binding_route(bound),
            None => match self.token_text(name) {
                "script" => Some(InstanceRoute::new(RouteOrigin::Script)),
                "game" => Some(InstanceRoute::new(RouteOrigin::Game)),
                "workspace" => Some(InstanceRoute::new(RouteOrigin::Service("Workspace".into()))),
                _ => None,
            },
        };
        let required = bound.and_then(|it| self.names.bindings[it as usize].require);
        let value = ValueInfo {
            kind: required.map_or(ValueKind::Other, ValueKind::Require),
            root: bound.map_or(NameRoot::Global(token_span(name)), NameRoot::Binding),
            last_name: Some(name),
            route: path,
            is_variable: true,
            ..ValueInfo::default()
        };
        self.read_suffixes(value, name)
    }

    fn read_suffixes(&mut self, mut value: ValueInfo, start: Token) -> ValueInfo {
        // A literal string or table can only have members if it is parenthesized.
        loop {
            value = match self.peek_kind() {
                TokenKind::Symbol(b'.') => {
                    self.advance();
                    let Some(field) = self.take_name() else {
                        self.record_error("a member has a name");
                        return ValueInfo::default();
                    };
                    self.read_member(value, field)
                }
                TokenKind::Symbol(b'[') => {
                    self.advance();
                    let key = self.read_expression(None);
                    self.expect_kind(TokenKind::Symbol(b']'), "`]` is missing");
                    match key.kind {
                        ValueKind::Text(key) => self.read_member(value, key),
                        _ => ValueInfo { is_variable: value.is_variable, ..ValueInfo::default() },
                    }
                }
                TokenKind::Symbol(b':') => {
                    self.advance();
                    let Some(method) = self.take_name() else {
                        self.record_error("a method has a name");
                        return ValueInfo::default();
                    };
                    self.read_method(value, method)
                }
                TokenKind::Symbol(b'(' | b'{') | TokenKind::Text | TokenKind::TextBegin => {
                    self.read_call(value, start)
                }
                _ => return value,
            };
        }
    }

    fn read_member(&mut self, value: ValueInfo, field: Token) -> ValueInfo {
        let root = match value.kind {
            ValueKind::Require(require)
                if value.member_count == 0 && value.root == NameRoot::Nothing =>
            {
                NameRoot::Require(require)
            }
            _ => value.root,
        };
        let fields = value.member_count + 1;
        self.record_use(field, UseKind::Member(root, fields));
        let path = value.route.and_then(|path| {
            let name = self.plain_text(field)?;
            path.push_step(if name == "Parent" {
                RouteStep::Parent
            } else {
                RouteStep::Child(name.into())
            })
        });
        ValueInfo {
            root,
            member_count: fields,
            last_name: Some(field),
            route: path,
            is_variable: value.is_variable,
            ..ValueInfo::default()
        }
    }

    fn read_method(&mut self, value: ValueInfo, method: Token) -> ValueInfo {
        let root = match value.kind {
            ValueKind::Require(require) if value.root == NameRoot::Nothing => {
                NameRoot::Require(require)
            }
            _ => value.root,
        };
        self.record_use(method, UseKind::Member(root, value.member_count + 1));
        let given = self.read_arguments();
        if let Some(path) = value.route.as_ref().filter(|_| self.token_text(method) == "Clone") {
            self.activations.push(RequireTarget::Instance(path.origin.clone(), path.steps.clone()));
        }
        let path = value.route.and_then(|path| {
            let ValueKind::Text(name) = given.first.kind else {
                return None;
            };
            let name = self.plain_text(name)?;
            match (self.token_text(method), given.count, &path.origin) {
                ("WaitForChild", 1 | 2, _) | ("FindFirstChild", 1, _) => {
                    path.push_step(RouteStep::Child(name.into()))
                }
                ("FindFirstAncestor", 1, _) => path.push_step(RouteStep::Ancestor(name.into())),
                ("GetService" | "FindService", 1, RouteOrigin::Game)
                    if path.steps.is_empty() && name.len() <= MAX_SERVICE_NAME =>
                {
                    Some(InstanceRoute { origin: RouteOrigin::Service(name.into()), ..path })
                }
                _ => None,
            }
        });
        ValueInfo { route: path, is_call: true, ..ValueInfo::default() }
    }

    fn read_call(&mut self, value: ValueInfo, start: Token) -> ValueInfo {
        let is_require = value.is_global(self, "require");
        let is_function = |name: &str| value.is_global(self, name);
        let (is_tried, is_tried_with) = (is_function("pcall"), is_function("xpcall"));
        let CallArguments { first, second, third, count } = self.read_arguments();
        if is_require && count == 1 {
            let number = self.record_require(first, start);
            return ValueInfo { is_call: true, ..ValueInfo::from_kind(ValueKind::Require(number)) };
        }
        let tried = match count {
            2.. if is_tried => Some(second),
            3.. if is_tried_with => Some(third),
            _ => None,
        };
        if let Some(tried) = tried.filter(|_| first.is_global(self, "require")) {
            let number = self.record_require(tried, start);
            return ValueInfo {
                is_call: true,
                ..ValueInfo::from_kind(ValueKind::TriedRequire(number))
            };
        }
        // `setmetatable` and `table.freeze` return the table that they receive.
        let returns_argument = value.is_global(self, "setmetatable")
            || value.member_count == 1
                && matches!(value.root, NameRoot::Global(span) if span.text_in(self.source) == "table")
                && value.last_name.is_some_and(|last| self.token_text(last) == "freeze");
        let given =
            if returns_argument && first.member_count == 0 { first } else { ValueInfo::default() };
        ValueInfo { is_variable: false, is_call: true, route: None, ..given }
    }

    /// Records an assignment to a property that can make a script run. The assigned value does not
    /// matter, because it may be known only at run time.
    pub(super) fn record_activation(&mut self, variable: &ValueInfo) {
        let property = variable.last_name.and_then(|last| self.plain_text(last));
        let is_switch = matches!(property, Some("Enabled" | "Disabled" | "RunContext" | "Parent"));
        if let Some(path) = variable.route.as_ref().filter(|_| is_switch)
            && let Some(parent_steps) = path.steps.without_last()
        {
            self.activations.push(RequireTarget::Instance(path.origin.clone(), parent_steps));
        }
    }

    /// Records that a value is required, by the call that was just read.
    fn record_require(&mut self, value: ValueInfo, start: Token) -> u32 {
        let number = self.names.requires.len() as u32;
        let target = match (value.kind, value.route) {
            (_, Some(InstanceRoute { origin: from, steps, assumption: risk })) => {
                self.require_assumptions.extend(risk.map(|risk| (number, risk)));
                RequireTarget::Instance(from, steps)
            }
            (ValueKind::Text(text), _) => match self.plain_text(text) {
                Some(text) => RequireTarget::Text(text.into()),
                None => RequireTarget::Computed,
            },
            (ValueKind::Number(number), _) => RequireTarget::Asset(self.token_text(number).into()),
            _ => RequireTarget::Computed,
        };
        let end = self.tokens[self.at - 1];
        self.names.requires.push(build_require_call(target, start, end));
        number
    }

    fn read_arguments(&mut self) -> CallArguments {
        match self.peek_kind() {
            TokenKind::Symbol(b'(') => {
                self.advance();
                let mut given = CallArguments::default();
                if self.take_symbol(b')') {
                    return given;
                }
                loop {
                    let value = self.read_expression(None);
                    match given.count {
                        0 => given.first = value,
                        1 => given.second = value,
                        2 => given.third = value,
                        _ => {}
                    }
                    given.count += 1;
                    if !self.take_symbol(b',') {
                        break;
                    }
                }
                self.expect_kind(TokenKind::Symbol(b')'), "`)` is missing");
                given
            }
            TokenKind::Symbol(b'{') | TokenKind::Text | TokenKind::TextBegin => {
                if !self.enter_level() {
                    return CallArguments::default();
                }
                let first = self.read_primary(None);
                self.leave_level();
                CallArguments { first, count: 1, ..CallArguments::default() }
            }
            _ => {
                self.record_error("a call has arguments");
                CallArguments::default()
            }
        }
    }

    fn read_table(&mut self, holder: Option<u32>) -> ValueInfo {
        self.advance();
        let number = self.tables.len() as u32;
        self.tables.push(Vec::new());
        while !matches!(self.peek_kind(), TokenKind::Symbol(b'}') | TokenKind::Eof) {
            let at = self.at;
            self.read_field(number, holder);
            if !self.take_symbol(b',')
                && !self.take_symbol(b';')
                && self.peek_kind() != TokenKind::Symbol(b'}')
            {
                self.record_error("`,` is missing");
                let is_closing =
                    matches!(self.peek_kind(), TokenKind::End | TokenKind::Symbol(b')' | b']'));
                if is_closing || self.at == at {
                    break;
                }
            }
        }
        self.expect_kind(TokenKind::Symbol(b'}'), "`}` is missing");
        ValueInfo::from_kind(ValueKind::Table(number))
    }

    fn read_field(&mut self, table: u32, holder: Option<u32>) {
        let start = self.current_token();
        if self.peek_kind() == TokenKind::Name && self.peek_second() == TokenKind::Symbol(b'=') {
            self.advance();
            self.advance();
            self.record_use(start, UseKind::Key(table));
            self.tables[table as usize].push(start);
            let held = self.add_holder(ValueHolder::Field(holder, start));
            let value = self.read_expression(Some(held));
            self.define_function(Some(held), DefinitionKind::Function, &value, (start, start));
        } else if self.take_symbol(b'[') {
            let key = self.read_expression(None);
            self.expect_kind(TokenKind::Symbol(b']'), "`]` is missing");
            if let ValueKind::Text(key) = key.kind {
                self.record_use(key, UseKind::Key(table));
                self.tables[table as usize].push(key);
            }
            self.expect_kind(TokenKind::Symbol(b'='), "`=` is missing");
            self.read_expression(None);
        } else {
            self.read_expression(None);
        }
    }

    /// The text of a name, or of a string without escapes.
    fn plain_text(&self, token: Token) -> Option<&str> {
        let text = self.token_text(token);
        if token.kind == TokenKind::Name {
            return Some(text);
        }
        string_content(text).filter(|inside| !text.starts_with('[') && !inside.contains('\\'))
    }
}
