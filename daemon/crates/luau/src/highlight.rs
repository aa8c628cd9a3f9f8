//! Syntax highlighting: splits lines of a script into keywords, strings, comments and names.
//!
//! The input is usually a passage, such as a diff hunk. It may begin in the middle of a long string
//! or comment, which is guessed from an end bracket without a beginning. The kinds of names are
//! guessed from adjacent tokens; operators and punctuation have no kind. This module must not know
//! colours.

use std::ops::Range;

use super::lexer::{
    LexedSource, Token, TokenKind, long_bracket_level, string_content, tokenize_with_comments,
};

/// The kind of a highlighted piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HighlightKind {
    /// `local`, `then`, and so on.
    Keyword,
    /// A string, or the literal parts of an interpolated string.
    Text,
    Comment,
    /// A number, `true`, `false` or `nil`.
    Constant,
    /// A global of every script: `game`, `math`, `print`.
    Global,
    Type,
    /// The name of a function where it is defined or called.
    Function,
}

/// The pieces of a line in order, each with its byte range in the line. What is between them is
/// plain.
pub type LinePieces = Vec<(Range<usize>, HighlightKind)>;

/// Names that exist in every script, sorted bytewise.
pub(crate) const GLOBALS: [&str; 73] = [
    "BrickColor",
    "CFrame",
    "Color3",
    "ColorSequence",
    "ColorSequenceKeypoint",
    "DateTime",
    "Enum",
    "Font",
    "Instance",
    "NumberRange",
    "NumberSequence",
    "NumberSequenceKeypoint",
    "OverlapParams",
    "PhysicalProperties",
    "Random",
    "Ray",
    "RaycastParams",
    "Rect",
    "Region3",
    "TweenInfo",
    "UDim",
    "UDim2",
    "Vector2",
    "Vector3",
    "_G",
    "_VERSION",
    "assert",
    "bit32",
    "buffer",
    "coroutine",
    "debug",
    "delay",
    "error",
    "game",
    "getfenv",
    "getmetatable",
    "ipairs",
    "loadstring",
    "math",
    "newproxy",
    "next",
    "os",
    "pairs",
    "pcall",
    "plugin",
    "print",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "require",
    "script",
    "select",
    "self",
    "setfenv",
    "setmetatable",
    "shared",
    "spawn",
    "string",
    "table",
    "task",
    "tick",
    "time",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "unpack",
    "utf8",
    "vector",
    "wait",
    "warn",
    "workspace",
];

/// Highlights lines, which are passed without their line breaks.
pub fn highlight_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<LinePieces> {
    let mut passage = String::new();
    let mut starts = Vec::new();
    for line in lines {
        starts.push(passage.len());
        passage.push_str(line);
        passage.push('\n');
    }
    let mut spread =
        LineHighlighter { lines: vec![LinePieces::new(); starts.len()], starts, passage: &passage };
    let lexed = tokenize_with_comments(&passage);
    match unclosed_start(&passage, &lexed.tokens) {
        Some((end, piece)) => {
            spread.add_piece(0..end, piece);
            let rest = &passage[end..];
            spread.add_code(rest, end, &tokenize_with_comments(rest));
        }
        None => spread.add_code(&passage, 0, &lexed),
    }
    spread.lines
}

/// Collects the pieces of a passage, line by line.
struct LineHighlighter<'a> {
    passage: &'a str,
    /// The byte offset of each line.
    starts: Vec<usize>,
    lines: Vec<LinePieces>,
}

impl LineHighlighter<'_> {
    fn add_piece(&mut self, range: Range<usize>, piece: HighlightKind) {
        let mut line = self.starts.partition_point(|start| *start <= range.start).saturating_sub(1);
        while let Some(&start) = self.starts.get(line).filter(|start| **start < range.end) {
            // Exclude the line break.
            let behind = self.starts.get(line + 1).map_or(self.passage.len(), |next| *next) - 1;
            let (from, to) = (range.start.max(start), range.end.min(behind));
            if from < to {
                self.lines[line].push((from - start..to - start, piece));
            }
            line += 1;
        }
    }

    /// Adds the pieces of a text that begins at the offset `at` of the passage.
    fn add_code(&mut self, text: &str, at: usize, lexed: &LexedSource) {
        let tokens = &lexed.tokens;
        let mut known: Vec<Option<HighlightKind>> = Vec::with_capacity(tokens.len());
        let mut comments = lexed.comments.iter().peekable();
        for (number, token) in tokens.iter().enumerate() {
            let (start, end) = (token.start as usize, token.end as usize);
            // Comments without code between them are one piece.
            let mut range: Option<Range<usize>> = None;
            while let Some(next) = comments.next_if(|comment| comment.start < start) {
                range = Some(range.map_or(next.start, |it| it.start)..next.end);
            }
            if let Some(Range { start, end }) = range {
                let end = start + text[start..end].trim_end().len();
                self.add_piece(start + at..end + at, HighlightKind::Comment);
            }
            let piece =
                TokenContext { text, tokens, earlier_kinds: &known, at: number }.highlight_kind();
            if let Some(piece) = piece {
                self.add_piece(start + at..end + at, piece);
            }
            known.push(piece);
        }
    }
}

/// A token with its neighbours.
struct TokenContext<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The kinds of the tokens before this one.
    earlier_kinds: &'a [Option<HighlightKind>],
    at: usize,
}

impl TokenContext<'_> {
    fn kind_at(&self, at: usize) -> TokenKind {
        self.tokens.get(at).map_or(TokenKind::Eof, |token| token.kind)
    }

    fn word_at(&self, at: usize) -> &str {
        let range = self.tokens.get(at).map(|token| token.start as usize..token.end as usize);
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
    }

    /// The token `steps` before this one, and its highlight kind.
    fn token_before(&self, steps: usize) -> (TokenKind, Option<HighlightKind>) {
        let at = self.at.checked_sub(steps);
        at.map_or((TokenKind::Eof, None), |at| (self.kind_at(at), self.earlier_kinds[at]))
    }

    fn highlight_kind(&self) -> Option<HighlightKind> {
        match self.kind_at(self.at) {
            TokenKind::Name => self.name_kind(),
            TokenKind::False | TokenKind::Nil | TokenKind::True | TokenKind::Number => {
                Some(HighlightKind::Constant)
            }
            TokenKind::Text | TokenKind::TextBegin | TokenKind::TextMiddle | TokenKind::TextEnd => {
                Some(HighlightKind::Text)
            }
            TokenKind::Symbol(_)
            | TokenKind::Arrow
            | TokenKind::TypeCast
            | TokenKind::Concat
            | TokenKind::Ellipsis
            | TokenKind::Comparison
            | TokenKind::GreaterOrEqual
            | TokenKind::FloorDivide
            | TokenKind::CompoundAssign
            | TokenKind::Eof => None,
            TokenKind::And
            | TokenKind::Break
            | TokenKind::Do
            | TokenKind::Else
            | TokenKind::ElseIf
            | TokenKind::End
            | TokenKind::For
            | TokenKind::Function
            | TokenKind::If
            | TokenKind::In
            | TokenKind::Local
            | TokenKind::Not
            | TokenKind::Or
            | TokenKind::Repeat
            | TokenKind::Return
            | TokenKind::Then
            | TokenKind::Until
            | TokenKind::While => Some(HighlightKind::Keyword),
        }
    }

    fn name_kind(&self) -> Option<HighlightKind> {
        let name = self.word_at(self.at);
        let next = self.kind_at(self.at + 1);
        let is_called =
            matches!(next, TokenKind::Symbol(b'(' | b'{') | TokenKind::Text | TokenKind::TextBegin);
        if self.is_keyword(name, next) {
            return Some(HighlightKind::Keyword);
        }
        if self.is_type(is_called) {
            return Some(HighlightKind::Type);
        }
        let is_member = matches!(self.token_before(1).0, TokenKind::Symbol(b'.' | b':'));
        if is_called && (is_member || GLOBALS.binary_search(&name).is_err()) {
            return Some(HighlightKind::Function);
        }
        (!is_member && GLOBALS.binary_search(&name).is_ok()).then_some(HighlightKind::Global)
    }

    /// Whether a name is a keyword in its context.
    fn is_keyword(&self, name: &str, next: TokenKind) -> bool {
        match name {
            "export" => self.word_at(self.at + 1) == "type",
            "type" => matches!(next, TokenKind::Name | TokenKind::Function),
            "continue" => {
                let is_used = matches!(
                    next,
                    TokenKind::Symbol(_) | TokenKind::CompoundAssign | TokenKind::Text
                );
                !is_used && self.token_before(1).0 != TokenKind::Symbol(b'.')
            }
            _ => false,
        }
    }

    fn is_type(&self, is_called: bool) -> bool {
        match self.token_before(1) {
            (TokenKind::TypeCast | TokenKind::Arrow | TokenKind::Symbol(b'|' | b'&'), _)
            | (TokenKind::Name, Some(HighlightKind::Keyword)) => true,
            (TokenKind::Symbol(b':'), _) => !is_called,
            (TokenKind::Symbol(b'.' | b'<'), _) => {
                self.token_before(2).1 == Some(HighlightKind::Type)
            }
            (TokenKind::Symbol(b'{' | b'('), _) => {
                matches!(
                    self.token_before(2).0,
                    TokenKind::Symbol(b':') | TokenKind::TypeCast | TokenKind::Arrow
                )
            }
            _ => false,
        }
    }
}

/// The end of a long string or comment in which the passage begins, and which of the two it
/// probably is. None if the passage does not begin in one.
fn unclosed_start(passage: &str, tokens: &[Token]) -> Option<(usize, HighlightKind)> {
    let bytes = passage.as_bytes();
    let (mut open, mut at, mut token) = (0_usize, 0, 0);
    while let Some(next) = memchr::memchr2(b'[', b']', &bytes[at..]) {
        at += next;
        match (bytes[at], long_bracket_level(bytes, at)) {
            (b'[', Some(_)) => return None,
            (b'[', None) => open += 1,
            (_, Some(level)) if open == 0 || level > 0 => {
                let is_before = |token: &&Token| token.end as usize <= at;
                token += tokens[token..].iter().take_while(is_before).count();
                if !tokens.get(token).is_some_and(|token| is_quoted(token, at, passage)) {
                    let end = at + level + 2;
                    return Some((end, unclosed_kind(passage, at, end)));
                }
            }
            _ => open = open.saturating_sub(1),
        }
        at += 1;
    }
    None
}

/// Whether an offset is inside a string that has both quotes.
fn is_quoted(token: &Token, at: usize, passage: &str) -> bool {
    let range = token.start as usize..token.end as usize;
    let text = &passage[range.clone()];
    token.kind == TokenKind::Text
        && range.contains(&at)
        && text.starts_with(['"', '\''])
        && string_content(text).is_some()
}

/// Guesses the kind of an unclosed piece by its end: nothing follows a comment on its line, and
/// many comments end with `--]]`.
fn unclosed_kind(passage: &str, at: usize, end: usize) -> HighlightKind {
    let rest = passage[end..].split('\n').next().unwrap_or_default();
    let is_comment = passage[..at].ends_with("--") || rest.trim().is_empty();
    if is_comment { HighlightKind::Comment } else { HighlightKind::Text }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// Shows pieces as `k<local>`.
    #[track_caller]
    fn check(source: &str, expected: &str) {
        let lines: Vec<&str> = source.split('\n').collect();
        let shown: Vec<String> = highlight_lines(lines.iter().copied())
            .into_iter()
            .zip(&lines)
            .map(|(pieces, line)| {
                let piece = |(range, piece): (Range<usize>, HighlightKind)| {
                    let letter = match piece {
                        HighlightKind::Keyword => 'k',
                        HighlightKind::Text => 's',
                        HighlightKind::Comment => 'c',
                        HighlightKind::Constant => 'n',
                        HighlightKind::Global => 'g',
                        HighlightKind::Type => 't',
                        HighlightKind::Function => 'f',
                    };
                    format!("{letter}<{}>", &line[range])
                };
                pieces.into_iter().map(piece).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(shown.join("\n"), expected);
    }

    #[test]
    fn pieces_are_classified() {
        check("", "");
        check("local x = 1 -- one", "k<local> n<1> c<-- one>");
        check(
            "if not true then return nil end",
            "k<if> k<not> n<true> k<then> k<return> n<nil> k<end>",
        );
        check("game:GetService('Players')", "g<game> f<GetService> s<'Players'>");
        check("print(a.print, `{b}é`)", "g<print> s<`{> s<}é`>");
        check("function M.go(self) end", "k<function> f<go> g<self> k<end>");
        check("a\n--[[ b\n c ]] d()", "\nc<--[[ b>\nc< c ]]> f<d>");
        check("#!/bin/lune\nx", "c<#!/bin/lune>\n");
        check("continue", "k<continue>");
        check("continue = 1", "n<1>");
    }

    #[test]
    fn types_are_recognized_in_type_positions() {
        check("local x: number = y:go()", "k<local> t<number> f<go>");
        check("export type A<T> = B | C | { D }", "k<export> k<type> t<A> t<T> t<C>");
        check("return x :: Part?", "k<return> t<Part>");
        check("local f: (Part) -> Model.Of<Part>", "k<local> t<Part> t<Model> t<Of> t<Part>");
        check("type(x)", "g<type>");
    }

    #[test]
    fn excerpts_may_begin_inside_comments_or_strings() {
        check("don't [x] \n--]] local x", "c<don't [x] >\nc<--]]> k<local>");
        check("old\n]=]\nx = nil", "c<old>\nc<]=]>\nn<nil>");
        check("text]], 1)", "s<text]]> n<1>");
    }

    #[test]
    fn code_brackets_do_not_end_strings_or_comments() {
        check("x = a[b[1]] + nil", "n<1> n<nil>");
        check("find('x]]') + nil", "f<find> s<'x]]'> n<nil>");
        check("[[a]] .. nil", "s<[[a]]> n<nil>");
    }

    #[test]
    fn globals_are_sorted() {
        assert!(GLOBALS.is_sorted());
    }

    fn pieces() -> impl Strategy<Value = String> {
        let pieces = [
            "--", "[[", "]]", "[=[", "]=]", "`", "{", "}", "\"", "\\", "\n", "é", "😀", "a", ":",
            ".",
        ];
        vec(select(pieces.to_vec()), 12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 5_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn ranges_are_in_order_and_within_their_line(source in pieces()) {
            let lines = highlight_lines(source.split('\n'));
            for (pieces, line) in lines.iter().zip(source.split('\n')) {
                let mut done = 0;
                for (range, _) in pieces {
                    prop_assert!(range.start >= done && line.get(range.clone()).is_some());
                    done = range.end;
                }
            }
        }
    }

    /// Guards against quadratic time, in which a megabyte would take minutes.
    #[test]
    fn long_lines_are_highlighted_quickly() {
        let begun = Instant::now();
        for piece in ["\"]]\"", "[", "]", "[=", "]=", "]]", "a[b[1]]", "`{", "--", "x:y "] {
            highlight_lines(std::iter::once(piece.repeat(1_000_000 / piece.len()).as_str()));
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
