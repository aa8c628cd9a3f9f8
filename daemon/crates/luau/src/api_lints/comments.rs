//! Comments that allow or deny the lints of this crate: `-- selene: allow(roblox_unknown_member)`.
//!
//! selene applies such comments to its own lints alone. As there, a comment applies to the statement,
//! field or expression that follows it, and one that begins with `#` to the whole script.

use full_moon::ast::{Ast, ElseIf, Expression, Field, LastStmt, Stmt, Suffix};
use full_moon::node::Node;
use full_moon::tokenizer::TokenType;
use full_moon::visitors::Visitor;
use rustc_hash::FxHashSet;
use selene_lib::LintVariation;

use super::ApiLint;
use super::uses::ByteRange;

/// The comments of a script about the lints of this crate.
#[derive(Debug, Default)]
pub(super) struct LintComments {
    comments: Vec<LintComment>,
}

#[derive(Debug)]
struct LintComment {
    lint: ApiLint,
    variation: LintVariation,
    /// The code that it applies to; None for the whole script.
    code: Option<ByteRange>,
}

impl LintComments {
    pub(super) fn from_ast(ast: &Ast, source: &str) -> Self {
        if memchr::memmem::find(source.as_bytes(), b"selene").is_none() {
            return Self::default();
        }
        let mut collector = CommentCollector::default();
        collector.visit_ast(ast);
        collector.found
    }

    /// What the innermost comment says about a lint at a position.
    pub(super) fn variation_at(&self, lint: ApiLint, byte: usize) -> Option<LintVariation> {
        let applies = |it: &&LintComment| {
            it.lint == lint && it.code.is_none_or(|(start, end)| (start..end).contains(&byte))
        };
        // Of nested pieces of code, the innermost starts last.
        let innermost =
            self.comments.iter().filter(applies).max_by_key(|it| it.code.map(|it| it.0));
        innermost.map(|it| it.variation)
    }
}

/// What a line of a comment says, if it is about lints.
struct CommentText<'c> {
    is_global: bool,
    variation: LintVariation,
    lints: &'c str,
}

fn parse_comment(line: &str) -> Option<CommentText<'_>> {
    let line = line.trim();
    let rest = line.strip_prefix('#');
    let rest = rest.unwrap_or(line).trim_start().strip_prefix("selene")?.trim_start();
    let (word, lints) = rest.strip_prefix(':')?.split_once('(')?;
    let (lints, _) = lints.split_once(')')?;
    let variation = match word.trim() {
        "allow" => LintVariation::Allow,
        "warn" => LintVariation::Warn,
        "deny" => LintVariation::Deny,
        _ => return None,
    };
    Some(CommentText { is_global: line.starts_with('#'), variation, lints })
}

#[derive(Default)]
struct CommentCollector {
    /// The positions of the comments that were read. The first node after a comment is the outermost.
    read: FxHashSet<usize>,
    found: LintComments,
}

impl CommentCollector {
    fn read_comments(&mut self, node: &impl Node) {
        let Some(code) = node.range() else {
            return;
        };
        let code = (code.0.bytes(), code.1.bytes());
        for trivia in node.surrounding_trivia().0 {
            let (TokenType::SingleLineComment { comment }
            | TokenType::MultiLineComment { comment, .. }) = trivia.token_type()
            else {
                continue;
            };
            if !self.read.insert(trivia.start_position().bytes()) {
                continue;
            }
            for CommentText { is_global, variation, lints } in
                comment.lines().filter_map(parse_comment)
            {
                let lints = lints.split(',').filter_map(|it| ApiLint::from_name(it.trim()));
                let code = (!is_global).then_some(code);
                self.found.comments.extend(lints.map(|lint| LintComment { lint, variation, code }));
            }
        }
    }
}

impl Visitor for CommentCollector {
    fn visit_stmt(&mut self, node: &Stmt) {
        self.read_comments(node);
    }

    fn visit_last_stmt(&mut self, node: &LastStmt) {
        self.read_comments(node);
    }

    fn visit_else_if(&mut self, node: &ElseIf) {
        self.read_comments(node);
    }

    fn visit_field(&mut self, node: &Field) {
        self.read_comments(node);
    }

    fn visit_expression(&mut self, node: &Expression) {
        self.read_comments(node);
    }

    fn visit_suffix(&mut self, node: &Suffix) {
        self.read_comments(node);
    }
}
