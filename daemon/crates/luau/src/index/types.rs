//! The reader: types. Names in them are types; what hangs on a name is a type of another module.

use super::lexer::TokenKind;
use super::names::{BindingKind, NameRoot, UseKind};
use super::reader::{SourceReader, token_span};

impl SourceReader<'_> {
    /// The parameters of a type or a generic function, where there are some.
    pub(super) fn read_generics(&mut self) {
        if !self.take_sign(b'<') {
            return;
        }
        while let Some(name) = self.name() {
            self.declare_name(name, BindingKind::Type);
            self.take_kind(TokenKind::Dots);
            if self.take_sign(b'=') {
                self.type_of();
            }
            if !self.take_sign(b',') {
                break;
            }
        }
        self.close_angle();
    }

    /// `>`, also where a `=` follows at once.
    fn close_angle(&mut self) {
        if self.peek_kind() == TokenKind::AtLeast {
            let token = &mut self.tokens[self.at];
            token.kind = TokenKind::Sign(b'=');
            token.start += 1;
        } else {
            self.expect_kind(TokenKind::Sign(b'>'), "`>` is missing");
        }
    }

    pub(super) fn type_of(&mut self) {
        if !self.enter_level() {
            return;
        }
        if matches!(self.peek_kind(), TokenKind::Sign(b'|' | b'&')) {
            self.advance();
        }
        loop {
            self.simple_type();
            while self.take_sign(b'?') {}
            if !matches!(self.peek_kind(), TokenKind::Sign(b'|' | b'&')) {
                break;
            }
            self.advance();
        }
        self.leave_level();
    }

    fn simple_type(&mut self) {
        match self.peek_kind() {
            TokenKind::Name => self.named_type(),
            TokenKind::Nil | TokenKind::True | TokenKind::False | TokenKind::Text => {
                self.advance();
            }
            TokenKind::Dots => {
                self.advance();
                self.type_of();
            }
            TokenKind::Sign(b'{') => self.table_type(),
            TokenKind::Sign(b'<') => {
                let scope = self.open_scope();
                self.read_generics();
                self.bracketed_types();
                self.read_arrow();
                self.close_scope(scope);
            }
            TokenKind::Sign(b'(') => {
                self.bracketed_types();
                self.read_arrow();
            }
            _ => self.note_trouble("a type is missing"),
        }
    }

    fn read_arrow(&mut self) {
        if self.take_kind(TokenKind::Arrow) {
            self.type_of();
        }
    }

    fn named_type(&mut self) {
        if self.is_word("typeof") && self.peek_second() == TokenKind::Sign(b'(') {
            self.advance();
            self.advance();
            self.read_expression(None);
            return self.expect_kind(TokenKind::Sign(b')'), "`)` is missing");
        }
        let name = self.advance();
        if self.take_sign(b'.') {
            let bound = self.find_binding(name, false);
            self.note_use(name, bound.map_or(UseKind::Global, UseKind::Bound));
            if let Some(of) = self.name() {
                let root = bound.map_or(NameRoot::Global(token_span(name)), NameRoot::Bound);
                self.note_use(of, UseKind::TypeOf(root));
            }
        } else {
            let bound = self.find_binding(name, true);
            self.note_use(name, bound.map_or(UseKind::Type, UseKind::Bound));
        }
        if self.take_sign(b'<') {
            while !matches!(
                self.peek_kind(),
                TokenKind::Sign(b'>') | TokenKind::AtLeast | TokenKind::Eof
            ) {
                self.type_of();
                if !self.take_sign(b',') {
                    break;
                }
            }
            self.close_angle();
        }
        // A pack of types.
        self.take_kind(TokenKind::Dots);
    }

    fn bracketed_types(&mut self) {
        self.expect_kind(TokenKind::Sign(b'('), "`(` is missing");
        while !matches!(self.peek_kind(), TokenKind::Sign(b')') | TokenKind::Eof) {
            if self.peek_kind() == TokenKind::Name && self.peek_second() == TokenKind::Sign(b':') {
                self.advance();
                self.advance();
            }
            self.type_of();
            if !self.take_sign(b',') {
                break;
            }
        }
        self.expect_kind(TokenKind::Sign(b')'), "`)` is missing");
    }

    fn table_type(&mut self) {
        self.advance();
        while !matches!(self.peek_kind(), TokenKind::Sign(b'}') | TokenKind::Eof) {
            let is_access = self.is_word("read") || self.is_word("write");
            if is_access && matches!(self.peek_second(), TokenKind::Name | TokenKind::Sign(b'[')) {
                self.advance();
            }
            if self.take_sign(b'[') {
                self.type_of();
                self.expect_kind(TokenKind::Sign(b']'), "`]` is missing");
                self.expect_kind(TokenKind::Sign(b':'), "`:` is missing");
            } else if self.peek_kind() == TokenKind::Name
                && self.peek_second() == TokenKind::Sign(b':')
            {
                self.advance();
                self.advance();
            }
            self.type_of();
            if !self.take_sign(b',') && !self.take_sign(b';') {
                break;
            }
        }
        self.expect_kind(TokenKind::Sign(b'}'), "`}` is missing");
    }
}
