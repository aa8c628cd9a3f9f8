//! The reader: expressions, and what is known of their values without running them.

use super::super::DefinitionKind;
use super::lexer::{Kind, Token};
use super::names::{Root, UseKind};
use super::reader::{Holder, Reader, require, span};
use super::{Origin, Required, Step, Way};

/// No service has a longer name, in bytes.
const SERVICE: usize = 100;

/// The way to an instance.
#[derive(Debug, Clone)]
pub(super) struct Path {
    from: Origin,
    way: Way,
    /// What it relies on that may change, by its number.
    pub(super) risk: Option<u32>,
}

impl Path {
    fn new(from: Origin) -> Self {
        Self { from, way: Way::default(), risk: None }
    }

    fn then(self, step: Step) -> Option<Self> {
        Some(Self { way: self.way.then(step)?, ..self })
    }
}

/// The first arguments of a call, and how many there are.
#[derive(Debug, Default)]
struct Given {
    first: Value,
    second: Value,
    third: Value,
    count: u32,
}

/// What is known of a value.
#[derive(Debug, Default)]
pub(super) struct Value {
    pub(super) what: What,
    /// What its chain of members begins with.
    pub(super) root: Root,
    /// How many members hang on that.
    pub(super) fields: u32,
    /// The last of them, where it is said by name; the name itself where there is none.
    pub(super) last: Option<Token>,
    /// The instance that it is.
    pub(super) path: Option<Path>,
    /// Whether it is a name, or members of one: something that a definition can be called after.
    pub(super) is_variable: bool,
    pub(super) is_call: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum What {
    #[default]
    Other,
    Text(Token),
    Number(Token),
    Function,
    Table(u32),
    Require(u32),
    /// Whether a require went well; the next value is what it gave.
    Tried(u32),
}

impl Value {
    pub(super) fn plain(what: What) -> Self {
        Self { what, ..Self::default() }
    }

    fn is_global(&self, reader: &Reader<'_>, name: &str) -> bool {
        self.fields == 0
            && matches!(self.root, Root::Global(span) if span.of(reader.source) == name)
    }
}

impl Reader<'_> {
    /// Reads several expressions; the value is that of the first, where it is the only one.
    pub(super) fn expressions(&mut self) -> Value {
        let mut value = self.expression(None);
        while self.sign(b',') {
            self.expression(None);
            value = Value::default();
        }
        value
    }

    /// Reads an expression whose value is called as its holder says.
    pub(super) fn expression(&mut self, holder: Option<u32>) -> Value {
        if !self.enter() {
            return Value::default();
        }
        let mut value = self.operand(holder);
        while self.is_operator() {
            self.advance();
            self.operand(None);
            value = Value::default();
        }
        self.leave();
        value
    }

    fn is_operator(&self) -> bool {
        matches!(
            self.peek(),
            Kind::And
                | Kind::Or
                | Kind::Concat
                | Kind::Compare
                | Kind::AtLeast
                | Kind::FloorDivide
                | Kind::Sign(b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'<' | b'>')
        )
    }

    fn operand(&mut self, holder: Option<u32>) -> Value {
        let mut is_plain = true;
        while matches!(self.peek(), Kind::Not | Kind::Sign(b'-' | b'#')) {
            self.advance();
            is_plain = false;
        }
        let mut value = self.simple(holder);
        while self.take(Kind::Assert) {
            self.type_of();
        }
        if !is_plain {
            value = Value::default();
        }
        value
    }

    fn simple(&mut self, holder: Option<u32>) -> Value {
        let token = self.token();
        match token.kind {
            Kind::Name => self.suffixed(),
            Kind::Sign(b'(') => self.bracketed(holder),
            Kind::Sign(b'{') => self.table(holder),
            Kind::Function => {
                self.advance();
                self.body(None, token);
                Value::plain(What::Function)
            }
            Kind::Sign(b'@') => {
                self.attribute();
                if self.enter() {
                    let value = self.simple(holder);
                    self.leave();
                    return value;
                }
                Value::default()
            }
            Kind::Text => {
                self.advance();
                Value::plain(What::Text(token))
            }
            Kind::Number => {
                self.advance();
                Value::plain(What::Number(token))
            }
            Kind::True | Kind::False | Kind::Nil | Kind::Dots => {
                self.advance();
                Value::default()
            }
            Kind::TextBegin => self.interpolated(),
            Kind::If => self.if_expression(),
            _ => {
                self.trouble("an expression is missing");
                Value::default()
            }
        }
    }

    fn interpolated(&mut self) -> Value {
        self.advance();
        loop {
            self.expression(None);
            if !self.take(Kind::TextMiddle) {
                break;
            }
        }
        self.expect(Kind::TextEnd, "the string is not closed");
        Value::default()
    }

    fn if_expression(&mut self) -> Value {
        loop {
            self.advance();
            self.expression(None);
            self.expect(Kind::Then, "`then` is missing");
            self.expression(None);
            if self.peek() != Kind::ElseIf {
                break;
            }
        }
        self.expect(Kind::Else, "`else` is missing");
        self.expression(None);
        Value::default()
    }

    /// Something in brackets, and what hangs on it.
    fn bracketed(&mut self, holder: Option<u32>) -> Value {
        let start = self.advance();
        let mut value = self.expression(holder);
        self.expect(Kind::Sign(b')'), "`)` is missing");
        value.is_variable = false;
        self.suffixes(value, start)
    }

    /// A name or something in brackets, and what hangs on it.
    pub(super) fn suffixed(&mut self) -> Value {
        if self.peek() == Kind::Sign(b'(') {
            return self.bracketed(None);
        }
        let name = self.advance();
        let bound = self.bound(name, false);
        self.note(name, bound.map_or(UseKind::Global, UseKind::Bound));
        let path = match bound {
            Some(bound) => self.path_of(bound),
            None => match self.text(name) {
                "script" => Some(Path::new(Origin::Script)),
                "game" => Some(Path::new(Origin::Game)),
                "workspace" => Some(Path::new(Origin::Service("Workspace".into()))),
                _ => None,
            },
        };
        let required = bound.and_then(|it| self.names.bindings[it as usize].require);
        let value = Value {
            what: required.map_or(What::Other, What::Require),
            root: bound.map_or(Root::Global(span(name)), Root::Bound),
            last: Some(name),
            path,
            is_variable: true,
            ..Value::default()
        };
        self.suffixes(value, name)
    }

    fn suffixes(&mut self, mut value: Value, start: Token) -> Value {
        // A bare text or table is a value only in brackets, where members may hang on it.
        loop {
            value = match self.peek() {
                Kind::Sign(b'.') => {
                    self.advance();
                    let Some(field) = self.name() else {
                        self.trouble("a member has a name");
                        return Value::default();
                    };
                    self.member(value, field)
                }
                Kind::Sign(b'[') => {
                    self.advance();
                    let key = self.expression(None);
                    self.expect(Kind::Sign(b']'), "`]` is missing");
                    match key.what {
                        What::Text(key) => self.member(value, key),
                        _ => Value { is_variable: value.is_variable, ..Value::default() },
                    }
                }
                Kind::Sign(b':') => {
                    self.advance();
                    let Some(method) = self.name() else {
                        self.trouble("a method has a name");
                        return Value::default();
                    };
                    self.method(value, method)
                }
                Kind::Sign(b'(' | b'{') | Kind::Text | Kind::TextBegin => self.call(value, start),
                _ => return value,
            };
        }
    }

    fn member(&mut self, value: Value, field: Token) -> Value {
        let root = match value.what {
            What::Require(require) if value.fields == 0 && value.root == Root::Nothing => {
                Root::Require(require)
            }
            _ => value.root,
        };
        let fields = value.fields + 1;
        self.note(field, UseKind::Member(root, fields));
        let path = value.path.and_then(|path| {
            let name = self.plain_text(field)?;
            path.then(if name == "Parent" { Step::Parent } else { Step::Child(name.into()) })
        });
        Value {
            root,
            fields,
            last: Some(field),
            path,
            is_variable: value.is_variable,
            ..Value::default()
        }
    }

    fn method(&mut self, value: Value, method: Token) -> Value {
        let root = match value.what {
            What::Require(require) if value.root == Root::Nothing => Root::Require(require),
            _ => value.root,
        };
        self.note(method, UseKind::Member(root, value.fields + 1));
        let given = self.arguments();
        if let Some(path) = value.path.as_ref().filter(|_| self.text(method) == "Clone") {
            self.wakes.push(Required::Instance(path.from.clone(), path.way.clone()));
        }
        let path = value.path.and_then(|path| {
            let What::Text(name) = given.first.what else {
                return None;
            };
            let name = self.plain_text(name)?;
            match (self.text(method), given.count, &path.from) {
                ("WaitForChild", 1 | 2, _) | ("FindFirstChild", 1, _) => {
                    path.then(Step::Child(name.into()))
                }
                ("FindFirstAncestor", 1, _) => path.then(Step::Ancestor(name.into())),
                ("GetService" | "FindService", 1, Origin::Game)
                    if path.way.is_empty() && name.len() <= SERVICE =>
                {
                    Some(Path { from: Origin::Service(name.into()), ..path })
                }
                _ => None,
            }
        });
        Value { path, is_call: true, ..Value::default() }
    }

    fn call(&mut self, value: Value, start: Token) -> Value {
        let is_require = value.is_global(self, "require");
        let tries = |by: &str| value.is_global(self, by);
        let (is_tried, is_tried_with) = (tries("pcall"), tries("xpcall"));
        let Given { first, second, third, count } = self.arguments();
        if is_require && count == 1 {
            let number = self.require(first, start);
            return Value { is_call: true, ..Value::plain(What::Require(number)) };
        }
        let tried = match count {
            2.. if is_tried => Some(second),
            3.. if is_tried_with => Some(third),
            _ => None,
        };
        if let Some(tried) = tried.filter(|_| first.is_global(self, "require")) {
            let number = self.require(tried, start);
            return Value { is_call: true, ..Value::plain(What::Tried(number)) };
        }
        // Both give back the table that they are given.
        let gives_back = value.is_global(self, "setmetatable")
            || value.fields == 1
                && matches!(value.root, Root::Global(span) if span.of(self.source) == "table")
                && value.last.is_some_and(|last| self.text(last) == "freeze");
        let given = if gives_back && first.fields == 0 { first } else { Value::default() };
        Value { is_variable: false, is_call: true, path: None, ..given }
    }

    /// Notes an assignment to a property that can have a script run: whatever it gets, for what a switch
    /// is set to may be known at run time alone.
    pub(super) fn note_wake(&mut self, variable: &Value) {
        let property = variable.last.and_then(|last| self.plain_text(last));
        let is_switch = matches!(property, Some("Enabled" | "Disabled" | "RunContext" | "Parent"));
        if let Some(path) = variable.path.as_ref().filter(|_| is_switch)
            && let Some(way) = path.way.before()
        {
            self.wakes.push(Required::Instance(path.from.clone(), way));
        }
    }

    /// Notes that a value is required, by a call that was just read.
    fn require(&mut self, value: Value, start: Token) -> u32 {
        let number = self.names.requires.len() as u32;
        let what = match (value.what, value.path) {
            (_, Some(Path { from, way, risk })) => {
                self.risky.extend(risk.map(|risk| (number, risk)));
                Required::Instance(from, way)
            }
            (What::Text(text), _) => match self.plain_text(text) {
                Some(text) => Required::Text(text.into()),
                None => Required::Computed,
            },
            (What::Number(number), _) => Required::Asset(self.text(number).into()),
            _ => Required::Computed,
        };
        let end = self.tokens[self.at - 1];
        self.names.requires.push(require(what, start, end));
        number
    }

    fn arguments(&mut self) -> Given {
        match self.peek() {
            Kind::Sign(b'(') => {
                self.advance();
                let mut given = Given::default();
                if self.sign(b')') {
                    return given;
                }
                loop {
                    let value = self.expression(None);
                    match given.count {
                        0 => given.first = value,
                        1 => given.second = value,
                        2 => given.third = value,
                        _ => {}
                    }
                    given.count += 1;
                    if !self.sign(b',') {
                        break;
                    }
                }
                self.expect(Kind::Sign(b')'), "`)` is missing");
                given
            }
            Kind::Sign(b'{') | Kind::Text | Kind::TextBegin => {
                if !self.enter() {
                    return Given::default();
                }
                let first = self.simple(None);
                self.leave();
                Given { first, count: 1, ..Given::default() }
            }
            _ => {
                self.trouble("a call has arguments");
                Given::default()
            }
        }
    }

    fn table(&mut self, holder: Option<u32>) -> Value {
        self.advance();
        let number = self.tables.len() as u32;
        self.tables.push(Vec::new());
        while !matches!(self.peek(), Kind::Sign(b'}') | Kind::Eof) {
            let at = self.at;
            self.field(number, holder);
            if !self.sign(b',') && !self.sign(b';') && self.peek() != Kind::Sign(b'}') {
                self.trouble("`,` is missing");
                let stays = matches!(self.peek(), Kind::End | Kind::Sign(b')' | b']'));
                if stays || self.at == at {
                    break;
                }
            }
        }
        self.expect(Kind::Sign(b'}'), "`}` is missing");
        Value::plain(What::Table(number))
    }

    fn field(&mut self, table: u32, holder: Option<u32>) {
        let start = self.token();
        if self.peek() == Kind::Name && self.peek_second() == Kind::Sign(b'=') {
            self.advance();
            self.advance();
            self.note(start, UseKind::Key(table));
            self.tables[table as usize].push(start);
            let held = self.hold(Holder::Field(holder, start));
            let value = self.expression(Some(held));
            self.bind_function((Some(held), DefinitionKind::Function), &value, (start, start));
        } else if self.sign(b'[') {
            let key = self.expression(None);
            self.expect(Kind::Sign(b']'), "`]` is missing");
            if let What::Text(key) = key.what {
                self.note(key, UseKind::Key(table));
                self.tables[table as usize].push(key);
            }
            self.expect(Kind::Sign(b'='), "`=` is missing");
            self.expression(None);
        } else {
            self.expression(None);
        }
    }

    /// A name, or what a string says that has no escapes.
    fn plain_text(&self, token: Token) -> Option<&str> {
        let text = self.text(token);
        if token.kind == Kind::Name {
            return Some(text);
        }
        let quote = text.chars().next().filter(|it| matches!(it, '"' | '\'' | '`'))?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains('\\')).then_some(inside)
    }
}
