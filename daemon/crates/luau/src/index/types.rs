//! Reads types for the index. Names in them are types; a member of a name is a type of another
//! module.

use super::super::lexer::TokenKind;
use super::names::{BindingKind, NameRoot, UseKind};
use super::reader::{SourceReader, token_span};

impl SourceReader<'_> {
    /// Reads the parameters of a type or a generic function, if it has any.
    pub(super) fn read_generics(&mut self) {
        if !self.take_symbol(b'<') {
            return;
        }
        while let Some(name) = self.take_name() {
            self.declare_name(name, BindingKind::TypeParameter);
            self.take_kind(TokenKind::Ellipsis);
            if self.take_symbol(b'=') {
                self.read_type();
            }
            if !self.take_symbol(b',') {
                break;
            }
        }
        self.close_angle();
    }

    /// Reads a `>`, also as a part of `>=`.
    fn close_angle(&mut self) {
        if self.peek_kind() == TokenKind::GreaterOrEqual {
            let token = &mut self.tokens[self.at];
            token.kind = TokenKind::Symbol(b'=');
            token.start += 1;
        } else {
            self.expect_kind(TokenKind::Symbol(b'>'), "`>` is missing");
        }
    }

    pub(super) fn read_type(&mut self) {
        if !self.enter_level() {
            return;
        }
        if matches!(self.peek_kind(), TokenKind::Symbol(b'|' | b'&')) {
            self.advance();
        }
        loop {
            self.read_simple_type();
            while self.take_symbol(b'?') {}
            if !matches!(self.peek_kind(), TokenKind::Symbol(b'|' | b'&')) {
                break;
            }
            self.advance();
        }
        self.leave_level();
    }

    fn read_simple_type(&mut self) {
        match self.peek_kind() {
            TokenKind::Name => self.read_named_type(),
            TokenKind::Nil | TokenKind::True | TokenKind::False | TokenKind::Text => {
                self.advance();
            }
            TokenKind::Ellipsis => {
                self.advance();
                self.read_type();
            }
            TokenKind::Symbol(b'{') => self.read_table_type(),
            TokenKind::Symbol(b'<') => {
                let scope = self.open_scope();
                self.read_generics();
                self.read_type_list();
                self.read_arrow();
                self.close_scope(scope);
            }
            TokenKind::Symbol(b'(') => {
                self.read_type_list();
                self.read_arrow();
            }
            _ => self.record_error("a type is missing"),
        }
    }

    fn read_arrow(&mut self) {
        if self.take_kind(TokenKind::Arrow) {
            self.read_type();
        }
    }

    fn read_named_type(&mut self) {
        if self.is_at_word("typeof") && self.peek_second() == TokenKind::Symbol(b'(') {
            self.advance();
            self.advance();
            self.read_expression(None);
            return self.expect_kind(TokenKind::Symbol(b')'), "`)` is missing");
        }
        let name = self.advance();
        if self.take_symbol(b'.') {
            let bound = self.find_binding(name, false);
            self.record_use(name, bound.map_or(UseKind::Global, UseKind::Reference));
            if let Some(of) = self.take_name() {
                let root = bound.map_or(NameRoot::Global(token_span(name)), NameRoot::Binding);
                self.record_use(of, UseKind::ImportedType(root));
            }
        } else {
            let bound = self.find_binding(name, true);
            self.record_use(name, bound.map_or(UseKind::Type, UseKind::Reference));
        }
        if self.take_symbol(b'<') {
            while !matches!(
                self.peek_kind(),
                TokenKind::Symbol(b'>') | TokenKind::GreaterOrEqual | TokenKind::Eof
            ) {
                self.read_type();
                if !self.take_symbol(b',') {
                    break;
                }
            }
            self.close_angle();
        }
        // A type pack.
        self.take_kind(TokenKind::Ellipsis);
    }

    fn read_type_list(&mut self) {
        self.expect_kind(TokenKind::Symbol(b'('), "`(` is missing");
        while !matches!(self.peek_kind(), TokenKind::Symbol(b')') | TokenKind::Eof) {
            if self.peek_kind() == TokenKind::Name && self.peek_second() == TokenKind::Symbol(b':')
            {
                self.advance();
                self.advance();
            }
            self.read_type();
            if !self.take_symbol(b',') {
                break;
            }
        }
        self.expect_kind(TokenKind::Symbol(b')'), "`)` is missing");
    }

    fn read_table_type(&mut self) {
        self.advance();
        while !matches!(self.peek_kind(), TokenKind::Symbol(b'}') | TokenKind::Eof) {
            let is_access = self.is_at_word("read") || self.is_at_word("write");
            if is_access && matches!(self.peek_second(), TokenKind::Name | TokenKind::Symbol(b'['))
            {
                self.advance();
            }
            if self.take_symbol(b'[') {
                self.read_type();
                self.expect_kind(TokenKind::Symbol(b']'), "`]` is missing");
                self.expect_kind(TokenKind::Symbol(b':'), "`:` is missing");
            } else if self.peek_kind() == TokenKind::Name
                && self.peek_second() == TokenKind::Symbol(b':')
            {
                self.advance();
                self.advance();
            }
            self.read_type();
            if !self.take_symbol(b',') && !self.take_symbol(b';') {
                break;
            }
        }
        self.expect_kind(TokenKind::Symbol(b'}'), "`}` is missing");
    }
}
