//! The reader: types. Names in them are types; what hangs on a name is a type of another module.

use super::lexer::Kind;
use super::names::{BindingKind, Root, UseKind};
use super::reader::{Reader, span};

impl Reader<'_> {
    /// The parameters of a type or a generic function, where there are some.
    pub(super) fn generics(&mut self) {
        if !self.sign(b'<') {
            return;
        }
        while let Some(name) = self.name() {
            self.declare(name, BindingKind::Type);
            self.take(Kind::Dots);
            if self.sign(b'=') {
                self.type_of();
            }
            if !self.sign(b',') {
                break;
            }
        }
        self.close_angle();
    }

    /// `>`, also where a `=` follows at once.
    fn close_angle(&mut self) {
        if self.peek() == Kind::AtLeast {
            let token = &mut self.tokens[self.at];
            token.kind = Kind::Sign(b'=');
            token.start += 1;
        } else {
            self.expect(Kind::Sign(b'>'), "`>` is missing");
        }
    }

    /// Reads a type.
    pub(super) fn type_of(&mut self) {
        if !self.enter() {
            return;
        }
        if matches!(self.peek(), Kind::Sign(b'|' | b'&')) {
            self.advance();
        }
        loop {
            self.simple_type();
            while self.sign(b'?') {}
            if !matches!(self.peek(), Kind::Sign(b'|' | b'&')) {
                break;
            }
            self.advance();
        }
        self.leave();
    }

    fn simple_type(&mut self) {
        match self.peek() {
            Kind::Name => self.named_type(),
            Kind::Nil | Kind::True | Kind::False | Kind::Text => {
                self.advance();
            }
            Kind::Dots => {
                self.advance();
                self.type_of();
            }
            Kind::Sign(b'{') => self.table_type(),
            Kind::Sign(b'<') => {
                let scope = self.open_scope();
                self.generics();
                self.bracketed_types();
                self.arrow();
                self.close_scope(scope);
            }
            Kind::Sign(b'(') => {
                self.bracketed_types();
                self.arrow();
            }
            _ => self.trouble("a type is missing"),
        }
    }

    fn arrow(&mut self) {
        if self.take(Kind::Arrow) {
            self.type_of();
        }
    }

    fn named_type(&mut self) {
        if self.is_word("typeof") && self.peek_second() == Kind::Sign(b'(') {
            self.advance();
            self.advance();
            self.expression(None);
            return self.expect(Kind::Sign(b')'), "`)` is missing");
        }
        let name = self.advance();
        if self.sign(b'.') {
            let bound = self.bound(name, false);
            self.note(name, bound.map_or(UseKind::Global, UseKind::Bound));
            if let Some(of) = self.name() {
                let root = bound.map_or(Root::Global(span(name)), Root::Bound);
                self.note(of, UseKind::TypeOf(root));
            }
        } else {
            let bound = self.bound(name, true);
            self.note(name, bound.map_or(UseKind::Type, UseKind::Bound));
        }
        if self.sign(b'<') {
            while !matches!(self.peek(), Kind::Sign(b'>') | Kind::AtLeast | Kind::Eof) {
                self.type_of();
                if !self.sign(b',') {
                    break;
                }
            }
            self.close_angle();
        }
        // A pack of types.
        self.take(Kind::Dots);
    }

    fn bracketed_types(&mut self) {
        self.expect(Kind::Sign(b'('), "`(` is missing");
        while !matches!(self.peek(), Kind::Sign(b')') | Kind::Eof) {
            if self.peek() == Kind::Name && self.peek_second() == Kind::Sign(b':') {
                self.advance();
                self.advance();
            }
            self.type_of();
            if !self.sign(b',') {
                break;
            }
        }
        self.expect(Kind::Sign(b')'), "`)` is missing");
    }

    fn table_type(&mut self) {
        self.advance();
        while !matches!(self.peek(), Kind::Sign(b'}') | Kind::Eof) {
            let is_access = self.is_word("read") || self.is_word("write");
            if is_access && matches!(self.peek_second(), Kind::Name | Kind::Sign(b'[')) {
                self.advance();
            }
            if self.sign(b'[') {
                self.type_of();
                self.expect(Kind::Sign(b']'), "`]` is missing");
                self.expect(Kind::Sign(b':'), "`:` is missing");
            } else if self.peek() == Kind::Name && self.peek_second() == Kind::Sign(b':') {
                self.advance();
                self.advance();
            }
            self.type_of();
            if !self.sign(b',') && !self.sign(b';') {
                break;
            }
        }
        self.expect(Kind::Sign(b'}'), "`}` is missing");
    }
}
